"""Append-only capture files: one writer, whole lines, each of them readable at once.

A line is compressed, flushed and handed to the kernel by one ``os.write`` before the hook returns, so a killed process
leaves everything it had accepted. There is no buffer of our own, no waiting and no fsync: a file is never shared
(``O_EXCL``, a name of its own), and losing the last moments to a power cut is the price of not making the client wait
for a disk. Compression is one zstd stream per file, window 32 MiB: each request repeats the one before, so a line costs
what is new in it. Level 1: levels 2 and 3 save 2 % on recorded sessions for more time, and long-distance matching saves
nothing for three times as much.

Whatever fails (full disk, missing rights, a folder removed under a running proxy), nothing is raised to the caller: the
record is counted as lost, one warning goes out, and a later record tries again with a new file; no line is appended
behind one that may be torn. Cost per line beside compression: one ``fstat`` (was the file removed, or cut?) and one
``write``.

A file that has grown beyond its limit takes no more requests, but stays open for the answers to those it holds: request
and response always stand in the same file, except when that file was lost.
"""

import contextlib
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from analyzers.wire.record import KEY_FILE

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

KEY_BYTES = 32
LEVEL = 1
WINDOW_LOG = 25
HASH_LOG = 17

RETRY_AFTER = 1.0
"""Seconds without a further try after a record could not be written: a sick disk must not slow traffic."""

WARN_AGAIN_AFTER = 60.0
"""Seconds between two warnings that records are being lost, when recording comes and goes."""

_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@dataclass(slots=True)
class Tally:
    """What happened since the last ``end`` line that told of it."""

    lost: int = 0
    """Records that could not be written."""

    unmatched: Counter[str] = field(default_factory=Counter)
    """Flows seen and not recorded, by method and path."""


class CaptureFile:
    """One file, created here and closed once."""

    def __init__(self, folder: Path, *, compress: bool) -> None:
        """Raises OSError when the file cannot be created."""
        name = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        self.path = folder / (f"{name}.zst" if compress else name)
        self.size = 0
        """Bytes on disk, whole lines only."""
        self.requests = 0
        self.responses = 0
        self.awaited = 0
        """Requests in here whose response is still to come."""
        self.retired = False
        """No further request goes here."""
        self._stream = _stream() if compress else None
        self._fd: int | None = os.open(self.path, _FLAGS, 0o600)
        _hold(self._fd)

    def is_intact(self) -> bool:
        """Whether it is open, still has a name in some folder, and is as long as it was left."""
        if self._fd is None:
            return False
        try:
            now = os.fstat(self._fd)
        except OSError:
            return False
        return now.st_nlink > 0 and now.st_size == self.size

    def append(self, lines: bytes, *, last: bool = False) -> None:
        """Write whole lines. Raises OSError: what was written of them is cut off again, and the file is done for."""
        assert self._fd is not None
        if self._stream is not None:
            lines = self._stream.compress(lines, self._stream.FLUSH_FRAME if last else self._stream.FLUSH_BLOCK)
        rest = memoryview(lines)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            if len(rest) < len(lines):
                os.ftruncate(self._fd, self.size)
            raise
        self.size += len(lines)

    def close(self) -> None:
        """Close it as it is, and remove it when it holds no whole line. Raises OSError."""
        if self._fd is None:
            return
        fd, self._fd, self._stream = self._fd, None, None
        os.close(fd)
        if not self.size:
            self.path.unlink(missing_ok=True)


