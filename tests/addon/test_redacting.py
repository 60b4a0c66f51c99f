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


def test_what_still_shows_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in one rule: the line is looked at again before it is written."""
    monkeypatch.setattr(RecordRedactor, "_path", lambda self, path, place: path)
    warned: list[str] = []
    record = {**REQUEST, "path": "/v1/messages/quarrymaster"}
    body = {"messages": [{"role": "user", "content": "ask the quarrymaster"}]}
    line = LineRedactor(warned.append).line(dump({**record, "body": body}))
    assert b"quarrymaster" not in line and json.loads(line)["notes"][0]["code"] == "not_redacted"
    assert len(warned) == 1 and "at path" in warned[0]


def test_a_word_of_the_apis_own_in_a_text_is_no_fault() -> None:
    content = "amazonaws anthropic streamRawPredict count_tokens Environment upstream"
    record = {
        **REQUEST,
        "host": "bedrock-runtime.us-east-1.amazonaws.com",
        "path": "/model/anthropic.claude-opus-4-5/invoke-with-response-stream",
        "body": {"system": "# Environment", "messages": [{"role": "user", "content": content}]},
    }
    warned: list[str] = []
    redactor = LineRedactor(warned.append)
    for _ in range(2):
        assert "body" in json.loads(redactor.line(dump(record)))
    assert warned == []
