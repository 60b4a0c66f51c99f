"""The lines of a capture file, redacted: each stays a line that every reader reads as before.

Member by member, since the recorder's own members say what they are: times, counts, routes and endings stay, hosts and
paths keep what the API's own ones have, headers keep values of closed lists, everything else is scrambled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from analyzers import api_words as own
from analyzers import capture_words
from analyzers.member_names import Names
from analyzers.path_patterns import NOWHERE, Place
from analyzers.redact import Redactor
from analyzers.redact_addresses import SCHEMES, Addresses
from analyzers.wire.jsontext import Json

_NAME_STEPS = re.compile(r"\[[0-9]{1,6}\]|[^.\[\]]+|.")
_INDEX = re.compile(r"\[[0-9]{1,6}\]")


class RecordRedactor:
    """Lines of captures, one after the other. ``root``: what patterns keep or drop, below a line's members and below
    its body's."""

    def __init__(self, redactor: Redactor, root: Place = NOWHERE) -> None:
        self._values = redactor.unfolding()  # what the recorder itself says of an exchange is never folded
        self._said = redactor
        self._root = root
        self._text = redactor.text
        self.addresses = Addresses(redactor)

    def record(self, record: Json) -> Json:
        """The line's value, redacted. What is no line of a capture is a value like any other."""
        readers: dict[Any, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "start": self._start, "request": self._request, "response": self._response, "note": self._note,
            "end": self._end,
        }  # fmt: skip
        kind = record.get("kind") if type(record) is dict else None
        reader = readers.get(kind) if type(kind) is str else None
        if reader is None:
            return self._values.value(record, names=Names.UNKNOWN)
        return reader(record)

    def _members(self, record: dict[str, Any], rules: Mapping[str, Callable[[Any, Place], Any]]) -> dict[str, Any]:
        """Each member by its rule; one that nobody knows as unknown data."""
        out: dict[str, Any] = {}
        for name, member in record.items():
            place = self._root.below(name)
            if name == "kind":
                out[name] = member
            elif place.kept:
                out[name] = self._values.value(member, place)
            elif name in rules:
                out[name] = rules[name](member, place)
            else:
                new = self._values.key(name, Names.UNKNOWN)
                out[new] = self._values.value(member, place, names=Names.UNKNOWN)
        return out

    def _start(self, record: dict[str, Any]) -> dict[str, Any]:
        rules = dict.fromkeys(("format", "fold_over"), self._numbers) | {
            "time": self._time,
            "weighbridge": self._version,
            "mitmproxy": self._version,
            "modes": self._modes,
            "options": self._options,
            "continues": self._file,
            "taken": self._taken,
        }
        return self._members(record, rules)

    def _taken(self, value: Json, place: Place) -> Json:
        known = type(value) is str and re.fullmatch("(run|capture) (forward|reverse)", value)
        return self._values.keep(value) if known else self._values.value(value)

    def _request(self, record: dict[str, Any]) -> dict[str, Any]:
        rules = dict.fromkeys(("port", "wire_bytes", "decoded_bytes", "steps", "streamed"), self._numbers) | {
            "id": self._value,
            "time": self._time,
            "method": self._word,
            "scheme": self._word,
            "host": self._host,
            "path": self._path,
            "query": self._query,
            "route": self._word,
            "headers": self._headers,
            "other_headers": self._header_names,
            "content_encoding": self._word,
            "fingerprint": self._hash,
            "model": self._model,
            "figures": self._figures,
            "notes": self._notes,
            "unparsed": self._unparsed,
            "body": lambda body, place: self._said.value(body, self._inside(place)),
        }
        return self._members(record, rules)

    def _response(self, record: dict[str, Any]) -> dict[str, Any]:
        numbers = ("status", "wire_bytes", "decoded_bytes", "first_byte", "first_content", "last")
        counters = dict.fromkeys(("usage", "usage_start", "usage_delta"), self._numbers)
        rules = dict.fromkeys(numbers, self._numbers) | counters | {
            "id": self._value,
            "time": self._time,
            "ended": self._word,
            "headers": self._headers,
            "other_headers": self._header_names,
            "content_encoding": self._word,
            "model": self._model,
            "message_id": self._value,
            "stop_reason": self._word,
            "content": self._spoken,
            "rest": self._spoken,
            "body": self._spoken,
            "error": self._value,
            "failure": self._value,
            "events": self._events,
            "notes": self._notes,
        }  # fmt: skip
        return self._members(record, rules)

    def _note(self, record: dict[str, Any]) -> dict[str, Any]:
        rules = {"sha256": self._hash, "weight": self._numbers, "tokens": self._numbers, "personal": _nothing}
        return self._members(record, rules)

    def _end(self, record: dict[str, Any]) -> dict[str, Any]:
        rules = dict.fromkeys(("requests", "responses", "lost", "unmatched"), self._numbers)
        return self._members(record, rules | {"time": self._time, "unmatched_paths": self._unmatched})

    # Rules

    def _inside(self, place: Place) -> Place:
        """The place of a body's members: patterns may begin with ``body`` or with the member itself."""
        root = self._root
        return Place(root.keep + place.keep, root.drop + place.drop, place.kept, place.dropped, root.met)

    def _spoken(self, value: Json, place: Place) -> Json:
        """What was in an answer."""
        return self._said.value(value, place)

    def _value(self, value: Json, place: Place) -> Json:
        return self._values.value(value, place)

    def _numbers(self, value: Json, place: Place) -> Json:
        """A number, or numbers under names of their own; a text in their place is no counter."""
        return self._values.value(value, place, names=Names.COUNTERS)

    def _time(self, value: Json, place: Place) -> Json:
        return value if type(value) is str and own.is_time(value) else self._values.value(value, names=Names.UNKNOWN)

    def _version(self, value: Json, place: Place) -> Json:
        return value if type(value) is str and own.is_version(value) else self._values.value(value)

    def _word(self, value: Json, place: Place) -> Json:
        if type(value) is str and (own.is_own(value.lower()) or value.lower() in SCHEMES):
            return self._values.keep(value)
        return self._values.value(value)

    def _hash(self, value: Json, place: Place) -> Json:
        return self._values.hash(value) if type(value) is str else self._values.value(value)

    def _model(self, value: Json, place: Place) -> Json:
        return self._values.model(value) if type(value) is str else self._values.value(value)

    def _unparsed(self, value: Json, place: Place) -> Json:
        """A body that was no JSON: its length, a keyed hash, and this program's own sentence about it."""
        if type(value) is not dict:
            return self._values.value(value)
        return {
            name: self._hash(member, place) if name == "sha256" else self._reason(member)
            for name, member in value.items()
            if name in ("bytes", "sha256", "reason")
        }

    def _reason(self, value: Json) -> Json:
        said = type(value) is str and capture_words.is_reason(value)
        return self._values.keep(value) if said else self._values.value(value, names=Names.UNKNOWN)

    def _figures(self, value: Json, place: Place) -> Json:
        if type(value) is not dict or type(value.get("fields")) is not dict:
            return self._numbers(value, place)
        names = self._values.renamed(value["fields"], Names.API)
        fields = {names[name]: self._numbers(amount, place) for name, amount in value["fields"].items()}
        return {**self._numbers({**value, "fields": None}, place), "fields": fields}

    def _events(self, value: Json, place: Place) -> Json:
        if type(value) is not dict:
            return self._values.value(value)
        return {
            name if own.is_own(name) else self._text(name): self._numbers(amount, place)
            for name, amount in value.items()
        }

    def _notes(self, value: Json, place: Place) -> Json:
        """Notes keep their code; the place keeps the API's names; what is quoted is scrambled."""
        if type(value) is not list:
            return self._values.value(value)
        return [self._one_note(note) if type(note) is dict else self._values.value(note) for note in value]

    def _one_note(self, note: dict[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, member in note.items():
            if name == "code":
                out[name] = self._word_kept(member)
            elif name == "path" and type(member) is str:
                out[name] = "".join(
                    step if step in own.KEYS or _INDEX.fullmatch(step) else self._text(step)
                    for step in _NAME_STEPS.findall(member)
                )
            elif name == "detail" and type(member) is str:
                out[name] = self._text(member)
            else:
                out[self._values.key(name)] = self._values.value(member, names=Names.UNKNOWN)
        return out

    def _word_kept(self, value: Json) -> Json:
        """A word of this program's own, or what else stands in its place."""
        if type(value) is str and capture_words.is_code(value):
            return self._values.keep(value)
        return self._values.value(value)

    def _headers(self, headers: Json, place: Place) -> Json:
        if type(headers) is not dict:
            return self._values.value(headers)
        out: dict[str, Any] = {}
        for name, value in headers.items():
            at = place.below(name)
            if at.dropped:
                continue
            if at.kept:
                out[name] = self._values.value(value, at)
            elif type(value) is list:
                out[self.addresses.header_name(name)] = [self.addresses.header(name, one) for one in value]
            else:
                out[self.addresses.header_name(name)] = self.addresses.header(name, value)
        return out

    def _header_names(self, names: Json, place: Place) -> Json:
        if type(names) is not list:
            return self._values.value(names)
        return [self.addresses.header_name(name) if type(name) is str else self._values.value(name) for name in names]

    def _host(self, host: Json, place: Place) -> Json:
        return self.addresses.host(host) if type(host) is str else self._values.value(host)

    def _path(self, path: Json, place: Place) -> Json:
        return self.addresses.path(path) if type(path) is str else self._values.value(path)

    def _query(self, query: Json, place: Place) -> Json:
        if type(query) is not str:
            return self._values.value(query)
        return self.addresses.query(query)

    def _unmatched(self, paths: Json, place: Place) -> Json:
        if type(paths) is not dict:
            return self._values.value(paths)
        out: dict[str, Any] = {}
        for name, count in paths.items():
            method, space, path = name.partition(" ")
            told = (method if own.is_own(method.lower()) else self._text(method)) + space + self.addresses.path(path)
            out[told] = self._numbers(count, place)
        return out

    def _modes(self, modes: Json, place: Place) -> Json:
        if type(modes) is not list:
            return self._values.value(modes)
        return [self._mode(mode) if type(mode) is str else self._values.value(mode) for mode in modes]

    def _mode(self, mode: str) -> str:
        name, colon, rest = mode.partition(":")
        if name not in ("regular", "reverse", "upstream", "socks5", "local", "transparent", "wireguard", "dns"):
            return self._text(mode)
        scheme, slashes, host = rest.partition("://")
        if not slashes:
            return name + colon + self._text(rest)
        host, slash, path = host.partition("/")
        scheme = scheme if scheme in SCHEMES else self._text(scheme)
        self._values.keep(name)
        return f"{name}:{scheme}://{self.addresses.host(host)}{slash}{self.addresses.path(path)}"

    def _options(self, options: Json, place: Place) -> Json:
        if type(options) is not dict:
            return self._values.value(options)
        out: dict[str, Any] = {}
        for name, value in options.items():
            new = name if name in capture_words.OPTIONS else self._text(name)
            out[new] = self._text(value) if type(value) is str else self._values.value(value)
        return out

    def _file(self, name: Json, place: Place) -> Json:
        return self.addresses.file(name) if type(name) is str else self._values.value(name)


def _nothing(value: Json, place: Place) -> Json:
    """Personal data of a folded text: there is none any more, the text is not in the file."""
    return {}
