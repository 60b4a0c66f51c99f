"""What one exchange tells of the growth of its conversation."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from conversations import BEGIN, PREAMBLE, call, only, talk, user
from json_values import DATA

from analyzers.context_limit import Refusal
from analyzers.exchange import Exchange, Request
from analyzers.turn_sizes import Piece, TurnSizer, TurnSizes, weight
from analyzers.wire.fold import Elided
from analyzers.wire.message import ApiError

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 100_000}}


def looked(*exchanges: Exchange) -> list[TurnSizes]:
    sizer = TurnSizer()
    return [sizer.look(exchange) for exchange in exchanges]


def result(text: str) -> dict[str, Any]:
    return user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": text}])


def test_seventeen_characters_are_typed_and_82922_are_sent() -> None:
    body = json.loads((DATA / "published-request.json").read_text())
    found = only(looked(Exchange(Request(body=body), None, "not_recorded", "request.json")))
    assert (found.typed, found.chars) == (17, 82_922)


def test_what_a_client_puts_before_the_words_is_not_typed() -> None:
    first = only(looked(call([user([{"type": "text", "text": PREAMBLE}, {"type": "text", "text": "fix it"}])])))
    assert first.typed == len("fix it")


def test_only_words_behind_the_last_answer_are_typed_in_this_turn() -> None:
    found = looked(
        call(talk("what now"), at=0),
        call([*talk("what now", "look"), result("x" * 500)], at=1),
        call([*talk("what now", "look"), result("x" * 500), *talk("", "done")[1:], user("go on")], at=2),
    )
    assert [one.typed for one in found] == [8, 0, 5]
    assert [one.speaks for one in found] == [True, False, True]


def test_a_folded_text_counts_by_its_length_and_a_folded_reminder_does_not() -> None:
    def folded(chars: int, label: str | None) -> dict[str, Any]:
        return {"type": "text", "text": Elided(chars, chars, chars, chars, "0" * 64, label)}

    found = only(looked(call([user([folded(9_000, "system-reminder: skills"), folded(700, None)])])))
    assert found.typed == 700


def test_image_data_and_signatures_weigh_nothing_by_their_length() -> None:
    thinking = {"type": "thinking", "thinking": "abc", "signature": "S" * 5_000}
    bare = weight(user([{"type": "text", "text": "abc"}]))
    assert weight({"role": "assistant", "content": [thinking]}) < bare + 40
    assert weight(user([IMAGE])) == weight(user([{"type": "tool_result", "content": [IMAGE]}])) - len(
        "typetool_resultcontent"
    )
    assert 5_000 < weight(user([IMAGE])) < 6_000


def test_a_request_that_goes_on_is_not_cut_again() -> None:
    found = looked(call(talk("a"), at=0, session="s"), call(talk("a", "b", "c"), at=1, session="s"))
    assert (len(found[0].pieces), found[1].pieces, found[1].answers) == (1, (), None)


def test_a_first_request_is_cut_where_the_user_speaks() -> None:
    messages = [*talk("a", "b"), result("r"), *talk("", "done")[1:], *talk("next")]
    found = only(looked(call(messages)))
    assert [piece.speaks for piece in found.pieces] == [True, True]
    assert found.pieces == (
        Piece(sum(map(weight, messages[:4])), True),
        Piece(weight(messages[4]), True),
    )
    assert found.answers == 2


def test_another_session_that_goes_on_is_cut_anew() -> None:
    found = looked(call(talk("a"), session="one"), call(talk("a", "b", "c"), at=1, session="two"))
    assert (len(found[1].pieces), found[1].answers) == (2, 1)


def test_deferred_tools_are_sent_and_no_part_of_the_prompt() -> None:
    tool = {"name": "Bash", "description": "run", "input_schema": {"type": "object"}}
    one, both = looked(
        call(talk("a"), tools=[tool]), call(talk("b"), at=1, tools=[tool, {**tool, "defer_loading": True}])
    )
    assert one.fixed == both.fixed
    assert (both.chars or 0) > (one.chars or 0)


def test_a_refusal_tells_what_no_usage_does() -> None:
    refused = call(talk("a"), None, ended="error", status=400)
    assert refused.response is not None
    error = ApiError("invalid_request_error", "prompt is too long: 211140 tokens > 200000 maximum", "req_1")
    found = only(looked(replace(refused, response=replace(refused.response, error=error))))
    assert found.refused == Refusal(211_140, 200_000)


def test_several_passes_leave_the_last_one_as_the_context() -> None:
    def one(fresh: int) -> dict[str, Any]:
        counters = {"input_tokens": fresh, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        return {"type": "message", "output_tokens": 5, **counters}

    usage = {**one(2_500), "iterations": [one(1_000), one(1_500)]}
    assert [found.context for found in looked(call(talk("a"), usage=usage), call(talk("b"), at=1))] == [1_500, None]


def test_the_beta_of_a_million_is_asked_for_by_header_or_body() -> None:
    header = {"anthropic-beta": "a-1,context-1m-2025-08-07"}
    found = looked(
        call(talk("a"), headers=header),
        call(talk("b"), at=1, anthropic_beta=["context-1m-2025-08-07"]),
        call(talk("c"), at=2),
    )
    assert [one.long_context for one in found] == [True, True, False]


def test_what_no_server_counted_is_estimated_once_for_each_message() -> None:
    asked: list[Any] = []

    def estimate(body: Any, model: str | None) -> int:
        asked.append(body)
        return 100

    sizer = TurnSizer(estimate)
    messages = talk("a", "b", "c")
    first = sizer.look(call(messages[:1], usage=None, tools=None, system=None))
    second = sizer.look(call(messages, at=1, usage=None, tools=None, system=None))
    assert (first.estimated, second.estimated) == (100, 300)
    assert [body["messages"] for body in asked if body["messages"][0]["role"] == "user"] == [
        [messages[0]],
        [messages[2]],
    ]
    counted = sizer.look(call(messages, at=2))
    assert counted.estimated is None


def test_a_request_that_was_not_kept_leaves_its_times() -> None:
    found = only(looked(call(None)))
    assert (found.body, found.chars, found.typed, found.start) == (False, None, None, BEGIN)
