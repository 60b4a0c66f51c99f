"""Logs of other recorders: claude-trace, claude-tap and their like, as their packages write them."""

import gzip
import json
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_values import values
from saved_http import ASKED, BODY, EVENTS, SECRET, SSE, TEXT, USAGE, WHOLE, codes, counters, read

from analyzers.exchange import Exchange
from analyzers.readers.captures import LINE_LIMIT
from analyzers.readers.members import top_keys
from analyzers.readers.pairs import looks_like_pairs, read_pairs
from analyzers.wire.jsontext import dump

STREAM = {"content-type": "text/event-stream; charset=utf-8", "content-encoding": "gzip", "request-id": "req_9"}
JSON = {"Content-Type": "application/json"}


def trace(**changes: Any) -> dict[str, Any]:
    """A line of claude-trace 1.0.9."""
    request = {
        "timestamp": 1796032800.25,
        "method": "POST",
        "url": "https://api.anthropic.com/v1/messages?beta=true",
        "headers": {"content-type": "application/json", "x-api-key": "sk-ant-api...mnop"},
        "body": ASKED,
    }
    response = {"timestamp": 1796032800.5, "status_code": 200, "headers": STREAM} | changes.pop(
        "response", {"body_raw": SSE}
    )
    pair = {
        "request": request | changes.pop("request", {}),
        "response": response,
        "logged_at": "2026-11-30T10:00:01.750Z",
    }
    return pair | changes


def tap(**changes: Any) -> dict[str, Any]:
    """A line of claude-tap 0.1.146."""
    request = {
        "method": "POST",
        "path": "/v1/messages?beta=true",
        "headers": {"Host": "127.0.0.1:5000", "x-api-key": "sk-ant-api03..."},
        "body": ASKED,
    }
    response = {"status": 200, "headers": STREAM, "body": WHOLE} | changes.pop("response", {})
    return {
        "timestamp": "2026-11-30T10:00:01.750000+00:00",
        "request_id": "req_0123456789ab",
        "turn": 1,
        "duration_ms": 1500,
        "request": request | changes.pop("request", {}),
        "response": response,
        "upstream_base_url": "https://api.anthropic.com",
    } | changes


def lines(*records: Any) -> bytes:
    return b"".join(
        json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n" for record in records
    )


def one(record: Any) -> Exchange:
    exchanges, problems = read(read_pairs, lines(record))
    assert problems == [] and len(exchanges) == 1
    return exchanges[0]


@pytest.mark.parametrize("record", [trace(), tap(), tap(response={"sse_events": "none"})])
def test_both_recorders_give_the_same_exchange(record: dict[str, Any]) -> None:
    exchange = one(record)
    request, response = exchange.request, exchange.response
    assert request is not None and response is not None
    assert (exchange.place, exchange.ended) == ("file:1", "completed")
    assert (request.host, request.path, request.query) == ("api.anthropic.com", "/v1/messages", "beta=true")
    assert (request.body, request.reason) == (ASKED, None)
    assert (request.wire_bytes, request.steps, request.time) == (None, None, 1796032800.25)
    assert request.other_headers[-1] == "x-api-key"
    assert (response.status, response.time, response.last) == (200, 1796032801.75, 1.5)
    assert response.content == [{"type": "text", "text": TEXT}] and response.stop_reason == "end_turn"
    assert response.wire_bytes is None
    assert counters(exchange) == USAGE


def test_a_stream_kept_as_text_is_read_as_it_came() -> None:
    exchange = one(trace())
    assert exchange.response is not None
    assert (exchange.response.first_byte, exchange.response.decoded_bytes) == (0.25, len(SSE.encode()))
    assert codes(exchange) == set()
    plain = one(trace(response={"body_raw": SSE, "headers": {"content-type": "text/event-stream"}})).response
    assert plain is not None and plain.wire_bytes == len(SSE.encode())


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("name", ["sse_events", "events"])
def test_a_list_of_events_is_put_back_into_the_stream(name: str, as_text: bool) -> None:
    listed = [{"event": event["type"], "data": dump(event).decode() if as_text else event} for event in EVENTS]
    exchange = one(tap(response={"body": None, name: listed}))
    assert counters(exchange) == USAGE and exchange.ended == "completed"
    assert codes(exchange) == {"events_in_file"}
    cut = one(tap(response={"body": WHOLE, name: listed[:4]}))
    assert cut.ended == "upstream_cut" and counters(cut)["output_tokens"] is None


