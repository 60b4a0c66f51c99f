"""Ways to send a conversation, replayed: figures worked out by hand, and what must hold for any thread.

Prices of claude-opus-5-5 in USD a million: input 4, five-minute write 5, one-hour write 8, read 0.20, output 20; it
caches from 512 tokens on.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from conversations import BEGIN
from hypothesis import given
from hypothesis import strategies as st

from analyzers.growth_model import Resent
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.replayed_talk import Asking, Talk, Unit, talk_of_model
from analyzers.strategies import (
    CACHES,
    Replay,
    Sending,
    Settings,
    cleared,
    replays,
    summarised,
    tiered,
    windowed,
)

BOOK = PriceBook(PriceList())
MODEL = "claude-opus-5-5"


def plain(turns: int, *, gap: float = 60.0, size: int = 1000, model: str | None = MODEL) -> Talk:
    """Turns of so many tokens each, and nothing but messages."""
    talk = talk_of_model(Resent(size, turns), model, BEGIN)
    times = [BEGIN + gap * turn for turn in range(turns)]
    askings = [replace(one, start=time, begun=time + 1) for one, time in zip(talk.askings, times, strict=True)]
    return replace(talk, askings=tuple(askings))


def by_way(talk: Talk, limit: int | None = None, **settings: Any) -> dict[tuple[str, str], Replay]:
    return {(one.way, one.cache): one for one in replays(talk, Settings(**settings), BOOK, limit)}


def counters(one: Replay) -> tuple[int | None, ...]:
    return one.input.fresh, one.input.written, one.input.read


def firsts(sendings: Any) -> list[int]:
    return [one.first for one in sendings]


# Four turns of 1,000 tokens, a minute apart, and a window of 2,000


def test_while_the_cache_is_warm_a_moving_window_costs_more_than_the_full_history() -> None:
    found = by_way(plain(4), window=2000, keep=2000)
    full, window = found["full", "5m"], found["window", "5m"]
    # each turn writes its own 1,000 tokens and reads those before: 4,000 · 5 + (1,000 + 2,000 + 3,000) · 0.20
    assert counters(full) == (0, 4000, 6000)
    assert full.usd == Decimal("0.0212")
    # turns 3 and 4 begin with another message, so their 2,000 tokens are written anew: 6,000 · 5 + 1,000 · 0.20
    assert counters(window) == (0, 6000, 1000)
    assert window.usd == Decimal("0.0302")
    assert window.input.total_input == 7000 < 10_000 == full.input.total_input


def test_without_a_cache_the_same_window_costs_less() -> None:
    found = by_way(plain(4), window=2000, keep=2000)
    assert found["full", "none"].usd == Decimal("0.04")  # 10,000 · 4
    assert found["window", "none"].usd == Decimal("0.028")  # 7,000 · 4


def test_where_every_pause_outlives_the_cache_the_window_costs_less_too() -> None:
    found = by_way(plain(4, gap=600), window=2000, keep=2000)
    assert counters(found["full", "5m"]) == (0, 10_000, 0)
    assert found["full", "5m"].usd == Decimal("0.05")
    assert found["window", "5m"].usd == Decimal("0.035")


def test_an_hour_of_cache_turns_it_round_again() -> None:
    found = by_way(plain(4, gap=600), window=2000, keep=2000)
    assert found["full", "1h"].usd == Decimal("0.0332")  # 4,000 · 8 + 6,000 · 0.20
    assert found["window", "1h"].usd == Decimal("0.0482")  # 6,000 · 8 + 1,000 · 0.20


def test_a_window_that_moves_in_jumps_writes_less() -> None:
    talk = plain(40)
    creeping, jumping = by_way(talk, window=10_000, keep=10_000), by_way(talk, window=10_000, keep=5_000)
    written = [one["window", "5m"].input.written or 0 for one in (creeping, jumping)]
    assert written[1] < written[0] / 2


def test_a_summary_is_paid_for_and_stands_first() -> None:
    one = by_way(plain(4), every=2, summary=100)["summarise", "5m"]
    # prompts 1,000 and 2,000; a call that reads those 2,000 and says 100; prompts 1,100 and 2,100
    assert one.input.total_input == 1000 + 2000 + 2000 + 1100 + 2100
    assert counters(one) == (0, 1000 + 1000 + 1100 + 1000, 1000 + 2000 + 1100)
    assert one.summarising == (1, 2000, 100, Decimal("0.0024"))
    assert (one.usd_input, one.usd) == (Decimal("0.02132"), Decimal("0.02332"))
    assert one.forgotten.end == one.forgotten.most == 2
    assert one.forgotten.mean == 1.0


def test_tiers_pay_for_each_turn_that_leaves_the_first() -> None:
    found = by_way(plain(4), whole=2, summarised=1, turn_summary=50, facts=10)
    one = found["tiers", "none"]
    # turn 3: summary of turn 1; turn 4: summary of turn 2, and turn 1 taken into the facts
    assert one.summarising[:3] == (3, 1000 + 1060, 50 + 60)
    assert one.input.total_input == 1000 + 2000 + (50 + 2000) + (10 + 50 + 2000) + 2060
    assert one.forgotten.end == 2


def test_clearing_begins_anew() -> None:
    one = by_way(plain(4), every=2)["clear", "none"]
    assert one.input.total_input == 1000 + 2000 + 1000 + 2000
    assert (one.forgotten.end, one.largest) == (2, 2000)


def test_every_summary_is_read_from_the_cache_as_far_as_it_was_there_before() -> None:
    warm = by_way(plain(80), whole=10, summarised=500, turn_summary=600)["tiers", "5m"]
    moved = by_way(plain(80), whole=10, summarised=10, turn_summary=600)["tiers", "5m"]
    # summaries that are only added to are a beginning that stays; facts that change with every turn are none
    assert (warm.input.read or 0) > (moved.input.read or 0) * 5


def test_a_model_without_a_price_has_none_and_still_has_tokens() -> None:
    one = by_way(plain(4, model="no-such-model"))["full", "5m"]
    assert (one.usd, one.usd_input, one.input.total_input) == (None, None, 10_000)


def test_small_prompts_are_not_cached() -> None:
    one = by_way(plain(4, size=100))["full", "5m"]
    assert counters(one) == (1000, 0, 0)


def test_requests_above_the_limit_are_counted() -> None:
    found = by_way(plain(4), limit=2500, every=2)
    assert (found["full", "none"].over, found["clear", "none"].over) == (2, 0)
    assert by_way(plain(4))["full", "none"].over is None


def test_an_unknown_answer_makes_the_price_a_lower_bound() -> None:
    talk = plain(2)
    unknown = replace(talk, askings=(talk.askings[0], replace(talk.askings[1], output=None)))
    assert by_way(unknown)["full", "none"].at_least
    assert not by_way(talk)["full", "none"].at_least


def test_a_change_of_the_tools_leaves_nothing_to_read() -> None:
    talk = plain(3)
    changed = replace(talk, askings=(*talk.askings[:2], replace(talk.askings[2], fixed_key=b"other")))
    assert counters(by_way(changed)["full", "5m"]) == (0, 1000 + 1000 + 3000, 1000)


def test_a_turn_of_more_blocks_than_a_look_back_still_reads_the_one_before() -> None:
    talk = plain(3)
    long = replace(talk, askings=tuple(replace(one, steps=25 * place) for place, one in enumerate(talk.askings, 1)))
    assert counters(by_way(long)["full", "5m"]) == (0, 3000, 3000)


def test_what_runs_at_the_same_time_reads_nothing_of_it() -> None:
    talk = plain(3)
    first, second, third = talk.askings
    slow = replace(talk, askings=(first, replace(second, begun=third.start + 1), third))
    # the third turn cannot read what the second one writes, and reads what the first one did
    assert counters(by_way(slow)["full", "5m"]) == (0, 1000 + 1000 + 2000, 1000 + 1000)


# Where a history may begin


def spoken(*speaks: bool) -> Talk:
    """Turns of 1,000 tokens; False: the turn begins with the result of a tool."""
    talk = plain(len(speaks))
    units = [Unit(unit.begin, speak) for unit, speak in zip(talk.units, speaks, strict=True)]
    return replace(talk, units=tuple(units))


def test_a_history_never_begins_with_the_result_of_a_tool() -> None:
    talk = spoken(True, False, False, True, False)
    assert firsts(cleared(talk, 1)) == [0, 0, 0, 3, 3]
    assert firsts(windowed(talk, 1000, 1000)) == [0, 0, 0, 3, 3]


def test_behind_a_summary_it_may() -> None:
    assert firsts(summarised(spoken(True, False, False, True), 2, 100)) == [0, 0, 2, 2]
    assert firsts(tiered(spoken(True, False, False), Settings(whole=1))) == [0, 1, 2]


def test_the_first_prompt_brings_turns_that_can_be_forgotten() -> None:
    talk = plain(4)
    later = replace(talk, askings=talk.askings[2:], earlier=2)
    assert firsts(windowed(later, 2000, 2000)) == [1, 2]
    one = by_way(later, every=2, summary=100)["summarise", "none"]
    assert one.summarising[:3] == (1, 2000, 100)


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    number = draw(st.integers(1, 25))
    fixed = draw(st.integers(0, 5000))
    clock, end, steps = BEGIN, 0, 0
    askings: list[Asking] = []
    units: list[Unit] = []
    for place in range(number):
        speaks = place == 0 or draw(st.booleans())
        said, new = draw(st.integers(0, 3000)) if place else 0, draw(st.integers(1, 3000))
        units.append(Unit(end + said if speaks else end, speaks))
        before, end = end + said, end + said + new
        clock += draw(st.sampled_from([1.0, 60.0, 400.0, 4000.0]))
        steps += draw(st.integers(1, 30))
        askings.append(Asking(place + 1, clock, clock + 2, MODEL, None, place, fixed, b"k", before, end, steps, 10))
    return Talk(tuple(askings), tuple(units), 0, number, 0, 0, True, True)


@given(talks(), st.integers(1, 8), st.integers(1, 20_000), st.integers(1, 8), st.integers(0, 6))
def test_whatever_is_sent_is_either_uncached_or_written_or_read(
    talk: Talk, every: int, window: int, whole: int, summaries: int
) -> None:
    settings = Settings(every, window, max(window // 2, 1), 300, whole, summaries, 40, 200)
    found = {(one.way, one.cache): one for one in replays(talk, settings, BOOK)}
    for way in ("full", "clear", "window", "summarise", "tiers"):
        same = [found[way, cache] for cache in CACHES]
        assert len({one.input.total_input for one in same}) == 1
        for one in same:
            assert min(counters(one)) >= 0  # type: ignore[type-var]
            assert sum(part or 0 for part in counters(one)) == one.input.total_input
    assert found["full", "none"].input.total_input == sum(asking.fixed + asking.end for asking in talk.askings)
    assert found["full", "none"].forgotten.most == 0


@given(talks(), st.integers(1, 20_000))
def test_a_window_holds_what_fits_and_always_the_newest_words(talk: Talk, window: int) -> None:
    last = 0
    for asking, sending in zip(talk.askings, windowed(talk, window, window), strict=True):
        assert sending.first >= last
        assert talk.units[sending.first].speaks
        newer = [place for place in range(sending.first + 1, asking.unit + 1) if talk.units[place].speaks]
        assert asking.end - talk.units[sending.first].begin <= window or not newer
        last = sending.first


@pytest.mark.parametrize("way", [cleared, lambda talk, every: summarised(talk, every, 100)])
def test_a_thread_that_is_too_short_forgets_nothing(way: Any) -> None:
    assert [sending == Sending(0) for sending in way(plain(5), 5)] == [True] * 5
