"""mitmproxy flow files: what of them becomes an exchange, what is told instead, and how damage is passed over."""

# mypy: disable-error-code="no-untyped-call"
# (mitmproxy's test tools have no types)

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mitmproxy import flow as base
from mitmproxy import http
from mitmproxy.addons.modifybody import ModifyBody
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import ConnectionState
from mitmproxy.io import compat, tnetstring
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import taddons, tflow, tutils

from addon.recorder import Recorder
from addon.tap import ResponseTap
from analyzers.exchange import Exchange, Request, Response
from analyzers.readers.captures import CaptureStream
from analyzers.readers.flows import MOST_TOLD, looks_like_flows, read_flows
from analyzers.readers.source import Source
from analyzers.sizes import request_ledger

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BODY = b'{"model":"claude-haiku-4-5","max_tokens":10,"messages":[{"role":"user","content":"hello"}]}'
MESSAGE: dict[str, Any] = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude-haiku-4-5-20251001",
    "content": [],
    "stop_reason": None,
    "usage": {"input_tokens": 10, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 0, "output_tokens": 1},
}
JSON = json.dumps(MESSAGE | {"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}).encode()
TEXT = "威伈雲山水火風林天地🙂"
SSE = "text/event-stream"


def event(kind: str, **members: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members}, ensure_ascii=False)}\n\n".encode()


EVENTS = (
    event("message_start", message=MESSAGE),
    event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": TEXT}),
    event("content_block_stop", index=0),
    event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 7}),
    event("message_stop"),
)
STREAM = b"".join(EVENTS)


def fields(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]


def flow(path: str = "/v1/messages", body: bytes | None = BODY, method: str = "POST", **headers: str) -> http.HTTPFlow:
    """A flow whose request was complete a second after it began, 1,700,000,000 s after the epoch."""
    request = tutils.treq(
        method=method.encode(), path=path.encode(), content=body, host="api.anthropic.com", headers=fields(headers)
    )
    request.timestamp_start, request.timestamp_end = 1_700_000_000.25, 1_700_000_001.25
    return tflow.tflow(req=request)


def answer(body: bytes | None = STREAM, status: int = 200, kind: str | None = SSE, **headers: str) -> http.Response:
    """A response that began two seconds after the request was complete, and took three more."""
    given = fields(headers | ({"content_type": kind} if kind is not None else {}))
    response = tutils.tresp(status_code=status, content=body, headers=given)
    response.timestamp_start, response.timestamp_end = 1_700_000_003.25, 1_700_000_006.25
    return response


def answered(body: bytes | None = STREAM, *, path: str = "/v1/messages", **rest: Any) -> http.HTTPFlow:
    found = flow(path)
    found.response = answer(body, **rest)
    return found


def failed(message: str, head: http.Response | None = None) -> http.HTTPFlow:
    found = flow()
    found.response = head
    found.error = base.Error(message, 1_700_000_009.0)
    return found


def cut_head() -> http.Response:
    """The head of an answer that never ended, as mitmproxy saves it: with neither a body nor an end time."""
    head = answer(None)
    head.timestamp_end = None
    return head


def dumped(*flows: Any) -> bytes:
    """Flows, or states of flows, as mitmproxy writes them."""
    states = [found if isinstance(found, dict) else found.get_state() for found in flows]
    return b"".join(tnetstring.dumps(state) for state in states)


def read(data: bytes | BinaryIO) -> tuple[list[Exchange], list[str]]:
    """The exchanges of a flow file, and the sentences about the rest."""
    source = Source(io.BytesIO(data) if isinstance(data, bytes) else data, "f", "f")
    found = list(read_flows(source))
    return found, [problem.text for problem in source.problems]


def only(*flows: Any) -> Exchange:
    """The one exchange of flows, without any problem."""
    (found,), problems = read(dumped(*flows))
    assert problems == []
    return found


def sides(exchange: Exchange) -> tuple[Request, Response]:
    assert exchange.request is not None and exchange.response is not None
    return exchange.request, exchange.response


def text_of(exchange: Exchange) -> str:
    text = sides(exchange)[1].content[0]["text"]
    assert type(text) is str
    return text


def codes(notes: Any) -> set[str]:
    return {note.code for note in notes}


# --- an exchange


def test_a_flow_is_an_exchange() -> None:
    found = flow("/v1/messages?beta=true&key=SECRET", x_api_key="SECRET", user_agent="me")
    found.response = answer(request_id="req_1")
    exchange = only(found)
    request, response = sides(exchange)
    assert (request.method, request.host, request.path) == ("POST", "api.anthropic.com", "/v1/messages")
    assert (request.query, request.route, request.time) == ("beta=true&key=…", "messages", 1_700_000_000.25)
    assert request.headers["user-agent"] == "me" and "x-api-key" in request.other_headers
    assert (request.body, request.wire_bytes, request.notes) == (json.loads(BODY), len(BODY), ())
    assert (exchange.ended, exchange.place, response.status) == ("completed", "f:1", 200)
    assert (response.model, response.headers["request-id"]) == ("claude-haiku-4-5-20251001", "req_1")
    assert response.usage is not None and response.usage.output_tokens == 7
    assert response.wire_bytes == len(STREAM)
    assert "SECRET" not in repr(exchange)
    ledger = request_ledger(request)
    assert ledger is not None and ledger.closes and ledger.wire is not None and ledger.wire.sum() == len(BODY)


