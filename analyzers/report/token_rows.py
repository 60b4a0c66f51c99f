"""Tokens of the rows of a request, estimated block by block, so that what comes again is estimated once.

The figures are those that ``estimate`` gives for the same rows. What stands in no row (frames of messages, the system
prompt for tools) is in no figure here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from analyzers.estimate import RowTokens, estimate
from analyzers.tokens import Weights
from analyzers.wire.jsontext import Json

_REFERRING: Final = frozenset(("tool_reference", "tool_addition"))
"""Types of rows that count like a tool that stands elsewhere in the request."""


class RowTold(NamedTuple):
    """One row. ``tokens``: what is known of them, None where nothing is; ``at_least``: some are not known, for the
    ``reason``."""

    tokens: int | None
    at_least: bool
    reason: str | None


NOT_ESTIMATED: Final = RowTold(None, True, "not estimated")
NOT_ASKED: Final = RowTold(None, False, None)
_DEFERRED: Final = RowTold(0, False, "deferred: on the wire, not in the prompt")


@dataclass(frozen=True, slots=True)
class Told:
    """Some rows by their path. ``leans_on_others``: they depend on other blocks of the request."""

    rows: dict[str, RowTold]
    leans_on_others: bool = False


@dataclass(slots=True)
class TokenRows:
    """Estimates for the blocks of requests. ``weights``: what weighs their texts, and knows those that were folded."""

    weights: Weights = field(default_factory=Weights)

    def of(self, name: str, value: Json, body: Json, model: str | None, *, member: bool = False) -> Told:
        """The rows of a field, or of one ``member`` of a list as if it were the only one. Raises DamagedRanks."""
        found = self._rows(name, [value] if member else value, {}, model)
        if not found.leans_on_others or type(body) is not dict:
            return found
        return self._rows(name, [value] if member else value, {"tools": body.get("tools")}, model)

    def _rows(self, name: str, value: Json, beside: dict[str, Any], model: str | None) -> Told:
        found = estimate({**beside, name: value}, model, self.weights)
        rows = [row for one in found.fields if one.name == name for row in one.rows]
        told = {row.row.path: _told(row) for row in rows}
        if name == "tools":
            told |= dict.fromkeys((row.row.path for row in found.deferred), _DEFERRED)
        return Told(told, any(row.row.type in _REFERRING for row in rows))


def _told(row: RowTokens) -> RowTold:
    return RowTold(row.low or None if row.tokens is None else row.tokens, row.tokens is None, row.reason)
