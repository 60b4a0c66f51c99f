"""The tools of two requests, matched by name: added, removed, reordered, and which part of a definition changed.

A tool that is there twice is matched in order. A definition is compared member by member, so that a word in a
description, a schema, and mere order of a schema's keys (equal as data, another prompt for the cache) are told apart.
``cache_control`` is no part of a definition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from analyzers.blocks import TOOL_STRUCTURE
from analyzers.breakpoints import MARK
from analyzers.diff_rows import kept_in_order
from analyzers.normal import normalised
from analyzers.sizes import CHARS, Unit, field_size
from analyzers.spots import Spot, first_order_spot, first_spot, hash_of
from analyzers.wire.jsontext import Json

type ToolChanged = Literal[
    "added", "removed", "reordered", "description", "schema", "schema_key_order", "settings", "key_order"
]
"""``schema``: the ``input_schema``, or the parameters of one of the API's own tools; ``settings``: ``defer_loading``,
``strict``, ``type`` and their kin; ``key_order``: of the definition's own members."""


@dataclass(frozen=True, slots=True)
class ToolSide:
    """A tool on one side: its row in the ledger, split as there; ``hash`` of its definition without cache_control."""

    path: str
    size: int
    description: int
    schema: int
    hash: str | None


@dataclass(frozen=True, slots=True)
class ToolChange:
    """A tool that is not the same on both sides. ``name`` None: it has none. ``spot``: the first difference."""

    name: str | None
    changes: tuple[ToolChanged, ...]
    a: ToolSide | None
    b: ToolSide | None
    spot: Spot | None = None

    @property
    def size_change(self) -> int:
        return (0 if self.b is None else self.b.size) - (0 if self.a is None else self.a.size)


@dataclass(frozen=True, slots=True)
class Tools:
    """What differs between two lists of tools. ``a`` and ``b``: how many there are; None where there is no list.
    ``common``: how many names are on both sides; ``reordered``: whether their order differs."""

    a: int | None
    b: int | None
    common: int
    reordered: bool
    changes: tuple[ToolChange, ...]

    def those(self, change: ToolChanged) -> list[ToolChange]:
        """The tools with one kind of change."""
        return [tool for tool in self.changes if change in tool.changes]


NO_TOOLS = Tools(None, None, 0, False, ())


def tool_name(tool: Json) -> str | None:
    """The name of a tool, or the type of one that has only that; None for anything else."""
    for key in ("name", "type"):
        if type(tool) is dict and type(told := tool.get(key)) is str and told:
            return told
    return None


def compared_tools(a: Json, b: Json, unit: Unit = CHARS, *, excerpts: bool = False) -> Tools:
    """The difference of two fields ``tools``. What is no list has no tools."""
    mine, theirs = _sides(a, unit), _sides(b, unit)
    places = {key: j for j, key in enumerate(_keys(b))}
    pairs = [(i, places[key]) for i, key in enumerate(_keys(a)) if key in places]
    names = _keys(a)
    told = [(repr(names[i]).encode("utf-8", "surrogatepass"), mine[i].size + theirs[j].size) for i, j in pairs]
    kept = kept_in_order(pairs, told) if pairs else set()
    changes: list[tuple[int, int, ToolChange]] = []
    for index, (i, j) in enumerate(pairs):
        changed, spot = changes_of(a[i], b[j], mine[i].path, unit, excerpts=excerpts)
        if index not in kept:
            changed = ("reordered", *changed)
        if changed:
            changes.append((i, j, ToolChange(tool_name(a[i]), changed, mine[i], theirs[j], spot)))
    only_a = set(range(len(mine))) - {i for i, _ in pairs}
    only_b = set(range(len(theirs))) - {j for _, j in pairs}
    changes += [(i, len(theirs), ToolChange(tool_name(a[i]), ("removed",), mine[i], None)) for i in only_a]
    changes += [(len(mine), j, ToolChange(tool_name(b[j]), ("added",), None, theirs[j])) for j in only_b]
    return Tools(
        a=len(a) if type(a) is list else None,
        b=len(b) if type(b) is list else None,
        common=len(pairs),
        reordered=len(kept) < len(pairs),
        changes=tuple(change for _, _, change in sorted(changes, key=lambda item: item[:2])),
    )


def _sides(tools: Json, unit: Unit) -> list[ToolSide]:
    if type(tools) is not list:
        return []
    rows = field_size("tools", tools, unit).rows  # each member of the list is one row
    return [
        ToolSide(
            path=row.row.path,
            size=row.size,
            description=row.classes.get("description", 0),
            schema=row.size - row.classes.get("description", 0),
            hash=hash_of(normalised(tool, "block")),
        )
        for row, tool in zip(rows, tools, strict=True)
    ]


def _keys(tools: Json) -> list[tuple[str | None, int]]:
    """Each tool's name, with how often it was there before."""
    seen: dict[str | None, int] = {}
    keys: list[tuple[str | None, int]] = []
    for tool in tools if type(tools) is list else ():
        name = tool_name(tool)
        seen[name] = seen.get(name, 0) + 1
        keys.append((name, seen[name]))
    return keys


def changes_of(
    a: Json, b: Json, path: str, unit: Unit = CHARS, *, excerpts: bool = False
) -> tuple[tuple[ToolChanged, ...], Spot | None]:
    """What differs between two definitions of a tool, and the first place that does."""
    one, other = normalised(a, "block"), normalised(b, "block")
    if type(one) is not dict or type(other) is not dict:
        spot = first_spot(one, other, path, unit, excerpts=excerpts)
        return (("settings",), spot) if spot is not None else ((), None)
    changed: list[ToolChanged] = []
    first: Spot | None = None
    for change, mine, theirs in _aspects(one, other):
        spot = first_spot(mine, theirs, path, unit, excerpts=excerpts)
        if spot is not None:
            changed.append(change)
            first = first or spot
    if "schema" not in changed and (order := first_order_spot(_schema(one), _schema(other), path)) is not None:
        changed.append("schema_key_order")
        first = first or order
    if not changed and (order := first_order_spot(one, other, path)) is not None:
        return ("key_order",), order
    return tuple(changed), first


def _aspects(a: dict[Any, Json], b: dict[Any, Json]) -> Iterator[tuple[ToolChanged, Json, Json]]:
    yield "description", _only(a, ("name", "description")), _only(b, ("name", "description"))
    yield "schema", _parameters(a), _parameters(b)
    yield "settings", _only(a, sorted(TOOL_STRUCTURE)), _only(b, sorted(TOOL_STRUCTURE))


def _only(tool: dict[Any, Json], keys: Sequence[str]) -> dict[Any, Json]:
    return {key: tool[key] for key in keys if key in tool and key != MARK}


def _parameters(tool: dict[Any, Json]) -> dict[Any, Json]:
    return {key: tool[key] for key in tool if key not in TOOL_STRUCTURE and key not in ("name", "description")}


def _schema(tool: dict[Any, Json]) -> dict[Any, Json]:
    """The schema alone: the order of a definition's own members is another matter."""
    return _only(tool, ("input_schema",))
