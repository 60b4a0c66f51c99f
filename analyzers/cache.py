"""The chain law: on a healthy chain each request reads what the one before it read and wrote.

``cache_read(n) == cache_read(n-1) + cache_creation(n-1)``, thread by thread (published law). A row where it does not
hold is a break when less was read than was there: what should have been read is written again. Each break is told with
the request it should have continued, where the two prompts part, and the cause in the documentation's terms. What
cannot be known is ``unknown``; what should not have happened by any rule is ``unexplained``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from analyzers.cache_causes import Cause
from analyzers.cache_model import Prediction
from analyzers.cache_positions import SECONDS, Spotted
from analyzers.cache_prompt import CachedPrompt
from analyzers.first_difference import Place
from analyzers.lineage import Thread, Turn
from analyzers.models import cache_minimum, model_of
from analyzers.spent import NOTHING, Spent
from analyzers.terms import Terms


@dataclass(frozen=True, slots=True)
class Seen:
    """What of one exchange the cache is judged by. Times in seconds since the epoch. ``edited``: the answer tells of
    edits that the server applied; ``verdict``: the server's own diagnosis of a miss, None when it gave none.
    ``rounds``: its counters are of several passes, so they are no state of the cache; ``billed``: all passes together.
    ``lives``: the times to live of what it wrote, by its usage; none when that does not say. ``billing``: digest of
    the client's billing line; ``billing_folded``: that line was folded into one with the text after it;
    ``first_party``: the vendor's own API was asked, which ignores that line; ``terms``: what it was served on, None:
    the standard ones; ``edits``: digest of those edits; ``host``: which was asked, None where nothing says so.
    ``failed``: the answer was an error, or there was none to be had, and it has no counters."""

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
    billed: Spent = NOTHING
    lives: tuple[str, ...] = ()
    billing: bytes | None = None
    billing_folded: bool = False
    first_party: bool = True
    terms: Terms | None = None
    edits: bytes | None = None
    host: str | None = None
    failed: bool = False

    @property
    def ttl_mismatch(self) -> tuple[str, str] | None:
        """The times to live that were asked for, and those that were given, where one was given that was not asked
        for. A server's own tools write for five minutes unasked: nothing is said of such calls."""
        asked = sorted({mark.ttl for mark in self.prompt.marks}) if self.prompt is not None else []
        if not asked or self.rounds or set(self.lives) <= set(asked):
            return None
        return "/".join(asked), "/".join(self.lives)


@dataclass(frozen=True, slots=True)
class CacheRow:
    """One request of a chain. ``holds`` None: the first of its thread, or a counter is unknown. ``expected``: what the
    law says it reads; ``again``: tokens that were written although they had been in the cache, ``resent``: such as
    were paid for as plain input, None where a counter that says it is unknown; ``place``: where its
    prompt parts from the one it should have continued. ``gap``: seconds since the start of that one; ``ttl``: how long
    that one's prefix lives. ``cause``: also of what is no break (below the minimum, sent at once, cleared)."""

    seen: Seen
    follows: int | None
    holds: bool | None
    expected: int | None
    cause: Cause | None
    again: int | None
    gap: float | None
    ttl: str | None
    place: Place | None
    predicted: Prediction | None = None
    resent: int | None = 0

    @property
    def is_judged(self) -> bool:
        """Whether it is known if it is a break: the first of a thread, which has nothing to read, is none."""
        return self.follows is None or self.holds is not None

    @property
    def outlived(self) -> bool:
        """Whether what it should have read had expired by then, whatever else broke the chain."""
        return self.holds is False and self.ttl is not None and _outlived(self.gap, self.ttl)

    @property
    def broken(self) -> bool:
        """Whether less is known to have been read than was there. It was not there yet for a request that was sent at
        once."""
        return self.holds is False and self.cause not in ("written_elsewhere", "concurrent")


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
    for before, turn in _pairs(thread, seen):
        holds, expected = law(seen[before.n - 1].spent, seen[turn.n - 1].spent)
        read = seen[turn.n - 1].spent.read
        if holds is False and expected is not None and read is not None and read < expected:
            pairs.append((before.n, turn.n))
    return pairs


def chain(
    thread: Thread,
    seen: Sequence[Seen],
    places: dict[tuple[int, int], Place | None],
    predictions: dict[int, Prediction],
) -> Chain:
    """The rows of a thread. ``seen``: of all exchanges by number from 1; ``places``: where compared prompts part, None
    where the later one continues the earlier."""
    first = _requests(thread, seen)[0]
    rows = [_first(first, seen[first.n - 1], predictions)]
    ttl: str | None = None
    for before, turn in _pairs(thread, seen):
        earlier = seen[before.n - 1]
        ttl = _ttl(earlier, ttl)
        rows.append(_row(turn, earlier, seen[turn.n - 1], places, predictions, ttl))
    return Chain(thread.session, thread.agent, thread.forked_from, tuple(rows))


