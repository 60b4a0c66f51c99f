"""The blocks of a prompt in prefix order, each with the digest of everything up to it, and what comes again remembered.

The prefix runs tools, system, messages. What is set beside the prompt and changes it counts where it takes effect: the
model before everything, the server's search tools, citations and speed before the system prompt, ``tool_choice``,
images, thinking and effort before the messages. The order of keys counts in a tool's schema and in a call's input,
which become text of the prompt as they stand.

A conversation resends everything, and readers give what is equal as one object (``readers.shared_parts``). So two
things are remembered: of a member (a tool, a system block, a message), by the very object it is, what it says whatever
stands before it; and of a member behind a prefix, the positions that it adds there. A long session costs what is new
in it, and a look at each member that is not. Pure; O(blocks) the first time, O(members) after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from analyzers.breakpoints import MARK, breakpoints
from analyzers.digests import Digest, Digester, as_blocks, joined, without_billing
from analyzers.met import Met
from analyzers.models import model_of, strips_thinking
from analyzers.sizes import CHARS, Unit, size
from analyzers.wire.jsontext import Json

SECONDS: Final = {"5m": 300.0, "1h": 3600.0}
RENDERED: Final = ("thinking", "output_config")
"""Settings that some models render before the tools and others behind the system prompt."""

DEFAULTS: Final[dict[str, tuple[Json, ...]]] = {
    "thinking": ({"type": "disabled"},),
    "output_config": ({}, {"effort": "high"}),
    "tool_choice": ({"type": "auto"},),
    "speed": ("standard",),
}
"""What says the same as leaving the setting out: documented of the defaults of thinking and effort, and taken to hold
for the others; so a change to one of these leaves a doubt."""

_RUNS: Final = ("tool_use", "tool_result")
_NOT_MARKED: Final = ("thinking", "redacted_thinking", "mcp_tool_listing", "fallback")
_BEFORE_SYSTEM: Final = ("speed",)
_BEFORE_MESSAGES: Final = ("tool_choice", *RENDERED)
_SEARCH: Final = ("web_search_", "web_fetch_")  # tools of the server that are no part of the tools' prefix

_HELD: Final = Unit("chars", len, lambda folded: 0)
"""What a value holds in memory: of a folded text, nothing."""

_MOST_HELD: Final = 16 * 1024 * 1024  # characters of what is remembered
_MOST_POSITIONS: Final = 50_000  # 15 MB

type _Is = Callable[[Json], bool]
type _Stage = Literal["tools", "system", "messages"]


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


class Spotted(NamedTuple):
    """A block that changes what is cached by being there: its path, and its characters."""

    path: str
    chars: int


@dataclass(frozen=True, slots=True)
class Laid:
    """A prompt laid out. ``image`` and ``cited``: the first image, and the first block whose citations are enabled;
    ``thought``: the first thinking that a model still sees which forgets it with the user's next words."""

    positions: Sequence[Position]
    image: Spotted | None
    cited: Spotted | None
    thought: Spotted | None


class _Block(NamedTuple):
    """A block wherever it stands. ``path``: behind that of its member; ``told``: digests of what it adds to the prefix,
    none where it is no part of it."""

    path: str
    kind: str | None
    told: tuple[Digest, ...]
    chars: int
    ttl: str | None
    eligible: bool
    thinks: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Member:
    """A tool, a system block or a message, whatever stands before it. ``asks``: words of the user, and no result of a
    tool; ``image``, ``cited`` and ``thought``: the first such block, its path behind that of the member; ``left``: the
    first thinking when blocks of thinking are left out; ``added``: what it adds to a prompt that has come so far, by
    its number and whether its thinking is left out."""

    blocks: tuple[_Block, ...]
    asks: bool = False
    image: Spotted | None = None
    cited: Spotted | None = None
    thought: Spotted | None = None
    left: Spotted | None = None
    added: dict[tuple[_Reached, int, bool], _Added] = field(default_factory=dict)


class _Reached(NamedTuple):
    """How far a prompt has come. ``run``: type of the last block."""

    prefix: Digest
    chars: int = 0
    step: int = -1
    run: str | None = None


type _Make = Callable[[Json, Digester], _Member]
type _Added = tuple[tuple[Position, ...], _Reached]


