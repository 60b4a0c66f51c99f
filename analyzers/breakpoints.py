"""The cache breakpoints of a request: every ``cache_control``, and only where the API reads one.

The top level, tools, system blocks, content blocks, and the blocks inside results and documents. The same name inside
a tool's input or schema is the user's data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzers.wire.jsontext import Json
from analyzers.words import word

MARK = "cache_control"


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """One ``cache_control`` and its path. ``ttl`` None: not given, which is five minutes; ``known`` False: it is not
    of a form that the API takes. ``scope`` None: not given."""

    path: str
    type: str | None
    ttl: str | None
    scope: str | None
    known: bool = True


def breakpoints(body: Json, path: str = "") -> Iterator[Breakpoint]:
    """The breakpoints of a request in the order in which the prefix runs: the top level's own first, then tools,
    system, messages. ``path`` is put before each of theirs."""
    if type(body) is not dict:
        return
    if body.get(MARK) is not None:
        yield _breakpoint(path + MARK, body[MARK])
    yield from _of_blocks(body.get("tools"), f"{path}tools", inside=False)
    yield from _of_blocks(body.get("system"), f"{path}system", inside=True)
    messages = body.get("messages")
    for index, message in enumerate(messages if type(messages) is list else ()):
        if type(message) is dict:
            yield from _of_blocks(message.get("content"), f"{path}messages[{index}].content", inside=True)


def _of_blocks(blocks: Json, path: str, *, inside: bool) -> Iterator[Breakpoint]:
    """Those of a list of blocks; ``inside``: of the blocks in them too, which come before the block's own."""
    stack: list[tuple[str, Json, bool]] = [(path, blocks, False)] if type(blocks) is list else []
    while stack:
        place, node, opened = stack.pop()
        if type(node) is list:
            stack += [(f"{place}[{i}]", node[i], False) for i in range(len(node) - 1, -1, -1) if type(node[i]) is dict]
            continue
        within = _within(node, place) if inside and not opened else None
        if within is not None:
            stack += [(place, node, True), (*within, False)]
        elif node.get(MARK) is not None:
            yield _breakpoint(f"{place}.{MARK}", node[MARK])


def _within(block: dict[str, Json], place: str) -> tuple[str, list[Json]] | None:
    """The list of blocks that a result or a document holds."""
    kind, content, source = block.get("type"), block.get("content"), block.get("source")
    if type(kind) is not str:
        return None
    if type(content) is list and (kind.endswith("tool_result") or kind == "search_result"):
        return f"{place}.content", content
    if kind == "document" and type(source) is dict and type(source.get("content")) is list:
        return f"{place}.source.content", source["content"]
    return None


def _breakpoint(path: str, value: Json) -> Breakpoint:
    given = value if type(value) is dict else {}
    kind, ttl, scope = (word(given.get(name)) for name in ("type", "ttl", "scope"))
    known = kind is not None and (given.get("ttl"), given.get("scope")) == (ttl, scope)
    return Breakpoint(path, kind, ttl, scope, known)
