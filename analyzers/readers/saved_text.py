"""The bytes of a body that a program saved as text.

A HAR has text where the wire had bytes, and programs differ in how they make one of the other: UTF-8 decoded, code
points that are the bytes (mitmproxy, where no charset is declared), bytes that are no UTF-8 as lone surrogates
(Python's ``surrogateescape``, mitmproxy too), base64 with or without saying so, base64 of what is still compressed,
base64 twice, and text marked as base64. What decides is what comes out; what had to be guessed is noted. O(characters).
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from codecs import utf_8_decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analyzers.wire.jsontext import Json, dump
from analyzers.wire.note import Note

_SURROGATE = re.compile("[\ud800-\udfff]")
_BASE64 = re.compile(rb"[A-Za-z0-9+/\-_\r\n]{16,}={0,2}[\r\n]*")
_BEGINS = (b"{", b"[", b"event:", b"data:", b": ")
_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\r\f\x1b"))
_BREAK = re.compile(r"[\r\n]")
_HEAD = 64
_TURNS = 2
_BLANK = b"\xef\xbb\xbf \t\r\n"

AS_BYTES = Note("bytes_as_characters", "the file holds each byte of the body as one character: read as UTF-8")
NO_BASE64 = Note("base64_invalid", "the file calls the body base64, which it is not: taken as plain text")
AGAIN = Note("double_encoded", "the body was base64 or a JSON string without a word about it: undone")


@dataclass(frozen=True, slots=True)
class Held:
    """A body's bytes. ``packed``: still compressed as it was on the wire."""

    data: bytes
    packed: bool
    notes: tuple[Note, ...] = ()


def bytes_of(text: str, *, base64: bool = False, coding: str | None = None, size: int | None = None) -> Held:
    """The bytes that a saved text stands for. ``base64``: the file says so; ``coding``: the content coding that the
    headers name; ``size``: bytes of the body by the file, which can prove that the text is what it seems."""
    notes: list[Note] = []
    data = _unbase64(text.encode("ascii", "replace")) if base64 else None
    if data is None:
        if base64 and text:
            notes.append(NO_BASE64)
        data, note = _encoded(text, coding, size)
        notes += note
    if (inner := _inside(data)) is not None:
        data = inner
        notes.append(AGAIN)
    return Held(data, is_packed(data, coding), tuple(notes))


def is_packed(data: bytes, coding: str | None) -> bool:
    """Whether a body is still compressed: by magic (RFC 1952, RFC 8878), or because a coding is named and it is no
    text."""
    if data.startswith((b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd")):
        return True
    head = data[:_HEAD]
    return bool(coding) and bool(head) and (head.translate(None, _CONTROLS) != head or not _is_utf8(head))


def _encoded(text: str, coding: str | None, size: int | None) -> tuple[bytes, list[Note]]:
    if text.isascii():
        return text.encode(), []
    if _SURROGATE.search(text):
        return _with_surrogates(text), []
    plain = text.encode()
    try:
        raw = text.encode("latin-1")
    except UnicodeEncodeError:
        return plain, []
    if size != len(plain):
        head = raw[:_HEAD]
        binary = head.translate(None, _CONTROLS) != head and is_packed(raw, coding)
        if binary or _is_utf8(raw):
            return raw, [AS_BYTES]
    return plain, []


def _with_surrogates(text: str) -> bytes:
    """Lone surrogates stand for bytes where decoding the bytes gives just these; else they are what was sent."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return raw if raw.decode("utf-8", "surrogateescape") == text else text.encode("utf-8", "surrogatepass")


def _is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8, surrogates allowed. The last character may be cut off where another one is whole, or
    where the bytes are but a head."""
    try:
        found, used = utf_8_decode(data, "surrogatepass", False)
    except UnicodeDecodeError:
        return False
    return used == len(data) or len(data) == _HEAD or not found.isascii()


def _inside(data: bytes) -> bytes | None:
    """What a body holds that was encoded once or twice more than the file says; None when it was not."""
    if data.startswith((b'"event:', b'"data:')):
        try:
            inner = json.loads(data)
        except ValueError:
            return None
        return inner.encode("utf-8", "surrogatepass") if type(inner) is str else None
    found: bytes | None = data
    for _ in range(_TURNS):
        if not found or not _BASE64.match(found[:_HEAD]) or not _BASE64.fullmatch(found):
            return None
        found = _unbase64(found)
        if found and (found.lstrip(_BLANK).startswith(_BEGINS) or is_packed(found, None)):
            return found
    return None


def _unbase64(data: bytes) -> bytes | None:
    """Base64 in either alphabet (RFC 4648 §4, §5), line breaks and missing padding allowed; None when it is none."""
    bare = data.translate(None, b" \t\r\n").rstrip(b"=")
    if len(bare) % 4 == 1:
        return None
    try:
        return b64decode(bare.replace(b"-", b"+").replace(b"_", b"/") + b"=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def as_stream(events: Iterable[tuple[str | None, Json]]) -> bytes:
    """A list of events, each its name and its data, as the stream of server-sent events that they came from (WHATWG
    HTML §9.2.6). Data that is no text is written as JSON."""
    out = bytearray()
    for name, data in events:
        text = data.encode("utf-8", "surrogatepass") if type(data) is str else dump(data)
        if name:
            out += b"event: " + name.encode("utf-8", "surrogatepass") + b"\n"
        for line in text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"):
            out += b"data: " + line + b"\n"
        out += b"\n"
    return bytes(out)


def named_events(listed: list[Json], name: str) -> Iterator[tuple[str | None, Json]]:
    """Name and data of the events in a list; ``name``: the member that names them. ``message`` stands for no name."""
    for event in listed:
        if type(event) is dict and event.get("data") is not None:
            called = event.get(name)
            has_name = type(called) is str and called != "message" and not _BREAK.search(called)
            yield called if has_name else None, event["data"]
