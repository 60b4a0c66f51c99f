"""The bytes of a file, decompressed on the way where it is gzip, zlib or zstd: told by its first bytes.

Memory stays flat however much comes out, since it is handed on in pieces. A library that meets damage forgets what it
had made of the bytes of that call, so few are given at once; and few are read at once, so that the place in the file
tells how far the reading is.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.readers.source import Source
from analyzers.wire.inflate import DECODERS, ERRORS

CHUNK = 1 << 18
_BLOCK = 4096
_HEAD = 1 << 16


def unpacked(source: Source) -> Iterator[bytes]:
    """The file from its start, in pieces. Damage and a cut are problems of the source. Raises OSError."""
    source.stream.seek(0)
    chunk = source.stream.read(CHUNK)
    kind = _packing(chunk)
    if kind is None:
        while chunk:
            yield chunk
            chunk = source.stream.read(CHUNK)
        return
    codec = DECODERS[kind]()
    source.stream.seek(0)
    while piece := source.stream.read(_BLOCK):
        try:
            while piece:
                if codec.eof:  # gzip and zstd: another member follows
                    codec = DECODERS[kind]()
                yield from codec.pieces(piece)
                piece = codec.rest if codec.eof else b""
        except ERRORS:
            source.problem(f"the {kind} data is damaged or followed by something else: it was read up to there")
            return
    if not codec.eof:
        source.problem(f"the {kind} data was cut: it was read up to there", cut=True)


def unpacked_lines(source: Source, limit: int) -> Iterator[bytes | None]:
    """The lines of the file, each with its line feed; the last may have none. None: longer than the limit."""
    held: list[bytes] = []
    size = 0
    for chunk in unpacked(source):
        start = 0
        while (end := chunk.find(b"\n", start) + 1) > 0:
            held.append(chunk[start:end])
            size += end - start
            yield b"".join(held) if size <= limit else None
            held, size, start = [], 0, end
        size += len(chunk) - start
        if size > limit:
            held.clear()
        elif start < len(chunk):
            held.append(chunk[start:])
    if size:
        yield b"".join(held) if size <= limit else None


def unpacked_head(first: bytes) -> bytes:
    """What the first bytes of a file hold, decompressed when they are compressed, as far as they go."""
    kind = _packing(first)
    if kind is None:
        return first
    out = bytearray()
    codec = DECODERS[kind]()
    try:
        for begin in range(0, len(first), _BLOCK):
            for piece in codec.pieces(first[begin : begin + _BLOCK]):
                out += piece
            if len(out) >= _HEAD or codec.eof:
                break
    except ERRORS:
        pass
    return bytes(out)


def _packing(head: bytes) -> str | None:
    """``gzip`` (RFC 1952 §2.3), ``zstd`` (RFC 8878 §3.1.1), ``zlib`` (RFC 1950 §2.2), or None."""
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd"
    if len(head) > 1 and head[0] & 0x8F == 0x08 and (head[0] << 8 | head[1]) % 31 == 0:
        return "zlib"
    return None
