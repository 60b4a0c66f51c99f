"""Capture lines redacted before they are written: with ``capture_redact`` nothing else ever reaches the disk.

One key for as long as the process lives, so that equal values stay equal in all its files, and nobody can undo it
afterwards. What cannot be redacted is not written as it is: the line then keeps what it is and when, and nothing more.
"""

import secrets
from collections.abc import Callable
from typing import Any, Final

from analyzers.redact import Redactor
from analyzers.redact_records import RecordRedactor
from analyzers.wire.jsontext import dump, parse

_SAFE: Final = ("kind", "id", "time", "method", "scheme", "route", "ended", "status")
_REQUIRED: Final[dict[str, Any]] = {"host": "", "path": "", "query": "", "headers": {}, "other_headers": []}


class LineRedactor:
    """Redacts lines. ``warn`` takes one sentence, the first time that a line cannot be redacted."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._records = RecordRedactor(Redactor(secrets.token_bytes(32)))
        self._warn = warn
        self._warned = False

    def line(self, line: bytes) -> bytes:
        """The line, redacted, without the line end. Raises nothing."""
        try:
            return dump(self._records.record(parse(line).value))
        except Exception as error:  # told in the record itself
            if not self._warned:
                self._warned = True
                self._warn(
                    f"weighbridge could not redact a record ({type(error).__name__}: {error}): what it holds is left "
                    "out. Please report it."
                )
            return _left(line)


def _left(line: bytes) -> bytes:
    record = parse(line).value
    note = {"code": "not_redacted", "detail": "the content could not be redacted and was left out"}
    kept = {name: record[name] for name in _SAFE if name in record}
    return dump({**(_REQUIRED if kept.get("kind") == "request" else {"headers": {}}), **kept, "notes": [note]})
