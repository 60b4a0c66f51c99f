"""Runs the benchmarks, prints what they found, and keeps it in `README.md` when asked to.

python -m benchmarks [--quick] [--only NAME …] [--write] [--check]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.cost import cost
from benchmarks.disk import disk
from benchmarks.first_event import first_event
from benchmarks.latency import latency
from benchmarks.load import WrongAnswer
from benchmarks.logs import logs
from benchmarks.memory import memory
from benchmarks.page import long_session
from benchmarks.proxies import NotMeasured
from benchmarks.scale import FULL, QUICK, Scale
from benchmarks.table import Result, render, replaced, report, verdicts
from benchmarks.turns import turns

PAGE = Path(__file__).with_name("README.md")
BENCHMARKS: dict[str, Callable[[Scale], Result]] = {
    "latency": latency,
    "first-event": first_event,
    "cost": cost,
    "session": turns,
    "disk": disk,
    "page": long_session,
    "memory": memory,
    "logs": logs,
}


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 1 with `--check` when a target was not met, 2 when something could not be measured, which is left
    out, and nothing is written then."""
    wanted = _parser().parse_args(arguments)
    if wanted.write and (wanted.only or wanted.quick):
        _parser().error("--write takes a whole run: leave out --only and --quick")
    scale = QUICK if wanted.quick else FULL
    print(machine(), flush=True)
    results, missing = [], []
    for name in wanted.only or BENCHMARKS:
        try:
            results.append(_told(name, scale))
        except (NotMeasured, WrongAnswer, OSError) as problem:
            print(f"{name}: {problem}", file=sys.stderr, flush=True)
            missing.append(name)
    targets = [target for result in results for target in result.targets]
    print(f"\n### Targets\n\n{verdicts(targets)}")
    if missing:
        print(f"not measured: {', '.join(missing)}", file=sys.stderr)
        return 2
    if wanted.write:
        page = replaced(PAGE.read_text(encoding="utf-8"), report(machine(), results))
        PAGE.write_text(page, encoding="utf-8")
    return int(wanted.check and not all(target.met for target in targets))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measures weighbridge beside plain mitmproxy, and beside ccusage."
    )
    parser.add_argument("--quick", action="store_true", help="a look within three minutes; the figures are rough")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--write", action="store_true", help="put the figures into benchmarks/README.md")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is not met")
    return parser


def _told(name: str, scale: Scale) -> Result:
    """One result, printed."""
    began = time.monotonic()
    result = BENCHMARKS[name](scale)
    print(f"\n{render(result)}", flush=True)
    print(f"({name}: {time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True)
    return result


def machine() -> str:
    """What it ran on."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    parts = [
        f"{os.cpu_count()} cores, {memory:.0f} GB of memory",
        f"Python {platform.python_version()}",
        *(f"{name} {importlib.metadata.version(name)}" for name in ("mitmproxy", "orjson")),
    ]
    return ", ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
