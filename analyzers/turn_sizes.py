"""What of one exchange the growth of its conversation is told from: who wrote how much of its prompt, and the counts.

Looked at are only the messages that are new since the request before of the same conversation (told by its first
message and by the one that was last then), so that a long session costs what is new in it, not the square of it. The
lengths of whole fields are those that the recorder took, where it did.

The *typed* words are the texts of the user behind the last answer, without what clients put there themselves
(reminders, results of tools, hook output: ``wire.labels``). *Weights* are for shares only: characters of what becomes
tokens. The length of signatures, encrypted content and image data tells nothing, so an image weighs what one of a
thousand pixels a side costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from analyzers.context_limit import LONG_CONTEXT, Refusal, refusal
from analyzers.digests import Digest, Digester, as_blocks
from analyzers.exchange import Exchange, Request
from analyzers.exchange_calls import calls_of
from analyzers.sizes import size
from analyzers.spent import NOTHING, of_usage
from analyzers.terms import Terms
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json
from analyzers.wire.labels import describe_text
from analyzers.wire.usage import Usage

type Estimate = Callable[[Json, str | None], int]
"""Tokens of a request body for a model (None: its own, or none is named), estimated."""

_MEDIA: Final = 4 * 1369  # characters of text that cost what an image of 1024 by 1024 does
_RUNS: Final = ("tool_use", "tool_result")
_OPAQUE: Final = {"thinking": "signature", "redacted_thinking": "data", "compaction": "encrypted_content"}
_MOST_KNOWN: Final = 100_000  # conversations and messages that are remembered


class Piece(NamedTuple):
    """A stretch of messages. ``speaks``: it begins with words of the user, so that a history may begin with it."""

    weight: int
    speaks: bool


@dataclass(frozen=True, slots=True)
class TurnSizes:
    """One request with its answer. Times in seconds since the epoch; sizes in characters; None: not known.

    ``chars``: of the whole request; ``typed``: that the user wrote in it; ``earlier``: of its messages before what is
    new. ``fixed``: weight of tools and system; ``answer`` and ``new``: of the last answer that is resent, and of what
    stands behind it; ``speaks``: that begins with the user, not with the result of a tool. ``pieces``: of a request
    that goes on from none before: its whole prompt, cut where the user speaks; ``answers``: how many there are in it.
    ``steps``: places in the cache's look-back, of what is new, or of the whole prompt where it goes on from none.

    ``context``: tokens of the prompt as the model last saw it, where the server counted several passes together;
    ``estimated``: tokens of a prompt that nobody counted; ``said``: tokens of such an answer. ``body`` False: the
    request was not kept."""

    start: float | None
    begun: float | None
    body: bool
    chars: int | None = None
    typed: int | None = None
    earlier: int | None = None
    fixed: int | None = None
    answer: int = 0
    new: int = 0
    speaks: bool | None = None
    pieces: tuple[Piece, ...] = ()
    answers: int | None = None
    steps: int = 1
    refused: Refusal | None = None
    context: int | None = None
    long_context: bool = False
    terms: Terms | None = None
    estimated: int | None = None
    said: int | None = None


class TurnSizer:
    """Sizes of exchanges, in the order in which they are read. ``estimate``: for what no server counted."""

    def __init__(self, estimate: Estimate | None = None) -> None:
        self._estimate = estimate
        self._digester = Digester()
        self._last: dict[Digest, tuple[int, Digest, str | None]] = {}
        self._counted: dict[Digest, int] = {}
        self._shared: tuple[list[Json], list[int]] = ([], [])

    def look(self, exchange: Exchange) -> TurnSizes:
        """The sizes of one exchange."""
        request, response = exchange.request, exchange.response
        calls = calls_of(exchange)
        call = calls[0] if len(calls) == 1 else None
        spent = call.spent if call is not None else NOTHING
        first_byte = response.first_byte if response is not None else None
        beside: dict[str, Any] = {
            "start": exchange.time,
            "begun": None if exchange.time is None or first_byte is None else exchange.time + first_byte,
            "refused": refusal(response.error.message) if response is not None and response.error is not None else None,
            "context": _context(response.usage) if response is not None else None,
            "long_context": request is not None and _asks_for_long(request),
            "terms": call.terms if call is not None else None,
        }
        if response is not None and response.content and spent.output is None:
            beside["said"] = self._tokens({"messages": [{"role": "assistant", "content": response.content}]}, None)
        body = request.body if request is not None and request.reason is None else None
        messages = body.get("messages") if type(body) is dict else None
        if request is None or type(body) is not dict or type(messages) is not list or not messages:
            return TurnSizes(body=False, **beside)
        if spent.total_input is None:
            beside["estimated"] = self._prompt_tokens(body, messages, request.model)
        session = call.session if call is not None else None
        return TurnSizes(body=True, **beside, **self._sizes(request, body, messages, session))

    def _sizes(
        self, request: Request, body: dict[Any, Json], messages: list[Json], session: str | None
    ) -> dict[str, Any]:
        behind = next((place for place in range(len(messages), 0, -1) if _is_answer(messages[place - 1])), 0)
        answer, tail = messages[max(behind - 1, 0) : behind], messages[behind:]
        goes_on = self._goes_on(messages, session)
        lengths = _lengths(request)
        return {
            "chars": sum(lengths.values()),
            "typed": sum(map(_typed, tail)),
            "earlier": lengths["messages"] - sum(map(size, tail)),
            "fixed": _fixed(body, lengths),
            "answer": sum(map(weight, answer)),
            "new": sum(map(weight, tail)),
            "speaks": any(map(_speaks, tail)) if tail else None,
            "pieces": () if goes_on else tuple(_pieces(messages)),
            "answers": None if goes_on else sum(map(_is_answer, messages)),
            "steps": _steps([*answer, *tail] if goes_on else messages),
        }

    def _goes_on(self, messages: Sequence[Json], session: str | None) -> bool:
        """Whether an earlier request of the session ended where this one goes on; remembers where this one ends."""
        first, last = self._digester.message(messages[0]), self._digester.message(messages[-1])
        before = self._last.get(first)
        if before is None and len(self._last) >= _MOST_KNOWN:
            self._last.clear()
        self._last[first] = len(messages), last, session
        if before is None or before[0] > len(messages) or before[2] != session:
            return False
        return self._digester.message(messages[before[0] - 1]) == before[1]

    def _prompt_tokens(self, body: dict[Any, Json], messages: list[Json], model: str | None) -> int | None:
        """Tokens of a prompt that nobody counted: each distinct message is estimated once."""
        if self._estimate is None:
            return None
        before, counts = self._shared
        same = 0
        for one, other in zip(before, messages, strict=False):
            if one is not other:
                break
            same += 1
        counts = counts[:same] + [self._message_tokens(message, model) for message in messages[same:]]
        self._shared = messages, counts
        rest = {name: body[name] for name in ("tools", "system") if body.get(name)}
        return sum(counts) + (self._estimate(rest, model) if rest else 0)

    def _message_tokens(self, message: Json, model: str | None) -> int:
        key = self._digester.message(message)
        if key not in self._counted:
            if len(self._counted) >= _MOST_KNOWN:
                self._counted.clear()
            self._counted[key] = self._tokens({"messages": [message]}, model) or 0
        return self._counted[key]

    def _tokens(self, body: dict[str, Json], model: str | None) -> int | None:
        return self._estimate(body, model) if self._estimate is not None else None


def weight(value: Json) -> int:
    """Characters of a message, a system prompt or a list of tools that become tokens, for shares."""
    total = size(value)
    stack = [value]
    while stack:
        node = stack.pop()
        if type(node) is list:
            stack += node
        elif type(node) is dict:
            total += _instead(node)
            stack += [node[name] for name in ("content", "source") if type(node.get(name)) in (dict, list)]
    return max(total, 0)


def _instead(block: dict[Any, Json]) -> int:
    """What a block's weight differs by from its size: what is no text in it."""
    kind = block.get("type")
    opaque = _OPAQUE.get(kind) if type(kind) is str else None
    if opaque is not None:
        return -size(block.get(opaque, ""))
    return _MEDIA - size(block.get("data", "")) if kind == "base64" else 0


