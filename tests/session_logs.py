"""Session files as Claude Code writes them, made row by row, for the tests of what reads them.

A row is a dict; what a test does not say is as in a real file. Rows get their ids, their parents and their session when
they are put into a file (``lines``, ``log``, ``agent_log``), each the child of the one before it; a row that names
these itself keeps what it says. ``ABSENT`` as the value of a member takes it out. Bytes among rows are lines as they
are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

type Row = dict[str, Any]

ABSENT: Any = object()
BEGIN = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SESSION = "00000000-0000-4000-8000-000000000001"
MODEL = "claude-opus-5-5"
VERSION = "2.1.332"


def stamp(at: float) -> str:
    """A log's timestamp, ``at`` seconds after noon of the day that all rows are of."""
    return (BEGIN + timedelta(seconds=at)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def usage(
    fresh: int = 3, output: int = 10, *, read: int = 0, written: int = 0, hour: int | None = None, **more: Any
) -> dict[str, Any]:
    """A usage with all counters. ``written``: cache writes, of which ``hour`` live an hour and the others five
    minutes."""
    split = {"ephemeral_1h_input_tokens": hour or 0, "ephemeral_5m_input_tokens": written - (hour or 0)}
    told = {
        "input_tokens": fresh,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": output,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": split,
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
    }
    return without(told | more)


def text(of: str = "yes") -> list[Row]:
    return [{"type": "text", "text": of}]


def tool_use(name: str = "Bash", **given: Any) -> list[Row]:
    return [{"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": given}]


def assistant(
    name: str | None,
    counters: Any = None,
    *,
    at: float = 0.0,
    content: Any = None,
    stop: Any = "end_turn",
    request: Any = "",
    model: str = MODEL,
    message: Row | None = None,
    **changes: Any,
) -> Row:
    """One content block of an answer with the message id ``name`` (None: it has none). ``request`` "": the request id
    that belongs to it; ``message``: members of the message to change, ``changes``: members of the row."""
    told = {
        "model": model,
        "id": ABSENT if name is None else name,
        "type": "message",
        "role": "assistant",
        "content": text() if content is None else content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage() if counters is None else counters,
    }
    row: Row = {
        "isSidechain": False,
        "message": without(told | (message or {})),
        "requestId": f"req_{name}" if request == "" else request,
        "type": "assistant",
        "timestamp": stamp(at),
    }
    return row | changes


def user(content: Any = "go on", *, at: float = 0.0, **changes: Any) -> Row:
    """What the user said, or results of tools."""
    row = {
        "isSidechain": False,
        "promptId": "p1",
        "type": "user",
        "message": {"role": "user", "content": content},
        "timestamp": stamp(at),
        "permissionMode": "default",
    }
    return row | changes


def tool_result(content: Any, *, at: float = 0.0, **changes: Any) -> Row:
    block = {"tool_use_id": "toolu_Bash", "type": "tool_result", "content": content}
    return user([block], at=at, **changes)


def api_error(status: int = 529, *, at: float = 0.0, attempt: int = 1, **changes: Any) -> Row:
    """A request that failed and is made again."""
    error = {"message": f"{status} Overloaded", "status": status, "requestId": f"req_failed{attempt}"}
    row = {
        "isSidechain": False,
        "type": "system",
        "subtype": "api_error",
        "level": "error",
        "error": error | {"formatted": f"{status} Overloaded"},
        "retryInMs": 566,
        "retryAttempt": attempt,
        "maxRetries": 10,
        "timestamp": stamp(at),
    }
    return row | changes


def synthetic(said: str = "No response requested.", *, at: float = 0.0, **changes: Any) -> Row:
    """A row that the client wrote itself in the place of an answer."""
    row = assistant(None, usage(0, 0), at=at, content=text(said), request=ABSENT, model="<synthetic>")
    return row | {"isApiErrorMessage": False} | changes


def progress(inner: Row, agent: str = "a1", *, at: float = 0.0, **changes: Any) -> Row:
    """A sub-agent's row as versions quoted it that kept no files for sub-agents."""
    quoted = {"message": without(inner), "type": "agent_progress", "prompt": "look", "agentId": agent}
    return {"isSidechain": False, "type": "progress", "data": quoted, "timestamp": stamp(at)} | changes


def snapshot(size: int = 100, **changes: Any) -> Row:
    """A record of the files as they were: large, and nothing about calls."""
    held = {"messageId": "m1", "trackedFileBackups": {"/a": "x" * size}, "timestamp": stamp(0)}
    row = {"type": "file-history-snapshot", "messageId": "m1", "snapshot": held, "isSnapshotUpdate": False}
    return row | {"uuid": ABSENT, "parentUuid": ABSENT, "sessionId": ABSENT} | changes


def bookkeeping(kind: str, **members: Any) -> Row:
    """A row of a type that tells of no call: mode, queue-operation, last-prompt, ai-title …"""
    return {"type": kind, "uuid": ABSENT, "parentUuid": ABSENT} | members


def compacted(*, at: float = 0.0, **changes: Any) -> Row:
    """The mark of a conversation that begins anew from its summary. ``logicalParentUuid`` is for the test to give."""
    row = {
        "parentUuid": None,
        "isSidechain": False,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "timestamp": stamp(at),
        "compactMetadata": {"trigger": "manual", "preTokens": 39_882, "postTokens": 3_026},
    }
    return row | changes


def cost_state(**counters: int) -> Row:
    """The client's own totals of the session so far, by its names (``inputTokens`` …)."""
    return bookkeeping("cost-state", totalCostUSD=0.1, modelUsage={MODEL: counters})


def without(row: Row) -> Row:
    """The row without the members that are to be absent."""
    return {name: value for name, value in row.items() if value is not ABSENT}


def line(row: Row | bytes) -> bytes:
    """One line, compact as the client writes it, text unescaped. Bytes stay what they are."""
    if isinstance(row, bytes):
        return row
    return json.dumps(without(row), separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def linked(rows: Sequence[Row | bytes], session: str = SESSION, **members: Any) -> list[Row | bytes]:
    """The rows with what they have by standing in one file: id, parent, session, the number of the block and
    ``members``, unless they say it themselves. The ids are the same each time for the same session and place."""
    out: list[Row | bytes] = []
    parent: str | None = None
    blocks: Counter[str] = Counter()
    for position, row in enumerate(rows):
        if isinstance(row, bytes):
            out.append(row)
            continue
        name = str(uuid5(NAMESPACE_OID, f"{session} {members.get('agentId', '')} {position}"))
        numbered = _numbered(row, blocks)
        child = without({"parentUuid": parent} | members | {"uuid": name, "sessionId": session} | numbered | row)
        parent = child.get("uuid", parent)
        out.append(child)
    return out


def _numbered(row: Row, blocks: Counter[str]) -> Row:
    """Which block of its answer a row is."""
    if row.get("type") != "assistant":
        return {}
    name = str(row["message"].get("id"))
    blocks[name] += 1
    return {"apiBlockIndex": blocks[name] - 1}


def lines(*rows: Row | bytes, session: str = SESSION, **members: Any) -> bytes:
    """The rows as the content of a file."""
    return b"".join(map(line, linked(rows, session, version=VERSION, cwd="/work", **members)))


def log(folder: Path, *rows: Row | bytes, session: str = SESSION) -> Path:
    """Writes a session file into a folder: ``<session>.jsonl``."""
    return _written(folder / f"{session}.jsonl", lines(*rows, session=session))


def agent_log(folder: Path, agent: str, *rows: Row | bytes, session: str = SESSION) -> Path:
    """Writes the file of a sub-agent beside its session's: ``<session>/subagents/agent-<agent>.jsonl`` and its
    ``.meta.json``. Every row is a sidechain's, with the agent's id."""
    own = [row if isinstance(row, bytes) else row | {"isSidechain": True} for row in rows]
    place = folder / session / "subagents" / f"agent-{agent}.jsonl"
    meta = {"agentType": "general-purpose", "description": "look", "toolUseId": "toolu_Agent", "spawnDepth": 1}
    _written(place.with_suffix(".meta.json"), json.dumps(meta).encode())
    return _written(place, lines(*own, session=session, agentId=agent))


def _written(place: Path, content: bytes) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place
