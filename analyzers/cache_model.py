"""The prompt cache, modelled: which entries there are, and what a request would read and write.

The documented rules: an entry is written at each breakpoint and lives from the START of the request that wrote or last
read it; it can be read once the answer that wrote it has begun; a breakpoint looks back over twenty positions; a prefix
below the model's minimum is not cached; what lies before the last 1h breakpoint is written for an hour, the rest for
five minutes. Positions are known in characters; in tokens only where a server counted them: at the last breakpoint of
every answered request (read + written). Between such places tokens are estimated by characters, and said to be.

The model runs beside the recording: it is asked before each request, then told what the server did, so that one
surprise does not spoil all that follows. Pure; O(breakpoints × twenty) a request, and one entry for each breakpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from analyzers.cache_prompt import SECONDS, CachedPrompt, Mark
from analyzers.digests import Digest
from analyzers.models import cache_minimum
from analyzers.spent import Spent


@dataclass(frozen=True, slots=True)
class Entry:
    """A cached prefix. ``since``: start of the request that wrote or last read it; ``begun``: when the answer that
    wrote it began; ``tokens``: of the prefix, None as long as no server counted it; ``writer``: number of that
    request."""

    since: float
    ttl: float
    begun: float
    tokens: int | None
    chars: int
    writer: int

    def alive(self, start: float) -> bool:
        return start - self.since <= self.ttl


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a request should read and write, in tokens; None where the model cannot know. ``exact`` False: a position
    was estimated by its characters. ``entry``: what it reads, and ``mark``: the breakpoint that finds it. ``missed``:
    an entry that would have been read, but for ``why``: it had expired, or its answer had not begun."""

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
    known."""

    n: int
    start: float
    begun: float | None
    model: str | None
    prompt: CachedPrompt


NOTHING_CACHED: Final = Prediction(0, 0, 0, 0)


@dataclass(slots=True)
class CacheModel:
    """The entries of one workspace."""

    entries: dict[Digest, Entry] = field(default_factory=dict)

    def predict(self, asked: Asked, counted: Spent) -> Prediction:
        """What the request reads and writes. ``counted``: what the server counted of it; only its whole input and its
        uncached part are used, which no model of the cache can know."""
        marks = self._cacheable(asked, counted)
        if not marks:
            return NOTHING_CACHED
        entry, mark, missed, why = self._found(asked, marks)
        cached = cached_tokens(counted)
        read = 0 if entry is None else entry.tokens
        exact = entry is None or entry.tokens is not None
        if entry is not None and read is None and cached is not None and asked.prompt.marks[-1].chars:
            read = round(cached * entry.chars / asked.prompt.marks[-1].chars)
        written = None if read is None or cached is None else max(cached - read, 0)
        hour, split_exact = self._for_an_hour(asked, marks, cached, read, written)
        five = None if hour is None or written is None else written - hour
        return Prediction(read, written, five, hour, exact and split_exact, entry, mark, missed, why)

    def _cacheable(self, asked: Asked, counted: Spent) -> list[Mark]:
        """The breakpoints above the model's minimum."""
        minimum = cache_minimum(asked.model)
        cached = cached_tokens(counted)
        total = counted.total_input
        out = []
        for mark in asked.prompt.marks:
            known = self.entries.get(mark.prefix)
            tokens = known.tokens if known is not None else None
            if tokens is None:
                basis = cached if cached else total
                whole = asked.prompt.marks[-1].chars if cached else asked.prompt.chars
                tokens = round(basis * mark.chars / whole) if basis is not None and whole else None
            if minimum is None or tokens is None or tokens >= minimum:
                out.append(mark)
        return out

    def _found(self, asked: Asked, marks: list[Mark]) -> tuple[Entry | None, Mark | None, Entry | None, str | None]:
        """The longest entry that a breakpoint finds; and the longest that it found and could not use, with why."""
        best: tuple[Entry, Mark] | None = None
        missed: tuple[Entry, str] | None = None
        for mark in marks:
            for prefix, chars in mark.back:
                entry = self.entries.get(prefix)
                if entry is None:
                    continue
                if not entry.alive(asked.start) or entry.begun > asked.start:
                    why = "expired" if not entry.alive(asked.start) else "concurrent"
                    if missed is None or chars > missed[0].chars:
                        missed = entry, why
                    continue
                if best is None or entry.chars > best[0].chars:
                    best = entry, mark
                break
        if best is None:
            return None, None, *(missed or (None, None))
        if missed is not None and missed[0].chars > best[0].chars:
            return *best, *missed
        return *best, None, None

    def _for_an_hour(
        self, asked: Asked, marks: list[Mark], cached: int | None, read: int | None, written: int | None
    ) -> tuple[int | None, bool]:
        """How much of the write lives an hour, and whether that is exact: up to the last 1h breakpoint."""
        hourly = [mark for mark in marks if mark.ttl == "1h"]
        if not hourly:
            return 0, True
        if hourly[-1] is marks[-1]:
            return written, True
        if cached is None or read is None or written is None:
            return None, False
        known = self.entries.get(hourly[-1].prefix)
        exact = known is not None and known.tokens is not None
        place = known.tokens if known is not None and known.tokens is not None else None
        if place is None:
            place = round(cached * hourly[-1].chars / marks[-1].chars) if marks[-1].chars else 0
        return min(max(place - read, 0), written), exact

    def told(self, asked: Asked, counted: Spent) -> None:
        """The request was answered: its breakpoints are entries now, and what the server read lives on."""
        marks = self._cacheable(asked, counted)
        cached = cached_tokens(counted)
        if not marks or (cached == 0 and counted.read is not None):
            return
        begun = asked.begun if asked.begun is not None else asked.start
        read = counted.read or 0
        for mark in marks:
            for prefix, _ in mark.back:
                entry = self.entries.get(prefix)
                if entry is not None and entry.alive(asked.start) and (entry.tokens or 0) <= read and read:
                    self.entries[prefix] = replace(entry, since=asked.start)
                    break
        for mark in marks:
            before = self.entries.get(mark.prefix)
            tokens = cached if mark is marks[-1] else before.tokens if before is not None else None
            if before is not None and before.alive(asked.start) and before.begun <= asked.start:
                ttl = max(before.ttl, SECONDS[mark.ttl])
                self.entries[mark.prefix] = replace(before, since=asked.start, ttl=ttl, tokens=tokens or before.tokens)
            else:
                self.entries[mark.prefix] = Entry(asked.start, SECONDS[mark.ttl], begun, tokens, mark.chars, asked.n)
        self._learn(asked, counted)

    def _learn(self, asked: Asked, counted: Spent) -> None:
        """A read that ends at a breakpoint tells how many tokens lie before it: where only one entry can be meant."""
        if not counted.read:
            return
        unknown = [
            (prefix, entry)
            for mark in asked.prompt.marks
            for prefix, _ in mark.back
            if (entry := self.entries.get(prefix)) is not None and entry.writer != asked.n
        ]
        if any(entry.tokens == counted.read for _, entry in unknown):
            return
        open_ = [(prefix, entry) for prefix, entry in unknown if entry.tokens is None]
        if len({prefix for prefix, _ in open_}) == 1:
            prefix, entry = open_[0]
            self.entries[prefix] = replace(entry, tokens=counted.read)


def cached_tokens(counted: Spent) -> int | None:
    """Tokens up to the last breakpoint: what was read and written together. None when the server did not say."""
    return None if counted.read is None or counted.written is None else counted.read + counted.written
