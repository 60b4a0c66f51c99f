"""A recorded session beside the client's own log of it: what the log misses, and what it counts otherwise.

Calls are joined by the request id that the server gave, else by the message id. What has no partner is told by what it
was: on the wire only (a summary for compaction, a count of tokens, a failed attempt, anything else), or in the log only
(made when nobody recorded). Joined calls are compared counter by counter. Beside both stands what the client itself
adds up in its log (``cost-state``), where it does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analyzers.calls import Call
from analyzers.lineage import Lineage, Session
from analyzers.spent import NOTHING, Spent, Sum, summed

COUNTERS = ("fresh", "written", "written_5m", "written_1h", "read", "output")


@dataclass(frozen=True, slots=True)
class Differs:
    """One counter of one call that wire and log tell differently. None: unknown there."""

    n: int
    message_id: str | None
    request_id: str | None
    counter: str
    wire: int | None
    log: int | None


@dataclass(frozen=True, slots=True)
class WireOnly:
    """A recorded call that the log does not have. ``kind``: what it was: a kind of side call, ``failed``, ``turn``."""

    n: int
    kind: str
    request_id: str | None
    spent: Spent


@dataclass(frozen=True, slots=True)
class Compared:
    """One session on both sides. ``records``: how many records of the log its calls are; ``own``: the client's own
    totals, None when the log has none; ``origin``: the session it was forked from, whose totals the client's own go on
    from."""

    session: str
    joined: int
    wire_calls: int
    log_calls: int
    records: int
    wire: Sum
    log: Sum
    own: Spent | None
    origin: str | None
    differs: tuple[Differs, ...]
    wire_only: tuple[WireOnly, ...]
    log_only: tuple[Call, ...]

    @property
    def missed(self) -> Sum:
        """What the calls that the log misses spent."""
        return summed([found.spent for found in self.wire_only if found.spent != NOTHING or found.kind == "turn"])


@dataclass(frozen=True, slots=True)
class Comparison:
    """The recorded sessions, and how many more sessions and calls the log has of which nothing was recorded."""

    sessions: Sequence[Compared]
    other_sessions: int
    other_calls: int


def compared(
    lineage: Lineage, wire: Sequence[Sequence[Call]], log: Iterable[Call], own: Mapping[str, Spent]
) -> Comparison:
    """The recorded sessions. ``wire``: calls of each exchange, by number from 1; ``own``: the client's own totals by
    session. Sessions that only the log has are counted: nothing was recorded of them."""
    partners = _Partners()
    by_session: defaultdict[str | None, list[Call]] = defaultdict(list)
    for call in log:
        by_session[call.session].append(call)
        partners.add(call)
    kinds = {call.n: call.kind for session in lineage.sessions for call in session.side}
    forks = {session.name: _origin(session) for session in lineage.sessions}
    numbers: defaultdict[str | None, list[int]] = defaultdict(list)
    for n, name in enumerate(lineage.session_of, 1):
        numbers[name].append(n)
    joins = {session.name: _joins(numbers[session.name], wire, kinds, partners) for session in lineage.sessions}
    met = {partner.place for join in joins.values() for _, _, partner in join.pairs}
    rows = [_row(name, join, by_session[name], met, own.get(name), forks[name]) for name, join in joins.items()]
    others = [calls for name, calls in by_session.items() if name not in joins]
    missed = [[call for call in calls if call.place not in met] for calls in others]
    return Comparison(rows, sum(map(bool, missed)), sum(map(len, missed)))


class _Partners:
    """Calls of the log by the ids that the server gave."""

    def __init__(self) -> None:
        self._by_request: dict[str, Call] = {}
        self._by_message: dict[str, Call] = {}

    def add(self, call: Call) -> None:
        if call.request_id is not None:
            self._by_request[call.request_id] = call
        if call.message_id is not None:
            self._by_message[call.message_id] = call

    def of(self, call: Call) -> Call | None:
        """The call of the log that is this one on the wire."""
        found = self._by_request.get(call.request_id or "")
        return found if found is not None else self._by_message.get(call.message_id or "")


@dataclass(frozen=True, slots=True)
class _Joins:
    calls: Sequence[Call]
    pairs: Sequence[tuple[int, Call, Call]]
    alone: Sequence[WireOnly]


def _joins(
    numbers: Sequence[int], wire: Sequence[Sequence[Call]], kinds: Mapping[int, str], partners: _Partners
) -> _Joins:
    """The recorded calls of one session, each with its call of the log or with what it was. A call of the log has one
    partner only."""
    calls: list[Call] = []
    pairs: list[tuple[int, Call, Call]] = []
    alone: list[WireOnly] = []
    met: set[str] = set()
    for n in numbers:
        for call in wire[n - 1]:
            calls.append(call)
            partner = partners.of(call)
            if partner is not None and partner.place not in met:
                met.add(partner.place)
                pairs.append((n, call, partner))
                continue
            kind = kinds.get(n) or ("failed" if call.state == "failed" else "turn")
            alone.append(WireOnly(n, kind, call.request_id, NOTHING if call.state == "probe" else call.spent))
    return _Joins(calls, pairs, alone)


def _row(
    name: str, join: _Joins, log: Sequence[Call], met: Container[str], own: Spent | None, origin: str | None
) -> Compared:
    joined = [partner for _, _, partner in join.pairs]
    ours = [call for call in log if call.place not in met]
    together = [*joined, *ours]
    return Compared(
        session=name,
        joined=len(joined),
        wire_calls=len(join.calls),
        log_calls=len(together),
        records=sum(call.rows for call in together),
        wire=summed([call.spent for call in join.calls if not _is_free(call)]),
        log=summed([call.spent for call in together]),
        own=own,
        origin=origin,
        differs=tuple(found for n, call, partner in join.pairs for found in _differences(n, call, partner)),
        wire_only=tuple(join.alone),
        log_only=tuple(ours),
    )


def _is_free(call: Call) -> bool:
    """A count of tokens, or a request that the API refused."""
    return call.state == "probe" or (call.state == "failed" and call.spent == NOTHING)


def _origin(session: Session) -> str | None:
    """The session that this one was forked from."""
    return next((thread.session_from for thread in session.threads if thread.session_from is not None), None)


def _differences(n: int, wire: Call, log: Call) -> Iterable[Differs]:
    for counter in COUNTERS:
        a, b = getattr(wire.spent, counter), getattr(log.spent, counter)
        if a != b:
            yield Differs(n, wire.message_id, wire.request_id, counter, a, b)


def kinds_of(found: Compared) -> Mapping[str, int]:
    """How many calls of each kind the log misses."""
    return Counter(one.kind for one in found.wire_only)
