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

from analyzers.met import Met
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json, Number, dump, scalar_chars
from analyzers.wire.labels import describe_text

type Digest = bytes

SIZE = 16
BILLING = "billing header"
_LONGEST_BILLING = 400  # characters of a billing line; those seen have 57 to 192
_MOST_KNOWN = 200_000  # of the values seen: 20 MB at the most
_MOST_HELD = 8 * 1024 * 1024  # of JSON text of the values that are kept


class Digester:
    """Digests, remembering those of values that come again. Of a value that is the very object that was digested
    before nothing is looked at (``met``). ``held``: bytes of JSON text of the objects that are remembered."""

    def __init__(self, *, held: int = _MOST_HELD) -> None:
        self._known: dict[bytes, Digest] = {}
        self._met = Met[Digest](held)

    def message(self, message: Json) -> Digest:
        """A message of the list ``messages``: its role and its blocks."""
        return self._of(message, "message")

    def tool(self, tool: Json) -> Digest:
        """One definition of a tool."""
        return self._of(tool, "block")

    def tools(self, tools: Json) -> Digest:
        """All definitions of tools, in their order."""
        return self._of(tools, "blocks")

    def system(self, value: Json) -> Digest:
        """The system prompt, without the client's billing line."""
        return self._of(without_billing(value), "blocks")

    def value(self, value: Json) -> Digest:
        """Any other value, as data."""
        return self._of(value, "data")

    def ordered(self, value: Json) -> Digest:
        """A value whose keys stand in an order that counts: it becomes text of the prompt as it is."""
        return self._of(value, "ordered")

    def _of(self, value: Json, shape: str) -> Digest:
        before = self._met.of(value, shape)
        if before is not None:
            return before
        try:
            text = orjson.dumps(value, _told_apart, _PASSED)
        except (TypeError, ValueError, orjson.JSONEncodeError):
            return digest(value, shape)
        key = blake2b(text, digest_size=SIZE, person=shape.encode()).digest()
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[key] = digest(value, shape)
        self._met.keep(value, found, len(text), shape)
        return found


_PASSED = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS


def _told_apart(leaf: object) -> orjson.Fragment:
    """A leaf that JSON has no form for, as text that no JSON has: nothing a user sends can be taken for it."""
    if type(leaf) is Elided:
        return orjson.Fragment(b"~%s:%d" % ((_hash(leaf) or b"").hex().encode(), leaf.chars))
    if type(leaf) is Number:
        return orjson.Fragment(b"=" + leaf.encode())
    raise TypeError(type(leaf).__name__)


def as_blocks(content: Json) -> list[Json]:
    """The blocks of a content: a string is a list of one text block (the API takes them for the same)."""
    if type(content) is str or type(content) is Elided:
        return [{"type": "text", "text": content}]
    return content if type(content) is list else [] if content is None else [content]


def is_billing(block: Json) -> bool:
    """Whether a system block is nothing but the line for the client's own billing, which changes with every call."""
    text = block.get("text") if type(block) is dict else None
    if type(text) is Elided:
        return text.label == BILLING and text.chars <= _LONGEST_BILLING
    return type(text) is str and _is_billing_text(text) and (len(text) <= _LONGEST_BILLING and "\n" not in text.strip())


def without_billing(system: Json) -> list[Json]:
    """The blocks of a system prompt without the client's billing line, whether that is a block of its own or the first
    line of a text. (A text that is folded together with it stays as it is.)"""
    kept: list[Json] = []
    for block in as_blocks(system):
        if is_billing(block):
            continue
        text = block.get("text") if type(block) is dict else None
        if type(text) is str and _is_billing_text(text):
            block = {**block, "text": text.strip().partition("\n")[2]}
        kept.append(block)
    return kept


def _is_billing_text(text: str) -> bool:
    return describe_text(text) == BILLING


def digest(value: Json, shape: str) -> Digest:
    """The digest of one value, by its shape: ``message``, ``blocks``, ``block``, ``data`` or ``ordered``."""
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
            inner = "block" if kind in ("blocks", "message") else "ordered" if kind == "ordered" else "data"
            stack.extend((inner, member) for member in reversed(node))
        else:
            out.update(_scalar(node))
    return out.digest()


def _object(out: Any, kind: str, node: dict[Any, Json], stack: list[tuple[str, Json]]) -> None:
    members: list[tuple[bytes, str, Json]] = []
    is_data = kind in ("data", "ordered")
    for key, member in node.items():
        if kind == "block" and key == "cache_control":
            continue
        inner = kind if is_data else "data"
        if not is_data and key == "content" and _holds_blocks(member):
            member, inner = as_blocks(member), "blocks"
        elif kind == "block" and key == "source" and type(member) is dict and member.get("type") == "content":
            inner = "source"  # a document made of blocks
        members.append((_scalar(key), inner, member))
    if kind != "ordered":
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
        told = _hash(node)
        return b"?%d" % node.chars if told is None else b"s" + told
    if type(node) is Number:
        return b"n" + node.encode()
    if node is None or type(node) is bool:
        return b"l%d" % scalar_chars(node) + repr(node)[:1].encode()
    return b"n" + dump(node)


def _hash(folded: Elided) -> bytes | None:
    """The hash of a folded text; None where it has none, or none that is one (a damaged marker)."""
    try:
        told = bytes.fromhex(folded.sha256 or "")
    except ValueError:
        return None
    return told if len(told) == sha256().digest_size else None


def gist(content: Json) -> Digest | None:
    """What an answer said, however a client sends it again: its texts and the ids of its tool calls, without thinking.
    None when it has neither."""
    told: list[bytes] = []
    for block in as_blocks(content):
        if type(block) is not dict:
            continue
        if (call := block.get("id")) is not None and type(call) is str:
            told.append(b"i" + call.encode("utf-8", "surrogatepass"))
        elif block.get("type") == "text" and (text := block.get("text")) and type(text) in (str, Elided):
            told.append(_scalar(text))
    return joined(told) if told else None


def joined(parts: Iterable[bytes]) -> Digest:
    """One digest of several."""
    out = blake2b(digest_size=SIZE)
    for part in parts:
        out.update(b"%d:" % len(part))
        out.update(part)
    return out.digest()
