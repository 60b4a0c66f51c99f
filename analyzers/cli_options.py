"""What the reading commands share: options that several take, and what was given before the command's name."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from analyzers.failure import Failure

if TYPE_CHECKING:
    from analyzers.reading import Given

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
Number = Annotated[int, typer.Argument(metavar="N", help="Number of the request, in time order.")]
Folded = Annotated[
    bool,
    typer.Option("--folded", help="Take {_elided, chars, sha256} objects outside captures for folded strings."),
]
ClaudeCode = Annotated[
    bool,
    typer.Option("--claude-code", help="Read Claude Code's own logs: of $CLAUDE_CONFIG_DIR, else of ~/.claude."),
]
Check = Annotated[bool, typer.Option("--check", help="Exit with 1 when a ledger does not close.")]


@dataclass(slots=True)
class Shared:
    """What was given before the command's name."""

    captures: list[str] = field(default_factory=list)
    as_json: bool = False
    folded: bool = False
    claude_code: bool = False


def paths(context: typer.Context, captures: list[str] | None) -> list[str]:
    """The paths given before or after the command, else the defaults."""
    given = [*context.obj.captures, *(captures or [])]
    return given or [os.environ.get("WEIGHBRIDGE_CAPTURES") or "captures"]


def given(context: typer.Context, captures: list[str] | None, folded: bool = False, claude_code: bool = False) -> Given:
    """What a reading command is to read, whether it was said before or after the command."""
    from analyzers.reading import Given

    named = [*context.obj.captures, *(captures or [])]
    logs = claude_code_folders() if claude_code or context.obj.claude_code else []
    return Given(tuple([*named, *logs] or paths(context, captures)), folded or context.obj.folded)


def claude_code_folders() -> list[str]:
    """The folders of Claude Code's logs on this machine."""
    from pathlib import Path

    from analyzers.readers.claude_files import NoLogs, log_folders

    try:
        return log_folders(os.environ, Path.home())
    except NoLogs as error:
        raise Failure(str(error), 3) from None
