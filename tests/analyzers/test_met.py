"""What was made of the very objects that come again."""

import weakref
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from analyzers.met import ENTRY, Met


class Told(dict[str, Any]):
    """A value that tells when it is gone."""


def test_the_very_object_is_known_again_and_its_equal_is_not() -> None:
    met, value = Met[str](1_000), {"a": 1}
    met.keep(value, "made", 10)
    assert (met.of(value), met.of({"a": 1})) == ("made", None)


def test_a_value_can_be_met_in_several_ways() -> None:
    met, value = Met[str](1_000), {"a": 1}
    met.keep(value, "as a tool", 10, "tool")
    assert (met.of(value, "tool"), met.of(value, "message"), met.of(value)) == ("as a tool", None, None)


def test_what_is_too_large_by_itself_sends_nothing_away() -> None:
    met, value, large = Met[str](1_000), {"a": 1}, {"b": 2}
    met.keep(value, "made", 10)
    assert not met.keep(large, "made too", 1_001)
    assert (met.of(value), met.of(large)) == ("made", None)


def test_it_says_when_others_were_let_go() -> None:
    met = Met[str](3 * (ENTRY + 10))
    values: list[dict[str, Any]] = [{"a": number} for number in range(4)]
    assert [met.keep(value, "made", 10) for value in values] == [False, False, False, True]
    assert [met.of(value) for value in values] == [None, None, None, "made"]


SIZES = st.lists(st.integers(0, 500), min_size=20, max_size=60)


@given(SIZES)
def test_no_value_that_is_gone_is_taken_for_the_next_one_at_its_place_in_memory(sizes: list[int]) -> None:
    met = Met[int](1_000)
    for number, size in enumerate(sizes):
        value = {"mine": number}
        assert met.of(value) is None
        met.keep(value, number, size)
        assert met.of(value) == number


@given(SIZES)
def test_no_more_is_held_than_is_allowed(sizes: list[int]) -> None:
    """Not even of values of no size."""
    met, there = Met[int](1_000), []
    for number, size in enumerate(sizes):
        value = Told(mine=number)
        there.append(weakref.ref(value))
        met.keep(value, number, size)
        assert sum(one() is not None for one in there) <= 1_000 // ENTRY + 1
