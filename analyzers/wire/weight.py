"""What is weighed as a request passes: characters by field, and the steps from characters to the bytes on the wire.

Runs before the request is forwarded, so it is one walk over the parsed body and a few byte counts. Each step is
counted from the text or from the value, none is what the others leave over; so whoever adds them up and compares with
the bytes that arrived has a real check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from analyzers.wire.jsontext import Document, TextSteps, weigh


@dataclass(frozen=True, slots=True)
class WireSteps:
    """From the content's characters to the body's bytes. ``utf8``: bytes beyond one per character;
    ``content_encoding``: signed."""

    characters: int
    field_names: int
    punctuation: int
    escapes: int
    whitespace: int
    shadowed: int
    bom_or_trailing: int
    utf8: int
    content_encoding: int

    def sum(self) -> int:
        """Bytes that the steps explain."""
        return sum(asdict(self).values())

    def as_dict(self) -> dict[str, int]:
        """The steps by name, in order."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Any) -> WireSteps | None:
        """Steps as a capture holds them, or None when any is missing or is no integer."""
        if not isinstance(raw, Mapping) or not all(type(raw.get(name)) is int for name in cls.__slots__):
            return None
        return cls(**{name: raw[name] for name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class Figures:
    """Characters by top-level field, in order, their sum, and the steps to the wire."""

    fields: Mapping[str, int]
    total: int
    steps: WireSteps


type Weights = Mapping[str, tuple[int, int]]
"""Characters and punctuation of each top-level field."""


def figures(document: Document, decoded: bytes, wire_bytes: int, weights: Weights | None = None) -> Figures:
    """Weighs a parsed body. ``decoded``: its text in bytes, content coding undone; ``wire_bytes``: its length as it
    arrived; ``weights``: what ``fold.fold_fields`` found on its way, when it was there already."""
    body = document.value
    names = punctuation = 0
    if type(body) is dict:
        names = len("".join(body))
        punctuation = 4 * len(body) + 1 if body else 2
    if weights is None:
        weights = {name: weigh(value) for name, value in (body if type(body) is dict else {"": body}).items()}
    punctuation += sum(inside for _, inside in weights.values())
    total = sum(chars for chars, _ in weights.values())
    found = document.steps or TextSteps(punctuation, _escapes(decoded))
    steps = WireSteps(
        characters=total,
        field_names=names,
        punctuation=found.punctuation,
        escapes=found.escapes,
        whitespace=found.whitespace,
        shadowed=found.shadowed,
        bom_or_trailing=found.bom_or_trailing,
        utf8=0 if decoded.isascii() else len(decoded) - len(decoded.decode("utf-8", "surrogatepass")),
        content_encoding=wire_bytes - len(decoded),
    )
    return Figures({name: chars for name, (chars, _) in weights.items()}, total, steps)


def _escapes(text: bytes) -> int:
    r"""Characters that escapes add in the shortest JSON text: ``\n`` adds one, ``\u001b`` five.

    Counted on the text itself: every escape begins with a backslash, ``\\\\`` is a pair, and of those left a ``u``
    follows the long ones.
    """
    backslashes = text.count(b"\\")
    if not backslashes:
        return 0
    pairs = text.count(b"\\\\")
    long = text.count(b"\\u")
    if long and pairs:
        long = text.replace(b"\\\\", b"").count(b"\\u")
    return backslashes - pairs + 4 * long
