"""Multipliers fitted to counts: what was true is found, what was not seen stays, and the error is told honestly."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers import calibration
from analyzers.calibrated import KINDS
from analyzers.calibration import (
    FEW,
    HIGHEST,
    LEAST,
    LOWEST,
    PRIOR,
    Errors,
    Sample,
    calibrate,
    errors_of,
    fitted,
    is_better,
)

TRUE = {"latin": 1.18, "han": 0.85}


def sample(kinds: Mapping[str, float], counted: float, *, thread: int = 0, rest: float = 0.0) -> Sample:
    return Sample(kinds, rest, round(counted), thread, whole=False)


def recorded(number: int, by: Mapping[str, float] = TRUE, noise: float = 0.0, threads: int = 7) -> list[Sample]:
    """Samples of texts that cost so many times their estimate."""
    draw = random.Random(3)
    found = []
    for place in range(number):
        kinds = {"latin": draw.uniform(100, 2000), "han": draw.choice((0.0, draw.uniform(100, 2000)))}
        told = sum(by.get(kind, 1.0) * tokens for kind, tokens in kinds.items())
        found.append(sample(kinds, told * (1 + draw.gauss(0, noise)), thread=place % threads))
    return found


def test_multipliers_by_script_are_found() -> None:
    found = calibrate(recorded(200)).multipliers
    assert found["latin"] == pytest.approx(1.18, abs=0.01)
    assert found["han"] == pytest.approx(0.85, abs=0.02)


def test_they_are_found_through_noise_and_requests_that_hold_what_nobody_sees() -> None:
    some = recorded(200, noise=0.03)
    some[::10] = [sample(one.kinds, 3 * one.counted, thread=one.thread) for one in some[::10]]
    found = calibrate(some).multipliers
    assert found["latin"] == pytest.approx(1.18, abs=0.03)
    assert found["han"] == pytest.approx(0.85, abs=0.04)


def test_what_was_not_seen_stays_as_it_was() -> None:
    found = calibrate(recorded(200)).multipliers
    assert found.keys() == set(KINDS)
    assert {found[kind] for kind in KINDS if kind not in TRUE} == {1.0}


def test_what_was_hardly_seen_stays_near() -> None:
    some = [sample({"latin": 1000.0, "kana": 2.0}, 1005, thread=place) for place in range(100)]
    assert calibrate(some, force=True).multipliers["kana"] == pytest.approx(1.0, abs=0.01)


def test_what_stands_in_a_sample_or_two_is_not_fitted() -> None:
    some = [*recorded(50), *[sample({"latin": 100.0, "tools": 5000.0}, 9000, thread=9)] * (LEAST - 1)]
    found = calibrate(some)
    assert found.multipliers["tools"] == 1.0 and "tools" not in found.fitted
    assert calibrate([*some, some[-1]]).multipliers["tools"] > 1.0


def test_few_samples_have_one_multiplier_for_all_that_was_seen() -> None:
    few = calibrate(recorded(FEW - 1, {"latin": 1.3, "han": 1.3}))
    assert not few.by_kind
    assert few.multipliers["latin"] == few.multipliers["han"] > 1.2
    assert few.multipliers["kana"] == 1.0
    assert calibrate(recorded(FEW)).by_kind


def test_below_the_least_nothing_is_fitted_whatever_is_forced() -> None:
    found = calibrate(recorded(LEAST - 1), force=True)
    assert set(found.multipliers.values()) == {1.0}
    assert (found.before, found.after, found.used) == (None, None, False)
    assert calibrate([]).multipliers == found.multipliers


def test_a_tiny_case_by_hand() -> None:
    """Three requests of 1,000 estimated and 1,100 counted tokens: without multipliers each is 1/11 too low. Of two, the
    share of each is 10/11, so the multiplier is (1/4 + 2 · 10/11) / (1/4 + 2 · 100/121) = 1001/921, and what was held
    out is told as 1000 · 1001/921 of 1,100: 11/921 too low. Of all three: (1/4 + 30/11) / (1/4 + 300/121)."""
    found = calibrate([sample({"latin": 1000.0}, 1100)] * 3)
    assert found.before == Errors(pytest.approx(100 / 11), pytest.approx(100 / 11))
    assert found.after == Errors(pytest.approx(1100 / 921), pytest.approx(1100 / 921))
    assert found.multipliers["latin"] == pytest.approx(1441 / 1321, abs=1e-4)
    assert (found.held_out, found.differences, found.whole, found.threads) == ("alternating", 3, 0, 1)


def test_tokens_without_a_multiplier_are_taken_off_first() -> None:
    some = [sample({"latin": 1000.0}, 1200 + 286, rest=286.0, thread=place) for place in range(50)]
    assert calibrate(some).multipliers["latin"] == pytest.approx(1.2, abs=0.01)


def test_median_and_nearest_rank() -> None:
    assert errors_of([-1.0, 3.0, 2.0]) == Errors(2.0, 3.0)
    assert errors_of([float(one) for one in range(1, 21)]) == Errors(10.5, 19.0)


def test_whole_conversations_are_held_out_where_there_are_enough() -> None:
    assert calibrate(recorded(50, threads=5)).held_out == "threads"
    assert calibrate(recorded(50, threads=4)).held_out == "alternating"


def test_what_holds_for_one_conversation_only_is_not_taken_for_better() -> None:
    """Each conversation is off in a way of its own: within one, requests tell of each other; others they do not."""
    off = (0.7, 1.3, 0.8, 1.25, 0.75, 1.3, 0.7, 1.2)
    some = [sample({"latin": 1000.0}, 1000 * by, thread=thread) for thread, by in enumerate(off) for _ in range(5)]
    found = calibrate(some)
    assert not found.improved


def test_a_fit_that_is_no_better_is_not_used_unless_forced() -> None:
    some = recorded(60, {}, noise=0.05)
    found, forced = calibrate(some), calibrate(some, force=True)
    assert not found.improved and not found.used
    assert set(found.multipliers.values()) == {1.0}
    assert forced.forced and forced.used and forced.multipliers["latin"] != 1.0
    assert (forced.before, forced.after) == (found.before, found.after)


def test_better_is_a_lower_median_without_a_worse_tail() -> None:
    before = Errors(5.0, 20.0)
    assert is_better(before, Errors(4.0, 21.0))
    assert not is_better(before, Errors(4.0, 21.1))
    assert is_better(before, Errors(4.89, 20.0))
    assert not is_better(before, Errors(4.91, 10.0))
    assert not is_better(before, Errors(5.0, 10.0))
    assert not is_better(before, before)


def test_the_newest_samples_are_used_and_the_others_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "MOST", 40)
    found = calibrate([*[sample({"latin": 1000.0}, 600)] * 10, *[sample({"latin": 1000.0}, 1200)] * 40])
    assert (found.older, found.differences) == (10, 40)
    assert found.multipliers["latin"] == pytest.approx(1.2, abs=0.01)


AMOUNTS = st.dictionaries(st.sampled_from(KINDS), st.floats(0, 1e6), max_size=5)
SAMPLES = st.builds(sample, AMOUNTS, st.integers(50, 10**7), thread=st.integers(0, 9), rest=st.floats(-1e4, 1e6))


@given(st.lists(SAMPLES, max_size=40), st.booleans())
def test_no_multiplier_is_ever_wild(some: list[Sample], force: bool) -> None:
    found = calibrate(some, force=force)
    assert all(LOWEST <= value <= HIGHEST for value in found.multipliers.values())
    assert all(found.multipliers[kind] == 1.0 for kind in KINDS if kind not in found.fitted)
    assert all(found.seen[kind] for kind in found.fitted)


@given(st.lists(SAMPLES, min_size=1, max_size=10))
def test_the_fit_is_where_no_single_multiplier_can_be_moved_for_the_better(some: list[Any]) -> None:
    """At the bounds or not, with all samples alike: then no weight is in play, and the squares can be added up here."""
    kinds, counted = some[0].kinds, some[0].counted
    seen = [kind for kind in kinds if kinds[kind]]
    same = [sample(kinds, counted, rest=some[0].rest)] * len(some)
    found = fitted(same, [(kind,) for kind in seen])
    scale = max(counted, 200)

    def squares(by: Mapping[str, float]) -> float:
        off = (same[0].error(by) * counted / 100 / scale) ** 2
        return len(same) * off + PRIOR * sum((value - 1) ** 2 for value in by.values())

    least = squares(found)
    for kind in seen:
        for step in (-0.05, 0.05):
            moved = found | {kind: min(HIGHEST, max(LOWEST, found[kind] + step))}
            assert squares(moved) >= least - 1e-6 - 1e-6 * least
