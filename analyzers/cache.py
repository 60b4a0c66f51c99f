"""The chain law: on a healthy chain each request reads what the one before it read and wrote.

``cache_read(n) == cache_read(n-1) + cache_creation(n-1)``, thread by thread (published law). A row where it does not
hold is a break when less was read than was there: what should have been read is written again. Each break is told with
the request it should have continued, where the two prompts part, and the cause in the documentation's terms. What
cannot be known is ``unknown``; what should not have happened by any rule is ``unexplained``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from analyzers.cache_model import Prediction
from analyzers.cache_prompt import SECONDS, CachedPrompt
from analyzers.first_difference import Place
from analyzers.lineage import Thread, Turn
from analyzers.models import cache_minimum, model_of
from analyzers.spent import Spent

type Cause = Literal[
    "model", "tools_added", "tools_removed", "tools_reordered", "tools_changed", "system", "billing_header",
    "message_rewritten", "images", "tool_choice", "thinking", "effort", "speed", "settings", "context_editing",
    "compaction", "cleared", "expired", "below_minimum", "look_back", "no_breakpoint", "concurrent",
    "written_elsewhere", "unexplained", "unknown",
]  # fmt: skip

CAUSES: Final[dict[str, str]] = {
    "model": "another model",
    "tools_added": "a tool was added",
    "tools_removed": "a tool was taken away",
    "tools_reordered": "the tools stand in another order",
    "tools_changed": "a tool's definition changed",
    "system": "the system prompt changed",
    "billing_header": "the client's billing line changes, and this host does not ignore it",
    "message_rewritten": "an earlier message was changed",
    "images": "images appeared or went",
    "tool_choice": "tool_choice changed",
    "thinking": "the thinking settings changed",
    "effort": "the effort, or the form asked for, changed",
    "speed": "the speed changed",
    "settings": "another setting changed",
    "context_editing": "the server cleared a part of the context",
    "compaction": "the conversation was summarised",
    "cleared": "the conversation was cleared",
    "expired": "the cache had expired",
    "below_minimum": "the prefix is below what this model caches",
    "look_back": "the last breakpoint was more than 20 positions back",
    "no_breakpoint": "the request has no breakpoint",
    "concurrent": "sent before the first answer had begun",
    "written_elsewhere": "more was there than this thread had written",
    "unexplained": "nothing changed: evicted, or answered elsewhere",
    "unknown": "unknown: the prompts were not recorded",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What of one exchange the cache is judged by. Times in seconds since the epoch. ``edited``: the answer tells of
    edits that the server applied; ``verdict``: the server's own diagnosis of a miss, None when it gave none.
    ``rounds``: its counters are of several passes, so they are no state of the cache. ``billing``: digest of the
    client's billing line; ``first_party``: the vendor's own API was asked, which ignores that line."""

    n: int
    start: float | None
    begun: float | None
    model: str | None
    spent: Spent
    prompt: CachedPrompt | None
    edited: bool = False
    verdict: str | None = None
    verdict_tokens: int | None = None
    rounds: bool = False
    billing: bytes | None = None
    first_party: bool = True


@dataclass(frozen=True, slots=True)
class CacheRow:
    """One request of a chain. ``holds`` None: the first of its thread, or a counter is unknown. ``expected``: what the
    law says it reads; ``again``: tokens that were written although they had been in the cache; ``place``: where its
    prompt parts from the one it should have continued. ``gap``: seconds since the start of that one."""

    seen: Seen
    follows: int | None
    holds: bool | None
    expected: int | None
    cause: Cause | None
    again: int
    gap: float | None
    ttl: str | None
    place: Place | None
    predicted: Prediction | None = None

    @property
    def broken(self) -> bool:
        """Whether less was read than was there."""
        return self.holds is False and self.cause != "written_elsewhere"


@dataclass(frozen=True, slots=True)
class Chain:
    """The requests of one thread."""

    session: str | None
    agent: str | None
    forked_from: int | None
    rows: tuple[CacheRow, ...]


def law(before: Spent, spent: Spent) -> tuple[bool | None, int | None]:
    """Whether the law holds between two requests, and what the second should have read. None: a counter is unknown."""
    if before.read is None or before.written is None:
        return None, None
    expected = before.read + before.written
    return (None if spent.read is None else spent.read == expected), expected


def to_compare(thread: Thread, seen: Sequence[Seen]) -> list[tuple[int, int]]:
    """The pairs of requests, by number, whose prompts must be compared to tell a cause: those around each break."""
    pairs = []
    for before, turn in _pairs(thread):
        holds, expected = law(_before(before, turn, seen).spent, seen[turn.n - 1].spent)
        read = seen[turn.n - 1].spent.read
        if holds is False and expected is not None and read is not None and read < expected:
            pairs.append((_before(before, turn, seen).n, turn.n))
    return pairs


def chain(
    thread: Thread,
    seen: Sequence[Seen],
    places: dict[tuple[int, int], Place | None],
    predictions: dict[int, Prediction],
) -> Chain:
    """The rows of a thread. ``seen``: of all exchanges by number from 1; ``places``: where compared prompts part, None
    where the later one continues the earlier."""
    rows = [_first(seen[thread.turns[0].n - 1], predictions)]
    for before, turn in _pairs(thread):
        rows.append(_row(turn, _before(before, turn, seen), seen[turn.n - 1], places, predictions))
    return Chain(thread.session, thread.agent, thread.forked_from, tuple(rows))


