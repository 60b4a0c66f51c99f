"""The prompt cache, replayed on prompts that nobody sent: what they would read, write and leave behind.

``cache_model`` predicts recorded prompts, whose counts the server told. Here every position is known in tokens, because
the prompts are made up, and the same documented rules decide alone: an entry is written at each breakpoint and lives
from the START of the request that wrote or last read it; it can be read once the answer that wrote it has begun; what
has fewer tokens than the model caches is not cached; a read takes the longest entry that any breakpoint comes upon;
writes up to the last one-hour breakpoint live an hour, the rest five minutes. Pure; O(breakpoints × look-back) a
request, one entry for each breakpoint.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from analyzers.cache_positions import SECONDS
from analyzers.spent import Spent


class Place(NamedTuple):
    """A position of a prompt. ``prefix``: equal where everything up to it is equal; ``tokens``: up to it."""

    prefix: Hashable
    tokens: int


class Point(NamedTuple):
    """A breakpoint. ``back``: the places it looks back over, its own first."""

    ttl: str
    back: tuple[Place, ...]

    @property
    def place(self) -> Place:
        return self.back[0]


class Asked(NamedTuple):
    """When a request was made, in seconds since the epoch, when its answer began, and below how many tokens nothing is
    cached."""

    start: float
    begun: float
    minimum: int = 0


class _Entry(NamedTuple):
    since: float
    lives: float
    begun: float

    def is_alive(self, start: float) -> bool:
        return start - self.since < self.lives

    def is_readable(self, start: float) -> bool:
        return self.is_alive(start) and self.begun <= start


@dataclass(slots=True)
class ReplayedCache:
    """The entries that some requests in time order leave behind."""

    _entries: dict[Hashable, _Entry] = field(default_factory=dict)

    def spend(self, asked: Asked, points: Sequence[Point], total: int) -> Spent:
        """The input that a request of ``total`` tokens spends, by counter. ``points``: in the order of the prefix.
        Its output is 0."""
        counted = [point for point in points if point.place.tokens >= asked.minimum]
        read = max((self._read(asked, point) for point in counted), default=0)
        cached = max([read, *(point.place.tokens for point in counted)])
        hour = max((point.place.tokens for point in counted if point.ttl == "1h"), default=0)
        for point in counted:
            self._write(asked, point)
        for_hour = max(hour - read, 0)
        return Spent(total - cached, cached - read, cached - read - for_hour, for_hour, read, 0)

    def _read(self, asked: Asked, point: Point) -> int:
        """Tokens of the longest entry that a breakpoint can read, which lives on."""
        for place in point.back:
            entry = self._entries.get(place.prefix)
            if entry is not None and entry.is_readable(asked.start):
                self._entries[place.prefix] = entry._replace(since=asked.start)
                return place.tokens
        return 0

    def _write(self, asked: Asked, point: Point) -> None:
        """An entry at a breakpoint; the one that is there and alive lives on."""
        lives = SECONDS[point.ttl]
        before = self._entries.get(point.place.prefix)
        if before is not None and before.is_alive(asked.start):
            lives, begun = max(lives, before.lives), min(before.begun, asked.begun)
        else:
            begun = asked.begun
        self._entries[point.place.prefix] = _Entry(asked.start, lives, begun)
