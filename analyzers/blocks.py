"""A request taken apart into its parts: which value, key or frame belongs to which row, and which is structure.

This module knows the shape of the API's requests and nothing of sizes; ``sizes`` adds up what is yielded here. Every
key, every scalar and every container of a field is covered exactly once: by a row (a leaf block: a text, a tool, an
image …) or by structure (roles, types, ids, ``cache_control``, the keys around the rows). A container is never a row
beside its children. Shapes the API does not know are rows of class ``unknown``, so nothing can fall through.

One pass with an explicit stack, so nesting costs no recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json
from analyzers.wire.labels import describe_text
from analyzers.wire.media import inspect

type Kind = Literal["row", "value", "key", "frame"]
"""A row begins (nothing counted yet, so that an empty block is a row of nothing, not no row); a whole subtree; an
object key alone; the brackets and commas of a container alone (which count only where the unit is JSON text)."""

type Class = Literal[
    "text", "description", "schema", "json", "signature", "encrypted", "base64", "url", "file", "unknown", "value"
]


@dataclass(frozen=True, slots=True)
class Row:
    """A leaf block: its JSON path, its type in the API's terms, and what it is when that can be told."""

    path: str
    type: str
    what: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One counted thing. ``row`` None: structure."""

    kind: Kind
    value: Any
    row: Row | None = None
    cls: Class = "value"


TOOL_STRUCTURE = frozenset(
    ("type", "cache_control", "defer_loading", "strict", "allowed_callers", "eager_input_streaming")
)
TOOL_CALLS = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
_UNKNOWN_STRUCTURE = frozenset(("type", "id", "cache_control"))
_SOURCE_CLASS: dict[str, Class] = {"data": "base64", "url": "url", "file_id": "file", "text": "text"}

type _Task = tuple[str, str, Any]
"""A shape of ``_SHAPES``, the path of the value, and the value, still to be taken apart."""


type _Reader = Callable[[str, Any, list[_Task]], Iterator[Part]]


def parts(name: str, value: Json) -> Iterator[Part]:
    """The parts of one top-level field."""
    stack: list[_Task] = [(_field_shape(name, value), name, value)]
    while stack:
        shape, path, node = stack.pop()
        tasks: list[_Task] = []
        yield from _SHAPES[shape](path, node, tasks)
        stack.extend(reversed(tasks))


def _field_shape(name: str, value: Json) -> str:
    if type(value) is list and name in _LIST_SHAPES:
        return _LIST_SHAPES[name]
    if name in ("system", "content") and is_text(value):
        return "string"
    return "whole"


_LIST_SHAPES: dict[str, str] = {"messages": "messages", "system": "blocks", "tools": "tools", "requests": "requests"}


def is_text(value: Json) -> bool:
    return type(value) is str or type(value) is Elided


def _whole(path: str, value: Json, tasks: list[_Task]) -> Iterator[Part]:
    """A field without blocks: all of it is its row."""
    yield Part("value", value, Row(path, "field"))


def _string(path: str, value: Json, tasks: list[_Task]) -> Iterator[Part]:
    yield Part("value", value, Row(path, "text", described(value)), "text")


def _members(path: str, value: list[Json], tasks: list[_Task], shape: str) -> Iterator[Part]:
    yield Part("frame", value)
    tasks.extend(
        (shape if type(member) is dict else "stray", f"{path}[{index}]", member) for index, member in enumerate(value)
    )


def _messages(path: str, value: list[Json], tasks: list[_Task]) -> Iterator[Part]:
    return _members(path, value, tasks, "message")


def _blocks(path: str, value: list[Json], tasks: list[_Task]) -> Iterator[Part]:
    return _members(path, value, tasks, "block")


def _tools(path: str, value: list[Json], tasks: list[_Task]) -> Iterator[Part]:
    return _members(path, value, tasks, "tool")


def _requests(path: str, value: list[Json], tasks: list[_Task]) -> Iterator[Part]:
    return _members(path, value, tasks, "request")


def _stray(path: str, value: Json, tasks: list[_Task]) -> Iterator[Part]:
    """Something that is no object where the API has a block."""
    yield Part("value", value, Row(path, "unknown", described(value)), "text" if is_text(value) else "unknown")


def _request(path: str, item: dict[Any, Json], tasks: list[_Task]) -> Iterator[Part]:
    """One request of a batch: its params are fields like any request's, their names are structure."""
    yield Part("frame", item)
    for key, member in item.items():
        yield Part("key", key)
        if key == "params" and type(member) is dict:
            yield Part("frame", member)
            for name, field in member.items():
                yield Part("key", name)
                tasks.append((_field_shape(name, field), f"{path}.params.{name}", field))
        else:
            yield Part("value", member)


