"""Two requests side by side, as JSON and on the terminal. Nothing of the content is shown but the excerpts that were
asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from analyzers.breakpoints import Breakpoint
from analyzers.diff import Difference, FieldChange, MarkChange, Wire
from analyzers.diff_rows import Leaf, RowChange
from analyzers.diff_tools import ToolChange, ToolSide
from analyzers.skeleton_tables import DEFAULT_TTL
from analyzers.spots import Spot
from analyzers.tables import UNKNOWN, Grid, count, draw, grid, name_of

type _Lines = list[Grid | Text | str]

_FIELD_WORDS = {
    "equal": "equal",
    "key_order": "equal as data, keys in another order",
    "form": "equal but for cache_control or the form of texts",
    "billing": "equal but for the client's billing line",
    "changed": "changed",
    "added": "only in b",
    "removed": "only in a",
}
_TOOL_WORDS = {"schema_key_order": "schema: key order only", "key_order": "key order only"}
_VERDICTS = {
    "same_bytes": "the same bytes",
    "equal": "equal as data, and nothing that was recorded of the bytes differs",
    "equal_different_on_wire": "equal as data, different on the wire",
    "equal_in_form": "equal but for key order, cache_control, form of texts or billing line",
    "different": "different",
}


def difference_json(a: int, b: int, against: str | None, found: Difference) -> dict[str, Any]:
    """What ``diff --json`` prints: numbers of the two requests, and all that differs; null for what is unknown."""
    return {
        "a": a,
        "b": b,
        "against": against,
        "reason": {"a": found.reason_a, "b": found.reason_b},
        "unit": found.unit,
        "total": {"a": found.total_a, "b": found.total_b},
        "fields": [_field_json(field) for field in found.fields],
        "tools": {
            "a": found.tools.a,
            "b": found.tools.b,
            "common": found.tools.common,
            "reordered": found.tools.reordered,
            "changes": [
                {
                    "name": tool.name,
                    "changes": list(tool.changes),
                    "a": None if tool.a is None else asdict(tool.a),
                    "b": None if tool.b is None else asdict(tool.b),
                    "place": _spot_json(tool.spot),
                }
                for tool in found.tools.changes
            ],
        },
        "blocks": [
            {
                "change": row.change,
                "billing": row.billing,
                "a": _leaf_json(row.a),
                "b": _leaf_json(row.b),
                "place": _spot_json(row.spot),
            }
            for row in found.rows
        ],
        "cache_control": [
            {
                "change": mark.change,
                "a": None if mark.a is None else asdict(mark.a),
                "b": None if mark.b is None else asdict(mark.b),
            }
            for mark in found.marks
        ],
        "messages": None if found.messages is None else asdict(found.messages),
        "wire": None if found.wire is None else _wire_json(found.wire),
        "masked": list(found.masked),
        "unexplained": None if found.wire is None else found.unexplained,
    }


def _field_json(field: FieldChange) -> dict[str, Any]:
    return {
        "name": field.name,
        "change": field.change,
        "a": field.a,
        "b": field.b,
        "rows_change": field.rows,
        "structure": {"a": field.structure_a, "b": field.structure_b},
        "unexplained": field.unexplained,
        "place": _spot_json(field.spot),
    }


def _leaf_json(leaf: Leaf | None) -> dict[str, Any] | None:
    if leaf is None:
        return None
    row = leaf.row
    return {"path": row.path, "type": row.type, "what": row.what, "size": leaf.size, "hash": leaf.hash}


def _spot_json(spot: Spot | None) -> dict[str, Any] | None:
    """A place; what stands there is a member of it only where it may be shown: settings, and what was asked for."""
    if spot is None:
        return None
    told = {"path": spot.path, "how": spot.how, "at": spot.at, "a": spot.a, "b": spot.b}
    told |= {"a_hash": spot.a_hash, "b_hash": spot.b_hash, "folded": spot.folded}
    shown = spot.a_text is not None or spot.b_text is not None
    return told | ({"a_text": spot.a_text, "b_text": spot.b_text} if shown else {})


def _wire_json(wire: Wire) -> dict[str, Any]:
    steps = wire.steps
    return {
        "verdict": wire.verdict,
        "bytes": {"a": wire.bytes_a, "b": wire.bytes_b},
        "steps": None if steps is None else [{"step": name, "a": a, "b": b} for name, (a, b) in steps.items()],
        "place": _spot_json(wire.order),
    }


def print_difference(headings: tuple[str, str], found: Difference, most: int | None) -> None:
    """Prints what differs. ``headings``: what the two requests are; ``most``: rows of a table before the rest is only
    counted, None shows all."""
    lines: _Lines = [Text(f"a  {headings[0]}", "bold"), Text(f"b  {headings[1]}", "bold"), ""]
    if found.wire is None:
        for side, reason in (("a", found.reason_a), ("b", found.reason_b)):
            lines += [f"{side} has no body to compare: {name_of(reason)}"] if reason is not None else []
        draw(*lines)
        return
    lines.append(_fields(found))
    for part in (_tools(found, most), _rows(found, most), _messages(found), _marks(found.marks), _wire(found.wire)):
        lines += ["", *part] if part else []
    lines += [f"credentials of one length, masked, so perhaps equal: {', '.join(map(name_of, found.masked))}"] * bool(
        found.masked
    )
    draw(*lines)


def _signed(amount: int) -> str:
    return f"{amount:+,}" if amount else "0"


def _fields(found: Difference) -> Grid:
    drawn = grid("field", f"a ({found.unit})", f"b ({found.unit})", "change", "", left=(0, 4))
    whole = {leaf.row.path: row.spot for row in found.rows if (leaf := row.b or row.a) and leaf.row.type == "field"}
    for field in found.fields:
        change = _signed((field.b or 0) - (field.a or 0))
        words = _FIELD_WORDS[field.change]
        if (spot := whole.get(field.name)) is not None:
            words += f" at {place(spot)}"
        elif field.spot is not None:
            words += f" at {name_of(field.spot.path)}"
        words += f"; DOES NOT CLOSE: unexplained {_signed(field.unexplained)}" if field.unexplained else ""
        drawn.add(name_of(field.name) or "(body)", _size(field.a), _size(field.b), change, words)
    total_a, total_b = found.total_a or 0, found.total_b or 0
    drawn.add("total", count(total_a), count(total_b), _signed(total_b - total_a), "", total=True)
    return drawn


def _size(amount: int | None) -> str:
    return "-" if amount is None else count(amount)


def _tools(found: Difference, most: int | None) -> _Lines:
    tools = found.tools
    if not tools.changes:
        return []
    lines: _Lines = [
        f"tools: {_size(tools.a)} in a, {_size(tools.b)} in b, {count(tools.common)} in both"
        + (", in another order" if tools.reordered else ""),
        "",
    ]
    drawn = grid("tool", "a", "b", "change", "", "first difference", left=(0, 4, 5))
    for tool in tools.changes[:most]:
        words = ", ".join(_tool_word(change) for change in tool.changes)
        sides = [_size(None if side is None else side.size) for side in (tool.a, tool.b)]
        drawn.add(name_of(tool.name or UNKNOWN), *sides, _signed(tool.size_change), words, _tool_place(tool))
    if hidden := tools.changes[len(tools.changes[:most]) :]:
        rest = sum(tool.size_change for tool in hidden)
        drawn.add(f"{count(len(hidden))} more tools", "", "", _signed(rest), "--all shows each", "")
    return [*lines, drawn]


def _tool_word(change: str) -> str:
    return _TOOL_WORDS.get(change, f"{change} changed" if change in ("description", "schema", "settings") else change)


def _tool_place(tool: ToolChange) -> str:
    if tool.spot is not None:
        return place(tool.spot)
    a, b = tool.a, tool.b
    if a is not None and b is not None and a.path != b.path:
        return f"{a.path} → {b.path}"
    there: ToolSide | None = a or b
    return "" if there is None else there.path


def _rows(found: Difference, most: int | None) -> _Lines:
    """Blocks that changed, went, appeared or moved, in their order; those that were only shifted are counted. Fields
    without blocks are in the table of fields."""
    shifted = sum(row.change == "shifted" for row in found.rows)
    rows = [row for row in found.rows if row.change != "shifted" and not row.billing and not _is_field(row)]
    billed = [row for row in found.rows if row.billing]
    lines: _Lines = []
    if rows:
        shown, hidden = _longest(rows, most)
        drawn = grid("block", "a", "b", "change", "", "what", "first difference", left=(0, 4, 5, 6))
        for row in shown:
            drawn.add(*_row_cells(row))
        if hidden:
            rest = sum(row.size_change for row in hidden)
            drawn.add(f"{count(len(hidden))} shorter blocks", "", "", _signed(rest), "", "--all shows each", "")
        lines += [drawn, ""]
    if any(field.structure_a != field.structure_b for field in found.fields):
        lines.append(_structure(found.fields))
    if shifted:
        lines.append(f"{count(shifted)} blocks are the same and only shifted by what came or went before them")
    for row in billed:
        leaf = row.b or row.a
        path = "" if leaf is None else f" ({name_of(leaf.row.path)}, {_signed(row.size_change)})"
        lines.append(f"the client's billing line differs{path}: it changes with every request, and is no content")
    return lines if lines[-1:] != [""] else lines[:-1]


def _is_field(row: RowChange) -> bool:
    leaf = row.b or row.a
    return leaf is not None and leaf.row.type == "field"


def _longest(rows: Sequence[RowChange], most: int | None) -> tuple[list[RowChange], list[RowChange]]:
    """The rows with the largest blocks, in their order, and the others."""
    if most is None or len(rows) <= most + 1:
        return list(rows), []
    sizes = [max(leaf.size for leaf in (row.a, row.b) if leaf is not None) for row in rows]
    kept = set(sorted(range(len(rows)), key=lambda position: -sizes[position])[:most])
    return [rows[n] for n in sorted(kept)], [row for n, row in enumerate(rows) if n not in kept]


def _row_cells(row: RowChange) -> tuple[str, ...]:
    leaf = row.b or row.a
    assert leaf is not None
    paths = list(dict.fromkeys(side.row.path for side in (row.a, row.b) if side is not None))
    sizes = [_size(None if side is None else side.size) for side in (row.a, row.b)]
    what = name_of(leaf.row.what or leaf.row.type)
    spot = place(row.spot) if row.spot is not None else ""
    return (" → ".join(map(name_of, paths)), *sizes, _signed(row.size_change), row.change, what, spot)


def _structure(fields: Sequence[FieldChange]) -> str:
    told = [
        f"{name_of(field.name)} {_signed(field.structure_b - field.structure_a)}"
        for field in fields
        if field.structure_a != field.structure_b
    ]
    return f"structure (keys, roles, types, ids, cache_control): {', '.join(told)}"


def place(spot: Spot) -> str:
    """A place in words: where, how far into the text, hashes, and the excerpts that were asked for."""
    where = name_of(spot.path)
    if spot.how == "added" or spot.how == "removed":
        return f"{where} only in {'b' if spot.how == 'added' else 'a'}"
    if spot.how == "key order":
        return f"{where}: order of keys, from key {count((spot.at or 0) + 1)} on"
    hashes = f"{spot.a_hash or UNKNOWN} → {spot.b_hash or UNKNOWN}"
    if spot.how != "text" and spot.a_text is not None and spot.b_text is not None:
        return f"{where}: {name_of(spot.a_text)} → {name_of(spot.b_text)}"
    if spot.how != "text":
        return f"{where} ({hashes})"
    if spot.at is None:
        return f"{where} ({hashes}); folded, so where it differs inside cannot be known"
    texts = f": {_quoted(spot.a_text)} → {_quoted(spot.b_text or '')}" if spot.a_text is not None else ""
    return f"{where} from character {count(spot.at + 1)} on ({hashes}){texts}"


def _quoted(text: str) -> str:
    return f"“…{name_of(text)}…”"


def _messages(found: Difference) -> _Lines:
    messages = found.messages
    if messages is None:
        return []
    more_a, more_b = messages.a - messages.common, messages.b - messages.common
    begin = f"messages: the first {count(messages.common)} are the same"
    if not more_a and not more_b:
        return [f"messages: all {count(messages.a)} are the same"]
    if not more_a:
        return [f"{begin}, all of a; b goes on with {count(more_b)} more"]
    if not more_b:
        return [f"{begin}, all of b; a goes on with {count(more_a)} more"]
    return [f"{begin}; then a has {count(more_a)} more, b {count(more_b)}"]


def _marks(marks: Sequence[MarkChange]) -> _Lines:
    if not marks:
        return []
    drawn = grid("cache breakpoint", "change", "a", "b", left=(0, 1, 2, 3))
    for mark in marks:
        paths = list(dict.fromkeys(side.path for side in (mark.a, mark.b) if side is not None))
        drawn.add(" → ".join(map(name_of, paths)), mark.change, _mark(mark.a), _mark(mark.b))
    return [drawn]


def _mark(mark: Breakpoint | None) -> str:
    if mark is None:
        return "-"
    if not mark.known:
        return "unknown"
    return " ".join(filter(None, (mark.type, mark.ttl or DEFAULT_TTL, mark.scope)))


def _wire(wire: Wire) -> _Lines:
    lines: _Lines = [
        f"on the wire: {_VERDICTS[wire.verdict]}; {count(wire.bytes_a)} bytes in a, {count(wire.bytes_b)} in b"
    ]
    if wire.order is not None:
        lines.append(f"first difference of the bytes that is known: {place(wire.order)}")
    if wire.verdict == "equal_different_on_wire":
        lines += [f"{name}: {count(a)} in a, {count(b)} in b" for name, (a, b) in (wire.steps or {}).items()]
    if wire.steps is None and wire.verdict in ("equal", "equal_different_on_wire"):
        lines.append("of one the text was not seen, so escapes and blanks cannot be compared")
    return lines
