"""Capture files into exchanges.

``CaptureStream`` is sans I/O: bytes of one file in, in any pieces; exchanges out as soon as their answer is there. So
a file that is still being written is followed with the same code that reads a finished one, and a file cut anywhere
is read up to the cut. What cannot be used becomes a ``Problem`` and a count, and reading goes on. Memory: the
requests that still wait for their answer, and one line.
"""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from analyzers.exchange import Exchange, Problem, Request, Response
from analyzers.noted import Noted, noted
from analyzers.readers.kinds import ZSTD_MAGIC
from analyzers.readers.shared_parts import SharedParts
from analyzers.wire.fold import unfold
from analyzers.wire.jsontext import Json, NotJson, Number, parse
from analyzers.wire.message import ApiError
from analyzers.wire.note import Note
from analyzers.wire.record import FORMAT, Ended
from analyzers.wire.usage import Usage
from analyzers.wire.weight import WireSteps

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE = 512
"""Compressed bytes given to the library at once: where it meets damage, it forgets what it had made of those."""

LINE_LIMIT = 384 * 1024 * 1024
"""Bytes of one line; above that of the largest body the API takes, unfolded."""

_LONGEST = 1e9  # seconds, thirty years
_ROUTES = frozenset(("messages", "count_tokens", "batches", "bedrock", "vertex", "other"))
_ENDED = frozenset(("completed", "error", "unreachable", "client_gone", "upstream_cut", "proxy_stopped"))


