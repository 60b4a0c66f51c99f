"""What the stub says: both forms of an answer agree, and the same request gets the same bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon import stub_answers as answers
from addon.stub_wish import BadWish, Wish, wish

WEIGH = {
    "name": "weigh_lorry",
    "input_schema": {
        "type": "object",
        "properties": {"plate": {"type": "string", "examples": ["QL 1204", "HT 1241"]}, "deck": {"enum": [1, 2]}},
        "required": ["deck", "plate"],
    },
}


def asking(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "tools": [WEIGH], **more}


def message(blocks: list[dict[str, Any]], max_tokens: int = 4096) -> dict[str, Any]:
    return answers.message(
        blocks, model="m", body=b"{}", ordinal=1, max_tokens=max_tokens, counters={"input_tokens": 7}
    )


def assembled(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that a client puts together from a stream."""
    whole: dict[str, Any] = {}
    for event in events:
        match event["type"]:
            case "message_start":
                whole = {**event["message"], "content": []}
            case "content_block_start":
                whole["content"].append({**event["content_block"], "partial": ""})
            case "content_block_delta":
                block, delta = whole["content"][event["index"]], event["delta"]
                for key in ("text", "thinking", "signature"):
                    if key in delta:
                        block[key] += delta[key]
                block["partial"] += delta.get("partial_json", "")
            case "content_block_stop":
                block = whole["content"][event["index"]]
                if partial := block.pop("partial"):
                    block["input"] = json.loads(partial)
            case "message_delta":
                whole.update(event["delta"])
                whole["usage"] = {**whole["usage"], **event["usage"]}
    return whole


_text_blocks = st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=200))
_tool_blocks = st.builds(
    lambda value: {"type": "tool_use", "name": "weigh_lorry", "input": value},
    st.dictionaries(st.text(max_size=5), st.text(max_size=40) | st.integers() | st.booleans(), max_size=3),
)


@given(st.lists(_text_blocks | _tool_blocks, max_size=4), st.integers(0, 200))
def test_the_stream_says_what_the_whole_message_says(blocks: list[dict[str, Any]], max_tokens: int) -> None:
    whole = message(blocks, max_tokens)
    assert assembled(list(answers.events(whole))) == whole


def test_thinking_is_streamed_too() -> None:
    whole = message(answers.reply(asking("hello", thinking={"type": "enabled", "budget_tokens": 1024})))
    assert [block["type"] for block in whole["content"]] == ["thinking", "text"]
    assert assembled(list(answers.events(whole))) == whole


def test_an_input_without_members_is_one_empty_delta() -> None:
    whole = message([{"type": "tool_use", "name": "weigh_lorry", "input": {}}])
    deltas = [event["delta"] for event in answers.events(whole) if event["type"] == "content_block_delta"]
    assert deltas == [{"type": "input_json_delta", "partial_json": ""}]


def test_an_event_is_one_line_of_json_that_ends_with_blanks() -> None:
    framed = answers.frame({"type": "ping", "text": "a\nb\u2028é"}, 3)
    assert framed == 'event: ping\ndata: {"type":"ping","text":"a\\nb\u2028é"}       \n\n'.encode()


def test_a_tool_is_used_when_the_text_names_it() -> None:
    *_, block = answers.reply(asking("Please weigh the lorry HT 1241."))
    assert block == {"type": "tool_use", "name": "weigh_lorry", "input": {"deck": 1, "plate": "HT 1241"}}


@pytest.mark.parametrize(
    ("request_", "used"),
    [
        (asking("Good morning."), False),
        (asking("Please weigh the lorry.", tools=[]), False),
        (asking("Please weigh the lorry.", tool_choice={"type": "none"}), False),
        (asking("Good morning.", tool_choice={"type": "any"}), True),
        (asking("Good morning.", tool_choice={"type": "tool", "name": "weigh_lorry"}), True),
    ],
)
def test_tool_choice_is_kept(request_: dict[str, Any], used: bool) -> None:
    assert (answers.reply(request_)[-1]["type"] == "tool_use") is used


def test_after_a_tool_result_there_is_text() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "weigh lorry"}
    (block,) = answers.reply({"tools": [WEIGH], "messages": [{"role": "user", "content": [result]}]})
    assert block["type"] == "text"


def test_the_answer_ends_at_max_tokens() -> None:
    whole = message([{"type": "text", "text": "x" * 1000}], max_tokens=10)
    assert (len(whole["content"][0]["text"]), whole["stop_reason"], whole["usage"]["output_tokens"]) == (
        40,
        "max_tokens",
        10,
    )
    warming = message([{"type": "text", "text": "x"}], max_tokens=0)
    assert (warming["content"], warming["usage"]["output_tokens"]) == ([], 0)


def test_identifiers_differ_between_requests_and_not_between_runs() -> None:
    assert answers.token("msg", b"a", 1) == answers.token("msg", b"a", 1)
    assert len({answers.token("msg", body, n) for body in (b"a", b"b") for n in (1, 2)}) == 4


def test_an_alias_is_answered_by_its_snapshot() -> None:
    assert answers.served("claude-haiku-4-5") == "claude-haiku-4-5-20251001"
    assert answers.served("claude-opus-5-5[1m]") == "claude-opus-5-5"


def test_a_model_can_stand_for_an_error() -> None:
    assert (answers.error_of_model("error-529"), answers.error_of_model("claude-opus-5")) == (529, None)


def test_wishes_are_read() -> None:
    wanted = wish('error=429; retry-after=3;times=2 ; usage={"input_tokens": 10, "cache_read_input_tokens": null}')
    assert wanted == Wish(
        error=429, retry_after="3", times=2, usage={"input_tokens": 10, "cache_read_input_tokens": None}
    )
    assert wish("") == Wish()
    assert wish("hold").hold == float("inf")


@pytest.mark.parametrize("header", ["errror=429", "error=many", "usage={", "pace"])
def test_a_wish_that_cannot_be_granted_is_an_error(header: str) -> None:
    with pytest.raises(BadWish, match="x-stub"):
        wish(header)
