"""The reading commands. ``python -m analyzers`` runs them alone; ``weighbridge`` adds those that record.

Thin: options into paths and values, results into tables or JSON, problems onto standard error, and the exit code: 0
fine, 1 what ``--check`` asked for failed, 2 usage, 3 nothing readable.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import orjson
import typer

from analyzers import tables
from analyzers.exchange import Exchange, Problem
from analyzers.readers.sources import NoSuchSource, Sources
from analyzers.show import print_shown, shown_json
from analyzers.sizes import UNITS, Unit, request_ledger
from analyzers.summary import Summary, summarise

app = typer.Typer(
    name="weighbridge",
    help="Weighs recorded Messages API traffic: what was sent, what it cost, and who saw the data.",
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Captures = Annotated[
    list[str] | None,
    typer.Option(
        "--captures",
        "-c",
        metavar="PATH",
        help="Capture file, folder, or - ; may be repeated. Default: $WEIGHBRIDGE_CAPTURES, then ./captures.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
UnitOption = Annotated[str, typer.Option("--unit", metavar="|".join(UNITS), help="What sizes are counted in.")]
Check = Annotated[bool, typer.Option("--check", help="Exit with 1 when a ledger does not close.")]


class Failure(typer.Exit):
    """Ends the command with one sentence on standard error."""

    def __init__(self, sentence: str, code: int) -> None:
        print(f"weighbridge: {tables.safe(sentence)}", file=sys.stderr)
        super().__init__(code)


@dataclass(slots=True)
class Shared:
    """What was given before the command's name."""

    captures: list[str] = field(default_factory=list)
    as_json: bool = False


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    captures: Captures = None,
    show: Annotated[int | None, typer.Option("--show", metavar="N", help="The same as `show N`.")] = None,
    as_json: AsJson = False,
    unit: UnitOption = "chars",
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Weighs recorded Messages API traffic. Without a command: the list of what was recorded."""
    context.obj = Shared(captures or [], as_json)
    if version:
        from importlib.metadata import version as installed

        print(installed("weighbridge"))
        raise typer.Exit
    if show is not None and context.invoked_subcommand is not None:
        raise Failure(f"--show {show} and the command {context.invoked_subcommand!r} cannot go together", 2)
    if show is not None:
        show_command(context, show, None, as_json, unit)
    elif context.invoked_subcommand is None:
        list_command(context, None, as_json, unit)


def paths(context: typer.Context, captures: list[str] | None) -> list[str]:
    """The paths given before or after the command, else the defaults."""
    given = [*context.obj.captures, *(captures or [])]
    return given or [os.environ.get("WEIGHBRIDGE_CAPTURES") or "captures"]


def opened(given: Sequence[str]) -> Sources:
    try:
        return Sources(given)
    except NoSuchSource as error:
        raise Failure(str(error), 3) from None


def chosen_unit(name: str) -> Unit:
    if name not in UNITS:
        raise Failure(f"--unit {name!r} is not one of {', '.join(UNITS)}", 2)
    return UNITS[name]


def in_order(sources: Sources, problems: list[Problem]) -> list[tuple[float, int]]:
    """The time and position of every exchange, in time order: what numbers them. Exchanges without a time come
    first."""
    return sorted(
        (exchange.time if exchange.time is not None else 0.0, position)
        for position, exchange in enumerate(sources.exchanges(problems))
    )


def summaries(sources: Sources, unit: Unit, problems: list[Problem]) -> list[Summary]:
    """The summaries of all exchanges, numbered in time order."""
    found = [summarise(exchange, 0, unit) for exchange in sources.exchanges(problems)]
    order = sorted(range(len(found)), key=lambda position: (found[position].time or 0.0, position))
    return [replace(found[position], n=n) for n, position in enumerate(order, 1)]


def nth(sources: Sources, n: int, problems: list[Problem]) -> Exchange:
    """The exchange with number ``n``. Reads the sources twice, so that only one body is in memory."""
    order = in_order(sources, problems)
    if not order:
        _report(problems)
        raise Failure("no recorded request was found", 3)
    if not 1 <= n <= len(order):
        raise Failure(f"there is no request {n}: the captures hold {len(order)}, numbered from 1", 2)
    wanted = order[n - 1][1]
    return next(exchange for position, exchange in enumerate(sources.exchanges([])) if position == wanted)


@app.command("list")
def list_command(
    context: typer.Context,
    captures: Captures = None,
    as_json: AsJson = False,
    unit: UnitOption = "chars",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on and print each exchange as it ends.")] = False,
    check: Check = False,
) -> None:
    """One line per recorded request: model served, fields' share, size, input and output tokens, how it ended."""
    measured = chosen_unit(unit)
    given = paths(context, captures)
    as_json = as_json or context.obj.as_json
    if follow:
        from analyzers.follow import follow_folders

        try:
            for row in follow_folders(given, measured, lambda problem: _report([problem])):
                print_row(row, as_json)
        except NoSuchSource as error:
            raise Failure(str(error), 3) from None
        return
    problems: list[Problem] = []
    sources = opened(given)
    rows = summaries(sources, measured, problems)
    _report(problems)
    if as_json:
        print_json([row.as_json() for row in rows])
    elif rows:
        tables.draw(tables.list_table(rows, unit))
    if not rows:
        _nothing(sources, given, problems, as_json)
    if check and any(row.closes is False for row in rows):
        raise typer.Exit(1)


