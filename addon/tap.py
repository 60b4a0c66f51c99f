"""Tees for bodies that pass through: every chunk goes on at once and unchanged, a copy is looked at.

mitmproxy drops a chunk when its stream callable raises or returns None, and ends an HTTP/1.1 reply when it returns
``b""`` for a chunk that was not empty. So looking is fenced off: whatever goes wrong in it is kept for the record, and
the very object that came in is what goes out. A callable that another script had set stays in charge of what the other
side gets: it is called with the chunk as if there were no tee, and what it returns, or raises, is passed on as it is.
Recorded is what *arrived*, since that is what the API sent and billed. Work per chunk is constant beside the reader's.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final, Protocol

type Chunks = bytes | Iterable[bytes]
"""What a stream callable may return."""

type StreamCallable = Callable[[bytes], Chunks]

REQUEST_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of a streamed request body that are kept; the API takes no larger one, batches aside."""


class Reader(Protocol):
    """What a tap feeds."""

    @property
    def saw_content(self) -> bool:
        """Whether anything of the answer's content has come."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""


class ResponseTap:
    """For ``flow.response.stream``. Times are those of ``clock``, in seconds; None for what did not happen."""

    __slots__ = ("_clock", "_inner", "_reader", "ended", "fed", "first_content", "last", "problem")

    def __init__(
        self, reader: Reader, inner: StreamCallable | bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.first_content: float | None = None
        self.last: float | None = None
        """When the last byte came."""
        self.ended = False
        """The body came to a clean end, as HTTP sees it."""
        self.fed = 0
        """Bytes that came."""
        self.problem: Exception | None = None
        """What stopped the looking. The bytes after it passed unseen."""
        self._reader = reader
        self._inner = inner if callable(inner) else None
        self._clock = clock

    def __call__(self, chunk: bytes) -> Chunks:
        if self.problem is None:
            try:
                self._look(chunk)
            except Exception as error:  # kept for the record; the chunk goes on regardless
                self.problem = error
        return chunk if self._inner is None else self._inner(chunk)

    def _look(self, chunk: bytes) -> None:
        if not chunk:
            self.ended = True
            return
        self.last = self._clock()
        self.fed += len(chunk)
        self._reader.feed(chunk)
        if self.first_content is None and self._reader.saw_content:
            self.first_content = self.last


class RequestTap:
    """For ``flow.request.stream``, where the user has mitmproxy stream requests: keeps up to ``limit`` bytes of it."""

    __slots__ = ("_chunks", "_inner", "_limit", "began", "ended", "problem", "recorded", "size")

    def __init__(
        self,
        inner: StreamCallable | bool = False,
        limit: int = REQUEST_LIMIT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.began = clock()
        self.recorded = False
        """For whoever writes the request down, so as not to do it twice."""
        self.size = 0
        """Bytes that came."""
        self.ended = False
        self.problem: Exception | None = None
        self._chunks: list[bytes] = []
        self._inner = inner if callable(inner) else None
        self._limit = limit

    @property
    def body(self) -> bytes | None:
        """What came so far; None when it was more than is kept."""
        return b"".join(self._chunks) if self.problem is None and self.size <= self._limit else None

    def __call__(self, chunk: bytes) -> Chunks:
        if self.problem is None:
            try:
                self._look(chunk)
            except Exception as error:  # the record then says that the body was not seen
                self.problem = error
        return chunk if self._inner is None else self._inner(chunk)

    def _look(self, chunk: bytes) -> None:
        if not chunk:
            self.ended = True
            return
        self.size += len(chunk)
        if self.size <= self._limit:
            self._chunks.append(chunk)
        else:
            self._chunks.clear()
