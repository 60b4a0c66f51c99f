"""The addon: its hooks called as mitmproxy calls them, path by path, and what is in the capture file afterwards."""

# mypy: disable-error-code="no-untyped-call"
# (mitmproxy's test tools have no types)

import asyncio
import json
import logging
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import flow as base
from mitmproxy import http
from mitmproxy.addonmanager import Loader
from mitmproxy.addons.maplocal import MapLocal
from mitmproxy.addons.modifybody import ModifyBody
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import ConnectionState
from mitmproxy.exceptions import OptionsError
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import taddons, tflow, tutils

from addon import inflight
from addon import recorder as subject
from addon.recorder import Recorder
from addon.settings import OPTIONS
from addon.tap import RequestTap, ResponseTap
from analyzers.wire.record import Record, SeenRequest, request_record
from analyzers.wire.weighing import Weigher

BODY = b'{"model":"claude-haiku-4-5","max_tokens":10,"messages":[{"role":"user","content":"hello"}]}'
ANSWER = json.dumps(
    {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5-20251001",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 2,
            "cache_read_input_tokens": 0,
            "output_tokens": 5,
        },
    }
).encode()
ERROR = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_9"}'


def event(kind: str, **members: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


EVENTS = (
    event("message_start", message={**json.loads(ANSWER), "content": [], "stop_reason": None}),
    event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": "hi"}),
    event("content_block_stop", index=0),
    event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 7}),
    event("message_stop"),
)


class Bridge:
    """The addon in a mitmproxy of its own, recording into a folder in plain text."""

    def __init__(self, folder: Path, context: taddons.context, recorder: Recorder) -> None:
        self.folder = folder
        self.context = context
        self.recorder = recorder

    def flow(
        self, path: str = "/v1/messages", body: bytes = BODY, method: str = "POST", /, **headers: str
    ) -> http.HTTPFlow:
        fields = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        request = tutils.treq(
            method=method.encode(), path=path.encode(), content=body, host="api.anthropic.com", headers=fields
        )
        return tflow.tflow(req=request)

    def accept(self, flow: http.HTTPFlow) -> http.HTTPFlow:
        self.recorder.requestheaders(flow)
        self.recorder.request(flow)
        return flow

    def begin(
        self, flow: http.HTTPFlow, status: int = 200, kind: str | None = "text/event-stream", **headers: str
    ) -> ResponseTap | None:
        fields = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        if kind is not None:
            fields.append((b"content-type", kind.encode()))
        flow.response = tutils.tresp(status_code=status, content=None, headers=fields)
        self.recorder.responseheaders(flow)
        return flow.response.stream if isinstance(flow.response.stream, ResponseTap) else None

    def answer(self, flow: http.HTTPFlow, *chunks: bytes, status: int = 200, kind: str = "text/event-stream") -> None:
        """Everything from the head to the clean end."""
        tap = self.begin(flow, status, kind)
        assert tap
        for chunk in (*chunks, b""):
            assert tap(chunk) == chunk
        self.recorder.response(flow)

    def fail(self, flow: http.HTTPFlow, message: str, *, client_gone: bool = False) -> None:
        flow.error = base.Error(message)
        if client_gone:
            flow.client_conn.state = ConnectionState.CLOSED
        self.recorder.error(flow)

    def lines(self) -> list[dict[str, Any]]:
        paths = sorted(self.folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(line) for path in paths for line in path.read_bytes().split(b"\n")[:-1]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line["kind"] == kind]

    def response(self) -> dict[str, Any]:
        (line,) = self.of("response")
        return line

    def request(self) -> dict[str, Any]:
        (line,) = self.of("request")
        return line

    def codes(self, line: dict[str, Any]) -> set[str]:
        return {note["code"] for note in line["notes"]}


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Bridge]:
    recorder = Recorder()
    others = (Proxyserver(), ModifyBody(), MapLocal())
    with taddons.context(*others, recorder) as context:
        context.configure(recorder, capture_dir=str(tmp_path / "captures"), capture_compress="false")
        yield Bridge(tmp_path / "captures", context, recorder)
        recorder.done()
        assert recorder.in_flight.waiting == 0
        assert recorder.stumbles == 0
    subject._left_behind.clear()


# --- an exchange


def test_the_request_is_on_disk_before_it_is_forwarded(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow("/v1/messages?beta=true&key=SECRET", x_api_key="SECRET", user_agent="me"))
    request = bridge.request()
    assert bridge.of("response") == []
    assert request["id"] == flow.id
    assert (request["method"], request["host"], request["path"]) == ("POST", "api.anthropic.com", "/v1/messages")
    assert (request["query"], request["route"]) == ("beta=true&key=…", "messages")
    assert request["headers"]["user-agent"] == "me"
    assert "x-api-key" in request["other_headers"]
    assert request["wire_bytes"] == request["decoded_bytes"] == len(BODY)
    assert request["figures"]["total"] == sum(request["figures"]["fields"].values())
    assert sum(request["steps"].values()) == len(BODY)
    assert request["body"] == json.loads(BODY)
    assert b"SECRET" not in b"".join(path.read_bytes() for path in bridge.folder.iterdir())