class CaptureStream:
    """One capture file, fed in pieces. After ``finish`` the counts and ``problems`` are complete. ``notes`` collects
    what it says of the texts it folded."""

    def __init__(self, place: str, notes: dict[str, Noted] | None = None) -> None:
        self.place = place
        self.notes = notes
        self.problems: list[Problem] = []
        self.ended_in_order = False
        self.lost = 0
        self.unmatched: Counter[str] = Counter()
        self._unzip: zstd.ZstdDecompressor | None = None
        self._sniffed = b""
        self._fed = 0
        self._begun = False
        self._rest = bytearray()
        self._searched = 0
        self._oversized = False
        self._line = 0
        self._waiting: dict[str, tuple[int, Request]] = {}
        self._unknown: Counter[str] = Counter()
        self._broken = False
        self._parts = SharedParts()
        self._taken: str | None = None

    def feed(self, chunk: bytes) -> list[Exchange]:
        """The exchanges that end within this piece of the file."""
        if self._broken:
            return []
        if not self._begun:
            self._sniffed += chunk
            if len(self._sniffed) < len(ZSTD_MAGIC):
                return []
            chunk, self._sniffed, self._begun = self._sniffed, b"", True
            if chunk.startswith(ZSTD_MAGIC):
                self._unzip = zstd.ZstdDecompressor()
        return self._lines(self._decompressed(chunk) if self._unzip is not None else chunk)

    def finish(self, *, being_written: bool = False) -> list[Exchange]:
        """The exchanges without an answer, at the end of what there is of the file."""
        out = self._lines(self._sniffed) if self._sniffed else []
        self._sniffed = b""
        if not being_written:
            if self._rest or self._oversized:
                self._problem(
                    f"line {self._line + 1} is torn: the file was cut there, all before it was read", cut=True
                )
            elif self._unzip is not None and not self._unzip.eof and not self.ended_in_order and not self._broken:
                self._problem("the compressed file was cut: all whole lines before the cut were read", cut=True)
        for name, count in self._unknown.items():
            self._problem(f"{count} lines of unknown kind {name!r} were passed over")
        self._unknown.clear()
        if self.lost:
            self._problem(f"{self.lost} records could not be written when it was recorded")
        ended: Ended = "in_flight" if being_written else "unanswered"
        for line, request in self._waiting.values():
            out.append(Exchange(request, None, ended, f"{self.place}:{line}", taken=self._taken))
        self._waiting.clear()
        return out

    def _decompressed(self, chunk: bytes) -> bytes:
        out = bytearray()
        try:
            for begin in range(0, len(chunk), PIECE):
                piece = chunk[begin : begin + PIECE]
                while piece:
                    if self._unzip is None or self._unzip.eof:
                        self._unzip = zstd.ZstdDecompressor()
                    out += self._unzip.decompress(piece)
                    piece = self._unzip.unused_data if self._unzip.eof else b""
                self._fed += PIECE
        except zstd.ZstdError:
            self._broken = True
            place = f"byte {self._fed} or up to {PIECE} behind"
            self._problem(f"the compressed data is damaged at {place}: it was read up to there")
        return bytes(out)

    def _lines(self, data: bytes) -> list[Exchange]:
        out: list[Exchange] = []
        rest = self._rest
        rest += data
        start = 0
        while (end := rest.find(b"\n", max(start, self._searched))) >= 0:
            self._line += 1
            line = bytes(rest[start:end])
            start = end + 1
            if self._oversized:
                self._oversized = False
                self._problem(f"line {self._line} is longer than any record and was passed over")
            elif line.strip() and (exchange := self._record(line)) is not None:
                out.append(exchange)
        del rest[:start]
        self._searched = len(rest)
        if len(rest) > LINE_LIMIT:  # no record is that long: leave it, and go on behind its end
            self._oversized = True
            rest.clear()
            self._searched = 0
        return out

    def _record(self, line: bytes) -> Exchange | None:
        try:
            document = parse(line)
        except NotJson as error:
            self._problem(f"line {self._line} is not readable ({error.reason}) and was passed over")
            return None
        record = document.value
        if any(note.code == "trailing_text" for note in document.notes):
            self._problem(f"line {self._line} holds more than one record: only the first was read")
        kind = record.get("kind") if type(record) is dict else None
        try:
            if kind == "request":
                self._waiting[str(record["id"])] = (self._line, read_request(record, self._parts))
            elif kind == "response":
                return self._answered(record)
            elif kind == "start":
                self._start(record)
            elif kind == "end":
                self._end(record)
            elif kind == "note":
                if self.notes is not None and (found := noted(record)) is not None:
                    self.notes[found[0]] = found[1]
            else:
                self._unknown[str(kind)[:40]] += 1
        except KeyError as error:
            self._problem(f"line {self._line}: a {kind} line without {error} was passed over")
        except (TypeError, ValueError, AttributeError, OverflowError, OSError):
            self._problem(f"line {self._line}: a {kind} line with a member of the wrong kind was passed over")
        return None

    def _answered(self, record: dict[str, Any]) -> Exchange:
        name, ended, response = str(record["id"]), record["ended"], read_response(record)
        if ended not in _ENDED:
            raise ValueError(ended)
        line, request = self._waiting.pop(name, (self._line, None))
        return Exchange(request, response, ended, f"{self.place}:{line}", taken=self._taken)

    def _start(self, record: dict[str, Any]) -> None:
        self._taken = _text(record.get("taken"))
        if record["format"] != FORMAT:
            found = f"{record['format']!r:.20}"
            self._problem(f"capture format {found} is not the {FORMAT} this version reads; figures may be missing")

    def _end(self, record: dict[str, Any]) -> None:
        self.ended_in_order = True
        self.lost += int(record["lost"])
        self.unmatched.update(record["unmatched_paths"])

    def _problem(self, text: str, *, cut: bool = False) -> None:
        self.problems.append(Problem(self.place, text, cut))


def head_of(compressed: bytes) -> bytes:
    """What the first bytes of a compressed file hold, as far as they go."""
    try:
        return zstd.ZstdDecompressor().decompress(compressed, max_length=1 << 16)
    except zstd.ZstdError:
        return b""


