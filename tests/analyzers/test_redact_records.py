"""What becomes of the lines of captures: headers, addresses, notes, endings."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from capture_files import end, request, response, start

from analyzers.path_patterns import BadPattern, patterns
from analyzers.redact import Redactor
from analyzers.redact_records import RecordRedactor
from analyzers.wire.jsontext import dump, parse

KEY = b"k" * 32
SECRET = "Wq7hT2mZp9LkVx4RbN8d"
RECORDS = RecordRedactor(Redactor(KEY))


def _redacted(value: Any, **wish: Any) -> Any:
    return Redactor(KEY, **wish).value(value)


def _record(line: bytes) -> dict[str, Any]:
    return RECORDS.record(parse(line).value)  # type: ignore[no-any-return]


def _body(text: Any) -> dict[str, Any]:
    return {"model": "claude-opus-5", "messages": [{"role": "user", "content": text}]}


def _written(value: Any) -> str:
    return dump(value).decode()


# headers and addresses


@pytest.mark.parametrize(
    "name",
    ["Authorization", "Proxy-Authorization", "x-api-key", "api-key", "x-goog-api-key", "x-auth-token", "Cookie",
     "Set-Cookie", "x-amz-security-token", "anthropic-organization-id", "X-Claude-Code-Session-Id", "request-id",
     "x-ACME-Secret", "user-agent", "x-stainless-os"],
)  # fmt: skip
def test_a_header_keeps_its_name_and_nothing_of_its_value(name: str) -> None:
    for value in (
        SECRET,
        f"Bearer {SECRET}",
        f"Basic {base64.b64encode(SECRET.encode()).decode()}",
        f"a={SECRET}; b=1",
    ):
        new = _record(dump({"kind": "request", "headers": {name: [value, value]}}))
        assert SECRET not in _written(new) and base64.b64encode(SECRET.encode()).decode() not in _written(new)
        [(told, values)] = new["headers"].items()
        assert values[0] == values[1] and len(values[0]) == len(value)
        assert told == name or "acme" not in told.lower()


def test_headers_that_figures_are_told_from_stay() -> None:
    headers = {"anthropic-version": "2023-06-01",
               "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14",
               "x-stainless-retry-count": "1", "content-type": "text/event-stream; charset=utf-8", "retry-after": "12",
               "anthropic-ratelimit-tokens-remaining": "81000", "x-claude-code-request-class": "compaction",
               "anthropic-ratelimit-tokens-reset": "2026-11-30T16:01:43Z"}  # fmt: skip
    assert _record(dump({"kind": "request", "headers": headers}))["headers"] == headers


def test_hosts_paths_and_queries_keep_what_is_the_apis() -> None:
    def told(**members: str) -> dict[str, Any]:
        return _record(dump({"kind": "request", **members}))

    assert told(host="api.anthropic.com")["host"] == "api.anthropic.com"
    assert told(host="bedrock-runtime.us-east-1.amazonaws.com")["host"] == "bedrock-runtime.us-east-1.amazonaws.com"
    assert told(host="acme.services.ai.azure.com")["host"].endswith(".services.ai.azure.com")
    assert not any("acme" in told(host=host)["host"] for host in ("acme.services.ai.azure.com", "llm.acme.example"))
    assert told(path="/v1/messages", query="beta=true")["path"] == "/v1/messages"
    assert told(query=f"beta=true&key={SECRET}")["query"].startswith("beta=true&")
    assert SECRET not in told(query=f"beta=true&api-version={SECRET}")["query"]
    vertex = "/v1/projects/acme-lab/locations/us-east5/publishers/anthropic/models/claude-opus-4-5@20251101:rawPredict"
    assert "acme" not in told(path=vertex)["path"] and "/locations/us-east5/" in told(path=vertex)["path"]
    assert told(path=vertex)["path"].endswith("/models/claude-opus-4-5@20251101:rawPredict")


def test_an_error_that_quotes_an_address_does_not_tell_its_key() -> None:
    line = response(
        "1",
        error={
            "type": "not_found_error",
            "message": f"GET https://u:{SECRET}@h/x?key={SECRET}",
            "request_id": "req_011",
        },
    )
    new = _record(line)
    assert new["error"]["type"] == "not_found_error" and SECRET not in _written(new)


# what cannot be read is withheld


def test_a_body_that_is_no_json_is_a_length_and_a_keyed_hash() -> None:
    new = _record(request("1", b"\x1f\x8b\x08 not json " + SECRET.encode()))
    old = parse(request("1", b"\x1f\x8b\x08 not json " + SECRET.encode())).value
    assert new["unparsed"]["bytes"] == old["unparsed"]["bytes"]
    assert new["unparsed"]["sha256"] != old["unparsed"]["sha256"] and "body" not in new


# copies in places nobody looks at


def test_notes_events_and_lines_nobody_knows_are_redacted() -> None:
    line = response(
        "1",
        notes=[{"code": "unknown_event", "path": f"messages[0].{SECRET}", "detail": SECRET}],
        events={SECRET: 3, "ping": 1},
        failure=SECRET,
        rest={SECRET: SECRET},
    )
    new = _record(line)
    assert SECRET not in _written(new) and new["notes"][0]["code"] == "unknown_event" and new["events"]["ping"] == 1
    assert SECRET not in _written(_record(dump({"kind": "other", "x": SECRET, "n": [4711471147]})))
    assert SECRET not in _written(_record(end(**{f"GET /v1/{SECRET}": 3})))
    assert SECRET not in _written(_record(start().replace(b"regular", f"reverse:https://{SECRET}/x".encode())))


# The wishes of users


def test_patterns_keep_and_drop_places() -> None:
    value = {
        "system": "keep me",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello you"}]}],
        "tools": [{"name": "acme"}, {"name": "other"}],
    }
    keep = Redactor(KEY).value(value, patterns(["system", "tools[0]", "messages[*].content[*].text"], []))
    assert keep["system"] == "keep me" and keep["tools"][0]["name"] == "acme" and keep["tools"][1]["name"] != "other"
    assert keep["messages"] == value["messages"]
    dropped = Redactor(KEY).value(value, patterns([], ["system"]))
    assert dropped["system"]["_elided"] == "dropped" and dropped["system"]["chars"] == 7
    line = _record(dump({"kind": "request", "headers": {"user-agent": "acme-cli/1"}}))
    assert line["headers"]["user-agent"] != "acme-cli/1"
    kept = RecordRedactor(Redactor(KEY), patterns(["headers.user-agent"], [])).record(
        parse(dump({"kind": "request", "headers": {"user-agent": "acme-cli/1"}})).value
    )
    assert kept["headers"]["user-agent"] == "acme-cli/1"
    gone = RecordRedactor(Redactor(KEY), patterns([], ["headers.user-agent"])).record(
        {"kind": "request", "headers": {"user-agent": "x"}}
    )
    assert gone["headers"] == {}
    with pytest.raises(BadPattern):
        patterns(["messages[x"], [])


def test_a_text_in_the_place_of_a_number_does_not_pass() -> None:
    line = {"kind": "response", "status": SECRET, "usage": {"input_tokens": SECRET}, "last": [SECRET], "time": SECRET}
    assert SECRET not in _written(_record(dump(line)))
    line = {"kind": "request", "figures": {"total": SECRET, "fields": {"messages": SECRET}}, "steps": {"x": SECRET}}
    assert SECRET not in _written(_record(dump(line)))


def test_notes_on_folded_texts_keep_their_weight_and_lose_what_was_personal() -> None:
    note = {"kind": "note", "sha256": "ab" * 32, "weight": {"classes": {"latin": [10, 3]}}, "personal": {"email": 2}}
    new = _record(dump(note))
    assert new["weight"] == note["weight"] and new["personal"] == {} and new["sha256"] == Redactor(KEY).hash("ab" * 32)
