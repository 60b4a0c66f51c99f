"""Exchanges that are read once and kept, with what they have in common kept once.

A report, or the summary of a run, asks the same exchanges many times over, and each request of a conversation repeats
the one before. So every message, system block and tool that was met before becomes the very object that was met first,
and so does a whole list of tools or of system blocks: memory grows with what is new, and whoever remembers what it made
of an object need not look again. Two values are the same only when their JSON texts are, down to the order of keys and
the way numbers are written; what has no such text (a lone surrogate, a folded key) stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import orjson

from analyzers.exchange import Exchange, Problem
from analyzers.readers.kinds import Kind
from analyzers.readers.sources import Sources
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json, Number

SHARED: Final = frozenset(("messages", "system", "tools"))
"""The fields whose members come again."""

_PASSED = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS


class Shared:
    """Values by their text, each once."""

    def __init__(self) -> None:
        self._first: dict[bytes, Json] = {}
        self._own: set[int] = set()  # where the first ones are in memory
        self._lists: dict[tuple[int, ...], list[Json]] = {}  # by where their members are, which they hold

    def exchange(self, exchange: Exchange) -> Exchange:
        """The exchange with what was met before in the place of its equals."""
        request = exchange.request
        if request is None or type(request.body) is not dict:
            return exchange
        body = {name: self._field(name, value) if name in SHARED else value for name, value in request.body.items()}
        return replace(exchange, request=replace(request, body=body))

    def _field(self, name: str, value: Json) -> Json:
        if type(value) is not list:
            return value
        members = [self._one(member) for member in value]
        return members if name == "messages" else self._lists.setdefault(tuple(map(id, members)), members)

    def _one(self, value: Json) -> Json:
        if type(value) is not dict or id(value) in self._own:
            return value
        try:
            text = orjson.dumps(value, _told_apart, _PASSED)
        except (TypeError, ValueError):
            return value
        first = self._first.setdefault(text, value)
        self._own.add(id(first))
        return first


def _told_apart(leaf: object) -> orjson.Fragment:
    """A leaf that JSON has no form for, as text that no JSON has."""
    if type(leaf) is Elided:
        return orjson.Fragment(b"~" + repr(leaf).encode())
    if type(leaf) is Number:
        return orjson.Fragment(b"=" + leaf.encode())
    raise TypeError(type(leaf).__name__)


class Kept(Sources):
    """Sources whose exchanges are read from their files once only. Memory grows with what is new in them."""

    def __init__(self, paths: Sequence[str], *, folded: bool = False) -> None:
        super().__init__(paths, folded=folded)
        self._every: list[Exchange] | None = None

    def exchanges(self, problems: list[Problem], *, without: Sequence[Kind] = ()) -> Iterator[Exchange]:
        """All exchanges; problems are told when they are read, the first time."""
        if self._every is None:
            shared = Shared()
            self._every = [shared.exchange(one) for one in super().exchanges(problems)]
        for one in self._every:
            if one.logged is None or "claude_code" not in without:
                yield one
