"""Three compression libraries behind one face: a member of compressed data goes in by chunks and comes out in pieces.

Each library has its own way to bound what it puts out at once, to say that a member has ended, and to give back what
followed. Here they are alike, and `encodings` need not know them. A piece is about 64 KiB at most, whatever went in.
"""

import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ERRORS = (zlib.error, brotli.error, zstd.ZstdError, EOFError)
"""What the libraries raise on damaged data."""

_PIECE = 64 * 1024


class MemberDecoder(Protocol):
    """Decodes one member. Once `pieces` of a chunk is exhausted, `eof` tells that it ended, `rest` what followed."""

    @property
    def eof(self) -> bool: ...
    @property
    def rest(self) -> bytes: ...
    def pieces(self, data: bytes) -> Iterator[bytes]: ...


class _Zlib:
    def __init__(self, wbits: int) -> None:
        self._inflate = zlib.decompressobj(wbits)

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def rest(self) -> bytes:
        return self._inflate.unused_data

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while not self._inflate.eof:
            piece = self._inflate.decompress(data, _PIECE)
            if piece:
                yield piece
            data = self._inflate.unconsumed_tail
            if not data and len(piece) < _PIECE:  # a full piece may have more behind it, even with all input taken
                return


class _Zstd:
    def __init__(self) -> None:
        self._frame = zstd.ZstdDecompressor()

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def rest(self) -> bytes:
        return self._frame.unused_data

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while not self._frame.eof:
            if piece := self._frame.decompress(data, _PIECE):
                yield piece
            if self._frame.needs_input:
                return
            data = b""


class _Brotli:
    rest = b""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    @property
    def eof(self) -> bool:
        return bool(self._stream.is_finished())

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while True:
            piece: bytes = self._stream.process(data, output_buffer_limit=_PIECE)
            if piece:
                yield piece
            if self._stream.is_finished() or not piece:
                return
            if len(piece) < _PIECE and self._stream.can_accept_more_data():  # else there may be more behind the limit
                return
            data = b""


DECODERS: dict[str, Callable[[], MemberDecoder]] = {
    "gzip": lambda: _Zlib(16 + zlib.MAX_WBITS),
    "zlib": lambda: _Zlib(zlib.MAX_WBITS),
    "raw deflate": lambda: _Zlib(-zlib.MAX_WBITS),
    "br": _Brotli,
    "zstd": _Zstd,
}
"""How to make a decoder for one member, by what it is."""
