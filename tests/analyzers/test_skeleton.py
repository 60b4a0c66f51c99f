"""A request in lengths: what the published skeletons name, sums that meet the ledger, and nothing of the content."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import DATA, SHAPES, definition, keys, shape_requests, values

from analyzers.exchange import Request
from analyzers.sizes import ledger
from analyzers.skeleton import Cycle, Skeleton, cycles, skeleton
from analyzers.skeleton_tables import print_skeleton, role_line, setting_value, skeleton_json
from analyzers.wire.fold import fold, unfold
from analyzers.wire.headers import keep
from analyzers.wire.jsontext import dump, parse

SECRET = "Secret words"


def of(body: Any, **headers: str) -> Skeleton:
    found = skeleton(Request(body, headers={name.replace("_", "-"): value for name, value in headers.items()}))
    assert found is not None
    return found


def recorded(client: str, position: int = 0) -> Request:
    """One request of a real client, folded and unfolded as a capture does."""
    shape = list(shape_requests(DATA / "shapes" / f"{client}.jsonl.zst"))[position]
    body = unfold(parse(dump(fold(parse(shape["raw"]).value, 400))).value)[0]
    return Request(body, headers=keep(shape["headers"].items())[0])


def contents(found: Skeleton) -> dict[str, int]:
    """What is shown of each field, added up from the parts that are shown."""
    shown = {field.name: field.content for field in found.fields}
    if found.tools:
        shown["tools"] = sum(tool.described + tool.schema_chars for tool in found.tools)
    if "system" in shown:
        shown["system"] = sum(block.chars for block in found.system)
    if found.messages:
        shown["messages"] = sum(block.chars for message in found.messages for block in message.blocks)
    return shown


def check_sums(body: dict[str, Any]) -> None:
    found = of(body)
    shown = contents(found)
    for field, weighed in zip(found.fields, ledger(body).fields, strict=True):
        assert (field.name, field.chars, field.structure) == (weighed.name, weighed.size, weighed.structure)
        assert shown[field.name] == field.content == field.chars - field.structure


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.name)
def test_what_is_shown_of_a_field_and_its_structure_are_the_field(path: Path) -> None:
    for shape in list(shape_requests(path))[::7]:
        body = parse(shape["raw"]).value
        check_sums(body)
        folded = unfold(fold(body, 400))[0]
        check_sums(folded)
        assert of(folded) == of(body)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "messages": values | st.lists(st.dictionaries(st.sampled_from(["role", "content"]), values, max_size=2)),
            "system": values,
            "tools": values | st.lists(st.dictionaries(keys, values, max_size=3), max_size=3),
            "thinking": values,
            "cache_control": values,
            "requests": values,
        },
    )
)
def test_hostile_shapes_are_shown_as_unknown_and_still_add_up(body: dict[str, Any]) -> None:
    found = of(body)
    assert found.chars == sum(map(definition, body.values()))
    if "requests" not in body:
        check_sums(body)
    json.dumps(skeleton_json(1, found, None))


def test_tools_and_how_many_are_deferred() -> None:
    found = skeleton(recorded("claude-code-2.1.332-36-turns", 30))
    assert found is not None and found.tools is not None
    assert (len(found.tools), found.deferred, found.without_schema) == (19, 8, 0)
    longest = found.tools[0]
    assert (longest.path, longest.name, longest.chars, longest.deferred) == ("tools[16]", "Workflow", 5_451, False)
    assert (longest.described, longest.schema_chars) == (3_504, 1_947)
    assert [tool.chars for tool in found.tools] == sorted((tool.chars for tool in found.tools), reverse=True)


def test_tools_without_a_schema_are_counted() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}, {"name": "Read", "input_schema": {}}]
    found = of({"tools": tools})
    assert found.tools is not None
    assert found.without_schema == 1
    assert [(tool.name, tool.type, tool.schema) for tool in found.tools] == [
        ("web_search", "web_search_20250305", False),
        ("Read", None, True),
    ]


def test_a_tool_is_deferred_only_when_it_says_true() -> None:
    assert of({"tools": [{"defer_loading": value} for value in (True, False, 1, "true", None)]}).deferred == 1


def test_system_blocks_with_their_lengths_in_order() -> None:
    found = skeleton(recorded("claude-code-2.1.332-36-turns"))
    assert found is not None
    assert [(block.path, block.chars, block.what) for block in found.system] == [
        ("system[0]", 192, "billing header"), ("system[1]", 62, None), ("system[2]", 2_025, None),
        ("system[3]", 5_008, None),
    ]  # fmt: skip
    assert [(block.path, block.chars) for block in of({"system": "x" * 57}).system] == [("system", 57)]


def test_every_breakpoint_of_a_recorded_request() -> None:
    found = skeleton(recorded("claude-code-2.1.332-36-turns", 30))
    assert found is not None
    assert [(mark.path, mark.type, mark.ttl, mark.scope) for mark in found.breakpoints] == [
        ("system[2].cache_control", "ephemeral", "1h", "global"),
        ("system[3].cache_control", "ephemeral", "1h", None),
        ("messages[60].content[0].cache_control", "ephemeral", "1h", None),
    ]


def test_the_blocks_of_the_published_request() -> None:
    request = parse((DATA / "published-request.json").read_bytes()).value
    found = of(request)
    assert found.messages is not None
    assert [block.chars for block in found.messages[0].blocks] == [1_880, 5_933, 87, 2_150, 17]
    assert found.chars == 82_922


def test_where_reminders_land() -> None:
    reminder = "<system-reminder>\n{} for use</system-reminder>"
    body = {
        "system": "You are Claude Code, x",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": reminder.format("Contents of CLAUDE.md")}]},
            {"role": "system", "content": "SessionStart hook y"},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": "<bash-stdout>z"},
                {"type": "text", "text": reminder.format("Contents of CLAUDE.md")},
            ]},
        ],
    }  # fmt: skip
    for seen in (body, unfold(fold(body, 0))[0]):
        assert [(label.what, label.blocks, label.first) for label in of(seen).labels] == [
            ("Claude Code identity", 1, "system"),
            ("system-reminder: CLAUDE.md", 2, "messages[0].content[0]"),
            ("hook output", 1, "messages[1].content"),
            ("shell output", 1, "messages[2].content[0].content"),
        ]
    assert of(body).labels[1].chars == 2 * len(body["messages"][0]["content"][0]["text"])  # type: ignore[index]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ("uau", "u a u"),
        ("ua" * 36 + "s", "(u a) ×36 s"),
        ("us" + "aus" * 3, "(u s a) ×3 u s"),
        ("uuuu", "u ×4"),
        ("uuaa" * 2, "(u u a a) ×2"),
        ("", "?"),
        ("u", "u"),
    ],
)
def test_roles_in_order_with_what_repeats_in_brackets(roles: str, expected: str) -> None:
    found = cycles(list(roles))
    assert role_line(found) == expected
    assert "".join(role or "?" for cycle in found for role in cycle.roles * cycle.times) == roles


@given(st.lists(st.sampled_from(["user", "assistant", "system", None]), max_size=60))
def test_cycles_are_the_roles(roles: list[str | None]) -> None:
    assert [role for cycle in cycles(roles) for role in cycle.roles * cycle.times] == roles


def test_many_roles_take_one_pass() -> None:
    assert cycles(["user", "assistant"] * 200_000) == [Cycle(("user", "assistant"), 200_000)]


def test_settings_are_keys_numbers_and_words_of_the_api() -> None:
    body = {
        "model": "claude-haiku-4-5",
        "max_tokens": 32_000,
        "stream": True,
        "thinking": {"type": "enabled", "budget_tokens": 31_999},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all", "instructions": SECRET}]},
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": {SECRET: {"type": "string"}}}},
        "metadata": {"user_id": "x"},
        "stop_sequences": ["END"],
    }
    assert {setting.path: setting_value(setting) for setting in of(body).settings} == {
        "model": "claude-haiku-4-5",
        "max_tokens": "32000",
        "stream": "true",
        "thinking.type": "enabled",
        "thinking.budget_tokens": "31999",
        "context_management.edits[0].type": "clear_thinking_20251015",
        "context_management.edits[0].keep": "all",
        "context_management.edits[0].instructions": "(12 characters)",
        "output_config.effort": "high",
        "output_config.format.type": "json_schema",
        "output_config.format.schema": "(22 characters)",
    }


def test_betas_of_header_and_body() -> None:
    assert of({}, anthropic_beta="a-2025-01-01, b-2025-01-01").betas == ("a-2025-01-01", "b-2025-01-01")
    found = skeleton(Request({"anthropic_beta": ["b", "c", 7]}, headers={"anthropic-beta": ["a,b", "d"]}))
    assert found is not None and found.betas == ("a", "b", "d", "c")


def text(place: str) -> dict[str, Any]:
    return {"type": "text", "text": f"{SECRET} {place}"}


def test_nothing_of_the_content_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Secrets wherever a client can put text, in the places of types, names and roles too."""
    schema = {"type": "object", "properties": {SECRET: {"description": SECRET, "cache_control": SECRET}}}
    body = {
        "model": SECRET,
        "system": [text("a"), {"type": SECRET, "cache_control": {"type": SECRET, "ttl": SECRET, "scope": SECRET}}],
        "tools": [
            {"name": "Read", "description": SECRET, "input_schema": schema},
            {"name": SECRET, "type": SECRET},
            SECRET,
        ],
        "messages": [
            {"role": SECRET, "content": SECRET},
            {"role": "user", "content": [
                text("b"),
                {"type": "tool_use", "id": SECRET, "name": SECRET, "input": {SECRET: SECRET}},
                {"type": "tool_result", "tool_use_id": "t", "content": [text("c"), SECRET]},
                {"type": "image", "source": {"type": "base64", "media_type": SECRET, "data": SECRET}},
                {"type": SECRET, SECRET: SECRET},
                {"type": f"{SECRET} tool_result", "content": [{"type": "x", SECRET: 1}]},
                {"type": f"{SECRET}_tool_result", "content": {"type": SECRET}},
                SECRET,
            ]},
            SECRET,
        ],
        "thinking": {SECRET: {"type": SECRET, "display": SECRET}},
        "output_config": SECRET,
        "tool_choice": {"type": "tool", "name": SECRET},
        "metadata": {"user_id": SECRET},
        "anthropic_beta": [SECRET],
        SECRET: SECRET,
    }  # fmt: skip
    for seen in (body, unfold(fold(body, 0))[0], {"requests": [{"custom_id": SECRET, "params": body}]}):
        found = of(seen, anthropic_beta=f"{SECRET}, fine")
        print_skeleton("#1", found, None, None)
        print(json.dumps(skeleton_json(1, found, None)))
        said = capsys.readouterr().out
        assert "Read" in said and "fine" in said
        assert "Secret" not in said and "words" not in said


