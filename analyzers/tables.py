"""Results into terminal tables. Draws what it is given and calculates nothing but a share of a width.

Names, labels and messages come from other people's traffic: control characters are shown, never sent to the terminal,
and nothing is read as markup.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from analyzers.failure import safe
from analyzers.share import share_of

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from analyzers.exchange import Exchange
    from analyzers.sizes import Difference, FieldSize, Ledger
    from analyzers.summary import Summary
    from analyzers.wire.note import Note

UNKNOWN = "?"
_BETWEEN = "   "
_LONGEST_NAME = 120

_FAILED = ("error", "unreachable", "client_gone", "upstream_cut", "proxy_stopped")

STEP_WORDS = {
    "characters": "characters of content",
    "field_names": "names of the fields",
    "punctuation": "quotes, brackets, colons, commas",
    "escapes": "escapes in strings",
    "whitespace": "blanks between values",
    "shadowed": "members that a duplicate key replaced",
    "bom_or_trailing": "byte order mark, text after the document",
    "utf8": "bytes beyond one per character (UTF-8)",
    "content_encoding": "content encoding (compression)",
}


@dataclasses.dataclass(slots=True)
class Grid:
    """Rows of cells under a heading; a row of None is a gap. ``left``: columns of words, the others are numbers."""

    columns: tuple[str, ...]
    left: frozenset[int]
    rows: list[tuple[str, ...] | None] = dataclasses.field(default_factory=list)
    totals: set[int] = dataclasses.field(default_factory=set)

    def add(self, *cells: str, total: bool = False) -> None:
        if total:
            self.totals.add(len(self.rows))
        self.rows.append(cells)

    def gap(self) -> None:
        self.rows.append(None)

    def plain(self) -> Iterator[str]:
        """Lines without colour, as wide as needed."""
        shown = [self.columns, *(row for row in self.rows if row is not None)]
        widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
        yield self._line(self.columns, widths)
        yield "-" * (sum(widths) + len(_BETWEEN) * (len(widths) - 1))
        for row in self.rows:
            yield self._line(row, widths) if row is not None else ""

    def _line(self, cells: tuple[str, ...], widths: list[int]) -> str:
        padded = []
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            blanks = " " * (width - cell_len(cell))
            padded.append(cell + blanks if index in self.left else blanks + cell)
        return str.rstrip(_BETWEEN.join(padded))

    def fitted(self) -> Table:
        """A table that fits the terminal it is printed on."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        drawn = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
        for index, name in enumerate(self.columns):
            drawn.add_column(name, justify="left" if index in self.left else "right", overflow="fold")
        for index, row in enumerate(self.rows):
            style = "bold" if index in self.totals else ""
            drawn.add_row(*(Text(cell, style) for cell in row or ("",) * len(self.columns)))
        return drawn


def draw(*things: Grid | Text | str) -> None:
    """Prints tables and lines, one below the other: fitted to a terminal, plain and as wide as needed when piped."""
    if sys.stdout.isatty():
        from rich.console import Console

        console = Console(markup=False, highlight=False, emoji=False)
        for thing in things:
            console.print(thing.fitted() if isinstance(thing, Grid) else thing)
        return
    for thing in things:
        print("\n".join(thing.plain()) if isinstance(thing, Grid) else str(thing))


def cell_len(text: str) -> int:
    """How many cells of a terminal a text takes. Most are ASCII, which needs no table of widths."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len as measured

    return measured(text)


def grouped(
    name: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str | None, Iterable[str]]],
    total: Iterable[str],
    most: int | None,
) -> list[Grid | str]:
    """A table of groups with their total. ``most``: rows before the others are only counted."""
    drawn = grid(name, *columns)
    shown = rows if most is None else rows[:most]
    for group, cells in shown:
        drawn.add(name_of(group or UNKNOWN), *cells)
    if len(shown) < len(rows):
        drawn.add(f"{len(rows) - len(shown)} more (--all)", *[""] * len(columns))
    drawn.add("total", *total, total=True)
    return [drawn, ""]


def name_of(text: str) -> str:
    """A name from the traffic, safe to show and not longer than a line."""
    if len(text) > _LONGEST_NAME:
        text = f"{text[: _LONGEST_NAME - 20]}… ({len(text):,} characters)"
    return safe(text)


def count(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def percent(share: float) -> str:
    return f"{share:.1f} %"


def clock(seconds: float | None) -> str:
    """Date and time in UTC, to the second."""
    return UNKNOWN if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def grid(*columns: str, left: Iterable[int] = (0,)) -> Grid:
    return Grid(columns, frozenset(left))


def shares(fields: Sequence[tuple[str, float]], limit: int = 3) -> str:
    """The largest fields in percent: ``tools 87 messages 12``."""
    largest = sorted(fields, key=lambda item: -item[1])[:limit]
    return " ".join(f"{name_of(name) or 'body'} {share:.0f}%" for name, share in largest if share >= 0.5)


def summary_shares(row: Summary) -> str:
    """The share of each field of a summary, largest first."""
    return shares([(name, share_of(amount, row.chars or 0)) for name, amount in row.fields.items()])


def taken_line(taken: str, exchange: Exchange) -> str:
    """How the client was led to the recorder, and what follows from it."""
    agent = exchange.request.headers.get("user-agent") if exchange.request is not None else None
    told = f"taken by: weighbridge {safe(taken)}"
    if taken == "run reverse" and str(agent).startswith("claude-cli"):
        return f"{told}; Claude Code sends another request then than it normally does (see weighbridge doctor)"
    return told


def input_sum(row: Summary, *names: str) -> str:
    """``24,623 = 10 + 24,613 + 0``: total input, then uncached, written, read; ``?`` where the answer did not say.

    ``names``: words behind each of the three.
    """
    parts = (row.input_tokens, row.cache_creation_input_tokens, row.cache_read_input_tokens)
    if all(part is None for part in parts):
        return UNKNOWN
    total = count(row.total_input_tokens) if row.total_input_tokens is not None else f"≥{count(row.at_least_input)}"
    words = names or ("", "", "")
    return f"{total} = {' + '.join(f'{count(part)} {word}'.strip() for part, word in zip(parts, words, strict=True))}"


def ending(row: Summary) -> str:
    """How it ended; where it failed, with the status, the error's type and the id that support asks for."""
    words = [row.ended]
    if row.ended in _FAILED:
        words += [str(row.status)] if row.status is not None else []
        words += [safe(row.error)] if row.error else []
        words += [safe(row.request_id)] if row.request_id else []
    if row.closes is False:
        words.append("DOES NOT CLOSE")
    return " ".join(words)


