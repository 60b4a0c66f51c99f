"""Sessions with what they spent: lineage and calls put side by side.

Which exchange is which turn comes from ``lineage``, what it spent from ``calls``. A session starts warm when the first
call of its main thread read something from the cache: another session, or the same one earlier, had written it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analyzers.calls import Call
from analyzers.lineage import Lineage, Session
from analyzers.spent import NOTHING, Spent, Sum, summed
from analyzers.threads import Side, SideCall, Step, Thread, Turn

_SAID_NO = ("error", "unreachable")


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn. ``messages``: of its request on the wire; ``prompt_messages``: of its prompt, which is more in a
    message thread; ``wire_chars`` and ``prompt_chars``: characters of both, where wire and prompt differ (the latter
    None when ``partial``: the start of the message thread was not recorded). ``attempted``: what its failed attempts
    had spent, as far as they said, which may or may not have been billed. ``at_least``: the messages were counted in a
    log that keeps no requests, nor the messages of the system among them. ``unfinished``: its answer has no final
    counts."""

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
    wire_chars: int | None
    prompt_chars: int | None
    partial: bool
    spent: Spent
    attempted: tuple[Spent, ...] = ()
    at_least: bool = False
    unfinished: bool = False

    @property
    def is_loose(self) -> bool:
        """Whether it may have spent more than was counted."""
        return self.unfinished or bool(self.attempted)


@dataclass(frozen=True, slots=True)
class ThreadRow:
    agent: str | None
    forked_from: int | None
    session_from: str | None
    current: bool
    turns: tuple[TurnRow, ...]
    sums: Sum

    @property
    def is_loose(self) -> bool:
        """Whether its turns may have spent more than was counted."""
        return any(turn.is_loose for turn in self.turns)

    @property
    def messages(self) -> tuple[int | None, ...]:
        """Messages of each prompt, in turn: 1, 3, 5, 7 when every turn resends everything."""
        return tuple(turn.messages if turn.prompt_messages is None else turn.prompt_messages for turn in self.turns)


@dataclass(frozen=True, slots=True)
class SideRow:
    """One side call. ``counted``: the answer of a count of tokens; ``calls``: how many calls of a model it stands for:
    none for what asks no model, several for the results of a batch. ``is_loose``: it may have spent more than was
    counted."""

    n: int
    time: float | None
    kind: Side
    model: str | None
    counted: int | None
    spent: Spent
    calls: int = 1
    failed_attempts: int = 0
    is_loose: bool = False


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session. ``warm``: whether it starts with a warm cache; None when that is not known. ``sums``: over all its
    calls, side calls among them, as the API's top level tells them; ``path_sums``: over the turns of its current path
    (``path``: their numbers), without branches that were left, sub-agents and side calls. ``calls``: of a model,
    retries not counted."""

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
    path: tuple[int, ...]
    path_sums: Sum
    notes: tuple[str, ...]

    @property
    def is_loose(self) -> bool:
        """Whether its calls may have spent more than was counted."""
        return any(thread.is_loose for thread in self.threads) or any(side.is_loose for side in self.side)

    @property
    def is_path_loose(self) -> bool:
        """Whether the turns of its current path may have spent more than was counted."""
        path = set(self.path)
        return any(turn.is_loose for thread in self.threads for turn in thread.turns if turn.n in path)


def session_rows(lineage: Lineage, calls: Sequence[Sequence[Call]]) -> list[SessionRow]:
    """The sessions in the order of their first call. ``calls``: of each exchange, by number from 1."""
    return [_row(session, calls) for session in lineage.sessions]


def _row(session: Session, calls: Sequence[Sequence[Call]]) -> SessionRow:
    threads = tuple(_thread(thread, calls) for thread in session.threads)
    sums = Sum()
    for thread in threads:
        sums.add_sum(thread.sums)
    seen: set[str] = set()
    side = tuple(_side(call, calls, sums, seen) for call in sorted(session.side, key=lambda call: call.n))
    if not sums.count and any(_is_awaited(call) for call in session.side):
        sums.add(NOTHING)
    path = {turn.n for turn in session.path}
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
        calls=len(turns) + sum(row.calls for row in side),
        failed_attempts=sum(len(turn.attempts) for turn in turns) + sum(row.failed_attempts for row in side),
        sums=sums,
        path=tuple(sorted(path)),
        path_sums=_turn_sums(turn for thread in threads for turn in thread.turns if turn.n in path),
        notes=tuple(session.notes),
    )


def _is_awaited(call: SideCall) -> bool:
    """Whether it is a batch that was accepted: what that spends is told with its results."""
    return call.kind == "batch" and call.trace.ended not in _SAID_NO


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
    return ThreadRow(thread.agent, thread.forked_from, thread.session_from, thread.current, turns, _turn_sums(turns))


def _turn_sums(turns: Iterable[TurnRow]) -> Sum:
    """What turns spent, failed attempts that had seen counters among it. An answer that was an error spent nothing; of
    any other without counters it is not known."""
    sums = Sum()
    for turn in turns:
        if turn.spent != NOTHING or turn.ended not in _SAID_NO:
            sums.add(turn.spent)
        for spent in turn.attempted:
            sums.add(spent)
    return sums


def _turn(turn: Turn, calls: Sequence[Sequence[Call]]) -> TurnRow:
    trace = turn.trace
    own = calls[turn.n - 1]
    attempted = [call.spent for n in turn.attempts for call in calls[n - 1] if call.spent != NOTHING]
    apart = trace.thread == "continue"
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
        wire_chars=trace.sent if apart else None,
        prompt_chars=sum(trace.prompt.values()) if apart and trace.prompt is not None else None,
        partial=trace.partial,
        spent=own[0].spent if own else NOTHING,
        attempted=tuple(attempted),
        at_least=trace.logged and trace.node is None,
        unfinished=bool(own) and own[0].state == "unfinished",
    )


def _side(call: SideCall, calls: Sequence[Sequence[Call]], sums: Sum, seen: set[str]) -> SideRow:
    """One side call, added to the sums. ``seen``: results of batches that were added, since they come with each
    poll."""
    trace = call.trace
    found = calls[call.n - 1]
    if call.kind == "batch":
        found = [one for one in found if one.result not in seen]
        seen.update(one.result for one in found if one.result is not None)
    spent = found[0].spent if len(found) == 1 else _together(found)
    asks = call.kind != "count_tokens" and (call.kind == "batch" or trace.messages is not None or spent != NOTHING)
    attempted = [one.spent for n in call.attempts for one in calls[n - 1] if one.spent != NOTHING]
    for one in (*(one.spent for one in found if asks and not _said_no(one)), *attempted):
        sums.add(one)
    return SideRow(
        n=call.n,
        time=trace.time,
        kind=call.kind,
        model=trace.model or trace.requested,
        counted=found[0].counted if found else None,
        spent=spent,
        calls=len(found) if asks else 0,
        failed_attempts=len(call.attempts),
        is_loose=asks and (bool(attempted) or any(one.state == "unfinished" for one in found)),
    )


def _said_no(call: Call) -> bool:
    return call.state == "failed" and call.spent == NOTHING


def _together(calls: Sequence[Call]) -> Spent:
    """The counters of the results of a batch; of none, nothing is known."""
    if not calls:
        return NOTHING
    sums = summed([call.spent for call in calls])
    return Spent(*(amount if not unknown else None for amount, unknown in zip(sums.amounts, sums.unknown, strict=True)))
