"""Base64 and hex inside a text: what they hold as text, whole or in part.

A stretch of base64 is taken as it stands. Where it holds no text as a whole, what can be printed among its bytes is
read: a picture names its author, and the signs of the alphabet (``/ + - _``) are also those of paths and names that may
stand before the encoded text. Such stretches are counted, so that nobody takes them for looked through.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Iterator

from analyzers.detect.layer import Blobs, Layer

_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/]{60,100}\r?\n[ \t]{0,16}(?=[A-Za-z0-9+/]))*[A-Za-z0-9+/_-]{11,}+={0,2}"
)
_WORDS = re.compile(
    r"[_/+-]*+(?:[A-Z]?[a-z]++|[A-Z]++|[0-9]{1,4}+)(?:[_/+-]++(?:[A-Z]?[a-z]++|[A-Z]++|[0-9]{1,4}+))*+[_/+-]*+"
)
_SIGNS = re.compile("[-/+_]")
_HEX = re.compile(r"(?<![A-Za-z0-9])(?:0x)?((?:[0-9A-Fa-f]{2}){8,}+)(?![A-Za-z0-9])")
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]")
_PRINTED = re.compile(rb"[\x20-\x7e\t\r\n\x1b]{8,}+")
_BLANK = re.compile(r"\s+")
_PADDING = ("", "", "==", "=")
_SHORTEST = 6
_BLOB = 64
"""Characters from which something like base64 that is no text is counted as a blob; shorter ones are ids and words."""


def base64_layers(text: str, blobs: Blobs) -> Iterator[Layer]:
    """What the base64 in a text holds."""
    for match in _BASE64.finditer(text):
        value = match[0]
        if _WORDS.fullmatch(value):
            continue
        data = _bytes(value)
        plain, width = _plain(data)
        if plain:
            exact = width > 0 and "\n" not in value
            yield Layer("base64", *match.span(), plain, None, ((0, 0, width),) if exact else (), (4, 3))
            continue
        if len(value) >= _BLOB and "-" not in value:
            blobs.add(len(value))
        yield from _printed(value, data, *match.span())


def _printed(value: str, data: bytes, start: int, end: int) -> Iterator[Layer]:
    """The stretches among the bytes that can be printed, one on each line. A text may begin at any character behind a
    sign, so each of the four ways to count characters in fours is tried where there is one."""
    ways = 4 if _SIGNS.search(value) else 1
    for skip in range(ways):
        printed = list(_PRINTED.finditer(data if skip == 0 else _bytes(value[skip:])))
        if not printed:
            continue
        steps: list[tuple[int, int, int]] = []
        size = 0
        for match in printed:
            steps.append((size, match.start(), 1))
            size += len(match[0]) + 1
        text = b"\n".join(match[0] for match in printed).decode("ascii")
        yield Layer("base64", start + skip, end, text, None, () if "\n" in value else tuple(steps), (4, 3))


def _bytes(value: str) -> bytes:
    """The bytes of a base64 text in either alphabet, with or without padding, a broken end dropped."""
    if "\n" in value:
        value = _BLANK.sub("", value)
    value = value.rstrip("=").replace("-", "+").replace("_", "/")
    over = len(value) % 4
    return a2b_base64(value[:-1] if over == 1 else value + _PADDING[over])


def _plain(data: bytes) -> tuple[str, int]:
    """Bytes as text in UTF-8 or UTF-16, and how many make each character; 0 where they differ, and no text where the
    bytes are something else."""
    if len(data) < _SHORTEST:
        return "", 0
    if data[1::2].count(0) * 10 > len(data) * 4 or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        order = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-16-le"
        text = data[: len(data) // 2 * 2].decode(order, "replace")
        width = 2 if len(text) == len(data) // 2 else 0
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.start < len(data) - 3 or error.start < _SHORTEST:
                return "", 0
            text = data[: error.start].decode("utf-8")  # cut in the middle of a character
        width = 1 if text.isascii() else 0
    return ("", 0) if len(_UNREADABLE.findall(text)) * 50 > len(text) else (text, width)


def hex_layers(text: str) -> Iterator[Layer]:
    """What the hex in a text holds."""
    for match in _HEX.finditer(text):
        plain, width = _plain(bytes.fromhex(match[1]))
        if plain:
            yield Layer("hex", *match.span(1), plain, None, ((0, 0, width),) if width else (), (2, 1))
