"""Who continues whom: exchanges into sessions, sessions into threads, threads into steps.

A request continues the earlier one whose prompt is the longest beginning of its own, and where several are the same,
the one whose answer it resends. What a client declares (session and agent ids) decides between equals and names the
result; content wins where an id changes on every call. A thread is one path of the conversation: a request that leaves
the path begins a thread of its own (a fork, or a rewind when nothing follows on the old path). Retries are attempts of
one step. Calls that are no turn of a conversation (titles, probes, counts of tokens, a summary for compaction) stand
beside the threads as side calls.

Rules: facts of recorded clients; DESIGN of message threads. O(sum of prompt lengths), like reading them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from analyzers.calls import RETRY_WITHIN
from analyzers.prompts import Trace, Tree

type Step = Literal["start", "continues", "fork", "rewind", "rewritten", "compacted", "cleared", "repeated"]
"""How a call follows: ``rewritten``: an earlier message was changed in place; ``cleared``: nothing of the conversation
is left; ``repeated``: the very prompt again, after it was answered."""

type Side = Literal["count_tokens", "probe", "compaction", "helper", "batch"]

BREAK = 3600.0
"""Seconds without a call after which a session that goes on is another run of it."""

_CALLS = ("messages", "bedrock", "vertex", "other")


@dataclass(slots=True)
class Turn:
    """One call in a thread. ``n``: number of the request; ``follows``: the number of the one it continues; ``common``:
    messages that the two prompts share; ``attempts``: numbers of the requests that failed before."""

    n: int
    trace: Trace
    step: Step
    follows: int | None = None
    common: int | None = None
    attempts: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Thread:
    """One path of a conversation. ``agent`` None: no sub-agent is declared. ``forked_from``: the request where it left
    another thread; ``session_from``: the session of that, where it is another."""

    session: str | None
    agent: str | None
    turns: list[Turn] = field(default_factory=list)
    forked_from: int | None = None
    session_from: str | None = None
    current: bool = False

    @property
    def last(self) -> Turn:
        return self.turns[-1]

    @property
    def messages(self) -> list[int | None]:
        """How many messages the prompt of each turn had."""
        return [turn.trace.prompt_messages or turn.trace.messages for turn in self.turns]


@dataclass(slots=True)
class SideCall:
    """A call that is no turn of a conversation, and why it is taken for one."""

    n: int
    trace: Trace
    kind: Side


@dataclass(slots=True)
class Session:
    """Threads and side calls under one id. ``declared`` False: no client named it, the id is made up from the first
    request's number. ``runs``: how often it was taken up again after a pause or by another client, plus one."""

    name: str | None
    declared: bool
    threads: list[Thread] = field(default_factory=list)
    side: list[SideCall] = field(default_factory=list)
    runs: int = 1
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Lineage:
    """Sessions by their first call. ``session_of``: the name of the session of each request, by number from 1."""

    sessions: Sequence[Session]
    session_of: Sequence[str | None]


def lineage(tree: Tree, traces: Sequence[Trace]) -> Lineage:
    """The sessions of all exchanges. ``traces``: in time order, which numbers them from 1."""
    weaver = _Weaver(tree)
    for n, trace in enumerate(traces, 1):
        weaver.take(n, trace)
    return _sessions(weaver, len(traces))


@dataclass(slots=True)
class _Found:
    """The turn that a request continues or comes closest to."""

    thread: Thread
    turn: Turn
    common: int
    whole: bool  # the earlier prompt is a beginning of this one


