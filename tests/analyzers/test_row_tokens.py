"""Tokens of fields that no server counted, by their texts alone."""

from __future__ import annotations

from analyzers.row_tokens import row_tokens
from analyzers.tokens import tokens_of, weigh
from analyzers.wire.fold import Elided

TEXT = "Every turn resends the whole conversation, because the model keeps no state."
MODEL = "claude-opus-5-5"


def message(*blocks: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": list(blocks)}]}


def text(value: object) -> dict[str, object]:
    return {"type": "text", "text": value}


def test_a_text_counts_as_the_estimator_says() -> None:
    assert row_tokens(message(text(TEXT)), MODEL) == tokens_of(weigh(TEXT), "v4.8")
    assert row_tokens({"system": TEXT}, "claude-opus-4-5") == tokens_of(weigh(TEXT), "v3")


def test_texts_add_up() -> None:
    assert row_tokens(message(text(TEXT), text(TEXT)), MODEL) == 2 * row_tokens(message(text(TEXT)), MODEL)


def test_a_model_nobody_names_is_taken_for_a_new_one() -> None:
    assert row_tokens(message(text(TEXT)), None) == row_tokens(message(text(TEXT)), MODEL)


def test_data_of_an_image_is_no_text() -> None:
    pixels = Elided(100_000, 100_000, 100_000, 100_000, "0" * 64, "base64 image/png", width=1024, height=1024)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": pixels}}
    assert row_tokens(message(image), MODEL) == 37 * 37
    assert row_tokens(message({"type": "thinking", "thinking": "", "signature": "S" * 9_000}), MODEL) == 0


def test_a_folded_text_counts_by_its_characters() -> None:
    folded = Elided(2_800, 2_800, 2_800, 2_800, "0" * 64)
    assert row_tokens(message(text(folded)), MODEL) == 1_000
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": folded}}
    assert 1_000 <= row_tokens(message(call), MODEL) < 1_030


def test_arguments_of_a_call_count_as_the_model_reads_them() -> None:
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls -la"}}
    assert row_tokens(message(call), MODEL) >= tokens_of(weigh('{"command":"ls -la"}'), "v4.8")
