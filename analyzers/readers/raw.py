"""A single request body in a JSON file: what somebody saved from a debugger or a log."""

from __future__ import annotations

from analyzers.exchange import Exchange, Request
from analyzers.readers.wired import unfolded
from analyzers.wire.jsontext import NotJson
from analyzers.wire.routes import Route
from analyzers.wire.weighing import weighed

_KEYS = frozenset(("messages", "requests", "system", "tools", "model", "max_tokens"))


def read_body(data: bytes, place: str, *, folded: bool = False) -> Exchange:
    """The exchange a body stands for: a request without time, host or answer. Raises NotJson when it is no request of
    this API. ``folded``: what looks like a fold marker is one, written by another tool."""
    document, _, taken = weighed(data, len(data), -1)
    body = document.value
    if type(body) is not dict or not _KEYS & body.keys():
        raise NotJson("no request of the Messages API (it has neither messages nor requests)")
    if any(note.code == "trailing_text" for note in document.notes):
        raise NotJson("more than one JSON document, which is no single request body")
    route: Route = "batches" if "requests" in body and "messages" not in body else "messages"
    request = Request(
        body=body,
        method="POST",
        path="/v1/messages/batches" if route == "batches" else "/v1/messages",
        route=route,
        wire_bytes=len(data),
        decoded_bytes=len(data),
        steps=taken.steps,
        notes=document.notes,
    )
    return Exchange(unfolded(request) if folded else request, None, "not_recorded", place)
