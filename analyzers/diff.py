"""Two requests side by side: fields, tools, blocks, cache breakpoints, messages, and the bytes on the wire.

A diff that closes: for each field, the changes of its rows and of its structure add up to the change of the field,
each counted apart (``sizes``); what does not is ``unexplained``. What says nothing to the API is told apart from what
does: moved breakpoints, the client's billing line, another order of keys, another writing of the same JSON. Folded
texts are compared by length and hash. Seen from the other side, every difference is the same one mirrored.

O(nodes + characters + n log n) in both requests; no block is compared with every other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from analyzers.breakpoints import Breakpoint, breakpoints
from analyzers.diff_rows import Leaf, RowChange, leaves, row_changes
from analyzers.diff_tools import NO_TOOLS, ToolChange, Tools, compared_tools
from analyzers.digests import Digester
from analyzers.exchange import Request
from analyzers.first_difference import Place, first_difference
from analyzers.normal import normal_field
from analyzers.sizes import CHARS, Unit, UnitName, field_name, field_size
from analyzers.spots import Spot, first_order_spot, first_spot, key_id
from analyzers.wire.fold import KEY_MIN
from analyzers.wire.jsontext import Json

__all__ = ["Difference", "Place", "difference", "first_difference"]

type FieldChanged = Literal["equal", "key_order", "form", "billing", "changed", "added", "removed"]
"""``key_order``: equal as data, keys in another order. ``form``: equal but for ``cache_control`` and for strings that
are lists of one text block. ``billing``: equal but for that and the client's billing line."""

type Verdict = Literal["same_bytes", "equal", "equal_different_on_wire", "equal_in_form", "different"]
"""``same_bytes``: proved by the fingerprint. ``equal``: as data, and nothing that was recorded of the bytes differs.
``equal_in_form``: every field is, with breakpoints and the billing line left aside."""

_PROMPT = {"tools": 0, "system": 1, "messages": 2}


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A top-level field on both sides, sizes in the unit asked for (None: not there). ``rows``: the changes of its
    rows in all; ``unexplained``: what is left of its change, 0 unless this program is wrong.

    ``spot``: the first difference of a changed field (even where no row is another: a role, an id), or of the order of
    its keys.
    """

    name: str
    change: FieldChanged
    a: int | None
    b: int | None
    structure_a: int
    structure_b: int
    rows: int
    unexplained: int
    spot: Spot | None = None


@dataclass(frozen=True, slots=True)
class MarkChange:
    """A ``cache_control`` that is not the same on both sides: ``moved`` (perhaps with another ttl), ``changed`` where
    it is, ``removed``, ``added``."""

    change: Literal["moved", "changed", "removed", "added"]
    a: Breakpoint | None
    b: Breakpoint | None


@dataclass(frozen=True, slots=True)
class Messages:
    """How many messages each side has, and how many at the beginning are the same, normalised."""

    common: int
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Wire:
    """What is known of the bytes. ``steps``: those that differ, by name; None where one side's were not recorded.
    ``order``: the first object whose keys stand in another order (bodies that are equal as data)."""

    verdict: Verdict
    bytes_a: int | None
    bytes_b: int | None
    steps: Mapping[str, tuple[int, int]] | None
    order: Spot | None


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs between two requests. ``fields``: all of them, in prompt order, then by name. ``masked``: paths
    of credentials that are alike in length, and more is not known of them.

    ``reason_a``, ``reason_b``: why there is no body; then nothing else is known. ``total_a``, ``total_b``: None then.
    """

    unit: UnitName
    fields: tuple[FieldChange, ...] = ()
    total_a: int | None = None
    total_b: int | None = None
    tools: Tools = NO_TOOLS
    rows: tuple[RowChange, ...] = ()
    marks: tuple[MarkChange, ...] = ()
    messages: Messages | None = None
    wire: Wire | None = None
    masked: tuple[str, ...] = ()
    reason_a: str | None = None
    reason_b: str | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing at all differs, in the data or in what is known of the bytes."""
        return self.wire is not None and self.wire.verdict in ("same_bytes", "equal")

    @property
    def unexplained(self) -> int:
        """What of the change of the total no row and no structure explains."""
        return sum(field.unexplained for field in self.fields)


def difference(a: Request, b: Request, unit: Unit = CHARS, *, excerpts: bool = False) -> Difference:
    """What differs between two requests. ``excerpts``: with a few characters around the first difference of texts."""
    if a.reason is not None or b.reason is not None:
        return Difference(unit.name, reason_a=a.reason, reason_b=b.reason)
    digester = Digester()
    one, other = _members(a.body), _members(b.body)
    tools = compared_tools(_value(one, "tools"), _value(other, "tools"), unit, excerpts=excerpts)
    changes = row_changes(
        _leaves(one, unit, digester), _leaves(other, unit, digester), unit, digester, excerpts=excerpts
    )
    rows = _row_sums(changes, tools.changes)
    masked: list[str] = []
    names = sorted({*one, *other}, key=lambda name: (_PROMPT.get(name, len(_PROMPT)), name))
    fields = tuple(_field(name, one.get(name), other.get(name), rows, unit, masked) for name in names)
    return Difference(
        unit=unit.name,
        fields=fields,
        total_a=sum(field.a or 0 for field in fields),
        total_b=sum(field.b or 0 for field in fields),
        tools=tools,
        rows=tuple(changes),
        marks=tuple(_marks(a.body, b.body)),
        messages=_common(_value(one, "messages"), _value(other, "messages"), digester),
        wire=_wire(a, b, fields),
        masked=tuple(masked),
    )


type _Named = tuple[str, Json]
"""A field's name as it is told, and its value."""


