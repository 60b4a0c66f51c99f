"""A request in lengths only: what it is made of, and nothing of what it says.

Tools, system blocks, roles, blocks of messages, cache breakpoints, settings and betas, each with its place and size.
The sizes are the ledger's own rows (``sizes.field_size``), so what is shown of a field and its structure add up to the
field. Words are shown only where the API has an enumeration or an identifier, and only when they look like one:
whatever stands there instead is None. Works on folded requests alike. One pass per field, no recursion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from analyzers.breakpoints import Breakpoint, breakpoints
from analyzers.exchange import Request
from analyzers.sizes import FieldSize, RowSize, field_name, field_size, size
from analyzers.wire.fold import USER_DATA
from analyzers.wire.jsontext import Json, Number, scalar_chars
from analyzers.words import label, word

_LONGEST_CYCLE = 8
"""Roles that repeat together, at most: a turn of a client with tools and reminders has fewer."""

SETTINGS = ("thinking", "context_management", "output_config", "tool_choice")
NAMED = frozenset(("model", "service_tier", "inference_geo", "speed"))
ENUMERATED = frozenset(("type", "display", "effort", "keep", "mode", "unit", "ttl", "scope", *NAMED))
"""Members of settings whose strings are words of the API."""

_DEEPEST = 8  # levels of settings that are shown: the API's have three


@dataclass(frozen=True, slots=True)
class Block:
    """A leaf block. ``chars``: its row in the ledger; ``type`` None: none that the API has; ``what``: what it is, when
    that can be told."""

    path: str
    type: str | None
    what: str | None
    chars: int


@dataclass(frozen=True, slots=True)
class Message:
    """One message. ``role`` None: it has none that looks like one. ``chars``: all its blocks."""

    path: str
    role: str | None
    chars: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. ``chars`` = ``described`` (name and description) + ``schema_chars`` (its schema, or the parameters of
    the API's own tools). ``schema``: whether it has an ``input_schema``."""

    path: str
    name: str | None
    type: str | None
    chars: int
    described: int
    schema_chars: int
    schema: bool
    deferred: bool


@dataclass(frozen=True, slots=True)
class Field:
    """One top-level field. ``chars`` = ``content`` + ``structure``, where content is the sum of the field's rows.
    ``shape``: its JSON kind, with the number of members of a list."""

    name: str
    chars: int
    content: int
    structure: int
    shape: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A scalar of the settings. ``value`` None: a text, of which only the length is told; ``chars`` is its length."""

    path: str
    value: str | int | float | bool | None
    chars: int


@dataclass(frozen=True, slots=True)
class Cycle:
    """Roles that follow each other, ``times`` times."""

    roles: tuple[str | None, ...]
    times: int


@dataclass(frozen=True, slots=True)
class Label:
    """All blocks of a request that are the same thing: how many, how long together, and where the first one is."""

    what: str
    blocks: int
    chars: int
    first: str


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A request in lengths. ``tools``: longest first; these and ``messages`` are None where the field is there and no
    list. ``batch``: the requests of a batch, each with its own path before its places."""

    path: str
    fields: tuple[Field, ...]
    tools: tuple[Tool, ...] | None
    system: tuple[Block, ...]
    messages: tuple[Message, ...] | None
    breakpoints: tuple[Breakpoint, ...]
    settings: tuple[Setting, ...]
    roles: tuple[Cycle, ...]
    labels: tuple[Label, ...]
    betas: tuple[str, ...] = ()
    batch: tuple[Skeleton, ...] = ()

    @property
    def chars(self) -> int:
        """All fields together, in characters."""
        return sum(field.chars for field in self.fields)

    @property
    def deferred(self) -> int | None:
        """How many tools carry ``defer_loading``."""
        return None if self.tools is None else sum(tool.deferred for tool in self.tools)

    @property
    def without_schema(self) -> int | None:
        """How many tools have no ``input_schema``: the API's own, and placeholders."""
        return None if self.tools is None else sum(not tool.schema for tool in self.tools)


def skeleton(request: Request) -> Skeleton | None:
    """The skeleton of a request; None when there is no body."""
    if request.reason is not None:
        return None
    body = request.body
    betas = _betas(request.headers.get("anthropic-beta"))
    if type(body) is dict:
        betas += [beta for beta in _betas(body.get("anthropic_beta")) if beta not in betas]
    members = body.get("requests") if type(body) is dict else None
    batch = [
        _sketch(member["params"], f"requests[{index}].params.", [])
        for index, member in enumerate(members if type(members) is list else ())
        if type(member) is dict and type(member.get("params")) is dict
    ]
    return _sketch(body, "", betas, batch)


def _sketch(body: Json, path: str, betas: Sequence[str], batch: Iterable[Skeleton] = ()) -> Skeleton:
    members = body if type(body) is dict else {"": body}
    sized = {key: field_size(field_name(key), value) for key, value in members.items()}
    tools = _tools(sized["tools"], members["tools"], path) if "tools" in sized else ()
    system = [_block(row, path) for row in sized["system"].rows] if "system" in sized else []
    messages = _messages(sized["messages"], members["messages"], path) if "messages" in sized else ()
    return Skeleton(
        path=path,
        fields=tuple(_field(found, members[key]) for key, found in sized.items()),
        tools=tools,
        system=tuple(system),
        messages=messages,
        breakpoints=tuple(breakpoints(body, path)),
        settings=tuple(_settings(members)),
        roles=tuple(cycles([message.role for message in messages or ()])),
        labels=tuple(_labels([*system, *(block for message in messages or () for block in message.blocks)])),
        betas=tuple(betas),
        batch=tuple(batch),
    )


