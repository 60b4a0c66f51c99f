"""Cache chains as JSON and on the terminal. Adds nothing up but what a break cost."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from analyzers import tables
from analyzers.breakpoint_yield import Yield, yields
from analyzers.cache import CacheRow, Chain
from analyzers.cache_causes import CAUSES, LOSES
from analyzers.cache_price import surcharge, total_of
from analyzers.cache_report import CacheReport, SessionChains
from analyzers.cache_sums import CacheSums
from analyzers.diff_tables import place as spot_words
from analyzers.first_difference import Place
from analyzers.price_book import PriceBook
from analyzers.price_parts import as_number
from analyzers.tables import Grid
from analyzers.usage_shown import bound, spent_json
from analyzers.wire.moment import timestamp

_LAW = "read(n)==read(n-1)+create(n-1)?"
_TTL = ("requested", "served")
_ANSWERS = {True: "yes", False: "no", None: "?"}


def cache_json(report: CacheReport, book: PriceBook) -> dict[str, Any]:
    """What ``cache --json`` prints; null for unknown, ``at_least`` names the sums that are lower bounds."""
    sums = report.sums
    return {
        "sessions": [_chain_json(session, chain, book) for session in report.sessions for chain in session.chains],
        "breakpoints": [
            {"session": session.session, **_yield_json(one)}
            for session in report.sessions
            for one in yields(session.rows, book)
        ],
        "summary": {
            "requests": sums.requests,
            "counted_requests": sums.known,
            "cache_read_input_tokens": sums.read,
            "total_input_tokens": sums.total,
            "hit_rate": sums.hit_rate,
            "written_again": sums.again,
            "sent_again": sums.resent,
            "broken": sums.broken,
            "at_least": sums.at_least,
            "warm_starts": [session.session for session in report.sessions if session.warm],
        },
    }


def _chain_json(session: SessionChains, chain: Chain, book: PriceBook) -> dict[str, Any]:
    return {
        "session": session.session,
        "thread": chain.agent or "main",
        "forked_from": chain.forked_from,
        "rows": [_row_json(row, book) for row in chain.rows],
    }


def _yield_json(one: Yield) -> dict[str, Any]:
    amounts = (("saved_usd", one.saved), ("paid_usd", one.paid), ("net_usd", one.net))
    return {
        "place": one.place,
        "requests": one.requests,
        "cache_creation_input_tokens": one.written,
        "cache_read_input_tokens": one.read,
        **{name: None if usd is None else as_number(usd) for name, usd in amounts},
        "at_least": one.at_least,
    }


def _row_json(row: CacheRow, book: PriceBook) -> dict[str, Any]:
    cost = surcharge(row, book) if row.broken else Decimal(0) if row.is_judged else None
    predicted = row.predicted
    return {
        "n": row.seen.n,
        "broken": row.broken if row.is_judged else None,
        "time": None if row.seen.start is None else timestamp(row.seen.start),
        "model": row.seen.model,
        **spent_json(row.seen.spent),
        "billed": None if row.seen.billed == row.seen.spent else spent_json(row.seen.billed),
        "holds": row.holds,
        "expected_read": row.expected,
        "cause": row.cause,
        "follows": row.follows,
        "loses": LOSES.get(row.cause or ""),
        "outlived": row.outlived if row.is_judged else None,
        "written_again": row.again,
        "sent_again": row.resent,
        "surcharge_usd": None if cost is None else as_number(cost),
        "gap_seconds": row.gap,
        "ttl": row.ttl,
        "breakpoints": None
        if row.seen.prompt is None
        else [{"path": mark.path, "ttl": mark.ttl} for mark in row.seen.prompt.marks],
        "ttl_mismatch": None if row.seen.ttl_mismatch is None else dict(zip(_TTL, row.seen.ttl_mismatch, strict=True)),
        "difference": None if row.place is None else _place_json(row.place),
        "predicted": None
        if predicted is None
        else {
            "cache_read_input_tokens": predicted.read,
            "cache_creation_input_tokens": predicted.written,
            "ephemeral_5m_input_tokens": predicted.written_5m,
            "ephemeral_1h_input_tokens": predicted.written_1h,
            "exact": predicted.exact,
        },
        "server": None
        if row.seen.verdict is None
        else {"cache_miss_reason": row.seen.verdict, "cache_missed_input_tokens": row.seen.verdict_tokens},
    }


def _place_json(place: Place) -> dict[str, Any]:
    return {
        "field": place.field,
        "path": place.path,
        "change": place.change,
        "name": place.name,
        "chars": [place.a, place.b],
        "sha256": [place.a_hash, place.b_hash],
        "spot": None if place.spot is None else {"path": place.spot.path, "how": place.spot.how, "at": place.spot.at},
    }


def print_cache(report: CacheReport, book: PriceBook) -> None:
    """Prints a table for each thread, each break under its row, and the summary."""
    things: list[Grid | str] = []
    for session in report.sessions:
        for chain in session.chains:
            things += [_title(session, chain), _table(chain), *_breaks(chain, book), *_remarks(chain), ""]
        if found := yields(session.rows, book):
            things += [_yields(found), ""]
    tables.draw(*things, *_summary(report, book))


def _title(session: SessionChains, chain: Chain) -> str:
    thread = f"agent {tables.name_of(chain.agent)}" if chain.agent else "main"
    fork = f", forked at #{chain.forked_from}" if chain.forked_from is not None else ""
    return f"session {tables.name_of(session.session or tables.UNKNOWN)}  {thread}{fork}"


def _table(chain: Chain) -> Grid:
    drawn = tables.grid(
        "#", "input", "cache_create", "of it 1h", "cache_read", "output", _LAW, "predicted read", "cause", left=(6, 8)
    )
    for row in chain.rows:
        spent = row.seen.spent
        predicted = row.predicted
        told = tables.count(predicted.read if predicted is not None else None)
        holds = "" if row.follows is None else _ANSWERS[row.holds]
        drawn.add(
            str(row.seen.n),
            *(tables.count(part) for part in (spent.fresh, spent.written, spent.written_1h, spent.read, spent.output)),
            holds,
            told if predicted is None or predicted.exact else f"~{told}",
            CAUSES[row.cause] if row.cause is not None else "",
        )
    return drawn


def _yields(found: Iterable[Yield]) -> Grid:
    """What each breakpoint wrote, and what reading that saved."""
    drawn = tables.grid("breakpoint", "requests", "written", "read again", "saved USD", "paid USD", "net USD")
    for one in found:
        tokens = bound(one.written, one.written_open), bound(one.read, one.read_open)
        amounts = (_usd(one.saved, one.read_open), _usd(one.paid, one.written_open), _usd(one.net, False))
        drawn.add(one.place, f"{one.requests:,}", *tokens, *amounts)
    return drawn


def _usd(amount: Decimal | None, at_least: bool) -> str:
    return tables.UNKNOWN if amount is None else f"{'≥' if at_least else ''}{amount:.4f}"


def _breaks(chain: Chain, book: PriceBook) -> Iterable[str]:
    for row in chain.rows:
        if not row.broken or row.cause is None:
            continue
        words = [f"#{row.seen.n} should have read {tables.count(row.expected)} of #{row.follows}: {CAUSES[row.cause]}"]
        if row.place is not None:
            words.append(_where(row.place))
        if row.cause in LOSES:
            words.append(f"documented: that loses {LOSES[row.cause]}")
        if row.outlived and row.gap is not None:
            also = "" if row.cause == "expired" else "it had expired as well: "
            words.append(f"{also}{row.gap:,.0f} s after the start of #{row.follows}, time to live {row.ttl}")
        if row.again is None or row.resent is None or row.again + row.resent:
            words.append(_paid_again(row, book))
        if row.seen.verdict is not None:
            words.append(_verdict(row))
        yield "; ".join(words)


def _paid_again(row: CacheRow, book: PriceBook) -> str:
    again, resent = row.again, row.resent
    if again is None:
        return "how many of them were written again is not known"
    written = f"{again:,} tokens written again" if again or not resent else ""
    sent = "" if resent == 0 else f"{tables.count(resent)} tokens sent again as plain input"
    cost = surcharge(row, book)
    price = "at a price that is not known" if cost is None else f"for {cost:.4f} USD more than reading them"
    return f"{' and '.join(filter(None, (written, sent)))} {price}"


def _verdict(row: CacheRow) -> str:
    lost = "" if row.seen.verdict_tokens is None else f" ({row.seen.verdict_tokens:,} tokens)"
    return f"the server says {tables.name_of(row.seen.verdict or '')}{lost}"


def _remarks(chain: Chain) -> Iterable[str]:
    """What is no break, and yet worth knowing."""
    for row in chain.rows:
        seen = row.seen
        if seen.verdict is not None and not row.broken:
            yield f"#{seen.n}: {_verdict(row)}"
        if (mismatch := seen.ttl_mismatch) is not None:
            yield f"#{seen.n} asked for {mismatch[0]} and was written for {mismatch[1]}"
        if seen.rounds and seen.billed.written and seen.billed.written != seen.spent.written:
            yield f"#{seen.n} wrote {seen.billed.written:,} tokens in passes that its own counters do not tell"


def _where(place: Place) -> str:
    absent = tables.UNKNOWN if place.change == "not known" else "none"
    sizes = " → ".join(absent if side is None else f"{side:,}" for side in (place.a, place.b)) + " chars"
    name = f" ({tables.name_of(place.name)})" if place.name else ""
    spot = f", at {spot_words(place.spot)}" if place.spot is not None else ""
    return f"first difference at {tables.name_of(place.path)}{name}: {place.change}, {sizes}{spot}"


def _summary(report: CacheReport, book: PriceBook) -> Iterable[str]:
    sums = report.sums
    yield _hit_rate(sums)
    yield "breaks: not known: no request could be judged" if sums.broken is None else _broken(report, book)
    if not report.cached and sums.total and not sums.unread:
        yield "no request read or wrote anything: the cache is not used here"
    warm = [tables.name_of(session.session or tables.UNKNOWN) for session in report.sessions if session.warm]
    if warm:
        yield f"start with a warm cache: {', '.join(warm)}"


def _hit_rate(sums: CacheSums) -> str:
    if sums.read is None or sums.total is None:
        return "hit rate: not known: no answer tells all of its input"
    hit = tables.UNKNOWN if sums.hit_rate is None else tables.percent(sums.hit_rate)
    open_ = sums.requests - sums.known
    without = f"; not known for {open_:,} of {sums.requests:,} requests" if open_ else ""
    return f"hit rate: {hit} ({sums.read:,} of {sums.total:,} input tokens were read from the cache{without})"


def _broken(report: CacheReport, book: PriceBook) -> str:
    """How many breaks there were, and what they cost, as far as is known."""
    sums = report.sums
    again, resent = bound(sums.again, sums.again_open), bound(sums.resent, sums.resent_open)
    sent = f", sent again as plain input: {resent}" if sums.resent is None or sums.resent else ""
    told = f"breaks: {bound(sums.broken, sums.unjudged > 0)}; tokens written again: {again}{sent}, "
    costs = [surcharge(row, book) for row in report.rows if row.broken]
    known = [cost for cost in costs if cost is not None]
    if costs and not known:
        return f"{told}at a price that is not known"
    at_least = "at least " if len(known) < len(costs) or sums.unjudged else ""
    return f"{told}{at_least}{total_of(known):.4f} USD more than read"
