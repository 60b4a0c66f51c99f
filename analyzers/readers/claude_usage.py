"""The usage in Claude Code's session files, without reading anything else of them.

Session files hold everything a client ever saw, and the counters are a thousandth of it. So lines are looked at as
bytes, only those that hold an ``"assistant"`` are decoded, and of those a dozen members (a decoder that knows what is
wanted skips the content, at a third of the cost of parsing it). Large files are cut into segments at line ends, and
segments are read by several processes. Whatever the spacing of the JSON. One API call is several records (one per
content block, usage repeated, placeholders before the final counts): within a segment they become one call here, across
segments and files in ``calls``. O(bytes), memory: one line, and the calls.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from msgspec import UNSET, DecodeError, to_builtins

from analyzers.calls import Call
from analyzers.exchange import Problem
from analyzers.readers.claude_values import (
    DECODER,
    IMPOSSIBLE,
    NO_USAGE,
    SYNTHETIC,
    Message,
    PlainUsage,
    Record,
    is_one_pass,
    is_placeholder,
    output_of,
    own_totals,
    plain_spent,
    quoted_record,
    recorded_cost,
    seconds,
    terms_in,
    text_of,
    visible_chars,
    word,
)
from analyzers.spent import Spent, billed_of, of_usage
from analyzers.terms import Pass, Terms, passes_of, terms_of
from analyzers.wire.jsontext import NotJson, dump, parse
from analyzers.wire.usage import Usage, count

LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of one line: twice the largest request. A longer one is passed over with notice."""

_BUFFER = 1 << 20

_SHORT = 1 << 14  # bytes of a line that tells of a failed request, at the most
_HEAD = 1024  # bytes of it in which its kind is told
_FAILED_OR_COST = re.compile(rb'"(?:api_error|cost-state)"').search
_FIRST = re.compile(rb'"(?:api_error|cost-state|queue-operation)"').search

