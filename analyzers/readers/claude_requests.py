"""The requests that newer Claude Code session files keep: put together again, and proved.

Three kinds of records: ``api-request-shape`` (system and tools), ``api-request-blob`` (a message), ``api-request``
(parameters, and the messages as hashes: the first ``keep`` of its ``base``, then its ``tail``). A message without a
blob is a run of user or assistant records of the same file. Hashes are SHA-256 of compact JSON with sorted keys,
without ``cache_control``, a string content taken as one text block; ``requestDigest`` is one over the whole (measured
on 74 of 74 requests of 2.1.332 against the wire: equal in every field, and every digest agrees). The format is the
client's own and may change: whatever does not fit leaves the request without a body, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from typing import Any

import orjson

from analyzers.digests import as_blocks, is_billing
from analyzers.wire.jsontext import Json, Number, dump
from analyzers.wire.note import Note

NOT_KEPT = (
    "the log keeps no metadata, stream, diagnostics, order of fields, bytes on the wire, nor the client's billing line "
    "in system: sizes are without"
)
_OUTSIDE_DIGEST = frozenset(("metadata", "stream", "thread", "diagnostics", "safeguards", "data_flow"))


@dataclass(slots=True)
class _Run:
    """Consecutive records of one side: a message is one of them, or all up to one of them."""

    role: str
    message_id: str | None
    contents: list[Json] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A request put together again. ``body`` None: it could not be, ``reason`` says why."""

    body: dict[str, Any] | None
    betas: tuple[str, ...] = ()
    reason: str | None = None
    notes: tuple[Note, ...] = ()


