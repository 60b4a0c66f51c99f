"""Other ways to send a conversation, replayed on a thread: what they send, what they cost, and what they forget.

Each way decides for every request with which turn the history begins and what stands in the place of the turns before:
nothing (clear, window), a summary, or summaries and key facts (tiers). A history begins only where the user speaks,
since the result of a tool must follow its call; behind a summary it may begin anywhere, and keeps the call. The model's
answers are taken to be the recorded ones, whatever it forgot.

Priced without a prompt cache and with one of either lifetime, at the recorded times, by the documented rules
(``cache_replay``), with breakpoints after the system prompt, after what stands for forgotten turns, where the request
before ended, and at the end: the best that a client can do. When a history begins elsewhere than in the request before,
all behind the system prompt is a prefix that nobody wrote: that is the price of a moving window. Calls that summarise
are priced with it. Pure; O(requests × breakpoints × look-back) for each way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from analyzers.cache_prompt import LOOK_BACK
from analyzers.cache_replay import Asked, Place, Point, ReplayedCache
from analyzers.calls import Call
from analyzers.models import cache_minimum
from analyzers.price_book import PriceBook
from analyzers.price_parts import Priced
from analyzers.prices import price
from analyzers.replayed_talk import Asking, Talk, Unit
from analyzers.spent import Spent
from analyzers.terms import Terms

type Cache = Literal["none", "5m", "1h"]
type Way = Literal["full", "clear", "window", "summarise", "tiers"]

CACHES: Final[tuple[Cache, ...]] = ("none", "5m", "1h")


@dataclass(frozen=True, slots=True)
class Settings:
    """``every``: turns after which history is cleared or summarised; ``window``: most tokens of messages, ``keep``: how
    many are left when it is over that; ``summary``: tokens of a summary; ``whole``: newest turns kept as they are;
    ``summarised``: turns before these that each have a summary of ``turn_summary`` tokens; ``facts``: tokens of key
    facts that stand for all before."""

    every: int = 50
    window: int = 50_000
    keep: int = 50_000
    summary: int = 500
    whole: int = 50
    summarised: int = 500
    turn_summary: int = 50
    facts: int = 500


class Head(NamedTuple):
    """What stands in the place of forgotten turns. ``back``: shorter heads that this one begins with, longest first."""

    place: Place
    back: tuple[Place, ...] = ()


class Summarising(NamedTuple):
    """Calls of the model that are made before a request, with ``input`` tokens of the conversation. ``resends``: asked
    at the end of the conversation as it was last sent."""

    calls: int
    input: int
    output: int
    resends: bool


@dataclass(frozen=True, slots=True)
class Sending:
    """How one request is sent. ``first``: the unit that its history begins with."""

    first: int
    head: Head | None = None
    before: Summarising | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Turns that are no longer there word for word: at the end, at the most, and on average over all requests."""

    end: int
    most: int
    mean: float


@dataclass(frozen=True, slots=True)
class Replay:
    """One way with one cache. ``input``: tokens by counter, over all requests and summarising calls; ``output``: of
    answers and summaries, None where no answer has a count; ``usd_input``: the price of the input, ``usd``: with all
    answers and summaries, at least so much with ``at_least``: an answer's tokens are not known. None: a model has no
    price. ``summarising``: the part of it that summarising calls are: number, input, output, USD. ``largest``: tokens
    of the largest prompt, ``over``: number of requests above the limit."""

    way: Way
    cache: Cache
    input: Spent
    output: int | None
    usd_input: Decimal | None
    usd: Decimal | None
    at_least: bool
    summarising: tuple[int, int, int, Decimal | None]
    largest: int
    over: int | None
    forgotten: Forgotten


def replays(
    talk: Talk, settings: Settings, book: PriceBook, limit: int | None = None, caches: Sequence[Cache] = CACHES
) -> list[Replay]:
    """Every way with every cache. ``limit``: the most tokens of a prompt."""
    ways: dict[Way, list[Sending]] = {
        "full": [Sending(0)] * len(talk.askings),
        "clear": list(cleared(talk, settings.every)),
        "window": list(windowed(talk, settings.window, settings.keep)),
        "summarise": list(summarised(talk, settings.every, settings.summary)),
        "tiers": list(tiered(talk, settings)),
    }
    return [replay(way, cache, talk, sendings, book, limit) for way, sendings in ways.items() for cache in caches]


# The ways


def cleared(talk: Talk, every: int) -> Iterator[Sending]:
    """Begins anew with the first words of the user after every so many turns."""
    first = 0
    for asking in talk.askings:
        if asking.unit - first >= every and talk.units[asking.unit].speaks:
            first = asking.unit
        yield Sending(first)


