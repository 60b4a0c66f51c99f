"""What breaks of the cache cost: tokens that were written again, priced as written less what reading them costs."""

from __future__ import annotations

from decimal import Decimal

from analyzers.cache import CacheRow
from analyzers.calls import Call
from analyzers.prices import PriceBook, Priced, price
from analyzers.spent import Spent


def surcharge(row: CacheRow, book: PriceBook) -> Decimal | None:
    """USD that a break cost over reading from the cache what was written again; None where the model has no price."""
    again = row.again
    if not again:
        return Decimal(0)
    hour = again if row.seen.spent.written_1h and not row.seen.spent.written_5m else 0
    five = again - hour
    written = _priced(row, Spent(0, again, five, hour, 0, 0), book)
    read = _priced(row, Spent(0, 0, 0, 0, again, 0), book)
    return None if written is None or read is None else written - read


def _priced(row: CacheRow, spent: Spent, book: PriceBook) -> Decimal | None:
    seen = row.seen
    call = Call(seen.start, None, None, seen.model, seen.model, None, None, "completed", spent, spent, "")
    found = price(call, book)
    return found.total if isinstance(found, Priced) else None
