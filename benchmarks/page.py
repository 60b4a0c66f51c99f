"""CPU of what one long session is told by: its report page, and the verdict on its cache, in units of reading it.

Offline, in this process, with the very functions that the commands call, on the capture of `disk.py`. Each round reads
the session, judges its cache and makes its page; the ratios are made within a round. The first is not counted: it loads
the prices and the ranks of the tokenizer.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

from analyzers.cache_report import cache_report
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.readers.kept import Kept
from analyzers.readers.sources import Sources
from analyzers.report.document import document
from analyzers.report.page import page
from analyzers.wire.weighing import Weigher
from benchmarks.disk import FOLD_OVER, journal, lines
from benchmarks.medians import ratios
from benchmarks.scale import Scale
from benchmarks.session import session
from benchmarks.table import Result, Target, figure

CACHE_LIMIT = 4.0
PAGE_LIMIT = 8.0
SIZE_LIMIT = 8.0


@dataclass(slots=True)
class Told:
    """Of one session, CPU seconds by round, and the page in MB."""

    reading: list[float] = field(default_factory=list)
    cache: list[float] = field(default_factory=list)
    page: list[float] = field(default_factory=list)
    size: float = 0.0


def long_session(scale: Scale) -> Result:
    """Raises NotMeasured."""
    turns = scale.page_turns
    found = {number: told(number, scale.page_rounds) for number in turns}
    last = found[turns[-1]]
    rows = tuple(
        (
            f"{number} turns",
            *(figure(median(seconds)) for seconds in (one.reading, one.cache, one.page)),
            figure(one.size, 2),
        )
        for number, one in found.items()
    )
    targets = (
        Target(
            f"cache of {turns[-1]} turns, of reading them", ratios(last.cache, last.reading).median, CACHE_LIMIT, "×"
        ),
        Target(f"page of {turns[-1]} turns, of reading them", ratios(last.page, last.reading).median, PAGE_LIMIT, "×"),
        Target(f"page of {turns[-1]} turns", last.size, SIZE_LIMIT, " MB"),
    )
    head = ("CPU", "reading, s", "cache, s", "page, s", "page, MB")
    return Result("What a long session is told by", head, rows, targets)


def told(turns: int, rounds: int) -> Told:
    """What a session of so many turns costs. Raises NotMeasured."""
    found = Told()
    with tempfile.TemporaryDirectory(prefix="weighbridge-bench-") as folder:
        written(Path(folder), turns)
        for number in range(rounds + 1):
            reading, _ = _timed(lambda: [*Sources([folder]).exchanges([])])
            cache, _ = _timed(lambda: cache_report(Sources([folder]), [], None))
            making, made = _timed(lambda: page(document(Kept([folder]), [], PriceBook(PriceList()), 0.0)))
            found.size = len(made) / 1e6
            if number:
                found.reading.append(reading)
                found.cache.append(cache)
                found.page.append(making)
    return found


def written(folder: Path, turns: int) -> None:
    """The capture of one session. Raises NotMeasured when a line was lost."""
    chance, weigher = Random(4), Weigher(FOLD_OVER)
    with journal(folder, compress=True) as target:
        for number, turn in enumerate(session(turns), 1):
            request, response = lines(turn, number, chance, weigher)
            target.response(response, target.request(request))


def _timed[T](work: Callable[[], T]) -> tuple[float, T]:
    gc.collect()
    began = time.process_time()
    made = work()
    return time.process_time() - began, made
