"""What resending costs, without a recording: the two models that published figures were worked out with.

A model keeps no state, so every turn sends all turns before it again. With t tokens a turn, N turns send
t + 2t + … + Nt = t·N(N+1)/2 tokens. A conversation that begins with a history sends that history every time: its first
turn costs history + message + answer, and each later one so much more as the conversation grows in a turn.
Pure integers, O(1) for any turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_STEPS: Final = (1, 2, 3, 5)


@dataclass(frozen=True, slots=True)
class Resent:
    """``turns`` turns of ``tokens_per_turn`` tokens each, every one sent with all before it."""

    tokens_per_turn: int
    turns: int

    @property
    def formula(self) -> str:
        """The sum of N turns, in tokens, as a polynomial."""
        half = f"{self.tokens_per_turn // 2}{'.5' if self.tokens_per_turn % 2 else ''}"
        return f"{half}*N^2 + {half}*N"

    @property
    def total(self) -> int:
        return self.sent_by(self.turns)

    def prompt(self, turn: int) -> int:
        """Tokens that one turn sends."""
        return self.tokens_per_turn * turn

    def sent_by(self, turn: int) -> int:
        """Tokens that all turns up to this one have sent."""
        return self.tokens_per_turn * turn * (turn + 1) // 2

    def reaches(self, limit: int) -> int:
        """The first turn whose prompt has at least so many tokens."""
        return max(-(-limit // self.tokens_per_turn), 1)


@dataclass(frozen=True, slots=True)
class Carried:
    """A conversation that goes on from a history: ``message`` and ``answer`` tokens in its first turn, ``growth`` more
    in each that follows."""

    history: int
    message: int
    answer: int
    growth: int
    turns: int

    @property
    def first_input(self) -> int:
        return self.history + self.message

    @property
    def total(self) -> int:
        return self.sent_by(self.turns)

    def cost(self, turn: int) -> int:
        """Tokens of one turn, its answer among them."""
        return self.first_input + self.answer + self.growth * (turn - 1)

    def sent_by(self, turn: int) -> int:
        """Tokens of all turns up to this one, answers among them."""
        return turn * self.cost(1) + self.growth * turn * (turn - 1) // 2

    def reaches(self, limit: int) -> int | None:
        """The first turn whose prompt has at least so many tokens; None when it never grows so far."""
        if self.first_input >= limit:
            return 1
        return 1 - (self.first_input - limit) // self.growth if self.growth else None


def milestones(turns: int) -> Iterator[int]:
    """The turns that a table shows: 1, 2, 3, 5, 10, 20, 30, 50, … and the last."""
    power = 1
    while True:
        for step in _STEPS:
            if (turn := step * power) >= turns:
                yield turns
                return
            yield turn
        power *= 10
