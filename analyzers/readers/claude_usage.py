"""The usage in Claude Code's session files, without reading anything else of them.

Session files hold everything a client ever saw, and the counters are a thousandth of it. So lines are looked at as
bytes, and only those that hold a ``"usage"`` are parsed; large files are cut into segments at line ends, and segments
are read by several processes. Whatever the spacing of the JSON. One API call is several records (one per content block,
usage repeated, placeholders before the final counts): within a segment they become one call here, across segments and
files in ``calls``. O(bytes), memory: one line, and the calls.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO

import orjson

from analyzers.calls import Call
from analyzers.exchange import Problem
from analyzers.spent import Spent, billed_of, of_plain, of_usage
from analyzers.wire.jsontext import NotJson, parse
from analyzers.wire.usage import Usage

SEGMENT = 24 * 1024 * 1024
LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of one line: twice the largest request. A longer one is passed over with notice."""

ALONE = 32 * 1024 * 1024
"""Bytes up to which one process is faster than several."""

MOST_PROCESSES = 8
_BUFFER = 1 << 18
_OPEN, _CLOSE = b"{"[0], b"}"[0]
SYNTHETIC = "<synthetic>"
PLACEHOLDER = 8
"""Output tokens up to which a record without a stop reason is a placeholder (measured on older versions)."""

IMPOSSIBLE = 8
"""Visible characters per output token that no tokenizer reaches on text."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of one file, to be read from the first line that begins in it to the last one that does."""

    path: str
    start: int
    end: int


