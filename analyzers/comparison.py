"""A recorded session beside the client's own log of it: what the log misses, and what it counts otherwise.

Calls are joined by the request id that the server gave, else by the message id. What has no partner is told by what it
was: on the wire only (a summary for compaction, a count of tokens, a failed attempt, anything else), or in the log only
(made when nobody recorded). Joined calls are compared counter by counter. Beside both stands what the client itself
adds up in its log (``cost-state``), where it does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analyzers.calls import Call
from analyzers.lineage import Lineage
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
    totals, None when the log has none."""

    session: str | None
    joined: int
    wire_calls: int
    log_calls: int
    records: int
    wire: Sum
    log: Sum
    own: Spent | None
    differs: tuple[Differs, ...]
    wire_only: tuple[WireOnly, ...]
    log_only: tuple[Call, ...]

    @property
    def missed(self) -> Sum:
        """What the calls that the log misses spent."""
        return summed(found.spent for found in self.wire_only)


def compared(
    lineage: Lineage, wire: Sequence[Sequence[Call]], log: Iterable[Call], own: Mapping[str, Spent]
) -> list[Compared]:
    """The recorded sessions. ``wire``: calls of each exchange, by number from 1; ``own``: the client's own totals by
    session. Sessions that only the log has are left out: nothing was recorded of them."""
    by_request: dict[str, Call] = {}
    by_message: dict[str, Call] = {}
    by_session: defaultdict[str | None, list[Call]] = defaultdict(list)
    for call in log:
        by_session[call.session].append(call)
        if call.request_id is not None:
            by_request[call.request_id] = call
        if call.message_id is not None:
            by_message[call.message_id] = call
    kinds = {call.n: call.kind for session in lineage.sessions for call in session.side}
    numbers: defaultdict[str | None, list[int]] = defaultdict(list)
    for n, name in enumerate(lineage.session_of, 1):
        numbers[name].append(n)
    partners = _Partners(by_request, by_message)
    return [
        _session(session.name, numbers[session.name], wire, kinds, partners, by_session[session.name], own)
        for session in lineage.sessions
    ]


@dataclass(slots=True)
class _Partners:
    by_request: Mapping[str, Call]
    by_message: Mapping[str, Call]

    def of(self, call: Call) -> Call | None:
        """The call of the log that is this one on the wire."""
        found = self.by_request.get(call.request_id or "")
        return found if found is not None else self.by_message.get(call.message_id or "")


def _session(
    name: str | None,
    numbers: Sequence[int],
    wire: Sequence[Sequence[Call]],
    kinds: Mapping[int, str],
    partners: _Partners,
    log: Sequence[Call],
    own: Mapping[str, Spent],
) -> Compared:
    differs: list[Differs] = []
    alone: list[WireOnly] = []
    met: set[str] = set()
    joined: list[Call] = []
    calls = [(n, call) for n in numbers for call in wire[n - 1]]
    for n, call in calls:
        partner = partners.of(call)
        if partner is None:
            kind = kinds.get(n) or ("failed" if call.state == "failed" else "turn")
            alone.append(WireOnly(n, kind, call.request_id, NOTHING if call.state == "probe" else call.spent))
        elif partner.place not in met:
            met.add(partner.place)
            joined.append(partner)
            differs += _differences(n, call, partner)
    ours = [call for call in log if call.place not in met]
    together = [*joined, *ours]
    return Compared(
        session=name,
        joined=len(joined),
        wire_calls=len(calls),
        log_calls=len(together),
        records=sum(call.rows for call in together),
        wire=summed(call.spent for _, call in calls if call.state != "probe" and call.spent != NOTHING),
        log=summed(call.spent for call in together),
        own=own.get(name or ""),
        differs=tuple(differs),
        wire_only=tuple(alone),
        log_only=tuple(ours),
    )


def _differences(n: int, wire: Call, log: Call) -> Iterable[Differs]:
    for counter in COUNTERS:
        a, b = getattr(wire.spent, counter), getattr(log.spent, counter)
        if a != b:
            yield Differs(n, wire.message_id, wire.request_id, counter, a, b)


def kinds_of(found: Compared) -> Mapping[str, int]:
    """How many calls of each kind the log misses."""
    return Counter(one.kind for one in found.wire_only)
