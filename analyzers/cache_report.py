"""The chains of all sessions behind some paths: what ``cache`` shows.

Two readings: the first reduces every exchange to what the cache is judged by, asks the model before each request and
tells it afterwards; the second compares the prompts around each break, of which only those bodies are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from analyzers.cache import CacheRow, Chain, Seen, chain, to_compare
from analyzers.cache_advice import Recorded, with_common_part
from analyzers.cache_model import Asked, CacheModel, Prediction
from analyzers.cache_positions import Positions
from analyzers.cache_prompt import CachedPrompt, cached_prompt, candidates
from analyzers.cache_sums import CacheSums, cache_sums
from analyzers.digests import BILLING, Digester, as_blocks, is_billing, without_billing
from analyzers.exchange import Exchange, Problem, Request
from analyzers.exchange_calls import calls_of
from analyzers.first_difference import Place, first_difference
from analyzers.gather import traced
from analyzers.lineage import Lineage, Session
from analyzers.models import model_of
from analyzers.readers.sources import Sources
from analyzers.spent import NOTHING
from analyzers.wire.fold import Elided
from analyzers.wire.usage import Usage

_FIRST_PARTY = (".anthropic.com", ".claude.com")


@dataclass(frozen=True, slots=True)
class SessionChains:
    """One session's chains, main thread first. ``warm``: its first row read something."""

    session: str | None
    chains: tuple[Chain, ...]

    @property
    def rows(self) -> list[CacheRow]:
        """Of all its threads, in time order."""
        return sorted((row for chain in self.chains for row in chain.rows), key=lambda row: row.seen.n)

    @property
    def warm(self) -> bool | None:
        """Whether the session starts with a warm cache; None when that is not known."""
        first = next((row.seen.spent for chain in self.chains for row in chain.rows if row.seen.spent != NOTHING), None)
        return None if first is None or first.read is None else first.read > 0


@dataclass(frozen=True, slots=True)
class CacheReport:
    """``sessions``: the newest so many, oldest first. ``cached``: whether any request is known to have read or
    written."""

    sessions: tuple[SessionChains, ...]
    sums: CacheSums
    cached: bool

    @property
    def rows(self) -> Iterable[CacheRow]:
        return (row for session in self.sessions for chain in session.chains for row in chain.rows)


def cache_report(sources: Sources, problems: list[Problem], newest: int | None) -> CacheReport:
    """The chains of the newest sessions; None: of all."""
    positions = Positions()
    found = traced(sources, problems, look=lambda exchange: _seen(exchange, positions))
    seen = [replace(one, n=n) for n, one in enumerate(found.looked, 1)]
    recorded = [n for n, trace in enumerate(found.traces, 1) if trace is not None]
    sessions = _newest(found.lineage(), newest)
    predictions = _predictions([seen[n - 1] for n in recorded])
    pairs = [pair for session in sessions for thread in session.threads for pair in to_compare(thread, seen)]
    places = _places(sources, pairs, found.order)
    shown = tuple(
        SessionChains(session.name, tuple(chain(thread, seen, places, predictions) for thread in session.threads))
        for session in sessions
    )
    return _summed(shown)


def recorded(sources: Sources, problems: list[Problem], newest: int | None) -> list[tuple[str, list[Recorded]]]:
    """The requests of the newest sessions, as far as the placement of breakpoints matters, by session."""
    positions = Positions()
    found = traced(sources, problems, look=lambda exchange: _recorded(exchange, positions))
    out = []
    for session in _newest(found.lineage(), newest):
        requests: list[Recorded] = []
        for thread in session.threads:
            looked = [(turn.n, found.looked[turn.n - 1]) for turn in thread.turns]
            forms = [replace(two, n=n) for n, two in looked if two is not None]
            counts = _billing_counts(forms)
            requests += with_common_part([form.as_asked(counts) for form in forms])
        out.append((session.name, sorted(requests, key=lambda one: one.n)))
    return out


