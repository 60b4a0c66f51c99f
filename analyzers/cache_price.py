"""What breaks of the cache cost: the call as it was, less the same call had it read what it paid for again.

Both are priced as a whole, on the terms the call was served on, so that tiers, fast mode and places count.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from analyzers.cache import CacheRow
from analyzers.calls import Call
from analyzers.price_book import PriceBook
from analyzers.price_parts import EXACT, Priced
from analyzers.prices import price
from analyzers.spent import Spent


def surcharge(row: CacheRow, book: PriceBook) -> Decimal | None:
    """USD that a break cost over reading from the cache what was paid for again; None where the model has no price, or
    it is not known how much that was."""
    if row.again is None or row.resent is None:
        return None
    if not row.again and not row.resent:
        return Decimal(0)
    paid = priced(row, row.seen.spent, book)
    had_it_read = priced(row, _as_read(row, row.again, row.resent), book)
    return None if paid is None or had_it_read is None else EXACT.subtract(paid, had_it_read)


def _as_read(row: CacheRow, again: int, resent: int) -> Spent:
    """The counters had the tokens been read: those paid for again come first in the prompt, where what is written for
    an hour stands before what is written for five minutes, and plain input last."""
    spent = row.seen.spent
    hour = min(again, spent.written_1h or 0)
    five = again - hour
    return spent._replace(
        fresh=(spent.fresh or 0) - resent,
        written=(spent.written or 0) - again,
        written_1h=None if spent.written_1h is None else spent.written_1h - hour,
        written_5m=None if spent.written_5m is None else spent.written_5m - five,
        read=(spent.read or 0) + again + resent,
    )


def priced(row: CacheRow, spent: Spent, book: PriceBook) -> Decimal | None:
    """USD of a request's input on the terms it was served on, had its counters been these; None where a part of it has
    no price."""
    seen = row.seen
    spent = spent._replace(output=0, thinking=0)
    call = Call(
        seen.start, None, None, seen.model, seen.model, None, None, "completed", spent, spent, "", terms=seen.terms
    )
    found = price(call, book)
    return found.total if isinstance(found, Priced) and found.most is not None else None


def total_of(amounts: Iterable[Decimal | None]) -> Decimal:
    """The sum of those that are known, whatever their size."""
    total = Decimal(0)
    for amount in amounts:
        if amount is not None:
            total = EXACT.add(total, amount)
    return total
