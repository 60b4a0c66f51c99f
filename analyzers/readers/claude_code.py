"""Claude Code's session files: one JSON record per line, one API call in several of them.

A call is an exchange here: its answer out of the assistant records with one message id (their blocks together, the
final counters), its request as far as the file keeps it (``claude_requests``; older versions keep none, which is said).
The file is a tree: records name their parent, so a rewind has two children; from it come the call that a call continues
and the number of messages it sent. Records are read one by one; what is kept of a file is its messages. Records that
say nothing about calls are passed over, unknown ones are counted by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from analyzers.exchange import Exchange, Logged, Request, Response
from analyzers.readers.claude_requests import Rebuilt, RequestLog
from analyzers.readers.claude_usage import SYNTHETIC, is_placeholder, seconds, visible_chars, word
from analyzers.readers.lines import Lines
from analyzers.readers.source import Source
from analyzers.spent import of_usage
from analyzers.wire.jsontext import Json, NotJson, parse
from analyzers.wire.message import ApiError
from analyzers.wire.note import Note
from analyzers.wire.record import Ended
from analyzers.wire.usage import Usage

NO_REQUEST = "the log of this version keeps no requests"
NO_RECORD = "the log keeps no record of this request"

# fmt: off
KNOWN = frozenset((
    "user", "assistant", "system", "attachment", "summary", "progress", "queue-operation", "last-prompt", "atis-latch",
    "tools-used", "mode", "cost-state", "file-history-snapshot", "api-request-shape", "api-request-blob", "api-request",
    "ai-title", "custom-title", "agent-name", "agent-color", "agent-setting", "tag", "pr-link", "saved_hook_context",
    "worktree-state", "content-replacement", "permission-mode", "speculation-accept", "marble-origami-commit",
    "marble-origami-snapshot", "task-summary", "api-request-resumed", "fork-context-ref", "attribution-snapshot",
))
"""Types of records that are known; all but a few of them say nothing about calls."""
# fmt: on


@dataclass(slots=True)
class _Call:
    """The records of one answer so far."""

    line: int
    record: dict[str, Any]
    stamp: str | None
    parent: str | None
    messages: int
    compacted: bool
    failed: int
    blocks: list[Any] = field(default_factory=list)
    best: dict[str, Any] | None = None
    stop_reason: str | None = None
    asked: bool = False
    rows: int = 0
    sidechain: bool = True
    uuids: set[str] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)


@dataclass(slots=True)
class _Node:
    """What one record means to those below it: the call above them, and how many messages lie above."""

    call: str | None
    messages: int
    role: str
    compacted: bool = False


class _Session:
    """One file, record by record."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.calls: dict[str, _Call] = {}
        self.requests = RequestLog()
        self.unknown: Counter[str] = Counter()
        self.odd: Counter[str] = Counter()
        self.synthetic = 0
        self.failures: dict[str | None, list[dict[str, Any]]] = {}
        self._nodes: dict[str, _Node] = {}
        self._last = _Node(None, 0, "")
        self._failed: Counter[str | None] = Counter()

    def take(self, record: Json, line: int) -> None:
        kind = record.get("type") if type(record) is dict else None
        if type(kind) is not str:
            self.odd["records without a type"] += 1
            if type(record) is dict and type(record.get("message")) is dict:
                self._assistant(record, record["message"], line)
            return
        if kind.startswith("api-request") and kind != "api-request-resumed":
            try:
                self.requests.add(kind, record)
            except (KeyError, TypeError, ValueError):
                self.odd[f"{kind} records of another form"] += 1
        elif kind == "assistant" or kind == "user":
            self._said(kind, record, line)
        elif kind == "system":
            self._system(record)
        elif kind not in KNOWN:
            self.unknown[kind] += 1
        else:
            self._pass(record)

    def _said(self, kind: str, record: dict[str, Any], line: int) -> None:
        message = record.get("message")
        if type(message) is not dict:
            self.odd[f"{kind} records without a message"] += 1
            return
        content = message.get("content")
        if type(content) is not str and type(content) is not list:
            self.odd["messages whose content is no text and no list: taken for empty"] += 1
            content = []
        if kind == "assistant":
            if message.get("model") == SYNTHETIC or record.get("isApiErrorMessage"):
                self.synthetic += 1
                self._pass(record)
                return
            self._assistant(record, message, line)
        else:
            self._place(record, "user", None)
        self.requests.told(kind, word(message, "id"), content)

    def _above(self, record: dict[str, Any]) -> _Node:
        """What stands above a record: its parent's node, that of the record before where it names none."""
        parent = record.get("parentUuid", self)
        if parent is None:
            return _Node(None, 0, "")
        return self._nodes.get(parent, self._last) if type(parent) is str else self._last

    def _place(self, record: dict[str, Any], role: str, call: str | None) -> _Node:
        above = self._above(record)
        compacted = above.compacted and role != "assistant"
        node = _Node(call or above.call, above.messages + (above.role != role), role, compacted)
        self._keep(record, node)
        return node

    def _pass(self, record: dict[str, Any]) -> None:
        """A record that is no message stands for what is above it."""
        if "uuid" in record:
            self._keep(record, self._above(record))

    def _keep(self, record: dict[str, Any], node: _Node) -> None:
        name = record.get("uuid")
        if type(name) is str:
            self._nodes[name] = node
        self._last = node

    def _system(self, record: dict[str, Any]) -> None:
        kind = record.get("subtype")
        if kind == "compact_boundary":
            self.requests.boundary()
            above = self._nodes.get(record.get("logicalParentUuid") or "", self._last)
            self._keep(record, _Node(above.call, 0, "", True))
            return
        if kind == "api_error":
            agent = word(record, "agentId")
            self._failed[agent] += 1
            self.failures.setdefault(agent, []).append(record)
        self._pass(record)

    def _assistant(self, record: dict[str, Any], message: dict[str, Any], line: int) -> None:
        name, request = word(message, "id"), word(record, "requestId")
        usage = message.get("usage")
        if name is None and request is None and type(usage) is not dict:
            self._place(record, "assistant", None)
            return
        key = name or (f"request {request}" if request else f"line {line}")
        call = self.calls.get(key)
        if call is None:
            above = self._above(record)
            agent = word(record, "agentId")
            failed = self._failed.pop(agent, 0)
            call = self.calls[key] = _Call(
                line, record, word(record, "timestamp"), above.call, above.messages, above.compacted, failed
            )
        self._place(record, "assistant", key)
        _join(call, record, message)


