"""How a conversation grows: what each turn sent, all together, against what was typed, and where it leads.

Tokens of a turn are the server's own sum (input + cache write + cache read), exact. Where it gave none they are
estimated: by the characters of the request at the ratio of the nearest turn that was counted, else by an estimator of
tokens; a refused prompt has the count that the refusal names, and is in no sum, since nothing of it was billed.
A thread is fitted since its last break (a summary in the place of the history). Pure, O(turns).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from analyzers.calls import Call
from analyzers.context_limit import Limit, context_limit
from analyzers.growth_fit import RECENT, Fit, Point, fit, reached, slope, spent
from analyzers.lineage import BREAK, Session
from analyzers.price_book import PriceBook
from analyzers.price_parts import Priced
from analyzers.prices import price
from analyzers.spent import NOTHING, Spent, Sum, summed
from analyzers.threads import Step, Thread, Turn
from analyzers.turn_sizes import TurnSizes

type Source = Literal["server", "refusal", "characters", "estimator"]
type Kind = Literal["first_turn", "other_session", "after_pause"]

_BROKEN: Final = ("compacted", "cleared")
_SAID_NO: Final = ("error", "unreachable")
_ENOUGH: Final = 3
"""Turns of a stretch that is worth fitting."""


class Counted(NamedTuple):
    """Tokens of a prompt, and who counted them."""

    tokens: int
    source: Source


@dataclass(frozen=True, slots=True)
class TurnGrowth:
    """One turn of a thread. ``turn``: its number in the thread, ``n``: that of the request. ``counted``: tokens that it
    sent; ``prompt``: tokens of its prompt as the model last saw it: other than ``counted`` where the server counted
    several passes. ``sent``: tokens of all turns so far, None while none has a count, a lower bound with ``at_least``;
    ``is_exact``: as the server counted them. ``added``: tokens that the prompt has more than that of the turn before;
    ``usd`` None: not priced. ``unbilled``: the API said no, so it is in no sum."""

    turn: int
    n: int
    step: Step
    model: str | None
    counted: Counted | None
    prompt: int | None
    sent: int | None
    at_least: bool
    is_exact: bool
    added: int | None
    spent: Spent
    usd: Decimal | None
    unbilled: bool
    sizes: TurnSizes
    fixed_key: bytes


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """A conversation that begins anew, and still sends what was said before. ``kind``: its first recorded turn holds
    earlier answers; it goes on from another session's; it goes on after a ``pause`` (seconds). ``messages``, ``chars``:
    of what is carried; ``tokens``: of it, by its share of the characters."""

    kind: Kind
    turn: int
    n: int
    messages: int | None
    chars: int | None
    tokens: int | None
    pause: float | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """When a limit is reached, as the newest turns go on: an estimate. ``turn`` None: never. ``passed``: it already
    is. ``per_turn``: how much more each turn sends."""

    limit: float
    source: str
    turn: int | None
    passed: bool
    per_turn: float | None


@dataclass(frozen=True, slots=True)
class ThreadGrowth:
    """One thread. ``since``: the turn at which the stretch begins that was fitted: the newest one of enough turns;
    ``typed`` and ``chars``: of all its turns together, as far as they are known, a lower bound where ``is_typed_open``
    or ``is_chars_open``; ``limit`` None: the model's is not known."""

    session: str
    agent: str | None
    forked_from: int | None
    turns: tuple[TurnGrowth, ...]
    since: int
    fitted: Fit | None
    carried: tuple[CarriedOver, ...]
    limit: Forecast | None
    given_limit: Forecast | None
    budget: Forecast | None

    @property
    def typed(self) -> int | None:
        known = [turn.sizes.typed for turn in self.turns if turn.sizes.typed is not None and turn.step != "repeated"]
        return sum(known) if known else None

    @property
    def is_typed_open(self) -> bool:
        return any(turn.sizes.typed is None for turn in self.turns if turn.step != "repeated")

    @property
    def is_chars_open(self) -> bool:
        return any(turn.sizes.chars is None for turn in self.turns)

    @property
    def chars(self) -> int | None:
        known = [turn.sizes.chars for turn in self.turns if turn.sizes.chars is not None]
        return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class Growth:
    """``threads`` by their first request; ``single``: those of one turn, left out; ``older``: those not asked for."""

    threads: tuple[ThreadGrowth, ...]
    single: int
    older: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """``newest``: so many threads, None: all. ``limit``: tokens of a prompt; ``budget``: USD of a thread; ``model``: of
    requests that name none."""

    newest: int | None = None
    limit: int | None = None
    budget: Decimal | None = None
    model: str | None = None


