"""The reading commands. ``python -m analyzers`` runs them alone; ``weighbridge`` adds those that record.

Options only: what a command does is in ``commands``, imported when one runs, so that ``--help`` is there at once.
"""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from analyzers.cli_calibrate import CalibrationFile, calibrate_command
from analyzers.cli_estimate import estimate_command
from analyzers.cli_export import export_command
from analyzers.cli_growth import growth_command
from analyzers.cli_options import (
    AsJson,
    Captures,
    Check,
    ClaudeCode,
    Folded,
    Number,
    Shared,
    UnitOption,
    claude_code_folders,
    given,
    paths,
)
from analyzers.cli_privacy import privacy_command
from analyzers.cli_redact import redact_command
from analyzers.cli_report import report_command
from analyzers.failure import Failure

__all__ = ("app", "paths", "run", "run_app")

app = typer.Typer(
    name="weighbridge",
    help="Weighs recorded Messages API traffic: what was sent, and what it cost.",
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    captures: Captures = None,
    show: Annotated[int | None, typer.Option("--show", metavar="N", help="The same as `show N`.")] = None,
    as_json: AsJson = False,
    unit: UnitOption = "chars",
    folded: Folded = False,
    claude_code: ClaudeCode = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Weighs recorded Messages API traffic. Without a command: the list of what was recorded."""
    context.obj = Shared(captures or [], as_json, folded, claude_code)
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


@app.command("list")
def list_command(
    context: typer.Context,
    captures: Captures = None,
    as_json: AsJson = False,
    unit: UnitOption = "chars",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on and print each exchange as it ends.")] = False,
    check: Check = False,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """One line per recorded request: model served, fields' share, size, input and output tokens, how it ended."""
    from analyzers import commands

    what, as_json = given(context, captures, folded, claude_code), as_json or context.obj.as_json
    if follow:
        commands.follow(what.paths, unit, as_json)
    else:
        commands.list_all(what, unit, as_json, check)


@app.command("show")
def show_command(
    context: typer.Context,
    n: Annotated[int | None, typer.Argument(metavar="N", help="Number of the request, in time order.")] = None,
    captures: Captures = None,
    as_json: AsJson = False,
    unit: Annotated[
        str, typer.Option("--unit", metavar="chars|utf16|bytes|json|tokens", help="What sizes are counted in.")
    ] = "chars",
    ratios: Annotated[
        bool, typer.Option("--ratios", help="Characters per token of all requests, by kind of writing and field.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every block, however many.")] = False,
    check: Check = False,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
    calibration: CalibrationFile = None,
) -> None:
    """One request taken apart: fields, blocks, structure, and the steps down to the bytes on the wire."""
    from analyzers import commands, commands_tokens

    what, as_json = given(context, captures, folded, claude_code), as_json or context.obj.as_json
    if calibration is not None and (ratios or unit != "tokens"):
        raise Failure("--calibration is for estimated tokens: show N --unit tokens --calibration FILE", 2)
    if ratios:
        commands_tokens.ratios(what, as_json)
    elif n is None:
        raise Failure("say which request: show N, as list numbers them", 2)
    elif unit == "tokens":
        commands_tokens.show(what, n, as_json, None if every else commands.MOST_ROWS, calibration)
    else:
        commands.show(what, n, unit, as_json, every, check)


@app.command("skeleton")
def skeleton_command(
    context: typer.Context,
    n: Number,
    captures: Captures = None,
    as_json: AsJson = False,
    every: Annotated[bool, typer.Option("--all", help="Show every tool and block, however many.")] = False,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """One request in lengths only: tools, system blocks, cache_control, roles, blocks. Nothing of the content."""
    from analyzers import commands_look

    what = given(context, captures, folded, claude_code)
    commands_look.skeleton(what, n, as_json or context.obj.as_json, every)


@app.command("find")
def find_command(
    context: typer.Context,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="What to look for, exactly.")] = None,
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help="Look for the text of a file.")] = None,
    captures: Captures = None,
    as_json: AsJson = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 when it is nowhere.")] = False,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """Which request and block contains a text: a hook's output, a file. Folded strings are compared by their hash."""
    from analyzers import commands_look

    what = given(context, captures, folded, claude_code)
    commands_look.find(what, text, file, as_json or context.obj.as_json, check)