def test_durations_count_from_the_complete_request() -> None:
    response = sides(only(answered()))[1]
    assert (response.first_byte, response.last, response.time) == (2.0, 5.0, 1_700_000_006.25)


def test_a_clock_that_was_set_back_gives_no_negative_durations() -> None:
    found = answered()
    assert found.response is not None
    found.response.timestamp_start = 1_600_000_000.0
    assert sides(only(found))[1].first_byte == 0.0


def test_places_are_numbers_of_flows() -> None:
    found, _ = read(dumped(answered(), answered(path="/api/hello"), answered()))
    assert [exchange.place for exchange in found] == ["f:1", "f:3"]


def test_headers_and_paths_of_any_bytes() -> None:
    found = answered()
    found.request.headers.fields += ((b"user-agent", b"\xff\xfe"), (b"\xe9", b"x"))
    found.request.data.path = b"/v1/messages?limit=\xff"
    request = sides(only(found))[0]
    assert (request.headers["user-agent"], request.other_headers, request.query) == (
        "\udcff\udcfe",
        ("\udce9",),
        "limit=…",
    )


@pytest.mark.parametrize(
    ("mode", "address", "named", "host"),
    [
        ("regular", "api.anthropic.com", "evil.example", "api.anthropic.com"),
        ("transparent", "203.0.113.5", "user:SECRET@api.anthropic.com", "api.anthropic.com"),
        ("transparent@8080", "203.0.113.5", "[2001:db8::1]:443", "2001:db8::1"),
        ("transparent", "203.0.113.5", "api.anthropic.com:8443", "api.anthropic.com"),
        ("transparent", "203.0.113.5", "", "203.0.113.5"),
        ("reverse:http://203.0.113.5", "203.0.113.5", "localhost", "203.0.113.5"),
    ],
)
def test_the_host_is_where_the_request_goes(mode: str, address: str, named: str, host: str) -> None:
    found = flow(host=named)
    found.response = answer()
    found.request.data.host = address
    found.client_conn.proxy_mode = ProxyMode.parse(mode)
    assert sides(only(found))[0].host == host


def test_a_replayed_request_says_so() -> None:
    found = answered()
    found.is_replay = "request"
    assert codes(sides(only(found))[0].notes) == {"replayed"}
    found.is_replay = "response"
    assert codes(sides(only(found))[1].notes) == {"answered_locally"}


def test_trailers_are_nothing() -> None:
    found = answered()
    assert found.response is not None
    found.request.http_version = found.response.http_version = "HTTP/2.0"
    found.response.trailers = http.Headers([(b"grpc-status", b"0")])
    assert (only(found).ended, sides(only(found))[1].notes) == ("completed", ())


def test_an_expectation_is_no_error() -> None:
    found = flow(expect="100-continue")
    found.response = answer()
    assert (only(found).ended, sides(only(found))[1].status) == ("completed", 200)


def test_an_informational_status_is_not_the_answer() -> None:
    found = flow()
    found.response = answer(b"", 103, None)
    exchange = only(found)
    response = sides(exchange)[1]
    assert (exchange.ended, response.status, codes(response.notes)) == ("unreachable", None, {"informational"})


def test_attempts_of_one_call_are_kept_apart_and_can_be_told_together() -> None:
    attempts = []
    for count, status in enumerate((529, 429, 200)):
        attempts.append(flow(x_stainless_retry_count=str(count)))
        attempts[-1].response = answer(STREAM if status == 200 else b"{}", status, retry_after="3")
    found, problems = read(dumped(*attempts))
    assert ([exchange.ended for exchange in found], problems) == (["error", "error", "completed"], [])
    requests, responses = zip(*map(sides, found), strict=True)
    assert requests[0].fingerprint is not None and len({request.fingerprint for request in requests}) == 1
    assert [request.headers["x-stainless-retry-count"] for request in requests] == ["0", "1", "2"]
    assert responses[1].headers["retry-after"] == "3"


# --- bodies


def test_a_body_that_was_not_stored_is_not_there() -> None:
    exchange = only(answered(None))
    response = sides(exchange)[1]
    assert (exchange.ended, response.wire_bytes, response.usage) == ("completed", None, None)
    assert codes(response.notes) == {"body_not_in_file"}


def test_an_empty_body_is_there_and_empty() -> None:
    response = sides(only(answered(b"", kind="application/json", content_length="0")))[1]
    assert (response.wire_bytes, codes(response.notes)) == (0, {"empty_body"})


