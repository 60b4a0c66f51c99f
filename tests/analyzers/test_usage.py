"""Calls added up: every group is a part of the same sum, and what is not known is never taken for 0."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.calls import Call
from analyzers.spent import NOTHING, PARTS, Spent, Sum
from analyzers.usage import Report, Totals, known, report, summed_up, total_input
from analyzers.usage_shown import bound, report_json

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()


def call(name: str | None = "m1", spent: Spent | None = None, *, at: float | None = 0.0, **changes: Any) -> Call:
    told = Spent(1, 20, 15, 5, 300, 4, 2) if spent is None else spent
    time = None if at is None else NOON + at
    made = Call(time, "s", None, "model", None, name, None, "completed", told, told, "log.jsonl:1", True)
    return made._replace(**changes)


COUNTS = st.none() | st.integers(0, 1000)
SPENT = st.builds(Spent, *[COUNTS] * len(PARTS))
CALLS = st.lists(
    st.builds(
        call,
        st.sampled_from(["a", None]),
        SPENT,
        at=st.none() | st.sampled_from([0.0, 43_199.0, 43_200.0, 90_000.0]),
        billed=SPENT,
        session=st.sampled_from(["s", "t", None]),
        agent=st.sampled_from(["x", None]),
        sidechain=st.booleans(),
        model=st.sampled_from(["m", "n", None]),
        state=st.sampled_from(["completed", "failed", "unfinished", "probe"]),
        failed_attempts=st.integers(0, 2),
        partial=st.booleans(),
    ),
    max_size=8,
)


def plain(totals: Totals) -> tuple[Any, ...]:
    return (
        totals.spent.amounts, totals.spent.unknown, totals.spent.count, totals.billed.amounts, totals.billed.unknown,
        totals.requests, totals.failed, totals.unfinished, totals.failed_attempts, totals.partial,
    )  # fmt: skip


@given(CALLS, st.sampled_from([UTC, ZoneInfo("Asia/Kathmandu")]))
def test_every_grouping_adds_up_to_the_totals(calls: list[Call], zone: Any) -> None:
    found = report(calls, zone=zone)
    whole = plain(found.totals)
    for groups in (found.sessions, found.models, found.days):
        assert plain(summed_up(group.totals for group in groups)) == whole
        assert len({group.name for group in groups}) == len(groups)
    assert plain(summed_up([found.main, found.agents])) == whole
    assert len(found.calls) + len(found.probes) == len(calls)
    assert found.totals.requests == len(found.calls)


@given(CALLS)
def test_the_totals_are_those_of_the_calls(calls: list[Call]) -> None:
    found = report(calls)
    counted = [one for one in calls if one.state != "probe"]
    spending = [one for one in counted if one.state != "failed" or one.spent.known_input or one.spent.output]
    for part in PARTS:
        assert found.totals.spent[part] == sum(getattr(one.spent, part) or 0 for one in spending)
        assert found.totals.billed[part] == sum(getattr(one.billed, part) or 0 for one in spending)
    assert found.totals.unfinished == sum(one.state == "unfinished" for one in counted)
    assert found.totals.failed == sum(one.state == "failed" for one in counted)


@given(CALLS)
def test_complete_means_that_nothing_is_open(calls: list[Call]) -> None:
    told = report_json(report(calls))
    counted = [one for one in calls if one.state != "probe"]
    spending = [one for one in counted if one.state != "failed" or one.spent.known_input or one.spent.output]
    doubt = any(one.state == "unfinished" or one.partial for one in counted)
    assert told["totals"]["complete"] == (not doubt and all(one.spent.whole for one in spending))
    assert told["billed"]["complete"] == (not doubt and all(one.billed.whole for one in spending))


def totals(*calls: Call) -> Any:
    return report_json(report(calls))["totals"]


def test_no_calls_cost_nothing_and_that_is_exact() -> None:
    told = totals()
    assert (told["input_tokens"], told["total_input_tokens"], told["requests"], told["complete"]) == (0, 0, 0, True)


def test_a_counter_that_no_call_gave_is_unknown_and_one_that_some_gave_is_a_lower_bound() -> None:
    some = Spent(1, None, None, None, 7, 4)
    told = totals(call(spent=some))
    assert told["cache_creation_input_tokens"] is None and told["ephemeral_5m_input_tokens"] is None
    assert (told["total_input_tokens"], told["complete"]) == (8, False)
    told = totals(call(spent=some), call("m2"))
    assert (told["cache_creation_input_tokens"], told["total_input_tokens"], told["complete"]) == (20, 329, False)
    told = totals(call(spent=NOTHING))
    assert (told["total_input_tokens"], told["output_tokens"], told["complete"]) == (None, None, False)


def test_unknown_thinking_leaves_the_sums_exact() -> None:
    told = totals(call(spent=Spent(1, 0, 0, 0, 0, 4)))
    assert (told["thinking_tokens"], told["complete"]) == (None, True)


def test_a_failed_call_costs_nothing_unless_it_had_counters() -> None:
    refused = call(None, NOTHING, state="failed")
    told = totals(call(), refused)
    assert (told["requests"], told["failed"], told["complete"], told["output_tokens"]) == (2, 1, True, 4)
    died = call(None, Spent(9, 0, 0, 0, 0, None), state="failed")
    told = totals(call(), died)
    assert (told["input_tokens"], told["complete"]) == (10, False)


def test_an_unfinished_call_counts_with_what_is_known_and_no_sum_is_exact() -> None:
    told = totals(call(), call("m2", state="unfinished"))
    assert (told["requests"], told["unfinished"], told["output_tokens"], told["complete"]) == (2, 1, 8, False)


def test_a15_main_thread_and_sub_agents_are_told_apart() -> None:
    found = report([call("m1"), call("m2", agent="x"), call("m3", sidechain=True)])
    assert (found.main.requests, found.agents.requests, found.totals.requests) == (1, 2, 3)


def test_a21_probes_are_in_no_sum() -> None:
    found = report([call(), call(None, NOTHING, state="probe", counted=4100)])
    assert (found.totals.requests, [one.counted for one in found.probes]) == (1, [4100])


def test_records_and_calls_without_identity_are_counted() -> None:
    found = report([call(rows=3), call(None, rows=2), call(None, request_id="r"), call(None, logged=False)])
    assert (found.rows, found.unidentified) == (7, 1)


# Days


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        (UTC, "2026-11-30"),
        (ZoneInfo("Europe/Berlin"), "2026-12-01"),
        (ZoneInfo("America/New_York"), "2026-11-30"),
        (ZoneInfo("Asia/Kathmandu"), "2026-12-01"),
        (timezone(timedelta(minutes=30)), "2026-12-01"),
    ],
)
def test_the_day_is_that_of_the_zone(zone: Any, day: str) -> None:
    late = 11.75 * 3600  # 23:45 UTC
    assert [group.name for group in report([call(at=late)], zone=zone).days] == [day]


@given(
    st.floats(-9e8, 3e8), st.sampled_from(["Europe/Berlin", "Asia/Kathmandu", "Pacific/Chatham", "America/St_Johns"])
)
def test_every_moment_is_in_the_day_that_a_clock_there_shows(at: float, name: str) -> None:
    zone = ZoneInfo(name)
    (group,) = report([call(at=at)], zone=zone).days
    assert group.name == datetime.fromtimestamp(NOON + at, zone).date().isoformat()


def test_days_are_in_order_and_calls_without_a_time_stand_apart() -> None:
    found = report([call("m1", at=None), call("m2", at=-90_000), call("m3", at=0)])
    assert [group.name for group in found.days] == [None, "2026-11-29", "2026-11-30"]


def test_a_session_begins_with_its_first_call() -> None:
    found = report([call("m1", at=None), call("m2", at=3), call("m3", at=9)])
    assert [group.first for group in found.sessions] == [NOON + 3]


# What is shown


def test_lower_bounds_are_marked() -> None:
    assert (bound(1234, False), bound(1234, True), bound(None, True)) == ("1,234", "≥1,234", "?")


def test_known_and_total_input_of_a_sum() -> None:
    total = Sum()
    assert (known(total, "read"), total_input(total)) == (0, 0)
    total.add(Spent(read=3))
    assert (known(total, "read"), known(total, "fresh"), total_input(total)) == (3, None, 3)


def test_billed_stands_beside_a_call_only_where_it_differs() -> None:
    told: Report = report([call(), call("m2", billed=Spent(9, 9, 9, 0, 9, 9))])
    rows = report_json(told)["rows"]
    assert ["billed" in row for row in rows] == [False, True]
    assert rows[1]["billed"]["total_input_tokens"] == 27