def read_request(record: dict[str, Any], parts: SharedParts | None = None) -> Request:
    """A ``request`` line as a Request, with ``parts`` that came before shared. Raises KeyError, TypeError or ValueError
    on a line that breaks the format."""
    notes = _notes(record)
    body: Json = None
    if "body" in record:
        body, more = (parts or SharedParts()).unfolded(record["body"])
        notes += more
    fields, total = _figures(record.get("figures") or {})
    unparsed = record.get("unparsed")
    reason = str(unparsed["reason"]) if unparsed else None if "body" in record else "a request without a body"
    route = record["route"]
    return Request(
        body=body,
        time=None if record["time"] is None else _seconds(record["time"]),
        method=str(record["method"]),
        host=record.get("host"),
        path=str(record["path"]),
        query=str(record.get("query") or ""),
        route=route if route in _ROUTES else "other",
        headers=dict(record.get("headers") or {}),
        other_headers=tuple(record.get("other_headers") or ()),
        wire_bytes=_count(record.get("wire_bytes")),
        decoded_bytes=_count(record.get("decoded_bytes")),
        content_encoding=record.get("content_encoding"),
        fingerprint=record.get("fingerprint"),
        reason=reason,
        recorded=fields,
        recorded_total=total,
        steps=WireSteps.from_json(record.get("steps")),
        notes=tuple(notes),
    )


def read_response(record: dict[str, Any]) -> Response:
    """A ``response`` line as a Response. Raises like ``read_request``."""
    notes = _notes(record)
    content, more = unfold(record.get("content"))
    body, other = unfold(record.get("body"))
    rest, last = unfold(record.get("rest") or {})
    usage = None
    if (raw := record.get("usage")) is not None:
        usage, usage_notes = Usage.from_json(raw)
        notes += usage_notes
    error = record.get("error")
    return Response(
        status=_count(record["status"]),
        time=None if record["time"] is None else _seconds(record["time"]),
        headers=dict(record.get("headers") or {}),
        model=_text(record.get("model")),
        message_id=_text(record.get("message_id")),
        stop_reason=_text(record.get("stop_reason")),
        usage=usage,
        usage_raw=raw,
        content=content,
        body=body,
        rest=rest,
        error=ApiError(*(_readable(error.get(name)) for name in ("type", "message", "request_id"))) if error else None,
        failure=record.get("failure"),
        events=dict(record.get("events") or {}),
        first_byte=_duration(record.get("first_byte")),
        first_content=_duration(record.get("first_content")),
        last=_duration(record.get("last")),
        wire_bytes=_count(record.get("wire_bytes")),
        decoded_bytes=_count(record.get("decoded_bytes")),
        content_encoding=record.get("content_encoding"),
        notes=tuple([*notes, *more, *other, *last]),
    )


def _readable(value: Any) -> str | None:
    """A text of the server, or what is known of it when it was folded."""
    if type(value) is dict:
        return f"({value.get('chars')} characters, folded)"
    return value if value is None else str(value)


def _notes(record: dict[str, Any]) -> list[Note]:
    return [
        Note(str(note["code"]), str(note.get("detail", "")), str(note.get("path", "")))
        for note in record.get("notes") or ()
    ]


def _figures(figures: dict[str, Any]) -> tuple[dict[str, int] | None, int | None]:
    """Recorded characters by field, and their sum; None when they were not taken. Raises ValueError on others."""
    fields, total = figures.get("fields"), figures.get("total")
    if fields is None and total is None:
        return None, None
    if type(fields) is not dict or type(total) is not int or not all(type(amount) is int for amount in fields.values()):
        raise ValueError
    return fields, total


def _text(value: Any) -> str | None:
    if value is not None and type(value) is not str:
        raise ValueError
    return value


def _seconds(text: str) -> float:
    """Seconds since the epoch. Raises ValueError for what is no time that can be shown in UTC."""
    moment = datetime.fromisoformat(text).timestamp()
    datetime.fromtimestamp(moment, UTC)
    return moment


def _duration(value: Any) -> float | None:
    """Seconds, as a number of any spelling. Raises ValueError for what is none, or for ever."""
    if value is None:
        return None
    if type(value) not in (int, float, Number):
        raise ValueError
    seconds = float(value)
    if not abs(seconds) < _LONGEST:
        raise ValueError
    return seconds


def _count(value: Any) -> int | None:
    return value if type(value) is int else None