@app.command("show")
def show_command(
    context: typer.Context,
    n: Annotated[int, typer.Argument(metavar="N", help="Number of the request, in time order.")],
    captures: Captures = None,
    as_json: AsJson = False,
    unit: UnitOption = "chars",
    every: Annotated[bool, typer.Option("--all", help="Show every block, however many.")] = False,
    check: Check = False,
) -> None:
    """One request taken apart: fields, blocks, structure, and the steps down to the bytes on the wire."""
    measured = chosen_unit(unit)
    problems: list[Problem] = []
    exchange = nth(opened(paths(context, captures)), n, problems)
    _report(problems)
    row = summarise(exchange, n, measured)
    ledger = request_ledger(exchange.request, measured) if exchange.request is not None else None
    if as_json or context.obj.as_json:
        print_json(shown_json(exchange, row, ledger))
    else:
        print_shown(exchange, row, ledger, None if every else MOST_ROWS)
    if check and ledger is not None and not ledger.closes:
        raise typer.Exit(1)


MOST_ROWS = 12
"""Rows of one field that ``show`` prints without ``--all``."""


@app.command("prune")
def prune_command(
    context: typer.Context,
    captures: Captures = None,
    older: Annotated[
        str | None,
        typer.Option("--older", metavar="AGE", help="Remove capture files last written longer ago: 30d, 12h, 90m."),
    ] = None,
    larger: Annotated[
        str | None,
        typer.Option("--larger", metavar="SIZE", help="Remove the oldest until the rest is no larger: 500MB, 2GB."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed, remove nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Removes whole capture files, never one that is being written."""
    import time

    from analyzers import prune

    if older is None and larger is None:
        raise Failure("say what to remove: --older 30d, --larger 500MB, or both", 2)
    try:
        age = prune.seconds(older) if older is not None else None
        limit = prune.size(larger) if larger is not None else None
    except ValueError as error:
        raise Failure(str(error), 2) from None
    removed, failed = prune.run(opened(paths(context, captures)).files, time.time(), age, limit, dry_run=dry_run)
    _report(failed)
    if as_json or context.obj.as_json:
        print_json([{"file": file.path, "bytes": file.bytes} for file in removed])
    else:
        for file in removed:
            print(f"{'would remove' if dry_run else 'removed'} {tables.safe(file.path)} ({file.bytes:,} bytes)")
        print(f"{len(removed)} files, {sum(file.bytes for file in removed):,} bytes")


def print_row(row: Summary, as_json: bool) -> None:
    """One exchange of a list that goes on."""
    text = (
        orjson.dumps(row.as_json()).decode() if as_json else "  ".join(cell for cell in tables.list_cells(row) if cell)
    )
    print(text, flush=True)


def print_json(value: Any) -> None:
    """JSON for programs, with one line per member when a person looks."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode() + "\n")


def _report(problems: Sequence[Problem]) -> None:
    for line in tables.problem_lines(problems):
        print(f"weighbridge: {line}", file=sys.stderr)


def _nothing(sources: Sources, given: Sequence[str], problems: Sequence[Problem], as_json: bool) -> None:
    """No exchange at all: says why, and fails when nothing could be read."""
    if problems:
        raise typer.Exit(3)
    if not sources.files:
        raise Failure(f"no capture file in {', '.join(given)}; record one with `weighbridge capture`", 3)
    if not as_json:
        print("no request was recorded")


def run() -> None:
    """Runs the reading commands. Ends quietly when the reader of a pipe has gone."""
    run_app(app)


def run_app(target: typer.Typer) -> None:
    try:
        target()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