def test_a_streamed_answer(bridge: Bridge, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    flow = bridge.accept(bridge.flow())
    bridge.answer(flow, *EVENTS)
    response = bridge.response()
    assert response["id"] == flow.id
    assert (response["ended"], response["status"]) == ("completed", 200)
    assert response["model"] == "claude-haiku-4-5-20251001"
    assert response["usage"]["input_tokens"] == 10 and response["usage"]["output_tokens"] == 7
    assert response["content"] == [{"type": "text", "text": "hi"}]
    assert response["events"]["message_stop"] == 1
    assert response["wire_bytes"] == sum(map(len, EVENTS))
    assert 0 <= response["first_byte"] <= response["first_content"] <= response["last"] < 10
    (line,) = [record.getMessage() for record in caplog.records if record.name == inflight.__name__]
    assert line.startswith("#1 claude-haiku-4-5-20251001") and line.endswith("output 7  completed")


def test_the_file_says_how_it_was_made_and_closes_with_counts(bridge: Bridge) -> None:
    bridge.context.options.mode = ["reverse:https://api.anthropic.com"]
    bridge.answer(bridge.accept(bridge.flow()), *EVENTS)
    bridge.accept(bridge.flow("/v1/models", b"", "GET"))
    bridge.recorder.done()
    start, *_, end = bridge.lines()
    assert (start["kind"], start["format"], start["fold_over"]) == ("start", 1, 400)
    assert start["modes"] == ["reverse:https://api.anthropic.com"]
    assert start["options"] == {
        "capture_compress": False,
        "capture_rotate_mb": 256,
        "capture_notes": True,
        "capture_match": "",
    }
    assert (end["requests"], end["responses"], end["lost"], end["unmatched"]) == (1, 1, 0, 1)
    assert end["unmatched_paths"] == {"GET /v1/models": 1}


@pytest.mark.parametrize(
    ("kind", "headers"),
    [
        ("Text/Event-Stream; charset=utf-8", {}),
        ("application/json", {"transfer_encoding": "chunked"}),
        (None, {}),
        ("application/json", {"content_length": "5"}),
        ("application/vnd.amazon.eventstream", {}),
    ],
)
def test_every_recorded_answer_is_streamed(bridge: Bridge, kind: str | None, headers: dict[str, str]) -> None:
    assert bridge.begin(bridge.accept(bridge.flow()), 200, kind, **headers)


def test_an_answer_in_one_piece(bridge: Bridge) -> None:
    bridge.answer(bridge.accept(bridge.flow()), ANSWER[:100], ANSWER[100:], kind="application/json")
    response = bridge.response()
    assert (response["ended"], response["stop_reason"]) == ("completed", "end_turn")
    assert response["content"] == [{"type": "text", "text": "hi"}]


def test_other_routes_of_the_api(bridge: Bridge) -> None:
    count = bridge.flow("/v1/messages/count_tokens")
    batch = bridge.flow("/v1/messages/batches/b_1", b"", "GET")
    results = bridge.flow("/v1/messages/batches/b_1/results", b"", "GET")
    bridge.answer(bridge.accept(count), b'{"input_tokens":7}', kind="application/json")
    bridge.answer(bridge.accept(batch), b"{}", kind="application/json")
    bridge.answer(bridge.accept(results), b"{}\n{}\n", kind="application/x-jsonl")
    assert [line["route"] for line in bridge.of("request")] == ["count_tokens", "batches", "batches"]
    assert [line["ended"] for line in bridge.of("response")] == ["completed"] * 3
    assert bridge.of("response")[0]["body"] == {"input_tokens": 7}


def test_a_fold_threshold_of_our_own(bridge: Bridge) -> None:
    bridge.context.configure(bridge.recorder, capture_fold_over="3")
    bridge.answer(bridge.accept(bridge.flow()), *EVENTS)
    assert bridge.request()["body"]["messages"][0]["content"]["chars"] == 5
    assert bridge.of("start")[0]["fold_over"] == 3


# --- how it ends


def test_the_api_said_no(bridge: Bridge, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bridge.answer(bridge.accept(bridge.flow()), ERROR, status=529, kind="application/json")
    response = bridge.response()
    assert (response["ended"], response["status"]) == ("error", 529)
    assert response["error"] == {"type": "overloaded_error", "message": "Overloaded", "request_id": "req_9"}
    assert caplog.records[-1].getMessage().endswith("error 529 overloaded_error req_9")


def test_an_error_event_after_a_status_of_200(bridge: Bridge) -> None:
    error = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    bridge.answer(bridge.accept(bridge.flow()), *EVENTS[:3], error)
    assert (bridge.response()["ended"], bridge.response()["status"]) == ("error", 200)
    assert bridge.response()["usage"]["input_tokens"] == 10


def test_the_client_left_in_the_middle(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow())
    tap = bridge.begin(flow)
    assert tap
    for chunk in EVENTS[:3]:
        tap(chunk)
    bridge.fail(flow, "Client disconnected.", client_gone=True)
    assert bridge.response()["ended"] == "client_gone"
    assert bridge.response()["content"] == [{"type": "text", "text": "hi"}]
    assert "idle_timeout" not in bridge.codes(bridge.response())


def test_the_client_left_after_the_last_event(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow())
    tap = bridge.begin(flow)
    assert tap
    for chunk in EVENTS:
        tap(chunk)
    bridge.fail(flow, "Client disconnected.", client_gone=True)
    assert bridge.response()["ended"] == "completed"


def test_the_client_left_before_there_was_an_answer(bridge: Bridge) -> None:
    bridge.fail(bridge.accept(bridge.flow()), "Client disconnected.", client_gone=True)
    assert (bridge.response()["ended"], bridge.response()["status"]) == ("client_gone", None)


def test_upstream_broke_off(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow())
    tap = bridge.begin(flow)
    assert tap
    tap(EVENTS[0])
    bridge.fail(flow, "HTTP/1 protocol error: peer closed connection without sending complete message body")
    assert bridge.response()["ended"] == "upstream_cut"
    assert bridge.response()["failure"].startswith("HTTP/1 protocol error")


def test_a_server_cannot_say_that_the_guard_answered(bridge: Bridge) -> None:
    """Its answer would be in no sum."""
    flow = bridge.accept(bridge.flow())
    tap = bridge.begin(flow, x_weighbridge="guard", request_id="req_1")
    assert tap
    for chunk in (*EVENTS, b""):
        tap(chunk)
    bridge.recorder.response(flow)
    assert bridge.response()["headers"] == {"request-id": "req_1", "content-type": "text/event-stream"}


def test_a_stream_without_its_last_event_is_cut_however_cleanly_http_ended(bridge: Bridge) -> None:
    bridge.answer(bridge.accept(bridge.flow()), *EVENTS[:-1])
    assert bridge.response()["ended"] == "upstream_cut"


def test_nobody_answered(bridge: Bridge) -> None:
    bridge.fail(bridge.accept(bridge.flow()), "Connection refused")
    response = bridge.response()
    assert (response["ended"], response["status"], response["first_byte"]) == ("unreachable", None, None)


def test_killed_by_somebody(bridge: Bridge) -> None:
    bridge.fail(bridge.accept(bridge.flow()), base.Error.KILLED_MESSAGE)
    assert bridge.response()["ended"] == "proxy_stopped"


@pytest.mark.parametrize(
    ("code", "alpn", "ended"),
    [
        ("CANCEL", b"h2", "client_gone"),
        ("INTERNAL_ERROR", b"http/1.1", "client_gone"),
        ("INTERNAL_ERROR", b"h2", "upstream_cut"),
    ],
)
def test_an_http2_reset(bridge: Bridge, code: str, alpn: bytes, ended: str) -> None:
    flow = bridge.accept(bridge.flow())
    bridge.begin(flow)
    flow.server_conn.alpn = alpn
    bridge.fail(flow, f"stream reset by client ({code})")
    assert bridge.response()["ended"] == ended


def test_the_proxy_stops_in_the_middle(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow())
    tap = bridge.begin(flow)
    assert tap
    for chunk in EVENTS[:3]:
        tap(chunk)
    bridge.recorder.done()
    assert tap(EVENTS[3]) == EVENTS[3]
    bridge.fail(flow, "peer closed connection", client_gone=True)
    assert bridge.response()["ended"] == "proxy_stopped"
    assert bridge.response()["content"] == [{"type": "text", "text": "hi"}]
    assert bridge.lines()[-1]["kind"] == "end"


def test_a_connection_closed_without_any_other_word(bridge: Bridge) -> None:
    flow, other = bridge.accept(bridge.flow()), bridge.accept(bridge.flow())
    bridge.recorder.client_disconnected(flow.client_conn)
    assert bridge.response()["id"] == flow.id
    assert bridge.response()["ended"] == "client_gone"
    bridge.fail(flow, "Client disconnected.", client_gone=True)
    assert len(bridge.of("response")) == 1
    assert other in bridge.recorder.in_flight


def test_silence_for_too_long_is_told_from_a_leaving_client(bridge: Bridge) -> None:
    bridge.context.options.tcp_timeout = 0
    bridge.fail(bridge.accept(bridge.flow()), "Client disconnected.", client_gone=True)
    assert "idle_timeout" in bridge.codes(bridge.response())


def test_an_end_is_written_once(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow())
    bridge.answer(flow, *EVENTS)
    bridge.fail(flow, "late")
    bridge.recorder.client_disconnected(flow.client_conn)
    bridge.recorder.done()
    assert len(bridge.of("response")) == 1


def test_an_informational_answer_is_not_the_answer(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow())
    assert bridge.begin(flow, 100, None) is None
    bridge.answer(flow, *EVENTS)
    assert bridge.response()["status"] == 200


def test_mitmproxy_may_take_an_informational_answer_for_the_whole(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow())
    bridge.begin(flow, 103, None)
    bridge.recorder.response(flow)
    response = bridge.response()
    assert (response["ended"], response["status"], response["last"]) == ("unreachable", None, None)
    assert bridge.codes(response) == {"informational"}


@pytest.mark.parametrize(
    ("body", "headers", "ended"),
    [
        (b"plain text", {"content_length": "10"}, "completed"),
        (b'{"half":', {"transfer_encoding": "chunked"}, "completed"),
        (b'{"half":', {}, "upstream_cut"),
        (b"{}", {}, "completed"),
    ],
)
def test_http_vouches_for_bodies_with_an_announced_end(
    bridge: Bridge, body: bytes, headers: dict[str, str], ended: str
) -> None:
    flow = bridge.accept(bridge.flow())
    tap = bridge.begin(flow, 200, "application/json", **headers)
    assert tap
    tap(body)
    tap(b"")
    bridge.recorder.response(flow)
    assert bridge.response()["ended"] == ended


# --- what is recorded, and what is not


@pytest.mark.parametrize(
    ("method", "path", "counted"),
    [
        ("GET", "/v1/models", "GET /v1/models"),
        ("GET", "/v1/models?key=SECRET", "GET /v1/models"),
        ("POST", "/hooks/T012AB/xoxb-12-SECRET", "POST /hooks/*/*"),
        ("GET", "/a/b/c/d/e/f", "GET /a/b/c/d"),
        ("GET", "/", "GET /"),
        ("X" * 40, "/v1/x", "? /v1/x"),
    ],
)
def test_other_traffic_is_counted_without_what_may_be_secret(
    bridge: Bridge, method: str, path: str, counted: str
) -> None:
    bridge.accept(bridge.flow(path, b"", method))
    bridge.accept(bridge.flow())
    bridge.recorder.done()
    assert len(bridge.of("request")) == 1
    assert bridge.of("end")[0]["unmatched_paths"] == {counted: 1}


def test_the_count_of_other_paths_does_not_grow_without_end(bridge: Bridge) -> None:
    for number in range(300):
        word = "".join(chr(97 + int(digit)) for digit in str(number))
        bridge.accept(bridge.flow(f"/{word}", b"", "GET"))
    tally = bridge.recorder.in_flight.journal.tally.unmatched
    assert len(tally) <= inflight.MOST_UNMATCHED + 1
    assert sum(tally.values()) == 300


def test_a_filter_replaces_the_routes(bridge: Bridge) -> None:
    bridge.context.configure(bridge.recorder, capture_match="~u /v1/complete | ~u count_tokens")
    for path in ("/v1/complete", "/v1/messages/count_tokens", "/v1/messages"):
        bridge.accept(bridge.flow(path))
    assert [line["route"] for line in bridge.of("request")] == ["other", "count_tokens"]


def test_a_websocket_is_noted_and_not_parsed(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow("/v1/messages", b"", "POST", upgrade="WebSocket"))
    bridge.begin(flow, 101, None, upgrade="websocket")
    bridge.recorder.response(flow)
    assert bridge.lines() == []
    assert bridge.recorder.in_flight.journal.tally.unmatched == {"POST /v1/messages (websocket)": 1}


def test_saved_flows_are_not_recorded_again(bridge: Bridge) -> None:
    flow = bridge.flow()
    flow.live = False
    bridge.accept(flow)
    flow.response = tutils.tresp(content=ANSWER)
    bridge.recorder.responseheaders(flow)
    bridge.recorder.response(flow)
    bridge.fail(flow, "saved error")
    assert bridge.lines() == []


def test_a_replayed_request_is_one_of_its_own(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow())
    bridge.answer(flow, *EVENTS)
    flow.is_replay = "request"
    flow.response = flow.error = None
    bridge.accept(flow)
    bridge.answer(flow, *EVENTS)
    requests = bridge.of("request")
    assert len({line["id"] for line in requests}) == 2
    assert [line["id"] for line in bridge.of("response")] == [line["id"] for line in requests]
    assert [bridge.codes(line) for line in requests] == [set(), {"replayed"}]


def test_a_body_that_is_no_json(bridge: Bridge) -> None:
    bridge.answer(bridge.accept(bridge.flow("/v1/messages", b"\x00\xff not json")), *EVENTS)
    assert bridge.request()["unparsed"]["bytes"] == 11
    assert "figures" not in bridge.request()


def test_headers_and_paths_of_any_bytes(bridge: Bridge) -> None:
    flow = bridge.flow()
    flow.request.headers.fields += ((b"user-agent", b"\xff\xfe"), (b"\xe9", b"x"))
    flow.request.data.path = b"/v1/messages?limit=\xff"
    bridge.answer(bridge.accept(flow), *EVENTS)
    assert bridge.request()["headers"]["user-agent"] == "\udcff\udcfe"


@pytest.mark.parametrize(
    ("mode", "address", "header", "host"),
    [
        ("regular", "api.anthropic.com", "evil.example", "api.anthropic.com"),
        ("regular", "203.0.113.5", "evil.example", "203.0.113.5"),
        ("transparent", "203.0.113.5", "user:SECRET@api.anthropic.com", "api.anthropic.com"),
        ("reverse:http://203.0.113.5", "203.0.113.5", "localhost", "203.0.113.5"),
    ],
)
def test_the_host_is_where_the_request_goes(bridge: Bridge, mode: str, address: str, header: str, host: str) -> None:
    flow = bridge.flow(host=header)
    flow.request.data.host = address
    flow.client_conn.proxy_mode = ProxyMode.parse(mode)
    bridge.accept(flow)
    assert bridge.request()["host"] == host


# --- streamed requests


def streamed(bridge: Bridge, **headers: str) -> tuple[http.HTTPFlow, RequestTap]:
    flow = bridge.flow(**headers)
    flow.request.data.content = None
    flow.request.data.timestamp_end = None
    flow.request.stream = True
    bridge.recorder.requestheaders(flow)
    assert isinstance(flow.request.stream, RequestTap)
    return flow, flow.request.stream


def test_a_request_that_mitmproxy_streams_is_seen_in_passing(bridge: Bridge) -> None:
    flow, tap = streamed(bridge)
    assert [tap(chunk) for chunk in (BODY[:10], BODY[10:], b"")] == [BODY[:10], BODY[10:], b""]
    bridge.recorder.request(flow)
    assert bridge.request()["streamed"] is True
    assert bridge.request()["body"] == json.loads(BODY)
    bridge.answer(flow, *EVENTS)
    assert bridge.response()["ended"] == "completed"


def test_a_chunked_upload_that_may_come_to_be_streamed(bridge: Bridge) -> None:
    bridge.context.options.stream_large_bodies = "50k"
    flow = bridge.flow(transfer_encoding="chunked")
    bridge.recorder.requestheaders(flow)
    assert isinstance(flow.request.stream, RequestTap)
    small = bridge.flow(content_length="90")
    bridge.recorder.requestheaders(small)
    assert small.request.stream is False


def test_a_streamed_request_that_broke_off(bridge: Bridge) -> None:
    flow, tap = streamed(bridge)
    tap(BODY[:40])
    bridge.fail(flow, "Client disconnected.", client_gone=True)
    assert bridge.request()["unparsed"]["bytes"] == 40
    assert "request_cut" in bridge.codes(bridge.request())
    assert bridge.response()["ended"] == "client_gone"


def test_an_answer_that_came_before_the_request_was_whole(bridge: Bridge) -> None:
    flow, tap = streamed(bridge)
    tap(BODY[:40])
    bridge.answer(flow, ERROR, status=413, kind="application/json")
    tap(BODY[40:])
    flow.request.data.timestamp_end = 1.0
    bridge.recorder.request(flow)
    assert "answered_early" in bridge.codes(bridge.request())
    assert bridge.response()["ended"] == "error"


def test_a_request_refused_by_mitmproxy_itself(bridge: Bridge) -> None:
    flow = bridge.flow()
    flow.request.data.content = None
    flow.request.data.timestamp_end = None
    bridge.recorder.requestheaders(flow)
    bridge.recorder.requestheaders(flow)
    bridge.fail(flow, "Request body exceeds mitmproxy's body_size_limit.")
    assert bridge.response()["ended"] == "proxy_stopped"
    assert bridge.request()["wire_bytes"] is None


# --- other scripts


def test_an_answer_made_by_another_script(bridge: Bridge) -> None:
    flow = bridge.flow()
    flow.response = http.Response.make(200, ANSWER, {"content-type": "application/json"})
    bridge.accept(flow)
    bridge.recorder.responseheaders(flow)
    assert flow.response.stream is False
    bridge.recorder.response(flow)
    assert bridge.response()["stop_reason"] == "end_turn"
    assert "answered_locally" in bridge.codes(bridge.response())


def test_another_script_took_the_stream(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow())
    bridge.begin(flow)
    assert flow.response
    flow.response.stream = lambda chunk: chunk
    bridge.recorder.response(flow)
    assert "answer_not_seen" in bridge.codes(bridge.response())


def test_another_script_turned_streaming_off(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow())
    bridge.begin(flow)
    assert flow.response
    flow.response.stream = False
    flow.response.raw_content = b"".join(EVENTS)
    bridge.recorder.response(flow)
    assert bridge.response()["ended"] == "completed"
    assert bridge.response()["usage"]["output_tokens"] == 7


def test_bodies_that_mitmproxy_rewrites_are_left_to_it_unless_they_are_events(bridge: Bridge) -> None:
    bridge.context.options.modify_body = ["/a/b/c"]
    flow = bridge.accept(bridge.flow())
    assert bridge.begin(flow, 200, "application/json", content_length="200") is None
    assert flow.response
    flow.response.raw_content = ANSWER
    bridge.recorder.response(flow)
    assert bridge.response()["ended"] == "completed"
    assert bridge.begin(bridge.accept(bridge.flow()))


# --- our own failures


def test_a_failure_in_reading_leaves_the_traffic_alone(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = bridge.accept(bridge.flow())
    tap = bridge.begin(flow)
    assert tap
    tap(EVENTS[0])
    monkeypatch.setattr(tap, "_reader", None)
    for chunk in (*EVENTS[1:], b""):
        assert tap(chunk) is chunk
    bridge.recorder.response(flow)
    assert "not_read" in bridge.codes(bridge.response())
    assert bridge.response()["usage"]["input_tokens"] == 10


def test_a_failure_in_measuring_costs_the_figures_only(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(seen: SeenRequest, weigher: Weigher, **others: Any) -> Record:
        if seen.body is not None:
            raise RecursionError
        return request_record(seen, weigher, **others)

    monkeypatch.setattr(inflight, "request_record", failing)
    bridge.answer(bridge.accept(bridge.flow()), *EVENTS)
    assert "not_measured" in bridge.codes(bridge.request())
    assert bridge.response()["ended"] == "completed"


@pytest.mark.parametrize("error", [RuntimeError("bug"), OptionsError("would hang"), MemoryError(), RecursionError()])
def test_no_exception_leaves_a_hook(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    recorder = Recorder()
    with taddons.context(recorder) as context:
        context.configure(recorder, capture_dir=str(tmp_path), capture_compress="false")
        bridge = Bridge(tmp_path, context, recorder)
        flow = bridge.flow()

        def raising(*_: object, **__: object) -> None:
            raise error

        for name in ("accept", "answer_begins", "end", "end_unseen", "disconnected"):
            monkeypatch.setattr(recorder.in_flight, name, raising)
        bridge.accept(flow)
        bridge.begin(flow)
        recorder.response(flow)
        bridge.fail(flow, "x")
        recorder.client_disconnected(flow.client_conn)
        assert recorder.stumbles == 5
        recorder.done()
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "weighbridge stumbled in request" in warnings[0].getMessage()
    assert "weighbridge stumbled 5 times." in [record.getMessage() for record in warnings]
    assert all(record.exc_info is None for record in warnings)


def test_cancelling_is_not_an_error(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    def cancelled(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(bridge.recorder.in_flight, "accept", cancelled)
        with pytest.raises(asyncio.CancelledError):
            bridge.recorder.request(bridge.flow())


def test_nothing_is_kept_of_a_finished_exchange(bridge: Bridge) -> None:
    for number in range(50):
        flow = bridge.accept(bridge.flow())
        if number % 3 == 0:
            bridge.answer(flow, *EVENTS)
        elif number % 3 == 1:
            bridge.fail(flow, "Connection refused")
        else:
            bridge.recorder.client_disconnected(flow.client_conn)
    assert bridge.recorder.in_flight.waiting == 0


# --- life cycle


def test_a_wrong_value_while_it_runs_is_refused_and_the_old_one_stays(bridge: Bridge) -> None:
    with pytest.raises(OptionsError, match="capture_fold_over=many: must be a whole number"):
        bridge.context.configure(bridge.recorder, capture_fold_over="many")
    assert bridge.recorder.in_flight.settings.fold_over == 400


def test_the_options_of_others_do_not_concern_us(bridge: Bridge) -> None:
    before = bridge.recorder.in_flight.settings
    bridge.context.configure(bridge.recorder, http2=False)
    assert bridge.recorder.in_flight.settings is before


class Given:
    """The options as mitmproxy hands them to a script: not looked at yet."""

    def __init__(self, **given: Any) -> None:
        self.context = taddons.context()
        self.recorder = Recorder()
        self.options = self.context.master.options
        for name, value in given.items():
            if isinstance(value, list):
                self.options.set(*[f"{name}={text}" for text in value] or [name], defer=True)
            else:
                self.options.deferred[name] = value

    def load(self) -> None:
        self.recorder.load(Loader(self.context.master))
        self.options.process_deferred()


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"capture_fold_over": ["0"]}, "0"),
        ({"capture_fold_over": 0}, "0"),
        ({"capture_compress": False}, "false"),
        ({"capture_rotate_mb": 0.5}, "0.5"),
    ],
)
def test_values_from_the_command_line_and_from_a_file(given: dict[str, Any], value: str) -> None:
    start = Given(**given)
    start.load()
    assert getattr(start.options, next(iter(given))) == value


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"capture_fold_over": ["abc"]}, "capture_fold_over=abc: must be"),
        ({"capture_fold_over": []}, "capture_fold_over needs a value"),
        ({"capture_dir": ["a", "b"]}, "capture_dir is given 2 times"),
        ({"capture_rotate_mb": {"a": 1}}, "capture_rotate_mb={'a': 1}: must be"),
    ],
)
def test_a_wrong_value_at_the_start_is_one_sentence_in_the_log_that_stops_mitmproxy(
    given: dict[str, Any], sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    Given(**given).load()
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage().startswith(sentence)
    assert record.exc_info is None


async def running(bridge: Bridge) -> None:
    bridge.recorder.running()


def test_a_misspelt_option_stops_mitmproxy(bridge: Bridge, caplog: pytest.LogCaptureFixture) -> None:
    bridge.context.options.set("capture_fold=0", defer=True)
    asyncio.run(running(bridge))
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage() == "There is no option capture_fold: did you mean capture_fold_over?"


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("stream_large_bodies", "1m", "stream_large_bodies is on"),
        ("modify_body", ["/a/b/c"], "modify_body is on"),
        ("map_local", ["|a|/tmp"], "map_local is on"),
        ("body_size_limit", "1m", "body_size_limit is on"),
    ],
)
def test_options_in_the_way_are_told_once(
    bridge: Bridge, caplog: pytest.LogCaptureFixture, option: str, value: object, said: str
) -> None:
    bridge.context.options.update(**{option: value})
    for _ in range(2):
        asyncio.run(running(bridge))
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert said in warning


