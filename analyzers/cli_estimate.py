"""The options of ``estimate``."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzers.cli_calibrate import CalibrationFile
from analyzers.cli_options import AsJson, Folded


def estimate_command(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A request body in JSON; - is standard input.")],
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="Instead of the body's own.")] = None,
    prices: Annotated[str | None, typer.Option("--prices", metavar="FILE", help="Prices of your own (TOML).")] = None,
    as_json: AsJson = False,
    every: Annotated[bool, typer.Option("--all", help="Show every block, however many.")] = False,
    folded: Folded = False,
    calibration: CalibrationFile = None,
) -> None:
    """The tokens of a request before it is sent, by field and block, what is unknown, and what its input costs."""
    from analyzers import commands_estimate

    shared = context.obj
    as_json, folded = as_json or shared.as_json, folded or shared.folded
    commands_estimate.estimate_file(file, model, prices, as_json, every, folded, calibration)