def test_a_request_body_that_was_not_stored_is_not_there() -> None:
    found = flow(body=None)
    found.response = answer()
    request, response = sides(only(found))
    assert (request.wire_bytes, request.body) == (None, None)
    assert request.reason == "the request's body is not in the file"
    assert request_ledger(request) is None
    assert response.first_byte == 3.0  # from its start: a streamed request is complete at any time


def test_an_empty_request_body_is_there() -> None:
    found = flow(body=b"")
    found.response = answer()
    request = sides(only(found))[0]
    assert (request.wire_bytes, request.reason) == (0, "the body is empty")


def test_a_stream_without_a_charset_is_utf_8() -> None:
    assert text_of(only(answered(kind="text/event-stream"))) == TEXT
    assert len(TEXT) == 11


def test_another_charset_is_ignored_and_noted() -> None:
    exchange = only(answered(kind="text/event-stream; charset=iso-8859-1"))
    assert (text_of(exchange), codes(sides(exchange)[1].notes)) == (TEXT, {"charset_ignored"})


GZIP = gzip.compress(STREAM)


@pytest.mark.parametrize(
    ("body", "encoding", "whole", "noted"),
    [
        (GZIP, "gzip", True, set()),
        (brotli.compress(STREAM), "br", True, set()),
        (zstd.compress(STREAM), "zstd", True, set()),
        (gzip.compress(STREAM[:300]) + gzip.compress(STREAM[300:]), "gzip", True, set()),
        (GZIP + b"junk", "gzip", True, {"encoding_trailing"}),
        (STREAM, "gzip", True, {"encoding_mislabelled"}),
        (GZIP, None, True, {"encoding_mislabelled"}),
        (GZIP[: len(GZIP) * 6 // 10], "gzip", False, {"encoding_incomplete"}),
        (brotli.compress(STREAM)[:-20], "br", False, {"encoding_incomplete"}),
        (zstd.compress(STREAM)[:-20], "zstd", False, {"encoding_incomplete"}),
    ],
)
def test_bodies_are_decoded_as_far_as_they_go(body: bytes, encoding: str | None, whole: bool, noted: set[str]) -> None:
    coding = {"content_encoding": encoding} if encoding else {}
    exchange = only(answered(body, **coding))
    response = sides(exchange)[1]
    assert response.wire_bytes == len(body)
    assert codes(response.notes) >= noted
    if whole:
        assert (exchange.ended, text_of(exchange), codes(response.notes)) == ("completed", TEXT, noted)
    else:
        assert exchange.ended in ("upstream_cut", "completed") and response.decoded_bytes is not None
        assert response.decoded_bytes < len(STREAM)


# --- how it ended


@pytest.mark.parametrize(
    ("message", "head", "client", "server", "ended"),
    [
        ("Client disconnected.", True, None, None, "client_gone"),
        ("Client disconnected.", False, None, None, "client_gone"),
        ("HTTP/1 protocol error: peer closed connection without sending …", True, None, None, "upstream_cut"),
        ("server closed connection", False, None, None, "unreachable"),
        ("[Errno 111] Connect call failed", False, None, None, "unreachable"),
        ("Connection killed.", True, None, None, "proxy_stopped"),
        ("Response body exceeds mitmproxy's body_size_limit.", True, None, None, "proxy_stopped"),
        ("stream reset by client (CANCEL)", True, b"h2", b"h2", "client_gone"),
        ("stream reset by client (INTERNAL_ERROR)", True, b"h2", b"http/1.1", "client_gone"),
        ("stream reset by client (INTERNAL_ERROR)", True, b"h2", b"h2", "upstream_cut"),
        ("peer closed connection", True, b"h2", b"http/1.1", "client_gone"),
        ("peer closed connection", True, b"http/1.1", b"h2", "upstream_cut"),
        ("peer closed connection", True, b"h2", b"h2", "upstream_cut"),
        ("HTTP/2 connection closed: <ConnectionTerminated>", False, b"http/1.1", b"h2", "unreachable"),
    ],
)
def test_a_connection_that_failed(
    message: str, head: bool, client: bytes | None, server: bytes | None, ended: str
) -> None:
    found = failed(message, cut_head() if head else None)
    found.client_conn.alpn, found.server_conn.alpn = client, server
    exchange = only(found)
    response = sides(exchange)[1]
    assert (exchange.ended, response.failure) == (ended, message)
    assert (response.status, response.time) == (200 if head else None, 1_700_000_009.0)


def test_a_request_that_broke_off() -> None:
    found = failed("HTTP/1 protocol error: peer closed connection without sending complete message body")
    found.request.data.content = found.request.timestamp_end = None
    exchange = only(found)
    assert (exchange.ended, codes(sides(exchange)[0].notes)) == ("client_gone", {"request_cut"})


@pytest.mark.parametrize("head", [True, False])
def test_what_mitmdump_saves_of_flows_when_it_stops(head: bool) -> None:
    found = flow()
    found.response = cut_head() if head else None
    exchange = only(found)
    assert exchange.ended == "proxy_stopped"
    assert "saved_in_flight" in codes(sides(exchange)[1].notes)


def test_an_error_of_the_api_counts_before_the_connection() -> None:
    found = failed("Client disconnected.", answer(b'{"type":"error","error":{"type":"overloaded_error"}}', 529))
    exchange = only(found)
    error = sides(exchange)[1].error
    assert exchange.ended == "error" and error is not None and error.type == "overloaded_error"


def test_a_client_that_left_after_the_last_event_got_everything() -> None:
    assert only(failed("Client disconnected.", answer())).ended == "completed"


@pytest.mark.parametrize(
    ("body", "kind", "headers", "ended"),
    [
        (b"".join(EVENTS[:-1]), SSE, {"transfer_encoding": "chunked"}, "upstream_cut"),
        (b"", SSE, {"transfer_encoding": "chunked"}, "upstream_cut"),
        (b"plain text", "application/json", {"content_length": "10"}, "completed"),
        (b'{"half":', "application/json", {"transfer_encoding": "chunked"}, "completed"),
        (b'{"half":', "application/json", {}, "upstream_cut"),
        (b"{}", "application/json", {}, "completed"),
        (None, SSE, {}, "completed"),
    ],
)
def test_http_vouches_for_bodies_with_an_announced_end(
    body: bytes | None, kind: str, headers: dict[str, str], ended: str
) -> None:
    assert only(answered(body, kind=kind, **headers)).ended == ended


# --- the same from a capture and from a flow file


class Bridge:
    """The recorder, and the flows it saw as mitmproxy would have saved them."""

    def __init__(self, folder: Path, recorder: Recorder) -> None:
        self.folder = folder
        self.recorder = recorder

    def both(self, seen: http.HTTPFlow, *chunks: bytes, end: str | None = None) -> tuple[Exchange, Exchange]:
        """The exchange as recorded and as saved. ``end``: mitmproxy's sentence when it is no clean one."""
        head, seen.response = seen.response, None
        self.recorder.requestheaders(seen)
        self.recorder.request(seen)
        if head is not None:
            head.data.content = None
            seen.response = head
            self.recorder.responseheaders(seen)
            tap = head.stream
            assert isinstance(tap, ResponseTap)
            for chunk in (*chunks, *([b""] if end is None else [])):
                tap(chunk)
        if end is None:
            self.recorder.response(seen)
            assert head is not None
            head.data.content = b"".join(chunks)  # as with store_streamed_bodies
        else:
            seen.error = base.Error(end)
            seen.client_conn.state = ConnectionState.CLOSED if "Client" in end else ConnectionState.OPEN
            self.recorder.error(seen)
        self.recorder.done()
        (path,) = self.folder.glob("*.jsonl")
        capture = CaptureStream("c")
        (recorded,) = (*capture.feed(path.read_bytes()), *capture.finish())
        return recorded, only(seen)


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Bridge]:
    recorder = Recorder()
    with taddons.context(Proxyserver(), ModifyBody(), recorder) as context:
        context.configure(
            recorder, capture_dir=str(tmp_path / "captures"), capture_compress="false", capture_fold_over="-1"
        )
        yield Bridge(tmp_path / "captures", recorder)
        assert recorder.stumbles == 0


def assert_equal(recorded: Exchange, saved: Exchange) -> None:
    before, told = sides(recorded)
    after, said = sides(saved)
    assert request_ledger(after) == request_ledger(before)
    for name in ("body", "method", "host", "path", "query", "route", "headers", "other_headers", "reason", "notes"):
        assert getattr(after, name) == getattr(before, name), name
    for name in ("wire_bytes", "decoded_bytes", "content_encoding", "steps", "recorded", "recorded_total"):
        assert getattr(after, name) == getattr(before, name), name
    assert saved.ended == recorded.ended
    for name in ("status", "headers", "model", "message_id", "stop_reason", "usage", "usage_raw", "content", "body"):
        assert getattr(said, name) == getattr(told, name), name
    for name in ("rest", "error", "failure", "events", "wire_bytes", "decoded_bytes", "content_encoding", "notes"):
        assert getattr(said, name) == getattr(told, name), name


SURROGATE = b'{"model": "m", "messages": [{"role": "user", "content": "\\ud83d \\u4f0e"}], "n": 1.0, "n": 2}'


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (BODY, {}),
        (SURROGATE, {}),
        (gzip.compress(BODY), {"content_encoding": "gzip"}),
        (zstd.compress(BODY), {"content_encoding": "zstd"}),
        (BODY, {"content_encoding": "gzip"}),
        (gzip.compress(BODY), {}),
        (b"\x00\xff not json", {}),
        (b"", {}),
    ],
)
@pytest.mark.parametrize("path", ["/v1/messages?beta=true", "/v1/messages/count_tokens", "/v1/messages/batches"])
def test_a_saved_request_weighs_what_the_recorder_weighed(
    bridge: Bridge, body: bytes, coding: dict[str, str], path: str
) -> None:
    seen = flow(path, body, **coding, user_agent="me", x_api_key="SECRET")
    seen.response = answer(kind="application/json")
    assert_equal(*bridge.both(seen, JSON))


