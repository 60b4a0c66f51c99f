"""What was made of values that were met lately, each told by being the very object.

A conversation resends everything, and readers share what comes again, so most of what is looked at was looked at
before. A value is held as long as its place in memory stands for it; nobody may change one meanwhile.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from analyzers.wire.jsontext import Json

ENTRY: Final = 100
"""What remembering a value takes by itself, whatever its size."""


class Met[Made]:
    """Remembers what was made of values, each in one or several ways. Bounded: all are let go when those that are held
    would come to more than ``most``, in the unit of the sizes that are given with them (characters or bytes)."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._made: dict[tuple[int, Hashable], tuple[Json, Made]] = {}

    def of(self, value: Json, way: Hashable = None) -> Made | None:
        """What was made of the value; None where nothing is remembered."""
        found = self._made.get((id(value), way))
        return None if found is None else found[1]

    def keep(self, value: Json, made: Made, size: int, way: Hashable = None) -> bool:
        """Remembers it, unless it is too large by itself. Whether all others were let go for it."""
        size += ENTRY
        if size > self._most:
            return False
        full = self._held + size > self._most
        if full:
            self.clear()
        self._held += size
        self._made[id(value), way] = value, made
        return full

    def clear(self) -> None:
        """Lets all go."""
        self._made.clear()
        self._held = 0
