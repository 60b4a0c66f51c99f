"""The records of Claude Code's session files as far as usage goes: what is decoded of a line, and what it means.

The decoder knows the few members that are wanted and skips everything else unread; a record that is made in any other
way is decoded as a whole instead.
"""

from __future__ import annotations

from datetime import MAXYEAR, datetime
from typing import Any

import orjson
from msgspec import UNSET, Struct, to_builtins
from msgspec.json import Decoder

from analyzers.spent import Spent
from analyzers.terms import STANDARD_GEOS, STANDARD_SPEEDS, STANDARD_TIERS, Recorded, Terms, terms_of
from analyzers.wire.jsontext import Number
from analyzers.wire.usage import Usage, count

_EXACT = 2**53

SYNTHETIC = "<synthetic>"

PLACEHOLDER = 8
"""Output tokens up to which a record without a stop reason is a placeholder (measured on older versions)."""

IMPOSSIBLE = 8
"""Visible characters per output token that no tokenizer reaches on text."""


class Split(Struct, gc=False):
    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class Details(Struct, gc=False):
    thinking_tokens: int | None = None


class Tools(Struct, gc=False):
    web_search_requests: int | None = None
    code_execution_requests: int | None = None


class OnePass(Struct, gc=False):
    type: str | None = None
    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None


class PlainUsage(Struct):
    """A usage whose counters are whole numbers or missing; any other kind is decoded in another way."""

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation: Split | None = None
    output_tokens_details: Details | None = None
    iterations: list[OnePass] | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    server_tool_use: Tools | None = None


class Message(Struct):
    id: Any = None
    model: Any = None
    stop_reason: Any = UNSET
    usage: PlainUsage | None = None


class Record(Struct):
    """The members of a record that tell whose call it was; whatever else it holds is skipped unread."""

    type: Any = None
    message: Message | None = None
    requestId: Any = None
    sessionId: Any = None
    requestSessionId: Any = None
    timestamp: Any = None
    isSidechain: Any = None
    agentId: Any = None
    isApiErrorMessage: Any = None
    requestedModel: Any = None
    costUSD: Any = None


DECODER = Decoder(Record)

NO_USAGE = PlainUsage()


def output_of(usage: PlainUsage) -> int:
    """The output tokens, to tell which of two records is the later one; -1: not known."""
    output = usage.output_tokens
    return -1 if output is None or output < 0 else output


def is_one_pass(usage: PlainUsage, passes: list[OnePass]) -> bool:
    """Whether the only iteration is the message itself, told again with the same counters."""
    one = passes[0]
    return (
        len(passes) == 1
        and one.type == "message"
        and one.input_tokens == usage.input_tokens
        and one.cache_creation_input_tokens == usage.cache_creation_input_tokens
        and one.cache_read_input_tokens == usage.cache_read_input_tokens
        and one.output_tokens == usage.output_tokens
    )


def plain_spent(usage: PlainUsage) -> Spent | None:
    """The counters of a usage that needs no judgement: all are there, none is negative or beyond what a double holds,
    and the split by lifetime adds up. The same as ``of_usage`` gives. None: judge it."""
    fresh, written = usage.input_tokens, usage.cache_creation_input_tokens
    read, output, split = usage.cache_read_input_tokens, usage.output_tokens, usage.cache_creation
    if fresh is None or written is None or read is None or output is None:
        return None
    if not (0 <= fresh < _EXACT and 0 <= written < _EXACT and 0 <= read < _EXACT and 0 <= output < _EXACT):
        return None
    five = hour = 0 if written == 0 else None
    if split is not None:
        five, hour = split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens
        if five is None or hour is None or five + hour != written or five < 0 or hour < 0:
            return None
    details = usage.output_tokens_details
    thinking = details.thinking_tokens if details is not None else None
    if thinking is not None and not 0 <= thinking < _EXACT:
        return None
    return Spent(fresh, written, five, hour, read, output, thinking)


def terms_in(usage: PlainUsage) -> Terms | None:
    """What ``terms_of`` says of a usage that needs no judgement."""
    tools = usage.server_tool_use
    if (
        usage.service_tier in STANDARD_TIERS
        and usage.speed in STANDARD_SPEEDS
        and usage.inference_geo in STANDARD_GEOS
        and (tools is None or not (tools.web_search_requests or tools.code_execution_requests))
    ):
        return None
    return terms_of(Usage.from_json(to_builtins(usage))[0])


def recorded_cost(cost: Any) -> Recorded | None:
    """The cost in USD that the client wrote down."""
    return Recorded("client", str(cost)) if type(cost) in (int, float, Number) else None


def text_of(value: Any) -> str | None:
    return value if type(value) is str and value else None


def own_totals(models: dict[str, Any]) -> Spent:
    """The client's counters of all models together."""
    names = (
        "inputTokens", "cacheCreationInputTokens", "cacheCreationEphemeral5mInputTokens",
        "cacheCreationEphemeral1hInputTokens", "cacheReadInputTokens", "outputTokens", "thinkingTokens",
    )  # fmt: skip
    told = [[count(model.get(name)) for name in names] for model in models.values() if type(model) is dict]
    return Spent(*(None if None in column else sum(column) for column in zip(*told, strict=True))) if told else Spent()


def quoted_record(row: dict[str, Any]) -> dict[str, Any]:
    """The sub-agent's record that a progress record quotes; an empty one when it quotes none."""
    data = row.get("data")
    if type(data) is not dict or type(inner := data.get("message")) is not dict:
        return {}
    return {"sessionId": row.get("sessionId"), "agentId": data.get("agentId")} | inner | {"isSidechain": True}


def is_placeholder(spent: Spent, chars: int, asked: bool) -> bool:
    """Whether the output of a record without a stop reason was never replaced by the final count. ``chars``: visible
    characters of the answer; ``asked``: whether the record has a stop reason at all, even if null."""
    if spent.output is None:
        return True
    return (asked and spent.output <= PLACEHOLDER) or chars > IMPOSSIBLE * spent.output + IMPOSSIBLE


def visible_chars(content: Any) -> int:
    """Characters of an answer that were output tokens: its texts, thinking, and inputs of tools."""
    if type(content) is not list:
        return len(content) if type(content) is str else 0
    total = 0
    for block in content:
        if type(block) is not dict:
            continue
        for name in ("text", "thinking"):
            if type(text := block.get(name)) is str:
                total += len(text)
        if (given := block.get("input")) is not None:
            try:
                total += len(orjson.dumps(given))
            except (TypeError, orjson.JSONEncodeError):
                continue
    return total


def word(value: dict[str, Any], name: str) -> str | None:
    """A member that is a non-empty string."""
    return text_of(value.get(name))


def seconds(stamp: str) -> float | None:
    """Seconds since the epoch of a log's timestamp; None when it is no time with a zone, or none that every zone can
    show."""
    try:
        moment = datetime.fromisoformat(stamp)
    except (ValueError, OverflowError):
        return None
    return moment.timestamp() if moment.tzinfo is not None and 1 < moment.year < MAXYEAR else None
