"""What each breakpoint wrote and saved, by the server's counters: claude-opus-5-5 at 4 USD, 5 and 8 to write, 0.20 to
read."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from analyzers.breakpoint_yield import NOBODY, Yield, yields
from analyzers.cache import CacheRow, Seen
from analyzers.cache_model import Asked, CacheModel
from analyzers.cache_positions import Positions
from analyzers.cache_prompt import cached_prompt
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.spent import Spent

MODEL = "claude-opus-5-5"
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def text(words: str, mark: dict[str, str] | None = None) -> dict[str, Any]:
    return {"type": "text", "text": words} | ({"cache_control": mark} if mark else {})


def talk(turns: int, *, system: dict[str, str] | None = None) -> dict[str, Any]:
    """The request of a turn, with a breakpoint on its last block."""
    messages = []
    for turn in range(turns):
        last = turn == turns - 1
        messages.append({"role": "user", "content": [text(f"question {turn} " * 2_000, MARK if last else None)]})
        if not last:
            messages.append({"role": "assistant", "content": [text(f"answer {turn}")]})
    return {"model": MODEL, "system": [text("rules " * 3_000, system)], "messages": messages}


def found(*asked: tuple[dict[str, Any], Spent], model: str = MODEL) -> dict[str, Yield]:
    cache, positions, rows = CacheModel(), Positions(), []
    for n, (body, spent) in enumerate(asked, 1):
        prompt = cached_prompt(body, model, positions)
        at = 10.0 * n
        one = Asked(n, at, at + 1, model, prompt)
        predicted = cache.predict(one, spent)
        cache.told(one, spent)
        seen = Seen(n, at, at + 1, model, spent, prompt)
        rows.append(CacheRow(seen, n - 1, None, None, None, 0, None, None, None, predicted))
    return {one.place: one for one in yields(rows, PriceBook(PriceList()))}


def spent(fresh: int, five: int, read: int, hour: int = 0) -> Spent:
    return Spent(fresh, five + hour, five, hour, read, 50)


def test_a_moving_breakpoint_is_one_place() -> None:
    places = found(
        (talk(1), spent(5, 10_000, 0)), (talk(2), spent(5, 2_000, 10_000)), (talk(3), spent(5, 3_000, 12_000))
    )
    (one,) = places.values()
    assert (one.place, one.requests, one.written, one.read) == ("last in the messages", 3, 15_000, 22_000)
    assert one.saved == Decimal("0.0836")  # 22,000 x (4 - 0.20)
    assert one.paid == Decimal("0.015")  # 15,000 x (5 - 4)
    assert one.net == Decimal("0.0686")


def test_what_is_written_for_an_hour_ends_at_the_last_breakpoint_of_an_hour() -> None:
    places = found((talk(1, system=HOUR), spent(5, 4_000, 0, 6_000)))
    assert [(one.place, one.written, one.paid) for one in places.values()] == [
        ("system[0]", 6_000, Decimal("0.024")),  # 6,000 x (8 - 4)
        ("last in the messages", 4_000, Decimal("0.004")),
    ]


def test_a_read_is_put_down_to_the_breakpoint_that_wrote_it() -> None:
    other = talk(1, system=HOUR)
    other["messages"] = [{"role": "user", "content": [text("something else " * 2_000, MARK)]}]
    places = found((talk(1, system=HOUR), spent(5, 4_000, 0, 6_000)), (other, spent(5, 5_000, 6_000)))
    assert (places["system[0]"].read, places["last in the messages"].read) == (6_000, 0)
    assert places["system[0]"].net == Decimal("-0.0012")  # one read does not yet pay for an hour


def test_what_nobody_here_wrote_is_nobody_s() -> None:
    places = found((talk(1), spent(5, 1_000, 9_000)))
    assert (places[NOBODY].read, places[NOBODY].requests, places["last in the messages"].read) == (9_000, 0, 0)


def test_the_parts_are_all_that_was_read_and_written() -> None:
    asked = [(talk(1, system=HOUR), spent(5, 4_000, 0, 6_000)), (talk(2, system=HOUR), spent(5, 700, 10_000))]
    places = found(*asked)
    assert sum(one.written for one in places.values()) == sum(told.written or 0 for _, told in asked)
    assert sum(one.read for one in places.values()) == sum(told.read or 0 for _, told in asked)


def test_without_a_price_the_tokens_are_told_all_the_same() -> None:
    (one,) = found((talk(1), spent(5, 10_000, 0)), model="claude-nobody-9").values()
    assert (one.written, one.saved, one.paid, one.net) == (10_000, Decimal(0), None, None)


def test_a_request_that_does_not_tell_leaves_its_places_open() -> None:
    places = found((talk(1), spent(5, 10_000, 0)), (talk(2), Spent()))
    (one,) = places.values()
    assert (one.requests, one.written, one.read) == (2, 10_000, 0)
    assert one.at_least == ["cache_creation_input_tokens", "cache_read_input_tokens", "saved_usd", "paid_usd"]
    assert (one.saved, one.paid, one.net) == (0, Decimal("0.01"), None)


def test_where_no_request_tells_nothing_is_known() -> None:
    (one,) = found((talk(1), Spent()), (talk(2), Spent())).values()
    assert (one.requests, one.written, one.read, one.saved, one.paid, one.net) == (2, *[None] * 5)
    assert one.at_least == []


def test_a_0_that_was_told_stays_0() -> None:
    (one,) = found((talk(1), spent(5, 0, 0))).values()
    assert (one.written, one.read, one.saved, one.paid, one.net, one.at_least) == (0, 0, 0, 0, 0, [])
