"""What could not be used, told for a page that may follow a recording.

A recorder that holds its file is known, and an unfinished last line in it is no fault (``readers.sources``). Others
write without holding: where such a file changed just now, its end is not told as a cut.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from analyzers.exchange import Problem
from analyzers.wire.moment import timestamp

JUST_NOW: Final = 30.0
"""Seconds since it was last written to, within which a file may still be growing."""


def problems_told(problems: Iterable[Problem], now: float) -> list[str]:
    """A line for each problem, with the name of its file. ``now``: seconds since the epoch."""
    return [f"{Path(one.place).name}: {_told(one, now)}" for one in problems]


def _told(problem: Problem, now: float) -> str:
    if not problem.cut:
        return problem.text
    try:
        changed = os.stat(problem.place).st_mtime
    except (OSError, ValueError):
        return problem.text
    if now - changed > JUST_NOW:
        return problem.text
    clock = timestamp(now)[11:19]
    return f"its last line was not whole at {clock} UTC, and it is perhaps still being written; all before was read"