def test_an_answer_that_the_recorder_wrote_again_has_no_known_bytes() -> None:
    exchange = one(trace(response={"body": WHOLE, "headers": JSON}))
    assert counters(exchange) == USAGE and codes(exchange) == {"answer_rewritten"}
    assert exchange.response is not None and exchange.response.decoded_bytes is None
    own = one(tap(response={"body": WHOLE | {"usage": USAGE | {"cache_read_in_input": False}}}))
    assert counters(own) == USAGE and codes(own) == {"answer_rewritten"}
    assert own.response is not None and own.response.usage_raw == USAGE


def test_the_output_of_a_stream_that_was_cut_is_unknown_not_its_placeholder() -> None:
    cut = WHOLE | {"stop_reason": None, "usage": USAGE | {"output_tokens": 1}}
    exchange = one(tap(response={"body": cut}))
    assert exchange.ended == "upstream_cut"
    assert counters(exchange) == USAGE | {"output_tokens": None}
    assert codes(exchange) == {"answer_rewritten", "answer_unfinished"}


def test_what_a_recorder_answered_itself_is_no_answer() -> None:
    made_up = {"id": "msg_claude_tap_capture", "type": "message", "usage": {"input_tokens": 0, "output_tokens": 0}}
    exchange = one(tap(response={"body": made_up}))
    assert (exchange.response, exchange.ended) == (None, "not_recorded")


def test_a_request_without_an_answer_is_unanswered() -> None:
    exchange = one(trace() | {"response": None, "note": "ORPHANED_REQUEST - No matching response received"})
    assert (exchange.response, exchange.ended) == (None, "unanswered")
    failed = one(tap(response={"status": None, "error": f"https://h/?k={SECRET} refused"}))
    assert failed.ended == "unreachable" and failed.response is not None
    assert failed.response.failure == "https://h/?k=… refused"


def test_an_error_is_an_error_and_an_empty_answer_is_not_in_the_file() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    exchange = one(trace(response={"status_code": 529, "headers": JSON, "body": error}))
    assert exchange.ended == "error" and exchange.response is not None and exchange.response.error is not None
    assert exchange.response.error.type == "overloaded_error"
    text = one(tap(response={"status": 502, "headers": {}, "body": "Bad Gateway"}))
    assert text.ended == "error" and text.response is not None and text.response.body == "Bad Gateway"
    for nothing in ({"body_raw": ""}, {"body": None}, {}):
        assert codes(one(trace(response=nothing))) == {"body_not_in_file"}


def test_a_body_that_is_text_is_its_bytes() -> None:
    request = one(tap(request={"body": BODY.decode()})).request
    assert request is not None and request.body == ASKED
    assert (request.wire_bytes, request.reason) == (len(BODY), None)
    broken = one(trace(request={"body": "{"})).request
    assert broken is not None and broken.body is None and broken.wire_bytes == 1 and broken.reason
    missing = one(trace(request={"body": None})).request
    assert missing is not None and missing.reason == "the request's body is not in the file"


def test_lone_surrogates_and_numbers_stay_as_they_are_written() -> None:
    text = lines(trace()).replace(json.dumps(ASKED, ensure_ascii=False).encode(), rb'{"a":"\ud83d","b":1E2,"c":1.0}')
    (exchange,), problems = read(read_pairs, text)
    assert problems == [] and exchange.request is not None
    assert exchange.request.body == {"a": "\ud83d", "b": "1E2", "c": 1.0}


def test_line_separators_in_a_text_end_no_line() -> None:
    text = "a\u2028b\u0085c\x1cd"
    exchange = one(trace(request={"body": {"messages": [{"role": "user", "content": text}]}}))
    assert exchange.request is not None and exchange.request.body["messages"][0]["content"] == text


