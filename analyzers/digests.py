"""Digests of prompts and their parts: equal when the API would be told the same.

Two requests that continue one conversation differ in what says nothing: a moving ``cache_control``, a text that stands
as a string here and as a list of one text block there, a system text of the client that changes with every call
(``x-anthropic-billing-header``). So values are normalised first. ``cache_control`` is dropped only where the API puts
it, never inside a user's data. A folded string counts by its hash, which the digest takes of every string, so that a
capture with any threshold, a flow file and a log give the same digests. Iterative, O(nodes + characters).
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b, sha256
from typing import Any

import orjson

from analyzers.wire.fold import USER_DATA, Elided
from analyzers.wire.jsontext import Json, Number, dump, scalar_chars

type Digest = bytes

SIZE = 16
BILLING = "x-anthropic-billing-header:"
_MOST_KNOWN = 200_000  # of the values seen: 20 MB at the most


class Digester:
    """Digests, remembering those of values that come again: a conversation resends everything."""

    def __init__(self) -> None:
        self._known: dict[bytes, Digest] = {}

    def message(self, message: Json) -> Digest:
        """A message of the list ``messages``: its role and its blocks."""
        return self._of(message, "message")

    def tool(self, tool: Json) -> Digest:
        return self._of(tool, "block")

    def system(self, value: Json) -> Digest:
        """The system prompt, without the client's billing line."""
        blocks = [block for block in as_blocks(value) if not is_billing(block)]
        return self._of(blocks, "blocks")

    def value(self, value: Json) -> Digest:
        """Any other value, as data."""
        return self._of(value, "data")

    def _of(self, value: Json, shape: str) -> Digest:
        try:
            text = orjson.dumps(value)
        except (TypeError, ValueError, orjson.JSONEncodeError):
            return digest(value, shape)
        key = blake2b(text, digest_size=SIZE, person=shape.encode()).digest()
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[key] = digest(value, shape)
        return found


def as_blocks(content: Json) -> list[Json]:
    """The blocks of a content: a string is a list of one text block (the API takes them for the same)."""
    if type(content) is str or type(content) is Elided:
        return [{"type": "text", "text": content}]
    return content if type(content) is list else [] if content is None else [content]


def is_billing(block: Json) -> bool:
    """Whether a system block is the line for the client's own billing, which changes with every call."""
    text = block.get("text") if type(block) is dict else None
    return type(text) is str and text.startswith(BILLING)


def digest(value: Json, shape: str) -> Digest:
    """The digest of one value, by its shape: ``message``, ``blocks``, ``block``, or ``data``."""
    out = blake2b(digest_size=SIZE)
    stack: list[tuple[str, Json]] = [(shape, value)]
    while stack:
        kind, node = stack.pop()
        if kind == "raw":
            out.update(node)
        elif type(node) is dict:
            _object(out, kind, node, stack)
        elif type(node) is list:
            out.update(b"[%d" % len(node))
            inner = "block" if kind in ("blocks", "message") else "data"
            stack.extend((inner, member) for member in reversed(node))
        else:
            out.update(_scalar(node))
    return out.digest()


def _object(out: Any, kind: str, node: dict[Any, Json], stack: list[tuple[str, Json]]) -> None:
    members: list[tuple[bytes, str, Json]] = []
    for key, member in node.items():
        if kind == "block" and key == "cache_control":
            continue
        inner = "data"
        if kind in ("message", "block") and key == "content":
            member, inner = (as_blocks(member), "blocks") if _holds_blocks(member) else (member, "data")
        elif kind == "block" and key in USER_DATA:
            inner = "data"
        members.append((_scalar(key), inner, member))
    members.sort(key=lambda item: item[0])
    out.update(b"{%d" % len(members))
    for name, inner, member in reversed(members):
        stack.append((inner, member))
        stack.append(("raw", name))


def _holds_blocks(content: Json) -> bool:
    return type(content) in (str, list, Elided)


def _scalar(node: Json) -> bytes:
    if type(node) is str:
        return b"s" + sha256(node.encode("utf-8", "surrogatepass")).digest()
    if type(node) is Elided:
        return b"s" + bytes.fromhex(node.sha256) if node.sha256 else b"?%d" % node.chars
    if type(node) is Number:
        return b"n" + node.encode()
    if node is None or type(node) is bool:
        return b"l%d" % scalar_chars(node) + repr(node)[:1].encode()
    return b"n" + dump(node)


def gist(content: Json) -> Digest | None:
    """What an answer said, however a client sends it again: its texts and the ids of its tool calls, without thinking.
    None when it has neither."""
    told: list[bytes] = []
    for block in as_blocks(content):
        if type(block) is not dict:
            continue
        if (call := block.get("id")) is not None and type(call) is str:
            told.append(b"i" + call.encode("utf-8", "surrogatepass"))
        elif block.get("type") == "text" and (text := block.get("text")):
            told.append(_scalar(text))
    return joined(told) if told else None


def joined(parts: Iterable[bytes]) -> Digest:
    """One digest of several."""
    out = blake2b(digest_size=SIZE)
    for part in parts:
        out.update(b"%d:" % len(part))
        out.update(part)
    return out.digest()
