"""How conversations grow, as JSON and on the terminal. Adds nothing up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from analyzers import tables
from analyzers.context_limit import Limit
from analyzers.growth import CarriedOver, Forecast, Growth, ThreadGrowth, TurnGrowth
from analyzers.growth_fit import RECENT, Fit, Line
from analyzers.growth_model import Carried, Resent, milestones
from analyzers.price_parts import as_number
from analyzers.strategies import Settings
from analyzers.tables import Grid
from analyzers.usage_shown import bound

_SOURCES = {
    "server": "counted by the server",
    "refusal": "named by a refusal, and not billed",
    "characters": "estimated from characters",
    "estimator": "estimated by a tokenizer",
}
_LIMITS = {
    "server": "as the server said",
    "beta": "with the beta of a million tokens",
    "list": "as listed for the model",
    "given": "as given",
}


def growth_json(found: Growth) -> dict[str, Any]:
    """The document of ``growth --json``."""
    return {
        "threads": [thread_json(thread) for thread in found.threads],
        "left_out": {"of_one_turn": found.single, "older": found.older},
    }


def thread_json(thread: ThreadGrowth) -> dict[str, Any]:
    return {
        "session": thread.session,
        "agent": thread.agent,
        "forked_from": thread.forked_from,
        "turns": [_turn_json(turn) for turn in thread.turns],
        "typed_chars": thread.typed,
        "sent_chars": thread.chars,
        "at_least": [name for name, amount, is_open in _bounds(thread) if amount is not None and is_open],
        "fitted_from_turn": thread.since,
        "fit": _fit_json(thread.fitted) if thread.fitted is not None else None,
        "carried": [_carried_json(one) for one in thread.carried],
        "context_limit": _forecast_json(thread.limit, "tokens"),
        "limit": _forecast_json(thread.given_limit, "tokens"),
        "budget": _forecast_json(thread.budget, "usd"),
    }


def _bounds(thread: ThreadGrowth) -> Sequence[tuple[str, int | None, bool]]:
    return ("typed_chars", thread.typed, thread.is_typed_open), ("sent_chars", thread.chars, thread.is_chars_open)


def _turn_json(turn: TurnGrowth) -> dict[str, Any]:
    return {
        "turn": turn.turn,
        "n": turn.n,
        "step": turn.step,
        "model": turn.model,
        "total_input_tokens": turn.counted.tokens if turn.counted is not None else None,
        "counted_by": turn.counted.source if turn.counted is not None else None,
        "prompt_tokens": turn.prompt,
        "added_tokens": turn.added,
        "sent_tokens": turn.sent,
        "at_least": turn.at_least,
        "exact": turn.is_exact,
        "unbilled": turn.unbilled,
        "output_tokens": turn.spent.output,
        "typed_chars": turn.sizes.typed,
        "sent_chars": turn.sizes.chars,
        "usd": usd(turn.usd),
    }


def _fit_json(found: Fit) -> dict[str, Any]:
    return {
        "turns": found.turns,
        "sent_tokens": found.sent,
        "plain": {"formula": "t*N*(N+1)/2", **_line_json(found.plain)},
        "with_fixed": None
        if found.with_fixed is None
        else {"formula": "F*N + t*N*(N+1)/2", **_line_json(found.with_fixed)},
    }


def _line_json(line: Line) -> dict[str, Any]:
    return {
        "fixed_tokens": line.fixed,
        "tokens_per_turn": line.per_turn,
        "modelled_tokens": line.modelled,
        "residual_tokens": line.residual,
        "rms_tokens": line.rms,
        "r2": line.r2,
    }


def _carried_json(one: CarriedOver) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "turn": one.turn,
        "n": one.n,
        "messages": one.messages,
        "chars": one.chars,
        "tokens_estimated": one.tokens,
        "pause_seconds": one.pause,
    }


def _forecast_json(found: Forecast | None, unit: str) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        unit: found.limit,
        "source": found.source,
        "turn": found.turn,
        "passed": found.passed,
        "per_turn": found.per_turn,
        "certainty": "exact" if found.passed else "estimated",
    }


def usd(amount: Decimal | None) -> float | None:
    return None if amount is None else as_number(amount)


def growth_lines(found: Growth, every: bool, *, tabled: bool = True) -> Iterator[Grid | str]:
    """What ``growth`` prints. ``every``: all turns, not only some; ``tabled`` False: no turns at all."""
    for thread in found.threads:
        yield heading(thread)
        if tabled:
            yield _turn_table(thread, every)
        yield from _said(thread)
        yield ""
    yield f"threads: {len(found.threads)}{_left_out(found)}"


def heading(thread: ThreadGrowth) -> str:
    """Which thread it is."""
    agent = f"agent {tables.name_of(thread.agent)}" if thread.agent is not None else "main"
    first, last = thread.turns[0].n, thread.turns[-1].n
    fork = f", forked from #{thread.forked_from}" if thread.forked_from is not None else ""
    turns = f"{len(thread.turns):,} turns, #{first} to #{last}" if first != last else f"one turn, #{first}"
    return f"session {tables.name_of(thread.session)}  {agent}{fork}: {turns}"


def _left_out(found: Growth) -> str:
    parts = [
        f"{number} {what}"
        for number, what in ((found.single, "of one turn left out"), (found.older, "older not asked for"))
        if number
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _turn_table(thread: ThreadGrowth, every: bool) -> Grid:
    drawn = tables.grid("turn", "#", "step", "sent", "added", "sent so far", "output", "typed", "chars sent", left=(2,))
    called_out = {one.turn for one in thread.carried[:5]}
    shown = set(milestones(len(thread.turns))) | called_out
    for turn in thread.turns:
        if not every and turn.turn not in shown and turn.step in ("continues", "start"):
            continue
        drawn.add(
            f"{turn.turn:,}",
            f"{turn.n:,}",
            turn.step,
            _sent(turn),
            tables.UNKNOWN if turn.added is None else f"{turn.added:+,}",
            _so_far(turn),
            tables.count(turn.spent.output),
            tables.count(turn.sizes.typed),
            tables.count(turn.sizes.chars),
        )
    return drawn


def _so_far(turn: TurnGrowth) -> str:
    return tables.UNKNOWN if turn.sent is None else f"{_mark(turn)}{turn.sent:,}"


def _mark(turn: TurnGrowth) -> str:
    return "≥" if turn.at_least else "" if turn.is_exact else "~"


def _sent(turn: TurnGrowth) -> str:
    if turn.counted is None:
        return tables.UNKNOWN
    mark = "~" if turn.counted.source in ("characters", "estimator") else ""
    return f"{mark}{turn.counted.tokens:,}"


def _said(thread: ThreadGrowth) -> Iterator[str]:
    """What the table means, line by line."""
    last = next((turn for turn in reversed(thread.turns) if turn.sizes.typed and turn.sizes.chars), None)
    if last is not None:
        yield (
            f"turn {last.turn:,}: you type {last.sizes.typed:,} characters, {last.sizes.chars:,} are sent"
            f"{_in_all(thread)}"
        )
    for source in sorted({turn.counted.source for turn in thread.turns if turn.counted is not None} - {"server"}):
        number = sum(turn.counted is not None and turn.counted.source == source for turn in thread.turns)
        yield f"tokens of {number:,} of {len(thread.turns):,} turns: {_SOURCES[source]}"
    if thread.fitted is not None:
        yield from _fit_lines(thread.fitted, thread.since)
    yield from _carried_lines(thread.carried)
    for forecast in (thread.limit, thread.given_limit):
        if forecast is not None:
            yield _limit_line(forecast)
    if thread.limit is None:
        yield "context limit: unknown for this model"
    if thread.budget is not None:
        yield _budget_line(thread.budget)


def _in_all(thread: ThreadGrowth) -> str:
    if len(thread.turns) == 1 or not thread.typed or thread.chars is None:
        return ""
    typed, sent = bound(thread.typed, thread.is_typed_open), bound(thread.chars, thread.is_chars_open)
    is_open = thread.is_typed_open or thread.is_chars_open
    for_each = "" if is_open else f": {thread.chars / thread.typed:,.0f} for each"
    return f"; in all {typed} typed, {sent} sent{for_each}"


def _fit_lines(found: Fit, since: int) -> Iterator[str]:
    begin = f" since turn {since:,}" if since > 1 else ""
    plain = found.plain
    yield (
        f"model t·N(N+1)/2 over {found.turns:,} turns{begin}: t = {plain.per_turn:,.0f}; "
        f"{found.sent:,} sent, {plain.modelled:,.0f} by the model, residual {plain.residual:+,.0f}"
    )
    if found.with_fixed is not None:
        line = found.with_fixed
        r2 = "" if line.r2 is None else f", R² {line.r2:.4f}"
        yield (
            f"model F·N + t·N(N+1)/2: F = {line.fixed:,.0f}, t = {line.per_turn:,.0f}; "
            f"single turns are off by {line.rms:,.0f} tokens (rms){r2}"
        )


def _carried_lines(found: Sequence[CarriedOver]) -> Iterator[str]:
    for one in found[:5]:
        carried = "" if one.messages is None else f"{one.messages:,} earlier messages"
        if one.chars is not None:
            carried += f", {one.chars:,} characters"
        if one.tokens is not None:
            carried += f", ~{one.tokens:,} tokens"
        yield f"CARRIED: turn {one.turn:,} (#{one.n}) {_reason(one)} and still sends {carried.lstrip(', ')}"
    if len(found) > 5:
        yield f"CARRIED: {len(found) - 5:,} more turns (--json shows each)"


def _reason(one: CarriedOver) -> str:
    if one.kind == "after_pause" and one.pause is not None:
        hours = one.pause / 3600
        return f"comes after a pause of {hours:,.0f} hours" if hours >= 2 else f"comes after {hours * 60:,.0f} minutes"
    return "begins a recorded thread" if one.kind == "first_turn" else "goes on under another session id"


def _limit_line(found: Forecast) -> str:
    name = f"limit of {found.limit:,.0f} tokens ({_LIMITS[found.source]})"
    if found.passed:
        return f"{name}: reached at turn {found.turn:,}"
    return f"{name}: {_ahead(found, 'tokens', ',.0f')}"


def _budget_line(found: Forecast) -> str:
    name = f"budget of {found.limit:,.2f} USD"
    if found.passed:
        return f"{name}: used up with turn {found.turn:,}"
    return f"{name}: {_ahead(found, 'USD', ',.4f')}"


def _ahead(found: Forecast, unit: str, form: str) -> str:
    if found.per_turn is None:
        return "too few turns to tell how it goes on"
    more = f", by the last {RECENT} turns ({found.per_turn:+{form}} {unit} each)"
    if found.turn is None:
        return f"not reached as it goes on{more}; an estimate"
    return f"about turn {found.turn:,}{more}; an estimate"


# The bare model


def resent_json(model: Resent, settings: Settings, limit: Limit | None) -> dict[str, Any]:
    """``growth --model --tokens-per-turn``."""
    turns = {str(turn): model.sent_by(turn) for turn in milestones(model.turns)}
    return {
        "full_history": {"tokens_per_turn": model.tokens_per_turn, "formula": model.formula, "turns": turns},
        **_remedies(model.prompt(model.turns), settings),
        **_hard_limit(limit, model.reaches(limit.tokens) if limit is not None else None),
    }


def carried_json(model: Carried, settings: Settings, limit: Limit | None) -> dict[str, Any]:
    """``growth --model --history``."""
    return {
        "carried_history": {
            "history": model.history,
            "first_turn": {"input": model.first_input, "output": model.answer, "total": model.cost(1)},
            "growth_per_turn": model.growth,
            "turns": model.turns,
            "last_turn": model.cost(model.turns),
            "total": model.total,
        },
        **_remedies(model.history, settings),
        **_hard_limit(limit, model.reaches(limit.tokens) if limit is not None else None),
    }


def _remedies(history: int, settings: Settings) -> dict[str, Any]:
    return {
        "sliding_window_tokens": settings.window,
        "summary": {"from": history, "to": settings.summary},
        "tiers": {"whole_turns": settings.whole, "summarised_turns": settings.summarised},
    }


def _hard_limit(limit: Limit | None, turn: int | None) -> dict[str, Any]:
    return {} if limit is None else {"hard_limit_tokens": limit.tokens, "hard_limit_turn": turn}


def resent_lines(model: Resent, limit: Limit | None) -> Iterator[Grid | str]:
    drawn = tables.grid("turn", "sent", "sent so far")
    for turn in milestones(model.turns):
        drawn.add(f"{turn:,}", f"{model.prompt(turn):,}", f"{model.sent_by(turn):,}")
    yield drawn
    yield f"{model.tokens_per_turn:,} tokens a turn, every turn resends all: {model.formula} tokens after N turns"
    yield from _limit_reached(limit, model.reaches(limit.tokens) if limit is not None else None)


def carried_lines(model: Carried, limit: Limit | None) -> Iterator[Grid | str]:
    drawn = tables.grid("turn", "input", "output", "together", "so far")
    for turn in milestones(model.turns):
        cost = model.cost(turn)
        drawn.add(f"{turn:,}", f"{cost - model.answer:,}", f"{model.answer:,}", f"{cost:,}", f"{model.sent_by(turn):,}")
    yield drawn
    yield (
        f"a message of {model.message:,} tokens costs {model.cost(1):,} with its answer, since "
        f"{model.history:,} tokens of history go with it; {model.turns:,} turns cost {model.total:,}"
    )
    yield from _limit_reached(limit, model.reaches(limit.tokens) if limit is not None else None)


def _limit_reached(limit: Limit | None, turn: int | None) -> Iterator[str]:
    if limit is not None:
        when = "never reached" if turn is None else f"reached at turn {turn:,}"
        yield f"limit of {limit.tokens:,} tokens: {when}"