def _members(body: Json) -> dict[str, _Named]:
    """The fields of a body by what their names are compared by."""
    members = body if type(body) is dict else {"": body}
    return {key_id(key): (_name(key), value) for key, value in members.items()}


def _name(key: Json) -> str:
    """The name of a field, the same whether its key was folded or not."""
    return f"({len(key)} characters)" if type(key) is str and len(key) > KEY_MIN else field_name(key)


def _value(members: Mapping[str, _Named], name: str) -> Json:
    return members[name][1] if name in members else None


def _leaves(members: Mapping[str, _Named], unit: Unit, digester: Digester) -> list[Leaf]:
    """All rows but those of tools that are matched by name, fields in prompt order. What no two sides can share the
    order of, the order of fields, must not look like blocks that moved."""
    found: list[Leaf] = []
    for key in sorted(members, key=lambda name: (_PROMPT.get(name, len(_PROMPT)), name)):
        name, value = members[key]
        if key == "requests" and type(value) is list:
            found += leaves(name, [_known_names(item) for item in value], unit, digester, key)
        elif key != "tools" or type(value) is not list:
            found += leaves(name, value, unit, digester, key)
    return found


def _known_names(item: Json) -> Json:
    """One request of a batch, its fields by names that do not depend on folding."""
    params = item.get("params") if type(item) is dict else None
    if type(params) is not dict:
        return item
    return {**item, "params": {key_id(key): value for key, value in params.items()}}


def _row_sums(rows: Iterable[RowChange], tools: Iterable[ToolChange]) -> dict[str, int]:
    """The changes of rows by field. A block that moved to another field is lost to one and won by the other."""
    sums: dict[str, int] = {"tools": sum(tool.size_change for tool in tools)}
    for row in rows:
        for leaf, sign in ((row.a, -1), (row.b, 1)):
            if leaf is not None:
                sums[leaf.field] = sums.get(leaf.field, 0) + sign * leaf.size
    return sums


def _field(
    key: str, a: _Named | None, b: _Named | None, rows: Mapping[str, int], unit: Unit, masked: list[str]
) -> FieldChange:
    sized_a = field_size(a[0], a[1], unit) if a is not None else None
    sized_b = field_size(b[0], b[1], unit) if b is not None else None
    size_a, structure_a = (sized_a.size, sized_a.structure) if sized_a is not None else (None, 0)
    size_b, structure_b = (sized_b.size, sized_b.structure) if sized_b is not None else (None, 0)
    found = rows.get(key, 0)
    change, spot = _changed(key, a, b, unit, masked)
    return FieldChange(
        name=(a or b or ("", None))[0],
        change=change,
        a=size_a,
        b=size_b,
        structure_a=structure_a,
        structure_b=structure_b,
        rows=found,
        unexplained=(size_b or 0) - (size_a or 0) - found - (structure_b - structure_a),
        spot=spot,
    )


