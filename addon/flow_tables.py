"""A flow as tables in plain text: the ledger of a request with what its answer cost, and the figures of an answer.

Loaded when somebody looks at a flow for the first time, not when the proxy starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from mitmproxy import http

from addon.flow_exchange import NOT_OURS, Told, exchange_of, route_of
from analyzers import tables
from analyzers.exchange import Exchange, Response
from analyzers.failure import safe
from analyzers.prompts import rebuilt
from analyzers.show import notes
from analyzers.sizes import request_ledger
from analyzers.spent import of_usage
from analyzers.summary import Summary, summarise

MOST_ROWS: Final = 40
"""Rows of one field before the shorter ones are counted in one line."""


MOST_LINES: Final = 5_000
MOST_NOTES: Final = 40


def flow_lines(flow: http.HTTPFlow, told: Told | None, *, answer: bool = False) -> Iterator[str]:
    """The tables of a flow, line by line. ``answer``: those of its answer, instead of the request's."""
    lines = _lines(flow, told, answer)
    yield from islice(lines, MOST_LINES)
    if next(lines, None) is not None:
        yield f"… and more: {MOST_LINES:,} lines are shown here, all of them by `weighbridge show`"


def _lines(flow: http.HTTPFlow, told: Told | None, answer: bool) -> Iterator[str]:
    route = route_of(flow) or ("other" if told is not None else None)
    if route is None:
        yield NOT_OURS
        return
    exchange = exchange_of(flow, route, told)
    row = summarise(exchange, told.number or 0 if told is not None else 0)
    heading = tables.heading(row, exchange)
    yield heading if row.n else heading.partition("  ")[2]
    parts = _answer(exchange, row) if answer else _request(exchange, row, told)
    for part in parts:
        yield from part.plain() if isinstance(part, tables.Grid) else (part,)
    found = notes(exchange)
    yield from map(tables.note_line, found[:MOST_NOTES])
    if len(found) > MOST_NOTES:
        yield f"… and {tables.count(len(found) - MOST_NOTES)} more notes"


def _request(exchange: Exchange, row: Summary, told: Told | None) -> Iterator[tables.Grid | str]:
    """The ledger, and in one line what the answer cost."""
    yield _cost(exchange, row)
    yield from _error(exchange, row)
    yield ""
    ledger = request_ledger(exchange.request) if exchange.request is not None else None
    if ledger is None:
        yield f"no blocks: {safe(row.reason or 'no body')}"
        yield from _recorded(told)
        return
    yield from (tables.field_table(ledger), "", tables.block_table(ledger.fields, ledger.unit, MOST_ROWS), "")
    yield tables.wire_table(ledger)
    if rebuilt(exchange, lambda: ()) is not None:
        yield "message thread: these are the sizes of what is new; `weighbridge show` tells those of the whole prompt"
    yield from map(tables.difference, ledger.differences)


def _recorded(told: Told | None) -> Iterator[tables.Grid | str]:
    """The sizes that were taken when the request was recorded."""
    figures = told.request.get("figures") if told is not None else None
    if not figures:
        return
    drawn = tables.grid("field, as recorded", "chars")
    for name, amount in sorted(figures["fields"].items(), key=lambda field: -field[1]):
        drawn.add(tables.name_of(name) or "(body)", tables.count(amount))
    drawn.add("total", tables.count(figures["total"]), total=True)
    yield from ("", drawn)


def _cost(exchange: Exchange, row: Summary) -> str:
    if exchange.ended == "in_flight":
        return "the answer is still to come"
    if (counted := _counted(exchange)) is not None:
        return f"counted: {tables.count(counted)} input tokens"
    return tables.usage_line(row)


def _counted(exchange: Exchange) -> int | None:
    """What count_tokens answered."""
    body = exchange.response.body if exchange.response is not None else None
    tokens = body.get("input_tokens") if type(body) is dict else None
    return tokens if type(tokens) is int else None


def _error(exchange: Exchange, row: Summary) -> Iterator[str]:
    error = exchange.response.error if exchange.response is not None else None
    if error is not None:
        said = f"{error.type or tables.UNKNOWN}: {error.message or tables.UNKNOWN}"
        yield f"error: {safe(said)} ({safe(row.request_id or 'no request id')})"


def _answer(exchange: Exchange, row: Summary) -> Iterator[tables.Grid | str]:
    """The counters of an answer, who served it, and how it ended."""
    yield from _error(exchange, row)
    yield ""
    response = exchange.response
    if response is None:
        yield _cost(exchange, row)
        return
    yield from (_counters(exchange, response), "")
    drawn = tables.grid("answer", "", left=(0, 1))
    drawn.add("model served", tables.name_of(row.model or tables.UNKNOWN))
    drawn.add("model asked for", tables.name_of(row.model_requested or tables.UNKNOWN))
    drawn.add("stop reason", tables.name_of(response.stop_reason or tables.UNKNOWN))
    drawn.add("ended", tables.ending(row))
    if response.failure:
        drawn.add("failure", tables.name_of(response.failure))
    drawn.add("status", tables.count(response.status))
    drawn.add("request id", tables.name_of(row.request_id or tables.UNKNOWN))
    drawn.add("first byte", _seconds(response.first_byte))
    drawn.add("last byte", _seconds(response.last))
    yield drawn


def _counters(exchange: Exchange, response: Response) -> tables.Grid:
    drawn = tables.grid("tokens", "", "", left=(0, 2))
    if (counted := _counted(exchange)) is not None:
        drawn.add("counted input", tables.count(counted), "an estimate of the server, free of charge")
        return drawn
    usage, spent = response.usage, of_usage(response.usage)
    estimated = "the split is estimated" if usage is not None and usage.split_estimated else ""
    for name, amount, remark in (
        ("input, not cached", spent.fresh, ""),
        ("cache write, 5 minutes", spent.written_5m, estimated),
        ("cache write, 1 hour", spent.written_1h, estimated),
        ("cache write, in all", spent.written, ""),
        ("cache read", spent.read, ""),
        ("total input", spent.total_input, ""),
        ("output", spent.output, ""),
        ("of it thinking", spent.thinking, ""),
    ):
        drawn.add(name, tables.count(amount), remark)
    if usage is not None and len(usage.iterations or ()) > 1:
        drawn.add("passes", tables.count(len(usage.iterations or ())), "each is billed by itself")
    for tool, uses in (usage.server_tool_use or {}).items() if usage is not None else ():
        drawn.add(tables.name_of(tool), tables.count(uses), "uses of a server tool")
    return drawn


def _seconds(duration: float | None) -> str:
    return tables.UNKNOWN if duration is None else f"{duration:.3f} s after the request"