class Journal:
    """The capture files of one process. No method raises because of the disk.

    ``first_line`` makes the line a file begins with, from the name of the file it continues (None: it continues none).
    ``last_line`` makes the one that closes a file in good order. Both without the line end.
    """

    def __init__(
        self,
        folder: Path,
        *,
        compress: bool,
        rotate_bytes: int,
        first_line: Callable[[str | None], bytes],
        last_line: Callable[[CaptureFile, Tally], bytes],
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tally = Tally()
        self.lost = 0
        """Records that could not be written, since the process began."""
        self._folder = folder
        self._compress = compress
        self._rotate_bytes = rotate_bytes
        self._first_line = first_line
        self._last_line = last_line
        self._warn = warn
        self._clock = clock
        self._current: CaptureFile | None = None
        self._closing: set[CaptureFile] = set()
        """Retired files that wait for responses."""
        self._continues: str | None = None
        self._key = secrets.token_bytes(KEY_BYTES)
        self._has_folder = False
        self._retry_at = self._quiet_until = float("-inf")
        self._failing = False
        self._lost_told = 0

    @property
    def key(self) -> bytes:
        """The key of this folder's fingerprints; one of our own while the folder cannot be used."""
        if not self._has_folder and self._clock() >= self._retry_at:
            try:
                self._settle()
            except OSError:
                self._has_folder = False  # the record about to be written will fail likewise, and tell
        return self._key

    def configure(self, folder: Path, *, compress: bool, rotate_bytes: int) -> None:
        """Write new requests elsewhere, or otherwise, from now on; their first line is made anew."""
        self._retire()
        self._continues = None
        self._folder, self._compress, self._rotate_bytes = folder, compress, rotate_bytes
        self._has_folder = False
        self._retry_at = float("-inf")

    def preflight(self) -> None:
        """Warn now, rather than at the first record, when the folder visibly cannot be written to. Creates nothing."""
        place = self._folder
        while not os.path.exists(place) and place != place.parent:
            place = place.parent
        if not os.path.isdir(place):
            self._complain(f"{place} is not a folder")
        elif not os.access(place, os.W_OK | os.X_OK):
            self._complain(f"no right to write to {place}")

    def request(self, line: bytes) -> CaptureFile | None:
        """Write a request line. Returns the file it stands in, to be named with its response; None when it was lost."""
        file = self._put(line, None)
        if file:
            file.requests += 1
            file.awaited += 1
            self._rotate(file)
        return file

    def response(self, line: bytes, beside: CaptureFile | None) -> None:
        """Write a response line into the file of its request; when that was lost, into the one now being written."""
        file = self._put(line, beside)
        if file:
            file.responses += 1
            self._rotate(file)
        if beside:
            beside.awaited -= 1
            if beside.retired and not beside.awaited:
                self._finish(beside)

    @property
    def current(self) -> CaptureFile | None:
        """The file that the next request goes to; None when that will begin one."""
        return self._current

    def notes(self, lines: Sequence[bytes]) -> CaptureFile | None:
        """Write note lines into the file now being written, or one that waits for answers, which is returned; None when
        there is none. They begin no file and are no record: without one, something is unknown."""
        file = self._usable(self._current) or next(filter(None, map(self._usable, list(self._closing))), None)
        if file is None:
            return None
        try:
            file.append(b"\n".join([*lines, b""]))
        except Exception as error:  # counted and told, as with any line
            self._drop(file)
            self._retry_at = self._clock() + RETRY_AFTER
            self._complain(_reason(error))
            return None
        return file

    def close(self) -> None:
        """Close every file in good order and say how many records were lost. A later record begins a new file."""
        for file in [*self._closing, *([self._current] if self._current else [])]:
            self._finish(file)
        self._continues = None
        if self.lost > self._lost_told:
            self._lost_told = self.lost
            self._warn(f"{self.lost:,} records could not be written to {self._folder}")

    def _put(self, line: bytes, beside: CaptureFile | None) -> CaptureFile | None:
        """The file the line was written to, or None when it was lost."""
        if self._clock() < self._retry_at:
            self.lose()
            return None
        file = self._usable(beside) or self._usable(self._current)
        try:
            if file:
                file.append(line + b"\n")
            else:
                file = self._begin(line)
        except Exception as error:  # counted and told: whatever it is, traffic goes on
            if file:
                self._drop(file)
            self._retry_at = self._clock() + RETRY_AFTER
            self._complain(_reason(error))
            self.lose()
            return None
        return file

    def _usable(self, file: CaptureFile | None) -> CaptureFile | None:
        if file is None or file.is_intact():
            return file
        self._drop(file)
        return None

    def _begin(self, line: bytes) -> CaptureFile:
        """A new file that holds its first line and this one; when it cannot hold both, it is not left behind."""
        self._settle()
        file = CaptureFile(self._folder, compress=self._compress)
        try:
            file.append(self._first_line(self._continues) + b"\n" + line + b"\n")
        except BaseException:
            self._drop(file)
            raise
        self._current, self._continues = file, None
        if self._failing:
            self._failing, self._lost_told = False, self.lost
            self._warn(f"recording to {self._folder} again; {self.lost:,} records were lost so far")
        return file

    def _settle(self) -> None:
        """Make the folder and find its key. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._key = shared_key(self._folder, self._key)
        self._has_folder = True

    def _rotate(self, file: CaptureFile) -> None:
        if file is self._current and 0 < self._rotate_bytes <= file.size:
            self._retire()
            self._continues = file.path.name

    def _retire(self) -> None:
        file, self._current = self._current, None
        if file:
            file.retired = True
            if file.awaited:
                self._closing.add(file)
            else:
                self._finish(file)

    def _finish(self, file: CaptureFile) -> None:
        """Close in good order: the last line tells everything not told yet."""
        try:
            if file.is_intact():
                file.append(self._last_line(file, self.tally) + b"\n", last=True)
                self.tally = Tally()
        except Exception as error:  # told, and the file has no last line, which says that it was cut
            self._complain(_reason(error))
        self._drop(file)

    def _drop(self, file: CaptureFile) -> None:
        self._closing.discard(file)
        if file is self._current:
            self._current = None
        try:
            file.close()
        except OSError as error:
            self._complain(_reason(error))

    def lose(self) -> None:
        """Count a record that does not get written."""
        self.lost += 1
        self.tally.lost += 1

    def _complain(self, reason: str) -> None:
        now = self._clock()
        if not self._failing and now >= self._quiet_until:
            self._failing, self._quiet_until = True, now + WARN_AGAIN_AFTER
            self._warn(f"cannot record to {self._folder}: {reason}; traffic goes on, records are lost until then")


def shared_key(folder: Path, proposed: bytes) -> bytes:
    """The fingerprint key that a folder holds; ``proposed`` is put there first when it holds none.

    Safe between processes: the key appears under its name whole, and the first one stays. A key that cannot be read, or
    is damaged, is left alone and ``proposed`` returned: fingerprints then compare within this process only. Raises
    OSError when there is none and the folder cannot be written to.
    """
    path = folder / KEY_FILE
    if not path.exists():
        draft = folder / f"{KEY_FILE}.{os.getpid()}-{secrets.token_hex(4)}"
        fd = os.open(draft, _FLAGS, 0o600)
        try:
            with os.fdopen(fd, "wb") as out:
                out.write(proposed.hex().encode() + b"\n")
            _publish(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    try:
        held = bytes.fromhex(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return proposed
    return held if len(held) == KEY_BYTES else proposed


def _publish(draft: Path, path: Path) -> None:
    """Give the draft its name unless another process was first."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError:
        os.replace(draft, path)  # a file system without hard links: the last of two at the same moment stays


def _hold(fd: int) -> None:
    """Lock a file as long as it is open, which a killed process does not outlive: so readers know that it still grows.

    Nobody waits for this lock. Where there are none, a growing file is read like one that was cut.
    """
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _stream() -> zstd.ZstdCompressor:
    option = zstd.CompressionParameter
    return zstd.ZstdCompressor(
        options={
            option.compression_level: LEVEL,
            option.window_log: WINDOW_LOG,
            option.hash_log: HASH_LOG,
        }
    )


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or f"{type(error).__name__}: {error}"
