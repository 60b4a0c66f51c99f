"""One session of 200 turns, whose last body is 1 MB, through weighbridge and through a script that only streams.

Every turn goes through both before the next, so what slows the machine slows both. Each round has new processes, since
a session's cost is to be seen from its first turn on: latency at its beginning and end, CPU, memory, bytes on disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from benchmarks import load
from benchmarks.medians import ratios
from benchmarks.proxies import STREAM_ONLY, WEIGHBRIDGE, Site, site
from benchmarks.scale import Scale
from benchmarks.table import Result, Target, figure

PARTS = (0, 50, 100, 200)
EDGE = 20
"""Turns at either end whose median latency is told."""

LIMIT = 2.0
DISK_LIMIT = 0.3


@dataclass(slots=True)
class Session:
    """Of one variant, an entry per round: seconds, MB."""

    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    disk: list[tuple[float, ...]] = field(default_factory=list)
    """At each end of a part."""


def turns(scale: Scale) -> Result:
    """Raises NotMeasured, WrongAnswer, OSError."""
    variants = (STREAM_ONLY, WEIGHBRIDGE)
    found = {name: Session() for name in variants}
    with site(()) as here:
        for _ in range(scale.session_rounds):
            here.start(variants)
            _play(here, found)
            here.stop_proxies()
    ours, its = found[WEIGHBRIDGE], found[STREAM_ONLY]
    targets = (
        Target(
            f"p50 of the last {EDGE} of {PARTS[-1]} turns, of streaming only",
            ratios(ours.last, its.last).median,
            LIMIT,
            "×",
        ),
        Target(f"disk after {PARTS[-1]} turns", median(disk[-1] for disk in ours.disk), DISK_LIMIT, " MB", 3),
    )
    disk = "/".join(map(str, PARTS[1:]))
    head = (
        "",
        f"p50 first {EDGE}, ms",
        f"p50 last {EDGE}, ms",
        "proxy CPU per turn, ms",
        "RSS, MB",
        f"disk at {disk} turns, MB",
    )
    return Result(f"One session of {PARTS[-1]} turns", head, tuple(_row(*one) for one in found.items()), targets)


def _play(here: Site, found: dict[str, Session]) -> None:
    proxies = [here.proxies[name] for name in found]
    latencies: list[list[float]] = [[] for _ in proxies]
    disk: list[list[float]] = [[] for _ in proxies]
    before = [proxy.cpu() for proxy in proxies]
    for first, last in pairwise(PARTS):
        for at, part in enumerate(here.load(load.turns, [proxy.port for proxy in proxies], first, last)):
            latencies[at] += part
            disk[at].append(proxies[at].disk())
    for at, session in enumerate(found.values()):
        session.first.append(median(latencies[at][:EDGE]))
        session.last.append(median(latencies[at][-EDGE:]))
        session.disk.append(tuple(disk[at]))
        cpu, memory, start = proxies[at].cpu(), proxies[at].memory(), before[at]
        if cpu is not None and start is not None:
            session.cpu.append((cpu - start) / len(latencies[at]))
        if memory is not None:
            session.memory.append(memory)


def _row(name: str, session: Session) -> tuple[str, ...]:
    disk = [median(sizes) for sizes in zip(*session.disk, strict=True)]
    return (
        name,
        figure(1e3 * median(session.first)),
        figure(1e3 * median(session.last)),
        figure(1e3 * median(session.cpu) if session.cpu else None),
        figure(median(session.memory) if session.memory else None, 0),
        " / ".join(figure(size, 3) for size in disk) if any(disk) else "–",
    )
