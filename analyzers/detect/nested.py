"""Texts inside texts: JSON in a string, escapes, percent-encoding, base64, hex, and invisible characters between.

Each decoder gives what a part of a text holds, and which part. None makes more characters than it read, none unpacks
compressed data, and a layer only goes deeper through ``text``, which bounds depth and sum. What is encoded and could
not be read as text is counted, so that nobody takes it for looked through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from analyzers.detect import json_strings
from analyzers.detect.encoded_bytes import base64_layers, hex_layers
from analyzers.detect.layer import Blobs, Layer, Steps

_ESCAPED_LINES = re.compile(r"(?:^[^\\\n]*+\\[^\n]*+\n?)+", re.MULTILINE)
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_TOKEN = re.compile(
    r"(?<![^\s\"'<>`])(?:[^\s\"'<>`%]|%(?![0-9A-Fa-f]{2}))*+%[0-9A-Fa-f]{2}[^\s\"'<>`]*+"
    r"(?:[ \t]{1,2}[^\s\"'<>`]++){0,8}"
)
"""A stretch with encoded characters, and some words behind it: a value may have blanks."""
_INVISIBLE = re.compile(
    "(?:[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\ufe00-\ufe0f]|\x1b\\[[0-9;?]{0,32}[A-Za-z]|\x1b\\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\\\))+"
)
"""Characters that have no width, and what colours the output of a terminal."""
_LONG = 512
_ENCODED = re.compile(r"[A-Za-z0-9+/\r\n_-]*+={0,2}")
_FEWEST = 11  # characters of something in base64
_SHORTEST = 8  # and with percent signs


def layers(text: str, blobs: Blobs) -> Iterator[Layer]:
    """The texts inside a text, one decoding deep."""
    whole = json_strings.strings(text)
    if whole is not None:
        yield from whole
        return
    if "\\" in text:
        yield from _escapes(text)
    if "%" in text:
        yield from _percent(text)
    if ("\x1b" in text or not text.isascii()) and _INVISIBLE.search(text):
        yield _without(text)
    if len(text) >= _FEWEST:
        yield from base64_layers(text, blobs)
        yield from hex_layers(text)


def is_encoded(text: str) -> bool:
    """Whether a whole text is one long stretch of base64, as images and signatures are: nothing stands in it as it
    is."""
    return len(text) >= _LONG and _ENCODED.fullmatch(text) is not None


def _escapes(text: str) -> Iterator[Layer]:
    """The lines with escapes, neighbours together: what was escaped has its line ends escaped too."""
    for block in _ESCAPED_LINES.finditer(text):
        plain, steps = json_strings.unescaped(text, *block.span())
        if len(steps) > 1:
            yield Layer("escapes", *block.span(), plain, None, steps)


def _percent(text: str) -> Iterator[Layer]:
    """Each stretch without blanks and quotes that has encoded characters; twice where a ``+`` may stand for a blank."""
    for token in _TOKEN.finditer(text):
        if token.end() - token.start() < _SHORTEST:
            continue
        plain, steps = _unquoted(text, *token.span())
        yield Layer("percent", *token.span(), plain, None, steps)
        if "+" in token[0]:
            plain, steps = _unquoted(token[0].replace("+", " "), 0, len(token[0]), token.start())
            yield Layer("percent", *token.span(), plain, None, steps)


def _unquoted(text: str, start: int, end: int, before: int = 0) -> tuple[str, Steps]:
    """A part of a text, decoded. ``before``: what is added to positions in it."""
    out: list[str] = []
    steps: list[tuple[int, int, int]] = []
    at, size = start, 0
    for match in _PERCENT.finditer(text, start, end):
        begin = match.start()
        if begin > at:
            steps.append((size, at + before, 1))
            out.append(text[at:begin])
            size += begin - at
        at = match.end()
        data = unquote_to_bytes(match[0])
        if data.isascii():
            steps.append((size, begin + before, 3))
            out.append(data.decode("ascii"))
            size += len(data)
            continue
        for char in data.decode("utf-8", "surrogateescape"):
            steps.append((size, begin + before, 1))
            begin += 3 * (1 if "\udc80" <= char <= "\udcff" else len(char.encode("utf-8", "surrogatepass")))
            out.append(char)
            size += 1
    steps.append((size, at + before, 1))
    out.append(text[at:end])
    return _STRAY.sub("\ufffd", "".join(out)), tuple(steps)


_STRAY = re.compile("[\udc80-\udcff]")


def _without(text: str) -> Layer:
    """A text without the characters that nobody sees."""
    out: list[str] = []
    steps = [(0, 0, 1)]
    at = size = 0
    for match in _INVISIBLE.finditer(text):
        out.append(text[at : match.start()])
        size += match.start() - at
        at = match.end()
        steps.append((size, at, 1))
    out.append(text[at:])
    return Layer("invisible", 0, len(text), "".join(out), None, tuple(steps))
