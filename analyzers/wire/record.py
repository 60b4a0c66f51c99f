"""The lines of a capture file, as plain values (``docs/capture-format.md`` is the contract).

Pure: what the recorder saw goes in, one JSON object comes out. Everything that must never reach the disk is stopped
here, so that no caller can forget it: headers and queries go through the allow-lists, bodies through the fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, Final, Literal

from analyzers.wire.encodings import decode
from analyzers.wire.fold import Folded, fold, folded_key
from analyzers.wire.headers import keep, keep_path, keep_query
from analyzers.wire.jsontext import NotJson
from analyzers.wire.moment import timestamp
from analyzers.wire.note import Note
from analyzers.wire.routes import Route, requested_model
from analyzers.wire.weighing import Weigher, WholeWeigher

if TYPE_CHECKING:
    from analyzers.wire.answer import Answer

FORMAT = 1
BODY_LIMIT = 64 * 1024 * 1024
"""Bytes that a compressed request body may decode to and still be looked at: twice the API's limit of a request."""

ERROR_KEPT = 400
"""Characters of an error's message that stay readable at any threshold: it is the API's sentence and what support
asks for."""

type Ended = Literal[
    "completed",
    "error",
    "unreachable",
    "client_gone",
    "upstream_cut",
    "proxy_stopped",
    "unanswered",
    "in_flight",
    "not_recorded",
    "not_final",
]
type Record = dict[str, Any]

KEY_FILE: Final = ".fingerprint-key"
"""Name of the file, beside the captures, that holds the key of the folder's body fingerprints."""


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request as the proxy saw it. ``body`` None: it was streamed upstream and not kept; ``time`` in seconds since
    the epoch."""

    id: str
    time: float
    method: str
    scheme: str
    host: str
    port: int
    path: str
    route: Route
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    streamed: bool = False


def request_record(
    seen: SeenRequest,
    weigher: Weigher | WholeWeigher,
    *,
    key: bytes,
    notes: Iterable[Note] = (),
    folded: list[Folded] | None = None,
) -> Record:
    """The ``request`` line. ``key``: the folder's fingerprint key; ``folded`` collects the strings that were folded and
    are new. Never raises on what a client sent."""
    path, _, query = seen.path.partition("?")
    kept, others = keep(seen.headers)
    encoding = _header(seen.headers, "content-encoding")
    record: Record = {
        "kind": "request",
        "id": seen.id,
        "time": timestamp(seen.time),
        "method": seen.method,
        "scheme": seen.scheme,
        "host": seen.host,
        "port": seen.port,
        "path": keep_path(path),
        "query": keep_query(query),
        "route": seen.route,
        "headers": kept,
        "other_headers": others,
        "wire_bytes": None if seen.body is None else len(seen.body),
        "decoded_bytes": None,
        "content_encoding": encoding,
        "fingerprint": None,
        "model": None,
    }
    if seen.streamed:
        record["streamed"] = True
    found = list(notes)
    record |= _body(seen, encoding, weigher, key, found, folded)
    record["model"] = record["model"] or requested_model(seen.path)
    record["notes"] = [note_json(note) for note in found]
    if "body" in record:  # the longest member last, so that a line can be read by its head
        record["body"] = record.pop("body")
    return record


def _body(
    seen: SeenRequest,
    encoding: str | None,
    weigher: Weigher | WholeWeigher,
    key: bytes,
    notes: list[Note],
    folded: list[Folded] | None,
) -> Record:
    raw = seen.body
    if raw is None:
        return {"unparsed": {"bytes": None, "sha256": None, "reason": "the body was streamed past and not seen"}}
    if not raw and seen.method != "POST":
        return {"decoded_bytes": 0}
    data = raw
    if encoding is not None or raw[:1] != b"{":  # compressed, perhaps without saying so
        decoded = decode(raw, encoding, BODY_LIMIT)
        data = decoded.data
        notes.extend(decoded.notes)
    try:
        found = weigher.weigh(data, len(raw))
    except NotJson as error:
        capped = any(note.code == "encoding_capped" for note in notes)
        reason = f"it decodes to more than {BODY_LIMIT:,} bytes" if capped else error.reason
        kept = {"unparsed": unparsed(raw, reason)}
        return {"decoded_bytes": len(data), "fingerprint": fingerprint(sha256(raw).digest(), key)} | kept
    notes.extend(found.notes)
    if folded is not None:
        folded.extend(found.folded)
    fields = {folded_key(name, weigher.fold_over): amount for name, amount in found.figures.fields.items()}
    return {
        "decoded_bytes": len(data),
        "fingerprint": fingerprint(found.digest if data is raw and found.digest else sha256(raw).digest(), key),
        "model": found.model,
        "figures": {"fields": fields, "total": found.figures.total},
        "steps": found.figures.steps.as_dict(),
        "body": found.body,
    }


def fingerprint(digest: bytes, key: bytes) -> str:
    """A keyed hash of a body's digest: equal for equal bodies under one key, and of no use to who has not the key."""
    return blake2b(digest, key=key, digest_size=16).hexdigest()


