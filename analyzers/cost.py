"""What calls cost: in all, by main threads and sub-agents, by session, model and day, and each for itself.

The calls are those that ``usage`` counts, each once; every group is a sum of calls, exact in decimals. A call without a
price is in no sum: it is counted and named with its tokens, and the sums then say "at least". Costs that others gave (a
client's log, a provider's answer) stand beside ours and are never in them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Literal

from analyzers.calls import Call
from analyzers.models import model_of
from analyzers.price_book import PriceBook
from analyzers.price_parts import EXACT, NO_PARTS, Parts, Priced, Unpriced
from analyzers.prices import price
from analyzers.replays import SetAside
from analyzers.spent import Spent, Sum
from analyzers.usage import Report, days

_NONE = Decimal(0)
UNNAMED = "?"
"""A sub-agent whose log does not say which it is."""

type _Key = tuple[str | None, str | None, str | None, str | None]
"""Session, agent (None: the main thread), day, model without date and prefix."""


@dataclass(slots=True)
class Cost:
    """A sum over calls, in USD. ``usd``: what is known; ``most``: at the most, None when that cannot be told.
    ``priced``: calls in the sum, of which ``at_least`` have a lower bound only and ``estimated`` a range;
    ``unpriced``: calls that cost something nobody knows; ``free``: failed calls, which cost nothing. ``silent``: by
    part, priced calls that tell nothing of it, ``loose``: such as tell some of it. ``awaited``: requests of batches
    without a result, where there is no call."""

    usd: Decimal = _NONE
    most: Decimal | None = _NONE
    parts: Parts = NO_PARTS
    priced: int = 0
    at_least: int = 0
    estimated: int = 0
    unpriced: int = 0
    free: int = 0
    silent: Counter[str] = field(default_factory=Counter)
    loose: Counter[str] = field(default_factory=Counter)
    awaited: int = 0

    @property
    def calls(self) -> int:
        return self.priced + self.unpriced + self.free

    @property
    def is_known(self) -> bool:
        """Whether anything is known of the sum; of no calls at all, it is 0."""
        return bool(self.priced or self.usd or not (self.unpriced or self.awaited))

    @property
    def known_usd(self) -> Decimal | None:
        """What is known of the sum; None where nothing is."""
        return self.usd if self.is_known else None

    @property
    def is_complete(self) -> bool:
        """Whether the sum is exact: every call has a price, and none is a bound or a range."""
        return not (self.unpriced or self.at_least or self.estimated or self.awaited)

    @property
    def is_lower_bound(self) -> bool:
        """Whether only a part of the sum is known."""
        return self.is_known and bool(self.unpriced or self.at_least)

    def known_part(self, name: str) -> Decimal | None:
        """What is known of what was paid for one thing; None where nothing is."""
        amount: Decimal = getattr(self.parts, name)
        is_silent = self.priced and self.silent[name] == self.priced and not amount
        return None if is_silent or not self.is_known else amount

    def is_open(self, name: str) -> bool:
        """Whether more may have been paid for one thing than is known."""
        return bool(self.unpriced or self.silent[name] or self.loose[name])

    def add(self, found: Priced | Unpriced | None) -> None:
        """Adds what one call cost. None: it failed, and was not billed."""
        self.count(found)
        if isinstance(found, Priced):
            self.add_amount(found.parts, found.total, found.most)

    def count(self, found: Priced | Unpriced | None) -> None:
        """Counts one call, without its amount."""
        if found is None:
            self.free += 1
        elif isinstance(found, Unpriced):
            self.unpriced += 1
            self.most = None
        else:
            self.priced += 1
            self.at_least += found.most is None
            self.estimated += found.most is not None and not found.is_exact
            if found.unknown or found.bounds:
                self.silent.update(found.unknown)
                self.loose.update(found.bounds)

    def add_amount(self, parts: Parts, usd: Decimal, most: Decimal | None) -> None:
        self.parts = self.parts.plus(parts)
        self.usd = EXACT.add(self.usd, usd)
        self.most = None if self.most is None or most is None else EXACT.add(self.most, most)

    def add_cost(self, other: Cost) -> None:
        self.add_amount(other.parts, other.usd, other.most)
        self.priced += other.priced
        self.at_least += other.at_least
        self.estimated += other.estimated
        self.unpriced += other.unpriced
        self.free += other.free
        self.silent.update(other.silent)
        self.loose.update(other.loose)


@dataclass(frozen=True, slots=True)
class CallCost:
    """One call with what it cost; None: it failed, and was not billed."""

    call: Call
    found: Priced | Unpriced | None


@dataclass(frozen=True, slots=True)
class Group:
    """The sum of the calls that share a session, a thread, a model or a day. ``name`` None: calls that name none."""

    name: str | None
    cost: Cost
    first: float | None = None


@dataclass(frozen=True, slots=True)
class Thread:
    """The sum of one thread of a session: its main thread (``agent`` None) or one sub-agent."""

    session: str | None
    agent: str | None
    cost: Cost


@dataclass(slots=True)
class NoPrice:
    """Calls without a price for one reason, with their tokens."""

    model: str | None
    reason: str
    calls: int = 0
    tokens: Sum = field(default_factory=Sum)


@dataclass(slots=True)
class RecordedCost:
    """Costs that somebody else gave, added up. ``unpriced``: of calls that have no price here, ``unpriced_usd``:
    theirs; ``zeros``: costs of 0 beside tokens, which are not trusted and not in the sum."""

    by: Literal["client", "provider"]
    usd: Decimal = _NONE
    calls: int = 0
    unpriced: int = 0
    unpriced_usd: Decimal = _NONE
    zeros: int = 0


@dataclass(frozen=True, slots=True)
class CostReport:
    """Everything ``cost`` says. ``rules``: what was applied, with the number of calls; ``sources``: the price lists
    that were used. ``awaited``: requests of batches without a result, in no sum."""

    totals: Cost
    main: Cost
    agents: Cost
    sessions: Sequence[Group]
    threads: Sequence[Thread]
    models: Sequence[Group]
    days: Sequence[Group]
    calls: Sequence[CallCost]
    no_price: Sequence[NoPrice]
    recorded: Sequence[RecordedCost]
    rules: Sequence[tuple[str, int]]
    sources: Sequence[str]
    set_aside: Sequence[SetAside] = ()
    awaited: int = 0


def cost_report(used: Report, book: PriceBook, zone: tzinfo = UTC) -> CostReport:
    """What the calls of a usage report cost. ``zone``: whose days."""
    day = days(zone)
    rows = [CallCost(call, None if _is_free(call) else price(call, book)) for call in used.calls]
    cells: defaultdict[_Key, Cost] = defaultdict(Cost)
    firsts: dict[str | None, float] = {}
    sources: dict[str, None] = {}
    rules: Counter[str] = Counter()
    for row in rows:
        _add(row, day(row.call.time), cells)
        if row.call.time is not None:
            firsts.setdefault(row.call.session, row.call.time)
        if isinstance(row.found, Priced):
            sources[row.found.source] = None
            rules.update(row.found.rules)
    sessions = _summed(cells, lambda key: key[0])
    dates = _summed(cells, lambda key: key[2])
    sides = _summed(cells, lambda key: key[1] is None)
    nothing = Cost(most=None if used.awaited else _NONE, awaited=used.awaited)
    return CostReport(
        totals=_summed(cells, lambda key: None).get(None, nothing),
        main=sides.get(True, Cost() if rows else nothing),
        agents=sides.get(False, Cost()),
        sessions=[Group(name, cost, firsts.get(name)) for name, cost in sessions.items()],
        threads=[Thread(*key, cost) for key, cost in _summed(cells, lambda key: key[:2]).items()],
        models=[Group(name, cost) for name, cost in _summed(cells, lambda key: key[3]).items()],
        days=sorted((Group(name, cost) for name, cost in dates.items()), key=lambda group: group.name or ""),
        calls=rows,
        no_price=_no_price(rows),
        recorded=_recorded(rows),
        rules=sorted(rules.items()),
        sources=tuple(sources),
        set_aside=used.set_aside,
        awaited=used.awaited,
    )


def _summed[K](cells: Mapping[_Key, Cost], name: Callable[[_Key], K]) -> dict[K, Cost]:
    sums: defaultdict[K, Cost] = defaultdict(Cost)
    for key, cell in cells.items():
        sums[name(key)].add_cost(cell)
    return dict(sums)


def _is_free(call: Call) -> bool:
    """An answer that was an error is not billed; what a cut stream had told is."""
    return call.state == "failed" and not (call.billed.known_input or call.billed.output)


def _add(row: CallCost, day: str | None, cells: defaultdict[_Key, Cost]) -> None:
    """Adds a call to its cell. It counts for the model that served it; what its passes at other models cost is
    theirs."""
    call, found = row.call, row.found
    agent = UNNAMED if call.agent is None and call.sidechain else call.agent
    name = call.model or call.requested
    base = model_of(name).base if name else None
    cell = cells[call.session, agent, day, base]
    if not isinstance(found, Priced) or not found.by_model:
        cell.add(found)
        return
    cell.count(found)
    rest = None if found.most is None else EXACT.subtract(found.most, found.total)
    for other, parts in found.by_model:
        usd = parts.total
        most = None if rest is None else EXACT.add(usd, rest)
        cells[call.session, agent, day, other].add_amount(parts, usd, most)
        rest = None if rest is None else _NONE


def _no_price(rows: Iterable[CallCost]) -> list[NoPrice]:
    """What has no price, by model and reason, most calls first."""
    found: dict[tuple[str | None, str], NoPrice] = {}
    for row in rows:
        if isinstance(row.found, Unpriced):
            key = (row.found.model, row.found.reason)
            entry = found.setdefault(key, NoPrice(*key))
            entry.calls += 1
            entry.tokens.add(row.call.billed)
    return sorted(found.values(), key=lambda entry: -entry.calls)


def _recorded(rows: Iterable[CallCost]) -> list[RecordedCost]:
    """The costs that came with the calls, by who gave them."""
    found: dict[str, RecordedCost] = {}
    for row in rows:
        given = row.call.recorded
        usd = recorded_usd(row.call)
        if given is None or usd is None:
            continue
        entry = found.setdefault(given.by, RecordedCost(given.by))
        if not usd and _has_tokens(row.call.billed):
            entry.zeros += 1
            continue
        entry.calls += 1
        entry.usd = EXACT.add(entry.usd, usd)
        if isinstance(row.found, Unpriced):
            entry.unpriced += 1
            entry.unpriced_usd = EXACT.add(entry.unpriced_usd, usd)
    return list(found.values())


def recorded_usd(call: Call) -> Decimal | None:
    """The cost that came with a call; None when there is none, or it is no amount."""
    if call.recorded is None:
        return None
    try:
        usd = Decimal(call.recorded.usd)
    except InvalidOperation:
        return None
    return usd if usd.is_finite() and 0 <= usd < 10**12 else None


def is_trusted(call: Call) -> bool:
    """Whether a recorded cost says anything: a 0 beside tokens is a client that knew no price (public reports)."""
    return bool(recorded_usd(call)) or not _has_tokens(call.billed)


def _has_tokens(spent: Spent) -> bool:
    return bool(spent.known_input or spent.output)
