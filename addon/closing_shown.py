"""The closing summary of a run as lines of text. Adds nothing up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from addon.closing import Closing, FieldSum
from addon.run_environment import Way
from analyzers import tables
from analyzers.cache_sums import CacheSums
from analyzers.failure import safe
from analyzers.share import share_of
from analyzers.usage import known, total_input
from analyzers.usage_shown import bound

_INPUT = ("fresh", "written", "read")
_MOST_REASONS = 5
_LONGEST = 200
"""Characters of a reason."""


def capture_lines(files: Sequence[Path]) -> list[str]:
    """Where the capture is: printed as soon as the command has ended."""
    return [f"capture: {safe(str(file))}" for file in files]


def closing_lines(found: Closing, way: Way, *, lost: bool = False, again: str = "") -> list[str]:
    """What is printed once it is added up. ``lost``: requests may have come that could not be recorded; ``again``: what
    other commands need to find the captures."""
    if not found.requests:
        return [_nothing(found, way, lost)]
    return [
        f"{_times(found.requests, 'request')} in {_duration(found.seconds)}: {_counts(found.ended)}{_routes(found)}",
        *_reasons(found),
        "",
        *_fields(found),
        "",
        *_usage(found),
        *_cache(found),
        *_cost(found),
        *_personal(found, again),
        *(f"note: {safe(str(problem))}" for problem in found.problems),
        *_files(found),
    ]


def _nothing(found: Closing, way: Way, lost: bool) -> str:
    told = f"no request to the Messages API was recorded in {_duration(found.seconds)}"
    if lost:
        return f"{told}: what came could not be written, for the reason above"
    if way == "forward":
        return (
            f"{told}: does the command ask a proxy, and trust SSL_CERT_FILE or NODE_EXTRA_CA_CERTS? "
            "--reverse needs neither"
        )
    return f"{told}: does the command read ANTHROPIC_BASE_URL? --forward does without"


def _reasons(found: Closing) -> Iterable[str]:
    """Why requests failed, the most frequent reasons first."""
    ordered = sorted(found.reasons.items(), key=lambda reason: -reason[1])
    for (ended, reason), number in ordered[:_MOST_REASONS]:
        times = f" ({number:,} times)" if number > 1 else ""
        yield f"{ended}: {safe(reason)[:_LONGEST]}{times}"
    if len(ordered) > _MOST_REASONS:
        yield f"and {_times(len(ordered) - _MOST_REASONS, 'other reason')}"


def _fields(found: Closing) -> Iterable[str]:
    drawn = tables.grid("field", "chars", "share", "tokens (estimated)")
    for field in found.fields:
        share = tables.percent(share_of(field.chars, found.chars))
        drawn.add(tables.name_of(field.name) or "(body)", tables.count(field.chars), share, _tokens(field))
    drawn.add("total", tables.count(found.chars), "", "", total=True)
    yield from drawn.plain()
    if found.without_body:
        yield f"without the {_times(found.without_body, 'request')} whose body could not be measured"


def _tokens(field: FieldSum) -> str:
    """Nothing where none are estimated: most fields are no part of the prompt."""
    if field.tokens is None:
        return tables.count(None)
    return f"{'≥' if field.at_least else '~'}{field.tokens:,}" if field.tokens or field.at_least else ""


def _usage(found: Closing) -> Iterable[str]:
    used = found.used
    if used is None:
        return
    sums = used.spent
    fresh, written, read = (tables.count(known(sums, part)) for part in _INPUT)
    total = bound(total_input(sums), sums.at_least(*_INPUT) or used.unfinished > 0)
    output = bound(known(sums, "output"), sums.at_least("output") or used.unfinished > 0)
    yield f"input {total} tokens = {fresh} in + {written} cache write + {read} cache read   output {output}"


def _cache(found: Closing) -> Iterable[str]:
    cache = found.cache
    sums = cache.sums if cache is not None else None
    if cache is None or sums is None or sums.hit_rate is None:
        yield "cache: not known"
    elif not cache.cached and not sums.unread:
        yield "cache: no request read or wrote anything"
    else:
        hit = tables.percent(sums.hit_rate)
        cost = "at a price that is not known" if found.surcharge is None else f"for {found.surcharge:.4f} USD"
        again = bound(sums.paid_again, sums.again_open or sums.resent_open)
        breaks = f", {again} tokens paid again {cost}" if sums.broken else ""
        yield f"cache: hit rate {hit}, {_breaks(sums)}{breaks}"


def _breaks(sums: CacheSums) -> str:
    if sums.broken is None:
        return "breaks not known"
    return f"{'≥' if sums.unjudged else ''}{_times(sums.broken, 'break')}"


def _cost(found: Closing) -> Iterable[str]:
    cost = found.cost
    if cost is None or not cost.calls:
        if found.awaited:
            yield f"cost: not known{_awaited(found)}"
        return
    if not cost.priced and cost.unpriced:
        yield f"cost: not known, {_times(cost.unpriced, 'call')} without a price{_awaited(found)}"
        return
    bound = "at least " if cost.is_lower_bound else "about " if not cost.is_complete else ""
    without = f", {_times(cost.unpriced, 'call')} without a price" if cost.unpriced else ""
    yield f"cost: {bound}{cost.usd:.4f} USD{without}{_awaited(found)}"


def _awaited(found: Closing) -> str:
    """Batches are billed when their results are made, which is in no answer to their submission."""
    return f", without {_times(found.awaited, 'request')} of batches" if found.awaited else ""


def _personal(found: Closing, again: str) -> Iterable[str]:
    sent = found.sent
    if sent is None:
        yield "personal data: not looked for"
        return
    parts = [_kind(sent.kinds.get(kind, 0), sent.folded.get(kind, 0), kind) for kind in {**sent.kinds, **sent.folded}]
    unknown = [
        f"; not known for {_times(sent.without_body, 'request')} without a body to look into"
        if sent.without_body
        else "",
        f"; {_times(sent.unknown, 'folded text')} not looked into" if sent.unknown else "",
        f"; {_times(sent.left, 'text')} inside texts not looked into" if sent.left else "",
    ]
    told = ", ".join(parts) or "none found"
    if not parts and sent.without_body == found.requests:
        told = "not known"
        unknown[0] = f": no body of {_times(found.requests, 'request')} could be looked into"
    yield f"personal data sent: {told}{''.join(unknown)} (`weighbridge privacy{again}` says where)"


def _kind(values: int, folded: int, kind: str) -> str:
    """Values in folded strings cannot be told from others: they may be the same."""
    return f"{max(values, folded):,}{'+' if folded else ''} {kind}"


def _files(found: Closing) -> Iterable[str]:
    if len(found.files) > 1:
        yield f"{len(found.files)} capture files, {found.bytes:,} bytes"


def _routes(found: Closing) -> str:
    routes = found.routes or {}
    return "" if set(routes) == {"messages"} else f" ({_counts(routes)})"


def _counts(counts: Mapping[str, int] | None) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in (counts or {}).items())


def _times(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
