"""The content view, asked as mitmproxy asks it: which flows it takes, what it shows, and that nothing makes it fail."""

# mypy: disable-error-code="no-untyped-call"
# (mitmproxy's test tools have no types)

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mitmproxy import contentviews, http
from mitmproxy.test import taddons, tflow, tutils

from addon import flow_exchange
from addon.contentview import MessagesContentview, register, unregister
from addon.flow_exchange import NOT_OURS, Told, told_of, too_much

BODY = {
    "model": "claude-haiku-4-5",
    "max_tokens": 10,
    "system": "You weigh.",
    "messages": [{"role": "user", "content": [{"type": "text", "text": "grüß dich"}]}],
}
USAGE = {
    "input_tokens": 7,
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 4000,
    "output_tokens": 93,
    "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100},
}
ANSWER = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude-haiku-4-5-20251001",
    "content": [{"type": "text", "text": "hi"}],
    "stop_reason": "end_turn",
    "usage": USAGE,
}
RECORD: dict[str, Any] = {
    "time": "2026-11-30T15:19:51Z",
    "ended": "client_gone",
    "status": 200,
    "model": "claude-haiku-4-5-20251001",
    "stop_reason": None,
    "usage": USAGE,
    "first_byte": 0.25,
    "last": 1.5,
    "notes": [],
}


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    contentviews.registry._by_name.pop("weighbridge", None)  # of a recorder in another test
    with taddons.context():
        yield


@pytest.fixture
def view() -> Iterator[MessagesContentview]:
    told: dict[str, Told] = {}
    made = MessagesContentview(lambda flow: told.get(flow.id))
    made.records = told  # type: ignore[attr-defined]
    register(made)
    yield made
    unregister(made)


def flow(body: Any = BODY, answer: Any = ANSWER, path: str = "/v1/messages", method: str = "POST") -> http.HTTPFlow:
    """A flow whose answer mitmproxy kept. ``answer`` None: there is none yet."""
    raw = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    request = tutils.treq(method=method.encode(), path=path.encode(), content=raw, host="api.anthropic.com")
    request.headers = http.Headers(content_type="application/json")
    response: Any = False
    if answer is not None:
        said = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        response = tutils.tresp(content=said)
        response.headers = http.Headers(content_type="application/json")
    return tflow.tflow(req=request, resp=response)


def shown(
    flow: http.HTTPFlow, message: http.Message | None = None, view: str = "auto"
) -> contentviews.ContentviewResult:
    return contentviews.prettify_message(message or flow.request, flow, view)


# --- which flows


@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages",
        "/v1/messages?beta=true",
        "/gateway/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/model/anthropic.claude-haiku-4-5/invoke",
    ],
)
def test_it_is_chosen_by_itself_for_both_sides_of_the_apis_routes(view: MessagesContentview, path: str) -> None:
    one = flow(path=path)
    assert one.response
    assert shown(one).view_name == shown(one, one.response).view_name == "Weighbridge"


@pytest.mark.parametrize("path", ["/", "/v1/complete", "/v1/chat/completions", "/v1/messages/other", "/v1/models"])
def test_it_is_never_chosen_for_others(view: MessagesContentview, path: str) -> None:
    one = flow(path=path)
    assert one.response
    assert shown(one).view_name == shown(one, one.response).view_name == "JSON"


def test_other_views_can_still_be_chosen(view: MessagesContentview) -> None:
    assert json.loads(shown(flow(), view="json").text) == BODY


def test_what_is_no_answer_of_the_api_is_left_to_its_own_view(view: MessagesContentview) -> None:
    one = flow(answer=b"<html><body>502</body></html>")
    assert one.response
    one.response.headers["content-type"] = "text/html"
    assert shown(one, one.response).view_name == "XML/HTML"


def test_chosen_by_hand_for_another_flow_it_says_that_it_has_nothing_to_say(view: MessagesContentview) -> None:
    assert shown(flow(path="/other"), view="weighbridge").text == NOT_OURS
    websocket = tflow.twebsocketflow()
    assert websocket.websocket
    told = contentviews.prettify_message(websocket.websocket.messages[0], websocket, "weighbridge")
    assert told.text == NOT_OURS


def test_a_body_that_is_empty_is_not_shown(view: MessagesContentview) -> None:
    assert shown(flow(b"", method="GET", path="/v1/messages/batches/b1")).view_name != "Weighbridge"


# --- what is shown of a request


def test_a_request_is_shown_by_fields_blocks_structure_and_steps_to_the_wire(view: MessagesContentview) -> None:
    one = flow()
    lines = [line.split() for line in shown(one).text.split("\n")]
    assert ["system", "10", "15.6", "%"] in lines
    assert ["messages[0].content[0]", "9", "text", "text"] in lines
    assert ["messages:", "structure", "27", "keys,", "roles,", "types,", "ids,", "cache_control"] in lines
    assert ["total", "64"] in [line[:2] for line in lines]
    assert ["bytes", "on", "the", "wire", str(len(one.request.raw_content or b""))] in lines
    assert ["unexplained", "0"] in [line[:2] for line in lines]
    assert ["utf8", "2"] in [line[:2] for line in lines]


