"""The options of ``calibrate``, and the option of those who use what it wrote."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzers.cli_options import AsJson, Captures, ClaudeCode, Folded, given

CalibrationFile = Annotated[
    str | None,
    typer.Option(
        "--calibration",
        metavar="FILE",
        help="Multiply estimates by what `calibrate` found. Default: $WEIGHBRIDGE_CALIBRATION, then none.",
    ),
]


def calibrate_command(
    context: typer.Context,
    out: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where the calibration goes (JSON).")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Use multipliers that make held-out errors no better.")
    ] = False,
    captures: Captures = None,
    as_json: AsJson = False,
    folded: Folded = False,
    claude_code: ClaudeCode = False,
) -> None:
    """Fit token estimates to what the server counted in your own captures, and say how much better they become."""
    from analyzers import commands_calibrate

    what = given(context, captures, folded, claude_code)
    commands_calibrate.calibrate(what, out, force, as_json or context.obj.as_json)