def list_table(rows: Iterable[Summary], unit: str) -> Grid:
    """The table of ``list``."""
    drawn = grid(
        "#",
        "time (UTC)",
        "route",
        "model",
        "fields",
        unit,
        "input = in + write + read",
        "output",
        "ended",
        left=(1, 2, 3, 4, 8),
    )
    for row in rows:
        drawn.add(*list_cells(row))
    return drawn


def list_cells(row: Summary) -> tuple[str, ...]:
    """The cells of one exchange, in the order of the list's columns."""
    model = row.model or (f"({row.model_requested})" if row.model_requested else UNKNOWN)
    sized = summary_shares(row) if row.chars is not None else safe(row.reason or UNKNOWN)
    return (
        str(row.n),
        clock(row.time),
        row.route or UNKNOWN,
        name_of(model),
        sized,
        count(row.chars),
        input_sum(row),
        count(row.output_tokens),
        ending(row) + (f": {name_of(row.failure)}" if row.failure else ""),
    )


def field_table(ledger: Ledger) -> Grid:
    """Fields, largest first, with their share of the total."""
    drawn = grid("field", ledger.unit, "share")
    for field in sorted(ledger.fields, key=lambda field: -field.size):
        drawn.add(name_of(field.name) or "(body)", count(field.size), percent(share_of(field.size, ledger.total)))
    drawn.add("total", count(ledger.total), "", total=True)
    return drawn


def block_table(fields: Iterable[FieldSize], unit: str, most: int | None) -> Grid:
    """The rows of each field that has blocks, with its structure and sum. ``most``: the longest so many rows of a
    field, the others counted in one line."""
    drawn = grid("block", unit, "class", "what", left=(0, 2, 3))
    for field in fields:
        if all(row.row.type == "field" for row in field.rows):
            continue
        if drawn.rows:
            drawn.gap()
        name = name_of(field.name)
        hidden = _too_many(field, most)
        for row in field.rows:
            if row.row.path not in hidden:
                what = name_of(row.row.what or row.row.type)
                drawn.add(name_of(row.row.path), count(row.size), ", ".join(row.classes), what)
        if hidden:
            drawn.add(f"{name}: {len(hidden)} shorter rows", count(sum(hidden.values())), "", "--all shows each")
        drawn.add(f"{name}: structure", count(field.structure), "", "keys, roles, types, ids, cache_control")
        drawn.add(name, count(field.size), "", "", total=True)
    return drawn


def _too_many(field: FieldSize, most: int | None) -> dict[str, int]:
    """Paths and sizes of the rows that are only counted."""
    if most is None or len(field.rows) <= most + 1:
        return {}
    return {row.row.path: row.size for row in sorted(field.rows, key=lambda row: -row.size)[most:]}


def wire_table(ledger: Ledger) -> Grid:
    """How characters become bytes on the wire, step by step."""
    drawn = grid("step", "amount", "", left=(0, 2))
    if ledger.wire is not None:
        for name, amount in ledger.wire.as_dict().items():
            drawn.add(name, count(amount), STEP_WORDS[name])
    drawn.add("unexplained", count(ledger.unexplained), "what is left: 0, or something is wrong")
    drawn.add("bytes on the wire", count(ledger.wire_bytes), "", total=True)
    return drawn


def difference(found: Difference) -> str:
    """The line of two measurements that do not meet."""
    place = name_of(found.place)
    return f"DOES NOT CLOSE: {place} measured {found.measured:,}, must be {found.recorded:,} ({found.against})"


def note_line(note: Note) -> str:
    """A note with its place."""
    place = f" at {safe(note.path)}" if note.path else ""
    detail = f": {safe(note.detail)}" if note.detail else ""
    return f"note: {note.code}{place}{detail}"


def usage_line(row: Summary) -> str:
    """The tokens of the answer in one line."""
    if row.ended == "not_recorded":
        return "the answer was not recorded"
    return f"input {input_sum(row, 'in', 'cache write', 'cache read')}   output {count(row.output_tokens)}"


def heading(row: Summary, exchange: Exchange) -> str:
    """What the exchange was: number, time, route, models, ending."""
    other = row.model_requested if row.model_requested != row.model else None
    asked = f" (asked for {name_of(other)})" if other else ""
    served = name_of(row.model) if row.model else "model unknown"
    return f"#{row.n}  {clock(row.time)} UTC  {row.route or UNKNOWN}  {served}{asked}  {ending(row)}"
