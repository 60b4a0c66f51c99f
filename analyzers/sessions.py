"""Sessions with what they spent: lineage and calls put side by side.

Which exchange is which turn comes from ``lineage``, what it spent from ``calls``. A session starts warm when the first
call of its main thread read something from the cache: another session, or the same one earlier, had written it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analyzers.calls import Call
from analyzers.lineage import Lineage, Session, Side, SideCall, Step, Thread, Turn
from analyzers.prompts import Trace
from analyzers.spent import NOTHING, Spent, Sum


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn. ``messages``: of its request on the wire; ``prompt_messages``: of its prompt, which is more in a
    message thread; ``prompt_chars``: characters of that whole prompt, where wire and prompt differ. ``attempted``: what
    its failed attempts had spent, as far as they said, which may or may not have been billed."""

    n: int
    time: float | None
    step: Step
    follows: int | None
    common: int | None
    attempts: tuple[int, ...]
    model: str | None
    ended: str
    messages: int | None
    prompt_messages: int | None
    prompt_chars: int | None
    partial: bool
    spent: Spent
    attempted: tuple[Spent, ...] = ()


@dataclass(frozen=True, slots=True)
class ThreadRow:
    agent: str | None
    forked_from: int | None
    session_from: str | None
    current: bool
    turns: tuple[TurnRow, ...]
    sums: Sum

    @property
    def messages(self) -> tuple[int | None, ...]:
        """Messages of each prompt, in turn: 1, 3, 5, 7 when every turn resends everything."""
        return tuple(turn.messages if turn.prompt_messages is None else turn.prompt_messages for turn in self.turns)


@dataclass(frozen=True, slots=True)
class SideRow:
    n: int
    time: float | None
    kind: Side
    model: str | None
    counted: int | None
    spent: Spent


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session. ``warm``: whether it starts with a warm cache; None when that is not known. ``sums``: over all its
    calls, side calls among them, as the API's top level tells them. ``calls``: of a model, retries not counted."""

    name: str | None
    declared: bool
    first: float | None
    last: float | None
    runs: int
    warm: bool | None
    threads: tuple[ThreadRow, ...]
    side: tuple[SideRow, ...]
    calls: int
    failed_attempts: int
    sums: Sum
    notes: tuple[str, ...]


def session_rows(lineage: Lineage, calls: Sequence[Sequence[Call]]) -> list[SessionRow]:
    """The sessions in the order of their first call. ``calls``: of each exchange, by number from 1."""
    return [_row(session, calls) for session in lineage.sessions]


def _row(session: Session, calls: Sequence[Sequence[Call]]) -> SessionRow:
    threads = tuple(_thread(thread, calls) for thread in session.threads)
    side = tuple(_side(call, calls) for call in sorted(session.side, key=lambda call: call.n))
    sums = Sum()
    for thread in threads:
        sums.add_sum(thread.sums)
    for row in side:
        if row.kind != "count_tokens":
            sums.add(row.spent)
    times = [time for time in _times(session) if time is not None]
    turns = [turn for thread in session.threads for turn in thread.turns]
    return SessionRow(
        name=session.name,
        declared=session.declared,
        first=min(times, default=None),
        last=max(times, default=None),
        runs=session.runs,
        warm=_warm(threads),
        threads=threads,
        side=side,
        calls=len(turns) + sum(row.kind != "count_tokens" for row in side),
        failed_attempts=sum(len(turn.attempts) for turn in turns),
        sums=sums,
        notes=tuple(session.notes),
    )


def _times(session: Session) -> Iterable[float | None]:
    for thread in session.threads:
        for turn in thread.turns:
            yield turn.trace.time
    for call in session.side:
        yield call.trace.time


def _warm(threads: Sequence[ThreadRow]) -> bool | None:
    """Whether the first answered turn of the main thread read from the cache."""
    main = [turn for thread in threads if thread.agent is None for turn in thread.turns]
    answered = [turn for turn in sorted(main, key=lambda turn: turn.n) if turn.spent != NOTHING]
    if not answered or answered[0].spent.read is None:
        return None
    return answered[0].spent.read > 0


def _thread(thread: Thread, calls: Sequence[Sequence[Call]]) -> ThreadRow:
    turns = tuple(_turn(turn, calls) for turn in thread.turns)
    sums = Sum()
    for turn in turns:
        for spent in (turn.spent, *turn.attempted):
            if spent != NOTHING or (spent is turn.spent and turn.ended != "error"):
                sums.add(spent)
    return ThreadRow(thread.agent, thread.forked_from, thread.session_from, thread.current, turns, sums)


def _turn(turn: Turn, calls: Sequence[Sequence[Call]]) -> TurnRow:
    trace = turn.trace
    own = calls[turn.n - 1]
    attempted = [call.spent for n in turn.attempts for call in calls[n - 1] if call.spent != NOTHING]
    apart = trace.thread == "continue" and trace.prompt is not None
    return TurnRow(
        n=turn.n,
        time=trace.time,
        step=turn.step,
        follows=turn.follows,
        common=turn.common,
        attempts=tuple(turn.attempts),
        model=trace.model or trace.requested,
        ended=trace.ended,
        messages=trace.messages,
        prompt_messages=trace.prompt_messages,
        prompt_chars=sum(trace.prompt.values()) if apart and trace.prompt is not None else None,
        partial=is_partial(trace),
        spent=own[0].spent if own else NOTHING,
        attempted=tuple(attempted),
    )


def is_partial(trace: Trace) -> bool:
    """Whether it continues a message thread whose beginning was not recorded: its prompt is not known."""
    return trace.thread == "continue" and trace.node is None


def _side(call: SideCall, calls: Sequence[Sequence[Call]]) -> SideRow:
    found = calls[call.n - 1]
    spent, counted = (found[0].spent, found[0].counted) if found else (NOTHING, None)
    if len(found) > 1:  # a batch: its results together
        sums = Sum()
        for one in found:
            sums.add(one.spent)
        spent = Spent(*sums.amounts)
    trace = call.trace
    return SideRow(call.n, trace.time, call.kind, trace.model or trace.requested, counted, spent)