class _Weaver:
    def __init__(self, tree: Tree) -> None:
        self.threads: list[Thread] = []
        self.side: list[SideCall] = []
        self._tree = tree
        self._ends: defaultdict[int, list[tuple[Thread, Turn]]] = defaultdict(list)
        self._through: dict[int, tuple[Thread, Turn]] = {}
        self._by_message: dict[str, tuple[Thread, Turn]] = {}
        self._latest: dict[tuple[str | None, str | None], Thread] = {}

    def take(self, n: int, trace: Trace) -> None:
        side = _side(trace)
        if side is not None:
            self.side.append(SideCall(n, trace, side))
            return
        found = self._found(trace)
        if found is not None and self._is_retry(found, trace):
            turn = found.turn
            turn.attempts.append(turn.n)
            turn.n, turn.trace = n, trace
            self._passed(found.thread, turn)
            return
        thread, turn = self._placed(n, trace, found)
        thread.turns.append(turn)
        self._passed(thread, turn)

    def _passed(self, thread: Thread, turn: Turn) -> None:
        trace = turn.trace
        if trace.node is not None:
            self._ends[trace.node].append((thread, turn))
            for node in self._tree.path(trace.node):
                self._through[node] = (thread, turn)
        if trace.message_id is not None:
            self._by_message[trace.message_id] = (thread, turn)
        self._latest[trace.session, trace.agent] = thread

    # Which turn a request continues

    def _found(self, trace: Trace) -> _Found | None:
        if trace.node is None:
            return self._named(trace)
        path = self._tree.path(trace.node)
        below: int | None = None
        for node in path:
            if node in self._ends and (best := self._best(self._ends[node], trace, below)) is not None:
                thread, turn = best
                return _Found(thread, turn, self._tree.depth[node], True)
            below = node
        return self._nearest(trace, path)

    def _named(self, trace: Trace) -> _Found | None:
        """Without a prompt: the call that the log or the API says it follows, else nothing."""
        known = self._by_message.get(trace.continues or "")
        if known is None and trace.logged and trace.continues is None and trace.messages is None:
            thread = self._latest.get((trace.session, trace.agent))
            known = (thread, thread.last) if thread is not None else None
        if known is None:
            return None
        thread, turn = known
        return _Found(thread, turn, turn.trace.messages or 0, True)

    def _best(self, ends: list[tuple[Thread, Turn]], trace: Trace, below: int | None) -> tuple[Thread, Turn] | None:
        """Of the turns with one and the same prompt, the one that this request continues: its agent must be the same;
        then its answer is the one resent, its session is the same, nothing has continued it yet, it is the latest."""
        resent = self._tree.said[below] if below is not None else None
        ranked = [
            (
                resent is not None and turn.trace.said == resent,
                turn.trace.message_id is not None and turn.trace.message_id == trace.continues,
                turn.trace.session == trace.session,
                thread.last is turn,
                position,
            )
            for position, (thread, turn) in enumerate(ends)
            if turn.trace.agent == trace.agent and not self._contradicts(turn.trace, trace, resent)
        ]
        return ends[max(ranked)[-1]] if ranked else None

    def _contradicts(self, earlier: Trace, later: Trace, resent: bytes | None) -> bool:
        """Whether another answer is resent than the earlier call got, and no declared session joins them: two
        conversations that began alike."""
        told = resent is not None and earlier.said is not None and earlier.said != resent
        return told and (earlier.session is None or earlier.session != later.session)

    def _nearest(self, trace: Trace, path: list[int]) -> _Found | None:
        """The turn whose prompt parts from this one the latest; the last of the same session and agent where none
        shares anything."""
        for node in path:
            if (known := self._through.get(node)) is not None and known[1].trace.agent == trace.agent:
                thread, turn = known
                same = trace.session is not None and turn.trace.session == trace.session
                if same or self._answered_above(node):
                    return _Found(thread, turn, self._tree.depth[node], False)
        if trace.session is None:
            return None
        latest = self._latest.get((trace.session, trace.agent))
        return _Found(latest, latest.last, 0, False) if latest is not None else None

    def _answered_above(self, node: int) -> bool:
        """Whether what two prompts share holds an answer: without one, two conversations may just have begun alike."""
        return any(self._tree.said[above] is not None for above in self._tree.path(node))

    # What it makes of it

    def _placed(self, n: int, trace: Trace, found: _Found | None) -> tuple[Thread, Turn]:
        if found is None:
            return self._begun(trace), Turn(n, trace, "compacted" if trace.summarised else "start")
        thread, turn = found.thread, found.turn
        same = trace.session == turn.trace.session or trace.session is None
        if found.whole and thread.last is turn and same:
            step: Step = "continues"
            if trace.node is not None and trace.node == turn.trace.node:
                step = "repeated"
            elif trace.summarised and trace.logged and trace.node is None:
                step = "compacted"
            return thread, Turn(n, trace, step, turn.n, found.common)
        if found.whole:
            return self._forked(trace, found), Turn(n, trace, "fork", turn.n, found.common)
        if not same and found.common:
            return self._forked(trace, found), Turn(n, trace, "fork", turn.n, found.common)
        step = self._changed(trace, found)
        if step == "rewind":
            return self._forked(trace, found), Turn(n, trace, step, turn.n, found.common)
        if step == "start":
            return self._begun(trace), Turn(n, trace, step)
        return thread, Turn(n, trace, step, turn.n, found.common)

    def _changed(self, trace: Trace, found: _Found) -> Step:
        """What became of the conversation whose prompt this one does not begin with."""
        if trace.summarised and not found.turn.trace.summarised:
            return "compacted"
        if not found.common:
            alike = trace.system == found.turn.trace.system and trace.tools == found.turn.trace.tools
            return "cleared" if alike else "start"
        before, now = found.turn.trace.prompt_messages or 0, trace.prompt_messages or 0
        return "rewritten" if now >= before and found.thread.last is found.turn else "rewind"

    def _begun(self, trace: Trace) -> Thread:
        thread = Thread(trace.session, trace.agent)
        self.threads.append(thread)
        return thread

    def _forked(self, trace: Trace, found: _Found) -> Thread:
        session = trace.session if trace.session is not None else found.thread.session
        thread = Thread(session, trace.agent, forked_from=found.turn.n)
        if session != found.thread.session:
            thread.session_from = found.thread.session
        self.threads.append(thread)
        return thread

    def _is_retry(self, found: _Found, trace: Trace) -> bool:
        """The very request again, soon after it failed."""
        turn = found.turn
        equal = trace.node == turn.trace.node and trace.fingerprint == turn.trace.fingerprint
        if trace.node is None or not equal or turn.trace.ended == "completed" or found.thread.last is not turn:
            return False
        since = turn.trace.end or turn.trace.time
        return since is None or trace.time is None or trace.time - since <= RETRY_WITHIN