def _field(sized: FieldSize, value: Json) -> Field:
    content = sum(row.size for row in sized.rows)
    name = sized.name if word(sized.name) or not sized.name else f"({len(sized.name)} characters)"
    return Field(name, sized.size, content, sized.structure, shape(value))


def shape(value: Json) -> str:
    """The JSON kind of a value, and the number of members of a list: ``list of 3``."""
    if type(value) is list:
        return f"list of {len(value)}"
    if value is None:
        return "null"
    if type(value) is bool:
        return "boolean"
    if type(value) in (int, float, Number):
        return "number"
    return "object" if type(value) is dict else "string"


def _tools(sized: FieldSize, value: Json, path: str) -> tuple[Tool, ...] | None:
    """The tools of a list, longest first; None where the field is no list."""
    if type(value) is not list:
        return None
    found = []
    for row, tool in zip(sized.rows, value, strict=True):  # each member of the list is one row
        known: dict[Any, Json] = tool if type(tool) is dict else {}
        found.append(
            Tool(
                path=path + row.row.path,
                name=word(known.get("name")),
                type=word(known.get("type")),
                chars=row.size,
                described=row.classes.get("description", 0),
                schema_chars=row.size - row.classes.get("description", 0),
                schema="input_schema" in known,
                deferred=known.get("defer_loading") is True,
            )
        )
    return tuple(sorted(found, key=lambda tool: -tool.chars))


def _messages(sized: FieldSize, value: Json, path: str) -> tuple[Message, ...] | None:
    """The messages of a list, each with its rows; None where the field is no list."""
    if type(value) is not list:
        return None
    blocks: list[list[Block]] = [[] for _ in value]
    for row in sized.rows:
        blocks[_index(row.row.path)].append(_block(row, path))
    return tuple(
        Message(
            path=f"{path}messages[{index}]",
            role=word(message.get("role")) if type(message) is dict else None,
            chars=sum(block.chars for block in mine),
            blocks=tuple(mine),
        )
        for index, (message, mine) in enumerate(zip(value, blocks, strict=True))
    )


def _index(path: str) -> int:
    """The number of the message that a row is in: 12 of ``messages[12].content[0]``."""
    return int(path[len("messages[") : path.index("]")])


def _block(row: RowSize, path: str) -> Block:
    kind = row.row.type
    told = word(kind) if kind not in ("field", "unknown") else None
    return Block(path + row.row.path, told, label(row.row.what, kind), row.size)


def _settings(members: dict[Any, Json]) -> list[Setting]:
    """Numbers, truth values and named models at the top level, and the members of the settings."""
    found: list[Setting] = []
    for key, value in members.items():
        if word(key) is None:
            continue
        if key in SETTINGS and type(value) in (dict, list):
            found += _scalars(key, value)
        elif (key in NAMED or key in SETTINGS or shape(value) in ("number", "boolean")) and shape(value) != "object":
            found.append(_setting(key, key, value))
    return found


def _scalars(name: str, value: Json) -> list[Setting]:
    """The scalars of one field of settings in their order; a schema in it is the user's, and is one length."""
    found: list[Setting] = []
    stack: list[tuple[str, Json, Json, int]] = [(name, name, value, 0)]
    while stack:
        path, key, node, depth = stack.pop()
        if depth > _DEEPEST or key in USER_DATA:
            found.append(_setting(path, key, node))
        elif type(node) is dict:
            stack += [(f"{path}.{word(k) or '?'}", k, member, depth + 1) for k, member in reversed(node.items())]
        elif type(node) is list:
            stack += [(f"{path}[{i}]", key, node[i], depth + 1) for i in range(len(node) - 1, -1, -1)]
        else:
            found.append(_setting(path, key, node))
    return found


def _setting(path: str, key: Json, value: Json) -> Setting:
    if type(value) in (int, float, bool, Number):
        return Setting(path, value, scalar_chars(value))
    if value is None:
        return Setting(path, None, 4)
    told = word(value) if key in ENUMERATED else None
    return Setting(path, told, size(value))


def cycles(roles: Sequence[str | None]) -> list[Cycle]:
    """The sequence as runs of roles that repeat, the longest stretch first at each place: one look ahead per length
    of a cycle, so linear."""
    found: list[Cycle] = []
    at = 0
    while at < len(roles):
        length, times = 1, 1
        for tried in range(1, _LONGEST_CYCLE + 1):
            again = at + tried
            while again < len(roles) and roles[again] == roles[again - tried]:
                again += 1
            repeated = (again - at) // tried
            if repeated > 1 and repeated * tried > length * times:
                length, times = tried, repeated
        found.append(Cycle(tuple(roles[at : at + length]), times))
        at += length * times
    return found


def _labels(blocks: Iterable[Block]) -> list[Label]:
    """What is told of texts, in order of first appearance: where instructions, reminders and output of hooks are."""
    found: dict[str, Label] = {}
    for block in blocks:
        if block.what is None or block.type not in ("text", "tool_result"):
            continue
        known = found.get(block.what, Label(block.what, 0, 0, block.path))
        found[block.what] = Label(block.what, known.blocks + 1, known.chars + block.chars, known.first)
    return list(found.values())


def _betas(value: Any) -> list[str]:
    """The names in an ``anthropic-beta`` header (one, or several of that name), or in a body's list of them."""
    headers = value if type(value) in (list, tuple) else [value]
    names = [name.strip() for header in headers if type(header) is str for name in header.split(",")]
    return [name for name in names if word(name) is not None]
