"""The growth of a conversation as a line, and where the line leads.

The published model is t·N(N+1)/2: turn i sends t·i tokens. A real prompt also has a part that every turn sends, tools
and system, so turn i sends F + t·i, and N turns F·N + t·N(N+1)/2. Both are fitted by least squares over the prompts of
the single turns, numbered from the first of the stretch; what is left is told, never spread. Forecasts go on from the
last turn by the slope of the newest ones and are estimates. Pure, O(turns).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite, sqrt
from typing import Final

RECENT: Final = 10
"""Turns whose slope a forecast goes on with."""

_FURTHEST: Final = 1_000_000  # turns beyond which a forecast says never

type Point = tuple[int, float]
"""Number of a turn, from 1, and what it sent."""


@dataclass(frozen=True, slots=True)
class Line:
    """F + t·i. ``residual``: all that was sent less all that the line says, in tokens; ``rms``: root of the mean square
    of what single turns are off by; ``r2``: share of the variance that the line explains, None where there is none."""

    fixed: float
    per_turn: float
    modelled: float
    residual: float
    rms: float
    r2: float | None


@dataclass(frozen=True, slots=True)
class Fit:
    """Both models fitted to the ``turns`` points; ``with_fixed`` None: fewer than three points."""

    turns: int
    sent: float
    plain: Line
    with_fixed: Line | None


def fit(points: Sequence[Point]) -> Fit | None:
    """The models fitted to what single turns sent; None of fewer than two turns."""
    if len(points) < 2:
        return None
    squares = sum(i * i for i, _ in points)
    plain = _line(0.0, sum(i * sent for i, sent in points) / squares, points)
    with_fixed = _line(*_least_squares(points), points) if len(points) > 2 else None
    return Fit(len(points), sum(sent for _, sent in points), plain, with_fixed)


def _least_squares(points: Sequence[Point]) -> tuple[float, float]:
    """Intercept and slope."""
    number = len(points)
    mean_i, mean = sum(i for i, _ in points) / number, sum(sent for _, sent in points) / number
    spread = sum((i - mean_i) ** 2 for i, _ in points)
    slope = sum((i - mean_i) * (sent - mean) for i, sent in points) / spread if spread else 0.0
    return mean - slope * mean_i, slope


def _line(fixed: float, per_turn: float, points: Sequence[Point]) -> Line:
    off = [sent - fixed - per_turn * i for i, sent in points]
    total = sum(sent for _, sent in points)
    mean = total / len(points)
    variance = sum((sent - mean) ** 2 for _, sent in points)
    squares = sum(one * one for one in off)
    return Line(
        fixed,
        per_turn,
        total - sum(off),
        sum(off),
        sqrt(squares / len(points)),
        1 - squares / variance if variance else None,
    )


def slope(points: Sequence[Point]) -> float | None:
    """How much more each turn sends than the one before, by the newest turns; None of fewer than two."""
    newest = points[-RECENT:]
    return _least_squares(newest)[1] if len(newest) > 1 else None


def reached(last: Point, per_turn: float | None, limit: float) -> int | None:
    """The number of the turn that sends at least ``limit``, going on from the last one; None: never, as it goes on."""
    number, sent = last
    if sent >= limit:
        return number
    if not per_turn or per_turn < 0:
        return None
    turns = ceil((limit - sent) / per_turn)
    return number + turns if turns <= _FURTHEST else None


def spent(last: Point, per_turn: float | None, left: float) -> int | None:
    """The number of the turn with which ``left`` is used up, when each turn costs ``per_turn`` more than the one
    before, going on from the last one's cost; None: never, as it goes on."""
    number, cost = last
    if left <= 0:
        return number
    more = max(per_turn or 0.0, 0.0)
    if cost <= 0 and not more:
        return None
    # m·cost + more·m(m+1)/2 ≥ left
    linear = cost + more / 2
    turns = left / linear if not more else (-linear + sqrt(linear * linear + 2 * more * left)) / more
    return number + ceil(turns - 1e-9) if isfinite(turns) and turns <= _FURTHEST else None