def _message(path: str, message: dict[Any, Json], tasks: list[_Task]) -> Iterator[Part]:
    yield Part("frame", message)
    for key, member in message.items():
        yield Part("key", key)
        if key == "content":
            yield from _content(f"{path}.content", member, tasks)
        else:
            yield Part("value", member)


def _content(path: str, value: Json, tasks: list[_Task]) -> Iterator[Part]:
    """The ``content`` of a message or of a result: a string, a list of blocks, one block, or a scalar that is no
    content at all."""
    if is_text(value):
        tasks.append(("string", path, value))
    elif type(value) is list:
        tasks.append(("blocks", path, value))
    elif type(value) is dict:
        tasks.append(("block", path, value))
    else:
        yield Part("value", value)


def _tool(path: str, tool: dict[Any, Json], tasks: list[_Task]) -> Iterator[Part]:
    row = Row(path, "tool", _scalar_text(tool.get("name")) or _scalar_text(tool.get("type")))
    yield Part("row", None, row, "description")
    yield Part("frame", tool)
    for key, member in tool.items():
        yield Part("key", key)
        if key in TOOL_STRUCTURE:
            yield Part("value", member)
        else:
            yield Part("value", member, row, "description" if key in ("name", "description") else "schema")


def _block(path: str, block: dict[Any, Json], tasks: list[_Task]) -> Iterator[Part]:
    kind = block.get("type")
    if type(kind) is str and kind in _BLOCKS:
        reader = _BLOCKS[kind]
    elif type(kind) is str and kind.endswith("_tool_result"):
        reader = _result
    else:
        reader = _unknown
    yield Part("frame", block)
    yield from reader(path, block, tasks)


def _leaf(path: str, block: dict[Any, Json], what: str | None, classes: dict[str, Class]) -> Iterator[Part]:
    """A block whose row is the values of some of its members; all the rest is structure."""
    row = Row(path, str(block["type"]), what)
    yield Part("row", None, row, next(iter(classes.values())))
    for key, member in block.items():
        yield Part("key", key)
        yield Part("value", member, row, classes[key]) if key in classes else Part("value", member)


def _text(path: str, block: dict[Any, Json], tasks: list[_Task]) -> Iterator[Part]:
    return _leaf(path, block, described(block.get("text")), {"text": "text"})


def _call(path: str, block: dict[Any, Json], tasks: list[_Task]) -> Iterator[Part]:
    return _leaf(path, block, _scalar_text(block.get("name")), {"input": "json", "name": "json"})


def _thinking(path: str, block: dict[Any, Json], tasks: list[_Task]) -> Iterator[Part]:
    return _leaf(path, block, None, {"thinking": "text", "signature": "signature"})


def _redacted(path: str, block: dict[Any, Json], tasks: list[_Task]) -> Iterator[Part]:
    return _leaf(path, block, None, {"data": "encrypted"})


def _tool_reference(path: str, block: dict[Any, Json], tasks: list[_Task]) -> Iterator[Part]:
    return _leaf(path, block, _scalar_text(block.get("tool_name")), {"tool_name": "text"})


