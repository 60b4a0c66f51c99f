"""The options of ``redact``."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzers.cli_options import AsJson


def redact_command(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="IN", help="Capture, log, flow file, HAR, body, or a folder.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="Where the redacted copy goes; IN is only read.")],
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="PLACE", help="Leave as it is: tools[*], headers.user-agent; may be repeated."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="PLACE", help="Leave only lengths: messages[*].content[*].input; repeatable."),
    ] = None,
    keep_text: Annotated[
        bool, typer.Option("--keep-text", help="Replace only what `privacy` finds; read it before you share it.")
    ] = False,
    fold_over: Annotated[
        int | None, typer.Option("--fold-over", metavar="N", help="Fold texts of more than N characters on the way.")
    ] = None,
    as_capture: Annotated[
        str | None, typer.Option("--as", metavar="capture", help="Write a capture where OUT would be a request body.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT when it is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """A copy that can be shared: every text scrambled, every exact figure the same. Nothing is written unless clean."""
    from analyzers import commands_redact

    commands_redact.redact(
        source,
        target,
        keep or (),
        drop or (),
        fold_over,
        keep_text,
        as_capture,
        force,
        as_json or context.obj.as_json,
    )
