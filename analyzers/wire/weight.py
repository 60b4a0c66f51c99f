"""What is weighed as a request passes: characters by field, and the steps from characters to the bytes on the wire.

Runs before the request is forwarded, so it is one walk over the parsed body and a few byte counts. Each step is
counted from the text or from the value, none is what the others leave over; so whoever adds them up and compares with
the bytes that arrived has a real check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analyzers.wire.jsontext import Document, TextSteps


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
        return sum(self.as_dict().values())

    def as_dict(self) -> dict[str, int]:
        """The steps by name, in order."""
        return {name: getattr(self, name) for name in self.__slots__}

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


@dataclass(frozen=True, slots=True)
class Weight:
    """One field: its characters, and what its shortest JSON text has beside them (its key's escapes and bytes too)."""

    characters: int
    punctuation: int
    escapes: int
    utf8: int


def figures(document: Document, weights: Mapping[str, Weight], decoded_bytes: int, wire_bytes: int) -> Figures:
    """The figures of a parsed body. ``weights``: of its fields (``fold.fold_fields``); ``decoded_bytes``: length of its
    text, content coding undone; ``wire_bytes``: its length as it arrived.

    A text that was proved the shortest JSON of its value has the value's own quotes, escapes and bytes. Of any other,
    they were counted as it was scanned.
    """
    body, found = document.value, document.steps
    names = len("".join(body)) if type(body) is dict else 0
    if found is None:
        frame = 0 if type(body) is not dict else 4 * len(body) + 1 if body else 2
        punctuation = frame + sum(weight.punctuation for weight in weights.values())
        found = TextSteps(punctuation, sum(weight.escapes for weight in weights.values()))
        utf8 = sum(weight.utf8 for weight in weights.values())
    else:
        utf8 = found.utf8
    total = sum(weight.characters for weight in weights.values())
    steps = WireSteps(
        characters=total,
        field_names=names,
        punctuation=found.punctuation,
        escapes=found.escapes,
        whitespace=found.whitespace,
        shadowed=found.shadowed,
        bom_or_trailing=found.bom_or_trailing,
        utf8=utf8,
        content_encoding=wire_bytes - decoded_bytes,
    )
    return Figures({name: weight.characters for name, weight in weights.items()}, total, steps)
