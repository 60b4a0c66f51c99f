"""The reading commands. ``python -m analyzers`` runs them alone; ``weighbridge`` adds those that record.

Options only: what a command does is in ``commands``, imported when one runs, so that ``--help`` is there at once.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from io import TextIOWrapper
from typing import Annotated

import typer

from analyzers.failure import Failure

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
UnitOption = Annotated[str, typer.Option("--unit", metavar="chars|utf16|bytes|json", help="What sizes are counted in.")]
Check = Annotated[bool, typer.Option("--check", help="Exit with 1 when a ledger does not close.")]


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
    from analyzers import commands

    given, as_json = paths(context, captures), as_json or context.obj.as_json
    if follow:
        commands.follow(given, unit, as_json)
    else:
        commands.list_all(given, unit, as_json, check)


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
    from analyzers import commands

    commands.show(paths(context, captures), n, unit, as_json or context.obj.as_json, every, check)


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
    from analyzers import commands

    commands.prune(paths(context, captures), older, larger, dry_run, as_json or context.obj.as_json)


def run() -> None:
    """Runs the reading commands. Ends quietly when the reader of a pipe has gone."""
    run_app(app)


def run_app(target: typer.Typer) -> None:
    """Runs a command line whose output may go anywhere: what a terminal cannot show is escaped, and a pipe whose reader
    has gone is no failure."""
    if sys.stdout is None:  # closed by whoever started this
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        target()
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is not tried again at the exit
        if isinstance(error, BrokenPipeError):
            raise SystemExit(0) from None
        Failure(f"the output cannot be written ({error.strerror or error})", 1)
        raise SystemExit(1) from None
