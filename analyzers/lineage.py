"""Exchanges into sessions: threads and side calls (``threads``) under one name, and what a reader should know of each.

The session that a client declares names it; a conversation that nobody names is a session of its own. Where a client
makes up an id for every call, content joins what continues one another. What becomes clear only when all is seen is
told here: which lone calls are a helper's, which forks were rewinds, which path is the current one, how often a session
was taken up again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from analyzers.prompt_tree import Tree
from analyzers.prompts import Trace
from analyzers.threads import SideCall, Thread, Turn, turns_of, woven

__all__ = ("BREAK", "Lineage", "Session", "Thread", "Turn", "lineage")

BREAK = 3600.0
"""Seconds without a call after which a session that goes on is another run of it."""
NO_SESSION = "no session"
_ENOUGH = 3  # calls under an id each that continue one another before the ids are not believed


@dataclass(slots=True)
class Session:
    """Threads and side calls under one id. ``declared`` False: no client named it, the id is made up from the first
    request's number. ``runs``: how often it was taken up again after a pause or by another client, plus one. ``path``:
    the turns of the current path, from the first."""

    name: str
    declared: bool
    threads: list[Thread] = field(default_factory=list)
    side: list[SideCall] = field(default_factory=list)
    runs: int = 1
    path: list[Turn] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Lineage:
    """Sessions by their first call. ``session_of``: the name of the session of each request, by number from 1; None for
    what is another record of a request."""

    sessions: Sequence[Session]
    session_of: Sequence[str | None]


def lineage(tree: Tree, traces: Sequence[Trace | None]) -> Lineage:
    """The sessions of all exchanges. ``traces``: in time order, which numbers them from 1; None: an exchange that is
    another record of one among them."""
    threads, side = woven(tree, traces)
    _tell_clears(threads)
    sessions = _by_session(_joined_by_content(threads))
    _set_helpers_aside(sessions.values())
    _add_side_calls(sessions, side)
    ordered = sorted(sessions.values(), key=_first)
    names: list[str | None] = [None] * len(traces)
    for session in ordered:
        _mark(session)
        for turn in turns_of(session.threads):
            for n in (turn.n, *turn.attempts):
                names[n - 1] = session.name
        for call in session.side:
            for n in (call.n, *call.attempts):
                names[n - 1] = session.name
    return Lineage(ordered, names)


def _tell_clears(threads: Iterable[Thread]) -> None:
    """Where a conversation goes on after another began beside it, it was not cleared: a sub-agent's began."""
    last: dict[tuple[str | None, str | None], int] = {}  # number of the last request of the threads that began so far
    for thread in threads:
        first = thread.turns[0]
        key = (thread.session, thread.agent)
        if first.step == "cleared" and last.get(key, 0) > first.n:
            first.step, first.follows, first.common = "start", None, None
        last[key] = max(last.get(key, 0), thread.last.n)


def _joined_by_content(threads: list[Thread]) -> list[Thread]:
    """Threads of one call each, under an id each, that continue one another are one conversation whose client makes up
    an id for every call: from the third on, content is believed."""
    uses = Counter(thread.session for thread in threads)
    ending: dict[int, list[Thread]] = {}  # chains by the number of their last request
    for thread in threads:
        if len(thread.turns) > 1 or uses[thread.session] > 1 or not thread.turns[0].trace.made_up:
            continue
        before = ending.pop(thread.forked_from or 0, None) if thread.session_from is not None else None
        ending[thread.last.n] = [*(before or ()), thread]
    merged: set[int] = set()
    for chain in ending.values():
        if len(chain) < _ENOUGH:
            continue
        for thread in chain[1:]:
            thread.turns[0].step = "continues"
            chain[0].turns += thread.turns
            merged.add(id(thread))
    return [thread for thread in threads if id(thread) not in merged]


def _by_session(threads: Iterable[Thread]) -> dict[str, Session]:
    """The sessions by name. A fork of a conversation that nobody names belongs to it."""
    sessions: dict[str, Session] = {}
    holder: dict[int, str] = {}
    for thread in threads:
        name = thread.session or holder.get(thread.forked_from or 0) or f"chain {turns_of([thread])[0].n}"
        for turn in thread.turns:
            holder[turn.n] = name
        session = sessions.setdefault(name, Session(name, thread.session is not None))
        session.threads.append(thread)
    return sessions


