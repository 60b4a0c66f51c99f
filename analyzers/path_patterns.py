"""Patterns over the places of JSON values, as a user writes them: ``messages[*].content[*].text``, ``tools[0]``,
``headers.user-agent``.

A step is a name, a number in brackets, or ``*`` for any. A pattern means the value at its end with all that is below.
Patterns are followed step by step on the way down, so a walk carries what is left of them and never writes paths out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

type _Left = tuple[tuple[str, tuple[str, ...]], ...]

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\*|[0-9]+)\]")


class BadPattern(ValueError):
    """A pattern that is none. The message is one sentence."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a walk is, as far as patterns go. ``kept`` and ``dropped``: a pattern has come to its end here or above.
    ``met``: the patterns, as they were written, that came to an end anywhere so far; all places of a walk share it."""

    keep: _Left = ()
    drop: _Left = ()
    kept: bool = False
    dropped: bool = False
    met: set[str] = field(default_factory=set, compare=False, repr=False)

    def below(self, step: str | int) -> Place:
        """The place one step down."""
        if not self.keep and not self.drop:
            return self
        keep, kept = _followed(self.keep, str(step), self.met)
        drop, dropped = _followed(self.drop, str(step), self.met)
        return Place(keep, drop, self.kept or kept, self.dropped or dropped, self.met)

    def at(self, path: str) -> Place:
        """The place at the end of a path."""
        place = self
        for step in steps_of(path):
            place = place.below(step)
        return place


NOWHERE = Place()


def patterns(keep: Sequence[str], drop: Sequence[str]) -> Place:
    """The root of all values, for some patterns. Raises BadPattern."""
    kept, dropped = (tuple((path, steps_of(path)) for path in paths) for paths in (keep, drop))
    return Place(kept, dropped)


def steps_of(path: str) -> tuple[str, ...]:
    """A path taken apart. Raises BadPattern."""
    steps: list[str] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            break
        steps.append(match[1] or match[2])
        at = match.end()
    if not steps or at < len(path):
        raise BadPattern(f"{path[:80]!r} is no place: write one like messages[*].content[*].text or headers.user-agent")
    return tuple(steps)


def _followed(left: _Left, step: str, met: set[str]) -> tuple[_Left, bool]:
    """What is left of some patterns behind a step, and whether one ends there."""
    ends = False
    rest: list[tuple[str, tuple[str, ...]]] = []
    for path, steps in left:
        if steps[0] in (step, "*"):
            if len(steps) == 1:
                ends = True
                met.add(path)
            else:
                rest.append((path, steps[1:]))
    return tuple(rest), ends
