"""What a leaf of a request is, in one word of a closed list: what the page colours it by."""

from __future__ import annotations

from typing import Final, Literal

from analyzers.blocks import TOOL_CALLS, Row

type Kind = Literal[
    "text", "reminder", "tool", "call", "result", "thinking", "media", "opaque", "setting", "unknown", "structure"
]

KIND_WORDS: Final[dict[Kind, str]] = {
    "text": "text",
    "reminder": "text that a client put in",
    "tool": "definition of a tool",
    "call": "call of a tool",
    "result": "result of a tool",
    "thinking": "thinking",
    "media": "image or document",
    "opaque": "signature or encrypted",
    "setting": "field without blocks",
    "unknown": "block of unknown type",
    "structure": "structure: keys, roles, types, ids",
}
"""The kinds in the order of the legend, with what they are."""

_OPAQUE: Final = frozenset(("signature", "encrypted"))
_MEDIA: Final = frozenset(("image", "document"))


def kind_of(row: Row, cls: str) -> Kind:
    """The kind of one class of a row of the ledger."""
    if cls in _OPAQUE:
        return "opaque"
    if row.type == "tool":
        return "tool"
    if row.type in TOOL_CALLS:
        return "call"
    if row.type in ("thinking", "redacted_thinking"):
        return "thinking"
    if row.type in _MEDIA:
        return "media"
    if row.type == "field":
        return "setting"
    if row.type == "text" and ".content[" in row.path and ".content" in row.path.partition(".content[")[2]:
        return "result"  # a block inside a result
    if row.type == "text":
        return "reminder" if row.what is not None else "text"
    if row.type.endswith("tool_result") or row.type in ("search_result", "tool_reference"):
        return "result"
    return "unknown"
