"""Capture files made line by line, for the tests of what reads them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from analyzers.wire.jsontext import dump
from analyzers.wire.record import FileHead, SeenRequest, end_record, request_record, start_record
from analyzers.wire.weighing import Weigher

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

KEY = b"k" * 32
SEEN: dict[str, Any] = {
    "id": "1",
    "time": 1_796_000_000.0,
    "method": "POST",
    "scheme": "https",
    "host": "api.anthropic.com",
    "port": 443,
    "path": "/v1/messages",
    "route": "messages",
    "headers": (("content-type", "application/json"),),
}
"""A request as the proxy sees it, but for its body."""
USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 24_613, "cache_read_input_tokens": 0, "output_tokens": 45}


def start(fold_over: int = 400, taken: str | None = None) -> bytes:
    head = FileHead(1_796_000_000.0, "0.1.0", "12.3.1", fold_over, ("regular",), {}, taken=taken)
    return dump(start_record(head)) + b"\n"


def request(name: str, body: bytes, *, at: float = 1.0, fold_over: int = 400, **changes: Any) -> bytes:
    """A request line; ``at``: seconds after the file began."""
    seen = SEEN | {"id": name, "time": SEEN["time"] + at, "body": body} | changes
    return dump(request_record(SeenRequest(**seen), Weigher(fold_over), key=KEY)) + b"\n"


def response(name: str, *, at: float = 2.0, **changes: Any) -> bytes:
    line = {
        "kind": "response",
        "id": name,
        "time": "2026-11-30T00:00:00.000000Z",
        "ended": "completed",
        "status": 200,
        "headers": {"request-id": "req_1"},
        "other_headers": [],
        "model": "claude-haiku-4-5-20251001",
        "message_id": "msg_1",
        "stop_reason": "end_turn",
        "usage": USAGE,
        "content": [{"type": "text", "text": "yes"}],
        "notes": [],
    }
    return dump(line | changes) + b"\n"


def end(lost: int = 0, **unmatched: int) -> bytes:
    return dump(end_record(1_796_000_100.0, requests=1, responses=1, lost=lost, unmatched=unmatched)) + b"\n"


def body(text: str = "hello", model: str = "claude-haiku-4-5") -> bytes:
    return dump({"model": model, "messages": [{"role": "user", "content": text}]})


def packed(*lines: bytes, last: bool = True) -> bytes:
    """The lines as the recorder compresses them: one stream, flushed after each."""
    stream = zstd.ZstdCompressor()
    out = b"".join(stream.compress(line, stream.FLUSH_BLOCK) for line in lines)
    return out + (stream.flush(stream.FLUSH_FRAME) if last else b"")


def written(folder: Path, name: str, *lines: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / name
    place.write_bytes(packed(*lines) if name.endswith(".zst") else b"".join(lines))
    return place
