"""A prompt as the cache sees it: positions, breakpoints, and what changes a prefix."""

from __future__ import annotations

from typing import Any

import pytest

from analyzers.cache_positions import Positions
from analyzers.cache_prompt import CachedPrompt, Mark, cached_prompt

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
TOOL = {"name": "a", "description": "weighs", "input_schema": {"type": "object"}}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def text(words: str, mark: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words} | ({"cache_control": mark} if mark else {}) | more


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


BODY: dict[str, Any] = {
    "tools": [TOOL | {"cache_control": MARK}],
    "system": [text("rules", MARK)],
    "messages": [user(text("question", MARK))],
}


def seen(body: Any, model: str = "claude-opus-5-5", **options: Any) -> CachedPrompt:
    return cached_prompt(body, model, Positions(), **options)


def marks(body: Any) -> list[tuple[str, str]]:
    return [(mark.path, mark.ttl) for mark in seen(body).marks]


def kept(body: dict[str, Any], **options: Any) -> list[str]:
    """The breakpoints whose prefix is that of ``BODY``."""
    one, other = seen(BODY).marks, seen(body, **options).marks
    return [a.path for a, b in zip(one, other, strict=True) if a.prefix == b.prefix]


ALL = ["tools[0]", "system[0]", "messages[0].content[0]"]


def test_breakpoints_stand_in_the_order_of_the_prefix() -> None:
    body = BODY | {"system": [text("rules", HOUR)], "tools": [TOOL | {"cache_control": HOUR}]}
    assert marks(dict(reversed(body.items()))) == [
        (path, ttl) for path, ttl in zip(ALL, ("1h", "1h", "5m"), strict=True)
    ]
    sizes = [mark.chars for mark in seen(body).marks]
    assert sizes == sorted(sizes) and seen(body).chars == sizes[-1]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({}, ALL),
        ({"max_tokens": 5, "temperature": 1, "metadata": {"user_id": "x"}, "stream": True}, ALL),
        ({"tools": [TOOL | {"description": "lifts", "cache_control": MARK}]}, []),
        ({"tools": [{"name": "b", "defer_loading": True}, TOOL | {"cache_control": MARK}]}, ALL),
        ({"tools": [SEARCH, TOOL | {"cache_control": MARK}]}, ALL[:1]),
        ({"speed": "fast"}, ALL[:1]),
        ({"system": [text("other rules", MARK)]}, ALL[:1]),
        ({"messages": [user(text("question", MARK), {"type": "document", "citations": {"enabled": True}})]}, ALL[:1]),
        ({"tool_choice": {"type": "any"}}, ALL[:2]),
        ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, ALL[:2]),
        ({"thinking": {"type": "adaptive"}}, ALL[:2]),
        ({"output_config": {"effort": "low"}}, ALL[:2]),
        ({"messages": [user(text("question", MARK), IMAGE)]}, ALL[:2]),
        ({"messages": [user(text("question", MARK), {"type": "tool_result", "content": [IMAGE]})]}, ALL[:2]),
        ({"messages": [user(text("question!", MARK))]}, ALL[:2]),
        ({"messages": [{"role": "assistant", "content": [text("question", MARK)]}]}, ALL[:2]),
        ({"messages": [user(text("question", MARK)), user(text("more"))]}, ALL),
    ],
)  # fmt: skip
def test_what_a_change_invalidates(change: dict[str, Any], left: list[str]) -> None:
    assert kept(BODY | change) == left


def test_another_model_has_another_cache_and_another_name_of_it_has_the_same() -> None:
    assert kept(BODY, model="claude-sonnet-5-5") == []
    assert kept(BODY, model="claude-opus-5-5-20260901") == ALL


def test_what_the_server_cleared_makes_other_messages() -> None:
    assert kept(BODY, edits=[{"type": "clear_tool_uses_20250919"}]) == ALL[:2]


@pytest.mark.parametrize("form", ["block", "line"])
def test_the_billing_line_counts_only_when_asked_for(form: str) -> None:
    line = "x-anthropic-billing-header: cc_version=1; cch={};"

    def body(n: int) -> dict[str, Any]:
        said = line.format(n)
        system = [text(said), text("rules", MARK)] if form == "block" else [text(f"{said}\nrules", MARK)]
        return BODY | {"system": system}

    def prefixes(n: int, billing: bool) -> list[bytes]:
        return [mark.prefix for mark in seen(body(n), billing=billing).marks]

    assert prefixes(1, False) == prefixes(2, False)
    assert [a == b for a, b in zip(prefixes(1, True), prefixes(2, True), strict=True)] == [True, False, False]


