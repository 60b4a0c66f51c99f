"""One flow that mitmproxy saved, as an exchange: the record that the recorder would have written of it (``wired``).

A state is the dict of a flow in mitmproxy's present format. mitmproxy's own objects are not made of it: they parse
certificates, and hold the bodies in reference cycles. A body that mitmproxy streamed without storing it, or that broke
off, is None in the file: it is not there, which is another thing than empty.

Durations count from when the request was complete (mitmproxy's end time of it), as the recorder's do; for a request
whose body is not in the file from its start, since such a one was streamed. The recorder's clock is monotonic,
mitmproxy's is the wall's: where it was set back meanwhile, a duration is 0 and never less.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from analyzers.exchange import Exchange, Request, Response
from analyzers.readers.wired import SavedAnswer, exchange_of, header, request_of
from analyzers.wire.note import Note
from analyzers.wire.record import Ended, SeenRequest
from analyzers.wire.routes import Route

type State = dict[Any, Any]
"""A flow as its file has it; names of members are bytes in the oldest formats."""

_PORT = re.compile(r":\d*$")
_NAMELESS_MODES = ("transparent", "local", "wireguard", "tun")
_BY_THE_PROXY = (
    "Connection killed.",
    "exceeds mitmproxy's body_size_limit",
    "refusing to prevent request smuggling",
)
_REPLAYED = Note("replayed", "sent again by the proxy")
_CUT = Note("request_cut", "the request did not come whole")
_LOCAL = Note("answered_locally", "a script or a saved flow answered; the request did not go upstream")
_IN_FLIGHT = Note("saved_in_flight", "saved before its end: mitmproxy stopped, or somebody saved it by hand")


# --- what a flow holds


@dataclass(frozen=True, slots=True)
class SavedMessage:
    """A request or a response. ``body`` None: not in the file; times None: not reached, or none."""

    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    began: float | None
    ended: float | None
    http2: bool


@dataclass(frozen=True, slots=True)
class SavedFlow:
    """What is used of a saved flow. ``status``: of the response; ``failure``: mitmproxy's sentence; ``alpn``: what a
    connection spoke, where known."""

    method: str
    scheme: str
    host: str
    port: int
    path: str
    request: SavedMessage
    status: int | None
    response: SavedMessage | None
    failure: str | None
    failed_at: float | None
    replayed: str | None
    client_alpn: bytes | None
    server_alpn: bytes | None


def saved_flow(state: State) -> SavedFlow:
    """The flow that a state of mitmproxy's present format is. Raises anything on what mitmproxy never writes."""
    request, response, error = state["request"], state["response"], state["error"]
    status = None if response is None else response["status_code"]
    if type(request["port"]) is not int or type(status) not in (int, type(None)):
        raise TypeError
    seen = _message(request)
    return SavedFlow(
        method=text(request["method"]),
        scheme=text(request["scheme"]),
        host=_host(request, seen, re.split("[:@]", state["client_conn"]["proxy_mode"], maxsplit=1)[0]),
        port=request["port"],
        path=text(request["path"]),
        request=seen,
        status=status,
        response=None if response is None else _message(response),
        failure=None if error is None else text(error["msg"]),
        failed_at=None if error is None else _moment(error["timestamp"]),
        replayed=state["is_replay"],
        client_alpn=state["client_conn"]["alpn"],
        server_alpn=state["server_conn"]["alpn"],
    )


def _message(state: State) -> SavedMessage:
    body = state["content"]
    return SavedMessage(
        headers=tuple((text(name), text(value)) for name, value in state["headers"]),
        body=body if type(body) is bytes else None,  # 0 in the oldest formats
        began=_moment(state["timestamp_start"]),
        ended=_moment(state["timestamp_end"]),
        http2=state["http_version"] == b"HTTP/2.0",
    )


def _host(request: State, seen: SavedMessage, mode: str) -> str:
    """Where the request goes. Where mitmproxy sees addresses only, its name is in the Host header."""
    named = text(request["authority"]) or header(seen.headers, "host")
    if mode in _NAMELESS_MODES and named:
        return _PORT.sub("", named.rpartition("@")[2]).strip("[]")
    return text(request["host"])


def text(raw: Any) -> str:
    """Text of a flow; bytes that are no UTF-8 become lone surrogates. Raises TypeError for what is neither."""
    if type(raw) is str:
        return raw
    if type(raw) is bytes:
        return raw.decode("utf-8", "surrogateescape")
    raise TypeError


