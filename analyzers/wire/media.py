"""Pixel sizes and page counts out of base64, by reading file headers only.

No image library: the size stands in the first bytes of PNG, GIF, WebP and JPEG. Unknown or damaged data gives None,
never a guess.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

_HEAD = 65_536  # base64 characters of an image that are decoded; a JPEG may carry a long preface
_WHOLE = 6_000_000  # base64 characters of a PDF that are decoded, to bound the work
_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True)
class Media:
    """Pixels of an image, pages of a PDF (as its page objects say; None when they are packed away)."""

    width: int | None = None
    height: int | None = None
    pages: int | None = None


def inspect(encoded: str, media_type: str) -> Media:
    """What the header of base64 data tells."""
    if media_type == "application/pdf":
        data = _decoded(encoded, _WHOLE)
        pages = len(_PAGE.findall(data)) if len(encoded) <= _WHOLE else 0
        return Media(pages=pages or None)
    if media_type.startswith("image/"):
        size = image_size(_decoded(encoded, _HEAD))
        if size is not None:
            return Media(width=size[0], height=size[1])
    return Media()


def _decoded(encoded: str, limit: int) -> bytes:
    head = encoded[: limit - limit % 4]
    try:
        return base64.b64decode(head + "=" * (-len(head) % 4))
    except (binascii.Error, ValueError):
        return b""


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF, WebP or JPEG, from its first bytes."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    if data[:4] == b"GIF8" and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        return _webp_size(data)
    if data[:2] == b"\xff\xd8":
        return _jpeg_size(data)
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        if data[at + 1] in _JPEG_FRAMES:
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return None
