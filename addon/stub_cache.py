"""The prompt cache of the stub: which part of a request would be read, written or paid in full.

Strategy: a request is one walk over its blocks in prefix order (tools, system, messages). Each block adds its canonical
JSON to a running SHA-256 and its estimate to a running token count, so a prefix is a digest and a number and nothing is
hashed twice. Entries are kept by digest; a lookup looks back from each breakpoint over at most twenty positions. The
cost is one pass over the request.

The rules are those of the vendor's prompt caching page: entries are written at breakpoints only, at most four of them,
one hour before five minutes; a read takes the longest earlier prefix and renews it from the start of the request; a
prefix below the model's minimum is passed over in silence; an entry can be read once the answer that wrote it has
begun; images and citations lose the messages or the system prompt when they come or go. Not modelled: eviction, the
server's search tools.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

FIVE_MINUTES = 300.0
ONE_HOUR = 3600.0
LOOK_BACK = 20
MAX_BREAKPOINTS = 4
FRAME_TOKENS = 7
"""What the API adds to the messages, after the last block and so never cached."""

_TTL = {"5m": FIVE_MINUTES, "1h": ONE_HOUR}

# Longest prefix first; a model that is not listed gets the smallest figure.
_MINIMUM = (
    ("claude-haiku-4-5", 4096),
    ("claude-opus-4-6", 4096),
    ("claude-opus-4-5", 4096),
    ("claude-opus-4-7", 2048),
    ("claude-mythos-preview", 2048),
    ("claude-sonnet-5-5", 512),
    ("claude-sonnet-5", 1024),
    ("claude-sonnet-4", 1024),
    ("claude-opus-4", 1024),
)
_SMALLEST_MINIMUM = 512

# Models that drop the thinking of earlier turns when the user says something new.
_FORGETFUL = ("claude-haiku-4-5", "claude-sonnet-4-5", "claude-opus-4-1")


class Refused(ValueError):
    """The request breaks a rule of the cache; the text is the API's answer to it (status 400)."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Input tokens of one request, by how they are paid. Estimates: a quarter of the characters of the JSON."""

    fresh: int
    read: int
    write_5m: int
    write_1h: int

    @property
    def total(self) -> int:
        """All input tokens."""
        return self.fresh + self.read + self.write_5m + self.write_1h

    def counters(self) -> dict[str, Any]:
        """The same under the names of the API."""
        return {
            "input_tokens": self.fresh,
            "cache_creation_input_tokens": self.write_5m + self.write_1h,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.write_5m,
                "ephemeral_1h_input_tokens": self.write_1h,
            },
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """What one request reads, and the entries that exist from the moment its answer begins."""

    usage: Usage
    entries: tuple[tuple[bytes, float], ...]
    """Digest and seconds to live."""
    start: float


@dataclass(frozen=True, slots=True)
class _Position:
    digest: bytes
    tokens: int
    """Of the whole prefix up to here."""
    step: int
    """Place in the look-back, where a run of tool_use or of tool_result blocks is one."""
    ttl: float | None
    """Seconds, at a breakpoint."""


@dataclass(slots=True)
class PromptCache:
    """The entries of one workspace. Times are seconds of any one clock."""

    _entries: dict[bytes, tuple[float, float]] = field(default_factory=dict)
    """Digest → (seconds to live, time of expiry)."""

    def plan(self, request: dict[str, Any], model: str, now: float) -> Plan:
        """What `request` costs when it starts at `now`. Changes nothing. Raises Refused."""
        positions = list(_positions(request, model))
        minimum = minimum_tokens(model)
        marks = [at for at, position in enumerate(positions) if position.ttl and position.tokens >= minimum]
        entries: dict[bytes, float] = {}
        read = 0
        for at in marks:
            found = self._look_back(positions, at, now)
            if found is not None:
                read = max(read, found.tokens)
                entries[found.digest] = self._entries[found.digest][0]
        for at in marks:
            position = positions[at]
            entries[position.digest] = max(position.ttl or 0.0, entries.get(position.digest, 0.0))
        last_1h = max((positions[at].tokens for at in marks if positions[at].ttl == ONE_HOUR), default=0)
        last_5m = max((positions[at].tokens for at in marks if positions[at].ttl == FIVE_MINUTES), default=0)
        total = positions[-1].tokens if positions else 0
        usage = Usage(
            fresh=total - max(read, last_1h, last_5m) + FRAME_TOKENS,
            read=read,
            write_1h=max(0, last_1h - read),
            write_5m=max(0, last_5m - max(read, last_1h)),
        )
        return Plan(usage, tuple(entries.items()), now)

    def commit(self, plan: Plan) -> None:
        """The answer to the planned request has begun: what it wrote can be read, what it read lives on."""
        if len(self._entries) > 1000:
            self._entries = {key: entry for key, entry in self._entries.items() if entry[1] > plan.start}
        for digest, ttl in plan.entries:
            self._entries[digest] = (ttl, plan.start + ttl)

    def _look_back(self, positions: list[_Position], at: int, now: float) -> _Position | None:
        oldest = positions[at].step - LOOK_BACK
        while at >= 0 and positions[at].step > oldest:
            entry = self._entries.get(positions[at].digest)
            if entry and entry[1] > now:
                return positions[at]
            at -= 1
        return None


