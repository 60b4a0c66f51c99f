"""What an answer says, read from its bytes while they pass, whatever its headers claim.

`AnswerReader` undoes the content coding, looks at the first bytes, and then either takes events one by one (server-sent
or AWS frames) or keeps the body, up to a limit, until it is whole. Bodies decide, headers are only compared: gateways
serve streams as JSON, JSON as streams, errors as anything. Whatever depends on a position counts from the start of the
body, never of a chunk, so that chunks do not show in the result. The cost of a chunk is proportional to its size.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from analyzers.wire.body import Body, read_body, read_lines
from analyzers.wire.encodings import Decoder
from analyzers.wire.eventstream import PRELUDE, frame_size
from analyzers.wire.message import ApiError, Assembler, Message
from analyzers.wire.note import Note, Notebook
from analyzers.wire.stream import EventStream, FrameStream

DEFAULT_LIMIT = 64 * 1024 * 1024
"""Most bytes that are kept of a body that does not stream, or of one event, or followed of a compressed stream."""

_SWELL = 4  # a compressed body may decode to this many times the limit
_LEAD = 64
_BLANKS = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_CLOSING = (b"}", b"]")
_SSE = "text/event-stream"
_FRAMES = "application/vnd.amazon.eventstream"
_JSON = "application/json"
_TEXT = "text"
_ANYTHING = ("application/binary", "application/octet-stream")  # the results of a batch come so
_KINDS = {"json": _JSON, "lines": _JSON, "text": _TEXT, "binary": "binary data"}
_SSE_FIELDS = (b"event:", b"data:", b"id:", b"retry:", b":")


@dataclass(frozen=True, slots=True)
class Answer:
    """What an answer said. None: unknown, or not there."""

    model: str | None
    """The model that served it, which need not be the one asked for."""
    message_id: str | None
    stop_reason: str | None
    usage: dict[str, Any] | None
    """Merged by the API's rule, under its own names; counters that are unknown are missing or null."""
    usage_start: dict[str, Any] | None
    usage_delta: dict[str, Any] | None
    content: list[Any] | None
    """The blocks of the message, assembled; None when it is no message."""
    body: Any | None
    """What is no message: JSON, a list of the values of JSON lines, text, or the event that told of an error."""
    error: ApiError | None
    events: dict[str, int]
    """Events of a stream by type; in parentheses what had none."""
    complete: bool
    """Whether the end was seen: message_stop, or a whole JSON body."""
    wire_bytes: int
    """Bytes of the body as they came, transfer coding removed."""
    decoded_bytes: int
    """Bytes after undoing the content coding."""
    notes: tuple[Note, ...]
    rest: dict[str, Any] = field(default_factory=dict)
    """Members of the message that have no place above: `diagnostics`, `context_management`, `stop_details`, …"""


