"""The ledger: every request's size by field, block and leaf, closing against the total and down to the bytes on the
wire.

Two independent measurements meet here. ``size`` walks a whole field without knowing what its parts mean. ``ledger``
takes the field apart into rows by the API's own structure (``blocks``), *counts* what belongs to no row as structure,
and compares. Nothing is got by subtraction; what does not meet is reported as ``unexplained`` at its place. Fold
markers have become ``Elided`` leaves before (``fold.unfold``), so a shell cannot be measured by mistake.

The definition (published figures, confirmed on recorded requests): the size of a JSON value is the sum of the lengths
of its object keys and of its scalars as text; punctuation is nothing; a top-level field's own key is not part of the
field. Cost: one pass per measurement, O(nodes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from analyzers.blocks import Part, Row, parts
from analyzers.exchange import Request
from analyzers.wire.fold import Elided, lengths
from analyzers.wire.jsontext import Json, scalar_chars
from analyzers.wire.weight import WireSteps

type UnitName = Literal["chars", "utf16", "bytes", "json"]


@dataclass(frozen=True, slots=True)
class Unit:
    """How a string is measured. ``frames``: quotes, brackets, colons and commas count too, as in the shortest JSON
    text."""

    name: UnitName
    text: Callable[[str], int]
    elided: Callable[[Elided], int]
    frames: bool = False


UNITS: Mapping[str, Unit] = {
    "chars": Unit("chars", len, lambda told: told.chars),
    "utf16": Unit("utf16", lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2, lambda told: told.utf16),
    "bytes": Unit("bytes", lambda text: len(text.encode("utf-8", "surrogatepass")), lambda told: told.bytes),
    "json": Unit("json", lambda text: lengths(text).json_chars, lambda told: told.json_chars, frames=True),
}
CHARS = UNITS["chars"]
WHOLE = "the field as a whole"
RECORDED = "the figure recorded before folding"


@dataclass(frozen=True, slots=True)
class RowSize:
    """A row and its size, split by class where it has several (a tool: description and schema)."""

    row: Row
    size: int
    classes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FieldSize:
    """One top-level field. ``unexplained`` is ``size - (rows + structure)``: 0 unless this program is wrong."""

    name: str
    size: int
    rows: tuple[RowSize, ...]
    structure: int
    unexplained: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where two measurements that must agree do not. ``against``: what the second one is of."""

    place: str
    measured: int
    recorded: int
    against: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """A request's sizes. ``wire`` is None where the body's text was not seen; ``differences`` is empty when all
    agree."""

    unit: UnitName
    fields: tuple[FieldSize, ...]
    total: int
    wire: WireSteps | None
    wire_bytes: int | None
    differences: tuple[Difference, ...]

    @property
    def unexplained(self) -> int | None:
        """Bytes of the body on the wire that no step explains; None when the wire is unknown or the unit is not
        characters."""
        if self.wire is None or self.wire_bytes is None or self.unit != "chars":
            return None
        return self.wire_bytes - self.wire.sum()

    @property
    def closes(self) -> bool:
        """Every total meets its parts, and the recorded figures."""
        return not self.differences and not self.unexplained


def size(value: Json, unit: Unit = CHARS) -> int:
    """The size of a value in a unit; ``Elided`` leaves and keys count as what they replaced."""
    total = 0
    text, elided, frames = unit.text, unit.elided, unit.frames
    quotes = 2 if frames else 0
    stack = [value]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is str:
            total += text(node) + quotes
        elif kind is dict:
            for key in node:
                total += (text(key) if type(key) is str else elided(key)) + quotes
            if frames:
                total += frame(node) + len(node)
            stack.extend(node.values())
        elif kind is list:
            if frames:
                total += frame(node)
            stack.extend(node)
        elif kind is Elided:
            total += elided(node) + quotes
        else:
            total += scalar_chars(node)
    return total


def frame(container: dict[str, Json] | list[Json]) -> int:
    """Brackets and commas of a container as JSON text (the colons go with the keys)."""
    return 2 + max(len(container) - 1, 0)


def part_size(part: Part, unit: Unit) -> int:
    """The size of one part of a field."""
    if part.kind == "row":
        return 0
    if part.kind == "value":
        return size(part.value, unit)
    if part.kind == "frame":
        return frame(part.value) if unit.frames else 0
    key = unit.text(part.value) if type(part.value) is str else unit.elided(part.value)
    return key + 3 if unit.frames else key