def _requests(thread: Thread, seen: Sequence[Seen]) -> list[Turn]:
    """The turns of a thread, and before each those of its failed attempts that had got as far as being counted: what
    they wrote is there for the next."""
    out: list[Turn] = []
    for turn in thread.turns:
        tried = [n for n in turn.attempts if seen[n - 1].spent.read is not None]
        if not tried:
            out.append(turn)
            continue
        out.append(replace(turn, n=tried[0], attempts=[]))
        out += [replace(turn, n=n, step="continues", attempts=[]) for n in (*tried[1:], turn.n)]
    return out


def _pairs(thread: Thread, seen: Sequence[Seen]) -> list[tuple[Turn, Turn]]:
    return list(pairwise(_requests(thread, seen)))


def _first(turn: Turn, seen: Seen, predictions: dict[int, Prediction]) -> CacheRow:
    predicted = predictions.get(seen.n)
    cause: Cause | None = "cleared" if turn.step == "cleared" else None
    if _not_cacheable(seen):
        cause = "below_minimum"
    elif predicted is not None and predicted.why == "concurrent" and (predicted.read or 0) == seen.spent.read:
        cause = "concurrent"
    return CacheRow(seen, None, None, None, cause, 0, None, None, None, predicted)


def _row(
    turn: Turn,
    before: Seen,
    seen: Seen,
    places: dict[tuple[int, int], Place | None],
    predictions: dict[int, Prediction],
    ttl: str | None,
) -> CacheRow:
    holds, expected = law(before.spent, seen.spent)
    if before.rounds or seen.rounds:  # the counters of several passes: no state of the cache
        holds, expected = None, None
    gap = None if before.start is None or seen.start is None else seen.start - before.start
    cause: Cause | None = "below_minimum" if _not_cacheable(seen) else None
    again, resent = (None, None) if holds is None else (0, 0)
    place = places.get((before.n, seen.n))
    if holds is False and expected is not None and seen.spent.read is not None:
        if seen.spent.read > expected:
            cause = "written_elsewhere"
        else:
            compared = (before.n, seen.n) in places
            cause, place = cause_of(turn, before, seen, place, compared, gap, ttl, predictions.get(seen.n))
            if cause not in _NOT_AGAIN:
                again, resent = _paid_again(expected - seen.spent.read, seen.spent, continues=cause in _CONTINUES)
    return CacheRow(seen, before.n, holds, expected, cause, again, gap, ttl, place, predictions.get(seen.n), resent)


def _paid_again(lost: int, spent: Spent, *, continues: bool) -> tuple[int | None, int | None]:
    """How many of the tokens that were there and were not read were written again, and how many were sent as plain
    input, which they are known to be where the prompt ``continues`` the earlier one."""
    again = None if spent.written is None else min(lost, spent.written)
    if not continues or again == lost:
        return again, 0
    return again, None if again is None or spent.fresh is None else min(lost - again, spent.fresh)


_NOT_AGAIN: Final = ("compaction", "cleared", "context_editing", "concurrent")
"""Causes after which what is written was not in the cache before."""

_CONTINUES: Final = (
    "no_breakpoint", "breakpoint_moved", "below_minimum", "look_back", "expired", "billing_header", "ttl",
    "unexplained",
)  # fmt: skip
"""Causes of a break between two prompts of which the later one begins with all of the earlier one."""


def cause_of(
    turn: Turn,
    before: Seen,
    seen: Seen,
    place: Place | None,
    compared: bool,
    gap: float | None,
    ttl: str | None,
    predicted: Prediction | None,
) -> tuple[Cause, Place | None]:
    """Why a request read less than the one before it had left in the cache, and where its prompt parts from that.
    ``ttl``: how long that lives."""
    if turn.step in ("compacted", "cleared"):
        return ("compaction" if turn.step == "compacted" else "cleared"), place
    if before.model and seen.model and model_of(before.model).base != model_of(seen.model).base:
        return "model", place
    if before.host != seen.host and None not in (before.host, seen.host):
        return "host", place
    known = compared and before.prompt is not None and seen.prompt is not None
    if place is not None and place.field == "system" and before.billing_folded and seen.billing_folded:
        return ("unknown" if seen.first_party or seen.spent.read else "billing_header"), place
    if place is not None and place.field in ("model", "tools", "system"):
        return _cause_of_place(place), place
    if _all_gone(seen, gap, ttl):  # what changes further on would have left the beginning
        return "expired", place
    if place is not None and place.field != "messages":
        return _cause_of_place(place), place
    if seen.edited and seen.edits != before.edits:
        return "context_editing", place
    if before.prompt is None or seen.prompt is None or not known:
        return ("expired" if _outlived(gap, ttl) else "unknown"), place
    thought = before.prompt.thought
    if thought is not None and (place is None or seen.prompt.thought is None) and thought != seen.prompt.thought:
        return "thinking_stripped", Place("messages", thought.path, "thinking removed", thought.chars, None)
    for cause, one, other in _CAME_OR_WENT:
        if (one(before.prompt) is None) != (one(seen.prompt) is None):
            return cause, _came_or_went(other, one(before.prompt), one(seen.prompt))
    if place is not None:
        return _cause_of_place(place), place
    return _unchanged(before, seen, before.prompt, seen.prompt, gap, ttl, predicted), None