def _side(trace: Trace) -> Side | None:
    """Calls that are told from themselves alone to be no turns."""
    if trace.route == "count_tokens":
        return "count_tokens"
    if trace.route == "batches":
        return "batch"
    if trace.route is not None and trace.route not in _CALLS:
        return "helper"
    if trace.max_tokens == 1 and not trace.has_tools:
        return "probe"
    if trace.summary_asked or trace.request_class == "compaction":
        return "compaction"
    return None


def _sessions(weaver: _Weaver, count: int) -> Lineage:
    threads = _joined_by_content(weaver.threads)
    sessions: dict[str, Session] = {}
    for thread in threads:
        name = thread.session or f"chain {thread.turns[0].n}"
        session = sessions.setdefault(name, Session(name, thread.session is not None))
        session.threads.append(thread)
    _set_helpers_aside(sessions.values())
    for call in weaver.side:
        name = call.trace.session or _around(call, sessions) or "no session"
        sessions.setdefault(name, Session(name, call.trace.session is not None)).side.append(call)
    ordered = sorted(sessions.values(), key=_first)
    names: list[str | None] = [None] * (count + 1)
    for session in ordered:
        _mark(session)
        for thread in session.threads:
            for turn in thread.turns:
                for n in (turn.n, *turn.attempts):
                    names[n] = session.name
        for call in session.side:
            names[call.n] = session.name
    return Lineage(ordered, names[1:])


