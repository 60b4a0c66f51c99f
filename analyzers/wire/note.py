"""Findings as values.

Nothing in `analyzers.wire` raises because of what came over the wire: what a reader of the figures should know is
returned beside them, as notes. A note is small, hashable and comparable: collecting, counting and sorting need no more.
A broken stream can break one rule a hundred thousand times, so whoever collects while reading does it in a `Notebook`,
whose size does not depend on the traffic.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader should know about one place of an exchange; never an exception."""

    code: str
    """What it is, from a closed list, in snake_case: `duplicate_key`, `unknown_encoding`, …"""

    detail: str = ""
    """One sentence in plain words, or empty when the code says it all."""

    path: str = ""
    """JSON path of the place, like `messages[0].content[1]`; empty for the whole."""


class Notebook:
    """Collects notes: the first few of each code as they are, equal ones once, and of all others their number."""

    __slots__ = ("_kept", "_more", "_most")

    def __init__(self, most: int = 8) -> None:
        self._most = most
        self._kept: dict[str, dict[Note, None]] = {}
        self._more: dict[str, int] = {}

    def add(self, note: Note) -> None:
        """Keeps one note, or counts it."""
        kept = self._kept.setdefault(note.code, {})
        if note in kept or len(kept) >= self._most:
            self._more[note.code] = self._more.get(note.code, 0) + 1
        else:
            kept[note] = None

    def extend(self, notes: Iterable[Note]) -> None:
        """Adds every note of `notes`."""
        for note in notes:
            self.add(note)

    def notes(self) -> tuple[Note, ...]:
        """What was kept, grouped by code in order of first appearance, with one note more for what was only counted."""
        out: list[Note] = []
        for code, kept in self._kept.items():
            out.extend(kept)
            if more := self._more.get(code):
                out.append(Note(code, f"{more} more of this kind"))
        return tuple(out)
