"""Files into redacted files: read, redacted, written beside their place, read again and checked, and only then put in
place.

Captures, session logs and request bodies are written back as what they were; flow files, HAR and other tools' logs
become captures. Lines go through one at a time, so memory does not grow with a file (a session log's messages are kept,
as for reading it). A line that cannot be parsed is withheld and told of: never copied. The originals are only read.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from analyzers.capture_lines import lines_of
from analyzers.exchange import Problem
from analyzers.path_patterns import NOWHERE, Place
from analyzers.progress import watched
from analyzers.readers.kinds import ZSTD_MAGIC, Kind
from analyzers.readers.lines import Lines
from analyzers.readers.source import Source
from analyzers.readers.sources import RAW_LIMIT, Sources, reader_of
from analyzers.readers.unpacked import unpacked_lines
from analyzers.redact import Redactor
from analyzers.redact_body import redacted_body
from analyzers.redact_check import Canaries
from analyzers.redact_logs import LogRedactor
from analyzers.redact_names import Parts, copied_names
from analyzers.redact_place import working_folder
from analyzers.redact_records import RecordRedactor
from analyzers.redact_words import own_words
from analyzers.scrambled_text import Found
from analyzers.wire.jsontext import Json, NotJson, dump, parse
from analyzers.wire.record import KEY_FILE

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LINE_LIMIT = 384 * 1024 * 1024
_WINDOW_LOG = 25
_CONVERTED: frozenset[Kind] = frozenset(("flows", "har", "pairs"))
_OWN_FORM: frozenset[Kind] = frozenset(("capture", "claude_code", "body"))


class NotRedacted(Exception):
    """Nothing was written. The message is one sentence; ``code`` as commands exit."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for. ``found``: replace only what it finds; ``fold_over`` None: fold nothing more."""

    root: Place = NOWHERE
    found: Found | None = None
    fold_over: int | None = None
    as_capture: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """One file: what it was, and what was written. ``records``: lines, or exchanges."""

    source: str
    file: str
    kind: str
    records: int
    withheld: int


@dataclass(slots=True)
class Outcome:
    """``written``: the files that are now in place. ``problems``: what could not be used, and was left out."""

    written: list[Written] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


class _Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


def redact_files(source: str, target: str, wish: Wish) -> Outcome:
    """Redacts a file, or all files of a folder, under one key that nobody keeps. Raises NotRedacted, NoSuchSource and
    OSError; then nothing was put in place."""
    if target == "-":
        raise NotRedacted("the result is checked before anybody can read it: name a file for it", 2)
    place = Path(os.path.realpath(target))  # a link stays one
    _may_be_written(source, place, wish.force)
    sources = Sources([source])
    run = _Run(secrets.token_bytes(32), wish)
    with working_folder(place) as folder:
        part = folder / place.name
        with watched(run.share, "redacting"):
            outcome = run.folder(sources, source, part) if Path(source).is_dir() else run.file(sources, part)
        with watched(run.share, "checking"):
            run.check(part, outcome)
        _put_in_place(part, place)
    outcome.written = [_in_place(one, part, place) for one in outcome.written]
    outcome.problems += [
        Problem(path, "no place of the input is so: nothing was kept or dropped there")
        for path, _ in (*wish.root.keep, *wish.root.drop)
        if path not in wish.root.met
    ]
    return outcome


def _may_be_written(source: str, place: Path, force: bool) -> None:
    if source != "-" and place.exists() and Path(source).exists() and place.samefile(source):
        raise NotRedacted("the result would replace the original: give another place", 2)
    if source != "-" and Path(source).is_dir() and Path(source).resolve() in place.resolve().parents:
        raise NotRedacted("the result would lie in the folder of the originals: give another place", 2)
    if place.exists() and (not force or not place.is_file()):
        hint = ", or say --force" if place.is_file() else ""
        raise NotRedacted(f"{place} is there already: give another place{hint}", 2)
    if not place.absolute().parent.is_dir():
        raise NotRedacted(f"there is no folder {place.absolute().parent}: make it first", 2)


def _put_in_place(part: Path, place: Path) -> None:
    os.replace(part, place)


