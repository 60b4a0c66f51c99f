"""Sessions as JSON and on the terminal. Adds nothing up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from analyzers import tables
from analyzers.failure import safe
from analyzers.sessions import SessionRow, SideRow, ThreadRow, TurnRow
from analyzers.spent import Sum
from analyzers.tables import Grid
from analyzers.usage import known, total_input
from analyzers.usage_shown import bound, bounded_json, spent_json
from analyzers.wire.moment import timestamp

_SIDE_WORDS = {
    "count_tokens": "counts of tokens",
    "probe": "probes",
    "compaction": "summaries for compaction",
    "helper": "helper calls",
    "batch": "batch calls",
}
_USUAL = ("start", "continues", "fork", "rewind", "cleared")
_MOST_THREADS = 20
_MOST_WORDS = 6
_MOST_MESSAGES = 8
_SHORT_ID = 8


def sessions_json(rows: Sequence[SessionRow]) -> dict[str, Any]:
    """What ``sessions --json`` prints."""
    return {"sessions": [_session_json(row) for row in rows]}


def _session_json(row: SessionRow) -> dict[str, Any]:
    return {
        "session": row.name,
        "declared": row.declared,
        "first": None if row.first is None else timestamp(row.first),
        "last": None if row.last is None else timestamp(row.last),
        "runs": row.runs,
        "warm_start": row.warm,
        "calls": row.calls,
        "failed_attempts": row.failed_attempts,
        "usage": bounded_json(row.sums, loose=row.is_loose),
        "current_path": list(row.path),
        "current_path_usage": bounded_json(row.path_sums, loose=row.is_path_loose),
        "threads": [_thread_json(thread) for thread in row.threads],
        "side_calls": [_side_json(side) for side in row.side],
        "notes": list(row.notes),
    }


def _thread_json(thread: ThreadRow) -> dict[str, Any]:
    return {
        "agent": thread.agent,
        "forked_from": thread.forked_from,
        "session_from": thread.session_from,
        "current": thread.current,
        "messages": list(thread.messages),
        "usage": bounded_json(thread.sums, loose=thread.is_loose),
        "turns": [_turn_json(turn) for turn in thread.turns],
    }


def _turn_json(turn: TurnRow) -> dict[str, Any]:
    return {
        "n": turn.n,
        "time": None if turn.time is None else timestamp(turn.time),
        "step": turn.step,
        "follows": turn.follows,
        "common_messages": turn.common,
        "failed_attempts": list(turn.attempts),
        "model": turn.model,
        "ended": turn.ended,
        "messages": turn.messages,
        "messages_at_least": turn.at_least,
        "prompt_messages": turn.prompt_messages,
        "wire_chars": turn.wire_chars,
        "prompt_chars": turn.prompt_chars,
        "partial": turn.partial,
    } | spent_json(turn.spent)


def _side_json(side: SideRow) -> dict[str, Any]:
    told = {"n": side.n, "kind": side.kind, "time": None if side.time is None else timestamp(side.time)}
    if side.kind == "count_tokens":
        return told | {"model": side.model, "counted_tokens": side.counted}
    return told | {"model": side.model} | spent_json(side.spent)


def print_sessions(rows: Sequence[SessionRow], most: int | None) -> None:
    """Prints a row for each session and one for each of its threads, the newest sessions last. ``most``: sessions
    before the older ones are only counted, as are then a session's older threads where it has many; None shows all."""
    shown = rows if most is None else rows[-most:]
    drawn = tables.grid(
        "session / thread", "first (UTC)", "calls", "messages", "start", "total input", "output", "what happened",
        left=(0, 1, 3, 4, 7),
    )  # fmt: skip
    for row in shown:
        drawn.add(*_session_cells(row), total=True)
        threads = row.threads if most is None else row.threads[-_MOST_THREADS:]
        if hidden := len(row.threads) - len(threads):
            drawn.add(f"  {hidden:,} older threads (--all)", *[""] * 7)
        for thread in threads:
            drawn.add(*_thread_cells(thread, _is_main(thread, row)))
    lines: list[Grid | str] = [drawn, ""]
    if len(shown) < len(rows):
        lines.append(f"{len(rows) - len(shown):,} older sessions are not shown (--all)")
    warm = sum(row.warm is True for row in rows)
    unknown = sum(row.warm is None for row in rows)
    lines.append(
        f"sessions: {len(rows):,}, starting with a warm cache: {warm:,}, cold: {len(rows) - warm - unknown:,}"
        + (f", not known: {unknown:,}" if unknown else "")
    )
    lines += [f"note: {safe(row.name or '')}: {safe(note)}" for row in shown for note in row.notes]
    tables.draw(*lines)


