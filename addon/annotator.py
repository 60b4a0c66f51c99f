"""What of a folded text can only be told while it is there: its tokens by kind of writing, and personal data by kind.

Done on a thread of its own once the request is on its way, each text once: the client waits for none of it. The lines
go to the capture file as they come; a text that nobody got round to has none, which means unknown. A new file gets the
lines of the last texts again, since conversations go on in it.

Memory is bounded: so many characters wait, so many lines are kept. Everything but ``_work`` runs on the event loop.
"""

import asyncio
import queue
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Final

from addon.journal import CaptureFile, Journal
from analyzers.wire.fold import Folded

MOST_WAITING: Final = 64_000_000
"""Characters."""

MOST_KEPT: Final = 4096
PATIENCE: Final = 5.0
"""Seconds that the end of the proxy may wait for what is left."""

type Describe = Callable[[str, str], bytes]
"""The note line of a text, from its hash and itself."""


class Annotator:
    """Describes texts beside the traffic. ``describe``: makes the lines; ``load`` gives it, on the thread, when the
    first text comes; ``warn`` takes one sentence; ``rewrite`` is what becomes of a line when it is written."""

    def __init__(
        self,
        journal: Journal,
        load: Callable[[], Describe],
        warn: Callable[[str], None],
        rewrite: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self._journal = journal
        self._rewrite = rewrite
        self._load = load
        self._warn = warn
        self._lines: OrderedDict[str, bytes] = OrderedDict()
        self._waiting: dict[str, int] = {}
        self._waiting_chars = 0
        self._skipped = 0
        self._unwritten: list[bytes] = []
        """Lines for which there was no file."""
        self._file: CaptureFile | None = None
        self._todo: queue.SimpleQueue[tuple[str, str] | None] = queue.SimpleQueue()
        self._done: deque[tuple[str, bytes | None]] = deque()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._broken = False
        """Nothing can be described here."""
        self._problem: str | None = None
        """To be told, once."""

    @property
    def waiting(self) -> int:
        """Texts that are not described yet."""
        return len(self._waiting)

    def add(self, folded: Iterable[Folded]) -> None:
        """Describe those texts that are new. Returns at once."""
        for one in folded:
            if one.sha256 in self._lines:
                self._lines.move_to_end(one.sha256)
            elif one.sha256 not in self._waiting and one.is_text:
                self._queue(one)
        if self._file is not self._journal.current:
            self.flush()

    def _queue(self, one: Folded) -> None:
        if self._broken or self._waiting_chars + len(one.text) > MOST_WAITING:
            self._skipped += 1
            return
        self._waiting[one.sha256] = len(one.text)
        self._waiting_chars += len(one.text)
        self._todo.put((one.sha256, one.text))
        if self._thread is None:
            try:
                self._loop = asyncio.get_running_loop()
            except RuntimeError:
                self._loop = None  # then only ``close`` brings the lines home
            self._thread = threading.Thread(target=self._work, name="weighbridge-notes", daemon=True)
            self._thread.start()

    def flush(self) -> None:
        """Write the lines that are done."""
        fresh: list[bytes] = []
        while self._done:
            sha256, line = self._done.popleft()
            self._waiting_chars -= self._waiting.pop(sha256, 0)
            if line is not None:
                self._lines[sha256] = line
                fresh.append(line)
        while len(self._lines) > MOST_KEPT:
            self._lines.popitem(last=False)
        file = self._journal.current
        pending = [*self._unwritten, *fresh]
        if file is not None and file is not self._file:
            pending, self._file = list(self._lines.values()), file
        if pending:
            written = self._journal.notes([self._rewrite(line) for line in pending])
            self._unwritten = [] if written is not None else [*self._unwritten, *fresh]
        if self._problem:
            self._warn(self._problem)
            self._problem = ""

    def close(self) -> None:
        """The proxy stops: write what can be described within ``PATIENCE``."""
        if self._thread is not None:
            self._todo.put(None)
            until = time.monotonic() + PATIENCE
            while self._thread.is_alive() and time.monotonic() < until:
                self._thread.join(0.02)
                self.flush()
            self._thread = None
            self._todo = queue.SimpleQueue()
        self.flush()
        left = self._skipped + len(self._waiting) + len(self._unwritten)
        if left:
            self._warn(f"{left:,} folded texts were not described: their tokens and personal data are unknown.")
        self._skipped, self._waiting_chars = 0, 0
        self._waiting.clear()

    def _work(self) -> None:
        """On the thread: until there is nothing more to come."""
        todo = self._todo
        try:
            describe = self._load()
        except Exception as error:
            self._problem = f"weighbridge cannot describe folded texts ({type(error).__name__}: {error})."
            self._broken = True
            self._wake()
            return
        while (task := todo.get()) is not None:
            sha256, text = task
            try:
                line: bytes | None = describe(sha256, text)
            except Exception as error:  # one text that has no line; traffic knows nothing of it
                line = None
                if self._problem is None:
                    self._problem = f"weighbridge failed to describe a text ({type(error).__name__}: {error})."
            self._done.append((sha256, line))
            self._wake()

    def _wake(self) -> None:
        if self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(self.flush)
            except RuntimeError:  # the loop is closed: the lines come with ``close``
                self._loop = None
