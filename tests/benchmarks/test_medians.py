"""Medians, ranks, and ratios of what was measured in the same round."""

import pytest

from benchmarks.medians import Spread, percentile, ratios, spread


def test_a_percentile_is_one_of_the_values() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert percentile(values, 50) == 3.0
    assert percentile(values, 99) == 5.0
    assert percentile(values, 20) == 1.0
    assert percentile(values, 20.1) == 2.0
    assert percentile(values, 0) == 1.0
    assert percentile(values, 100) == 5.0


def test_one_slow_request_in_a_thousand_is_beyond_the_99th_percentile() -> None:
    assert percentile([1.0] * 999 + [60.0], 99) == 1.0
    assert percentile([1.0] * 989 + [60.0] * 11, 99) == 60.0


@pytest.mark.parametrize(("values", "percent"), [([], 50.0), ([1.0], 101.0), ([1.0], -1.0)])
def test_there_is_no_percentile_of_nothing_or_beyond_the_whole(values: list[float], percent: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(values, percent)


def test_a_ratio_is_made_within_each_round() -> None:
    # the machine was three times slower in the second round, for both
    assert ratios([2.0, 6.0, 2.2], [1.0, 3.0, 1.0]) == Spread(2.0, 2.0, 2.2)


def test_rounds_must_match() -> None:
    with pytest.raises(ValueError, match="zip"):
        ratios([1.0, 2.0], [1.0])


def test_no_median_is_made_up() -> None:
    with pytest.raises(ValueError, match="no median"):
        spread([])
