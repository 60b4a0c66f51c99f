"""Results into terminal tables. Draws what it is given and calculates nothing but a share of a width.

Names, labels and messages come from other people's traffic: control characters are shown, never sent to the terminal,
and nothing is read as markup.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from rich.box import Box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analyzers.exchange import Exchange, Problem
from analyzers.sizes import Difference, FieldSize, Ledger, RowSize, share_of
from analyzers.summary import Summary
from analyzers.wire.note import Note

UNKNOWN = "?"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_RULE = Box("    \n    \n -- \n    \n    \n -- \n    \n    \n")
_PIPED_WIDTH = 4000

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


def draw(*things: Table | Text | str) -> None:
    """Prints tables and lines, one below the other: fitted to a terminal, plain and as wide as needed when piped."""
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else _PIPED_WIDTH, markup=False, highlight=False, emoji=False)
    for thing in things:
        if terminal:
            console.print(thing)
            continue
        with console.capture() as captured:
            console.print(thing)
        print("\n".join(line.rstrip() for line in captured.get().split("\n")[:-1]))


def safe(text: str) -> str:
    """Text with its control characters made visible as escapes."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def count(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def percent(share: float) -> str:
    return f"{share:.1f} %"


def clock(seconds: float | None) -> str:
    """Date and time in UTC, to the second."""
    return UNKNOWN if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def table(*columns: str, left: Iterable[int] = (0,)) -> Table:
    """An open table: numbers to the right, the columns in ``left`` to the left."""
    drawn = Table(box=_RULE, show_edge=False, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        drawn.add_column(name, justify="left" if index in left else "right", overflow="fold")
    return drawn


def shares(fields: Sequence[tuple[str, float]], limit: int = 3) -> str:
    """The largest fields in percent: ``tools 87 messages 12``."""
    largest = sorted(fields, key=lambda item: -item[1])[:limit]
    return " ".join(f"{safe(name) or 'body'} {share:.0f}%" for name, share in largest if share >= 0.5)


def summary_shares(row: Summary) -> str:
    """The share of each field of a summary, largest first."""
    return shares([(name, share_of(amount, row.chars or 0)) for name, amount in row.fields.items()])


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
    """How it ended, with the error's type and the id that support asks for."""
    words = [row.ended]
    if row.ended == "error":
        words += [str(row.status)] if row.status is not None else []
        words += [safe(row.error)] if row.error else []
        words += [safe(row.request_id)] if row.request_id else []
    if row.closes is False:
        words.append("DOES NOT CLOSE")
    return " ".join(words)


def list_table(rows: Iterable[Summary], unit: str) -> Table:
    """The table of ``list``."""
    drawn = table(
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
        drawn.add_row(*(Text(cell) for cell in list_cells(row)))
    return drawn


def list_cells(row: Summary) -> tuple[str, ...]:
    """The cells of one exchange, in the order of the list's columns."""
    model = row.model or (f"({row.model_requested})" if row.model_requested else UNKNOWN)
    sized = summary_shares(row) if row.chars is not None else safe(row.reason or UNKNOWN)
    return (
        str(row.n),
        clock(row.time),
        row.route or UNKNOWN,
        safe(model),
        sized,
        count(row.chars),
        input_sum(row),
        count(row.output_tokens),
        ending(row),
    )


def field_table(ledger: Ledger) -> Table:
    """Fields, largest first, with their share of the total."""
    drawn = table("field", ledger.unit, "share")
    for field in sorted(ledger.fields, key=lambda field: -field.size):
        drawn.add_row(
            Text(safe(field.name) or "(body)"), count(field.size), percent(share_of(field.size, ledger.total))
        )
    drawn.add_row(Text("total", "bold"), Text(count(ledger.total), "bold"), "")
    return drawn


def block_table(fields: Iterable[FieldSize], unit: str, most: int | None) -> Table:
    """The rows of each field that has blocks, with its structure and sum. ``most``: the longest so many rows of a
    field, the others counted in one line."""
    drawn = table("block", unit, "class", "what", left=(0, 2, 3))
    for field in fields:
        if all(row.row.type == "field" for row in field.rows):
            continue
        hidden = _too_many(field, most)
        for row in field.rows:
            if row not in hidden:
                drawn.add_row(
                    Text(safe(row.row.path)),
                    count(row.size),
                    ", ".join(row.classes),
                    Text(safe(row.row.what or row.row.type)),
                )
        if hidden:
            drawn.add_row(
                Text(f"{safe(field.name)}: {len(hidden)} shorter rows"),
                count(sum(row.size for row in hidden)),
                "",
                "--all shows each",
            )
        drawn.add_row(
            Text(f"{safe(field.name)}: structure"), count(field.structure), "", "keys, roles, types, ids, cache_control"
        )
        drawn.add_row(Text(safe(field.name), "bold"), Text(count(field.size), "bold"), "", "")
        drawn.add_section()
    return drawn


def _too_many(field: FieldSize, most: int | None) -> list[RowSize]:
    if most is None or len(field.rows) <= most + 1:
        return []
    return sorted(field.rows, key=lambda row: -row.size)[most:]


def wire_table(ledger: Ledger) -> Table:
    """How characters become bytes on the wire, step by step."""
    drawn = table("step", "amount", "", left=(0, 2))
    if ledger.wire is not None:
        for name, amount in ledger.wire.as_dict().items():
            drawn.add_row(name, count(amount), STEP_WORDS[name])
    drawn.add_row("unexplained", count(ledger.unexplained), "what is left: 0, or something is wrong")
    drawn.add_row(Text("bytes on the wire", "bold"), Text(count(ledger.wire_bytes), "bold"), "")
    return drawn


def difference(found: Difference) -> str:
    """The line of two measurements that do not meet."""
    place = safe(found.place)
    return f"DOES NOT CLOSE: {place} measured {found.measured:,}, must be {found.recorded:,} ({found.against})"


def note_line(note: Note) -> str:
    """A note with its place."""
    place = f" at {safe(note.path)}" if note.path else ""
    return f"note: {note.code}{place} {safe(note.detail)}".rstrip()


def usage_line(row: Summary) -> str:
    """The tokens of the answer in one line."""
    if row.ended == "not_recorded":
        return "the answer was not recorded"
    return f"input {input_sum(row, 'in', 'cache write', 'cache read')}   output {count(row.output_tokens)}"


def heading(row: Summary, exchange: Exchange) -> str:
    """What the exchange was: number, time, route, models, ending."""
    asked = (
        f" (asked for {safe(row.model_requested)})" if row.model_requested and row.model_requested != row.model else ""
    )
    served = safe(row.model) if row.model else "model unknown"
    return f"#{row.n}  {clock(row.time)} UTC  {row.route or UNKNOWN}  {served}{asked}  {ending(row)}"


def problem_lines(problems: Iterable[Problem]) -> list[str]:
    return [safe(str(problem)) for problem in problems]