def field_size(name: str, value: Json, unit: Unit = CHARS) -> FieldSize:
    """One field taken apart into rows and structure, and held against the field as a whole."""
    rows: dict[Row, dict[str, int]] = {}
    structure = 0
    for part in parts(name, value):
        amount = part_size(part, unit)
        if part.row is None:
            structure += amount
        else:
            classes = rows.setdefault(part.row, {})
            classes[part.cls] = classes.get(part.cls, 0) + amount
    sized = tuple(RowSize(row, sum(classes.values()), classes) for row, classes in rows.items())
    whole = size(value, unit)
    return FieldSize(name, whole, sized, structure, whole - structure - sum(row.size for row in sized))


def ledger(
    body: Json,
    *,
    unit: Unit = CHARS,
    wire: WireSteps | None = None,
    wire_bytes: int | None = None,
    recorded: Mapping[str, int] | None = None,
    recorded_total: int | None = None,
) -> Ledger:
    """The sizes of a request body (unfolded), held against what was recorded and against the wire.

    ``wire``: the steps as recorded; its ``characters`` and ``field_names`` are measured again here. ``recorded``:
    characters by field as they were taken before folding, in the body's order.
    """
    members = body if type(body) is dict else {"": body}
    fields = tuple(field_size(field_name(key), value, unit) for key, value in members.items())
    total = sum(field.size for field in fields)
    differences = [Difference(f.name, f.size - f.unexplained, f.size, WHOLE) for f in fields if f.unexplained]
    if unit is CHARS and recorded is not None:
        differences += _against(fields, total, recorded, recorded_total)
    if wire is not None:
        chars = total if unit is CHARS else sum(size(value) for value in members.values())
        wire = replace(wire, characters=chars, field_names=_names(body))
    return Ledger(unit.name, fields, total, wire, wire_bytes, tuple(differences))


def _against(
    fields: tuple[FieldSize, ...], total: int, recorded: Mapping[str, int], recorded_total: int | None
) -> list[Difference]:
    found = []
    if len(recorded) != len(fields):
        found.append(Difference("number of fields", len(fields), len(recorded), RECORDED))
    for field, amount in zip(fields, recorded.values(), strict=False):
        if field.size != amount:
            found.append(Difference(field.name, field.size, amount, RECORDED))
    if recorded_total is not None and total != recorded_total:
        found.append(Difference("total", total, recorded_total, RECORDED))
    return found


def field_name(key: str | Elided) -> str:
    """The name of a top-level field; a folded one is told by its length."""
    return key if type(key) is str else f"({key.chars} characters)" if isinstance(key, Elided) else str(key)


def _names(body: Json) -> int:
    if type(body) is not dict:
        return 0
    return sum(len(key) if type(key) is str else key.chars for key in body)


@dataclass(frozen=True, slots=True)
class Totals:
    """Field sizes without their rows: what a table of many requests needs. ``closes``: all recorded figures and the
    wire agree."""

    fields: Mapping[str, int]
    total: int
    unexplained: int | None
    closes: bool


def totals(request: Request, unit: Unit = CHARS) -> Totals | None:
    """The sizes of a request by field, held against what was recorded; None when there is no body to measure."""
    if request.reason is not None:
        return None
    members = request.body if type(request.body) is dict else {"": request.body}
    fields = {field_name(key): size(value, unit) for key, value in members.items()}
    total = sum(fields.values())
    if unit is not CHARS:
        return Totals(fields, total, None, True)
    unexplained = None
    if request.steps is not None and request.wire_bytes is not None:
        unexplained = (
            request.wire_bytes - replace(request.steps, characters=total, field_names=_names(request.body)).sum()
        )
    agrees = request.recorded is None or (
        list(request.recorded.values()) == list(fields.values()) and request.recorded_total == total
    )
    return Totals(fields, total, unexplained, agrees and not unexplained)


def request_ledger(request: Request, unit: Unit = CHARS) -> Ledger | None:
    """The full ledger of a request; None when there is no body to measure."""
    if request.reason is not None:
        return None
    return ledger(
        request.body,
        unit=unit,
        wire=request.steps,
        wire_bytes=request.wire_bytes,
        recorded=request.recorded,
        recorded_total=request.recorded_total,
    )
