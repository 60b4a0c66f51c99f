"""The price of one call in USD, exact in decimals, from its counters and the terms it was served on.

A call is the sum of its passes (iterations, each at its own model; the top level where there are none), and a pass the
sum of its parts: uncached input, cache writes by lifetime, cache reads, output; web searches once per call. Beyond a
model's threshold every token of the request is at the upper rates (documentation, page on prices, 2026-10-08); all
other terms are in the rates (``price_book``). What has no price is ``Unpriced`` with the reason: never 0, and never
another model's price. What is not certain is a range, or a lower bound.

Pure: values in, values out, no network, no clock. Cost: a dozen multiplications, rates looked up once per model, terms
and day.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from analyzers.models import model_of
from analyzers.price_book import Plan, PriceBook
from analyzers.price_file import OwnPrices
from analyzers.price_list import Rates
from analyzers.price_parts import EXACT, NO_PARTS, NONE, Parts, Priced, Unpriced
from analyzers.spent import Spent
from analyzers.terms import STANDARD, Pass, Terms

if TYPE_CHECKING:
    from analyzers.calls import Call


def price(call: Call, book: PriceBook) -> Priced | Unpriced:
    """What a call cost, or why that cannot be told. Raises nothing."""
    name = call.model or call.requested
    if not name:
        return Unpriced("no model is named")
    if call.terms is None and not call.passes and call.model and (found := _price_plainly(call, name, book)):
        return found
    terms = call.terms or STANDARD
    passes = call.passes or (Pass(None, call.billed),)
    if all(_is_empty(one.spent) for one in passes):
        return Unpriced("no usage was recorded", model_of(name).base)
    plans = [
        book.plan(one.model or name, call.requested, terms.conditions, one.model in (None, name), call.time)
        for one in passes
    ]
    if all(isinstance(plan, Unpriced) for plan in plans):
        return next(plan for plan in plans if isinstance(plan, Unpriced))
    asked_only = () if call.model else ("the model asked for: no answer named one",)
    low, high, told = _bounds(passes, plans, terms, book.own)
    rules = [*asked_only, *told]
    open_ = call.state != "completed" or not all(one.spent.whole for one in passes)
    for plan in plans:
        if isinstance(plan, Unpriced):
            rules.append(f"unpriced pass at {plan.model}: {plan.reason}")
        else:
            rules += plan.rules
        open_ = open_ or isinstance(plan, Unpriced) or plan.open_
    known = [plan for plan in plans if not isinstance(plan, Unpriced)]
    low, high, fees = _with_fees(low, high, terms, known[0])
    rules += fees
    if terms.code_executions:
        rules.append("code execution: the container's time is in no usage")
        open_ = True
    if call.partial:
        rules.append("in it is what a failed attempt had spent, billed or not")
    open_ = open_ or high.open_
    total = low.parts.total
    unknown, bounds = _not_told(passes, plans, terms)
    if not total and unknown.issuperset(Parts._fields[:-1]):
        return Unpriced(told[0] if told else "no usage was recorded", model_of(name).base)
    if call.state != "completed":
        bounds |= {"output"} - unknown
    return Priced(
        total=total,
        most=None if open_ else total if high.parts is low.parts else max(total, high.parts.total),
        parts=low.parts,
        rules=tuple(dict.fromkeys(rules)),
        source=" and ".join(dict.fromkeys(plan.source for plan in known)),
        loose=call.partial,
        by_model=() if all(base == model_of(name).base for base, _ in low.by_model) else low.by_model,
        unknown=unknown,
        bounds=bounds,
    )


def _not_told(
    passes: Sequence[Pass], plans: Sequence[Plan | Unpriced], terms: Terms
) -> tuple[frozenset[str], frozenset[str]]:
    """The parts of which no pass tells anything, and those of which some pass does not: a counter is open, or has no
    rate."""
    told: set[str] = set()
    open_: set[str] = set()
    for one, plan in zip(passes, plans, strict=True):
        if isinstance(plan, Unpriced):
            open_.update(Parts._fields)
            continue
        spent, rates = one.spent, plan.rates
        written = (spent.written_5m, spent.written_1h) if spent.written is None else (spent.written, spent.written)
        counts = (spent.fresh, *written, spent.read, spent.output, terms.web_searches)
        prices = (rates.input, rates.write_5m, rates.write_1h, rates.read, rates.output, plan.web_search)
        for name, number, rate in zip(Parts._fields, counts, prices, strict=True):
            (open_ if number is None or (number and rate is None) else told).add(name)
    return frozenset(open_ - told), frozenset(open_ & told)


def _price_plainly(call: Call, name: str, book: PriceBook) -> Priced | Unpriced | None:
    """The price of a call like most: one pass on standard terms, final, with every counter known; None for any other.
    The same as the long way gives, at a third of its cost."""
    fresh, written, five, hour, read, output, _ = call.billed
    if fresh is None or written is None or five is None or hour is None or read is None or output is None:
        return None
    if five + hour != written or call.state != "completed" or call.partial:
        return None
    plan = book.plan(name, call.requested, STANDARD.conditions, True, call.time)
    if isinstance(plan, Unpriced):
        return plan
    if plan.open_ or (plan.tiers and fresh + written + read > plan.tiers[-1][0]):
        return None
    parts, missing = _parts(plan.rates, fresh, five, hour, read, output)
    if missing:
        return None
    total = parts.total
    return Priced(total, total, parts, plan.rules, plan.source)


def _is_empty(spent: Spent) -> bool:
    return spent.fresh is None and spent.written is None and spent.read is None and spent.output is None


class _Sum(NamedTuple):
    """Passes added up. ``open_``: a part of it has no price."""

    parts: Parts
    by_model: tuple[tuple[str, Parts], ...]
    open_: bool


def _bounds(
    passes: Sequence[Pass], plans: Sequence[Plan | Unpriced], terms: Terms, own: OwnPrices
) -> tuple[_Sum, _Sum, list[str]]:
    """The least and the most that the passes cost, and the rules applied."""
    rules: list[str] = []
    least = [one.spent for one in passes]
    most = least
    if terms.host is not None:
        known = own.cached_in_input.get(terms.host)
        apart = [_apart(spent) if known or spent.read else spent for spent in least]
        if known and apart != least:
            least = most = apart
            rules.append(f"{terms.host}: cached tokens are taken out of the input")
        elif known is None and apart != least:
            least = apart
            rules.append(f"ambiguous: whether {terms.host} counts cached tokens in the input is not known")
    low = _added(least, passes, plans, terms, rules, dear=False)
    high = low
    if most is not least or any(_unsplit(spent, terms.split_estimated) for spent in least):
        high = _added(most, passes, plans, terms, rules, dear=True)
    if high is not low and high.parts.total < low.parts.total and not high.open_:
        low, high = high, low
    return low, high._replace(open_=low.open_ or high.open_), rules


def _apart(spent: Spent) -> Spent:
    """The counters of a vendor whose input includes the cached tokens, with these taken out; as they are, when they do
    not fit into the input, so that nothing is ever negative."""
    fresh, read, written = spent.fresh, spent.read or 0, spent.written or 0
    if fresh is None or fresh < read or not (read or written):
        return spent
    if fresh >= read + written:
        return spent._replace(fresh=fresh - read - written)
    return spent._replace(fresh=fresh - read)


def _unsplit(spent: Spent, estimated: bool) -> int:
    """Tokens written to the cache whose lifetime nobody told."""
    return _lifetimes(spent, estimated)[2]


def _lifetimes(spent: Spent, estimated: bool) -> tuple[int, int, int]:
    """Cache writes that live five minutes, that live an hour, and those of which it is not known. ``estimated``: the
    five-minute count holds some that were only taken to be such."""
    if spent.written is None:
        return spent.written_5m or 0, spent.written_1h or 0, 0
    hour = min(spent.written_1h or 0, spent.written)
    five = 0 if estimated else min(spent.written_5m or 0, spent.written - hour)
    return five, hour, spent.written - hour - five


def _added(
    counters: Sequence[Spent],
    passes: Sequence[Pass],
    plans: Sequence[Plan | Unpriced],
    terms: Terms,
    rules: list[str],
    *,
    dear: bool,
) -> _Sum:
    """The passes priced. ``dear``: cache writes of unknown lifetime are taken to live an hour."""
    sizes: defaultdict[tuple[int, str], int] = defaultdict(int)  # input of a request at one model: what tiers go by
    for spent, one, plan in zip(counters, passes, plans, strict=True):
        if not isinstance(plan, Unpriced):
            sizes[one.attempt, plan.model.base] += spent.known_input
    total, open_ = NO_PARTS, False
    by_model: dict[str, Parts] = {}
    for spent, one, plan in zip(counters, passes, plans, strict=True):
        if isinstance(plan, Unpriced):
            continue
        rates = plan.rates
        for over, upper in plan.tiers:
            if sizes[one.attempt, plan.model.base] > over:
                rates = upper
                rules.append(f"long context: all of a request over {over:,} input tokens")
                break
        five, hour, unsplit = _lifetimes(spent, terms.split_estimated)
        if unsplit:
            rules.append("lifetime of cache writes not told: taken for 5 minutes, at the most 1 hour")
        five, hour = (five, hour + unsplit) if dear else (five + unsplit, hour)
        parts, missing = _parts(rates, spent.fresh, five, hour, spent.read, spent.output)
        rules += missing
        open_ = open_ or bool(missing)
        total = total.plus(parts)
        base = plan.model.base
        by_model[base] = by_model.get(base, NO_PARTS).plus(parts)
    return _Sum(total, tuple(by_model.items()), open_)


def _parts(rates: Rates, *counts: int | None) -> tuple[Parts, list[str]]:
    """The counters at the rates, and the names of those that have no rate."""
    amounts: list[Decimal] = []
    missing: list[str] = []
    prices = (rates.input, rates.write_5m, rates.write_1h, rates.read, rates.output)
    for number, rate, name in zip(counts, prices, Parts._fields, strict=False):
        if not number:
            amounts.append(NONE)
        elif rate is None:
            amounts.append(NONE)
            missing.append(f"no price is listed for {name}")
        else:
            amounts.append(EXACT.multiply(rate, number))
    return Parts(*amounts), missing


def _with_fees(low: _Sum, high: _Sum, terms: Terms, plan: Plan) -> tuple[_Sum, _Sum, list[str]]:
    """The sums with the fees of web searches, which no batch, speed or place changes."""
    if not terms.web_searches:
        return low, high, []
    if plan.web_search is None:
        return low, high._replace(open_=True), ["no price is listed for web searches"]
    fee = Parts(web_search=EXACT.multiply(plan.web_search, terms.web_searches))
    base = plan.model.base
    by_model = tuple((name, parts.plus(fee) if name == base else parts) for name, parts in low.by_model)
    low = low._replace(parts=low.parts.plus(fee), by_model=by_model)
    return low, high._replace(parts=high.parts.plus(fee)), ["web searches"]
