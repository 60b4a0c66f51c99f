"""What can be chosen on the page, threads first, each with what ``sessions`` tells of it.

A sum says by name which of its counters are lower bounds, so that the page marks those and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analyzers.lineage import Lineage, Session, Thread
from analyzers.sessions import SessionRow, ThreadRow
from analyzers.sessions_shown import message_counts
from analyzers.usage_shown import bounded_json
from analyzers.wire.moment import timestamp


def threads_json(lineage: Lineage, rows: Sequence[SessionRow], exchanges: int) -> list[dict[str, Any]]:
    """Each thread with the numbers of its requests, the side calls of each session, and what is in neither.
    ``rows``: of the same sessions; ``exchanges``: how many there are."""
    out: list[dict[str, Any]] = []
    for number, (session, row) in enumerate(zip(lineage.sessions, rows, strict=True)):
        for thread, summed in zip(session.threads, row.threads, strict=True):
            told = {"session": number, "label": _label(session, thread), "requests": [t.n for t in thread.turns]}
            out.append(told | {"thread": _thread_json(summed)})
        side = sorted({n for call in session.side for n in (call.n, *call.attempts)})
        if side:
            out.append({"session": number, "label": "side calls", "requests": side, "thread": None})
    chosen = {n for one in out for n in one["requests"]}
    rest = [n for n in range(1, exchanges + 1) if n not in chosen]
    if rest:
        out.append({"session": None, "label": "failed attempts and other records", "requests": rest, "thread": None})
    return out


def _thread_json(row: ThreadRow) -> dict[str, Any]:
    first = row.turns[0]
    return {
        "agent": row.agent,
        "first": None if first.time is None else timestamp(first.time),
        "step": first.step,
        "follows": first.follows,
        "forked_from": row.forked_from,
        "session_from": row.session_from,
        "current": row.current,
        "turns": len(row.turns),
        "messages": message_counts(row.messages, [turn.at_least for turn in row.turns]),
        "failed_attempts": sum(len(turn.attempts) for turn in row.turns),
        "compacted": [turn.n for turn in row.turns if turn.step == "compacted"],
        "other_steps": [
            {"n": turn.n, "step": turn.step} for turn in row.turns[1:] if turn.step not in ("continues", "compacted")
        ],
        "partial": [turn.n for turn in row.turns if turn.partial],
        "usage": bounded_json(row.sums, loose=row.is_loose),
    }


def _label(session: Session, thread: Thread) -> str:
    step = thread.turns[0].step
    if thread.agent is not None:
        name = f"agent {thread.agent}"
    else:
        main = next((one for one in session.threads if one.agent is None), None)
        name = "main" if thread is main or step != "start" else "thread"
    if thread.forked_from is not None:
        return f"{name}, {'rewound' if step == 'rewind' else 'forked'} at #{thread.forked_from}"
    return f"{name}, cleared after #{thread.turns[0].follows}" if step == "cleared" else name
