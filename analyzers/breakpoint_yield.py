"""What each breakpoint of a session wrote into the cache, and what reading it again saved.

Counters are the server's: what a request wrote for an hour ends at its last breakpoint of an hour, the rest at its last
one of five minutes (documentation of prompt caching), and a read is of the entry that the model of the cache names, put
down to the breakpoint that wrote it. Where none is known to have written it, it is nobody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from analyzers.cache import CacheRow, Seen
from analyzers.cache_price import priced
from analyzers.cache_prompt import Mark
from analyzers.digests import Digest
from analyzers.prices import EXACT, PriceBook

NOBODY: Final = "not written here"


@dataclass(frozen=True, slots=True)
class Yield:
    """One place of breakpoints. ``requests``: that had one there; ``written``: tokens that ended there; ``read``:
    tokens read from what was written there; ``saved``: USD that those would have cost more as plain input; ``paid``:
    USD that writing cost more than plain input; None where a model has no price."""

    place: str
    requests: int
    written: int
    read: int
    saved: Decimal | None
    paid: Decimal | None

    @property
    def net(self) -> Decimal | None:
        return None if self.saved is None or self.paid is None else EXACT.subtract(self.saved, self.paid)


@dataclass(slots=True)
class _Sum:
    requests: int = 0
    written: int = 0
    read: int = 0
    saved: Decimal | None = Decimal(0)
    paid: Decimal | None = Decimal(0)


def yields(rows: Sequence[CacheRow], book: PriceBook) -> list[Yield]:
    """The places of a session's breakpoints in the order of the prefix. ``rows``: of all its threads."""
    sums: dict[str, _Sum] = {}
    seen = {row.seen.n: row.seen for row in rows}
    for row in rows:
        marks = row.seen.prompt.marks if row.seen.prompt is not None else ()
        for place in dict.fromkeys(place_of(mark, marks) for mark in marks):
            sums.setdefault(place, _Sum()).requests += 1
        _written(row, marks, sums, book)
        _read(row, seen, sums, book)
    order = sorted(sums.items(), key=lambda item: _rank(item[0]))
    return [Yield(place, one.requests, one.written, one.read, one.saved, one.paid) for place, one in order]


def place_of(mark: Mark, marks: Sequence[Mark]) -> str:
    """A breakpoint's place, in words that are the same in every request: messages move on."""
    field, _, _ = mark.path.partition("[")
    if field != "messages":
        return "tools" if field == "tools" else mark.path.partition(".")[0]
    if mark is marks[-1]:
        return "last in the messages"
    return "first message" if mark.path.startswith("messages[0].") else "earlier in the messages"


def _rank(place: str) -> tuple[int, str]:
    order = ("tools", "system", "first message", "earlier in the messages", "last in the messages", NOBODY)
    return next(at for at, name in enumerate(order) if place.startswith(name)), place


def _written(row: CacheRow, marks: Sequence[Mark], sums: dict[str, _Sum], book: PriceBook) -> None:
    spent = row.seen.spent
    hour, whole = spent.written_1h or 0, spent.written or 0
    for tokens, ttl in ((hour, "1h"), (whole - hour, "5m")):
        if not tokens:
            continue
        own = next((mark for mark in reversed(marks) if mark.ttl == ttl), marks[-1] if marks else None)
        one = sums.setdefault(place_of(own, marks) if own is not None else NOBODY, _Sum())
        one.written += tokens
        plain = spent._replace(fresh=(spent.fresh or 0) + tokens, written=whole - tokens)
        if ttl == "1h":
            plain = plain._replace(written_1h=0)
        elif plain.written_5m is not None:
            plain = plain._replace(written_5m=0)
        one.paid = _plus(one.paid, priced(row, spent, book), priced(row, plain, book))


def _read(row: CacheRow, seen: dict[int, Seen], sums: dict[str, _Sum], book: PriceBook) -> None:
    spent = row.seen.spent
    if not spent.read:
        return
    one = sums.setdefault(_writer(row, seen), _Sum())
    one.read += spent.read
    plain = spent._replace(fresh=(spent.fresh or 0) + spent.read, read=0)
    one.saved = _plus(one.saved, priced(row, plain, book), priced(row, spent, book))


def _writer(row: CacheRow, seen: dict[int, Seen]) -> str:
    """The place of the breakpoint that wrote what a request read."""
    predicted = row.predicted
    if predicted is None or predicted.entry is None or predicted.mark is None:
        return NOBODY
    writer = seen.get(predicted.entry.writer)
    marks = writer.prompt.marks if writer is not None and writer.prompt is not None else ()
    prefixes: set[Digest] = {prefix for prefix, chars in predicted.mark.back if chars == predicted.entry.chars}
    return next((place_of(mark, marks) for mark in marks if mark.prefix in prefixes), NOBODY)


def _plus(total: Decimal | None, more: Decimal | None, less: Decimal | None) -> Decimal | None:
    if total is None or more is None or less is None:
        return None
    return EXACT.add(total, EXACT.subtract(more, less))