@pytest.mark.parametrize(
    ("request_part", "record_part", "host"),
    [
        ({"path": "/v1/messages", "headers": {"Host": "gw.example:8443"}}, {"upstream_base_url": None}, "gw.example"),
        ({"path": "/v1/messages", "headers": []}, {"upstream_base_url": None}, None),
        ({"url": "/v1/messages"}, {}, "api.anthropic.com"),
        ({"url": f"https://u:{SECRET}@h/v1/messages?key={SECRET}", "headers": [["cookie", SECRET]]}, {}, "h"),
    ],
)
def test_any_line_with_a_request_and_a_response_is_read(
    request_part: dict[str, Any], record_part: dict[str, Any], host: str | None
) -> None:
    exchange = one(tap(request=request_part, **record_part))
    assert exchange.request is not None and exchange.request.host == host
    assert counters(exchange) == USAGE and SECRET not in repr(exchange)


def test_a_time_that_is_not_there_is_unknown() -> None:
    exchange = one(tap(timestamp="yesterday"))
    assert exchange.request is not None and exchange.response is not None
    assert (exchange.request.time, exchange.response.time, exchange.response.last) == (None, None, None)
    assert "time_unreadable" in codes(exchange)
    milliseconds = one(trace(request={"timestamp": 1796032800250})).request
    assert milliseconds is not None and milliseconds.time == 1796032800.25


def test_what_cannot_be_used_is_named_or_counted() -> None:
    others = [
        trace(request={"url": "https://api.anthropic.com/v1/models", "method": "GET"}),
        tap(request={"path": "/v1/responses"}),
        tap(request={"path": "/v1/responses"}),
        tap(request={"method": "WEBSOCKET", "path": "/v1/responses"}),
        {"type": "session"},
        [1],
        {"request": None, "response": None},
        {"request": {}},
    ]
    data = lines(trace(), *others) + b"\n{nonsense}\n" + lines(tap()) + lines(tap())[:300]
    exchanges, problems = read(read_pairs, data)
    assert [exchange.place for exchange in exchanges] == ["file:1", "file:12"]
    assert problems == [
        "the line is not readable (not valid JSON at character 1: expected an object key) and was left out",
        "the line is not readable (the file was cut there, or is still being written) and was left out",
        "4 records were left out, with no request and its answer in it",
        "3 other HTTP requests were left out (most: POST /v1/responses (2), GET /v1/models (1))",
        "1 websocket connection was left out: their messages are not read",
    ]


def test_a_line_beyond_the_limit_is_left_out_and_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LINE_LIMIT > 300_000_000
    monkeypatch.setattr("analyzers.readers.pairs.LINE_LIMIT", len(lines(tap())) + 10)
    exchanges, problems = read(read_pairs, lines(tap(), tap(x="y" * 9000), tap()))
    assert [exchange.place for exchange in exchanges] == ["file:1", "file:3"]
    assert problems == ["the line is longer than any exchange and was left out"]


# fmt: off
known = st.sampled_from((
    "request", "response", "method", "url", "path", "headers", "body", "body_raw", "sse_events", "events",
    "event", "data", "status", "status_code", "timestamp", "duration_ms", "logged_at", "error", "usage",
    "stop_reason", "type",
))
# fmt: on
plausible = values | st.sampled_from(["POST", "/v1/messages", "message", 200, -1, 1796032800, SSE])
nested = st.recursive(plausible, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(known, inner, max_size=6))


@settings(max_examples=40)
@given(st.lists(st.dictionaries(known, nested, max_size=6), max_size=3), st.integers(0, 2000))
def test_nothing_in_a_file_raises(parts: list[dict[str, Any]], cut: int) -> None:
    usual = tap()
    for part in parts:
        usual["response"] = usual["response"] | part
        usual["request"] = usual["request"] | {"body": part, "headers": part.get("headers")}
    data = json.dumps(usual).encode() + b"\n" + b"".join(json.dumps(part).encode() + b"\n" for part in parts)
    exchanges, _ = read(read_pairs, data)
    assert len(exchanges) >= 1
    read(read_pairs, data[:cut])
    read(read_pairs, bundle(*parts, usual)[: cut + 1000])


