"""What a file is, told by its first bytes and never by its name."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from capture_files import body, packed, request, start
from hypothesis import given
from hypothesis import strategies as st
from json_values import DATA, SHAPES
from saved_http import entry, har
from session_logs import assistant, bookkeeping, line, lines, snapshot, user

from analyzers.readers.kinds import Kind, is_capture, kind_of


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def flows() -> bytes:
    from mitmproxy.io import FlowWriter
    from mitmproxy.test import tflow

    out = io.BytesIO()
    FlowWriter(out).add(tflow.tflow(resp=True))
    return out.getvalue()


def sqlite(folder: Path) -> bytes:
    place = folder / "logs.db"
    with sqlite3.connect(place) as base:
        base.execute("create table responses (id text, prompt text)")
    base.close()
    return place.read_bytes()


def test_every_kind(tmp_path: Path) -> None:
    kinds: dict[bytes, Kind] = {
        b"": "empty",
        start() + request("1", body()): "capture",
        packed(start(), request("1", body())): "capture",
        b'mat":1}\n' + request("1", body()): "capture",  # its first line is torn
        har(entry()): "har",
        b"\xef\xbb\xbf" + har(entry()): "har",
        flows(): "flows",
        sqlite(tmp_path): "chat",
        lines(user(), assistant("m")): "claude_code",
        body(): "body",
        b" \n\t" + body(): "body",
        json.dumps(body().decode()).encode(): "body",  # serialised twice
        compact({"requests": []}): "body",
        compact({"request": {"body": {}}, "response": {}}) + b"\n": "pairs",
        compact({"agentType": "Explore", "toolUseId": "toolu_1", "spawnDepth": 1}): "companion",
        compact({"agentType": "Explore", "description": "look"}): "companion",
        b"import os\n": "unknown",
        bytes(range(256)): "unknown",
        b"\x28\xb5\x2f\xfd\x00\x00": "unknown",
        b"[1,2]": "unknown",
        b"3": "unknown",
    }
    assert {content: kind_of(content) for content in kinds} == kinds


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.name.split(".")[0])
def test_requests_of_real_clients_are_bodies(path: Path) -> None:
    from json_values import shape_requests

    for recorded in shape_requests(path):
        first = recorded["raw"][: 1 << 20]
        if first[:1] == b"{":
            assert kind_of(first) == "body", recorded["target"]


def test_the_published_request_is_a_body() -> None:
    assert kind_of((DATA / "published-request.json").read_bytes()[: 1 << 12]) == "body"


BOOKKEEPING = [
    bookkeeping("queue-operation", operation="enqueue", content="hi", sessionId="s"),
    snapshot(10_000),
    bookkeeping("mode", mode="normal", sessionId="s"),
    bookkeeping("ai-title", aiTitle="t", sessionId="s"),
    bookkeeping("summary", summary="what it was about", leafUuid="u"),
    bookkeeping("moon-phase", phase=3),
]


@pytest.mark.parametrize(
    "first", [[row] for row in BOOKKEEPING] + [BOOKKEEPING[::-1]], ids=lambda rows: rows[0]["type"]
)
def test_a_log_is_told_whatever_its_first_records_are(first: list[Any]) -> None:  # A23
    assert kind_of(b"".join(map(line, first)) + lines(user(), assistant("m"))) == "claude_code"


def test_lines_that_say_nothing_are_passed_over() -> None:
    assert kind_of(b"torn\n\n{}\n3\n" + lines(assistant("m"))) == "claude_code"
    assert kind_of(b'{"version":1}\n' * 100 + lines(assistant("m"))) == "claude_code"


def test_a_first_line_longer_than_what_was_read_is_told_by_the_keys_that_are_there() -> None:
    assert kind_of(line(snapshot(100_000))[:4096]) == "claude_code"
    assert kind_of(body("x" * 100_000)[:4096]) == "body"
    assert kind_of(har(entry())[:4096]) == "har"
    assert kind_of(line(assistant("m", content="x" * 100_000))[:4096]) == "claude_code"


def test_what_a_text_holds_decides_nothing() -> None:
    held = '{"kind":"request","format":1}\n{"log":{"entries":[]},"parentUuid":1}'
    assert kind_of(body(held)) == "body"
    assert kind_of(line(user(held))) == "claude_code"
    assert not is_capture(body(held))


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_have_a_kind(first: bytes) -> None:
    assert isinstance(kind_of(first), str)
    assert isinstance(kind_of(b"{" + first), str)
