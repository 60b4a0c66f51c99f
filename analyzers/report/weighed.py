"""Requests by their blocks, each distinct block once.

A request of a conversation has the blocks of the one before and a few more, so what is written of it is which blocks it
has, as runs of numbers in one list that all requests share. A block is a member of ``messages``, ``system`` or
``tools``, or a whole field without such members; its leaves are the rows of the ledger (``sizes``), and every sum is
made here. What was found of an object that comes again (``kept``) is remembered, so the cost is that of what is new,
and of one measurement of each field as a whole, which the rows are held against.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from analyzers.exchange import Exchange, Request
from analyzers.readers.kept import SHARED
from analyzers.report.kinds import kind_of
from analyzers.report.token_rows import NOT_ASKED, NOT_ESTIMATED, RowTold, TokenRows
from analyzers.share import share_of
from analyzers.sizes import FieldSize, field_name, field_size, request_ledger, size
from analyzers.summary import Summary, summarise
from analyzers.wire.jsontext import Json
from analyzers.words import word

_NUMBERED: Final = "[0]"


class _Placed(NamedTuple):
    """A member of a list at its place: the number of its block, and the characters of its rows and beside them."""

    number: int
    rows: int
    structure: int


@dataclass(slots=True)
class Weighed:
    """Takes exchanges one by one. ``blocks``: all that were met. ``tokens``: what estimates leaves; None: nothing
    does."""

    tokens: TokenRows | None = None
    blocks: list[dict[str, Any]] = field(default_factory=list)
    _numbers: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _sized: dict[tuple[str, int], FieldSize] = field(default_factory=dict)
    _placed: dict[tuple[str, int, int, str | None], _Placed] = field(default_factory=dict)

    def add(self, exchange: Exchange, n: int) -> dict[str, Any]:
        """What is told of one request: the figures of ``show --json``, its blocks by number."""
        row = summarise(exchange, n)
        told = row.as_json()
        del told["fields"], told["request_id"]
        request = exchange.request
        fields = self._fields(request, row) if request is not None and row.chars is not None else None
        return told | {"fields": fields} | self._sums(fields or ()) | _wire(request, row)

    def _fields(self, request: Request, row: Summary) -> list[dict[str, Any]]:
        body = request.body if type(request.body) is dict else {"": request.body}
        known = row.fields if len(row.fields) == len(body) else {}  # two folded names may look the same
        return [self._field(key, value, request, row.chars or 0, known) for key, value in body.items()]

    def _field(self, key: Any, value: Json, request: Request, total: int, known: Mapping[str, int]) -> dict[str, Any]:
        name = field_name(key)
        whole = known[name] if name in known else size(value)
        model = request.model
        if name in SHARED and type(value) is list:
            placed = [self._place(name, index, member, request) for index, member in enumerate(value)]
            numbers = [one.number for one in placed]
            rows, structure = sum(one.rows for one in placed), sum(one.structure for one in placed)
        else:
            found = field_size(name, value)
            tokens = self.tokens.of(name, value, request.body, model) if self.tokens is not None else None
            numbers = [self._number(name, None, found, tokens)] if found.rows else []
            rows, structure = rows_of(found), found.structure
        return {
            "name": name,
            "chars": whole,
            "share": share_of(whole, total),
            "structure": structure,
            "unexplained": whole - rows - structure,
            "blocks": runs(numbers),
            **self._sums([self.blocks[number] for number in numbers]),
        }

    def _sums(self, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The estimated tokens of some blocks, or fields, together."""
        if self.tokens is None:
            return {"tokens": None, "at_least": False}
        return together([part["tokens"] for part in parts], any(part["at_least"] for part in parts))

    def _member(self, name: str, member: Json) -> FieldSize:
        """The sizes of a member of a list as if it were the only one: places are told apart later."""
        key = (name, id(member))
        found = self._sized.get(key)
        if found is None:
            found = self._sized[key] = field_size(name, [member])
        return found

    def _place(self, name: str, index: int, member: Json, request: Request) -> _Placed:
        """The block that a member is at its place."""
        model = request.model
        key = (name, index, id(member), model)
        placed = self._placed.get(key)
        if placed is not None:
            return placed
        found = self._member(name, member)
        tokens = self.tokens.of(name, member, request.body, model, member=True) if self.tokens is not None else None
        number = self._number(f"{name}[{index}]", _label(member), found, tokens)
        placed = _Placed(number, rows_of(found), found.structure)
        if tokens is None or not tokens.leans_on_others:
            self._placed[key] = placed
        return placed

    def _number(self, path: str, label: str | None, found: FieldSize, tokens: Any) -> int:
        """The number of a block with these figures; a new one where there was none."""
        begin = f"{found.name}{_NUMBERED}"
        rows = tuple(
            (
                row.row.path.replace(begin, path, 1) if row.row.path.startswith(begin) else row.row.path,
                row.row.type,
                row.row.what,
                tuple((cls, amount, kind_of(row.row, cls)) for cls, amount in row.classes.items()),
                row.size,
                tokens.rows.get(row.row.path, NOT_ESTIMATED) if tokens is not None else NOT_ASKED,
            )
            for row in found.rows
        )
        key = (path, label, rows)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.blocks)
            self.blocks.append(_block_json(path, label, rows))
        return number


def _block_json(path: str, label: str | None, rows: tuple[tuple[Any, ...], ...]) -> dict[str, Any]:
    tokens: list[RowTold] = [row[5] for row in rows]
    return {
        "path": path,
        "label": label,
        "chars": sum(row[4] for row in rows),
        **together([one.tokens for one in tokens], any(one.at_least for one in tokens)),
        "rows": [
            {
                "path": row_path,
                "type": kind,
                "what": what,
                "chars": chars,
                "tokens": estimated.tokens,
                "at_least": estimated.at_least,
                "reason": estimated.reason,
                "parts": [{"class": cls, "chars": amount, "kind": colour} for cls, amount, colour in parts],
            }
            for row_path, kind, what, parts, chars, estimated in rows
        ],
    }


def together(amounts: Sequence[int | None], at_least: bool) -> dict[str, Any]:
    """A sum of what is known of some amounts; None where nothing of them is."""
    known = [amount for amount in amounts if amount is not None]
    return {"tokens": sum(known) if known or not amounts else None, "at_least": at_least}


def rows_of(found: FieldSize) -> int:
    return sum(row.size for row in found.rows)


def runs(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers as runs: ``[first, how many]`` for those that follow one another."""
    out: list[list[int]] = []
    for number in numbers:
        if out and number == out[-1][0] + out[-1][1]:
            out[-1][1] += 1
        else:
            out.append([number, 1])
    return out


def _label(member: Json) -> str | None:
    """What a message or a tool is called."""
    if type(member) is not dict:
        return None
    role = word(member.get("role"))
    name = member.get("name")
    return role or (name if type(name) is str else None)


def _wire(request: Request | None, row: Summary) -> dict[str, Any]:
    """The steps to the bytes on the wire, and what does not meet."""
    told: dict[str, Any] = {"wire": None, "differences": []}
    if request is None or row.chars is None:
        return told
    if request.steps is not None:
        names = request.body if type(request.body) is dict else ()
        steps = replace(
            request.steps,
            characters=row.chars,
            field_names=sum(len(name) if type(name) is str else name.chars for name in names),
        )
        told["wire"] = [{"step": name, "amount": amount} for name, amount in steps.as_dict().items()]
    if row.closes is False and (ledger := request_ledger(request)) is not None:
        told["differences"] = [
            {"place": one.place, "measured": one.measured, "recorded": one.recorded, "against": one.against}
            for one in ledger.differences
        ]
    return told
