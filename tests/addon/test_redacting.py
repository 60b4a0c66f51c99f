"""Captures that were redacted before they were written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from addon.redacting import LineRedactor
from analyzers.redact_records import RecordRedactor
from analyzers.wire.jsontext import dump

REQUEST = {
    "kind": "request",
    "id": "1",
    "time": "2026-11-30T09:00:00.000000Z",
    "method": "POST",
    "host": "api.anthropic.com",
    "path": "/v1/messages",
    "headers": {"x-claude-code-session-id": "5f0c4a31-0000-4000-8000-0123456789ab"},
    "figures": {"fields": {"messages": 40}, "total": 40},
    "body": {"messages": [{"role": "user", "content": "write to ada@quarry.example"}]},
}


def test_equal_texts_stay_equal_under_one_key_and_differ_under_another() -> None:
    warned: list[str] = []
    one, other = LineRedactor(warned.append), LineRedactor(warned.append)
    first, second = one.line(dump(REQUEST)), one.line(dump(REQUEST))
    assert first == second != other.line(dump(REQUEST))
    told = json.loads(first)
    assert "ada@quarry" not in first.decode() and "5f0c4a31" not in first.decode()
    assert len(told["body"]["messages"][0]["content"]) == len("write to ada@quarry.example")
    assert (told["time"], told["figures"], told["path"]) == (REQUEST["time"], REQUEST["figures"], "/v1/messages")
    assert warned == []


def test_what_cannot_be_redacted_is_not_written_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any, record: Any) -> Any:
        raise RuntimeError("out of order")

    monkeypatch.setattr(RecordRedactor, "record", broken)
    warned: list[str] = []
    redactor = LineRedactor(warned.append)
    lines = [redactor.line(dump(REQUEST)) for _ in range(2)]
    assert all(b"ada@" not in line and b"5f0c4a31" not in line for line in lines)
    told = json.loads(lines[0])
    assert (told["id"], told["time"], told["notes"][0]["code"]) == ("1", REQUEST["time"], "not_redacted")
    assert len(warned) == 1
