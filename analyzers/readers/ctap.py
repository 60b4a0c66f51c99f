"""Bundles of claude-tap 0.1 (``.ctap.json``): one JSON object with records, and once each what several of them hold.

In a record, a long part is a reference by hash into ``blobs``; the record's own list of references says where. They are
put back at those places only, so what looks like a reference elsewhere stays what a client sent. The bundle is read as
a whole: it holds each text once, so it stays small, and beyond a limit it is left out with a word.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.readers.source import Source
from analyzers.readers.unpacked import unpacked
from analyzers.wire.jsontext import Json, NotJson, parse

BUNDLE_LIMIT = 256 * 1024 * 1024
"""Bytes of a bundle that are parsed at once."""

_MARK = "__claude_tap_compact_trace__"
_RECORD = "__claude_tap_compact_record__"
_REFERENCE = "__claude_tap_blob_ref__"


class _Missing(ValueError):
    """A reference that leads nowhere."""


def looks_like_bundle(keys: list[str]) -> bool:
    """Whether the first keys of a JSON object are those of such a bundle."""
    return keys[:1] == [_MARK]


def bundled(source: Source) -> Iterator[tuple[int, Json]]:
    """Number (from 1) and value of each record of a bundle, whole again. What cannot be used is a problem."""
    data = bytearray()
    for chunk in unpacked(source):
        data += chunk
        if len(data) > BUNDLE_LIMIT:
            source.problem(f"the bundle is larger than {BUNDLE_LIMIT:,} bytes: export it as JSON lines instead")
            return
    try:
        bundle = parse(bytes(data)).value
    except NotJson as error:
        source.problem(f"the bundle is not readable ({error.reason}): export it again")
        return
    records, blobs = bundle.get("records"), bundle.get("blobs")
    if type(records) is not list or type(blobs) is not dict:
        source.problem("the bundle has no records or no blobs: export it again")
        return
    for number, record in enumerate(records, 1):
        try:
            yield number, _whole(record, blobs)
        except _Missing:
            source.problem(f"record {number} refers to a part that is not in the bundle and was left out")


def _whole(packed: Json, blobs: dict[str, Json]) -> Json:
    mark = packed.get(_RECORD) if type(packed) is dict else None
    if type(mark) is not dict:
        return packed
    record, references = packed.get("record"), mark.get("refs")
    for reference in references if type(references) is list else ():
        path = reference.get("path") if type(reference) is dict else None
        if type(path) is not str or not path.startswith("/"):
            raise _Missing
        _put_back(record, path[1:].split("/"), blobs)
    return record


def _put_back(record: Json, path: list[str], blobs: dict[str, Json]) -> None:
    """Replaces the reference at a JSON pointer (RFC 6901) by what it refers to."""
    parent, node, key = None, record, None
    for part in path:
        parent, key = node, _key(node, part.replace("~1", "/").replace("~0", "~"))
        node = parent[key]
    told = node.get(_REFERENCE) if type(node) is dict else None
    blob = blobs.get(str(told.get("hash"))) if type(told) is dict else None
    if parent is None or type(blob) is not dict or "payload" not in blob:
        raise _Missing
    parent[key] = blob["payload"]


def _key(node: Json, part: str) -> str | int:
    """The key of a member, or the index of an element, that is there."""
    if type(node) is dict and part in node:
        return part
    if type(node) is list and part.isascii() and part.isdigit() and len(part) < 10 and int(part) < len(node):
        return int(part)
    raise _Missing
