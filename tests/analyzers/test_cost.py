"""Costs added up: groups, what has no price, and what others say it cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from analyzers.calls import Call
from analyzers.cost import Cost, CostReport, Group, cost_report
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.spent import Spent
from analyzers.terms import Pass, Recorded
from analyzers.usage import report

BOOK = PriceBook(PriceList())
NOON = 1_796_040_000.0  # 2026-11-30T12:00:00Z
MILLION = Spent(1_000_000, 0, 0, 0, 0, 0)
OPUS, SONNET = "claude-opus-5-5", "claude-sonnet-5-5"


def call(model: str | None = OPUS, spent: Spent = MILLION, **changes: Any) -> Call:
    told = Call(NOON, "s", None, model, None, "msg_1", None, "completed", spent, spent, "file:1")
    return told._replace(**{"billed": changes.get("spent", spent)} | changes)


def costs(*calls: Call, zone: Any = None) -> CostReport:
    used = report(calls) if zone is None else report(calls, zone=zone)
    return cost_report(used, BOOK) if zone is None else cost_report(used, BOOK, zone)


def named(groups: Any) -> dict[str | None, Decimal]:
    return {group.name: group.cost.usd for group in groups}


def test_the_sums_by_session_thread_model_and_day() -> None:
    found = costs(
        call(),
        call(SONNET, agent="a1"),
        call(SONNET, session="t", sidechain=True),
        call(session="t", time=NOON + 86_400),
    )
    assert found.totals.usd == found.totals.most == 12
    assert found.totals.is_complete
    assert (found.main.usd, found.agents.usd) == (8, 4)
    assert named(found.sessions) == {"s": 6, "t": 6}
    assert {(thread.session, thread.agent): thread.cost.usd for thread in found.threads} == {
        ("s", None): 4,
        ("s", "a1"): 2,
        ("t", "?"): 2,
        ("t", None): 4,
    }
    assert named(found.models) == {OPUS: 8, SONNET: 4}
    assert named(found.days) == {"2026-11-30": 8, "2026-12-01": 4}


def test_days_are_those_of_the_zone() -> None:
    assert named(costs(call(time=NOON + 11.5 * 3600), zone=ZoneInfo("Europe/Berlin")).days) == {"2026-12-01": 4}


def test_h07_one_model_under_several_names_is_one_group() -> None:
    found = costs(
        call("claude-haiku-4-5"), call("us.anthropic.claude-haiku-4-5-20251001-v1:0"), call(None, requested=OPUS)
    )
    assert [(group.name, group.cost.calls) for group in found.models] == [("claude-haiku-4-5", 2), (OPUS, 1)]


def test_h08_a_call_without_a_price_is_counted_named_and_makes_the_total_a_lower_bound() -> None:
    found = costs(call(), call("glm-x", Spent(5, 0, 0, 0, 7, 9)), call("glm-x"), call(None))
    assert (found.totals.usd, found.totals.most, found.totals.unpriced) == (4, None, 3)
    assert found.totals.is_lower_bound and not found.totals.is_complete
    entry = found.no_price[0]
    assert (entry.model, entry.calls, entry.reason) == ("glm-x", 2, "no list has a price for it")
    assert (entry.tokens["fresh"], entry.tokens["read"], entry.tokens["output"]) == (1_000_005, 7, 9)
    assert found.no_price[1].model is None


def test_h08_a_group_of_unpriced_calls_has_no_amount_that_could_be_taken_for_a_fact() -> None:
    found = costs(call("glm-x"))
    assert (found.totals.priced, found.totals.most) == (0, None)
    assert found.models[0].cost.unpriced == 1


def test_a_failed_call_is_not_billed_and_no_unknown_price() -> None:
    found = costs(
        call(), call(state="failed", spent=Spent()), call("glm-x", state="failed", spent=Spent(0, 0, 0, 0, 0, 0))
    )
    assert (found.totals.usd, found.totals.free, found.totals.unpriced) == (4, 2, 0)
    assert found.totals.is_complete
    assert found.calls[1].found is None


def test_a22_results_of_a_batch_that_failed_cost_nothing() -> None:
    errored = call(None, state="failed", spent=Spent(0, 0, 0, 0, 0, 0), message_id=None, result="/b#2")
    assert costs(errored).totals.is_complete


def test_what_a_cut_stream_had_told_is_a_lower_bound() -> None:
    found = costs(call(state="failed", spent=Spent(1_000_000, 0, 0, 0, 0, None)))
    assert (found.totals.usd, found.totals.at_least) == (4, 1)


def test_a08_passes_count_for_their_own_models_and_the_call_for_the_one_that_served() -> None:
    billed = Spent(2_000_000, 0, 0, 0, 0, 0)
    found = costs(call(SONNET, billed, passes=(Pass(OPUS, MILLION), Pass(None, MILLION))))
    assert named(found.models) == {OPUS: 4, SONNET: 2}
    assert {group.name: group.cost.calls for group in found.models} == {OPUS: 0, SONNET: 1}
    assert found.totals.usd == 6


def test_probes_are_free_and_in_no_sum() -> None:
    assert costs(call(state="probe")).totals == Cost()


def test_h11_a_stored_zero_beside_tokens_is_not_trusted() -> None:
    found = costs(call(recorded=Recorded("client", "0")), call(recorded=Recorded("client", "3.9")))
    (entry,) = found.recorded
    assert (entry.calls, entry.usd, entry.zeros) == (1, Decimal("3.9"), 1)
    assert found.totals.usd == 8


def test_h11_a_stored_cost_of_an_unknown_model_stands_beside_and_is_not_added() -> None:
    found = costs(call("glm-x", recorded=Recorded("client", "1.23")))
    (entry,) = found.recorded
    assert (entry.by, entry.unpriced, entry.unpriced_usd) == ("client", 1, Decimal("1.23"))
    assert (found.totals.usd, found.totals.unpriced) == (0, 1)


def test_h09_a_provider_s_cost_stands_beside_ours() -> None:
    found = costs(call(recorded=Recorded("provider", "0.0135")))
    (entry,) = found.recorded
    assert (entry.by, entry.usd, entry.unpriced) == ("provider", Decimal("0.0135"), 0)
    assert found.totals.usd == 4


def test_a_recorded_cost_that_is_no_amount_says_nothing() -> None:
    assert not costs(call(recorded=Recorded("client", "-1")), call(recorded=Recorded("client", "1e400"))).recorded


def test_rules_and_lists_are_told_with_their_calls() -> None:
    found = costs(call("claude-opus-5-5-20300101"), call("claude-opus-5-5-20300101"), call("claude-mythos-5"))
    assert ("date 20300101", 2) in found.rules
    assert len(found.sources) == 2


COUNT = st.none() | st.integers(0, 300_000)
CALLS = st.builds(
    call,
    st.sampled_from([OPUS, SONNET, "claude-haiku-5-5", "claude-haiku-5-5-20300101", "glm-x", None]),
    st.builds(Spent, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT),
    session=st.sampled_from(["s", "t", None]),
    agent=st.sampled_from([None, "a1", "a2"]),
    time=st.sampled_from([None, NOON, NOON + 86_400]),
    state=st.sampled_from(["completed", "unfinished", "failed"]),
    passes=st.sampled_from([(), (Pass(OPUS, MILLION), Pass(None, MILLION)), (Pass("gpt-y", MILLION),)]),
    partial=st.booleans(),
)


@given(st.lists(CALLS, max_size=12))
def test_every_grouping_sums_to_the_total_and_the_parts_to_the_sum(calls: list[Call]) -> None:
    found = costs(*calls)
    whole = figures(found.totals)
    assert whole[0] == sum(found.totals.parts)
    assert found.totals.calls == len(calls)
    threads = [Group(None, thread.cost) for thread in found.threads]
    sides = [Group(None, found.main), Group(None, found.agents)]
    for groups in (found.sessions, found.days, found.models, threads, sides):
        assert together([group.cost for group in groups]) == whole


def figures(cost: Cost) -> tuple[Any, ...]:
    return (
        cost.usd, cost.most, cost.parts, cost.priced, cost.at_least, cost.estimated, cost.unpriced, cost.free
    )  # fmt: skip


def together(costs_: list[Cost]) -> tuple[Any, ...]:
    total = Cost()
    for cost in costs_:
        total.add_cost(cost)
    return figures(total)