def unparsed(raw: bytes, reason: str) -> Record:
    """What is kept of a body that is no JSON: its length, its hash and the reason."""
    return {"bytes": len(raw), "sha256": sha256(raw).hexdigest(), "reason": reason}


@dataclass(frozen=True, slots=True)
class SeenAnswer:
    """The end of an exchange as the proxy saw it. Durations in seconds since the request was accepted; None: never
    happened.

    ``status`` None: no answer came. ``failure``: what the proxy says of the end, when it was no good one.
    """

    id: str
    time: float
    ended: Ended
    status: int | None
    headers: tuple[tuple[str, str], ...] = ()
    answer: Answer | None = None
    first_byte: float | None = None
    first_content: float | None = None
    last: float | None = None
    failure: str | None = None


def response_record(
    seen: SeenAnswer, *, fold_over: int, notes: Iterable[Note] = (), folded: list[Folded] | None = None
) -> Record:
    """The ``response`` line. ``folded`` collects the strings that were folded."""
    kept, others = keep(seen.headers)
    record: Record = {
        "kind": "response",
        "id": seen.id,
        "time": timestamp(seen.time),
        "ended": seen.ended,
        "status": seen.status,
        "headers": kept,
        "other_headers": others,
        "content_encoding": _header(seen.headers, "content-encoding"),
        "first_byte": seen.first_byte,
        "first_content": seen.first_content,
        "last": seen.last,
    }
    if seen.failure:
        record["failure"] = seen.failure
    found = list(notes)
    if seen.answer is not None:
        found += seen.answer.notes
        # AWS names the error in a header: "ValidationException:http://…"
        named = (_header(seen.headers, "x-amzn-errortype") or "").partition(":")[0]
        record |= _answer(seen.answer, named or None, fold_over, folded)
    record["notes"] = [note_json(note) for note in found]
    return record


def _answer(answer: Answer, error_header: str | None, fold_over: int, folded: list[Folded] | None) -> Record:
    record: Record = {
        "wire_bytes": answer.wire_bytes,
        "decoded_bytes": answer.decoded_bytes,
        "model": answer.model,
        "message_id": answer.message_id,
        "stop_reason": answer.stop_reason,
    }
    said: Record = {"usage": answer.usage}
    if answer.usage_start is not None:
        said["usage_start"] = answer.usage_start
    if answer.usage_delta is not None:
        said["usage_delta"] = answer.usage_delta
    if answer.content is not None:
        said["content"] = answer.content
    if answer.rest:
        said["rest"] = answer.rest
    if answer.body is not None:
        said["body"] = answer.body
    record |= fold(said, fold_over, folded)
    if answer.error is not None:
        kind = answer.error.type or error_header
        error = {"type": kind, "message": answer.error.message, "request_id": answer.error.request_id}
        record["error"] = fold(error, max(fold_over, ERROR_KEPT) if fold_over >= 0 else fold_over)
    if answer.events:
        record["events"] = answer.events
    return record


def note_json(note: Note) -> dict[str, str]:
    """A note as the capture file has it, empty members left out."""
    return (
        {"code": note.code}
        | ({"path": note.path} if note.path else {})
        | ({"detail": note.detail} if note.detail else {})
    )


def _header(headers: Iterable[tuple[str, str]], wanted: str) -> str | None:
    values = [value for name, value in headers if name.lower() == wanted]
    return ", ".join(values) if values else None


@dataclass(frozen=True, slots=True)
class FileHead:
    """What a capture file says of itself in its first line. ``continues``: the file before it, after a rotation;
    ``taken``: how the client was led to the proxy, None when nobody said."""

    time: float
    version: str
    mitmproxy: str
    fold_over: int
    modes: tuple[str, ...]
    options: Mapping[str, Any]
    continues: str | None = None
    taken: str | None = None


def start_record(head: FileHead) -> Record:
    """The ``start`` line."""
    return {
        "kind": "start",
        "format": FORMAT,
        "time": timestamp(head.time),
        "weighbridge": head.version,
        "mitmproxy": head.mitmproxy,
        "fold_over": head.fold_over,
        "modes": list(head.modes),
        **({"taken": head.taken} if head.taken else {}),
        "options": dict(head.options),
        "continues": head.continues,
    }


def end_record(time: float, *, requests: int, responses: int, lost: int, unmatched: Mapping[str, int]) -> Record:
    """The ``end`` line. ``unmatched``: flows that were not recorded, by method and path."""
    return {
        "kind": "end",
        "time": timestamp(time),
        "requests": requests,
        "responses": responses,
        "lost": lost,
        "unmatched": sum(unmatched.values()),
        "unmatched_paths": dict(unmatched),
    }
