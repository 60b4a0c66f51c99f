"""Capture lines redacted before they are written: with ``capture_redact`` nothing else ever reaches the disk.

One key for as long as the process lives, so that equal values stay equal in all its files, and nobody can undo it
afterwards. Each line is checked against what it was, as the offline redactor checks a file. What cannot be redacted, or
shows something after all, is not written as it is: the line then keeps what it is and when, and nothing more.
"""

import secrets
from collections.abc import Callable
from typing import Any, Final

from analyzers.redact import Redactor
from analyzers.redact_check import Canaries
from analyzers.redact_records import RecordRedactor
from analyzers.redact_words import own_words
from analyzers.wire.jsontext import dump, parse

_SAFE: Final = ("kind", "id", "time", "method", "scheme", "route", "ended", "status")
_REQUIRED: Final[dict[str, Any]] = {"host": "", "path": "", "query": "", "headers": {}, "other_headers": []}


class LineRedactor:
    """Redacts lines. ``warn`` takes one sentence, the first time that a line cannot be redacted."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._own = own_words()
        self._canaries = Canaries(shown=self._own)
        self._values = Redactor(secrets.token_bytes(32), seen=self._seen, kept=self._kept)
        self._records = RecordRedactor(self._values)
        self._warn = warn
        self._warned = False

    def line(self, line: bytes) -> bytes:
        """The line, redacted, without the line end. Raises nothing."""
        self._canaries = Canaries(shown=self._own)
        self._values.tell_kept_again()
        try:
            record = self._records.record(parse(line).value)
            if (where := self._canaries.find(record)) is None:
                return dump(record)
            self._complain(f"something of the original shows at {where}")
        except Exception as error:  # told in the record itself
            self._complain(f"{type(error).__name__}: {error}")
        return _left(line)

    def _seen(self, text: str, new: str) -> None:
        self._canaries.seen(text, new)

    def _kept(self, text: str) -> None:
        self._canaries.kept(text)

    def _complain(self, what: str) -> None:
        if not self._warned:
            self._warned = True
            self._warn(f"weighbridge could not redact a record ({what}): what it holds is left out. Please report it.")


def _left(line: bytes) -> bytes:
    record = parse(line).value
    note = {"code": "not_redacted", "detail": "the content could not be redacted and was left out"}
    kept = {name: record[name] for name in _SAFE if name in record}
    return dump({**(_REQUIRED if kept.get("kind") == "request" else {"headers": {}}), **kept, "notes": [note]})
