"""Counters of one call, of its passes, and their sums."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_logs import usage

from analyzers.spent import PARTS, Spent, Sum, billed_of, of_usage, summed
from analyzers.wire.usage import Usage

COUNTS = st.none() | st.integers(0, 10**6)
SPENT = st.builds(Spent, *[COUNTS] * len(PARTS))
ZEROS = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def read(told: Any) -> Usage:
    return Usage.from_json(told)[0]


def one_pass(kind: str, fresh: int, output: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "input_tokens": fresh, "output_tokens": output} | more


def test_no_usage_is_unknown_and_not_nothing() -> None:
    assert of_usage(None) == billed_of(None) == Spent(*[None] * 7)
    assert Spent().total_input is None and not Spent().whole


def test_the_total_input_is_known_only_if_all_its_parts_are() -> None:
    assert Spent(1, 20, None, None, 300, 4).total_input == 321
    for part in ("fresh", "written", "read"):
        some = Spent(1, 20, 20, 0, 300, 4)._replace(**{part: None})
        assert some.total_input is None
        assert some.known_input == 321 - getattr(Spent(1, 20, 20, 0, 300, 4), part)


def test_no_cache_writes_are_none_of_either_lifetime() -> None:
    assert of_usage(read({"cache_creation_input_tokens": 0}))[1:4] == (0, 0, 0)
    assert of_usage(read({"cache_creation_input_tokens": 5}))[1:4] == (5, None, None)
    assert of_usage(read(usage(written=7, hour=2)))[1:4] == (7, 5, 2)


def test_a06_passes_are_billed_and_the_top_level_is_never_added_to_them() -> None:
    compaction = one_pass("compaction", 100, 131, cache_creation_input_tokens=55_000, cache_read_input_tokens=0,
                          cache_creation={"ephemeral_5m_input_tokens": 55_000})  # fmt: skip
    told = read(usage(229, 5, iterations=[compaction, one_pass("message", 229, 5, **ZEROS)]))
    assert of_usage(told) == Spent(229, 0, 0, 0, 0, 5)
    assert billed_of(told) == Spent(329, 55_000, 55_000, 0, 0, 136)


def test_a06_the_message_s_own_pass_has_the_top_level_s_cache_counters() -> None:
    passes = [one_pass("compaction", 100, 131, **ZEROS), one_pass("message", 3, 5)]
    assert billed_of(read(usage(3, 5, read=70, written=9, hour=4, iterations=passes))) == Spent(103, 9, 5, 4, 70, 136)


def test_two_passes_of_the_message_that_tell_no_cache_counters_leave_them_unknown() -> None:
    passes = [one_pass("message", 1, 2), one_pass("message", 3, 4)]
    assert billed_of(read(usage(4, 6, read=70, iterations=passes)))[:6] == (4, None, None, None, None, 6)


def test_a08_only_a_fallback_waives_the_attempt_that_gave_nothing() -> None:
    nothing = one_pass("message", 500, 0, **ZEROS)
    served = one_pass("fallback_message", 520, 200, **ZEROS)
    assert billed_of(read(usage(520, 200, iterations=[nothing, served]))) == Spent(520, 0, 0, 0, 0, 200)
    assert billed_of(read(usage(500, 0, iterations=[nothing]))) == Spent(500, 0, 0, 0, 0, 0)
    for paid in ({"output_tokens": 1}, {"cache_creation_input_tokens": 1}, {"cache_read_input_tokens": 1}):
        assert billed_of(read(usage(520, 200, iterations=[nothing | paid, served]))).fresh == 1020


@pytest.mark.parametrize("iterations", [None, [], "odd", {}])
def test_without_iterations_the_top_level_is_billed(iterations: Any) -> None:
    told = read(usage(3, 4, read=5, iterations=iterations))
    assert billed_of(told) == of_usage(told) == Spent(3, 0, 0, 0, 5, 4)


def test_an_unknown_counter_of_a_pass_is_unknown_in_the_sum_but_a_missing_part_is_not() -> None:
    first = one_pass("advisor_message", 1, 2, **ZEROS, output_tokens_details={"thinking_tokens": 2})
    told = read(usage(3, 4, iterations=[first, {"type": "advisor_message", "input_tokens": 3}]))
    billed = billed_of(told)
    assert (billed.fresh, billed.written, billed.output, billed.thinking) == (4, None, None, 2)


@given(st.lists(SPENT, max_size=6))
def test_a_sum_adds_what_is_known_and_counts_what_is_not(many: list[Spent]) -> None:
    total = summed(many)
    assert total.count == len(many)
    for place, part in enumerate(PARTS):
        told = [one[place] for one in many if one[place] is not None]
        assert total[part] == sum(told)
        assert total.at_least(part) == (len(told) < len(many))
        assert total.given(part) == (bool(told) or not many)


@given(st.lists(SPENT, max_size=6), st.lists(SPENT, max_size=6))
def test_sums_of_parts_are_the_sum_of_all_however_they_are_added(some: list[Spent], others: list[Spent]) -> None:
    together, one_by_one = summed(some), Sum()
    together.add_sum(summed(others))
    for spent in [*some, *others]:
        one_by_one.add(spent)
    for total in (together, one_by_one):
        whole = summed([*some, *others])
        assert (total.amounts, total.unknown, total.count) == (whole.amounts, whole.unknown, whole.count)