class RequestLog:
    """What one session file keeps of requests. Fed record by record; asked when the file is through."""

    def __init__(self) -> None:
        self.requests: dict[str, dict[str, Any]] = {}
        self._shapes: dict[str, dict[str, Any]] = {}
        self._messages: dict[str, Json] = {}  # as they are sent, without marks
        self._texts: dict[str, bytes] = {}
        self._runs: list[_Run] = []
        self._alone: list[_Run] = []
        self._lengths: dict[str, int | None] = {}
        self._settled = False
        self._unverified: set[str] = set()

    def add(self, kind: str, record: dict[str, Any]) -> None:
        """Takes one record of the three kinds. Raises KeyError, TypeError or ValueError on any other."""
        if kind == "api-request-shape":
            name, shape = _name(record["shapeHash"]), dict(record["shape"])
            self._shapes[name] = shape
            if hash_of(shape) != name:
                self._unverified.add(name)
        elif kind == "api-request-blob":
            name, message = _name(record["hash"]), dict(record["message"])
            self._messages[name] = wire_form(message)
            if message_hash(message) != name:
                self._unverified.add(name)
        elif kind == "api-request":
            self.requests[_name(record["id"])] = record
        else:
            raise ValueError(kind)

    def told(self, role: str, message_id: str | None, content: Json) -> None:
        """Takes a user or assistant record: what messages without a blob are made of."""
        run = self._runs[-1] if self._runs else None
        same = (
            run is not None and run.role == role and (role == "user" or (message_id and run.message_id == message_id))
        )
        if run is None or not same:
            run = _Run(role, message_id)
            self._runs.append(run)
        run.contents.append(content)

    def aside(self, role: str, content: Json) -> None:
        """Takes a record that may be a message by itself, and is no part of what stands around it."""
        self._alone.append(_Run(role, None, [content]))

    def boundary(self) -> None:
        """The conversation was compacted: no message goes over it."""
        self._runs.append(_Run("", None))

    def rebuild(self, name: str) -> Rebuilt:
        """The request with this id, with its ``cache_control`` marks."""
        self._settle()
        record = self.requests[name]
        if "cut" in record:
            return Rebuilt(None, reason="the log says that it keeps this request cut")
        hashes = self._chain(name)
        if hashes is None:
            return Rebuilt(None, reason="the log does not hold the request that this one builds upon")
        shape = self._shapes.get(_word(record.get("shapeHash")))
        if shape is None:
            return Rebuilt(None, reason="the log does not hold the system prompt and tools of this request")
        messages = list(map(self._messages.get, hashes))
        if missing := messages.count(None):
            return Rebuilt(None, reason=f"{missing} of the {len(hashes)} messages of this request are not in the log")
        params = record.get("params")
        params = dict(params) if type(params) is dict else {}
        betas = params.pop("betas", None)
        body = params | shape | {"messages": messages}
        if not all(_marked(body, mark) for mark in _list(record.get("cacheControl"))):
            return Rebuilt(None, reason="the log marks a cache_control where this request has nothing")
        names = tuple(beta for beta in _list(betas) if type(beta) is str)
        return Rebuilt(body, names, notes=(self._proof(record, hashes, body, betas), Note("not_in_log", _gap(record))))

    def _proof(self, record: dict[str, Any], hashes: list[str], body: dict[str, Any], betas: Json) -> Note:
        told = record.get("requestDigest")
        if told is not None and told == self._digest(record, hashes, body, betas):
            return Note("rebuilt_from_log", "put together from the log, and proved by the log's digest of the request")
        doubtful = len(self._unverified.intersection((*hashes, _word(record.get("shapeHash")))))
        if doubtful:
            return Note("rebuilt_from_log", f"put together from the log; {doubtful} parts differ from their hashes")
        if told is None:
            return Note("rebuilt_from_log", "put together from the log; each part has its hash, the whole has none")
        return Note("rebuilt_from_log", "put together from the log; each part has its hash, but the whole has another")

    def _digest(self, record: dict[str, Any], hashes: list[str], body: dict[str, Any], betas: Json) -> str:
        """The same as ``request_digest``; but messages that many requests share are written once."""
        texts = [self._texts.get(item) or self._text(item) for item in hashes]
        for mark in _list(record.get("cacheControl")):
            path = mark["path"]
            if path[0] == "messages" and len(path) > 1 and type(path[1]) is int:
                texts[path[1]] = _sorted_json(_in_blocks(body["messages"][path[1]]))
        return _digest_of(body, betas, texts)

    def _text(self, name: str) -> bytes:
        self._texts[name] = text = _sorted_json(_in_blocks(self._messages[name]))
        return text

    def _chain(self, name: Any) -> list[str] | None:
        """The hashes of all messages of a request: what it keeps of its base, and its own; None when they cannot be
        told. Nothing but lengths is remembered: every request repeats those before it."""
        wanted = self._length(name)
        if wanted is None:
            return None
        pieces: list[list[str]] = []
        while wanted:
            record = self.requests[name]
            kept = record.get("keep", 0)
            pieces.append(record["tail"][: max(wanted - kept, 0)])
            wanted = min(wanted, kept)
            name = record.get("base")
        return list(chain.from_iterable(reversed(pieces)))

    def _length(self, name: str) -> int | None:
        """How many messages a request has; None where a base is missing or a circle, or holds less than is kept."""
        below: dict[str, None] = {}
        at: str | None = name
        while at is not None and at not in self._lengths:
            if at in below or at not in self.requests:
                self._lengths[at] = None
                break
            below[at] = None
            base = self.requests[at].get("base")
            at = base if type(base) is str else None
        for item in reversed(below):
            if item not in self._lengths:
                self._lengths[item] = self._length_above(self.requests[item])
        return self._lengths[name]

    def _length_above(self, record: dict[str, Any]) -> int | None:
        keep, tail = record.get("keep", 0), record.get("tail")
        if type(tail) is not list or any(type(item) is not str for item in tail):
            return None
        base = record.get("base")
        before = 0 if base is None else self._lengths.get(_word(base))
        if before is None or type(keep) is not int or not 0 <= keep <= before:
            return None
        return keep + len(tail)

    def _settle(self) -> None:
        """Finds the messages that no blob holds among the runs."""
        if self._settled:
            return
        self._settled = True
        wanted = {item for record in self.requests.values() for item in _list(record.get("tail")) if type(item) is str}
        wanted -= self._messages.keys()
        for run in (*self._runs, *self._alone):
            for name, first, end in _named(run) if wanted else ():
                if name in wanted:
                    wanted.discard(name)
                    contents = run.contents[first:end]
                    blocks = [block for content in contents for block in as_blocks(content)]
                    content = contents[0] if len(contents) == 1 else blocks
                    self._messages[name] = wire_form({"role": run.role, "content": content})
        self._runs.clear()
        self._alone.clear()


def _named(run: _Run) -> Iterator[tuple[str, int, int]]:
    """The hash of every message that a run may be, with the records that are it: each alone, and all up to each. In one
    pass: the hash of a beginning goes on from that of the one before."""
    if not run.role:
        return
    end = b'],"role":' + dump(run.role) + b"}"
    together = sha256(b'{"content":[')
    begun = False
    for place, content in enumerate(run.contents):
        blocks = b",".join(_canonical(block) for block in as_blocks(content))
        if run.role == "user" or not place:
            yield sha256(b'{"content":[' + blocks + end).hexdigest(), place, place + 1
        if blocks:
            together.update(b"," + blocks if begun else blocks)
            begun = True
        if place:
            whole = together.copy()
            whole.update(end)
            yield whole.hexdigest(), 0, place + 1


