"""All calls behind some paths: session logs by the fast way, everything else by its exchanges, each call once."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from itertools import chain
from typing import TYPE_CHECKING, Any

from analyzers.calls import SAME_MOMENT, Call, attempted, file_of, merged
from analyzers.exchange import Exchange, Problem
from analyzers.progress import watched
from analyzers.readers.sources import Sources
from analyzers.replays import set_aside
from analyzers.spent import Spent
from analyzers.usage import Report, report

if TYPE_CHECKING:
    from analyzers.lineage import Lineage
    from analyzers.prompts import Trace, Tracer
    from analyzers.wire.note import Note


_ODD_USAGE = frozenset(
    ("counter_rejected", "counter_huge", "usage_malformed", "cache_split_incomplete", "zero_input_ignored")
)
"""Notes on counters that are not taken as they were told."""


@dataclass(slots=True)
class Traced:
    """Exchanges in time order, reduced to what sessions and usage are told from. None, and no calls: another record of
    an exchange that is among them. So positions are the numbers that every command counts by. ``order``: where in the
    reading each came; ``looked``: what was asked of each exchange beside. ``batches``: those submitted, by how their
    results are named, with the number of their requests."""

    tracer: Tracer
    traces: list[Trace | None] = field(default_factory=list)
    calls: list[Sequence[Call]] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    looked: list[Any] = field(default_factory=list)
    batches: list[tuple[str | None, int]] = field(default_factory=list)

    def awaited(self) -> int:
        """Requests of batches whose results are in no exchange that was seen."""
        seen = Counter(
            name.partition("#")[0] + "#" for name in {call.result for some in self.calls for call in some} if name
        )
        return sum(max(0, asked - (seen[name] if name is not None else 0)) for name, asked in self.batches)

    def lineage(self) -> Lineage:
        from analyzers.lineage import lineage

        return lineage(self.tracer.tree, self.traces)


def traced(
    sources: Sources,
    problems: list[Problem],
    *,
    without_logs: bool = False,
    look: Callable[[Exchange], Any] | None = None,
) -> Traced:
    """Every exchange, read once, and counted once where several files have it; of wire and log, the wire's counts.
    ``without_logs``: but those of session logs. ``look``: what else to keep of each exchange."""
    from analyzers.exchange_calls import calls_of, submitted
    from analyzers.prompts import Tracer

    found = Traced(Tracer())
    read: list[Trace] = []
    calls: list[Sequence[Call]] = []
    batches: list[tuple[str | None, int] | None] = []
    looked: list[Any] = []
    odd: dict[Note, list[str]] = {}
    with watched(sources.read_so_far):
        for exchange in sources.exchanges(problems, without=("claude_code",) if without_logs else ()):
            read.append(found.tracer.trace(exchange))
            calls.append(calls_of(exchange))
            batches.append(submitted(exchange))
            looked.append(look(exchange) if look is not None else None)
            for note in exchange.response.notes if exchange.response is not None else ():
                if note.code in _ODD_USAGE:
                    odd.setdefault(note, []).append(exchange.place)
    for note, places in odd.items():
        problems.append(Problem(places[0], f"{len(places)} times: {f'{note.path} {note.detail}'.strip()}"))
    read = found.tracer.settled(read)
    order = sorted(range(len(read)), key=lambda place: read[place].time or 0.0)
    again = _recorded_again([read[place] for place in order])
    for place, copy in zip(order, again, strict=True):
        found.traces.append(None if copy else read[place])
        found.calls.append(() if copy else calls[place])
        found.looked.append(looked[place])
        if not copy and (batch := batches[place]) is not None:
            found.batches.append(batch)
    found.order = order
    twice = sum(copy and not read[place].logged for place, copy in zip(order, again, strict=True))
    if twice:
        first = next(read[place] for place, copy in zip(order, again, strict=True) if copy and not read[place].logged)
        problems.append(Problem(first.place, f"{twice} exchanges are told again by other files, and were counted once"))
    return found


def _recorded_again(traces: Sequence[Trace]) -> list[bool]:
    """Which of some traces in time order tell of an exchange that another one, in another file, tells of."""
    wire = {trace.message_id for trace in traces if not trace.logged} - {None}
    sessions = {trace.session for trace in traces if not trace.logged} - {None}
    seen: dict[tuple[str | None, str | None], tuple[float, str]] = {}
    again: list[bool] = []
    for trace in traces:
        if trace.logged:  # was recorded when its answer was; one without an answer, when its session was
            again.append(trace.session in sessions if trace.message_id is None else trace.message_id in wire)
            continue
        key = (trace.request_id, trace.message_id if trace.request_id is None else None)
        time, file = trace.time or 0.0, file_of(trace.place)
        first = seen.get(key) if key != (None, None) else None
        again.append(first is not None and time - first[0] <= SAME_MOMENT and first[1] != file)
        if not again[-1]:
            seen[key] = time, file
    return again


@dataclass(frozen=True, slots=True)
class LogCalls:
    """What session logs tell, each call once. ``runs``: calls of a file within one second; ``own_totals``: what the
    client itself added up for a session, last."""

    calls: Sequence[Call]
    runs: Sequence[Sequence[Call]]
    synthetic: int
    own_totals: Mapping[str, Spent]


def log_calls(sources: Sources, problems: list[Problem]) -> LogCalls:
    """The calls of all session logs among the sources, by the fast way."""
    calls: list[Call] = []
    runs: list[list[Call]] = []
    synthetic = passed = 0
    totals: dict[str, Spent] = {}
    if not sources.files:
        return LogCalls((), (), 0, totals)
    from analyzers.readers.claude_scan import scan

    size = sources.size()
    logs = (sources.path_of(file) for file in sources.files if _is_log(sources, file))
    parts = scan(logs, size)
    first = next(parts, None)  # its processes begin before the bar's thread does
    with watched(lambda: passed / max(size, 1)), uncollected():
        for found in chain(filter(None, (first,)), parts):
            passed += found.size
            runs += [[found.calls[position] for position in run] for run in found.runs]
            calls += found.calls
            problems += found.problems
            synthetic += found.synthetic
            totals |= found.own_totals
    return LogCalls(merged(calls), runs, synthetic, totals)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the garbage collector: there are no cycles here, and it would walk hundreds of thousands of calls again
    and again (a third of the time of this process)."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def usage_report(sources: Sources, problems: list[Problem], zone: tzinfo = UTC) -> Report:
    """The usage of all calls behind the sources."""
    logs = log_calls(sources, problems)
    calls = logs.calls
    without_answer = awaited = 0
    if any(not _is_log(sources, file) and not sources.is_companion(file) for file in sources.files):
        wire = traced(sources, problems, without_logs=True)
        calls = merged([*_by_turn(wire), *calls])
        without_answer = sum(trace is not None and trace.ended == "not_recorded" for trace in wire.traces)
        awaited = wire.awaited()
    with uncollected():
        kept, aside = set_aside(calls, logs.runs)
        return report(kept, aside, synthetic=logs.synthetic, zone=zone, without_answer=without_answer, awaited=awaited)


def _by_turn(wire: Traced) -> Iterator[Call]:
    """The recorded calls, each with its failed attempts joined as the turns of its session tell them, and under the
    session that its content and ids name together."""
    woven = wire.lineage()
    turns = [turn for session in woven.sessions for thread in session.threads for turn in thread.turns]
    attempts = {turn.n: turn.attempts for turn in turns if turn.attempts}
    taken = {n for before in attempts.values() for n in before}
    settled = {turn.n for turn in turns if turn.trace.node is not None}
    for n, (name, some) in enumerate(zip(woven.session_of, wire.calls, strict=True), 1):
        if n in taken:
            continue
        for call in some:
            one = call
            for before in reversed(attempts.get(n, ())):
                one = attempted(wire.calls[before - 1][0], one) if wire.calls[before - 1] else one
            yield one._replace(session=name, fingerprint=None if n in settled else one.fingerprint)


def _is_log(sources: Sources, file: str) -> bool:
    try:
        return sources.kind(file) == "claude_code"
    except OSError:
        return False  # said when it is read
