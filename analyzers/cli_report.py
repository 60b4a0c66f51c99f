"""The options of ``report``."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzers.cli_options import AsJson, Captures, ClaudeCode, Folded, given
from analyzers.failure import Failure


def report_command(
    context: typer.Context,
    out: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes; - is standard output.")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page on 127.0.0.1 and follow what is recorded.")
    ] = False,
    port: Annotated[int | None, typer.Option("--port", "-p", help="With --serve. Default: a free one.")] = None,
    captures: Captures = None,
    as_json: AsJson = False,
    prices: Annotated[str | None, typer.Option("--prices", metavar="FILE", help="Prices of your own (TOML).")] = None,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """Everything on one self-contained page: sizes, growth, cache, cost, tools, personal data; --serve follows."""
    from analyzers import commands_report

    what = given(context, captures, folded, claude_code)
    as_json = as_json or context.obj.as_json
    if serve and (out is not None or as_json):
        raise Failure("--serve shows the page itself: leave out -o and --json", 2)
    if port is not None and not serve:
        raise Failure("--port is for --serve: add it, or leave the port out", 2)
    if serve:
        commands_report.serve_report(what, port, prices)
    else:
        commands_report.write_report(what, out, prices, as_json)