@app.command("diff")
def diff_command(
    context: typer.Context,
    a: Annotated[int, typer.Argument(metavar="A", help="Number of a request, in time order.")],
    b: Annotated[int | None, typer.Argument(metavar="B", help="Number of the request beside it.")] = None,
    captures: Captures = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="PATH", help="Take B (or the same number) from another capture."),
    ] = None,
    as_json: AsJson = False,
    unit: UnitOption = "chars",
    text: Annotated[bool, typer.Option("--text", help="Show a few characters around what differs in texts.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every tool and block, however many.")] = False,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """Two requests side by side: fields, tools by name, blocks that went, came, changed or moved, cache_control."""
    from analyzers import commands_diff

    what = given(context, captures, folded, claude_code)
    commands_diff.diff(what, a, b, against, unit, text, as_json or context.obj.as_json, every)


@app.command("usage")
def usage_command(
    context: typer.Context,
    captures: Captures = None,
    as_json: AsJson = False,
    by: Annotated[
        str | None, typer.Option("--by", metavar="request|session|model|day", help="Only this table.")
    ] = None,
    tz: Annotated[str, typer.Option("--tz", metavar="ZONE", help="Whose days: UTC, Europe/Berlin, …")] = "UTC",
    every: Annotated[bool, typer.Option("--all", help="Show every row, however many.")] = False,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """Tokens in all, by model, day and session: input, cache writes, cache reads, output. Each call counted once."""
    from analyzers import commands_usage

    what = given(context, captures, folded, claude_code)
    commands_usage.usage(what, by, tz, as_json or context.obj.as_json, every)


@app.command("cost")
def cost_command(
    context: typer.Context,
    captures: Captures = None,
    as_json: AsJson = False,
    by: Annotated[
        str | None, typer.Option("--by", metavar="request|session|model|day", help="Show this view only.")
    ] = None,
    tz: Annotated[str, typer.Option("--tz", metavar="ZONE", help="Whose days: a name like Europe/Berlin.")] = "UTC",
    prices: Annotated[
        str | None,
        typer.Option(
            "--prices", metavar="FILE", help="Your own prices (TOML), before the list's. $WEIGHBRIDGE_PRICES."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every row, however many.")] = False,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """What the calls cost in USD at list price, or at your own: in all, by model, day, session, thread and request."""
    from analyzers import commands_cost

    what = given(context, captures, folded, claude_code)
    commands_cost.cost(what, by, tz, prices, as_json or context.obj.as_json, every)


@app.command("sessions")
def sessions_command(
    context: typer.Context,
    captures: Captures = None,
    as_json: AsJson = False,
    every: Annotated[bool, typer.Option("--all", help="Show every session and turn, however many.")] = False,
    compare: Annotated[
        list[str] | None,
        typer.Option("--compare", metavar="LOGS", help="Put Claude Code's own logs beside what was recorded."),
    ] = None,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """Sessions with their threads and turns: sub-agents, forks, retries, compaction; which start with a warm cache."""
    from analyzers import commands_sessions

    if compare:
        what = given(context, captures, folded)
        logs = [*compare, *(claude_code_folders() if claude_code else [])]
        commands_sessions.compare(what, logs, as_json or context.obj.as_json)
        return
    what = given(context, captures, folded, claude_code)
    commands_sessions.sessions(what, as_json or context.obj.as_json, every)


@app.command("cache")
def cache_command(
    context: typer.Context,
    newest: Annotated[int | None, typer.Argument(metavar="[N]", help="Only the newest N sessions.")] = None,
    captures: Captures = None,
    as_json: AsJson = False,
    prices: Annotated[str | None, typer.Option("--prices", metavar="FILE", help="Prices of your own (TOML).")] = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 when a chain is broken.")] = False,
    advise: Annotated[
        bool, typer.Option("--advise", help="Replay every placement of up to four breakpoints: which costs least?")
    ] = False,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """The prompt cache, request by request: whether each read what the one before left, and if not, where and why."""
    from analyzers import commands_cache

    what = given(context, captures, folded, claude_code)
    commands_cache.cache(what, newest, prices, as_json or context.obj.as_json, check, advise)


app.command("estimate")(estimate_command)
app.command("export")(export_command)
app.command("calibrate")(calibrate_command)
app.command("growth")(growth_command)
app.command("privacy")(privacy_command)
app.command("redact")(redact_command)
app.command("report")(report_command)


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
    except SystemExit as ending:
        if isinstance(ending.__context__, BrokenPipeError):  # told as a failure by the library of the command line
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is not tried again at the exit
        if isinstance(error, BrokenPipeError):
            raise SystemExit(0) from None
        Failure(f"the output cannot be written ({error.strerror or error})", 1)
        raise SystemExit(1) from None
