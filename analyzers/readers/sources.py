"""Paths into exchanges: files, folders and ``-``, several and mixed, each told by its content.

Files are read in pieces and exchanges are yielded as they come, so memory does not grow with the files. Everything
that could not be used is a ``Problem`` in the list that the caller passes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from analyzers.exchange import Exchange, Problem
from analyzers.readers.captures import ZSTD_MAGIC, CaptureStream, head_of
from analyzers.readers.raw import read_body
from analyzers.wire.jsontext import NotJson

WHAT_TO_DO = "name a capture file or folder with --captures, or record one with `weighbridge capture`"
CHUNK = 1 << 20
RAW_LIMIT = 300 * 1024 * 1024  # bytes of a single JSON body: above the API's own limit


class NoSuchSource(ValueError):
    """A path that cannot be read at all. The message is one sentence that says what to do."""


class Sources:
    """The files behind the paths a user gave. Standard input is kept in a temporary file, so that it can be read
    twice."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._standard_input: BinaryIO | None = None
        self.files: list[str] = []
        for path in paths:
            self.files += self._expanded(path)

    def _expanded(self, path: str) -> list[str]:
        if path == "-":
            return ["-"]
        place = Path(path).expanduser()
        if place.is_dir():
            return [str(file) for file in folder_files(place)]
        if not place.exists():
            raise NoSuchSource(f"{path} does not exist; {WHAT_TO_DO}")
        return [str(place)]

    def exchanges(self, problems: list[Problem]) -> Iterator[Exchange]:
        """All exchanges, file by file, each as soon as it is whole."""
        for file in self.files:
            try:
                with self._opened(file) as stream:
                    yield from read_stream(stream, "standard input" if file == "-" else file, problems)
            except OSError as error:
                problems.append(Problem(file, f"cannot be read ({error.strerror or error})"))

    @contextmanager
    def _opened(self, file: str) -> Iterator[BinaryIO]:
        if file != "-":
            with open(file, "rb") as stream:
                yield stream
            return
        if self._standard_input is None:
            self._standard_input = TemporaryFile()  # noqa: SIM115 - it lives as long as the sources
            while sys.stdin is not None and (chunk := sys.stdin.buffer.read(CHUNK)):
                self._standard_input.write(chunk)
        self._standard_input.seek(0)
        yield self._standard_input


def folder_files(folder: Path) -> list[Path]:
    """The files of a folder and its subfolders by name; hidden ones and documents (``.md``) are left out."""
    found: list[Path] = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(root, name) for name in sorted(names) if not name.startswith(".") and not name.endswith(".md")]
    return found


def read_stream(stream: BinaryIO, place: str, problems: list[Problem]) -> Iterator[Exchange]:
    """The exchanges of one open file, whatever kind it is."""
    first = stream.read(CHUNK)
    if not first:
        problems.append(Problem(place, "the file is empty"))
    elif is_capture(first):
        yield from _capture(stream, first, place, problems)
    elif first.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b'"'):
        yield from _raw(stream, first, place, problems)
    else:
        problems.append(Problem(place, "neither a capture nor a request body in JSON; it was left out"))


def is_capture(first: bytes) -> bool:
    """Whether the beginning of a file is that of a capture (its first line may be torn)."""
    head = head_of(first) if first.startswith(ZSTD_MAGIC) else first
    return any(line.startswith(b'{"kind":"') for line in head.split(b"\n", 20)[:20])


def _capture(stream: BinaryIO, first: bytes, place: str, problems: list[Problem]) -> Iterator[Exchange]:
    capture = CaptureStream(place)
    chunk = first
    while chunk:
        yield from capture.feed(chunk)
        chunk = stream.read(CHUNK)
    yield from capture.finish(being_written=being_written(stream))
    problems += capture.problems


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


def _raw(stream: BinaryIO, first: bytes, place: str, problems: list[Problem]) -> Iterator[Exchange]:
    data = first + stream.read(RAW_LIMIT)
    if len(data) > RAW_LIMIT:
        problems.append(Problem(place, "larger than any request body; it was left out"))
        return
    try:
        yield read_body(data, place)
    except NotJson as error:
        problems.append(Problem(place, f"not a capture, and as a request body: {error.reason}; it was left out"))
