"""Memory of mitmdump after the first requests of 1 MB and after many more: it must not grow with their number.

Both variants take turns, a block of requests each. What stays in memory is asked of the kernel (RSS), which counts
what the allocator has not given back too; so the first requests are allowed to fill that, and growth counts from there.
"""

from __future__ import annotations

from benchmarks import load
from benchmarks.proxies import STREAM_ONLY, WEIGHBRIDGE, site
from benchmarks.scale import Scale
from benchmarks.table import Result, Target, figure

LIMIT = 1.1
"""How many times the memory after the first requests is still called flat."""

BLOCK = 100


def memory(scale: Scale) -> Result:
    """Raises NotMeasured, WrongAnswer, OSError."""
    first, last = scale.memory
    variants = (STREAM_ONLY, WEIGHBRIDGE)
    found: dict[str, list[float | None]] = {}
    with site(variants) as here:
        for name in variants:
            found[name] = [here.proxies[name].memory()]
        for number in range(BLOCK, last + 1, BLOCK):
            for name in variants:
                proxy = here.proxies[name]
                here.load(load.block, proxy.port, "1 MB", BLOCK)
                if number in (first, last):
                    found[name].append(proxy.memory())
    rows = tuple((name, *(figure(size, 0) for size in sizes), figure(growth(sizes), 3, "×")) for name, sizes in found.items())
    what = f"memory after {last:,} requests of 1 MB, of that after {first:,}"
    head = ("RSS, MB", "at the start", f"after {first:,} requests", f"after {last:,}", "growth")
    return Result("Memory", head, rows, (Target(what, growth(found[WEIGHBRIDGE]), LIMIT, "×", 3),))


def growth(sizes: list[float | None]) -> float | None:
    """How many times the size before it the last one is."""
    before, after = sizes[-2:]
    return None if before is None or after is None else after / before
