"""One made-up exchange, and files of it as other programs save them, for the tests of what reads those."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

from analyzers.exchange import Exchange
from analyzers.readers.source import Source
from analyzers.wire.jsontext import dump

ASKED: dict[str, Any] = {
    "model": "claude-haiku-4-5",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": 'Grüße, 威 🙂 {"a": "[\\"}'}],
}
BODY = dump(ASKED)
TEXT = "Zwölf Zeichen 威🙂"
USAGE = {"input_tokens": 7, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 20, "output_tokens": 33}
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-haiku-4-5-20251001",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": USAGE | {"output_tokens": 1},
}
EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": MESSAGE},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 33}},
    {"type": "message_stop"},
]
SSE = "".join(f"event: {event['type']}\ndata: {dump(event).decode()}\n\n" for event in EVENTS)
WHOLE = MESSAGE | {"content": [{"type": "text", "text": TEXT}], "stop_reason": "end_turn", "usage": USAGE}

URL = "https://api.anthropic.com/v1/messages?beta=true"
SECRET = "sk-ant-api03-SECRET"


def fields(**values: str) -> list[dict[str, str]]:
    """Header fields as a HAR lists them."""
    return [{"name": name.replace("_", "-"), "value": value} for name, value in values.items()]


def entry(**changes: Any) -> dict[str, Any]:
    """A HAR entry as Chrome writes it; ``request``, ``response``, ``postData`` and ``content`` change those parts."""
    request = {
        "method": "POST",
        "url": URL,
        "httpVersion": "HTTP/1.1",
        "headers": fields(content_type="application/json", x_api_key=SECRET),
        "queryString": [{"name": "beta", "value": "true"}],
        "cookies": [],
        "headersSize": -1,
        "bodySize": len(BODY),
        "postData": {"mimeType": "application/json", "text": BODY.decode()} | changes.pop("postData", {}),
    }
    response = {
        "status": 200,
        "statusText": "OK",
        "httpVersion": "HTTP/1.1",
        "headers": fields(content_type="text/event-stream; charset=utf-8", request_id="req_1"),
        "cookies": [],
        "content": {"size": len(SSE.encode()), "mimeType": "text/event-stream", "text": SSE}
        | changes.pop("content", {}),
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": -1,
        "_error": None,
    }
    return {
        "startedDateTime": "2026-11-30T10:00:00.250Z",
        "time": 1234.5,
        "request": request | changes.pop("request", {}),
        "response": response | changes.pop("response", {}),
        "cache": {},
        "timings": {"blocked": -1, "dns": -1, "connect": -1, "send": 0.5, "wait": 234, "receive": 1000},
    } | changes


def har(*entries: Any) -> bytes:
    return json.dumps({"log": {"version": "1.2", "pages": [], "entries": entries}}, indent=2).encode()


def read(
    reader: Callable[[Source], Iterator[Exchange]], data: bytes, *, folded: bool = False
) -> tuple[list[Exchange], list[str]]:
    """The exchanges of a file with these bytes, and the sentences about what could not be used."""
    source = Source(io.BytesIO(data), "file", "file", folded=folded)
    exchanges = list(reader(source))
    return exchanges, [problem.text for problem in source.problems]


def counters(exchange: Exchange) -> dict[str, int | None]:
    """The four counters of an answer; empty when its usage is unknown."""
    usage = exchange.response.usage if exchange.response is not None else None
    return {name: getattr(usage, name) for name in USAGE} if usage is not None else {}


def codes(exchange: Exchange) -> set[str]:
    """The codes of all notes of both sides."""
    sides = (exchange.request, exchange.response)
    return {note.code for side in sides if side is not None for note in side.notes}
