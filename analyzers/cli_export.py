"""The options of ``export``."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzers.cli_options import AsJson, Captures, ClaudeCode, Folded, given


def export_command(
    context: typer.Context,
    numbers: Annotated[
        list[int] | None, typer.Argument(metavar="N", help="Numbers of requests, in time order. A HAR: all.")
    ] = None,
    to: Annotated[
        str,
        typer.Option("--to", metavar="curl|har", help="A script that sends request N again; or a HAR of exchanges."),
    ] = "",
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where it goes; the body of a request into a .json beside."
        ),
    ] = None,
    captures: Captures = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    as_json: AsJson = False,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """Requests in the form of other programs: a curl script that sends one again, or a HAR."""
    from analyzers import commands_export

    what = given(context, captures, folded, claude_code)
    commands_export.export(what, to, numbers or (), output, force, as_json or context.obj.as_json)