@pytest.mark.parametrize(
    ("body", "status", "headers"),
    [
        (STREAM, 200, {}),
        (GZIP, 200, {"content_encoding": "gzip"}),
        (brotli.compress(STREAM), 200, {"content_encoding": "br"}),
        (zstd.compress(STREAM), 200, {"content_encoding": "zstd"}),
        (GZIP[:200], 200, {"content_encoding": "gzip"}),
        (gzip.compress(EVENTS[0]) + gzip.compress(b"".join(EVENTS[1:])), 200, {"content_encoding": "gzip"}),
        (STREAM, 200, {"content_encoding": "gzip"}),
        (GZIP, 200, {}),
        (b"".join(EVENTS[:3]), 200, {"transfer_encoding": "chunked"}),
        (b"".join(EVENTS[:2]) + event("error", error={"type": "overloaded_error"}), 200, {}),
        (b'{"type":"error","error":{"type":"invalid_request_error","message":"no"}}', 400, {"content_length": "72"}),
        (JSON, 200, {"content_length": str(len(JSON)), "request_id": "req_1"}),
        (b"<html>", 502, {}),
        (b"half", 200, {}),
    ],
)
def test_a_saved_answer_says_what_the_recorder_read(
    bridge: Bridge, body: bytes, status: int, headers: dict[str, str]
) -> None:
    seen = flow()
    seen.response = answer(None, status, SSE if body != JSON else "application/json", **headers)
    assert_equal(*bridge.both(seen, body[:100], body[100:]))


