"""What the input of an estimated prompt costs: as fresh input, as a cache write of five minutes, as a cache read."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from analyzers.calls import Call
from analyzers.estimate import PromptEstimate
from analyzers.price_book import PriceBook
from analyzers.price_parts import Priced, Unpriced
from analyzers.prices import price
from analyzers.spent import Spent
from analyzers.terms import Terms, conditions_of
from analyzers.wire.jsontext import Json


@dataclass(frozen=True, slots=True)
class Way:
    """One way to pay for the whole prompt. ``usd``: for the tokens that are known; ``most``: for the most it can have,
    None where that is unknown."""

    name: str
    usd: Decimal
    most: Decimal | None


@dataclass(frozen=True, slots=True)
class InputPrice:
    """All ways, or the reason why there is no price. ``rules``: what was applied, in words."""

    ways: tuple[Way, ...] = ()
    reason: str | None = None
    rules: tuple[str, ...] = ()
    source: str | None = None


def input_price(found: PromptEstimate, body: Json, book: PriceBook, *, batch: bool = False) -> InputPrice:
    """The price of a prompt's input on the terms that its request asks for (fast mode, place). ``batch``: it is one
    of a batch."""
    asked = body if type(body) is dict else {}
    speed, geo = (value if type(value) is str else None for value in (asked.get("speed"), asked.get("inference_geo")))
    terms = Terms(conditions_of("batch" if batch else None, speed, geo))
    ways: list[Way] = []
    first: Priced | None = None
    for name in ("input", "write_5m", "read"):
        least = price(_call(found, _spent(name, found.tokens), terms), book)
        if isinstance(least, Unpriced):
            return InputPrice(reason=least.reason)
        most = price(_call(found, _spent(name, found.most), terms), book) if found.most is not None else None
        ways.append(Way(name, least.total, most.total if isinstance(most, Priced) else None))
        first = first or least
    return InputPrice(tuple(ways), None, first.rules if first else (), first.source if first else None)


def _spent(name: str, tokens: int) -> Spent:
    fresh, written, read = (tokens if name == one else 0 for one in ("input", "write_5m", "read"))
    return Spent(fresh, written, written, 0, read, 0)


def _call(found: PromptEstimate, spent: Spent, terms: Terms) -> Call:
    model = found.model
    return Call(None, None, None, model, model, None, None, "completed", spent, spent, "", terms=terms)