_CAME_OR_WENT: Final[tuple[tuple[Cause, Callable[[CachedPrompt], Spotted | None], str], ...]] = (
    ("citations", lambda prompt: prompt.cited, "citations"),
    ("images", lambda prompt: prompt.image, "image"),
)
"""What counts before the messages wherever it stands in them (documentation of prompt caching)."""


def _came_or_went(what: str, before: Spotted | None, now: Spotted | None) -> Place:
    shown = now or before
    change = f"{what} appeared" if now is not None else f"{what} removed"
    path = shown.path if shown is not None else "messages"
    return Place("messages", path, change, before and before.chars, now and now.chars)


def _outlived(gap: float | None, ttl: str | None) -> bool:
    """Whether an entry has expired; where its time to live is not known, whether it has by the longest."""
    return gap is not None and gap > SECONDS[ttl or "1h"]


def _all_gone(seen: Seen, gap: float | None, ttl: str | None) -> bool:
    """Whether nothing was read, and what was there had expired."""
    asks = seen.prompt is None or bool(seen.prompt.marks)
    return seen.spent.read == 0 and asks and _outlived(gap, ttl) and not _not_cacheable(seen)


def _not_cacheable(seen: Seen) -> bool:
    """Whether a request has breakpoints, but fewer tokens than its model caches."""
    minimum, spent = cache_minimum(seen.model), seen.spent
    if minimum is None or seen.prompt is None or not seen.prompt.marks or spent.read or spent.written:
        return False
    return spent.total_input is not None and spent.total_input < minimum


def _unchanged(
    before: Seen,
    seen: Seen,
    one: CachedPrompt,
    other: CachedPrompt,
    gap: float | None,
    ttl: str | None,
    predicted: Prediction | None,
) -> Cause:
    """The later prompt continues the earlier one, and yet it was not read."""
    if not other.marks:
        return "no_breakpoint"
    if _not_cacheable(seen):
        return "below_minimum"
    if predicted is not None and predicted.why is not None and (predicted.read or 0) <= (seen.spent.read or 0):
        return "expired" if predicted.why == "expired" else "concurrent"
    if before.begun is not None and seen.start is not None and before.begun > seen.start:
        return "concurrent"
    if _outlived(gap, ttl or "5m"):
        return "expired"
    if one.marks and not any(prefix == one.marks[-1].prefix for mark in other.marks for prefix, _ in mark.back):
        return "breakpoint_moved" if other.marks[-1].chars < one.marks[-1].chars else "look_back"
    if not seen.first_party and before.billing != seen.billing and (not seen.spent.read or _reads_tools(other)):
        return "billing_header"
    lives = {mark.prefix: mark.ttl for mark in one.marks}
    if any(lives.get(mark.prefix, mark.ttl) != mark.ttl for mark in other.marks) or _lives(one) != _lives(other):
        return "ttl"
    return "unexplained"


def _reads_tools(prompt: CachedPrompt) -> bool:
    """Whether a breakpoint stands before the system prompt, so that a change there leaves something to read."""
    return any(mark.path.startswith("tools") for mark in prompt.marks)


def _lives(prompt: CachedPrompt) -> set[str]:
    return {mark.ttl for mark in prompt.marks}


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


def _ttl(seen: Seen, before: str | None) -> str | None:
    """How long the prefix of a request lives: by what its usage says it wrote, else as before, else by what its last
    breakpoint asks for. With both, the end of the prefix is what lives the shorter time: 1h breakpoints come first."""
    if seen.lives:
        return "5m" if "5m" in seen.lives else "1h"
    marks = seen.prompt.marks if seen.prompt is not None else ()
    return before or (marks[-1].ttl if marks else None)