class Positions:
    """Lays out prompts, remembering what comes again. Nobody may change a value that was laid out.

    ``held``: characters of the values that are remembered at most; ``most``: positions, likewise."""

    def __init__(
        self, digester: Digester | None = None, *, held: int = _MOST_HELD, most: int = _MOST_POSITIONS
    ) -> None:
        self.digester = digester or Digester(held=0)
        self._members = Met[_Member](held)
        self._positions, self._most_positions = 0, most

    def laid(
        self, body: dict[Any, Json], model: str | None, *, billing: bool = False, edits: Json = None, scope: str = ""
    ) -> Laid:
        """The prompt of a request body. ``billing``: the client's billing line counts; ``edits``: what the server says
        it cleared of the messages; ``scope``: whose cache it is."""
        tools = [self._member(_tool, tool) for tool in _list(body.get("tools"))]
        messages = [self._member(_message, message) for message in _list(body.get("messages"))]
        forgotten = _forgotten(messages) if strips_thinking(model) else 0
        image, cited = _first(one.image for one in messages), _first(one.cited for one in messages)
        beside: dict[_Stage, Json] = {
            "tools": None,
            "system": [_search_tools(body), cited is not None, *_settings(body, _BEFORE_SYSTEM)],
            "messages": [edits, image is not None, *_settings(body, _BEFORE_MESSAGES)],
        }
        members = {"tools": tools, "system": self._system(body.get("system"), billing), "messages": messages}
        named = model_of(model).base if model else ""
        at = _Reached(joined([text.encode("utf-8", "surrogatepass") for text in ("model", named, scope)]))
        positions: list[Position] = []
        for stage, told in beside.items():
            at = at._replace(prefix=joined([at.prefix, stage.encode(), self.digester.value(told)]))
            for index, member in enumerate(members[stage]):
                added, at = self._behind(at, member, stage, index, stage == "messages" and index < forgotten)
                positions += added
        thoughts = [*(one.left for one in messages[:forgotten]), *(one.thought for one in messages[forgotten:])]
        return Laid(positions, image, cited, _first(thoughts) if strips_thinking(model) else None)

    # What is remembered

    def _member(self, make: _Make, value: Json) -> _Member:
        found = self._members.of(value, make)
        if found is None:
            found = make(value, self.digester)
            if self._members.keep(value, found, size(value, _HELD), make):
                self._positions = 0
        return found

    def _system(self, system: Json, billing: bool) -> list[_Member]:
        make = _system_block if billing else _system_block_without_billing
        if type(system) is not list:  # a text becomes a block anew each time: not worth remembering
            return [make(block, self.digester) for block in as_blocks(system)]
        return [self._member(make, block) for block in system]

    def _behind(self, at: _Reached, member: _Member, stage: _Stage, index: int, forgets: bool) -> _Added:
        found = member.added.get((at, index, forgets))
        if found is None:
            found = member.added[at, index, forgets] = _added(at, member, f"{stage}[{index}]", forgets)
            self._positions += len(found[0]) + 1
            if self._positions > self._most_positions:
                self._members.clear()
                self._positions = 0
        return found


def _added(at: _Reached, member: _Member, path: str, forgets: bool) -> _Added:
    """The positions that a member adds to a prompt that has come so far. ``forgets``: without its thinking."""
    positions: list[Position] = []
    prefix, chars, step, run = at
    for block in member.blocks:
        if forgets and block.thinks:
            continue
        if block.kind not in _RUNS or block.kind != run:
            step += 1
        run = block.kind
        if block.told:
            prefix = joined([prefix, *block.told])
        chars += block.chars
        positions.append(Position(prefix, chars, step, block.ttl, path + block.path, block.eligible))
    return tuple(positions), _Reached(prefix, chars, step, run)


# Members


def _tool(tool: Json, digester: Digester) -> _Member:
    if _is_deferred(tool):
        return _Member(())
    told = () if _is_search(tool) else (digester.tool(tool), *_as_written(tool, digester))
    return _Member((_block("", tool, told),))


def _system_block(block: Json, digester: Digester) -> _Member:
    return _Member((_block("", block, _told("", block, digester)),))


def _system_block_without_billing(block: Json, digester: Digester) -> _Member:
    return _Member(tuple(_block("", one, _told("", one, digester)) for one in without_billing([block])))


def _message(message: Json, digester: Digester) -> _Member:
    if type(message) is not dict:
        return _Member((_block("", message, _told("", message, digester)),))
    role, content = message.get("role"), as_blocks(message.get("content"))
    speaker = role if type(role) is str else ""
    return _Member(
        tuple(_block(f".content[{at}]", block, _told(speaker, block, digester)) for at, block in enumerate(content)),
        asks=role == "user" and not any(map(_is_result, content)),
        image=_spot(content, _is_image),
        cited=_spot(content, _is_cited),
        thought=_spot(content, _is_thinking),
        left=_spot(content, _is_thinking, but=_is_thinking),
    )


