"""What a request will cost, judged before it is sent, against limits that a user set.

The estimate begins with what the server itself counted: of the longest beginning of this very prompt that it has
answered before, and adds an estimate of what is new. Without such a beginning all is estimated. Money is what the
server's counters came to, and, for requests without an answer yet, the estimate of their input: what stands in the
beginning at the price of a cache read where the prompt has breakpoints, else uncached; output is not foreseen.

Values in, values out; no clock, no network. Memory is bounded: so many beginnings, and so many sessions, the longest
unused first; a request's own share goes with its end.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal

from analyzers.breakpoints import breakpoints
from analyzers.calls import Call
from analyzers.digests import Digest, Digester, joined
from analyzers.models import model_of
from analyzers.price_book import PriceBook
from analyzers.price_parts import Priced
from analyzers.prices import price
from analyzers.spent import Spent
from analyzers.wire.jsontext import Json

PREFIXES: Final = 4096
SESSIONS: Final = 4096
_BESIDE: Final = ("tools", "tool_choice", "thinking", "output_config")

type Mode = Literal["warn", "block"]
type Counting = Callable[[Json, str | None], tuple[int, bool]]
"""Tokens of a request body for a model, and whether that is only a lower bound."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a user allows. ``input_tokens``: of one request; ``usd``: of one session. None: no limit."""

    input_tokens: int | None = None
    usd: Decimal | None = None
    mode: Mode = "warn"

    @property
    def are_set(self) -> bool:
        return self.input_tokens is not None or self.usd is not None


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of one request. ``tokens``: of its input, ``counted`` of which the server counted before;
    ``at_least``: a part cannot be estimated. ``usd``: of its input, None without a price or without need; ``spent``:
    by its session so far, with what is under way; ``complete`` False: calls without a price are not in it."""

    session: str
    tokens: int
    counted: int
    at_least: bool
    usd: Decimal | None = None
    spent: Decimal = Decimal(0)
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that a request would break: the option's name, and the sentence for the user."""

    option: str
    text: str


