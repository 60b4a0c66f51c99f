"""JSON as prompts show it: a blank behind each comma and colon, as Python's ``json.dumps`` writes it.

Recorded counts say that tool definitions are rendered this way (``prompt_frames``). Folded strings are holes: the text
has their quotes, and they are told apart. No recursion; O(characters).
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json, dump, quoted


def spaced(value: Json) -> tuple[str, list[Elided]]:
    """The text, and the folded strings and keys that are missing in it."""
    out: list[str] = []
    holes: list[Elided] = []
    open_: list[tuple[Iterator[tuple[str | Elided | None, Json]], str]] = []
    _begin(value, out, holes, open_)
    while open_:
        members, bracket = open_[-1]
        try:
            key, member = next(members)
        except StopIteration:
            open_.pop()
            if out[-1] == ", ":
                out.pop()
            out += (bracket, ", ")
            continue
        if key is not None:
            out += (_string(key, holes), ": ")
        _begin(member, out, holes, open_)
    if out[-1] == ", ":
        out.pop()
    return "".join(out), holes


def _begin(
    value: Json,
    out: list[str],
    holes: list[Elided],
    open_: list[tuple[Iterator[tuple[str | Elided | None, Json]], str]],
) -> None:
    kind = type(value)
    if kind is dict:
        out.append("{")
        open_.append((iter(value.items()), "}"))
    elif kind is list:
        out.append("[")
        open_.append((iter((None, member) for member in value), "]"))
    else:
        text = _string(value, holes) if kind is str or kind is Elided else dump(value).decode("utf-8")
        out += (text, ", ")


def _string(value: str | Elided, holes: list[Elided]) -> str:
    if isinstance(value, Elided):
        holes.append(value)
        return '""'
    return quoted(value)
