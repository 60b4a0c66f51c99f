"""The same exchange as each program that people export from writes it: all give the same figures."""

import gzip
import json
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import connection, http
from mitmproxy.addons.savehar import SaveHar
from mitmproxy.flow import Error
from mitmproxy.test import tflow
from saved_http import ASKED, BODY, SECRET, SSE, TEXT, URL, USAGE, codes, counters, fields, read

from analyzers.exchange import Exchange
from analyzers.readers.har import read_har

MILLISECONDS = {"send": 1, "wait": 200, "receive": 300}


def exported(creator: str, entry: dict[str, Any]) -> Exchange:
    log = {"version": "1.2", "creator": {"name": creator, "version": "1"}, "pages": [], "entries": [entry]}
    exchanges, problems = read(read_har, json.dumps({"log": log}, indent=2).encode())
    assert problems == []
    return exchanges[0]


CHROME = {
    "_connectionId": "711",
    "_initiator": {"type": "script", "stack": {"callFrames": []}},
    "_priority": "High",
    "_resourceType": "fetch",
    "cache": {},
    "connection": "443",
    "pageref": "page_1",
    "request": {
        "method": "POST",
        "url": URL,
        "httpVersion": "h2",
        "headers": [{"name": ":authority", "value": "api.anthropic.com"}, *fields(content_type="application/json")],
        "queryString": [{"name": "beta", "value": "true"}],
        "cookies": [],
        "headersSize": -1,
        "bodySize": len(BODY),
        "postData": {"mimeType": "application/json", "text": BODY.decode()},
    },
    "response": {
        "status": 200,
        "statusText": "",
        "httpVersion": "h2",
        "headers": fields(content_type="text/event-stream; charset=utf-8", content_encoding="br"),
        "cookies": [],
        "content": {"size": len(SSE.encode()), "mimeType": "text/event-stream", "text": SSE},
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": -1,
        "_transferSize": 412,
        "_error": None,
        "_fetchedViaServiceWorker": False,
    },
    "serverIPAddress": "160.79.104.10",
    "startedDateTime": "2026-11-30T10:00:00.250Z",
    "time": 501.0,
    "timings": {"blocked": 0, "dns": -1, "ssl": -1, "connect": -1, **MILLISECONDS, "_blocked_queueing": 0.5},
}
FIREFOX = {
    "startedDateTime": "2026-11-30T11:00:00.250+01:00",
    "request": {
        "bodySize": len(BODY),
        "method": "POST",
        "url": URL,
        "httpVersion": "HTTP/2",
        "headers": fields(Host="api.anthropic.com", Content_Type="application/json", x_api_key=SECRET),
        "cookies": [],
        "queryString": [{"name": "beta", "value": "true"}],
        "headersSize": 512,
        "postData": {"mimeType": "application/json", "params": [], "text": BODY.decode()},
    },
    "response": {
        "status": 200,
        "statusText": "OK",
        "httpVersion": "HTTP/2",
        "headers": fields(content_type="text/event-stream; charset=utf-8", content_encoding="gzip"),
        "cookies": [],
        "content": {"mimeType": "text/event-stream; charset=utf-8", "size": len(SSE.encode()), "text": SSE},
        "redirectURL": "",
        "headersSize": 700,
        "bodySize": 1090,
    },
    "cache": {},
    "timings": {"blocked": 0, "dns": 0, "connect": 0, "ssl": 0, **MILLISECONDS},
    "time": 501,
    "_securityState": "secure",
    "serverIPAddress": "160.79.104.10",
    "connection": "443",
    "pageref": "page_1",
}
SAFARI = {
    "pageref": "page_0",
    "startedDateTime": "2026-11-30T10:00:00.250Z",
    "time": 501.0000001,
    "request": {
        "method": "POST",
        "url": URL,
        "httpVersion": "HTTP/2",
        "cookies": [],
        "headers": fields(Content_Type="application/json", User_Agent="Safari"),
        "queryString": [],
        "headersSize": 300,
        "bodySize": len(BODY),
        "postData": {"mimeType": "application/json", "text": BODY.decode()},
    },
    "response": {
        "status": 200,
        "statusText": "",
        "httpVersion": "HTTP/2",
        "cookies": [],
        "headers": fields(Content_Type="text/event-stream; charset=utf-8"),
        "content": {"size": len(SSE.encode()), "compression": 0, "mimeType": "text/event-stream", "text": SSE},
        "redirectURL": "",
        "headersSize": 200,
        "bodySize": len(SSE.encode()),
        "_transferSize": 999,
    },
    "cache": {},
    "timings": {"blocked": 0.5, "dns": -1, "connect": -1, "ssl": -1, **MILLISECONDS},
    "_fetchType": "Network Load",
    "_priority": "medium",
}
CHARLES = {
    "startedDateTime": "2026-11-30T11:00:00.250+01:00",
    "time": 501,
    "request": {
        "method": "POST",
        "url": URL,
        "httpVersion": "HTTP/2.0",
        "cookies": [],
        "headers": fields(content_type="application/json", x_api_key=SECRET),
        "queryString": [{"name": "beta", "value": "true"}],
        "postData": {"mimeType": "application/json", "text": BODY.decode()},
        "headersSize": 420,
        "bodySize": len(BODY),
    },
    "response": {
        "_charlesStatus": "COMPLETE",
        "status": 200,
        "statusText": "OK",
        "httpVersion": "HTTP/2.0",
        "cookies": [],
        "headers": fields(content_type="text/event-stream; charset=utf-8", content_encoding="gzip"),
        "content": {
            "size": len(SSE.encode()),
            "compression": len(SSE.encode()) - len(gzip.compress(SSE.encode())),
            "mimeType": "text/event-stream",
            "text": b64encode(SSE.encode()).decode(),
            "encoding": "base64",
        },
        "redirectURL": None,
        "headersSize": 0,
        "bodySize": len(gzip.compress(SSE.encode())),
    },
    "serverIPAddress": "160.79.104.10",
    "cache": {},
    "timings": {"dns": -1, "connect": -1, "ssl": -1, **MILLISECONDS},
}
PROXYMAN = {
    "_id": "31",
    "_name": "",
    "_isHTTPS": True,
    "_isIntercepted": True,
    "_clientName": "node",
    "_clientBundlePath": "/usr/local/bin/node",
    "comment": "",
    "startedDateTime": "2026-11-30T10:00:00.250Z",
    "time": 501.0,
    "request": {
        "method": "POST",
        "url": URL,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": fields(Content_Type="application/json", x_api_key=SECRET),
        "queryString": [{"name": "beta", "value": "true"}],
        "postData": {"mimeType": "application/json", "params": [], "text": BODY.decode()},
        "headersSize": 400,
        "bodySize": len(BODY),
    },
    "response": {
        "status": 200,
        "statusText": "OK",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": fields(Content_Type="text/event-stream; charset=utf-8"),
        "content": {"size": len(SSE.encode()), "mimeType": "text/event-stream", "text": SSE},
        "redirectURL": "",
        "headersSize": 300,
        "bodySize": len(SSE.encode()),
    },
    "cache": {},
    "timings": dict(MILLISECONDS),
}


