"""The first place at which the prompt of one request is not that of an earlier one: where a cached prefix ends.

In the order in which a prompt is built: the model, tools, system, the settings that are known to touch the messages'
part of the cache, messages. Compared as the API is told it: ``cache_control`` and the client's billing line are no
part of a prompt, a string is a list of one text block. The order of keys counts only where it becomes part of the
prompt: in the schemas of tools and in the inputs of tool calls (the API's guide to prompt caching names the latter).
O(nodes + characters); a digester that is kept from call to call makes repeated comparisons cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from analyzers.blocks import TOOL_CALLS
from analyzers.diff_rows import Leaf, leaves
from analyzers.diff_tools import changes_of, tool_name
from analyzers.digests import Digester, as_blocks, without_billing
from analyzers.exchange import Request
from analyzers.normal import normalised
from analyzers.sizes import CHARS, field_size, size
from analyzers.spots import HASH, Spot, first_order_spot, first_spot, hash_of
from analyzers.wire.jsontext import Json

BEFORE_TOOLS = ("mcp_servers",)
SETTINGS = ("tool_choice", "thinking", "output_config", "output_format", "context_management", "speed")
"""Fields that are compared as data beside model, tools, system and messages; the others say nothing to the model."""

_TOOL_CHANGES = {
    "description": "tool description changed",
    "schema": "tool schema changed",
    "schema_key_order": "tool schema key order",
    "settings": "tool settings changed",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where two prompts part. ``field``: the top-level field; ``path``: of the tool, block or setting, in the second
    request (in the first where the second has nothing there).

    ``change``: ``model``, ``tools`` (no list of tools), ``tool added``, ``tool removed``, ``tool reordered``, ``tool
    description changed``, ``tool schema changed``, ``tool schema key order``, ``tool settings changed``, ``system
    changed``, ``message changed|inserted|removed|key order``, a setting's own name (``SETTINGS``,
    ``mcp_servers``), or ``not known`` where a body was not kept.

    ``a`` and ``b``: sizes in characters of the row (text, tool, block; of all blocks of a message that came, went or
    whose role is another), None where there is none; ``a_hash`` and
    ``b_hash`` as in ``spots.Spot``. ``name``: of the tool. ``spot``: the first difference inside, when both have it.
    """

    field: str
    path: str
    change: str
    a: int | None
    b: int | None
    a_hash: str | None = None
    b_hash: str | None = None
    name: str | None = None
    spot: Spot | None = None


def first_difference(
    a: Request, b: Request, digester: Digester | None = None, *, billing: bool = False
) -> Place | None:
    """The first difference between two prompts in prompt order; None when ``b`` continues ``a``: everything is equal up
    to the last message of ``a``. ``billing``: the client's billing line counts, as it does at hosts other than the
    API's own."""
    if a.reason is not None or b.reason is not None:
        return Place("", "", "not known", None, None)
    one: dict[Any, Json] = a.body if type(a.body) is dict else {}
    other: dict[Any, Json] = b.body if type(b.body) is dict else {}
    known = digester or Digester()
    if a.model != b.model:
        return Place("model", "model", "model", *_told(a.model, b.model))
    return (
        _settings(one, other, BEFORE_TOOLS)
        or _tools(one.get("tools"), other.get("tools"), known)
        or _system(one.get("system"), other.get("system"), known, billing)
        or _settings(one, other, SETTINGS)
        or _messages(one.get("messages"), other.get("messages"), known)
    )


def _told(a: Json, b: Json) -> tuple[int | None, int | None, str | None, str | None]:
    """Sizes and hashes of two values; of None nothing."""
    one, other = (None if value is None else size(value) for value in (a, b))
    return one, other, None if a is None else hash_of(a), None if b is None else hash_of(b)


def _settings(a: dict[Any, Json], b: dict[Any, Json], names: Sequence[str]) -> Place | None:
    for name in names:
        if (spot := first_spot(a.get(name), b.get(name), name)) is not None:
            return Place(name, name, name, *_told(a.get(name), b.get(name)), spot=spot)
    return None