@pytest.mark.parametrize(
    "body",
    [
        {"tools": {"Read": {}}},
        {"tools": 7, "system": 5, "messages": "hello"},
        {"messages": [{"role": "user", "content": None}, {"content": []}, None, 3, []]},
        {"system": {"cache_control": {"type": "ephemeral"}}},
        [1, "ab"],
        None,
        {},
    ],
)
def test_shapes_that_the_api_does_not_know(body: Any, capsys: pytest.CaptureFixture[str]) -> None:
    found = of(body)
    assert found.chars == (sum(map(definition, body.values())) if isinstance(body, dict) else definition(body))
    assert found.breakpoints == ()
    print_skeleton("#1", found, None, 12)
    if isinstance(body, dict) and "tools" in body:
        assert (found.tools, found.deferred) == (None, None)
        assert "tools: not a list, so none is known" in capsys.readouterr().out


def test_a_system_field_of_a_wrong_type_is_unknown() -> None:
    (block,) = of({"system": 5}).system
    assert (block.path, block.type, block.chars) == ("system", None, 1)


def test_a_message_without_blocks_is_still_a_message() -> None:
    found = of({"messages": [{"role": "user", "content": None}, {"role": "assistant", "content": []}]})
    assert found.messages is not None
    assert [(message.role, message.blocks) for message in found.messages] == [("user", ()), ("assistant", ())]


