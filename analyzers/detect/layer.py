"""A text inside a text, and which characters of the outer one hold it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

type Encoding = Literal["json", "escapes", "percent", "base64", "hex", "invisible"]

type Steps = tuple[tuple[int, int, int], ...]
"""Where decoded and encoded text run apart, in order: a position in the decoded text, the same in the encoded one, and
how many encoded characters each decoded one has from there on."""

_LAST = 1 << 62


@dataclass(frozen=True, slots=True)
class Layer:
    """What a part of a text (``start`` to ``end``) says once decoded. ``key``: the JSON key it stood under.
    ``steps``: where the decoded characters stand, empty where single ones have no place of their own. With ``ratio``
    their encoded positions count bytes, which are written from ``start`` on in so many ``(characters, bytes)``."""

    encoding: Encoding
    start: int
    end: int
    text: str
    key: str | None = None
    steps: Steps = ()
    ratio: tuple[int, int] | None = None

    def outer(self, start: int, end: int) -> tuple[int, int]:
        """The part of the encoded text that holds these decoded characters: all of it where that is not known."""
        if not self.steps:
            return self.start, self.end
        first, last = self._encoded(start), self._encoded(end)
        if self.ratio is not None:
            chars, size = self.ratio
            first, last = self.start + first * chars // size, self.start - (-last * chars // size)
        return min(first, self.end), min(last, self.end)

    def _encoded(self, at: int) -> int:
        decoded, encoded, width = self.steps[bisect_right(self.steps, (at, _LAST)) - 1]
        return encoded + (at - decoded) * width


@dataclass(slots=True)
class Blobs:
    """Encoded stretches that are no text: how many, and their characters."""

    count: int = 0
    chars: int = 0

    def add(self, chars: int) -> None:
        self.count += 1
        self.chars += chars