_OPEN, _CLOSE = b"{"[0], b"}"[0]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of one file, to be read from the first line that begins in it to the last one that does."""

    path: str
    start: int
    end: int


@dataclass(slots=True)
class Found:
    """What segments hold. ``calls`` in order of appearance, ``runs``: positions of calls whose first records lie within
    one second of each other, which is how a copied conversation looks when it was stamped anew; ``size``: bytes.
    ``begins``: it is the beginning of a file; ``failed``: requests at its end that the next call is a retry of."""

    calls: list[Call] = field(default_factory=list)
    runs: list[list[int]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    synthetic: int = 0
    lines: int = 0
    size: int = 0
    own_totals: dict[str, Spent] = field(default_factory=dict)
    begins: bool = False
    failed: int = 0


def read_segment(segment: Segment) -> Found:
    """The calls of one part of a file."""
    reader = _Reader(segment)
    try:
        with open(segment.path, "rb", buffering=_BUFFER) as file:
            reader.read(file)
    except OSError as error:
        reader.problem(f"cannot be read ({error.strerror or error})")
    return reader.finish()


@dataclass(slots=True)
class _Open:
    """A call whose records are being collected. ``odd``: its usage, where that has to be judged as a whole. ``size``:
    bytes of the records, until one gives a reason to stop."""

    record: Record
    message: Message
    line: int
    usage: PlainUsage
    odd: Any
    stopped: bool
    asked: bool
    sidechain: bool
    failed: int
    cost: Any = None
    rows: int = 1
    size: int = 0
    chars: int = 0
    held: list[bytes] = field(default_factory=list)


class _Reader:
    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.found = Found()
        self._open: dict[str, _Open] = {}
        self._counts: Counter[str] = Counter()
        self._first: dict[str, int] = {}
        self._line = 0
        self._failed = 0  # requests that the next call is a retry of
        self._began = ""  # when the file's own process began
        self._terms: dict[Terms, Terms] = {}  # equal ones are one object

    def problem(self, text: str) -> None:
        self.found.problems.append(Problem(self.segment.path, text))

    def read(self, file: BinaryIO) -> None:
        start, end = self.segment.start, self.segment.end
        if start:
            file.seek(start - 1)
            at = start - 1 + self._skip(file)
        else:
            at = 0
        readline, parse_line = file.readline, self._parse
        telling = _FAILED_OR_COST if start else _FIRST
        while at < end and (line := readline(LINE_LIMIT)):
            size = len(line)
            at += size
            self._line += 1
            if size == LINE_LIMIT and line[-1] != 10:
                at += self._skip(file)
                self._count("lines longer than 64 MB were passed over")
            elif b'"assistant"' in line:
                parse_line(line)
            else:
                if size < _SHORT and telling(line, 0, _HEAD):
                    self._note(line)
                    telling = _FAILED_OR_COST if self._began else telling
                if line[0] != _OPEN or line[-2:-1] != b"}":
                    self._odd(line)

    def _is_copy(self, record: Record, stamp: str) -> bool:
        """Whether a record is older than its file: a fork copies those of the session it leaves, and only newer
        versions say so."""
        return bool(self._began) and record.requestSessionId is None and stamp < self._began

    def _skip(self, file: BinaryIO) -> int:
        """Goes to the next line; how many bytes that was."""
        skipped = 0
        while rest := file.readline(1 << 20):
            skipped += len(rest)
            if rest[-1] == 10:
                break
        return skipped

    def _note(self, line: bytes) -> None:
        """A record of a failed request, of the begin of the process, or of the client's own totals so far."""
        try:
            row = parse(line.strip()).value
        except NotJson:
            self._count("lines are not readable and were passed over")
            return
        if type(row) is not dict:
            return
        if row.get("type") == "queue-operation":
            if not self.segment.start:  # the first record of the file's own process, which no copy brings along
                self._began = self._began or text_of(row.get("timestamp")) or ""
        elif row.get("subtype") == "api_error":
            self._failed += 1
        elif row.get("type") == "cost-state" and type(row.get("modelUsage")) is dict:
            session = text_of(row.get("sessionId"))
            if session is not None:
                self.found.own_totals[session] = own_totals(row["modelUsage"])

    def _odd(self, line: bytes) -> None:
        """A line that is no JSON object at first sight: with blanks around it, it may be one."""
        bare = line.strip(b" \t\r\n\xef\xbb\xbf")
        if bare and (bare[0] != _OPEN or bare[-1] != _CLOSE):
            self._count("lines are not readable and were passed over")

    def _parse(self, line: bytes) -> None:
        try:
            record = DECODER.decode(line)
        except (DecodeError, RecursionError):  # damage, depth, or a member of another kind than it should be
            self._parse_whole(line)
            return
        kind, message = record.type, record.message
        if kind == "assistant" and message is not None:
            usage = message.usage
            if usage is None:
                if message.id or record.requestId:  # a call, though nobody knows what it cost
                    self._take(record, message, NO_USAGE, None, line)
            elif not usage.iterations or is_one_pass(usage, usage.iterations):
                self._take(record, message, usage, None, line)
            else:
                self._parse_whole(line)
        elif kind == "progress":
            self._parse_whole(line)

    def _parse_whole(self, line: bytes) -> None:
        """A line that is told in another way than most: iterations, odd counters, a sub-agent's record quoted in the
        main file, or damage."""
        try:
            row = parse(line.strip()).value
        except NotJson:
            self._count("lines are not readable and were passed over")
            return
        if type(row) is dict and row.get("type") == "progress":
            row = quoted_record(row)
        message = row.get("message") if type(row) is dict else None
        if type(message) is not dict or row.get("type") != "assistant":
            return
        usage = message.get("usage")
        if type(usage) is not dict:
            if word(message, "id") is None and word(row, "requestId") is None:
                return
            usage = None
        told = Message(message.get("id"), message.get("model"), message.get("stop_reason", UNSET))
        members = {name: row.get(name) for name in Record.__struct_fields__ if name not in ("type", "message")}
        plain = NO_USAGE if usage is None else PlainUsage(output_tokens=count(usage.get("output_tokens")))
        self._take(Record("assistant", told, **members), told, plain, usage, dump({"message": message}))

    def _take(self, record: Record, message: Message, usage: PlainUsage, odd: Any, line: bytes) -> None:
        if message.model == SYNTHETIC or record.isApiErrorMessage:
            self.found.synthetic += 1
            return
        key = message.id
        if type(key) is not str or not key:
            request = record.requestId
            key = f"request {request}" if type(request) is str and request else f"line {self._line}"
        stop = message.stop_reason
        stopped = stop is not None and stop is not UNSET
        call = self._open.get(key)
        if call is None:
            side = record.isSidechain is True
            call = self._open[key] = _Open(
                record, message, self._line, usage, odd, stopped, stop is not UNSET, side, self._failed
            )
            self._failed = 0
        else:
            call.rows += 1
            if call.sidechain and record.isSidechain is not True:
                call.sidechain = False
            if usage is not NO_USAGE and (
                call.usage is NO_USAGE or (stopped, output_of(usage)) > (call.stopped, output_of(call.usage))
            ):
                call.usage, call.odd = usage, odd
            call.stopped = call.stopped or stopped
            call.asked = call.asked or stop is not UNSET
        if record.costUSD is not None:
            call.cost = record.costUSD
        if not call.stopped:
            self._look(call, line)

    def _look(self, call: _Open, line: bytes) -> None:
        """Counts the visible characters of an answer without a reason to stop; only when there can be too many, so
        lines are kept until then, which is never more than a few bytes per token."""
        call.size += len(line)
        call.held.append(line)
        if call.size <= IMPOSSIBLE * (call.usage.output_tokens or 0):
            return
        for held in call.held:
            try:
                row = parse(held.strip()).value
            except NotJson:
                continue
            message = row.get("message") if type(row) is dict else None
            if type(message) is dict:
                call.chars += visible_chars(message.get("content"))
        call.held.clear()

    def _count(self, text: str) -> None:
        self._counts[text] += 1
        self._first.setdefault(text, self._line)

    def place(self, line: int) -> str:
        """Where a line is; lines are counted from the start of the segment, which is not always that of the file."""
        path, start = self.segment.path, self.segment.start
        return f"{path}:{line}" if not start else f"{path}, line {line} after byte {start}"

    def finish(self) -> Found:
        found = self.found
        found.lines, found.size = self._line, self.segment.end - self.segment.start
        found.begins, found.failed = self.segment.start == 0, self._failed
        begun, run = -math.inf, list[int]()
        stem = os.path.basename(self.segment.path).removesuffix(".jsonl")
        notes: Counter[str] = Counter()
        for position, call in enumerate(self._open.values()):
            stamp = call.record.timestamp
            stamp = stamp if type(stamp) is str else ""
            found.calls.append(self._call(call, stamp, stem, notes))
            time = found.calls[-1].time
            if time is None or not 0 <= time - begun <= 1:
                begun, run = -math.inf if time is None else time, [position]
            else:
                run.append(position)
                if len(run) == 2:
                    found.runs.append(run)
        for text, number in self._counts.items():
            self.problem(f"{number} {text} (the first: {self.place(self._first[text])})")
        for text, number in notes.items():
            self.problem(f"{number} times: {text}")
        self._open.clear()
        return found

    def _call(self, call: _Open, stamp: str, stem: str, notes: Counter[str]) -> Call:
        top = plain_spent(call.usage) if call.odd is None else None
        billed = top
        passes: tuple[Pass, ...] = ()
        if top is None or billed is None:
            usage, told = Usage.from_json(call.odd if call.odd is not None else to_builtins(call.usage))
            notes.update(f"{note.path} {note.detail}" for note in told)
            top, billed, terms = of_usage(usage), billed_of(usage), terms_of(usage)
            passes = passes_of(usage, text_of(call.record.requestedModel))
        else:
            terms = terms_in(call.usage)
        if terms is not None:
            terms = self._terms.setdefault(terms, terms)
        record, message, of_agent = call.record, call.message, stem[:6] == "agent-"
        final = call.stopped or not is_placeholder(top, call.chars, call.asked)
        session = text_of(record.requestSessionId) or text_of(record.sessionId) or (None if of_agent else stem)
        agent = text_of(record.agentId) or (stem[6:] if of_agent else None)
        return Call(
            seconds(stamp),
            session,
            agent if call.sidechain else None,
            text_of(message.model),
            text_of(record.requestedModel),
            text_of(message.id),
            text_of(record.requestId),
            "completed" if final else "unfinished",
            top,
            billed,
            self.place(call.line),
            True,
            call.rows,
            1 + call.failed,
            call.failed,
            None,
            None,
            None,
            call.sidechain,
            False,
            None,
            self._is_copy(record, stamp),
            terms,
            passes,
            None if call.cost is None else recorded_cost(call.cost),
        )