def test_each_request_of_a_batch_has_its_own_skeleton(capsys: pytest.CaptureFixture[str]) -> None:
    one = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "cache_control": {"type": "ephemeral"}}
    body = {"requests": [{"custom_id": "a", "params": one}, {"custom_id": "b"}, 5, {"custom_id": "c", "params": one}]}
    found = of(body)
    assert [member.path for member in found.batch] == ["requests[0].params.", "requests[3].params."]
    last = found.batch[1]
    assert last.messages is not None
    assert last.messages[0].blocks[0].path == "requests[3].params.messages[0].content"
    assert last.breakpoints[0].path == "requests[3].params.cache_control"
    assert found.chars == definition(body["requests"])
    print_skeleton("#1", found, None, 1)
    assert "1 more requests of the batch: --all shows each" in capsys.readouterr().out


def test_deep_nesting_and_many_settings_cost_no_recursion() -> None:
    deep: Any = 1
    for _ in range(20_000):
        deep = {"type": deep}
    found = of({"thinking": deep, "messages": [{"role": "user", "content": [deep]}]})
    assert [setting.value for setting in found.settings] == [None]


def test_a_request_without_a_body_has_no_skeleton(capsys: pytest.CaptureFixture[str]) -> None:
    assert skeleton(Request(None, reason="not valid JSON at character 0")) is None
    assert skeleton_json(3, None, "x") == {"n": 3, "reason": "x", "total": None}
    print_skeleton("#3", None, "not valid JSON", 12)
    assert "no sizes: not valid JSON" in capsys.readouterr().out


def test_the_longest_rows_are_shown_and_the_others_counted(capsys: pytest.CaptureFixture[str]) -> None:
    messages = [{"role": "user", "content": "x" * number} for number in range(30)]
    tools = [{"name": f"tool{number}", "input_schema": {}} for number in range(30)]
    print_skeleton("#1", of({"messages": messages, "tools": tools}), None, 12)
    said = capsys.readouterr().out
    assert "18 shorter blocks" in said and "18 shorter tools" in said
    assert "messages[29].content" in said and "messages[3].content" not in said
    print_skeleton("#1", of({"messages": messages, "tools": tools}), None, None)
    assert "shorter" not in capsys.readouterr().out
