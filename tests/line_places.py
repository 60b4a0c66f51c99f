"""Places of a capture's lines and of a request's body that a value can stand in: every member that the redactor has a
rule for, and what stands beside the API's own words there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from analyzers.wire.headers import KEPT

TIME = "2026-11-30T09:00:00.000000Z"
_REQUEST = {"kind": "request", "id": "1", "time": TIME, "method": "POST", "host": "api.anthropic.com",
            "path": "/v1/messages", "headers": {}, "body": {"messages": []}}  # fmt: skip
_RESPONSE = {"kind": "response", "id": "1", "time": TIME, "ended": "completed", "status": 200, "headers": {}}
_HEADERS = (*KEPT, "x-stainless-os", "x-stainless-odd", "anthropic-ratelimit-requests-limit", "anthropic-odd",
            "x-claude-code-odd", "cookie")  # fmt: skip
_PREFIXES = ("anthropic-", "x-stainless-", "x-claude-code-", "sec-", "anthropic-ratelimit-", "access-control-")
_PATHS = ("/v1/messages/{}", "/{}/v1/messages", "/model/{}/invoke", "/model/claude-{}/invoke", "/v1/messages?x={}",
          "/v1/projects/{}/locations/us-east5/publishers/anthropic/models/claude-opus-4-5@20251101:rawPredict",
          "/v1/projects/p/locations/{}/publishers/anthropic/models/{}:rawPredict")  # fmt: skip
_REQUEST_MEMBERS = ("id", "time", "method", "scheme", "host", "path", "query", "route", "content_encoding",
                    "fingerprint", "model", "streamed", "other", "wire_bytes", "steps", "notes", "figures", "headers",
                    "other_headers", "unparsed", "body")  # fmt: skip
_RESPONSE_MEMBERS = ("ended", "model", "message_id", "stop_reason", "failure", "content", "rest", "body", "error",
                     "events", "usage", "usage_start", "status", "first_byte", "notes")  # fmt: skip
_CLOSED = ("type", "role", "stop_reason", "ttl", "scope", "effort", "service_tier", "inference_geo", "speed",
           "mode", "display", "status", "category", "media_type", "source", "kind", "version", "timestamp",
           "created_at", "format", "caller", "level", "object", "operation", "trigger", "betas", "anthropic_beta",
           "anthropic_version", "model", "user_id", "id", "name", "tool_use_id", "stop_sequences", "cwd",
           "gitBranch", "usage", "data")  # fmt: skip


def lines(value: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Lines of a capture with a value somewhere, each with the name of the place."""
    for name in _REQUEST_MEMBERS:
        yield f"request.{name}", {**_REQUEST, name: value}
    for name in _RESPONSE_MEMBERS:
        yield f"response.{name}", {**_RESPONSE, name: value}
    for host in ("{}", "api.{}.anthropic.com", "{}.amazonaws.com", "api.anthropic.com:{}", "127.0.0.1:{}"):
        yield f"host {host}", {**_REQUEST, "host": host.format(value)}
    for path in _PATHS:
        yield f"path {path}", {**_REQUEST, "path": path.format(value, value)}
    for query in ("beta={}", "api-version={}", "key={}", "{}=1", "limit={}"):
        yield f"query {query}", {**_REQUEST, "query": query.format(value)}
    for name in _HEADERS:
        yield f"header {name}", {**_REQUEST, "headers": {name: value}}
        yield f"header {name} of an answer", {**_RESPONSE, "headers": {name: [value, value]}}
    for prefix in ("", *_PREFIXES):
        told = prefix + value
        yield f"name of a header {prefix}", {**_REQUEST, "headers": {told: "1"}, "other_headers": [told]}
    yield from _parts(value)


