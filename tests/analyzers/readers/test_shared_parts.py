"""Bodies of a capture, unfolded: the same as one by one, with what comes again shared."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from json_values import values

from analyzers.readers import shared_parts
from analyzers.readers.shared_parts import SharedParts
from analyzers.wire.fold import Elided, fold, unfold


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **more}


def message(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def test_a_message_that_comes_again_is_the_same_object() -> None:
    parts = SharedParts()
    first, _ = parts.unfolded(body(message("a"), tools=[{"name": "t"}]))
    second, _ = parts.unfolded(body(message("a"), message("b"), tools=[{"name": "t"}]))
    assert first["messages"][0] is second["messages"][0]
    assert first["tools"] is second["tools"]
    assert list(second) == ["model", "messages", "tools"]


def test_numbers_that_are_written_differently_are_not_the_same() -> None:
    parts = SharedParts()
    values = [parts.unfolded(body({"input": {"n": n}}))[0]["messages"][0]["input"]["n"] for n in (1, 1.0, True)]
    assert [repr(value) for value in values] == ["1", "1.0", "True"]


def test_a_damaged_marker_is_told_each_time() -> None:
    parts = SharedParts()
    damaged = body(message({"_elided": True}))
    assert [len(parts.unfolded(damaged)[1]) for _ in range(2)] == [1, 1]


def test_a_folded_body_is_one_leaf() -> None:
    folded, _ = SharedParts().unfolded({"_elided": True, "chars": 5, "sha256": "0" * 64})
    assert type(folded) is Elided


def test_memory_is_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(shared_parts, "_FULL", 1_000)
    parts = SharedParts()
    for place in range(200):
        parts.unfolded(body(message(f"{place:0100d}")))
    assert len(parts._young) + len(parts._old) < 20


@given(st.lists(st.lists(values, max_size=3), max_size=4), st.sampled_from([-1, 0, 5]))
def test_every_body_is_as_it_would_be_alone(bodies: list[list[Any]], over: int) -> None:
    parts = SharedParts()
    for messages in bodies:
        held = fold(body(*messages, system=messages), over)
        assert parts.unfolded(held)[0] == unfold(held)[0]
