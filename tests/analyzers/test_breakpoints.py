"""Every cache_control, where the API reads one and nowhere else."""

from typing import Any

import pytest

from analyzers.breakpoints import Breakpoint, breakpoints

MARK = {"cache_control": {"type": "ephemeral"}}


def paths(body: Any) -> list[str]:
    return [mark.path.removesuffix(".cache_control") for mark in breakpoints(body)]


def test_every_place_in_the_order_of_the_prefix() -> None:
    inner = {"type": "text", "text": "x"} | MARK
    body = {
        "messages": [
            {"role": "user", "content": "x"},
            {"role": "user", "content": [
                {"type": "text", "text": "x"} | MARK,
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x"}, inner]} | MARK,
                {"type": "search_result", "content": [inner]},
                {"type": "document", "source": {"type": "content", "content": [inner]}},
                {"type": "web_search_tool_result", "content": [inner]},
                {"type": "tool_use", "id": "t", "name": "n", "input": {}} | MARK,
                {"type": "hologram"} | MARK,
            ]},
        ],
        "system": [{"type": "text", "text": "x"}, {"type": "text", "text": "x"} | MARK],
        "tools": [{"name": "a"}, {"name": "b"} | MARK],
    } | MARK  # fmt: skip
    assert paths(body) == [
        "cache_control",
        "tools[1]",
        "system[1]",
        "messages[1].content[0]",
        "messages[1].content[1].content[1]",
        "messages[1].content[1]",
        "messages[1].content[2].content[0]",
        "messages[1].content[3].source.content[0]",
        "messages[1].content[4].content[0]",
        "messages[1].content[5]",
        "messages[1].content[6]",
    ]


def test_the_same_name_in_the_users_data_is_none() -> None:
    data = {"properties": MARK, **MARK, "content": [MARK]}
    body = {
        "tools": [{"name": "a", "input_schema": data, "content": [MARK]}],
        "metadata": MARK,
        "messages": [
            {"role": "user", "content": [
                {"type": "tool_use", "id": "t", "name": "n", "input": data, "content": [MARK]},
                {"type": "text", "text": "cache_control", "content": [MARK]},
                {"type": "hologram", "content": [MARK]},
                {"type": "tool_result", "tool_use_id": "t", "content": {"content": [MARK]}},
            ]} | MARK,
        ],
    }  # fmt: skip
    assert paths(body) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"type": "ephemeral"}, ("ephemeral", None, None, True)),
        ({"type": "ephemeral", "ttl": "1h"}, ("ephemeral", "1h", None, True)),
        ({"type": "ephemeral", "ttl": "1h", "scope": "global"}, ("ephemeral", "1h", "global", True)),
        ({"type": "ephemeral", "ttl": 5}, ("ephemeral", None, None, False)),
        ({}, (None, None, None, False)),
        ("ephemeral", (None, None, None, False)),
        ({"type": "a sentence"}, (None, None, None, False)),
    ],
)
def test_what_a_breakpoint_says(value: Any, expected: tuple[Any, ...]) -> None:
    assert list(breakpoints({"cache_control": value})) == [Breakpoint("cache_control", *expected)]


def test_null_is_no_breakpoint() -> None:
    assert paths({"cache_control": None, "system": [{"type": "text", "cache_control": None}]}) == []


def test_results_within_results_cost_no_recursion() -> None:
    block: Any = {"type": "text", "text": "x"} | MARK
    for _ in range(2_000):
        block = {"type": "tool_result", "content": [block]}
    assert len(paths({"messages": [{"content": [block]}]})) == 1