def test_a_request_tells_what_its_answer_cost(view: MessagesContentview) -> None:
    heading, cost = shown(flow()).text.split("\n")[:2]
    assert "claude-haiku-4-5-20251001 (asked for claude-haiku-4-5)  completed" in heading
    assert cost == "input 4,307 = 7 in + 300 cache write + 4,000 cache read   output 93"


def test_what_was_streamed_and_not_kept_is_known_from_the_record(view: MessagesContentview) -> None:
    one = flow(answer=b"")
    assert one.response
    one.response.raw_content = None
    assert "input ? " in shown(one).text  # never 0
    view.records[one.id] = told_of(12, {}, RECORD)  # type: ignore[attr-defined]
    heading, cost = shown(one).text.split("\n")[:2]
    assert heading.startswith("#12 ") and heading.endswith("client_gone 200")
    assert cost.startswith("input 4,307 = 7 in + 300 cache write + 4,000 cache read")


def test_a_request_under_way_says_so(view: MessagesContentview) -> None:
    one = flow(answer=None)
    one.live = True
    heading, cost = shown(one).text.split("\n")[:2]
    assert heading.endswith("in_flight") and cost == "the answer is still to come"


def test_a_compressed_request_is_weighed_down_to_the_wire(view: MessagesContentview) -> None:
    one = flow()
    raw = gzip.compress(one.request.raw_content or b"")
    one.request.headers["content-encoding"] = "gzip"
    one.request.raw_content = raw
    lines = [line.split() for line in shown(one).text.split("\n")]
    assert ["bytes", "on", "the", "wire", str(len(raw))] in lines
    assert ["unexplained", "0"] in [line[:2] for line in lines]


def test_a_message_thread_says_that_the_sizes_are_of_what_is_new(view: MessagesContentview) -> None:
    text = shown(flow(BODY | {"thread": {"type": "continue", "previous_message_id": "msg_0"}})).text
    assert "message thread: these are the sizes of what is new" in text


# --- what is shown of an answer


def test_an_answer_is_shown_by_its_counters(view: MessagesContentview) -> None:
    one = flow()
    text = shown(one, one.response).text
    figures = {" ".join(line.split()[:-1]): line.split()[-1] for line in text.split("\n") if line.split()}
    assert figures["input, not cached"] == "7"
    assert figures["cache write, 5 minutes"] == "200"
    assert figures["cache write, 1 hour"] == "100"
    assert figures["cache read"] == "4,000"
    assert figures["total input"] == "4,307"
    assert figures["output"] == "93"
    assert figures["of it thinking"] == "?"
    assert figures["model served"] == "claude-haiku-4-5-20251001"
    assert figures["stop reason"] == "end_turn"
    assert figures["ended"] == "completed"


def test_the_record_goes_before_the_body(view: MessagesContentview) -> None:
    one = flow()
    view.records[one.id] = told_of(3, {}, RECORD)  # type: ignore[attr-defined]
    text = shown(one, one.response).text
    assert "client_gone" in text and "1.500 s after the request" in text


def test_a_stream_that_was_kept_is_read(view: MessagesContentview) -> None:
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": ANSWER | {"content": [], "stop_reason": None}},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 41}},
        {"type": "message_stop"},
    ]
    one = flow(answer="".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode())
    assert one.response
    one.response.headers["content-type"] = "text/event-stream; charset=utf-8"
    result = shown(one, one.response)
    assert result.view_name == "Weighbridge" and "max_tokens" in result.text and "41" in result.text


def test_an_error_is_told_with_its_id(view: MessagesContentview) -> None:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    one = flow(answer={"type": "error", "error": error, "request_id": "req_9"})
    assert one.response
    one.response.status_code = 529
    assert "error: overloaded_error: Overloaded (req_9)" in shown(one, one.response).text
    assert "error: overloaded_error: Overloaded (req_9)" in shown(one).text


def test_a_count_of_tokens_is_no_usage(view: MessagesContentview) -> None:
    one = flow(answer={"input_tokens": 4623}, path="/v1/messages/count_tokens")
    assert "counted: 4,623 input tokens" in shown(one).text
    assert "4,623" in shown(one, one.response).text
    view.records[one.id] = told_of(3, {}, RECORD | {"usage": None, "body": {"input_tokens": 4623}})  # type: ignore[attr-defined]
    assert "counted: 4,623 input tokens" in shown(one).text


# --- nothing makes it fail, or take long


