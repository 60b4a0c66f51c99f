"""Bodies out of a capture, unfolded, with the parts that come again shared between them.

A conversation resends everything, so nearly all messages of a request stood in the one before. A part that is written
alike is unfolded once and is then the very same object in every body: reading a long session costs what is new in it,
and what compares requests can tell by identity that nothing changed. Told apart by their JSON text, which keeps 1, 1.0
and true apart. Bounded: two generations of parts, the older one is dropped when the younger is full. O(bytes).
"""

from __future__ import annotations

from typing import Final

import orjson

from analyzers.wire.fold import MARK, unfold
from analyzers.wire.jsontext import Json
from analyzers.wire.note import Note

_FULL: Final = 16 * 1024 * 1024
"""Bytes of JSON text of a generation."""

_WHOLE: Final = ("tools", "system")
_AS_IT_IS: Final = orjson.OPT_PASSTHROUGH_SUBCLASS


class SharedParts:
    """The parts of the bodies of one capture file."""

    def __init__(self) -> None:
        self._young: dict[bytes, Json] = {}
        self._old: dict[bytes, Json] = {}
        self._size = 0

    def unfolded(self, body: Json) -> tuple[Json, list[Note]]:
        """The body that a capture holds, as ``unfold`` gives it. Nobody may change what is in it."""
        if type(body) is not dict or MARK in body:
            return unfold(body)
        messages = body.get("messages")
        apart = {name: body[name] for name in _WHOLE if type(body.get(name)) is list}
        taken = {*apart, "messages"} if type(messages) is list else apart.keys()
        hollow = {name: None if name in taken else body[name] for name in body}
        opened, notes = unfold(hollow)
        for name, value in apart.items():
            opened[name], more = self._part(value)
            notes += more
        if type(messages) is list:
            opened["messages"] = whole = []
            for message in messages:
                part, more = self._part(message)
                whole.append(part)
                if more:
                    notes += more
        return opened, notes

    def _part(self, value: Json) -> tuple[Json, list[Note]]:
        try:
            text = orjson.dumps(value, option=_AS_IT_IS)
        except (TypeError, ValueError):  # a number as it was written, a lone surrogate, nesting without end
            return unfold(value)
        known = self._young.get(text)
        if known is not None:
            return known, []
        known = self._old.get(text)
        notes: list[Note] = []
        if known is None:
            known, notes = unfold(value)
        if not notes:  # what is damaged is told each time
            self._keep(text, known)
        return known, notes

    def _keep(self, text: bytes, part: Json) -> None:
        self._size += len(text)
        if self._size > _FULL:
            self._old, self._young, self._size = self._young, {}, len(text)
        self._young[text] = part
