"""Texts inside texts: JSON in a string, escapes, percent-encoding, base64, hex, and invisible characters between.

Each decoder gives what a part of a text holds, and which part. None makes more characters than it read, none unpacks
compressed data, and a layer only goes deeper through ``text``, which bounds depth and sum. What is encoded and could
not be read as text is counted, so that nobody takes it for looked through.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote_to_bytes

from analyzers.wire.jsontext import Json, NotJson, parse

type Encoding = Literal["json", "escapes", "percent", "base64", "hex", "invisible"]


@dataclass(frozen=True, slots=True)
class Layer:
    """What a part of a text (``start`` to ``end``) says once decoded. ``key``: the JSON key it stood under.
    ``steps``: positions at which decoded and encoded text run apart, as (decoded, encoded); empty where single
    characters have no place of their own (JSON, base64)."""

    encoding: Encoding
    start: int
    end: int
    text: str
    key: str | None = None
    steps: tuple[tuple[int, int], ...] = ()

    def outer(self, start: int, end: int) -> tuple[int, int]:
        """The part of the encoded text that holds these decoded characters: all of it where that is not known."""
        if not self.steps:
            return self.start, self.end
        return self._outer(start), self._outer(end)

    def _outer(self, at: int) -> int:
        decoded, encoded = self.steps[bisect_right(self.steps, (at, 1 << 62)) - 1]
        return min(encoded + at - decoded, self.end)


@dataclass(slots=True)
class Blobs:
    """Encoded stretches that are no text: how many, and their characters."""

    count: int = 0
    chars: int = 0

    def add(self, chars: int) -> None:
        self.count += 1
        self.chars += chars


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrtbf0\"'\\/]))")
_ESCAPED_LINES = re.compile(r"(?:^[^\\\n]*+\\[^\n]*+\n?)+", re.MULTILINE)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "0": "\0"}
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_TOKEN = re.compile(r"(?<![^\s\"'<>`])[^\s\"'<>`%]{0,4096}%[0-9A-Fa-f]{2}[^\s\"'<>`]*+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\ufe00-\ufe0f]+")
_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/_=-])(?:[A-Za-z0-9+/]{60,100}\r?\n(?=[A-Za-z0-9+/]))*(?:[A-Za-z0-9+/_-]{16,}+)={0,2}"
)
_AFTER_EQUALS = re.compile(r"(?<=[=:])[A-Za-z0-9+/_-]{16,}+={0,2}")
_HEX = re.compile(r"(?<![A-Za-z0-9])(?:0x)?((?:[0-9a-f]{2}){12,}+|(?:[0-9A-F]{2}){12,}+)(?![A-Za-z0-9])")
_WORDLIKE = re.compile(r"[A-Za-z]*+(?:[-_/][A-Za-z]*+)*+")
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]")
_SHORTEST = 6
_LONG = 512
_ENCODED = re.compile(r"[A-Za-z0-9+/\r\n_-]*+={0,2}")
_BLOB = 64
"""Characters from which something like base64 that is no text is counted as a blob; shorter ones are ids and words."""


def layers(text: str, blobs: Blobs) -> Iterator[Layer]:
    """The texts inside a text, one decoding deep."""
    whole = list(_json(text)) if text[:64].lstrip()[:1] in ("{", "[", '"') else []
    if whole:
        yield from whole
        return
    if "\\" in text:
        yield from _escapes(text)
    if "%" in text:
        yield from _percent(text)
    if not text.isascii() and _INVISIBLE.search(text):
        yield _without(text)
    if len(text) >= 16:
        yield from _base64(text, blobs)
        yield from _hex(text)


def is_encoded(text: str) -> bool:
    """Whether a whole text is one long stretch of base64, as images and signatures are: nothing stands in it as it
    is."""
    return len(text) >= _LONG and _ENCODED.fullmatch(text) is not None


def _json(text: str) -> Iterator[Layer]:
    """The strings of a text that is JSON as a whole. Lines of JSON are read as escapes are."""
    if text.rstrip()[-1:] not in ("}", "]", '"'):
        return
    try:
        value = parse(text.encode("utf-8", "surrogatepass")).value
    except NotJson:
        return
    stack: list[tuple[str | None, Json]] = [(None, value)]
    while stack:
        key, node = stack.pop()
        kind = type(node)
        if kind is str:
            yield Layer("json", 0, len(text), node, key)
        elif kind is dict:
            for name, member in reversed(node.items()):
                stack.append((name, member))
                stack.append((None, name))
        elif kind is list:
            stack += [(key, member) for member in reversed(node)]
        elif node is not None and kind is not bool:
            yield Layer("json", 0, len(text), str(node), key)


def _escapes(text: str) -> Iterator[Layer]:
    """The lines with escapes, neighbours together: what was escaped has its line ends escaped too."""
    for block in _ESCAPED_LINES.finditer(text):
        out: list[str] = []
        at, size = block.start(), 0
        steps = [(0, at)]
        for match in _ESCAPE.finditer(text, at, block.end()):
            out.append(text[at : match.start()])
            code = match[1] or match[2]
            out.append(chr(int(code, 16)) if code else _SIMPLE.get(match[3], match[3]))
            size += match.start() - at + 1
            at = match.end()
            steps.append((size, at))
        if out:
            out.append(text[at : block.end()])
            yield Layer("escapes", block.start(), block.end(), "".join(out), steps=tuple(steps))


def _percent(text: str) -> Iterator[Layer]:
    for token in _TOKEN.finditer(text):
        out: list[str] = []
        steps = [(0, token.start())]
        at, size = token.start(), 0
        for match in _PERCENT.finditer(text, token.start(), token.end()):
            plain = unquote_to_bytes(match[0]).decode("utf-8", "replace")
            out += (text[at : match.start()], plain)
            size += match.start() - at
            steps.append((size, match.start()))
            if "\ufffd" not in plain:  # each character has its own codes
                place = match.start()
                for offset, char in enumerate(plain):
                    steps.append((size + offset, place))
                    place += 3 * len(char.encode())
            size += len(plain)
            at = match.end()
            steps.append((size, at))
        out.append(text[at : token.end()])
        yield Layer("percent", token.start(), token.end(), "".join(out), steps=tuple(steps))


def _without(text: str) -> Layer:
    """A text without the characters that nobody sees."""
    out: list[str] = []
    steps = [(0, 0)]
    at = size = 0
    for match in _INVISIBLE.finditer(text):
        out.append(text[at : match.start()])
        size += match.start() - at
        at = match.end()
        steps.append((size, at))
    out.append(text[at:])
    return Layer("invisible", 0, len(text), "".join(out), steps=tuple(steps))


def _base64(text: str, blobs: Blobs) -> Iterator[Layer]:
    seen = -1
    for shape in (_BASE64, _AFTER_EQUALS):
        for match in shape.finditer(text):
            if shape is _AFTER_EQUALS and match.start() <= seen:
                continue
            value = match[0]
            if _WORDLIKE.fullmatch(value) and len(value) < 40:
                continue
            plain = _plain(_bytes(value))
            if plain is not None:
                yield Layer("base64", match.start(), match.end(), plain)
            elif len(value) >= _BLOB and "-" not in value:
                blobs.add(len(value))
            seen = match.end()


def _bytes(value: str) -> bytes:
    """The bytes of a base64 text in either alphabet, with or without padding, a broken end dropped."""
    value = value.replace("\r", "").replace("\n", "").rstrip("=").translate(_STANDARD)
    value = value[: len(value) - (len(value) % 4 == 1)]
    try:
        return b64decode(value + "=" * (-len(value) % 4))
    except (binascii.Error, ValueError):
        return b""


_STANDARD = str.maketrans("-_", "+/")


def _plain(data: bytes) -> str | None:
    """Bytes as text in UTF-8 or UTF-16; None where they are something else."""
    if len(data) < _SHORTEST:
        return None
    if data[1::2].count(0) * 10 > len(data) * 4 or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        order = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-16-le"
        text = data[: len(data) // 2 * 2].decode(order, "replace")
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.start < len(data) - 3 or error.start < _SHORTEST:
                return None
            text = data[: error.start].decode("utf-8")  # cut in the middle of a character
    return None if len(_UNREADABLE.findall(text)) * 50 > len(text) else text


def _hex(text: str) -> Iterator[Layer]:
    for match in _HEX.finditer(text):
        plain = _plain(bytes.fromhex(match[1]))
        if plain is not None and plain.isprintable() | ("\n" in plain):
            yield Layer("hex", match.start(1), match.end(1), plain)
