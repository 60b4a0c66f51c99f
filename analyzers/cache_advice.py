"""Where the breakpoints of a recorded session would best have been.

Every way to put up to four breakpoints on six places is replayed on the very requests that were recorded, at their
times, through the documented rules, and priced: after the tools, after the system prompt, after the blocks that all
requests of a thread have in common, after the first message, after the message before the last of the user's, after the
last block; each for five minutes or an hour, longer lives first as the API demands. A read renews an entry for its own
time; that asking for an hour would lengthen one is not documented, and not assumed. Positions are known in characters
and become tokens by each request's own ratio, so costs are estimates; what was recorded is replayed in the same way, so
that only placements are compared. O(requests × placements).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, product
from typing import Final

from analyzers.cache_positions import SECONDS, Position
from analyzers.cache_prompt import Mark, mark_at
from analyzers.calls import Call
from analyzers.digests import Digest
from analyzers.models import cache_minimum
from analyzers.price_book import PriceBook
from analyzers.price_parts import EXACT, Priced
from analyzers.prices import price
from analyzers.spent import Spent
from analyzers.terms import Terms

COMMON: Final = "common part"
PLACES: Final = ("tools", COMMON, "system", "first message", "last but one", "last block")
"""In the order of the prefix, as a rule: what is common may end elsewhere."""

MOST: Final = 4


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as far as a placement matters. ``marks``: what a breakpoint at each of ``PLACES`` would be, where the
    request has such a place; ``actual``: its own breakpoints. ``chars``: of the whole prompt. ``terms``: what it was
    served on; None: the standard ones. ``front``: its blocks up to the first message's end."""

    n: int
    start: float
    begun: float
    model: str | None
    spent: Spent
    chars: int
    marks: tuple[tuple[str, Mark], ...]
    actual: tuple[Mark, ...]
    terms: Terms | None = None
    front: tuple[Position, ...] = ()


type Placement = tuple[tuple[str, str], ...]
"""(place, time to live) of each breakpoint, in the order of the prefix."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A placement replayed. Tokens, estimated; ``usd``: of all input, None where a model has no price."""

    placement: Placement
    fresh: int
    written: int
    read: int
    usd: Decimal | None


@dataclass(frozen=True, slots=True)
class Advice:
    """``actual``: what was recorded, replayed in the same way; ``paid``: what its input really cost, by the server's
    counters; ``best``: placements from the cheapest on, without those that cost what a simpler one does; none when a
    call has no price, since nothing can be ranked then."""

    requests: int
    actual: Replayed
    paid: Decimal | None
    best: tuple[Replayed, ...]

    @property
    def recorded_is_best(self) -> bool:
        """Whether what was recorded costs less than every placement that was tried."""
        least = self.best[0].usd if self.best else None
        return least is not None and self.actual.usd is not None and self.actual.usd < least


def placements() -> Iterable[Placement]:
    """Every way to place up to four breakpoints, none first."""
    for number in range(MOST + 1):
        for places in combinations(PLACES, number):
            for lives in product(("1h", "5m"), repeat=number):
                if list(lives) == sorted(lives):  # "1h" before "5m"
                    yield tuple(zip(places, lives, strict=True))


def advise(requests: Sequence[Recorded], book: PriceBook, most: int = 5) -> Advice:
    """The best placements for requests in time order, which all share one cache."""
    found: dict[tuple[int, int, int, Decimal | None], Replayed] = {}
    for placement in placements():
        marks = [_placed(request, placement) for request in requests]
        if not all(map(_in_order, marks)):
            continue
        replayed = _replayed(placement, requests, marks, book)
        key = (replayed.fresh, replayed.written, replayed.read, replayed.usd)
        if key not in found or _plainness(placement) < _plainness(found[key].placement):
            found[key] = replayed
    actual = _replayed((), requests, [request.actual for request in requests], book)
    paid = _cost(((request, request.spent) for request in requests), book)
    priced = [one for one in found.values() if one.usd is not None]
    ranked = sorted(priced, key=lambda one: (one.usd, *_plainness(one.placement)))
    return Advice(len(requests), actual, paid, tuple(ranked[:most]) if len(priced) == len(found) else ())


