"""The few statistics in use. All of them are medians and ranks, which one slow request cannot move.

A ratio is made per round, of two figures taken within moments of each other, and the median is taken of the ratios:
what the machine does meanwhile then falls on both sides of each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Spread:
    """A median, and the lowest and highest value it is the median of."""

    median: float
    low: float
    high: float


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least so many percent of the values do not exceed (nearest rank). Raises ValueError
    when there are no values, or for a percentage beyond 0 to 100."""
    if not values or not 0 <= percent <= 100:
        raise ValueError(f"no {percent}th percentile of {len(values)} values")
    return sorted(values)[max(math.ceil(percent / 100 * len(values)), 1) - 1]


def spread(values: Sequence[float]) -> Spread:
    """Raises ValueError when there are no values."""
    if not values:
        raise ValueError("no median of no values")
    return Spread(median(values), min(values), max(values))


def ratios(over: Sequence[float], under: Sequence[float]) -> Spread:
    """How many times `under` each value of `over` is, round by round. Raises ValueError when the rounds do not match or
    nothing was measured."""
    return spread([one / other for one, other in zip(over, under, strict=True)])
