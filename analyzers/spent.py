"""What one call spent, in tokens: the counters that are added up, and the sums of them.

``Spent`` is the short form of a ``Usage``: seven numbers in a tuple, because totals run over hundreds of thousands of
calls. None is unknown; a sum over unknowns is a lower bound and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from analyzers.wire.usage import Usage


class Spent(NamedTuple):
    """Tokens of one call, or of one pass of it. ``thinking`` is a part of ``output``, the two lifetimes are parts of
    ``written``."""

    fresh: int | None = None
    written: int | None = None
    written_5m: int | None = None
    written_1h: int | None = None
    read: int | None = None
    output: int | None = None
    thinking: int | None = None

    @property
    def total_input(self) -> int | None:
        """Uncached input, cache writes and cache reads together; None when one of them is unknown."""
        if self.fresh is None or self.written is None or self.read is None:
            return None
        return self.fresh + self.written + self.read

    @property
    def known_input(self) -> int:
        """The sum of those input counters that are known."""
        return (self.fresh or 0) + (self.written or 0) + (self.read or 0)

    @property
    def whole(self) -> bool:
        """Whether every counter that is billed is known."""
        return not (self.fresh is None or self.written is None or self.read is None or self.output is None)


NOTHING = Spent()
PARTS = ("fresh", "written", "written_5m", "written_1h", "read", "output", "thinking")


def of_usage(usage: Usage | None) -> Spent:
    """The counters of the API's top level."""
    if usage is None:
        return NOTHING
    nothing_written = 0 if usage.cache_creation_input_tokens == 0 else None
    five, hour = usage.ephemeral_5m_input_tokens, usage.ephemeral_1h_input_tokens
    return Spent(
        usage.input_tokens,
        usage.cache_creation_input_tokens,
        nothing_written if five is None else five,
        nothing_written if hour is None else hour,
        usage.cache_read_input_tokens,
        usage.output_tokens,
        usage.thinking_tokens,
    )


def billed_of(usage: Usage | None) -> Spent:
    """The counters that are billed: every iteration's, added up; the top level's where no iterations are reported
    (facts of the API: compaction and advisor passes are in no top-level total).

    An attempt that gave nothing, wrote and read no cache, and was followed by a fallback model is not billed.
    """
    if usage is None or not usage.iterations:
        return of_usage(usage)
    billed = [spent for _, spent in billed_passes(usage)]
    together = billed[0] if billed else Spent(0, 0, 0, 0, 0, 0)
    for one in billed[1:]:
        together = _both(together, one)
    return together


def billed_passes(usage: Usage) -> list[tuple[Usage, Spent]]:
    """The iterations that are billed, each with its counters; none where no iterations are reported."""
    iterations = usage.iterations or ()
    fell_back = any(one.type == "fallback_message" for one in iterations)
    return [
        (one, spent)
        for one, spent in zip(iterations, _passes(usage, iterations), strict=True)
        if not (fell_back and one.type == "message" and _gave_nothing(one))
    ]


def _passes(usage: Usage, iterations: Sequence[Usage]) -> list[Spent]:
    """What each pass spent. Where only one of them is a message's, the top level tells of that one alone: it has the
    cache counters that the pass leaves out."""
    told = [of_usage(one) for one in iterations]
    own = [place for place, one in enumerate(iterations) if one.type in ("message", "fallback_message")]
    if len(own) == 1:
        top, one = of_usage(usage), told[own[0]]
        if one.written is None:
            one = one._replace(written=top.written, written_5m=top.written_5m, written_1h=top.written_1h)
        told[own[0]] = one if one.read is not None else one._replace(read=top.read)
    return told


def _gave_nothing(one: Usage) -> bool:
    return one.output_tokens == 0 and not one.cache_creation_input_tokens and not one.cache_read_input_tokens


def _both(a: Spent, b: Spent) -> Spent:
    """The sum of two passes: a counter that one of them does not give is unknown in the sum, except for parts of
    others (a lifetime, thinking), which many passes leave out when there are none."""
    sums = [None if x is None or y is None else x + y for x, y in zip(a, b, strict=True)]
    for place in (2, 3, 6):
        if a[place] is not None or b[place] is not None:
            sums[place] = (a[place] or 0) + (b[place] or 0)
    return Spent(*sums)


class Sum:
    """Counters added up. ``unknown``: how many of the ``count`` calls left a counter open; such a sum is a lower
    bound."""

    __slots__ = ("amounts", "count", "unknown")

    def __init__(self) -> None:
        self.amounts: list[int] = [0] * len(PARTS)
        self.unknown: list[int] = [0] * len(PARTS)
        self.count = 0

    def add(self, spent: Spent) -> None:
        self.count += 1
        amounts = self.amounts
        for place, value in enumerate(spent):
            if value is None:
                self.unknown[place] += 1
            else:
                amounts[place] += value

    def add_sum(self, other: Sum) -> None:
        self.count += other.count
        for place, value in enumerate(other.amounts):
            self.amounts[place] += value
            self.unknown[place] += other.unknown[place]

    def __getitem__(self, name: str) -> int:
        return self.amounts[PARTS.index(name)]

    def given(self, name: str) -> bool:
        """Whether any call gave the counter; of no calls at all, nothing is unknown."""
        return not self.count or self.unknown[PARTS.index(name)] < self.count

    def at_least(self, *names: str) -> bool:
        """Whether the sum of these counters is a lower bound only."""
        return any(self.unknown[PARTS.index(name)] for name in names)


def summed(many: Sequence[Spent]) -> Sum:
    """The sum of several, counter by counter."""
    total = Sum()
    total.count = len(many)
    for place, column in enumerate(zip(*many, strict=True)):
        missing = column.count(None)
        total.unknown[place] = missing
        total.amounts[place] = sum(filter(None, column)) if missing else sum(column)
    return total
