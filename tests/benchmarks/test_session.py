"""The made-up session has the sizes that it is said to have, and grows as a client's does."""

import itertools
from functools import cache
from typing import Any

import orjson
import pytest

from benchmarks.session import Turn, session


@cache
def two_hundred() -> list[Turn]:
    return list(session(200))


def turn(number: int) -> dict[str, Any]:
    return orjson.loads(two_hundred()[number].body)  # type: ignore[no-any-return]


def bare(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages without their cache breakpoints."""
    for message in messages:
        for block in message["content"]:
            block.pop("cache_control", None)
    return messages


def test_every_run_measures_the_same_bytes() -> None:
    assert list(session(5)) == two_hundred()[:5]
    assert next(session(1, seed=3)) != two_hundred()[0]


def test_it_begins_with_70_kilobytes_and_ends_with_a_megabyte() -> None:
    sizes = [len(turn.body) for turn in two_hundred()]
    assert sizes[0] == pytest.approx(71_000, rel=0.03)
    assert sizes[-1] == pytest.approx(1_010_000, rel=0.03)
    assert sum(sizes) == pytest.approx(109e6, rel=0.03)


def test_it_grows_evenly() -> None:
    sizes = [len(turn.body) for turn in two_hundred()]
    quarters = [after - before for before, after in itertools.pairwise(sizes[::49])]
    assert max(quarters) < 1.3 * min(quarters)


@pytest.mark.parametrize("number", [0, 1, 50, 198])
def test_each_turn_repeats_the_one_before_and_adds_an_answer_and_a_reaction(number: int) -> None:
    before, after = turn(number), turn(number + 1)
    assert {k: v for k, v in before.items() if k != "messages"} == {k: v for k, v in after.items() if k != "messages"}
    old, new = bare(before["messages"]), bare(after["messages"])
    assert new[: len(old)] == old
    assert [message["role"] for message in new[len(old) :]] == ["assistant", "user"]
    assert new[len(old)]["content"] == list(two_hundred()[number].answer)


def test_the_breakpoint_stands_in_the_last_block_only() -> None:
    blocks = [block for message in turn(150)["messages"] for block in message["content"]]
    assert [at for at, block in enumerate(blocks) if "cache_control" in block] == [len(blocks) - 1]


def test_every_tool_use_has_a_result_and_an_identifier_of_its_own() -> None:
    blocks = [block for message in turn(199)["messages"] for block in message["content"]]
    used = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert used == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert len(set(used)) == len(used) > 199


def test_what_is_said_is_partly_kept_and_partly_folded() -> None:
    texts = [
        block["content"]
        for message in turn(199)["messages"]
        for block in message["content"]
        if block["type"] == "tool_result" and isinstance(block["content"], str)
    ]
    long = sum(len(text) > 400 for text in texts)
    assert 0.4 < long / len(texts) < 0.9


def test_bodies_are_the_shortest_json_as_clients_send_it() -> None:
    body = two_hundred()[30].body
    assert orjson.dumps(orjson.loads(body)) == body
