"""An exchange as the lines of a capture that read as that exchange: how flow files, HAR and other tools' logs become
captures that can be shared.

Nothing is folded here, and nothing is measured again: what was weighed on the original goes into the line, so that the
reader finds the same figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from analyzers.exchange import Exchange, Request, Response
from analyzers.wire.fold import MARK, Elided, folded_key, unfold
from analyzers.wire.jsontext import Json
from analyzers.wire.moment import timestamp
from analyzers.wire.note import Note
from analyzers.wire.record import Record, note_json
from analyzers.wire.usage import Usage


def lines_of(exchange: Exchange, name: str) -> list[Record]:
    """The ``request`` and the ``response`` line. ``name``: joins them."""
    records: list[Record] = []
    if exchange.request is not None:
        records.append(_request(exchange.request, name))
    if exchange.response is not None:
        records.append(_response(exchange.response, exchange, name))
    return records


def _request(request: Request, name: str) -> Record:
    record: Record = {
        "kind": "request",
        "id": name,
        "time": None if request.time is None else timestamp(request.time),
        "method": request.method,
        "scheme": None,
        "host": request.host,
        "port": None,
        "path": request.path,
        "query": request.query,
        "route": request.route,
        "headers": dict(request.headers),
        "other_headers": list(request.other_headers),
        "wire_bytes": request.wire_bytes,
        "decoded_bytes": request.decoded_bytes,
        "content_encoding": request.content_encoding,
        "fingerprint": request.fingerprint,
        "model": request.model,
    }
    if request.reason is not None:
        record["unparsed"] = {"bytes": request.wire_bytes, "sha256": None, "reason": request.reason}
    if request.recorded is not None:
        record["figures"] = {"fields": dict(request.recorded), "total": request.recorded_total}
    if request.steps is not None:
        record["steps"] = request.steps.as_dict()
    body, told = None, []
    if request.reason is None:
        body = as_folded(request.body)
        told = unfold(body)[1]
    record["notes"] = _notes(request.notes, told)
    if request.reason is None:
        record["body"] = body
    return record


def _response(response: Response, exchange: Exchange, name: str) -> Record:
    content, body, rest = (as_folded(value) for value in (response.content, response.body, dict(response.rest)))
    told = [note for value in (content, body, rest) for note in unfold(value)[1]]
    if response.usage_raw is not None:
        told += Usage.from_json(response.usage_raw)[1]
    error = response.error
    record: Record = {
        "kind": "response",
        "id": name,
        "time": None if response.time is None else timestamp(response.time),
        "ended": exchange.ended,
        "status": response.status,
        "headers": dict(response.headers),
        "other_headers": [],
        "content_encoding": response.content_encoding,
        "first_byte": response.first_byte,
        "first_content": response.first_content,
        "last": response.last,
        "failure": response.failure,
        "notes": _notes(response.notes, told),
        "wire_bytes": response.wire_bytes,
        "decoded_bytes": response.decoded_bytes,
        "model": response.model,
        "message_id": response.message_id,
        "stop_reason": response.stop_reason,
        "usage": response.usage_raw,
        "content": content,
        "rest": rest,
        "body": body,
        "error": {"type": error.type, "message": error.message, "request_id": error.request_id} if error else None,
        "events": dict(response.events),
    }
    return {member: value for member, value in record.items() if value is not None or member in ("status", "time")}


def _notes(notes: Iterable[Note], told_again: Iterable[Note]) -> list[dict[str, str]]:
    """The notes without those that every reader of the line makes itself."""
    again = Counter(told_again)
    kept = []
    for note in notes:
        if again[note]:
            again[note] -= 1
        else:
            kept.append(note_json(note))
    return kept


def as_folded(value: Json) -> Json:
    """An unfolded value as a capture holds it: folded texts are markers, names that look like one are escaped."""
    holder: list[Json] = [None]
    stack: list[tuple[Json, Any, Any]] = [(value, holder, 0)]
    while stack:
        node, target, at = stack.pop()
        if type(node) is Elided:
            target[at] = marker_of(node)
        elif isinstance(node, Mapping):
            names = {key: _key(key) for key in node}
            made: dict[str, Json] = dict.fromkeys(names.values())
            target[at] = made
            stack.extend((member, made, names[key]) for key, member in node.items())
        elif type(node) is list:
            listed: list[Json] = [None] * len(node)
            target[at] = listed
            stack.extend((member, listed, index) for index, member in enumerate(node))
        else:
            target[at] = node
    return holder[0]


def marker_of(told: Elided) -> dict[str, Any]:
    """The fold marker of a text."""
    marker: dict[str, Any] = {MARK: told.label or True, "chars": told.chars}
    if told.sha256 is not None:
        marker["sha256"] = told.sha256
    for name, amount in (("utf16", told.utf16), ("bytes", told.bytes), ("json_chars", told.json_chars)):
        if amount != told.chars:
            marker[name] = amount
    for name, measure in (("width", told.width), ("height", told.height), ("pages", told.pages)):
        if measure is not None:
            marker[name] = measure
    return marker


def _key(key: str | Elided) -> str:
    if type(key) is Elided:
        return f"{MARK}:{key.chars}:{key.sha256}:{key.utf16}:{key.bytes}:{key.json_chars}"
    return folded_key(str(key), -1)
