"""Which bytes of a request and of an answer a HAR entry holds, and what is to be said about them.

The text decides. ``bodySize``, ``content.size`` and ``compression`` mean different things in each program (sent or
decoded, with headers or without), so a difference has to be large to be noted.
"""

from __future__ import annotations

from dataclasses import dataclass

from analyzers.readers.saved_fields import count, length_told
from analyzers.readers.saved_text import as_stream, bytes_of, named_events
from analyzers.readers.wired import Headers, header
from analyzers.wire.jsontext import Json
from analyzers.wire.note import Note

FORM_ONLY = "the file holds the request's body only as form parameters, which are not what was sent"
NOT_KEPT = Note(
    "body_empty_in_file",
    "the file has an empty text for an answer that must have had a body, as programs write for a stream not kept",
)
FROM_EVENTS = Note("events_in_file", "the answer was put together from a list of its events: its bytes are unknown")
_BODILESS = (204, 304)  # RFC 9110 §15.3.5, §15.4.5
_SLACK = 64


@dataclass(frozen=True, slots=True)
class Posted:
    """A request's body. None: it is not in the file; ``reason`` where that has one of its own. ``packed``: as it was
    compressed on the wire."""

    body: bytes | None
    packed: bool = False
    reason: str | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """An answer's body. None: it is not in the file. ``exact``: these are the bytes of the wire; ``rebuilt``: not
    even those that were decoded; ``shortened``: the file says that there were more."""

    body: bytes | None
    packed: bool = False
    exact: bool = False
    rebuilt: bool = False
    shortened: bool = False
    notes: tuple[Note, ...] = ()


def posted(request: dict[str, Json], headers: Headers) -> Posted:
    """The body of a HAR's request."""
    data = request.get("postData")
    if type(data) is not dict:
        data = {"text": data}
    text, marked = data.get("text"), data.get("_base64")
    if type(text) is not str and type(marked) is str:
        text = marked
    size = count(request.get("bodySize"))
    if type(text) is not str:
        if data.get("params"):
            return Posted(None, reason=FORM_ONLY)
        return Posted(None if str(request.get("method")).upper() == "POST" or size else b"")
    if not text and (size or length_told(headers)):
        return Posted(None)
    coding = header(headers, "content-encoding")
    held = bytes_of(text, base64=_is_base64(data.get("encoding")) or bool(marked), coding=coding, size=size)
    notes = held.notes
    if coding is None and size is not None and _apart(len(held.data), size):
        notes += (Note("body_size_differs", f"the body is {len(held.data)} bytes, by the file's bodySize {size}"),)
    return Posted(held.data, held.packed, notes=notes)


def content(entry: dict[str, Json], response: dict[str, Json], status: int, headers: Headers) -> Content:
    """The body of a HAR's answer: its text, else the events that Chrome and Cypress list."""
    data = response.get("content")
    if type(data) is not dict:
        data = {"text": data}
    text = data.get("text")
    if type(text) is str and text:
        return _from_text(text, data, header(headers, "content-encoding"))
    events = entry.get("_eventSourceMessages")
    if type(events) is list and events:
        return Content(as_stream(named_events(events, "eventName")), rebuilt=True, notes=(FROM_EVENTS,))
    if status in _BODILESS or (status >= 400 and type(text) is str and not _told_length(data, response, headers)):
        return Content(b"", exact=True)
    return Content(None, notes=(NOT_KEPT,) if type(text) is str else ())


def _from_text(text: str, data: dict[str, Json], coding: str | None) -> Content:
    size, saved = count(data.get("size")), count(data.get("compression"))
    base64 = _is_base64(data.get("encoding")) or data.get("_base64") is True
    held = bytes_of(text, base64=base64, coding=coding, size=size)
    notes, shortened = held.notes, False
    length = len(held.data)
    # Decoded it is size by the standard, and size + compression in mitmproxy, whose size is that on the wire.
    sizes = [] if size is None else [size] if saved is None else [size, size + saved]
    if sizes and (coding is None or saved is not None) and all(_apart(length, each) for each in sizes):
        shortened = length < min(sizes)
        notes += (Note("content_size_differs", f"the answer is {length} bytes, by the file's content.size {size}"),)
    return Content(held.data, held.packed, coding is None or held.packed, shortened=shortened, notes=notes)


def _told_length(data: dict[str, Json], response: dict[str, Json], headers: Headers) -> int:
    return count(data.get("size")) or count(response.get("bodySize")) or length_told(headers) or 0


def _apart(length: int, size: int) -> bool:
    """Whether two lengths of one body differ by more than programs do."""
    return abs(length - size) > _SLACK + size // 10


def _is_base64(encoding: Json) -> bool:
    return type(encoding) is str and encoding.strip().lower() == "base64"
