"""Multipliers for estimated tokens, fitted to what a server counted: one for each kind of writing, near 1.

A sample is what one request adds to the one before it (or a whole request): estimated tokens by kind, and the tokens
that the server counted for it. The squares of relative errors are made least, with large ones weighted down (towards
least absolute errors), so that a few requests that hold something nobody sees do not bend the rest. Each multiplier is
drawn to 1 as strongly as by ``PRIOR`` samples that are all of its kind and were met exactly, and lies between
``LOWEST`` and ``HIGHEST``: a kind that was hardly seen stays near 1; one that stands in fewer than ``LEAST`` samples is
1. Below ``FEW`` samples there is a single multiplier for all kinds that were seen.

How good it is, is told of samples that it was not fitted to. A fit that does not make those better is not used.
Pure; coordinate descent on the normal equations. O(samples · kinds²).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median
from typing import Final, Literal

from analyzers.calibrated import KINDS, Amounts
from analyzers.tokens import Family

PRIOR: Final = 0.25
LOWEST: Final = 0.5
HIGHEST: Final = 2.0
NOTICEABLE: Final = 0.1
"""Percent by which the median error must fall."""

FEW: Final = 10
LEAST: Final = 3
"""Samples below which nothing is fitted, and those that a kind must stand in."""

FOLDS: Final = 5
MOST: Final = 5_000
"""Samples of a family that are used: the newest."""

_SEEN: Final = 0.01  # share of the samples' tokens from which a kind counts as seen where all have one multiplier
_SMALLEST: Final = 200  # tokens below which a relative error tells little
_TYPICAL: Final = 0.02  # relative errors up to this are usual whatever the samples say
_ROUNDS: Final = 12
_SWEEPS: Final = 200
_SETTLED: Final = 1e-5

type HeldOut = Literal["threads", "alternating"]


@dataclass(frozen=True, slots=True)
class Sample:
    """``kinds``: estimated tokens by kind; ``rest``: tokens that no multiplier is for; ``counted``: by the server, over
    0; ``thread``: number of the conversation; ``whole``: a whole request, not a difference of two."""

    kinds: Amounts
    rest: float
    counted: int
    thread: int
    whole: bool

    def error(self, by: Amounts) -> float:
        """Of the estimate with these multipliers, in percent of what was counted; positive is too high."""
        return 100.0 * (self._told(by) - self.counted) / self.counted

    def _told(self, by: Amounts) -> float:
        return self.rest + sum(by.get(kind, 1.0) * tokens for kind, tokens in self.kinds.items())


@dataclass(frozen=True, slots=True)
class Errors:
    """Median and 95th percentile (nearest rank) of the absolute relative errors, in percent."""

    median: float
    p95: float


@dataclass(frozen=True, slots=True)
class FamilyCalibration:
    """The multipliers of one family: of every kind, 1 for what was not seen or where the fit is not used.

    ``seen``: estimated tokens of the samples by kind; ``fitted``: kinds that were fitted; ``by_kind`` False: with one
    multiplier for all of them;
    ``held_out``: how samples were held out; ``before``, ``after``: errors on them, None where there were too few;
    ``older``: samples that were left out because there are newer ones; ``improved``: the held-out errors are better
    with the fit; ``forced``: it is used all the same."""

    multipliers: Mapping[str, float]
    seen: Amounts = field(default_factory=dict)
    fitted: tuple[str, ...] = ()
    by_kind: bool = False
    differences: int = 0
    whole: int = 0
    threads: int = 0
    older: int = 0
    held_out: HeldOut | None = None
    before: Errors | None = None
    after: Errors | None = None
    improved: bool = False
    forced: bool = False

    @property
    def used(self) -> bool:
        return self.improved or self.forced


@dataclass(frozen=True, slots=True)
class Calibration:
    """By family of models; ``made``: when, RFC 3339 UTC; ``excluded``: requests that took no part, by reason."""

    families: Mapping[Family, FamilyCalibration]
    made: str
    excluded: Mapping[str, int] = field(default_factory=dict)

    @property
    def day(self) -> str:
        return self.made[:10]


def calibrate(samples: Sequence[Sample], *, force: bool = False) -> FamilyCalibration:
    """The calibration of one family's samples, in time order. ``force``: use the fit though held-out errors are no
    better."""
    used = samples[-MOST:]
    seen: dict[str, float] = {}
    times: Counter[str] = Counter()
    for sample in used:
        for kind, tokens in sample.kinds.items():
            seen[kind] = seen.get(kind, 0.0) + tokens
            times[kind] += tokens > 0
    by_kind = len(used) >= FEW
    columns = _columns([kind for kind in KINDS if times[kind] >= LEAST], seen, by_kind)
    multipliers: Mapping[str, float] = {}
    held_out: HeldOut | None = None
    before = after = None
    improved = False
    if len(used) >= LEAST:
        held_out, folds = _folds(used)
        before, after = _held_out(used, folds, columns)
        improved = is_better(before, after)
        if improved or force:
            multipliers = fitted(used, columns)
    return FamilyCalibration(
        multipliers={kind: round(multipliers.get(kind, 1.0), 4) for kind in KINDS},
        seen=seen,
        fitted=tuple(kind for kinds in columns for kind in kinds),
        by_kind=by_kind,
        differences=sum(not sample.whole for sample in used),
        whole=sum(sample.whole for sample in used),
        threads=len({sample.thread for sample in used}),
        older=len(samples) - len(used),
        held_out=held_out,
        before=before,
        after=after,
        improved=improved,
        forced=bool(multipliers) and not improved,
    )


def is_better(before: Errors, after: Errors) -> bool:
    """Whether errors fell: the median by more than rounding does, and the 95th percentile rose by no more than that."""
    fell = before.median - after.median
    return fell >= NOTICEABLE and after.p95 - before.p95 <= fell


def errors_of(errors: Sequence[float]) -> Errors:
    """Of signed relative errors, at least one."""
    found = sorted(map(abs, errors))
    return Errors(median(found), found[ceil(0.95 * len(found)) - 1])


def _columns(kinds: Sequence[str], seen: Amounts, by_kind: bool) -> list[tuple[str, ...]]:
    """The kinds that are fitted, those that share a multiplier together."""
    if by_kind:
        return [(kind,) for kind in kinds]
    total = sum(seen.values())
    shared = tuple(kind for kind in kinds if seen[kind] > _SEEN * total)
    return [shared] if shared else []


def _folds(samples: Sequence[Sample]) -> tuple[HeldOut, list[int]]:
    """The fold of each sample: whole conversations where there are enough, since requests of one are alike."""
    threads = list(dict.fromkeys(sample.thread for sample in samples))
    if len(threads) >= FOLDS:
        place = {thread: position % FOLDS for position, thread in enumerate(threads)}
        return "threads", [place[sample.thread] for sample in samples]
    return "alternating", [position % FOLDS for position in range(len(samples))]


def _held_out(
    samples: Sequence[Sample], folds: Sequence[int], columns: Sequence[tuple[str, ...]]
) -> tuple[Errors, Errors]:
    """Errors of all samples without multipliers, and with those that were fitted to the other folds."""
    after: list[float] = []
    for fold in sorted(set(folds)):
        by = fitted([sample for sample, of in zip(samples, folds, strict=True) if of != fold], columns)
        after += [sample.error(by) for sample, of in zip(samples, folds, strict=True) if of == fold]
    return errors_of([sample.error({}) for sample in samples]), errors_of(after)


def fitted(samples: Sequence[Sample], columns: Sequence[tuple[str, ...]]) -> dict[str, float]:
    """The multiplier of each kind in ``columns``, whose kinds share one. From ``LOWEST`` to ``HIGHEST``."""
    place = {kind: at for at, kinds in enumerate(columns) for kind in kinds}
    rows = [_Row(sample, place) for sample in samples]
    factors = [1.0] * len(columns)
    for _ in range(_ROUNDS if columns else 0):
        before = factors
        factors = _solved(rows, before)
        _weigh(rows, factors)
        if all(abs(one - other) < 1e-4 for one, other in zip(before, factors, strict=True)):
            break
    return {kind: factors[at] for kind, at in place.items()}


class _Row:
    """A sample as an equation in shares of what was counted."""

    __slots__ = ("amounts", "target", "weight")

    def __init__(self, sample: Sample, place: Mapping[str, int]) -> None:
        scale = max(sample.counted, _SMALLEST)
        amounts: dict[int, float] = {}
        fixed = sample.rest
        for kind, tokens in sample.kinds.items():
            at = place.get(kind)
            if at is None:
                fixed += tokens
            else:
                amounts[at] = amounts.get(at, 0.0) + tokens / scale
        self.amounts = list(amounts.items())
        self.target = (sample.counted - fixed) / scale
        self.weight = 1.0

    def error(self, factors: Sequence[float]) -> float:
        return abs(sum(factors[at] * amount for at, amount in self.amounts) - self.target)


def _weigh(rows: Sequence[_Row], factors: Sequence[float]) -> None:
    """Weighs down the squares of errors that are larger than is usual among these samples."""
    errors = [row.error(factors) for row in rows]
    usual = max(_TYPICAL, median(errors)) if errors else _TYPICAL
    for row, error in zip(rows, errors, strict=True):
        row.weight = usual / max(error, usual)


def _solved(rows: Sequence[_Row], start: Sequence[float]) -> list[float]:
    """The factors within the bounds for which the weighted squares and the prior's are least."""
    size = len(start)
    gram = [[PRIOR if at == other else 0.0 for other in range(size)] for at in range(size)]
    target = [PRIOR] * size
    for row in rows:
        for at, amount in row.amounts:
            target[at] += row.weight * amount * row.target
            line = gram[at]
            for other, also in row.amounts:
                line[other] += row.weight * amount * also
    factors = list(start)
    for _ in range(_SWEEPS):
        most = 0.0
        for at, line in enumerate(gram):
            others = sum(map(float.__mul__, line, factors)) - line[at] * factors[at]
            better = min(HIGHEST, max(LOWEST, (target[at] - others) / line[at]))
            most = max(most, abs(better - factors[at]))
            factors[at] = better
        if most < _SETTLED:
            break
    return factors
