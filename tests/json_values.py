"""Strategies for JSON values as clients send them, odd ones included, and the requests recorded from real clients."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
from hypothesis import strategies as st

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DATA = Path(__file__).parent / "data"
SHAPES = sorted((DATA / "shapes").glob("*.jsonl.zst"))

# Lone surrogates, astral characters, control characters and quotes are all text that clients send.
texts = st.text(st.characters(exclude_categories=()), max_size=40) | st.sampled_from(
    ["", "\ud83d", "a\ud800b", "🙂", '"\\\n\t\x00\x1f', "é", "x" * 500, "威伈" * 300, "\u2028\u0085", "_elided"]
)
keys = texts | st.sampled_from(
    [
        "_elided",
        "__elided",
        "_elided:5:ab",
        "_elided:",
        "chars",
        "sha256",
        "type",
        "text",
        "input",
        "cache_control",
        "k" * 90,
    ]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=25
)


def definition(value: Any, written: Callable[[Any], str | bytes] = orjson.dumps) -> int:
    """The published definition of a size as it is stated: keys plus scalars as text, numbers as ``written`` writes
    them."""
    if isinstance(value, dict):
        return sum(len(key) + definition(member, written) for key, member in value.items())
    if isinstance(value, list):
        return sum(definition(member, written) for member in value)
    return len(value) if isinstance(value, str) else len(written(value))


def shape_requests(path: Path) -> Iterator[dict[str, Any]]:
    """The requests of one recorded client; ``raw`` is the body's bytes as they were on the wire."""
    text = zstd.decompress(path.read_bytes()).decode()
    for line in text.split("\n"):
        if line:
            request = json.loads(line)
            request["raw"] = request["body"].encode("utf-8", "surrogatepass")
            yield request
