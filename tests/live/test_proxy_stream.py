"""Bytes through a real proxy: the same at both ends, each when it comes."""

import gzip
import itertools
import json
import socket
import sys
import threading
import time
import zlib
from collections.abc import Callable

import brotli
import httpx2
import pytest
from proxied import BODY, EVENTS, Call, Proxy, Upstream, Wire, request_bytes

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = pytest.mark.live


def fetched(wire: Wire, request: bytes, *, to_end: bool = False) -> tuple[bytes, list[tuple[bytes, bytes]], bytes]:
    wire.send(request)
    first, headers = wire.head()
    return first, headers, wire.body(headers, to_end=to_end)


# --- time


@pytest.mark.parametrize(
    "kind", ["text/event-stream", "Text/Event-Stream; charset=utf-8", "application/json", None], ids=str
)
def test_the_first_event_arrives_while_the_second_is_held(
    proxy: Proxy, upstream: Upstream, name: str, kind: str | None
) -> None:
    go_on = threading.Event()

    def held(call: Call) -> None:
        call.stream(EVENTS[0], last=False, kind=kind)
        assert go_on.wait(20)
        for chunk in (*EVENTS[1:], b""):
            call.put(chunk)

    upstream.script = held
    client = proxy.client()
    client.send(request_bytes(name))
    _, headers = client.head()
    assert client.chunk() == EVENTS[0]
    request, response = proxy.exchange(name)
    assert request["body"] == json.loads(BODY) and response is None
    go_on.set()
    assert client.body(headers) == b"".join(EVENTS[1:])
    request, response = proxy.finished(name)
    assert response["ended"] == "completed"
    assert response["first_byte"] <= response["first_content"] <= response["last"]
    client.close()


def test_events_are_not_gathered(proxy: Proxy, upstream: Upstream, name: str) -> None:
    def paced(call: Call) -> None:
        call.begin(transfer_encoding="chunked")
        for chunk in (*EVENTS, b""):
            call.put(chunk)
            time.sleep(0.05)

    upstream.script = paced
    client = proxy.client()
    client.send(request_bytes(name))
    client.head()
    arrivals = []
    while client.chunk():
        arrivals.append(time.monotonic())
    gaps = [after - before for before, after in itertools.pairwise(arrivals)]
    assert len(arrivals) == len(EVENTS)
    assert min(gaps) > 0.01
    client.close()


# --- bytes

ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "identity": lambda data: data,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("shape", ["chunked", "length", "to the end"])
def test_both_ends_see_what_they_would_see_without_a_proxy(
    proxy: Proxy, upstream: Upstream, name: str, encoding: str, shape: str
) -> None:
    body = ENCODINGS[encoding](b"".join(EVENTS))
    pieces = [body[at : at + 7] for at in range(0, len(body), 7)]

    def answer(call: Call) -> None:
        if shape == "chunked":
            call.stream(*pieces, content_encoding=encoding, x_odd="\u00e9 ,; two  spaces")
        elif shape == "length":
            call.answer(200, body, "text/event-stream", content_encoding=encoding)
        else:
            call.begin(content_encoding=encoding)
            call.send(body)
            call.close()

    upstream.script = answer
    sent = ENCODINGS[encoding](BODY)
    request = request_bytes(name, sent, "/v1/messages?beta=true&x=%2F", content_encoding=encoding, x_api_key="k  k")
    direct = Upstream()
    direct.script = answer
    through, bare = proxy.client(), Wire(socket.create_connection(("127.0.0.1", direct.port)))
    to_end = shape == "to the end"
    assert fetched(through, request, to_end=to_end) == fetched(bare, request, to_end=to_end)
    (arrived,), (expected,) = upstream.calls, direct.calls
    assert arrived.data == sent
    assert arrived.first == expected.first
    assert [field for field in arrived.headers if field[0] != b"Host"] == [
        field for field in expected.headers if field[0] != b"Host"
    ]
    recorded, response = proxy.finished(name)
    assert recorded["body"] == json.loads(BODY)
    assert (recorded["wire_bytes"], recorded["decoded_bytes"]) == (len(sent), len(BODY))
    assert sum(recorded["steps"].values()) == len(sent)
    assert (response["wire_bytes"], response["decoded_bytes"]) == (len(body), len(b"".join(EVENTS)))
    assert response["ended"] == "completed"
    assert response["content"] == [{"type": "text", "text": "gr\u00fc\u00df dich \U0001f600"}]
    for wire in (through, bare):
        wire.close()
    direct.close()


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe\x00", b'{"a":1,"a":2}', b'\xef\xbb\xbf{"model":"m"}', b'{"t":"\\ud83d"}', b"[" * 5_000],
    ids=["empty", "half", "binary", "duplicate", "bom", "surrogate", "deep"],
)
def test_a_malformed_body_is_recorded_and_forwarded_as_it_is(
    proxy: Proxy, upstream: Upstream, name: str, body: bytes
) -> None:
    client = proxy.client()
    fetched(client, request_bytes(name, body))
    assert upstream.calls[0].data == body
    request, response = proxy.finished(name)
    assert request["wire_bytes"] == len(body)
    assert ("body" in request) != ("unparsed" in request)
    assert response["ended"] == "completed"
    client.close()