def growth(
    sessions: Iterable[Session],
    calls: Sequence[Sequence[Call]],
    looked: Sequence[TurnSizes | None],
    book: PriceBook,
    wanted: Wanted = Wanted(),
) -> Growth:
    """The growth of threads of more than one turn, and of those that carry a history over; of all, where there are
    none of these. ``calls`` and ``looked``: of each request, by its number from 1."""
    every = [
        _thread(session, thread, calls, looked, book, wanted) for session in sessions for thread in session.threads
    ]
    told = [thread for thread in every if len(thread.turns) > 1 or thread.carried] or every
    newest = sorted(told, key=lambda thread: -thread.turns[-1].n)[: wanted.newest]
    shown = sorted(newest, key=lambda thread: thread.turns[0].n)
    return Growth(tuple(shown), len(every) - len(told), len(told) - len(shown))


def recorded(thread: ThreadGrowth) -> tuple[Sum, Decimal | None]:
    """What a thread really spent by the server's counters, and its price in USD; None where a turn has none."""
    billed = [turn for turn in thread.turns if not turn.unbilled]
    spent, prices = [turn.spent for turn in billed], [turn.usd for turn in billed]
    known = [usd for usd in prices if usd is not None]
    return summed(spent), sum(known, Decimal(0)) if known and len(known) == len(prices) else None


def _thread(
    session: Session,
    thread: Thread,
    calls: Sequence[Sequence[Call]],
    looked: Sequence[TurnSizes | None],
    book: PriceBook,
    wanted: Wanted,
) -> ThreadGrowth:
    turns = _turns(thread, calls, looked, book)
    stretches = _stretches(turns)
    fitted = next((one for one in reversed(stretches) if len(one) >= _ENOUGH), stretches[-1] if stretches else [])
    since = fitted[0].turn if fitted else 1
    points = _points([turn for turn in fitted if not turn.unbilled], since)
    going = slope(points)
    given = Limit(wanted.limit, "given") if wanted.limit is not None else None
    return ThreadGrowth(
        session.name,
        thread.agent,
        thread.forked_from,
        turns,
        since,
        fit(points),
        tuple(_carried(thread, turns)),
        _forecast(_limit(turns, wanted.model), turns, going),
        _forecast(given, turns, going),
        _budget(turns, wanted.budget) if wanted.budget is not None else None,
    )


def _stretches(turns: Sequence[TurnGrowth]) -> list[list[TurnGrowth]]:
    """The turns whose prompt has a count, cut where a history was left behind."""
    out: list[list[TurnGrowth]] = []
    for turn in turns:
        if turn.prompt is None or turn.step == "repeated":
            continue
        if not out or turn.step in _BROKEN:
            out.append([])
        out[-1].append(turn)
    return out


def _points(turns: Sequence[TurnGrowth], since: int) -> list[Point]:
    return [(turn.turn - since + 1, turn.prompt) for turn in turns if turn.prompt is not None]


def _turns(
    thread: Thread, calls: Sequence[Sequence[Call]], looked: Sequence[TurnSizes | None], book: PriceBook
) -> tuple[TurnGrowth, ...]:
    sizes = [looked[turn.n - 1] or TurnSizes(turn.trace.time, None, False) for turn in thread.turns]
    own = [next(iter(calls[turn.n - 1]), None) for turn in thread.turns]
    spent = [call.spent if call is not None else NOTHING for call in own]
    said_no = [turn.trace.ended in _SAID_NO and one == NOTHING for turn, one in zip(thread.turns, spent, strict=True)]
    counted = _counted(sizes, spent, said_no)
    out: list[TurnGrowth] = []
    sent, at_least, is_exact, is_known, before = 0, False, True, False, None
    rows = zip(thread.turns, own, counted, said_no, sizes, strict=True)
    for number, (turn, call, one, unbilled, size) in enumerate(rows, 1):
        prompt = size.context if size.context is not None else one.tokens if one is not None else None
        if not unbilled:
            sent += one.tokens if one is not None else 0
            at_least = at_least or one is None
            is_exact = is_exact and one is not None and one.source == "server"
        is_known = is_known or one is not None
        so_far = (sent, at_least, is_exact) if is_known else (None, False, False)
        added = prompt - before if prompt is not None and before is not None else None
        out.append(_turn(number, turn, call, one, prompt, so_far, added, unbilled, size, book))
        before = prompt if prompt is not None else before
    return tuple(out)


def _turn(
    number: int,
    turn: Turn,
    call: Call | None,
    counted: Counted | None,
    prompt: int | None,
    so_far: tuple[int | None, bool, bool],
    added: int | None,
    unbilled: bool,
    sizes: TurnSizes,
    book: PriceBook,
) -> TurnGrowth:
    priced = price(call, book) if call is not None else None
    trace = turn.trace
    return TurnGrowth(
        number,
        turn.n,
        turn.step,
        trace.model or trace.requested,
        counted,
        prompt,
        *so_far,
        added,
        call.spent if call is not None else NOTHING,
        priced.total if isinstance(priced, Priced) else None,
        unbilled,
        sizes,
        (trace.system or b"") + b"/" + (trace.tools or b""),
    )


