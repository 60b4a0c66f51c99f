"""Growth of threads: what was sent, what was typed, what is carried over, and when a limit is reached."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from conversations import call, only, talk, user
from grown_threads import alone, counters, grown, messages, thread

from analyzers.exchange import Exchange
from analyzers.growth import CarriedOver, recorded
from analyzers.growth_shown import thread_json
from analyzers.wire.message import ApiError

HOUR = 3600.0


def test_each_turn_adds_to_what_was_sent_so_far() -> None:
    found = alone(grown(*thread([1000, 1500, 2000])))
    assert [(turn.counted, turn.sent, turn.added) for turn in found.turns] == [
        ((1000, "server"), 1000, None),
        ((1500, "server"), 2500, 500),
        ((2000, "server"), 4500, 500),
    ]
    assert all(turn.is_exact for turn in found.turns)
    assert found.fitted is not None and found.fitted.with_fixed is not None
    assert (round(found.fitted.with_fixed.fixed), round(found.fitted.with_fixed.per_turn)) == (500, 500)


def test_typed_and_sent_stand_side_by_side() -> None:
    found = alone(grown(*thread([1000, 1500])))
    assert found.typed == len("word 0") + len("word 2")
    sent = [turn.sizes.chars for turn in found.turns]
    assert None not in sent and found.chars == sum(one or 0 for one in sent)


def test_what_one_turn_does_not_tell_leaves_the_sum_of_all_open() -> None:
    found = alone(grown(*thread([1000, 1500])))
    first, second = found.turns
    assert not found.is_typed_open and not found.is_chars_open
    silent = replace(found, turns=(first, replace(second, sizes=replace(second.sizes, typed=None, chars=None))))
    assert (silent.typed, silent.chars) == (first.sizes.typed, first.sizes.chars)
    assert silent.is_typed_open and silent.is_chars_open
    assert thread_json(silent)["at_least"] == ["typed_chars", "sent_chars"]
    assert thread_json(found)["at_least"] == []


def test_a_turn_without_counters_is_estimated_by_its_characters() -> None:
    found = alone(grown(*thread([1000, None, 2000])))
    first, second, third = found.turns
    assert first.sizes.chars is not None and second.sizes.chars is not None
    assert second.counted == (round(1000 * second.sizes.chars / first.sizes.chars), "characters")
    assert [turn.is_exact for turn in found.turns] == [True, False, False]
    assert third.counted == (2000, "server")


def test_where_no_turn_was_counted_an_estimator_is_asked() -> None:
    found = alone(grown(*thread([None, None]), estimate=lambda body, model: 100))
    assert [turn.counted and turn.counted.source for turn in found.turns] == ["estimator", "estimator"]
    assert found.turns[1].counted is not None
    assert found.turns[1].counted.tokens == 400  # three messages, and tools with system


def test_without_any_count_the_sum_is_not_known() -> None:
    found = alone(grown(*thread([None, None])))
    assert [(turn.counted, turn.sent, turn.at_least) for turn in found.turns] == [(None, None, False)] * 2
    assert not any(turn.is_exact for turn in found.turns)
    assert (found.fitted, found.limit) == (None, None)


def test_threads_of_one_turn_are_left_out_and_counted_unless_there_is_nothing_else() -> None:
    lone = call(talk("title please"), "a title", at=500, session="other")
    found = grown(*thread([1000, 1500], session="s"), lone)
    assert ([one.session for one in found.threads], found.single) == (["s"], 1)
    assert [len(one.turns) for one in grown(lone).threads] == [1]


def test_the_newest_threads_are_those_that_went_on_last() -> None:
    old, new = thread([10, 20], session="old"), thread([10, 20], session="new", gap=1000.0)
    found = grown(*old, *new, newest=1)
    assert ([one.session for one in found.threads], found.older) == (["new"], 1)


# What is carried over


def test_a_cleared_screen_that_changes_nothing_is_called_out() -> None:
    first = thread([1000, 1500], session="slack:U7")
    later = call(messages(3), "hello", at=14 * HOUR, session="slack:U7", usage=counters(2000))
    found = alone(grown(*first, later))
    carried = only(found.carried)
    assert (carried.kind, carried.turn, carried.messages) == ("after_pause", 3, 3)
    assert carried.pause == pytest.approx(14 * HOUR - 20 - 1)
    share = found.turns[2].sizes
    assert carried.chars == share.earlier and share.earlier and share.chars
    assert carried.tokens == round(2000 * share.earlier / share.chars)


def test_a_pause_within_the_hour_is_none() -> None:
    found = alone(grown(*thread([1000, 1500], gap=HOUR - 10)))
    assert found.carried == ()


def test_a_new_session_that_sends_the_old_one_is_called_out() -> None:
    first = thread([1000, 1500], session="a")
    other = call(messages(3), "hello", at=100, session="b", usage=counters(2000))
    found = grown(*first, other)
    carried = [(one.session, one.carried) for one in found.threads]
    assert [name for name, some in carried if some] == ["b"]
    assert carried[1][1][0].kind == "other_session"
    assert carried[1][1][0].messages == 3


def test_a_recording_that_begins_in_the_middle_says_so() -> None:
    found = alone(grown(*thread([1000, 1500])[1:], call(messages(3), "x", at=50, usage=counters(2000))))
    assert [(one.kind, one.turn, one.messages) for one in found.carried] == [("first_turn", 1, 2)]


def test_a_conversation_that_was_really_cleared_carries_nothing() -> None:
    first = thread([1000, 1500], session="s")
    anew = call([user("something else altogether")], "yes", at=10 * HOUR, session="s", usage=counters(400))
    carried: list[CarriedOver] = [one for found in grown(*first, anew).threads for one in found.carried]
    assert carried == []


# Limits


def refused(exchange: Exchange, text: str) -> Exchange:
    assert exchange.response is not None
    error = ApiError("invalid_request_error", text, "req_1")
    return replace(exchange, ended="error", response=replace(exchange.response, usage=None, error=error, status=400))


def test_the_servers_own_limit_goes_before_the_listed_one() -> None:
    fine = thread([150_000, 180_000])
    failed = call(messages(3), None, at=30, ended="error", status=400, model="claude-opus-5-5-20260901")
    found = alone(grown(*fine, refused(failed, "prompt is too long: 211140 tokens > 200000 maximum")))
    last = found.turns[-1]
    assert (last.counted, last.added) == ((211_140, "refusal"), 31_140)
    assert last.sent == 330_000  # a refusal is not billed
    assert found.limit is not None
    assert (found.limit.limit, found.limit.source, found.limit.turn) == (200_000, "server", 3)


def test_a_limit_is_foretold_by_the_slope_of_the_newest_turns() -> None:
    found = alone(grown(*thread([10_000 + 500 * turn for turn in range(20)]), limit=30_000))
    assert found.given_limit is not None
    assert (found.given_limit.turn, found.given_limit.passed) == (41, False)  # 10,000 + 500·40
    assert found.given_limit.per_turn == pytest.approx(500)
    assert found.limit is not None and (found.limit.limit, found.limit.source) == (1_000_000, "list")


def test_a_limit_that_was_passed_is_no_forecast() -> None:
    found = alone(grown(*thread([1000, 1500, 2000]), limit=1500))
    assert found.given_limit is not None
    assert (found.given_limit.turn, found.given_limit.passed) == (2, True)


def test_a_budget_is_used_up_by_what_turns_cost() -> None:
    # claude-opus-5-5: 4 USD a million in, 20 out: 1,000,000 tokens of input a turn are 4 USD, 50 of output 0.001
    exchanges = thread([1_000_000, 1_000_000, 1_000_000])
    spent = alone(grown(*exchanges, budget=Decimal("8.002"))).budget
    assert spent is not None and (spent.turn, spent.passed) == (2, True)
    ahead = alone(grown(*exchanges, budget=Decimal("20"))).budget
    assert ahead is not None and (ahead.turn, ahead.passed) == (5, False)


def test_a_summary_begins_a_new_stretch() -> None:
    before = thread([10_000, 11_000, 12_000, 13_000], session="s")
    summary = "This session is being continued from a previous conversation. " + "It was about words. " * 30
    after = [
        call(
            [user(summary), *(talk("", *(f"more {place}" for place in range(2 * turn)))[1:] if turn else [])],
            f"more {2 * turn}",
            at=1000 + 10 * turn,
            session="s",
            usage=counters(2_000 + 100 * turn),
        )
        for turn in range(4)
    ]
    found = alone(grown(*before, *after))
    assert [turn.step for turn in found.turns] == ["start", *["continues"] * 3, "compacted", *["continues"] * 3]
    assert found.since == 5
    assert found.fitted is not None and found.fitted.with_fixed is not None
    assert round(found.fitted.with_fixed.per_turn) == 100


def test_what_was_recorded_is_added_up_as_the_server_counted_it() -> None:
    sums, usd = recorded(alone(grown(*thread([1000, 2000]))))
    assert (sums["fresh"], sums["output"]) == (3000, 100)
    assert usd == Decimal("0.012") + Decimal("0.002")
    unknown, nothing = recorded(alone(grown(*thread([1000, None]))))
    assert (unknown.at_least("fresh"), nothing) == (True, None)


def test_a_failed_request_is_no_part_of_any_sum() -> None:
    fine = thread([1000, 1500])
    failed = call(messages(3), None, at=30)
    found = alone(grown(*fine, failed, budget=Decimal("1")))
    last = found.turns[-1]
    assert (last.unbilled, last.counted, last.sent, last.at_least, last.is_exact) == (True, None, 2500, False, True)
    sums, usd = recorded(found)
    assert (sums["fresh"], sums.at_least("fresh"), usd) == (2500, False, Decimal("0.012"))
    assert found.budget is not None and not found.budget.passed
