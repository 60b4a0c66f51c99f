"""A body that does not stream, once it is there: a message, an error, other JSON, lines of JSON, or text.

What parses decides: one JSON text, then JSON lines, then text. Text is kept, because error pages are text; bytes that
are no text are not. Cost: O(bytes), with at most two parses.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from analyzers.wire.jsontext import Json, NotJson, parse
from analyzers.wire.message import ApiError, Message, read_error, read_message
from analyzers.wire.note import Note, Notebook

_BLANKS = b" \t\r\n"
_NO_TEXT = bytes(set(range(0x20)) - set(b"\t\n\r\f\x1b"))
_MESSAGE_ROUTES = frozenset({"messages", "bedrock", "vertex", "other"})


@dataclass(frozen=True, slots=True)
class Body:
    """What a body turned out to be: `kind` is `json`, `lines`, `text`, `binary` or `empty`."""

    kind: str
    message: Message | None = None
    value: Json = None
    """What is no message; None for `binary` and `empty`."""
    error: ApiError | None = None
    complete: bool = False


def read_body(data: bytes, *, status: int, route: str, lines: bool, book: Notebook) -> Body:
    """What the whole decoded body of an answer is. `lines`: its content type promises JSON lines. Raises nothing.

    Notes: `empty_body`, `not_json`, `malformed_line`, `binary_body`, `invalid_utf8`, those of parsing and of messages.
    """
    nothing = ApiError(None, None, None) if status >= 400 else None
    if not data.strip(_BLANKS):
        if status not in (204, 304):
            book.add(Note("empty_body", "the answer has no body"))
        return Body("empty", error=nothing)
    if lines and (rows := read_lines(data, book, promised=True)):
        return rows
    try:
        document = parse(data)
    except NotJson as wrong:
        book.add(Note("not_json", wrong.reason))
        kind, text = _text(data, book)
        return Body(kind, value=text, error=nothing)
    goes_on = any(note.code == "trailing_text" for note in document.notes)
    if goes_on and (rows := read_lines(data, book, promised=False)):
        return rows
    book.extend(document.notes)
    value = document.value
    if isinstance(value, dict) and "custom_id" in value and "result" in value:
        return Body("lines", value=[value], complete=True)
    if status < 400 and route in _MESSAGE_ROUTES and _is_message(value):
        return Body("json", message=read_message(value, book), complete=True)
    error = read_error(value, failed=status >= 400) or nothing
    return Body("json", value=value, error=error, complete=True)


def read_lines(data: bytes, book: Notebook, *, promised: bool) -> Body | None:
    """The body as JSON lines (https://jsonlines.org), like the results of a batch. None when it is not: the first line
    is no JSON, or, where nothing `promised` lines, no second one is.

    A line that is no JSON is kept as text, with a note; then the body is not complete.
    """
    values: list[Json] = []
    notes = Notebook()
    broken = 0
    for index, row in enumerate(row for row in data.split(b"\n") if row.strip(_BLANKS)):
        try:
            document = parse(row)
        except NotJson as wrong:
            if index == 0:
                return None
            broken += 1
            notes.add(Note("malformed_line", wrong.reason, f"[{index}]"))
            values.append(row.decode("utf-8", "replace"))
            continue
        notes.extend(Note(note.code, note.detail, f"[{index}].{note.path}".rstrip(".")) for note in document.notes)
        values.append(document.value)
    if not values or (not promised and len(values) - broken < 2):
        return None
    book.extend(notes.notes())
    return Body("lines", value=values, complete=not broken)


def _is_message(value: Json) -> bool:
    return isinstance(value, dict) and (value.get("type") == "message" or ("content" in value and "role" in value))


def _text(data: bytes, book: Notebook) -> tuple[str, str | None]:
    """The body as text, or None when it is binary: kept, it would hide from a redactor what it holds."""
    if data.translate(None, _NO_TEXT) != data:
        book.add(Note("binary_body", f"{len(data)} bytes, no text: not kept, sha256 {sha256(data).hexdigest()}"))
        return "binary", None
    try:
        return "text", data.decode("utf-8")
    except UnicodeDecodeError:
        book.add(Note("invalid_utf8", "the body holds bytes that are no UTF-8: each became U+FFFD"))
        return "text", data.decode("utf-8", "replace")