@dataclass(frozen=True, slots=True)
class _Forms:
    """One request as it is cached by a host that ignores the client's billing line, and by one that does not."""

    n: int
    seen: Seen
    ignoring: Recorded
    counting: Recorded | None

    def as_asked(self, counts: bool) -> Recorded:
        form = self.counting if counts and self.counting is not None else self.ignoring
        return replace(form, n=self.n)


def _billing_counts(forms: Sequence[_Forms]) -> bool:
    """Whether the hosts that were asked take the client's billing line for a part of the prompt: another host than the
    vendor's own, unless something was read after that line had changed."""
    return any(not form.seen.first_party for form in forms) and not any(
        before.seen.billing != form.seen.billing and form.seen.spent.read for before, form in pairwise(forms)
    )


def _recorded(exchange: Exchange, positions: Positions) -> _Forms | None:
    """None: its prompt, its time or its counters are not known."""
    seen = _seen(exchange, positions)
    request = exchange.request
    if seen.prompt is None or seen.start is None or seen.spent.total_input is None or request is None:
        return None
    ignoring = _form(request, seen, seen.prompt, positions, billing=False)
    if seen.first_party or seen.billing is None:
        return _Forms(0, seen, ignoring, None)
    prompt = cached_prompt(request.body, seen.model, positions, billing=True)
    return _Forms(0, seen, ignoring, _form(request, seen, prompt, positions, billing=True))


def _form(request: Request, seen: Seen, prompt: CachedPrompt, positions: Positions, *, billing: bool) -> Recorded:
    start = seen.start or 0.0
    places = candidates(request.body, seen.model, positions, billing=billing)
    return Recorded(
        n=0,
        start=start,
        begun=seen.begun if seen.begun is not None else start,
        model=seen.model,
        spent=seen.spent,
        chars=prompt.chars,
        marks=places.marks,
        actual=prompt.marks,
        terms=seen.terms,
        front=places.front,
    )


def _newest(found: Lineage, number: int | None) -> Sequence[Session]:
    """The newest sessions of those that have a conversation; None: all of them."""
    talks = [session for session in found.sessions if session.threads]
    return talks if number is None else talks[-number:]


def _summed(sessions: tuple[SessionChains, ...]) -> CacheReport:
    rows = [row for session in sessions for chain in session.chains for row in chain.rows]
    return CacheReport(
        sessions,
        sums=cache_sums(rows),
        cached=any(row.seen.spent.read or row.seen.spent.written for row in rows),
    )


def _seen(exchange: Exchange, positions: Positions) -> Seen:
    request, response = exchange.request, exchange.response
    calls = calls_of(exchange)
    body = request.body if request is not None and request.reason is None else None
    model = exchange.model or (calls[0].requested if calls else None)
    rest: Any = response.rest if response is not None else {}
    reason = _member(_member(rest, "diagnostics"), "cache_miss_reason")
    usage = response.usage if response is not None else None
    rounds = usage is not None and (len(usage.iterations or ()) > 1 or any((usage.server_tool_use or {}).values()))
    begun = None
    if exchange.time is not None and response is not None and response.first_byte is not None:
        begun = exchange.time + response.first_byte
    host = (request.host or "") if request is not None else ""
    edits = _member(rest, "context_management").get("applied_edits")
    call = calls[0] if len(calls) == 1 and calls[0].state != "probe" else None
    return Seen(
        n=0,
        start=exchange.time,
        begun=begun,
        model=model,
        spent=call.spent if call is not None else NOTHING,
        prompt=cached_prompt(body, model, positions, edits=edits or None, scope=host) if _is_whole(body) else None,
        edited=bool(edits),
        edits=positions.digester.value(edits) if edits else None,
        host=host or None,
        verdict=reason.get("type") if type(reason.get("type")) is str else None,
        verdict_tokens=lost if type(lost := reason.get("cache_missed_input_tokens")) is int else None,
        rounds=rounds,
        billed=call.billed if call is not None else NOTHING,
        lives=_lives(usage),
        billing=_billing(body, positions.digester),
        billing_folded=any(map(_is_folded_line, as_blocks(body.get("system")))) if type(body) is dict else False,
        terms=call.terms if call is not None else None,
        failed=call is not None and call.state == "failed" and call.spent == NOTHING,
        first_party=not host or f".{host}".endswith(_FIRST_PARTY) or exchange.logged is not None,
    )