@pytest.mark.parametrize(
    ("hosts", "warned"),
    [(["127.0.0.1", "::1"], False), (["0.0.0.0", "::"], True), (["192.168.1.5"], True), (["fe80::1%eth0"], True)],
)
def test_listening_beyond_this_machine_is_told(
    bridge: Bridge, caplog: pytest.LogCaptureFixture, hosts: list[str], warned: bool
) -> None:
    class Proxyserver:
        def listen_addrs(self) -> list[tuple[str, int]]:
            return [(host, 8080) for host in hosts]

    bridge.context.master.addons.lookup["proxyserver"] = Proxyserver()
    asyncio.run(running(bridge))
    told = [record.getMessage() for record in caplog.records if "--listen-host 127.0.0.1" in record.getMessage()]
    assert len(told) == warned


def reload_script(bridge: Bridge) -> Recorder:
    """What mitmproxy does when the file of a script has changed: all of it before anything else can happen."""
    addons = bridge.context.master.addons
    addons.remove(bridge.recorder)
    fresh = Recorder()
    addons.add(fresh)
    fresh.configure({option.name for option in OPTIONS})
    fresh.running()
    bridge.recorder = fresh
    return fresh


@pytest.mark.parametrize("match", ["", "~u /v1/messages"])
def test_a_reload_goes_on_where_the_old_instance_was(bridge: Bridge, match: str) -> None:
    bridge.context.configure(bridge.recorder, capture_match=match)

    async def reload_in_the_middle() -> None:
        bridge.recorder.running()
        flow = bridge.accept(bridge.flow())
        tap = bridge.begin(flow)
        assert tap
        tap(EVENTS[0])
        reload_script(bridge)
        await asyncio.sleep(0)
        for chunk in (*EVENTS[1:], b""):
            tap(chunk)
        bridge.recorder.response(flow)
        await asyncio.sleep(0)
        bridge.answer(bridge.accept(bridge.flow()), *EVENTS)
        await asyncio.sleep(0)

    asyncio.run(reload_in_the_middle())
    bridge.recorder.done()
    assert [line["kind"] for line in bridge.lines()] == ["start", "request", "response", "request", "response", "end"]
    assert {line["ended"] for line in bridge.of("response")} == {"completed"}
    assert len(list(bridge.folder.glob("*.jsonl"))) == 1


