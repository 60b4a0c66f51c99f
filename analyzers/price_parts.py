"""USD by what was paid for, exact in decimals, and what is known of a call's price."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final, NamedTuple

EXACT: Final = Context(prec=400)
"""Counters of a hundred digits times prices of twelve decimals, added up, without rounding."""

NONE: Final = Decimal(0)
_JSON_PLACES: Final = Decimal("1e-10")


class Parts(NamedTuple):
    """USD by what was paid for."""

    input: Decimal = NONE
    write_5m: Decimal = NONE
    write_1h: Decimal = NONE
    read: Decimal = NONE
    output: Decimal = NONE
    web_search: Decimal = NONE

    def plus(self, other: Parts) -> Parts:
        return Parts(*map(EXACT.add, self, other)) if self is not NO_PARTS else other

    @property
    def total(self) -> Decimal:
        add = EXACT.add
        return add(add(add(self[0], self[1]), add(self[2], self[3])), add(self[4], self[5]))


NO_PARTS: Final = Parts()


def as_number(usd: Decimal) -> float:
    """An amount for JSON, to the tenth decimal, of any size."""
    return float(usd.quantize(_JSON_PLACES, ROUND_HALF_EVEN, EXACT))


@dataclass(frozen=True, slots=True)
class Priced:
    """What a call cost. ``total``: the sum of ``parts``; ``most``: what it cost at the most, ``total`` when that is
    exact, None when ``total`` is only a lower bound. ``loose``: what it holds may not have been billed. ``rules``:
    what was applied, in words; ``source``: the price list; ``by_model``: the passes' shares, unless all are the
    model's that served the call. ``unknown``: names of the parts of which nothing is known, ``bounds``: of those that
    are lower bounds."""

    total: Decimal
    most: Decimal | None
    parts: Parts
    rules: tuple[str, ...]
    source: str
    loose: bool = False
    by_model: tuple[tuple[str, Parts], ...] = ()
    unknown: frozenset[str] = frozenset()
    bounds: frozenset[str] = frozenset()

    @property
    def is_exact(self) -> bool:
        return self.most == self.total and not self.loose


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Why a call has no price. ``model``: which one is meant, None where none was named."""

    reason: str
    model: str | None = None
