"""A calibration on the terminal. Adds nothing up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rich.text import Text

from analyzers import tables
from analyzers.calibrated import KINDS
from analyzers.calibration import FEW, FOLDS, HIGHEST, LEAST, LOWEST, PRIOR, Calibration, Errors, FamilyCalibration
from analyzers.calibration_samples import SMALLEST
from analyzers.tables import Grid

type _Lines = list[Grid | Text | str]

MODELS: Final = {"v3": "models up to 4.6", "v4.7": "Opus 4.7", "v4.8": "models from 4.8 on"}
REASONS: Final[Mapping[str, str]] = {
    "no_body": "the request was not kept, or is no JSON",
    "not_counted": "the server did not tell the whole input",
    "unknown_model": "no Claude model, or one whose tokenizer is not known",
    "message_thread": "a message thread: its beginning is not in the request",
    "server_tools": "the server's own tools added to the prompt",
    "several_passes": "the server made several passes (compaction, advisor, fallback), or the prompt is not all there",
    "context_editing": "the server edited the context, or may have",
    "inclusive_input": "this host may tell cached tokens inside its input",
    "thinking": "replayed thinking, which counts as its signature holds it",
    "unknown_rows": "not all is known: behind a URL or file id, encrypted, PDF, or folded without a note",
    "client_log": "a client's log, which leaves out part of the system prompt",
    "small": f"fewer than {SMALLEST} tokens were added",
}


def calibration_lines(found: Calibration) -> _Lines:
    """The families with their multipliers and errors, then what took no part."""
    lines: _Lines = []
    for name, one in found.families.items():
        lines += [*_family(name, one), ""]
    if found.excluded:
        lines += [excluded_table(found.excluded), ""]
    return lines


def excluded_table(excluded: Mapping[str, int]) -> Grid:
    """Requests that took no part, by reason, most first."""
    drawn = tables.grid("took no part", "requests", left=(0,))
    for reason, number in sorted(excluded.items(), key=lambda item: -item[1]):
        drawn.add(REASONS.get(reason, reason), f"{number:,}")
    return drawn


def _family(name: str, one: FamilyCalibration) -> _Lines:
    heading = Text(f"tokenizer {name} ({MODELS.get(name, name)})", "bold")
    return [heading, _samples(one), *_verdict(one), "", _table(one)]


def _samples(one: FamilyCalibration) -> str:
    number = one.differences + one.whole
    told = f"{_many(number, 'sample')} of {_many(one.threads, 'conversation')}: what a request adds to the one before "
    told += f"it {one.differences:,}, whole requests {one.whole:,}"
    return told + (f"; {_many(one.older, 'older one')} left out" if one.older else "")


def _many(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _verdict(one: FamilyCalibration) -> Sequence[str]:
    """What the multipliers are worth, and what became of them."""
    if one.before is None or one.after is None:
        return [f"fewer than {LEAST} samples: nothing was fitted, every multiplier is 1"]
    how = f"in {FOLDS} parts, by conversation" if one.held_out == "threads" else f"every {FOLDS}th sample in turn"
    told = f"error on what was held out ({how}): median {_errors(one.before)} before, {_errors(one.after)} after"
    fit = "one for each kind" if one.by_kind else f"one for all, since there are fewer than {FEW} samples"
    prior = f"drawn to 1 as by {PRIOR:g} of a sample of that kind alone, from {LOWEST:g} to {HIGHEST:g}"
    if one.improved:
        return [told, f"multipliers: {fit}, {prior}"]
    if one.forced:
        return [told, f"that is no better; used all the same (--force). Multipliers: {fit}, {prior}"]
    return [told, "that is no better, so every multiplier is 1 (--force uses them all the same)"]


def _errors(errors: Errors) -> str:
    return f"{errors.median:.1f} % (95th percentile {errors.p95:.1f} %)"


def _table(one: FamilyCalibration) -> Grid:
    drawn = tables.grid("kind", "tokens in the samples (estimated)", "multiplier", "", left=(0, 3))
    for kind in KINDS:
        tokens, multiplier = one.seen.get(kind, 0.0), one.multipliers[kind]
        drawn.add(kind, f"{round(tokens):,}", f"{multiplier:.3f}", _remark(one, kind))
    return drawn


def _remark(one: FamilyCalibration, kind: str) -> str:
    if not one.seen.get(kind):
        return "not seen: 1"
    if kind not in one.fitted:
        return f"in fewer than {LEAST} samples: 1" if one.by_kind else "hardly seen: 1"
    return "at its bound" if one.multipliers[kind] in (LOWEST, HIGHEST) else ""
