"""Everything that the page shows, as one JSON document.

Each part is what the command of that name prints with ``--json``, made by the same functions, so figures cannot differ.
Left out are texts, hashes of texts, and paths of this machine; names that come from the traffic are made safe to show
and cut to a line, with their length. Every sum is made here: the page lays out and adds nothing up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from analyzers.cache_causes import CAUSES
from analyzers.cache_report import cache_report
from analyzers.cache_shown import cache_json
from analyzers.cost import cost_report
from analyzers.cost_shown import report_json as cost_json
from analyzers.exchange import Exchange, Problem
from analyzers.gather import traced, uncollected, usage_report
from analyzers.growth import growth
from analyzers.growth_shown import growth_json
from analyzers.lineage import Lineage, Session, Thread
from analyzers.price_list import DOCUMENTED
from analyzers.prices import PriceBook
from analyzers.report.kept import Kept
from analyzers.report.kinds import KIND_WORDS
from analyzers.report.tools import ToolUse
from analyzers.report.weighed import Weighed
from analyzers.sessions import session_rows
from analyzers.sessions_shown import sessions_json
from analyzers.tables import STEP_WORDS, name_of
from analyzers.turn_sizes import Estimate, TurnSizer
from analyzers.usage_shown import report_json as usage_json
from analyzers.wire.jsontext import Json
from analyzers.wire.moment import timestamp

FORMAT = 1
"""Of the document."""

_LEFT_OUT = frozenset(("sha256", "message_id", "request_id", "file"))
"""Members that hold hashes of texts, ids that nothing is told by here, and paths of this machine."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """The exchanges of a recording in the order of their numbers. ``others``: numbers that are another record of an
    exchange among them, and in no sum."""

    exchanges: Sequence[Exchange]
    others: frozenset[int]
    lineage: Lineage
    growth: dict[str, Any]
    sessions: dict[str, Any]
    numbers: Mapping[str, int]


def document(sources: Kept, problems: list[Problem], book: PriceBook, now: float) -> dict[str, Any]:
    """The document. ``now``: seconds since the epoch, told as the time it was made."""
    sources.notes = {} if sources.notes is None else sources.notes
    with uncollected():
        found = _numbered(sources, problems, book)
        tokens, why = _token_rows(sources, found.exchanges)
        weighed = Weighed(tokens)
        requests = [weighed.add(exchange, n) for n, exchange in enumerate(found.exchanges, 1)]
        told = {
            "format": FORMAT,
            "version": version("weighbridge"),
            "made": timestamp(now),
            "kinds": [{"kind": kind, "words": words} for kind, words in KIND_WORDS.items()],
            "steps": STEP_WORDS,
            "tokens_unknown": why,
            "requests": requests,
            "blocks": weighed.blocks,
            "threads": list(_threads(found)),
            "tools": _tools(found),
            "growth": found.growth,
            "sessions": found.sessions["sessions"],
            "cache": _cache(sources, book, found.lineage),
            **_spent(sources, book, found.numbers),
            "personal": _personal(found.exchanges, sources),
            "problems": [f"{Path(one.place).name}: {one.text}" for one in problems],
        }
    made: dict[str, Any] = shown(told)
    return made


def shown(value: Any) -> Any:
    """The value with its texts safe to show and not longer than a line, and without what is left out. Only as deep as
    this program nests, so it may recurse."""
    if isinstance(value, str):
        return name_of(value)
    if isinstance(value, dict):
        return {name_of(str(name)): shown(member) for name, member in value.items() if name not in _LEFT_OUT}
    if isinstance(value, list | tuple):
        return [shown(member) for member in value]
    return value


def _numbered(sources: Kept, problems: list[Problem], book: PriceBook) -> Numbered:
    sizer = TurnSizer(_estimate())
    read = traced(sources, problems, look=lambda exchange: (exchange, sizer.look(exchange)))
    exchanges = [exchange for exchange, _ in read.looked]
    lineage = read.lineage()
    grown = growth(lineage.sessions, read.calls, [sizes for _, sizes in read.looked], book)
    return Numbered(
        exchanges,
        frozenset(n for n, trace in enumerate(read.traces, 1) if trace is None),
        lineage,
        growth_json(grown),
        sessions_json(session_rows(lineage, read.calls)),
        {exchange.place: n for n, exchange in enumerate(exchanges, 1)},
    )


def _threads(found: Numbered) -> list[dict[str, Any]]:
    """What can be chosen: each thread with the numbers of its requests, and the side calls of each session."""
    out: list[dict[str, Any]] = []
    for number, session in enumerate(found.lineage.sessions):
        for thread in session.threads:
            out.append({"session": number, "label": _label(session, thread), "requests": [t.n for t in thread.turns]})
        side = sorted({n for call in session.side for n in (call.n, *call.attempts)})
        if side:
            out.append({"session": number, "label": "side calls", "requests": side})
    told = {n for one in out for n in one["requests"]}
    rest = [n for n in range(1, len(found.exchanges) + 1) if n not in told]
    if rest:
        out.append({"session": None, "label": "failed attempts and other records", "requests": rest})
    return out


def _label(session: Session, thread: Thread) -> str:
    if thread.agent is not None:
        name = f"agent {thread.agent}"
    else:
        main = next((one for one in session.threads if one.agent is None), None)
        name = "main" if thread is main or thread.turns[0].step != "start" else "thread"
    return name if thread.forked_from is None else f"{name}, forked at #{thread.forked_from}"


def _tools(found: Numbered) -> list[dict[str, Any]]:
    used = ToolUse()
    numbers = {session.name: number for number, session in enumerate(found.lineage.sessions)}
    for n, exchange in enumerate(found.exchanges, 1):
        if n not in found.others:
            used.add(exchange, n, numbers.get(found.lineage.session_of[n - 1] or ""))
    return used.as_json()


def _cache(sources: Kept, book: PriceBook, lineage: Lineage) -> dict[str, Any]:
    """The chains, with the causes in words, and each breakpoint under the number of its session."""
    told = cache_json(cache_report(sources, [], None), book)
    numbers = {session.name: number for number, session in enumerate(lineage.sessions)}
    for thread in told["sessions"]:
        for row in thread["rows"]:
            row["cause_words"] = None if row["cause"] is None else CAUSES[row["cause"]]
    for one in told["breakpoints"]:
        one["session_index"] = numbers.get(one["session"])
    return told


def _spent(sources: Kept, book: PriceBook, numbers: Mapping[str, int]) -> dict[str, Any]:
    """Usage and cost of all calls, each once."""
    used = usage_report(sources, [])
    usage = usage_json(used)
    del usage["rows"], usage["probes"], usage["set_aside"]
    listed = book.listed
    prices: dict[str, Any] = {"list": "genai-prices", "version": listed.version}
    prices |= {
        "latest_change": listed.dated or None,
        "documentation": DOCUMENTED,
        "own": bool(book.own.source),
        "currency": "USD",
    }
    costs = cost_json(cost_report(used, book), prices)
    del costs["set_aside"]
    costs["rows"] = [{"n": numbers.get(row.pop("place")), **row} for row in costs["rows"]]
    return {"usage": usage, "cost": costs}


def _estimate() -> Estimate | None:
    """Tokens of what no server counted."""

    def tokens(body: Json, model: str | None) -> int:
        from analyzers.row_tokens import row_tokens  # loads the ranks of a tokenizer

        return row_tokens(body, model)

    return tokens


def _token_rows(sources: Kept, exchanges: Sequence[Exchange]) -> tuple[Any, str | None]:
    """What estimates the tokens of rows, else why nothing does."""
    from analyzers.attribution import known_weights
    from analyzers.report.token_rows import TokenRows
    from analyzers.tokenizer import DamagedRanks
    from analyzers.tokens import weigh

    try:
        weigh("weigh")
    except DamagedRanks as error:
        return None, str(error)
    models = {one.request.model for one in exchanges if one.request is not None}
    return TokenRows(known_weights(sources.notes, models)), None


def _personal(exchanges: Sequence[Exchange], sources: Kept) -> dict[str, Any] | None:
    from analyzers.report.personal import personal_json

    return personal_json(exchanges, sources.notes or {})