def _session_cells(row: SessionRow) -> tuple[str, ...]:
    start = tables.UNKNOWN if row.warm is None else "warm" if row.warm else "cold"
    return (
        tables.name_of(row.name or tables.UNKNOWN),
        tables.clock(row.first),
        f"{row.calls:,}",
        "",
        start,
        *_sum_cells(row.sums, loose=row.is_loose),
        ", ".join(_session_words(row)),
    )


def _session_words(row: SessionRow) -> Iterable[str]:
    if row.runs > 1:
        yield f"{row.runs} runs"
    if row.failed_attempts:
        yield f"failed attempts: {row.failed_attempts}"
    for kind, number in Counter(side.kind for side in row.side).items():
        yield f"{_SIDE_WORDS[kind]}: {number}"


def _is_main(thread: ThreadRow, row: SessionRow) -> bool:
    """Whether a thread is the conversation itself: neither a sub-agent's nor, where clients do not tell those, one that
    began beside it."""
    first = next((one for one in row.threads if one.agent is None), None)
    return thread.agent is None and (thread is first or thread.turns[0].step != "start")


def _thread_cells(thread: ThreadRow, main: bool) -> tuple[str, ...]:
    name = "main" if main else "thread" if thread.agent is None else f"agent {thread.agent[:_SHORT_ID]}"
    step = thread.turns[0].step
    if thread.forked_from is not None:
        name += f", {'rewound' if step == 'rewind' else 'forked'} at #{thread.forked_from}"
    elif step == "cleared":
        name += f", cleared after #{thread.turns[0].follows}"
    return (
        f"  {tables.name_of(name)}",
        tables.clock(thread.turns[0].time),
        f"{len(thread.turns):,}",
        message_counts(thread.messages, [turn.at_least for turn in thread.turns]),
        "",
        *_sum_cells(thread.sums, loose=thread.is_loose),
        ", ".join(_thread_words(thread)),
    )


def _thread_words(thread: ThreadRow) -> Iterable[str]:
    if thread.session_from is not None:
        yield f"from session {safe(thread.session_from[:_SHORT_ID])}"
    words = list(_turn_words(thread.turns))
    yield from words[:_MOST_WORDS]
    if len(words) > _MOST_WORDS:
        yield f"{len(words) - _MOST_WORDS:,} more (--json)"
    rebuilt = [turn for turn in thread.turns if turn.prompt_chars is not None]
    if rebuilt:
        last = rebuilt[-1]
        sent, whole = tables.count(last.wire_chars), tables.count(last.prompt_chars)
        yield f"message thread: #{last.n} sent {sent} chars of a prompt of {whole}"
    if partial := [turn.n for turn in thread.turns if turn.partial]:
        yield f"#{partial[0]} partial: the start of its message thread was not recorded" + (
            f" (so are {len(partial) - 1:,} more)" if len(partial) > 1 else ""
        )


def _turn_words(turns: Iterable[TurnRow]) -> Iterable[str]:
    for turn in turns:
        if turn.step not in _USUAL:
            yield f"#{turn.n} {turn.step}"
        if turn.attempts:
            yield f"#{turn.n} was attempt {len(turn.attempts) + 1}"


def message_counts(counts: Sequence[int | None], at_least: Sequence[bool]) -> str:
    """``1 3 5 7``: messages of each request; of many, the first few and the last. ``≥`` where a log tells no more."""
    told = [bound(count, loose) for count, loose in zip(counts, at_least, strict=True)]
    if len(told) > _MOST_MESSAGES:
        told = [*told[: _MOST_MESSAGES - 2], "…", told[-1]]
    return " ".join(told)


def _sum_cells(sums: Sum, *, loose: bool) -> tuple[str, str]:
    return (
        bound(total_input(sums), sums.at_least("fresh", "written", "read")),
        bound(known(sums, "output"), sums.at_least("output") or loose),
    )
