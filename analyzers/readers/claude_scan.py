"""Session files read by several processes: cut into segments, sent in batches, put together in their order.

A worker sends plain tuples, which go between processes several times faster than objects.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from analyzers.calls import Call
from analyzers.exchange import Problem
from analyzers.readers.claude_usage import Found, Segment, read_segment
from analyzers.spent import Spent
from analyzers.terms import Conditions, Pass, Recorded, Terms

_PRICE = Call._fields.index("terms")


_STANDARD = (None, (), None)
"""What follows there of a call on standard terms."""


SEGMENT = 16 * 1024 * 1024

ALONE = 32 * 1024 * 1024
"""Bytes up to which one process is faster than several."""

MOST_PROCESSES = 8

START = "fork" if sys.platform == "linux" else "spawn"
"""How processes begin. Forking takes a tenth of the time, and must come before this process has threads."""


def scan(files: Iterable[str], size: int, processes: int | None = None) -> Iterator[Found]:
    """What the segments of the files hold, in the order of the files. ``size``: bytes of all files, as far as that is
    known: of few, one process is enough; ``processes`` None: as many as it takes. ``files`` may find out about files
    while those before them are being read."""
    failed = 0
    for found in _read(files, size, processes):
        if found.begins:
            failed = 0
        if failed and found.calls:
            first = found.calls[0]
            attempts = first.attempts + failed
            found.calls[0] = first._replace(attempts=attempts, failed_attempts=first.failed_attempts + failed)
            failed = 0
        failed += found.failed
        yield found


def _read(files: Iterable[str], size: int, processes: int | None) -> Iterator[Found]:
    wanted = processes or (1 if size <= ALONE else min(os.cpu_count() or 1, MOST_PROCESSES))
    if wanted == 1:
        yield from map(read_segment, segments(files))
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(wanted, mp_context=get_context(START)) as pool:
        for packed in pool.map(_packed, _batches(segments(files))):
            yield from map(_unpacked, marshal.loads(packed))


def _batches(parts: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Segments in groups of about one size: what goes between processes costs as much for a small file."""
    batch: list[Segment] = []
    size = 0
    for part in parts:
        batch.append(part)
        size += part.end - part.start
        if size >= SEGMENT:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


type _Plain = tuple[
    list[tuple[Any, ...]],
    list[list[int]],
    list[tuple[str, str]],
    int,
    int,
    int,
    dict[str, tuple[Any, ...]],
    bool,
    int,
]


def _packed(batch: list[Segment]) -> bytes:
    """What segments hold, as bytes for another process: plain tuples go several times faster than objects."""
    return marshal.dumps([_plainly(read_segment(segment)) for segment in batch])


def _plainly(found: Found) -> _Plain:
    calls = []
    for call in found.calls:
        billed = None if call.billed is call.spent else tuple(call.billed)
        price = call[_PRICE:]
        if price != _STANDARD:
            price = _price_plainly(call)
        calls.append((*call[:8], tuple(call.spent), billed, *call[10:_PRICE], *price))
    problems = [(problem.place, problem.text) for problem in found.problems]
    totals = {name: tuple(spent) for name, spent in found.own_totals.items()}
    counts = found.synthetic, found.lines, found.size
    return calls, found.runs, problems, *counts, totals, found.begins, found.failed


def _price_plainly(call: Call) -> tuple[Any, ...]:
    """What a call's price needs, where it is not the standard, as plain tuples."""
    terms = None if call.terms is None else (tuple(call.terms.conditions), *call.terms[1:])
    passes = tuple((one.model, tuple(one.spent), one.attempt) for one in call.passes)
    return terms, passes, None if call.recorded is None else tuple(call.recorded)


def _price_of(plain: tuple[Any, ...], known: dict[Any, Terms]) -> tuple[Any, ...]:
    """The same as values again; equal terms are one object."""
    terms, passes, recorded = plain
    if terms is not None and terms not in known:
        known[terms] = Terms(Conditions._make(terms[0]), *terms[1:])
    return (
        None if terms is None else known[terms],
        tuple(Pass(model, Spent._make(spent), attempt) for model, spent, attempt in passes),
        None if recorded is None else Recorded._make(recorded),
    )


def _unpacked(found: _Plain) -> Found:
    calls, runs, problems, synthetic, lines, size, totals, begins, failed = found
    whole = []
    known: dict[Any, Terms] = {}
    for members in calls:
        spent = Spent._make(members[8])
        billed = spent if members[9] is None else Spent._make(members[9])
        price = members[_PRICE:]
        if price != _STANDARD:
            price = _price_of(price, known)
        whole.append(Call._make((*members[:8], spent, billed, *members[10:_PRICE], *price)))
    told = [Problem(place, text) for place, text in problems]
    own_totals = {name: Spent._make(sums) for name, sums in totals.items()}
    return Found(whole, runs, told, synthetic, lines, size, own_totals, begins, failed)


def segments(files: Iterable[str]) -> Iterator[Segment]:
    """The files cut into parts of about equal size."""
    for path in files:
        try:
            size = os.path.getsize(path)
        except OSError:
            size = 0  # said when it is opened
        for start in range(0, max(size, 1), SEGMENT):
            yield Segment(path, start, min(start + SEGMENT, size))
