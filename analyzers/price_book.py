"""Rates of a model on the terms of a call: a list's or the user's own, with every factor in.

The rules are the documentation's (page on prices, 2026-10-08): a batch halves every token; fast mode, as served, has
rates of its own; US-only inference and a cloud's regional endpoints cost a tenth more, each from a certain model on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NamedTuple

from analyzers.models import Model, model_of
from analyzers.price_file import OwnPrices
from analyzers.price_list import PriceList, Rates, Tariff
from analyzers.price_parts import EXACT, Unpriced
from analyzers.terms import Conditions

_MILLION: Final = Decimal("0.000001")
_THOUSANDTH: Final = Decimal("0.001")
_BATCH: Final = Decimal("0.5")
_TENTH_MORE: Final = Decimal("1.1")
_GEO_FROM: Final = (4, 6)
_REGIONAL_FROM: Final = (4, 5)
SYNTHETIC: Final = "<synthetic>"


class Plan(NamedTuple):
    """The rates of a model under conditions, with every factor in, in USD per token. ``tiers``: from the highest
    threshold down; ``open_``: something may have cost more than the list says."""

    model: Model
    tiers: tuple[tuple[int, Rates], ...]
    rates: Rates
    web_search: Decimal | None
    rules: tuple[str, ...]
    source: str
    open_: bool


@dataclass(slots=True)
class PriceBook:
    """Where prices are looked up: the user's own first, then the list. Remembers what it found."""

    listed: PriceList
    own: OwnPrices = field(default_factory=OwnPrices)
    _plans: dict[tuple[str, str | None, Conditions, bool, int | None], Plan | Unpriced] = field(default_factory=dict)

    def plan(
        self, name: str, requested: str | None, conditions: Conditions, is_served: bool, time: float | None
    ) -> Plan | Unpriced:
        """The rates of a model, or why there are none. ``is_served``: it is the model that the call was served by, not
        that of another pass."""
        key = (name, requested, conditions, is_served, None if time is None else int(time // 86400))
        found = self._plans.get(key)
        if found is None:
            found = self._plans[key] = self._plan(name, requested, conditions, is_served, time)
        return found

    def _plan(
        self, name: str, requested: str | None, conditions: Conditions, is_served: bool, time: float | None
    ) -> Plan | Unpriced:
        if name == SYNTHETIC:
            return Unpriced("the client wrote it itself", name)
        model = model_of(name)
        own = self.own.tariff(model)
        tariff = own or self.listed.tariff(model, time)
        if tariff is None:
            return Unpriced("no list has a price for it", model.base)
        tier = conditions.service_tier
        if tier == "priority" and own is None:
            return Unpriced("priority tier: its price is a contract's, n/a at list price", model.base)
        if tier not in (None, "batch", "priority"):
            return Unpriced(f"service tier {tier!r}: its price is not known", model.base)
        return _with_conditions(model, requested, tariff, conditions, is_served)


def _with_conditions(
    model: Model, requested: str | None, tariff: Tariff, conditions: Conditions, is_served: bool
) -> Plan:
    rules = [*model.rules]
    rates, tiers, factor, open_ = tariff.rates, tariff.tiers, _MILLION, False
    version = model.version or (0, 0)
    if conditions.speed == "fast" and is_served and tariff.fast is not None:
        rates, tiers = tariff.fast, ()
        rules.append("fast mode")
    elif conditions.speed is not None and is_served:
        rules.append(f"speed {conditions.speed!r}: no price of it is listed for this model")
        open_ = True
    if conditions.service_tier == "batch":
        factor *= _BATCH
        rules.append("batch ×0.5")
    elif conditions.service_tier == "priority":
        rules.append("priority tier at your own price")
    if (geo := conditions.inference_geo) is not None:
        if geo != "us":
            rules.append(f"inference_geo {geo!r}: its price is not known")
            open_ = True
        elif version >= _GEO_FROM:
            factor *= _TENTH_MORE
            rules.append("inference_geo us ×1.1")
        else:
            rules.append("inference_geo us: no surcharge for this model")
    if (region := _region(model, requested, conditions)) is not None and version >= _REGIONAL_FROM:
        factor *= _TENTH_MORE
        rules.append(f"regional endpoint ({region}) ×1.1")
    return Plan(
        model,
        tuple((over, _scaled(upper, factor)) for over, upper in reversed(tiers)),
        _scaled(rates, factor),
        None if tariff.web_search is None else EXACT.multiply(tariff.web_search, _THOUSANDTH),
        tuple(rules),
        tariff.source,
        open_,
    )


def _region(model: Model, requested: str | None, conditions: Conditions) -> str | None:
    """The region of a cloud's endpoint, when a name says that it is not the global one. Answers mostly name the model
    without it."""
    for one in (model, model_of(requested) if requested is not None else model):
        if one.is_regional:
            return one.regional or "in one region"
    return conditions.region


def _scaled(rates: Rates, factor: Decimal) -> Rates:
    parts = (rates.input, rates.write_5m, rates.write_1h, rates.read, rates.output)
    return Rates(*(None if part is None else EXACT.multiply(part, factor) for part in parts))