def _parted(a: Sequence[Any], b: Sequence[Any]) -> tuple[int, str] | None:
    """The first position at which two sequences differ, and what can be said of it: something was ``inserted``,
    ``removed``, ``reordered`` or ``changed`` there; None when they do not differ."""
    at = next((n for n, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))
    if at == len(a):
        return None if len(b) == at else (at, "inserted")
    if at == len(b):
        return at, "removed"
    later_in_b, later_in_a = a[at] in b[at:], b[at] in a[at:]
    if later_in_a and later_in_b:
        return at, "reordered"
    return at, "inserted" if later_in_b else "removed" if later_in_a else "changed"


def _tools(a: Json, b: Json, digester: Digester) -> Place | None:
    if any(tools is not None and type(tools) is not list for tools in (a, b)):
        spot = first_spot(a, b, "tools")
        return None if spot is None else Place("tools", "tools", "tools", *_told(a, b), spot=spot)
    places, mine = _in_prefix(a or [])
    others, theirs = _in_prefix(b or [])
    for at, (one, other) in enumerate(zip(mine, theirs, strict=False)):
        if tool_name(one) != tool_name(other):
            break
        if digester.tool(one) == digester.tool(other) and not _schema_order(one, other):
            continue
        changed, spot = changes_of(one, other, f"tools[{others[at]}]")
        told = [_TOOL_CHANGES[change] for change in changed if change in _TOOL_CHANGES]
        if told:
            return _tool(told[0], others[at], one, other, spot)
    parted = _parted([tool_name(tool) for tool in mine], [tool_name(tool) for tool in theirs])
    if parted is None:
        return None
    at, how = parted
    if how == "inserted":
        return _tool("tool added", others[at], None, theirs[at])
    if how == "reordered":
        return _tool("tool reordered", others[at], mine[at], theirs[at])
    return _tool("tool removed", places[at], mine[at], None)


def _in_prefix(tools: list[Json]) -> tuple[list[int], list[Json]]:
    """The tools that stand in the prefix, with their places in the list. Deferred ones stand outside of it
    (documentation of prompt caching), so that loading one breaks nothing."""
    kept = [(at, tool) for at, tool in enumerate(tools) if not (type(tool) is dict and tool.get("defer_loading"))]
    return [at for at, _ in kept], [tool for _, tool in kept]


def _schema_order(a: Json, b: Json) -> bool:
    if type(a) is not dict or type(b) is not dict:
        return False
    return first_order_spot(a.get("input_schema"), b.get("input_schema")) is not None


def _tool(change: str, at: int, a: Json, b: Json, spot: Spot | None = None) -> Place:
    """A tool that is another at one position; None: there is none on that side. Sizes are its row's in the ledger."""
    one, other = (None if tool is None else field_size("tools", [tool]).rows[0].size for tool in (a, b))
    mine, theirs = (None if tool is None else hash_of(normalised(tool, "block")) for tool in (a, b))
    name = tool_name(a if b is None else b)
    return Place("tools", f"tools[{at}]", change, one, other, mine, theirs, name, spot)


def _system(a: Json, b: Json, digester: Digester, billing: bool) -> Place | None:
    mine, theirs = _blocks(a, billing), _blocks(b, billing)
    parted = _parted([digester.tool(block) for _, block in mine], [digester.tool(block) for _, block in theirs])
    if parted is None:
        return None
    at, how = parted
    one = _block("system", mine[at], digester) if at < len(mine) and how != "inserted" else None
    other = _block("system", theirs[at], digester) if at < len(theirs) and how != "removed" else None
    return _of_leaves("system", "system changed", one, other)


def _blocks(system: Json, billing: bool) -> list[tuple[str, Json]]:
    """The blocks of a system prompt with their paths, with or without the client's billing line."""
    return [
        (f"system[{index}]" if type(system) is list else "system", kept)
        for index, block in enumerate(as_blocks(system))
        for kept in ([block] if billing else without_billing([block]))
    ]


