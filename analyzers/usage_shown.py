"""Usage as JSON and on the terminal. Adds nothing up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from analyzers import tables
from analyzers.calls import Call
from analyzers.failure import safe
from analyzers.replays import SetAside
from analyzers.spent import Spent, Sum
from analyzers.tables import Grid
from analyzers.usage import Group, Report, Totals, known, total_input
from analyzers.wire.moment import timestamp

_NAMES = (
    ("input_tokens", "fresh"),
    ("cache_creation_input_tokens", "written"),
    ("ephemeral_5m_input_tokens", "written_5m"),
    ("ephemeral_1h_input_tokens", "written_1h"),
    ("cache_read_input_tokens", "read"),
)
BOUNDS: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: (part,) for name, part in _NAMES},
    "total_input_tokens": ("fresh", "written", "read"),
    "output_tokens": ("output",),
    "thinking_tokens": ("thinking",),
}
"""The counters by the API's names, each with what its sum is made of."""
_LOOSE = ("output_tokens",)
_COLUMNS = ("requests", "input", "write 5m", "write 1h", "cache read", "total input", "output", "of it thinking")
_REASONS = {
    "probable_replay": "repeat those of another file (probable replay)",
    "unidentified_copy": "have no id and equal those of another file",
}
VIEWS = ("request", "session", "model", "day")


def report_json(report: Report) -> dict[str, Any]:
    """What ``usage --json`` prints: the API's own names for its counters, null for unknown; where ``complete`` is false
    the sums are lower bounds."""
    return {
        "totals": totals_json(report.totals, report.totals.spent),
        "billed": totals_json(report.totals, report.totals.billed),
        "main": totals_json(report.main, report.main.spent),
        "sub_agents": totals_json(report.agents, report.agents.spent),
        "sessions": [group_json("session", group) for group in report.sessions],
        "models": [group_json("model", group) for group in report.models],
        "days": [group_json("day", group) for group in report.days],
        "rows": [call_json(call) for call in report.calls],
        "probes": [probe_json(call) for call in report.probes],
        "set_aside": [set_aside_json(found) for found in report.set_aside],
        "unidentified": report.unidentified,
        "records": report.rows,
        "synthetic": report.synthetic,
        "without_answer": report.without_answer,
        "awaited": report.awaited,
        "from_logs": report.from_logs,
    }


def totals_json(totals: Totals, sums: Sum) -> dict[str, Any]:
    return sums_json(sums) | {
        "requests": totals.requests,
        "failed": totals.failed,
        "unfinished": totals.unfinished,
        "failed_attempts": totals.failed_attempts,
        "web_search_requests": totals.web_searches,
        "complete": totals.is_complete(sums),
        "at_least": at_least(sums, loose=totals.is_loose),
    }


def at_least(sums: Sum, *, loose: bool) -> list[str]:
    """The sums that are lower bounds, by the API's names; those of which nothing is known are none. ``loose``: of some
    call the output, or what was tried, may be more than was counted."""
    told = sums_json(sums)
    return [
        name
        for name, parts in BOUNDS.items()
        if told[name] is not None and (sums.at_least(*parts) or (name in _LOOSE and loose))
    ]


def bounded_json(sums: Sum, *, loose: bool) -> dict[str, Any]:
    """Sums, whether they are exact, and the names of those that are lower bounds. ``loose``: as for ``at_least``."""
    complete = not (loose or sums.at_least("fresh", "written", "read", "output"))
    return sums_json(sums) | {"complete": complete, "at_least": at_least(sums, loose=loose)}


def sums_json(sums: Sum) -> dict[str, int | None]:
    told = {name: known(sums, part) for name, part in _NAMES}
    return told | {
        "total_input_tokens": total_input(sums),
        "output_tokens": known(sums, "output"),
        "thinking_tokens": known(sums, "thinking"),
    }


def group_json(kind: str, group: Group) -> dict[str, Any]:
    first = {} if group.first is None else {"first": timestamp(group.first)}
    return {kind: group.name} | first | totals_json(group.totals, group.totals.spent)


def spent_json(spent: Spent) -> dict[str, int | None]:
    return {name: getattr(spent, part) for name, part in _NAMES} | {
        "total_input_tokens": spent.total_input,
        "output_tokens": spent.output,
        "thinking_tokens": spent.thinking,
    }


def identity_json(call: Call) -> dict[str, Any]:
    """Which call it is."""
    return {
        "time": None if call.time is None else timestamp(call.time),
        "session": call.session,
        "agent": call.agent,
        "model": call.model,
        "model_requested": call.requested,
        "message_id": call.message_id,
        "request_id": call.request_id,
        "state": call.state,
    }


def call_json(call: Call) -> dict[str, Any]:
    told = {
        **identity_json(call),
        **spent_json(call.spent),
        "attempts": call.attempts,
        "failed_attempts": call.failed_attempts,
        "maybe_billed": call.partial,
        "records": call.rows,
        "place": call.place,
    }
    return told if call.billed == call.spent else told | {"billed": spent_json(call.billed)}


def probe_json(call: Call) -> dict[str, Any]:
    time = None if call.time is None else timestamp(call.time)
    return {"time": time, "session": call.session, "input_tokens": call.counted, "place": call.place}


def set_aside_json(found: SetAside) -> dict[str, Any]:
    return {"reason": found.reason, "calls": found.calls, "place": found.place, "like": found.like} | sums_json(
        found.sums
    )


