"""What a capture says of the texts it folded, keyed by their hash: the ``note`` lines.

Made while the text was there, for what needs the text itself: its weight in tokens, and the kinds of personal data in
it with their number, never the values. A text without a note is unknown, not light, and not clean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analyzers.wire.jsontext import dump

if TYPE_CHECKING:
    from analyzers.tokens import TextWeight


@dataclass(frozen=True, slots=True)
class Noted:
    """What is known of a folded text. ``weight`` None, ``kinds`` None: its note does not say."""

    weight: TextWeight | None
    kinds: Mapping[str, int] | None


def describing() -> Callable[[str, str], bytes]:
    """What makes the note line of a text, from its hash and itself. Loads what counts tokens (0.3 s)."""
    from analyzers.detect.text import kinds_of
    from analyzers.tokens import weigh, weight_json

    weigh("weigh")

    def describe(sha256: str, text: str) -> bytes:
        return dump({"kind": "note", "sha256": sha256, "weight": weight_json(weigh(text)), "personal": kinds_of(text)})

    return describe


def noted(record: Mapping[str, Any]) -> tuple[str, Noted] | None:
    """The hash and the knowledge of a ``note`` line; None when it is no such line."""
    from analyzers.tokens import weight_of_json

    sha256, kinds = record.get("sha256"), record.get("personal")
    if type(sha256) is not str:
        return None
    whole = type(kinds) is dict and all(type(number) is int for number in kinds.values())
    return sha256, Noted(weight_of_json(record.get("weight")), kinds if whole else None)
