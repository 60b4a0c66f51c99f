"""Advice on breakpoints, as JSON and on the terminal. Adds nothing up."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from analyzers import tables
from analyzers.cache_advice import Advice, Placement, Replayed
from analyzers.price_parts import as_number
from analyzers.tables import Grid


def advice_json(found: Sequence[tuple[str, Advice]]) -> list[dict[str, Any]]:
    """The member ``advice`` of ``cache --advise --json``; tokens and costs are estimates."""
    return [
        {
            "session": session,
            "requests": advice.requests,
            "paid_usd": _usd(advice.paid),
            "recorded": _json(advice.actual),
            "best": [_json(one) for one in advice.best],
        }
        for session, advice in found
    ]


def _json(one: Replayed) -> dict[str, Any]:
    return {
        "breakpoints": [{"place": place, "ttl": ttl} for place, ttl in one.placement],
        "input_tokens": one.fresh,
        "cache_creation_input_tokens": one.written,
        "cache_read_input_tokens": one.read,
        "usd": _usd(one.usd),
    }


def _usd(amount: Decimal | None) -> float | None:
    return None if amount is None else as_number(amount)


def advice_lines(found: Sequence[tuple[str, Advice]]) -> list[Grid | str]:
    """A table for each session: the cheapest placements, and what was recorded."""
    lines: list[Grid | str] = []
    for session, advice in found:
        drawn = tables.grid("breakpoints", "input", "written", "read", "USD of input", left=(0,))
        for one in advice.best:
            drawn.add(words(one.placement), *_cells(one))
        drawn.add("as recorded", *_cells(advice.actual), total=True)
        lines += [f"session {tables.name_of(session)}: {advice.requests:,} requests replayed (estimates)", drawn]
        if not advice.best:
            lines.append("the placements cannot be ranked: a call has no price (see cost --prices)")
        elif advice.recorded_is_best:
            lines.append("what was recorded costs less than every placement that was tried")
        paid = tables.UNKNOWN if advice.paid is None else f"{advice.paid:.4f} USD"
        lines += [f"the input of these requests cost {paid} by the server's counters", ""]
    return lines


def words(placement: Placement) -> str:
    return ", ".join(f"{place} {ttl}" for place, ttl in placement) or "none"


def _cells(one: Replayed) -> tuple[str, ...]:
    usd = tables.UNKNOWN if one.usd is None else f"{one.usd:.4f}"
    return (f"{one.fresh:,}", f"{one.written:,}", f"{one.read:,}", usd)
