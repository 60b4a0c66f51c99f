"""Fits the factors of ``analyzers.token_factors``: non-negative, with a prior, by relative error.

A family's tokens are a sum over the classes of a text of (a * characters + b * o200k tokens). The squares of the
relative errors are made least, large ones weighted down (towards least absolute errors), with every a and b at least 0
and drawn towards the prior a = 0, b = 1.1: what little text tells of stays near what o200k says. Coordinate descent on
the normal equations, so no library is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analyzers.text_classes import classes_of
from benchmarks.token_texts import Counted

PRIORS = {"v3": (0.0, 1.1), "v4.7": (0.0, 1.1), "o200k": (0.0, 1.0)}
STRENGTH = 0.02
"""Of the prior, as the share of all texts that would have to disagree with it by all of their tokens."""

_SMALLEST = 50  # tokens below which a relative error tells little
_TYPICAL = 0.03  # relative errors above this are weighted down
_ROUNDS = 6
_SWEEPS = 400


@dataclass(frozen=True, slots=True)
class Example:
    """A text to fit: amounts by (class, 0 characters or 1 tokens), and what must come out."""

    amounts: dict[tuple[str, int], float]
    tokens: int
    weight: float


def examples(texts: Sequence[Counted], family: str, o200k: dict[str, int]) -> list[Example]:
    """The texts as amounts by class. ``family`` ``o200k``: its own tokens of the whole text, by name."""
    found = []
    for text in texts:
        amounts = {
            (name, index): float(amount)
            for name, pair in classes_of(text.text).items()
            for index, amount in enumerate(pair)
        }
        tokens = o200k[text.kind + text.name] if family == "o200k" else text.tokens[family]
        found.append(Example(amounts, tokens, _weight(text) / max(tokens, _SMALLEST)))
    return found


def _weight(text: Counted) -> float:
    """How much a text counts: languages by how many speak them; packages' texts more, since they are few."""
    if text.speakers or text.kind.startswith("prose"):
        return 2.5 if text.speakers > 40_000_000 else 1.5 if text.speakers > 5_000_000 else 0.4
    return 0.7 if text.recorded else 1.5


def fitted(found: Sequence[Example], prior: tuple[float, float]) -> dict[str, tuple[float, float]]:
    """Factors per character and per o200k token, by class."""
    columns = sorted({column for example in found for column in example.amounts})
    place = {column: index for index, column in enumerate(columns)}
    rows = [([(place[column], amount) for column, amount in one.amounts.items()], one) for one in found]
    factors = [prior[column[1]] for column in columns]
    weights = [one.weight for one in found]
    for _ in range(_ROUNDS):
        factors = _solved(rows, weights, columns, factors, prior)
        for index, (row, one) in enumerate(rows):
            error = abs(sum(factors[at] * amount for at, amount in row) - one.tokens) / max(one.tokens, _SMALLEST)
            weights[index] = one.weight * (_TYPICAL / max(error, _TYPICAL)) ** 0.5
    names = sorted({name for name, _ in columns})
    return {name: (factors[place[name, 0]], factors[place[name, 1]]) for name in names}


def _solved(
    rows: Sequence[tuple[list[tuple[int, float]], Example]],
    weights: Sequence[float],
    columns: Sequence[tuple[str, int]],
    start: Sequence[float],
    prior: tuple[float, float],
) -> list[float]:
    size = len(columns)
    gram = [[0.0] * size for _ in range(size)]
    target = [0.0] * size
    for (row, one), weight in zip(rows, weights, strict=True):
        square = weight * weight
        for at, amount in row:
            target[at] += square * amount * one.tokens
            line = gram[at]
            for other, also in row:
                line[other] += square * amount * also
    for at, (_, index) in enumerate(columns):
        pull = (STRENGTH if index else 4 * STRENGTH) ** 2 * len(rows) / 100
        gram[at][at] += pull
        target[at] += pull * prior[index]
    factors = list(start)
    for _ in range(_SWEEPS):
        most = 0.0
        for at in range(size):
            line = gram[at]
            rest = target[at] - sum(map(float.__mul__, line, factors)) + line[at] * factors[at]
            better = max(0.0, rest / line[at])
            most = max(most, abs(better - factors[at]))
            factors[at] = better
        if most < 1e-5:
            break
    return factors


def module(factors: dict[str, dict[str, tuple[float, float]]]) -> str:
    """The text of ``analyzers/token_factors.py``."""
    lines = [_HEAD]
    for vocabulary, table in factors.items():
        lines.append(f'    "{vocabulary}": {{')
        for name, (per_char, per_token) in table.items():
            lines.append(f'        "{name}": ({per_char:.3f}, {per_token:.3f}),')
        lines.append("    },")
    lines.append("}")
    priors = ", ".join(f'"{name}": {prior}' for name, prior in PRIORS.items())
    return "\n".join([*lines, f"UNSEEN: Final[dict[str, tuple[float, float]]] = {{{priors}}}", _TAIL])


_HEAD = '''"""What texts cost in Claude's vocabularies, by class of writing: factors per character and per o200k token.

Made by ``python -m benchmarks.accuracy --fit``: fitted to counts that the API gave (recordings that come with ctok's
source distribution: Claude Opus 4.5 for ``v3``, Opus 4.7 for ``v4.7``; Opus 5 counts the same as 4.7) and, for English
prose and JSON of which those hold little, to counts by ctok. What was fitted, what was held out, and the errors on both
stand in ``docs/figures.md``. ``o200k`` corrects for what is lost by tokenizing piece by piece.
"""

from __future__ import annotations

from typing import Final

FACTORS: Final[dict[str, dict[str, tuple[float, float]]]] = {'''

_TAIL = '''"""For a class of which there was nothing to fit: a tenth more than in o200k."""
'''