def windowed(talk: Talk, window: int, keep: int) -> Iterator[Sending]:
    """The newest messages up to ``window`` tokens; when there are more, it is cut to ``keep``. The newest turn always
    stays, with all that its words began."""
    begins = [place for place, unit in enumerate(talk.units) if unit.speaks]
    first, at = 0, 0
    for asking in talk.askings:
        if asking.end - talk.units[first].begin > window:
            while at < len(begins) and begins[at] <= asking.unit:
                if begins[at] > first:
                    first = begins[at]
                    if asking.end - talk.units[first].begin <= keep:
                        break
                at += 1
        yield Sending(first)


def summarised(talk: Talk, every: int, size: int) -> Iterator[Sending]:
    """A summary in the place of all before, after every so many turns; the next one takes in the one before."""
    first, head = 0, None
    for asking in talk.askings:
        before = None
        if asking.unit - first >= every:
            first, head = asking.unit, Head(Place(("summary", asking.unit), size))
            before = Summarising(1, talk.units[first].begin, size, True)
        yield Sending(first, head, before)


def tiered(talk: Talk, settings: Settings) -> Iterator[Sending]:
    """The newest turns whole, a short summary of each of those before, key facts of the rest. A turn is summarised when
    it leaves the first tier, and taken into the facts when it leaves the second."""
    units, done = talk.units, 0
    for asking in talk.askings:
        first = max(asking.unit - settings.whole + 1, 0)
        oldest = max(first - settings.summarised, 0)  # turns of which facts are left
        before = _tier_calls(units, done, first, settings) if first > done else None
        done = first
        yield Sending(first, _tier_head(oldest, first, settings) if first else None, before)


def _tier_calls(units: Sequence[Unit], done: int, first: int, settings: Settings) -> Summarising:
    gone = max(first - settings.summarised, 0) - max(done - settings.summarised, 0)
    new = first - done
    return Summarising(
        new + gone,
        units[first].begin - units[done].begin + gone * (settings.facts + settings.turn_summary),
        new * settings.turn_summary + gone * settings.facts,
        False,
    )


def _tier_head(oldest: int, first: int, settings: Settings) -> Head:
    facts = settings.facts if oldest else 0

    def place(last: int) -> Place:
        return Place(("tiers", oldest, last), facts + (last - oldest) * settings.turn_summary)

    shorter = range(first - 1, max(oldest, first - LOOK_BACK), -1)
    return Head(place(first), tuple(place(last) for last in shorter))


# The replay


@dataclass(slots=True)
class _Sums:
    fresh: int = 0
    five: int = 0
    hour: int = 0
    read: int = 0
    output: int = 0
    usd_input: Decimal | None = Decimal(0)
    usd_output: Decimal | None = Decimal(0)

    def add(self, spent: Spent, output: int, usd: tuple[Decimal, Decimal] | None) -> None:
        self.fresh += spent.fresh or 0
        self.five += spent.written_5m or 0
        self.hour += spent.written_1h or 0
        self.read += spent.read or 0
        self.output += output
        self.usd_input = None if self.usd_input is None or usd is None else self.usd_input + usd[0]
        self.usd_output = None if self.usd_output is None or usd is None else self.usd_output + usd[1]

    @property
    def usd(self) -> Decimal | None:
        return None if self.usd_input is None or self.usd_output is None else self.usd_input + self.usd_output

    @property
    def total(self) -> int:
        return self.fresh + self.five + self.hour + self.read

    def spent(self) -> Spent:
        return Spent(self.fresh, self.five + self.hour, self.five, self.hour, self.read, 0)


