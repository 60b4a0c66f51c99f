"""As much of HTTP/1.1 as the stub needs: requests in, answers out, whole or in chunks, in any content coding.

Strategy: asyncio streams with a buffer large enough that a body of a megabyte arrives without stop and go. A request is
read to its end before anything is answered; an answer is either one write, or one write and one flush of the coder per
chunk, so that each event can be decoded the moment it arrives.
"""

import asyncio
import gzip
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BUFFER = 4 * 1024 * 1024


class Malformed(ValueError):
    """Not a request that this server can read."""


@dataclass(slots=True)
class Request:
    """One request as it arrived: transfer coding removed, content coding still on."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    """In order, names in lower case."""
    body: bytes

    def header(self, name: str) -> str:
        """The values of a header, joined by commas; empty when there is none."""
        return ", ".join(value for key, value in self.headers if key == name)

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def stays(self) -> bool:
        """Whether the client keeps the connection for the next request."""
        return self.header("connection").lower() != "close"

    def decoded(self) -> bytes:
        """The body without its content coding. Raises Malformed."""
        coding = self.header("content-encoding").lower() or "identity"
        if coding not in _DECODE:
            raise Malformed(f"content-encoding {coding!r} is not known")
        try:
            return _DECODE[coding](self.body)
        except (zlib.error, OSError, EOFError, brotli.error, zstd.ZstdError) as error:
            raise Malformed(f"the body is not {coding}: {error}") from error


@dataclass(slots=True)
class Exchange:
    """What the stub received and what it sent, for tests that compare both ends of a proxy."""

    request: Request
    status: int = 0
    sent: bytearray = field(default_factory=bytearray)
    """The body as sent: content coding on, transfer coding off."""


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """The next request of a connection; None when the client has closed it. Raises Malformed."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    start, *lines = head[:-4].decode("latin-1").split("\r\n")
    try:
        method, target, _ = start.split(" ")
        pairs = [line.split(":", 1) for line in lines]
        headers = [(name.lower(), value.strip()) for name, value in pairs]
    except ValueError as error:
        raise Malformed(f"{start[:80]!r} does not begin a request") from error
    request = Request(method, target, headers, b"")
    if request.header("expect").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in request.header("transfer-encoding").lower():
        request.body = await _chunked(reader)
    elif length := request.header("content-length"):
        request.body = await reader.readexactly(int(length))
    return request


async def _chunked(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers say nothing here
    return bytes(body)


class _Coder(Protocol):
    def __call__(self, data: bytes, last: bool, /) -> bytes: ...


def _coder(encoding: str | None) -> _Coder:
    """Encodes chunk by chunk; what it returns can be decoded at once. Raises Malformed for an unknown coding."""
    if encoding is None:
        return lambda data, last: data
    if encoding in ("gzip", "deflate"):
        packer = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)
        return lambda data, last: packer.compress(data) + packer.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)
    if encoding == "br":
        brotli_packer = brotli.Compressor(quality=4)

        def br(data: bytes, last: bool) -> bytes:
            return bytes(brotli_packer.process(data) + (brotli_packer.finish() if last else brotli_packer.flush()))

        return br
    if encoding == "zstd":
        zstd_packer = zstd.ZstdCompressor()
        return lambda data, last: zstd_packer.compress(
            data, zstd_packer.FLUSH_FRAME if last else zstd_packer.FLUSH_BLOCK
        )
    raise Malformed(f"content coding {encoding!r} is not known")


_DECODE: dict[str, Callable[[bytes], bytes]] = {
    "identity": lambda data: data,
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
    "br": brotli.decompress,
    "zstd": zstd.decompress,
}


class Answer:
    """Writes the answer to one request: `whole`, or `begin`, any number of `chunk`, and `finish`."""

    def __init__(self, writer: asyncio.StreamWriter, exchange: Exchange, encoding: str | None = None) -> None:
        """Raises Malformed when there is no such content coding."""
        self._writer = writer
        self._exchange = exchange
        self._encoding = encoding
        self._code = _coder(encoding)

    async def whole(self, status: int, headers: dict[str, str], body: bytes, cut: int | None = None) -> None:
        """One answer with a known length. With `cut`, the connection ends after that many bytes of it."""
        data = self._code(body, True)
        sent = b"" if self._exchange.request.method == "HEAD" else data[:cut]
        self._exchange.sent += sent
        self._writer.write(self._head(status, {**headers, "content-length": str(len(data))}) + sent)
        await self._writer.drain()

    async def begin(self, status: int, headers: dict[str, str]) -> None:
        """The head of an answer in chunks."""
        self._writer.write(self._head(status, {**headers, "transfer-encoding": "chunked"}))
        await self._writer.drain()

    async def chunk(self, data: bytes, *, last: bool = False) -> None:
        """One piece, handed on at once."""
        coded = self._code(data, last)
        if coded:
            self._exchange.sent += coded
            self._writer.write(b"%x\r\n%b\r\n" % (len(coded), coded))
            await self._writer.drain()

    async def finish(self) -> None:
        """The end of an answer in chunks."""
        if self._encoding:
            await self.chunk(b"", last=True)
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def _head(self, status: int, headers: dict[str, str]) -> bytes:
        self._exchange.status = status
        if self._encoding:
            headers = {**headers, "content-encoding": self._encoding}
        if not self._exchange.request.stays:
            headers = {**headers, "connection": "close"}
        return head(status, headers)


def head(status: int, headers: dict[str, str]) -> bytes:
    """Status line and headers."""
    phrase = HTTPStatus(status).phrase if status in HTTPStatus else "Unknown"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {phrase}\r\n{lines}\r\n".encode("latin-1")
