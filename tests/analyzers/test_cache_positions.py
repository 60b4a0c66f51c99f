"""Prompts laid out with what comes again remembered are what they are laid out anew."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.cache_positions import Laid, Positions
from analyzers.digests import Digest, Digester
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json, Number

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
MODEL = "claude-opus-5-5"
STRIPPING = "claude-sonnet-4-20250514"
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
CITED = {"type": "document", "citations": {"enabled": True}, "source": {"type": "text", "data": "d"}}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}


def text(words: Json, mark: Json = None) -> dict[str, Json]:
    return {"type": "text", "text": words} | ({"cache_control": mark} if mark else {})


def user(*blocks: Json) -> dict[str, Json]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Json) -> dict[str, Json]:
    return {"role": "assistant", "content": list(blocks)}


def call(given: Json) -> dict[str, Json]:
    return {"type": "tool_use", "id": "t", "name": "a", "input": given}


def result(content: Json, mark: Json = None) -> dict[str, Json]:
    return {"type": "tool_result", "tool_use_id": "t", "content": content} | ({"cache_control": mark} if mark else {})


MESSAGES: list[Json] = [
    {"role": "user", "content": "a"},
    user(text("a")),
    user(text("a", MARK)),
    user(text("a", HOUR), text("", MARK)),
    user(text(Elided(1, 1, 1, 3))),
    user(IMAGE),
    user(CITED, IMAGE),
    assistant(THINKING, text("b")),
    assistant(text("b"), {"type": "redacted_thinking", "data": "x"}, call({"a": 1, "b": 2})),
    assistant(call({"a": 1, "b": 2}), call({"a": 1, "b": 2})),
    assistant(call({"b": 2, "a": 1})),
    assistant(call({"a": 1.0, "b": 2})),
    assistant(call({"a": True, "b": Number("2.00")})),
    user(result("c"), result([text("d", MARK)])),
    user(result([IMAGE, text("d")], MARK)),
    user(result([THINKING, CITED])),
    {"role": 5, "content": None},
    {"content": {"type": ["text"]}},
    None,
    "x",
]
TOOLS: list[Json] = [
    {"name": "a", "input_schema": {"type": "object", "properties": {}}},
    {"name": "a", "input_schema": {"properties": {}, "type": "object"}},
    {"name": "b", "cache_control": MARK},
    {"name": "c", "defer_loading": True},
    {"type": "web_search_20250305", "name": "web_search"},
    7,
]
BILLING = text("x-anthropic-billing-header: cc_version=1; cch=5;")
SYSTEM: list[Json] = [text("r"), text("r", MARK), text("x-anthropic-billing-header: v=1;\nr"), BILLING, "s", user()]


class Asked(NamedTuple):
    body: dict[str, Json]
    model: str | None = MODEL
    billing: bool = False
    edits: Json = None
    scope: str = ""

    def laid(self, positions: Positions) -> Laid:
        body, model, billing, edits, scope = self
        return positions.laid(body, model, billing=billing, edits=edits, scope=scope)

    def anew(self) -> Laid:
        """Where nothing is remembered, and no part of it is the object that anything else is."""
        return self._replace(body=deepcopy(self.body)).laid(Positions())


@st.composite
def chains(draw: st.DrawFn) -> Iterator[Asked]:
    """Requests that go on from one another and part, of messages that are the very objects of earlier ones or copies
    of them; made one by one, so that what is not kept is gone before the next is made."""
    pool, numbers = deepcopy(MESSAGES), st.sampled_from(range(len(MESSAGES)))
    talks = draw(st.lists(st.lists(numbers, max_size=9), min_size=1, max_size=2))
    turn = st.fixed_dictionaries(
        {
            "talk": st.sampled_from(talks),
            "length": st.integers(0, 9),
            "copied": st.sets(st.integers(0, 9), max_size=3),
            "more": st.lists(numbers, max_size=2),
            "tools": st.none() | st.lists(st.sampled_from(TOOLS), max_size=3),
            "system": st.none() | st.just("r") | st.lists(st.sampled_from(SYSTEM), max_size=3),
            "beside": st.sampled_from([{}, {"speed": "fast"}, {"thinking": {"type": "adaptive"}}, {"tools": 5}]),
            "model": st.sampled_from([MODEL, STRIPPING, None]),
            "billing": st.booleans(),
            "edits": st.sampled_from([None, [{"type": "clear"}]]),
            "scope": st.sampled_from(["", "gateway.example"]),
        }
    )
    turns = draw(st.lists(turn, min_size=1, max_size=6))

    def asked() -> Iterator[Asked]:
        for turn in turns:
            told = turn["talk"][: turn["length"]] + turn["more"]
            messages = [deepcopy(pool[n]) if at in turn["copied"] else pool[n] for at, n in enumerate(told)]
            body = {"messages": messages, "tools": turn["tools"], "system": turn["system"]} | turn["beside"]
            yield Asked(body, turn["model"], turn["billing"], turn["edits"], turn["scope"])

    return asked()


@given(chains(), st.sampled_from([0, 3, 40, 10_000]), st.sampled_from([0, 3, 12, 10_000]))
def test_what_is_remembered_is_what_is_laid_out_anew(chain: Iterator[Asked], held: int, most: int) -> None:
    positions = Positions(held=held, most=most)
    for one in chain:
        assert one.laid(positions) == one.anew()


ASKS, THINKS, EMPTY = user(text("a")), assistant(THINKING, text("b")), user()
TOOL = TOOLS[0]


@pytest.mark.parametrize(
    "chain",
    [
        ({"messages": [ASKS, THINKS, user(result("c"))]}, {"messages": [ASKS, THINKS, ASKS]}),
        ({"messages": [ASKS, THINKS]}, {"messages": [EMPTY, ASKS, THINKS]}),
        ({"tools": [TOOL]}, {"tools": [TOOLS[3], TOOL]}),
        ({"tools": [TOOL]}, {"messages": [TOOL]}),
        ({"system": [ASKS]}, {"messages": [ASKS]}),
        ({"system": [TOOL], "messages": [ASKS]}, {"tools": [TOOL], "messages": [ASKS]}),
        ({"messages": [ASKS]}, {"messages": [ASKS, user(IMAGE)]}),
        ({"tools": [TOOLS[4]], "messages": [ASKS]}, {"messages": [ASKS]}),
    ],
    ids=[
        "thinking that is forgotten later",
        "behind a message without blocks",
        "behind a tool that is deferred",
        "a tool as a message",
        "a message as a system block",
        "a system block as a tool",
        "before an image that came",
        "without a tool of the server's",
    ],
)
def test_the_very_object_elsewhere_is_laid_out_as_what_it_is_there(chain: tuple[dict[str, Json], ...]) -> None:
    positions = Positions()
    for body in (*chain, *chain):
        asked = Asked(body, STRIPPING)
        assert asked.laid(positions) == asked.anew()


def test_a_billing_line_counts_where_it_is_to_count() -> None:
    positions, body = Positions(), {"system": SYSTEM, "messages": [ASKS]}
    for billing in (True, False, True):
        asked = Asked(body, billing=billing)
        assert asked.laid(positions) == asked.anew()


@pytest.mark.parametrize("held", [0, 30, 10_000])
def test_what_is_forgotten_is_not_taken_for_what_comes_to_be_at_its_place(held: int) -> None:
    """Every message is gone before the next is made, which then may have its place in memory."""
    positions = Positions(held=held)
    for number in range(200):
        asked = Asked({"messages": [user(text(f"{number}"))]})
        assert asked.laid(positions) == asked.anew()


class Counting(Digester):
    """Counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def message(self, message: Json) -> Digest:
        self.asked += 1
        return super().message(message)


