"""The usage in Claude Code's session files, without reading anything else of them.

Session files hold everything a client ever saw, and the counters are a thousandth of it. So lines are looked at as
bytes, only those that hold an ``"assistant"`` are decoded, and of those a dozen members (a decoder that knows what is
wanted skips the content, at a third of the cost of parsing it). Large files are cut into segments at line ends, and
segments are read by several processes. Whatever the spacing of the JSON. One API call is several records (one per
content block, usage repeated, placeholders before the final counts): within a segment they become one call here, across
segments and files in ``calls``. O(bytes), memory: one line, and the calls.
"""

from __future__ import annotations

import marshal
import math
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO

import orjson
from msgspec import UNSET, DecodeError, Struct, to_builtins
from msgspec.json import Decoder

from analyzers.calls import Call
from analyzers.exchange import Problem
from analyzers.spent import Spent, billed_of, of_usage
from analyzers.terms import (
    STANDARD_GEOS,
    STANDARD_SPEEDS,
    STANDARD_TIERS,
    Conditions,
    Pass,
    Recorded,
    Terms,
    passes_of,
    terms_of,
)
from analyzers.wire.jsontext import NotJson, Number, dump, parse
from analyzers.wire.usage import Usage, count

SEGMENT = 16 * 1024 * 1024
LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of one line: twice the largest request. A longer one is passed over with notice."""

ALONE = 32 * 1024 * 1024
"""Bytes up to which one process is faster than several."""

MOST_PROCESSES = 8
START = "fork" if sys.platform == "linux" else "spawn"
"""How processes begin. Forking takes a tenth of the time, and must come before this process has threads."""

_BUFFER = 1 << 17
_SHORT = 1 << 14  # bytes of a line that tells of a failed request, at the most
_EXACT = 2**53
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


def scan(files: Iterable[str], size: int, processes: int | None = None) -> Iterator[Found]:
    """What the segments of the files hold, in the order of the files. ``size``: bytes of all files, as far as that is
    known: of few, one process is enough; ``processes`` None: as many as it takes. ``files`` may find out about files
    while those before them are being read."""
    failed = 0
    for found in _read(files, size, processes):
        if found.begins:
            failed = 0
        if failed and found.calls:
            first = found.calls[0]
            attempts = first.attempts + failed
            found.calls[0] = first._replace(attempts=attempts, failed_attempts=first.failed_attempts + failed)
            failed = 0
        failed += found.failed
        yield found


def _read(files: Iterable[str], size: int, processes: int | None) -> Iterator[Found]:
    wanted = processes or (1 if size <= ALONE else min(os.cpu_count() or 1, MOST_PROCESSES))
    if wanted == 1:
        yield from map(read_segment, segments(files))
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(wanted, mp_context=get_context(START)) as pool:
        for packed in pool.map(_packed, _batches(segments(files))):
            yield from map(_unpacked, marshal.loads(packed))


def _batches(parts: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Segments in groups of about one size: what goes between processes costs as much for a small file."""
    batch: list[Segment] = []
    size = 0
    for part in parts:
        batch.append(part)
        size += part.end - part.start
        if size >= SEGMENT:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_PRICE = Call._fields.index("terms")
_STANDARD = (None, (), None)
"""What follows there of a call on standard terms."""

type _Plain = tuple[
    list[tuple[Any, ...]],
    list[list[int]],
    list[tuple[str, str]],
    int,
    int,
    int,
    dict[str, tuple[Any, ...]],
    bool,
    int,
]


def _packed(batch: list[Segment]) -> bytes:
    """What segments hold, as bytes for another process: plain tuples go several times faster than objects."""
    return marshal.dumps([_plainly(read_segment(segment)) for segment in batch])


def _plainly(found: Found) -> _Plain:
    calls = []
    for call in found.calls:
        billed = None if call.billed is call.spent else tuple(call.billed)
        price = call[_PRICE:]
        if price != _STANDARD:
            price = _price_plainly(call)
        calls.append((*call[:8], tuple(call.spent), billed, *call[10:_PRICE], *price))
    problems = [(problem.place, problem.text) for problem in found.problems]
    totals = {name: tuple(spent) for name, spent in found.own_totals.items()}
    counts = found.synthetic, found.lines, found.size
    return calls, found.runs, problems, *counts, totals, found.begins, found.failed


def _price_plainly(call: Call) -> tuple[Any, ...]:
    """What a call's price needs, where it is not the standard, as plain tuples."""
    terms = None if call.terms is None else (tuple(call.terms.conditions), *call.terms[1:])
    passes = tuple((one.model, tuple(one.spent), one.attempt) for one in call.passes)
    return terms, passes, None if call.recorded is None else tuple(call.recorded)


def _price_of(plain: tuple[Any, ...], known: dict[Any, Terms]) -> tuple[Any, ...]:
    """The same as values again; equal terms are one object."""
    terms, passes, recorded = plain
    if terms is not None and terms not in known:
        known[terms] = Terms(Conditions._make(terms[0]), *terms[1:])
    return (
        None if terms is None else known[terms],
        tuple(Pass(model, Spent._make(spent), attempt) for model, spent, attempt in passes),
        None if recorded is None else Recorded._make(recorded),
    )


