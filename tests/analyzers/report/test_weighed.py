"""The blocks that requests share say of each request what ``show`` says of it."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

import pytest
from conversations import BEGIN, call, talk
from hypothesis import given
from json_values import SHAPES, shape_requests, values

from analyzers.estimate import estimate
from analyzers.exchange import Exchange, Request
from analyzers.readers.kept import Shared
from analyzers.report.kinds import KIND_WORDS
from analyzers.report.token_rows import TokenRows
from analyzers.report.weighed import Weighed, runs
from analyzers.sizes import request_ledger
from analyzers.wire.fold import fold, unfold
from analyzers.wire.jsontext import Json, parse


def weighed(*bodies: Json, tokens: TokenRows | None = None) -> tuple[list[dict[str, Any]], Weighed]:
    shared, found = Shared(), Weighed(tokens)
    exchanges = [Exchange(Request(body, time=BEGIN), None, "unanswered", "a") for body in bodies]
    return [found.add(shared.exchange(one), n) for n, one in enumerate(exchanges, 1)], found


def blocks_of(told: dict[str, Any], found: Weighed) -> Iterable[dict[str, Any]]:
    for field in told["fields"]:
        for first, number in field["blocks"]:
            yield from found.blocks[first : first + number]


def rows_of(told: dict[str, Any], found: Weighed) -> list[tuple[Any, ...]]:
    return [
        (row["path"], row["type"], row["what"], row["chars"], {one["class"]: one["chars"] for one in row["parts"]})
        for block in blocks_of(told, found)
        for row in block["rows"]
    ]


def expected(body: Json) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The fields and rows of the ledger."""
    ledger = request_ledger(Request(body))
    assert ledger is not None
    rows = [
        (one.row.path, one.row.type, one.row.what, one.size, dict(one.classes))
        for field in ledger.fields
        for one in field.rows
    ]
    return [(one.name, one.size, one.structure, one.unexplained) for one in ledger.fields], rows


def check(*bodies: Json) -> None:
    told, found = weighed(*bodies)
    for one, body in zip(told, bodies, strict=True):
        fields, rows = expected(body)
        shown = [(one["name"], one["chars"], one["structure"], one["unexplained"]) for one in one["fields"]]
        assert (shown, rows_of(one, found)) == (fields, rows)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda place: place.name)
def test_rows_and_fields_are_those_of_the_ledger_for_every_client(shape: Any) -> None:
    check(*[parse(request["raw"]).value for request in islice(shape_requests(shape), 4)])


@given(values, values)
def test_rows_and_fields_are_those_of_the_ledger_whatever_is_sent(one: Json, other: Json) -> None:
    messages = [{"role": "user", "content": one}, other]
    check({"messages": messages, "tools": [other]}, {"messages": [*messages, one], "tools": [other, one]}, one)


def test_a_block_that_comes_again_is_written_once() -> None:
    bodies = [{"messages": talk(*("abcdefgh"[:turn]))} for turn in range(1, 9)]
    told, found = weighed(*bodies)
    assert len(found.blocks) == 8
    assert [one["fields"][0]["blocks"] for one in told] == [[[0, turn]] for turn in range(1, 9)]


def test_a_breakpoint_that_moves_on_makes_no_new_block() -> None:
    block = {"type": "text", "text": "a"}
    marked = {**block, "cache_control": {"type": "ephemeral"}}
    told, found = weighed(*({"messages": [{"role": "user", "content": [one]}]} for one in (block, marked)))
    assert len(found.blocks) == 1
    assert told[0]["fields"][0]["structure"] < told[1]["fields"][0]["structure"]


def test_blocks_are_named_by_role_and_tools_by_name() -> None:
    told, found = weighed({"messages": talk("a", "b"), "tools": [{"name": "Bash"}]})
    assert [(one["path"], one["label"]) for one in blocks_of(told[0], found)] == [
        ("messages[0]", "user"),
        ("messages[1]", "assistant"),
        ("tools[0]", "Bash"),
    ]


def test_every_kind_of_leaf_has_words() -> None:
    content = [
        {"type": "thinking", "thinking": "a", "signature": "b"},
        {"type": "text", "text": "<system-reminder>\nToday\n</system-reminder>"},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {}},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "c"}]},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "d"}},
        {"type": "newest", "member": "e"},
    ]
    told, found = weighed(
        {"messages": [{"role": "user", "content": content}], "tools": [{"name": "Bash"}], "model": "m"}
    )
    kinds = [part["kind"] for block in blocks_of(told[0], found) for row in block["rows"] for part in row["parts"]]
    expected = ["thinking", "opaque", "reminder", "call", "result", "media", "unknown", "tool", "setting"]
    assert kinds == expected
    assert set(kinds) <= set(KIND_WORDS)


def test_tokens_are_those_of_an_estimate_of_the_whole_request() -> None:
    tools = [{"name": "Bash", "description": "run it", "input_schema": {"type": "object"}, "defer_loading": True}]
    reference = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "tool_reference", "tool_name": "Bash"}],
    }
    messages = [*talk("how much does it weigh?", "forty tons"), {"role": "user", "content": [reference]}]
    body = {"model": "claude-opus-5-5", "system": "Be careful.", "tools": tools, "messages": messages}
    told, found = weighed(body, tokens=TokenRows())
    whole = estimate(body)
    wanted = {row.row.path: (row.tokens, row.reason) for one in whole.fields for row in one.rows}
    wanted |= {row.row.path: (0, "deferred: on the wire, not in the prompt") for row in whole.deferred}
    shown = {row["path"]: (row["tokens"], row["reason"]) for one in blocks_of(told[0], found) for row in one["rows"]}
    assert shown == wanted
    assert shown["messages[2].content[0].content[0]"][0]


@pytest.mark.parametrize("over", [12, 400])
@pytest.mark.parametrize("shape", SHAPES[::8], ids=lambda shape: shape.name)
def test_fields_whose_texts_were_folded_have_the_tokens_that_are_known_of_them(shape: Any, over: int) -> None:
    """A folded text in a tool leaves the rest of the tool to count, as it does in an estimate of the whole."""
    for request in islice(shape_requests(shape), 3):
        body, _ = unfold(fold(parse(request["raw"]).value, over))
        told, _ = weighed(body, tokens=TokenRows())
        whole = {one.name: (one.known, one.at_least) for one in estimate(body).fields}
        assert {one["name"]: (one["tokens"], one["at_least"]) for one in told[0]["fields"]} == whole


def test_tokens_of_which_nothing_is_known_are_unknown_and_not_none() -> None:
    thinking = {"type": "redacted_thinking", "data": "e" * 90}
    told, _ = weighed(
        {"model": "claude-opus-5-5", "messages": [{"role": "assistant", "content": [thinking]}]}, tokens=TokenRows()
    )
    field = next(one for one in told[0]["fields"] if one["name"] == "messages")
    assert (field["tokens"], field["at_least"]) == (None, True)


def test_a_request_without_a_body_has_no_fields() -> None:
    told = Weighed().add(call(None, None, ended="unanswered"), 1)
    assert told["fields"] is not None
    bare = Weighed().add(Exchange(Request(None, reason="no JSON"), None, "error", "a"), 1)
    assert (bare["fields"], bare["chars"], bare["wire"], bare["reason"]) == (None, None, None, "no JSON")


def test_numbers_that_follow_one_another_are_a_run() -> None:
    assert runs([3, 4, 5, 9, 1, 2]) == [[3, 3], [9, 1], [1, 2]]