def _changed(
    key: str, a: _Named | None, b: _Named | None, unit: Unit, masked: list[str]
) -> tuple[FieldChanged, Spot | None]:
    """How a field differs, and the first place where it does."""
    if a is None or b is None:
        return ("added" if a is None else "removed"), None
    name = a[0]
    if first_spot(a[1], b[1], name, masked=masked) is None:
        order = first_order_spot(a[1], b[1], name)
        return ("equal", None) if order is None else ("key_order", order)
    verdicts: tuple[tuple[FieldChanged, bool], ...] = (("form", True), ("billing", False))
    spot = None
    for verdict, billing in verdicts:
        one, other = (normal_field(key, value, billing=billing) for value in (a[1], b[1]))
        spot = first_spot(one, other, name, unit)
        if spot is None:
            return verdict, None
    return "changed", spot


def _common(a: Json, b: Json, digester: Digester) -> Messages | None:
    """None where a side has no list of messages."""
    if type(a) is not list or type(b) is not list:
        return None
    common = 0
    for one, other in zip(a, b, strict=False):
        if digester.message(one) != digester.message(other):
            break
        common += 1
    return Messages(common, len(a), len(b))


def _marks(a: Json, b: Json) -> list[MarkChange]:
    """The breakpoints that differ. Of those at no common place, one that went and one that came in a field are one that
    moved."""
    one, other = _placed(a), _placed(b)
    found = [MarkChange("changed", one[p], other[p]) for p in one if p in other and _set(one[p]) != _set(other[p])]
    gone = _by_field(mark for place, mark in one.items() if place not in other)
    come = _by_field(mark for place, mark in other.items() if place not in one)
    for field in dict.fromkeys((*gone, *come)):
        went, came = gone.get(field, []), come.get(field, [])
        both = min(len(went), len(came))
        found += [MarkChange("moved", x, y) for x, y in zip(went, came, strict=False)]
        found += [MarkChange("removed", mark, None) for mark in went[both:]]
        found += [MarkChange("added", None, mark) for mark in came[both:]]
    return found


def _placed(body: Json) -> dict[str, Breakpoint]:
    """The breakpoints by place, that of a batch's requests too."""
    marks = list(breakpoints(body))
    members = body.get("requests") if type(body) is dict else None
    for index, member in enumerate(members if type(members) is list else ()):
        marks += breakpoints(member.get("params") if type(member) is dict else None, f"requests[{index}].params.")
    return {mark.path: mark for mark in marks}


def _set(mark: Breakpoint) -> tuple[Any, ...]:
    return mark.type, mark.ttl, mark.scope, mark.known


def _by_field(marks: Iterable[Breakpoint]) -> dict[str, list[Breakpoint]]:
    found: dict[str, list[Breakpoint]] = {}
    for mark in marks:
        found.setdefault(mark.path.partition("[")[0].partition(".")[0], []).append(mark)
    return found


def _wire(a: Request, b: Request, fields: tuple[FieldChange, ...]) -> Wire:
    steps = None
    if a.steps is not None and b.steps is not None:
        mine, theirs = a.steps.as_dict(), b.steps.as_dict()
        steps = {name: (mine[name], theirs[name]) for name in mine if mine[name] != theirs[name]}
    changes = {field.change for field in fields}
    order = first_order_spot(a.body, b.body) if changes <= {"equal", "key_order"} else None
    bytes_differ = None not in (a.wire_bytes, b.wire_bytes) and a.wire_bytes != b.wire_bytes
    verdict: Verdict
    if a.fingerprint is not None and a.fingerprint == b.fingerprint:
        verdict = "same_bytes"
    elif changes <= {"equal", "key_order"}:
        verdict = "equal_different_on_wire" if order is not None or bytes_differ or steps else "equal"
    else:
        verdict = "equal_in_form" if not changes & {"changed", "added", "removed"} else "different"
    return Wire(verdict, a.wire_bytes, b.wire_bytes, steps, order)
