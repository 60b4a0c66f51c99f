"""Values as a prompt has them, with what says nothing taken out: the form in which digests compare them (``digests``).

``cache_control`` goes where the API puts one, a string where blocks may stand becomes a list of one text block. The
result is plain data, so that a walk over two of them finds *where* they differ, which no digest tells. What needs no
change is shared with the original, never copied. Iterative, O(nodes).
"""

from __future__ import annotations

from typing import Any

from analyzers.breakpoints import MARK
from analyzers.digests import as_blocks, is_billing, without_billing
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json

NO_BILLING: dict[str, Json] = {"type": "text", "text": ""}
"""What stands for the client's billing line, so that the blocks after it keep their places."""


def normalised(value: Json, shape: str) -> Json:
    """A value without ``cache_control`` and with blocks for strings. ``shape``: ``message``, ``blocks``, ``block`` or
    ``data``, as in ``digests.digest``, which gives the same digest of both."""
    holder: list[Json] = [value]
    stack: list[tuple[str, Json, Any, Any]] = [(shape, value, holder, 0)]
    while stack:
        kind, node, target, at = stack.pop()
        if kind == "data" or type(node) not in (dict, list):
            target[at] = node
        elif type(node) is list:
            inner = "block" if kind in ("blocks", "message") else "data"
            target[at] = members = list(node)
            stack.extend((inner, member, members, index) for index, member in enumerate(node))
        else:
            target[at] = copy = {key: member for key, member in node.items() if kind != "block" or key != MARK}
            for name in ("content", "source"):
                if (shaped := _inner(kind, name, copy.get(name))) is not None:
                    member = as_blocks(copy[name]) if name == "content" else copy[name]
                    stack.append((shaped, member, copy, name))
    return holder[0]


def _inner(kind: str, name: str, member: Json) -> str | None:
    """The shape of a member that is not plain data; None for one that is."""
    if name == "content":
        return "blocks" if type(member) in (str, list, Elided) else None
    blocks = kind == "block" and type(member) is dict and member.get("type") == "content"
    return "source" if blocks else None


def normal_field(name: Json, value: Json, *, billing: bool) -> Json:
    """A top-level field of a request, normalised. ``billing`` False: without what the client's billing line says."""
    if name == "messages" and type(value) is list:
        return [normalised(message, "message") for message in value]
    if name == "tools":
        return normalised(value, "blocks")
    if name == "system":
        blocks = as_blocks(value)
        return normalised(blocks if billing else [_unbilled(block) for block in blocks], "blocks")
    if name == MARK:
        return None
    if name == "requests" and type(value) is list:
        return [_normal_item(item, billing) for item in value]
    return value


def _unbilled(block: Json) -> Json:
    return NO_BILLING if is_billing(block) else without_billing([block])[0]


def _normal_item(item: Json, billing: bool) -> Json:
    """One request of a batch."""
    params = item.get("params") if type(item) is dict else None
    if type(params) is not dict:
        return item
    return {**item, "params": {key: normal_field(key, value, billing=billing) for key, value in params.items()}}