@pytest.mark.parametrize("ending", ["reload", "stop", "disconnect", "error"])
def test_an_answer_that_is_whole_is_completed_whatever_comes_before_it_is_written(bridge: Bridge, ending: str) -> None:
    async def end_it_at_once() -> None:
        bridge.recorder.running()
        flow = bridge.accept(bridge.flow())
        bridge.answer(flow, *EVENTS)
        assert not bridge.of("response")
        if ending == "reload":
            reload_script(bridge)
        elif ending == "stop":
            bridge.recorder.done()
        elif ending == "disconnect":
            bridge.recorder.client_disconnected(flow.client_conn)
        else:
            bridge.recorder.error(flow)
        await asyncio.sleep(0)

    asyncio.run(end_it_at_once())
    bridge.recorder.done()
    assert [line["ended"] for line in bridge.of("response")] == ["completed"]
    assert not bridge.recorder.in_flight.waiting


def test_a_script_taken_away_closes_its_file(bridge: Bridge) -> None:
    async def take_away() -> None:
        bridge.recorder.running()
        bridge.accept(bridge.flow())
        bridge.context.master.addons.remove(bridge.recorder)
        await asyncio.sleep(0.01)

    asyncio.run(take_away())
    assert [line["kind"] for line in bridge.lines()] == ["start", "request", "response", "end"]
    assert bridge.response()["ended"] == "proxy_stopped"


