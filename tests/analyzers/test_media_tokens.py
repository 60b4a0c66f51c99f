"""Tokens of images and documents by their size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.media_tokens import HIGH, STANDARD, Tier, image_tokens, pdf_tokens, resized, tiles

SIDES = st.integers(1, 20_000)


@pytest.mark.parametrize(
    ("width", "height", "tier", "tokens"),
    [
        (1024, 1024, STANDARD, 1369),
        (1280, 720, STANDARD, 1196),
        (1920, 1080, HIGH, 2691),
        (1920, 1080, STANDARD, 1560),
        (1, 1, STANDARD, 1),
        (28, 28, STANDARD, 1),
        (29, 28, STANDARD, 2),
    ],
)
def test_documented_and_recorded_sizes(width: int, height: int, tier: Tier, tokens: int) -> None:
    assert image_tokens(width, height, tier) == tokens


def test_the_size_that_a_model_sees() -> None:
    assert resized(1920, 1080, STANDARD) == (1456, 819)
    assert resized(1075, 1520, STANDARD) == (924, 1307)
    assert resized(2942, 2397, STANDARD) == (1204, 981)  # 980.97: rounded, not cut
    assert resized(1920, 1080, HIGH) == (1920, 1080)


@given(SIDES, SIDES, st.sampled_from([STANDARD, HIGH]))
def test_an_image_always_fits_its_tier(width: int, height: int, tier: Tier) -> None:
    seen = resized(width, height, tier)
    assert tier.fits(*seen)
    assert seen[0] <= width and seen[1] <= height
    assert 1 <= tiles(*seen) <= tier.tokens


@given(SIDES, SIDES)
def test_turning_an_image_changes_nothing(width: int, height: int) -> None:
    assert image_tokens(width, height, STANDARD) == image_tokens(height, width, STANDARD)


@pytest.mark.parametrize("width", [0, 1, 2**31, 10**400])
def test_sizes_that_no_image_has_are_no_trouble(width: int) -> None:
    assert 1 <= image_tokens(width, 3, HIGH) <= HIGH.tokens


def test_a_pdf_is_a_range() -> None:
    least, most = pdf_tokens(3, STANDARD)
    assert least < 7_000 < most
    assert pdf_tokens(0, STANDARD) == (0, 0)
