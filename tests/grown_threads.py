"""Conversations of some turns with given counters, and how they grow, for the tests of what is told from that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conversations import Message, call, only, talk, traced

from analyzers.exchange import Exchange
from analyzers.growth import Growth, ThreadGrowth, Wanted, growth
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.turn_sizes import TurnSizer

BOOK = PriceBook(PriceList())


def counters(total: int, output: int = 50) -> dict[str, int]:
    return {
        "input_tokens": total,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output,
    }


def grown(*exchanges: Exchange, estimate: Any = None, **wanted: Any) -> Growth:
    ordered = sorted(exchanges, key=lambda exchange: exchange.time or 0.0)
    sizer = TurnSizer(estimate)
    looked = [sizer.look(exchange) for exchange in ordered]
    lineage, calls = traced(ordered)
    return growth(lineage.sessions, calls, looked, BOOK, Wanted(**wanted))


def messages(turns: int, words: str = "word") -> list[Message]:
    """A conversation up to the user's words of the last turn."""
    return talk(*(f"{words} {place}" for place in range(2 * turns - 1)))


def thread(totals: Sequence[int | None], *, gap: float = 10.0, **more: Any) -> list[Exchange]:
    """A conversation whose turns have these totals; None: no counters."""
    return [
        call(
            messages(turn),
            f"word {2 * turn - 1}",
            at=gap * turn,
            usage=counters(total) if total is not None else None,
            **more,
        )
        for turn, total in enumerate(totals, 1)
    ]


def alone(found: Growth) -> ThreadGrowth:
    return only(found.threads)
