"""The records of one Claude Code session file, taken one by one: which of them are one call, and what stands above it.

An answer is several records (one per content block, each with the message id and the usage again; older versions wrote
placeholders of the output first). The file is a tree: records name their parent, so a rewind has two children; from it
come the call that a call continues and the number of messages it sent. What is kept of a file is its messages.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from analyzers.readers.claude_requests import RequestLog, hash_of
from analyzers.readers.claude_values import SYNTHETIC, word
from analyzers.wire.jsontext import Json
from analyzers.wire.usage import count

# fmt: off
KNOWN = frozenset((
    "user", "assistant", "system", "attachment", "summary", "progress", "queue-operation", "last-prompt", "atis-latch",
    "tools-used", "mode", "cost-state", "file-history-snapshot", "api-request-shape", "api-request-blob", "api-request",
    "ai-title", "custom-title", "agent-name", "agent-color", "agent-setting", "tag", "pr-link", "saved_hook_context",
    "worktree-state", "content-replacement", "permission-mode", "speculation-accept", "marble-origami-commit",
    "marble-origami-snapshot", "task-summary", "api-request-resumed", "fork-context-ref", "attribution-snapshot",
    "session-owner",
))
"""Types of records that are known; all but a few of them say nothing about calls."""
# fmt: on

_REQUESTS = frozenset(("api-request-shape", "api-request-blob", "api-request"))
_KINDS = 1000  # most unknown types that are counted one by one
_NAMED = 3


@dataclass(slots=True)
class LoggedCall:
    """The records of one answer so far. ``stamp`` and ``last``: timestamps of the first and the last of them;
    ``parent``: the call above it in the tree; ``messages``: how many it sent, counted there; ``failed``: requests for
    the same that failed before; ``asked``: a record has a stop reason, even if null."""

    line: int
    record: dict[str, Any]
    stamp: str | None
    parent: str | None
    messages: int | None
    compacted: bool
    failed: int
    blocks: list[Any] = field(default_factory=list)
    usage: dict[str, Any] | None = None
    stop_reason: str | None = None
    asked: bool = False
    rows: int = 0
    sidechain: bool = True
    last: str | None = None
    _uuids: set[str] = field(default_factory=set)
    _seen: set[tuple[int | None, str]] = field(default_factory=set)

    def join(self, record: dict[str, Any], message: dict[str, Any]) -> None:
        """Adds one record: its blocks unless they are there, its counters if they are better."""
        self.rows += 1
        self.sidechain = self.sidechain and record.get("isSidechain") is True
        uuid = word(record, "uuid")
        if uuid is not None and uuid in self._uuids:
            return
        if uuid is not None:
            self._uuids.add(uuid)
        self.last = word(record, "timestamp") or self.last
        self._take_blocks(message.get("content"), record.get("apiBlockIndex"))
        usage, stop = message.get("usage"), word(message, "stop_reason")
        self.asked = self.asked or "stop_reason" in message
        if type(usage) is dict and (self.usage is None or _rank(stop, usage) > _rank(self.stop_reason, self.usage)):
            self.usage = usage
        self.stop_reason = stop or self.stop_reason

    def _take_blocks(self, content: Json, index: Json) -> None:
        """The union of all records: one that was written a second time, under another id, adds nothing."""
        blocks = [{"type": "text", "text": content}] if type(content) is str else content
        for block in blocks if type(blocks) is list else ():
            key = (index if type(index) is int else None, hash_of(block))
            if self.rows == 1 or key not in self._seen:
                self.blocks.append(block)
            self._seen.add(key)


def _records(number: int) -> str:
    return "1 record" if number == 1 else f"{number} records"


def _rank(stop: str | None, usage: dict[str, Any]) -> tuple[bool, int]:
    output = count(usage.get("output_tokens"))
    return stop is not None, -1 if output is None else output


@dataclass(slots=True)
class _Node:
    """What one record means to those below it: the call above them, and how many messages lie above (None: no telling,
    a compaction kept some of those before it)."""

    call: str | None
    messages: int | None
    role: str
    compacted: bool = False


def _preserves(record: dict[str, Any]) -> bool:
    told = record.get("compactMetadata")
    return type(told) is dict and bool(told.get("preservedMessages") or told.get("preservedSegment"))


class SessionRecords:
    """One file, record by record. ``failures``: what the log tells of failed requests, by the id of the request.
    ``lines``: where each request stands."""

    def __init__(self) -> None:
        self.calls: dict[str, LoggedCall] = {}
        self.requests = RequestLog()
        self.lines: dict[str, int] = {}
        self.failures: dict[str, list[dict[str, Any]]] = {}
        self.odd: Counter[str] = Counter()
        self.began = ""  # when the file's own process began: what is older was copied into it
        self._unknown: Counter[str] = Counter()
        self._more = 0
        self._nodes: dict[str, _Node] = {}
        self._last = _Node(None, 0, "")
        self._failed: Counter[str | None] = Counter()  # requests the log does not keep, until their answer
        self._latest: dict[str | None, str] = {}  # requests without an answer so far, by agent

    def take(self, record: Json, line: int) -> None:
        """Takes the next record, of any form."""
        if type(record) is not dict:
            self.odd["that is no object: passed over"] += 1
            return
        kind, message = record.get("type"), record.get("message")
        if type(kind) is not str:
            self.odd["without a type"] += 1
            if type(message) is dict:
                self._answered(record, message, line)
        elif kind in _REQUESTS:
            self._request(kind, record, line)
        elif kind == "assistant" or kind == "user":
            self._said(kind, record, line)
        elif kind == "system":
            self._system(record)
        else:
            self._pass(record)
            if kind == "queue-operation":
                self.began = self.began or word(record, "timestamp") or ""
            elif kind == "progress":
                self._quoted(record, line)
            elif kind not in KNOWN:
                self._count(kind)

    def sentences(self) -> list[str]:
        """What could not be used, or is not known."""
        told = [f"{_records(number)} {text}" for text, number in self.odd.items()]
        most = self._unknown.most_common(_NAMED)
        told += [f"{_records(number)} of the unknown type {kind[:40]!r} passed over" for kind, number in most]
        if rest := self._unknown.total() + self._more - sum(number for _, number in most):
            told.append(f"{_records(rest)} of more unknown types passed over")
        return told

    def _count(self, kind: str) -> None:
        if kind in self._unknown or len(self._unknown) < _KINDS:
            self._unknown[kind] += 1
        else:
            self._more += 1

    def _request(self, kind: str, record: dict[str, Any], line: int) -> None:
        try:
            self.requests.add(kind, record)
        except (KeyError, TypeError, ValueError):
            self.odd[f"of type {kind} in another form: passed over"] += 1
            return
        if kind == "api-request":
            self.lines[record["id"]] = line
            self._latest[word(record, "agentId")] = record["id"]

    def _said(self, kind: str, record: dict[str, Any], line: int) -> None:
        message = record.get("message")
        if type(message) is not dict:
            self.odd[f"of type {kind} without a message"] += 1
            self._pass(record)
            return
        content = message.get("content")
        if type(content) is not str and type(content) is not list:
            self.odd["whose content is no text and no list: taken for empty"] += 1
            content = []
        if kind == "user":
            self._place(record, "user", None)
        elif message.get("model") == SYNTHETIC or record.get("isApiErrorMessage"):
            self._pass(record)  # the client's own words in the place of an answer
            self.requests.aside(kind, content)
            return
        else:
            self._answered(record, message, line)
        self.requests.told(kind, word(message, "id"), content)

    def _quoted(self, record: dict[str, Any], line: int) -> None:
        """A sub-agent's record that a progress record quotes: how versions told of them that kept no file for each."""
        data = record.get("data")
        inner = data.get("message") if type(data) is dict else None
        message = inner.get("message") if type(inner) is dict else None
        if type(data) is not dict or type(inner) is not dict or type(message) is not dict:
            return
        if inner.get("type") != "assistant":
            return
        own = {"sessionId": record.get("sessionId"), "agentId": data.get("agentId")} | inner | {"isSidechain": True}
        main, self._last = self._last, _Node(None, 0, "")
        self._answered(own, message, line)
        self._last = main

    def _above(self, record: dict[str, Any]) -> _Node:
        """What stands above a record: its parent's node, that of the record before where it names none."""
        parent = record.get("parentUuid", self)
        if parent is None:
            return _Node(None, 0, "")
        return self._nodes.get(parent, self._last) if type(parent) is str else self._last

    def _place(self, record: dict[str, Any], role: str, call: str | None) -> None:
        above = self._above(record)
        compacted = above.compacted and role != "assistant"
        messages = None if above.messages is None else above.messages + (above.role != role)
        self._keep(record, _Node(call or above.call, messages, role, compacted))

    def _pass(self, record: dict[str, Any]) -> None:
        """A record that is no message stands for what is above it."""
        if "uuid" in record:
            self._keep(record, self._above(record))

    def _keep(self, record: dict[str, Any], node: _Node) -> None:
        name = word(record, "uuid")
        if name is not None:
            self._nodes[name] = node
        self._last = node

    def _system(self, record: dict[str, Any]) -> None:
        kind = record.get("subtype")
        if kind == "compact_boundary":
            self.requests.boundary()
            above = self._nodes.get(word(record, "logicalParentUuid") or "", self._last)
            self._keep(record, _Node(above.call, None if _preserves(record) else 0, "", True))
            return
        if kind == "api_error":
            agent = word(record, "agentId")
            if (name := self._latest.get(agent)) is not None:
                self.failures.setdefault(name, []).append(record)
            else:
                self._failed[agent] += 1
        self._pass(record)

    def _answered(self, record: dict[str, Any], message: dict[str, Any], line: int) -> None:
        name, request = word(message, "id"), word(record, "requestId")
        if name is None and request is None and type(message.get("usage")) is not dict:
            self._place(record, "assistant", None)
            return
        key = name or (f"request {request}" if request else f"line {line}")
        call = self.calls.get(key)
        if call is None:
            above = self._above(record)
            agent = word(record, "agentId")
            self._latest.pop(agent, None)
            call = self.calls[key] = LoggedCall(
                line,
                record | {"message": message},
                word(record, "timestamp"),
                above.call,
                above.messages,
                above.compacted,
                self._failed.pop(agent, 0),
            )
        self._place(record, "assistant", key)
        call.join(record, message)
