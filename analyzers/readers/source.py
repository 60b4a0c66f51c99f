"""One open file, and what every reader is given of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from analyzers.exchange import Exchange, Problem

if TYPE_CHECKING:
    from analyzers.noted import Noted


@dataclass(slots=True)
class Source:
    """A file that is being read. ``stream`` can be sought in; ``place`` is its name in messages; ``path`` a name that
    a library can open (standard input is a temporary file). ``folded``: fold markers of other tools are markers.
    ``beside``: the names of all files that are read with it. ``notes``: collects what a capture says of the texts it
    folded, by their hash; None: nobody asks.

    ``problems`` grows while it is read: one sentence for each thing that could not be used.
    """

    stream: BinaryIO
    place: str
    path: str
    problems: list[Problem] = field(default_factory=list)
    folded: bool = False
    beside: frozenset[str] = frozenset()
    notes: dict[str, Noted] | None = None

    def problem(self, text: str, line: int | None = None, *, cut: bool = False) -> None:
        """Tells of something that could not be used. ``line``: its number, from 1; ``cut``: the end of the file."""
        self.problems.append(Problem(self.place if line is None else f"{self.place}:{line}", text, cut))


type Reader = Callable[[Source], Iterator[Exchange]]
"""Yields the exchanges of a file, each as soon as it is whole, in bounded memory; what it cannot use is a problem of
the source, and it goes on. Raises OSError only."""
