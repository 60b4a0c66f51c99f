"""The calls that an exchange tells of, with what each spent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analyzers.calls import Call, State
from analyzers.digests import digest
from analyzers.exchange import Exchange, Request
from analyzers.identity import agent_of, session_of
from analyzers.spent import Spent, billed_of, of_usage
from analyzers.summary import model_requested, request_id_of
from analyzers.wire.jsontext import Json
from analyzers.wire.usage import Usage, count


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
            message_id=_word(message, "id"),
            request_id=None,
            state="completed" if message is not None else "failed",
            spent=of_usage(usage) if message is not None else Spent(0, 0, 0, 0, 0, 0),
            billed=billed_of(usage) if message is not None else Spent(0, 0, 0, 0, 0, 0),
            place=f"{exchange.place}, result {position + 1}",
            result=f"{exchange.request.path if exchange.request else ''}#{line['custom_id']}",
        )


def _word(value: Json, name: str) -> str | None:
    member = value.get(name) if type(value) is dict else None
    return member if type(member) is str else None
