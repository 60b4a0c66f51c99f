"""What a run sent and cost in all: the figures of its closing summary, out of its own capture files.

Each figure is that of the command which tells it in full (`show`, `usage`, `cache`, `cost`, `privacy`), so the two
agree. The files are read once, and what comes again in a conversation is kept and looked at once (`Kept`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from analyzers.attribution import known_weights
from analyzers.cache_price import surcharge
from analyzers.cache_report import CacheReport, cache_report
from analyzers.commands_cost import own_prices_of
from analyzers.cost import Cost, cost_report
from analyzers.exchange import Exchange, Problem
from analyzers.exchange_calls import is_blocked
from analyzers.gather import usage_report
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.readers.kept import Kept
from analyzers.report.token_rows import TokenRows
from analyzers.report.weighed import Weighed
from analyzers.usage import Totals


@dataclass(frozen=True, slots=True)
class FieldSum:
    """One top-level field over all requests. ``tokens``: estimated from its texts, None: nothing of them is known;
    ``at_least``: some are not."""

    name: str
    chars: int
    tokens: int | None
    at_least: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """Personal data in requests. ``kinds``: different values by kind, ``folded``: at least so many more, in strings of
    which only a count was recorded; ``unknown``: folded strings that were not looked into; ``without_body``: requests
    that have no body to look into; ``left``: texts inside texts that were left."""

    kinds: Mapping[str, int]
    folded: Mapping[str, int]
    unknown: int
    without_body: int = 0
    left: int = 0


@dataclass(frozen=True, slots=True)
class Closing:
    """The figures of one run. ``seconds``: from its start to the end of the command; ``without_body``: requests whose
    body could not be measured, which are in no sum of characters. ``cache`` None, ``sent`` None: not looked at.
    ``surcharge``: USD that breaks cost more than reading, None when that is not known. ``reasons``: why requests
    failed, beside how they ended; ``awaited``: requests of batches, whose results are in no sum."""

    files: tuple[Path, ...]
    seconds: float
    requests: int = 0
    ended: Mapping[str, int] | None = None
    reasons: Mapping[tuple[str, str], int] = field(default_factory=dict)
    routes: Mapping[str, int] | None = None
    without_body: int = 0
    fields: Sequence[FieldSum] = ()
    used: Totals | None = None
    awaited: int = 0
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
    sources = Kept([str(file) for file in files])
    sources.notes = {}
    used = usage_report(sources, problems)
    book = PriceBook(PriceList(), own_prices_of(None))
    cache = cache_report(sources, [], None)
    costs = [surcharge(row, book) for row in cache.rows if row.broken]
    sized = _sizes(sources)
    return Closing(
        files=tuple(files),
        seconds=seconds,
        requests=sum(sized.ended.values()),
        ended=sized.ended,
        reasons=sized.reasons,
        routes=sized.routes,
        without_body=sized.without_body,
        fields=sized.fields(),
        used=used.totals,
        awaited=used.awaited,
        cost=cost_report(used, book).totals,
        cache=cache,
        surcharge=None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0)),
        sent=_sent(sources),
        problems=problems,
    )


@dataclass(slots=True)
class _Sized:
    """What is gathered of the requests: how many ended how, why, and by which route, and the sizes of their fields."""

    weighed: Weighed
    ended: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    routes: Counter[str] = field(default_factory=Counter)
    without_body: int = 0
    chars: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    at_least: set[str] = field(default_factory=set)

    def add(self, exchange: Exchange, n: int) -> None:
        if exchange.request is None:
            return
        self.ended[exchange.ended] += 1
        self.routes[exchange.request.route] += 1
        if reason := _reason(exchange):
            self.reasons[exchange.ended, reason] += 1
        fields = self.weighed.add(exchange, n)["fields"]
        if fields is None:
            self.without_body += 1
            return
        for part in fields:
            self.chars[part["name"]] += part["chars"]
            if part["tokens"] is not None:
                self.tokens[part["name"]] += part["tokens"]
            self.at_least |= {part["name"]} if part["at_least"] else set()

    def fields(self) -> list[FieldSum]:
        return [
            FieldSum(name, amount, self.tokens.get(name), name in self.at_least)
            for name, amount in self.chars.most_common()
        ]


def _sizes(sources: Kept) -> _Sized:
    sized = _Sized(Weighed(TokenRows(known_weights(sources.notes))))
    for n, exchange in enumerate(sources.exchanges([]), 1):
        sized.add(exchange, n)
    return sized


def _reason(exchange: Exchange) -> str | None:
    """Why an exchange did not end well, as far as it is recorded: the API's own word, else the proxy's."""
    response = exchange.response
    if response is None or exchange.ended == "completed":
        return None
    if response.error is None:
        return response.failure or (f"status {response.status}" if exchange.ended == "error" else None)
    status = "" if response.status in (None, 200) else f"{response.status} "  # an error may come in a stream
    return f"{status}{response.error.type or 'of no type'}"


def _sent(sources: Kept) -> Sent | None:
    """What personal data left in the requests; None where this version cannot look for it."""
    try:
        from analyzers.privacy import Search
    except ImportError:
        return None
    notes = sources.notes or {}
    search = Search({sha256: noted.kinds for sha256, noted in notes.items() if noted.kinds is not None})
    sent = [replace(exchange, response=None) for exchange in sources.exchanges([]) if not is_blocked(exchange)]
    for exchange in sent:
        search.learn(exchange)
    for n, exchange in enumerate(sent, 1):
        search.look(exchange, n)
    found = search.result()
    folded: Counter[str] = Counter()
    for kind, counts in _by_request(found.findings).items():
        folded[kind] = max(counts.values())  # each request repeats the one before
    unknown = max((one.strings for one in found.unknown), default=0)
    kinds = Counter(value.kind for value in found.values)
    return Sent(kinds, folded, unknown, len(found.without_body), found.too_deep + found.over_limit)


def _by_request(findings: Sequence[object]) -> dict[str, Counter[int]]:
    """Values in folded strings, by kind and request."""
    from analyzers.privacy import Finding

    found: dict[str, Counter[int]] = {}
    for one in findings:
        if isinstance(one, Finding) and one.value is None:
            found.setdefault(one.kind, Counter())[one.request] += one.count
    return found
