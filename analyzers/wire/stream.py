"""From framing to JSON: the events of a stream, server-sent or in AWS frames, handed to the assembler one by one.

Servers pad events with blanks, so that lengths on the wire tell nothing; the blanks go before parsing, which then takes
its fast way. An event that is no JSON is looked at once more, line by line, because what follows a line that broke off
is often the very error that broke it. Cost: O(bytes), with at most three parses of a damaged event.
"""

from __future__ import annotations

from binascii import a2b_base64

import orjson

from analyzers.wire.eventstream import Frame, FrameDecoder
from analyzers.wire.jsontext import Document, Json, NotJson, parse
from analyzers.wire.message import ApiError, Assembler
from analyzers.wire.note import Note, Notebook
from analyzers.wire.sse import Event, EventDecoder, Flaw

_BLANKS = b" \t\r\n"
_TEXT_DELTAS = frozenset({"text_delta", "thinking_delta", "input_json_delta", "signature_delta"})


class EventStream:
    """A stream of server-sent events. Notes: `unterminated_event`, `malformed_event`, `bare_event`, those of `sse`."""

    def __init__(self, assembler: Assembler, book: Notebook, limit: int) -> None:
        self._assembler = assembler
        self._book = book
        self._decoder = EventDecoder(limit)

    def feed(self, piece: bytes) -> None:
        """Takes the next bytes of the decoded body."""
        for event in self._decoder.feed(piece):
            self._take(event)

    def finish(self) -> None:
        """Says that no more will come."""
        for event in self._decoder.finish():
            self._take(event)
        if self._decoder.comments:
            self._assembler.events["(comment)"] = self._decoder.comments
        self._book.extend(self._decoder.notes())

    def _take(self, event: Event) -> None:
        if event.flaw is Flaw.UNTERMINATED:
            self._book.add(Note("unterminated_event", "the last event has no blank line after it"))
            if not event.lines:
                return
        elif event.flaw is Flaw.BARE:
            self._book.add(Note("bare_event", "a line of JSON stands in the stream without `data:` before it"))
        data = event.data.strip(_BLANKS)
        if not data or data == b"[DONE]":  # other vendors end their streams with the latter
            self._assembler.count(data.decode() or event.name or "(empty)")
            return
        try:
            document = _parse(data)
        except NotJson as error:
            self._resync(event, error.reason)
            return
        if len(event.lines) > 1 and _goes_on(document):
            self._resync(event, "several JSON texts in one event")
            return
        self._book.extend(document.notes)
        self._assembler.take(document.value, event.name)

    def _resync(self, event: Event, reason: str) -> None:
        """Takes what can be read of a damaged event: each of its lines that is JSON, else the end of the last line."""
        found = [document for line in event.lines if (document := _whole_event(line)) is not None]
        if not found and (document := _whole_event(event.lines[-1].rpartition(b"data:")[2])) is not None:
            found = [document]
        if found or event.flaw is not Flaw.UNTERMINATED:
            self._assembler.count("(malformed)")
            self._book.add(Note("malformed_event", reason))
        for document in found:
            self._book.extend(document.notes)
            self._assembler.take(document.value, event.name if document is found[-1] else "")
        if not found and event.name == "error":
            text = event.data.decode("utf-8")
            self._assembler.fail(ApiError(None, text, None), text)


class FrameStream:
    """A stream of AWS frames, as Bedrock sends. Notes: `malformed_event`, `unknown_event`, those of `eventstream`."""

    def __init__(self, assembler: Assembler, book: Notebook) -> None:
        self._assembler = assembler
        self._book = book
        self._decoder = FrameDecoder()

    def feed(self, piece: bytes) -> None:
        """Takes the next bytes of the decoded body."""
        for frame in self._decoder.feed(piece):
            self._take(frame)

    def finish(self) -> None:
        """Says that no more will come."""
        self._decoder.finish()
        self._book.extend(self._decoder.notes())

    def _take(self, frame: Frame) -> None:
        try:
            payload: Json = _exact(frame.payload).value
        except NotJson:
            payload = frame.payload.decode("utf-8", "replace")
        if frame.headers.get(":message-type") in ("exception", "error"):
            self._fail(frame.headers, payload)
            return
        kind = frame.headers.get(":event-type", "chunk")
        if kind != "chunk":
            self._assembler.count(kind)
            self._book.add(Note("unknown_event", f"a frame of type {kind[:64]!r}"))
            return
        try:
            document = _parse(a2b_base64(payload["bytes"], strict_mode=True))
        except (TypeError, KeyError, ValueError) as error:  # NotJson and binascii.Error are ValueErrors
            self._assembler.count("(malformed)")
            self._book.add(Note("malformed_event", f"a frame without an event in it ({type(error).__name__})"))
            return
        self._book.extend(document.notes)
        self._assembler.take(document.value)

    def _fail(self, headers: dict[str, str], payload: Json) -> None:
        """An exception frame says what an `error` event says elsewhere."""
        member = payload.get("message") or payload.get("Message") if isinstance(payload, dict) else payload
        message = member if type(member) is str and member else headers.get(":error-message")
        kind = headers.get(":exception-type") or headers.get(":error-code")
        self._assembler.count("error")
        self._assembler.fail(ApiError(kind, message, None), payload)


def _parse(data: bytes) -> Document:
    """The JSON of one event. Raises NotJson.

    Nearly all events are deltas of text, of which only the text is kept: there the fast parser is exact enough.
    """
    try:
        value = orjson.loads(data)
        if value["type"] == "content_block_delta" and value["delta"]["type"] in _TEXT_DELTAS:
            return Document(value, None)
    except (ValueError, TypeError, KeyError, IndexError):
        pass  # not such an event; the exact parser says what it is
    return _exact(data)


def _exact(data: bytes) -> Document:
    """A JSON text with the blanks before its last brace taken off. Raises NotJson."""
    if data.endswith(b"}"):
        inner = data[:-1].rstrip(b" ")
        if len(inner) < len(data) - 1:
            data = inner + b"}"
    return parse(data)


def _whole_event(data: bytes) -> Document | None:
    try:
        document = _exact(data)
    except NotJson:
        return None
    return document if isinstance(document.value, dict) and not _goes_on(document) else None


def _goes_on(document: Document) -> bool:
    return any(note.code == "trailing_text" for note in document.notes)
