"""The text of one request body, redacted in place: every blank, every spelling of an escape and of a number stays, so
that each step from characters to bytes on the wire is the same.

The text is walked token by token beside its parsed value, which says what stands around a string; what is written for
each token is what ``Redactor`` gives for the decoded value. One pass, no recursion.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from json import decoder
from typing import Any

from analyzers.member_names import Names, below
from analyzers.path_patterns import NOWHERE, Place
from analyzers.redact import Redactor
from analyzers.scrambled_text import respelled
from analyzers.wire.jsontext import Json, parse

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[ \t\n\r]+|[^"{}\[\],: \t\n\r]+', re.DOTALL)
_LITERALS = frozenset(("true", "false", "null"))
_scanstring: Callable[[str, int, bool], tuple[str, int]] = decoder.scanstring  # type: ignore[attr-defined]


@dataclass(slots=True)
class _Open:
    """A container on the way: its value, whose names its members have, the name it stands under, and where it is."""

    value: Json
    names: Names
    name: Any
    place: Place
    key: str | None = None
    index: int = 0
    renamed: dict[str, str] = field(default_factory=dict)


def redacted_body(data: bytes, redactor: Redactor, root: Place = NOWHERE) -> bytes:
    """The body's text with everything scrambled that tells something. Raises NotJson."""
    document = parse(data)
    text = data.decode("utf-8", "surrogatepass")
    if any(note.code == "double_serialised" for note in document.notes):
        begin, end = text.index('"'), text.rindex('"')
        written = text[begin + 1 : end]
        inner = _scanstring(written + '"', 0, False)[0]
        new = respelled(written, _Body(redactor.unmarked(), root).written(inner, document.value))
        text = text[: begin + 1] + new + text[end:]
    else:
        text = _Body(redactor.unmarked(), root).written(text, document.value)
    return text.encode("utf-8", "surrogatepass")


class _Body:
    def __init__(self, redactor: Redactor, root: Place) -> None:
        self._redactor = redactor
        self._open: list[_Open] = [_Open([None], Names.API, "", root)]
        self._waits_for_key = False
        self._root = root

    def written(self, text: str, value: Json) -> str:
        """The text of a JSON value, redacted; what follows it is scrambled as text."""
        self._open = [_Open([value], Names.API, "", self._root)]
        out: list[str] = []
        at = 0
        for match in _TOKEN.finditer(text):
            token = match[0]
            at = match.end()
            out.append(self._token(token))
            if len(self._open) == 1 and self._open[0].index and token.strip(" \t\n\r\ufeff"):
                break
        return "".join(out) + self._redactor.text(text[at:])

    def _token(self, token: str) -> str:
        head = token[0]
        if head in "{[":
            self._enter(head)
        elif head in "}]":
            self._open.pop()
            self._passed()
        elif head == '"':
            return self._string(token[1:-1])
        elif head == ",":
            self._waits_for_key = type(self._open[-1].value) is dict and self._open[-1].key is None
        elif head not in ": \t\n\r\ufeff":
            return self._scalar(token)
        return token

    def _enter(self, head: str) -> None:
        above = self._open[-1]
        member = self._member()
        expected = dict if head == "{" else list
        value = member if type(member) is expected else expected()
        name = above.name if type(above.value) is list else above.key
        names = above.names if type(above.value) is list else below(above.key or "", above.names)
        self._open.append(_Open(value, names, name, self._here()))
        if type(value) is dict:
            self._open[-1].renamed = self._redactor.renamed(value, names)
        self._waits_for_key = head == "{"

    def _string(self, written: str) -> str:
        top = self._open[-1]
        value, _ = _scanstring(written + '"', 0, False)
        if self._waits_for_key:
            self._waits_for_key = False
            top.key = value
            new = value if top.place.kept else top.renamed.get(value) or self._redactor.key(value, top.names)
            return f'"{respelled(written, new)}"'
        if self._here().kept:
            new = self._redactor.keep(value)
        else:
            new = self._redactor.scalar(self._name(), value, self._names(), self._here(), self._around())
        self._passed()
        return f'"{respelled(written, new)}"'

    def _scalar(self, token: str) -> str:
        bare = token.lstrip("\ufeff")
        new = bare
        if bare not in _LITERALS and not self._here().kept:
            number = parse(bare.encode()).value
            made = self._redactor.scalar(self._name(), number, self._names(), self._here(), self._around())
            new = bare if made is number else str(made)
        self._passed()
        return token[: len(token) - len(bare)] + new

    def _passed(self) -> None:
        """A value is through."""
        top = self._open[-1]
        top.index += 1
        top.key = None

    def _member(self) -> Json:
        """The value that begins here, as far as the parsed value has it: a duplicate name hides the one before."""
        top = self._open[-1]
        if type(top.value) is dict:
            return top.value.get(top.key)
        return top.value[top.index] if top.index < len(top.value) else None

    def _name(self) -> Any:
        top = self._open[-1]
        return top.key if type(top.value) is dict else top.name

    def _names(self) -> Names:
        top = self._open[-1]
        return below(top.key or "", top.names) if type(top.value) is dict else top.names

    def _here(self) -> Place:
        top = self._open[-1]
        if len(self._open) == 1:
            return top.place
        return top.place.below(top.key if type(top.value) is dict and top.key is not None else top.index)

    def _around(self) -> Json:
        return self._open[-1].value
