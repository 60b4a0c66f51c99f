"""How a command ends when it cannot do what was asked."""

from __future__ import annotations

import re
import sys

import typer

_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def safe(text: str) -> str:
    """Text with its control characters made visible as escapes: names and messages come from other people's traffic."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class Failure(typer.Exit):
    """Ends the command with one sentence on standard error. Codes: 1 a check failed, 2 usage, 3 nothing readable."""

    def __init__(self, sentence: str, code: int) -> None:
        print(f"weighbridge: {safe(sentence)}", file=sys.stderr)
        super().__init__(code)
