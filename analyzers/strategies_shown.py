"""Ways to send a conversation, side by side, as JSON and on the terminal. Adds nothing up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from analyzers import tables
from analyzers.growth_shown import usd
from analyzers.replayed_talk import Talk
from analyzers.spent import Sum
from analyzers.strategies import Replay, Settings
from analyzers.tables import Grid
from analyzers.usage import known, total_input
from analyzers.usage_shown import bound

type Recorded = tuple[Sum, Decimal | None]
"""What a thread really spent, and its price."""

_CACHES = {"none": "no cache", "5m": "5m cache", "1h": "1h cache"}


def what_if_json(talk: Talk, found: Sequence[Replay], settings: Settings, recorded: Recorded | None) -> dict[str, Any]:
    """The member ``what_if`` of a thread in ``growth --what-if --json``."""
    return {
        "settings": asdict(settings),
        "requests": len(talk.askings),
        "counted_by_server": talk.counted,
        "added_estimated": talk.estimated,
        "answers_estimated": talk.answers,
        "recorded": _recorded_json(recorded) if recorded is not None else None,
        "strategies": [_json(one) for one in found],
    }


def _recorded_json(recorded: Recorded) -> dict[str, Any]:
    sums, price = recorded
    return {
        "input_tokens": known(sums, "fresh"),
        "cache_creation_input_tokens": known(sums, "written"),
        "cache_read_input_tokens": known(sums, "read"),
        "total_input_tokens": total_input(sums),
        "output_tokens": known(sums, "output"),
        "at_least": sums.at_least("fresh", "written", "read", "output"),
        "usd": usd(price),
    }


def _json(one: Replay) -> dict[str, Any]:
    calls, input_, output, price = one.summarising
    return {
        "strategy": one.way,
        "cache": one.cache,
        "total_input_tokens": one.input.total_input,
        "input_tokens": one.input.fresh,
        "cache_creation_input_tokens": one.input.written,
        "cache_read_input_tokens": one.input.read,
        "output_tokens": one.output,
        "usd_input": usd(one.usd_input),
        "usd": usd(one.usd),
        "at_least": one.at_least,
        "summarising": {"calls": calls, "total_input_tokens": input_, "output_tokens": output, "usd": usd(price)},
        "largest_prompt_tokens": one.largest,
        "requests_over_limit": one.over,
        "forgotten_turns": {"end": one.forgotten.end, "most": one.forgotten.most, "mean": one.forgotten.mean},
    }


def what_if_lines(
    talk: Talk, found: Sequence[Replay], settings: Settings, recorded: Recorded | None
) -> Iterator[Grid | str]:
    """The table of one thread, and what it stands on."""
    drawn = tables.grid(
        "sent as", "cache", "input", "uncached", "written", "read", "USD input", "USD", "largest", "forgets (turns)",
        left=(0, 1),
    )  # fmt: skip
    if recorded is not None and any(recorded[0].given(name) for name in ("fresh", "written", "read")):
        drawn.add(*_recorded_cells(recorded), total=True)
    before = None
    for one in found:
        if before is not None and one.way != before:
            drawn.gap()
        drawn.add(*_cells(one, settings, first=one.way != before))
        before = one.way
    yield drawn
    yield from _summarising(found)
    yield from _against_full(found, settings)
    yield from _over(found, settings)
    yield from _grounds(talk)


def words(one: Replay, settings: Settings) -> str:
    """A way in words, with its settings."""
    keep = f", cut to {settings.keep:,}" if settings.keep < settings.window else ""
    return {
        "full": "full history",
        "clear": f"clear every {settings.every:,} turns",
        "window": f"window of {settings.window:,} tokens{keep}",
        "summarise": f"summarise every {settings.every:,} turns into {settings.summary:,}",
        "tiers": f"tiers: {settings.whole:,} whole, {settings.summarised:,} summarised, facts",
    }[one.way]


def _recorded_cells(recorded: Recorded) -> tuple[str, ...]:
    sums, price = recorded
    names = ("fresh", "written", "read")
    total = bound(total_input(sums), sums.at_least(*names))
    parts = (bound(known(sums, name), sums.at_least(name)) for name in names)
    return ("as recorded", "", total, *parts, "", _money(price), "", "")


def _cells(one: Replay, settings: Settings, *, first: bool) -> tuple[str, ...]:
    gone = one.forgotten
    forgets = (
        "none" if not gone.most else f"{gone.end:,} at the end, {gone.most:,} at most, {gone.mean:,.1f} on average"
    )
    spent = one.input
    return (
        words(one, settings) if first else "",
        _CACHES[one.cache],
        *(tables.count(part) for part in (spent.total_input, spent.fresh, spent.written, spent.read)),
        _money(one.usd_input),
        ("≥" if one.at_least and one.usd is not None else "") + _money(one.usd),
        f"{one.largest:,}",
        forgets if first else "",
    )


def _money(amount: Decimal | None) -> str:
    return tables.UNKNOWN if amount is None else f"{amount:.4f}"


def _summarising(found: Sequence[Replay]) -> Iterator[str]:
    """What the calls that summarise cost, which is in the table."""
    for first in (one for one in found if one.cache == found[0].cache and one.summarising[0]):
        calls, input_, output, _ = first.summarising
        prices = ", ".join(
            f"{_money(one.summarising[3])} USD with {_CACHES[one.cache]}" for one in found if one.way == first.way
        )
        yield f"in it, {first.way}: {calls:,} summarising calls, {input_:,} tokens in, {output:,} out: {prices}"


def _against_full(found: Sequence[Replay], settings: Settings) -> Iterator[str]:
    """For each cache, what costs less than sending everything and what costs more."""
    for full in (one for one in found if one.way == "full"):
        if full.usd is None:
            continue
        others = [(one, one.usd - full.usd) for one in found if one.cache == full.cache and one.usd is not None]
        less = [f"{one.way} {diff:+.4f}" for one, diff in sorted(others, key=lambda pair: pair[1]) if diff < 0]
        more = [f"{one.way} {diff:+.4f}" for one, diff in sorted(others, key=lambda pair: pair[1]) if diff > 0]
        yield (
            f"with {_CACHES[full.cache]}, against the full history ({full.usd:.4f} USD): "
            f"cheaper: {', '.join(less) or 'none'}; dearer: {', '.join(more) or 'none'}"
        )


def _over(found: Sequence[Replay], settings: Settings) -> Iterator[str]:
    told: set[str] = set()
    for one in found:
        if one.over and one.way not in told:
            told.add(one.way)
            yield f"{words(one, settings)}: {one.over:,} requests are above the limit and would be refused"


def _grounds(talk: Talk) -> Iterator[str]:
    """What the figures stand on."""
    number = len(talk.askings)
    yield (
        f"estimates: {talk.counted:,} of {number:,} prompts as the server counted, what {talk.estimated:,} turns added "
        f"estimated; the parts of a prompt by characters; answers taken as recorded, whatever was forgotten"
    )
    if talk.answers:
        yield f"the answers of {talk.answers:,} turns have no count: estimated, or left out (≥)"
    if not talk.bodies:
        yield "requests were not kept: all of the first prompt is taken for tools and system"
    if not talk.timed:
        yield "some requests have no time: they are taken to follow at once"
