"""What the API says an answer cost in tokens: merged from the two halves of a stream, and read into typed counters.

`merge` works on the raw objects and keeps every name that came, so that a counter nobody knows yet is recorded too.
`Usage` is the typed view that figures are computed from. In both, a counter that is absent, null or no count at all is
unknown, which is never 0. Cost: one pass over a handful of keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from analyzers.wire.jsontext import Json, Number
from analyzers.wire.note import Note

_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_COUNTERS = (*_INPUT, "output_tokens")
_PLACEHOLDERS = ("output_tokens", "output_tokens_details")
"""Members of message_start's usage that mean nothing before message_delta replaces them (so does the official SDK)."""

_MOST_DIGITS = 100
_EXACT = 2**53
"""Beyond this a reader that keeps numbers as doubles shows another count."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counters of one answer, or of one iteration of it. None: unknown.

    Names and meanings are the API's: `input_tokens` is the part that has to do with no cache, `output_tokens` includes
    thinking.
    """

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None
    ephemeral_5m_input_tokens: int | None = None
    """Cache writes that live five minutes. With `split_estimated`, whatever the split left over was counted here."""
    ephemeral_1h_input_tokens: int | None = None
    split_estimated: bool = False
    thinking_tokens: int | None = None
    """Of the output tokens, those spent on thinking: a part, never added."""
    server_tool_use: Mapping[str, int] | None = None
    """Requests to each of the server's tools, by the API's name of the counter."""
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    iterations: tuple[Usage, ...] | None = None
    """The passes that are billed, each at its own model. None: not reported. Never add the top level to them."""
    type: str | None = None
    """Of an iteration: `message`, `compaction`, `advisor_message`, `fallback_message`."""
    model: str | None = None
    """Of an iteration: the model it ran on, when it says so."""

    @property
    def total_input_tokens(self) -> int | None:
        """Input + cache writes + cache reads, over all passes. None when any part is unknown."""
        parts = (self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens)
        return None if None in parts else self.at_least_input

    @property
    def at_least_input(self) -> int:
        """The sum of those input counters that are known."""
        return (self.input_tokens or 0) + (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)

    @classmethod
    def from_json(cls, raw: Json) -> tuple[Usage, tuple[Note, ...]]:
        """The counters of a raw `usage` object, and what was wrong with them. Raises nothing.

        Notes: `counter_rejected`, `counter_huge`, `cache_split_incomplete`, `usage_malformed`.
        """
        notes: list[Note] = []
        usage = _read(raw, "usage", notes)
        return usage, tuple(notes)


def merge(start: Json, delta: Json) -> tuple[dict[str, Any] | None, tuple[Note, ...]]:
    """The usage of a stream, from the raw `usage` of its message_start and of its message_delta (None: none came).

    Counts in message_delta are cumulative and overwrite those of message_start, member by member and 0 included,
    wherever they are given; they are never added, nor is the greater one taken. The output counts of message_start are
    placeholders and never in the result. One exception: an input of 0 beside a start above 0 comes from servers that do
    not know, unless the delta has iterations, all input counters, or another input above 0; then the start stays.

    Notes: `output_unknown`, `counter_rejected`, `zero_input_ignored`, `server_rounds`, `input_grew`.
    """
    notes: list[Note] = []
    before = start if isinstance(start, dict) else {}
    after = _given(delta, notes) if isinstance(delta, dict) else {}
    if not isinstance(start, dict) and not isinstance(delta, dict):
        return None, ()
    if _knows_nothing(before, after):
        del after["input_tokens"]
        notes.append(Note("zero_input_ignored", "message_delta knows of no input: message_start's count was kept"))
    if "output_tokens" not in after:
        notes.append(Note("output_unknown", "no final count of output tokens came: message_start's is a placeholder"))
    notes.extend(_growth(before, after))
    merged = {name: value for name, value in before.items() if name not in _PLACEHOLDERS}
    return merged | after, tuple(notes)


def _given(delta: dict[str, Any], notes: list[Note]) -> dict[str, Any]:
    """The members of a delta that say something: not null, and where a count belongs, a count."""
    given = {}
    for name, value in delta.items():
        if value is None:
            continue
        if name in _COUNTERS and count(value, f"usage.{name}", notes) is None:
            continue
        given[name] = value
    return given


def _knows_nothing(before: dict[str, Any], after: dict[str, Any]) -> bool:
    if "iterations" in after or count(after.get("input_tokens")) != 0 or not count(before.get("input_tokens")):
        return False
    others = [count(after[name]) for name in _INPUT[1:] if name in after]
    return len(others) < 2 and not any(others)


def _growth(before: dict[str, Any], after: dict[str, Any]) -> list[Note]:
    first, last = count(before.get("input_tokens")), count(after.get("input_tokens"))
    if not first or last is None or last <= first:
        return []
    tools = after.get("server_tool_use")
    rounds = "iterations" in after or (isinstance(tools, dict) and any(count(n) for n in tools.values()))
    rise = f"input_tokens rose from {first} in message_start to {last}"
    return [Note("server_rounds", f"{rise}: it includes server-side rounds") if rounds else Note("input_grew", rise)]


