"""Which recorded requests a calibration can learn from, and what each of them tells.

Where a request goes on from the one before it (the same conversation, tools, system prompt and tokenizer), what was
added is a sample: whatever stands in both prompts cancels, folded texts and pictures behind a URL included. Other
requests are samples as a whole, if all of their prompt is known. What the server changed in a prompt, added to it or
did not count takes no part, and is counted by reason. So are replayed thoughts, which count as their signature holds
them; those that stand in both prompts cancel, as long as the user does not speak again, which is where the API may drop
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from analyzers.attribution import Attribution, attribution
from analyzers.calibrated import Amounts, tokens_by_kind
from analyzers.calibration import Sample
from analyzers.calls import Call
from analyzers.digests import Digest, Digester, as_blocks
from analyzers.estimate import PromptEstimate
from analyzers.exchange import Exchange
from analyzers.exchange_calls import calls_of
from analyzers.lineage import Lineage
from analyzers.threads import Turn, turns_of
from analyzers.tokens import Family, Weights
from analyzers.wire.jsontext import Json

type Reason = Literal[
    "no_body",
    "not_counted",
    "unknown_model",
    "message_thread",
    "server_tools",
    "several_passes",
    "context_editing",
    "inclusive_input",
    "thinking",
    "unknown_rows",
    "client_log",
    "small",
]

SMALLEST: Final = 50
"""Tokens below which a sample's frames tell more than its texts."""

_THOUGHTS: Final = ("thinking", "redacted_thinking")
_FIXED: Final = ("system", "tools", "messages")


@dataclass(frozen=True, slots=True)
class Prompt:
    """What one request tells. ``reason``: why it takes no part at all. ``unknown``: the last message in which something
    is not known, -1 for none; ``beside``: of what else is not known, None for nothing; ``thoughts``: replayed blocks of
    thinking; ``spoken``: the last message in which the user speaks, -1 for none; ``logged``: a client's log tells it,
    which leaves out part of the system prompt."""

    reason: Reason | None
    family: Family | None = None
    counted: int = 0
    kinds: Amounts = field(default_factory=dict)
    rest: int = 0
    unknown: int = -1
    beside: Digest | None = None
    thoughts: int = 0
    spoken: int = -1
    logged: bool = False

    @property
    def incomplete(self) -> Reason | None:
        """Why it is no sample as a whole."""
        if self.reason is not None:
            return self.reason
        if self.thoughts:
            return "thinking"
        if self.unknown >= 0 or self.beside is not None:
            return "unknown_rows"
        return "client_log" if self.logged else None


class Reader:
    """Prompts of exchanges, in any order. ``weights``: by o200k only; it knows the texts that were folded."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._digester = Digester()

    def look(self, exchange: Exchange) -> Prompt:
        """What one exchange tells. Raises DamagedRanks."""
        found = attribution(exchange, self._weights)
        if found is None:
            return Prompt("no_body")
        body = exchange.request.body if exchange.request is not None else {}
        reason = _reason(exchange, body, found)
        estimate = found.estimate
        if reason is not None or found.counted is None:
            return Prompt(reason or "not_counted", estimate.family)
        kinds, rest = tokens_by_kind(estimate)
        messages = body.get("messages")
        return Prompt(
            None,
            estimate.family,
            found.counted,
            kinds,
            rest,
            unknown=max((_message_of(row.row.path) for row in estimate.unknown), default=-1),
            beside=self._beside(body, estimate),
            thoughts=sum(row.row.type in _THOUGHTS for one in estimate.fields for row in one.rows),
            spoken=_last_spoken(messages if type(messages) is list else []),
            logged=exchange.logged is not None,
        )

    def _beside(self, body: Mapping[str, Json], estimate: PromptEstimate) -> Digest | None:
        """Of what is not known outside the messages. The system prompt and the tools are compared by themselves."""
        names = [one.name for one in estimate.fields if one.at_least and one.name != "messages"]
        if not names:
            return None
        return self._digester.value([[name, body.get(name)] for name in names if name not in _FIXED])


def _reason(exchange: Exchange, body: Mapping[str, Json], found: Attribution) -> Reason | None:
    """Why a request takes no part, if its prompt is not the one that was counted."""
    usage = exchange.response.usage if exchange.response is not None else None
    calls = calls_of(exchange)
    if found.estimate.family is None or found.estimate.assumed is not None:
        return "unknown_model"
    if body.get("thread") is not None:
        return "message_thread"
    if found.counted is None:
        return "not_counted"
    if usage is not None and any((usage.server_tool_use or {}).values()):
        return "server_tools"
    if found.reason is not None or (usage is not None and len(usage.iterations or ()) > 1):
        return "several_passes"
    if _is_edited(exchange, body, found):
        return "context_editing"
    return "inclusive_input" if _may_be_inclusive(calls[0]) else None


def _may_be_inclusive(call: Call) -> bool:
    """Whether the input that was told may have the cached tokens in it: at a host that is not known to tell them apart,
    and with an input that is large enough."""
    spent = call.spent
    cached = (spent.read or 0) + (spent.written or 0)
    return call.terms is not None and call.terms.host is not None and 0 < cached <= (spent.fresh or 0)


def _is_edited(exchange: Exchange, body: Mapping[str, Json], found: Attribution) -> bool:
    """Whether the server dropped something of the prompt, or may have without saying so."""
    told = exchange.response.rest.get("context_management") if exchange.response is not None else None
    applied = told.get("applied_edits") if isinstance(told, Mapping) else None
    asked = body.get("context_management")
    edits = asked.get("edits") if type(asked) is dict else None
    messages = body.get("messages")
    clears = any(
        type(message) is dict and message.get("clear_at") not in (None, "never")
        for message in (messages if type(messages) is list else ())
    )
    silent = bool(edits) and type(applied) is not list and exchange.logged is None
    return bool(applied) or found.cleared is not None or clears or silent


def _message_of(path: str) -> int:
    """The number of the message that a row stands in; -1 for one outside of them."""
    if not path.startswith("messages"):
        return -1
    number = path.removeprefix("messages[").partition("]")[0]
    return int(number) if number.isascii() and number.isdigit() else 0


def _last_spoken(messages: Sequence[Json]) -> int:
    """The last message in which the user says something, not only the result of a tool."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if type(message) is not dict or message.get("role") != "user":
            continue
        kinds = [block.get("type") for block in as_blocks(message.get("content")) if type(block) is dict]
        if any(kind != "tool_result" for kind in kinds):
            return at
    return -1


