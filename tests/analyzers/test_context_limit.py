"""How many tokens a prompt may have, and who says so."""

from __future__ import annotations

import pytest

from analyzers.context_limit import Limit, Refusal, context_limit, refusal

BEFORE, AFTER = 1_777_593_599.0, 1_777_593_600.0  # around the end of 2026-04-30


def test_a_refusal_names_the_prompt_and_the_limit() -> None:
    assert refusal("prompt is too long: 211140 tokens > 200000 maximum") == Refusal(211_140, 200_000)
    assert [refusal(other) for other in (None, "", "max_tokens is too large", "prompt is too long")] == [None] * 4


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-haiku-4-5-20251001", 200_000),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", 200_000),
        ("claude-opus-5-5", 1_000_000),
        ("claude-sonnet-4-6", 1_000_000),
    ],
)
def test_the_window_of_a_model_is_listed(model: str, tokens: int) -> None:
    assert context_limit(model) == Limit(tokens, "list")


def test_what_nobody_lists_is_unknown() -> None:
    assert [context_limit(name) for name in (None, "gpt-4o", "claude-opus-9-9")] == [None] * 3


def test_the_beta_of_a_million_counts_for_its_models_until_it_ended() -> None:
    assert context_limit("claude-sonnet-4-5", long_context=True, time=BEFORE) == Limit(1_000_000, "beta")
    assert context_limit("claude-sonnet-4-5", long_context=True, time=AFTER) == Limit(200_000, "list")
    assert context_limit("claude-sonnet-4-5", long_context=True) == Limit(200_000, "list")
    assert context_limit("claude-haiku-4-5", long_context=True, time=BEFORE) == Limit(200_000, "list")
