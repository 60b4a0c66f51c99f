"""The bare model of resending: the published figures, and the sums against adding up turn by turn."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from json_values import DATA

from analyzers.growth_model import Carried, Resent, milestones

PUBLISHED = json.loads((DATA / "published-growth.json").read_text())


def test_the_published_sums_of_a_full_history() -> None:
    told = PUBLISHED["full_history"]
    model = Resent(told["tokens_per_turn"], 400)
    assert model.formula == told["formula"]
    assert {turn: model.sent_by(int(turn)) for turn in told["turns"]} == told["turns"]
    assert model.total == 40_100_000


def test_the_published_sums_of_a_carried_history() -> None:
    told = PUBLISHED["carried_history"]
    model = Carried(told["history"], 10, 50, told["growth_per_turn"], told["turns"])
    assert (model.first_input, model.answer, model.cost(1)) == tuple(told["first_turn"].values())
    assert (model.cost(model.turns), model.total) == (told["last_turn"], told["total"])


def test_an_odd_number_of_tokens_keeps_its_half() -> None:
    assert Resent(501, 1).formula == "250.5*N^2 + 250.5*N"
    assert Resent(10**20 + 1, 1).formula == "50000000000000000000.5*N^2 + 50000000000000000000.5*N"


def test_a_limit_is_reached_with_the_first_prompt_that_has_so_many_tokens() -> None:
    assert [Resent(500, 400).reaches(limit) for limit in (1, 500, 501, 100_000)] == [1, 1, 2, 200]
    carried = Carried(200_000, 10, 50, 100, 30)
    assert [carried.reaches(limit) for limit in (200_010, 200_011, 200_110, 200_111)] == [1, 2, 2, 3]
    assert Carried(10, 0, 0, 0, 5).reaches(11) is None


@given(st.integers(1, 10_000), st.integers(1, 300))
def test_the_sum_is_that_of_its_turns(tokens: int, turns: int) -> None:
    model = Resent(tokens, turns)
    assert model.total == sum(model.prompt(turn) for turn in range(1, turns + 1))


@given(st.integers(0, 10**6), st.integers(0, 99), st.integers(0, 99), st.integers(0, 500), st.integers(1, 100))
def test_a_carried_history_is_paid_in_every_turn(
    history: int, message: int, answer: int, growth: int, turns: int
) -> None:
    model = Carried(history, message, answer, growth, turns)
    assert model.total == sum(model.cost(turn) for turn in range(1, turns + 1))


def test_a_table_shows_some_turns_and_the_last() -> None:
    assert list(milestones(1)) == [1]
    assert list(milestones(30)) == [1, 2, 3, 5, 10, 20, 30]
    assert list(milestones(420))[-4:] == [100, 200, 300, 420]
