"""One line per exchange: what a list, and the proxy's own log, say about it.

Values only; ``tables`` draws them and ``as_json`` names them as the API does. Unknown is None everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analyzers.exchange import Exchange
from analyzers.sizes import CHARS, Unit, totals
from analyzers.wire.moment import timestamp


@dataclass(frozen=True, slots=True)
class Summary:
    """``n``: number of the request in time order. ``chars``: in the unit asked for. ``at_least_input``: the known
    part of the input, in tokens. ``failure``: why it failed, in the words of the recorder or of the file."""

    n: int
    time: float | None
    route: str | None
    model: str | None
    model_requested: str | None
    chars: int | None
    fields: Mapping[str, int]
    wire_bytes: int | None
    unexplained: int | None
    closes: bool | None
    input_tokens: int | None
    cache_creation_input_tokens: int | None
    cache_read_input_tokens: int | None
    total_input_tokens: int | None
    at_least_input: int | None
    output_tokens: int | None
    status: int | None
    error: str | None
    request_id: str | None
    ended: str
    reason: str | None
    taken: str | None
    failure: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The summary with the API's own names for its counters, null for unknown."""
        return {
            "n": self.n,
            "time": None if self.time is None else timestamp(self.time),
            "route": self.route,
            "model": self.model,
            "model_requested": self.model_requested,
            "chars": self.chars,
            "fields": dict(self.fields),
            "wire_bytes": self.wire_bytes,
            "unexplained": self.unexplained,
            "closes": self.closes,
            "input_tokens": self.input_tokens,
            "cache_creation_input_tokens": self.cache_creation_input_tokens,
            "cache_read_input_tokens": self.cache_read_input_tokens,
            "total_input_tokens": self.total_input_tokens,
            "output_tokens": self.output_tokens,
            "status": self.status,
            "error": self.error,
            "request_id": self.request_id,
            "ended": self.ended,
            "reason": self.reason,
            "taken": self.taken,
        }

    def with_failure(self) -> dict[str, Any]:
        """The same, and why it failed, which is free text and may name hosts."""
        return self.as_json() | {"failure": self.failure}


def summarise(exchange: Exchange, n: int, unit: Unit = CHARS) -> Summary:
    """The summary of one exchange under its number."""
    request, response = exchange.request, exchange.response
    sized = totals(request, unit) if request is not None else None
    usage = response.usage if response is not None else None
    error = response.error if response is not None else None
    return Summary(
        n=n,
        time=exchange.time,
        route=request.route if request is not None else None,
        model=exchange.model,
        model_requested=model_requested(exchange),
        chars=sized.total if sized is not None else None,
        fields=sized.fields if sized is not None else {},
        wire_bytes=request.wire_bytes if request is not None else None,
        unexplained=sized.unexplained if sized is not None else None,
        closes=sized.closes if sized is not None else None,
        input_tokens=usage.input_tokens if usage is not None else None,
        cache_creation_input_tokens=usage.cache_creation_input_tokens if usage is not None else None,
        cache_read_input_tokens=usage.cache_read_input_tokens if usage is not None else None,
        total_input_tokens=usage.total_input_tokens if usage is not None else None,
        at_least_input=usage.at_least_input if usage is not None else None,
        output_tokens=usage.output_tokens if usage is not None else None,
        status=response.status if response is not None else None,
        error=error.type or error.message if error is not None else None,
        request_id=request_id_of(exchange),
        ended=exchange.ended,
        failure=response.failure if response is not None else None,
        reason=request.reason if request is not None else "the answer's request was not found",
        taken=exchange.taken,
    )


def model_requested(exchange: Exchange) -> str | None:
    """The model asked for: the request's, else what the client's log says."""
    named = exchange.request.model if exchange.request is not None else None
    return named or (exchange.logged.requested if exchange.logged is not None else None)


def request_id_of(exchange: Exchange) -> str | None:
    """The server's id of the request, from the error's body or the answer's headers: what support asks for."""
    response = exchange.response
    if response is None:
        return None
    if response.error is not None and response.error.request_id:
        return response.error.request_id
    for name in ("request-id", "x-request-id", "x-amzn-requestid"):
        if value := response.headers.get(name):
            return value if isinstance(value, str) else ", ".join(value)
    return None
