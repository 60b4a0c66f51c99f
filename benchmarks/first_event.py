"""Time to the first event of a stream whose events come 50 ms apart, each stream one request on an open connection.

A proxy that holds the answer back shows in the whole length of the stream; a recorder that works before it forwards the
request, or before it hands the first event on, shows in milliseconds.
"""

from __future__ import annotations

from statistics import median

from benchmarks import load
from benchmarks.load import Timing
from benchmarks.medians import percentile
from benchmarks.proxies import DIRECT, PLAIN, STREAM_ONLY, WEIGHBRIDGE, site
from benchmarks.scale import Scale
from benchmarks.table import Result, Target, figure

WISH = "pace=0.05;words=1"
LIMIT = 3.0
"""Milliseconds that weighbridge's first event may come later."""


def first_event(scale: Scale) -> Result:
    """Raises NotMeasured, WrongAnswer, OSError."""
    with site((PLAIN, STREAM_ONLY, WEIGHBRIDGE)) as here:
        ports = {DIRECT: here.stub.port, **{name: proxy.port for name, proxy in here.proxies.items()}}
        ways: dict[str, list[Timing]] = {}
        # what is compared takes turns; of the others a few are enough
        for names, rounds in (((DIRECT, PLAIN), 3), ((STREAM_ONLY, WEIGHBRIDGE), scale.streams)):
            found = here.load(load.streams, [ports[name] for name in names], "golden", WISH, rounds)
            ways.update(zip(names, found, strict=True))
    rows = tuple(_row(name, timings) for name, timings in ways.items())
    later = [ours.first_event - its.first_event for ours, its in zip(ways[WEIGHBRIDGE], ways[STREAM_ONLY], strict=True)]
    target = Target("first event, golden, later than with streaming only", 1e3 * median(later), LIMIT, " ms")
    head = ("golden, 1 connection", "first event p50 ms", "p99 ms", "last event p50 ms")
    return Result("First event of a stream", head, rows, (target,))


def _row(name: str, timings: list[Timing]) -> tuple[str, ...]:
    first = [1e3 * timing.first_event for timing in timings]
    last = [1e3 * timing.end for timing in timings]
    return name, figure(median(first)), figure(percentile(first, 99)), figure(median(last), 0)
