"""One flow of mitmproxy as an exchange, as the readers make it of a saved one; the answer as it was recorded, where the
recorder knows it, since mitmproxy does not keep what it streams.

Whoever shows a flow does so on the event loop, so the work is bounded: a body that is too long, or of too many parts,
is not taken apart, and the exchange says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from mitmproxy import http

from analyzers.exchange import Exchange
from analyzers.readers.captures import read_response
from analyzers.wire.encodings import decode
from analyzers.wire.routes import Route, classify

MOST_BYTES: Final = 8_000_000
MOST_PARTS: Final = 50_000
"""JSON values of a body: what takes about a second to take apart, at the worst."""

MOST_MARKS: Final = 400_000
"""Brackets and commas of a stream of events, a dozen of which make an event."""


NOT_OURS: Final = "This is no request to the Messages API: there is nothing to weigh."


@dataclass(frozen=True, slots=True)
class Told:
    """What the recorder knows of an exchange that is over. ``number``: as in its line in the log; ``request``: route,
    model and figures; ``record``: the ``response`` line without what the model said."""

    number: int | None
    request: Mapping[str, Any]
    record: Mapping[str, Any]


def told_of(number: int | None, request: Mapping[str, Any], record: Mapping[str, Any]) -> Told:
    """What to keep of the records of an exchange: some 3 KB, whatever the answer was."""
    kept = {name: value for name, value in record.items() if name not in ("content", "body", "rest")}
    body = record.get("body")
    if type(body) is dict and type(body.get("input_tokens")) is int:  # the answer of count_tokens
        kept["body"] = {"input_tokens": body["input_tokens"]}
    return Told(number, request, kept)


def route_of(flow: http.HTTPFlow) -> Route | None:
    """The route of the Messages API that a flow belongs to, None for all others."""
    return None if flow.websocket else classify(flow.request.method, flow.request.path)


def exchange_of(flow: http.HTTPFlow, route: Route, told: Told | None, *, bounded: bool = True) -> Exchange:
    """The exchange that a flow is. ``told`` None: nothing but the flow is known of it. ``bounded`` False: however long
    it takes."""
    from analyzers.readers.saved_flow import exchange, saved_flow

    state = _state(flow)
    too_much = _withheld(state["request"]) if bounded else None
    if told is not None:
        state["response"] = None
    elif state["response"] is not None and bounded:
        _withheld(state["response"])
    found = exchange(saved_flow(state), route, "")
    if too_much is not None and found.request is not None:
        found = replace(found, request=replace(found.request, reason=too_much))
    if told is not None:
        return replace(found, response=read_response(dict(told.record)), ended=told.record["ended"])
    return replace(found, response=None, ended="in_flight") if _is_under_way(flow) else found


def _is_under_way(flow: http.HTTPFlow) -> bool:
    over = flow.error is not None or (flow.response is not None and flow.response.timestamp_end is not None)
    return flow.live and not over


def _state(flow: http.HTTPFlow) -> dict[Any, Any]:
    """What a flow file would have of this flow, without the certificates."""
    request = flow.request.get_state()  # type: ignore[no-untyped-call]
    response = flow.response.get_state() if flow.response is not None else None  # type: ignore[no-untyped-call]
    return {
        "request": request,
        "response": response,
        "error": flow.error.get_state() if flow.error is not None else None,
        "is_replay": flow.is_replay,
        "client_conn": {"alpn": flow.client_conn.alpn, "proxy_mode": flow.client_conn.proxy_mode.full_spec},
        "server_conn": {"alpn": flow.server_conn.alpn},
    }


def _withheld(message: dict[Any, Any]) -> str | None:
    """Takes a body out that is too much to be taken apart while traffic waits; the reason, None when it stays."""
    body = message["content"]
    if not body:
        return None
    headers = {name.lower(): value for name, value in message["headers"]}
    encoding = headers.get(b"content-encoding")
    if encoding is not None:
        body = decode(body, encoding.decode("latin-1"), MOST_BYTES + 1).data
    reason = too_much(body, events=b"event" in headers.get(b"content-type", b""))
    if reason is not None:
        message["content"] = None
    return reason


def too_much(body: bytes, *, events: bool = False) -> str | None:
    """Why a decoded body is not taken apart here, None when it can be. Quick, whatever the body is."""
    if len(body) > MOST_BYTES:
        return f"more than {MOST_BYTES:,} bytes are not taken apart here; `weighbridge show` does"
    parts, most = (_marks(body), MOST_MARKS) if events else (_parts(body), MOST_PARTS)
    if parts <= most:
        return None
    return f"a body of more than {most:,} parts is not taken apart here; `weighbridge show` does"


def _marks(body: bytes) -> int:
    """At least as many as a JSON text has values."""
    return body.count(b"[") + body.count(b"{") + body.count(b",") + 1


def _parts(body: bytes) -> int:
    """What it will take to weigh a body: its values, where it is the shortest JSON of them (counted so far that they
    are known to be too many). Any other spelling is read mark by mark, those in texts too; and where the fast parser
    refuses it, escape by escape."""
    marks = _marks(body)
    try:
        value = orjson.loads(body)
        if marks <= MOST_PARTS or orjson.dumps(value) != body:
            return marks
    except (orjson.JSONDecodeError, TypeError):  # TypeError: too deep to be written
        return marks + body.count(b"\\")
    stack, count = [value], 1
    while stack and count <= MOST_PARTS:
        node = stack.pop()
        if type(node) is dict:
            count += len(node)
            stack.extend(node.values())
        elif type(node) is list:
            count += len(node)
            stack.extend(node)
    return count
