"""The prompt cache, modelled: which entries there are, and what a request would read and write.

The documented rules: an entry is written at each breakpoint and lives from the START of the request that wrote or last
read it; it can be read once the answer that wrote it has begun; a breakpoint looks back over twenty positions; a prefix
below the model's minimum is not cached; what lies before the last 1h breakpoint is written for an hour, the rest for
five minutes. Positions are known in characters; in tokens only where a server counted them: at the last breakpoint of
every answered request (read + written), at its last 1h breakpoint (read + written for an hour), and where a read ended.
Between such places tokens are estimated by characters, and said to be.

The model runs beside the recording: it is asked before each request, then told what the server did, so that one
surprise does not spoil all that follows. Entries that nobody recorded are not known to it. Pure; O(breakpoints ×
twenty) a request, and one entry for each breakpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from analyzers.cache_positions import SECONDS
from analyzers.cache_prompt import CachedPrompt, Mark
from analyzers.digests import Digest
from analyzers.models import cache_minimum
from analyzers.spent import NOTHING, Spent

CLOCKS: Final = 1.0
"""Seconds by which what the recorder saw and what the server saw may lie apart."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A cached prefix. ``since``: start of the request that wrote or last read it; ``least`` and ``ttl``: seconds that
    it lives at least and at most; ``begun``: when the answer that wrote it began, None when that is not known;
    ``tokens``: of the prefix, None as long as no server counted it; ``writer``: number of that request; ``rendered``:
    the settings it was last used with."""

    since: float
    least: float
    ttl: float
    begun: float | None
    tokens: int | None
    chars: int
    writer: int
    rendered: Digest = b""

    def alive(self, start: float) -> bool:
        return start - self.since < self.ttl

    def readable(self, start: float) -> bool:
        return self.alive(start) and (self.begun is None or self.begun <= start)

    def sure(self, start: float) -> bool:
        """Whether the clocks leave no doubt of what ``readable`` says."""
        age = start - self.since
        if age > self.ttl + CLOCKS:
            return True
        begin = self.begun is not None and (self.begun <= start or self.begun > start + CLOCKS)
        return begin and age < self.least - CLOCKS


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a request should read and write, in tokens; None where the model cannot know. ``exact`` False: a position
    was estimated by its characters, or it depends on a moment that is not known well enough. ``entry``: what it reads,
    and ``mark``: the breakpoint that finds it. ``missed``: an entry that would have been read, but for ``why``: it had
    expired, or its answer had not begun."""

    read: int | None
    written: int | None
    written_5m: int | None
    written_1h: int | None
    exact: bool = True
    entry: Entry | None = None
    mark: Mark | None = None
    missed: Entry | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as the model sees it. Times in seconds since the epoch; ``begun`` None: the answer's begin is not
    known. ``odd``: its counters are no positions in this prompt (several passes, edits by the server)."""

    n: int
    start: float
    begun: float | None
    model: str | None
    prompt: CachedPrompt
    odd: bool = False


NOTHING_CACHED: Final = Prediction(0, 0, 0, 0)


@dataclass(slots=True)
class _Found:
    """What a look back finds. ``doubt``: characters of the longest entry of which it is not sure whether it can be
    read."""

    entry: Entry | None = None
    mark: Mark | None = None
    missed: Entry | None = None
    why: str | None = None
    doubt: int = -1


@dataclass(slots=True)
class CacheModel:
    """The entries of one workspace."""

    entries: dict[Digest, Entry] = field(default_factory=dict)

    def predict(self, asked: Asked, counted: Spent) -> Prediction:
        """What the request reads and writes. ``counted``: what the server counted of it; only its whole input and its
        uncached part are used, which no model of the cache can know."""
        marks = asked.prompt.marks
        if not marks or _is_below(asked.model, counted.total_input):
            return NOTHING_CACHED
        found = self._found(asked, counted)
        cached = cached_tokens(counted)
        read = 0 if found.entry is None else found.entry.tokens
        exact = read is not None and found.doubt <= (found.entry.chars if found.entry is not None else -1)
        if found.entry is not None and read is None:
            read = _estimated(found.entry.chars, asked, counted)
        written = None if read is None or cached is None else max(cached - read, 0)
        hour, split_exact = self._for_an_hour(asked, counted, found, read, written)
        five = None if hour is None or written is None else written - hour
        exact = exact and split_exact and not asked.odd
        return Prediction(read, written, five, hour, exact, found.entry, found.mark, found.missed, found.why)

    def _back(self, mark: Mark) -> Iterator[tuple[Digest, Entry]]:
        """The entries that a breakpoint comes upon, the longest first, with their characters in this very prompt: what
        is written differently and means the same has other lengths."""
        for prefix, chars in mark.back:
            if (entry := self.entries.get(prefix)) is not None:
                yield prefix, entry if entry.chars == chars else replace(entry, chars=chars)

    def _found(self, asked: Asked, counted: Spent) -> _Found:
        """The longest entry that a breakpoint finds; and the longest that it found and could not use, with why."""
        found = _Found()
        for mark in asked.prompt.marks:
            for _, entry in self._back(mark):
                small = entry.tokens is None and _is_below(asked.model, _estimated(entry.chars, asked, counted))
                if small or entry.tokens is None or not entry.sure(asked.start):
                    found.doubt = max(found.doubt, entry.chars + (entry.tokens is None))
                if small:
                    continue
                if entry.readable(asked.start):
                    if found.entry is None or entry.chars > found.entry.chars:
                        found.entry, found.mark = entry, mark
                    break
                if found.missed is None or entry.chars > found.missed.chars:
                    found.missed, found.why = entry, "concurrent" if entry.alive(asked.start) else "expired"
        if found.entry is not None and found.missed is not None and found.missed.chars <= found.entry.chars:
            found.missed = found.why = None
        if found.entry is not None and found.entry.rendered != asked.prompt.rendered:  # some lose it then
            found.doubt = max(found.doubt, found.entry.chars + 1)
        if found.entry is not None and not found.entry.sure(asked.start):
            found.doubt = max(found.doubt, found.entry.chars + 1)
        return found

    def _for_an_hour(
        self, asked: Asked, counted: Spent, found: _Found, read: int | None, written: int | None
    ) -> tuple[int | None, bool]:
        """How much of the write lives an hour, and whether that is exact: up to the last 1h breakpoint."""
        last = _last_hour(asked.prompt)
        if last is None or written == 0 or (found.entry is not None and found.entry.chars >= last.chars):
            return 0, True
        if last is asked.prompt.marks[-1]:
            return written, True
        if read is None or written is None:
            return None, False
        known = self.entries.get(last.prefix)
        place = known.tokens if known is not None else None
        exact = place is not None
        if place is None:
            place = _estimated(last.chars, asked, counted) or 0
            place = 0 if _is_below(asked.model, place) else place
        return min(max(place - read, 0), written), exact

    def told(self, asked: Asked, counted: Spent) -> None:
        """The request was answered: its breakpoints are entries now, and what the server read lives on."""
        if asked.odd:
            counted = NOTHING
        marks = asked.prompt.marks
        cached = cached_tokens(counted)
        if not marks or cached == 0 or _is_below(asked.model, counted.total_input):
            return
        self._learn(asked, counted)
        read = counted.read or 0
        for mark in marks:
            for prefix, entry in self._back(mark):
                if read and entry.readable(asked.start) and (entry.tokens or 0) <= read:
                    since = max(entry.since, asked.start)
                    self.entries[prefix] = replace(entry, since=since, rendered=asked.prompt.rendered)
                    break
        for mark in marks:
            self._write(mark, asked, counted)

    def _write(self, mark: Mark, asked: Asked, counted: Spent) -> None:
        """An entry at a breakpoint: the one that is there lives on if it was read, else there is a new one."""
        before = self.entries.get(mark.prefix)
        tokens = before.tokens if before is not None else None
        if mark is asked.prompt.marks[-1]:
            tokens = cached_tokens(counted) or tokens
        elif mark is _last_hour(asked.prompt) and counted.written_1h and counted.written_5m:
            tokens = tokens if counted.read is None else counted.read + counted.written_1h
        least, most = _lives(mark, asked.prompt, counted)
        if before is None or not before.alive(asked.start):
            entry = Entry(asked.start, least, most, asked.begun, tokens, mark.chars, asked.n, asked.prompt.rendered)
        elif counted.read and before.readable(asked.start) and (before.tokens or 0) <= counted.read:
            entry = replace(before, ttl=max(before.ttl, SECONDS[mark.ttl]), tokens=tokens)
        else:
            begun = asked.begun
            if counted.read is None or not before.readable(asked.start):  # two wrote it: the first answer counts
                begun = None if begun is None or before.begun is None else min(begun, before.begun)
            least, most = min(before.least, least), max(before.ttl, most)
            entry = Entry(asked.start, least, most, begun, tokens, mark.chars, asked.n, asked.prompt.rendered)
        self.entries[mark.prefix] = entry

    def _learn(self, asked: Asked, counted: Spent) -> None:
        """A read that ends at a breakpoint tells how many tokens lie before it: where only one entry can be meant."""
        if not counted.read:
            return
        met = {
            prefix: entry
            for mark in asked.prompt.marks
            for prefix, entry in self._back(mark)
            if entry.readable(asked.start)
        }
        known = [entry for entry in met.values() if entry.tokens is not None]
        unknown = [(prefix, entry) for prefix, entry in met.items() if entry.tokens is None]
        if len(unknown) != 1 or any(entry.tokens == counted.read for entry in known):
            return
        prefix, entry = unknown[0]
        if all((other.chars < entry.chars) == ((other.tokens or 0) < counted.read) for other in known):
            self.entries[prefix] = replace(entry, tokens=counted.read)


def cached_tokens(counted: Spent) -> int | None:
    """Tokens up to the last breakpoint: what was read and written together. None when the server did not say."""
    return None if counted.read is None or counted.written is None else counted.read + counted.written


def _estimated(chars: int, asked: Asked, counted: Spent) -> int | None:
    """Tokens of a beginning of the prompt by its share of the characters: of those up to the last breakpoint where the
    server counted that, else of all."""
    cached, total = cached_tokens(counted), counted.total_input
    if cached:
        whole = asked.prompt.marks[-1].chars
        return round(cached * chars / whole) if whole else None
    return round(total * chars / asked.prompt.chars) if total is not None and asked.prompt.chars else None


def _is_below(model: str | None, tokens: int | None) -> bool:
    """Whether a prefix of so many tokens is not cached. False where it cannot be told."""
    minimum = cache_minimum(model)
    return minimum is not None and tokens is not None and tokens < minimum


def _last_hour(prompt: CachedPrompt) -> Mark | None:
    return next((mark for mark in reversed(prompt.marks) if mark.ttl == "1h"), None)


def _lives(mark: Mark, prompt: CachedPrompt, counted: Spent) -> tuple[float, float]:
    """How long an entry that is written at a breakpoint lives at least and at most, in seconds: as long as was asked
    for, unless all that was written has another time. That is told of the last breakpoint only, since an earlier one
    may stand in what was read."""
    asked = given = SECONDS[mark.ttl]
    if counted.written_5m and counted.written_1h == 0:
        given = SECONDS["5m"]
    elif counted.written_1h and counted.written_5m == 0:
        given = SECONDS["1h"]
    return (given, given) if mark is prompt.marks[-1] else (min(asked, given), max(asked, given))
