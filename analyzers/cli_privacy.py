"""The options of ``privacy``."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzers.cli_options import AsJson, Captures, ClaudeCode, Folded, given


def privacy_command(
    context: typer.Context,
    n: Annotated[int | None, typer.Argument(metavar="[N]", help="Only request N, in time order.")] = None,
    captures: Captures = None,
    as_json: AsJson = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 when anything is found.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every place, however many.")] = False,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """What personal data and secrets the requests carry, and where: kinds, places and lengths, never a value."""
    from analyzers import commands_privacy

    what = given(context, captures, folded, claude_code)
    commands_privacy.privacy(what, n, as_json or context.obj.as_json, check, every)