@dataclass(slots=True)
class _Session:
    spent: Decimal = Decimal(0)
    complete: bool = True
    under_way: dict[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request without an end. ``prefix``: digest of its whole prompt."""

    session: str
    prefix: Digest


@dataclass(slots=True)
class Budget:
    """What was counted and spent so far. ``book`` None: no money is counted."""

    count: Counting
    book: PriceBook | None = None
    _digester: Digester = field(default_factory=Digester)
    _counted: OrderedDict[Digest, int] = field(default_factory=OrderedDict)
    _sessions: OrderedDict[str, _Session] = field(default_factory=OrderedDict)
    _asked: dict[str, _Asked] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """Requests without an end."""
        return len(self._asked)

    def expect(self, id: str, body: Json, model: str | None, session: str | None) -> Expected:
        """What a request will take; it counts as under way until ``ended``. ``session`` None: its conversation is its
        session."""
        prefixes = self._prefixes(body, model)
        known, at = self._longest(prefixes)
        new = _without_beginning(body, at) if at else body
        tokens, at_least = self.count(new, model)
        name = session or prefixes[min(1, len(prefixes) - 1)].hex()
        usd = self._cost(known, tokens, body, model) if self.book is not None else None
        state = self._session(name)
        spent = state.spent + sum(state.under_way.values(), Decimal(0))
        state.under_way[id] = usd or Decimal(0)
        self._asked[id] = _Asked(name, prefixes[-1])
        return Expected(name, known + tokens, known, at_least, usd, spent, state.complete)

    def ended(self, id: str, calls: tuple[Call, ...] = (), *, perhaps_spent: bool = False) -> None:
        """A request is over, however it ended. ``calls``: what its answer tells; none when it was not sent.
        ``perhaps_spent``: it was, and nobody told what it cost: then the estimate of its input stays in the sum."""
        asked = self._asked.pop(id, None)
        if asked is None:
            return
        state = self._sessions.get(asked.session)
        if state is not None:
            expected = state.under_way.pop(id)
            if perhaps_spent and self.book is not None:
                state.spent += expected
                state.complete = False
        for call in calls:
            total = call.spent.total_input
            if total:
                _keep(self._counted, asked.prefix, total, PREFIXES)
            if state is not None and self.book is not None and (total or call.spent.output):
                found = price(call, self.book)
                if isinstance(found, Priced):
                    state.spent += found.total
                if not isinstance(found, Priced) or found.most is None:
                    state.complete = False

    def _session(self, name: str) -> _Session:
        state = self._sessions.get(name)
        if state is None:
            while len(self._sessions) >= SESSIONS:
                gone = next((old for old, held in self._sessions.items() if not held.under_way), None)
                if gone is None:
                    break
                del self._sessions[gone]
            state = self._sessions[name] = _Session()
        self._sessions.move_to_end(name)
        return state

    def _prefixes(self, body: Json, model: str | None) -> list[Digest]:
        """The digest of what stands before the messages, then of everything up to each message."""
        fields: Mapping[Any, Json] = body if type(body) is dict else {}
        messages = fields.get("messages")
        beside = [self._digester.value(fields.get(name)) for name in _BESIDE]
        system = self._digester.system(fields.get("system"))
        out = [joined([(model_of(model).base if model else "").encode("utf-8", "surrogatepass"), system, *beside])]
        for message in messages if type(messages) is list else ():
            out.append(joined([out[-1], self._digester.message(message)]))
        return out

    def _longest(self, prefixes: list[Digest]) -> tuple[int, int]:
        """Tokens of the longest beginning that a server has counted, and of how many messages it is; 0 and 0 when there
        is none."""
        for at in range(len(prefixes) - 1, 0, -1):
            if (tokens := self._counted.get(prefixes[at])) is not None:
                self._counted.move_to_end(prefixes[at])
                return tokens, at
        return 0, 0

    def _cost(self, known: int, new: int, body: Json, model: str | None) -> Decimal | None:
        marked = next(breakpoints(body), None) is not None
        spent = Spent(0, new, new, 0, known, 0) if marked else Spent(known + new, 0, 0, 0, 0, 0)
        call = Call(None, None, None, model, model, None, None, "completed", spent, spent, "")
        found = price(call, self.book) if self.book is not None else None
        return found.total if isinstance(found, Priced) and found.most is not None else None


def excess(expected: Expected, limits: Limits) -> Excess | None:
    """The first limit that a request would break, None when it keeps them all."""
    most = limits.input_tokens
    if most is not None and expected.tokens > most:
        about = f"{'at least ' if expected.at_least else 'about '}{expected.tokens:,}"
        counted = f", {expected.counted:,} of them counted by the server before" if expected.counted else ""
        return Excess(
            "guard_max_input_tokens",
            f"this request has {about} input tokens (an estimate{counted}), more than the limit of {most:,} "
            "(guard_max_input_tokens). Start a new conversation, shorten this one, or raise the limit.",
        )
    usd, foreseen = limits.usd, expected.spent + (expected.usd or Decimal(0))
    if usd is not None and foreseen > usd:
        known = "" if expected.complete else "at least "
        request = "unknown" if expected.usd is None else f"{expected.usd:.4f} USD"
        return Excess(
            "guard_max_usd_per_session",
            f"this session has spent {known}{expected.spent:.4f} USD, and the input of this request would cost about "
            f"{request} (an estimate): more than the limit of {usd} USD (guard_max_usd_per_session). "
            "Start a new session, or raise the limit.",
        )
    return None


def _without_beginning(body: Json, messages: int) -> Json:
    """The request with only the messages after so many, and nothing that stands before them."""
    rest = body["messages"][messages:] if type(body) is dict else []
    return {"messages": rest}


def _keep(cache: OrderedDict[Digest, int], key: Digest, value: int, most: int) -> None:
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > most:
        cache.popitem(last=False)
