"""What the rows of chains come to: what was read of all input, what broke, and what was paid for again.

A sum over requests of which some say nothing is a lower bound, and one of which all say nothing is unknown. An answer
that was an error has no counters and was not billed: it leaves no sum open, and makes none known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analyzers.cache import CacheRow
from analyzers.share import share_of


@dataclass(frozen=True, slots=True)
class CacheSums:
    """Sums over rows; None: nothing of it is known. ``read`` and ``total``: tokens read of all input, of the
    ``known`` of ``requests`` that tell both; ``broken``, ``again``, ``resent``: breaks, tokens written again and sent
    again at them. ``unread``: requests that do not tell what they read; ``unjudged``: such as continue another, and
    were not held against the law. ``again_open`` and ``resent_open``: there may be more than is told."""

    requests: int
    known: int
    unread: int
    unjudged: int
    read: int | None
    total: int | None
    broken: int | None
    again: int | None
    resent: int | None
    again_open: bool
    resent_open: bool

    @property
    def hit_rate(self) -> float | None:
        """Percent of the input that was read, of the requests that tell; None where no input is known."""
        return share_of(self.read, self.total) if self.total and self.read is not None else None

    @property
    def paid_again(self) -> int | None:
        """Tokens written again and sent again, together."""
        return _sum((self.again, self.resent))

    @property
    def at_least(self) -> list[str]:
        """The sums that are lower bounds, by the names they have in JSON."""
        bounds = (
            ("cache_read_input_tokens", self.read, self.unread > 0),
            ("total_input_tokens", self.total, self.unread > 0),
            ("written_again", self.again, self.again_open),
            ("sent_again", self.resent, self.resent_open),
            ("broken", self.broken, self.unjudged > 0),
        )
        return [name for name, amount, is_open in bounds if amount is not None and is_open]


def cache_sums(rows: Sequence[CacheRow]) -> CacheSums:
    """The sums over some rows, in tokens; of no rows, nothing is known. A thread of one request has nothing that could
    break, so it has 0 breaks once its counters are known."""
    told = [row.seen.spent for row in rows if row.seen.spent.total_input is not None]
    following = [row for row in rows if row.follows is not None]
    judged = [row for row in rows if row.is_judged]
    is_known = any(row.holds is not None for row in following) if following else bool(told)
    open_ = [row for row in following if not row.is_judged and not row.seen.failed]
    return CacheSums(
        requests=len(rows),
        known=len(told),
        unread=sum(row.seen.spent.total_input is None and not row.seen.failed for row in rows),
        unjudged=len(open_),
        read=sum(spent.read or 0 for spent in told) if told else None,
        total=sum(spent.total_input or 0 for spent in told) if told else None,
        broken=sum(row.broken for row in judged) if is_known else None,
        again=_sum(row.again for row in judged) if is_known else None,
        resent=_sum(row.resent for row in judged) if is_known else None,
        again_open=bool(open_) or any(row.again is None for row in judged),
        resent_open=bool(open_) or any(row.resent is None for row in judged),
    )


def _sum(amounts: Iterable[int | None]) -> int | None:
    """What is known of some amounts together. Those that are 0 say nothing where another is unknown."""
    told = list(amounts)
    known = sum(amount for amount in told if amount is not None)
    return known if known or None not in told else None
