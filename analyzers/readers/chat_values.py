"""What the columns of a chat store hold: times in the ways that programs write them, and texts that may be blocks.

SQLite's columns take any type whatever they were declared as, so every value is looked at.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from analyzers.wire.jsontext import Json, NotJson, parse

_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]+)?")
_TOO_LATE = 1e11
"""Seconds since the epoch that lie beyond the year 5000: such a number is in milliseconds, or in finer units still."""


def text_or_bytes(raw: bytes) -> str | bytes:
    """Text as it is stored: lone surrogates kept, and what is no UTF-8 left as bytes."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw


def written(content: Any) -> str | None:
    """The text of a column. A number is text that lost its quotes, a BLOB may be UTF-8. None: there is no text."""
    if type(content) is bytes:
        content = text_or_bytes(content)
    if type(content) is str:
        return content
    return str(content) if type(content) in (int, float) else None


def seconds(value: Any) -> float | None:
    """Seconds since the epoch of a timestamp: ISO 8601 (UTC where it names no zone, which is what SQLite writes), or
    a number of seconds, milliseconds or microseconds, also as text. None: it is none of these."""
    if type(value) is str and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if type(value) is str:
        return _of_text(value.strip())
    if type(value) not in (int, float) or not isfinite(value) or value < 0:
        return None
    for unit in (1, 1_000, 1_000_000):
        if value / unit < _TOO_LATE:
            return float(value / unit)
    return None


def _of_text(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    found = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    return found if 0 <= found < _TOO_LATE else None


def blocks_in(text: str) -> Json:
    """The content blocks that a text holds as JSON: a list of objects that each have a type. Any other text is
    itself."""
    inner = text.strip()
    if not (inner[:1] == "[" and inner[-1:] == "]"):
        return text
    try:
        document = parse(inner.encode("utf-8", "surrogatepass"))
    except NotJson:
        return text
    blocks = document.value
    if any(note.code == "trailing_text" for note in document.notes) or type(blocks) is not list or not blocks:
        return text
    return blocks if all(type(block) is dict and type(block.get("type")) is str for block in blocks) else text