def test_text_from_a_flow_is_as_long_as_from_a_capture(bridge: Bridge) -> None:
    seen = flow()
    seen.response = answer(None, kind="text/event-stream")
    recorded, saved = bridge.both(seen, STREAM)
    assert text_of(recorded) == text_of(saved) == TEXT


@pytest.mark.parametrize("end", ["Client disconnected.", "server closed connection", base.Error.KILLED_MESSAGE])
@pytest.mark.parametrize("begun", [True, False])
def test_a_saved_failure_ended_as_the_recorder_said(bridge: Bridge, end: str, begun: bool) -> None:
    seen = flow()
    seen.response = answer(None) if begun else None
    recorded, saved = bridge.both(seen, end=end)
    assert saved.ended == recorded.ended
    assert sides(saved)[1].failure == sides(recorded)[1].failure == end
    assert sides(saved)[1].status == sides(recorded)[1].status


# --- what is left out


def test_other_requests_are_counted_by_method_and_path() -> None:
    others = [answered(path="/api/hello?key=SECRET") for _ in range(35)]
    _, problems = read(dumped(*others, answered(), answered(path="/api/bye"), answered(path="/v1/complete")))
    (told,) = problems
    assert told.startswith("37 other HTTP requests were left out (most: POST /api/hello")
    assert "SECRET" not in told


def test_flows_that_are_no_http_are_counted_and_named() -> None:
    other = tflow.ttcpflow().get_state() | {"type": "quic"}
    flows = (tflow.tdnsflow(), tflow.twebsocketflow(), answered(), tflow.twebsocketflow())
    found, problems = read(dumped(*flows))
    assert (len(found), problems) == (1, ["2 websocket and 1 DNS flows were left out"])
    _, problems = read(dumped(*flows, tflow.ttcpflow(), tflow.tudpflow(), other))
    assert problems == ["2 websocket, 1 TCP, 1 UDP, 1 DNS and 1 unknown flows were left out"]
    assert read(dumped(tflow.tudpflow()))[1] == ["1 UDP flow was left out"]


def test_a_websocket_is_never_half_parsed() -> None:
    opened = flow(body=b"", upgrade="WebSocket")
    opened.response = answer(b"", 101, None, upgrade="websocket")
    talked = tflow.twebsocketflow()
    talked.request.method, talked.request.path = "POST", "/v1/messages"
    found, problems = read(dumped(opened, talked))
    assert (found, problems) == ([], ["2 websocket flows were left out"])


# --- formats


def oldest() -> dict[bytes, Any]:
    """A flow as mitmproxy 0.11 saved it: byte strings only, and other names."""
    address = {b"address": [b"api.anthropic.com", 443], b"use_ipv6": False}
    connection = {
        b"address": address,
        b"ssl_established": True,
        b"timestamp_start": 1.5,
        b"timestamp_end": None,
        b"timestamp_ssl_setup": 1.75,
    }
    return {
        b"version": (0, 11),
        b"type": b"http",
        b"id": b"7",
        b"error": None,
        b"intercepted": False,
        b"client_conn": connection | {b"clientcert": None},
        b"server_conn": connection
        | {
            b"source_address": address,
            b"cert": None,
            b"sni": b"api.anthropic.com",
            b"timestamp_tcp_setup": 1.6,
            b"state": [],
        },
        b"request": {
            b"form_in": b"relative",
            b"form_out": b"relative",
            b"httpversion": [1, 1],
            b"method": b"POST",
            b"scheme": b"https",
            b"host": b"api.anthropic.com",
            b"port": 443,
            b"path": b"/v1/messages",
            b"headers": [[b"content-type", b"application/json"]],
            b"content": BODY,
            b"timestamp_start": 1_400_000_000.0,
            b"timestamp_end": 1_400_000_001.0,
        },
        b"response": {
            b"httpversion": [1, 1],
            b"code": 200,
            b"msg": b"OK",
            b"headers": [[b"content-type", b"text/event-stream"]],
            b"content": STREAM,
            b"timestamp_start": 1_400_000_002.0,
            b"timestamp_end": 1_400_000_003.0,
        },
    }


