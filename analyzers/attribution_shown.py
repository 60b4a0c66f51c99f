"""Tokens of recorded requests beside the server's own total, as JSON and on the terminal. Adds nothing up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from analyzers import tables
from analyzers.attribution import Attribution, Ratio, Ratios
from analyzers.estimate_shown import (
    deferred_lines,
    field_json,
    fields_table,
    method_words,
    row_json,
    rows_table,
    unknown_lines,
)
from analyzers.failure import safe
from analyzers.tables import Grid


def attribution_json(found: Attribution | None) -> dict[str, Any]:
    """The members that ``show --unit tokens --json`` has instead of sizes; null where the body is not there."""
    names = ("method", "assumed", "fields", "total", "blocks", "additions", "not_in_prompt", "counted", "residual")
    if found is None:
        return {"unit": "tokens", **dict.fromkeys(names)}
    estimate = found.estimate
    return {
        "unit": "tokens",
        "method": estimate.method,
        "tokenizer": estimate.family,
        "assumed": estimate.assumed,
        "fields": [field_json(one) for one in estimate.fields],
        "additions": [{"what": one.what, "tokens": one.tokens, "source": one.source} for one in estimate.additions],
        "total": {"tokens": estimate.tokens, "at_least": estimate.at_least, "most": estimate.most},
        "blocks": [row_json(row) for one in estimate.fields for row in one.rows],
        "not_in_prompt": {
            "deferred": [row_json(row) for row in estimate.deferred],
            "cleared_input_tokens": found.cleared,
        },
        "counted": found.counted,
        "residual": found.residual,
        "residual_unknown": found.reason,
    }


def attribution_lines(found: Attribution, most: int | None) -> list[Grid | Text | str]:
    """The tables of one request. ``most``: the largest so many blocks; None shows all."""
    estimate = found.estimate
    lines: list[Grid | Text | str] = ["", fields_table(estimate), "", rows_table(estimate, most), ""]
    lines += [*unknown_lines(estimate), *deferred_lines(estimate.deferred)]
    if found.cleared is not None:
        lines.append(f"on the wire, not in the prompt: {found.cleared:,} tokens that the server cleared")
    lines.append(method_words(estimate))
    if estimate.assumed is not None:
        lines.append(safe(estimate.assumed))
    return [*lines, _beside(found)]


def _beside(found: Attribution) -> str:
    """The server's total, and what the estimate misses of it."""
    if found.counted is None:
        return f"counted by the server: {tables.UNKNOWN} ({found.reason})"
    told = f"counted by the server: {found.counted:,} tokens of input"
    if found.residual is None:
        return f"{told}; not to be compared: {found.reason}"
    share = tables.UNKNOWN if found.residual_share is None else tables.percent(found.residual_share)
    unknown = ", with what is not known in it" if found.estimate.at_least else ""
    return f"{told}; residual {found.residual:+,} ({share}){unknown}, in no row"


def ratios_json(found: Sequence[Ratios]) -> list[dict[str, Any]]:
    """What ``show --ratios --json`` prints, by family of models."""
    return [
        {
            "tokenizer": one.family,
            "requests": one.requests,
            "scripts": [_ratio_json(ratio) for ratio in one.scripts],
            "fields": [_ratio_json(ratio) for ratio in one.fields],
            "unknown_blocks": one.unknown,
            "counted": {"chars": one.chars, "tokens": one.counted},
        }
        for one in found
    ]


def _ratio_json(one: Ratio) -> dict[str, Any]:
    return {"name": one.name, "chars": one.chars, "tokens": one.tokens, "chars_per_token": one.chars_per_token}


def ratio_lines(found: Sequence[Ratios]) -> list[Grid | Text | str]:
    """Characters per token by kind of writing, and by field, for each family of models."""
    lines: list[Grid | Text | str] = []
    for one in found:
        lines.append(Text(f"tokenizer {one.family or tables.UNKNOWN}: {one.requests:,} requests", "bold"))
        for title, rows in (("script", one.scripts), ("field", one.fields)):
            drawn = tables.grid(title, "chars sent", "tokens (estimated)", "chars per token")
            for row in rows:
                ratio = row.chars_per_token
                drawn.add(
                    tables.name_of(row.name),
                    f"{row.chars:,}",
                    f"{row.tokens:,}",
                    tables.UNKNOWN if ratio is None else f"{ratio:.2f}",
                )
            lines += [drawn, ""]
        if one.unknown:
            lines.append(f"blocks of which the tokens are not known, in no row: {one.unknown:,}")
        if (ratio := one.chars_per_token) is not None:
            whole = f"{one.chars:,} characters of text in requests that the server counted as {one.counted:,} tokens"
            lines.append(f"{whole}: {ratio:.2f} characters per token, frames and all")
        lines.append("")
    return lines
