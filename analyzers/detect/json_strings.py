"""The strings of a text that is JSON as a whole, each with the key it stands under and its place in the text.

The text is proved to be JSON first; then its tokens are walked without recursion. O(characters).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson

from analyzers.detect.layer import Layer, Steps
from analyzers.wire.jsontext import NotJson, parse

_TOKEN = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"|[{}\[\]:,]|[^\s"{}\[\]:,]++', re.DOTALL)
_ESCAPE = re.compile(
    r"\\u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})"
    r"|\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([nrtbf0\"'\\/]))"
)
"""An escape of JSON and of programs; the two of one character together."""
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "0": "\0"}
_LEAST = 8  # characters of a string under no key that can hold more than is told by the text around it
_WORDS = frozenset(("true", "false", "null"))
_ENDS = frozenset(("{}", "[]", '""'))
_BLANKS = " \t\r\n\ufeff"


def strings(text: str) -> list[Layer] | None:
    """The strings and numbers of a JSON text, in order; None for any other text. Lines of JSON are another text."""
    bare = text.strip(_BLANKS) if text[:1] in _BLANKS or text[-1:] in _BLANKS else text
    if bare[:1] + bare[-1:] not in _ENDS or len(bare) < 2 or not _is_json(bare):
        return None
    return list(_walked(text))


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
        return True
    except (orjson.JSONDecodeError, TypeError, UnicodeEncodeError):
        pass  # surrogates, great depth, NaN
    try:
        document = parse(text.encode("utf-8", "surrogatepass"))
    except NotJson:
        return False
    return all(note.code != "trailing_text" for note in document.notes)


def _walked(text: str) -> Iterator[Layer]:
    """One layer for each string and number. Of an open object the key in force is kept, of a list the one above it."""
    keys: list[str | None] = [None]
    objects: list[bool] = [False]
    named = False  # whether the next string of an object is a value
    for match in _TOKEN.finditer(text):
        sign = match[0]
        if (written := match[1]) is not None:
            key = keys[-1]
            is_key = objects[-1] and not named
            layer = _string(text, match.start(1), match.end(1), written, None if is_key else key)
            if is_key:
                keys[-1] = layer.text
            if written and (layer.key is not None or len(written) >= _LEAST):
                yield layer
        elif sign == ":":
            named = True
        elif sign == ",":
            named = False
        elif sign == "{" or sign == "[":
            objects.append(sign == "{")
            keys.append(keys[-1])
            named = False
        elif sign == "}" or sign == "]":
            objects.pop()
            keys.pop()
        elif sign not in _WORDS:
            yield Layer("json", match.start(), match.end(), sign, keys[-1], ((0, match.start(), 1),))


def _string(text: str, start: int, end: int, written: str, key: str | None) -> Layer:
    if "\\" not in written:
        return Layer("json", start, end, written, key, ((0, start, 1),))
    plain, steps = unescaped(text, start, end)
    return Layer("json", start, end, plain, key, steps)


def unescaped(text: str, start: int, end: int) -> tuple[str, Steps]:
    """A part of a text without its escapes, and where each of its characters stands."""
    out: list[str] = []
    steps = [(0, start, 1)]
    at, size, width = start, 0, 1
    for match in _ESCAPE.finditer(text, start, end):
        begin = match.start()
        if begin > at:
            if width != 1:
                steps.append((size, at, width := 1))
            out.append(text[at:begin])
            size += begin - at
        at = match.end()
        if at - begin != width:
            width = at - begin
            steps.append((size, begin, width))
        out.append(_char(match))
        size += 1
    if width != 1:
        steps.append((size, at, 1))
    out.append(text[at:end])
    return "".join(out), tuple(steps)


def _char(escape: re.Match[str]) -> str:
    high, low, code, byte, simple = escape.groups()
    if simple is not None:
        return _SIMPLE.get(simple, simple)
    if high is not None:
        return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
    return chr(int(code or byte, 16))
