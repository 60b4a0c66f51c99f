"""Copies of calls under other names: what marks them, what does not, and that every call is kept or told of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.calls import Call
from analyzers.replays import SetAside, set_aside
from analyzers.spent import Spent, summed

T = 1_796_000_000.0
A, B, C = "/p/a.jsonl", "/p/b.jsonl", "/p/c.jsonl"


def call(name: str | None, fresh: int, output: int, *, at: float, file: str = A, **changes: Any) -> Call:
    spent = Spent(fresh, 0, 0, 0, 0, output)
    number = int(at * 10) + 1000
    made = Call(T + at, "s", None, "m", None, name, None, "completed", spent, spent, f"{file}:{number}", True)
    return made._replace(**changes)


def told(calls: list[Call], *runs: list[Call]) -> tuple[set[str | None], list[SetAside]]:
    """The names of the calls that are kept, and what was set aside."""
    kept, aside = set_aside(sorted(calls, key=lambda one: one.time or 0.0), runs)
    return {one.message_id for one in kept}, aside


def parent() -> list[Call]:
    return [call("p1", 60, 40, at=0), call("p2", 100, 50, at=60)]


def fork(*counters: tuple[int, int], at: float = 100.0, file: str = B) -> list[Call]:
    return [call(f"f{n}", *told, at=at + 0.3 * n, file=file) for n, told in enumerate(counters)]


REPLAYED = ((60, 40), (100, 50))


def test_a20_a_run_that_repeats_another_file_s_calls_in_order_is_set_aside_and_named() -> None:
    run = fork(*REPLAYED)
    kept, (aside,) = told([*parent(), *run, call("new", 110, 40, at=130, file=B)], run)
    assert kept == {"p1", "p2", "new"}
    assert (aside.reason, aside.calls, aside.place) == ("probable_replay", 2, B)
    assert aside.like.startswith(A) and (aside.sums["fresh"], aside.sums["output"]) == (160, 90)


def test_a20_what_follows_the_copies_within_the_second_is_new() -> None:
    run = fork(*REPLAYED, (110, 40))
    kept, (aside,) = told([*parent(), *run], run)
    assert (kept, aside.calls) == ({"p1", "p2", "f2"}, 2)


@pytest.mark.parametrize(
    "counters",
    [((100, 50), (60, 40)), ((60, 40), (101, 50)), ((60, 40), (100, 51)), ((60, 40),)],
    ids=["another order", "another input", "another output", "one only"],
)
def test_a20_what_differs_is_no_replay(counters: tuple[tuple[int, int], ...]) -> None:
    run = fork(*counters)
    kept, aside = told([*parent(), *run], run)
    assert (len(kept), aside) == (2 + len(run), [])


def test_a20_a_replay_comes_after_what_it_repeats_and_in_another_file() -> None:
    early = fork(*REPLAYED, at=-100)
    assert told([*parent(), *early], early)[1] == []
    same = fork(*REPLAYED, file=A)
    assert told([*parent(), *same], same)[1] == []


def test_a20_calls_of_two_files_together_are_no_original() -> None:
    first, second = parent()
    run = fork(*REPLAYED)
    assert told([first, second._replace(place=f"{C}:1"), *run], run)[1] == []


def test_a20_a_file_that_begins_alike_does_not_hide_the_original() -> None:
    run = fork(*REPLAYED)
    other = call("x", 60, 40, at=-9, file=C)
    kept, (aside,) = told([other, *parent(), *run], run)
    assert kept == {"x", "p1", "p2"} and aside.like.startswith(A)


def test_a20_calls_that_are_all_alike_repeat_nothing() -> None:
    """A mock of the API counts the same for every answer, and answers at once."""
    originals = [call(f"p{n}", 10, 5, at=n) for n in range(3)]
    run = fork(*[(10, 5)] * 3)
    assert told([*originals, *run], run) == ({"p0", "p1", "p2", "f0", "f1", "f2"}, [])


def test_a20_records_that_were_merged_by_their_ids_are_not_set_aside_once_more() -> None:
    copies = [one._replace(place=f"{B}:{n}", time=T + 100 + n / 9) for n, one in enumerate(parent())]
    assert told(parent(), copies) == ({"p1", "p2"}, [])


def test_a20_calls_without_counters_repeat_nothing() -> None:
    empty = [call(f"p{n}", 0, n, at=n) for n in range(2)]
    run = fork((0, 0), (0, 1))
    assert told([*empty, *run], run)[1] == []


def test_a16_the_same_counters_at_the_same_moment_in_two_files_are_one_call() -> None:
    copy = call("x", 60, 40, at=0, file=B, sidechain=True)
    for order in ([*parent(), copy], [copy, *parent()]):
        kept, (aside,) = told(order)
        assert kept == {"p1", "p2"}
        assert (aside.reason, aside.place, aside.like) == ("probable_replay", B, f"{A}:1000")


@pytest.mark.parametrize(
    "other",
    [
        call("x", 60, 40, at=0.001, file=B),
        call("x", 60, 41, at=0, file=B),
        call("x", 60, 40, at=0, file=A),
        call("x", 60, 40, at=0, file=B, logged=False),
        call("x", 60, 40, at=0, file=B, time=None),
    ],
    ids=["another moment", "another output", "the same file", "on the wire", "no time"],
)
def test_a16_what_differs_is_another_call(other: Call) -> None:
    assert told([*parent(), other]) == ({"p1", "p2", "x"}, [])


def nameless(*counters: tuple[int, int]) -> list[Call]:
    return [call(None, *one, at=500.0 + n, file=C) for n, one in enumerate(counters)]


def test_a17_records_without_ids_that_equal_identified_calls_are_set_aside() -> None:
    kept, (aside,) = told([*parent(), *nameless(*REPLAYED)])
    assert kept == {"p1", "p2"}
    assert (aside.reason, aside.calls, aside.place) == ("unidentified_copy", 2, C)


def test_a17_several_records_of_one_call_without_ids_are_copies_together() -> None:
    kept, (aside,) = told([*parent(), *nameless((60, 40), (60, 40), (100, 50), (100, 50))])
    assert (kept, aside.calls) == ({"p1", "p2"}, 4)


@pytest.mark.parametrize("counters", [(*REPLAYED, (7, 7)), ((7, 7), *REPLAYED), ((60, 40), (100, 50), (60, 40))])
def test_a17_one_record_that_equals_none_keeps_all_of_its_file(counters: tuple[tuple[int, int], ...]) -> None:
    kept, aside = told([*parent(), *nameless(*counters)])
    assert (kept, aside) == ({"p1", "p2", None}, [])


def test_a17_two_files_without_ids_are_judged_each_for_itself() -> None:
    lone = [call(None, 9, 9, at=900, file="/p/d.jsonl")]
    kept, (aside,) = told([*parent(), *nameless(*REPLAYED), *lone])
    assert (kept, aside.place) == ({"p1", "p2", None}, C)


def test_a17_a_copy_is_not_a_copy_of_another_copy() -> None:
    assert told([*nameless(*REPLAYED), *(one._replace(message_id=None) for one in parent())])[1] == []


CALLS = st.lists(
    st.builds(
        call,
        st.sampled_from(["x", "y", None]),
        st.sampled_from([0, 60, 100]),
        st.sampled_from([0, 40, 50]),
        at=st.integers(0, 30).map(lambda tenths: tenths / 10),
        file=st.sampled_from([A, B, C]),
    ),
    max_size=12,
    unique_by=lambda one: one.place,
)


@given(CALLS, st.integers(0, 12), st.integers(0, 12))
def test_every_call_is_kept_or_told_of(calls: list[Call], first: int, second: int) -> None:
    ordered = sorted(calls, key=lambda one: one.time or 0.0)
    run = [one for one in ordered[min(first, second) : max(first, second)] if one.place.startswith(B)]
    kept, aside = set_aside(ordered, [run] if len(run) > 1 else [])
    assert len(kept) + sum(found.calls for found in aside) == len(calls)
    whole = summed([one.spent for one in calls])
    together = summed([one.spent for one in kept])
    for found in aside:
        together.add_sum(found.sums)
    assert together.amounts == whole.amounts
    assert kept or not calls