def _result(path: str, block: dict[Any, Json], tasks: list[_Task]) -> Iterator[Part]:
    """A block that holds blocks: they are the rows. Without any it is a row of nothing."""
    inner = block.get("content")
    if not (inner and (is_text(inner) or type(inner) in (list, dict))):
        yield Part("row", None, Row(path, str(block["type"])), "text")
    for key, member in block.items():
        yield Part("key", key)
        if key == "content" and is_text(member):
            yield Part("value", member, Row(f"{path}.content", str(block["type"]), described(member)), "text")
        elif key == "content":
            yield from _content(f"{path}.content", member, tasks)
        else:
            yield Part("value", member)


def _media(path: str, block: dict[Any, Json], tasks: list[_Task]) -> Iterator[Part]:
    """An image or a document: its source's payload, with title and context. A source made of blocks has them as
    rows."""
    source = block.get("source")
    row = Row(path, str(block["type"]), _media_what(source))
    yield Part("row", None, row, _payload_class(source))
    for key, member in block.items():
        yield Part("key", key)
        if key == "source" and type(member) is dict:
            yield from _source(path, member, row, tasks)
        elif key in ("title", "context"):
            yield Part("value", member, row, "text")
        else:
            yield Part("value", member)


def _source(path: str, source: dict[Any, Json], row: Row, tasks: list[_Task]) -> Iterator[Part]:
    yield Part("frame", source)
    for key, member in source.items():
        yield Part("key", key)
        if key == "content":
            yield from _content(f"{path}.source.content", member, tasks)
        elif key in _SOURCE_CLASS:
            yield Part("value", member, row, _payload_class(source) if key == "data" else _SOURCE_CLASS[key])
        else:
            yield Part("value", member)


def _payload_class(source: Json) -> Class:
    kind = source.get("type") if type(source) is dict else None
    classes: dict[str, Class] = {"base64": "base64", "url": "url", "file": "file"}
    return classes.get(kind, "text") if type(kind) is str else "unknown"


def _media_what(source: Json) -> str | None:
    """Media type and, where the header tells, pixels or pages: ``image/png 1024x768``."""
    if type(source) is not dict:
        return None
    data, media_type = source.get("data"), _scalar_text(source.get("media_type"))
    if media_type is None:
        return _scalar_text(source.get("type"))
    measures = (
        data
        if type(data) is Elided
        else inspect(data, media_type)
        if type(data) is str and source.get("type") == "base64"
        else None
    )
    if measures is None:
        return media_type
    if measures.width and measures.height:
        return f"{media_type} {measures.width}x{measures.height}"
    return f"{media_type}, {measures.pages} pages" if measures.pages else media_type


def _unknown(path: str, block: dict[Any, Json], tasks: list[_Task]) -> Iterator[Part]:
    """A block of a type this program does not know: all of it is its row, but its own keys, its type, its id and its
    ``cache_control``."""
    kind = _scalar_text(block.get("type"))
    row = Row(path, kind or "unknown", kind)
    yield Part("row", None, row, "unknown")
    for key, member in block.items():
        yield Part("key", key)
        if key in _UNKNOWN_STRUCTURE:
            yield Part("value", member)
        else:
            yield Part(
                "value", member, row, "encrypted" if type(key) is str and key.startswith("encrypted_") else "unknown"
            )


def described(value: Json) -> str | None:
    """What a text is, from its beginning or, when it was folded, from the label kept."""
    if type(value) is Elided:
        return value.label
    return describe_text(value) if type(value) is str else None


def _scalar_text(value: Json) -> str | None:
    return value if type(value) is str else None


_BLOCKS: dict[str, _Reader] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_reference": _tool_reference,
    "tool_result": _result,
    "search_result": _result,
    "image": _media,
    "document": _media,
} | dict.fromkeys(TOOL_CALLS, _call)

_SHAPES: dict[str, _Reader] = {
    "whole": _whole,
    "string": _string,
    "messages": _messages,
    "message": _message,
    "blocks": _blocks,
    "block": _block,
    "tools": _tools,
    "tool": _tool,
    "requests": _requests,
    "request": _request,
    "stray": _stray,
}
