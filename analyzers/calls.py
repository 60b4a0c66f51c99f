"""Calls: one for each time the API was asked, however often it was written down.

The same call can be recorded many times: one log record per content block, copies of a conversation in resumed and
forked sessions, a capture beside a flow file beside a log. And one call can be several requests: retries after a
failure. Here they become one. Identity is the API's: the message id, else the request id, else the place in the file.
What is left out of sums is set aside with its reason and count, never dropped.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from analyzers.spent import NOTHING, Spent
from analyzers.terms import Pass, Recorded, Terms

type State = Literal["completed", "failed", "unfinished", "probe"]
"""``failed``: the API said no, or could not be reached; ``unfinished``: the answer stopped, or its final counts were
never recorded; ``probe``: a free count of tokens, no call of a model."""

RETRY_WITHIN = 180.0
"""Seconds between the end of a failed request and an equal one that still is its retry: clients wait up to a minute
or two between attempts, a user who asks again ten minutes later makes a new call."""

_IN_FILE = re.compile(r"(:\d+|, line \d+ after byte \d+)(, result \d+)?\Z")
SAME_MOMENT = 1.0
"""Seconds by which two recordings of one exchange may differ in its time."""


class Call(NamedTuple):
    """One call. ``time``: seconds since the epoch; ``place``: file and line; None: unknown, ``agent`` None: the main
    thread. ``billed``: with every iteration in. ``rows``: records that told of it; ``attempts``: requests it took,
    ``failed_attempts`` of which failed. ``counted``: the answer of a probe, in tokens. ``logged``: from a client's log,
    not from the wire. ``end``: when the answer ended. ``partial``: counters of a failed attempt are in, which may have
    been billed or not. ``result``: which result of which batch it is. ``copied``: its record is older than the file it
    stands in, so it was made elsewhere. ``terms`` None: it was served on standard terms.
    ``passes``: what ``billed`` is the sum of, where it is several; ``recorded``: a cost that came with it."""

    time: float | None
    session: str | None
    agent: str | None
    model: str | None
    requested: str | None
    message_id: str | None
    request_id: str | None
    state: State
    spent: Spent
    billed: Spent
    place: str
    logged: bool = False
    rows: int = 1
    attempts: int = 1
    failed_attempts: int = 0
    counted: int | None = None
    fingerprint: str | None = None
    end: float | None = None
    sidechain: bool = False
    partial: bool = False
    result: str | None = None
    copied: bool = False
    terms: Terms | None = None
    passes: tuple[Pass, ...] = ()
    recorded: Recorded | None = None


def merged(found: Iterable[Call]) -> list[Call]:
    """Each call once, retries joined to the call they are attempts of, in time order."""
    by_id: dict[str, Call] = {}
    several: dict[str, _Several] = {}
    out: list[Call] = []
    for call in found:
        key = call.message_id or call.result or (f"request {call.request_id}" if call.request_id else None)
        if key is None:
            out.append(call)
            continue
        other = by_id.setdefault(key, call)
        if other is call:
            continue
        if _is_same(call, other):
            by_id[key] = joined(other, call)
        else:
            several.setdefault(key, _Several()).add(call)
    _answered(by_id)
    out += by_id.values()
    for same in several.values():
        out += same.calls
    out.sort(key=_moment)
    return _attempts(out)


class _Several:
    """Calls with one and the same id that are not the same call, as a mock of the API makes them: found by request id
    or by their moment, however many they are."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._by_request: defaultdict[str, list[int]] = defaultdict(list)
        self._by_second: defaultdict[int | None, list[int]] = defaultdict(list)

    def add(self, call: Call) -> None:
        """Joins the call to the one that it is another record of; keeps it when there is none."""
        for place in self._candidates(call):
            if _is_same(call, self.calls[place]):
                self.calls[place] = joined(self.calls[place], call)
                return
        place = len(self.calls)
        self.calls.append(call)
        if call.request_id is not None:
            self._by_request[call.request_id].append(place)
        self._by_second[None if call.time is None else int(call.time)].append(place)

    def _candidates(self, call: Call) -> Iterator[int]:
        if call.time is None:
            yield from range(len(self.calls))
            return
        if call.request_id is not None:
            yield from self._by_request[call.request_id]
        second = int(call.time)
        for near in (None, second - 1, second, second + 1):
            yield from self._by_second.get(near, ())


