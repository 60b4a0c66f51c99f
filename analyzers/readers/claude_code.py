"""Claude Code's session files: one JSON record per line, one API call in several of them.

A call is an exchange here: its answer out of the records with one message id (``claude_records``: their blocks
together, the final counters), its request as far as the file keeps it (``claude_requests``; older versions keep none,
which is said). A request without an answer is an exchange too. Records that say nothing about calls are passed over,
unknown ones are counted by name. Requests are put together one by one, when each is asked for: every one repeats those
before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from analyzers.exchange import Exchange, Logged, Request, Response
from analyzers.readers.claude_records import LoggedCall, SessionRecords
from analyzers.readers.claude_requests import Rebuilt
from analyzers.readers.claude_values import is_placeholder, seconds, visible_chars, word
from analyzers.readers.lines import Lines
from analyzers.readers.source import Source
from analyzers.readers.wired import unfolded
from analyzers.spent import of_usage
from analyzers.wire.jsontext import NotJson, parse
from analyzers.wire.message import ApiError
from analyzers.wire.note import Note
from analyzers.wire.record import Ended
from analyzers.wire.usage import Usage

NO_REQUEST = "the log of this version keeps no requests"
NO_RECORD = "the log keeps no record of this request"
NOT_FINAL = "the log holds a placeholder of the output, never its final count"


def read_session(source: Source) -> Iterator[Exchange]:
    """The calls of one session file, in the order of their requests. Copies of calls of another file (a fork has them)
    are left to that file when it is read too."""
    records = SessionRecords()
    lines = Lines(source)
    for number, line in lines:
        try:
            record = parse(line).value
        except NotJson as error:
            lines.unreadable(number, error.reason)
            continue
        records.take(record, number)
    lines.tell()
    for sentence in records.sentences():
        source.problem(sentence)
    yield from _exchanges(source, records)


def _exchanges(source: Source, records: SessionRecords) -> Iterator[Exchange]:
    answered: set[str] = set()
    found: list[tuple[float, str, LoggedCall | None]] = []
    copies = 0
    for key, call in records.calls.items():
        name = word(call.record, "requestRef")
        if name is not None:
            answered.add(name)
        if _is_copy(source, call.record):
            copies += 1
        else:
            found.append((_begun(records, name, call.stamp) or 0.0, key, call))
    if copies:
        told = "1 call is a copy of one" if copies == 1 else f"{copies} calls are copies of calls"
        source.problem(f"{told} in the file of the session that made them, and counted there")
    found += [(_begun(records, name, None) or 0.0, name, None) for name in records.requests.requests.keys() - answered]
    found.sort(key=lambda item: (item[0], records.lines.get(item[1], 0)))
    for _, key, known in found:
        yield _unanswered(source, records, key) if known is None else _answered(source, records, known)


def _begun(records: SessionRecords, name: str | None, stamp: str | None) -> float | None:
    """When a request was sent: what its own record says, else the first record of its answer."""
    made = records.requests.requests.get(name or "", {})
    return seconds(word(made, "timestamp") or stamp or "")


def _is_copy(source: Source, record: dict[str, Any]) -> bool:
    made_in = word(record, "requestSessionId")
    return made_in is not None and made_in != record.get("sessionId") and f"{made_in}.jsonl" in source.beside


def _answered(source: Source, records: SessionRecords, call: LoggedCall) -> Exchange:
    record = call.record
    name = word(record, "requestRef")
    made = records.requests.requests.get(name) if name is not None else None
    if name is not None and made is not None:
        rebuilt = records.requests.rebuild(name)
    else:
        rebuilt = Rebuilt(None, reason=NO_REQUEST if name is None else NO_RECORD)
    request = _request(source, record, _begun(records, name, call.stamp), rebuilt)
    response, final = _response(call)
    logged = replace(
        _logged(source, record, call.sidechain),
        request_id=word(record, "requestId"),
        rows=call.rows,
        final=final,
        messages=(len(rebuilt.body["messages"]) if rebuilt.body is not None else call.messages) or None,
        requested=word(record, "requestedModel") or _asked_for(made),
        continues=call.parent,
        compacted=call.compacted,
        failed_attempts=call.failed + len(records.failures.get(name or "", ())),
        copied=bool(records.began) and "requestSessionId" not in record and (call.stamp or "") < records.began,
    )
    ended: Ended = "completed" if final else "not_final"
    return Exchange(request, response, ended, f"{source.place}:{call.line}", logged)


def _response(call: LoggedCall) -> tuple[Response, bool]:
    """The answer, and whether its counters are the final ones."""
    message = call.record["message"]
    usage, notes = Usage.from_json(call.usage) if call.usage is not None else (None, ())
    chars = 0 if call.stop_reason else visible_chars(call.blocks)
    final = bool(call.stop_reason) or not is_placeholder(of_usage(usage), chars, call.asked)
    if not final:
        notes = (*notes, Note("not_final", NOT_FINAL, "usage"))
    request_id = word(call.record, "requestId")
    response = Response(
        status=200,
        time=seconds(call.last or call.stamp or ""),
        headers={"request-id": request_id} if request_id else {},
        model=word(message, "model"),
        message_id=word(message, "id"),
        stop_reason=call.stop_reason,
        usage=usage,
        usage_raw=call.usage,
        content=call.blocks,
        notes=tuple(notes),
    )
    return response, final


def _unanswered(source: Source, records: SessionRecords, name: str) -> Exchange:
    """A request that the log keeps without an answer: an attempt that failed, as a rule."""
    record = records.requests.requests[name]
    rebuilt = records.requests.rebuild(name)
    failures = records.failures.get(name, [])
    logged = replace(
        _logged(source, record, "agentId" in record or _agent_of_file(source) is not None),
        messages=len(rebuilt.body["messages"]) if rebuilt.body is not None else None,
        requested=_asked_for(record),
        failed_attempts=max(len(failures) - 1, 0),
    )
    error = _error(failures[-1]) if failures else None
    request = _request(source, record, _begun(records, name, None), rebuilt)
    place = f"{source.place}:{records.lines[name]}"
    return Exchange(request, error, "unanswered" if error is None else "error", place, logged)


def _error(failure: dict[str, Any]) -> Response:
    """A failure as the log tells of it: the API's own error where the client quotes it."""
    told = failure.get("error")
    error = told if type(told) is dict else {}
    status = error.get("status")
    request_id = word(error, "requestId")
    kind, text = _quoted(word(error, "message") or "")
    return Response(
        status=status if type(status) is int else None,
        time=seconds(word(failure, "timestamp") or ""),
        headers={"request-id": request_id} if request_id else {},
        error=ApiError(kind, text or word(error, "formatted") or word(error, "message"), request_id),
    )


