"""How many tokens a prompt may have: what the server said itself, else what is listed for the model.

A request that is too long is refused with ``prompt is too long: 211140 tokens > 200000 maximum``: both figures are the
server's own, and the first is the only exact count there is of a prompt that was refused. Sizes of context windows are
those that genai-prices lists with its prices (nothing is fetched); Sonnet 4 and 4.5 took a million with the beta
``context-1m-2025-08-07`` until 2026-04-30 (release notes). Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from analyzers.models import model_of

LONG_CONTEXT: Final = "context-1m-2025-08-07"
_LONG: Final = 1_000_000
_LONG_UNTIL: Final = 1_777_593_600.0  # 2026-05-01T00:00Z: the beta ended with the day before
_WITH_BETA: Final = frozenset((("sonnet", 4, 0), ("sonnet", 4, 5)))
_REFUSED: Final = re.compile(r"prompt is too long: ([0-9]{1,15}) tokens > ([0-9]{1,15}) maximum")


class Refusal(NamedTuple):
    """What a refusal tells: tokens of the prompt, and the most there may be."""

    tokens: int
    maximum: int


@dataclass(frozen=True, slots=True)
class Limit:
    """The most tokens of a prompt, and who says so: ``server``, ``beta``, ``list`` or ``given``."""

    tokens: int
    source: str


def refusal(message: str | None) -> Refusal | None:
    """The figures of an error that says that the prompt is too long; None for any other."""
    found = _REFUSED.search(message) if message is not None else None
    return Refusal(int(found[1]), int(found[2])) if found else None


def context_limit(model: str | None, *, long_context: bool = False, time: float | None = None) -> Limit | None:
    """The size of a model's context window; None where it is not known. ``long_context``: the request asked for the
    beta of a million tokens, at this time."""
    if model is None:
        return None
    found = model_of(model)
    if long_context and found.listed in _WITH_BETA and time is not None and time < _LONG_UNTIL:
        return Limit(_LONG, "beta")
    size = _listed().get(found.listed) if found.listed is not None else None
    return Limit(size, "list") if size is not None else None


@cache
def _listed() -> dict[tuple[str, int, int], int]:
    from genai_prices.data import providers

    models = next(provider.models for provider in providers if provider.id == "anthropic")
    windows = ((model_of(model.id).listed, model.context_window) for model in models)
    return {listed: window for listed, window in windows if listed is not None and window}
