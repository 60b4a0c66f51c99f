"""Calls added up: in all, by session, by model, by day; by main threads and sub-agents.

Two sums side by side: ``totals`` as the API's top level tells them, ``billed`` with every iteration in. Each counter
that some call left open makes its sum a lower bound, and a counter that no call gave is unknown, not 0. The calls are
added once, by (session, agent or not, model, day), and every group is a sum of those.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

from analyzers.calls import Call
from analyzers.replays import SetAside
from analyzers.spent import NOTHING, Sum, summed

DAY = 86400


type _Key = tuple[str | None, bool, str | None, str | None]
"""Session, whether it is a sub-agent, model, day."""


@dataclass(slots=True)
class Totals:
    """A sum over calls. ``requests``: calls of a model, failed and unfinished ones among them; ``failed_attempts``:
    requests that failed and were sent again; ``partial``: calls that hold counters of a failed attempt, which may have
    been billed. ``web_searches``: requests to the server's search, which are billed beside the tokens."""

    spent: Sum = field(default_factory=Sum)
    billed: Sum = field(default_factory=Sum)
    requests: int = 0
    failed: int = 0
    unfinished: int = 0
    failed_attempts: int = 0
    partial: int = 0
    web_searches: int = 0

    def add_totals(self, other: Totals) -> None:
        self.spent.add_sum(other.spent)
        self.billed.add_sum(other.billed)
        self.requests += other.requests
        self.failed += other.failed
        self.unfinished += other.unfinished
        self.failed_attempts += other.failed_attempts
        self.partial += other.partial
        self.web_searches += other.web_searches

    @property
    def is_loose(self) -> bool:
        """Whether the output, or what was tried, may be more than was counted."""
        return self.unfinished > 0 or self.partial > 0

    def is_complete(self, sums: Sum) -> bool:
        """Whether ``spent`` or ``billed`` is exact: no call unfinished or perhaps billed in part, no counter
        unknown."""
        open_ = sums.at_least("fresh", "written", "read", "output")
        return not (open_ or self.is_loose)


def known(sums: Sum, part: str) -> int | None:
    """A sum, or None when calls were added and none of them gave the counter."""
    return sums[part] if sums.given(part) else None


def total_input(sums: Sum) -> int | None:
    """Uncached input, cache writes and cache reads together, as far as they are known."""
    parts = [known(sums, part) for part in ("fresh", "written", "read")]
    return None if all(part is None for part in parts) else sum(part or 0 for part in parts)


@dataclass(frozen=True, slots=True)
class Group:
    """The sum of the calls that share a session, a model or a day. ``name`` None: the calls that name none."""

    name: str | None
    totals: Totals
    first: float | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything ``usage`` says. ``probes``: counts of tokens, which are free and in no sum. ``unidentified``: calls
    whose records carry no id of the API, so that copies of them could not be told. ``awaited``: requests of batches
    whose results were not seen, which are in no sum."""

    totals: Totals
    main: Totals
    agents: Totals
    sessions: Sequence[Group]
    models: Sequence[Group]
    days: Sequence[Group]
    calls: Sequence[Call]
    probes: Sequence[Call]
    set_aside: Sequence[SetAside] = ()
    unidentified: int = 0
    rows: int = 0
    synthetic: int = 0
    without_answer: int = 0
    awaited: int = 0
    from_logs: int = 0


def report(
    calls: Iterable[Call],
    aside: Sequence[SetAside] = (),
    *,
    synthetic: int = 0,
    zone: tzinfo = UTC,
    without_answer: int = 0,
    awaited: int = 0,
) -> Report:
    """The sums over calls in time order. ``synthetic``: records of errors that the client wrote itself;
    ``without_answer``: requests of files that hold no answers; ``awaited``: of batches, without a result."""
    day = days(zone)
    groups: defaultdict[_Key, list[Call]] = defaultdict(list)
    firsts: dict[str | None, float] = {}
    counted: list[Call] = []
    probes: list[Call] = []
    for call in calls:
        if call.state == "probe":
            probes.append(call)
            continue
        counted.append(call)
        session, time = call.session, call.time
        groups[session, call.agent is not None or call.sidechain, call.model, day(time)].append(call)
        if time is not None and session not in firsts:
            firsts[session] = time
    cells = {key: totals_of(group) for key, group in groups.items()}
    unknown = Totals(_of_nothing_known(), _of_nothing_known()) if awaited and not counted else None
    return Report(
        totals=unknown or summed_up(cells.values()),
        main=unknown or summed_up(cell for key, cell in cells.items() if not key[1]),
        agents=summed_up(cell for key, cell in cells.items() if key[1]),
        sessions=_groups(cells, 0, firsts),
        models=_groups(cells, 2, {}),
        days=sorted(_groups(cells, 3, {}), key=lambda group: group.name or ""),
        calls=counted,
        probes=probes,
        set_aside=aside,
        unidentified=sum(call.logged and call.message_id is None and call.request_id is None for call in counted),
        rows=sum([call.rows for call in counted]),
        synthetic=synthetic,
        without_answer=without_answer,
        awaited=awaited,
        from_logs=sum([call.logged for call in counted]),
    )


def totals_of(calls: Sequence[Call]) -> Totals:
    """The sum over calls. An answer that was an error is not billed: it counts, and has no counters to add."""
    states = [call.state for call in calls]
    failed, unfinished = states.count("failed"), states.count("unfinished")
    spending = calls
    if failed:
        spending = [call for call in calls if call.state != "failed" or call.spent.known_input or call.spent.output]
    spent = summed([call.spent for call in spending])
    same = all(call.billed is call.spent for call in spending)
    return Totals(
        spent=spent,
        billed=spent if same else summed([call.billed for call in spending]),
        requests=len(calls),
        failed=failed,
        unfinished=unfinished,
        failed_attempts=sum([call.failed_attempts for call in calls]),
        partial=sum([call.partial for call in calls]),
        web_searches=sum([call.terms.web_searches for call in calls if call.terms is not None]),
    )


def _of_nothing_known() -> Sum:
    """What was spent by requests that are there, and of which no call tells."""
    return summed([NOTHING])


def summed_up(many: Iterable[Totals]) -> Totals:
    total = Totals()
    for one in many:
        total.add_totals(one)
    return total


def _groups(
    cells: Mapping[_Key, Totals],
    place: int,
    firsts: Mapping[str | None, float],
) -> list[Group]:
    sums: dict[Any, Totals] = {}
    for key, cell in cells.items():
        sums.setdefault(key[place], Totals()).add_totals(cell)
    return [Group(name, totals, firsts.get(name)) for name, totals in sums.items()]


def days(zone: tzinfo) -> Callable[[float | None], str | None]:
    """Seconds to the date in a zone. A quarter of an hour is in one day everywhere, so each is looked up once."""
    known_days: dict[int, str] = {}
    step = DAY if zone is UTC else 900

    def day(time: float | None) -> str | None:
        if time is None:
            return None
        slot = int(time // step)
        found = known_days.get(slot)
        if found is None:
            try:
                found = datetime.fromtimestamp(slot * step, zone).date().isoformat()
            except (OverflowError, ValueError, OSError):  # a day before the first or after the last there is
                return None
            known_days[slot] = found
        return found

    return day
