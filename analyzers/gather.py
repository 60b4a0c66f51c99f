"""All calls behind some paths: session logs by the fast way, everything else by its exchanges, each call once."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo

from analyzers.calls import Call, calls_of, merged
from analyzers.exchange import Problem
from analyzers.lineage import Lineage, lineage
from analyzers.progress import watched
from analyzers.prompts import Trace, Tracer
from analyzers.readers.sources import Sources
from analyzers.replays import set_aside
from analyzers.spent import Spent
from analyzers.usage import Report, report


@dataclass(slots=True)
class Traced:
    """Exchanges in time order, reduced to what sessions and usage are told from."""

    tracer: Tracer = field(default_factory=Tracer)
    traces: list[Trace] = field(default_factory=list)
    calls: list[Sequence[Call]] = field(default_factory=list)

    def lineage(self) -> Lineage:
        return lineage(self.tracer.tree, self.traces)


def traced(sources: Sources, problems: list[Problem], *, without_logs: bool = False) -> Traced:
    """Every exchange, read once. ``without_logs``: but those of session logs."""
    found = Traced()
    pairs: list[tuple[Trace, Sequence[Call]]] = []
    with watched(sources.read_so_far):
        for exchange in sources.exchanges(problems, without=("claude_code",) if without_logs else ()):
            pairs.append((found.tracer.trace(exchange), calls_of(exchange)))
    wire = {trace.message_id for trace, _ in pairs if not trace.logged and trace.message_id is not None}
    recorded = {trace.session for trace, _ in pairs if not trace.logged}
    pairs = [(trace, calls) for trace, calls in pairs if not (trace.logged and _is_on_the_wire(trace, wire, recorded))]
    pairs.sort(key=lambda pair: pair[0].time or 0.0)
    found.traces = [trace for trace, _ in pairs]
    found.calls = [calls for _, calls in pairs]
    return found


def _is_on_the_wire(trace: Trace, messages: Container[str | None], sessions: Container[str | None]) -> bool:
    """Whether a call of a log was recorded too: its answer was, or it has none and its session was."""
    return trace.session in sessions if trace.message_id is None else trace.message_id in messages


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
    logs = [file for file in sources.files if _is_log(sources, file)]
    calls: list[Call] = []
    runs: list[list[Call]] = []
    synthetic = 0
    totals: dict[str, Spent] = {}
    if logs:
        from analyzers.readers.claude_usage import scan

        done = [0, 1]
        with watched(lambda: done[0] / done[1]):
            for found in scan([sources.path_of(file) for file in logs], done=done):
                runs += [[found.calls[position] for position in run] for run in found.runs]
                calls += found.calls
                problems += found.problems
                synthetic += found.synthetic
                totals |= found.own_totals
    return LogCalls(merged(calls), runs, synthetic, totals)


def usage_report(sources: Sources, problems: list[Problem], zone: tzinfo = UTC) -> Report:
    """The usage of all calls behind the sources."""
    logs = log_calls(sources, problems)
    calls = logs.calls
    if any(not _is_log(sources, file) for file in sources.files):
        wire = traced(sources, problems, without_logs=True)
        names = wire.lineage().session_of
        found = [call._replace(session=name) for name, some in zip(names, wire.calls, strict=True) for call in some]
        calls = merged([*found, *calls])
    kept, aside = set_aside(calls, logs.runs)
    return report(kept, aside, synthetic=logs.synthetic, zone=zone)


def _is_log(sources: Sources, file: str) -> bool:
    try:
        return sources.kind(file) == "claude_code"
    except OSError:
        return False  # said when it is read
