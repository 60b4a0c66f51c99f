"""What a run sent and cost in all: the figures of its closing summary, out of its own capture files.

Each figure is that of the command which tells it in full (`usage`, `cache`, `cost`, `privacy`), so the two agree. The
files are read once for each of them; nothing of a body is kept but its sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.cache_price import surcharge
from analyzers.cache_report import CacheReport, cache_report
from analyzers.commands_cost import own_prices_of
from analyzers.cost import Cost, cost_report
from analyzers.estimate import estimate
from analyzers.exchange import Problem
from analyzers.gather import usage_report
from analyzers.price_list import PriceList
from analyzers.prices import PriceBook
from analyzers.progress import watched
from analyzers.readers.sources import Sources
from analyzers.sizes import totals
from analyzers.tokens import TextWeight, Weights
from analyzers.usage import Totals

if TYPE_CHECKING:
    from analyzers.noted import Noted


@dataclass(frozen=True, slots=True)
class FieldSum:
    """One top-level field over all requests. ``tokens``: estimated from its texts; ``at_least``: some are not known."""

    name: str
    chars: int
    tokens: int
    at_least: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """Personal data in requests. ``kinds``: different values by kind, ``folded``: at least so many more, in strings of
    which only a count was recorded; ``unknown``: folded strings that were not looked into."""

    kinds: Mapping[str, int]
    folded: Mapping[str, int]
    unknown: int


@dataclass(frozen=True, slots=True)
class Closing:
    """The figures of one run. ``seconds``: from its start to the end of the command; ``without_body``: requests whose
    body could not be measured, which are in no sum of characters. ``cache`` None, ``sent`` None: not looked at.
    ``surcharge``: USD that breaks cost more than reading, None when that is not known."""

    files: tuple[Path, ...]
    seconds: float
    requests: int = 0
    ended: Mapping[str, int] | None = None
    routes: Mapping[str, int] | None = None
    without_body: int = 0
    fields: Sequence[FieldSum] = ()
    used: Totals | None = None
    cost: Cost | None = None
    cache: CacheReport | None = None
    surcharge: Decimal | None = None
    sent: Sent | None = None
    problems: Sequence[Problem] = ()

    @property
    def chars(self) -> int:
        return sum(field.chars for field in self.fields)

    @property
    def bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files)


def closing(files: Sequence[Path], seconds: float) -> Closing:
    """The figures of the run that wrote these capture files. Raises Failure when the user's own prices are wrong, and
    DamagedRanks."""
    if not files:
        return Closing((), seconds)
    problems: list[Problem] = []
    sources = Sources([str(file) for file in files])
    sources.notes = {}
    used = usage_report(sources, problems)
    book = PriceBook(PriceList(), own_prices_of(None))
    cache = cache_report(sources, [], None)
    costs = [surcharge(row, book) for row in cache.rows if row.broken]
    requests, ended, routes, without_body, fields = _sizes(sources)
    return Closing(
        tuple(files),
        seconds,
        requests,
        ended,
        routes,
        without_body,
        fields,
        used.totals,
        cost_report(used, book).totals,
        cache,
        None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0)),
        _sent(sources),
        problems,
    )


def _sizes(sources: Sources) -> tuple[int, Counter[str], Counter[str], int, list[FieldSum]]:
    """Requests in all, by ending and by route, those without a body, and the fields of all others added up."""
    weights = Weights(known=_weights(sources.notes or {}))
    ended: Counter[str] = Counter()
    routes: Counter[str] = Counter()
    chars: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    at_least: set[str] = set()
    without_body = 0
    with watched(sources.read_so_far):
        for exchange in sources.exchanges([]):
            if exchange.request is None:
                continue
            ended[exchange.ended] += 1
            routes[exchange.request.route] += 1
            sized = totals(exchange.request)
            if sized is None:
                without_body += 1
                continue
            chars.update(sized.fields)
            for field in estimate(exchange.request.body, exchange.model, weights).fields:
                tokens[field.name] += field.tokens
                at_least |= {field.name} if field.at_least else set()
    fields = [FieldSum(name, amount, tokens[name], name in at_least) for name, amount in chars.most_common()]
    return sum(ended.values()), ended, routes, without_body, fields


def _weights(notes: Mapping[str, Noted]) -> dict[str, TextWeight]:
    return {sha256: noted.weight for sha256, noted in notes.items() if noted.weight is not None}


def _sent(sources: Sources) -> Sent | None:
    """What personal data left in the requests; None where this version cannot look for it."""
    try:
        from analyzers.privacy import Search
    except ImportError:
        return None
    notes = sources.notes or {}
    search = Search({sha256: noted.kinds for sha256, noted in notes.items() if noted.kinds is not None})
    with watched(sources.read_so_far):
        for exchange in sources.exchanges([]):
            search.learn(replace(exchange, response=None))
    with watched(sources.read_so_far, "looking"):
        for n, exchange in enumerate(sources.exchanges([]), 1):
            search.look(replace(exchange, response=None), n)
    found = search.result()
    folded: Counter[str] = Counter()
    for kind, counts in _by_request(found.findings).items():
        folded[kind] = max(counts.values())  # each request repeats the one before
    unknown = max((one.strings for one in found.unknown), default=0)
    return Sent(Counter(value.kind for value in found.values), folded, unknown)


def _by_request(findings: Sequence[object]) -> dict[str, Counter[int]]:
    """Values in folded strings, by kind and request."""
    from analyzers.privacy import Finding

    found: dict[str, Counter[int]] = {}
    for one in findings:
        if isinstance(one, Finding) and one.value is None:
            found.setdefault(one.kind, Counter())[one.request] += one.count
    return found