def _block(path: str, block: Json, told: tuple[Digest, ...]) -> _Block:
    kind = block.get("type") if type(block) is dict else None
    return _Block(
        path,
        kind if type(kind) is str else None,
        told,
        size(_unmarked(block), CHARS),
        _marked(block),
        kind not in _NOT_MARKED and not _is_empty(block),
        _is_thinking(block),
    )


def _told(role: str, block: Json, digester: Digester) -> tuple[Digest, ...]:
    return digester.message({"role": role, "content": [block]}), *_as_written(block, digester)


def _as_written(block: Json, digester: Digester) -> Iterator[Digest]:
    """Digests of what of a block becomes text of the prompt in the order of its keys."""
    for name in ("input", "input_schema"):
        if type(block) is dict and type(block.get(name)) is dict:
            yield digester.ordered(block[name])


def _spot(content: list[Json], wanted: _Is, but: _Is | None = None) -> Spotted | None:
    """The first block of a kind, also inside a result. ``but``: blocks that are not looked at."""
    for place, block in enumerate(content):
        if but is not None and but(block):
            continue
        if wanted(block):
            return Spotted(f".content[{place}]", size(block, CHARS))
        for index, inner in enumerate(_list(block.get("content")) if type(block) is dict else ()):
            if wanted(inner):
                return Spotted(f".content[{place}].content[{index}]", size(inner, CHARS))
    return None


# Prompts


def _first(spots: Iterable[Spotted | None]) -> Spotted | None:
    """The first of the spots that messages have, with its whole path."""
    for index, found in enumerate(spots):
        if found is not None:
            return found._replace(path=f"messages[{index}]{found.path}")
    return None


def _forgotten(messages: Sequence[_Member]) -> int:
    """How many messages there are whose thinking the model does not see: those before the user's last words."""
    return next((index for index in range(len(messages) - 1, -1, -1) if messages[index].asks), 0)


def _settings(body: dict[Any, Json], names: tuple[str, ...]) -> list[Json]:
    return [None if body.get(name) in DEFAULTS[name] else body.get(name) for name in names]


def _search_tools(body: dict[Any, Json]) -> list[Json]:
    return [tool for tool in _list(body.get("tools")) if _is_search(tool)]


def ttl_of(mark: Json) -> str | None:
    """``5m`` or ``1h`` of a ``cache_control``; None where there is none, or of a kind nobody knows."""
    if type(mark) is not dict or mark.get("type") != "ephemeral":
        return None
    ttl = mark.get("ttl", "5m")
    return ttl if type(ttl) is str and ttl in SECONDS else "5m"


def _marked(block: Json) -> str | None:
    """The time to live that a breakpoint on a block asks for. One on a block inside a result counts at its end."""
    if type(block) is not dict:
        return None
    if block.get(MARK) is not None or type(block.get("content")) is not list:
        return ttl_of(block.get(MARK))
    inner = [mark for mark in breakpoints({"messages": [{"content": [block]}]}) if mark.type == "ephemeral"]
    return (inner[-1].ttl if inner[-1].ttl in SECONDS else "5m") if inner else None


def _unmarked(block: Json) -> Json:
    """The block without its breakpoint, which is no part of the prompt."""
    if type(block) is not dict or MARK not in block:
        return block
    return {name: value for name, value in block.items() if name != MARK}


def _is_search(tool: Json) -> bool:
    kind = tool.get("type") if type(tool) is dict else None
    return type(kind) is str and kind.startswith(_SEARCH)


def _is_deferred(tool: Json) -> bool:
    """Deferred tools stand outside the prefix; where they are loaded, a ``tool_reference`` stands for them."""
    return type(tool) is dict and bool(tool.get("defer_loading"))


def _is_result(block: Json) -> bool:
    return type(block) is dict and block.get("type") == "tool_result"


def _is_thinking(block: Json) -> bool:
    return type(block) is dict and block.get("type") in ("thinking", "redacted_thinking")


def _is_image(block: Json) -> bool:
    return type(block) is dict and block.get("type") == "image"


def _is_cited(block: Json) -> bool:
    citations = block.get("citations") if type(block) is dict else None
    return type(citations) is dict and citations.get("enabled") is True


def _is_empty(block: Json) -> bool:
    return type(block) is dict and block.get("type") == "text" and not block.get("text")


def _list(value: Json) -> list[Json]:
    return value if type(value) is list else []
