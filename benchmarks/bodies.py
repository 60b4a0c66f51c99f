"""The request bodies: the published one, one of a megabyte, and those of real clients.

Each request carries a nonce, so that nobody on the way can remember a whole body. It stands where a client names its
user and is as long as what it replaces, so a body's figures do not depend on it.
"""

from __future__ import annotations

import functools
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import orjson

from benchmarks.words import Writer

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
NO_USER = b"0" * 64
"""What stands in a body for its user: as many characters as a device has in what Claude Code sends."""

STRING = 2_048
STRINGS = 482


@dataclass(frozen=True, slots=True)
class Body:
    """A request body with a place for its nonce."""

    before: bytes
    after: bytes

    def __len__(self) -> int:
        return len(self.before) + len(NO_USER) + len(self.after)

    def fresh(self) -> bytes:
        """The body as no one has seen it before."""
        return b"".join((self.before, token_hex(len(NO_USER) // 2).encode(), self.after))


def body(text: bytes) -> Body:
    """Raises ValueError when the text has no place for a nonce."""
    before, found, after = text.partition(NO_USER)
    if not found:
        raise ValueError("this body has no place for a nonce")
    return Body(before, after)


@functools.cache
def named(name: str) -> Body:
    """`golden`: the published request, 88 KB in hundreds of strings; `1 MB`: a conversation of 2,048-character texts.
    Raises KeyError for any other name."""
    return {"golden": _golden, "1 MB": _megabyte}[name]()


def _golden() -> Body:
    return body((DATA / "published-request.json").read_bytes())


def _megabyte() -> Body:
    writer = Writer(seed=1)
    messages = [
        {"role": "assistant" if number % 2 else "user", "content": writer.prose(STRING)}
        for number in range(STRINGS + 1)
    ]
    request = {
        "model": "claude-opus-5-5",
        "max_tokens": 32_000,
        "metadata": {"user_id": json.dumps({"device_id": NO_USER.decode()})},
        "stream": True,
        "messages": messages,
    }
    return body(orjson.dumps(request))


def of_clients() -> dict[str, list[bytes]]:
    """The bodies that real clients sent, by client."""
    found: dict[str, list[bytes]] = {}
    for path in sorted((DATA / "shapes").glob("*.jsonl.zst")):
        lines = zstd.decompress(path.read_bytes()).split(b"\n")
        texts = [json.loads(line)["body"] for line in lines if line]
        found[path.name.removesuffix(".jsonl.zst")] = [text.encode("utf-8", "surrogatepass") for text in texts if text]
    return found
