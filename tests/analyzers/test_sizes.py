"""The ledger: what must come out for the published request, for real clients, and for every odd shape."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import DATA, SHAPES, definition, keys, shape_requests, values

from analyzers.sizes import UNITS, Ledger, ledger, size
from analyzers.wire.fold import fold, fold_fields, unfold
from analyzers.wire.jsontext import dump, parse
from analyzers.wire.weight import figures

EXPECTED = json.loads((DATA / "published-request.expected.json").read_text())
PUBLISHED = (DATA / "published-request.json").read_bytes()


def weighed(raw: bytes, over: int | None = None, unit: str = "chars") -> Ledger:
    """The ledger of a body as it arrived; with ``over``, as a capture with that threshold gives it back."""
    document = parse(raw)
    taken = figures(document, fold_fields(document.value, 0)[1], len(raw), len(raw))
    body = document.value if over is None else unfold(parse(dump(fold(document.value, over))).value)[0]
    return ledger(
        body,
        unit=UNITS[unit],
        wire=taken.steps,
        wire_bytes=len(raw),
        recorded=taken.fields,
        recorded_total=taken.total,
    )


def rows(body: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """Size and classes of each row, by path."""
    return {row.row.path: (row.size, ", ".join(row.classes)) for field in ledger(body).fields for row in field.rows}


def structure(body: dict[str, Any]) -> dict[str, int]:
    return {field.name: field.structure for field in ledger(body).fields}


def message(*content: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(content)}]}


@pytest.mark.parametrize("over", [None, 0, 400, -1])
def test_the_published_request(over: int | None) -> None:
    result = weighed(PUBLISHED, over)
    assert {field.name: field.size for field in result.fields} == EXPECTED["fields"]
    assert result.total == EXPECTED["total"]
    messages = next(field for field in result.fields if field.name == "messages")
    assert [row.size for row in messages.rows] == EXPECTED["message_blocks"]
    assert sum(row.size for row in messages.rows) == EXPECTED["message_blocks_sum"]
    assert messages.structure == EXPECTED["message_structure"]
    assert result.wire is not None
    assert result.wire.as_dict() | {"unexplained": result.unexplained} == EXPECTED["wire_steps"]
    assert result.wire_bytes == EXPECTED["wire_bytes"]
    assert result.closes


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.name)
def test_requests_of_real_clients_close_to_the_byte(path: Path) -> None:
    for request in shape_requests(path):
        for over in (None, 400):
            result = weighed(request["raw"], over)
            assert {field.name: field.size for field in result.fields} == request["expected"]["fields"]
            assert result.total == request["expected"]["total"]
            assert result.wire_bytes == request["expected"]["wire_bytes"]
            assert result.unexplained == 0
            assert result.differences == ()


def test_utf16_gives_the_published_length_of_the_agent_sdk_request() -> None:
    first = next(shape_requests(DATA / "shapes" / "agent-sdk-0.3.260.jsonl.zst"))
    assert weighed(first["raw"]).total == 82_921
    assert weighed(first["raw"], unit="utf16").total == 82_922
    assert weighed(first["raw"], 400, unit="utf16").total == 82_922


def test_wire_steps_of_a_client_that_writes_blanks_and_escapes() -> None:
    first = next(shape_requests(DATA / "shapes" / "litellm-1.110.2.jsonl.zst"))
    result = weighed(first["raw"])
    assert result.wire is not None
    steps = result.wire
    assert (steps.characters, steps.field_names, steps.punctuation, steps.escapes, steps.whitespace) == (
        70,
        29,
        62,
        11,
        16,
    )


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.name)
def test_in_json_units_the_total_is_the_shortest_text_of_the_fields(path: Path) -> None:
    for request in shape_requests(path):
        body = parse(request["raw"]).value
        assert weighed(request["raw"], 400, "json").total == sum(len(dump(value).decode()) for value in body.values())


def test_measuring_the_shell_of_a_folded_body_does_not_pass_unseen() -> None:
    """The published trap: the table looked consistent and was 2.7 times too small."""
    document = parse(PUBLISHED)
    taken = figures(document, fold_fields(document.value, 400)[1], len(PUBLISHED), len(PUBLISHED))
    shell = json.loads(dump(fold(document.value, 400)))
    result = ledger(
        shell, wire=taken.steps, wire_bytes=len(PUBLISHED), recorded=taken.fields, recorded_total=taken.total
    )
    assert result.total < 82_922 / 2
    assert not result.closes
    assert result.unexplained == 82_922 - result.total
    assert {difference.place for difference in result.differences} >= {"tools", "messages", "total"}


def test_a_recorded_figure_that_was_altered_is_named() -> None:
    document = parse(PUBLISHED)
    taken = figures(document, fold_fields(document.value, 400)[1], len(PUBLISHED), len(PUBLISHED))
    wrong = dict(taken.fields) | {"messages": 1_327}
    result = ledger(document.value, recorded=wrong, recorded_total=taken.total)
    assert [(found.place, found.measured, found.recorded) for found in result.differences] == [
        ("messages", 10_173, 1_327)
    ]


def test_a_byte_too_many_on_the_wire_is_unexplained() -> None:
    document = parse(PUBLISHED)
    taken = figures(document, fold_fields(document.value, 400)[1], len(PUBLISHED), len(PUBLISHED))
    assert ledger(document.value, wire=taken.steps, wire_bytes=len(PUBLISHED) + 1).unexplained == 1
    shorter = replace(taken.steps, escapes=taken.steps.escapes - 3)
    assert ledger(document.value, wire=shorter, wire_bytes=len(PUBLISHED)).unexplained == 3


requests = st.fixed_dictionaries(
    {},
    optional={
        "messages": st.lists(st.dictionaries(st.sampled_from(["role", "content", "output_config", "x"]), values)),
        "system": values,
        "tools": st.lists(values),
        "requests": st.lists(st.fixed_dictionaries({"params": st.dictionaries(keys, values, max_size=3)})),
        "metadata": values,
    },
)
block_types = st.sampled_from(
    ["text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking", "search_result",
     "new_thing",
     "web_search_tool_result", "tool_reference", "code_execution_tool_result"]
)  # fmt: skip
members = st.sampled_from(
    ["text", "content", "source", "input", "name", "id", "data", "signature", "thinking", "title", "context",
     "cache_control",
     "tool_use_id", "is_error", "encrypted_content", "url"]
)  # fmt: skip
blocks = st.recursive(
    st.builds(lambda kind, more: {"type": kind} | more, block_types, st.dictionaries(members, values, max_size=4)),
    lambda inner: st.builds(
        lambda kind, more, content: {"type": kind} | more | {"content": content},
        block_types,
        st.dictionaries(members, values, max_size=3),
        st.lists(inner, max_size=3),
    ),
    max_leaves=8,
)


@given(requests | st.lists(blocks, max_size=4).map(lambda content: message(*content)))
def test_every_field_is_the_sum_of_its_rows_and_its_structure(body: dict[str, Any]) -> None:
    for unit in UNITS.values():
        result = ledger(body, unit=unit)
        for field in result.fields:
            assert field.unexplained == 0
            assert field.size == field.structure + sum(row.size for row in field.rows)
            assert len({row.row.path for row in field.rows}) == len(field.rows)
        assert result.total == sum(size(value, unit) for value in body.values())
    assert ledger(body).total == sum(map(definition, body.values()))


def test_a_base64_image_is_no_text_and_a_data_uri_in_text_is() -> None:
    body = message(
        {
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": [
                {"type": "text", "text": "t" * 50},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 400_000}},
            ],
        },
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "B" * 70},
            "title": "abc",
        },
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "text", "text": "data:image/png;base64,AAAA"},
    )
    assert rows(body) == {
        "messages[0].content[0].content[0]": (50, "text"),
        "messages[0].content[0].content[1]": (400_000, "base64"),
        "messages[0].content[1]": (73, "base64, text"),
        "messages[0].content[2]": (25, "url"),
        "messages[0].content[3]": (26, "text"),
    }


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("abc", {"messages[0].content[0].content": (3, "text")}),
        ([], {"messages[0].content[0]": (0, "text")}),
        (None, {"messages[0].content[0]": (0, "text")}),
        (
            [{"type": "text", "text": "ab"}, ["x", "yz"], "stray"],
            {
                "messages[0].content[0].content[0]": (2, "text"),
                "messages[0].content[0].content[1]": (3, "unknown"),
                "messages[0].content[0].content[2]": (5, "text"),
            },
        ),
        ([{"type": "tool_reference", "tool_name": "Read"}], {"messages[0].content[0].content[0]": (4, "text")}),
        (
            {"type": "code_execution_result", "stdout": "12345", "return_code": 0},
            {"messages[0].content[0].content": (6, "unknown")},
        ),
    ],
)
def test_each_form_of_a_tool_result_counts_once(content: Any, expected: dict[str, tuple[int, str]]) -> None:
    body = message({"type": "tool_result", "tool_use_id": "t", "content": content})
    assert rows(body) == expected
    assert structure(body)["messages"] + sum(amount for amount, _ in expected.values()) == definition(body["messages"])


def test_a_tool_result_without_content_is_a_row_of_nothing() -> None:
    assert rows(message({"type": "tool_result", "tool_use_id": "t"})) == {"messages[0].content[0]": (0, "text")}


def test_search_results_keep_what_is_encrypted_apart() -> None:
    body = message(
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [{"type": "web_search_result", "url": "https://a", "title": "T", "encrypted_content": "E" * 90}],
        }
    )
    assert rows(body) == {"messages[0].content[0].content[0]": (9 + 1 + 90, "unknown, encrypted")}


def test_a_string_and_a_single_text_block_have_the_same_rows_but_their_structure_differs() -> None:
    plain = {"system": "abc", "messages": [{"role": "user", "content": "hello"}]}
    listed = {
        "system": [{"type": "text", "text": "abc"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
    }
    assert rows(plain) == {"system": (3, "text"), "messages[0].content": (5, "text")}
    assert rows(listed) == {"system[0]": (3, "text"), "messages[0].content[0]": (5, "text")}
    assert structure(plain) == {"system": 0, "messages": 15}
    assert structure(listed) == {"system": 12, "messages": 27}


def test_a_tool_is_its_name_description_and_schema_without_their_keys() -> None:
    tool = {
        "name": "Read",
        "description": "Reads",
        "input_schema": {"type": "object", "properties": {"cache_control": {"type": "string"}}},
        "cache_control": {"type": "ephemeral"},
        "defer_loading": True,
    }
    schema = definition(tool["input_schema"])
    assert rows({"tools": [tool]}) == {"tools[0]": (4 + 5 + schema, "description, schema")}
    assert structure({"tools": [tool]})["tools"] == len("namedescriptioninput_schema") + len(
        "cache_controltypeephemeral"
    ) + len("defer_loadingtrue")


def test_a_server_tool_is_its_name_and_its_own_parameters() -> None:
    tool = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5, "user_location": {"city": "Bonn"}}
    assert rows({"tools": [tool]}) == {"tools[0]": (10 + 1 + len("cityBonn"), "description, schema")}
    assert structure({"tools": [tool]}) == {
        "tools": len("typeweb_search_20250305" + "name" + "max_uses" + "user_location")
    }


def test_thinking_keeps_its_signature_in_a_class_of_its_own() -> None:
    body = message(
        {"type": "thinking", "thinking": "", "signature": "s" * 3_000}, {"type": "redacted_thinking", "data": "d" * 7}
    )
    (field,) = ledger(body).fields
    assert field.rows[0].classes == {"text": 0, "signature": 3_000}
    assert field.rows[1].classes == {"encrypted": 7}


def test_the_rows_of_a_batch_are_those_of_each_request() -> None:
    body = {
        "requests": [
            {
                "custom_id": "r0",
                "params": {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "n0"}]},
            },
            {"custom_id": "r1", "params": {"model": "m", "system": "s", "messages": []}},
        ]
    }
    assert rows(body) == {
        "requests[0].params.model": (1, "value"),
        "requests[0].params.max_tokens": (2, "value"),
        "requests[0].params.messages[0].content": (2, "text"),
        "requests[1].params.model": (1, "value"),
        "requests[1].params.system": (1, "text"),
    }
    (field,) = ledger(body).fields
    assert (field.size, field.unexplained) == (definition(body["requests"]), 0)


def test_many_keys_one_huge_key_and_deep_nesting_are_counted() -> None:
    deep: Any = 1
    for _ in range(20_000):
        deep = {"k": deep}
    body = message(
        {"type": "tool_use", "id": "t", "name": "n", "input": {"K" * 200_000: ""}},
        {"type": "tool_use", "id": "t", "name": "n", "input": {f"{number:05}": 1 for number in range(50_000)}},
        {"type": "tool_use", "id": "t", "name": "n", "input": deep},
    )
    assert [amount for amount, _ in rows(body).values()] == [200_001, 50_000 * 6 + 1, 20_000 + 1 + 1]


@pytest.mark.parametrize(
    "body", [{}, {"messages": None}, {"messages": "x"}, {"messages": [1, None, "a"]}, {"tools": {}}, {"system": 5}]
)
def test_fields_of_a_wrong_type_are_still_weighed(body: dict[str, Any]) -> None:
    result = ledger(body)
    assert result.total == sum(map(definition, body.values()))
    assert result.closes


@pytest.mark.parametrize("body", [[1, "ab"], "abc", 12.5, None])
def test_a_body_that_is_no_object_is_one_field_without_a_name(body: Any) -> None:
    assert [(field.name, field.size) for field in ledger(body).fields] == [("", definition(body))]


def test_rows_say_what_they_are() -> None:
    body = message(
        {"type": "text", "text": "<system-reminder>\nThe following skills are available for use"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAABAAAAAMA"},
        },
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {}},
        {"type": "hologram", "depth": 3},
    )
    (field,) = ledger(body).fields
    assert [row.row.what for row in field.rows] == ["system-reminder: skills", "image/png 1024x768", "Bash", "hologram"]
    folded = ledger(unfold(fold(body, 20))[0])
    assert [row.row.what for row in folded.fields[0].rows] == [row.row.what for row in field.rows]
