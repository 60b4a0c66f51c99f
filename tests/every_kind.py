"""A file of each kind that can be read, each with one exchange, for the tests of what must hold for all of them."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from capture_files import body, end, packed, request, response, start
from saved_http import ASKED, SSE, entry, har
from session_logs import assistant, lines, user

KINDS = ("capture", "flows", "har", "claude_code", "chat", "pairs", "body")
WIRE = ("flows", "har", "pairs", "body")
"""Kinds whose bodies hold another tool's text as it is: a fold marker in them is one only when the user says so."""


def file_of(kind: str, folder: Path, asked: dict[str, Any] = ASKED) -> Path:
    """Writes the file; ``asked``: the body of its request, where it holds one as it was sent."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"a file of kind {kind}"
    if kind == "chat":
        return _chat(place)
    place.write_bytes(_content(kind, asked))
    return place


def _content(kind: str, asked: dict[str, Any]) -> bytes:
    sent = json.dumps(asked)
    match kind:
        case "capture":
            return packed(start(), request("1", body()), response("1"), end())
        case "flows":
            return _flows(sent.encode())
        case "har":
            return har(entry(postData={"text": sent}))
        case "claude_code":
            return lines(user(), assistant("msg_log"))
        case "pairs":
            told = {"timestamp": 1796032800.25, "method": "POST", "url": "https://api.anthropic.com/v1/messages"}
            answer = {"timestamp": 1796032801.5, "status_code": 200, "headers": {}, "body_raw": SSE}
            return json.dumps({"request": told | {"headers": {}, "body": asked}, "response": answer}).encode() + b"\n"
    return sent.encode()


def _flows(sent: bytes) -> bytes:
    from mitmproxy.io import FlowWriter
    from mitmproxy.test import tflow, tutils

    req = tutils.treq(method=b"POST", path=b"/v1/messages", content=sent, host="api.anthropic.com")  # type: ignore[no-untyped-call]
    resp = tutils.tresp(content=SSE.encode(), headers=((b"content-type", b"text/event-stream"),))  # type: ignore[no-untyped-call]
    out = io.BytesIO()
    FlowWriter(out).add(tflow.tflow(req=req, resp=resp))  # type: ignore[no-untyped-call]
    return out.getvalue()


def _chat(place: Path) -> Path:
    with closing(sqlite3.connect(place)) as made, made:
        made.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id, role, content, timestamp)")
        made.execute("INSERT INTO messages VALUES (1, 's', 'user', 'hello', 1796000001)")
    return place
