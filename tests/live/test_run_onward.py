"""`weighbridge run` beside proxies of the user's own: requests go on as the client alone would have sent them."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import socket
import threading
from collections.abc import Iterator

import pytest
from proxied import Wire, capture_lines
from run_place import BODY, CURL, Place

from addon.stub_api import StubApi

pytestmark = pytest.mark.live

ANSWER = b'{"answered":"by the proxy"}'
ASK = ("--", "sh", "-c", CURL, BODY)


class PlainProxy:
    """A proxy that opens no tunnels and answers itself. ``asked``: first line and headers of each request."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            wire = Wire(sock)
            while True:
                line, fields = wire.head()
                self.asked.append((line.decode(), {name.decode().lower(): value.decode() for name, value in fields}))
                if line.startswith(b"CONNECT"):
                    wire.send(b"HTTP/1.1 403 no tunnels\r\ncontent-length: 0\r\n\r\n")
                    continue
                wire.body(fields)
                length = str(len(ANSWER)).encode()
                wire.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: " + length)
                wire.send(b"\r\n\r\n" + ANSWER)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def proxy() -> Iterator[PlainProxy]:
    proxy = PlainProxy()
    yield proxy
    proxy.close()


def test_a_proxy_for_https_has_nothing_to_do_with_an_api_at_http(place: Place, stub: StubApi) -> None:
    code, out, error = place.run_warm(*ASK, ANTHROPIC_BASE_URL=stub.url, HTTPS_PROXY="http://127.0.0.1:9")
    assert code == 0 and "usage" in out, error


@pytest.mark.parametrize("entry", ["127.0.0.1", "127.0.0.0/8", "*"])
def test_an_excepted_host_is_asked_itself(place: Place, stub: StubApi, entry: str) -> None:
    nowhere = {"HTTP_PROXY": "http://127.0.0.1:9", "ALL_PROXY": "socks5://127.0.0.1:9", "NO_PROXY": entry}
    code, out, error = place.run_warm(*ASK, ANTHROPIC_BASE_URL=stub.url, **nowhere)
    assert code == 0 and "usage" in out, error


@pytest.mark.parametrize("way", ["--reverse", "--forward"])
def test_an_api_at_http_is_asked_for_by_its_whole_address_and_recorded_by_its_own(
    place: Place, proxy: PlainProxy, way: str
) -> None:
    named = {"HTTP_PROXY": f"http://ann:p%40ss@{proxy.address}", "ANTHROPIC_BASE_URL": "http://gw.corp:81/llm"}
    code, out, error = place.run_warm(way, *ASK, **named)
    assert (code, out) == (0, ANSWER.decode()), error
    ((line, headers),) = proxy.asked
    assert line == "POST http://gw.corp:81/llm/v1/messages HTTP/1.1"
    assert headers["host"] == "gw.corp:81"
    assert headers["proxy-authorization"] == f"Basic {base64.b64encode(b'ann:p@ss').decode()}"
    (request,) = place.lines("request")
    assert (request["host"], request["port"]) == ("gw.corp", 81)
    told = json.dumps(capture_lines(place.folder / "captures"))
    assert "p@ss" not in told and "proxy-authorization" not in told.lower() and "p%40ss" not in error


def test_user_and_password_of_the_address_reach_the_api_as_the_client_sends_them(place: Place, stub: StubApi) -> None:
    url = stub.url.replace("://", "://ann:s3cret@")
    code, _, error = place.run_warm(*ASK, ANTHROPIC_BASE_URL=url)
    assert code == 0, error
    sent = stub.exchanges[-1].request.header("authorization")
    assert sent == f"Basic {base64.b64encode(b'ann:s3cret').decode()}"
    assert "s3cret" not in error + json.dumps(capture_lines(place.folder / "captures"))


@pytest.mark.parametrize("url", ["http://ann:s3cret@127.0.0.1:99999", "127.0.0.1:1", "nonsense://x", "http://h?y=1"])
def test_an_address_that_is_none_is_one_sentence_about_the_variable(place: Place, url: str) -> None:
    code, out, error = place.run_warm("--", "echo", "ran", ANTHROPIC_BASE_URL=url)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert re.match("weighbridge: ANTHROPIC_BASE_URL '.*' is not an address like", error) and "s3cret" not in error
