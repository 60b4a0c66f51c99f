"""Memory of mitmdump after the first requests of 1 MB and after many more: it must not grow with their number.

Both variants take turns, a block of requests each. What stays in memory is asked of the kernel (RSS), which counts
what the allocator has not given back too; so the first requests are allowed to fill that, and growth counts from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import load
from benchmarks.proxies import STREAM_ONLY, WEIGHBRIDGE, site
from benchmarks.scale import Scale
from benchmarks.table import Result, Target, figure

LIMIT = 1.3
"""How many times the memory after the first requests is still called flat: the compressor's window of 32 MiB is filled
in the course of several hundred requests, once."""

BLOCK = 100


def memory(scale: Scale) -> Result:
    """Raises NotMeasured, WrongAnswer, OSError."""
    first, *_, last = scale.memory
    variants = (STREAM_ONLY, WEIGHBRIDGE)
    found: dict[str, list[float | None]] = {name: [] for name in variants}
    with site(variants) as here:
        for number in range(0, last + 1, BLOCK):
            for name, sizes in found.items():
                proxy = here.proxies[name]
                if number:
                    here.load(load.block, proxy.port, "1 MB", BLOCK - 1)  # and one before its clock starts
                if number in (0, *scale.memory):
                    sizes.append(proxy.memory())
    rows = tuple(
        (name, *(figure(size, 0) for size in sizes), figure(growth(sizes[1:]), 3, "×")) for name, sizes in found.items()
    )
    target = Target(
        f"memory after {last:,} requests of 1 MB, of that after {first:,}",
        growth(found[WEIGHBRIDGE][1:]),
        LIMIT,
        "×",
        3,
    )
    head = ("RSS, MB", "at the start", *(f"after {number:,} requests" for number in scale.memory), "growth")
    return Result("Memory", head, rows, (target,))


def growth(sizes: Sequence[float | None]) -> float | None:
    """How many times the first size the last one is; None when either is unknown."""
    first, last = sizes[0], sizes[-1]
    return None if first is None or last is None else last / first
