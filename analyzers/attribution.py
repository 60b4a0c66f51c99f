"""A request's estimated tokens beside the total that the server counted.

The estimate of each field and block stands as it is. What it misses is the residual, one figure of its own: it is
printed, and never spread over the rows. Nothing is said of the residual where the two are not of one prompt: in a
message thread that goes on, or where the server made several passes. What the server says it cleared of the messages
was on the wire and not in the prompt; it stands apart, by the server's own count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analyzers.estimate import PromptEstimate, estimate
from analyzers.exchange import Exchange
from analyzers.exchange_calls import calls_of
from analyzers.noted import Noted
from analyzers.share import share_of
from analyzers.text_classes import script_of
from analyzers.tokens import VOCABULARIES, Family, TextWeight, Weights, has_ctok, tokens_of, vocabulary_of
from analyzers.wire.usage import count


@dataclass(frozen=True, slots=True)
class Attribution:
    """``counted``: tokens of the whole input by the server (uncached, written and read), None when it did not say all;
    ``residual``: ``counted`` less the estimate, None where the two cannot be compared, ``reason`` says why;
    ``cleared``: tokens that the server says it cleared, None when it says nothing of the kind."""

    estimate: PromptEstimate
    counted: int | None
    residual: int | None
    reason: str | None
    cleared: int | None

    @property
    def residual_share(self) -> float | None:
        """In percent of what the server counted."""
        return None if self.residual is None or not self.counted else share_of(self.residual, self.counted)


def attribution(exchange: Exchange, weights: Weights | None = None) -> Attribution | None:
    """The tokens of one request. None: its body is not there. ``weights``: knows the texts that were folded."""
    request = exchange.request
    if request is None or request.reason is not None or type(request.body) is not dict:
        return None
    found = estimate(request.body, exchange.model or request.model, weights)
    calls = calls_of(exchange)
    spent = calls[0].spent if len(calls) == 1 else None
    counted = None
    if spent is not None:
        parts = (spent.fresh, spent.written, spent.read)
        counted = calls[0].counted if calls[0].counted is not None else None if None in parts else spent.total_input
    reason = _not_comparable(exchange, counted)
    cleared = _cleared(exchange)
    residual = None if counted is None or reason is not None else counted + (cleared or 0) - found.tokens
    return Attribution(found, counted, residual, reason, cleared)


def _not_comparable(exchange: Exchange, counted: int | None) -> str | None:
    request, response = exchange.request, exchange.response
    body = request.body if request is not None else None
    thread = body.get("thread") if type(body) is dict else None
    if type(thread) is dict and thread.get("type") == "continue":
        return "the beginning of this message thread is not in the request"
    if counted is None:
        return "the server did not tell the whole input"
    usage = response.usage if response is not None else None
    if usage is not None and any((usage.server_tool_use or {}).values()):
        return "the server's own tools added to the prompt while it was answered"
    if usage is not None and len(usage.iterations or ()) > 1:
        return "the server made several passes, whose prompts are not all in the request"
    return None


def _cleared(exchange: Exchange) -> int | None:
    """What the answer says of edits: they are on the wire and not in the prompt."""
    rest = exchange.response.rest if exchange.response is not None else {}
    managed = rest.get("context_management")
    edits = managed.get("applied_edits") if isinstance(managed, Mapping) else None
    listed = edits if type(edits) is list else []
    found = [count(edit.get("cleared_input_tokens")) for edit in listed if type(edit) is dict]
    known = [tokens for tokens in found if tokens is not None]
    return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class Ratio:
    """Characters and tokens of some texts, as they were sent; ``tokens`` is an estimate."""

    name: str
    chars: int
    tokens: int

    @property
    def chars_per_token(self) -> float | None:
        return self.chars / self.tokens if self.tokens else None


@dataclass(frozen=True, slots=True)
class Ratios:
    """Characters per token of one family of models. ``scripts``: by script or kind of writing, always by its factors;
    ``fields``: by field, only what was text; ``requests``: so many. ``counted`` and ``chars``: the server's own input
    tokens and the texts' characters of those requests of which the server told all and nothing but text was sent."""

    family: Family | None
    requests: int
    scripts: tuple[Ratio, ...]
    fields: tuple[Ratio, ...]
    unknown: int
    counted: int
    chars: int

    @property
    def chars_per_token(self) -> float | None:
        """By the server's count."""
        return self.chars / self.counted if self.counted else None


def ratios(found: Iterable[Attribution]) -> list[Ratios]:
    """Characters per token of recorded requests, by the family of their models; those sent most first."""
    sums: dict[Family | None, _Sums] = {}
    for one in found:
        sums.setdefault(one.estimate.family, _Sums()).add(one)
    return [one.ratios(family) for family, one in sorted(sums.items(), key=lambda item: -item[1].requests)]


class _Sums:
    def __init__(self) -> None:
        self.requests = self.unknown = self.counted = self.chars = 0
        self.classes: dict[str, tuple[int, int]] = {}
        self.fields: dict[str, list[int]] = {}

    def add(self, one: Attribution) -> None:
        self.requests += 1
        known = not one.estimate.at_least
        whole = 0
        for field in one.estimate.fields:
            for row in field.rows:
                self.unknown += row.tokens is None
                weight = row.weight
                whole += weight.chars
                tally = self.fields.setdefault(field.name, [0, 0])
                tally[0] += weight.chars
                tally[1] += tokens_of(weight, one.estimate.family)
                for name, (chars, tokens) in weight.classes.items():
                    before = self.classes.get(name, (0, 0))
                    self.classes[name] = (before[0] + chars, before[1] + tokens)
        if known and one.residual is not None and one.counted is not None:
            self.counted += one.counted
            self.chars += whole

    def ratios(self, family: Family | None) -> Ratios:
        by_script: dict[str, dict[str, tuple[int, int]]] = {}
        for name, pair in self.classes.items():
            by_script.setdefault(script_of(name), {})[name] = pair
        scripts = [
            Ratio(script, sum(chars for chars, _ in pairs.values()), tokens_of(TextWeight(pairs), family))
            for script, pairs in by_script.items()
        ]
        fields = [Ratio(name, chars, tokens) for name, (chars, tokens) in self.fields.items() if chars]
        return Ratios(
            family,
            self.requests,
            tuple(sorted(scripts, key=lambda one: -one.chars)),
            tuple(sorted(fields, key=lambda one: -one.chars)),
            self.unknown,
            self.counted,
            self.chars,
        )


def known_weights(notes: Mapping[str, Noted] | None, models: Iterable[str | None] | None = None) -> Weights:
    """What weighs texts, with ctok where it is installed, and knows those that a capture folded and noted. ``models``:
    those that it is asked for, None: any."""
    known = {sha256: note.weight for sha256, note in (notes or {}).items() if note.weight is not None}
    asked = VOCABULARIES if models is None else sorted({vocabulary_of(model) for model in models})
    return Weights(closely=asked if has_ctok() else (), known=known)
