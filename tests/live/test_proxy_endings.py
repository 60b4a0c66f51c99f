"""How exchanges end, and proxies: what is on disk afterwards."""

import functools
import json
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from anthropic import Anthropic, APIStatusError
from proxied import ADDON, BODY, EVENTS, Call, Proxy, Upstream, capture_lines, event, patiently, request_bytes

from addon.stub_api import StubApi, running

pytestmark = pytest.mark.live

SAID = [{"type": "text", "text": "gr\u00fc\u00df"}]
ERROR = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_9"}'


def held_after(count: int, release: threading.Event) -> Callable[[Call], None]:
    """Sends some events and then waits."""

    def script(call: Call) -> None:
        call.stream(*EVENTS[:count], last=False)
        release.wait(20)
        call.close()

    return script


@pytest.fixture
def release() -> threading.Event:
    return threading.Event()


# --- the client leaves


@pytest.mark.parametrize("how", ["close", "reset"])
def test_the_client_leaves_in_the_middle(
    proxy: Proxy, upstream: Upstream, name: str, release: threading.Event, how: str
) -> None:
    upstream.script = held_after(3, release)
    client = proxy.client()
    client.send(request_bytes(name))
    client.head()
    assert b"".join(client.chunk() for _ in range(3)) == b"".join(EVENTS[:3])
    client.close() if how == "close" else client.reset()
    _, response = proxy.finished(name)
    assert response["ended"] == "client_gone"
    assert response["content"] == SAID
    assert response["usage"]["input_tokens"] == 10
    release.set()


def test_the_client_leaves_after_the_last_event(
    proxy: Proxy, upstream: Upstream, name: str, release: threading.Event
) -> None:
    upstream.script = held_after(len(EVENTS), release)
    client = proxy.client()
    client.send(request_bytes(name))
    client.head()
    while b"message_stop" not in client.chunk():
        pass
    client.close()
    _, response = proxy.finished(name)
    assert response["ended"] == "completed"
    assert response["usage"]["output_tokens"] == 7
    release.set()


def test_the_client_leaves_before_there_is_an_answer(
    proxy: Proxy, upstream: Upstream, name: str, release: threading.Event
) -> None:
    def never(call: Call) -> None:
        release.wait(20)
        call.close()

    upstream.script = never
    client = proxy.client()
    client.send(request_bytes(name))
    proxy.exchange(name)
    client.close()
    _, response = proxy.finished(name)
    assert (response["ended"], response["status"]) == ("client_gone", None)
    release.set()


def test_the_client_leaves_in_the_middle_of_its_request(proxy: Proxy, upstream: Upstream, name: str) -> None:
    client = proxy.client()
    client.send(request_bytes(name)[:-20])
    time.sleep(0.2)
    client.close()
    request, response = proxy.finished(name)
    assert {note["code"] for note in request["notes"]} == {"request_cut"}
    assert response["ended"] == "client_gone"
    assert upstream.calls == []


# --- upstream fails


def answer_bytes(proxy: Proxy, name: str) -> tuple[bytes, bytes]:
    """First line of the answer, and everything of its body that came."""
    client = proxy.client()
    client.send(request_bytes(name))
    first, headers = client.head()
    chunks: list[bytes] = []
    try:
        if any(header == b"Transfer-Encoding" for header, _ in headers):
            chunks.extend(iter(client.chunk, b""))
        else:
            chunks.append(client.body(headers, to_end=True))
    except (EOFError, ConnectionError):
        pass
    client.close()
    return first, b"".join(chunks)


@pytest.mark.parametrize("how", ["close", "reset"])
def test_upstream_breaks_off(proxy: Proxy, upstream: Upstream, name: str, how: str) -> None:
    def cut(call: Call) -> None:
        call.stream(*EVENTS[:3], last=False)
        time.sleep(0.1)
        call.gone = True
        call.close() if how == "close" else call.reset()

    upstream.script = cut
    assert answer_bytes(proxy, name)[1] == b"".join(EVENTS[:3])
    _, response = proxy.finished(name)
    assert response["ended"] == "upstream_cut"
    assert response["content"] == SAID


def test_upstream_breaks_off_where_http_does_not_notice(proxy: Proxy, upstream: Upstream, name: str) -> None:
    def cut(call: Call) -> None:
        call.begin()
        call.send(b"".join(EVENTS[:3]))
        call.close()

    upstream.script = cut
    assert answer_bytes(proxy, name)[1] == b"".join(EVENTS[:3])
    assert proxy.finished(name)[1]["ended"] == "upstream_cut"


def test_upstream_closes_without_a_word(proxy: Proxy, upstream: Upstream, name: str) -> None:
    upstream.script = lambda call: call.close()
    assert answer_bytes(proxy, name)[0].startswith(b"HTTP/1.1 502")
    _, response = proxy.finished(name)
    assert (response["ended"], response["status"]) == ("unreachable", None)


@pytest.mark.parametrize("status", [400, 401, 404, 413, 429, 500, 529])
def test_the_api_says_no(proxy: Proxy, upstream: Upstream, name: str, status: int) -> None:
    upstream.script = lambda call: call.answer(status, ERROR, retry_after="3", request_id="req_9")
    first, body = answer_bytes(proxy, name)
    assert first == b"HTTP/1.1 %d Whatever" % status
    assert body == ERROR
    _, response = proxy.finished(name)
    assert (response["ended"], response["status"]) == ("error", status)
    assert response["error"]["type"] == "overloaded_error"
    assert response["headers"]["retry-after"] == "3"
    patiently(lambda: f"error {status} overloaded_error req_9" in proxy.log(), "a line in the log")


