"""A prompt as the cache sees it: its breakpoints, and what each of them looks back over.

Entries are written at breakpoints only and found by the digest of the prefix (``cache_positions``), looking back over
at most twenty positions from each breakpoint; a run of ``tool_use`` blocks is one position there, and so is a run of
``tool_result`` blocks (documentation of prompt caching, 2026-10-08). Pure; O(blocks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from analyzers.breakpoints import MARK
from analyzers.cache_positions import DEFAULTS, RENDERED, Position, Positions, Spotted, ttl_of
from analyzers.digests import Digest
from analyzers.wire.jsontext import Json

LOOK_BACK: Final = 20
MOST_MARKS: Final = 4
"""Breakpoints of a request; the API refuses one with more."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One breakpoint. ``back``: prefixes that it looks back over, its own first, with their characters; ``explicit``
    False: put there by the top level's automatic caching."""

    path: str
    ttl: str
    prefix: Digest
    chars: int
    back: tuple[tuple[Digest, int], ...]
    explicit: bool = True


@dataclass(frozen=True, slots=True)
class CachedPrompt:
    """What of a request decides what is read and written. ``chars``: of the whole prompt; ``steps``: places in the
    look-back. ``image`` and ``cited``: the first image, and the first block whose citations are enabled; ``thought``:
    the first thinking that a model still sees which forgets it with the user's next words. ``rendered``: digest of what
    leaves a doubt when it changes: settings that say a default, and thinking and effort, which some models render
    before the tools and others behind the system prompt (documentation of thinking: "depending on where the model
    renders the configuration")."""

    marks: tuple[Mark, ...]
    chars: int
    steps: int
    rendered: Digest = b""
    image: Spotted | None = None
    cited: Spotted | None = None
    thought: Spotted | None = None


def cached_prompt(
    body: Json,
    model: str | None,
    positions: Positions,
    *,
    billing: bool = False,
    edits: Json = None,
    scope: str = "",
) -> CachedPrompt:
    """The breakpoints of a request with what they look back over. ``billing``: the client's billing line counts, as it
    may at hosts other than the vendor's own API; ``edits``: what the server says it cleared of the messages; ``scope``:
    whose cache it is, a host's. Of more breakpoints than the API takes, the last so many."""
    if type(body) is not dict:
        return CachedPrompt((), 0, 0)
    laid = positions.laid(body, model, billing=billing, edits=edits, scope=scope)
    line = laid.positions
    marks = [(index, position.ttl, True) for index, position in enumerate(line) if position.ttl is not None]
    automatic = ttl_of(body.get(MARK))
    last = next((index for index in range(len(line) - 1, -1, -1) if line[index].eligible), None)
    if automatic is not None and last is not None and not any(index == last for index, _, _ in marks):
        marks = sorted([*marks, (last, automatic, False)])
    settings = [*map(body.get, RENDERED), *(body.get(name) in DEFAULTS[name] for name in DEFAULTS)]
    return CachedPrompt(
        tuple(mark_at(line, index, ttl, explicit) for index, ttl, explicit in marks[-MOST_MARKS:]),
        line[-1].chars if line else 0,
        line[-1].step + 1 if line else 0,
        positions.digester.value(settings),
        laid.image,
        laid.cited,
        laid.thought,
    )


@dataclass(frozen=True, slots=True)
class Places:
    """Where breakpoints could sit. ``marks``: after the tools, the system prompt, the first message, the user's message
    before the last, and the last block, of those that the request has; ``front``: the blocks up to the end of the first
    message."""

    marks: tuple[tuple[str, Mark], ...] = ()
    front: tuple[Position, ...] = ()


def candidates(body: Json, model: str | None, positions: Positions, *, billing: bool = False) -> Places:
    """The places of a request. ``billing``: the client's billing line counts."""
    if type(body) is not dict:
        return Places()
    line = positions.laid(body, model, billing=billing).positions
    places: dict[str, int] = {}
    messages = told if type(told := body.get("messages")) is list else []
    roles = [message.get("role") if type(message) is dict else None for message in messages]
    users = [index for index, role in enumerate(roles) if role == "user"]
    for index, position in enumerate(line):
        if not position.eligible:
            continue
        if position.path.startswith("tools"):
            places["tools"] = index
        elif position.path.startswith("system"):
            places["system"] = index
        else:
            places["last block"] = index
            if _is_first(position.path):
                places["first message"] = index
            if len(users) > 1 and position.path.startswith(f"messages[{users[-2]}]."):
                places["last but one"] = index
    marks = tuple((place, mark_at(line, index)) for place, index in sorted(places.items(), key=_second))
    ends = [n for n, one in enumerate(line, 1) if not one.path.startswith("messages[") or _is_first(one.path)]
    return Places(marks, tuple(line[: ends[-1]]) if ends else ())


def mark_at(positions: Sequence[Position], index: int, ttl: str = "5m", explicit: bool = True) -> Mark:
    """What a breakpoint after one of the blocks would be, given all before it."""
    own = positions[index]
    back: list[tuple[Digest, int]] = []
    for at in range(index, -1, -1):
        if own.step - positions[at].step >= LOOK_BACK:
            break
        back.append((positions[at].prefix, positions[at].chars))
    return Mark(own.path, ttl, own.prefix, own.chars, tuple(back), explicit)


def _is_first(path: str) -> bool:
    return path.startswith("messages[0].")


def _second(item: tuple[str, int]) -> int:
    return item[1]