def test_an_answer_to_a_request_never_seen_stands_alone(bridge: Bridge) -> None:
    flow = bridge.flow()
    flow.response = tutils.tresp(content=ANSWER, headers=((b"content-type", b"application/json"),))
    bridge.recorder.responseheaders(flow)
    bridge.recorder.response(flow)
    assert [line["kind"] for line in bridge.lines()] == ["start", "response"]
    assert bridge.codes(bridge.response()) == {"request_not_seen"}
    assert bridge.response()["first_byte"] is None
    bridge.fail(bridge.flow(), "another one never seen")
    assert len(bridge.lines()) == 2


def test_a_filter_that_asks_for_the_answer_matches_nothing(bridge: Bridge) -> None:
    bridge.context.configure(bridge.recorder, capture_match="~c 200")
    flow = bridge.flow()
    flow.request.timestamp_start = time.time()
    bridge.accept(flow)
    flow.response = tutils.tresp(content=ANSWER)
    bridge.recorder.responseheaders(flow)
    bridge.recorder.response(flow)
    assert bridge.lines() == []


def test_what_comes_after_the_end_is_recorded_and_closed_too(bridge: Bridge) -> None:
    bridge.recorder.done()
    bridge.answer(bridge.accept(bridge.flow()), *EVENTS)
    assert [line["kind"] for line in bridge.lines()] == ["start", "request", "response", "end"]


