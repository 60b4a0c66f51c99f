"""Who continues whom: exchanges into threads, threads into turns.

A request continues the earlier one whose prompt is the longest beginning of its own, and where several are the same,
the one whose answer it resends. What a client declares (session and agent ids) decides between equals and names the
result. Conversations that merely began alike (the same preamble, the same first question) are told apart by what was
answered in them. A thread is one path of the conversation: a request that leaves the path begins a thread of its own (a
fork, or a rewind when nothing follows on the old path). Retries are attempts of one turn. Calls that are no turn of a
conversation (titles, probes, counts of tokens, a summary for compaction) stand beside the threads as side calls.
``lineage`` makes sessions of both.

Rules: facts of recorded clients; DESIGN of message threads. O(sum of prompt lengths), like reading them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from analyzers.calls import RETRY_WITHIN, SAME_MOMENT
from analyzers.digests import Digest
from analyzers.prompt_tree import Tree
from analyzers.prompts import SUGGESTION, SUMMARY_ASKED, Trace

type Step = Literal["start", "continues", "fork", "rewind", "rewritten", "compacted", "cleared", "repeated"]
"""How a call follows: ``rewritten``: an earlier message was changed in place; ``cleared``: nothing of the conversation
is left; ``repeated``: the very prompt again, after it was answered."""

type Side = Literal["count_tokens", "probe", "compaction", "helper", "batch"]

FAILED = frozenset(("error", "unreachable", "client_gone", "upstream_cut", "proxy_stopped", "unanswered"))
"""Endings after which a client tries the same again."""

_CALLS = ("messages", "bedrock", "vertex", "other")
_MOST_ALIKE = 256  # calls with one and the same prompt among which the one that is continued is looked for


@dataclass(slots=True)
class Turn:
    """One call in a thread. ``n``: number of the request; ``follows``: the number of the one it continues; ``common``:
    messages that the two prompts share; ``attempts``: numbers of the requests that failed before. ``open``: nothing
    follows it in its thread but repeats of it."""

    n: int
    trace: Trace
    step: Step
    follows: int | None = None
    common: int | None = None
    attempts: list[int] = field(default_factory=list)
    open: bool = True


@dataclass(slots=True)
class Thread:
    """One path of a conversation. ``agent`` None: no sub-agent is declared. ``forked_from``: the request where it left
    another thread; ``session_from``: the session of that, where it is another. ``current``: the latest path of the main
    conversation."""

    session: str | None
    agent: str | None
    turns: list[Turn] = field(default_factory=list)
    forked_from: int | None = None
    session_from: str | None = None
    current: bool = False

    @property
    def last(self) -> Turn:
        return self.turns[-1]

    def add(self, turn: Turn) -> None:
        """Appends a turn, which closes those it goes on from."""
        if turn.step != "repeated":
            for earlier in reversed(self.turns):
                if not earlier.open:
                    break
                earlier.open = False
        self.turns.append(turn)


@dataclass(slots=True)
class SideCall:
    """A call that is no turn of a conversation, and why it is taken for one. ``near``: a turn whose prompt it
    shares; ``attempts``: numbers of the requests for the same that failed before."""

    n: int
    trace: Trace
    kind: Side
    near: Turn | None = None
    attempts: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Found:
    """The turn that a request continues or comes closest to."""

    thread: Thread
    turn: Turn
    common: int
    whole: bool  # the earlier prompt is a beginning of this one


def woven(tree: Tree, traces: Sequence[Trace | None]) -> tuple[list[Thread], list[SideCall]]:
    """The threads by their first call, and the side calls. ``traces``: in time order, which numbers them from 1; None:
    an exchange that is another record of one among them."""
    weaver = _Weaver(tree)
    for n, trace in enumerate(traces, 1):
        if trace is not None:
            weaver.take(n, trace)
    weaver.place_side_calls()
    return weaver.threads, weaver.side


class _Weaver:
    def __init__(self, tree: Tree) -> None:
        self.threads: list[Thread] = []
        self.side: list[SideCall] = []
        self._tree = tree
        self._ends: defaultdict[int, deque[tuple[Thread, Turn]]] = defaultdict(lambda: deque(maxlen=_MOST_ALIKE))
        self._through: dict[int, tuple[Thread, Turn]] = {}
        self._by_message: dict[str, tuple[Thread, Turn]] = {}
        self._by_answer: dict[Digest, tuple[Thread, Turn]] = {}
        self._latest: dict[tuple[str | None, str | None, bool], Thread] = {}
        self._of_kind: dict[tuple[str | None, str | None, Digest | None, Digest | None], Thread] = {}

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
        thread.add(turn)
        self._passed(thread, turn)

    def place_side_calls(self) -> None:
        """Finds the turn that each side call shares the most of its prompt with."""
        for call in self.side:
            if call.trace.node is None:
                continue
            for node in self._tree.path(call.trace.node):
                if (known := self._through.get(node)) is not None:
                    call.near = known[1]
                    break

    def _passed(self, thread: Thread, turn: Turn) -> None:
        trace = turn.trace
        here = (thread, turn)
        if trace.node is not None:
            ends = self._ends[trace.node]
            if not ends or ends[-1][1] is not turn:
                ends.append(here)
            for node in self._tree.path(trace.node):
                self._through[node] = here
        if trace.message_id is not None:
            self._by_message[trace.message_id] = here
        if trace.said is not None:
            self._by_answer[trace.said] = here
        self._latest[trace.session, trace.agent, trace.tools is None] = thread
        self._of_kind[trace.session, trace.agent, trace.system, trace.tools] = thread

    # Which turn a request continues

    def _found(self, trace: Trace) -> _Found | None:
        if trace.node is None:
            return self._named(trace)
        below: int | None = None
        for node in self._tree.path(trace.node):
            if node in self._ends and (best := self._best(node, trace, below)) is not None:
                return _Found(*best, self._tree.depth[node], True)
            below = node
        known = self._by_message.get(trace.continues or "")
        if known is not None and known[1].trace.node is None and known[1].trace.agent == trace.agent:
            return _Found(*known, known[1].trace.messages or 0, True)  # its prompt was not kept
        return self._nearest(trace, trace.node)

    def _named(self, trace: Trace) -> _Found | None:
        """Without a prompt: the call that the log or the API says it follows. Where that is of another agent (a
        sub-agent's records hang on those of the one that sent it), or none is named and no messages were counted: the
        last of its own agent."""
        known = self._by_message.get(trace.continues or "")
        strange = known is not None and known[1].trace.agent != trace.agent
        if trace.logged and (strange or (trace.continues is None and trace.messages is None)):
            thread = self._latest.get((trace.session, trace.agent, trace.tools is None))
            known = (thread, thread.last) if thread is not None else None
        elif strange:
            known = None
        if known is None:
            return None
        thread, turn = known
        return _Found(thread, turn, turn.trace.messages or 0, True)

    def _best(self, node: int, trace: Trace, below: int | None) -> tuple[Thread, Turn] | None:
        """Of the turns with one and the same prompt, the one that this request continues: its agent must be the same;
        then its answer is the one resent, its session is the same, nothing has continued it yet, it is the latest."""
        ends = self._ends[node]
        resent = self._tree.said[below] if below is not None else None
        ideal = (resent is not None, trace.continues is not None, True, True)
        best, best_rank = None, (False, False, False, False)
        for thread, turn in reversed(ends):
            if not self._related(turn.trace, trace, node, resent):
                continue
            rank = (
                resent is not None and turn.trace.said == resent,
                turn.trace.message_id is not None and turn.trace.message_id == trace.continues,
                turn.trace.session == trace.session,
                turn.open,
            )
            if best is None or rank > best_rank:
                best, best_rank = (thread, turn), rank
            if rank == ideal:
                break
        return best

    def _related(self, earlier: Trace, later: Trace, node: int, resent: Digest | None) -> bool:
        """Whether two prompts that share all up to a node are of one conversation, not of two that began alike: the
        same answer is in both, or one declared session joins them."""
        if earlier.agent != later.agent or _of_another_kind(earlier, later, node == later.node):
            return False
        same = earlier.session is not None and earlier.session == later.session
        if resent is not None and earlier.said is not None:
            return same or resent == earlier.said
        if same or self._tree.answered[node]:
            return True
        if earlier.session is not None or later.session is not None:
            return False
        return node != later.node or earlier.ended in FAILED

    def _nearest(self, trace: Trace, end: int) -> _Found | None:
        """The turn whose prompt parts from this one the latest. Where none shares a beginning: the one whose answer is
        the last that is resent; else the last of the same session, agent, system and tools."""
        for node in self._tree.path(end):
            known = self._through.get(node)
            if known is None or not (self._tree.answered[node] or trace.session is not None):
                continue
            if self._related(known[1].trace, trace, node, None):
                return _Found(*known, self._tree.depth[node], False)
        resent = next((said for node in self._tree.path(end) if (said := self._tree.said[node]) is not None), None)
        known = self._by_answer.get(resent) if resent is not None else None
        if known is not None and _of_one_kind(known[1].trace, trace):
            return _Found(*known, 0, False)
        if trace.session is None:
            return None
        thread = self._of_kind.get((trace.session, trace.agent, trace.system, trace.tools))
        if thread is None and trace.summary is not None:
            thread = self._latest.get((trace.session, trace.agent, trace.tools is None))
        return _Found(thread, thread.last, 0, False) if thread is not None else None

    # What it makes of it

    def _placed(self, n: int, trace: Trace, found: _Found | None) -> tuple[Thread, Turn]:
        if found is None:
            return self._begun(trace), Turn(n, trace, "compacted" if _is_compacted(trace, None) else "start")
        thread, turn = found.thread, found.turn
        if trace.session not in (None, turn.trace.session):
            return self._forked(trace, found), Turn(n, trace, "fork", turn.n, found.common)
        found = self._aged(trace, found) or found
        thread, turn = found.thread, found.turn
        step = self._continued(trace, found) if found.whole else self._changed(trace, found)
        if step == "cleared":
            return self._begun(trace), Turn(n, trace, step, turn.n, 0)
        if step in ("fork", "rewind"):
            return self._forked(trace, found), Turn(n, trace, step, turn.n, found.common)
        if step == "rewritten" and found.whole:
            turn = thread.last
        return thread, Turn(n, trace, step, turn.n, found.common)

    def _aged(self, trace: Trace, found: _Found) -> _Found | None:
        """The newest turn of the thread whose old prompt this one begins with, if it holds what was said there since:
        then a message between was changed in place, and nobody went back."""
        last = found.thread.last
        if not found.whole or trace.node is None or last.trace.node is None or found.turn.open:
            return None
        path = set(self._tree.path(last.trace.node))
        common = next((self._tree.depth[node] for node in self._tree.path(trace.node) if node in path), 0)
        return _Found(found.thread, last, common, False) if self._survives(trace, last.trace, common) else None

    def _continued(self, trace: Trace, found: _Found) -> Step:
        """How a prompt follows that begins with an earlier one of the same session."""
        thread, turn = found.thread, found.turn
        if not turn.open:
            if self._replaces(trace, thread.last, turn):
                return "rewritten"
            begins_anew = trace.node is not None and trace.node == turn.trace.node
            return "cleared" if begins_anew and not self._tree.answered[trace.node or 0] else "fork"
        if trace.node is not None and trace.node == turn.trace.node:
            return "repeated"
        return "compacted" if _is_compacted(trace, turn.trace) and trace.node is None else "continues"

    def _replaces(self, trace: Trace, last: Turn, turn: Turn) -> bool:
        """Whether it says the newest message again in other words, soon after that had failed."""
        failed = last.follows == turn.n and last.trace.ended in FAILED and _is_soon(last.trace, trace)
        return failed and last.trace.prompt_messages == trace.prompt_messages

    def _changed(self, trace: Trace, found: _Found) -> Step:
        """What became of a conversation whose earlier prompt this one does not begin with."""
        earlier = found.turn.trace
        if _is_compacted(trace, earlier):
            return "compacted"
        before, now = earlier.prompt_messages or 0, trace.prompt_messages or 0
        if self._survives(trace, earlier, found.common):
            return "compacted" if now < before else "rewritten"
        if not found.common:
            return "cleared"
        return "rewritten" if now >= before and found.thread.last is found.turn else "rewind"

    def _survives(self, trace: Trace, earlier: Trace, common: int) -> bool:
        """Whether an answer outside what two prompts begin with is in both, or the earlier one's own in the later."""
        if trace.node is None or earlier.node is None:
            return False
        tree = self._tree
        apart = [node for node in tree.path(trace.node) if tree.depth[node] > common and tree.said[node] is not None]
        if not apart:
            return False
        if earlier.said is not None and earlier.said in {tree.said[node] for node in apart}:
            return True
        older = {tree.message[node] for node in tree.path(earlier.node) if tree.depth[node] > common}
        return any(tree.message[node] in older for node in apart)

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
        """The same prompt again, soon after it failed. Clients send the very bytes; some change what is no prompt
        (whether to stream, a message thread that is gone)."""
        turn = found.turn
        earlier = turn.trace
        equal = (trace.node, trace.system, trace.tools) == (earlier.node, earlier.system, earlier.tools)
        equal = equal and (trace.session, trace.requested) == (earlier.session, earlier.requested)
        if trace.node is None or not equal or earlier.ended not in FAILED or found.thread.last is not turn:
            return False
        return _is_soon(earlier, trace)


def _is_soon(earlier: Trace, later: Trace) -> bool:
    """Whether a call begins within a client's patience after the end of another."""
    since = max((time for time in (earlier.time, earlier.end) if time is not None), default=None)
    return since is None or later.time is None or -SAME_MOMENT <= later.time - since <= RETRY_WITHIN


def _is_compacted(trace: Trace, earlier: Trace | None) -> bool:
    """Whether a summary stands in the place of what was said, which the earlier prompt did not have."""
    if trace.compacted:
        return True
    return trace.summary is not None and (earlier is None or trace.summary != earlier.summary)


def _of_another_kind(a: Trace, b: Trace, equal: bool) -> bool:
    """Whether one is a helper's call that happens to ask what the other begins with. ``equal``: their messages are the
    same."""
    return a.system != b.system and (equal or (a.tools is None) != (b.tools is None))


def _of_one_kind(a: Trace, b: Trace) -> bool:
    return (a.session, a.agent, a.system, a.tools) == (b.session, b.agent, b.system, b.tools)


def _side(trace: Trace) -> Side | None:
    """Calls that are told from themselves alone to be no turns."""
    if trace.route == "count_tokens":
        return "count_tokens"
    if trace.route == "batches":
        return "batch"
    if trace.route not in (None, *_CALLS) or (trace.route == "other" and trace.messages is None):
        return "helper"
    if trace.max_tokens == 0 or (trace.max_tokens == 1 and trace.tools is None):
        return "probe"
    if trace.last_text == SUMMARY_ASKED or trace.request_class == "compaction":
        return "compaction"
    return "helper" if trace.last_text == SUGGESTION else None


def turns_of(threads: Iterable[Thread]) -> list[Turn]:
    """All turns of some threads by their numbers."""
    return sorted((turn for thread in threads for turn in thread.turns), key=lambda turn: turn.n)