def every_format() -> Iterator[tuple[str, bytes]]:
    """The same flow in each format that mitmproxy knows, migrated step by step."""
    state: dict[Any, Any] = oldest()
    while True:
        told = state.get(b"version", state.get("version"))
        assert told is not None
        yield str(told), tnetstring.dumps(state)
        convert = compat.converters.get(told if isinstance(told, int) else tuple(told)[:2])
        if convert is None:
            return
        state = convert(tnetstring.loads(tnetstring.dumps(state)))


FORMATS = dict(every_format())


def test_the_formats_reach_from_the_oldest_to_the_present_one() -> None:
    assert len(FORMATS) == len(compat.converters) + 1
    assert {"(0, 11)", "(0, 18)", "(1, 0, 0)", "4", "21"} <= FORMATS.keys()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_exchange(name: str) -> None:
    (exchange,), problems = read(FORMATS[name])
    request, response = sides(exchange)
    assert problems == []
    assert (exchange.ended, text_of(exchange), response.first_byte) == ("completed", TEXT, 1.0)
    assert (request.host, request.time, request.wire_bytes) == ("api.anthropic.com", 1_400_000_000.0, len(BODY))
    assert looks_like_flows(FORMATS[name])


def test_formats_may_be_mixed() -> None:
    found, problems = read(b"".join(FORMATS.values()))
    assert (len(found), problems) == (len(FORMATS), [])
    assert not compat.client_connections and not compat.server_connections


def test_a_body_that_old_formats_say_is_missing() -> None:
    state = oldest()
    state[b"response"][b"content"] = 0
    assert codes(sides(only(state))[1].notes) == {"body_not_in_file"}


@pytest.mark.parametrize("handshake_first", [True, False])
def test_old_formats_saved_a_websocket_as_two_flows(handshake_first: bool) -> None:
    handshake = tnetstring.loads(FORMATS["7"])
    assert isinstance(handshake, dict)
    messages = {key: handshake[key] for key in ("version", "client_conn", "server_conn", "error")}
    handshake |= {"metadata": {"websocket": True}}
    messages |= {"type": "websocket", "id": "8", "metadata": {"websocket_handshake": handshake["id"]}, "messages": []}
    pair = (handshake, messages) if handshake_first else (messages,)
    found, problems = read(dumped(*pair, answered()))
    assert (len(found), problems) == (1, ["1 websocket flow was left out"])
    assert not compat._websocket_handshakes


def test_a_newer_format_asks_for_a_newer_mitmproxy() -> None:
    newer = answered().get_state() | {"version": 99, "something_new": b"x"}
    found, problems = read(dumped(answered(), newer, newer, answered()))
    assert len(found) == 2
    assert problems == [
        "written by a newer mitmproxy (flow format 99): upgrade mitmproxy to read it; 2 flows were left out"
    ]


@pytest.mark.parametrize("version", [(0, 5), [], None, 0, -1, b"x"])
def test_a_format_nobody_knows(version: Any) -> None:
    found, problems = read(dumped(answered().get_state() | {"version": version}, answered()))
    assert len(found) == 1
    assert len(problems) == 1 and problems[0].startswith("the flow at byte 0 cannot be read")


# --- damage


GOOD = dumped(answered())


