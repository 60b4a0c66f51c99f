"""The calls that an exchange tells of, with what each spent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analyzers.calls import Call, State
from analyzers.digests import digest
from analyzers.exchange import Exchange, Request, Response
from analyzers.identity import agent_of, session_of
from analyzers.spent import Spent, billed_of, of_usage
from analyzers.summary import model_requested, request_id_of
from analyzers.terms import Recorded, passes_of, terms_of
from analyzers.vendor_usage import vendor_usage
from analyzers.wire.headers import GUARD
from analyzers.wire.jsontext import Json, Number
from analyzers.wire.routes import vertex_region
from analyzers.wire.usage import Usage, count


def is_blocked(exchange: Exchange) -> bool:
    """Whether the guard answered, so that nothing reached the API."""
    return exchange.response is not None and exchange.response.headers.get(GUARD[0]) == GUARD[1]


def calls_of(exchange: Exchange) -> Sequence[Call]:
    """The calls of one exchange: one as a rule, each result's of a polled batch, none of what asks no model."""
    request, response = exchange.request, exchange.response
    if is_blocked(exchange):
        return ()
    if request is not None and request.route == "batches":
        return tuple(_batch(exchange))
    usage, model, host = _answered(exchange)
    counted = None
    if request is not None and request.route == "count_tokens":
        counted = count(response.body.get("input_tokens")) if response and type(response.body) is dict else None
    elif exchange.ended == "not_recorded":
        return ()
    logged, requested = exchange.logged, model_requested(exchange)
    return (
        Call(
            time=exchange.time,
            session=session_of(exchange),
            agent=agent_of(exchange),
            model=model,
            requested=requested,
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
            copied=logged is not None and logged.copied,
            end=_end(exchange),
            terms=terms_of(
                usage,
                host=host,
                region=vertex_region(request.path) if request is not None and request.route == "vertex" else None,
            ),
            passes=passes_of(usage, requested),
            recorded=_given_cost(_raw_usage(response)) if response is not None else None,
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


def _answered(exchange: Exchange) -> tuple[Usage | None, str | None, str | None]:
    """The usage, the model that served it, and the host whose way of counting cached tokens has to be known: not when
    the usage is in another vendor's form, which says it."""
    request, response = exchange.request, exchange.response
    host = request.host if request is not None else None
    if response is None or request is None or request.route == "count_tokens":
        return response.usage if response is not None else None, exchange.model, host
    other = vendor_usage(_raw_usage(response))
    if other is None:
        return response.usage, exchange.model, host
    return other, exchange.model or _word(response.body, "model"), None


def _raw_usage(response: Response) -> Json:
    """The usage as it came, in a message or in the body of another form."""
    if response.usage_raw is not None or type(response.body) is not dict:
        return response.usage_raw
    told = response.body.get("response") if "usage" not in response.body else response.body
    return told.get("usage") if type(told) is dict else None


def _given_cost(usage: Json) -> Recorded | None:
    """The cost in USD that some providers put into the usage."""
    cost = usage.get("cost") if type(usage) is dict else None
    return Recorded("provider", str(cost)) if type(cost) in (int, float, Number) else None


def _batch(exchange: Exchange) -> Iterable[Call]:
    """The results that a poll of a batch brought: each is a call of its own, and comes again with every poll."""
    body = exchange.response.body if exchange.response is not None else None
    results = body if type(body) is list else [body]
    for position, line in enumerate(results):
        result = line.get("result") if type(line) is dict else None
        if type(result) is not dict or "custom_id" not in line:
            continue
        failed = result.get("type") != "succeeded"
        message = None if failed else result.get("message")
        usage, _ = Usage.from_json(message.get("usage")) if type(message) is dict else (None, ())
        yield Call(
            time=exchange.time,
            session=session_of(exchange),
            agent=None,
            model=_word(message, "model"),
            requested=None,
            message_id=_word(message, "id"),
            request_id=None,
            state="failed" if failed else "completed",
            spent=Spent(0, 0, 0, 0, 0, 0) if failed else of_usage(usage),
            billed=Spent(0, 0, 0, 0, 0, 0) if failed else billed_of(usage),
            place=f"{exchange.place}, result {position + 1}",
            terms=terms_of(usage, batch=True),
            passes=passes_of(usage, None),
            result=f"{exchange.request.path if exchange.request else ''}#{line['custom_id']}",
        )


def submitted(exchange: Exchange) -> tuple[str | None, int] | None:
    """Of the submission of a batch: how the names of its results begin (``Call.result``), None when its id is unknown,
    and how many requests it has. None for all else, and for a submission that the API refused."""
    request, response = exchange.request, exchange.response
    if request is None or request.route != "batches" or exchange.ended in ("error", "unreachable"):
        return None
    asked = request.body.get("requests") if type(request.body) is dict else None
    if type(asked) is not list:
        return None
    name = _word(response.body, "id") if response is not None else None
    return None if name is None else f"{request.path.rstrip('/')}/{name}/results#", len(asked)


def _word(value: Json, name: str) -> str | None:
    member = value.get(name) if type(value) is dict else None
    return member if type(member) is str else None
