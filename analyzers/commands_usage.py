"""The commands that add up calls: ``usage``."""

from __future__ import annotations

from datetime import UTC, tzinfo

from analyzers.exchange import Problem
from analyzers.failure import Failure
from analyzers.gather import usage_report
from analyzers.reading import Given, nothing, opened, print_json, report
from analyzers.usage_shown import VIEWS, print_report, report_json

MOST_ROWS = 20
"""Rows of one table that ``usage`` prints without ``--all``."""


def usage(given: Given, by: str | None, tz: str, as_json: bool, every: bool) -> None:
    """What all calls spent. ``by``: one view only; ``tz``: whose days."""
    if by is not None and by not in VIEWS:
        raise Failure(f"--by {by!r} is not one of {', '.join(VIEWS)}", 2)
    zone = zone_of(tz)
    problems: list[Problem] = []
    sources = opened(given)
    found = usage_report(sources, problems, zone)
    report(problems)
    if as_json:
        print_json(report_json(found))
    elif found.calls or found.probes or found.awaited:
        print_report(found, by, None if every else MOST_ROWS, "UTC" if zone is UTC else tz)
    if not found.calls and not found.probes and not found.awaited:
        nothing(sources, given, problems, as_json)


def zone_of(name: str) -> tzinfo:
    """The time zone of this name. Raises Failure."""
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Failure(f"--tz {name!r} is no time zone of this machine; write it like Europe/Berlin or UTC", 2) from None
