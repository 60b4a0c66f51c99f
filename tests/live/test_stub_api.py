"""The stub of the API over real sockets, seen by the vendor's SDK and by a plain HTTP client."""

import asyncio
import http.client
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import anthropic
import pytest

from addon.stub_api import StubApi, running

pytestmark = pytest.mark.live

QUESTION: dict[str, Any] = {
    "model": "claude-haiku-4-5",
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "How much does it weigh?"}],
}


@pytest.fixture
def stub() -> Iterator[StubApi]:
    with running(StubApi(keep=100)) as stub:
        yield stub


@pytest.fixture
def client(stub: StubApi) -> Iterator[anthropic.Anthropic]:
    http_client = anthropic.DefaultHttpxClient(trust_env=False)
    with anthropic.Anthropic(api_key="k", base_url=stub.url, max_retries=0, http_client=http_client) as client:
        yield client


def asked(client: anthropic.Anthropic, stub: str = "", *, stream: bool, **more: Any) -> anthropic.types.Message:
    request = {**QUESTION, **more, "extra_headers": {"x-stub": stub}}
    if not stream:
        return client.messages.create(**request)
    with client.messages.stream(**request) as events:
        return events.get_final_message()


def post(stub: StubApi, body: bytes, wish: str = "", **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", stub.port, timeout=10)
    with closing(connection):
        connection.request("POST", "/v1/messages", body, {"x-stub": wish, **headers})
        with closing(connection.getresponse()) as response:
            return response, response.read()


@pytest.mark.parametrize("stream", [True, False])
def test_an_alias_is_answered_by_its_snapshot_with_usage(client: anthropic.Anthropic, stream: bool) -> None:
    message = asked(client, stream=stream)
    assert message.model == "claude-haiku-4-5-20251001"
    assert message.stop_reason == "end_turn"
    assert (
        message.usage.input_tokens
        == client.messages.count_tokens(model=QUESTION["model"], messages=QUESTION["messages"]).input_tokens
    )
    assert (message.usage.cache_read_input_tokens, message.usage.output_tokens > 0) == (0, True)


@pytest.mark.parametrize("stream", [True, False])
def test_the_cache_counts(client: anthropic.Anthropic, stream: bool) -> None:
    system = [{"type": "text", "text": "x" * 20_000, "cache_control": {"type": "ephemeral"}}]
    written, read = (asked(client, stream=stream, system=system).usage for _ in range(2))
    assert written.cache_creation_input_tokens == read.cache_read_input_tokens
    assert written.cache_creation is not None
    assert written.cache_creation.ephemeral_5m_input_tokens == written.cache_creation_input_tokens


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_answers_come_in_any_content_coding(stub: StubApi, encoding: str, stream: bool) -> None:
    from mitmproxy.net import encoding as codings

    body = json.dumps({**QUESTION, "stream": stream}).encode()
    response, data = post(stub, body, f"encoding={encoding}")
    assert response.getheader("content-encoding") == encoding
    assert bytes(stub.exchanges[-1].sent) == data
    assert b"claude-haiku-4-5-20251001" in codings.decode(data, encoding)  # type: ignore[arg-type, operator]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_requests_come_in_any_content_coding(stub: StubApi, coding: str) -> None:
    from mitmproxy.net import encoding as codings

    body = codings.encode(json.dumps(QUESTION).encode(), coding)
    assert isinstance(body, bytes)
    response, _ = post(stub, body, **{"content-encoding": coding})
    assert response.status == 200
    assert post(stub, b"not that", **{"content-encoding": coding})[0].status == 400


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ],
)
@pytest.mark.parametrize("by_model", [True, False])
def test_errors_come_by_name(client: anthropic.Anthropic, status: int, kind: str, by_model: bool) -> None:
    more = {"model": f"error-{status}"} if by_model else {}
    with pytest.raises(anthropic.APIStatusError) as caught:
        asked(client, "" if by_model else f"error={status}", stream=True, **more)
    assert caught.value.status_code == status
    body: Any = caught.value.body
    assert body["error"]["type"] == kind
    assert body["request_id"] == caught.value.response.headers["request-id"]
    assert ("retry-after" in caught.value.response.headers) is (status == 429)


def test_an_error_can_pass(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.APIStatusError):
        asked(client, "error=529; times=1", stream=False)
    assert asked(client, "error=529; times=1", stream=False).stop_reason == "end_turn"


def test_an_error_can_be_a_page(stub: StubApi) -> None:
    response, data = post(stub, b"{}", "error=413; page")
    assert (response.status, response.getheader("content-type"), data[:6]) == (413, "text/html", b"<html>")


def test_an_error_event_can_follow_a_good_start(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.APIStatusError, match="Overloaded") as caught:
        asked(client, "fail=4", stream=True)
    assert caught.value.response.status_code == 200


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_can_be_cut(stub: StubApi, stream: bool) -> None:
    with pytest.raises(http.client.IncompleteRead) as caught:
        post(stub, json.dumps({**QUESTION, "stream": stream}).encode(), "cut=3")
    partial = caught.value.partial
    assert (partial.count(b"event: ") if stream else len(partial)) == 3


def test_a_held_stream_waits_between_the_first_and_the_second_event(stub: StubApi) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", stub.port, timeout=10)
    connection.request("POST", "/v1/messages", json.dumps({**QUESTION, "stream": True}), {"x-stub": "hold"})
    response = connection.getresponse()
    assert b"message_start" in response.read1()
    connection.sock.settimeout(0.2)
    with pytest.raises(TimeoutError):
        response.read1()
    response.close()
    connection.close()


