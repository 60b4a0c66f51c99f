"""Where a prompt stops being that of an earlier request, in the order in which prompts are built."""

from itertools import cycle, islice, pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from json_values import DATA, SHAPES, keys, shape_requests, values

from analyzers.diff import Place, first_difference
from analyzers.digests import Digester
from analyzers.exchange import Request
from analyzers.wire.fold import fold, unfold
from analyzers.wire.jsontext import parse

BILLING = "x-anthropic-billing-header: cc_version=2.1.332.a; cc_entrypoint=cli; cch=1a2b3;"
MARK = {"type": "ephemeral", "ttl": "1h"}
LONG = "The folder holds papers. " * 30
THRESHOLDS = [None, 0, 400]


def tool(name: str, description: str = "runs", **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": properties}}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said} | more


def call(**data: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": data}]}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


BASE: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "max_tokens": 100,
    "tools": [tool("a"), tool("b"), tool("c")],
    "system": [text(BILLING), text("You are careful."), text(LONG, cache_control=MARK)],
    "messages": [user(text("one"), text(LONG)), call(command="ls", timeout=1), user(text("three"))],
}


def sent(body: Any, over: int | None = None) -> Request:
    return Request(body if over is None else unfold(fold(body, over))[0])


def changed(field: str, at: int, value: Any) -> dict[str, Any]:
    """The request with one member of a list replaced."""
    members = list(BASE[field])
    members[at : at + 1] = [] if value is None else [value]
    return BASE | {field: members}


KEYS_SWAPPED = tool("b") | {"input_schema": {"properties": {}, "type": "object"}}
CASES = [
    ("another model", BASE | {"model": "m"}, "model", "model", 15, 1, None),
    ("a tool server gone", changed("tools", 1, None), "tool removed", "tools[1]", 25, None, "b"),
    ("a tool more", BASE | {"tools": [*BASE["tools"], tool("d")]}, "tool added", "tools[3]", None, 25, "d"),
    (
        "a tool in the middle",
        BASE | {"tools": [tool("a"), tool("aa"), *BASE["tools"][1:]]},
        "tool added", "tools[1]", None, 26, "aa",
    ),
    (
        "another order",
        BASE | {"tools": [tool("b"), tool("a"), tool("c")]},
        "tool reordered", "tools[0]", 25, 25, "b",
    ),
    ("one word", changed("tools", 2, tool("c", "walks")), "tool description changed", "tools[2]", 25, 26, "c"),
    ("a schema", changed("tools", 1, tool("b", x={})), "tool schema changed", "tools[1]", 25, 26, "b"),
    ("keys of a schema", changed("tools", 1, KEYS_SWAPPED), "tool schema key order", "tools[1]", 25, 25, "b"),
    (
        "a tool that is deferred now, which takes it out of the prefix",
        changed("tools", 1, tool("b") | {"defer_loading": True}),
        "tool removed", "tools[1]", 25, None, "b",
    ),
    ("no tools", {k: v for k, v in BASE.items() if k != "tools"}, "tool removed", "tools[0]", 25, None, "a"),
    ("a system text", changed("system", 1, text("You are careless.")), "system changed", "system[1]", 16, 17, None),
    ("a folded text", changed("system", 2, text(LONG + ".")), "system changed", "system[2]", 750, 751, None),
    ("a system text gone", changed("system", 1, None), "system changed", "system[1]", 16, None, None),
    (
        "thinking",
        BASE | {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        "thinking", "thinking", None, 28, None,
    ),
    ("tool_choice", BASE | {"tool_choice": {"type": "any"}}, "tool_choice", "tool_choice", None, 7, None),
    (
        "an early message",
        changed("messages", 0, user(text("one"), text(LONG + "!"))),
        "message changed", "messages[0].content[1]", 750, 751, None,
    ),
    (
        "a block more",
        changed("messages", 0, user(text("one"), text("new"), text(LONG))),
        "message changed", "messages[0].content[1]", None, 3, None,
    ),
    ("a message gone", changed("messages", 0, None), "message removed", "messages[0]", 753, None, None),
    (
        "the last one gone",
        BASE | {"messages": BASE["messages"][:2]},
        "message removed", "messages[2]", 5, None, None,
    ),
    (
        "a message put in",
        BASE | {"messages": [user(text("zero")), *BASE["messages"]]},
        "message inserted", "messages[0]", None, 4, None,
    ),
    (
        "a role",
        changed("messages", 2, BASE["messages"][2] | {"role": "system"}),
        "message changed", "messages[2].role", 5, 5, None,
    ),
    (
        "keys of a call",
        changed("messages", 1, call(timeout=1, command="ls")),
        "message key order", "messages[1].content[0].input", 21, 21, None,
    ),
]  # fmt: skip


@pytest.mark.parametrize("over_a", THRESHOLDS)
@pytest.mark.parametrize("over_b", THRESHOLDS)
@pytest.mark.parametrize(
    ("what", "other", "change", "path", "a", "b", "name"), CASES, ids=[case[0].replace(" ", "-") for case in CASES]
)
def test_the_first_difference(
    what: str,
    other: Any,
    change: str,
    path: str,
    a: int | None,
    b: int | None,
    name: str | None,
    over_a: int | None,
    over_b: int | None,
) -> None:
    place = first_difference(sent(BASE, over_a), sent(other, over_b))
    assert place is not None
    assert (place.change, place.path, place.name) == (change, path, name)
    assert place.field == path.partition("[")[0]
    assert (place.a, place.b) == (a, b)
    assert [side is None for side in (place.a_hash, place.b_hash)] == [side is None for side in (a, b)]


def test_what_continues_has_no_difference() -> None:
    more = BASE | {"messages": [*BASE["messages"], call(command="pwd"), user(text("five"))]}
    assert first_difference(sent(BASE), sent(more)) is None
    assert first_difference(sent(BASE), sent(BASE)) is None
    assert first_difference(sent({"model": "m"}), sent({"model": "m", "messages": [user(text("hi"))]})) is None


@pytest.mark.parametrize("over", THRESHOLDS)
def test_what_says_nothing_is_no_difference(over: int | None) -> None:
    other = BASE | {
        "max_tokens": 7,
        "stream": True,
        "metadata": {"user_id": "x"},
        "temperature": 1,
        "system": [text(BILLING.replace("1a2b3", "ffff")), text("You are careful.", cache_control=MARK), text(LONG)],
        "tools": [tool("a"), tool("b"), tool("c") | {"cache_control": MARK}],
        "messages": [*BASE["messages"][:2], {"role": "user", "content": "three"}],
        "cache_control": MARK,
    }
    assert first_difference(sent(BASE, over), sent(other)) is None
    assert first_difference(sent(BASE), sent(other, over)) is None
    without_billing = BASE | {"system": BASE["system"][1:]}
    assert first_difference(sent(BASE, over), sent(without_billing)) is None
    assert first_difference(sent(without_billing, over), sent(BASE)) is None


def test_at_other_hosts_the_billing_line_is_part_of_the_prompt() -> None:
    other = changed("system", 0, text(BILLING.replace("1a2b3", "ffff0")))
    assert first_difference(sent(BASE), sent(other)) is None
    place = first_difference(sent(BASE), sent(other), billing=True)
    assert place is not None and (place.change, place.path) == ("system changed", "system[0]")
    assert first_difference(sent(BASE), sent(BASE), billing=True) is None


def test_the_place_of_a_system_block_counts_the_billing_line() -> None:
    place = first_difference(sent(BASE), sent(BASE | {"system": [text("You are careless."), text(LONG)]}))
    assert place is not None and (place.path, place.a, place.b) == ("system[0]", 16, 17)


def test_of_several_differences_the_first_in_the_prompt() -> None:
    order = ["model", "tools", "system", "thinking", "messages"]
    others = {
        "model": "m", "tools": [], "system": "x", "thinking": {"type": "enabled"}, "messages": [user(text("x"))],
    }  # fmt: skip
    for position, field in enumerate(order):
        later = dict.fromkeys(order[position:])
        place = first_difference(sent(BASE), sent(BASE | {name: others[name] for name in later}))
        assert place is not None and place.field == field


def test_a_replaced_tool_was_removed_and_the_spot_of_a_changed_one_is_told() -> None:
    place = first_difference(sent(BASE), sent(changed("tools", 1, tool("z"))))
    assert place is not None and (place.change, place.name, place.b) == ("tool removed", "b", None)
    place = first_difference(sent(BASE), sent(changed("tools", 2, tool("c", "rums"))))
    assert place is not None and place.spot is not None
    assert (place.spot.path, place.spot.at) == ("tools[2].description", 2)


def test_keys_of_a_definition_itself_are_no_part_of_the_prompt() -> None:
    other = changed("tools", 1, dict(reversed(tool("b").items())))
    assert first_difference(sent(BASE), sent(other)) is None


def test_results_inside_results_have_their_own_path() -> None:
    def result(*texts: str) -> dict[str, Any]:
        content = [text(said) for said in texts]
        return {"messages": [user({"type": "tool_result", "tool_use_id": "t", "content": content})]}

    place = first_difference(sent(result("a", "b")), sent(result("a", "c")))
    assert place is not None and (place.path, place.a, place.b) == ("messages[0].content[0].content[1]", 1, 1)


def test_a_body_that_was_not_kept_is_not_known() -> None:
    assert first_difference(Request(None, reason="cut"), sent(BASE)) == Place("", "", "not known", None, None)


@pytest.mark.parametrize("client", ["claude-code-2.1.258-36-turns", "claude-code-2.1.332-36-turns"])
def test_a_recorded_conversation_parts_nowhere_though_tools_were_loaded(client: str) -> None:
    requests = [
        sent(parse(shape["raw"]).value, over)
        for shape, over in zip(
            islice(shape_requests(DATA / "shapes" / f"{client}.jsonl.zst"), 14), cycle(THRESHOLDS), strict=False
        )
    ]
    digester = Digester()
    places = [first_difference(a, b, digester) for a, b in pairwise(requests)]
    assert len(places) == 13
    assert places == [None] * 13  # tools that were loaded are deferred: they stand outside the prefix


HOSTILE = st.fixed_dictionaries(
    {},
    optional={
        "messages": values | st.lists(st.dictionaries(st.sampled_from(["role", "content"]), values, max_size=2)),
        "system": values,
        "tools": values | st.lists(st.dictionaries(keys | st.just("name"), values, max_size=3), max_size=3),
        "thinking": values,
        "model": values,
    },
)


@example({"messages": [{"content": {"type": []}}]}, {}, None)
@settings(max_examples=60)
@given(HOSTILE | values, HOSTILE | values, st.sampled_from(THRESHOLDS))
def test_hostile_shapes_do_not_raise_and_folding_says_the_same(a: Any, b: Any, over: int | None) -> None:
    whole, folded = first_difference(sent(a), sent(b)), first_difference(sent(a, over), sent(b))
    assert (whole is None) == (folded is None)
    if whole is not None and folded is not None:
        assert (whole.change, whole.path, whole.a, whole.b) == (folded.change, folded.path, folded.a, folded.b)
    assert first_difference(sent(a), sent(a, over)) is None


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.name)
def test_no_recorded_request_differs_from_itself(path: Any) -> None:
    for shape in list(shape_requests(path))[:4]:
        body = parse(shape["raw"]).value
        assert first_difference(sent(body), sent(body, 400)) is None
