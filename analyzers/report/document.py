"""Everything that the page shows, as one JSON document.

Each part is what the command of that name prints with ``--json``, made by the same functions, so figures cannot differ.
Left out are texts, hashes of texts, and paths of this machine; names that come from the traffic are made safe to show
and cut to a line, with their length. Every sum is made here: the page lays out and adds nothing up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from analyzers.cache import CacheRow
from analyzers.cache_causes import CAUSES
from analyzers.cache_report import cache_report
from analyzers.cache_shown import cache_json
from analyzers.cost import cost_report
from analyzers.cost_shown import report_json as cost_json
from analyzers.exchange import Exchange, Problem
from analyzers.gather import traced, uncollected, usage_report
from analyzers.growth import growth
from analyzers.growth_shown import growth_json
from analyzers.lineage import Lineage
from analyzers.price_book import PriceBook
from analyzers.price_list import DOCUMENTED
from analyzers.readers.kept import Kept
from analyzers.report.kinds import KIND_WORDS
from analyzers.report.threads import threads_json
from analyzers.report.tools import ToolUse
from analyzers.report.unused import problems_told
from analyzers.report.weighed import Weighed
from analyzers.sessions import SessionRow, session_rows
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
    exchange among them, and in no sum. ``numbers``: by the place of an exchange; ``ids``: by that of its message."""

    exchanges: Sequence[Exchange]
    others: frozenset[int]
    lineage: Lineage
    growth: dict[str, Any]
    sessions: Sequence[SessionRow]
    numbers: Mapping[str, int]
    ids: Mapping[str, int]


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
            "threads": threads_json(found.lineage, found.sessions, len(found.exchanges)),
            "tools": _tools(found),
            "growth": found.growth,
            "sessions": sessions_json(found.sessions)["sessions"],
            "cache": _cache(sources, book, found.lineage),
            **_spent(sources, book, found),
            "personal": _personal(found.exchanges, sources),
            "problems": problems_told(problems, now),
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
        session_rows(lineage, read.calls),
        {exchange.place: n for n, exchange in enumerate(exchanges, 1)},
        _ids(exchanges),
    )


def _tools(found: Numbered) -> list[dict[str, Any]]:
    used = ToolUse()
    numbers = {session.name: number for number, session in enumerate(found.lineage.sessions)}
    for n, exchange in enumerate(found.exchanges, 1):
        if n not in found.others:
            used.add(exchange, n, numbers.get(found.lineage.session_of[n - 1] or ""))
    return used.as_json()


def _cache(sources: Kept, book: PriceBook, lineage: Lineage) -> dict[str, Any]:
    """The chains, with the causes in words, and each breakpoint under the number of its session. ``counted``: of how
    many requests the sums are."""
    found = cache_report(sources, [], None)
    told = cache_json(found, book)
    numbers = {session.name: number for number, session in enumerate(lineage.sessions)}
    for thread in told["sessions"]:
        for row in thread["rows"]:
            row["cause_words"] = None if row["cause"] is None else CAUSES[row["cause"]]
    for one in told["breakpoints"]:
        one["session_index"] = numbers.get(one["session"])
    told["counted"] = _counted(list(found.rows))
    told["counted_by_session"] = [
        {"session_index": numbers.get(one.session or ""), **_counted(one.rows)} for one in found.sessions
    ]
    return told


def _counted(rows: Sequence[CacheRow]) -> dict[str, int]:
    """Of how many requests what they read is known, and of those that continue another, how many could be judged."""
    following = [row for row in rows if row.follows is not None]
    return {
        "requests": len(rows),
        "known": sum(row.seen.spent.total_input is not None for row in rows),
        "following": len(following),
        "judged": sum(row.holds is not None for row in following),
    }


def _ids(exchanges: Sequence[Exchange]) -> dict[str, int]:
    """The numbers of exchanges by the ids of their messages, the first of each."""
    out: dict[str, int] = {}
    for n, exchange in enumerate(exchanges, 1):
        if exchange.response is not None and exchange.response.message_id is not None:
            out.setdefault(exchange.response.message_id, n)
    return out


def _spent(sources: Kept, book: PriceBook, found: Numbered) -> dict[str, Any]:
    """Usage and cost of all calls, each once; a call that several logs hold is told by its message, wherever it was
    counted."""
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
    spent = cost_report(used, book)
    costs = cost_json(spent, prices)
    del costs["set_aside"]
    costs["rows"] = [
        {"n": found.numbers.get(row.pop("place"), found.ids.get(row["message_id"])), **row, "free": one.found is None}
        for row, one in zip(costs["rows"], spent.calls, strict=True)
    ]
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
