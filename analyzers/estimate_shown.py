"""An estimated prompt, as JSON and on the terminal. Adds nothing up."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from rich.text import Text

from analyzers.estimate import Addition, FieldTokens, PromptEstimate, RowTokens
from analyzers.estimate_price import InputPrice
from analyzers.failure import safe
from analyzers.share import share_of
from analyzers.tables import Grid, count, draw, grid, name_of, percent

type _Lines = list[Grid | Text | str]

WAYS = {"input": "as fresh input", "write_5m": "as a cache write (5m)", "read": "as a cache read"}
METHODS = {
    "o200k": "estimated: o200k tokens, corrected by family and kind of writing",
    "ctok": "estimated: counted by ctok",
}
_MOST_UNKNOWN = 8


def estimate_json(found: PromptEstimate, priced: InputPrice) -> dict[str, Any]:
    """What ``estimate --json`` prints of one request; null for what is unknown. ``most`` null: nobody can tell."""
    return {
        "model": found.model,
        "tokenizer": found.family,
        "assumed": found.assumed,
        "method": found.method,
        "tokens": found.tokens,
        "at_least": found.at_least,
        "most": found.most,
        "fields": [field_json(one) for one in found.fields],
        "rows": [row_json(row) for one in found.fields for row in one.rows],
        "additions": [{"what": one.what, "tokens": one.tokens, "source": one.source} for one in found.additions],
        "deferred": [row_json(row) for row in found.deferred],
        "price": _price_json(priced),
    }


def field_json(one: FieldTokens) -> dict[str, Any]:
    return {"name": one.name, "tokens": one.known, "at_least": one.at_least}


def row_json(row: RowTokens) -> dict[str, Any]:
    return {
        "path": row.row.path,
        "type": row.row.type,
        "what": row.row.what,
        "tokens": row.tokens,
        "known": row.low,
        "most": row.high,
        "reason": row.reason,
    }


def _price_json(priced: InputPrice) -> dict[str, Any]:
    return {
        "currency": "USD",
        **{name: None for name in WAYS},
        **{
            way.name: {"usd": float(way.usd), "usd_most": None if way.most is None else float(way.most)}
            for way in priced.ways
        },
        "reason": priced.reason,
        "rules": list(priced.rules),
        "source": priced.source,
    }


def print_estimate(found: PromptEstimate, priced: InputPrice, most: int | None) -> None:
    """Prints an estimate as tables. ``most``: the largest so many rows, the others counted; None shows all."""
    lines: _Lines = [Text(_heading(found), "bold"), f"{method_words(found)}"]
    if found.assumed is not None:
        lines.append(safe(found.assumed))
    lines += [
        "",
        fields_table(found),
        "",
        rows_table(found, most),
        "",
        *unknown_lines(found),
        *deferred_lines(found.deferred),
        _prices(priced),
    ]
    lines += [f"  {safe(rule)}" for rule in priced.rules]
    draw(*lines)


def print_batch(found: Sequence[tuple[str, PromptEstimate, InputPrice]], most: int | None) -> None:
    """Prints the requests of a batch, one a line."""
    drawn = grid("request", "model", "tokens", "USD, fresh input", left=(0, 1))
    for path, one, priced in found[:most]:
        usd = _usd(priced.ways[0].usd) if priced.ways else "?"
        drawn.add(name_of(path), name_of(one.model or "?"), bound(one), usd)
    if hidden := len(found) - len(found[:most]):
        drawn.add(f"{hidden} more (--all)", "", "", "")
    draw(drawn)


def _heading(found: PromptEstimate) -> str:
    return f"{name_of(found.model or 'no model')}: {bound(found)} tokens of input"


def bound(found: PromptEstimate) -> str:
    if not found.at_least:
        return f"{found.tokens:,}"
    return f"at least {found.tokens:,}" if found.most is None else f"{found.tokens:,} to {found.most:,}"


def method_words(found: PromptEstimate) -> str:
    return METHODS.get(found.method, f"estimated: texts by {found.method}")


def fields_table(found: PromptEstimate) -> Grid:
    drawn = grid("field", "tokens", "share", "", left=(0, 3))
    for one in sorted(found.fields, key=lambda one: -one.tokens):
        if one.tokens or one.at_least:
            share = "" if one.known is None else percent(share_of(one.tokens, found.tokens))
            bounded = "at least" if one.at_least and one.known is not None else ""
            drawn.add(name_of(one.name), count(one.known), share, bounded)
    for addition in found.additions:
        drawn.add(f"+ {name_of(addition.what)}", count(addition.tokens), _share(addition, found), addition.source)
    drawn.add("total", count(found.tokens), "", "at least" if found.most is None else "", total=True)
    return drawn


def _share(addition: Addition, found: PromptEstimate) -> str:
    return "" if addition.tokens is None else percent(share_of(addition.tokens, found.tokens))


def rows_table(found: PromptEstimate, most: int | None) -> Grid:
    rows = [row for one in found.fields for row in one.rows if row.low or row.tokens is None]
    shown = set(map(id, sorted(rows, key=lambda row: -row.low)[:most]))
    drawn = grid("block", "tokens", "what", left=(0, 2))
    for row in rows:
        if id(row) in shown:
            drawn.add(name_of(row.row.path), _range(row), name_of(row.row.what or row.row.type))
    if len(shown) < len(rows):
        drawn.add(f"{len(rows) - len(shown)} smaller blocks", "", "--all shows each")
    return drawn


def _range(row: RowTokens) -> str:
    if row.tokens is not None:
        return count(row.tokens)
    if row.high is None:
        return f"≥{row.low:,}" if row.low else "?"
    return f"{row.low:,} to {row.high:,}"


def unknown_lines(found: PromptEstimate) -> _Lines:
    """What is not known, by reason."""
    reasons: dict[str, list[str]] = {}
    for row in found.unknown:
        reasons.setdefault(row.reason or "unknown", []).append(row.row.path)
    out: _Lines = []
    for reason, paths in reasons.items():
        named = ", ".join(map(name_of, paths[:_MOST_UNKNOWN]))
        more = f" and {len(paths) - _MOST_UNKNOWN} more" if len(paths) > _MOST_UNKNOWN else ""
        out.append(f"not wholly known: {named}{more} ({safe(reason)})")
    return [*out, ""] if out else []


def deferred_lines(rows: Sequence[RowTokens]) -> _Lines:
    if not rows:
        return []
    told = f"{count(len(rows))} tools with defer_loading, {count(sum(row.low for row in rows))} tokens"
    return [f"on the wire, not in the prompt: {told}", ""]


def _prices(priced: InputPrice) -> Grid | str:
    if priced.reason is not None:
        return f"no price: {safe(priced.reason)}"
    drawn = grid("this input, once", "USD", left=(0,))
    for way in priced.ways:
        upper = f" to {_usd(way.most)}" if way.most is not None and way.most != way.usd else ""
        drawn.add(WAYS[way.name], _usd(way.usd) + upper)
    return drawn


def _usd(amount: Decimal) -> str:
    return f"{amount:,.6f}"