def _join(call: _Call, record: dict[str, Any], message: dict[str, Any]) -> None:
    """Adds one record to its call: its blocks once, the counters if they are better."""
    call.rows += 1
    call.sidechain = call.sidechain and record.get("isSidechain") is True
    uuid = record.get("uuid")
    if type(uuid) is str and uuid in call.uuids:
        return
    call.uuids.add(str(uuid))
    content = message.get("content")
    if type(content) is list:
        call.blocks += content
    elif type(content) is str:
        call.blocks.append({"type": "text", "text": content})
    usage, stop = message.get("usage"), word(message, "stop_reason")
    call.asked = call.asked or "stop_reason" in message
    if type(usage) is dict and (call.best is None or _rank(stop, usage) > _rank(call.stop_reason, call.best)):
        call.best = usage
    call.stop_reason = stop or call.stop_reason


def _rank(stop: str | None, usage: dict[str, Any]) -> tuple[bool, float]:
    output = usage.get("output_tokens")
    return stop is not None, float(output) if type(output) is int or type(output) is float else -1.0


def read_session(source: Source) -> Iterator[Exchange]:
    """The calls of one session file, in the order of their requests. Copies of calls of another file (a fork has them)
    are left to that file when it is read too."""
    session = _Session(source)
    lines = Lines(source)
    for number, line in lines:
        try:
            record = parse(line).value
        except NotJson as error:
            lines.unreadable(number, error.reason)
            continue
        session.take(record, number)
    _tell(session, lines)
    yield from sorted(_exchanges(session), key=lambda exchange: exchange.time or 0.0)


def _tell(session: _Session, lines: Lines) -> None:
    source = session.source
    lines.tell()
    for kind, number in session.unknown.most_common():
        source.problem(f"{number} records of unknown type {kind[:40]!r} were passed over")
    for text, number in session.odd.items():
        source.problem(f"{number} {text}")


def _exchanges(session: _Session) -> Iterator[Exchange]:
    answered: set[str] = set()
    elsewhere = 0
    for key, call in session.calls.items():
        name = word(call.record, "requestRef")
        if name is not None:
            answered.add(name)
        if _is_copy(session.source, call.record):
            elsewhere += 1
            continue
        yield _exchange(session, key, call, name)
    if elsewhere:
        session.source.problem(
            f"{elsewhere} calls are copies of calls in the file they were made in, and counted there"
        )
    for name, record in session.requests.requests.items():
        if name not in answered:
            yield _unanswered(session, name, record)


def _is_copy(source: Source, record: dict[str, Any]) -> bool:
    made_in = word(record, "requestSessionId")
    return made_in is not None and made_in != record.get("sessionId") and f"{made_in}.jsonl" in source.beside