def test_a_saved_answer_is_told_from_one_of_the_api(bridge: Bridge) -> None:
    flow = bridge.accept(bridge.flow())
    flow.is_replay = "response"
    bridge.answer(flow, *EVENTS)
    assert bridge.response()["id"] == bridge.request()["id"] == flow.id
    assert bridge.codes(bridge.response()) == {"answered_locally"}


def test_without_any_configuration_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recorder = Recorder()
    with taddons.context(recorder) as context:
        bridge = Bridge(tmp_path, context, recorder)
        bridge.answer(bridge.accept(bridge.flow()), *EVENTS)
        recorder.done()
    assert len(list((tmp_path / "captures").glob("*.jsonl.zst"))) == 1


# --- redacted before it is written


def test_with_capture_redact_only_figures_reach_the_disk(bridge: Bridge) -> None:
    bridge.context.configure(bridge.recorder, capture_redact="true")
    text = "the weighbridge of ada@quarry.example at /home/ada/work " * 20
    body = json.dumps({"model": "claude-haiku-4-5", "messages": [{"role": "user", "content": text}] * 2}).encode()
    flow = bridge.accept(
        bridge.flow("/v1/messages", body, x_claude_code_session_id="5f0c4a31-0000-4000-8000-0123456789ab")
    )
    bridge.answer(flow, *EVENTS)
    bridge.recorder.done()
    raw = b"".join(path.read_bytes() for path in bridge.folder.glob("*.jsonl"))
    for secret in (b"ada@quarry", b"/home/ada", b"5f0c4a31", b'"hi"', sha256(text.encode()).hexdigest().encode()):
        assert secret not in raw
    request, response = bridge.request(), bridge.response()
    assert request["figures"]["total"] == sum(request["figures"]["fields"].values())
    marker = request["body"]["messages"][0]["content"]
    assert marker["chars"] == len(text)
    assert [note["sha256"] for note in bridge.of("note")] == [marker["sha256"]]  # the same keyed hash
    assert response["usage"]["output_tokens"] == 7
    assert bridge.of("start")[0]["options"]["capture_redact"] is True
