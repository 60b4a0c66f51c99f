"""An estimated prompt by kind of what costs tokens in it, and the same estimate with a multiplier for each kind.

A calibration (``calibration``) is a layer over an estimate and changes nothing beneath it: the rows stay the ledger's,
and ``method`` names the file. Only what o200k estimated is multiplied. Counts by ctok are left alone, and so are
pictures and frames beside them: the multipliers were fitted to what o200k gets wrong. What the documentation gives (the
system prompt for tools, notes on deferred ones) is never multiplied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from analyzers.attribution import Attribution
from analyzers.blocks import TOOL_CALLS
from analyzers.estimate import Addition, FieldTokens, PromptEstimate, RowTokens
from analyzers.text_classes import script_of
from analyzers.token_factors import FACTORS, UNSEEN
from analyzers.tokens import Family, TextWeight, sum_of, tokens_of, vocabulary_of

KINDS: Final = (
    "latin",
    "han",
    "kana",
    "hangul",
    "cyrillic",
    "other scripts",
    "digits",
    "punctuation",
    "symbols",
    "blanks",
    "tools",
    "images",
    "frames",
)
"""What has a multiplier of its own. ``tools``: whole definitions; ``frames``: those that were read off recorded counts
(``prompt_frames``)."""

_OF_SCRIPT: Final = {
    **{name: name for name in KINDS[:10] if name != "other scripts"},
    "cyrillic extended": "cyrillic",
    "cjk punctuation": "symbols",
    "emoji": "symbols",
    "control": "symbols",
    "blank": "blanks",
    "newline": "blanks",
}
_OF_ROW: Final = {"tool": "tools", "tool_reference": "tools", "tool_addition": "tools", "image": "images"}

type Amounts = Mapping[str, float]
"""Estimated tokens, or multipliers, by kind; a kind that is not there has 0 tokens, and the multiplier 1."""


@dataclass(frozen=True, slots=True)
class Multipliers:
    """What a user's calibration says. ``source``: the file and its day; ``families``: by family, those that differ from
    1."""

    source: str
    families: Mapping[Family, Amounts]


def kind_of(class_name: str) -> str:
    """The kind of a class of writing (``text_classes``)."""
    return _OF_SCRIPT.get(script_of(class_name), "other scripts")


def tokens_by_kind(found: PromptEstimate) -> tuple[dict[str, float], int]:
    """The tokens of an estimate by kind, and those that no multiplier is for. Rows that are not wholly known count with
    what is known of their texts."""
    texts: list[TextWeight] = []
    whole: Counter[str] = Counter()
    for one in found.fields:
        for row in one.rows:
            if (kind := _OF_ROW.get(row.row.type)) is not None:
                whole[kind] += row.low
                continue
            texts.append(row.weight)
            if row.row.type in TOOL_CALLS:
                whole["frames"] += _frames_of(row, found)
    whole["frames"] += sum(one.tokens or 0 for one in found.additions if _is_frame(one))
    rest = sum(one.tokens or 0 for one in found.additions if not _is_frame(one))
    return {**_text_kinds(sum_of(texts), found.model), **{kind: float(tokens) for kind, tokens in whole.items()}}, rest


def calibrated(found: PromptEstimate, by: Multipliers) -> PromptEstimate:
    """The estimate with the user's multipliers; ``method`` says whether there were any for it."""
    amounts = by.families.get(found.family) if found.family is not None else None
    if found.method == "ctok":
        return replace(found, method=f"ctok; {by.source} is of what o200k estimates, and was not applied")
    if not amounts:
        told = f"tokenizer {found.family}" if found.family is not None else "this model"
        return replace(found, method=f"{found.method}; {by.source} has no multipliers for {told}")
    return _Layer(found, amounts, by.source).applied()


def calibrated_attribution(found: Attribution, by: Multipliers) -> Attribution:
    """The same beside the server's total: the residual is that of the calibrated estimate."""
    after = calibrated(found.estimate, by)
    residual = None if found.residual is None else found.residual + found.estimate.tokens - after.tokens
    return replace(found, estimate=after, residual=residual)


class _Layer:
    """Multipliers laid over one estimate."""

    def __init__(self, found: PromptEstimate, by: Amounts, source: str) -> None:
        self._found, self._by = found, by
        self._mixed = "ctok" in found.method
        self._method = f"{found.method}, {'the latter ' if self._mixed else ''}calibrated by {source}"

    def applied(self) -> PromptEstimate:
        found = self._found
        fields = tuple(self._field(one) for one in found.fields)
        additions = tuple(self._addition(one) for one in found.additions)
        added = sum(one.tokens or 0 for one in additions)
        highs = [row.high for one in fields for row in one.rows] + [one.tokens for one in additions]
        return replace(
            found,
            method=self._method,
            fields=fields,
            additions=additions,
            deferred=tuple(map(self._row, found.deferred)),
            tokens=sum(one.tokens for one in fields) + added,
            most=None if None in highs else sum(high for high in highs if high is not None),
        )

    def _field(self, one: FieldTokens) -> FieldTokens:
        rows = tuple(map(self._row, one.rows))
        return replace(one, rows=rows, tokens=sum(row.low for row in rows))

    def _row(self, row: RowTokens) -> RowTokens:
        counted = row.weight.method(self._found.family) == "ctok" if row.weight.classes else self._mixed
        if counted:
            return row
        kinds = _row_kinds(row, self._found)
        low = max(0, row.low + round(sum((self._by.get(kind, 1.0) - 1.0) * tokens for kind, tokens in kinds.items())))
        return replace(
            row,
            tokens=None if row.tokens is None else low,
            low=low,
            high=None if row.high is None else row.high + low - row.low,
        )

    def _addition(self, one: Addition) -> Addition:
        if one.tokens is None or self._mixed or not _is_frame(one):
            return one
        return replace(one, tokens=round(one.tokens * self._by.get("frames", 1.0)))


def _row_kinds(row: RowTokens, found: PromptEstimate) -> dict[str, float]:
    """The tokens of a row by kind."""
    whole = _OF_ROW.get(row.row.type)
    if whole is not None:
        return {whole: float(row.low)}
    kinds = _text_kinds(row.weight, found.model)
    if row.row.type in TOOL_CALLS:
        kinds["frames"] = float(_frames_of(row, found))
    return kinds


def _frames_of(row: RowTokens, found: PromptEstimate) -> int:
    """What of a tool call is no text."""
    return max(0, row.low - tokens_of(row.weight, found.family))


def _text_kinds(weight: TextWeight, model: str | None) -> dict[str, float]:
    vocabulary = vocabulary_of(model)
    factors, unseen = FACTORS[vocabulary], UNSEEN[vocabulary]
    kinds: dict[str, float] = {}
    for name, (chars, tokens) in weight.classes.items():
        per_char, per_token = factors.get(name, unseen)
        kind = kind_of(name)
        kinds[kind] = kinds.get(kind, 0.0) + per_char * chars + per_token * tokens
    return kinds


def _is_frame(addition: Addition) -> bool:
    """Whether an addition is made of frames, not of a text of the API's own."""
    return addition.what.startswith("frame")