def test_a_moved_breakpoint_changes_neither_the_prefix_nor_its_characters() -> None:
    blocks = [text(f"{n}") for n in range(5)]
    one = seen({"messages": [user(*blocks[:-1], blocks[-1] | {"cache_control": MARK})]})
    other = seen(
        {"messages": [user(blocks[0] | {"cache_control": HOUR}, *blocks[1:-1], blocks[-1] | {"cache_control": HOUR})]}
    )
    assert (one.marks[-1].prefix, one.marks[-1].chars) == (other.marks[-1].prefix, other.marks[-1].chars)


def test_a_string_is_a_list_of_one_text_block() -> None:
    string = {"messages": [{"role": "user", "content": "a"}, user(text("b", MARK))]}
    assert seen(string).marks == seen({"messages": [user(text("a")), user(text("b", MARK))]}).marks


def last(body: dict[str, Any]) -> Mark:
    return seen(body).marks[-1]


def test_a_breakpoint_looks_back_over_twenty_positions_and_counts_itself() -> None:
    blocks = [text(f"{n}") for n in range(30)]
    back = last({"messages": [user(*blocks, text("end", MARK))]}).back
    assert len(back) == 20
    assert back[0][0] == last({"messages": [user(*blocks, text("end", MARK))]}).prefix
    assert back[-1][0] == last({"messages": [user(*blocks[:11], text("11", MARK))]}).prefix


@pytest.mark.parametrize(("kind", "positions"), [("tool_use", 20 + 29), ("tool_result", 20 + 29), ("image", 20)])
def test_a_run_of_calls_or_results_is_one_position(kind: str, positions: int) -> None:
    run = [{"type": kind, "id": f"{n}"} for n in range(30)]
    back = last({"messages": [user(*(text(f"{n}") for n in range(30)), *run, text("end", MARK))]}).back
    assert len(back) == positions


def test_automatic_caching_marks_the_last_block_that_may_be() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    automatic = {
        "cache_control": HOUR,
        "messages": [user(text("a")), {"role": "assistant", "content": [text("b"), thought, text("")]}],
    }
    [mark] = seen(automatic).marks
    assert (mark.path, mark.ttl, mark.explicit) == ("messages[1].content[0]", "1h", False)
    assert marks(BODY | {"cache_control": MARK}) == marks(BODY)


def test_a_breakpoint_inside_a_result_counts_at_its_end() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": [text("a"), text("b", HOUR)]}
    assert marks({"messages": [user(text("q"), result)]}) == [("messages[0].content[1]", "1h")]


@pytest.mark.parametrize(
    ("mark", "ttl"),
    [({"type": "ephemeral"}, "5m"), (HOUR, "1h"), ({"type": "ephemeral", "scope": "global"}, "5m"),
     ({"type": "ephemeral", "ttl": "2h"}, "5m"), ({"type": "lasting"}, None), ("ephemeral", None), (None, None)],
)  # fmt: skip
def test_breakpoints_of_any_form(mark: Any, ttl: str | None) -> None:
    assert marks({"messages": [user({"type": "text", "text": "a", "cache_control": mark})]}) == (
        [] if ttl is None else [("messages[0].content[0]", ttl)]
    )


def test_the_same_name_in_a_schema_is_no_breakpoint() -> None:
    assert (
        marks({"tools": [{"name": "a", "input_schema": {"properties": {"cache_control": MARK}}}], "messages": []}) == []
    )


@pytest.mark.parametrize(
    "body",
    [None, [], "x", {}, {"messages": 5, "tools": {}, "system": 7}, {"messages": [None, 5, {"role": 3}, {"content": 8}]},
     {"messages": [user(None, 5, {"type": ["x"], "content": [7, None]})], "tools": [None, 1]}],  # type: ignore[arg-type]
)  # fmt: skip
def test_what_is_no_prompt_has_no_breakpoints(body: Any) -> None:
    assert seen(body).marks == ()


def test_the_first_image_and_the_first_cited_block_are_found() -> None:
    cited = {"type": "document", "citations": {"enabled": True}}
    body = {"messages": [user(text("a")), user({"type": "tool_result", "content": [text("b"), IMAGE]}, cited)]}
    found = seen(body)
    assert found.image is not None and found.image.path == "messages[1].content[0].content[1]"
    assert found.cited is not None and found.cited.path == "messages[1].content[1]"
    assert seen(BODY).image is None and seen(BODY).cited is None


