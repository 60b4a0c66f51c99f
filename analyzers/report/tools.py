"""The tools of each session: how large their definitions are, and whether the model ever called them.

A call is a block that asks for a tool by its name, in an answer or in a message that was sent back; calls with one id
are one call. A name that was called and never defined is told too. Cost: O(blocks) of what is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from analyzers.blocks import TOOL_CALLS
from analyzers.digests import as_blocks
from analyzers.exchange import Exchange
from analyzers.sizes import field_size
from analyzers.wire.jsontext import Json

_NO_ANSWER: Final = frozenset(("count_tokens", "batches"))
_NOTHING_SAID: Final = frozenset(("error", "unreachable"))

type Use = tuple[str, str | None]
"""The name of a tool, and the id of the call."""


@dataclass(slots=True)
class Tool:
    """One tool of a session. ``chars``: of its newest definition, None: it was only called; ``requests``: how many
    carried it; ``first`` and ``last``: the numbers of these; ``calls``: by id, and without one."""

    name: str
    chars: int | None = None
    described: int | None = None
    deferred: bool = False
    requests: int = 0
    first: int | None = None
    last: int | None = None
    calls: set[str] = field(default_factory=set)
    nameless: int = 0


@dataclass(slots=True)
class ToolUse:
    """Takes exchanges one by one, each under the number of its session."""

    _tools: dict[int | None, dict[str, Tool]] = field(default_factory=dict)
    _uses: dict[int, tuple[Use, ...]] = field(default_factory=dict)
    _sizes: dict[int, tuple[int, int]] = field(default_factory=dict)
    _unheard: dict[int | None, int] = field(default_factory=dict)

    def add(self, exchange: Exchange, n: int, session: int | None) -> None:
        """Adds what one exchange defines and calls."""
        tools = self._tools.setdefault(session, {})
        body = exchange.request.body if exchange.request is not None and exchange.request.reason is None else None
        if type(body) is dict:
            self._defined(body.get("tools"), n, tools)
            messages = body.get("messages")
            for message in messages if type(messages) is list else ():
                self._called(self._of(message), tools, sent=True)
        if exchange.response is not None:
            self._called(tuple(_uses(exchange.response.content)), tools, sent=False)
        if _is_unheard(exchange):
            self._unheard[session] = self._unheard.get(session, 0) + 1

    def as_json(self) -> list[dict[str, Any]]:
        """The tools of each session, largest first; those of unknown size last. ``answers_unknown``: answers in which
        more tools may have been called."""
        return [
            {
                "session": session,
                "answers_unknown": self._unheard.get(session, 0),
                "tools": [_json(tool) for tool in sorted(tools.values(), key=_rank)],
            }
            for session, tools in self._tools.items()
        ]

    def _defined(self, defined: Json, n: int, tools: dict[str, Tool]) -> None:
        for tool in defined if type(defined) is list else ():
            name = tool.get("name") if type(tool) is dict else None
            if type(name) is not str:
                continue
            one = tools.setdefault(name, Tool(name))
            one.chars, one.described = self._size(tool)
            one.deferred = tool.get("defer_loading") is True
            one.requests += one.last != n
            one.first = n if one.first is None else one.first
            one.last = n

    def _size(self, tool: Json) -> tuple[int, int]:
        known = self._sizes.get(id(tool))
        if known is None:
            [row] = field_size("tools", [tool]).rows
            known = self._sizes[id(tool)] = row.size, row.classes.get("description", 0)
        return known

    def _of(self, message: Json) -> tuple[Use, ...]:
        known = self._uses.get(id(message))
        if known is None:
            known = self._uses[id(message)] = tuple(_uses(message.get("content") if type(message) is dict else None))
        return known

    def _called(self, uses: tuple[Use, ...], tools: dict[str, Tool], *, sent: bool) -> None:
        """``sent``: in a message, which stands in many requests; a call without an id counts where it was answered."""
        for name, call in uses:
            one = tools.setdefault(name, Tool(name))
            if call is not None:
                one.calls.add(call)
            elif sent:
                one.nameless = max(one.nameless, 1)
            else:
                one.nameless += 1


def _is_unheard(exchange: Exchange) -> bool:
    """Whether a model may have answered what was not recorded, or not to its end."""
    if exchange.request is None or exchange.request.route in _NO_ANSWER or exchange.ended in _NOTHING_SAID:
        return False
    return exchange.ended != "completed" or exchange.response is None or exchange.response.content is None


def _uses(content: Json) -> Iterator[Use]:
    for block in as_blocks(content):
        if type(block) is not dict or type(kind := block.get("type")) is not str or kind not in TOOL_CALLS:
            continue
        name, call = block.get("name"), block.get("id")
        if type(name) is str:
            yield name, call if type(call) is str else None


def _rank(tool: Tool) -> tuple[int, str]:
    return -1 - tool.chars if tool.chars is not None else 0, tool.name


def _json(tool: Tool) -> dict[str, Any]:
    calls = len(tool.calls) + tool.nameless
    return {
        "name": tool.name,
        "chars": tool.chars,
        "description_chars": tool.described,
        "deferred": tool.deferred,
        "requests": tool.requests,
        "first_request": tool.first,
        "last_request": tool.last,
        "calls": calls,
        "used": calls > 0,
    }