@dataclass(frozen=True, slots=True)
class Samples:
    """``families``: samples in time order; ``excluded``: requests that are none, by reason."""

    families: Mapping[Family, Sequence[Sample]]
    excluded: Mapping[str, int]


def samples(woven: Lineage, prompts: Sequence[Prompt]) -> Samples:
    """The samples of all exchanges. ``prompts``: by number of the request, from 1."""
    turns = {turn.n: turn for session in woven.sessions for turn in turns_of(session.threads)}
    found: list[tuple[int, Family, Sample]] = []
    excluded: Counter[str] = Counter()
    for n, thread in _requests(woven):
        prompt, turn = prompts[n - 1], turns.get(n)
        earlier = turns.get(turn.follows) if turn is not None and turn.follows is not None else None
        sample: Sample | Reason | None = None
        if turn is not None and earlier is not None and _goes_on(earlier, turn):
            sample = _difference(prompts[earlier.n - 1], prompt, turn.common or 0, thread)
        if sample is None:
            sample = _whole(prompt, thread)
        if not isinstance(sample, Sample):
            excluded[sample] += 1
        elif sample.counted < SMALLEST:
            excluded["small"] += 1
        elif prompt.family is not None:
            found.append((n, prompt.family, sample))
    families: dict[Family, list[Sample]] = {}
    for _, family, sample in sorted(found, key=lambda one: one[0]):
        families.setdefault(family, []).append(sample)
    return Samples(families, dict(excluded))


def _requests(woven: Lineage) -> Iterable[tuple[int, int]]:
    """The number of each request with that of its conversation. Side calls count to the first conversation of their
    session, which they are about."""
    thread = 0
    for session in woven.sessions:
        first = thread
        for one in session.threads:
            for turn in one.turns:
                yield from ((n, thread) for n in (turn.n, *turn.attempts))
            thread += 1
        thread = max(thread, first + 1)
        for side in session.side:
            yield from ((n, first) for n in (side.n, *side.attempts))


def _goes_on(earlier: Turn, turn: Turn) -> bool:
    """Whether a prompt is the earlier one and more messages."""
    before, after = earlier.trace, turn.trace
    if turn.step != "continues" or before.node is None or after.node is None:
        return False
    return turn.common == before.prompt_messages and (before.system, before.tools) == (after.system, after.tools)


def _difference(before: Prompt, after: Prompt, common: int, thread: int) -> Sample | None:
    """What a request adds to the one that it continues, with which it shares so many messages; None where something
    else changed, or is not known."""
    if before.reason is not None or after.reason is not None:
        return None
    if before.family != after.family or before.beside != after.beside or before.logged != after.logged:
        return None
    if after.unknown >= common or after.thoughts != before.thoughts or (after.thoughts and after.spoken >= common):
        return None
    kinds = {kind: tokens - before.kinds.get(kind, 0.0) for kind, tokens in after.kinds.items()}
    kinds = {kind: tokens for kind, tokens in kinds.items() if tokens > 0}
    return Sample(kinds, after.rest - before.rest, after.counted - before.counted, thread, whole=False)


def _whole(prompt: Prompt, thread: int) -> Sample | Reason:
    reason = prompt.incomplete
    return reason if reason is not None else Sample(prompt.kinds, prompt.rest, prompt.counted, thread, whole=True)
