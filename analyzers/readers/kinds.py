"""What kind of file it is, told by how it begins and never by its name.

Only the first bytes are looked at. JSON is told by the keys of its first objects; in files of lines, lines that say
nothing (a torn one, a client's bookkeeping of a type nobody knows) are passed over until one decides.
"""

from __future__ import annotations

from typing import Literal

from analyzers.readers.members import top_keys

type Kind = Literal["capture", "flows", "har", "claude_code", "chat", "pairs", "body", "companion", "empty", "unknown"]
"""``companion``: a small file that a client keeps beside its logs and that says nothing about calls."""

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_RECORD = b'{"parentUuid":'
"""How most records of Claude Code's logs begin, and nothing else does."""

_LINES = 200
_BLANKS = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_LOG = frozenset(("sessionId", "uuid", "parentUuid", "leafUuid", "message", "timestamp", "messageId", "snapshot"))
_ROW = frozenset(("parentUuid", "isSidechain"))
_REQUEST = frozenset(("messages", "requests", "system", "tools", "model", "max_tokens"))
_COMPANION = frozenset(("agentType", "toolUseId", "spawnDepth"))


def kind_of(first: bytes) -> Kind:
    """The kind of a file, from its first bytes (a megabyte is enough for all of them)."""
    if not first:
        return "empty"
    if first.startswith(_RECORD):
        return "claude_code"
    if is_capture(first):
        return "capture"
    begin = first.lstrip(_BOM + _BLANKS)[:1]
    return _kind_of_lines(first) if begin == b"{" else "body" if begin == b'"' else _kind_of_bytes(first)


def _kind_of_bytes(first: bytes) -> Kind:
    """What does not begin as JSON does: something binary, something compressed, or a torn line."""
    from analyzers.readers.chat_sqlite import looks_like_sqlite
    from analyzers.readers.flows import looks_like_flows
    from analyzers.readers.unpacked import unpacked_head

    if looks_like_sqlite(first):
        return "chat"
    if looks_like_flows(first):
        return "flows"
    return _kind_of_lines(unpacked_head(first))


def is_capture(first: bytes) -> bool:
    """Whether the beginning of a file is that of a capture (its first line may be torn)."""
    if first.startswith(ZSTD_MAGIC):
        from analyzers.readers.captures import head_of

        first = head_of(first)
    return any(line.startswith(b'{"kind":"') for line in first.split(b"\n", 20)[:20])


def is_request(first: bytes) -> bool:
    """Whether the beginning of a file shows the keys of a request's body."""
    return bool(_REQUEST.intersection(top_keys(first)))


def _kind_of_lines(head: bytes) -> Kind:
    fallback: Kind = "unknown"
    for line in head.removeprefix(_BOM).split(b"\n", _LINES)[:_LINES]:
        if line.strip(_BLANKS)[:1] != b"{":
            continue
        found = _kind_of_object(top_keys(line if line.rstrip(_BLANKS)[-1:] == b"}" else head))
        if found != "unknown":
            return found
        fallback = "body"  # an object that nobody knows: read as a body, it says what is wrong with it
    return fallback


def _kind_of_object(keys: list[str]) -> Kind:
    if not keys:
        return "unknown"
    names = frozenset(keys)
    if "kind" in names and names & {"format", "fold_over", "route"}:
        return "capture"
    if ("type" in names and names & _LOG) or names & _ROW:
        return "claude_code"
    if names & _COMPANION:
        return "companion"
    if "log" in names and _is_har(keys):
        return "har"
    if names & _REQUEST:
        return "body"
    return "pairs" if _is_pairs(keys) else "unknown"


def _is_har(keys: list[str]) -> bool:
    from analyzers.readers.har import looks_like_har

    return looks_like_har(keys)


def _is_pairs(keys: list[str]) -> bool:
    from analyzers.readers.pairs import looks_like_pairs

    return looks_like_pairs(keys)
