"""A prompt as the cache sees it: positions in prefix order, each with the digest of everything up to it.

The prefix runs tools, system, messages. Entries are written at breakpoints only and found by the digest of the prefix,
looking back over at most twenty positions from each breakpoint; a run of ``tool_use`` blocks is one position there, and
so is a run of ``tool_result`` blocks (documentation of prompt caching, 2026-10-08). What is set beside the prompt and
changes it counts where it takes effect: the model before everything, the server's search tools, citations and speed
before the system prompt, ``tool_choice``, images, thinking and effort before the messages. The order of keys counts in
a tool's schema and in a call's input, which become text of the prompt as they stand. Pure; O(blocks).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from analyzers.breakpoints import MARK, breakpoints
from analyzers.digests import Digest, Digester, as_blocks, joined, without_billing
from analyzers.models import model_of, strips_thinking
from analyzers.sizes import CHARS, size
from analyzers.wire.jsontext import Json

LOOK_BACK: Final = 20
MOST_MARKS: Final = 4
"""Breakpoints of a request; the API refuses one with more."""

SECONDS: Final = {"5m": 300.0, "1h": 3600.0}
_RUNS: Final = ("tool_use", "tool_result")
_NOT_MARKED: Final = ("thinking", "redacted_thinking", "mcp_tool_listing", "fallback")
_BEFORE_SYSTEM: Final = ("speed",)
_RENDERED: Final = ("thinking", "output_config")
_BEFORE_MESSAGES: Final = ("tool_choice", *_RENDERED)
_SEARCH: Final = ("web_search_", "web_fetch_")  # tools of the server that are no part of the tools' prefix


class Position(NamedTuple):
    """One block. ``prefix``: digest of everything up to and with it; ``chars``: of everything up to it; ``step``: its
    place in the look-back; ``ttl``: ``5m`` or ``1h`` where a breakpoint sits on it; ``eligible``: whether automatic
    caching may put one there (not on thinking, nor on an empty text)."""

    prefix: Digest
    chars: int
    step: int
    ttl: str | None
    path: str
    eligible: bool = True


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


class Spotted(NamedTuple):
    """A block that changes what is cached by being there: its path, and its characters."""

    path: str
    chars: int


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
    digester: Digester,
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
    positions = list(_positions(body, model, digester, billing, edits, scope))
    marks = [(index, position.ttl, True) for index, position in enumerate(positions) if position.ttl is not None]
    automatic = _ttl(body.get(MARK))
    last = max((index for index, position in enumerate(positions) if position.eligible), default=None)
    if automatic is not None and last is not None and not any(index == last for index, _, _ in marks):
        marks = sorted([*marks, (last, automatic, False)])
    marks = marks[-MOST_MARKS:]
    return CachedPrompt(
        tuple(mark_at(positions, index, ttl, explicit) for index, ttl, explicit in marks),
        positions[-1].chars if positions else 0,
        positions[-1].step + 1 if positions else 0,
        digester.value([*map(body.get, _RENDERED), *(body.get(name) in _DEFAULTS[name] for name in _DEFAULTS)]),
        _first(body.get("messages"), _is_image),
        _first(body.get("messages"), _is_cited),
        _first(body.get("messages"), _is_thinking, _forgotten(body, model)) if strips_thinking(model) else None,
    )


@dataclass(frozen=True, slots=True)
class Places:
    """Where breakpoints could sit. ``marks``: after the tools, the system prompt, the first message, the user's message
    before the last, and the last block, of those that the request has; ``front``: the blocks up to the end of the first
    message."""

    marks: tuple[tuple[str, Mark], ...] = ()
    front: tuple[Position, ...] = ()


def candidates(body: Json, model: str | None, digester: Digester, *, billing: bool = False) -> Places:
    """The places of a request. ``billing``: the client's billing line counts."""
    if type(body) is not dict:
        return Places()
    positions = list(_positions(body, model, digester, billing))
    places: dict[str, int] = {}
    roles = [message.get("role") if type(message) is dict else None for message in _list(body.get("messages"))]
    users = [index for index, role in enumerate(roles) if role == "user"]
    for index, position in enumerate(positions):
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
    marks = tuple((place, mark_at(positions, index)) for place, index in sorted(places.items(), key=_second))
    ends = [n for n, one in enumerate(positions, 1) if not one.path.startswith("messages[") or _is_first(one.path)]
    return Places(marks, tuple(positions[: ends[-1]]) if ends else ())


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


def _positions(
    body: dict[Any, Json],
    model: str | None,
    digester: Digester,
    billing: bool,
    edits: Json = None,
    scope: str = "",
) -> Iterator[Position]:
    messages = body.get("messages")
    beside: dict[str, Json] = {
        "tools": None,
        "system": [_search_tools(body), _first(messages, _is_cited) is not None, *_settings(body, _BEFORE_SYSTEM)],
        "messages": [edits, _first(messages, _is_image) is not None, *_settings(body, _BEFORE_MESSAGES)],
    }
    named = model_of(model).base if model else ""
    prefix = joined([text.encode("utf-8", "surrogatepass") for text in ("model", named, scope)])
    chars, step = 0, -1
    run: str | None = None
    for stage, blocks in _stages(body, billing, _forgotten(body, model)):
        prefix = joined([prefix, stage.encode(), digester.value(beside[stage])])
        for path, role, block in blocks:
            kind = block.get("type") if type(block) is dict else None
            if kind not in _RUNS or kind != run:
                step += 1
            run = kind if type(kind) is str else None
            own = digester.tool(block) if role is None else digester.message({"role": role, "content": [block]})
            if stage != "tools" or not _is_search(block):
                prefix = joined([prefix, own, *_as_written(block, digester)])
            chars += size(_unmarked(block), CHARS)
            yield Position(prefix, chars, step, _marked(block), path, kind not in _NOT_MARKED and not _is_empty(block))