@pytest.mark.parametrize(
    ("creator", "entry"),
    [
        ("WebInspector", CHROME),
        ("Firefox", FIREFOX),
        ("WebKit Web Inspector", SAFARI),
        ("Charles Proxy", CHARLES),
        ("Proxyman", PROXYMAN),
    ],
)
def test_all_exporters_give_the_same_figures(creator: str, entry: dict[str, Any]) -> None:
    exchange = exported(creator, entry)
    request, response = exchange.request, exchange.response
    assert request is not None and response is not None
    assert (request.body, request.wire_bytes, request.time) == (ASKED, len(BODY), 1796032800.25)
    assert (response.status, response.first_byte, response.last) == (200, 0.201, 0.501)
    assert response.content == [{"type": "text", "text": TEXT}]
    assert counters(exchange) == USAGE and exchange.ended == "completed"
    assert codes(exchange) == set()
    assert SECRET not in repr(exchange)


# mitmproxy, as its own addon writes it


def flow(
    body: bytes | None = BODY,
    answer: bytes | None = SSE.encode(),
    request_headers: dict[str, str] | None = None,
    answer_headers: dict[str, str] | None = None,
) -> http.HTTPFlow:
    request = http.Request.make(
        "POST", URL, b"", {"content-type": "application/json", "x-api-key": SECRET} | (request_headers or {})
    )
    request.raw_content = body
    request.timestamp_start, request.timestamp_end = 1796032800.25, 1796032800.5
    response = http.Response.make(200, b"", {"content-type": "text/event-stream"} | (answer_headers or {}))
    response.raw_content = answer
    response.timestamp_start, response.timestamp_end = 1796032801.0, 1796032802.25
    made = http.HTTPFlow(tflow.tclient_conn(), connection.Server(address=("api.anthropic.com", 443)))
    made.request, made.response = request, response
    return made