def _quoted(message: str) -> tuple[str | None, str | None]:
    """Type and message of the API's error, which the client quotes as JSON behind the status."""
    _, brace, rest = message.partition("{")
    try:
        body = parse((brace + rest).encode("utf-8", "surrogatepass")).value if brace else None
    except NotJson:
        return None, None
    error = body.get("error") if type(body) is dict else None
    return (word(error, "type"), word(error, "message")) if type(error) is dict else (None, None)


def _request(source: Source, record: dict[str, Any], time: float | None, rebuilt: Rebuilt) -> Request:
    headers: dict[str, Any] = {}
    if session := word(record, "sessionId"):
        headers["x-claude-code-session-id"] = session
    if agent := word(record, "agentId"):
        headers["x-claude-code-agent-id"] = agent
    if rebuilt.betas:
        headers["anthropic-beta"] = ",".join(rebuilt.betas)
    reason = None if rebuilt.body is not None else rebuilt.reason
    made = Request(rebuilt.body, time, path="/v1/messages", headers=headers, reason=reason, notes=rebuilt.notes)
    return unfolded(made) if source.folded else made


def _logged(source: Source, record: dict[str, Any], sidechain: bool) -> Logged:
    of_file = _agent_of_file(source)
    session = word(record, "requestSessionId") or word(record, "sessionId")
    return Logged(
        session=session or (None if of_file else Path(source.path).stem),
        agent=(word(record, "agentId") or of_file or "sidechain") if sidechain else None,
    )


def _agent_of_file(source: Source) -> str | None:
    stem = Path(source.path).stem
    return stem.removeprefix("agent-") if stem.startswith("agent-") else None


def _asked_for(made: dict[str, Any] | None) -> str | None:
    params = made.get("params") if made is not None else None
    return word(params, "model") if type(params) is dict else None