def _parts(value: str) -> Iterator[tuple[str, dict[str, Any]]]:
    bare = {name: member for name, member in _REQUEST.items() if name != "body"}
    yield "figures", {**_REQUEST, "figures": {"fields": {value: 5, "messages": 3}, "total": 8, value: 3}}
    yield "steps", {**_REQUEST, "steps": {value: 5}}
    yield "notes", {**_REQUEST, "notes": [{"code": value, "path": value, "detail": value, value: value}, value]}
    yield "path of a note", {**_REQUEST, "notes": [{"code": "not_json", "path": f"messages[0].{value}.x"}]}
    yield "unparsed", {**bare, "unparsed": {"bytes": 5, "sha256": value, "reason": value, value: value}}
    yield "reason", {**bare, "unparsed": {"bytes": 5, "sha256": None, "reason": f"the body of {value}"}}
    yield "usage", {**_RESPONSE, "usage": {value: 5, "k": value, "service_tier": value, "server_tool_use": {value: 1}}}
    yield "iterations", {**_RESPONSE, "usage": {"iterations": [{"type": value, "model": value, value: 1}]}}
    yield "error", {**_RESPONSE, "error": {"type": value, "message": f"x {value}", "request_id": value}}
    yield "events", {**_RESPONSE, "events": {value: 1, "ping": value}}
    yield "rest", {**_RESPONSE, "rest": {value: {value: value}, "stop_details": {"category": value}}}
    yield "content", {**_RESPONSE, "content": [{"type": value, value: value}, {"type": "text", "text": value}]}
    options = {value: value, f"capture_{value}": value, "capture_match": value}
    modes = [value, f"reverse:https://{value}", f"upstream:{value}", f"reverse:{value}://x"]
    yield "start", {"kind": "start", "time": value, "modes": modes, "options": options, "continues": value, value: 1}
    yield "versions", {"kind": "start", "weighbridge": f"1{value}", "mitmproxy": value, "taken": f"run {value}"}
    yield "file names", {"kind": "start", "continues": f"captures.{value}", "taken": value}
    yield "end", {"kind": "end", "time": value, "unmatched_paths": {f"GET /{value}": 2, f"{value} /": value}}
    yield "note", {"kind": "note", "sha256": value, "weight": {value: [1, 2]}, "personal": {value: 1}, value: value}
    yield "a line of no kind", {"kind": value, value: value}


def bodies(value: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Requests with a value in the place of a word of the API's, and as the name of a member."""
    text = {"role": "user", "content": "go on"}
    for name in _CLOSED:
        yield f"top {name}", {"messages": [text], name: value}
        yield f"block {name}", {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", name: value}]}]}
        call = {"type": "tool_use", "id": "toolu_1", "name": "x", "input": {name: value, value: {name: [value]}}}
        yield f"input {name}", {"messages": [{"role": "assistant", "content": [call]}]}
        yield f"schema {name}", {"tools": [{"name": "x", "input_schema": {"properties": {name: {name: value}}}}]}
        yield f"unknown {name}", {"messages": [text], "x_odd": {name: value, value: value}, value: {name: value}}
    for model in ("{}/claude-opus-5", "claude-opus-5@{}", "claude-{}", "us.anthropic.claude-opus-4-5-{}-v1:0",
                  "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/{}-claude"):  # fmt: skip
        yield f"model {model}", {"messages": [text], "model": model.format(value)}
    for user in ("user_{}_account_{}_session_{}", json.dumps({"device_id": "{}"}).replace("{}", "%s")):
        yield f"user {user}", {"metadata": {"user_id": user.replace("{}", value).replace("%s", value)}}
    marked = {"_elided": value, "chars": 10, "sha256": value, value: value}
    yield "marker", {"messages": [{"role": "user", "content": marked}], f"_elided:12:{value}:1:1:1": 1, "_elided": 1}
    figures = "".join(char for char in value if char.isdecimal() and char.isascii())[:15]
    if len(figures) >= 8:
        number = int(figures)
        call = {"type": "tool_use", "id": number, "name": "x", "input": {"phone": number, "id": number}}
        messages = [{"role": "assistant", "content": [call]}]
        yield "number", {"metadata": {"user_id": number, "x": number}, "messages": messages}