def wire_form(message: Json) -> Json:
    """A message as this client sends it: a lone block of nothing but text goes as a string (measured)."""
    content = message.get("content") if type(message) is dict else None
    block = content[0] if type(content) is list and len(content) == 1 else None
    if type(block) is dict and len(block) == 2 and block.get("type") == "text" and type(block.get("text")) is str:
        return message | {"content": block["text"]}
    return message


def _marked(body: dict[str, Any], mark: Json) -> bool:
    """Puts one ``cache_control`` at its path, copying what is on the way; whether there was such a place."""
    path = mark.get("path") if type(mark) is dict else None
    if type(path) is not list or not path:
        return False
    at: Any = body
    for key in path:
        if type(at) is dict and key == "content" and type(at.get("content")) is str:
            at["content"] = as_blocks(at["content"])
        try:
            inner = at[key]
        except (KeyError, IndexError, TypeError):
            return False
        if type(inner) is not dict and type(inner) is not list:
            return False
        at[key] = inner = inner.copy()
        at = inner
    if type(at) is not dict:
        return False
    at["cache_control"] = mark.get("value")
    return True


def request_digest(body: dict[str, Any], betas: Json) -> str:
    """What the log calls ``requestDigest``: the hash of a body without what it leaves out, the beta names added."""
    return _digest_of(body, betas, [_sorted_json(_in_blocks(message)) for message in _list(body.get("messages"))])


def _digest_of(body: dict[str, Any], betas: Json, messages: list[bytes]) -> str:
    kept = {name: value for name, value in body.items() if name not in _OUTSIDE_DIGEST}
    if type(kept.get("system")) is list:
        kept["system"] = [block for block in kept["system"] if not is_billing(block)]
    if betas is not None:
        kept["betas"] = betas
    texts = {name: _sorted_json(value) for name, value in kept.items() if name != "messages"}
    texts["messages"] = b"[" + b",".join(messages) + b"]"
    return sha256(
        b"{" + b",".join(_sorted_json(name) + b":" + texts[name] for name in sorted(texts)) + b"}"
    ).hexdigest()


def message_hash(message: Json) -> str:
    """The hash by which a log names a message."""
    return hash_of(_in_blocks(message))


def hash_of(value: Json) -> str:
    """SHA-256 of compact JSON with sorted keys and without ``cache_control`` at any depth."""
    return sha256(_canonical(value)).hexdigest()


def _canonical(value: Json) -> bytes:
    text = _sorted_json(value)
    return _sorted_json(_unmarked(value)) if b'"cache_control"' in text else text


def _sorted_json(value: Json) -> bytes:
    """What JSON.stringify writes when all keys are sorted: numbers as in the log, lone surrogates as escapes."""
    try:
        return orjson.dumps(value, _as_written, orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS)
    except (TypeError, RecursionError):  # lone surrogates, or too deep for the fast writer
        return dump(_in_order(value))


def _as_written(value: object) -> orjson.Fragment:
    if type(value) is Number:
        return orjson.Fragment(value.encode())
    raise TypeError(f"not a JSON value: {type(value).__name__}")


def _in_order(value: Json) -> Json:
    """A copy with the keys of every object sorted."""
    return _copied(value, lambda node: dict(sorted(node.items())))


def _unmarked(value: Json) -> Json:
    """A copy without any member named ``cache_control``."""
    return _copied(value, lambda node: {name: item for name, item in node.items() if name != "cache_control"})


def _copied(value: Json, each: Callable[[dict[str, Json]], dict[str, Json]]) -> Json:
    """A copy in which every object was made anew by ``each``, from the outside in."""
    holder: list[Json] = [value]
    stack: list[Any] = [holder]
    while stack:
        node = stack.pop()
        members = list(node.items()) if type(node) is dict else list(enumerate(node))
        for key, member in members:
            if type(member) is dict:
                node[key] = inner = each(member)
                stack.append(inner)
            elif type(member) is list:
                node[key] = copied = member.copy()
                stack.append(copied)
    return holder[0]


def _in_blocks(message: Json) -> Json:
    if type(message) is dict and type(message.get("content")) is str:
        return message | {"content": as_blocks(message["content"])}
    return message


def _list(value: Json) -> list[Any]:
    return value if type(value) is list else []


def _gap(record: dict[str, Any]) -> str:
    """What the log says of itself that it left out, beside what it always leaves out."""
    withheld = [name for name in _list(record.get("withheld")) if type(name) is str]
    return f"{NOT_KEPT}; withheld here: {', '.join(withheld)}" if withheld else NOT_KEPT


def _name(value: Json) -> str:
    if type(value) is not str:
        raise TypeError(value)
    return value


def _word(value: Json) -> str:
    return value if type(value) is str else ""