def _joined_by_content(threads: list[Thread]) -> list[Thread]:
    """Threads of one call each, under an id each, that continue one another are one conversation whose client makes up
    an id for every call: from the third on, content is believed."""
    uses = Counter(thread.session for thread in threads)
    by_last: dict[int, Thread] = {}
    out: list[Thread] = []
    pending: dict[int, list[Thread]] = {}
    for thread in threads:
        single = len(thread.turns) == 1 and uses[thread.session] == 1
        before = by_last.get(thread.forked_from or 0) if single and thread.session_from is not None else None
        if before is not None and len(before.turns) == 1 and uses[before.session] == 1:
            chain = pending.setdefault(id(before), [before])
            chain.append(thread)
            pending[id(thread)] = chain
        by_last[thread.last.n] = thread
        out.append(thread)
    merged: set[int] = set()
    for chain in {id(chain): chain for chain in pending.values()}.values():
        if len(chain) < 3:
            continue
        first = chain[0]
        for thread in chain[1:]:
            turn = thread.turns[0]
            turn.step = "continues"
            first.turns.append(turn)
            merged.add(id(thread))
    return [thread for thread in out if id(thread) not in merged]


def _set_helpers_aside(sessions: Iterable[Session]) -> None:
    """In a session whose conversation uses tools, a lone call without any is a helper's: a title, a topic, a summary of
    a page."""
    for session in sessions:
        if not any(turn.trace.has_tools for thread in session.threads for turn in thread.turns):
            continue
        for thread in list(session.threads):
            turn = thread.turns[0]
            lone = len(thread.turns) == 1 and turn.step in ("start", "cleared") and thread.agent is None
            if lone and turn.trace.node is not None and not turn.trace.has_tools:
                session.threads.remove(thread)
                session.side.append(SideCall(turn.n, turn.trace, "helper"))


def _around(call: SideCall, sessions: dict[str, Session]) -> str | None:
    """The only session there is, for a side call that names none."""
    return next(iter(sessions)) if len(sessions) == 1 else None


def _first(session: Session) -> int:
    return min([*(thread.turns[0].n for thread in session.threads), *(call.n for call in session.side)])


def _mark(session: Session) -> None:
    """What a reader should know of the session: its runs, its current path, ids that contradict each other."""
    turns = sorted((turn for thread in session.threads for turn in thread.turns), key=lambda turn: turn.n)
    main = [thread for thread in session.threads if thread.agent is None]
    if main:
        max(main, key=lambda thread: thread.last.n).current = True
    _tell_rewinds(session)
    for earlier, later in pairwise(turns):
        a, b = earlier.trace, later.trace
        pause = a.time is not None and b.time is not None and b.time - (a.end or a.time) > BREAK
        other = a.client is not None and b.client is not None and a.client != b.client and a.agent == b.agent
        session.runs += pause or other
    conflicts = {turn.trace.conflict for turn in turns if turn.trace.conflict is not None}
    if conflicts:
        session.notes.append(f"the header and metadata.user_id name different sessions in {len(turns)} calls")
    declared = {turn.trace.session for turn in turns}
    if len(declared) > 1:
        session.notes.append(f"the session id changes on every call ({len(declared)} ids): joined by content")


def _tell_rewinds(session: Session) -> None:
    """A path that was left for good at a fork was rewound; one that goes on beside it was forked."""
    for thread in session.threads:
        first = thread.turns[0]
        if thread.session_from is not None or first.step not in ("fork", "rewind"):
            continue
        left = next((other for other in session.threads if any(t.n == first.follows for t in other.turns)), None)
        goes_on = left is not None and any(turn.n > first.n for turn in left.turns)
        first.step = "fork" if goes_on or left is None else "rewind"
