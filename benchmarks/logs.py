"""`weighbridge usage` over a gigabyte of session logs, beside ccusage over the same files, from start to end.

Both must find the very tokens that the logs were made with, or nothing is compared. Then they take turns, from warm
files, and so does `weighbridge --help`, which costs what every command costs before it does anything. Last, a hundredth
of the files is written anew with a blank after each colon and comma, which is the same JSON: what is found then?
"""

from __future__ import annotations

import json
import shutil
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import orjson

from benchmarks import ccusage
from benchmarks.ccusage import Ccusage
from benchmarks.medians import Spread, ratios
from benchmarks.programs import Run, run
from benchmarks.proxies import NotMeasured
from benchmarks.scale import Scale
from benchmarks.session_file import Tokens
from benchmarks.session_logs import write
from benchmarks.table import Result, Target, figure

OURS, ITS, HELP = "weighbridge usage", "ccusage", "weighbridge --help"
TIMES_LIMIT = 1.2
MEMORY_LIMIT = 300.0
HELP_LIMIT = 0.3
ROOM = 1.5
"""Free bytes for each byte of logs."""

PART = 0.01
"""Share of the bytes that is written with blanks."""

SMALL = 1_000_000
"""Bytes of a file up to which it may be in that part, so that it is of several files."""


def logs(scale: Scale) -> Result:
    """Raises NotMeasured, OSError."""
    with tempfile.TemporaryDirectory(prefix="weighbridge-bench-") as name:
        folder = Path(name)
        enough(shutil.disk_usage(folder).free, scale.log_bytes, folder)
        its = Ccusage(folder / "ccusage")
        tree = folder / "whole"
        written = write(tree / "projects", scale.log_bytes)
        agree(counted(its, tree), written.tokens)
        runs = in_turn(
            {OURS: lambda: usage(tree), ITS: lambda: its.daily(tree), HELP: lambda: run([program(), "--help"])},
            scale.log_rounds,
        )
        part = folder / "part"
        take(tree / "projects", part / "projects", PART * written.size)
        before = counted(its, part)
        agree(before, before[OURS])
        for path in (part / "projects").rglob("*.jsonl"):
            path.write_bytes(spaced(path.read_bytes()))
        after = counted(its, part)
    times = ratios([one.wall for one in runs[OURS]], [one.wall for one in runs[ITS]])
    size = f"{written.size / 1e9:.1f} GB"
    rows = [
        _row(f"{size}: {OURS}", runs[OURS], found(written.tokens, written.tokens), times),
        _row(f"{size}: {ITS} {ccusage.VERSION}", runs[ITS], found(written.tokens, written.tokens)),
        _row(HELP, runs[HELP]),
        *(_row(f"with blanks, 1 % of it: {name}", [], found(after[name], before[name])) for name in (OURS, ITS)),
    ]
    targets = (
        Target(f"{OURS} on {size} of session logs, of {ITS}", times.median, TIMES_LIMIT, "×"),
        Target(f"memory of {OURS} on {size} of session logs", memory(runs[OURS]), MEMORY_LIMIT, " MB", 0),
        Target(HELP, median(one.wall for one in runs[HELP]), HELP_LIMIT, " s"),
    )
    head = ("", "wall, s", "CPU, s", "peak memory, MB", "tokens found, millions", f"wall of {ITS}")
    remark = f"{written.files:,} files, {written.calls:,} calls in {written.rows:,} records, besides copies of them."
    return Result("Session logs", head, tuple(rows), targets, remark)


def enough(free: int, size: int, folder: Path) -> None:
    """Raises NotMeasured when so many free bytes are too few for so many bytes of logs."""
    if free < ROOM * size:
        raise NotMeasured(
            f"{folder} has {free / 1e9:.1f} GB free, and {ROOM * size / 1e9:.2g} GB are needed: set TMPDIR to a folder "
            "with more."
        )


def program() -> Path:
    """The command, as it is installed with this Python. Raises NotMeasured."""
    path = Path(sysconfig.get_path("scripts"), "weighbridge")
    if not path.exists():
        raise NotMeasured(f"there is no {path}: run `make install` first.")
    return path


def usage(tree: Path, *options: str) -> Run:
    """The command's run over ``tree/projects``. Raises NotMeasured."""
    return run([program(), "usage", *options, "--captures", tree / "projects"])


def told(output: bytes) -> Tokens:
    """The sums in what `weighbridge usage --json` printed. Raises NotMeasured when these are none."""
    try:
        totals = orjson.loads(output)["totals"]
        names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        return Tokens(*(int(totals[name]) for name in names))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise NotMeasured(f"weighbridge printed no totals:\n{output[:500].decode(errors='replace')}") from None


def counted(its: Ccusage, tree: Path) -> dict[str, Tokens]:
    """What either program finds. Raises NotMeasured."""
    return {OURS: told(usage(tree, "--json").output), ITS: ccusage.tokens(its.daily(tree).output)}


def agree(found: Mapping[str, Tokens], truth: Tokens) -> None:
    """Raises NotMeasured when a program finds other tokens than there are."""
    for name, sums in found.items():
        if sums != truth:
            raise NotMeasured(f"{name} counts {sums}, and the logs hold {truth}: it is not compared.")


def in_turn(ways: Mapping[str, Callable[[], Run]], rounds: int) -> dict[str, list[Run]]:
    """Every way so many times, each once in a round; a first round is not counted."""
    runs: dict[str, list[Run]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, start in ways.items():
            one = start()
            if number:
                runs[name].append(one)
    return runs


def take(projects: Path, part: Path, size: float) -> None:
    """Copies small files into another folder, by their names, until there are so many bytes. Raises OSError."""
    for path in sorted(projects.rglob("*.jsonl")):
        if size > 0 and path.stat().st_size <= SMALL:
            target = part / path.relative_to(projects)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            size -= target.stat().st_size


def spaced(lines: bytes) -> bytes:
    """The same values as `json.dumps` writes them when nothing else is asked for."""
    return b"".join(json.dumps(json.loads(line)).encode() + b"\n" for line in lines.split(b"\n") if line)


def found(sums: Tokens, truth: Tokens) -> str:
    """In millions, of how many."""
    return f"{figure(sum(sums) / 1e6, 1)} of {figure(sum(truth) / 1e6, 1)}"


def memory(runs: Sequence[Run]) -> float | None:
    """The median of the peaks, in MB; None when one is unknown."""
    peaks = [one.memory for one in runs]
    known = [peak for peak in peaks if peak is not None]
    return median(known) if known and len(known) == len(peaks) else None


def _row(name: str, runs: Sequence[Run], tokens: str = "", times: Spread | None = None) -> tuple[str, ...]:
    measured = ("", "", "")
    if runs:
        wall, cpu = median(one.wall for one in runs), median(one.cpu for one in runs)
        measured = (figure(wall), figure(cpu), figure(memory(runs), 0))
    ratio = f"{figure(times.median)}× ({figure(times.low)}–{figure(times.high)})" if times else ""
    return (name, *measured, tokens, ratio)
