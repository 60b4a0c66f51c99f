"""What every reading command does around its own work: open what was given, pick request N, say what was wrong.

Problems go to standard error. The exit code is 0 when all is fine, 1 when what ``--check`` asked for failed, 2 for a
mistake in the command, 3 when nothing could be read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import typer

from analyzers.exchange import Exchange, Problem
from analyzers.failure import Failure, safe
from analyzers.readers.sources import NoSuchSource, Sources


@dataclass(frozen=True, slots=True)
class Given:
    """What a command is to read. ``folded``: fold markers of other tools are markers."""

    paths: tuple[str, ...]
    folded: bool = False


def opened(given: Given) -> Sources:
    """The sources behind what was given. Raises Failure when a path does not exist."""
    try:
        return Sources(given.paths, folded=given.folded)
    except NoSuchSource as error:
        raise Failure(str(error), 3) from None


def nth(sources: Sources, n: int, problems: list[Problem]) -> Exchange:
    """The exchange with number ``n``. Reads the sources twice, so that only one body is in memory."""
    times = [exchange.time or 0.0 for exchange in sources.exchanges(problems)]
    if not times:
        report(problems)
        raise Failure("no recorded request was found", 3)
    if not 1 <= n <= len(times):
        raise Failure(f"there is no request {n}: the captures hold {len(times)}, numbered from 1", 2)
    wanted = in_order(times)[n - 1]
    return next(exchange for position, exchange in enumerate(sources.exchanges([])) if position == wanted)


def in_order(times: Sequence[float]) -> list[int]:
    """Positions in time order, which is what numbers exchanges; those without a time come first."""
    return sorted(range(len(times)), key=lambda position: (times[position], position))


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