def _answered(by_id: dict[str, Call]) -> None:
    """Joins what is known by its request id only (a file that holds no answers) to the call with that request id."""
    nameless = {
        key: call.request_id
        for key, call in by_id.items()
        if call.message_id is None and call.request_id and not call.result
    }
    if not nameless:
        return
    named = {call.request_id: key for key, call in by_id.items() if call.message_id is not None and call.request_id}
    for name, request_id in nameless.items():
        key = named.get(request_id)
        if key is not None and _is_same(by_id[key], by_id[name]):
            by_id[key] = joined(by_id[key], by_id.pop(name))


def _moment(call: Call) -> float:
    return call.time or 0.0


def _is_same(a: Call, b: Call) -> bool:
    """Whether two records with one id are of one call. Logs repeat ids only for one call, and polls of a batch its
    results. On the wire a mock of the API may give one id to every answer: there the records must stand in two files
    (none tells of an exchange twice), and the request id or the moment must agree."""
    if a.logged or b.logged:
        return True
    if a.result or b.result:
        return a.result == b.result
    if file_of(a.place) == file_of(b.place):
        return False
    if a.request_id is not None and b.request_id is not None:
        return a.request_id == b.request_id
    return a.time is None or b.time is None or abs(a.time - b.time) <= SAME_MOMENT


@lru_cache(1 << 16)
def file_of(place: str) -> str:
    """The file of a call's place."""
    return _IN_FILE.sub("", place)


def joined(a: Call, b: Call) -> Call:
    """One call out of two records of it: the wire's counters, if it has any, before a log's, final ones before
    placeholders, the greater output before the smaller (placeholders only grow); the earlier time; and what only one of
    them knows."""
    best, other = (a, b) if _rank(a) >= _rank(b) else (b, a)
    times = [call.time for call in (a, b) if call.time is not None]
    main = (a.agent is None and not a.sidechain) or (b.agent is None and not b.sidechain)
    home, away = (b, a) if a.copied and not b.copied else (a, b) if b.copied and not a.copied else (best, other)
    return best._replace(
        time=min(times) if times else None,
        session=home.session or away.session,
        copied=a.copied and b.copied,
        agent=None if main and a.logged and b.logged else best.agent or other.agent,
        model=best.model or other.model,
        requested=best.requested or other.requested,
        message_id=best.message_id or other.message_id,
        request_id=best.request_id or other.request_id,
        rows=a.rows + b.rows if a.logged and b.logged else max(a.rows, b.rows),
        sidechain=a.sidechain and b.sidechain,
        recorded=best.recorded or other.recorded,
    )


def _rank(call: Call) -> tuple[bool, bool, int]:
    wire = not call.logged and call.spent != NOTHING
    return (wire, call.state == "completed", -1 if call.spent.output is None else call.spent.output)


def _attempts(calls: list[Call]) -> list[Call]:
    """Equal bodies that follow a failure are attempts of one call; it keeps the time of the first and the end of the
    last. Counters that a failed attempt had seen are added: they may have been billed."""
    if not any(call.fingerprint for call in calls):
        return calls
    out: list[Call] = []
    open_: dict[str, int] = {}
    for call in calls:
        key = call.fingerprint
        if key is None or call.state == "probe":
            out.append(call)
            continue
        place = open_.get(key)
        if place is not None and _retries(out[place], call):
            out[place] = attempted(out[place], call)
        else:
            place = len(out)
            out.append(call)
        if out[place].state == "completed":
            open_.pop(key, None)
        else:
            open_[key] = place
    return out


def _retries(first: Call, call: Call) -> bool:
    if first.time is None or call.time is None:
        return True
    return call.time - (first.end or first.time) <= RETRY_WITHIN


def attempted(first: Call, last: Call) -> Call:
    """One call out of a failed attempt and the next one."""
    return last._replace(
        time=first.time,
        attempts=first.attempts + last.attempts,
        failed_attempts=first.failed_attempts + last.failed_attempts + 1,
        spent=_with(first.spent, last.spent),
        billed=_with(first.billed, last.billed),
        partial=first.partial or first.spent != NOTHING,
        passes=last.passes if first.spent == NOTHING else _passes(first, 0) + _passes(last, first.attempts),
        recorded=last.recorded or first.recorded,
    )


def _passes(call: Call, attempt: int) -> tuple[Pass, ...]:
    """The passes of a call as those of an attempt: what one request spent says nothing of another's."""
    passes = call.passes or (Pass(call.model or call.requested, call.billed),)
    return tuple(one._replace(attempt=attempt + one.attempt) for one in passes)


def _with(earlier: Spent, later: Spent) -> Spent:
    """The counters of a call together with those that a failed attempt of it had seen."""
    if earlier == NOTHING:
        return later
    return Spent(*(y if x is None else x if y is None else x + y for x, y in zip(earlier, later, strict=True)))