def test_a_message_is_looked_at_once_however_often_it_is_sent() -> None:
    digester = Counting()
    positions = Positions(digester)
    system, talk = [text("rules")], [user(text(f"{n}"), text("more")) for n in range(50)]
    for length in range(1, 51):
        for model, scope in ((MODEL, ""), (MODEL, "gateway.example"), (STRIPPING, "")):
            positions.laid({"system": system, "messages": talk[:length]}, model, scope=scope)
    assert digester.asked == 1 + 2 * 50


def test_positions_that_come_again_are_the_very_ones() -> None:
    positions, talk = Positions(), [user(text(f"{n}")) for n in range(9)]
    first, second = (positions.laid({"messages": talk[:length]}, MODEL).positions for length in (8, 9))
    assert all(one is other for one, other in zip(first, second, strict=False))


@pytest.mark.parametrize(("held", "most", "alive"), [(2_000, 10_000, 20), (100_000, 20, 20), (100_000, 10_000, 400)])
def test_no_more_is_kept_than_is_allowed(held: int, most: int, alive: int) -> None:
    """Of requests that have nothing in common. A message here holds some hundred characters."""
    positions = Positions(held=held, most=most)
    for number in range(400):
        positions.laid({"messages": [user(text(f"{number} {'x' * 100}", MARK) | {"mine": 1})]}, MODEL)
    gc.collect()
    assert 0 < sum(_is_mine(one) for one in gc.get_objects()) <= alive


def test_a_folded_text_takes_no_room() -> None:
    """It is counted by what is held of it, so that a session of long texts is remembered for as long."""
    digester = Counting()
    positions = Positions(digester, held=3_000)
    talk = [user(text(Elided(100_000, 100_000, 100_000, 100_002, sha256=f"{n:064x}"))) for n in range(20)]
    for _ in range(3):
        positions.laid({"messages": talk}, MODEL)
    assert digester.asked == 20


def _is_mine(held: Any) -> bool:
    return type(held) is dict and "mine" in held