def test_a_body_of_too_many_bytes_is_not_taken_apart_and_its_recorded_sizes_are_shown(
    view: MessagesContentview, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_exchange, "MOST_BYTES", 100)
    one = flow()
    figures = {"fields": {"system": 10, "messages": 32}, "total": 42}
    view.records[one.id] = told_of(1, {"figures": figures}, RECORD)  # type: ignore[attr-defined]
    text = shown(one).text
    assert "no blocks: more than 100 bytes are not taken apart here; `weighbridge show` does" in text
    assert "messages[0]" not in text
    assert ["messages", "32"] in [line.split() for line in text.split("\n")]
    assert "input 4,307" in text


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":' + b"[" * 500_000 + b"]" * 500_000 + b"}",
        b'{"messages":[' + b",".join([b"1"] * 600_000) + b"]}",
        b"{" + b",".join([b'"a":1'] * 200_000) + b"}",
        b'{"messages":[' + b",".join([b"{}"] * 400_000) + b"]}",
        b'{"messages":[' + b",".join(b'{"%d":[]}' % number for number in range(100_000)) + b"]}",
        b'{"messages":["' + b"\\ud800a" * 300_000 + b'"]}',
    ],
    ids=["deep", "numbers", "duplicate keys", "objects", "distinct keys", "lone surrogates"],
)
def test_a_body_of_too_many_parts_is_told_at_once(body: bytes) -> None:
    began = time.process_time()
    assert too_much(body) is not None
    assert time.process_time() - began < 0.5


def test_long_texts_are_no_parts(view: MessagesContentview) -> None:
    text = "def weigh(lorry, scale): return [lorry[0], {'kg': 1}]\n" * 20_000  # a million characters, full of marks
    one = flow(BODY | {"system": text})
    assert too_much(one.request.raw_content or b"") is None
    assert ["system", f"{len(text):,}"] in [line.split()[:2] for line in shown(one).text.split("\n")]


def test_a_stream_of_too_many_events_is_not_read() -> None:
    events = b"data: {}\n\n" * 500_000
    assert too_much(events, events=True) is not None
    assert too_much(events[:1_000_000], events=True) is None


def test_a_body_with_too_much_to_tell_is_cut_with_a_word(view: MessagesContentview) -> None:
    fields = b",".join(b'"f%d":1' % number for number in range(20_000))
    lines = shown(flow(b"{" + fields + b"}")).text.split("\n")
    assert len(lines) == 5_001 and lines[-1].startswith("… and more: 5,000 lines are shown here")
    again = shown(flow(b"{" + b",".join([b'"a":1'] * 1_000) + b"}")).text.split("\n")
    assert again[-1] == "… and 959 more notes"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00\xff\xfe",
        b"{",
        b"null",
        b"[]",
        b'"\\ud800"',
        b'{"messages":{"a":1e400}}',
        b'{"messages":[[[[1]]]],"system":3,"tools":{"a":[]}}',
        b'{"' + "\u202e\x1b[31m".encode() + b'":1}',
        b'{"messages":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
        b'{"messages":[' + b"9" * 6000 + b"]}",
    ],
)
def test_hostile_bodies_are_shown_as_what_they_are(view: MessagesContentview, body: bytes) -> None:
    one = flow(body, body)
    for message in (one.request, one.response):
        text = shown(one, message, "weighbridge").text
        assert "could not take this apart" not in text
        assert "\x1b" not in text and "\u202e" not in text


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["gzip", "br", "zstd", "identity", "\x00"]))
def test_it_never_raises(raw: bytes, encoding: str) -> None:
    view = MessagesContentview(lambda flow: None)
    one = flow(b"{}", b"{}")
    assert one.response
    for message in (one.request, one.response):
        message.headers["content-encoding"] = encoding
        message.raw_content = raw
        metadata = contentviews.Metadata(flow=one, http_message=message, content_type="application/json")
        assert view.render_priority(raw, metadata) == (2 if raw else -1)
        assert "could not" not in view.prettify(raw, metadata)


def test_whatever_fails_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(flow: http.HTTPFlow) -> Told | None:
        raise RuntimeError("out of order")

    one = flow()
    metadata = contentviews.Metadata(flow=one, http_message=one.request)
    text = MessagesContentview(fails).prettify(b"{}", metadata)
    assert text.startswith("weighbridge could not take this apart (RuntimeError: out of order): choose another view")


# --- coming and going


def test_it_goes_as_it_came() -> None:
    before = contentviews.registry.available_views()
    view = MessagesContentview(lambda flow: None)
    register(view)
    assert set(contentviews.registry.available_views()) - set(before) == {"weighbridge"}
    unregister(view)
    unregister(view)
    assert contentviews.registry.available_views() == before


def test_one_that_has_come_in_its_place_stays() -> None:
    old, new = MessagesContentview(lambda flow: None), MessagesContentview(lambda flow: None)
    register(old)
    register(new)
    unregister(old)
    assert contentviews.registry["weighbridge"] is new
    unregister(new)
