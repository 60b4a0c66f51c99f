"""AWS event-stream framing (`application/vnd.amazon.eventstream`): Bedrock's way of sending server-sent events.

A frame is: total length, length of the headers, CRC-32 of these eight bytes; headers; payload; CRC-32 of all before it
(integers big-endian). Nothing is looked at before its CRC was checked. A frame that fails its own CRC is dropped, and
its length still leads to the next one. A prelude that fails leads nowhere, so the bytes are searched for the next place
where one holds. Cost: O(bytes); bytes wait in one buffer and are taken from its front.
"""

from binascii import crc32
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

from analyzers.wire.note import Note

MOST_HEADERS = 128 * 1024
MOST_BYTES = 25 * 1024 * 1024
"""Sizes that AWS's own decoders accept; a prelude beyond them is taken for damage."""

PRELUDE = 12
_LEAST = PRELUDE + 4
_PRELUDE = Struct(">III")
_CRC = Struct(">I")

# Header value types: size of those of fixed size. 6 (bytes) and 7 (string) have a length of two bytes before them.
_FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_STRING = 7


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: those of its headers that are strings (like `:event-type`), and its payload."""

    headers: dict[str, str]
    payload: bytes


class FrameDecoder:
    """Takes chunks, gives frames. `notes` tells, after `finish`, what was damaged."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._skipped = self._corrupt = self._cut = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that this chunk completes."""
        self._buffer += chunk
        return list(self._frames())

    def finish(self) -> None:
        """Says that no more will come."""
        self._cut = len(self._buffer)
        self._buffer.clear()

    def notes(self) -> list[Note]:
        """What was damaged: `frame_corrupt`, `frame_bytes_skipped`, `frame_incomplete`."""
        found = (
            ("frame_corrupt", self._corrupt, "frames failed their checksum and were dropped"),
            ("frame_bytes_skipped", self._skipped, "bytes were skipped to find the next frame"),
            ("frame_incomplete", self._cut, "bytes of a frame that does not end"),
        )
        return [Note(code, f"{number} {what}") for code, number, what in found if number]

    def _frames(self) -> Iterator[Frame]:
        buffer = self._buffer
        while len(buffer) >= PRELUDE:
            size = frame_size(buffer)
            if size == 0:
                self._resync()
                continue
            if len(buffer) < size:
                return
            frame = _frame(bytes(buffer[:size]))
            del buffer[:size]
            if frame is None:
                self._corrupt += 1
            else:
                yield frame

    def _resync(self) -> None:
        """Drops bytes up to the next place where a prelude holds, or where too few are left to tell."""
        at = 1
        while len(self._buffer) - at >= PRELUDE and frame_size(self._buffer, at) == 0:
            at += 1
        del self._buffer[:at]
        self._skipped += at


def frame_size(data: bytes | bytearray, at: int = 0) -> int:
    """Length in bytes of the frame that begins at `at` (12 bytes of it must be there); 0 when none begins there."""
    total, headers, crc = _PRELUDE.unpack_from(data, at)
    if not _LEAST <= total <= MOST_BYTES or headers > min(MOST_HEADERS, total - _LEAST):
        return 0
    return int(total) if crc32(data[at : at + 8]) == crc else 0


def _frame(data: bytes) -> Frame | None:
    """The frame that `data` is, or None when its checksum or its headers do not hold."""
    _, size, _ = _PRELUDE.unpack_from(data)
    if crc32(data[:-4]) != _CRC.unpack_from(data, len(data) - 4)[0]:
        return None
    headers = _headers(data[PRELUDE : PRELUDE + size])
    return None if headers is None else Frame(headers, data[PRELUDE + size : -4])


def _headers(data: bytes) -> dict[str, str] | None:
    headers = {}
    at = 0
    while at < len(data):
        value = at + 1 + data[at] + 1  # after the name and the byte that tells the type
        if value > len(data):
            return None
        name, kind = data[at + 1 : value - 1], data[value - 1]
        size = _FIXED.get(kind)
        if size is None:
            size = int.from_bytes(data[value : value + 2])
            value += 2
        at = value + size
        if at > len(data) or kind > 9:
            return None
        if kind == _STRING:
            headers[name.decode("utf-8", "replace")] = data[value:at].decode("utf-8", "replace")
    return headers
