"""The command that puts everything on one page: ``report``, and ``report --serve``."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from analyzers.commands_cost import own_prices_of
from analyzers.exchange import Problem
from analyzers.failure import Failure, safe
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.readers.kept import Kept
from analyzers.readers.sources import NoSuchSource, Sources
from analyzers.reading import Given, nothing, print_json, report
from analyzers.report.document import document
from analyzers.report.page import page
from analyzers.report.serve import LOOPBACK, Fresh, State, server
from analyzers.whole_file import whole_file


def write_report(given: Given, out: str | None, prices: str | None, as_json: bool) -> None:
    """The page in a file, or its document as JSON."""
    if out is None and not as_json:
        raise Failure("say where the page is to go: -o FILE.html, or --serve to look at it as it grows", 2)
    problems: list[Problem] = []
    sources = _kept(given)
    if out is not None and sources.has(Path(out).expanduser()):
        raise Failure(f"{out} is one of the files that are read: name another file with -o", 2)
    told = document(sources, problems, PriceBook(PriceList(), own_prices_of(prices)), time.time())
    report(problems)
    if not told["requests"]:
        nothing(sources, given, problems, as_json)
        if out is not None:
            raise Failure(f"{out} was not written: there is nothing to show on a page", 3)
    if as_json:
        print_json(told)
    if out is not None and told["requests"]:
        _written(out, page(told))


def serve_report(given: Given, port: int | None, prices: str | None) -> None:
    """Serves the page on the loopback until it is stopped, and reads again what changes."""
    if "-" in given.paths:
        raise Failure("standard input cannot be followed: name a file or a folder with --captures", 2)
    if port is not None and not 0 <= port <= 65535:
        raise Failure(f"--port {port} is no port: give a number from 1 to 65535", 2)
    book = PriceBook(PriceList(), own_prices_of(prices))

    if not _state(given):
        report([Problem(", ".join(given.paths), "nothing is recorded yet; waiting for it")])
    fresh = Fresh(lambda: _state(given), lambda: document(_kept(_there(given)), [], book, time.time()))
    try:
        running = server(fresh, port or 0, _told)
    except OSError as error:
        raise Failure(f"port {port} cannot be used ({error.strerror}): give another with --port", 2) from None
    print(f"http://{LOOPBACK}:{running.server_address[1]}/   (Ctrl-C ends it)", flush=True)
    with running, suppress(KeyboardInterrupt):
        running.serve_forever(poll_interval=0.2)


def _kept(given: Given) -> Kept:
    try:
        return Kept(given.paths, folded=given.folded)
    except NoSuchSource as error:
        raise Failure(str(error), 3) from None


def _state(given: Given) -> State:
    """Names, sizes and times of all files."""
    found: list[tuple[str, int, int]] = []
    for file in Sources(_there(given).paths, folded=given.folded).files:
        with suppress(OSError):
            about = os.stat(file)
            found.append((file, about.st_size, about.st_mtime_ns))
    return tuple(found)


def _there(given: Given) -> Given:
    """What of the paths is there: a recorder makes its folder with the first record."""
    return replace(given, paths=tuple(path for path in given.paths if Path(path).expanduser().exists()))


def _told(error: Exception) -> None:
    print(f"weighbridge: could not be read again, the page stays as it was ({safe(str(error))})", file=sys.stderr)


def _written(out: str, data: bytes) -> None:
    """Writes the page whole or not at all, readable by its owner only: it tells what was worked on."""
    place = Path(out).expanduser()
    try:
        if out == "-":
            sys.stdout.buffer.write(data)
            return
        with whole_file(place) as file:
            file.write(data)
    except OSError as error:
        raise Failure(f"{out} cannot be written ({error.strerror or error}): name a file with -o", 2) from None
    print(f"{safe(out)}: {len(data):,} bytes", file=sys.stderr)
