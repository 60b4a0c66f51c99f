"""What the reading commands do: paths into exchanges, exchanges into results, results onto the terminal or into JSON.

Problems go to standard error. The exit code is 0 when all is fine, 1 when what ``--check`` asked for failed, 2 for a
mistake in the command, 3 when nothing could be read.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
import typer

from analyzers import prune as pruning
from analyzers import tables
from analyzers.exchange import Exchange, Problem
from analyzers.failure import Failure, safe
from analyzers.follow import follow_folders
from analyzers.readers.sources import NoSuchSource, Sources
from analyzers.show import print_shown, shown_json
from analyzers.sizes import UNITS, Unit, request_ledger
from analyzers.summary import Summary, summarise

MOST_ROWS = 12
"""Rows of one field that ``show`` prints without ``--all``."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a command is to read. ``folded``: fold markers of other tools are markers."""

    paths: tuple[str, ...]
    folded: bool = False


def list_all(given: Given, unit: str, as_json: bool, check: bool) -> None:
    """One row per exchange."""
    measured = _unit(unit)
    problems: list[Problem] = []
    sources = opened(given)
    rows = _summaries(sources, measured, problems)
    report(problems)
    if as_json:
        print_json([row.as_json() for row in rows])
    elif rows:
        tables.draw(tables.list_table(rows, unit))
    if not rows:
        nothing(sources, given, problems, as_json)
    if check and any(row.closes is False for row in rows):
        raise typer.Exit(1)


def follow(given: Sequence[str], unit: str, as_json: bool) -> None:
    """One line per exchange, those that are there and then each as it ends, for ever."""
    for row in follow_folders(given, _unit(unit), lambda problem: report([problem])):
        text = json.dumps(row.as_json()) if as_json else "  ".join(filter(None, tables.list_cells(row)))
        print(text, flush=True)


def show(given: Given, n: int, unit: str, as_json: bool, every: bool, check: bool) -> None:
    """One exchange taken apart."""
    measured = _unit(unit)
    problems: list[Problem] = []
    exchange = nth(opened(given), n, problems)
    report(problems)
    row = summarise(exchange, n, measured)
    ledger = request_ledger(exchange.request, measured) if exchange.request is not None else None
    if as_json:
        print_json(shown_json(exchange, row, ledger))
    else:
        print_shown(exchange, row, ledger, None if every else MOST_ROWS)
    if check and ledger is not None and not ledger.closes:
        raise typer.Exit(1)


def prune(given: Sequence[str], older: str | None, larger: str | None, dry_run: bool, as_json: bool) -> None:
    """Removes whole capture files."""
    if older is None and larger is None:
        raise Failure("say what to remove: --older 30d, --larger 500MB, or both", 2)
    try:
        age = pruning.seconds(older) if older is not None else None
        limit = pruning.size(larger) if larger is not None else None
    except ValueError as error:
        raise Failure(str(error), 2) from None
    removed, failed = pruning.run(opened(Given(tuple(given))).files, time.time(), age, limit, dry_run=dry_run)
    report(failed)
    if as_json:
        print_json([{"file": file.path, "bytes": file.bytes} for file in removed])
        return
    for file in removed:
        print(f"{'would remove' if dry_run else 'removed'} {safe(file.path)} ({file.bytes:,} bytes)")
    print(f"{len(removed)} files, {sum(file.bytes for file in removed):,} bytes")


def nth(sources: Sources, n: int, problems: list[Problem]) -> Exchange:
    """The exchange with number ``n``. Reads the sources twice, so that only one body is in memory."""
    times = [exchange.time or 0.0 for exchange in sources.exchanges(problems)]
    if not times:
        report(problems)
        raise Failure("no recorded request was found", 3)
    if not 1 <= n <= len(times):
        raise Failure(f"there is no request {n}: the captures hold {len(times)}, numbered from 1", 2)
    wanted = _in_order(times)[n - 1]
    return next(exchange for position, exchange in enumerate(sources.exchanges([])) if position == wanted)


def _summaries(sources: Sources, unit: Unit, problems: list[Problem]) -> list[Summary]:
    """The summaries of all exchanges, numbered in time order."""
    found = [summarise(exchange, 0, unit) for exchange in sources.exchanges(problems)]
    order = _in_order([row.time or 0.0 for row in found])
    return [replace(found[position], n=n) for n, position in enumerate(order, 1)]


def _in_order(times: Sequence[float]) -> list[int]:
    """Positions in time order, which is what numbers exchanges; those without a time come first."""
    return sorted(range(len(times)), key=lambda position: (times[position], position))


def opened(given: Given) -> Sources:
    """The sources behind what was given. Raises Failure when a path does not exist."""
    try:
        return Sources(given.paths, folded=given.folded)
    except NoSuchSource as error:
        raise Failure(str(error), 3) from None


def _unit(name: str) -> Unit:
    if name not in UNITS:
        raise Failure(f"--unit {name!r} is not one of {', '.join(UNITS)}", 2)
    return UNITS[name]


def print_json(value: Any) -> None:
    """JSON on standard output, indented; text that is no UTF-8, and numbers of any length, as JSON allows them."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        text = json.dumps(value, indent=2)
    sys.stdout.write(text + "\n")


def report(problems: Sequence[Problem]) -> None:
    for problem in problems:
        print(f"weighbridge: {safe(str(problem))}", file=sys.stderr)


def nothing(sources: Sources, given: Given, problems: Sequence[Problem], as_json: bool) -> None:
    """No exchange at all: says why, and fails when nothing could be read."""
    if problems:
        raise typer.Exit(3)
    if not sources.files:
        raise Failure(f"no capture file in {', '.join(given.paths)}; record one with `weighbridge capture`", 3)
    if not as_json:
        print("no request was recorded")
