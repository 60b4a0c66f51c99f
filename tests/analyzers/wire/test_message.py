"""Messages put together from events."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.wire.jsontext import Json, Number
from analyzers.wire.message import ApiError, Assembler, Message, read_error, read_message
from analyzers.wire.note import Note, Notebook

START: dict[str, Any] = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-1-20300101",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1},
    },
}
STOP = {"type": "message_stop"}


def end(reason: str = "end_turn", **usage: Json) -> dict[str, Any]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": usage or {"output_tokens": 7}}


def begin(index: int, kind: str, **members: Json) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **members}}


def delta(index: int, kind: str, **members: Json) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **members}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def block(kind: str, members: dict[str, Json], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [begin(0, kind, **members), *deltas, stop(0)]


def assembled(*events: Json) -> tuple[Assembler, Message, tuple[Note, ...]]:
    book = Notebook()
    assembler = Assembler(book)
    for event in events:
        assembler.take(event)
    return assembler, assembler.finish() or Message(), book.notes()


def content_of(*events: dict[str, Any]) -> tuple[list[Any] | None, list[tuple[str, str]]]:
    _, message, notes = assembled(START, *events, end(), STOP)
    return message.content, [(note.code, note.path) for note in notes]


# Whole messages


def test_a_message_of_text() -> None:
    events = [START, begin(0, "text", text=""), delta(0, "text_delta", text="Hel"), {"type": "ping"}]
    assembler, message, notes = assembled(*events, delta(0, "text_delta", text="lo"), stop(0), end(), STOP)
    assert message == Message(
        model="m-1-20300101",
        id="msg_1",
        stop_reason="end_turn",
        content=[{"type": "text", "text": "Hello"}],
        usage={"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 7},
        usage_start=START["message"]["usage"],
        usage_delta={"output_tokens": 7},
        rest={"stop_sequence": None},
    )
    assert notes == ()
    assert (assembler.complete, assembler.saw_content, assembler.error) == (True, True, None)
    assert assembler.events == {
        "message_start": 1,
        "content_block_start": 1,
        "content_block_delta": 2,
        "ping": 1,
        "content_block_stop": 1,
        "message_delta": 1,
        "message_stop": 1,
    }


def test_content_is_seen_at_the_first_delta_and_the_end_at_message_stop() -> None:
    assembler = Assembler(Notebook())
    seen = []
    for event in [START, begin(0, "text", text=""), delta(0, "text_delta", text="x"), stop(0), end(), STOP]:
        assembler.take(event)
        seen.append((assembler.saw_content, assembler.complete))
    assert seen == [(False, False)] * 2 + [(True, False)] * 3 + [(True, True)]


def test_blocks_stand_in_the_order_in_which_they_began() -> None:
    interleaved = [
        begin(0, "text", text=""),
        begin(1, "text", text=""),
        delta(1, "text_delta", text="b"),
        delta(0, "text_delta", text="a"),
        stop(0),
        stop(1),
    ]
    assert content_of(*interleaved) == ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], [])


def test_a_message_without_content_is_an_empty_list() -> None:
    assert content_of() == ([], [])


def test_no_message_at_all() -> None:
    assert Assembler(Notebook()).finish() is None
    assert assembled({"type": "ping"})[1] == Message()


# Blocks and deltas


def test_thinking_is_joined_and_its_signature_replaces() -> None:
    deltas = [
        delta(0, "thinking_delta", thinking="Let ", estimated_tokens=5),
        delta(0, "thinking_delta", thinking="me see"),
        delta(0, "signature_delta", signature="old"),
        delta(0, "signature_delta", signature="Eq=="),
    ]
    content, notes = content_of(*block("thinking", {"thinking": "", "signature": ""}, *deltas))
    assert content == [{"type": "thinking", "thinking": "Let me see", "signature": "Eq=="}]
    assert notes == []


def tool(*pieces: str) -> list[dict[str, Any]]:
    members: dict[str, Json] = {"id": "toolu_1", "name": "grep", "input": {}}
    return block("tool_use", members, *(delta(0, "input_json_delta", partial_json=piece) for piece in pieces))


@pytest.mark.parametrize(
    ("pieces", "value"),
    [
        (("", '{"pa', 'th":"a\\u00e9",', '"n":[1,2]}'), {"path": "aé", "n": [1, 2]}),
        ((), {}),
        (("",), {}),
        (('{"x":1E2}',), {"x": Number("1E2")}),
        (('{"e":"\\ud8', '3d\\ude00"}'), {"e": "😀"}),
    ],
)
def test_a_tools_input_is_parsed_from_its_pieces(pieces: tuple[str, ...], value: Json) -> None:
    content, notes = content_of(*tool(*pieces))
    assert content == [{"type": "tool_use", "id": "toolu_1", "name": "grep", "input": value}]
    assert notes == []


def test_an_input_that_was_cut_stays_as_text() -> None:
    content, notes = content_of(*tool('{"path":"a', ""))
    assert content is not None and content[0]["input"] == '{"path":"a'
    assert notes == [("input_incomplete", "content[0].input")]


def test_what_is_odd_in_an_input_is_told_with_its_place() -> None:
    content, notes = content_of(*tool('{"a":{"k":1,"k":2}}'))
    assert content is not None and content[0]["input"] == {"a": {"k": 2}}
    assert notes == [("duplicate_key", "content[0].input.a.k")]


def test_an_input_of_any_depth() -> None:
    content, notes = content_of(*tool('{"a":' + "[" * 5000, "]" * 5000 + "}"))
    assert content is not None and notes == []
    depth, inner = 0, content[0]["input"]["a"]
    while inner:
        depth, inner = depth + 1, inner[0]
    assert depth == 4999


def test_citations_are_collected() -> None:
    deltas = [delta(0, "citations_delta", citation={"cited_text": text}) for text in ("a", "b")]
    content, notes = content_of(*block("text", {"text": "", "citations": None}, *deltas))
    assert content == [{"type": "text", "text": "", "citations": [{"cited_text": "a"}, {"cited_text": "b"}]}]
    content, _ = content_of(*block("text", {"text": "", "citations": [{"cited_text": "0"}]}, *deltas))
    assert content is not None and len(content[0]["citations"]) == 3
    assert notes == []


def test_a_compaction_takes_the_members_of_its_delta() -> None:
    change = delta(0, "compaction_delta", content="summary", encrypted_content=None)
    content, notes = content_of(*block("compaction", {"content": None}, change))
    assert content == [{"type": "compaction", "content": "summary", "encrypted_content": None}]
    assert notes == []


def test_text_that_the_start_already_has_comes_first() -> None:
    content, _ = content_of(*block("text", {"text": "a"}, delta(0, "text_delta", text="b")))
    assert content == [{"type": "text", "text": "ab"}]


def test_halves_of_one_character_in_two_deltas_are_one_character() -> None:
    deltas = [delta(0, "text_delta", text="a\ud83d"), delta(0, "text_delta", text="\ude00b\ud83d")]
    content, _ = content_of(*block("text", {"text": ""}, *deltas))
    assert content == [{"type": "text", "text": "a😀b\ud83d"}]


def test_unknown_deltas_and_blocks_are_kept_by_name_and_told() -> None:
    pieces = [delta(0, "audio_delta", data="AA"), delta(0, "audio_delta", data="BB")]
    content, notes = content_of(*block("audio", {"format": "x"}, *pieces))
    kept = [{"type": "audio_delta", "data": "AA"}, {"type": "audio_delta", "data": "BB"}]
    assert content == [{"type": "audio", "format": "x", "audio_delta": kept}]
    assert notes == [("unknown_block", "content[0]"), ("unknown_delta", ""), ("unknown_delta", "")]


def test_a_delta_for_a_block_that_never_began() -> None:
    content, notes = content_of(delta(3, "text_delta", text="a"), delta(3, "text_delta", text="b"), stop(3))
    assert content == [{"type": "text", "text": "ab"}]
    assert notes == [("delta_without_start", "")]


def test_a_block_that_never_ends_is_told() -> None:
    content, notes = content_of(begin(0, "text", text=""), delta(0, "text_delta", text="a"))
    assert content == [{"type": "text", "text": "a"}]
    assert notes == [("block_unfinished", "content[0]")]


def test_an_index_used_twice_loses_nothing() -> None:
    twice = block("text", {"text": "a"}) + block("text", {"text": ""}, delta(0, "text_delta", text="b"))
    assert content_of(*twice) == ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], [])


def test_a_hundred_thousand_deltas_are_joined_once() -> None:
    deltas = [delta(0, "text_delta", text="abcde")] * 100_000
    content, _ = content_of(*block("text", {"text": ""}, *deltas))
    assert content == [{"type": "text", "text": "abcde" * 100_000}]


# Usage, models, and what else a message says


def test_a_stream_cut_before_its_message_delta_has_unknown_output() -> None:
    _, message, notes = assembled(START, begin(0, "text", text=""))
    assert message.usage == {"input_tokens": 10, "cache_read_input_tokens": 5}
    assert (message.usage_delta, message.stop_reason) == (None, None)
    assert "output_unknown" in [note.code for note in notes]


def test_a_message_delta_without_usage_has_unknown_output() -> None:
    closing = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    _, message, notes = assembled(START, closing, STOP)
    assert message.usage == {"input_tokens": 10, "cache_read_input_tokens": 5}
    assert message.stop_reason == "end_turn"
    assert [note.code for note in notes] == ["output_unknown"]


def test_of_several_message_deltas_the_last_says_the_total() -> None:
    _, message, _ = assembled(START, end(output_tokens=3, input_tokens=12), end("max_tokens", output_tokens=9), STOP)
    assert message.usage == {"input_tokens": 12, "cache_read_input_tokens": 5, "output_tokens": 9}
    assert message.usage_delta == {"output_tokens": 9, "input_tokens": 12}
    assert message.stop_reason == "max_tokens"


FALLBACK = begin(1, "fallback", **{"from": {"model": "m-1"}, "to": {"model": "m-2"}, "trigger": {"type": "refusal"}})


def test_the_fallback_that_served_is_the_model_even_when_the_stream_is_cut() -> None:
    _, message, notes = assembled(START, begin(0, "text", text=""), stop(0), FALLBACK, stop(1))
    assert message.model == "m-2"
    assert [note.code for note in notes] == ["output_unknown"]


def test_the_iterations_of_a_fallback_reach_the_usage() -> None:
    passes = [
        {"type": "message", "model": "m-1", "input_tokens": 500, "output_tokens": 40},
        {"type": "fallback_message", "model": "m-3", "input_tokens": 520, "output_tokens": 200},
    ]
    closing = end(input_tokens=520, output_tokens=200, iterations=passes)
    _, message, _ = assembled(START, FALLBACK, stop(1), closing, STOP)
    assert message.model == "m-3"
    assert message.usage is not None
    assert (message.usage["iterations"], message.usage["output_tokens"]) == (passes, 200)


def test_what_has_no_place_of_its_own_is_kept_by_name() -> None:
    start = {"type": "message_start", "message": START["message"] | {"diagnostics": {"cache_miss_reason": None}}}
    closing = end() | {"context_management": {"applied_edits": []}}
    metrics = {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 9}}
    _, message, notes = assembled(start, closing, metrics)
    assert message.rest == {
        "stop_sequence": None,
        "diagnostics": {"cache_miss_reason": None},
        "context_management": {"applied_edits": []},
        "amazon-bedrock-invocationMetrics": {"inputTokenCount": 9},
    }
    assert notes == ()


# Events that are odd


def test_unknown_events_are_counted_by_name_and_told() -> None:
    assembler, _, notes = assembled(START, {"type": "vote"}, {"type": "vote"}, end(), STOP)
    assert assembler.events["vote"] == 2
    assert [note.code for note in notes] == ["unknown_event", "unknown_event"]


def test_the_names_that_are_counted_are_bounded() -> None:
    assembler, _, notes = assembled(*({"type": f"e{number}"} for number in range(1000)))
    assert (len(assembler.events), assembler.events["(other)"], sum(assembler.events.values())) == (65, 936, 1000)
    assert len(notes) < 20


def test_the_type_in_the_json_wins_over_the_name() -> None:
    book = Notebook()
    assembler = Assembler(book)
    assembler.take(STOP, "ping")
    assert (assembler.complete, assembler.events) == (True, {"message_stop": 1})
    assert [note.code for note in book.notes()] == ["event_name_mismatch"]


def test_an_event_without_a_type_goes_by_its_name() -> None:
    assembler = Assembler(Notebook())
    assembler.take({}, "message_stop")
    assert assembler.complete


def test_a_second_message_start_does_not_replace_the_first() -> None:
    again = {"type": "message_start", "message": {"id": "msg_2", "usage": {"input_tokens": 99}}}
    _, message, notes = assembled(START, again, end(), STOP)
    assert (message.id, message.usage and message.usage["input_tokens"]) == ("msg_1", 10)
    assert [note.code for note in notes] == ["repeated_start"]


# Errors


def test_an_error_event_leaves_what_came_before() -> None:
    said = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"}
    assembler, message, notes = assembled(START, begin(0, "text", text=""), delta(0, "text_delta", text="a"), said)
    assert assembler.error == ApiError("overloaded_error", "Overloaded", "req_1")
    assert (assembler.error_body, assembler.complete) == (said, False)
    assert message.content == [{"type": "text", "text": "a"}]
    assert message.usage == {"input_tokens": 10, "cache_read_input_tokens": 5}
    assert [note.code for note in notes] == ["output_unknown", "block_unfinished"]


def test_the_first_error_is_the_one_that_counts() -> None:
    errors = [{"type": "error", "error": {"type": kind, "message": "no"}} for kind in ("first", "second")]
    assembler, _, _ = assembled(START, *errors)
    assert assembler.error == ApiError("first", "no", None)
    assert (assembler.error_body, assembler.events["error"]) == (errors[0], 2)


@pytest.mark.parametrize(
    ("event", "name", "kind", "message"),
    [
        ({"error": {"message": "no"}}, "", None, "no"),
        ({"type": "overloaded_error", "message": "no"}, "error", "overloaded_error", "no"),
        ({}, "error", None, None),
        ("no", "error", None, "no"),
        ({"type": "odd", "error": {"type": "x", "message": "no"}}, "", "x", "no"),
    ],
)
def test_errors_in_other_dress(event: Json, name: str, kind: str | None, message: str | None) -> None:
    assembler = Assembler(Notebook())
    assembler.take(event, name)
    assert assembler.error == ApiError(kind, message, None)
    assert assembler.events == {"error": 1}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"type": "error", "error": {"type": "t", "message": "m"}, "request_id": "r"}, ApiError("t", "m", "r")),
        ({"type": "error", "error": {"type": None, "message": 5}}, ApiError(None, None, None)),
        ({"error": {"code": 429, "message": "m", "status": "NO_MORE"}}, ApiError("NO_MORE", "m", None)),
        ([{"error": {"status": "S", "message": "m"}}], ApiError("S", "m", None)),
        ({"error": "m"}, ApiError(None, "m", None)),
        ({"message": "m"}, ApiError(None, "m", None)),
        ({"Message": "m", "__type": "com.amazon#ThrottlingException"}, ApiError("ThrottlingException", "m", None)),
        ({"detail": "m"}, ApiError(None, "m", None)),
        ({"input_tokens": 3}, ApiError(None, None, None)),
        (5, None),
        ([], None),
    ],
)
def test_error_bodies_of_all_vendors(body: Json, error: ApiError | None) -> None:
    assert read_error(body, failed=True) == error


@pytest.mark.parametrize("body", [{"message": "m"}, {"input_tokens": 3}, {"error": None}, {"type": "message"}, "m"])
def test_a_body_that_only_a_failure_makes_an_error(body: Json) -> None:
    assert read_error(body, failed=False) is None


# Messages that come whole


def test_a_message_in_one_body() -> None:
    content = [{"type": "text", "text": "Hi"}]
    body = START["message"] | {"content": content, "stop_reason": "end_turn", "diagnostics": None}
    book = Notebook()
    assert read_message(body, book) == Message(
        model="m-1-20300101",
        id="msg_1",
        stop_reason="end_turn",
        content=[{"type": "text", "text": "Hi"}],
        usage={"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1},
        rest={"stop_sequence": None, "diagnostics": None},
    )
    assert book.notes() == ()


def test_a_message_of_odd_parts_is_told() -> None:
    book = Notebook()
    message = read_message({"model": 5, "content": "text", "usage": []}, book)
    assert message == Message()
    assert [note.code for note in book.notes()] == ["content_malformed", "usage_malformed"]


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
shapes = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=3), scalars, max_size=2)
kinds = st.sampled_from([*"0", "message_start", "content_block_start", "content_block_delta", "message_delta", "error"])
types = st.sampled_from(["text_delta", "input_json_delta", "citations_delta", "signature_delta", "compaction_delta"])
inner = st.fixed_dictionaries(
    {}, optional={"type": types | shapes, "text": shapes, "partial_json": shapes, "usage": shapes, "to": shapes}
)
odd_events = st.fixed_dictionaries(
    {"type": kinds | shapes},
    optional={
        "index": st.integers(0, 1) | shapes,
        "delta": inner | shapes,
        "content_block": inner | shapes,
        "message": inner | shapes,
        "usage": shapes,
        "error": shapes,
    },
)


@given(st.lists(odd_events | shapes, max_size=8), st.sampled_from(["", "error", "ping"]))
def test_no_events_raise(events: list[Json], name: str) -> None:
    assembler = Assembler(Notebook())
    for event in events:
        assembler.take(event, name)
    assembler.finish()
    assert sum(assembler.events.values()) == len(events)
