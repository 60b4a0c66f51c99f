"""The commands about single exchanges: ``list``, ``show``, and ``prune`` for what is no longer wanted."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace

import typer

from analyzers import prune as pruning
from analyzers import tables
from analyzers.exchange import Problem
from analyzers.failure import Failure, safe
from analyzers.follow import follow_folders
from analyzers.prompts import rebuilt
from analyzers.readers.sources import Sources
from analyzers.reading import Given, in_order, nothing, nth, opened, print_json, report
from analyzers.show import print_shown, shown_json
from analyzers.sizes import UNITS, Unit, request_ledger
from analyzers.summary import Summary, summarise

MOST_ROWS = 12
"""Rows of one field that ``show`` prints without ``--all``."""


def list_all(given: Given, unit: str, as_json: bool, check: bool) -> None:
    """One row per exchange."""
    measured = _unit(unit)
    problems: list[Problem] = []
    sources = opened(given)
    rows = _summaries(sources, measured, problems)
    report(problems)
    if as_json:
        print_json([row.with_failure() for row in rows])
    elif rows:
        tables.draw(tables.list_table(rows, unit))
    if not rows:
        nothing(sources, given, problems, as_json)
    if check and any(row.closes is False for row in rows):
        raise typer.Exit(1)


def follow(given: Sequence[str], unit: str, as_json: bool) -> None:
    """One line per exchange, those that are there and then each as it ends, for ever."""
    for row in follow_folders(given, _unit(unit), lambda problem: report([problem])):
        text = json.dumps(row.with_failure()) if as_json else "  ".join(filter(None, tables.list_cells(row)))
        print(text, flush=True)


def show(given: Given, n: int, unit: str, as_json: bool, every: bool, check: bool) -> None:
    """One exchange taken apart."""
    measured = _unit(unit)
    problems: list[Problem] = []
    sources = opened(given)
    exchange = nth(sources, n, problems)
    report(problems)
    row = summarise(exchange, n, measured)
    ledger = request_ledger(exchange.request, measured) if exchange.request is not None else None
    prompt = rebuilt(exchange, lambda: sources.exchanges([]), measured)
    if as_json:
        print_json(shown_json(exchange, row, ledger, prompt))
    else:
        print_shown(exchange, row, ledger, prompt, None if every else MOST_ROWS)
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


def _summaries(sources: Sources, unit: Unit, problems: list[Problem]) -> list[Summary]:
    """The summaries of all exchanges, numbered in time order."""
    found = [summarise(exchange, 0, unit) for exchange in sources.exchanges(problems)]
    order = in_order([row.time or 0.0 for row in found])
    return [replace(found[position], n=n) for n, position in enumerate(order, 1)]


def _unit(name: str) -> Unit:
    if name == "tokens":
        raise Failure("only show and estimate count in tokens: show N --unit tokens", 2)
    if name not in UNITS:
        raise Failure(f"--unit {name!r} is not one of {', '.join(UNITS)}", 2)
    return UNITS[name]