def _unpacked(found: _Plain) -> Found:
    calls, runs, problems, synthetic, lines, size, totals, begins, failed = found
    whole = []
    known: dict[Any, Terms] = {}
    for members in calls:
        spent = Spent._make(members[8])
        billed = spent if members[9] is None else Spent._make(members[9])
        price = members[_PRICE:]
        if price != _STANDARD:
            price = _price_of(price, known)
        whole.append(Call._make((*members[:8], spent, billed, *members[10:_PRICE], *price)))
    told = [Problem(place, text) for place, text in problems]
    own_totals = {name: Spent._make(sums) for name, sums in totals.items()}
    return Found(whole, runs, told, synthetic, lines, size, own_totals, begins, failed)


def segments(files: Iterable[str]) -> Iterator[Segment]:
    """The files cut into parts of about equal size."""
    for path in files:
        try:
            size = os.path.getsize(path)
        except OSError:
            size = 0  # said when it is opened
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


class _Split(Struct, gc=False):
    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class _Details(Struct, gc=False):
    thinking_tokens: int | None = None


class _Tools(Struct, gc=False):
    web_search_requests: int | None = None
    code_execution_requests: int | None = None


class _Pass(Struct, gc=False):
    type: str | None = None
    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None


class _Usage(Struct):
    """A usage whose counters are whole numbers or missing; any other kind is decoded in another way."""

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation: _Split | None = None
    output_tokens_details: _Details | None = None
    iterations: list[_Pass] | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    server_tool_use: _Tools | None = None


class _Message(Struct):
    id: Any = None
    model: Any = None
    stop_reason: Any = UNSET
    usage: _Usage | None = None


class _Record(Struct):
    """The members of a record that tell whose call it was; whatever else it holds is skipped unread."""

    type: Any = None
    message: _Message | None = None
    requestId: Any = None
    sessionId: Any = None
    requestSessionId: Any = None
    timestamp: Any = None
    isSidechain: Any = None
    agentId: Any = None
    isApiErrorMessage: Any = None
    requestedModel: Any = None
    costUSD: Any = None


_DECODER = Decoder(_Record)
_NO_USAGE = _Usage()


