"""Two requests side by side: what differs is told with its place and adds up, and what says nothing is told apart."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from json_values import DATA, SHAPES, keys, shape_requests, values

from analyzers.diff import Difference, difference
from analyzers.diff_rows import kept_in_order
from analyzers.diff_tools import ToolChange
from analyzers.digests import digest
from analyzers.exchange import Request
from analyzers.normal import normalised
from analyzers.readers.raw import read_body
from analyzers.sizes import UNITS, ledger
from analyzers.spots import Spot, first_order_spot, first_spot
from analyzers.wire.fold import Elided, fold, unfold
from analyzers.wire.jsontext import dump, parse

PUBLISHED = (DATA / "published-request.json").read_bytes()
BILLING = "x-anthropic-billing-header: cc_version=2.1.332.a; cc_entrypoint=cli; cch=1a2b3;"
MARK = {"type": "ephemeral"}
HOUR = MARK | {"ttl": "1h"}
THRESHOLDS = [None, 0, 400]
MIRRORED = {"added": "removed", "removed": "added", "went": "appeared", "appeared": "went"}


def sent(body: Any, over: int | None = None) -> Request:
    """A request as parsed from the wire, or as a capture with that threshold gives it back."""
    return Request(body if over is None else unfold(fold(body, over))[0])


def body(*texts: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    return {"model": "claude-haiku-4-5", "messages": [{"role": "user", "content": content}]} | fields


def tool(name: str, description: str = "runs", **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": properties}}


def rows(found: Difference) -> list[tuple[Any, ...]]:
    return [
        (row.change, row.a and row.a.row.path, row.b and row.b.row.path, row.a and row.a.size, row.b and row.b.size)
        for row in found.rows
    ]


def fields(found: Difference) -> dict[str, str]:
    return {field.name: field.change for field in found.fields}


def tools(found: Difference) -> dict[str | None, tuple[str, ...]]:
    return {change.name: change.changes for change in found.tools.changes}


def closes(found: Difference) -> bool:
    """Added up here once more: rows, tools and structure of each field are its change."""
    totals = dict.fromkeys((field.name for field in found.fields), 0)
    for row in found.rows:
        for leaf, sign in ((row.a, -1), (row.b, 1)):
            if leaf is not None:
                totals[next(name for name in totals if leaf.row.path.startswith(name))] += sign * leaf.size
    totals["tools"] = totals.get("tools", 0) + sum(change.size_change for change in found.tools.changes)
    return found.unexplained == 0 and all(
        (field.b or 0) - (field.a or 0) == totals[field.name] + field.structure_b - field.structure_a
        for field in found.fields
    )


# The published measurement


@pytest.mark.parametrize("over_a", THRESHOLDS)
@pytest.mark.parametrize("over_b", THRESHOLDS)
def test_one_isolation_setting_changed_the_fourth_block_of_the_published_request(
    over_a: int | None, over_b: int | None
) -> None:
    before, after = json.loads(PUBLISHED), json.loads(PUBLISHED)
    block = after["messages"][0]["content"][3]
    block["text"] = block["text"][:593]
    found = difference(sent(before, over_a), sent(after, over_b))
    path = "messages[0].content[3]"
    assert rows(found) == [("changed", path, path, 2150, 593)]
    assert fields(found) == dict.fromkeys(before, "equal") | {"messages": "changed"}
    messages = next(field for field in found.fields if field.name == "messages")
    assert (messages.a, messages.b, messages.rows, messages.unexplained) == (10_173, 8_616, -1557, 0)
    assert (found.total_a, found.total_b) == (82_922, 81_365)
    assert not found.tools.changes and not found.marks and found.messages is not None
    assert (found.messages.common, found.messages.a, found.messages.b) == (0, 1, 1)
    spot = found.rows[0].spot
    assert spot is not None and (spot.path, spot.how, spot.a, spot.b) == (path, "text", 2150, 593)
    assert spot.at == (593 if over_a is over_b is None else None) and spot.folded == (spot.at is None)
    assert closes(found) and found.wire is not None and found.wire.verdict == "different"


# Fields and messages


def test_fields_that_came_went_grew_and_stayed() -> None:
    a = sent(body("hi", stream=True, max_tokens=100))
    b = sent(body("hi", temperature=0.5, max_tokens=2000))
    found = difference(a, b)
    assert fields(found) == {
        "messages": "equal", "model": "equal", "max_tokens": "changed", "stream": "removed", "temperature": "added",
    }  # fmt: skip
    assert [(f.name, f.a, f.b) for f in found.fields][1:] == [
        ("max_tokens", 3, 4), ("model", 16, 16), ("stream", 4, None), ("temperature", None, 3),
    ]  # fmt: skip
    assert closes(found)


def test_numbers_of_settings_are_told_and_those_of_the_content_are_not() -> None:
    def request(number: int) -> Request:
        call = {"type": "tool_use", "name": "n", "input": {"pin": number}}
        messages = [{"role": "assistant", "content": [call]}]
        thinking = {"type": "enabled", "budget_tokens": number}
        return sent({"max_tokens": number, "thinking": thinking, "messages": messages, "metadata": {"pin": number}})

    spots = [row.spot for row in difference(request(1024), request(2048)).rows]
    assert {spot.path: (spot.a_text, spot.b_text) for spot in spots if spot is not None} == {
        "messages[0].content[0].input.pin": (None, None),
        "metadata.pin": (None, None),
        "max_tokens": ("1024", "2048"),
        "thinking.budget_tokens": ("1024", "2048"),
    }


def test_a_conversation_that_goes_on() -> None:
    first = [{"role": "user", "content": [{"type": "text", "text": "one", "cache_control": MARK}]}]
    more = [{"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}]
    found = difference(sent({"messages": first}), sent({"messages": [{"role": "user", "content": "one"}, *more]}))
    assert found.messages is not None
    assert (found.messages.common, found.messages.a, found.messages.b) == (1, 1, 3)
    assert rows(found) == [
        ("appeared", None, "messages[1].content", None, 3), ("appeared", None, "messages[2].content", None, 5),
    ]  # fmt: skip
    assert closes(found)


def test_a_changed_role_is_no_block_and_still_has_its_place() -> None:
    one, other = ({"messages": [{"role": role, "content": "hi"}]} for role in ("user", "system"))
    found = difference(sent(one), sent(other))
    [field] = found.fields
    assert not found.rows and field.change == "changed" and field.spot is not None
    assert field.spot.path == "messages[0].role" and (field.structure_a, field.structure_b) == (15, 17)


@pytest.mark.parametrize("over", [0, 400, None])
def test_a_string_is_one_text_block(over: int | None) -> None:
    text = "hello " * 100
    string = {"system": text, "messages": [{"role": "user", "content": text}]}
    blocks = [{"type": "text", "text": text}]
    found = difference(sent(string, over), sent({"system": blocks, "messages": [{"role": "user", "content": blocks}]}))
    assert not found.rows and fields(found) == {"system": "form", "messages": "form"} and closes(found)
    assert found.wire is not None and found.wire.verdict == "equal_in_form" and not found.empty


# Blocks


def test_a_block_put_first_shifts_the_others_and_moves_none() -> None:
    found = difference(sent(body("a", "b", "c")), sent(body("new", "a", "b", "c")))
    assert [change for change, *_ in rows(found)] == ["shifted", "shifted", "shifted", "appeared"]
    assert closes(found)


def test_a_block_elsewhere_has_moved_with_both_paths() -> None:
    found = difference(sent(body("a", "long " * 9, "longer " * 9)), sent(body("long " * 9, "longer " * 9, "a")))
    assert ("moved", "messages[0].content[0]", "messages[0].content[2]", 1, 1) in rows(found)
    assert [change for change, *_ in rows(found)] == ["moved", "shifted", "shifted"]


def test_a_block_can_move_to_another_field() -> None:
    text = "# Environment: a folder"
    found = difference(sent(body("hi", system=[{"type": "text", "text": text}])), sent(body("hi", text, system=[])))
    assert rows(found) == [("moved", "system[0]", "messages[0].content[1]", len(text), len(text))]
    assert {field.name: field.rows for field in found.fields} == {"system": -23, "messages": 23, "model": 0}
    assert closes(found)


def test_the_same_list_of_skills_is_one_block_wherever_it_stands() -> None:
    def skills(what: str) -> str:
        return f"<system-reminder>\nThe following skills are available: {what}</system-reminder>"

    found = difference(sent(body(skills("a"), "hi")), sent(body("new", skills("a, b"), "hi")))
    assert rows(found)[0] == ("changed", "messages[0].content[0]", "messages[0].content[1]", 73, 76)
    assert found.rows[0].spot is not None and found.rows[0].spot.at == 18 + 36 + 1


def test_what_is_labelled_as_another_thing_is_another_block() -> None:
    agents = "<system-reminder>Available agent types: x</system-reminder>"
    skills = "<system-reminder>The following skills are available: x</system-reminder>"
    found = difference(sent(body(agents)), sent(body(skills)))
    assert [change for change, *_ in rows(found)] == ["went", "appeared"]


def test_of_two_equal_blocks_the_one_at_its_place_stays() -> None:
    found = difference(sent(body("x", "y", "x")), sent(body("z", "y", "x")))
    assert rows(found) == [("changed", "messages[0].content[0]", "messages[0].content[0]", 1, 1)]


def test_a_tool_call_says_which_member_differs() -> None:
    def call(**data: Any) -> dict[str, Any]:
        return {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "name": "Bash", "input": data}]}]}

    found = difference(sent(call(command="ls -l", timeout=5)), sent(call(command="ls -a", timeout=5)))
    spot = found.rows[0].spot
    assert spot is not None
    assert (spot.path, spot.how, spot.at) == ("messages[0].content[0].input.command", "text", 4)
    found = difference(sent(call(command="ls")), sent(call(command="ls", **{"me@example.org": 1})))
    spot = found.rows[0].spot
    assert spot is not None and (spot.path, spot.how, spot.a, spot.b) == (
        "messages[0].content[0].input.?",
        "added",
        None,
        1,
    )


def test_an_image_by_its_data() -> None:
    def image(data: str) -> dict[str, Any]:
        source = {"type": "base64", "media_type": "image/png", "data": data}
        return {"messages": [{"role": "user", "content": [{"type": "image", "source": source}]}]}

    found = difference(sent(image("A" * 500), 400), sent(image("B" * 500), 400))
    assert rows(found) == [("changed", "messages[0].content[0]", "messages[0].content[0]", 500, 500)]
    assert found.rows[0].spot is not None and found.rows[0].spot.folded


# F09: a date in a prompt


def test_a_date_in_the_prompt_is_a_position_and_an_excerpt_only_when_asked_for() -> None:
    text = "You are careful. Today is {}. The folder is /home/me/secret."
    one, other = sent(body("hi", system=text.format("2026-11-30"))), sent(body("hi", system=text.format("2026-12-01")))
    spot = difference(one, other).rows[0].spot
    assert spot is not None and (spot.at, spot.a, spot.b, spot.a_text, spot.b_text) == (32, 68, 68, None, None)
    assert spot.a_hash is not None and len(spot.a_hash) == 12
    assert "secret" not in repr(spot) and "careful" not in repr(spot)
    spot = difference(one, other, excerpts=True).rows[0].spot
    assert spot is not None and spot.a_text is not None and spot.b_text is not None
    assert spot.a_text == "areful. Today is 2026-11-30. The folder is /home/me/secret."[3:63]
    assert spot.b_text == spot.a_text.replace("11-30", "12-01")


def test_the_hash_of_a_text_is_that_of_its_fold_marker() -> None:
    one, other = body("x" * 500), body("y" * 500)
    spots = [difference(sent(one, over), sent(other, over)).rows[0].spot for over in (None, 400)]
    marker = unfold(fold("x" * 500, 400))[0]
    assert type(marker) is Elided and marker.sha256 is not None
    assert [spot and spot.a_hash for spot in spots] == [marker.sha256[:12]] * 2
    assert [spot and spot.at for spot in spots] == [0, None]


# F01: tools


ABC = [tool("a"), tool("b"), tool("c")]
CHANGED = [
    ("removed", [tool("a"), tool("c")], {"b": ("removed",)}, False),
    ("added", [tool("a"), tool("b"), tool("bb"), tool("c")], {"bb": ("added",)}, False),
    ("order", [tool("b"), tool("c"), tool("a")], {"a": ("reordered",)}, True),
    ("one word", [tool("a"), tool("b"), tool("c", "walks")], {"c": ("description",)}, False),
    ("schema", [tool("a"), tool("b", x=1), tool("c")], {"b": ("schema",)}, False),
    ("both", [tool("a"), tool("b", "walks", x=1), tool("c")], {"b": ("description", "schema")}, False),
    ("settings", [tool("a") | {"defer_loading": True}, tool("b"), tool("c")], {"a": ("settings",)}, False),
    ("breakpoint", [tool("a"), tool("b"), tool("c") | {"cache_control": MARK}], {}, False),
    (
        "key order of the schema",
        [tool("a"), tool("b") | {"input_schema": {"properties": {}, "type": "object"}}, tool("c")],
        {"b": ("schema_key_order",)},
        False,
    ),
    (
        "key order of the definition",
        [dict(reversed(tool("a").items())), tool("b"), tool("c")],
        {"a": ("key_order",)},
        False,
    ),
]  # fmt: skip


@pytest.mark.parametrize("over", THRESHOLDS)
@pytest.mark.parametrize(("what", "other", "changes", "reordered"), CHANGED, ids=[case[0] for case in CHANGED])
def test_tools_by_name(
    what: str, other: Sequence[Any], changes: dict[str, tuple[str, ...]], reordered: bool, over: int | None
) -> None:
    found = difference(sent({"tools": ABC}), sent({"tools": other}, over))
    assert tools(found) == changes and found.tools.reordered == reordered
    assert (found.tools.a, found.tools.b) == (3, len(other)) and closes(found) and not found.rows


def test_a_changed_tool_has_its_sizes_and_place() -> None:
    one, other = tool("a", "It runs a command."), tool("a", "It runs one command.", x={"type": "string"})
    [change] = difference(sent({"tools": [one]}), sent({"tools": [other]})).tools.changes
    assert change.a is not None and change.b is not None and change.spot is not None
    assert (change.a.size, change.a.description, change.a.schema) == (39, 19, 20)
    assert (change.b.size, change.b.description, change.b.schema) == (52, 21, 31)
    assert (change.spot.path, change.spot.at, change.size_change) == ("tools[0].description", 8, 13)


def test_tools_of_one_name_are_matched_in_order() -> None:
    found = difference(sent({"tools": [tool("a"), tool("a", "b")]}), sent({"tools": [tool("a")]}))
    assert tools(found) == {"a": ("removed",)} and found.tools.common == 1


# F06: the billing line


@pytest.mark.parametrize("over", THRESHOLDS)
def test_the_billing_line_is_told_apart(over: int | None) -> None:
    def system(cch: str) -> list[Any]:
        return [{"type": "text", "text": BILLING.replace("1a2b3", cch)}, {"type": "text", "text": "You are careful."}]

    found = difference(sent(body("hi", system=system("1a2b3")), over), sent(body("hi", system=system("fffff"))))
    assert fields(found)["system"] == "billing" and [row.billing for row in found.rows] == [True]
    assert found.wire is not None and found.wire.verdict == "equal_in_form"
    found = difference(sent(body(system=system("1a2b3"))), sent(body(system=system("1a2b3")[1:])))
    assert [(row.change, row.billing) for row in found.rows] == [("went", True), ("shifted", False)]


def test_a_billing_line_before_a_system_string_is_told_apart() -> None:
    one, other = ({"system": f"{BILLING.replace('1a2b3', cch)}\nYou are careful."} for cch in ("1", "2"))
    found = difference(sent(one), sent(other))
    assert fields(found) == {"system": "billing"} and [row.billing for row in found.rows] == [True]
    found = difference(sent(one), sent({"system": f"{BILLING}\nYou are careless."}))
    assert fields(found) == {"system": "changed"} and [row.billing for row in found.rows] == [False]


# F07: breakpoints


def marked(*marks: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": str(n)} | ({"cache_control": m} if m else {}) for n, m in enumerate(marks)]
    return {"messages": [{"role": "user", "content": [block]} for block in blocks]}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((None, MARK, None), (None, None, MARK), [("moved", 1, 2, None, None)]),
        ((None, MARK), (None, HOUR), [("changed", 1, 1, None, "1h")]),
        ((MARK, None), (None, HOUR), [("moved", 0, 1, None, "1h")]),
        ((MARK, None), (None, None), [("removed", 0, None, None, None)]),
        ((None, MARK), (HOUR, MARK), [("added", None, 0, None, "1h")]),
    ],
)
def test_breakpoints_are_listed_apart_and_are_no_change_of_content(
    one: Sequence[Any], other: Sequence[Any], expected: list[Any]
) -> None:
    found = difference(sent(marked(*one)), sent(marked(*other)))

    def path(n: int | None) -> str | None:
        return None if n is None else f"messages[{n}].content[0].cache_control"

    assert [
        (mark.change, mark.a and mark.a.path, mark.b and mark.b.path, mark.a and mark.a.ttl, mark.b and mark.b.ttl)
        for mark in found.marks
    ] == [(change, path(a), path(b), x, y) for change, a, b, x, y in expected]
    assert fields(found) == {"messages": "form"} and not found.rows and closes(found)


def test_the_top_levels_own_breakpoint() -> None:
    found = difference(sent(body("hi")), sent(body("hi", cache_control=MARK)))
    assert [mark.change for mark in found.marks] == ["added"]


# F08: the bytes


def test_equal_as_data_and_different_on_the_wire() -> None:
    schema = {"type": "object", "properties": {"b": {"type": "string", "description": "a<b"}, "a": {}}}
    text = dump({"model": "m", "tools": [{"name": "n", "input_schema": schema}], "messages": []})
    other = {"type": "object", "properties": {"a": {}, "b": {"type": "string", "description": "a<b"}}}
    swapped = dump({"model": "m", "tools": [{"name": "n", "input_schema": other}], "messages": []})
    escaped = text.replace(b"a<b", b"a\\u003cb")
    one, by_order, by_escape = (read_body(raw, "x").request for raw in (text, swapped, escaped))
    assert one is not None and by_order is not None and by_escape is not None
    found = difference(one, by_order)
    assert found.wire is not None and found.wire.verdict == "equal_different_on_wire" and found.wire.order is not None
    assert (found.wire.order.path, found.wire.order.how, found.wire.order.at) == (
        "tools[0].input_schema.properties", "key order", 0,
    )  # fmt: skip
    assert fields(found)["tools"] == "key_order" and not found.rows and not found.empty
    found = difference(one, by_escape)
    assert found.wire is not None and found.wire.verdict == "equal_different_on_wire" and found.wire.order is None
    assert found.wire.steps == {"escapes": (0, 5)}
    assert (found.wire.bytes_a, found.wire.bytes_b) == (len(text), len(text) + 5)


def test_the_order_of_fields_is_an_order_of_keys() -> None:
    found = difference(sent({"model": "m", "max_tokens": 1}), sent({"max_tokens": 1, "model": "m"}))
    assert found.wire is not None and found.wire.verdict == "equal_different_on_wire" and not found.rows
    assert found.wire.order is not None and (found.wire.order.path, found.wire.order.at) == ("", 0)


def test_equal_fingerprints_prove_the_same_bytes_and_others_prove_nothing() -> None:
    request = sent(body("hi"))
    verdicts = [
        difference(replace(request, fingerprint=one), replace(request, fingerprint=other)).wire
        for one, other in (("a", "a"), ("a", "b"), (None, None))
    ]
    assert [wire and wire.verdict for wire in verdicts] == ["same_bytes", "equal", "equal"]
    assert all(wire is not None and wire.steps is None for wire in verdicts)


# What is not known


def test_masked_credentials_of_one_length_are_no_difference_and_are_named() -> None:
    def servers(token: str, over: int | None = 400) -> Request:
        return sent({"mcp_servers": [{"type": "url", "name": "x", "authorization_token": token}]}, over)

    found = difference(servers("secret1"), servers("secret2"))
    assert found.empty and found.masked == ("mcp_servers[0].authorization_token",) and not found.rows
    found = difference(servers("secret1"), servers("secret2", None))
    assert found.empty and found.masked == ("mcp_servers[0].authorization_token",) and not found.rows
    found = difference(servers("secret1"), servers("secret11"))
    assert not found.empty and fields(found) == {"mcp_servers": "changed"} and not found.masked


def test_without_a_body_the_reason_is_all_there_is() -> None:
    found = difference(Request(None, reason="not valid JSON"), sent(body("hi")))
    assert (found.reason_a, found.reason_b, found.total_a, found.wire) == ("not valid JSON", None, None, None)
    assert not found.empty


def test_a_batch_by_its_requests() -> None:
    def batch(*texts: str) -> Request:
        return sent({"requests": [{"custom_id": str(n), "params": body(text)} for n, text in enumerate(texts)]})

    found = difference(batch("one", "two"), batch("one", "three"))
    path = "requests[1].params.messages[0].content[0]"
    assert rows(found) == [("changed", path, path, 3, 5)] and closes(found)


# Laws

TEXTS = st.sampled_from(["", "a", "b", "long " * 90, "longer " * 90, BILLING, "<system-reminder>skills are available"])
BLOCKS = st.builds(
    lambda text, mark: {"type": "text", "text": text} | ({"cache_control": mark} if mark else {}),
    TEXTS,
    st.sampled_from([None, MARK, HOUR]),
) | st.builds(lambda text: {"type": "tool_result", "tool_use_id": "t", "content": text}, TEXTS)
TOOLS = st.builds(tool, st.sampled_from("abcd"), TEXTS, x=st.sampled_from([1, "a"]))
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "system": TEXTS | st.lists(BLOCKS, max_size=4),
        "tools": st.lists(TOOLS, max_size=5),
        "messages": st.lists(
            st.builds(lambda content: {"role": "user", "content": content}, TEXTS | st.lists(BLOCKS, max_size=5)),
            max_size=5,
        ),
        "max_tokens": st.sampled_from([1, 100]),
    },
)
HOSTILE = st.fixed_dictionaries(
    {},
    optional={
        "messages": values | st.lists(st.dictionaries(st.sampled_from(["role", "content"]), values, max_size=2)),
        "system": values,
        "tools": values | st.lists(st.dictionaries(keys | st.just("name"), values, max_size=3), max_size=3),
        "requests": values | st.lists(st.fixed_dictionaries({"params": st.dictionaries(keys, values, max_size=2)})),
        "cache_control": values,
        "k" * 90: values,
    },
) | values  # fmt: skip


@given(BODIES | HOSTILE, st.sampled_from(THRESHOLDS))
def test_a_request_does_not_differ_from_itself_however_it_was_folded(value: Any, over: int | None) -> None:
    for found in (difference(sent(value), sent(value, over)), difference(sent(value, over), sent(value))):
        assert found.empty and found.unexplained == 0
        assert not found.rows and not found.tools.changes and not found.marks and not found.masked
        assert {field.change for field in found.fields} <= {"equal"}
        assert found.messages is None or found.messages.common == found.messages.a == found.messages.b


@given(BODIES, BODIES, st.sampled_from(sorted(UNITS)))
def test_it_closes(a: Any, b: Any, unit: str) -> None:
    found = difference(sent(a), sent(b), UNITS[unit])
    assert closes(found)
    assert [found.total_a, found.total_b] == [ledger(value, unit=UNITS[unit]).total for value in (a, b)]


@settings(max_examples=60)
@given(HOSTILE, HOSTILE, st.sampled_from(THRESHOLDS), st.sampled_from(sorted(UNITS)))
def test_hostile_shapes_do_not_raise_and_still_close(a: Any, b: Any, over: int | None, unit: str) -> None:
    found = difference(sent(a), sent(b, over), UNITS[unit], excerpts=True)
    assert found.unexplained == 0
    changes = [(f.b or 0) - (f.a or 0) for f in found.fields]
    rows_change = sum(row.size_change for row in found.rows) + sum(t.size_change for t in found.tools.changes)
    assert sum(changes) == rows_change + sum(f.structure_b - f.structure_a for f in found.fields)


@example(None, [], None)
@settings(max_examples=60)
@given(BODIES | HOSTILE, BODIES | HOSTILE, st.sampled_from(THRESHOLDS))
def test_from_the_other_side_it_is_the_same_mirrored(a: Any, b: Any, over: int | None) -> None:
    there, back = difference(sent(a, over), sent(b)), difference(sent(b), sent(a, over))
    assert told(there) == told(back, mirror=True)


def told(found: Difference, mirror: bool = False) -> Any:
    """All that was found, in no order; mirrored if asked for."""

    def pair(a: Any, b: Any) -> tuple[Any, Any]:
        return (b, a) if mirror else (a, b)

    def word(change: str) -> str:
        return MIRRORED.get(change, change) if mirror else change

    def spot(place: Spot | None, moved: bool = False) -> Any:
        if place is None:
            return None
        return replace(place.mirrored() if mirror else place, path="" if moved else place.path)

    def tool_change(change: ToolChange) -> Any:
        return change.name, {word(c) for c in change.changes}, *pair(change.a, change.b), spot(change.spot, True)

    shown = [
        (f.name, word(f.change), *pair(f.a, f.b), *pair(f.structure_a, f.structure_b), spot(f.spot))
        for f in found.fields
    ]
    shown += [
        (word(row.change), *pair(row.a and row.a.row, row.b and row.b.row), row.billing, spot(row.spot, True))
        for row in found.rows
    ]
    shown += [tool_change(change) for change in found.tools.changes]
    shown += [(word(mark.change), *pair(mark.a, mark.b)) for mark in found.marks]
    shown += [found.messages and (found.messages.common, *pair(found.messages.a, found.messages.b))]
    assert found.wire is not None
    shown += [(found.wire.verdict, found.wire.order), found.tools.reordered, sorted(found.masked)]
    return sorted(map(repr, shown))


@given(values, st.sampled_from(["message", "blocks", "block", "data"]))
def test_what_is_normalised_has_the_digest_that_the_value_has(value: Any, shape: str) -> None:
    assert digest(normalised(value, shape), "data") == digest(value, shape)


@given(values, values)
def test_a_first_difference_is_found_exactly_where_the_data_differs(a: Any, b: Any) -> None:
    assert (first_spot(a, b) is None) == (digest(a, "data") == digest(b, "data"))
    assert (first_spot(a, unfold(fold(b, 0))[0]) is None) == (digest(a, "data") == digest(b, "data"))
    same = json.loads(json.dumps(a))
    assert first_order_spot(a, same) is None


@given(st.permutations(range(8)))
def test_the_fewest_are_said_to_have_moved_and_the_same_from_either_side(order: list[int]) -> None:
    pairs = list(enumerate(order))
    kept = kept_in_order(pairs, [(b"%d" % i, 1) for i, _ in pairs])
    chain = [pairs[index] for index in sorted(kept)]
    assert [j for _, j in chain] == sorted(j for _, j in chain)
    assert len(kept) == max(length(order[index:]) for index in range(8))
    back = [(j, i) for i, j in pairs]
    assert kept == kept_in_order(back, [(b"%d" % i, 1) for i, _ in pairs])


def length(order: Sequence[int]) -> int:
    """The longest ascending chain, quadratic."""
    best: list[int] = []
    for position, value in enumerate(order):
        best.append(1 + max((best[p] for p in range(position) if order[p] < value), default=0))
    return max(best)


def test_the_heavy_stay_and_the_light_move() -> None:
    for order in permutations(range(2)):
        pairs = list(enumerate(order))
        kept = kept_in_order(pairs, [(b"light", 1), (b"heavy", 50)])
        assert 1 in kept


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.name)
def test_recorded_conversations_close_folded_or_not(path: Path) -> None:
    bodies = [parse(shape["raw"]).value for shape in list(shape_requests(path))[:5]]
    for a, b in pairwise(bodies):
        whole, mixed = difference(sent(a), sent(b)), difference(sent(a, 400), sent(b))
        assert closes(whole) and closes(mixed)
        assert rows(whole) == rows(mixed) and fields(whole) == fields(mixed) and tools(whole) == tools(mixed)


def test_any_depth() -> None:
    def deep(end: str) -> Any:
        value: Any = end
        for _ in range(10_000):
            value = [value]
        return sent({"messages": [{"role": "user", "content": [{"type": "x", "data": value}]}], "thinking": value})

    found = difference(deep("a"), deep("b"))
    assert fields(found) == {"messages": "changed", "thinking": "changed"}
    assert found.rows[0].spot is not None and len(found.rows[0].spot.path) < 300


def test_time_grows_with_the_number_of_blocks_not_with_its_square() -> None:
    def seconds(number: int) -> float:
        texts = [f"block {n}" for n in range(number)]
        a, b = sent(body(*texts)), sent(body(*reversed(texts), *(f"new {n}" for n in range(number))))
        begin = time.process_time()
        difference(a, b)
        return time.process_time() - begin

    few = min(seconds(200) for _ in range(3))
    assert seconds(3200) < 16 * few * 4
