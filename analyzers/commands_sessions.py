"""The commands about who continues whom: ``sessions``, and ``sessions --compare``."""

from __future__ import annotations

from collections.abc import Sequence

from analyzers.comparison import compared
from analyzers.comparison_shown import comparison_json, print_comparison
from analyzers.exchange import Problem
from analyzers.failure import Failure
from analyzers.gather import log_calls, traced
from analyzers.reading import Given, nothing, opened, print_json, report
from analyzers.sessions import session_rows
from analyzers.sessions_shown import print_sessions, sessions_json

MOST_SESSIONS = 20
"""Sessions that ``sessions`` prints without ``--all``, the newest."""


def sessions(given: Given, as_json: bool, every: bool) -> None:
    """Every session with its threads."""
    problems: list[Problem] = []
    sources = opened(given)
    found = traced(sources, problems)
    report(problems)
    rows = session_rows(found.lineage(), found.calls)
    if as_json:
        print_json(sessions_json(rows))
    elif rows:
        print_sessions(rows, None if every else MOST_SESSIONS)
    if not rows:
        nothing(sources, given, problems, as_json)


def compare(given: Given, logs: Sequence[str], as_json: bool) -> None:
    """What was recorded beside what Claude Code's own logs say of the same sessions."""
    problems: list[Problem] = []
    sources = opened(given)
    wire = traced(sources, problems, without_logs=True)
    told = log_calls(opened(Given(tuple(logs))), problems)
    report(problems)
    if not wire.traces:
        nothing(sources, given, problems, as_json)
        return
    if not told.calls:
        raise Failure(f"no call in {', '.join(logs)}; name session files of Claude Code, or their folder", 3)
    found = compared(wire.lineage(), wire.calls, told.calls, told.own_totals)
    if as_json:
        print_json(comparison_json(found))
    else:
        print_comparison(found)