def test_a_chunked_request_that_expects_to_be_welcome(proxy: Proxy, upstream: Upstream, name: str) -> None:
    client = proxy.client()
    head, _, _ = request_bytes(name, b"", transfer_encoding="chunked", expect="100-continue").partition(b"\r\n\r\n")
    client.send(head.replace(b"Content-Length: 0\r\n", b"") + b"\r\n\r\n")
    assert client.head()[0].startswith(b"HTTP/1.1 100")
    client.send(b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY))
    first, headers = client.head()
    assert first.startswith(b"HTTP/1.1 200")
    assert client.body(headers) == b"".join(EVENTS)
    request, response = proxy.finished(name)
    assert request["wire_bytes"] == len(BODY)
    assert response["status"] == 200
    client.close()


def test_many_exchanges_on_one_connection(proxy: Proxy, upstream: Upstream, name: str) -> None:
    client = proxy.client()
    for number in range(20):
        fetched(client, request_bytes(f"{name}-{number}"))
    for number in range(20):
        assert proxy.finished(f"{name}-{number}")[1]["ended"] == "completed"
    client.close()


def test_http2_from_the_client(proxy: Proxy, upstream: Upstream, name: str) -> None:
    go_on = threading.Event()

    def held(call: Call) -> None:
        call.stream(EVENTS[0], last=False)
        assert go_on.wait(20)
        for chunk in (*EVENTS[1:], b""):
            call.put(chunk)

    upstream.script = held
    url = f"https://127.0.0.1:{proxy.port}/v1/messages"
    with (
        httpx2.Client(http2=True, verify=False, timeout=20) as client,
        client.stream("POST", url, content=BODY, headers={"x-client-request-id": name}) as answer,
    ):
        assert answer.http_version == "HTTP/2"
        pieces = answer.iter_raw()
        assert next(pieces) == EVENTS[0]
        go_on.set()
        assert b"".join(pieces) == b"".join(EVENTS[1:])
    assert upstream.calls[0].data == BODY
    assert proxy.finished(name)[1]["ended"] == "completed"


def test_two_hundred_streams_at_once(proxy: Proxy, upstream: Upstream, name: str) -> None:
    count = 200
    everybody = threading.Barrier(count)

    def together(call: Call) -> None:
        call.stream(EVENTS[0], last=False)
        everybody.wait(60)
        for chunk in (*EVENTS[1:], b""):
            call.put(chunk)

    upstream.script = together
    bodies: list[bytes] = []

    def stream(number: int) -> None:
        client = proxy.client()
        client.sock.settimeout(60)
        client.send(request_bytes(f"{name}-{number}"))
        _, headers = client.head()
        bodies.append(client.body(headers))
        client.close()

    threads = [threading.Thread(target=stream, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bodies == [b"".join(EVENTS)] * count
    lines = proxy.lines()
    ids = {line["id"] for line in lines if line["kind"] == "request" and name in str(line["headers"])}
    ends = [line["ended"] for line in lines if line["kind"] == "response" and line["id"] in ids]
    assert len(ids) == count
    assert ends == ["completed"] * count