def saved(made: http.HTTPFlow, folder: Path, name: str = "x.har") -> bytes:
    SaveHar().export_har([made], str(folder / name))  # type: ignore[arg-type]
    return (folder / name).read_bytes()


def from_mitmproxy(made: http.HTTPFlow, folder: Path) -> Exchange:
    (exchange,), problems = read(read_har, saved(made, folder))
    assert problems == []
    return exchange


@pytest.mark.parametrize("name", ["x.har", "x.zhar"])
def test_mitmproxy_gives_the_figures_that_the_wire_had(name: str, tmp_path: Path) -> None:
    (exchange,), problems = read(read_har, saved(flow(), tmp_path, name))
    assert problems == []
    request, response = exchange.request, exchange.response
    assert request is not None and response is not None
    assert (request.body, request.wire_bytes) == (ASKED, len(BODY))
    assert (response.wire_bytes, response.decoded_bytes) == (len(SSE.encode()), len(SSE.encode()))
    assert (request.time, response.first_byte, response.last) == (1796032800.25, 0.75, 2.0)
    assert response.content == [{"type": "text", "text": TEXT}] and counters(exchange) == USAGE
    assert codes(exchange) == {"bytes_as_characters"}
    assert SECRET not in repr(exchange)


def test_mitmproxy_decodes_what_was_compressed(tmp_path: Path) -> None:
    for coding, packed in (("gzip", gzip.compress(SSE.encode())), ("deflate", zlib.compress(SSE.encode()))):
        made = flow(answer=packed, answer_headers={"content-encoding": coding})
        exchange = from_mitmproxy(made, tmp_path)
        assert counters(exchange) == USAGE and exchange.response is not None
        assert exchange.response.decoded_bytes == len(SSE.encode())
        assert codes(exchange) == {"bytes_as_characters"}
    made = flow(body=gzip.compress(BODY), request_headers={"content-encoding": "gzip"})
    exchange = from_mitmproxy(made, tmp_path)
    assert exchange.request is not None and exchange.request.body == ASKED
    assert "decoded_in_file" in codes(exchange)


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "text/plain", ""])
@pytest.mark.parametrize(
    "body",
    [
        BODY,
        b'{"messages":[{"role":"user","content":"\xed\xa0\xbd"}]}',
        rb'{"messages":[{"role":"user","content":"\ud83d \udc80"}]}',
        '{"messages":[{"role":"user","content":"ÿ\x7f"}]}'.encode(),
    ],
)
def test_mitmproxy_requests_come_back_byte_for_byte(body: bytes, kind: str, tmp_path: Path) -> None:
    exchange = from_mitmproxy(flow(body=body, request_headers={"content-type": kind}), tmp_path)
    request = exchange.request
    assert request is not None and request.wire_bytes == len(body)
    direct = from_mitmproxy(flow(body=body), tmp_path).request
    assert direct is not None and (request.body, request.fingerprint) == (direct.body, direct.fingerprint)


def test_mitmproxy_writes_a_stream_that_it_did_not_keep_as_empty(tmp_path: Path) -> None:
    exchange = from_mitmproxy(flow(answer=None), tmp_path)
    assert exchange.request is not None and exchange.request.wire_bytes == len(BODY)
    assert counters(exchange) == {} and codes(exchange) == {"body_empty_in_file", "body_not_in_file"}
    request = from_mitmproxy(flow(body=None), tmp_path).request
    assert request is not None and request.reason == "the request's body is not in the file"


def test_mitmproxy_flows_without_an_answer_tell_of_their_failure(tmp_path: Path) -> None:
    made = flow()
    made.response, made.error = None, Error("Client disconnected.")
    exchange = from_mitmproxy(made, tmp_path)
    assert (exchange.ended, exchange.response and exchange.response.failure) == ("client_gone", "Client disconnected.")
    made.error = None
    assert from_mitmproxy(made, tmp_path).ended == "unanswered"


def test_mitmproxy_websockets_are_counted(tmp_path: Path) -> None:
    exchanges, problems = read(read_har, saved(tflow.twebsocketflow(), tmp_path))
    assert exchanges == [] and problems == ["1 websocket connection was left out: their messages are not read"]
