"""A file of tnetstrings, which is what a mitmproxy flow file is: its top-level dicts, one at a time, also past damage.

A tnetstring is ``<length>:<payload><tag>``; containers hold tnetstrings back to back. A frame is trusted when its
members, found by leaping from length to tag without reading what lies between, fill it exactly and are those of a flow.
So no length is believed before it is proven, nothing large is read in vain, and a length out of thin air allocates
nothing. Where no frame begins, the next one is looked for: what begins a dict (a length, a short key) is looked up by a
regular expression, and each such place costs a bounded number of small reads. All in all O(bytes), and the memory of
one frame. mitmproxy's own parser recurses, takes negative lengths, and quotes all of a flow in an error's message.

A frame whose members fit but whose inside does not is passed over whole, so that nothing within it is taken for a flow.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

FLOW_KEYS = frozenset(("version", "type", "client_conn"))
"""Members of every flow of every format."""

MOST_MEMBERS = 64
FIRST_BLOCK = 4096
LARGEST_BLOCK = 1 << 20

_DIGITS = 12  # no writer makes longer lengths, and mitmproxy reads none
_KEY_BYTES = 64
_SMALL = _DIGITS + 1
_LENGTH = re.compile(rb"(0|[1-9][0-9]{0,11}):")
_FIRST_KEY = re.compile(rb":[0-9]{1,2}:[A-Za-z_][A-Za-z0-9_]{0,63}[;,]")
_BACKUP = (b"6:backup;", b"6:backup,")  # a flow that was edited holds what it was before: as whole as itself
_BEFORE = len(_BACKUP[0]) + _DIGITS  # bytes before the colon of a length that are looked at
_OVERLAP = _BEFORE + len(b":64:") + _KEY_BYTES + 1
_TEXTS = b";,"
_TAGS = b";,#^!~]}"


@dataclass(frozen=True, slots=True)
class Frame:
    """A top-level dict: ``at`` its offset, ``size`` its bytes. ``value`` None: its inside is damaged."""

    at: int
    size: int
    value: dict[Any, Any] | None


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes that belong to no whole frame. ``last``: there is none behind them."""

    at: int
    size: int
    last: bool


class Span(NamedTuple):
    """A tnetstring's payload, from ``start`` up to ``stop``, where its tag stands."""

    start: int
    stop: int
    tag: int


class Malformed(ValueError):
    """Bytes that are no tnetstring."""


def frames(stream: BinaryIO) -> Iterator[Frame | Gap]:
    """Everything in a file that can be sought in, in order. Raises OSError only."""
    file = _File(stream)
    at = 0
    while at < file.size:
        span = file.frame(at)
        if span is None:
            found = file.next_frame(at + 1)
            begin = file.size if found is None else found[0]
            yield Gap(at, begin - at, last=found is None)
            if found is None:
                return
            at, span = found
        begin, at = at, span.stop + 1
        try:
            value = parse(file.read(span.start, span.stop - span.start))
        except (Malformed, MemoryError):
            value = None
        yield Frame(begin, at - begin, value)
        del value  # the next one shall not need room beside it


class _File:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.size = stream.seek(0, os.SEEK_END)

    def read(self, at: int, size: int) -> bytes:
        self._stream.seek(at)
        return self._stream.read(size)

    def frame(self, at: int) -> Span | None:
        """The frame of a flow that begins here; None when there is none."""
        outer = self._span(at, self.size)
        if outer is None or outer.tag != ord("}"):
            return None
        names = set()
        at = outer.start
        for _ in range(MOST_MEMBERS):
            key = self._span(at, outer.stop)
            if key is None or key.tag not in _TEXTS or key.stop - key.start > _KEY_BYTES:
                return None
            names.add(self.read(key.start, key.stop - key.start).decode("ascii", "replace"))
            member = self._span(key.stop + 1, outer.stop)
            if member is None or member.tag not in _TAGS:
                return None
            at = member.stop + 1
            if at == outer.stop:
                return outer if names >= FLOW_KEYS else None
        return None

    def _span(self, at: int, end: int) -> Span | None:
        head = _LENGTH.match(self.read(at, min(_SMALL, end - at)))
        if head is None:
            return None
        start = at + head.end()
        stop = start + int(head[1])
        tag = self.read(stop, 1) if stop < end else b""
        return Span(start, stop, tag[0]) if tag else None

    def next_frame(self, at: int) -> tuple[int, Span] | None:
        """Where the next flow begins, and its frame. Blocks grow, so that a short search reads little."""
        size = FIRST_BLOCK
        start = at
        while block := self.read(start, size):
            for found in _FIRST_KEY.finditer(block):
                colon = found.start()
                if (start == at or colon >= _BEFORE) and (frame := self._ending_at(block, start, colon)):
                    return frame
            if len(block) < size or len(block) <= _OVERLAP:
                return None
            start += len(block) - _OVERLAP
            size = min(2 * size, LARGEST_BLOCK)
        return None

    def _ending_at(self, block: bytes, start: int, colon: int) -> tuple[int, Span] | None:
        """The frame whose length ends at this colon. What was torn off before it may have ended with a digit."""
        for digits in range(min(_DIGITS, colon), 0, -1):
            begin = colon - digits
            if not block[begin:colon].isdigit() or block.endswith(_BACKUP, 0, begin):
                continue
            if span := self.frame(start + begin):
                return start + begin, span
        return None


def parse(payload: bytes) -> dict[Any, Any]:
    """The payload of a dict as a value. Nothing recursive, O(bytes). Raises Malformed."""
    root: dict[Any, Any] = {}
    open_containers: list[tuple[dict[Any, Any] | list[Any], int]] = [(root, len(payload))]
    keys: list[Any] = [_NO_KEY]
    at = 0
    while True:
        container, end = open_containers[-1]
        if at == end:
            if keys.pop() is not _NO_KEY:
                raise Malformed("a key without a value")
            open_containers.pop()
            if not open_containers:
                return root
            at += 1
            continue
        head = _LENGTH.match(payload, at, min(at + _SMALL, end))
        start = head.end() if head else end
        stop = start + int(head[1]) if head else end
        if stop >= end:
            raise Malformed("a length that does not fit")
        tag = payload[stop]
        value: Any = {} if tag == ord("}") else [] if tag == ord("]") else _scalar(tag, payload[start:stop])
        if type(container) is list:
            container.append(value)
        elif keys[-1] is not _NO_KEY:
            container[keys[-1]] = value
            keys[-1] = _NO_KEY
        elif type(value) not in (dict, list):
            keys[-1] = value
        else:
            raise Malformed("a container for a key")
        if type(value) in (dict, list):
            open_containers.append((value, stop))
            keys.append(_NO_KEY)
            at = start
        else:
            at = stop + 1


_NO_KEY = object()
_LITERALS: Mapping[bytes, bool] = {b"true": True, b"false": False}
_SCALARS: Mapping[int, Callable[[bytes], Any]] = {
    ord(","): bytes,
    ord(";"): lambda data: data.decode("utf-8"),
    ord("#"): int,
    ord("^"): float,
    ord("!"): _LITERALS.__getitem__,
    ord("~"): {b"": None}.__getitem__,
}


def _scalar(tag: int, data: bytes) -> Any:
    try:
        return _SCALARS[tag](data)
    except (KeyError, ValueError):
        raise Malformed("a value that is none of its kind") from None
