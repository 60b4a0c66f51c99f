"""The commands that look at what a request is made of without showing what it says: ``skeleton`` and ``find``."""

from __future__ import annotations

from pathlib import Path

import typer

from analyzers import find as finding
from analyzers import skeleton as lengths
from analyzers.commands import MOST_ROWS
from analyzers.exchange import Problem
from analyzers.failure import Failure
from analyzers.find_tables import findings_json, print_findings
from analyzers.reading import Given, nothing, nth, opened, print_json, report
from analyzers.skeleton_tables import print_skeleton, skeleton_json
from analyzers.summary import summarise
from analyzers.tables import heading

LARGEST = 64 * 1024 * 1024
"""Bytes of a file whose text is looked for: twice the largest request."""


def skeleton(given: Given, n: int, as_json: bool, every: bool = False) -> None:
    """One request in lengths. ``every``: all tools and blocks, not only the longest."""
    problems: list[Problem] = []
    exchange = nth(opened(given), n, problems)
    report(problems)
    row = summarise(exchange, n)
    shown = lengths.skeleton(exchange.request) if exchange.request is not None else None
    reason = row.reason if shown is None else None
    if as_json:
        print_json(skeleton_json(n, shown, reason))
    else:
        print_skeleton(heading(row, exchange), shown, reason, None if every else MOST_ROWS)


def find(given: Given, text: str | None, file: str | None, as_json: bool, check: bool) -> None:
    """Where a text, or the text of a file, is in all requests and answers. ``check``: exit with 1 when it is
    nowhere."""
    wanted = _wanted(text, file)
    problems: list[Problem] = []
    sources = opened(given)
    found = finding.find(wanted, sources.exchanges(problems))
    report(problems)
    if as_json:
        print_json(findings_json(found))
    elif found.looked:
        print_findings(found)
    if not found.looked:
        nothing(sources, given, problems, as_json)
    if check and not found.found:
        raise typer.Exit(1)


def _wanted(text: str | None, file: str | None) -> str:
    """The text to look for, as it was given or as the file has it."""
    if (text is None) == (file is None):
        raise Failure("say what to look for: a text, or --file with the file that holds it, and not both", 2)
    if file is not None:
        text = _text_of(file)
    if not text:
        raise Failure("an empty text is everywhere: give some text to look for", 2)
    return text


def _text_of(file: str) -> str:
    try:
        with Path(file).expanduser().open("rb") as stream:
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise Failure(f"{file} is larger than any request: give the part of it that was sent", 3)
        return data.decode()
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            reason = f"byte {error.start}"
            raise Failure(f"{file} is not UTF-8 text ({reason}): give the text that the client sent", 3) from None
        told = (error.strerror if isinstance(error, OSError) else None) or error
        raise Failure(f"{file} cannot be read ({told})", 3) from None
