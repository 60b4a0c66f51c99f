"""Exchanges and log records into calls: one ``Call`` for each time the API was asked, however often it was written
down.

The same call can be recorded many times: one log record per content block, copies of a conversation in resumed and
forked sessions, a capture beside a flow file beside a log. And one call can be several requests: retries after a
failure. Here they become one. Identity is the API's: the message id, else the request id, else the place in the file.
What is left out of sums is set aside with its reason and count, never dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from analyzers.digests import digest
from analyzers.exchange import Exchange, Request
from analyzers.identity import agent_of, session_of
from analyzers.spent import NOTHING, Spent, billed_of, of_usage
from analyzers.summary import model_requested, request_id_of
from analyzers.wire.jsontext import Json
from analyzers.wire.usage import Usage, count

type State = Literal["completed", "failed", "unfinished", "probe"]
"""``failed``: the API said no, or could not be reached; ``unfinished``: the answer stopped, or its final counts were
never recorded; ``probe``: a free count of tokens, no call of a model."""

RETRY_WITHIN = 180.0
"""Seconds between the end of a failed request and an equal one that still is its retry: clients wait up to a minute
or two between attempts, a user who asks again ten minutes later makes a new call."""

SAME_MOMENT = 1.0
"""Seconds by which two recordings of one exchange may differ in its time."""


class Call(NamedTuple):
    """One call. ``time``: seconds since the epoch; ``place``: file and line; None: unknown, ``agent`` None: the main
    thread. ``billed``: with every iteration in. ``rows``: records that told of it; ``attempts``: requests it took,
    ``failed_attempts`` of which failed. ``counted``: the answer of a probe, in tokens. ``logged``: from a client's log,
    not from the wire. ``end``: when the answer ended. ``partial``: counters of a failed attempt are in, which may have
    been billed or not."""

    time: float | None
    session: str | None
    agent: str | None
    model: str | None
    requested: str | None
    message_id: str | None
    request_id: str | None
    state: State
    spent: Spent
    billed: Spent
    place: str
    logged: bool = False
    rows: int = 1
    attempts: int = 1
    failed_attempts: int = 0
    counted: int | None = None
    fingerprint: str | None = None
    end: float | None = None
    sidechain: bool = False
    partial: bool = False


def calls_of(exchange: Exchange) -> Sequence[Call]:
    """The calls of one exchange: one as a rule, each result's of a polled batch, none of what asks no model."""
    request, response = exchange.request, exchange.response
    if request is not None and request.route == "batches":
        return tuple(_batch(exchange))
    usage = response.usage if response is not None else None
    counted = None
    if request is not None and request.route == "count_tokens":
        counted = count(response.body.get("input_tokens")) if response and type(response.body) is dict else None
    elif exchange.ended == "not_recorded" and exchange.logged is None:
        return ()
    logged = exchange.logged
    return (
        Call(
            time=exchange.time,
            session=session_of(exchange),
            agent=agent_of(exchange),
            model=exchange.model,
            requested=model_requested(exchange),
            message_id=response.message_id if response is not None else None,
            request_id=request_id_of(exchange),
            state=_state(exchange),
            spent=of_usage(usage),
            billed=billed_of(usage),
            place=exchange.place,
            logged=logged is not None,
            rows=logged.rows if logged is not None else 1,
            attempts=1 + (logged.failed_attempts if logged is not None else 0),
            failed_attempts=logged.failed_attempts if logged is not None else 0,
            counted=counted,
            fingerprint=_fingerprint(request),
            end=_end(exchange),
        ),
    )


def _end(exchange: Exchange) -> float | None:
    response = exchange.response
    if response is None:
        return None
    if exchange.time is None or response.last is None:
        return response.time
    return exchange.time + response.last


def _state(exchange: Exchange) -> State:
    if exchange.request is not None and exchange.request.route == "count_tokens":
        return "probe"
    if exchange.ended in ("error", "unreachable"):
        return "failed"
    if exchange.logged is not None and not exchange.logged.final:
        return "unfinished"
    return "completed" if exchange.ended in ("completed", "not_recorded") else "unfinished"


def _fingerprint(request: Request | None) -> str | None:
    if request is None or request.reason is not None:
        return None
    return request.fingerprint or digest(request.body, "data").hex()