def minimum_tokens(model: str) -> int:
    """The shortest prefix in tokens that `model` caches."""
    return next((least for prefix, least in _MINIMUM if model.startswith(prefix)), _SMALLEST_MINIMUM)


def count(request: dict[str, Any]) -> int:
    """Input tokens of a request, whatever is cached."""
    return sum(_tokens(_canonical(block)) for _, _, block in _blocks(request)) + FRAME_TOKENS


def _positions(request: dict[str, Any], model: str) -> Iterator[_Position]:
    """The blocks of a request as prefixes. Raises Refused for breakpoints that the API does not take."""
    blocks = list(_blocks(request))
    ttls = _breakpoints(request, [block for _, _, block in blocks])
    running = hashlib.sha256(model.encode())
    tokens = step = 0
    section = previous = ""
    for (where, role, block), ttl in zip(blocks, ttls, strict=True):
        while section != where:
            section = {"": "tools", "tools": "system", "system": "messages"}[section]
            running.update(_settings(request, section))
        text = _canonical(block)
        running.update(f"\n{role}\n".encode())
        running.update(text)
        running.update(_in_order(block))
        tokens += _tokens(text)
        kind = block.get("type", "")
        if kind != previous or kind not in ("tool_use", "tool_result"):
            step += 1
        previous = kind
        yield _Position(running.digest(), tokens, step, ttl)


def _blocks(request: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(section, role, block) in prefix order; a string is one text block."""
    for tool in request.get("tools") or ():
        if isinstance(tool, dict) and not tool.get("defer_loading"):  # deferred tools stand outside the prefix
            yield "tools", "", tool
    for at, block in enumerate(_content(request.get("system"))):
        if at == 0 and str(block.get("text", "")).startswith("x-anthropic-billing-header:"):
            continue  # changes with every request; the API does not count it as part of the prompt
        yield "system", "", block
    messages = [message for message in request.get("messages") or () if isinstance(message, dict)]
    forgotten = _forgotten(messages) if str(request.get("model", "")).startswith(_FORGETFUL) else 0
    for at, message in enumerate(messages):
        for block in _content(message.get("content")):
            if at >= forgotten or block.get("type") not in ("thinking", "redacted_thinking"):
                yield "messages", str(message.get("role")), block


def _forgotten(messages: list[dict[str, Any]]) -> int:
    """The place of the user's last words that are no result of a tool; thinking before them is dropped."""
    said = [
        at
        for at, message in enumerate(messages)
        if message.get("role") == "user"
        and all(block.get("type") != "tool_result" for block in _content(message.get("content")))
    ]
    return max(said, default=0)


def _content(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _settings(request: dict[str, Any], section: str) -> bytes:
    """The settings whose change loses the cache from this section on."""
    names = {"tools": (), "system": ("speed",), "messages": ("tool_choice", "thinking", "output_config")}[section]
    settings = {name: request.get(name) for name in names}
    blocks = [block for where, _, block in _blocks(request) if where == "messages"]
    if section == "system":
        settings["citations"] = any((block.get("citations") or {}).get("enabled") for block in blocks)
    elif section == "messages":
        inner = [part for block in blocks for part in _content(block.get("content"))]
        settings["images"] = any(block.get("type") == "image" for block in [*blocks, *inner])
    return _canonical(settings)


def _breakpoints(request: dict[str, Any], blocks: list[dict[str, Any]]) -> list[float | None]:
    """Seconds to live at each block that ends a cached prefix, None elsewhere. Raises Refused."""
    ttls = [_ttl(block.get("cache_control")) for block in blocks]
    if any(ttl and _is_empty(block) for ttl, block in zip(ttls, blocks, strict=True)):
        raise Refused("cache_control cannot be set for empty text blocks")
    explicit = sum(ttl is not None for ttl in ttls)
    automatic = _ttl(request.get("cache_control"))
    thinking = ("thinking", "redacted_thinking")
    eligible = [at for at, block in enumerate(blocks) if not _is_empty(block) and block.get("type") not in thinking]
    if automatic and eligible:
        if ttls[eligible[-1]] is None:
            explicit += 1
            ttls[eligible[-1]] = automatic
        elif ttls[eligible[-1]] != automatic:
            raise Refused("cache_control: the last block is marked with another ttl than the request")
    if explicit > MAX_BREAKPOINTS:
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {explicit}.")
    marks = [ttl for ttl in ttls if ttl]
    if marks != sorted(marks, reverse=True):
        raise Refused("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
    return ttls


def _is_empty(block: dict[str, Any]) -> bool:
    return block.get("type") == "text" and not block.get("text")


def _ttl(mark: Any) -> float | None:
    if not isinstance(mark, dict):
        return None
    ttl = mark.get("ttl", "5m")
    if ttl not in _TTL:
        raise Refused("cache_control.ttl: Input should be '5m' or '1h'")
    return _TTL[ttl]


def _canonical(block: dict[str, Any]) -> bytes:
    """The block without its own mark, keys sorted: equal prefixes have equal bytes."""
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    return json.dumps(bare, sort_keys=True, separators=(",", ":")).encode()


def _in_order(block: dict[str, Any]) -> bytes:
    """What becomes text of the prompt with its keys as they stand: another order of keys in a call's input loses the
    cache (documentation of prompt caching, troubleshooting)."""
    return json.dumps([block.get("input"), block.get("input_schema")]).encode()


def _tokens(text: bytes) -> int:
    return -(-len(text) // 4)
