"""One request taken apart, as JSON and on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from analyzers import tables
from analyzers.exchange import Exchange
from analyzers.failure import safe
from analyzers.prompts import Rebuilt
from analyzers.share import share_of
from analyzers.sizes import Ledger
from analyzers.summary import Summary
from analyzers.wire.note import Note
from analyzers.wire.record import note_json


def shown_json(exchange: Exchange, row: Summary, ledger: Ledger | None, prompt: Rebuilt | None) -> dict[str, Any]:
    """What ``show --json`` prints: the summary's members, and the ledger with every row; null for what is unknown.
    ``prompt``: the whole of what a message thread's request carries the end of; null for other requests."""
    shown = row.with_failure()
    del shown["fields"], shown["chars"]
    shown |= {
        "unit": None,
        "fields": None,
        "total": None,
        "blocks": None,
        "structure": None,
        "wire": None,
        "unexplained": None,
        "differences": [],
    }
    if ledger is not None:
        shown |= ledger_json(ledger)
    shown["prompt"] = None if prompt is None else _prompt_json(prompt)
    shown["notes"] = [note_json(note) for note in notes(exchange)]
    response = exchange.response
    shown["usage"] = None if response is None else response.usage_raw
    shown["error"] = None
    if response is not None and response.error is not None:
        shown["error"] = {"type": response.error.type, "message": response.error.message, "request_id": row.request_id}
    return shown


def _prompt_json(prompt: Rebuilt) -> dict[str, Any]:
    fields = None if prompt.fields is None else dict(prompt.fields)
    return {"chars": prompt.total, "messages": prompt.messages, "fields": fields, "partial": prompt.partial}


def prompt_line(prompt: Rebuilt, unit: str) -> str:
    """That the sizes of a message thread's request are those on the wire, and what its whole prompt has."""
    told = "message thread: the sizes above are those on the wire, of what is new; "
    if prompt.fields is None:
        return told + "the start of the thread was not recorded, so the size of the whole prompt is not known"
    fields = ", ".join(f"{name} {amount:,}" for name, amount in prompt.fields.items())
    return f"{told}the whole prompt: {tables.count(prompt.messages)} messages, {prompt.total:,} {unit} ({fields})"


def ledger_json(ledger: Ledger) -> dict[str, Any]:
    """A ledger as plain values; ``share`` in percent, unrounded."""
    return {
        "unit": ledger.unit,
        "fields": [
            {"name": field.name, "chars": field.size, "share": share_of(field.size, ledger.total)}
            for field in ledger.fields
        ],
        "total": {"chars": ledger.total},
        "blocks": [
            {
                "path": sized.row.path,
                "chars": sized.size,
                "class": ", ".join(sized.classes),
                "classes": dict(sized.classes),
                "type": sized.row.type,
                "what": sized.row.what,
            }
            for field in ledger.fields
            for sized in field.rows
        ],
        "structure": {field.name: field.structure for field in ledger.fields},
        "wire": None
        if ledger.wire is None
        else [{"step": name, "amount": amount} for name, amount in ledger.wire.as_dict().items()],
        "unexplained": ledger.unexplained,
        "differences": [
            {"place": found.place, "measured": found.measured, "recorded": found.recorded, "against": found.against}
            for found in ledger.differences
        ],
    }


def notes(exchange: Exchange) -> Sequence[Note]:
    """All notes of an exchange, the request's first."""
    return [note for side in (exchange.request, exchange.response) if side is not None for note in side.notes]


def print_shown(
    exchange: Exchange, row: Summary, ledger: Ledger | None, prompt: Rebuilt | None, most: int | None
) -> None:
    """Prints the exchange as tables. ``most``: rows of one field before the shorter ones are counted in one line;
    None shows all."""
    lines: list[tables.Grid | Text | str] = [Text(tables.heading(row, exchange), "bold")]
    if row.taken is not None:
        lines.append(tables.taken_line(row.taken, exchange))
    if ledger is None:
        lines.append(f"no sizes: {safe(row.reason or 'no body')}")
    else:
        lines += ["", tables.field_table(ledger), "", tables.block_table(ledger.fields, ledger.unit, most)]
        if ledger.unit == "chars":
            lines += ["", tables.wire_table(ledger)]
        if prompt is not None:
            lines += ["", safe(prompt_line(prompt, ledger.unit))]
        lines += [tables.difference(found) for found in ledger.differences]
    lines += ["", tables.usage_line(row)]
    lines += _failures(exchange, row)
    lines += [tables.note_line(note) for note in notes(exchange)]
    tables.draw(*lines)


def _failures(exchange: Exchange, row: Summary) -> Iterator[str]:
    """Why it failed: the API's own words, those of the recorder or of the file, else that nothing says so."""
    response = exchange.response
    error = response.error if response is not None else None
    whose = f"({safe(row.request_id or 'no request id')})"
    if error is not None:
        said = f"{error.type or tables.UNKNOWN}: {error.message or tables.UNKNOWN}"
        yield f"error: {safe(said)} {whose}"
    if row.failure:
        yield f"failure: {tables.name_of(row.failure)}{'' if error is not None else f' {whose}'}"
    elif error is None and row.ended in ("error", "unreachable"):
        status = "no status" if row.status is None else f"status {row.status}"
        yield f"error: {status}, and no reason was recorded {whose}"
