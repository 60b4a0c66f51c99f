"""Requests per second, latency and CPU per request: without a proxy and through each mitmdump, in rounds.

A round sends a block of requests each way, one after the other; the next round begins with another of them. Compared is
the median latency of a round, weighbridge's with that of the script which only streams, next to it in the same round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from benchmarks import load
from benchmarks.medians import Spread, percentile, ratios
from benchmarks.proxies import DIRECT, PLAIN, STREAM_ONLY, WEIGHBRIDGE, Site, site
from benchmarks.scale import Scale
from benchmarks.table import Result, Target, figure

WAYS = (DIRECT, PLAIN, STREAM_ONLY, WEIGHBRIDGE)
LIMITS = {("golden", 1): 1.3, ("1 MB", 1): 3.0}


@dataclass(slots=True)
class Way:
    """What was measured of one way to the stub: latencies in seconds, one entry per round in the others."""

    latencies: list[float] = field(default_factory=list)
    medians: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    """Seconds per request; empty where it is unknown."""


def latency(scale: Scale) -> Result:
    """Raises NotMeasured, WrongAnswer, OSError."""
    rows: list[tuple[str, ...]] = []
    targets: list[Target] = []
    with site((PLAIN, STREAM_ONLY, WEIGHBRIDGE)) as here:
        for (body, connections), requests in scale.requests.items():
            found = _measured(here, body, connections, requests, scale.rounds)
            times = ratios(found[WEIGHBRIDGE].medians, found[STREAM_ONLY].medians)
            title = f"{body}, {connections} connection{'s' if connections > 1 else ''}"
            rows += [
                _row(f"{title}: {name}", way, found[DIRECT], times if name == WEIGHBRIDGE else None)
                for name, way in found.items()
            ]
            if limit := LIMITS.get((body, connections)):
                targets.append(Target(f"p50, {title}, of streaming only", times.median, limit, "×"))
    head = ("", "requests/s", "p50 ms", "p99 ms", "p50 added ms", "proxy CPU ms", "p50 of streaming only")
    return Result("Latency and throughput", head, tuple(rows), tuple(targets))


def _measured(here: Site, body: str, connections: int, requests: int, rounds: int) -> dict[str, Way]:
    found = {name: Way() for name in WAYS}
    for number in range(rounds + 1):
        turn = number % len(WAYS)
        for name in WAYS[turn:] + WAYS[:turn]:
            proxy = here.proxies.get(name)
            port = proxy.port if proxy else here.stub.port
            before = proxy.cpu() if proxy else None
            block = here.load(load.block, port, body, requests, connections)
            after = proxy.cpu() if proxy else None
            if number:  # the first warms everything up
                way = found[name]
                way.latencies += block.latencies
                way.medians.append(median(block.latencies))
                way.rates.append(requests / block.seconds)
                if before is not None and after is not None:
                    way.cpu.append((after - before) / block.sent)
    return found


def _row(title: str, way: Way, direct: Way, times: Spread | None) -> tuple[str, ...]:
    added = median(way.medians) - median(direct.medians)
    return (
        title,
        figure(median(way.rates), 0),
        figure(1e3 * median(way.medians)),
        figure(1e3 * percentile(way.latencies, 99)),
        "" if way is direct else figure(1e3 * added),
        "" if way is direct else figure(1e3 * median(way.cpu) if way.cpu else None),
        f"{figure(times.median)}× ({figure(times.low)}–{figure(times.high)})" if times else "",
    )
