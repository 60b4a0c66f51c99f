"""Paths into exchanges: files, folders and ``-``, several and mixed, each told by its content.

Files are read in pieces and exchanges are yielded as they come, so memory does not grow with the files. Everything
that could not be used is a ``Problem`` in the list that the caller passes. Readers are imported when a file needs them.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING, Any, BinaryIO
from weakref import finalize

from analyzers.exchange import Exchange, Problem
from analyzers.readers.kinds import Kind, is_request, kind_of
from analyzers.readers.source import Reader, Source

if TYPE_CHECKING:
    from analyzers.noted import Noted

WHAT_TO_DO = "name a capture file or folder with --captures, or record one with `weighbridge capture`"
CHUNK = 1 << 20
HEAD = 1 << 10
RAW_LIMIT = 300 * 1024 * 1024  # bytes of a single JSON body: above the API's own limit
_NAMED = 3


class NoSuchSource(ValueError):
    """A path that cannot be read at all. The message is one sentence that says what to do."""


class Sources:
    """The files behind the paths a user gave. What can be read only once (standard input, a pipe) is kept in a
    temporary file, so that it can be read again. ``folded``: fold markers of other tools are markers."""

    def __init__(self, paths: Sequence[str], *, folded: bool = False) -> None:
        self.files: list[str] = []
        self.notes: dict[str, Noted] | None = None
        """What captures say of the texts they folded, once they were read; to be made a dict by whoever asks."""
        self._folded = folded
        self._kept: dict[str, IO[bytes]] = {}
        finalize(self, _close, self._kept)
        self._found: set[str] = set()  # files that a folder held: nobody named them
        self._kinds: dict[str, Kind] = {}
        self._stream: BinaryIO | None = None
        self._passed = 0
        for path in paths:
            self.files += self._expanded(path)
        self.files = list(dict.fromkeys(self.files))
        self._names = frozenset(Path(file).name for file in self.files)

    def _expanded(self, path: str) -> list[str]:
        if path == "-":
            return ["-"]
        if not path.strip():
            raise NoSuchSource(f"an empty path names nothing; {WHAT_TO_DO}")
        try:
            place = Path(path).expanduser()
            is_folder, exists = place.is_dir(), place.exists()
        except (RuntimeError, OSError, ValueError) as error:  # no such user, a name too long, a NUL in it
            reason = error.strerror if isinstance(error, OSError) else "no such path"
            raise NoSuchSource(f"{path[:200]} cannot be looked at ({reason}); {WHAT_TO_DO}") from None
        if is_folder:
            found = [str(file) for file in folder_files(place)]
            self._found.update(found)
            return found
        if not exists:
            raise NoSuchSource(f"{path} does not exist; {WHAT_TO_DO}")
        self._found.discard(str(place))
        return [str(place)]

    def kind(self, file: str) -> Kind:
        """What kind a file is. Raises OSError."""
        if file not in self._kinds:
            if file in self._found and not _is_plain(file):
                return "unknown"  # a pipe or a socket that nobody named: opening it may wait for ever
            with self._opened(file) as stream:
                first = stream.read(HEAD)
                kind = kind_of(first)
                if kind != "claude_code" and len(first) == HEAD:  # of thousands of logs, little is enough
                    first += stream.read(CHUNK)
                    kind = kind_of(first)
                    if kind == "body" and b"\n" not in first and not is_request(first):
                        kind = _kind_behind(stream) or kind
                self._kinds[file] = kind
        return self._kinds[file]

    def is_companion(self, file: str) -> bool:
        """Whether it is a file beside logs that a folder held and that says nothing about calls."""
        return file in self._found and self._kinds.get(file) == "companion"

    def has(self, place: Path) -> bool:
        """Whether a path leads to one of the files, by whatever name."""
        return any(file != "-" and _is_same(place, Path(file)) for file in self.files)

    def path_of(self, file: str) -> str:
        """A name under which a file can be opened."""
        kept = self._kept.get(file)
        return file if kept is None else str(kept.name)

    def exchanges(self, problems: list[Problem], *, without: Sequence[Kind] = ()) -> Iterator[Exchange]:
        """All exchanges, file by file, each as soon as it is whole; those of a log that were in another log once.
        ``without``: kinds of files that are not read here."""
        seen: set[str] = set()
        waiting: dict[str, Exchange] = {}
        copies = 0
        unknown: list[str] = []
        self._passed = 0
        for file in self.files:
            try:
                kind = self.kind(file)
                if kind in without or self.is_companion(file):
                    continue
                if kind == "unknown" and file in self._found:
                    unknown.append(file)
                    continue
                for exchange in self._read(file, kind, problems):
                    name = _name(exchange)
                    if name is not None and name in seen:
                        copies += 1
                        continue
                    if name is not None and exchange.logged is not None and exchange.logged.copied:
                        copies += name in waiting
                        waiting.setdefault(name, exchange)  # the file it was made in may still come
                        continue
                    if name is not None:
                        seen.add(name)
                    yield exchange
            except OSError as error:
                problems.append(Problem(file, f"cannot be read ({error.strerror or error})"))
            self._passed += _size(file)
        for name, exchange in waiting.items():
            if name in seen:
                copies += 1
            else:
                yield exchange
        if unknown:
            problems.append(_left_out(unknown))
        if copies:
            told = "1 call stands" if copies == 1 else f"{copies} calls stand"
            problems.append(Problem("logs", f"{told} in more than one log; each was taken once"))

    def _read(self, file: str, kind: Kind, problems: list[Problem]) -> Iterator[Exchange]:
        with self._opened(file) as stream:
            self._stream = stream
            place = "standard input" if file == "-" else file
            source = Source(stream, place, str(stream.name), problems, self._folded, self._names, self.notes)
            try:
                yield from reader_of(kind)(source)
            finally:
                self._stream = None

    def size(self) -> int:
        """Bytes of all files that are files."""
        return sum(map(_size, self.files))

    def read_so_far(self) -> float:
        """How much of all files was read in this round, from 0 to 1. May be asked from another thread."""
        stream = self._stream
        try:
            now = os.lseek(stream.fileno(), 0, os.SEEK_CUR) if stream is not None else 0
        except (OSError, ValueError):
            now = 0
        whole = self.size()
        return min((self._passed + now) / whole, 1.0) if whole else 0.0

    @contextmanager
    def _opened(self, file: str) -> Iterator[BinaryIO]:
        kept = self._kept.get(file)
        if kept is None and file != "-" and _is_plain(file):
            with open(file, "rb") as stream:
                yield stream
            return
        if kept is None:
            kept = self._kept[file] = NamedTemporaryFile()  # noqa: SIM115 - it lives as long as the sources
            if file != "-":
                with open(file, "rb") as pipe:
                    _copy(pipe, kept)
            elif sys.stdin is not None:
                _copy(sys.stdin.buffer, kept)
        kept.seek(0)
        yield kept  # type: ignore[misc]  # a file in all that is asked of it


def _name(exchange: Exchange) -> str | None:
    """By what the calls of logs are told apart."""
    logged, response = exchange.logged, exchange.response
    if logged is None or response is None:
        return None
    return response.message_id or (f"request {logged.request_id}" if logged.request_id is not None else None)


def _is_plain(file: str) -> bool:
    """Raises OSError."""
    return stat.S_ISREG(os.stat(file).st_mode)


def _kind_behind(stream: BinaryIO) -> Kind | None:
    """The kind that the lines behind a first, very long one tell; None when there are none, or they tell nothing."""
    while (rest := stream.readline(CHUNK)) and rest[-1:] != b"\n":
        pass
    kind = kind_of(stream.read(CHUNK))
    return kind if kind in ("claude_code", "pairs") else None


def _copy(stream: Any, kept: IO[bytes]) -> None:
    while chunk := stream.read(CHUNK):
        kept.write(chunk)
    kept.flush()


def _close(files: dict[str, IO[bytes]]) -> None:
    for file in files.values():
        file.close()


def _size(file: str) -> int:
    try:
        return os.path.getsize(file) if file != "-" else 0
    except OSError:
        return 0


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # one of them is not there
        return False


def _left_out(files: Sequence[str]) -> Problem:
    names = ", ".join(Path(file).name for file in files[:_NAMED])
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    one = len(files) == 1
    text = (
        f"{'a file' if one else f'{len(files)} files'} of no kind that can be read {'was' if one else 'were'} left out"
    )
    return Problem(str(Path(files[0]).parent), f"{text}: {names}{more}")


def folder_files(folder: Path) -> list[Path]:
    """The files of a folder and its subfolders by name; hidden ones and documents (``.md``) are left out."""
    found: list[Path] = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(root, name) for name in sorted(names) if not name.startswith(".") and not name.endswith(".md")]
    return found


def reader_of(kind: Kind) -> Reader:
    """The reader of a kind of file."""
    if kind == "flows":
        from analyzers.readers.flows import read_flows

        return read_flows
    if kind == "har":
        from analyzers.readers.har import read_har

        return read_har
    if kind == "claude_code":
        from analyzers.readers.claude_code import read_session

        return read_session
    if kind == "chat":
        from analyzers.readers.chat_sqlite import read_chat

        return read_chat
    if kind == "pairs":
        from analyzers.readers.pairs import read_pairs

        return read_pairs
    return {"capture": read_capture, "body": read_raw}.get(kind, read_nothing)


def read_capture(source: Source) -> Iterator[Exchange]:
    """The exchanges of a capture."""
    from analyzers.readers.captures import CaptureStream

    capture = CaptureStream(source.place, source.notes)
    while chunk := source.stream.read(CHUNK):
        yield from capture.feed(chunk)
    yield from capture.finish(being_written=being_written(source.stream))
    source.problems += capture.problems


def being_written(stream: BinaryIO) -> bool:
    """Whether a recorder still holds the file: it keeps a lock as long as it writes, and a killed process holds
    none."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    fcntl.flock(stream.fileno(), fcntl.LOCK_UN)
    return False


def read_raw(source: Source) -> Iterator[Exchange]:
    """The one request body that a file is."""
    from analyzers.readers.raw import read_body
    from analyzers.wire.jsontext import NotJson

    data = source.stream.read(RAW_LIMIT + 1)
    if len(data) > RAW_LIMIT:
        source.problem("larger than any request body; it was left out")
        return
    try:
        yield read_body(data, source.place, folded=source.folded)
    except NotJson as error:
        source.problem(f"not a capture, and as a request body: {error.reason}; it was left out")


def read_nothing(source: Source) -> Iterator[Exchange]:
    """A file of no kind that can be read: says so."""
    if not source.stream.read(1):
        source.problem("the file is empty")
    else:
        source.problem(
            "neither a capture, nor a log, flow file, HAR or chat store, nor a request body; it was left out"
        )
    return iter(())
