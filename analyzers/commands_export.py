"""The command that hands records on to other programs: ``export``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

from analyzers.exchange import Exchange, Problem
from analyzers.exports.curl import NotRunnable, again, as_sent, script
from analyzers.exports.har import entry_text, folded_texts, head, tail
from analyzers.failure import Failure, safe
from analyzers.gather import traced
from analyzers.progress import watched
from analyzers.readers.sources import Sources
from analyzers.reading import Given, in_order, nothing, nth, opened, print_json, report
from analyzers.whole_file import whole_file

FORMS = ("curl", "har")


def export(given: Given, to: str, numbers: Sequence[int], output: str | None, force: bool, as_json: bool) -> None:
    """Writes requests in another form. ``numbers``: which, all when there is none; ``output`` None or ``-``: standard
    output. ``as_json`` tells what was written."""
    output = None if output == "-" else output
    if to not in FORMS:
        raise Failure(f"--to {to!r} is not known: it is one of {', '.join(FORMS)}", 2)
    if as_json and output is None:
        raise Failure("--json tells what was written to a file: give one with -o, or leave it out", 2)
    if to == "har":
        _har(given, numbers, output, force, as_json)
    elif len(numbers) == 1:
        _curl(given, numbers[0], output, force, as_json)
    else:
        raise Failure("say which request: export --to curl N, as list numbers them", 2)


# curl


def _curl(given: Given, n: int, output: str | None, force: bool, as_json: bool) -> None:
    """One request as a script, its body in a file beside it; on standard output in one piece."""
    places = None if output is None else _script_places(Path(output), force)
    problems: list[Problem] = []
    sources = opened(given)
    for one in places or ():
        _may_replace(one, sources)
    exchange = nth(sources, n, problems)
    report(problems)
    try:
        request = again(exchange, n)
    except NotRunnable as error:
        raise Failure(str(error), 1) from None
    if places is None:
        sys.stdout.buffer.write(script(request, None).encode())
        return
    place, beside = places
    made = [place]
    if request.body is not None:
        with _new(beside) as file:
            file.write(request.body)
        made.append(beside)
    with _new(place, 0o700) as file:
        file.write(os.fsencode(script(request, beside.name)))
    sent = None if request.body is None else as_sent(request.body, request.sent)
    if as_json:
        print_json({"to": "curl", "requests": 1, "written": [str(one) for one in made], "body_as_sent": sent})
        return
    print(f"wrote {' and '.join(safe(str(one)) for one in made)}: run the first; it says what it needs")


def _script_places(place: Path, force: bool) -> tuple[Path, Path]:
    _may_be_written(place, force)
    beside = place.with_suffix(".json")
    if place == beside:
        raise Failure(f"the body goes into {beside}: give the script another name, such as {place.stem}.sh", 2)
    _may_be_written(beside, force)
    return place, beside


# HAR


def _har(given: Given, numbers: Sequence[int], output: str | None, force: bool, as_json: bool) -> None:
    """Exchanges as a HAR, written as they are read."""
    if output is not None:
        _may_be_written(Path(output), force)
    problems: list[Problem] = []
    sources = opened(given)
    if output is not None:
        _may_replace(Path(output), sources)
    wanted: set[int] | None = None
    if numbers:
        times = [exchange.time or 0.0 for exchange in sources.exchanges(problems)]
        if times and (odd := next((n for n in numbers if not 1 <= n <= len(times)), None)) is not None:
            raise Failure(f"there is no request {odd}: the captures hold {len(times)}, numbered from 1", 2)
        order = in_order(times)
        wanted = {order[n - 1] for n in numbers} if times else set()
    elif len(sources.files) > 1:  # a reader of one file would count what several files tell of as several
        found = traced(sources, problems)
        wanted = {place for place, trace in zip(found.order, found.traces, strict=True) if trace is not None}
    told = problems if wanted is None else []
    written = _Written(
        exchange for position, exchange in enumerate(sources.exchanges(told)) if wanted is None or position in wanted
    )
    with watched(sources.read_so_far, "writing"):
        first = next(written.entries, None)
        if first is None:
            report(problems)
            nothing(sources, given, problems, as_json)
            if output is not None:
                raise Failure(f"{output} was not written: there is nothing to put into it", 3)
            return
        if output is None:
            written.write(first, sys.stdout.buffer.write)
        else:
            with _new(Path(output)) as file:
                written.write(first, file.write)
    report([*problems, *written.problems()])
    if as_json:
        print_json({"to": "har", "requests": written.count, "written": [output], "folded_texts": written.folded})
    elif output is not None:
        print(f"wrote {safe(output)}: {written.count:,} requests")


class _Written:
    """Exchanges on their way into a HAR, and what is to be said about them."""

    def __init__(self, exchanges: Iterator[Exchange]) -> None:
        self.count = self.folded = self.answers_alone = 0
        self._place = ""
        self.entries = self._entries(exchanges)

    def _entries(self, exchanges: Iterator[Exchange]) -> Iterator[str]:
        for exchange in exchanges:
            request, response = exchange.request, exchange.response
            if request is None:
                self._place = self._place or exchange.place
                self.answers_alone += 1
                continue
            self.count += 1
            self.folded += folded_texts(request.body)
            if response is not None:
                self.folded += folded_texts(response.content, response.body, response.rest)
            yield entry_text(exchange)

    def write(self, first: str, write: Callable[[bytes], object]) -> None:
        write((head(version("weighbridge")) + first).encode())
        for text in self.entries:
            write((",\n" + text).encode())
        comment = "Bodies are the shortest JSON of what was recorded. Streamed answers are the messages they made."
        if self.folded:
            comment += f" {self.folded} texts are folded: an object with _elided, chars and sha256 stands for each."
        write(tail(comment).encode())

    def problems(self) -> Iterator[Problem]:
        if self.answers_alone:
            text = "an answer" if self.answers_alone == 1 else f"{self.answers_alone} answers"
            yield Problem(self._place, f"{text} without a request: left out, a HAR has no place for that")


# Files


def _may_be_written(place: Path, force: bool) -> None:
    """Raises Failure when a file may not be put there."""
    if place.is_dir():
        raise Failure(f"{place} is a folder: name a file", 2)
    if (place.exists() or place.is_symlink()) and not force:
        raise Failure(f"{place} is there already: give another name, or say --force", 2)
    if not place.absolute().parent.is_dir():
        raise Failure(f"there is no folder {place.absolute().parent}: make it first", 2)


def _may_replace(place: Path, sources: Sources) -> None:
    """Raises Failure when a file is one of those that are read: not even --force means that."""
    if sources.has(place):
        raise Failure(f"{place} is one of the files that are read: give another name", 2)


@contextmanager
def _new(place: Path, mode: int = 0o600) -> Iterator[BinaryIO]:
    """A file that nobody else can read, put in place when it is whole. Raises Failure."""
    try:
        with whole_file(place, mode) as file:
            yield file
    except OSError as error:
        raise Failure(f"{place} cannot be written ({error.strerror or error})", 3) from None