def with_common_part(requests: Sequence[Recorded]) -> list[Recorded]:
    """The requests of one thread, each with the place after the blocks that all of them have in common."""
    if len(requests) < 2:
        return list(requests)
    shared = None
    for at, blocks in enumerate(zip(*(request.front for request in requests), strict=False)):
        if len({block.prefix for block in blocks}) > 1:
            break
        shared = at if blocks[0].eligible else shared
    if shared is None:
        return list(requests)
    return [replace(one, marks=(*one.marks, (COMMON, mark_at(one.front, shared)))) for one in requests]


def _plainness(placement: Placement) -> tuple[int, int]:
    """The fewer breakpoints, and the fewer of an hour, the plainer."""
    return len(placement), sum(ttl == "1h" for _, ttl in placement)


def _in_order(marks: Sequence[Mark]) -> bool:
    """Whether longer lives come first, as the API demands."""
    lives = [mark.ttl for mark in sorted(marks, key=lambda mark: mark.chars)]
    return lives == sorted(lives)


def _placed(request: Recorded, placement: Placement) -> tuple[Mark, ...]:
    lives = dict(placement)
    placed: dict[Digest, Mark] = {}
    for place, mark in request.marks:
        if place in lives and mark.prefix not in placed:
            placed[mark.prefix] = Mark(mark.path, lives[place], mark.prefix, mark.chars, mark.back)
    return tuple(sorted(placed.values(), key=lambda mark: mark.chars))


def _replayed(
    placement: Placement, requests: Sequence[Recorded], marks: Sequence[tuple[Mark, ...]], book: PriceBook
) -> Replayed:
    entries: dict[Digest, tuple[float, float, float]] = {}  # lives until, time to live, can be read from
    spent: list[Spent] = []
    for request, placed in zip(requests, marks, strict=True):
        spent.append(_one(request, placed, entries))
    return Replayed(
        placement,
        sum(one.fresh or 0 for one in spent),
        sum(one.written or 0 for one in spent),
        sum(one.read or 0 for one in spent),
        _cost(zip(requests, spent, strict=True), book),
    )


def _one(request: Recorded, placed: tuple[Mark, ...], entries: dict[Digest, tuple[float, float, float]]) -> Spent:
    """What a request would have spent with these breakpoints; leaves behind what it writes and reads."""
    total = request.spent.total_input or 0
    minimum = cache_minimum(request.model) or 0
    marks = [mark for mark in placed if _tokens(request, mark.chars, total) >= minimum]
    read_chars = 0
    for mark in marks:
        for prefix, chars in mark.back:
            entry = entries.get(prefix)
            if entry is not None and entry[0] > request.start and entry[2] <= request.start:
                entries[prefix] = (request.start + entry[1], entry[1], entry[2])
                read_chars = max(read_chars, chars)
                break
    hour = max((mark.chars for mark in marks if mark.ttl == "1h"), default=0)
    last = max((mark.chars for mark in marks), default=0)
    for mark in marks:
        ttl = SECONDS[mark.ttl]
        before = entries.get(mark.prefix)
        if before is None or before[0] <= request.start:
            entries[mark.prefix] = (request.start + ttl, ttl, request.begun)
        elif before[2] > request.start:  # two wrote it at once
            ttl = max(ttl, before[1])
            entries[mark.prefix] = (request.start + ttl, ttl, before[2])
        else:
            entries[mark.prefix] = (request.start + before[1], before[1], before[2])
    read = _tokens(request, read_chars, total)
    cached = max(_tokens(request, last, total), read)
    for_hour = max(_tokens(request, hour, total) - read, 0)
    return Spent(total - cached, cached - read, cached - read - for_hour, for_hour, read, 0)


def _tokens(request: Recorded, chars: int, total: int) -> int:
    return round(total * chars / request.chars) if request.chars else 0


def _cost(spent: Iterable[tuple[Recorded, Spent]], book: PriceBook) -> Decimal | None:
    """USD of the input of all; None when one of them has no price."""
    total = Decimal(0)
    for request, one in spent:
        found = price(_input_alone(request, one), book)
        if not isinstance(found, Priced) or found.most is None:
            return None
        total = EXACT.add(total, found.total)
    return total


def _input_alone(request: Recorded, spent: Spent) -> Call:
    told = spent._replace(output=0, thinking=0)
    terms = request.terms and request.terms._replace(web_searches=0, code_executions=0)
    model = request.model
    return Call(request.start, None, None, model, model, None, None, "completed", told, told, "", terms=terms)