def _counted(sizes: Sequence[TurnSizes], spent: Sequence[Spent], said_no: Sequence[bool]) -> list[Counted | None]:
    """The tokens of each prompt: counted by the server, else estimated, unless the API only said no."""
    ratio = next(
        (
            one.total_input / size.chars
            for size, one in zip(sizes, spent, strict=True)
            if one.total_input and size.chars
        ),
        None,
    )
    out: list[Counted | None] = []
    for size, one, unbilled in zip(sizes, spent, said_no, strict=True):
        if one.total_input and size.chars:
            ratio = one.total_input / size.chars
        if size.refused is not None:
            out.append(Counted(size.refused.tokens, "refusal"))
        elif one.total_input is not None:
            out.append(Counted(one.total_input, "server"))
        elif unbilled:
            out.append(None)
        elif ratio is not None and size.chars is not None:
            out.append(Counted(round(size.chars * ratio), "characters"))
        else:
            out.append(Counted(size.estimated, "estimator") if size.estimated is not None else None)
    return out


def _carried(thread: Thread, turns: Sequence[TurnGrowth]) -> Iterable[CarriedOver]:
    """Where a conversation begins anew and still sends the old one."""
    first = turns[0]
    if thread.session_from is not None and thread.turns[0].common:
        yield _carrying("other_session", thread.turns[0], first)
    elif first.step == "start" and first.sizes.answers:
        yield _carrying("first_turn", thread.turns[0], first)
    until: float | None = None
    for turn, one in zip(thread.turns, turns, strict=True):
        start = one.sizes.start
        if until is not None and start is not None and start - until > BREAK and one.step == "continues":
            yield _carrying("after_pause", turn, one, start - until)
        ends = [time for time in (until, start, turn.trace.end) if time is not None]
        until = max(ends, default=None)


def _carrying(kind: Kind, turn: Turn, one: TurnGrowth, pause: float | None = None) -> CarriedOver:
    sizes = one.sizes
    messages = turn.common if kind != "first_turn" else turn.trace.prompt_messages
    if kind == "first_turn" and messages is not None:
        messages -= 1
    share = sizes.earlier / sizes.chars if sizes.earlier is not None and sizes.chars else None
    tokens = round(one.prompt * share) if one.prompt is not None and share is not None else None
    return CarriedOver(kind, one.turn, one.n, messages, sizes.earlier, tokens, pause)


def _limit(turns: Sequence[TurnGrowth], model: str | None) -> Limit | None:
    """The context limit: what the server said of it in this thread, else what is listed for the model of its last
    turn, or for ``model`` where that names none."""
    last = turns[-1]
    for turn in reversed(turns):
        if turn.sizes.refused is not None and turn.model == last.model:
            return Limit(turn.sizes.refused.maximum, "server")
    return context_limit(last.model or model, long_context=last.sizes.long_context, time=last.sizes.start)


def _forecast(limit: Limit | None, turns: Sequence[TurnGrowth], per_turn: float | None) -> Forecast | None:
    """When a prompt reaches a limit, going on from the last one that has a count."""
    points = _points(turns, 1)
    if limit is None or not points:
        return None
    over = next((number for number, sent in points if sent >= limit.tokens), None)
    turn = over if over is not None else reached(points[-1], per_turn, limit.tokens)
    return Forecast(limit.tokens, limit.source, turn, over is not None, per_turn)


def _budget(turns: Sequence[TurnGrowth], budget: Decimal) -> Forecast | None:
    """When the turns of a thread have cost so much; None where one of them has no price."""
    used = Decimal(0)
    points: list[Point] = []
    for turn in turns:
        if turn.unbilled:
            continue
        if turn.usd is None:
            return None
        used += turn.usd
        points.append((turn.turn, float(turn.usd)))
        if used >= budget:
            return Forecast(float(budget), "given", turn.turn, True, slope(points))
    warm = points[1:] if len(points) > 2 else points  # the first turn writes the whole cache, and would bend the line
    per_turn = slope(warm)
    return Forecast(float(budget), "given", spent(_typical(warm), per_turn, float(budget - used)), False, per_turn)


def _typical(points: Sequence[Point]) -> Point:
    """The last turn at what the newest ones cost on average: a single one may have written the whole cache again."""
    newest = points[-RECENT:]
    return points[-1][0], sum(cost for _, cost in newest) / len(newest)
