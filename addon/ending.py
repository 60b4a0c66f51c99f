"""How an exchange ended, told from what mitmproxy and the answer say."""

from typing import Final, Literal

from mitmproxy import flow as flows
from mitmproxy import http

from analyzers.wire.answer import Answer
from analyzers.wire.record import Ended

type Cause = Literal["response", "error", "disconnected", "stopped"]
"""What says that an exchange is over: one of mitmproxy's hooks for it, its client's leaving, or our own stopping."""

_BY_THE_PROXY: Final = (
    flows.Error.KILLED_MESSAGE,
    "exceeds mitmproxy's body_size_limit",
    "refusing to prevent request smuggling",
)


def how_it_ended(flow: http.HTTPFlow, head: http.Response | None, answer: Answer | None, cause: Cause) -> Ended:
    """The word for the end of an exchange. ``head`` None: no answer came; ``answer`` None: its body could not be read.

    What the API said counts first: a client that leaves after the last event got everything. mitmproxy says "reset by
    client" of HTTP/2 resets from either side; a client's is told by its CANCEL, or by the server not speaking HTTP/2.
    """
    message = flow.error.msg if flow.error else ""
    if (head and head.status_code >= 400) or (answer and answer.error):
        return "error"
    if (answer and answer.complete) or (head and cause == "response" and _is_framed(head, answer)):
        return "completed"
    if cause == "stopped" or any(text in message for text in _BY_THE_PROXY):
        return "proxy_stopped"
    if cause == "disconnected" or (cause == "error" and not flow.client_conn.connected):
        return "client_gone"
    if "reset by client" in message and ("CANCEL" in message or flow.server_conn.alpn != b"h2"):
        return "client_gone"
    return "upstream_cut" if head else "unreachable"


def _is_framed(head: http.Response, answer: Answer | None) -> bool:
    """Whether HTTP vouches for the whole body: its length was announced, and it is no stream with an end of its own."""
    if answer is None or head.status_code in (204, 304):  # RFC 9110: these have no body
        return True
    kind = head.headers.get("content-type", "").lower()
    has_end = "content-length" in head.headers or "transfer-encoding" in head.headers or head.is_http2
    return bool(has_end) and not answer.events and "event" not in kind