def _before(before: Turn, turn: Turn, seen: Sequence[Seen]) -> Seen:
    """The request whose cache a turn should read: that of the turn before, or the last of its own failed attempts that
    had got as far as being counted."""
    tried = [seen[n - 1] for n in turn.attempts if seen[n - 1].spent.read is not None]
    return tried[-1] if tried else seen[before.n - 1]


def _pairs(thread: Thread) -> list[tuple[Turn, Turn]]:
    return list(pairwise(thread.turns))


def _first(seen: Seen, predictions: dict[int, Prediction]) -> CacheRow:
    return CacheRow(seen, None, None, None, None, 0, None, None, None, predictions.get(seen.n))


def _row(
    turn: Turn,
    before: Seen,
    seen: Seen,
    places: dict[tuple[int, int], Place | None],
    predictions: dict[int, Prediction],
) -> CacheRow:
    holds, expected = law(before.spent, seen.spent)
    if before.rounds:  # the counters of several passes: no state of the cache
        holds, expected = None, None
    gap = None if before.start is None or seen.start is None else seen.start - before.start
    predicted = predictions.get(seen.n)
    cause: Cause | None = None
    again = 0
    pair = (before.n, seen.n)
    place = places.get(pair)
    if holds is False and expected is not None and seen.spent.read is not None:
        if seen.spent.read > expected:
            cause = "written_elsewhere"
        else:
            cause = cause_of(turn, before, seen, place, pair in places, gap, predicted)
            if cause not in ("compaction", "cleared", "context_editing"):  # what is written then is new
                again = min(expected - seen.spent.read, seen.spent.written or 0)
    return CacheRow(seen, before.n, holds, expected, cause, again, gap, _ttl(before), place, predicted)


def cause_of(
    turn: Turn,
    before: Seen,
    seen: Seen,
    place: Place | None,
    compared: bool,
    gap: float | None,
    predicted: Prediction | None,
) -> Cause:
    """Why a request read less than the one before it had left in the cache."""
    if turn.step in ("compacted", "cleared"):
        return "compaction" if turn.step == "compacted" else "cleared"
    if before.model and seen.model and model_of(before.model).base != model_of(seen.model).base:
        return "model"
    if seen.edited:
        return "context_editing"
    if not compared or before.prompt is None or seen.prompt is None:
        ttl = SECONDS[_ttl(before) or "5m"]
        return "expired" if gap is not None and gap > ttl else "unknown"
    if place is not None:
        return _cause_of_place(place)
    if before.prompt.images != seen.prompt.images:
        return "images"
    return _unchanged(before, seen, gap, predicted)


def _unchanged(before: Seen, seen: Seen, gap: float | None, predicted: Prediction | None) -> Cause:
    """The later prompt continues the earlier one, and yet it was not read."""
    if not (seen.prompt and seen.prompt.marks):
        return "no_breakpoint"
    minimum = cache_minimum(seen.model)
    total = seen.spent.total_input
    if minimum is not None and total is not None and total < minimum:
        return "below_minimum"
    if predicted is not None and predicted.why is not None and (predicted.read or 0) <= (seen.spent.read or 0):
        return "expired" if predicted.why == "expired" else "concurrent"
    if before.begun is not None and seen.start is not None and before.begun > seen.start:
        return "concurrent"
    if gap is not None and gap > SECONDS[_ttl(before) or "5m"]:
        return "expired"
    if before.prompt and before.prompt.marks and _too_far(before.prompt, seen.prompt):
        return "look_back"
    if not seen.first_party and not seen.spent.read and before.billing != seen.billing:
        return "billing_header"
    return "unexplained"


def _too_far(before: CachedPrompt, prompt: CachedPrompt) -> bool:
    """Whether none of the earlier request's breakpoints lies within the look-back of a later one's."""
    written = {mark.prefix for mark in before.marks}
    return not any(prefix in written for mark in prompt.marks for prefix, _ in mark.back)


_SETTINGS: Final[dict[str, Cause]] = {
    "model": "model",
    "tool_choice": "tool_choice",
    "thinking": "thinking",
    "output_config": "effort",
    "speed": "speed",
    "tool added": "tools_added",
    "tool removed": "tools_removed",
    "tool reordered": "tools_reordered",
}


def _cause_of_place(place: Place) -> Cause:
    if place.change == "not known":
        return "unknown"
    if place.change in _SETTINGS:
        return _SETTINGS[place.change]
    if place.field == "tools":
        return "tools_changed"
    if place.field == "system":
        return "system"
    return "message_rewritten" if place.field == "messages" else "settings"


def _ttl(seen: Seen) -> str | None:
    """How long what a request wrote, or read again, lives: by its usage, else by its breakpoints."""
    if seen.spent.written_1h:
        return "1h"
    if seen.spent.written_5m:
        return "5m"
    marks = seen.prompt.marks if seen.prompt is not None else ()
    return marks[-1].ttl if marks else None
