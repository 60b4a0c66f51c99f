"""Tokens of images and documents by their size, as the documentation counts them (vision, October 2026).

An image is first made smaller until it fits its tier, then cut into tiles of 28 by 28 pixels, a token each. (The older
rule, width times height by 750, no longer holds.) A page of a PDF is its text, 1,500 to 3,000 tokens, and its picture;
how large that is nobody tells, so a PDF is a range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_TILE: Final = 28
_PAGE_TEXT: Final = (1_500, 3_000)


@dataclass(frozen=True, slots=True)
class Tier:
    """The largest image that a class of models sees: pixels of the longer edge, and tokens."""

    edge: int
    tokens: int

    def fits(self, width: int, height: int) -> bool:
        return _tiles(max(width, height)) * _TILE <= self.edge and tiles(width, height) <= self.tokens


STANDARD: Final = Tier(1_568, 1_568)
HIGH: Final = Tier(2_576, 4_784)
"""Opus 4.7 and later, and 5.x."""


def tiles(width: int, height: int) -> int:
    """Tiles of an image of that size."""
    return _tiles(width) * _tiles(height)


def _tiles(side: int) -> int:
    return -(-side // _TILE)  # rounded up, in whole numbers: a file may claim any size


def image_tokens(width: int, height: int, tier: Tier) -> int:
    """Tokens of an image by its size in pixels, after it was made to fit."""
    return tiles(*resized(width, height, tier))


def resized(width: int, height: int, tier: Tier) -> tuple[int, int]:
    """The size at which a model sees an image: the largest of its shape that fits the tier."""
    width, height = max(width, 1), max(height, 1)
    if tier.fits(width, height):
        return width, height
    if height > width:
        return resized(height, width, tier)[::-1]
    fitting, too_wide = 1, width
    while fitting + 1 < too_wide:
        middle = (fitting + too_wide) // 2
        if tier.fits(middle, _height(middle, width, height)):
            fitting = middle
        else:
            too_wide = middle
    return fitting, _height(fitting, width, height)


def _height(scaled: int, width: int, height: int) -> int:
    """Of an image scaled to a width."""
    return max((2 * scaled * height + width) // (2 * width), 1)


def pdf_tokens(pages: int, tier: Tier) -> tuple[int, int]:
    """The least and the most tokens of a PDF with so many pages."""
    return pages * _PAGE_TEXT[0], pages * (_PAGE_TEXT[1] + tier.tokens)
