"""base64 of images and documents, scrambled but for the few bytes that their measures are told from."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator

_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_HEAD = 65_536
_WEBP_SIZES = {b"VP8X": (24, 30), b"VP8L": (21, 25), b"VP8 ": (26, 30)}
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def scrambled_media(text: str, media_type: str, scrambled: Callable[[str], str]) -> str:
    """The text with all but the measures (pixels, pages) scrambled; as long as it was."""
    out: list[str] = []
    at = 0
    for begin, end in _kept(text, media_type):
        first, last = begin // 3 * 4, -(-end // 3) * 4
        if last > len(text):
            break
        first = max(first, at)
        if first < last:
            out += [scrambled(text[at:first]), text[first:last]]
            at = last
    return "".join([*out, scrambled(text[at:])])


def _kept(text: str, media_type: str) -> Iterator[tuple[int, int]]:
    """Ranges of bytes, in order, that the measures stand in (``wire.media`` reads them)."""
    if media_type == "application/pdf":
        data = _decoded(text)
        yield from (match.span() for match in _PAGE.finditer(data))
        return
    data = _decoded(text[:_HEAD])
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        yield 0, 24
    elif data[:4] == b"GIF8":
        yield 0, 10
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        yield from ((0, 4), (8, 16))
        if data[12:16] in _WEBP_SIZES:
            yield _WEBP_SIZES[data[12:16]]
    elif data[:2] == b"\xff\xd8":
        yield from _jpeg(data)


def _jpeg(data: bytes) -> Iterator[tuple[int, int]]:
    """The marker and the length of each segment up to the frame, and the frame's measures; never what segments hold
    (a camera's name, a place)."""
    yield 0, 2
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        if data[at + 1] in _JPEG_FRAMES:
            yield at, at + 9
            return
        yield at, at + 4
        at += 2 + int.from_bytes(data[at + 2 : at + 4])


def _decoded(text: str) -> bytes:
    head = text[: len(text) - len(text) % 4]
    try:
        return base64.b64decode(head + "=" * (-len(head) % 4))
    except (binascii.Error, ValueError):
        return b""
