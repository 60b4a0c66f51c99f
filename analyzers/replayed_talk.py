"""A recorded thread as tokens in a row, so that other ways to send it can be worked out.

What stays the same (tools and system) is taken off each prompt, by its share of the characters; the rest is one long
history of messages, with a position in tokens for each place where a history could begin. What a turn added is the
difference of two totals that the server counted: exact, where the turn continues the one before. Where it does not (a
summary took the history's place, messages were rewritten or cleared by the server), what it added is estimated by its
characters, and the history goes on as if nothing had been lost. Pure, O(turns).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from analyzers.growth import ThreadGrowth, TurnGrowth
from analyzers.growth_model import Resent
from analyzers.terms import Terms

_USUAL: Final = 0.3  # tokens for each character, where a thread tells nothing of its own
_PAUSE: Final = 60.0


class Unit(NamedTuple):
    """One turn of the history. ``begin``: tokens of messages before it, when the history begins here; ``speaks``: it
    begins with words of the user, so that a history may begin with it and nothing before."""

    begin: int
    speaks: bool


@dataclass(frozen=True, slots=True)
class Asking:
    """One request of the thread. ``unit``: the newest one in it; ``fixed``: tokens of tools and system, equal where
    ``fixed_key`` is; ``before`` and ``end``: tokens of all messages before it (with the last answer) and up to its end,
    when nothing is forgotten; ``steps``: places in the look-back so far; ``output`` None: not known."""

    n: int
    start: float
    begun: float
    model: str | None
    terms: Terms | None
    unit: int
    fixed: int
    fixed_key: bytes
    before: int
    end: int
    steps: int
    output: int | None


@dataclass(frozen=True, slots=True)
class Talk:
    """A thread to be replayed. ``earlier``: units that its first request brought from before; ``counted``: requests
    whose whole prompt the server counted; ``estimated``: those of which what they added is estimated; ``answers``:
    outputs that are estimated; ``bodies``: the requests were kept, so that shares are known; ``timed``: so were the
    times."""

    askings: tuple[Asking, ...]
    units: tuple[Unit, ...]
    earlier: int
    counted: int
    estimated: int
    answers: int
    bodies: bool
    timed: bool


def talk_of(thread: ThreadGrowth, model: str | None = None) -> Talk | None:
    """A thread as a row of tokens; None where no prompt that was billed has a count. ``model``: to price it as, where
    none is named."""
    turns = [turn for turn in thread.turns if turn.prompt is not None and not turn.unbilled]
    if not turns:
        return None
    ratio = _ratio(turns)
    first = turns[0]
    fixed = _fixed(first)
    units = _first_units(first, (first.prompt or 0) - fixed)
    askings: list[Asking] = []
    end = before = (first.prompt or 0) - fixed
    steps, clock, estimated, answers = 0, 0.0, 0, 0
    for place, turn in enumerate(turns):
        if place and turn.step != "repeated":
            last, fixed_before = turns[place - 1], fixed
            fixed = _fixed_now(first, turn, fixed)
            grown, is_exact = _grown(last, turn, ratio, fixed - fixed_before)
            estimated += not is_exact
            before = end + _answered(turn, last, grown)
            units.append(Unit(before if turn.sizes.speaks is not False else end, turn.sizes.speaks is not False))
            end += grown
        steps += turn.sizes.steps
        clock = max(turn.sizes.start if turn.sizes.start is not None else clock, clock)
        output = turn.spent.output if turn.spent.output is not None else turn.sizes.said
        answers += turn.spent.output is None
        askings.append(
            Asking(
                turn.n,
                clock,
                max(turn.sizes.begun or clock, clock),
                turn.model or model,
                turn.sizes.terms,
                len(units) - 1,
                fixed,
                turn.fixed_key,
                before,
                end,
                steps,
                output,
            )
        )
    return Talk(
        tuple(askings),
        tuple(units),
        askings[0].unit,
        sum(turn.counted is not None and turn.counted.source == "server" for turn in turns),
        estimated,
        answers,
        all(turn.sizes.body for turn in turns),
        all(turn.sizes.start is not None for turn in turns),
    )


def talk_of_model(model: Resent, name: str | None, start: float) -> Talk:
    """The bare model as a thread: a turn a minute, nothing but messages."""
    size = model.tokens_per_turn
    times = [start + _PAUSE * turn for turn in range(model.turns)]
    askings = tuple(
        Asking(turn + 1, time, time, name, None, turn, 0, b"", size * turn, size * (turn + 1), turn + 1, 0)
        for turn, time in enumerate(times)
    )
    units = tuple(Unit(size * turn, True) for turn in range(model.turns))
    return Talk(askings, units, 0, 0, model.turns, 0, True, True)


def _ratio(turns: Sequence[TurnGrowth]) -> float:
    """Tokens for each character of what turns add."""
    added = [
        (turn.added, turn.sizes.answer + turn.sizes.new)
        for turn in turns
        if turn.step == "continues" and turn.added is not None and turn.added > 0
    ]
    weight = sum(one for _, one in added)
    if weight:
        return sum(tokens for tokens, _ in added) / weight
    chars, prompt = turns[0].sizes.chars, turns[0].prompt
    return prompt / chars if chars and prompt else _USUAL


def _fixed(first: TurnGrowth) -> int:
    """Tokens of tools and system in the first prompt, by their share of its characters. Without the request: all of
    it."""
    prompt = first.prompt or 0
    if first.sizes.fixed is None:
        return prompt
    whole = first.sizes.fixed + sum(piece.weight for piece in first.sizes.pieces)
    if not first.sizes.pieces:
        whole = first.sizes.chars or whole
    return round(prompt * first.sizes.fixed / whole) if whole else 0


def _fixed_now(first: TurnGrowth, turn: TurnGrowth, fixed: int) -> int:
    """Tokens of tools and system in a later prompt: they change with their characters."""
    if turn.fixed_key == first.fixed_key or not turn.sizes.fixed or not first.sizes.fixed:
        return fixed
    return round(_fixed(first) * turn.sizes.fixed / first.sizes.fixed)


def _first_units(first: TurnGrowth, messages: int) -> list[Unit]:
    """The units of the first prompt, by the characters of its pieces."""
    pieces = first.sizes.pieces
    whole = sum(piece.weight for piece in pieces)
    units: list[Unit] = []
    passed = 0
    for piece in pieces:
        units.append(Unit(round(messages * passed / whole) if whole else 0, piece.speaks))
        passed += piece.weight
    return units or [Unit(0, True)]


def _grown(last: TurnGrowth, turn: TurnGrowth, ratio: float, more_fixed: int) -> tuple[int, bool]:
    """Tokens that a turn added to the history, and whether that is a difference of two counts. ``more_fixed``: tokens
    by which tools and system grew."""
    grown = (turn.prompt or 0) - (last.prompt or 0) - more_fixed
    counted = all(one.counted is not None and one.counted.source in ("server", "refusal") for one in (last, turn))
    if turn.step == "continues" and grown >= 0:
        return grown, counted and not more_fixed
    weight = turn.sizes.answer + turn.sizes.new
    if not turn.sizes.body:
        return max(grown, last.spent.output or 0), False
    said = last.spent.output if turn.sizes.answer == 0 else None  # a summary stands where the answer was
    return round(weight * ratio) + (said or 0), False


def _answered(turn: TurnGrowth, last: TurnGrowth, grown: int) -> int:
    """Of what a turn added, the tokens of the answer before it: by characters where it is resent, else what that
    answer cost (the API keeps it, or a summary stands there)."""
    weight = turn.sizes.answer + turn.sizes.new
    if turn.sizes.answer:
        return round(grown * turn.sizes.answer / weight)
    return min(last.spent.output or 0, grown)
