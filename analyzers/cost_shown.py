"""Costs as JSON and on the terminal. Adds nothing up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from functools import reduce
from typing import Any

from analyzers import tables
from analyzers.cost import CallCost, Cost, CostReport, Group, NoPrice, RecordedCost, is_trusted, recorded_usd
from analyzers.failure import safe
from analyzers.price_parts import EXACT, Parts, Priced, Unpriced, as_number
from analyzers.tables import Grid
from analyzers.usage import known
from analyzers.usage_shown import bound as at_least
from analyzers.usage_shown import identity_json, set_aside_json, sums_json
from analyzers.wire.moment import timestamp

_COLUMNS = ("calls", "input", "write 5m", "write 1h", "cache read", "output", "web search", "USD")
_PLACES = Decimal("0.0001")
_JSON_PLACES = Decimal("0.0000000001")


def exact(usd: Decimal) -> str:
    """An amount in full, without zeros at its end."""
    text = format(usd, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def report_json(report: CostReport, price_list: dict[str, Any]) -> dict[str, Any]:
    """What ``cost --json`` prints. USD as a number rounded to ten decimals, and in full as text; where ``complete`` is
    false, ``usd`` is what is known, null where nothing is. ``price_list``: which lists the prices are from."""
    return {
        "prices": price_list | {"used": list(report.sources)},
        "totals": cost_json(report.totals),
        "main": cost_json(report.main),
        "sub_agents": cost_json(report.agents),
        "sessions": [_group_json("session", group) for group in report.sessions],
        "threads": [
            {"session": thread.session, "agent": thread.agent} | cost_json(thread.cost) for thread in report.threads
        ],
        "models": [_group_json("model", group) for group in report.models],
        "days": [_group_json("day", group) for group in report.days],
        "rows": [_row_json(row) for row in report.calls],
        "unpriced": [_no_price_json(entry) for entry in report.no_price],
        "recorded": [_recorded_json(entry) for entry in report.recorded],
        "rules": [{"rule": rule, "calls": calls} for rule, calls in report.rules],
        "set_aside": [set_aside_json(found) for found in report.set_aside],
        "awaited": report.awaited,
    }


def cost_json(cost: Cost) -> dict[str, Any]:
    return {
        **_usd("usd", cost.known_usd),
        **_usd("usd_most", cost.most),
        "parts": _parts_json({name: cost.known_part(name) for name in Parts._fields}),
        "parts_at_least": [name for name in Parts._fields if cost.is_open(name) and cost.known_part(name) is not None],
        "complete": cost.is_complete,
        "at_least": cost.is_lower_bound,
        "calls": cost.calls,
        "priced_calls": cost.priced,
        "unpriced_calls": cost.unpriced,
        "at_least_calls": cost.at_least,
        "estimated_calls": cost.estimated,
        "failed_calls": cost.free,
    }


def _usd(name: str, usd: Decimal | None) -> dict[str, float | str | None]:
    if usd is None:
        return {name: None, f"{name}_exact": None}
    return {name: as_number(usd), f"{name}_exact": exact(usd)}


def _parts_json(parts: Mapping[str, Decimal | None]) -> dict[str, float | None]:
    return {name: None if usd is None else as_number(usd) for name, usd in parts.items()}


def _told(found: Priced, name: str) -> Decimal | None:
    """What one call paid for one thing; None where nothing of it is known."""
    return None if name in found.unknown else getattr(found.parts, name)


def _group_json(kind: str, group: Group) -> dict[str, Any]:
    first = {} if group.first is None else {"first": timestamp(group.first)}
    return {kind: group.name} | first | cost_json(group.cost)


def _row_json(row: CallCost) -> dict[str, Any]:
    call, found = row.call, row.found
    told: dict[str, Any] = identity_json(call) | {"place": call.place}
    if isinstance(found, Priced):
        shares = {name: as_number(parts.total) for name, parts in found.by_model}
        told |= _usd("usd", found.total) | _usd("usd_most", found.most)
        told |= {"parts": _parts_json({name: _told(found, name) for name in Parts._fields})}
        told |= {"parts_at_least": sorted(found.bounds), "exact": found.is_exact, "rules": list(found.rules)}
        told |= {"source": found.source} | ({"models": shares} if shares else {})
    else:
        reason = "failed, and not billed" if found is None else found.reason
        told |= _usd("usd", None) | _usd("usd_most", None) | {"unpriced": reason}
    if (usd := recorded_usd(call)) is not None and call.recorded is not None:
        told["recorded"] = {"by": call.recorded.by, **_usd("usd", usd), "trusted": is_trusted(call)}
    return told


def _no_price_json(entry: NoPrice) -> dict[str, Any]:
    return {"model": entry.model, "reason": entry.reason, "calls": entry.calls} | sums_json(entry.tokens)


def _recorded_json(entry: RecordedCost) -> dict[str, Any]:
    return {
        "by": entry.by,
        **_usd("usd", entry.usd if entry.calls else None),
        "calls": entry.calls,
        "unpriced_calls": entry.unpriced,
        **_usd("unpriced_usd", entry.unpriced_usd),
        "not_trusted": entry.zeros,
    }


def print_report(report: CostReport, view: str | None, most: int | None, zone: str, lists: str) -> None:
    """Prints the costs as tables. ``view``: only by this; ``most``: rows of a table before the others are counted;
    ``zone``: whose days they are; ``lists``: which price lists they are from."""
    things: list[Grid | str] = []
    if view in (None, "model"):
        things += _table("model", _dearest(report.models), report.totals, most)
    if view in (None, "day"):
        things += _table(f"day ({zone})", report.days, report.totals, most)
    if view in (None, "session"):
        newest = sorted(report.sessions, key=lambda group: -(group.first or 0.0))
        things += _table("session", newest, report.totals, most)
    if view == "session":
        things += _threads(report, most)
    if view == "request":
        things += [_requests(report), ""]
    if view is None and report.agents.calls:
        named = [Group("main", report.main), Group("sub-agents", report.agents)]
        things += _table("threads", named, report.totals, None)
    tables.draw(*things, *_remarks(report, lists))


def _dearest(groups: Sequence[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: -group.cost.usd)


def _table(name: str, groups: Sequence[Group], totals: Cost, most: int | None) -> list[Grid | str]:
    rows = [(group.name, _cells(group.cost)) for group in groups]
    return tables.grouped(name, _COLUMNS, rows, _cells(totals), most)


def _threads(report: CostReport, most: int | None) -> list[Grid | str]:
    """The main thread and the sub-agents of the sessions that have any."""
    split = {thread.session for thread in report.threads if thread.agent is not None}
    groups = [
        Group(f"{(thread.session or tables.UNKNOWN)[:8]} / {thread.agent or 'main'}", thread.cost)
        for thread in report.threads
        if thread.session in split
    ]
    return _table("thread", groups, report.totals, most) if groups else []


def _cells(cost: Cost) -> Iterable[str]:
    yield f"{cost.calls:,}"
    for name in Parts._fields:
        yield _part(cost.known_part(name))
    usd = cost.known_usd
    yield tables.UNKNOWN if usd is None else bound(usd, cost.most, cost.is_lower_bound)


def _part(usd: Decimal | None) -> str:
    """What is known of a part; whether that is all, the whole sum says."""
    return tables.UNKNOWN if usd is None else _amount(usd)


def bound(usd: Decimal, most: Decimal | None, at_least: bool) -> str:
    """An amount; with ``≥`` where it is a lower bound, ``~`` where it is the lower end of a range or may not all have
    been billed."""
    return f"{'≥' if at_least or most is None else '~' if most != usd else ''}{_amount(usd)}"


def _amount(usd: Decimal) -> str:
    if 0 < usd < _PLACES:
        return f"<{_PLACES}"
    return f"{usd.quantize(_PLACES, ROUND_HALF_EVEN, EXACT):,f}" if usd else "0"


def _requests(report: CostReport) -> Grid:
    drawn = tables.grid(
        "time (UTC)", "session", "model", "input", "writes", "cache read", "output", "USD", "how",
        left=(0, 1, 2, 8),
    )  # fmt: skip
    for row in report.calls:
        call, found = row.call, row.found
        agent = f" / {call.agent[:8]}" if call.agent else ""
        head = (
            tables.clock(call.time),
            tables.name_of(f"{(call.session or tables.UNKNOWN)[:8]}{agent}"),
            tables.name_of(call.model or f"({call.requested or tables.UNKNOWN})"),
        )
        if isinstance(found, Priced):
            usd = bound(found.total, found.most, False)
            drawn.add(*head, *_row_parts(found), usd, tables.name_of("; ".join(found.rules)))
        elif isinstance(found, Unpriced):
            drawn.add(*head, *[tables.UNKNOWN] * 5, tables.name_of(f"unpriced: {found.reason}"))
        else:
            drawn.add(*head, *["0"] * 5, "failed, and not billed")
    return drawn


def _row_parts(found: Priced) -> Iterable[str]:
    for names in (("input",), ("write_5m", "write_1h"), ("read",), ("output",)):
        known = [usd for name in names if (usd := _told(found, name)) is not None]
        yield _part(reduce(EXACT.add, known) if known else None)


def _calls(number: int, one: str = "", many: str = "") -> str:
    """So many calls, with the verb that fits."""
    return f"{number:,} {'call' if number == 1 else 'calls'} {one if number == 1 else many}".rstrip()


def _remarks(report: CostReport, lists: str) -> Iterable[str]:
    """What the tables do not show: what the sums are worth, what is not in them, and whose prices they are."""
    totals = report.totals
    if not totals.is_known:
        yield "the total is not known: " + (
            f"{_calls(totals.unpriced, 'has', 'have')} no price" if totals.unpriced else "there is no call in it"
        )
    elif totals.unpriced:
        yield f"the total is at least {_amount(totals.usd)} USD: {_calls(totals.unpriced, 'has', 'have')} no price"
    elif totals.at_least:
        yield f"the total is at least {_amount(totals.usd)} USD: a part of {_calls(totals.at_least)} is unknown"
    elif totals.estimated and totals.most is not None and totals.most != totals.usd:
        yield f"the total is between {_amount(totals.usd)} and {_amount(totals.most)} USD"
    elif totals.estimated:
        yield f"in the total is what failed attempts of {_calls(totals.estimated)} had spent, billed or not"
    elif report.awaited:
        yield "every sum is exact at these prices for the calls in it"
    else:
        yield "every sum is exact at these prices"
    if report.awaited:
        yield f"requests of batches whose results were not recorded, in no sum: {report.awaited:,}"
    for entry in report.no_price:
        counted = [known(entry.tokens, part) for part in ("fresh", "written", "read", "output")]
        sure = [part for part in counted if part is not None]
        tokens = at_least(sum(sure) if sure else None, None in counted)
        name = tables.name_of(entry.model or "no model")
        yield f"unpriced: {_calls(entry.calls)} of {name} with {tokens} tokens ({safe(entry.reason)})"
    for given in report.recorded:
        whose = "the client's log" if given.by == "client" else "the provider's answers"
        told = f"recorded in {whose}, in no sum here: {_amount(given.usd)} USD for {_calls(given.calls)}"
        if given.unpriced:
            verb = "is" if given.unpriced == 1 else "are"
            told += f", of which {_amount(given.unpriced_usd)} for {given.unpriced:,} that {verb} unpriced"
        if given.calls:
            yield told
        if given.zeros:
            yield f"recorded in {whose} as 0 beside tokens, which is not trusted: {_calls(given.zeros)}"
    for found in report.set_aside:
        yield f"set aside as copies, in no sum: {_calls(found.calls)} of {safe(found.place)}"
    yield f"prices: {safe(lists)}"
