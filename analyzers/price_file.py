"""The user's own prices: a TOML file that goes before every list.

    date = 2026-11-01                  # told beside the figures

    [models."claude-opus-5-5"]         # a model's name without date and prefix, or as it is written
    input = 3.2                        # USD per million tokens
    write_5m = 4                       # cache writes that live five minutes, an hour
    write_1h = 6.4
    read = 0.16
    output = 16
    web_search = 10                    # USD per 1,000 searches
    long_context = { over = 200_000, input = 6.4, output = 24 }

    [hosts."api.example.com"]
    cached_in_input = true             # this vendor's input_tokens include what was read from the cache

Pure: text in, values out. Numbers are exact decimals as they are written.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from analyzers.models import Model
from analyzers.price_list import Rates, Tariff

_RATES: Final = tuple(member.name for member in fields(Rates))
_MOST: Final = Decimal(1_000_000)
_PLACES: Final = 12
_LONGEST: Final = 600
"""Characters of a message: names in the file can be of any length."""


class BadPrices(ValueError):
    """The file is not what it should be; the text is one sentence that says where and what to do."""

    def __init__(self, text: str) -> None:
        super().__init__(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


@dataclass(frozen=True, slots=True)
class OwnPrices:
    """``models``: tariffs by name; ``cached_in_input``: by host; ``source``: the file and its date."""

    models: Mapping[str, Tariff] = field(default_factory=dict)
    cached_in_input: Mapping[str, bool] = field(default_factory=dict)
    source: str = ""

    def tariff(self, model: Model) -> Tariff | None:
        """The user's prices of a model, by its name as written, else by its base name."""
        return self.models.get(model.written) or self.models.get(model.base)


def own_prices(text: str, name: str) -> OwnPrices:
    """The prices of a file's text. ``name``: of the file, for messages. Raises BadPrices."""
    try:
        told = tomllib.loads(text, parse_float=_decimal)
    except (ValueError, RecursionError) as error:
        raise BadPrices(
            f'the prices in {name} are no TOML ({error}); write them like [models."name"] with input = 3, output = 15'
        ) from None
    _only(told, ("date", "models", "hosts"), name)
    day = told.get("date")
    if day is not None and type(day) is not str and not isinstance(day, date):
        raise BadPrices(f"{name}: date must be a day, like 2026-11-01")
    source = f"{name} of {day}" if day else name
    models = {
        model: _tariff(entry, f"{name}: models.{model}", source)
        for model, entry in _table(told, "models", name).items()
    }
    hosts = {host: _host(entry, f"{name}: hosts.{host}") for host, entry in _table(told, "hosts", name).items()}
    return OwnPrices(models, hosts, source)


def _tariff(entry: Any, place: str, source: str) -> Tariff:
    if type(entry) is not dict:
        raise BadPrices(f"{place} must be a table of prices, like input = 3 and output = 15")
    _only(entry, (*_RATES, "web_search", "long_context"), place)
    rates = _rates(entry, place)
    if rates == Rates():
        raise BadPrices(f"{place} has no price: give at least input and output, in USD per million tokens")
    search = _price(entry, "web_search", place)
    tiers: tuple[tuple[int, Rates], ...] = ()
    if (upper := entry.get("long_context")) is not None:
        place = f"{place}.long_context"
        if type(upper) is not dict:
            raise BadPrices(f"{place} must be a table, like {{ over = 200_000, input = 6, output = 22.5 }}")
        _only(upper, ("over", *_RATES), place)
        over = upper.get("over")
        if type(over) is not int or over < 0:
            raise BadPrices(f"{place}.over must be a number of tokens, like 200_000")
        above = _rates(upper, place)
        tiers = ((over, Rates(*(_or(getattr(above, part), getattr(rates, part)) for part in _RATES))),)
    return Tariff(rates, source, tiers, None, search)


def _or(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return other if one is None else one


def _rates(entry: Mapping[str, Any], place: str) -> Rates:
    return Rates(*(_price(entry, part, place) for part in _RATES))


def _price(entry: Mapping[str, Any], name: str, place: str) -> Decimal | None:
    value = entry.get(name)
    if value is None:
        return None
    if type(value) is int and 0 <= value <= _MOST:
        return Decimal(value)
    if type(value) is Decimal and value.is_finite() and 0 <= value <= _MOST:
        places = value.as_tuple().exponent
        if type(places) is int and (places >= -_PLACES or value == round(value, _PLACES)):
            return value
    raise BadPrices(f"{place}.{name} must be USD from 0 to {_MOST:,}, with at most {_PLACES} decimals")


def _host(entry: Any, place: str) -> bool:
    if type(entry) is not dict or entry.keys() != {"cached_in_input"} or type(entry["cached_in_input"]) is not bool:
        raise BadPrices(f"{place} must say cached_in_input = true or false, and nothing else")
    return entry["cached_in_input"]


def _table(told: Mapping[str, Any], name: str, place: str) -> Mapping[str, Any]:
    value = told.get(name, {})
    if type(value) is not dict:
        raise BadPrices(f'{place}: {name} must be tables, like [{name}."…"]')
    return value


def _only(entry: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    if odd := [name for name in entry if name not in known]:
        raise BadPrices(f"{place}: {odd[0]!r} is not one of {', '.join(known)}")


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # more digits in the exponent than there can be
        return Decimal("NaN")
