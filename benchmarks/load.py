"""The load generator: sends a counted number of requests and takes the time of each. Runs in a process of its own.

Blocking sockets, since nothing is quicker from the last byte of a request to the first of its answer; for several
connections at once a thread each, which wait in the kernel nearly all the time. A request is put together before its
clock starts. Every answer is read to its end and compared in kind with what it should be, because a proxy that fails is
quick.
"""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from benchmarks.bodies import named
from benchmarks.session import session

PATIENCE = 30.0
"""Seconds without a byte after which a measurement is given up."""

LAST_CHUNK = b"\r\n0\r\n\r\n"
_EVENT_END = b"\n\n"
_PIECE = 65_536
_HEAD = b"""\
POST /v1/messages?beta=true HTTP/1.1
Host: 127.0.0.1
Accept: application/json
Content-Type: application/json
User-Agent: claude-cli/2.1.332 (external, sdk-cli)
Anthropic-Version: 2023-06-01
Anthropic-Beta: interleaved-thinking-2025-05-14,extended-cache-ttl-2025-04-11
Authorization: Bearer none
X-App: cli
X-Claude-Code-Session-Id: 5f0c1d7e-2b1a-4f4e-9c55-0d6a7b8c9d10
""".replace(b"\n", b"\r\n")
"""As much as a client of this kind sends with each request."""


class WrongAnswer(Exception):
    """The answer is not the one that the stub gives: nothing was measured."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Of one request, in seconds since its first byte was sent."""

    first_event: float
    end: float


@dataclass(frozen=True, slots=True)
class Block:
    """Some requests in a row. `sent` counts those before the clock started too."""

    latencies: tuple[float, ...]
    seconds: float
    sent: int


class Connection:
    """One HTTP/1.1 connection to 127.0.0.1, kept alive, which sends one request after the other."""

    def __init__(self, port: int, wish: str = "fixed") -> None:
        """`wish`: what the stub should do, as its `x-stub` header has it. Raises OSError."""
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wish = wish.encode()

    def post(self, body: bytes) -> Timing:
        """Sends a body and waits for the end of its answer. Raises OSError, WrongAnswer."""
        request = self._head(len(body)) + body
        began = time.perf_counter()
        self._socket.sendall(request)
        answer = bytearray()
        first = 0.0
        while not answer.endswith(LAST_CHUNK):
            data = self._socket.recv(_PIECE)
            if not data:
                raise WrongAnswer(f"the connection ended: {bytes(answer[:80])!r}")
            answer += data
            if not first and _EVENT_END in answer:
                first = time.perf_counter() - began
            if not answer.startswith(b"HTTP/1.1 200 "[: len(answer)]):
                raise WrongAnswer(f"not the stub's answer: {bytes(answer[:80])!r}")
        end = time.perf_counter() - began
        if b"event: message_stop" not in answer:
            raise WrongAnswer(f"the stream does not end: {bytes(answer[-80:])!r}")
        return Timing(first, end)

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _head(self, length: int) -> bytes:
        return b"%bX-Stub: %b\r\nContent-Length: %d\r\n\r\n" % (_HEAD, self._wish, length)


def block(port: int, body: str, requests: int, connections: int = 1) -> Block:
    """Sends so many requests, as evenly as possible over the connections. Raises OSError, WrongAnswer.

    Each connection sends one request before the clock starts: it is then open all the way to the stub.
    """
    shares = [requests // connections + (number < requests % connections) for number in range(connections)]
    opened = [Connection(port) for _ in shares]
    try:
        for connection in opened:
            connection.post(named(body).fresh())
        began = time.perf_counter()
        latencies = _at_once([_sender(*pair, body) for pair in zip(opened, shares, strict=True)])
        seconds = time.perf_counter() - began
    finally:
        for connection in opened:
            connection.close()
    return Block(tuple(latencies), seconds, requests + connections)


def _sender(connection: Connection, requests: int, body: str) -> Callable[[], list[float]]:
    return lambda: [connection.post(named(body).fresh()).end for _ in range(requests)]


def _at_once(work: Sequence[Callable[[], list[float]]]) -> list[float]:
    if len(work) == 1:
        return work[0]()
    with ThreadPoolExecutor(len(work)) as pool:
        return [latency for found in pool.map(lambda send: send(), work) for latency in found]


def streams(ports: Sequence[int], body: str, wish: str, rounds: int) -> list[list[Timing]]:
    """So many streams from each port, in turn; for each port its timings. Raises OSError, WrongAnswer."""
    opened = [Connection(port, wish) for port in ports]
    try:
        found: list[list[Timing]] = [[] for _ in ports]
        for number in range(rounds + 1):
            for connection, timings in zip(opened, found, strict=True):
                timing = connection.post(named(body).fresh())
                if number:  # the first opens the connections and is not counted
                    timings.append(timing)
        return found
    finally:
        for connection in opened:
            connection.close()


def turns(ports: Sequence[int], first: int, last: int) -> list[list[float]]:
    """The turns of one session from `first` (counted from 0) up to `last`, each sent to every port before the next; for
    each port its latencies. Who is asked first changes with each turn. Raises OSError, WrongAnswer."""
    opened = [Connection(port) for port in ports]
    try:
        found: list[list[float]] = [[] for _ in ports]
        for number, turn in enumerate(itertools.islice(session(last), first, last)):
            for at in sorted(range(len(ports)), reverse=bool(number % 2)):
                found[at].append(opened[at].post(turn.body).end)
        return found
    finally:
        for connection in opened:
            connection.close()
