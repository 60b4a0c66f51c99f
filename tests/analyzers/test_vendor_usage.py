"""Other vendors' forms of a usage, as the API's counters."""

from __future__ import annotations

from typing import Any

import pytest

from analyzers.vendor_usage import vendor_usage


def counters(raw: Any) -> tuple[int | None, ...]:
    """Uncached input, cache writes, cache reads, output."""
    found = vendor_usage(raw)
    assert found is not None
    return (
        found.input_tokens, found.cache_creation_input_tokens, found.cache_read_input_tokens, found.output_tokens
    )  # fmt: skip


@pytest.mark.parametrize(
    "told",
    [
        {"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 900}, "completion_tokens": 7},
        {"prompt_tokens": 1000, "cached_tokens": 900, "completion_tokens": 7},
        {"input_tokens": 1000, "cached_tokens": 900, "output_tokens": 7},
        {"prompt_tokens": 1000, "prompt_cache_hit_tokens": 900, "prompt_cache_miss_tokens": 100, "output_tokens": 7},
        {"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 900}, "output_tokens": 7},
    ],
    ids=["chat completions", "cached beside", "cached beside, other names", "hit and miss", "responses"],
)
def test_h03_cached_tokens_are_taken_out_of_the_input(told: dict[str, Any]) -> None:
    assert counters(told) == (100, None, 900, 7)


def test_h03_nothing_is_negative() -> None:
    assert counters({"prompt_tokens": 100, "cached_tokens": 900})[0] == 100


def test_h09_a_zero_alias_does_not_beat_the_real_count() -> None:
    told = {"input_tokens": 0, "prompt_tokens": 500, "output_tokens": 0, "completion_tokens": 9}
    assert counters(told) == (500, None, None, 9)
    told = {"input_tokens": 500, "prompt_tokens": 0, "output_tokens": 9, "completion_tokens": 0}
    assert counters(told) == (500, None, None, 9)


def test_a_zero_that_stands_alone_is_a_zero_and_what_is_missing_is_unknown() -> None:
    assert counters({"prompt_tokens": 0, "completion_tokens": 0}) == (0, None, None, 0)
    assert counters({"prompt_tokens": None}) == (None, None, None, None)


def test_writes_and_thinking_are_taken_where_they_are_told() -> None:
    told = {
        "prompt_tokens": 1000,
        "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300},
        "completion_tokens": 9,
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    found = vendor_usage(told)
    assert counters(told) == (100, 300, 600, 9)
    assert found is not None and found.thinking_tokens == 4


@pytest.mark.parametrize(
    "told",
    [
        None, [], "usage", {}, {"input_tokens": 3, "output_tokens": 4},
        {"input_tokens": 3, "cache_read_input_tokens": 5, "prompt_tokens": 8},
    ],
)  # fmt: skip
def test_the_api_s_own_form_is_left_alone(told: Any) -> None:
    assert vendor_usage(told) is None


@pytest.mark.parametrize("odd", [-1, "9", True, 1.5, {}, []])
def test_odd_counters_are_unknown(odd: Any) -> None:
    assert counters({"prompt_tokens": odd, "cached_tokens": odd, "completion_tokens": odd}) == (None,) * 4
