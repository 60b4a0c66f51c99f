"""Lines through what turns sent, and where they lead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.growth_fit import fit, reached, slope, spent


def test_the_bare_model_is_found_again() -> None:
    found = fit([(turn, 500 * turn) for turn in range(1, 401)])
    assert found is not None
    assert (found.plain.per_turn, found.plain.residual, found.plain.rms) == (500, 0, 0)
    assert (found.sent, found.plain.modelled) == (40_100_000, 40_100_000)


def test_a_fixed_part_is_a_residual_of_the_bare_model_and_found_by_the_other() -> None:
    found = fit([(turn, 20_000 + 500 * turn) for turn in range(1, 11)])
    assert found is not None and found.with_fixed is not None
    assert found.with_fixed.fixed == pytest.approx(20_000)
    assert found.with_fixed.per_turn == pytest.approx(500)
    assert found.with_fixed.r2 == pytest.approx(1)
    # t = Σ i·c / Σ i² = (20,000·55 + 500·385) / 385
    assert found.plain.per_turn == pytest.approx(20_000 * 55 / 385 + 500)
    assert found.plain.residual == pytest.approx(227_500 - found.plain.per_turn * 55)


def test_one_turn_is_no_line_and_two_have_no_fixed_part() -> None:
    assert fit([(1, 500)]) is None
    found = fit([(1, 500), (2, 900)])
    assert found is not None and found.with_fixed is None


def test_equal_prompts_have_no_variance_to_explain() -> None:
    found = fit([(1, 100), (2, 100), (3, 100)])
    assert found is not None and found.with_fixed is not None
    assert (found.with_fixed.per_turn, found.with_fixed.r2) == (0, None)


@given(st.integers(0, 10**5), st.integers(0, 10**4), st.integers(3, 60))
def test_the_fit_with_a_fixed_part_is_never_worse(fixed: int, per_turn: int, turns: int) -> None:
    found = fit([(turn, fixed + per_turn * turn + 7 * (turn % 3)) for turn in range(1, turns + 1)])
    assert found is not None and found.with_fixed is not None
    assert found.with_fixed.rms <= found.plain.rms + 1e-6


def test_a_forecast_goes_on_by_the_newest_turns() -> None:
    points = [(turn, 1_000.0) for turn in range(1, 50)] + [(turn, 1_000 + 100 * (turn - 50)) for turn in range(50, 61)]
    assert slope(points) == pytest.approx(100)
    assert reached((60, 2_000), 100, 2_500) == 65
    assert reached((60, 2_000), 100, 2_501) == 66
    assert reached((60, 2_000), 100, 2_000) == 60


def test_what_does_not_grow_never_reaches_a_limit() -> None:
    assert slope([(1, 5)]) is None
    assert [reached((9, 10), per_turn, 20) for per_turn in (None, 0.0, -3.0, 1e-9)] == [None] * 4


def test_a_budget_counts_every_turn_on_the_way() -> None:
    assert spent((10, 2.0), 0.0, 6.0) == 13
    assert spent((10, 2.0), 1.0, 12.0) == 13  # 3 + 4 + 5
    assert spent((10, 2.0), 1.0, 12.1) == 14
    assert spent((10, 2.0), None, 0.0) == 10
    assert spent((10, 0.0), 0.0, 1.0) is None
