"""What decides a call's price besides its counters, where anything but the standard does.

Most calls are made on standard terms and carry none of this: None, so that hundreds of thousands of them stay small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from analyzers.spent import Spent, billed_passes

if TYPE_CHECKING:
    from analyzers.wire.usage import Usage

STANDARD_TIERS: Final = frozenset((None, "", "standard"))
STANDARD_SPEEDS: Final = frozenset((None, "", "standard"))
STANDARD_GEOS: Final = frozenset((None, "", "global", "not_available"))

_ON_ITS_OWN: Final = ("anthropic.com", "amazonaws.com", "api.aws", "googleapis.com", "azure.com")
"""Hosts whose ``input_tokens`` are the uncached part only: the first party and the clouds that serve its API."""


class Conditions(NamedTuple):
    """What the price of a token depends on. ``region``: of the cloud's endpoint, when it is not the global one."""

    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    region: str | None = None


class Terms(NamedTuple):
    """What one call was served on. ``code_executions``: requests to the server's code execution, whose time no usage
    tells; ``host``: where it went, if that is neither the first party nor a known cloud; ``split_estimated``: part of
    the cache writes was given a lifetime without being told."""

    conditions: Conditions = Conditions()
    web_searches: int = 0
    code_executions: int = 0
    host: str | None = None
    split_estimated: bool = False


class Pass(NamedTuple):
    """One pass of a call that made several: what it spent at its own model (None: the call's). ``attempt``: which of
    the requests it was made for."""

    model: str | None
    spent: Spent
    attempt: int = 0


class Recorded(NamedTuple):
    """A cost that somebody else gave. ``by``: ``client``, from its log, or ``provider``, from the answer; ``usd``: as
    it was written."""

    by: Literal["client", "provider"]
    usd: str


STANDARD: Final = Terms()


def terms_of(
    usage: Usage | None, *, host: str | None = None, region: str | None = None, batch: bool = False
) -> Terms | None:
    """The terms of a usage; None when they are the standard ones. ``batch``: it is a result of a batch, whatever the
    usage says of its tier."""
    if host is not None and counts_apart(host):
        host = None
    if usage is None:
        return Terms(Conditions(region=region), host=host) if host or region else None
    tools = usage.server_tool_use or {}
    terms = Terms(
        conditions_of("batch" if batch else usage.service_tier, usage.speed, usage.inference_geo, region),
        tools.get("web_search_requests", 0),
        tools.get("code_execution_requests", 0),
        host,
        usage.split_estimated or any(one.split_estimated for one in usage.iterations or ()),
    )
    return None if terms == STANDARD else terms


def passes_of(usage: Usage | None, requested: str | None) -> tuple[Pass, ...]:
    """The passes that are billed, when they are several or one at a model of its own. An attempt before a fallback that
    names no model was made at the one asked for."""
    if usage is None or not usage.iterations:
        return ()
    billed = billed_passes(usage)
    if len(billed) == 1 and billed[0][0].model is None and len(usage.iterations) == 1:
        return ()
    fell_back = any(one.type == "fallback_message" for one in usage.iterations)
    return tuple(
        Pass(one.model or (requested if fell_back and one.type == "message" else None), spent) for one, spent in billed
    )


def conditions_of(tier: str | None, speed: str | None, geo: str | None, region: str | None = None) -> Conditions:
    """The conditions, with the standard ones as None."""
    return Conditions(
        None if tier in STANDARD_TIERS else tier,
        None if speed in STANDARD_SPEEDS else speed,
        None if geo in STANDARD_GEOS else geo,
        region,
    )


def counts_apart(host: str) -> bool:
    """Whether a host is known to tell cached tokens beside ``input_tokens``, never inside."""
    name = host.partition(":")[0].lower().rstrip(".")
    return any(name == known or name.endswith(f".{known}") for known in _ON_ITS_OWN)