@dataclass(slots=True)
class Found:
    """What segments hold. ``calls`` in order of appearance, ``runs``: positions of calls whose first records lie within
    one second of each other, which is how a copied conversation looks when it was stamped anew."""

    calls: list[Call] = field(default_factory=list)
    runs: list[list[int]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    synthetic: int = 0
    lines: int = 0


def scan(files: Sequence[str], processes: int | None = None) -> Iterator[Found]:
    """What the segments of the files hold, in the order of the files. ``processes`` None: as many as it takes."""
    parts = list(segments(files))
    size = sum(part.end - part.start for part in parts)
    wanted = processes or (1 if size <= ALONE else min(os.cpu_count() or 1, MOST_PROCESSES))
    if wanted == 1:
        yield from map(read_segment, parts)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    kind = "fork" if sys.platform == "linux" else "spawn"
    with ProcessPoolExecutor(wanted, mp_context=get_context(kind)) as pool:
        yield from pool.map(read_segment, parts, chunksize=4)


def segments(files: Sequence[str]) -> Iterator[Segment]:
    """The files cut into parts of about equal size."""
    for path in files:
        size = os.path.getsize(path)
        for start in range(0, max(size, 1), SEGMENT):
            yield Segment(path, start, min(start + SEGMENT, size))


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
    """A call whose records are being collected."""

    row: dict[str, Any]
    message: dict[str, Any]
    stamp: str
    line: int
    best: dict[str, Any]
    output: Any
    stopped: bool
    chars: int
    sidechain: bool
    asked: bool
    rows: int = 1


class _Reader:
    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.found = Found()
        self._open: dict[str, _Open] = {}
        self._counts: Counter[str] = Counter()
        self._first: dict[str, int] = {}
        self._line = 0

    def problem(self, text: str) -> None:
        self.found.problems.append(Problem(self.segment.path, text))

    def read(self, file: BinaryIO) -> None:
        start, end = self.segment.start, self.segment.end
        if start:
            file.seek(start - 1)
            at = start - 1 + self._skip(file)
        else:
            at = 0
        readline = file.readline
        while at < end and (line := readline(LINE_LIMIT)):
            at += len(line)
            self._line += 1
            if len(line) == LINE_LIMIT and line[-1] != 10:
                at += self._skip(file)
                self._count("lines longer than 64 MB were passed over")
            elif b'"usage"' in line:
                self._parse(line)
            elif line[0] != _OPEN or line[-2:-1] != b"}":
                self._odd(line)

    def _skip(self, file: BinaryIO) -> int:
        """Goes to the next line; how many bytes that was."""
        skipped = 0
        while rest := file.readline(1 << 20):
            skipped += len(rest)
            if rest[-1] == 10:
                break
        return skipped

    def _odd(self, line: bytes) -> None:
        """A line that is no JSON object at first sight: with blanks around it, it may be one."""
        bare = line.strip(b" \t\r\n\xef\xbb\xbf")
        if bare and (bare[0] != _OPEN or bare[-1] != _CLOSE):
            self._count("lines are not readable and were passed over")

    def _parse(self, line: bytes) -> None:
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            try:
                row = parse(line).value
            except NotJson:
                self._count("lines are not readable and were passed over")
                return
        if type(row) is not dict:
            return
        kind = row.get("type")
        if kind == "progress":  # a sub-agent's record, told in the main file
            row = _told(row)
            kind = row.get("type")
        message = row.get("message")
        if kind != "assistant" or type(message) is not dict:
            return
        usage = message.get("usage")
        if type(usage) is not dict:
            return
        if message.get("model") == SYNTHETIC or row.get("isApiErrorMessage"):
            self.found.synthetic += 1
            return
        if _has_float(usage):  # the fast parser forgets how a large number was written
            row = parse(line).value
            row = _told(row) if row.get("type") == "progress" else row
            message = row["message"]
            usage = message["usage"]
        self._take(row, message, usage)

    def _take(self, row: dict[str, Any], message: dict[str, Any], usage: dict[str, Any]) -> None:
        name, request = message.get("id"), row.get("requestId")
        if type(name) is str and name:
            key = name
        elif type(request) is str and request:
            key = f"request {request}"
        else:
            key = f"line {self._line}"
        output = usage.get("output_tokens")
        stopped = message.get("stop_reason") is not None
        chars = 0 if stopped else visible_chars(message.get("content"))
        call = self._open.get(key)
        if call is None:
            stamp = row.get("timestamp")
            self._open[key] = _Open(
                row,
                message,
                stamp if type(stamp) is str else "",
                self._line,
                usage,
                output,
                stopped,
                chars,
                row.get("isSidechain") is True,
                "stop_reason" in message,
            )
            return
        call.rows += 1
        call.chars += chars
        call.sidechain = call.sidechain and row.get("isSidechain") is True
        if (stopped, _amount(output)) > (call.stopped, _amount(call.output)):
            call.best, call.output = usage, output
        call.stopped = call.stopped or stopped

    def _count(self, text: str) -> None:
        self._counts[text] += 1
        self._first.setdefault(text, self._line)

    def place(self, line: int) -> str:
        """Where a line is; lines are counted from the start of the segment, which is not always that of the file."""
        path, start = self.segment.path, self.segment.start
        return f"{path}:{line}" if not start else f"{path}, line {line} after byte {start}"

    def finish(self) -> Found:
        found = self.found
        found.lines = self._line
        second, run = "", list[int]()
        stem = os.path.basename(self.segment.path).removesuffix(".jsonl")
        notes: Counter[str] = Counter()
        for position, (key, call) in enumerate(self._open.items()):
            found.calls.append(self._call(key, call, stem, notes))
            if call.stamp[:19] != second or not second:
                second, run = call.stamp[:19], [position]
            else:
                run.append(position)
                if len(run) == 2:
                    found.runs.append(run)
        for text, number in self._counts.items():
            self.problem(f"{number} {text} (the first: {self.place(self._first[text])})")
        for text, number in notes.items():
            self.problem(f"{number} times: {text}")
        return found

    def _call(self, key: str, call: _Open, stem: str, notes: Counter[str]) -> Call:
        spent = of_plain(call.best)
        if spent is None:
            usage, told = Usage.from_json(call.best)
            notes.update(f"{note.path} {note.detail}" for note in told)
            spent = of_usage(usage), billed_of(usage)
        row, message = call.row, call.message
        final = call.stopped or not is_placeholder(spent[0], call.chars, call.asked)
        agent = word(row, "agentId") or (
            stem.removeprefix("agent-") if call.sidechain and stem[:6] == "agent-" else None
        )
        return Call(
            seconds(call.stamp),
            word(row, "requestSessionId") or word(row, "sessionId") or (None if stem[:6] == "agent-" else stem),
            agent if call.sidechain else None,
            word(message, "model"),
            word(row, "requestedModel"),
            word(message, "id"),
            word(row, "requestId"),
            "completed" if final else "unfinished",
            spent[0],
            spent[1],
            self.place(call.line),
            logged=True,
            rows=call.rows,
            sidechain=call.sidechain,
        )


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """The sub-agent's record that a progress record quotes; an empty one when it quotes none."""
    data = row.get("data")
    if type(data) is not dict or type(inner := data.get("message")) is not dict:
        return {}
    return {"sessionId": row.get("sessionId"), "agentId": data.get("agentId")} | inner | {"isSidechain": True}


def _has_float(usage: dict[str, Any]) -> bool:
    return any(type(value) is float for value in usage.values())


def _amount(value: Any) -> float:
    return value if type(value) in (int, float) else -1


def is_placeholder(spent: Spent, chars: int, asked: bool) -> bool:
    """Whether the output of a record without a stop reason was never replaced by the final count. ``chars``: visible
    characters of the answer; ``asked``: whether the record has a stop reason at all, even if null."""
    if spent.output is None:
        return True
    return (asked and spent.output <= PLACEHOLDER) or chars > IMPOSSIBLE * spent.output + IMPOSSIBLE


def visible_chars(content: Any) -> int:
    """Characters of an answer that were output tokens: its texts, thinking, and inputs of tools."""
    if type(content) is not list:
        return len(content) if type(content) is str else 0
    total = 0
    for block in content:
        if type(block) is not dict:
            continue
        for name in ("text", "thinking"):
            if type(text := block.get(name)) is str:
                total += len(text)
        if (given := block.get("input")) is not None:
            try:
                total += len(orjson.dumps(given))
            except (TypeError, orjson.JSONEncodeError):
                continue
    return total


def word(value: dict[str, Any], name: str) -> str | None:
    """A member that is a non-empty string."""
    member = value.get(name)
    return member if type(member) is str and member else None


def seconds(stamp: str) -> float | None:
    """Seconds since the epoch of a log's timestamp; None when it is no time with a zone."""
    try:
        moment = datetime.fromisoformat(stamp)
        return moment.timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError, OSError):
        return None
