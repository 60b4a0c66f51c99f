"""The command that tells what personal data was recorded: ``privacy``."""

from __future__ import annotations

from collections.abc import Mapping

import typer

from analyzers.commands import MOST_ROWS
from analyzers.exchange import Problem
from analyzers.failure import Failure
from analyzers.privacy import Search
from analyzers.privacy_shown import print_privacy, privacy_json
from analyzers.progress import watched
from analyzers.reading import Given, in_order, nothing, opened, print_json, report


def privacy(given: Given, n: int | None, as_json: bool, check: bool, every: bool = False) -> None:
    """What all requests carry, or request ``n`` (with the first request of all that had each value). ``check``: exit
    with 1 when anything was found. ``every``: all places, however many."""
    problems: list[Problem] = []
    sources = opened(given)
    sources.notes = {}
    kinds: dict[str, Mapping[str, int]] = {}
    search = Search(kinds, n)
    times: list[float] = []
    with watched(sources.read_so_far):
        for exchange in sources.exchanges(problems):
            times.append(exchange.time or 0.0)
            search.learn(exchange)
    kinds |= {sha256: noted.kinds for sha256, noted in sources.notes.items() if noted.kinds is not None}
    report(problems)
    if n is not None and times and not 1 <= n <= len(times):
        raise Failure(f"there is no request {n}: the captures hold {len(times)}, numbered from 1", 2)
    numbers = {place: number for number, place in enumerate(in_order(times), 1)}
    with watched(sources.read_so_far, "looking"):
        for place, exchange in enumerate(sources.exchanges([])):
            if place in numbers:  # a file that is being written may have grown
                search.look(exchange, numbers[place])
    found = search.result()
    if as_json:
        print_json(privacy_json(found))
    elif times:
        print_privacy(found, None if every else MOST_ROWS)
    if not times:
        nothing(sources, given, problems, as_json)
    if check and found.findings:
        raise typer.Exit(1)
