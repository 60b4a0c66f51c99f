"""The usage of other vendors' forms, in the API's own counters.

They tell cached tokens *inside* the input: ``prompt_tokens_details.cached_tokens`` (chat completions),
``input_tokens_details.cached_tokens`` (responses), ``cached_tokens``, or ``prompt_cache_hit_tokens`` beside
``prompt_cache_miss_tokens``. The uncached part is what is left, and never negative. What a form does not tell (most
tell no cache writes) stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzers.wire.jsontext import Json
from analyzers.wire.usage import Usage, count

_MARKS = ("prompt_tokens", "input_tokens_details", "cached_tokens", "prompt_cache_hit_tokens")


def vendor_usage(raw: Json) -> Usage | None:
    """The counters of a ``usage`` object in another vendor's form; None when it is in the API's own, or none."""
    if type(raw) is not dict or not any(name in raw for name in _MARKS):
        return None
    if raw.get("cache_read_input_tokens") is not None and count(raw.get("input_tokens")):
        return None  # an alias beside the API's own counters
    total = _either(raw, "prompt_tokens", "input_tokens")
    details = _details(raw, "prompt_tokens_details") or _details(raw, "input_tokens_details")
    told = _details(raw, "completion_tokens_details") or _details(raw, "output_tokens_details")
    cached = _first(details.get("cached_tokens"), raw.get("cached_tokens"), raw.get("prompt_cache_hit_tokens"))
    written = count(details.get("cache_write_tokens"))
    fresh = count(raw.get("prompt_cache_miss_tokens"))
    if fresh is None and total is not None:
        inside = (cached or 0) + (written or 0)
        fresh = total - inside if inside <= total else total
    return Usage(
        input_tokens=fresh,
        cache_creation_input_tokens=written,
        cache_read_input_tokens=cached,
        output_tokens=_either(raw, "completion_tokens", "output_tokens"),
        thinking_tokens=count(told.get("reasoning_tokens")),
    )


def _details(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = raw.get(name)
    return value if type(value) is dict else {}


def _either(raw: Mapping[str, Any], name: str, alias: str) -> int | None:
    """A counter under one of two names; a 0 under one of them does not beat the other."""
    one, other = count(raw.get(name)), count(raw.get(alias))
    if one is None or other is None:
        return other if one is None else one
    return one or other


def _first(*values: Json) -> int | None:
    """The first of some counters that is given."""
    return next((number for value in values if (number := count(value)) is not None), None)