@dataclass(slots=True)
class _Sender:
    """Sends the requests of one way through one cache. ``trail``: ends of earlier requests that the next one begins
    with, and their places in the look-back."""

    talk: Talk
    cache: Cache
    entries: ReplayedCache = field(default_factory=ReplayedCache)
    trail: list[tuple[Place, int]] = field(default_factory=list)
    same: tuple[object, ...] = ()

    def prompt(self, asking: Asking, sending: Sending) -> int:
        """Tokens of a whole prompt."""
        head = sending.head.place.tokens if sending.head is not None else 0
        return asking.fixed + head + asking.end - self.talk.units[sending.first].begin

    def send(self, asking: Asking, sending: Sending) -> Spent:
        total = self.prompt(asking, sending)
        if self.cache == "none":
            return Spent(total, 0, 0, 0, 0, 0)
        fixed = (asking.model, asking.fixed_key)
        same = (fixed, sending.head.place.prefix if sending.head is not None else None, sending.first)
        if same != self.same:
            self.trail, self.same = [], same
        points = list(self._before(asking, sending, fixed))
        if self.trail:
            points.append(self._point(self._back(self.trail[-1][1])))
        own = Place((same, asking.end), total)
        points.append(self._point([own, *self._back(asking.steps)]))
        if not self.trail or self.trail[-1][0] != own:
            self.trail.append((own, asking.steps))
        return self._spend(asking, points, total)

    def summarise(self, asking: Asking, last: tuple[Asking, Sending] | None, call: Summarising) -> tuple[Spent, int]:
        """What summarising calls spend, and the tokens of their largest prompt. One that resends asks behind the last
        answer, and leaves no entry of its own there."""
        if not call.resends or last is None:
            total = call.input + (asking.fixed if call.resends else 0)
            return Spent(total, 0, 0, 0, 0, 0), -(-total // max(call.calls, 1))
        before, sending = last
        total = self.prompt(before, sending) + asking.before - before.end
        if self.cache == "none" or not self.trail:
            return Spent(total, 0, 0, 0, 0, 0), total
        points = list(self._before(before, sending, (before.model, before.fixed_key)))
        points.append(self._point(self._back(self.trail[-1][1])))
        return self._spend(asking, points, total), total

    def _spend(self, asking: Asking, points: Sequence[Point], total: int) -> Spent:
        asked = Asked(asking.start, asking.begun, cache_minimum(asking.model) or 0)
        return self.entries.spend(asked, points, total)

    def _before(self, asking: Asking, sending: Sending, fixed: object) -> Iterator[Point]:
        """The breakpoints before the messages."""
        if asking.fixed:
            yield self._point([Place(fixed, asking.fixed)])
        if sending.head is not None:
            places = (sending.head.place, *sending.head.back)
            yield self._point([Place((fixed, prefix), asking.fixed + tokens) for prefix, tokens in places])

    def _point(self, back: Iterable[Place]) -> Point:
        return Point("1h" if self.cache == "1h" else "5m", tuple(back))

    def _back(self, steps: int) -> list[Place]:
        """The ends of earlier requests that a breakpoint at this place looks back to."""
        found = []
        for place, passed in reversed(self.trail):
            if steps - passed >= LOOK_BACK:
                break
            found.append(place)
        return found


def replay(
    way: Way, cache: Cache, talk: Talk, sendings: Sequence[Sending], book: PriceBook, limit: int | None = None
) -> Replay:
    """One way with one cache. ``sendings``: of each request."""
    sender, sums, extra = _Sender(talk, cache), _Sums(), _Sums()
    calls = largest = over = 0
    last: tuple[Asking, Sending] | None = None
    for asking, sending in zip(talk.askings, sendings, strict=True):
        if sending.before is not None:
            spent, prompt = sender.summarise(asking, last, sending.before)
            extra.add(spent, sending.before.output, _usd(asking, spent, sending.before.output, book))
            calls += sending.before.calls
            largest = max(largest, prompt)
        spent = sender.send(asking, sending)
        sums.add(spent, asking.output or 0, _usd(asking, spent, asking.output or 0, book))
        prompt = sender.prompt(asking, sending)
        largest = max(largest, prompt)
        over += limit is not None and prompt > limit
        last = asking, sending
    own = (calls, extra.total, extra.output, extra.usd)
    sums.add(extra.spent(), extra.output, _both(extra.usd_input, extra.usd_output))
    return Replay(
        way,
        cache,
        sums.spent(),
        sums.output if extra.output or any(asking.output is not None for asking in talk.askings) else None,
        sums.usd_input,
        sums.usd,
        any(asking.output is None for asking in talk.askings),
        own,
        largest,
        None if limit is None else over,
        _forgotten(sendings),
    )


def _both(one: Decimal | None, other: Decimal | None) -> tuple[Decimal, Decimal] | None:
    return None if one is None or other is None else (one, other)


def _forgotten(sendings: Sequence[Sending]) -> Forgotten:
    gone = [sending.first for sending in sendings]
    return Forgotten(gone[-1], max(gone), sum(gone) / len(gone))


def _usd(asking: Asking, spent: Spent, output: int, book: PriceBook) -> tuple[Decimal, Decimal] | None:
    """The price of input and output of one request on the terms that were recorded; None where there is none."""
    told = spent._replace(output=output, thinking=0)
    terms = Terms(asking.terms.conditions) if asking.terms is not None else None
    call = Call(
        asking.start, None, None, asking.model, asking.model, None, None, "completed", told, told, "", terms=terms
    )
    found = price(call, book)
    if not isinstance(found, Priced):
        return None
    return found.total - found.parts.output, found.parts.output
