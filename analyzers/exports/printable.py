"""JSON text that no terminal takes for a command, and no program for another text.

An escape inside a string is the same value (RFC 8259 §7), so any character can be written as one. O(characters).
"""

from __future__ import annotations

import re

_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\U000e0000-\U000e007f]")
_NOT_ASCII = re.compile("[^\x00-\x7f]")


def printable(text: str) -> str:
    """A JSON text with characters that steer a terminal, or turn the direction of writing, as escapes."""
    return _UNSEEN.sub(_escape, text)


def in_ascii(text: str) -> str:
    """A JSON text with everything beyond ASCII as escapes."""
    return _NOT_ASCII.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