def test_a_file_cut_anywhere_in_its_third_flow() -> None:
    for cut in (1, 3, 5, 20, 400, len(GOOD) // 2, len(GOOD) - 1):
        found, problems = read(GOOD * 2 + GOOD[:cut])
        assert len(found) == 2
        (told,) = problems
        assert told.startswith(f"damaged at byte {2 * len(GOOD)}, and cut")
        assert told.endswith(f"{cut:,} byte{'s were' if cut > 1 else ' was'} passed over")


def test_a_stump_followed_by_good_flows() -> None:
    """What ``mitmdump -w +file`` leaves after a crash. Wherever the stump ends, nothing behind it is lost."""
    for cut in (*range(1, 12), *range(12, len(GOOD), 97), len(GOOD) - 1):
        found, problems = read(GOOD + GOOD[:cut] + GOOD * 2)
        assert [exchange.place for exchange in found] == ["f:1", "f:2", "f:3"]
        byte = "1 byte was" if cut == 1 else f"{cut:,} bytes were"
        assert problems == [f"damaged at byte {len(GOOD)}: {byte} passed over"]


def test_a_stump_that_ends_with_a_digit() -> None:
    assert GOOD[2:3].isdigit()
    found, problems = read(GOOD[:3] + GOOD)
    assert (len(found), problems) == (1, ["damaged at byte 0: 3 bytes were passed over"])


@pytest.mark.parametrize(
    "garbage",
    [b"\n", b"\r\n", b"\0" * 5000, b"garbage", b"12:", b"}" * 99, b"999999999999:", b"9" * 70_000, b"0:}", b"-1:x}"],
)
def test_garbage_between_flows(garbage: bytes) -> None:
    found, problems = read(GOOD + garbage + GOOD + garbage + GOOD)
    assert len(found) == 3
    assert [told.partition(":")[0] for told in problems] == [
        f"damaged at byte {len(GOOD)}",
        f"damaged at byte {2 * len(GOOD) + len(garbage)}",
    ]


@pytest.mark.parametrize("beginning", [GOOD[500:], b"\0" * len(GOOD), b"\0" * 100 + GOOD[100:]])
def test_a_beginning_that_is_cut_or_zeroed(beginning: bytes) -> None:
    found, problems = read(beginning + GOOD)
    assert (len(found), problems) == (1, [f"damaged at byte 0: {len(beginning):,} bytes were passed over"])
    assert looks_like_flows(beginning + GOOD)


def test_zeros_at_the_end() -> None:
    found, problems = read(GOOD + b"\0" * 4096)
    assert len(found) == 1
    assert len(problems) == 1 and "4,096 bytes were passed over" in problems[0]


def test_an_absurd_length_allocates_nothing() -> None:
    tracemalloc.start()
    found, problems = read(b"999999999999:" + GOOD[5:] + GOOD)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(found), len(problems)) == (1, 1)
    assert peak < 2_000_000
    assert read(b"999999999999:")[1] == ["no whole flow of mitmproxy in its 13 bytes; it was left out"]


class Sparse(io.RawIOBase):
    """A file of any size that holds a few bytes at its beginning, and one at its end."""

    def __init__(self, head: bytes, size: int, last: bytes) -> None:
        self.head, self.size, self.last, self.at, self.given = head, size, last, 0, 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = self.size + offset if whence == 2 else offset
        return self.at

    def read(self, size: int = -1) -> bytes:
        size = max(min(size, self.size - self.at), 0)
        self.given += size
        assert size <= 1 << 20
        data = self.head[self.at : self.at + size]
        data += b"\0" * (size - len(data))
        if size and self.at + size == self.size:
            data = data[:-1] + self.last
        self.at += size
        return data


def test_a_length_that_ends_at_a_brace_is_not_believed_either() -> None:
    size = 5_000_000
    file = Sparse(b"%d:7:version;2:21#" % (size - 9), size, b"}")
    found, problems = read(file)  # type: ignore[arg-type]
    assert (found, len(problems)) == ([], 1)
    assert file.given < 2 * size


def test_a_flow_that_is_damaged_inside_is_passed_over_whole() -> None:
    edited = answered()
    edited.backup()
    edited.comment = "edited"
    data = dumped(edited)
    assert b"6:backup;" in data
    at = data.rindex(b"4:port;2:22#")
    broken = data[:at] + b"4:port;2:2x#" + data[at + 12 :]
    assert len(broken) == len(data)
    found, problems = read(broken + GOOD)
    assert len(found) == 1
    assert problems == [f"the flow at byte 0 cannot be read (damaged inside): {len(data):,} bytes were passed over"]


def test_what_an_edited_flow_was_before_is_not_another_flow() -> None:
    edited = answered()
    edited.backup()
    edited.comment = "edited"
    data = dumped(edited)
    found, problems = read(b"x" + data[1:] + GOOD)
    assert (len(found), problems) == (1, [f"damaged at byte 0: {len(data):,} bytes were passed over"])
    assert only(edited).ended == "completed"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("request", None),
        ("request", {}),
        ("request", 5),
        ("response", []),
        ("response", {"status_code": 200}),
        ("client_conn", None),
        ("server_conn", {}),
        ("error", {"msg": None}),
        ("error", b"text"),
        ("type", 5),
        ("surprise", {"deep": [1, {}]}),
    ],
)
def test_members_of_any_kind(name: str, value: Any) -> None:
    found, problems = read(dumped(answered().get_state() | {name: value}, answered()))
    assert len(found) + len(problems) >= 2
    assert sides(found[-1])[1].status == 200


@pytest.mark.parametrize(
    ("side", "name", "value"),
    [
        ("request", "port", "x"),
        ("request", "host", None),
        ("request", "method", None),
        ("request", "path", 5),
        ("request", "headers", [(b"a", b"b", b"c")]),
        ("request", "headers", [(b"a",)]),
        ("request", "headers", [(b"a", 5)]),
        ("response", "status_code", "200"),
        ("response", "headers", None),
    ],
)
def test_what_mitmproxy_never_writes_is_told(side: str, name: str, value: Any) -> None:
    state = answered().get_state()
    state[side] = state[side] | {name: value}
    found, problems = read(dumped(state, answered()))
    assert len(found) == 1
    assert len(problems) == 1 and problems[0].startswith("the flow at byte 0 cannot be read (not as mitmproxy writes")