def _exchange(session: _Session, key: str, call: _Call, name: str | None) -> Exchange:
    record = call.record
    message = record["message"]
    usage, notes = Usage.from_json(call.best) if call.best is not None else (None, ())
    chars = 0 if call.stop_reason else visible_chars(call.blocks)
    final = bool(call.stop_reason) or not is_placeholder(of_usage(usage), chars, call.asked)
    told = list(notes) + call.notes
    if not final:
        told.append(Note("not_final", "the log holds a placeholder of the output, never its final count", "usage"))
    time = seconds(call.stamp or "")
    request_id = word(record, "requestId")
    response = Response(
        status=200,
        time=time,
        headers={"request-id": request_id} if request_id else {},
        model=word(message, "model"),
        message_id=word(message, "id"),
        stop_reason=call.stop_reason,
        usage=usage,
        usage_raw=call.best,
        content=call.blocks,
        notes=tuple(told),
    )
    rebuilt = session.requests.rebuild(name) if name in session.requests.requests else None
    made = session.requests.requests.get(name or "", {})
    request = _request(session, record, made, rebuilt, NO_RECORD if name else NO_REQUEST)
    logged = _logged(session, record, call.sidechain)
    messages = call.messages if rebuilt is None or rebuilt.body is None else len(rebuilt.body["messages"])
    logged = replace(
        logged,
        request_id=request_id,
        requested=word(record, "requestedModel") or logged.requested,
        rows=call.rows,
        final=final,
        messages=messages or None,
        compacted=call.compacted,
        continues=call.parent,
        failed_attempts=0 if session.requests.requests else call.failed,  # else each is an exchange of its own
    )
    ended: Ended = "completed" if final else "not_final"
    return Exchange(request, response, ended, f"{session.source.place}:{call.line}", logged)


def _unanswered(session: _Session, name: str, record: dict[str, Any]) -> Exchange:
    """A request that the log keeps without an answer: an attempt that failed, as a rule."""
    rebuilt = session.requests.rebuild(name)
    request = _request(session, record, record, rebuilt, NO_RECORD)
    logged = _logged(session, record, "agentId" in record)
    if rebuilt.body is not None:
        logged = replace(logged, messages=len(rebuilt.body["messages"]))
    error = _error(session, record)
    return Exchange(
        request, error, "error" if error else "unanswered", f"{session.source.place} request {name}", logged
    )


def _error(session: _Session, record: dict[str, Any]) -> Response | None:
    """The failure that the log tells of right after this request; each is taken once."""
    told = session.failures.get(word(record, "agentId")) or []
    begun = seconds(word(record, "timestamp") or "")
    for position, failure in enumerate(told):
        time = seconds(word(failure, "timestamp") or "")
        error = failure.get("error")
        if begun is None or time is None or time < begun or type(error) is not dict:
            continue
        del told[position]
        status = error.get("status")
        request_id = word(error, "requestId")
        return Response(
            status=status if type(status) is int else None,
            time=time,
            headers={"request-id": request_id} if request_id else {},
            error=ApiError(None, word(error, "formatted") or word(error, "message"), request_id),
        )
    return None


def _request(
    session: _Session, record: dict[str, Any], made: dict[str, Any], rebuilt: Rebuilt | None, reason: str
) -> Request:
    headers: dict[str, Any] = {}
    if session_id := word(record, "sessionId"):
        headers["x-claude-code-session-id"] = session_id
    if agent := word(record, "agentId"):
        headers["x-claude-code-agent-id"] = agent
    if rebuilt is not None and rebuilt.betas:
        headers["anthropic-beta"] = ",".join(rebuilt.betas)
    body = rebuilt.body if rebuilt is not None else None
    return Request(
        body=body,
        time=seconds(word(made, "timestamp") or word(record, "timestamp") or ""),
        path="/v1/messages",
        headers=headers,
        reason=None if body is not None else (rebuilt.reason if rebuilt is not None else reason),
        notes=rebuilt.notes if rebuilt is not None else (),
    )


def _logged(session: _Session, record: dict[str, Any], sidechain: bool) -> Logged:
    stem = Path(session.source.path).stem
    agent = word(record, "agentId") or (stem.removeprefix("agent-") if stem.startswith("agent-") else None)
    params = record.get("params")
    return Logged(
        session=word(record, "requestSessionId") or word(record, "sessionId") or (None if agent else stem),
        agent=(agent or "sidechain") if sidechain else None,
        requested=word(params, "model") if type(params) is dict else None,
    )