def test_a_model_that_forgets_earlier_thinking_has_another_prefix_with_the_next_words() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    use = {"type": "tool_use", "id": "t", "name": "a", "input": {}}
    loop = [user(text("q", MARK)), {"role": "assistant", "content": [thought, use]}]
    loop.append(user({"type": "tool_result", "tool_use_id": "t", "content": "ok", "cache_control": MARK}))
    more = [*loop, user(text("and now?", MARK))]

    def prefixes(messages: list[Any], model: str) -> list[bytes]:
        return [mark.prefix for mark in seen({"messages": messages}, model).marks]

    assert prefixes(loop, "claude-opus-5-5") == prefixes(more, "claude-opus-5-5")[:2]
    one, other = prefixes(loop, "claude-sonnet-4-5"), prefixes(more, "claude-sonnet-4-5")
    assert (one[0] == other[0], one[1] == other[1]) == (True, False)
    found = seen({"messages": loop}, "claude-sonnet-4-5").thought
    assert found is not None and found.path == "messages[1].content[0]"
    assert seen({"messages": more}, "claude-sonnet-4-5").thought is None
    assert seen({"messages": loop}).thought is None


def test_thinking_inside_a_result_is_seen_whoever_spoke_since() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    result = user(text("a"), {"type": "tool_result", "tool_use_id": "t", "content": [thought]})
    found = seen({"messages": [result, user(text("and now?"))]}, "claude-sonnet-4-5").thought
    assert found is not None and found.path == "messages[0].content[1].content[0]"


def test_the_order_of_keys_counts_in_what_becomes_text_of_the_prompt() -> None:
    def prefix(body: dict[str, Any]) -> bytes:
        return seen(body).marks[-1].prefix

    def schema(*names: str) -> dict[str, Any]:
        properties = {name: {"type": "string"} for name in names}
        return BODY | {"tools": [TOOL | {"input_schema": {"type": "object", "properties": properties}}]}

    def called(*names: str) -> dict[str, Any]:
        use = {"type": "tool_use", "id": "toolu_1", "name": "a", "input": dict.fromkeys(names, 1)}
        return BODY | {"messages": [{"role": "assistant", "content": [use]}, user(text("go on", MARK))]}

    assert prefix(schema("a", "b")) != prefix(schema("b", "a"))
    assert prefix(called("a", "b")) != prefix(called("b", "a"))
    reordered = {key: TOOL[key] for key in reversed(TOOL)}  # the API reads a tool by its keys
    assert prefix(BODY | {"tools": [reordered]}) == prefix(BODY | {"tools": [TOOL]})


@pytest.mark.parametrize(
    ("name", "default", "other"),
    [
        ("thinking", {"type": "disabled"}, {"type": "adaptive"}),
        ("output_config", {"effort": "high"}, {"effort": "low"}),
        ("tool_choice", {"type": "auto"}, {"type": "any"}),
        ("speed", "standard", "fast"),
    ],
)
def test_a_default_that_is_written_is_the_same_as_none_and_leaves_a_doubt(name: str, default: Any, other: Any) -> None:
    plain, written, changed = seen(BODY), seen(BODY | {name: default}), seen(BODY | {name: other})
    assert [mark.prefix for mark in written.marks] == [mark.prefix for mark in plain.marks]
    assert changed.marks[-1].prefix != plain.marks[-1].prefix
    assert written.rendered != plain.rendered


@pytest.mark.parametrize("ttl", [[], {}, 5, None, True, "2h"])
def test_a_time_to_live_that_nobody_knows_is_five_minutes(ttl: Any) -> None:
    body = {"messages": [user(text("hi", {"type": "ephemeral", "ttl": ttl}))]}
    assert marks(body) == [("messages[0].content[0]", "5m")]


def test_of_more_breakpoints_than_the_api_takes_the_last_four_count() -> None:
    results = [
        {"type": "tool_result", "tool_use_id": "t", "content": f"{n}", "cache_control": MARK} for n in range(2000)
    ]
    found = seen({"messages": [{"role": "user", "content": results}]})
    assert [mark.path for mark in found.marks] == [f"messages[0].content[{n}]" for n in range(1996, 2000)]


def test_a_name_of_any_kind_is_a_model() -> None:
    for name in ("\ud800", "claude-opus-" + "9" * 5000, "[" * 50_000):
        assert seen(BODY, name).marks
    assert seen(BODY, scope="a").marks[0].prefix != seen(BODY, scope="b").marks[0].prefix