def _lengths(request: Request) -> dict[str, int]:
    """Characters by field: the recorder's figures where they tell of these very fields, else measured."""
    if request.recorded is not None and list(request.recorded) == list(request.body):
        return dict(request.recorded)
    return {name: size(value) for name, value in request.body.items()}


def _fixed(body: dict[Any, Json], lengths: dict[str, int]) -> int:
    """Weight of what stands before the messages. Deferred tools are on the wire and not in the prompt."""
    tools = body.get("tools")
    deferred = (
        [tool for tool in tools if type(tool) is dict and tool.get("defer_loading")] if type(tools) is list else ()
    )
    return lengths.get("tools", 0) + lengths.get("system", 0) - sum(map(size, deferred))


def _is_answer(message: Json) -> bool:
    return type(message) is dict and message.get("role") == "assistant"


def _blocks(message: Json) -> Iterator[dict[Any, Json]]:
    content = message.get("content") if type(message) is dict else None
    return (block for block in as_blocks(content) if type(block) is dict)


def _speaks(message: Json) -> bool:
    """Whether a message of the user brings words, and no result of a tool."""
    if type(message) is not dict or message.get("role") != "user":
        return False
    return not any(block.get("type") == "tool_result" for block in _blocks(message))


def _typed(message: Json) -> int:
    """Characters of the texts in a message of the user that no client is known to have put there."""
    if type(message) is not dict or message.get("role") != "user":
        return 0
    texts = (block.get("text") for block in _blocks(message) if block.get("type") == "text")
    return sum(_own(text) for text in texts)


def _own(text: Json) -> int:
    if type(text) is Elided:
        return text.chars if text.label is None else 0
    return len(text) if type(text) is str and describe_text(text) is None else 0


def _pieces(messages: Iterable[Json]) -> Iterator[Piece]:
    """The messages, cut where the user speaks after an answer."""
    amount, speaks, answered = 0, False, True
    for message in messages:
        if answered and _speaks(message):
            if amount:
                yield Piece(amount, speaks)
            amount, speaks, answered = 0, True, False
        answered = answered or _is_answer(message)
        amount += weight(message)
    yield Piece(amount, speaks)


def _steps(messages: Iterable[Json]) -> int:
    """Places in the look-back: blocks, a run of calls or of results being one."""
    steps, run = 0, None
    for message in messages:
        for block in _blocks(message):
            kind = block.get("type")
            steps += kind not in _RUNS or kind != run
            run = kind if type(kind) is str else None
    return max(steps, 1)


def _context(usage: Usage | None) -> int | None:
    """Tokens of the last pass that a message was made in; None where there was but one."""
    passes = [one for one in (usage.iterations or () if usage is not None else ()) if one.type == "message"]
    return of_usage(passes[-1]).total_input if len(passes) > 1 else None


def _asks_for_long(request: Request) -> bool:
    told = request.headers.get("anthropic-beta")
    named = told if type(told) is str else ",".join(map(str, told or ()))
    in_body = request.body.get("anthropic_beta") if type(request.body) is dict else None
    return LONG_CONTEXT in named or (type(in_body) is list and LONG_CONTEXT in in_body)