def print_report(report: Report, view: str | None, most: int | None, zone: str) -> None:
    """Prints the sums as tables. ``view``: only by this; ``most``: rows of a table before the others are counted;
    ``zone``: whose days they are."""
    things: list[Grid | str] = []
    if view in (None, "model"):
        things += _table("model", report.models, report.totals, most)
    if view in (None, "day"):
        things += _table(f"day ({zone})", report.days, report.totals, most)
    if view in (None, "session"):
        things += _table("session", _newest(report.sessions), report.totals, most)
    if view == "request":
        things += [_requests(report.calls), ""]
    if view is None and report.agents.requests:
        things += [_threads(report), ""]
    tables.draw(*things, *_remarks(report))


def _newest(groups: Sequence[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: -(group.first or 0.0))


def _table(name: str, groups: Sequence[Group], totals: Totals, most: int | None) -> list[Grid | str]:
    rows = [(group.name, _cells(group.totals)) for group in groups]
    return tables.grouped(name, _COLUMNS, rows, _cells(totals), most)


def _threads(report: Report) -> Grid:
    drawn = tables.grid("threads", *_COLUMNS)
    drawn.add("main", *_cells(report.main))
    drawn.add("sub-agents", *_cells(report.agents))
    drawn.add("total", *_cells(report.totals), total=True)
    return drawn


def _cells(totals: Totals) -> Iterable[str]:
    sums = totals.spent
    yield f"{totals.requests:,}"
    for part in ("fresh", "written_5m", "written_1h", "read"):
        yield bound(known(sums, part), sums.at_least(part))
    yield bound(total_input(sums), sums.at_least("fresh", "written", "read"))
    yield bound(known(sums, "output"), sums.at_least("output") or totals.is_loose)
    yield bound(known(sums, "thinking"), sums.at_least("thinking"))


def bound(value: int | None, at_least: bool) -> str:
    """A sum; with ``≥`` where something in it is unknown, ``?`` where all is."""
    return tables.UNKNOWN if value is None else f"{'≥' if at_least else ''}{value:,}"


def _requests(calls: Sequence[Call]) -> Grid:
    drawn = tables.grid(
        "time (UTC)", "session", "model", "input", "write 5m", "write 1h", "cache read", "output", "state",
        left=(0, 1, 2, 8),
    )  # fmt: skip
    for call in calls:
        spent = call.spent
        agent = f" / {call.agent[:8]}" if call.agent else ""
        state = call.state if call.attempts == 1 else f"{call.state}, {call.attempts} attempts"
        drawn.add(
            tables.clock(call.time),
            tables.name_of(f"{(call.session or tables.UNKNOWN)[:8]}{agent}"),
            tables.name_of(call.model or f"({call.requested or tables.UNKNOWN})"),
            *(
                tables.count(part)
                for part in (spent.fresh, spent.written_5m, spent.written_1h, spent.read, spent.output)
            ),
            state,
        )
    return drawn


def _remarks(report: Report) -> Iterable[str]:
    """What the tables do not show: what the sums are worth, and what is not in them."""
    totals = report.totals
    exact = totals.is_complete(totals.spent)
    of_calls = " of the calls that the logs hold" if report.from_logs else ""
    of_calls = of_calls or (" of the calls above" if report.awaited else "")
    if exact:
        yield f"every billed sum{of_calls} is exact"
    elif all(amount is None for amount in sums_json(totals.spent).values()):
        yield "what was spent is not known: no counter was recorded"
    else:
        yield "≥: at least, because counters are unknown or not final"
    if report.from_logs:
        yield (
            f"calls told by a client's log: {report.from_logs:,}; logs leave out failed attempts, summaries for "
            "compaction and counts of tokens (sessions --compare says what that is)"
        )
    if totals.failed or totals.unfinished or totals.failed_attempts:
        yield (
            f"failed calls: {totals.failed:,}   unfinished: {totals.unfinished:,}   "
            f"failed attempts that were made again: {totals.failed_attempts:,}"
        )
    if totals.web_searches:
        yield f"web searches by the server, billed beside the tokens (see cost): {totals.web_searches:,}"
    if totals.partial:
        yield f"calls with failed attempts whose spending is in the sums, billed or not: {totals.partial:,}"
    if sums_json(totals.billed) != sums_json(totals.spent):
        billed = totals.billed
        open_ = not totals.is_complete(billed)
        yield (
            f"billed, with every iteration in: total input {bound(total_input(billed), open_)}, "
            f"output {bound(known(billed, 'output'), open_)}"
        )
    if report.without_answer:
        yield f"requests of files that hold no answers, in no sum: {report.without_answer:,}"
    if report.awaited:
        yield f"requests of batches whose results were not recorded, in no sum: {report.awaited:,}"
    if report.probes:
        yield f"counts of tokens, free and in no sum: {len(report.probes):,}"
    for found in report.set_aside:
        place, like = safe(found.place), safe(found.like)
        yield f"set aside, in no sum: {found.calls:,} of {place}, which {_REASONS[found.reason]}: {like}"
    if report.unidentified:
        yield f"calls without any id of the API, of which copies could not be told: {report.unidentified:,}"
    if report.synthetic:
        yield f"records that the client wrote itself, which are no calls: {report.synthetic:,}"