@dataclass(slots=True)
class _Open:
    """A call whose records are being collected. ``odd``: its usage, where that has to be judged as a whole. ``size``:
    bytes of the records, until one gives a reason to stop."""

    record: _Record
    message: _Message
    line: int
    usage: _Usage
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
        readline = file.readline
        while at < end and (line := readline(LINE_LIMIT)):
            at += len(line)
            self._line += 1
            if len(line) == LINE_LIMIT and line[-1] != 10:
                at += self._skip(file)
                self._count("lines longer than 64 MB were passed over")
            elif b'"assistant"' in line:
                self._parse(line)
            elif len(line) < _SHORT and (b'"api_error"' in line or b'"cost-state"' in line):
                self._note(line)
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

    def _note(self, line: bytes) -> None:
        """A record of a failed request, or the client's own totals of the session so far."""
        try:
            row = parse(line.strip()).value
        except NotJson:
            self._count("lines are not readable and were passed over")
            return
        if type(row) is not dict:
            return
        if row.get("subtype") == "api_error":
            self._failed += 1
        elif row.get("type") == "cost-state" and type(row.get("modelUsage")) is dict:
            session = _text(row.get("sessionId"))
            if session is not None:
                self.found.own_totals[session] = _own_totals(row["modelUsage"])

    def _odd(self, line: bytes) -> None:
        """A line that is no JSON object at first sight: with blanks around it, it may be one."""
        bare = line.strip(b" \t\r\n\xef\xbb\xbf")
        if bare and (bare[0] != _OPEN or bare[-1] != _CLOSE):
            self._count("lines are not readable and were passed over")

    def _parse(self, line: bytes) -> None:
        try:
            record = _DECODER.decode(line)
        except DecodeError:  # damage, or a member of another kind than it should be
            self._parse_whole(line)
            return
        kind, message = record.type, record.message
        if kind == "assistant" and message is not None:
            usage = message.usage
            if usage is None:
                if message.id or record.requestId:  # a call, though nobody knows what it cost
                    self._take(record, message, _NO_USAGE, None, line)
            elif not usage.iterations or _is_one_pass(usage, usage.iterations):
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
            row = _told(row)
        message = row.get("message") if type(row) is dict else None
        if type(message) is not dict or row.get("type") != "assistant":
            return
        usage = message.get("usage")
        if type(usage) is not dict:
            if word(message, "id") is None and word(row, "requestId") is None:
                return
            usage = None
        told = _Message(message.get("id"), message.get("model"), message.get("stop_reason", UNSET))
        members = {name: row.get(name) for name in _Record.__struct_fields__ if name not in ("type", "message")}
        plain = _NO_USAGE if usage is None else _Usage(output_tokens=count(usage.get("output_tokens")))
        self._take(_Record("assistant", told, **members), told, plain, usage, dump({"message": message}))

    def _take(self, record: _Record, message: _Message, usage: _Usage, odd: Any, line: bytes) -> None:
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
            if usage is not _NO_USAGE and (
                call.usage is _NO_USAGE or (stopped, _output(usage)) > (call.stopped, _output(call.usage))
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
        top = _plain(call.usage) if call.odd is None else None
        billed = top
        passes: tuple[Pass, ...] = ()
        if top is None or billed is None:
            usage, told = Usage.from_json(call.odd if call.odd is not None else to_builtins(call.usage))
            notes.update(f"{note.path} {note.detail}" for note in told)
            top, billed, terms = of_usage(usage), billed_of(usage), terms_of(usage)
            passes = passes_of(usage, _text(call.record.requestedModel))
        else:
            terms = _terms(call.usage)
        if terms is not None:
            terms = self._terms.setdefault(terms, terms)
        record, message, of_agent = call.record, call.message, stem[:6] == "agent-"
        final = call.stopped or not is_placeholder(top, call.chars, call.asked)
        session = _text(record.requestSessionId) or _text(record.sessionId) or (None if of_agent else stem)
        agent = _text(record.agentId) or (stem[6:] if of_agent else None)
        return Call(
            seconds(stamp),
            session,
            agent if call.sidechain else None,
            _text(message.model),
            _text(record.requestedModel),
            _text(message.id),
            _text(record.requestId),
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
            terms,
            passes,
            None if call.cost is None else _recorded(call.cost),
        )


def _output(usage: _Usage) -> int:
    """The output tokens, to tell which of two records is the later one; -1: not known."""
    output = usage.output_tokens
    return -1 if output is None or output < 0 else output


def _is_one_pass(usage: _Usage, passes: list[_Pass]) -> bool:
    """Whether the only iteration is the message itself, told again with the same counters."""
    one = passes[0]
    return (
        len(passes) == 1
        and one.type == "message"
        and one.input_tokens == usage.input_tokens
        and one.cache_creation_input_tokens == usage.cache_creation_input_tokens
        and one.cache_read_input_tokens == usage.cache_read_input_tokens
        and one.output_tokens == usage.output_tokens
    )


def _plain(usage: _Usage) -> Spent | None:
    """The counters of a usage that needs no judgement: all are there, none is negative or beyond what a double holds,
    and the split by lifetime adds up. The same as ``of_usage`` gives. None: judge it."""
    fresh, written = usage.input_tokens, usage.cache_creation_input_tokens
    read, output, split = usage.cache_read_input_tokens, usage.output_tokens, usage.cache_creation
    if fresh is None or written is None or read is None or output is None:
        return None
    if not (0 <= fresh < _EXACT and 0 <= written < _EXACT and 0 <= read < _EXACT and 0 <= output < _EXACT):
        return None
    five = hour = 0 if written == 0 else None
    if split is not None:
        five, hour = split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens
        if five is None or hour is None or five + hour != written or five < 0 or hour < 0:
            return None
    details = usage.output_tokens_details
    thinking = details.thinking_tokens if details is not None else None
    if thinking is not None and not 0 <= thinking < _EXACT:
        return None
    return Spent(fresh, written, five, hour, read, output, thinking)


def _terms(usage: _Usage) -> Terms | None:
    """What ``terms_of`` says of a usage that needs no judgement."""
    tools = usage.server_tool_use
    if (
        usage.service_tier in STANDARD_TIERS
        and usage.speed in STANDARD_SPEEDS
        and usage.inference_geo in STANDARD_GEOS
        and (tools is None or not (tools.web_search_requests or tools.code_execution_requests))
    ):
        return None
    return terms_of(Usage.from_json(to_builtins(usage))[0])


def _recorded(cost: Any) -> Recorded | None:
    """The cost in USD that the client wrote down."""
    return Recorded("client", str(cost)) if type(cost) in (int, float, Number) else None


def _text(value: Any) -> str | None:
    return value if type(value) is str and value else None


def _own_totals(models: dict[str, Any]) -> Spent:
    """The client's counters of all models together."""
    names = (
        "inputTokens", "cacheCreationInputTokens", "cacheCreationEphemeral5mInputTokens",
        "cacheCreationEphemeral1hInputTokens", "cacheReadInputTokens", "outputTokens", "thinkingTokens",
    )  # fmt: skip
    told = [[count(model.get(name)) for name in names] for model in models.values() if type(model) is dict]
    return Spent(*(None if None in column else sum(column) for column in zip(*told, strict=True))) if told else Spent()


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """The sub-agent's record that a progress record quotes; an empty one when it quotes none."""
    data = row.get("data")
    if type(data) is not dict or type(inner := data.get("message")) is not dict:
        return {}
    return {"sessionId": row.get("sessionId"), "agentId": data.get("agentId")} | inner | {"isSidechain": True}


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
