"""Server-sent events out of bytes, by the WHATWG HTML standard, §9.2.5 and §9.2.6: rules named where applied.

Lines are cut out of the bytes, and only whole lines are looked at: a line end is never part of a multi-byte character,
so no character can be torn by the way the stream was cut into chunks. Each byte is searched once for line ends and
copied at most twice, whatever the chunks; an unfinished line waits as a list of pieces. (`str.splitlines` would cut at
six more characters, which are plain text here.)

Where the standard drops something, this says so instead: an event at the end without its blank line, a line of bare
JSON where a gateway failed to write `data:`, an event with a name and no data.
"""

import re
from dataclasses import dataclass
from enum import Enum

from analyzers.wire.note import Note

DEFAULT_LIMIT = 64 * 1024 * 1024
"""Most bytes of one event, each line counted with what it takes to keep it; a longer event is dropped, with a note."""

_LINE = 64

_BOM = b"\xef\xbb\xbf"
_USUAL = re.compile(rb"event: ([a-z_]+)\ndata: ([^\r\n]*)\n\n")


class Flaw(Enum):
    """What an event lacks by the standard."""

    UNTERMINATED = "unterminated"
    BARE = "bare"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name ("" when it had none) and its data lines, in valid UTF-8."""

    name: str
    lines: tuple[bytes, ...]
    flaw: Flaw | None = None

    @property
    def data(self) -> bytes:
        """The data lines joined by line feeds, as the standard has it."""
        return self.lines[0] if len(self.lines) == 1 else b"\n".join(self.lines)


class EventDecoder:
    """Takes chunks, gives events. `comments` counts keep-alive lines; `notes` tells, after `finish`, what was wrong."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.comments = 0
        self._limit = limit
        self._first_line = True
        self._after_cr = False
        self._held: list[bytes] = []  # of the line whose end has not come yet
        self._held_size = 0
        self._name = ""
        self._lines: list[bytes] = []
        self._size = 0  # of the data lines
        self._events: list[Event] = []
        self._invalid = self._too_long = self._unknown = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes."""
        if not (self._held_size or self._lines or self._name or self._after_cr or self._size):
            chunk = self._usual(chunk)
        if self._after_cr and chunk:  # a CR ended the last chunk: an LF now belongs to it
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:  # "lines must be separated by either CRLF, LF or CR"
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        begin, *lines = chunk.split(b"\n")
        self._hold(begin)
        if lines:
            begin = b"".join(self._held)
            too_long = self._held_size > self._limit
            self._held, self._held_size = [], 0
            if too_long:
                self._overflow()
            else:
                self._line(begin)
            unfinished = lines.pop()
            for line in lines:
                self._line(line)
            self._hold(unfinished)
        return self._taken()

    def _usual(self, chunk: bytes) -> bytes:
        """Takes whole events in the spelling that nearly all servers use, and gives back what follows them."""
        at = 0
        for found in _USUAL.finditer(chunk):
            name, data = found.groups()
            if found.start() != at or len(data) + _LINE > self._limit:
                break
            at = found.end()
            self._events.append(Event(name.decode(), (self._valid(data),)))
        if at:
            self._first_line = False
        return chunk[at:]

    def finish(self) -> list[Event]:
        """The event that the stream stopped in, if it did: the standard discards it, here it is flagged."""
        line = b"".join(self._held)
        if line.startswith(b"data:") or _is_bare(line):
            self._line(line)
            line = b""
        if self._size > self._limit:
            self._dispatch()
        elif self._lines or self._name or (line and not line.startswith(b":")):
            self._events.append(Event(self._name, tuple(self._lines), Flaw.UNTERMINATED))
        return self._taken()

    def notes(self) -> list[Note]:
        """What was wrong: `invalid_utf8`, `event_too_long`, `unknown_sse_field`."""
        found = (
            ("invalid_utf8", self._invalid, "data lines held bytes that are no UTF-8: each became U+FFFD"),
            ("event_too_long", self._too_long, f"events of more than {self._limit} bytes were dropped"),
            ("unknown_sse_field", self._unknown, "lines were no field of an event stream"),
        )
        return [Note(code, f"{number} {what}") for code, number, what in found if number]

    def _taken(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _hold(self, piece: bytes) -> None:
        self._held_size += len(piece)
        if self._held_size > self._limit:
            self._held.clear()
        elif piece:
            self._held.append(piece)

    def _overflow(self) -> None:
        self._first_line = False
        self._size = self._limit + 1
        self._lines.clear()

    def _line(self, line: bytes) -> None:
        if self._first_line:  # "one leading U+FEFF BYTE ORDER MARK character must be ignored if any are present"
            self._first_line = False
            line = line.removeprefix(_BOM)
        if len(line) > self._limit:
            self._overflow()
        elif line.startswith(b"data:"):
            self._data(line[5:])
        elif not line:  # "if the line is empty (a blank line): dispatch the event"
            self._dispatch()
        elif line.startswith(b":"):  # "if the line starts with a U+003A COLON character: ignore the line"
            self.comments += 1
        else:
            self._field(line)

    def _field(self, line: bytes) -> None:
        field, _, value = line.partition(b":")  # without a colon, "the whole line as the field name"
        if field == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")
        elif field == b"data":
            self._data(value)
        elif _is_bare(line):
            self._events.append(Event("", (self._valid(line),), Flaw.BARE))
        elif field not in (b"id", b"retry"):  # those two serve reconnection only
            self._unknown += 1

    def _data(self, value: bytes) -> None:
        self._size += len(value) + _LINE
        if self._size > self._limit:
            self._overflow()
        else:  # "if value starts with a U+0020 SPACE character, remove it"
            self._lines.append(self._valid(value.removeprefix(b" ")))

    def _valid(self, line: bytes) -> bytes:
        """The line in valid UTF-8. ("Streams must be decoded using the UTF-8 decode algorithm", which replaces.)"""
        if line.isascii():
            return line
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            self._invalid += 1
            return line.decode("utf-8", "replace").encode("utf-8")
        return line

    def _dispatch(self) -> None:
        if self._size > self._limit:
            self._too_long += 1
        elif self._lines or self._name:
            self._events.append(Event(self._name, tuple(self._lines)))
        self._name = ""
        self._lines = []
        self._size = 0


def _is_bare(line: bytes) -> bool:
    return line.startswith(b"{") and line.endswith(b"}")