# Bundles


def reference(name: str) -> dict[str, Any]:
    return {"__claude_tap_blob_ref__": {"version": 1, "kind": "json", "hash": name, "bytes": 600}}


def bundle(*records: Any, **blobs: Any) -> bytes:
    mark = {"version": 1, "encoding": "json-blob-ref", "record_count": len(records), "blob_count": len(blobs)}
    held = {name: {"kind": "json", "bytes": 600, "payload": value} for name, value in blobs.items()}
    return dump({"__claude_tap_compact_trace__": mark, "records": list(records), "blobs": held}) + b"\n"


def packed(record: Any, *paths: str) -> dict[str, Any]:
    mark = {
        "version": 1,
        "encoding": "json-blob-ref",
        "refs": [{"path": path, "hash": "h", "bytes": 1} for path in paths],
    }
    return {"__claude_tap_compact_record__": mark, "record": record}


def test_a_bundle_is_put_together_again() -> None:
    short = ASKED | {"messages": [reference("m"), reference("data")], "tools": reference("t")}
    record = packed(tap(request={"body": short}), "/request/body/messages/0", "/request/body/tools")
    data = bundle(record, tap(), m=ASKED["messages"][0], t=[{"name": "weigh"}])
    exchanges, problems = read(read_pairs, data)
    assert problems == [] and [counters(exchange) for exchange in exchanges] == [USAGE, USAGE]
    request = exchanges[0].request
    assert request is not None
    assert request.body["messages"] == [ASKED["messages"][0], reference("data")]  # the second is what the user sent
    assert request.body["tools"] == [{"name": "weigh"}]
    assert exchanges[1].request is not None and exchanges[1].request.body == ASKED


@pytest.mark.parametrize("path", ["/request/body/messages/0", "/request/body/messages/7", "/request/nothing", "", "/"])
def test_a_record_with_a_part_missing_is_left_out(path: str) -> None:
    short = ASKED | {"messages": [reference("gone")]}
    exchanges, problems = read(read_pairs, bundle(packed(tap(request={"body": short}), path), tap()))
    assert len(exchanges) == 1
    assert problems == ["record 1 refers to a part that is not in the bundle and was left out"]


@pytest.mark.parametrize(
    "change", [lambda data: data[:-40], lambda data: data.replace(b'"records":[]', b'"records":0')]
)
def test_a_broken_bundle_gets_one_sentence(change: Any) -> None:
    exchanges, problems = read(read_pairs, change(bundle()))
    assert exchanges == [] and len(problems) == 1 and problems[0].endswith("export it again")


@pytest.mark.parametrize(
    "data", [lines(tap(), tap(x="y" * 600_000), tap()), bundle(tap(), tap(x="y" * 600_000), tap())]
)
@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, bytes])
def test_a_compressed_log_is_read_alike(pack: Any, data: bytes) -> None:
    exchanges, problems = read(read_pairs, pack(data))
    assert problems == [] and [exchange.place for exchange in exchanges] == ["file:1", "file:2", "file:3"]


def test_a_bundle_beyond_the_limit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzers.readers.ctap.BUNDLE_LIMIT", 1000)
    exchanges, problems = read(read_pairs, bundle(tap(x="y" * 2000)))
    assert exchanges == []
    assert problems == ["the bundle is larger than 1,000 bytes: export it as JSON lines instead"]


def test_logs_of_pairs_are_told_by_their_keys() -> None:
    for data in (lines(trace()), lines(tap()), bundle(), lines(trace())[:200], lines(tap())[:300]):
        assert looks_like_pairs(top_keys(data))
    for other in (
        BODY,
        b'{"log":{"entries":[',
        b'{"kind":"request","id":"1","body":{',
        b'{"requests":[{"params":',
        b"",
        b"{}",
    ):
        assert not looks_like_pairs(top_keys(other))