def test_a_page_instead_of_an_answer(proxy: Proxy, upstream: Upstream, name: str) -> None:
    upstream.script = lambda call: call.answer(503, b"<html>down</html>", "text/html")
    answer_bytes(proxy, name)
    assert proxy.finished(name)[1]["body"] == "<html>down</html>"


def test_an_error_in_the_stream(proxy: Proxy, upstream: Upstream, name: str) -> None:
    error = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    upstream.script = lambda call: call.stream(*EVENTS[:3], error)
    assert answer_bytes(proxy, name)[1] == b"".join(EVENTS[:3]) + error
    _, response = proxy.finished(name)
    assert (response["ended"], response["status"]) == ("error", 200)
    assert response["usage"]["input_tokens"] == 10


def test_nobody_there(start: Callable[..., Proxy], name: str) -> None:
    gone = Upstream()
    gone.close()
    proxy = start(gone.url).up()
    assert answer_bytes(proxy, name)[0].startswith(b"HTTP/1.1 502")
    request, response = proxy.finished(name)
    assert request["body"] == json.loads(BODY)
    assert response["ended"] == "unreachable"


# --- the official client


def test_the_sdk_through_the_proxy(start: Callable[..., Proxy]) -> None:
    with running(StubApi()) as stub:
        proxy = start(stub.url).up()
        client = Anthropic(api_key="sk-ant-SECRET", base_url=proxy.url, max_retries=0)
        asked = [{"role": "user", "content": "hello"}]
        model = "claude-haiku-4-5"
        whole = client.messages.create(model=model, max_tokens=50, messages=asked)  # type: ignore[arg-type]
        with client.messages.stream(model=model, max_tokens=50, messages=asked) as stream:  # type: ignore[arg-type]
            streamed = stream.get_final_message()
        count = client.messages.count_tokens(model=model, messages=asked)  # type: ignore[arg-type]
        with pytest.raises(APIStatusError) as refused:
            client.messages.create(model="error-429", max_tokens=5, messages=asked)  # type: ignore[arg-type]
        client.close()
        assert proxy.stop() == 0
    answers = [line for line in proxy.lines() if line["kind"] == "response"]
    assert [line["ended"] for line in answers] == ["completed", "completed", "completed", "error"]
    for said, line in zip((whole, streamed), answers, strict=False):
        assert line["content"] == [block.model_dump(exclude_none=True) for block in said.content]
        assert line["usage"]["output_tokens"] == said.usage.output_tokens
        assert line["model"] == said.model
    assert answers[2]["body"] == {"input_tokens": count.input_tokens}
    assert answers[3]["status"] == refused.value.status_code == 429
    assert [line["kind"] for line in proxy.lines()][-1] == "end"


# --- the proxy stops


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_proxy_is_stopped_in_the_middle(
    start: Callable[..., Proxy], upstream: Upstream, name: str, release: threading.Event, how: signal.Signals
) -> None:
    proxy = start(upstream.url).up()
    upstream.script = held_after(3, release)
    client = proxy.client()
    client.send(request_bytes(name))
    client.head()
    assert b"".join(client.chunk() for _ in range(3)) == b"".join(EVENTS[:3])
    assert proxy.stop(how) == 0
    release.set()
    lines = proxy.lines()
    assert [line["kind"] for line in lines if line["kind"] != "note"] == ["start", "request", "response", "end"]
    assert lines[2]["ended"] == "proxy_stopped"
    assert lines[2]["content"] == SAID
    assert f'File "{ADDON}' not in proxy.log()
    # Until some 3.12 asyncio itself logs of every connection that is cancelled (StreamReaderProtocol).
    assert sys.version_info < (3, 13) or "Traceback" not in proxy.log()
    client.close()


def test_killed_at_any_moment_nothing_accepted_is_lost(
    start: Callable[..., Proxy], upstream: Upstream, tmp_path: Path
) -> None:
    upstream.script = lambda call: call.stream(*EVENTS)
    dice = random.Random(20)

    def forwarded(number: int) -> set[str]:
        names = (dict(call.headers)[b"X-Client-Request-Id"].decode() for call in list(upstream.calls))
        return {name for name in names if name.startswith(f"round-{number}-")}

    def keep_asking(number: int, proxy: Proxy) -> None:
        client = proxy.client()
        try:
            for count in range(10_000):
                text = b"%d lorem ipsum " % count * 3_000
                client.send(request_bytes(f"round-{number}-{count}", BODY.replace(b"hello", text)))
                _, headers = client.head()
                client.body(headers)
        except (EOFError, OSError):
            client.close()

    for batch in range(5):
        numbers = range(4 * batch, 4 * batch + 4)
        proxies = {number: start(upstream.url, folder=tmp_path / str(number)) for number in numbers}
        for number, proxy in proxies.items():
            client = threading.Thread(target=keep_asking, args=(number, proxy.up()))
            client.start()
            patiently(functools.partial(forwarded, number), "a first request")
            time.sleep(dice.uniform(0, 0.1))
            assert proxy.stop(signal.SIGKILL) == -signal.SIGKILL
            client.join()
            lines = capture_lines(proxy.captures)
            recorded = {line["headers"]["x-client-request-id"] for line in lines if line["kind"] == "request"}
            assert forwarded(number) <= recorded
            assert len(recorded) - sum(line["kind"] == "response" for line in lines) <= 1
