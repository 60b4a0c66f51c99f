"""Wire against log, as JSON and on the terminal. Adds nothing up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from analyzers import tables
from analyzers.comparison import Compared, Comparison, kinds_of
from analyzers.failure import safe
from analyzers.spent import Sum
from analyzers.tables import Grid
from analyzers.usage import known, total_input
from analyzers.usage_shown import bound, call_json, spent_json, sums_json

_NAMES = {
    "fresh": "input_tokens",
    "written": "cache_creation_input_tokens",
    "written_5m": "ephemeral_5m_input_tokens",
    "written_1h": "ephemeral_1h_input_tokens",
    "read": "cache_read_input_tokens",
    "output": "output_tokens",
}
_KINDS = {
    "count_tokens": "counts of tokens",
    "probe": "probes",
    "compaction": "summaries for compaction",
    "helper": "helper calls",
    "batch": "batch calls",
    "failed": "failed requests",
    "turn": "turns",
}
_MOST = 10


def comparison_json(found: Comparison) -> dict[str, Any]:
    """What ``sessions --compare --json`` prints."""
    return {
        "sessions": [_json(row) for row in found.sessions],
        "not_recorded": {"sessions": found.other_sessions, "calls": found.other_calls},
    }


def _json(row: Compared) -> dict[str, Any]:
    return {
        "session": row.session,
        "forked_from": row.origin,
        "joined": row.joined,
        "wire": sums_json(row.wire) | {"calls": row.wire_calls},
        "log": sums_json(row.log) | {"calls": row.log_calls, "records": row.records},
        "client_totals": None if row.own is None else spent_json(row.own),
        "missed_by_log": sums_json(row.missed) | {"calls": dict(kinds_of(row))},
        "wire_only": [
            {"n": found.n, "kind": found.kind, "request_id": found.request_id} | spent_json(found.spent)
            for found in row.wire_only
        ],
        "log_only": [call_json(call) for call in row.log_only],
        "differences": [
            {
                "n": found.n,
                "message_id": found.message_id,
                "request_id": found.request_id,
                "counter": _NAMES[found.counter],
                "wire": found.wire,
                "log": found.log,
            }
            for found in row.differs
        ],
    }


def print_comparison(found: Comparison) -> None:
    """Prints each recorded session as the wire, the log and the client's own counter tell it, and what differs."""
    things: list[Grid | str] = []
    for row in found.sessions:
        things += [f"session {tables.name_of(row.session)}", _table(row), *_remarks(row), ""]
    if found.other_sessions:
        told = f"{found.other_sessions:,} more sessions with {found.other_calls:,} calls"
        things.append(f"the log has {told}; nothing was recorded of them")
    else:
        things = things[:-1]
    tables.draw(*things)


def _table(row: Compared) -> Grid:
    drawn = tables.grid("told by", "calls", "input", "write 5m", "write 1h", "cache read", "total input", "output")
    drawn.add("the wire", f"{row.wire_calls:,}", *_cells(row.wire))
    drawn.add("the log", f"{row.log_calls:,}", *_cells(row.log))
    if row.own is not None:
        own = row.own
        parts = (own.fresh, own.written_5m, own.written_1h, own.read, own.total_input, own.output)
        drawn.add("the client's own counter", "", *map(tables.count, parts))
    return drawn


def _cells(sums: Sum) -> Iterable[str]:
    for part in ("fresh", "written_5m", "written_1h", "read"):
        yield bound(known(sums, part), sums.at_least(part))
    yield bound(total_input(sums), sums.at_least("fresh", "written", "read"))
    yield bound(known(sums, "output"), sums.at_least("output"))


def _remarks(row: Compared) -> Iterable[str]:
    yield f"in both: {row.joined:,}; calls of the log: {row.log_calls:,}, in {row.records:,} records"
    if row.wire_only:
        kinds = ", ".join(f"{_KINDS[kind]} {number:,}" for kind, number in kinds_of(row).items())
        sums = row.missed
        whole = bound(total_input(sums), sums.at_least("fresh", "written", "read"))
        spent = f"total input {whole}, output {bound(known(sums, 'output'), sums.at_least('output'))}"
        yield f"not in the log: {len(row.wire_only):,} ({kinds}; {spent})"
    if row.own is not None and row.origin is not None:
        yield f"forked from session {safe(row.origin)}: the client's own counter may go on from there"
    if row.log_only:
        yield f"in the log and not recorded on the wire: {len(row.log_only):,}"
    for found in row.differs[:_MOST]:
        request = safe(found.request_id or found.message_id or "")
        yield (
            f"#{found.n} {request}: {_NAMES[found.counter]} is {tables.count(found.wire)} on the wire, "
            f"{tables.count(found.log)} in the log"
        )
    if len(row.differs) > _MOST:
        yield f"{len(row.differs) - _MOST:,} more counters differ (--json lists them)"
    if not row.differs and row.joined:
        yield "every counter of the joined calls is the same in both"