class AnswerReader:
    """Takes the bytes of one answer as they come, and tells at any moment how far it is. Raises nothing on any bytes.

    Notes: `content_type_missing`, `content_type_mismatch`, `charset_ignored`, `body_over_limit`, `stream_over_limit`,
    and those of the modules it reads with.
    """

    def __init__(
        self,
        status: int,
        content_type: str | None,
        content_encoding: str | None,
        route: str = "messages",
        *,
        limit: int = DEFAULT_LIMIT,
    ) -> None:
        self.wire_bytes = 0
        self.decoded_bytes = 0
        self._status = status
        self._route = route
        self._limit = limit
        self._book = Notebook()
        self._declared = self._media_type(content_type)
        self._decoder = Decoder(content_encoding, self._take, limit=_SWELL * limit)
        self._assembler = Assembler(self._book)
        self._stream: EventStream | FrameStream | None = None
        self._followed = 0  # bytes of a compressed stream
        self._whole = False
        self._lead = b""  # the first bytes that are no blanks, as long as they do not tell what the body is
        self._kept: list[bytes] = []
        self._kept_size = 0
        self._last_byte = b""
        self._answer: Answer | None = None

    @property
    def saw_content(self) -> bool:
        """Whether content has begun: by a content_block_delta, or the first byte of a body that does not stream."""
        return self._assembler.saw_content or self._whole

    @property
    def saw_error(self) -> bool:
        """Whether the answer is an error, by its status, by an event, or (known after `finish`) by its body."""
        known = self._answer is not None and self._answer.error is not None
        return known or self._status >= 400 or self._assembler.error is not None

    @property
    def complete(self) -> bool:
        """Whether the end was seen: message_stop, or (known after `finish`) a whole JSON body."""
        return self._assembler.complete if self._answer is None else self._answer.complete

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes of the body as they came over the wire."""
        self.wire_bytes += len(chunk)
        self._decoder.feed(chunk)

    def finish(self) -> Answer:
        """What the answer said, after its last byte or where it was cut. Further calls return the same."""
        if self._answer is None:
            self._answer = self._finished()
        return self._answer

    # While the bytes come

    def _media_type(self, content_type: str | None) -> str:
        media, _, parameters = (content_type or "").lower().partition(";")
        for parameter in parameters.split(";"):
            name, _, value = parameter.partition("=")
            if name.strip() == "charset" and value.strip(" \"'") not in ("utf-8", "utf8", "us-ascii"):
                self._book.add(Note("charset_ignored", "another charset than UTF-8 is declared: taken for UTF-8"))
        return media.strip()

    def _take(self, piece: bytes) -> None:
        self.decoded_bytes += len(piece)
        if self._stream is None and not self._whole:
            piece = self._lead + piece if self._lead else piece.lstrip(_BLANKS)
            self._lead = b""
            self._settle(_sort(piece[:_LEAD], self._declared))
        if self._stream is not None:
            self._stream.feed(self._bounded(piece) if self._decoder.packed else piece)
        elif self._whole:
            self._keep(piece)
        else:
            self._lead = piece

    def _bounded(self, piece: bytes) -> bytes:
        """As much of a compressed stream as may be followed: a few bytes can swell to hours of work."""
        room = self._limit - self._followed
        if len(piece) > room >= 0:
            self._book.add(Note("stream_over_limit", f"of the compressed stream {self._limit} bytes were followed"))
        self._followed += len(piece)
        return piece[: max(room, 0)]

    def _keep(self, piece: bytes) -> None:
        room = self._limit - self._kept_size
        self._kept_size += len(piece)
        self._last_byte = piece.rstrip(_BLANKS)[-1:] or self._last_byte
        if room > 0:
            self._kept.append(piece[:room])

    def _settle(self, kind: str | None) -> None:
        """Goes on as a stream or as a whole body, once that is known."""
        if kind == _SSE:
            self._stream = EventStream(self._assembler, self._book, self._limit)
        elif kind == _FRAMES:
            self._stream = FrameStream(self._assembler, self._book)
        elif kind is not None:
            self._whole = True
        if self._stream is not None:
            self._compare(kind or "")

    def _compare(self, found: str) -> None:
        if not self._declared:
            self._book.add(Note("content_type_missing", f"no content type: taken for {found} by its first bytes"))
        elif found == _JSON and ("json" in self._declared or self._declared in _ANYTHING):
            return
        elif self._declared != found and (found != _TEXT or self._declared in (_SSE, _FRAMES)):
            self._book.add(Note("content_type_mismatch", f"served as {self._declared[:64]!r}, but it is {found}"))

    # At the end

    def _finished(self) -> Answer:
        self._decoder.finish()
        body = None
        if self._stream is None:
            body = self._body()
        if self._stream is not None:
            self._stream.finish()
        if body is not None:
            message, value, error, complete = body.message, body.value, body.error, body.complete
        else:
            message, error = self._assembler.finish(), self._assembler.error
            value, complete = self._assembler.error_body, self._assembler.complete
            if self._status >= 400:
                error = error or ApiError(None, None, None)
        message = message or Message()
        return Answer(
            model=message.model,
            message_id=message.id,
            stop_reason=message.stop_reason,
            usage=message.usage,
            usage_start=message.usage_start,
            usage_delta=message.usage_delta,
            content=message.content,
            body=value,
            error=error,
            events=dict(self._assembler.events),
            complete=complete,
            wire_bytes=self.wire_bytes,
            decoded_bytes=self.decoded_bytes,
            notes=(*self._decoder.notes, *self._book.notes()),
            rest=message.rest,
        )

    def _body(self) -> Body | None:
        """What was kept of a body that does not stream; None when it turns out to be a stream after all."""
        data = b"".join((*self._kept, self._lead))
        self._kept = []
        if self._declared == _SSE and b"\ndata:" in data.replace(b"\r", b"\n"):  # fields nobody knows stood first
            self._stream = EventStream(self._assembler, self._book, self._limit)
            self._stream.feed(data)
            return None
        if self._kept_size > self._limit:
            self._book.add(Note("body_over_limit", f"of {self._kept_size} bytes only {self._limit} were kept"))
            found = read_lines(data.rpartition(b"\n")[0], self._book, promised=True) or Body("cut")
            error = ApiError(None, None, None) if self._status >= 400 else None
            return replace(found, error=error, complete=self._last_byte in _CLOSING)
        lines = any(word in self._declared for word in ("jsonl", "ndjson", "json-lines"))
        body = read_body(data, status=self._status, route=self._route, lines=lines, book=self._book)
        if body.kind != "empty":
            self._compare(_KINDS[body.kind])
        return body


def _sort(lead: bytes, declared: str) -> str | None:
    """How to go on after the first bytes of a body: as SSE, as AWS frames, as a whole (""). None: more are needed."""
    if len(lead) < 3 and _BOM.startswith(lead):
        return None
    begin = lead.removeprefix(_BOM).lstrip(_BLANKS)
    if begin.startswith(_SSE_FIELDS):
        return _SSE
    if len(lead) < _LEAD and any(name.startswith(begin) for name in _SSE_FIELDS):
        return None
    if begin[:1] == b"\0" or (declared == _FRAMES and begin[:1] not in (b"{", b"[", b"<", b'"')):
        if len(begin) < PRELUDE:
            return None
        if frame_size(begin) or (declared == _FRAMES and b"\0" in begin[:PRELUDE]):
            return _FRAMES
    return ""