def _in_place(one: Written, part: Path, place: Path) -> Written:
    file = place / Path(one.file).relative_to(part) if one.file != str(part) else place
    return Written(one.source, str(file), one.kind, one.records, one.withheld)


class _Run:
    """One run: one key for all its files."""

    def __init__(self, key: bytes, wish: Wish) -> None:
        self._wish = wish
        self._canaries = Canaries(wish.found)
        self._canaries.kept(" ".join(own_words()))
        self._redactor = Redactor(
            key,
            found=wish.found,
            fold_over=wish.fold_over,
            seen=self._canaries.seen,
            kept=self._canaries.kept,
        )
        self._records = RecordRedactor(self._redactor, wish.root)
        self._passed = self._whole = 0
        self._stream: BinaryIO | None = None

    def share(self) -> float:
        """How much was read so far, from 0 to 1. May be asked from another thread."""
        stream = self._stream
        try:
            now = os.lseek(stream.fileno(), 0, os.SEEK_CUR) if stream is not None else 0
        except (OSError, ValueError):
            now = 0
        return min((self._passed + now) / self._whole, 1.0) if self._whole else 0.0

    def file(self, sources: Sources, part: Path) -> Outcome:
        """One file."""
        outcome = Outcome()
        self._whole = sources.size()
        [file] = sources.files
        self._one(sources, file, part, outcome)
        return outcome

    def folder(self, sources: Sources, source: str, part: Path) -> Outcome:
        """All files of a folder, under redacted names."""
        outcome = Outcome()
        self._whole = sources.size()
        part.mkdir(mode=0o700)
        root = Path(source)
        kinds = {Path(file).relative_to(root).parts: sources.kind(file) for file in sources.files}
        bodies = [steps for steps, kind in kinds.items() if kind == "body"]  # without times: files are their order
        names = copied_names(kinds, bodies, self._records.addresses.file)
        self._tell_left_out(root, kinds, outcome)
        for steps, kind in kinds.items():
            if kind not in _OWN_FORM and kind not in _CONVERTED:
                continue
            file, place = str(root.joinpath(*steps)), part.joinpath(*names[steps])
            if kind in _CONVERTED:
                place = place.with_name(f"{place.name}.jsonl.zst")
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._one(sources, file, place, outcome)
        if not outcome.written:
            raise NotRedacted(f"{source} holds nothing that can be redacted", 3)
        return outcome

    def _tell_left_out(self, root: Path, kinds: Mapping[Parts, Kind], outcome: Outcome) -> None:
        """Says of every file of the folder that none is made of it."""
        for path in sorted(path for path in root.rglob("*") if not path.is_dir()):
            kind = kinds.get(path.relative_to(root).parts)
            if path.name == KEY_FILE:  # the recorder's own, which is worth nothing without what it keyed
                continue
            if kind not in _OWN_FORM and kind not in _CONVERTED:
                outcome.problems.append(Problem(str(path), "of no kind that can be redacted; it was left out"))

    def _one(self, sources: Sources, file: str, place: Path, outcome: Outcome) -> None:
        kind = sources.kind(file)
        writers: dict[str, Callable[[Source, _Sink, list[int]], Iterator[None]]] = {
            "capture": self._capture,
            "claude_code": self._log,
            "body": self._body,
        }
        write = writers.get(kind)
        if kind in _CONVERTED or (self._wish.as_capture and kind == "body"):
            write = partial(self._converted, reader=reader_of(kind))
        if write is None:
            raise NotRedacted(f"{file} is of no kind that can be redacted (a capture, a log, a flow file, HAR)", 3)
        counts = [0, 0]
        with self._opened(sources.path_of(file)) as stream:
            head = stream.read(4)
            stream.seek(0)
            source = Source(stream, file, str(stream.name), outcome.problems)
            as_it_was = head == ZSTD_MAGIC and kind == "capture" and place.suffix not in (".jsonl", ".json")
            compressed = as_it_was or place.suffix == ".zst"
            with _writing(place, compressed) as sink:
                for _ in write(source, sink, counts):
                    pass
        if counts[1]:
            lines = "1 line" if counts[1] == 1 else f"{counts[1]} lines"
            outcome.problems.append(Problem(file, f"{lines} no parser takes: withheld, nothing was copied"))
        outcome.written.append(Written(file, str(place), kind, counts[0], counts[1]))

    @contextmanager
    def _opened(self, file: str) -> Iterator[BinaryIO]:
        with open(file, "rb") as stream:
            self._stream = stream
            yield stream
            self._stream = None
            self._passed += os.path.getsize(file)

    def _capture(self, source: Source, sink: _Sink, counts: list[int]) -> Iterator[None]:
        for line in unpacked_lines(source, LINE_LIMIT):
            if line is not None and not line.strip():
                continue
            try:
                if line is None or not line.endswith(b"\n"):
                    raise NotJson("torn, or longer than any record")
                sink.write(dump(self._records.record(parse(line).value)) + b"\n")
                counts[0] += 1
            except NotJson:
                counts[1] += 1
            yield

    def _log(self, source: Source, sink: _Sink, counts: list[int]) -> Iterator[None]:
        log = LogRedactor(self._redactor, self._wish.root)
        for record in _records(source, [0, 0]):
            log.learn(record)
            yield
        log.settle()
        source.stream.seek(0)
        for record in _records(source, counts):
            sink.write(dump(log.record(record)) + b"\n")
            yield

    def _body(self, source: Source, sink: _Sink, counts: list[int]) -> Iterator[None]:
        data = source.stream.read(RAW_LIMIT + 1)
        if len(data) > RAW_LIMIT:
            raise NotRedacted(f"{source.place} is larger than any request body", 3)
        try:
            sink.write(redacted_body(data, self._redactor, self._wish.root))
        except NotJson as error:
            raise NotRedacted(f"{source.place} is no JSON ({error.reason}): nothing of it was copied", 3) from None
        counts[0] += 1
        yield

    def _converted(self, source: Source, sink: _Sink, counts: list[int], reader: Any) -> Iterator[None]:
        for exchange in reader(source):
            counts[0] += 1
            for record in lines_of(exchange, str(counts[0])):
                sink.write(dump(self._records.record(record)) + b"\n")
            yield

    def check(self, part: Path, outcome: Outcome) -> None:
        """Reads the result again. Raises NotRedacted where something of the original shows."""
        self._passed, self._whole = 0, sum(os.path.getsize(one.file) for one in outcome.written)
        for one in outcome.written:
            inside = Path(one.file).relative_to(part).parts if one.file != str(part) else ()
            if any(self._canaries.leaks(name) for name in inside):
                raise NotRedacted("the name of a file still tells something of the original; nothing was written", 1)
            self._check(one)

    def _check(self, one: Written) -> None:
        with self._opened(one.file) as stream:
            source = Source(stream, one.source, one.file)
            parts = [stream.read()] if one.kind == "body" and not self._wish.as_capture else None
            for number, line in enumerate(parts or unpacked_lines(source, LINE_LIMIT), 1):
                try:
                    value = parse(line or b"").value
                except NotJson as error:
                    place = f"line {number} of the result of {one.source}"
                    raise NotRedacted(f"{place} is no JSON ({error.reason}); nothing was written", 1) from None
                if (where := self._canaries.find(value)) is not None:
                    raise NotRedacted(
                        f"something of {one.source} still shows in the result, line {number} at {where}; "
                        "nothing was written",
                        1,
                    )
            if source.problems:
                raise NotRedacted(f"the result cannot be read again ({source.problems[0]}); nothing was written", 1)


def _records(source: Source, counts: list[int]) -> Iterator[Json]:
    """The records of a log; ``counts``: those, and the lines that are none."""
    lines = Lines(source)
    for _, line in lines:
        try:
            record = parse(line).value
        except NotJson:
            counts[1] += 1
            continue
        counts[0] += 1
        yield record


@contextmanager
def _writing(place: Path, compressed: bool) -> Iterator[_Sink]:
    """A new file, readable by its owner only."""
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        if not compressed:
            yield file
            return
        option = zstd.CompressionParameter
        packer = zstd.ZstdCompressor(options={option.compression_level: 1, option.window_log: _WINDOW_LOG})
        yield _Packed(file, packer)
        file.write(packer.flush())


class _Packed:
    def __init__(self, file: BinaryIO, packer: Any) -> None:
        self._file = file
        self._packer = packer

    def write(self, data: bytes) -> object:
        return self._file.write(self._packer.compress(data))