def _batch(exchange: Exchange) -> Iterable[Call]:
    """The results that a poll of a batch brought: each is a call of its own, and comes again with every poll."""
    body = exchange.response.body if exchange.response is not None else None
    results = body if type(body) is list else [body]
    for position, line in enumerate(results):
        result = line.get("result") if type(line) is dict else None
        if type(result) is not dict or "custom_id" not in line:
            continue
        message = result.get("message") if result.get("type") == "succeeded" else None
        usage, _ = Usage.from_json(message.get("usage")) if type(message) is dict else (None, ())
        yield Call(
            time=exchange.time,
            session=session_of(exchange),
            agent=None,
            model=_word(message, "model"),
            requested=None,
            message_id=_word(message, "id")
            or f"{exchange.request.path if exchange.request else ''}#{line['custom_id']}",
            request_id=None,
            state="completed" if message is not None else "failed",
            spent=of_usage(usage) if message is not None else Spent(0, 0, 0, 0, 0, 0),
            billed=billed_of(usage) if message is not None else Spent(0, 0, 0, 0, 0, 0),
            place=f"{exchange.place}, result {position + 1}",
        )


def _word(value: Json, name: str) -> str | None:
    member = value.get(name) if type(value) is dict else None
    return member if type(member) is str else None


def merged(found: Iterable[Call]) -> list[Call]:
    """Each call once, retries joined to the call they are attempts of, in time order."""
    by_id: dict[str, Call] = {}
    several: dict[str, list[Call]] = {}
    out: list[Call] = []
    for call in found:
        key = call.message_id or (f"request {call.request_id}" if call.logged and call.request_id else None)
        if key is None:
            out.append(call)
            continue
        other = by_id.setdefault(key, call)
        if other is call:
            continue
        if _is_same(call, other):
            by_id[key] = joined(other, call)
            continue
        same = several.setdefault(key, [])  # a mock of the API that gives one id to every answer
        for position, other in enumerate(same):
            if _is_same(call, other):
                same[position] = joined(other, call)
                break
        else:
            same.append(call)
    out += by_id.values()
    for same in several.values():
        out += same
    out.sort(key=_moment)
    return _attempts(out)


def _moment(call: Call) -> float:
    return call.time or 0.0


def _is_same(a: Call, b: Call) -> bool:
    """Whether two records with one message id are of one call. Logs repeat ids only for one call. On the wire a mock of
    the API may give one id to every answer: there the request id, or the moment, must agree too."""
    if a.logged or b.logged:
        return True
    if a.place.partition("#")[0] == b.place.partition("#")[0] and "result" in a.place and "result" in b.place:
        return True
    if a.request_id is not None and b.request_id is not None:
        return a.request_id == b.request_id
    return a.time is None or b.time is None or abs(a.time - b.time) <= SAME_MOMENT


def joined(a: Call, b: Call) -> Call:
    """One call out of two records of it: the wire's counters before a log's, final ones before placeholders, the
    greater output before the smaller (placeholders only grow); the earlier time; and what only one of them knows."""
    best, other = (a, b) if _rank(a) >= _rank(b) else (b, a)
    times = [call.time for call in (a, b) if call.time is not None]
    main = (a.agent is None and not a.sidechain) or (b.agent is None and not b.sidechain)
    return best._replace(
        time=min(times) if times else None,
        session=best.session or other.session,
        agent=None if main and a.logged and b.logged else best.agent or other.agent,
        model=best.model or other.model,
        requested=best.requested or other.requested,
        request_id=best.request_id or other.request_id,
        rows=a.rows + b.rows if a.logged and b.logged else max(a.rows, b.rows),
        sidechain=a.sidechain and b.sidechain,
    )


def _rank(call: Call) -> tuple[bool, bool, int]:
    return (not call.logged, call.state == "completed", -1 if call.spent.output is None else call.spent.output)


def _attempts(calls: list[Call]) -> list[Call]:
    """Equal bodies that follow a failure are attempts of one call; it keeps the time of the first and the end of the
    last. Counters that a failed attempt had seen are added: they may have been billed."""
    if not any(call.fingerprint for call in calls):
        return calls
    out: list[Call] = []
    open_: dict[str, int] = {}
    for call in calls:
        key = call.fingerprint
        if key is None or call.state == "probe":
            out.append(call)
            continue
        place = open_.get(key)
        if place is not None and _retries(out[place], call):
            out[place] = _attempted(out[place], call)
        else:
            place = len(out)
            out.append(call)
        if out[place].state == "completed":
            open_.pop(key, None)
        else:
            open_[key] = place
    return out


def _retries(first: Call, call: Call) -> bool:
    if first.time is None or call.time is None:
        return True
    return call.time - (first.end or first.time) <= RETRY_WITHIN


def _attempted(first: Call, last: Call) -> Call:
    return last._replace(
        time=first.time,
        attempts=first.attempts + last.attempts,
        failed_attempts=first.failed_attempts + last.failed_attempts + 1,
        spent=_with(first.spent, last.spent),
        billed=_with(first.billed, last.billed),
        partial=first.partial or first.spent != NOTHING,
    )


def _with(earlier: Spent, later: Spent) -> Spent:
    """The counters of a call together with those that a failed attempt of it had seen."""
    if earlier == NOTHING:
        return later
    return Spent(*(y if x is None else x if y is None else x + y for x, y in zip(earlier, later, strict=True)))