def _moment(value: Any) -> float | None:
    """A time that can be shown in UTC, in seconds; None when it is none."""
    if type(value) not in (int, float):
        return None
    try:
        datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return float(value)


# --- a flow as an exchange


def exchange(flow: SavedFlow, route: Route, place: str, *, folded: bool = False) -> Exchange:
    """A flow of this route as an exchange. ``place``: for messages."""
    request = _request(flow, route, folded=folded)
    status, response = flow.status, flow.response
    if response is None or status is None or status < 200:
        return _unanswered(flow, request, place)
    ended = _how_it_ended(flow, answered=True)
    if ended is None and response.body is not None and not _is_framed(status, response):
        ended = "upstream_cut"
    saved = SavedAnswer(
        status=status,
        headers=response.headers,
        body=response.body,
        time=response.ended or flow.failed_at,
        first_byte=_since_request(flow, response.began),
        last=_since_request(flow, response.ended),
        failure=flow.failure,
        ended=ended,
        notes=_notes(flow, ended),
    )
    return exchange_of(request, saved, place)


def _request(flow: SavedFlow, route: Route, *, folded: bool) -> Request:
    notes = [_REPLAYED] if flow.replayed == "request" else []
    if flow.failure is not None and flow.response is None and flow.request.ended is None:
        notes.append(_CUT)
    seen = SeenRequest(
        id="",
        time=flow.request.began or 0.0,
        method=flow.method,
        scheme=flow.scheme,
        host=flow.host,
        port=flow.port,
        path=flow.path,
        route=route,
        headers=flow.request.headers,
        body=flow.request.body,
    )
    found = request_of(seen, notes, folded=folded)
    return found if flow.request.began is not None else replace(found, time=None)


def _unanswered(flow: SavedFlow, request: Request, place: str) -> Exchange:
    """An exchange without an answer: it failed, or was saved too early. An informational status is no answer."""
    ended: Ended = _how_it_ended(flow, answered=False) or "unreachable"
    notes = list(_notes(flow, ended))
    if flow.status is not None:
        notes.append(Note("informational", f"status {flow.status} was taken for the answer"))
    return Exchange(request, Response(time=flow.failed_at, failure=flow.failure, notes=tuple(notes)), ended, place)


def _notes(flow: SavedFlow, ended: Ended | None) -> tuple[Note, ...]:
    notes = [_LOCAL] if flow.replayed == "response" else []
    if flow.failure is None and ended == "proxy_stopped":
        notes.append(_IN_FLIGHT)
    return tuple(notes)


def _how_it_ended(flow: SavedFlow, *, answered: bool) -> Ended | None:
    """What the end of the connection says, by the recorder's rules as far as a file has what they need; None: nothing.

    A flow without an end is what ``mitmdump -w`` saves of it when it stops. That a client left is told by mitmproxy's
    sentence, and where both sides could have caused it, by which of them spoke HTTP/2; with HTTP/2 on both sides the
    file cannot tell, and upstream is said to have cut it.
    """
    if flow.failure is None:
        early = flow.response is None or (flow.response.ended is None and flow.response.body is None)
        return "proxy_stopped" if early else None
    if any(text in flow.failure for text in _BY_THE_PROXY):
        return "proxy_stopped"
    if _is_the_client(flow, flow.failure):
        return "client_gone"
    return "upstream_cut" if answered else "unreachable"


def _is_the_client(flow: SavedFlow, failure: str) -> bool:
    if failure == "Client disconnected.":
        return True
    if "reset by client" in failure:  # said of resets from either side
        return "CANCEL" in failure or flow.server_alpn != b"h2"
    if failure == "peer closed connection" or failure.startswith("HTTP/2 "):
        return flow.client_alpn == b"h2" and flow.server_alpn != b"h2"
    # HTTP/1 has the same words for a request that broke off and for an answer
    return failure.startswith("HTTP/1 ") and flow.response is None and flow.request.ended is None


def _is_framed(status: int, response: SavedMessage) -> bool:
    """Whether HTTP vouches for the whole body: its length was announced, and it is no stream with an end of its own."""
    if status in (204, 304):  # RFC 9110: these have no body
        return True
    headers = response.headers
    announced = header(headers, "content-length") is not None or header(headers, "transfer-encoding") is not None
    return (announced or response.http2) and "event" not in (header(headers, "content-type") or "").lower()


def _since_request(flow: SavedFlow, moment: float | None) -> float | None:
    begin = flow.request.began if flow.request.body is None else flow.request.ended
    return None if begin is None or moment is None else round(max(moment - begin, 0.0), 6)