def test_what_is_held_can_be_released_from_outside_and_from_another_thread(stub: StubApi) -> None:
    for release in (
        stub.release,
        lambda: urllib.request.urlopen(urllib.request.Request(f"{stub.url}/stub/release", method="POST")).close(),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", stub.port, timeout=10)
        connection.request("POST", "/v1/messages", json.dumps({**QUESTION, "stream": True}), {"x-stub": "hold"})
        response = connection.getresponse()
        assert b"message_start" in response.read1()
        release()
        assert b"message_stop" in response.read()
        connection.close()


def test_events_can_be_paced(client: anthropic.Anthropic) -> None:
    began = time.monotonic()
    asked(client, "pace=0.02; words=20", stream=True)
    assert time.monotonic() - began > 0.1


@pytest.mark.parametrize("stream", [True, False])
def test_figures_can_be_given(client: anthropic.Anthropic, stream: bool) -> None:
    given = '{"input_tokens":10,"cache_creation_input_tokens":24613,"cache_read_input_tokens":0}'
    usage = asked(client, f"usage={given}", stream=stream).usage
    assert (usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens) == (10, 24613, 0)


def test_the_last_word_on_usage_can_be_given(client: anthropic.Anthropic) -> None:
    usage = asked(client, 'delta-usage={"input_tokens":404500,"output_tokens":9}', stream=True).usage
    assert (usage.input_tokens, usage.output_tokens) == (404500, 9)


def test_a_prompt_can_be_too_long(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > 5 maximum"):
        asked(client, "limit=5", stream=False)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"model": "m"}',
        b'{"model":"m","max_tokens":9,"messages":[]}',
        b'{"model":"m","max_tokens":1e5000,"messages":[{"role":"user","content":"x"}]}',
        b'{"model":"m","max_tokens":NaN,"messages":[{"role":"user","content":"x"}]}',
        b'{"model":"m","max_tokens":"many","messages":[{"role":"user","content":"x"}]}',
        b'{"model":"m","max_tokens":9,"tools":3,"messages":[{"role":"user","content":"x"}]}',
    ],
)
def test_what_is_no_request_is_answered_with_400(stub: StubApi, body: bytes) -> None:
    response, data = post(stub, body)
    assert response.status == 400
    assert json.loads(data)["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("text", [rb"\ud83d", rb"\u0000", "\u2028\U0001f69a".encode()])
def test_a_body_with_odd_characters_is_a_request(stub: StubApi, text: bytes) -> None:
    body = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"%b"}]}' % text
    assert post(stub, body)[0].status == 200


@pytest.mark.parametrize("form", ["fixed", "fixed=json"])
def test_fixed_answers_do_not_look_at_the_body(stub: StubApi, form: str) -> None:
    (one, first), (_, second) = post(stub, b"\x00", form), post(stub, b"other", form)
    assert (one.status, first) == (200, second)
    assert bytes(stub.exchanges[-1].sent) == second


def test_one_connection_serves_many_requests(stub: StubApi) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", stub.port, timeout=10)
    for wish in ("", "fixed", "error=429", "encoding=br", "error=400; page"):
        connection.request("POST", "/v1/messages", json.dumps({**QUESTION, "stream": True}), {"x-stub": wish})
        response = connection.getresponse()
        response.read()
        assert not response.will_close, wish
    connection.close()


def test_chunked_requests_are_read(stub: StubApi) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", stub.port, timeout=10)
    body = json.dumps(QUESTION).encode()
    connection.request("POST", "/v1/messages", iter([body[:9], body[9:]]), encode_chunked=True)
    with closing(connection.getresponse()) as response:
        assert response.status == 200
    assert stub.exchanges[-1].request.body == body
    connection.close()


def test_batches_are_answered_in_another_order(client: anthropic.Anthropic) -> None:
    requests: Any = [{"custom_id": f"{n}", "params": QUESTION} for n in range(3)]
    requests.append({"custom_id": "bad", "params": {**QUESTION, "model": "error-429"}})
    batch = client.messages.batches.create(requests=requests)
    assert client.messages.batches.retrieve(batch.id).processing_status == "ended"
    results = {line.custom_id: line.result.type for line in client.messages.batches.results(batch.id)}
    assert list(results.items()) == [("bad", "errored"), ("2", "succeeded"), ("1", "succeeded"), ("0", "succeeded")]


def test_the_api_may_have_a_prefix_and_all_else_is_not_found(stub: StubApi) -> None:
    for path, status in (
        ("/anthropic/v1/messages?beta=true", 200),
        ("/v1/complete", 404),
        ("/", 404),
        ("/v1/messages/batches/none", 404),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", stub.port, timeout=10)
        connection.request("POST", path, json.dumps(QUESTION))
        with closing(connection.getresponse()) as response:
            assert response.status == status
        connection.close()


def test_models_are_listed(client: anthropic.Anthropic) -> None:
    assert "claude-haiku-4-5-20251001" in [model.id for model in client.models.list()]


def test_it_runs_inside_a_loop_and_drops_open_connections_at_the_end() -> None:
    async def main() -> bytes:
        async with StubApi() as stub:
            reader, writer = await asyncio.open_connection("127.0.0.1", stub.port)
            writer.write(b"GET /v1/models HTTP/1.1\r\n\r\n")
            assert b"200 OK" in await reader.readuntil(b"\r\n")
        rest = await reader.read()
        writer.close()
        return rest

    assert b"claude-opus" in asyncio.run(main())


def test_it_runs_as_a_program_that_prints_its_address() -> None:
    process = subprocess.Popen([sys.executable, "-m", "addon.stub_api"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with urllib.request.urlopen(f"{address}/v1/models", timeout=10) as response:
            assert json.load(response)["data"]
    finally:
        process.terminate()
        process.communicate(timeout=10)