@pytest.mark.parametrize("time", [None, float("nan"), float("inf"), 1e300, -1e300, "x", b"x", True])
def test_times_of_any_kind(time: Any) -> None:
    state = answered().get_state()
    state["request"] |= {"timestamp_start": time, "timestamp_end": time}
    state["response"] |= {"timestamp_start": time, "timestamp_end": time}
    request, response = sides(only(state))
    assert (request.time, response.time, response.first_byte, response.last) == (None, None, None, None)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 400), st.binary(max_size=40))
def test_damage_of_any_kind_costs_the_flow_it_is_in(at: int, size: int, instead: bytes) -> None:
    broken = GOOD[:at] + instead + GOOD[at + size :]
    found, problems = read(GOOD + broken + GOOD)
    places = [exchange.place for exchange in found]
    assert places[0] == "f:1" and sides(found[-1])[1].wire_bytes == len(STREAM)
    assert len(found) == 3 or problems


def test_many_damaged_places_are_counted() -> None:
    found, problems = read(b"\n".join([GOOD] * 50))
    assert len(found) == 50
    assert len(problems) == MOST_TOLD + 1
    assert problems[-1] == f"{49 - MOST_TOLD} more damaged places were passed over"


def test_depth_is_no_danger() -> None:
    deep: Any = b"0:]"
    for _ in range(5000):
        deep = b"%d:%b]" % (len(deep), deep)
    payload = tnetstring.dumps(answered().get_state() | {"metadata": {}}).partition(b":")[2][:-1]
    payload = payload.replace(b"8:metadata;0:}", b"8:metadata;%d:4:deep;%b}" % (len(b"4:deep;" + deep), deep))
    found, problems = read(b"%d:%b}" % (len(payload), payload) + GOOD)
    assert (len(found), problems) == (2, [])


# --- what is no flow file


def test_an_empty_file() -> None:
    assert read(b"") == ([], ["the file is empty"])


def test_a_python_file() -> None:
    text = Path(__file__).read_bytes()
    assert read(b"import os\n" * 9) == ([], ["no whole flow of mitmproxy in its 90 bytes; it was left out"])
    assert not looks_like_flows(text)


@pytest.mark.parametrize(
    ("first", "are_flows"),
    [
        (GOOD, True),
        (GOOD[:30], True),
        (b"\n" + GOOD, True),
        (b"999999999999:" + GOOD[5:], True),
        (b"", False),
        (b"10:30:00 INFO started", False),
        (b"12: twelve", False),
        (b'{"text":"1688:9:websocket;0:~"}', False),
        (b'{"kind":"start"}', False),
        (b'\xef\xbb\xbf{"log":{}}', False),
        (b"\x28\xb5\x2f\xfd" + GOOD, False),
        (b"PK\x03\x04", False),
    ],
)
def test_flow_files_are_told_by_their_content(first: bytes, are_flows: bool) -> None:
    assert looks_like_flows(first) is are_flows


# --- cost


class Counted(io.BytesIO):
    """A file that counts what is read of it."""

    given = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.given += len(data)
        return data


@pytest.mark.parametrize(
    "data",
    [
        b"1:1:a;" * 20_000,
        b"999999999999:7:version;" * 4_000,
        b"9" * 300_000,
        b":" * 300_000,
        b"123456789012:9:websocket;" * 4_000 + GOOD,
        b"\n".join([GOOD] * 100),
    ],
)
def test_looking_for_the_next_flow_is_linear_work(data: bytes) -> None:
    file = Counted(data)
    read(file)
    assert file.given < 40 * len(data)


def test_memory_is_that_of_one_flow(tmp_path: Path) -> None:
    padded = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * 300_000}]}).encode()
    found = flow(body=padded)
    found.response = answer(JSON, kind="application/json")
    one = dumped(found)
    path = tmp_path / "flows"

    def peak(times: int) -> int:
        path.write_bytes(one * times)
        with path.open("rb") as stream:
            tracemalloc.start()
            count = sum(1 for _ in read_flows(Source(stream, "f", str(path))))
            top = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert count == times
        return top

    peak(1)
    assert peak(20) < peak(3) * 1.1


def test_no_flow_is_kept_while_the_next_is_read() -> None:
    size = 3_000_000
    stream = io.BytesIO(dumped(*[answered(b"x" * size, path="/big")] * 3))
    tracemalloc.start()
    read(stream)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * size  # its bytes, and what they are


def test_mitmproxy_is_imported_for_flows_only() -> None:
    code = (
        "import sys, analyzers.readers.flows as flows, analyzers.readers.sources\n"
        "flows.looks_like_flows(b'5:hello;')\n"
        "sys.exit('mitmproxy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
