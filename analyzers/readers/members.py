"""The elements of one array inside a large JSON document, cut out as bytes, without parsing the document.

A HAR of many GB is one object whose ``log.entries`` is a list: parsed as a whole it would need several times its size,
and a parser that streams gives values where the bytes are wanted (what it does to a lone surrogate or to invalid
UTF-8 would change lengths unseen). So only brackets, commas and quotes are looked at here. In each chunk,
escapes are blanked out first (an escaped backslash or quote becomes two bytes that mean nothing), which leaves only
quotes that begin or end a string; then one regular expression runs over everything between two brackets. The state
between two chunks is a few numbers, so any cut gives the same. O(bytes), and memory for the largest element.

What is broken inside an element is for whoever parses it; brackets are counted, never matched against each other.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

ELEMENT_LIMIT = 384 * 1024 * 1024
"""Bytes of one element: above that of an exchange with the largest body the API takes."""

_KEY_LIMIT = 4096  # bytes of an object key that may be on the path
_BLANKS = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_QUOTE, _COMMA = b'",'
_OPEN = frozenset(b"{[")
_FLAT = re.compile(rb'(?:[^"{}\[\]]++|"[^"]*+")*+')  # up to a bracket, or to a string that does not end in the chunk
_TOKEN = re.compile(rb'["{}\[\],]')
_HEAD_TOKEN = re.compile(rb'"[^"]*+"?|[{}\[\],]')


@dataclass(frozen=True, slots=True)
class Element:
    """One element of the array and its number, from 1. ``data`` None: it was longer than the limit."""

    number: int
    data: bytes | None


class ArraySplitter:
    """The elements of the array at ``path`` (object keys from the root; none: the root is the array), chunk by chunk.

    ``opened``: the array was found. ``found``: how many keys of the path were. ``count``: elements so far. ``begun``:
    an element has begun and not ended. ``whole``: the document has ended, or none has begun. Raises nothing.
    """

    def __init__(self, *path: str, limit: int = ELEMENT_LIMIT) -> None:
        self.path = path
        self.opened = False
        self.found = 0
        self.count = 0
        self._limit = limit
        self._level = 0  # open containers on the path; above len(path): inside the array
        self._nest = 0  # open containers below those
        self._due = True  # the next value is the one on the path
        self._key_next = False
        self._key: bytearray | None = None
        self._in_string = False
        self._escaped = False  # the last chunk ended within an escape
        self._pieces: list[bytes] = []
        self._size = 0

    @property
    def whole(self) -> bool:
        return not (self._level or self._nest or self._in_string)

    @property
    def begun(self) -> bool:
        return self._size > 0

    def feed(self, chunk: bytes) -> list[Element]:
        """The elements that end within this chunk."""
        out: list[Element] = []
        clean = self._without_escapes(chunk)
        at, start, end = 0, 0, len(chunk)  # start: of what belongs to the element
        while at < end:
            if self._in_string:
                at = self._string(chunk, clean, at)
            elif self._nest:
                at = self._nested(clean, at)
                if self._level > len(self.path) and not self._nest:
                    self._emit(chunk[start:at], out)
                    start = at
            elif (token := _TOKEN.search(clean, at)) is None:
                at = end
            else:
                at = token.end()
                if self._level <= len(self.path):
                    self._outside(clean[at - 1])
                    start = at
                elif self._ends_scalar(clean[at - 1]):
                    self._emit(chunk[start : at - 1], out)
                    start = at
        if self._level > len(self.path):
            self._hold(chunk[start:])
        return out

    def _without_escapes(self, chunk: bytes) -> bytes:
        clean = chunk
        if self._escaped and chunk.startswith((b'"', b"\\")):
            clean = b"\0" + chunk[1:]
        self._escaped = self._escaped and not chunk
        if b"\\" in clean:
            # A run of backslashes pairs up from its left; what is left of it escapes what follows.
            clean = clean.replace(b"\\\\", b"\0\0").replace(b'\\"', b"\0\0")
            self._escaped = clean.endswith(b"\\")
        return clean

    def _string(self, chunk: bytes, clean: bytes, at: int) -> int:
        end = clean.find(b'"', at)
        if self._key is not None and len(self._key) <= _KEY_LIMIT:
            self._key += chunk[at : end if end >= 0 else len(chunk)]
        if end < 0:
            return len(chunk)
        self._in_string = False
        if self._key is not None:
            key, self._key = self._key, None
            self._due = len(key) <= _KEY_LIMIT and _text(key) == self.path[self._level - 1]
            self.found = max(self.found, self._level) if self._due else self.found
        return end + 1

    def _nested(self, clean: bytes, at: int) -> int:
        """Goes on to the end of the outermost container that is no part of the path, or of the chunk."""
        end = len(clean)
        while at < end:
            flat = _FLAT.match(clean, at)
            assert flat is not None
            at = flat.end() + 1
            if at > end:
                return end
            byte = clean[at - 1]
            if byte == _QUOTE:
                self._in_string = True
                return end
            self._nest += 1 if byte in _OPEN else -1
            if not self._nest:
                return at
        return at

    def _outside(self, byte: int) -> None:
        """A token of the document outside the array, in a container on the path."""
        if byte == _QUOTE:
            self._in_string = True
            if self._key_next:
                self._key, self._key_next = bytearray(), False
        elif byte == _COMMA:
            self._key_next = self._level > 0
            self._due = self._level == 0
        elif byte in _OPEN:
            steps_in = self._due and (byte == ord("[")) == (self._level == len(self.path))
            self._due = False
            if not steps_in:
                self._nest = 1
                return
            self._level += 1
            self.opened = self.opened or self._level > len(self.path)
            self._key_next = self._level <= len(self.path)
        else:
            self._close()

    def _close(self) -> None:
        self._level = max(self._level - 1, 0)
        self._key_next = False
        self._due = self._level == 0  # another document may follow

    def _ends_scalar(self, byte: int) -> bool:
        """A token of the array itself; whether it ends an element that is no container."""
        if byte == _QUOTE:
            self._in_string = True
        elif byte in _OPEN:
            self._nest = 1
        else:
            if byte != _COMMA:
                self._close()
            return True
        return False

    def _hold(self, piece: bytes) -> None:
        if not self._size:
            piece = piece.lstrip(_BLANKS)
        self._size += len(piece)
        if self._size > self._limit:
            self._pieces.clear()
        elif piece:
            self._pieces.append(piece)

    def _emit(self, piece: bytes, out: list[Element]) -> None:
        self._hold(piece)
        if self._size:
            self.count += 1
            fits = self._size <= self._limit
            out.append(Element(self.count, b"".join(self._pieces).rstrip(_BLANKS) if fits else None))
        self._pieces, self._size = [], 0


def top_keys(head: bytes) -> list[str]:
    """The keys of the object that a JSON text is, as far as its first bytes show them; none where it is no object."""
    text = head.removeprefix(_BOM).lstrip(_BLANKS)
    if not text.startswith(b"{"):
        return []
    clean = text.replace(b"\\\\", b"\0\0").replace(b'\\"', b"\0\0")
    keys: list[str] = []
    depth, key_next = 0, False
    for token in _HEAD_TOKEN.finditer(clean):
        byte = clean[token.start()]
        if byte == _QUOTE:
            if key_next and depth == 1 and token.end() - token.start() > 1 and clean[token.end() - 1] == _QUOTE:
                keys.append(_text(text[token.start() + 1 : token.end() - 1]))
            key_next = False
        elif byte == _COMMA:
            key_next = True
        elif byte in _OPEN:
            depth += 1
            key_next = True
        else:
            depth -= 1
            key_next = False
            if not depth:
                break
    return keys


def _text(raw: bytes | bytearray) -> str:
    """What is between the quotes of a JSON string, as text; as it stands where it is no JSON."""
    text = raw.decode("utf-8", "replace")
    try:
        return str(json.loads(f'"{text}"', strict=False)) if "\\" in text else text
    except ValueError:
        return text
