"""CPU of what runs before a request is forwarded, parse + fold + size, in units of `orjson.loads` of the same body.

In this process, with the very functions that the recorder calls. Both sides are repeated until one repetition takes a
few milliseconds of CPU, and the repetitions take turns. Reported is the median of the ratios within a turn, and the
ratio of the best times on either side, which is what is left when nothing disturbs.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import orjson

from analyzers.wire.weighing import weighed
from analyzers.wire.weight import Figures
from benchmarks.bodies import named, of_clients
from benchmarks.medians import ratios
from benchmarks.scale import Scale
from benchmarks.table import Result, Target, figure

FOLD_OVER = 400
LIMIT = 8.0
LARGE = 50_000
"""Bytes from which a ratio says something about the work; below, most of it is what any call costs."""
BLOCK_SECONDS = 0.002
"""CPU of one repetition of `orjson.loads`."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one body: seconds of `orjson.loads` and of the recorder's part, and how many times as much that is."""

    size: int
    loads: float
    ours: float
    times: float
    best: float


def before_forwarding(data: bytes) -> Figures:
    """What the recorder does with a body that is not compressed. Raises NotJson."""
    return weighed(data, len(data), FOLD_OVER)[2]


def cost(scale: Scale) -> Result:
    """Of the bodies of a client, some of all sizes."""
    rows: list[tuple[str, ...]] = []
    targets: list[Target] = []
    for name in ("golden", "1 MB"):
        found = measured(named(name).fresh(), scale.cpu_rounds)
        rows.append(_row(name, [found]))
        targets.append(Target(f"parse + fold + size, {name}, of orjson.loads", found.times, LIMIT, "×"))
    for client, bodies in of_clients().items():
        step = -(-len(bodies) // scale.bodies)
        costs = [measured(data, scale.cpu_rounds) for data in bodies[::step] if _is_plain(data)]
        rows.append(_row(client, costs))
        if median(found.size for found in costs) >= LARGE:
            times = median(found.times for found in costs)
            targets.append(Target(f"parse + fold + size, {client}, of orjson.loads", times, LIMIT, "×"))
    head = ("", "bodies", "bytes, median", "orjson.loads, µs", "parse + fold + size, µs", "ratio", "best", "highest")
    return Result("CPU before a request is forwarded", head, tuple(rows), tuple(targets))


def measured(data: bytes, rounds: int) -> Cost:
    """Raises JSONDecodeError for what `orjson.loads` refuses."""
    before_forwarding(data)
    count = max(round(BLOCK_SECONDS / (_seconds(orjson.loads, data, 5) + 1e-9)), 1)
    gc.collect()
    loads, ours = [], []
    for _ in range(rounds):
        loads.append(_seconds(orjson.loads, data, count))
        ours.append(_seconds(before_forwarding, data, count))
    return Cost(len(data), median(loads), median(ours), ratios(ours, loads).median, min(ours) / min(loads))


def _seconds(work: Callable[[bytes], object], data: bytes, count: int) -> float:
    """CPU of one call, over so many."""
    began = time.process_time()
    for _ in range(count):
        work(data)
    return (time.process_time() - began) / count


def _is_plain(data: bytes) -> bool:
    """Whether `orjson.loads` reads it at all: what it refuses cannot be compared with it."""
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True


def _row(name: str, costs: list[Cost]) -> tuple[str, ...]:
    return (
        name,
        f"{len(costs)}",
        figure(median(c.size for c in costs), 0),
        figure(1e6 * median(c.loads for c in costs), 1),
        figure(1e6 * median(c.ours for c in costs), 1),
        figure(median(c.times for c in costs), 2, "×"),
        figure(median(c.best for c in costs), 2, "×"),
        figure(max(c.times for c in costs), 2, "×") if len(costs) > 1 else "",
    )