def _is_whole(body: Any) -> bool:
    """Whether the prompt is all in the request: not so in a message thread that goes on."""
    return type(body) is dict and _member(body, "thread").get("type") != "continue"


def _member(value: Any, name: str) -> dict[str, Any]:
    inner = value.get(name) if type(value) is dict else None
    return inner if type(inner) is dict else {}


def _lives(usage: Usage | None) -> tuple[str, ...]:
    """The times to live of what was written, as far as the usage tells them apart."""
    if usage is None or usage.split_estimated:
        return ()
    parts = (("5m", usage.ephemeral_5m_input_tokens), ("1h", usage.ephemeral_1h_input_tokens))
    return tuple(ttl for ttl, tokens in parts if tokens)


def _billing(body: Any, digester: Digester) -> bytes | None:
    """Digest of the client's billing line, whether it is a block of its own or the first line of one."""
    blocks = as_blocks(body.get("system")) if type(body) is dict else []
    lines = [_first_line(block) for block in blocks if without_billing([block]) != [block]]
    return digester.value(lines) if lines else None


def _is_folded_line(block: Any) -> bool:
    """Whether a folded text begins with the client's billing line and goes on: what else it says cannot be told."""
    text = block.get("text") if type(block) is dict else None
    return type(text) is Elided and text.label == BILLING and not is_billing(block)


def _first_line(block: Any) -> Any:
    text = block.get("text") if type(block) is dict else None
    return text.strip().partition("\n")[0] if type(text) is str else text


def _predictions(seen: Sequence[Seen]) -> dict[int, Prediction]:
    """The model's word on each request whose prompt, time and counters are known."""
    model = CacheModel()
    out: dict[int, Prediction] = {}
    line: bytes | None = None
    for one in seen:
        if one.prompt is None or one.start is None or one.spent == NOTHING:
            continue
        asked = Asked(
            one.n, one.start, one.begun, one.model, one.prompt, odd=one.rounds or one.edited or one.billing_folded
        )
        predicted = model.predict(asked, one.spent)
        counts = not one.first_party and one.billing != line  # another host may take the client's line for a part of it
        out[one.n] = replace(predicted, exact=False) if counts else predicted
        line = line if one.first_party else one.billing
        model.told(asked, one.spent)
    return out


def _places(
    sources: Sources, pairs: Sequence[tuple[int, int]], order: Sequence[int]
) -> dict[tuple[int, int], Place | None]:
    """Where the prompts of each pair part; pairs of which a body is not there are left out."""
    if not pairs:
        return {}
    partners: dict[int, list[tuple[int, int]]] = {}
    for pair in pairs:
        for one in pair:
            partners.setdefault(one, []).append(pair)
    numbers = {position: n for n, position in enumerate(order, 1)}
    kept: dict[int, Request] = {}
    found: dict[tuple[int, int], Place | None] = {}
    digester = Digester()
    for position, exchange in enumerate(sources.exchanges([])):
        n = numbers.get(position)
        if n not in partners or n is None or exchange.request is None or exchange.request.reason is not None:
            continue
        kept[n] = exchange.request
        for a, b in partners[n]:
            if a in kept and b in kept:
                found[a, b] = first_difference(_as_named(kept[a], kept[b].model), kept[b], digester)
        for other in {either for pair in partners[n] for either in pair}:  # kept no longer than a pair waits for it
            if other in kept and all(pair in found for pair in partners[other]):
                del kept[other]
    return found


def _as_named(request: Request, name: str | None) -> Request:
    """The request with the model named so, where both names mean one model."""
    own = request.model
    if own is None or name is None or own == name or model_of(own).base != model_of(name).base:
        return request
    return replace(request, body={**request.body, "model": name}) if type(request.body) is dict else request