def _set_helpers_aside(sessions: Iterable[Session]) -> None:
    """In a session whose conversation uses tools, a lone call without any is a helper's: a title, a topic, a summary of
    a page."""
    for session in sessions:
        if not any(turn.trace.tools is not None for thread in session.threads for turn in thread.turns):
            continue
        kept: list[Thread] = []
        for thread in session.threads:
            turn = thread.turns[0]
            lone = len(thread.turns) == 1 and turn.step in ("start", "cleared") and thread.agent is None
            if lone and turn.trace.node is not None and turn.trace.tools is None:
                session.side.append(SideCall(turn.n, turn.trace, "helper", attempts=turn.attempts))
            else:
                kept.append(thread)
        session.threads = kept


def _add_side_calls(sessions: dict[str, Session], side: Iterable[SideCall]) -> None:
    """Side calls go to the session they declare; those that declare none, or one that no conversation has and that may
    be made up, to the conversation whose prompt they share; else to the only session there is."""
    only = next(iter(sessions)) if len(sessions) == 1 else None
    holder = {turn.n: name for name, session in sessions.items() for turn in turns_of(session.threads)}
    for call in side:
        declared = call.trace.session
        name = declared if declared in sessions or not call.trace.made_up else None
        if name is None and call.near is not None:
            name = holder.get(call.near.n)
        name = name or declared or only or NO_SESSION
        sessions.setdefault(name, Session(name, declared is not None)).side.append(call)


def _first(session: Session) -> int:
    turns = [turn.n for thread in session.threads for turn in thread.turns]
    return min([*turns, *(call.n for call in session.side)])


def _mark(session: Session) -> None:
    turns = turns_of(session.threads)
    of = {n: thread for thread in session.threads for turn in thread.turns for n in (turn.n, *turn.attempts)}
    for thread in session.threads:
        _tell_rewind(thread, of)
    main = [thread for thread in session.threads if thread.agent is None]
    if main:
        current = max(main, key=lambda thread: thread.last.n)
        current.current = True
        session.path = _path(current, of)
    session.runs = _runs(turns)
    session.notes += _contradictions(session, turns)


def _tell_rewind(thread: Thread, of: dict[int, Thread]) -> None:
    """A path that was left for good at a fork was rewound; one that goes on beside it was forked."""
    first = thread.turns[0]
    if thread.session_from is not None or first.step not in ("fork", "rewind"):
        return
    left = of.get(thread.forked_from or 0)
    goes_on = left is not None and left.last.n > first.n
    first.step = "fork" if goes_on or left is None else "rewind"


def _path(thread: Thread, of: dict[int, Thread]) -> list[Turn]:
    """The turns of a thread, after those before the fork it begins at."""
    path = list(thread.turns)
    while thread.forked_from is not None:
        at = thread.forked_from
        before = of.get(at)
        if before is None or before is thread:
            break
        path[:0] = [turn for turn in before.turns if min([turn.n, *turn.attempts]) <= at]
        thread = before
    return path


def _runs(turns: Sequence[Turn]) -> int:
    """One, and one more for each pause and each turn that another client takes up the one it follows with."""
    runs = 1
    clients = {n: turn.trace.client for turn in turns for n in (turn.n, *turn.attempts)}
    until: float | None = None
    for turn in turns:
        trace = turn.trace
        pause = until is not None and trace.time is not None and trace.time - until > BREAK
        before = clients.get(turn.follows or 0)
        other = before is not None and trace.client is not None and before != trace.client
        runs += pause or other
        ends = [time for time in (until, trace.time, trace.end) if time is not None]
        until = max(ends, default=None)
    return runs


def _contradictions(session: Session, turns: Sequence[Turn]) -> Iterable[str]:
    """Ids that contradict each other."""
    calls = [*(turn.trace for turn in turns), *(call.trace for call in session.side)]
    conflicts = sum(trace.conflict is not None for trace in calls)
    if conflicts:
        yield f"the header and metadata.user_id name different sessions in {conflicts} of {len(calls)} calls"
    declared = {turn.trace.session for turn in turns} - {None}
    if len(declared) > 1:
        yield f"the session id changes on every call ({len(declared)} ids): joined by content"
