"""List prices of Claude models, as of any day: those of genai-prices, completed from the documentation.

genai-prices is a dated list that comes with its package; nothing is fetched (its updater is never called, and the list
is taken from the package itself, so that nobody else's updater changes it). It is looked up by the exact model, not by
its own patterns: those match beginnings, and would give ``claude-opus-4-10`` the price of Opus 4.1.

The documentation's page on prices, as of 2026-10-08, adds what the list lacks: limited models, a one-hour write where
it has none, the long-context price of Sonnet 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from analyzers.models import Model

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

DOCUMENTED: Final = "2026-10-08"
"""Day of the documentation's page on prices that the additions are from."""

_DAY = 86400

type Listed = tuple[str, int, int]
"""Family and version, as ``Model.listed`` tells them."""


@dataclass(frozen=True, slots=True)
class Rates:
    """USD per million tokens. ``write_5m``, ``write_1h``: cache writes by lifetime; None: the list has no price."""

    input: Decimal | None = None
    write_5m: Decimal | None = None
    write_1h: Decimal | None = None
    read: Decimal | None = None
    output: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Tariff:
    """What one model costs. ``tiers``: (tokens of input beyond which all of a request is at other rates, those rates),
    ascending. ``fast``: rates of fast mode. ``web_search``: USD per 1,000. ``source``: whose list it is."""

    rates: Rates
    source: str
    tiers: tuple[tuple[int, Rates], ...] = ()
    fast: Rates | None = None
    web_search: Decimal | None = None


def _documented(input_: str, read: str, output: str) -> Rates:
    """Rates by the documented multipliers: 1.25 of the input for a five-minute write, 2 for a one-hour write."""
    base = Decimal(input_)
    return Rates(base, base * Decimal("1.25"), base * 2, Decimal(read), Decimal(output))


_SEARCH: Final = Decimal(10)
_ADDED: Final[dict[Listed, Rates]] = {
    ("mythos", 5, 0): _documented("10", "1.00", "50"),
    ("mythos", 5, 1): _documented("10", "0.25", "50"),
}
"""Models of limited availability that genai-prices does not list."""

_ADDED_TIERS: Final[dict[Listed, tuple[int, Rates]]] = {("sonnet", 4, 0): (200_000, _documented("6", "0.60", "22.5"))}
"""Long-context prices that genai-prices lacks: Sonnet 4 with the beta of a million tokens, until 2026-04-30."""


class PriceList:
    """genai-prices' list of the first party's prices with the additions. ``version``: of the package; ``dated``: the
    latest day on which a price in it changed."""

    def __init__(self) -> None:
        from importlib.metadata import version

        from genai_prices.data import providers

        from analyzers.models import model_of

        self.version = version("genai-prices")
        self._source = f"genai-prices {self.version}"
        models = next(provider.models for provider in providers if provider.id == "anthropic")
        self._models: dict[Listed, ModelInfo] = {}
        for model in models:
            if (listed := model_of(model.id).listed) is not None:
                self._models[listed] = model
        self.dated = max((start.isoformat() for model in models for start in _starts(model)), default="")
        self._found: dict[tuple[Listed, int | None], Tariff | None] = {}

    def tariff(self, model: Model, time: float | None) -> Tariff | None:
        """The prices of a model in force at a time, in seconds since the epoch (None: the latest); None when it is not
        listed."""
        listed = model.listed
        if listed is None:
            return None
        key = (listed, None if time is None else int(time // _DAY))
        if key not in self._found:
            self._found[key] = self._tariff(listed, time)
        return self._found[key]

    def _tariff(self, listed: Listed, time: float | None) -> Tariff | None:
        model = self._models.get(listed)
        if model is None:
            if (added_rates := _ADDED.get(listed)) is None:
                return None
            return Tariff(added_rates, f"documentation of {DOCUMENTED}", web_search=_SEARCH)
        moment = datetime.max.replace(tzinfo=UTC) if time is None else datetime.fromtimestamp(time, UTC)
        prices = model.get_prices(moment)
        tiers = [(start, _rates(prices, start + 1)) for start in _tier_starts(prices)]
        if (added := _ADDED_TIERS.get(listed)) is not None and not tiers:
            tiers.append(added)
        fast = model.get_prices(moment, {"speed": "fast"})
        fast_rates = _rates(fast, 0)
        search = _amount(prices, "web_searches_kcount", 0)
        return Tariff(
            rates := _rates(prices, 0),
            self._source,
            tuple(tiers),
            fast_rates if fast_rates != rates else None,
            _SEARCH if search is None else search,
        )


def _starts(model: ModelInfo) -> list[datetime]:
    """Days on which a price of a model changed."""
    from genai_prices.types import ModelPrice

    dated = [] if isinstance(model.prices, ModelPrice) else model.prices
    constraints = [one.constraint for one in (*dated, *(model.price_variants or ()))]
    return [start for one in constraints if (start := getattr(one, "start_date", None)) is not None]


def _amount(prices: ModelPrice, name: str, input_tokens: int) -> Decimal | None:
    """A price for a request of so many tokens of input."""
    from genai_prices.types import TieredPrices

    price = getattr(prices, name)
    if isinstance(price, TieredPrices):
        reached = [tier.price for tier in price.tiers if input_tokens > tier.start]
        return reached[-1] if reached else price.base
    return price if isinstance(price, Decimal) else None


def _tier_starts(prices: ModelPrice) -> list[int]:
    from genai_prices.types import TieredPrices

    tiered = [price for price in vars(prices).values() if isinstance(price, TieredPrices)]
    return sorted({tier.start for price in tiered for tier in price.tiers})


def _rates(prices: ModelPrice, input_tokens: int) -> Rates:
    """The rates of a request of so many tokens of input. A one-hour write costs twice the input where only the price of
    a five-minute one is listed (documentation); without either, the model had no cache."""
    input_, write, hour, read, output = (
        _amount(prices, name, input_tokens)
        for name in ("input_mtok", "cache_write_mtok", "cache_write_1h_mtok", "cache_read_mtok", "output_mtok")
    )
    if hour is None and write is not None and input_ is not None:
        hour = input_ * 2
    return Rates(input_, write, hour, read, output)
