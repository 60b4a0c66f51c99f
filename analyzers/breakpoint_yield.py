"""What each breakpoint of a session wrote into the cache, and what reading it again saved.

Counters are the server's: what a request wrote for an hour ends at its last breakpoint of an hour, the rest at its last
one of five minutes (documentation of prompt caching), and a read is of the entry that the model of the cache names, put
down to the breakpoint that wrote it. Where none is known to have written it, it is nobody's. A request that does not
tell what it wrote leaves the places of its breakpoints open, one that does not tell what it read every place.
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
from analyzers.price_book import PriceBook
from analyzers.price_parts import EXACT

NOBODY: Final = "not written here"


@dataclass(frozen=True, slots=True)
class Yield:
    """One place of breakpoints. ``requests``: that had one there; ``written``: tokens that ended there; ``read``:
    tokens read from what was written there; ``saved``: USD that those would have cost more as plain input; ``paid``:
    USD that writing cost more than plain input; None where a model has no price, or nothing of the tokens is known.
    ``written_open`` and ``read_open``: what is told is a lower bound."""

    place: str
    requests: int
    written: int | None
    read: int | None
    saved: Decimal | None
    paid: Decimal | None
    written_open: bool = False
    read_open: bool = False

    @property
    def net(self) -> Decimal | None:
        """What is left of what was saved; None where either side is a lower bound only."""
        if self.saved is None or self.paid is None or self.written_open or self.read_open:
            return None
        return EXACT.subtract(self.saved, self.paid)

    @property
    def at_least(self) -> list[str]:
        """The figures that are lower bounds, by the names they have in JSON."""
        bounds = (
            ("cache_creation_input_tokens", self.written, self.written_open),
            ("cache_read_input_tokens", self.read, self.read_open),
            ("saved_usd", self.saved, self.read_open),
            ("paid_usd", self.paid, self.written_open),
        )
        return [name for name, amount, is_open in bounds if amount is not None and is_open]


@dataclass(slots=True)
class _Sum:
    """``told`` and ``open_``: requests with a breakpoint there that say what they wrote, and those that do not."""

    requests: int = 0
    told: int = 0
    open_: int = 0
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
            one = sums.setdefault(place, _Sum())
            one.requests += 1
            one.told += row.seen.spent.written is not None
            one.open_ += row.seen.spent.written is None and not row.seen.failed
        _written(row, marks, sums, book)
        _read(row, seen, sums, book)
    order = sorted(sums.items(), key=lambda item: _rank(item[0]))
    reads = [row.seen.spent.read is not None for row in rows if not row.seen.failed]
    return [_yield(place, one, any(reads), not all(reads)) for place, one in order]


def _yield(place: str, one: _Sum, is_read_known: bool, is_read_open: bool) -> Yield:
    is_written_known = bool(one.told or one.written or not one.requests)
    return Yield(
        place,
        one.requests,
        one.written if is_written_known else None,
        one.read if is_read_known else None,
        one.saved if is_read_known else None,
        one.paid if is_written_known else None,
        written_open=is_written_known and one.open_ > 0,
        read_open=is_read_known and is_read_open,
    )


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