def count(value: Json, path: str = "", notes: list[Note] | None = None) -> int | None:
    """The count a JSON value stands for, or None for null and for what is no count.

    A count is an integer of 0 or more; `7.0` and `1e3` are counts too. Strings, booleans, negative numbers, fractions
    and numbers of more than a hundred digits are none. What is rejected, or is beyond 2**53, is told to `notes`.
    """
    if type(value) is int and 0 <= value <= _EXACT:
        return value
    if value is None:
        return None
    number, reason = _integral(value)
    if notes is not None:
        if number is None:
            notes.append(Note("counter_rejected", f"{reason} is not a count", path))
        elif number > _EXACT:
            notes.append(Note("counter_huge", f"a count of {len(str(number))} digits", path))
    return number


def _integral(value: Json) -> tuple[int | None, str]:
    """The non-negative integer that a number is, or what it is instead."""
    if isinstance(value, bool):
        return None, "a boolean"
    if isinstance(value, str) and not isinstance(value, Number):
        return None, "a string"
    if not isinstance(value, (int, float, Number)):
        return None, "an object" if isinstance(value, dict) else "a list"
    try:
        exact = Decimal(value)
    except InvalidOperation:
        return None, "a number out of range"
    if not exact.is_finite() or exact.adjusted() >= _MOST_DIGITS:
        return None, f"a number of more than {_MOST_DIGITS} digits"
    if exact < 0:
        return None, "a negative number"
    if exact != exact.to_integral_value():
        return None, "a fraction"
    return int(exact), ""


def _read(raw: Json, path: str, notes: list[Note]) -> Usage:
    usage = _read_flat(raw, path, notes)
    passes = raw.get("iterations") if isinstance(raw, dict) else None
    if passes is None:
        return usage
    if not isinstance(passes, list):
        notes.append(Note("usage_malformed", "not a list", f"{path}.iterations"))
        return usage
    read = (_read_flat(one, f"{path}.iterations[{i}]", notes) for i, one in enumerate(passes))
    return replace(usage, iterations=tuple(read))


def _read_flat(raw: Json, path: str, notes: list[Note]) -> Usage:
    """One usage object without its iterations."""
    if not isinstance(raw, dict):
        if raw is not None:
            notes.append(Note("usage_malformed", "not an object", path))
        return Usage()
    fresh, written, read, output = (count(raw.get(name), f"{path}.{name}", notes) for name in _COUNTERS)
    five, hour, estimated = _split(raw, written, path, notes)
    details = _object(raw, "output_tokens_details", path, notes) or {}
    tools = _object(raw, "server_tool_use", path, notes)
    return Usage(
        input_tokens=fresh,
        cache_creation_input_tokens=written,
        cache_read_input_tokens=read,
        output_tokens=output,
        ephemeral_5m_input_tokens=five,
        ephemeral_1h_input_tokens=hour,
        split_estimated=estimated,
        thinking_tokens=count(details.get("thinking_tokens"), f"{path}.output_tokens_details.thinking_tokens", notes),
        server_tool_use=None if tools is None else _counts(tools, f"{path}.server_tool_use", notes),
        service_tier=_word(raw, "service_tier", path, notes),
        speed=_word(raw, "speed", path, notes),
        inference_geo=_word(raw, "inference_geo", path, notes),
        type=_word(raw, "type", path, notes),
        model=_word(raw, "model", path, notes),
    )


def _split(
    raw: dict[str, Any], written: int | None, path: str, notes: list[Note]
) -> tuple[int | None, int | None, bool]:
    """Cache writes by lifetime (5 minutes, 1 hour), and whether a part of them had to be assigned.

    Only message_start carries the split. Where the final count is greater, the rest is taken for five-minute writes.
    """
    parts = _counts(_object(raw, "cache_creation", path, notes) or {}, f"{path}.cache_creation", notes)
    five, hour = parts.get("ephemeral_5m_input_tokens"), parts.get("ephemeral_1h_input_tokens")
    if written is None or not parts:
        return five, hour, False
    rest = written - sum(parts.values())
    if rest:
        detail = f"the split by lifetime adds up to {written - rest} of {written} tokens"
        notes.append(Note("cache_split_incomplete", detail, f"{path}.cache_creation"))
    return (five or 0) + rest if rest > 0 else five, hour, rest != 0


def _counts(raw: dict[str, Any], path: str, notes: list[Note]) -> dict[str, int]:
    read = {name: count(value, f"{path}.{name}", notes) for name, value in raw.items()}
    return {name: number for name, number in read.items() if number is not None}


def _object(raw: dict[str, Any], name: str, path: str, notes: list[Note]) -> dict[str, Any] | None:
    value = raw.get(name)
    if value is None or isinstance(value, dict):
        return value
    notes.append(Note("usage_malformed", "not an object", f"{path}.{name}"))
    return None


def _word(raw: dict[str, Any], name: str, path: str, notes: list[Note]) -> str | None:
    value = raw.get(name)
    if value is None or type(value) is str:
        return value
    notes.append(Note("usage_malformed", "not a string", f"{path}.{name}"))
    return None