_DEFAULTS: Final[dict[str, tuple[Json, ...]]] = {
    "thinking": ({"type": "disabled"},),
    "output_config": ({}, {"effort": "high"}),
    "tool_choice": ({"type": "auto"},),
    "speed": ("standard",),
}
"""What says the same as leaving the setting out: documented of the defaults of thinking and effort, and taken to hold
for the others; so a change to one of these leaves a doubt."""


def _settings(body: dict[Any, Json], names: tuple[str, ...]) -> list[Json]:
    return [None if body.get(name) in _DEFAULTS[name] else body.get(name) for name in names]


def _as_written(block: Json, digester: Digester) -> list[Digest]:
    """Digests of what of a block becomes text of the prompt in the order of its keys."""
    if type(block) is not dict:
        return []
    return [digester.ordered(block[name]) for name in ("input", "input_schema") if type(block.get(name)) is dict]


def _unmarked(block: Json) -> Json:
    """The block without its breakpoint, which is no part of the prompt."""
    if type(block) is not dict or MARK not in block:
        return block
    return {name: value for name, value in block.items() if name != MARK}


def _marked(block: Json) -> str | None:
    """The time to live that a breakpoint on a block asks for. One on a block inside a result counts at its end."""
    if type(block) is not dict:
        return None
    if block.get(MARK) is not None or type(block.get("content")) is not list:
        return _ttl(block.get(MARK))
    inner = [mark for mark in breakpoints({"messages": [{"content": [block]}]}) if mark.type == "ephemeral"]
    return (inner[-1].ttl if inner[-1].ttl in SECONDS else "5m") if inner else None


def _search_tools(body: dict[Any, Json]) -> list[Json]:
    return [tool for tool in _list(body.get("tools")) if _is_search(tool)]


def _is_search(tool: Json) -> bool:
    kind = tool.get("type") if type(tool) is dict else None
    return type(kind) is str and kind.startswith(_SEARCH)


def _forgotten(body: dict[Any, Json], model: str | None) -> int:
    """How many messages there are whose thinking the model does not see: those before the user's last words."""
    if not strips_thinking(model):
        return 0
    messages = _list(body.get("messages"))
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if type(message) is dict and message.get("role") == "user" and not any(map(_is_result, _content(message))):
            return index
    return 0


def _content(message: dict[Any, Json]) -> list[Json]:
    return as_blocks(message.get("content"))


def _is_result(block: Json) -> bool:
    return type(block) is dict and block.get("type") == "tool_result"


def _is_thinking(block: Json) -> bool:
    return type(block) is dict and block.get("type") in ("thinking", "redacted_thinking")


def _stages(
    body: dict[Any, Json], billing: bool, forgotten: int
) -> Iterator[tuple[str, Iterator[tuple[str, str | None, Json]]]]:  # path, role, block
    tools, system, messages = body.get("tools"), body.get("system"), body.get("messages")
    yield "tools", ((f"tools[{i}]", None, tool) for i, tool in enumerate(_list(tools)) if not _is_deferred(tool))
    yield (
        "system",
        (
            (f"system[{i}]", None, block)
            for i, whole in enumerate(as_blocks(system))
            for block in ([whole] if billing else without_billing([whole]))
        ),
    )
    yield "messages", _messages(_list(messages), forgotten)


def _messages(messages: list[Json], forgotten: int = 0) -> Iterator[tuple[str, str | None, Json]]:
    """``forgotten``: messages at the beginning without their thinking."""
    for index, message in enumerate(messages):
        if type(message) is not dict:
            yield f"messages[{index}]", "", message
            continue
        role = message.get("role")
        for place, block in enumerate(as_blocks(message.get("content"))):
            if index < forgotten and _is_thinking(block):
                continue
            yield f"messages[{index}].content[{place}]", role if type(role) is str else "", block


def _first(messages: Json, wanted: Callable[[Json], bool], forgotten: int = 0) -> Spotted | None:
    """The first block of a kind in the messages, also inside a result."""
    for path, _, block in _messages(_list(messages), forgotten):
        if wanted(block):
            return Spotted(path, size(block, CHARS))
        for index, inner in enumerate(_list(block.get("content")) if type(block) is dict else ()):
            if wanted(inner):
                return Spotted(f"{path}.content[{index}]", size(inner, CHARS))
    return None


def _is_image(block: Json) -> bool:
    return type(block) is dict and block.get("type") == "image"


def _is_cited(block: Json) -> bool:
    citations = block.get("citations") if type(block) is dict else None
    return type(citations) is dict and citations.get("enabled") is True


def _is_deferred(tool: Json) -> bool:
    """Deferred tools stand outside the prefix; where they are loaded, a ``tool_reference`` stands for them."""
    return type(tool) is dict and bool(tool.get("defer_loading"))


def _is_empty(block: Json) -> bool:
    return type(block) is dict and block.get("type") == "text" and not block.get("text")


def _list(value: Json) -> list[Json]:
    return value if type(value) is list else []


def _ttl(mark: Json) -> str | None:
    """``5m`` or ``1h`` of a ``cache_control``; None where there is none, or of a kind nobody knows."""
    if type(mark) is not dict or mark.get("type") != "ephemeral":
        return None
    ttl = mark.get("ttl", "5m")
    return ttl if type(ttl) is str and ttl in SECONDS else "5m"
