"""Writes what Claude Code would have logged of exchanges that went over the wire.

The rules are those measured on version 2.1.332 beside a proxy: a shape for system and tools, a request as the hashes
that it keeps of the one before and its own, a blob for each message that the file's own rows do not give, a row for
each content block of an answer. Nothing of the reader is used here: the two were written apart.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

BILLING = "x-anthropic-billing-header"
NOT_LOGGED = ("metadata", "stream", "diagnostics")
ADDED = {
    "output_tokens_details": {"thinking_tokens": 0},
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
    "iterations": [],
    "speed": "standard",
}
"""What the client puts into every usage that it logs, whether the API said it or not."""


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha(value: Any) -> str:
    return sha256(canonical(value).encode()).hexdigest()


def unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [unmarked(item) for item in value]
    if isinstance(value, dict):
        return {name: unmarked(item) for name, item in value.items() if name != "cache_control"}
    return value


def listed(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    return message | {"content": [{"type": "text", "text": content}] if isinstance(content, str) else content}


def named(message: dict[str, Any]) -> str:
    return sha(unmarked(listed(message)))


def marks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Every ``cache_control`` of a body, with its path."""
    found = []
    for field_name in ("system", "tools"):
        for place, block in enumerate(body[field_name]):
            if "cache_control" in block:
                found.append({"path": [field_name, place], "value": block["cache_control"]})
    for place, message in enumerate(body["messages"]):
        for inner, block in enumerate(message["content"] if isinstance(message["content"], list) else ()):
            if "cache_control" in block:
                path = ["messages", place, "content", inner]
                found.append({"path": path, "value": block["cache_control"]})
    return found


@dataclass
class SessionFile:
    """One file of the log: the main thread's, or a sub-agent's."""

    place: Path
    common: dict[str, Any]
    chain: list[str] = field(default_factory=list)
    latest: str | None = None
    model: str | None = None
    parent: str | None = None
    shapes: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    run: tuple[tuple[str, Any], list[Any]] = (("", None), [])

    def write(self, row: dict[str, Any]) -> None:
        self.place.parent.mkdir(parents=True, exist_ok=True)
        with self.place.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, separators=(",", ":"), ensure_ascii=False) + "\n")

    def said(self, role: str, message: dict[str, Any], at: float, **more: Any) -> None:
        """A user or assistant row, and what messages can be made of it."""
        name = str(uuid4())
        row = {"parentUuid": self.parent, "isSidechain": "agentId" in self.common, "message": message, **more}
        self.write(row | {"type": role, "uuid": name, "timestamp": stamp(at)} | self.common)
        self.parent = name
        key = (role, message.get("id"))
        blocks = [*(self.run[1] if self.run[0] == key else []), *listed(message)["content"]]
        self.run = key, blocks
        self.known.add(named({"role": role, "content": blocks}))


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class LogWriter:
    """A ``projects`` folder that grows by a request and an answer at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[tuple[str, str | None], SessionFile] = {}

    def file(self, session: str, agent: str | None) -> SessionFile:
        if (session, agent) not in self._files:
            common = {"sessionId": session, "version": "2.1.332", "cwd": "/work", "userType": "external"}
            place = self.folder / "-work" / f"{session}.jsonl"
            if agent is not None:
                common["agentId"] = agent
                place = self.folder / "-work" / session / "subagents" / f"agent-{agent}.jsonl"
            self._files[session, agent] = made = SessionFile(place, common)
            first = {"type": "queue-operation", "operation": "enqueue", "timestamp": stamp(0), "sessionId": session}
            made.write({"type": "mode", "mode": "normal", "sessionId": session} if agent is None else first)
            if agent is not None:
                meta = {"agentType": "general-purpose", "toolUseId": "toolu_1", "spawnDepth": 1}
                place.with_suffix(".meta.json").write_text(json.dumps(meta))
        return self._files[session, agent]

    def request(self, body: dict[str, Any], headers: dict[str, str], at: float) -> str:
        """Logs what is about to be sent. Returns the id of its record."""
        file = self.file(headers["x-claude-code-session-id"], headers.get("x-claude-code-agent-id"))
        system = [block for block in body["system"] if not block["text"].startswith(BILLING)]
        kept = {name: value for name, value in body.items() if name not in NOT_LOGGED} | {"system": system}
        shape = unmarked({"system": system, "tools": body["tools"]})
        if sha(shape) not in file.shapes:
            file.shapes.add(sha(shape))
            told = {"sessionId": file.common["sessionId"], "shapeHash": sha(shape), "timestamp": stamp(at)}
            file.write({"type": "api-request-shape", **told, "shape": shape})
        hashes = [named(message) for message in body["messages"]]
        keep = next((n for n, (a, b) in enumerate(zip(hashes, file.chain, strict=False)) if a != b), None)
        keep = min(len(hashes), len(file.chain)) if keep is None else keep
        for message in body["messages"][keep:]:
            self._message(file, unmarked(message), at)
        name = str(uuid4())
        params = {key: value for key, value in kept.items() if key not in ("system", "tools", "messages")}
        betas = headers["anthropic-beta"].split(",")
        record: dict[str, Any] = {"type": "api-request", "sessionId": file.common["sessionId"], "id": name}
        record |= {"timestamp": stamp(at), "shapeHash": sha(shape), "params": params | {"betas": betas}}
        record |= {"agentId": file.common["agentId"]} if "agentId" in file.common else {}
        record |= {"base": file.latest} if file.latest is not None else {}
        record |= {"keep": keep, "tail": hashes[keep:], "cacheControl": marks(kept)}
        whole = kept | {"messages": [listed(message) for message in body["messages"]], "betas": betas}
        file.write(record | {"requestDigest": sha(whole)})
        file.chain, file.latest, file.model = hashes, name, body["model"]
        return name

    def _message(self, file: SessionFile, message: dict[str, Any], at: float) -> None:
        """What the log holds of a message before the request that has it: rows, and a blob where they do not do."""
        content = listed(message)["content"]
        if message["role"] == "user" and not any(block["type"] == "text" for block in content):
            for block in content:  # results of tools, each in a row of its own
                file.said("user", {"role": "user", "content": [block]}, at)
        elif message["role"] == "user":
            file.said("user", {"role": "user", "content": content[-1].get("text", "")}, at)
        if named(message) not in file.known:
            file.write({"type": "api-request-blob", "sessionId": file.common["sessionId"], "hash": named(message)}
                       | {"message": message})  # fmt: skip
            file.known.add(named(message))

    def answer(self, name: str, headers: dict[str, str], message: dict[str, Any], request_id: str, at: float) -> None:
        """Logs an answer: a row for each of its blocks, each with the whole usage."""
        file = self.file(headers["x-claude-code-session-id"], headers.get("x-claude-code-agent-id"))
        usage = message["usage"] | {key: value for key, value in ADDED.items() if key not in message["usage"]}
        for place, block in enumerate(message["content"]):
            told = message | {"content": [block], "usage": usage, "stop_details": None}
            more = {"apiBlockIndex": place, "requestId": request_id, "requestRef": name, "requestedModel": file.model}
            file.said("assistant", told, at, **more)
