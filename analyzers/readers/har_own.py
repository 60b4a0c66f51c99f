"""Entries of a HAR that were exported from records: with what a HAR has no place for, they are those records again.

Read as any other entry, a folded text would be the marker that stands for it, an answer that broke off would look
whole, and the length of a body that was written otherwise would be that of its text. ``_weighbridge`` tells all that;
the bodies are where every program looks for them, and are taken from there.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast, get_args

from analyzers.exchange import Exchange, Logged, Request, Response
from analyzers.exports.har import FORMAT
from analyzers.readers.captures import read_request, read_response
from analyzers.wire.fold import fold
from analyzers.wire.jsontext import Json, NotJson, parse
from analyzers.wire.record import Ended

_EPOCH = "1970-01-01T00:00:00Z"
_ENDED = frozenset(get_args(Ended.__value__))
_NAMED = ("id", "type", "role", "model", "content", "stop_reason", "usage")
_LOGGED = {field.name for field in fields(Logged)}


def own_exchange(entry: dict[str, Json], place: str) -> Exchange | None:
    """The exchange that an entry was exported from. None: it is none of those, or no longer what was exported."""
    own = entry.get("_weighbridge")
    if type(own) is not dict or own.get("format") != FORMAT or own.get("ended") not in _ENDED:
        return None
    try:
        return Exchange(_request(entry, own), _response(entry, own), cast(Ended, own["ended"]), place, _logged(own))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError):
        return None


def _request(entry: dict[str, Json], own: dict[str, Json]) -> Request:
    record = dict(own["request"])
    untimed = record["time"] is None
    if untimed:
        record["time"] = _EPOCH
    if "unparsed" not in record:
        body = parse(_bytes(entry["request"]["postData"])).value
        record["body"] = body if own["folded"]["request"] else fold(body, -1)
    request = read_request(record)
    return replace(request, time=None) if untimed else request


def _response(entry: dict[str, Json], own: dict[str, Json]) -> Response | None:
    if "response" not in own:
        return None
    record = dict(own["response"])
    if (kind := own["answer"]) is not None:
        answer = _answer(kind, _bytes(entry["response"]["content"]))
        record |= answer if own["folded"]["response"] else fold(answer, -1)
    return read_response(record)


def _answer(kind: Json, text: bytes) -> dict[str, Any]:
    """The members of the record that the text of the answer holds. Raises ValueError or KeyError when it does not."""
    if kind == "message":
        message = parse(text).value
        rest = {name: value for name, value in message.items() if name not in _NAMED}
        return {"rest": rest} | ({"content": message["content"]} if "content" in message else {})
    if kind == "json":
        return {"body": parse(text).value}
    if kind == "lines":
        return {"body": [_line(line) for line in text.split(b"\n")[:-1]]}
    if kind == "text":
        return {"body": text.decode("utf-8", "surrogatepass")}
    raise ValueError(kind)


def _line(line: bytes) -> Json:
    try:
        return parse(line).value
    except NotJson:
        return line.decode("utf-8", "surrogatepass")


def _bytes(held: dict[str, Json]) -> bytes:
    return cast(str, held["text"]).encode("utf-8", "surrogatepass")


def _logged(own: dict[str, Json]) -> Logged | None:
    told = own.get("logged")
    return Logged(**{name: told[name] for name in _LOGGED}) if type(told) is dict else None