def _block(field: str, placed: tuple[str, Json], digester: Digester) -> Leaf | None:
    path, block = placed
    found = leaves(field, [block], CHARS, digester)
    return replace(found[0], row=replace(found[0].row, path=path)) if found else None


def _messages(a: Json, b: Json, digester: Digester) -> Place | None:
    if any(messages is not None and type(messages) is not list for messages in (a, b)):
        spot = first_spot(a, b, "messages")
        return None if spot is None else Place("messages", "messages", "message changed", *_told(a, b), spot=spot)
    mine: list[Json] = a or []
    theirs: list[Json] = b or []
    for at, (one, other) in enumerate(zip(mine, theirs, strict=False)):
        if digester.message(one) != digester.message(other):
            break
        if (order := _call_order(one, other, f"messages[{at}]")) is not None:
            return _message("message key order", order.path, one, other, digester, order)
    parted = _parted([digester.message(message) for message in mine], [digester.message(message) for message in theirs])
    if parted is None or parted[0] == len(mine):
        return None
    at, how = parted
    if how in ("inserted", "removed"):
        one, other = (None, theirs[at]) if how == "inserted" else (mine[at], None)
        return _message(f"message {how}", f"messages[{at}]", one, other, digester)
    return _inside(at, mine[at], theirs[at], digester)


def _message(change: str, path: str, a: Json, b: Json, digester: Digester, spot: Spot | None = None) -> Place:
    """A message as a whole; None: there is none on that side. Its size is that of its blocks, however it is written."""
    one, other = (
        None if message is None else sum(leaf.size for leaf in leaves("messages", [message], CHARS, digester))
        for message in (a, b)
    )
    mine, theirs = (None if message is None else digester.message(message).hex()[:HASH] for message in (a, b))
    return Place("messages", path, change, one, other, mine, theirs, spot=spot)


def _call_order(a: Json, b: Json, path: str) -> Spot | None:
    """The first input of a tool call whose keys stand in another order, in two messages that are equal as data."""
    if type(a) is not dict or type(b) is not dict:
        return None
    blocks = zip(as_blocks(a.get("content")), as_blocks(b.get("content")), strict=False)
    for index, (one, other) in enumerate(blocks):
        if type(one) is dict and type(other) is dict and type(kind := one.get("type")) is str and kind in TOOL_CALLS:
            place = f"{path}.content[{index}].input"
            if (spot := first_order_spot(one.get("input"), other.get("input"), place)) is not None:
                return spot
    return None


def _inside(at: int, a: Json, b: Json, digester: Digester) -> Place:
    """The first block in which two messages differ; where no block does, the first member (a role, an id)."""
    mine, theirs = _rows(at, a, digester), _rows(at, b, digester)
    parted = _parted([leaf.digest for leaf in mine], [leaf.digest for leaf in theirs])
    if parted is None:
        path = f"messages[{at}]"
        spot = first_spot(normalised(a, "message"), normalised(b, "message"), path)
        return _message("message changed", path if spot is None else spot.path, a, b, digester, spot)
    position, how = parted
    one = mine[position] if position < len(mine) and how != "inserted" else None
    other = theirs[position] if position < len(theirs) and how != "removed" else None
    return _of_leaves("messages", "message changed", one, other)


def _rows(at: int, message: Json, digester: Digester) -> list[Leaf]:
    """The rows of one message, at their places in the request."""
    found = leaves("messages", [message], CHARS, digester)
    begin = f"messages[{at}]"
    return [replace(leaf, row=replace(leaf.row, path=begin + leaf.row.path[len("messages[0]") :])) for leaf in found]


def _of_leaves(field: str, change: str, a: Leaf | None, b: Leaf | None) -> Place:
    shown = b or a
    path = field if shown is None else shown.row.path
    spot = first_spot(a.content(), b.content(), path) if a is not None and b is not None else None
    sizes = [None if leaf is None else leaf.size for leaf in (a, b)]
    hashes = [None if leaf is None else leaf.hash for leaf in (a, b)]
    return Place(field, path, change, sizes[0], sizes[1], hashes[0], hashes[1], spot=spot)
