"""JSON text to values that keep how every number was written, and back to strict JSON.

A figure in characters needs the text as the client wrote it: ``1.0`` is three characters, ``1E2`` too, and a
duplicate key is paid for although its value is lost. A fast parser forgets all that. So the fast parser goes first,
and its result is *proved*: when the value dumps back to the very bytes received, the text was the shortest JSON of
that value and nothing was forgotten (nearly all clients; a quarter of the cost of parsing). Otherwise the text is
scanned token by token, exactly, in one pass without recursion, counting quotes, escapes and blanks on the way. Cost:
O(bytes) in both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from json import JSONDecodeError, decoder
from typing import Any

import orjson

from analyzers.wire.note import Note

type Json = Any
"""None, bool, int, float, str, Number, list or dict (after ``fold.unfold`` also ``fold.Elided``)."""

_scanstring: Callable[[str, int, bool], tuple[str, int]] = decoder.scanstring  # type: ignore[attr-defined]
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_PATH_KEY = 40  # characters of a key that a path in a note shows
_BLANKS = re.compile(r"[ \t\n\r]*")
_LITERALS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_SURROGATE = re.compile("[\ud800-\udfff]")
_INT64 = range(-(2**63), 2**64)


class Number(str):
    """A number exactly as written, where ``int`` or ``float`` would write it differently (``1E2``, ``-0``, ``1e400``,
    30 digits)."""

    __slots__ = ()


class NotJson(ValueError):
    """The body is no JSON. ``reason`` is one sentence without any of the content."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class TextSteps:
    """What a JSON text holds beside its content, in characters (code points). ``shadowed``: keys and values that a
    later duplicate key replaced."""

    punctuation: int = 0
    escapes: int = 0
    whitespace: int = 0
    shadowed: int = 0
    bom_or_trailing: int = 0
    utf8: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text. ``steps`` is None when the text was proved to be the shortest JSON of ``value``: then every step
    follows from lengths."""

    value: Json
    steps: TextSteps | None
    notes: tuple[Note, ...] = ()


def parse(data: bytes) -> Document:
    """The value of a JSON text in UTF-8, with a leading BOM, duplicate keys, any depth and any number accepted.

    Raises NotJson. A JSON string that itself holds a JSON object is unwrapped once, with a note: some gateways
    serialise twice.
    """
    try:
        value = orjson.loads(data)
        if type(value) is not str and orjson.dumps(value) == data:
            return Document(value, None)
    except (orjson.JSONDecodeError, TypeError):
        pass  # the exact scan decides, and gives the reason
    text, notes = _decoded(data)
    value, steps, notes = _unwrapped(*_Scan(text, notes).document())
    return Document(value, replace(steps, utf8=len(data) - len(text)), tuple(notes))


def _decoded(data: bytes) -> tuple[str, list[Note]]:
    if not data:
        raise NotJson("the body is empty")
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError as error:
        position = error.start
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise NotJson(f"not valid UTF-8 at byte {position}") from None
    return text, [Note("raw_surrogates", "the text holds surrogates as raw bytes, which is not valid UTF-8")]


def _unwrapped(value: Json, steps: TextSteps, notes: list[Note]) -> tuple[Json, TextSteps, list[Note]]:
    """What was serialised twice, once undone; the steps of both texts together."""
    if type(value) is not str or value.lstrip(" \t\r\n\ufeff")[:1] not in ("{", "["):
        return value, steps, notes
    try:
        inner, inside, notes = _Scan(value, notes).document()
    except NotJson:
        return value, steps, notes
    notes.append(Note("double_serialised", "the body is a JSON string that holds the JSON request"))
    both = TextSteps(
        steps.punctuation + inside.punctuation,
        steps.escapes + inside.escapes,
        steps.whitespace + inside.whitespace,
        inside.shadowed,
        steps.bom_or_trailing + inside.bom_or_trailing,
    )
    return inner, both, notes


class _Scan:
    """One pass over one text. State: the open containers, and for each the key that waits for its value."""

    def __init__(self, text: str, notes: list[Note]) -> None:
        self.text = text
        self.notes = notes
        self.at = 0
        self.punctuation = self.escapes = self.whitespace = self.shadowed = self.extra = 0
        self.open: list[dict[str, Json] | list[Json]] = []
        self.keys: list[str | None] = []

    def document(self) -> tuple[Json, TextSteps, list[Note]]:
        text = self.text
        if text.startswith("\ufeff"):
            self.at = self.extra = 1
            self.notes.append(Note("bom", "the text begins with a byte order mark"))
        root = self._values()
        self._blank()
        if self.at < len(text):
            rest = len(text) - self.at
            self.extra += rest
            self.notes.append(Note("trailing_text", f"{rest} characters after the JSON document"))
        steps = TextSteps(self.punctuation, self.escapes, self.whitespace, self.shadowed, self.extra)
        return root, steps, self.notes

    def _values(self) -> Json:
        """Reads values until the outermost is closed."""
        text, open_, keys = self.text, self.open, self.keys
        while True:
            self._blank()
            head = text[self.at : self.at + 1]
            if head in ("{", "["):
                self.at += 1
                self.punctuation += 1
                container: dict[str, Json] | list[Json] = {} if head == "{" else []
                open_.append(container)
                keys.append(None)
                if not self._closes("}" if head == "{" else "]"):
                    if head == "{":
                        self._key()
                    continue
                value: Json = self._pop()
            else:
                value = self._scalar(head)
            while open_:  # hand the finished value to its container, and close what ends here
                self._store(value)
                top = open_[-1]
                self._blank()
                if text[self.at : self.at + 1] == ",":
                    self.at += 1
                    self.punctuation += 1
                    if type(top) is dict:
                        self._blank()
                        self._key()
                    break
                if not self._closes("}" if type(top) is dict else "]"):
                    raise self._wrong("expected ',' or the end of the object or list")
                value = self._pop()
            else:
                return value

    def _pop(self) -> Json:
        self.keys.pop()
        return self.open.pop()

    def _closes(self, bracket: str) -> bool:
        self._blank()
        if self.text[self.at : self.at + 1] != bracket:
            return False
        self.at += 1
        self.punctuation += 1
        return True

    def _blank(self) -> None:
        if self.text[self.at : self.at + 1] in (" ", "\n", "\t", "\r"):
            match = _BLANKS.match(self.text, self.at)
            assert match is not None
            self.whitespace += match.end() - self.at
            self.at = match.end()

    def _key(self) -> None:
        if self.text[self.at : self.at + 1] != '"':
            raise self._wrong("expected an object key")
        self.keys[-1] = self._string()
        self._blank()
        if self.text[self.at : self.at + 1] != ":":
            raise self._wrong("expected ':'")
        self.at += 1
        self.punctuation += 1

    def _string(self) -> str:
        start = self.at + 1
        try:
            value, self.at = _scanstring(self.text, start, True)
        except JSONDecodeError as error:
            self.at = error.pos
            raise self._wrong("a string that does not end, or holds a bad escape or a control character") from None
        self.punctuation += 2
        self.escapes += self.at - 1 - start - len(value)
        return value

    def _scalar(self, head: str) -> Json:
        if head == '"':
            return self._string()
        if head in _LITERALS:
            word, value = _LITERALS[head]
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            raise self._wrong("expected a value" if head else "the text ends too early")
        self.at = match.end()
        return _number(match[0], whole=match.lastindex is None)

    def _store(self, value: Json) -> None:
        top = self.open[-1]
        if type(top) is list:
            top.append(value)
            return
        key = self.keys[-1]
        assert key is not None and type(top) is dict
        if key in top:
            self.shadowed += len(key) + weigh(top[key])[0]
            self.notes.append(Note("duplicate_key", "a later member of the same name replaces it", self._path()))
        top[key] = value

    def _path(self) -> str:
        parts = []
        for container, key in zip(self.open, self.keys, strict=True):
            parts.append(f".{key[:_PATH_KEY]}" if key is not None else f"[{len(container)}]")
        return "".join(parts).lstrip(".")

    def _wrong(self, what: str) -> NotJson:
        return NotJson(f"not valid JSON at character {self.at}: {what}")


def _number(text: str, *, whole: bool) -> int | float | Number:
    if whole:
        if len(text) < 22 and text != "-0" and (number := int(text)) in _INT64:
            return number
        return Number(text)
    value = float(text)
    return value if value - value == 0 and orjson.dumps(value).decode() == text else Number(text)


def weigh(value: Json) -> tuple[int, int]:
    """Characters of a raw value (object keys plus scalars as text), and the punctuation its shortest JSON text has
    around them."""
    chars = punctuation = 0
    stack = [value]
    pop, spread = stack.pop, stack.extend
    while stack:
        node = pop()
        kind = type(node)
        if kind is str:
            chars += len(node)
            punctuation += 2
        elif kind is dict:
            if node:
                chars += len("".join(node))
                punctuation += 4 * len(node) + 1
                spread(node.values())
            else:
                punctuation += 2
        elif kind is list:
            punctuation += len(node) + 1 if node else 2
            spread(node)
        else:
            chars += scalar_chars(node)
    return chars, punctuation


def scalar_chars(value: Json) -> int:
    """Characters of a scalar as text: a string without its quotes, a number as written, true 4, false 5, null 4."""
    if isinstance(value, str):
        return len(value)
    if value is None or value is True:
        return 4
    if value is False:
        return 5
    return len(orjson.dumps(value))


def dump(value: Json) -> bytes:
    """The shortest strict JSON of a value as UTF-8, numbers as written, lone surrogates as escapes, at any depth. JSON
    that is written already may stand in it as ``orjson.Fragment``."""
    try:
        return orjson.dumps(value, _as_written, orjson.OPT_PASSTHROUGH_SUBCLASS)
    except (TypeError, RecursionError):
        return "".join(_pieces(value)).encode("utf-8")


def _as_written(value: object) -> orjson.Fragment:
    if type(value) is Number:
        return orjson.Fragment(value.encode())
    raise TypeError(f"not a JSON value: {type(value).__name__}")


def _pieces(root: Json) -> list[str]:
    out: list[str] = []
    stack: list[tuple[bool, Json]] = [(True, root)]  # (is a value, value) or (is not, text to write)
    while stack:
        is_value, node = stack.pop()
        if not is_value:
            out.append(node)
            continue
        kind = type(node)
        if kind is dict:
            out.append("{")
            stack.append((False, "}"))
            for index, (key, member) in enumerate(reversed(list(node.items()))):
                stack.append((True, member))
                stack.append((False, ("" if index == len(node) - 1 else ",") + quoted(key) + ":"))
        elif kind is list:
            out.append("[")
            stack.append((False, "]"))
            for index, member in enumerate(reversed(node)):
                stack.append((True, member))
                if index < len(node) - 1:
                    stack.append((False, ","))
        elif kind is str:
            out.append(quoted(node))
        else:
            out.append(node if kind is Number else orjson.dumps(node).decode())
    return out


def quoted(text: str) -> str:
    """A string as the shortest JSON string that is valid UTF-8: what ``JSON.stringify`` writes."""
    if not _SURROGATE.search(text):
        return str(orjson.dumps(text), "utf-8")
    parts = _SURROGATE.split(text)
    lone = _SURROGATE.findall(text)
    out = [orjson.dumps(parts[0]).decode()[1:-1]]
    for code, part in zip(lone, parts[1:], strict=True):
        out.append(f"\\u{ord(code):04x}")
        out.append(orjson.dumps(part).decode()[1:-1])
    return '"' + "".join(out) + '"'
