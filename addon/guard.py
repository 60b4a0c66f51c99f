"""The budget guard: judges a request before it is forwarded, and tells the user, or answers in the API's stead.

Off unless a limit is set. A guard that fails lets the request through and says so: it must never be the reason that
traffic stops. What it answers has the API's own shape of an error, so that clients show its sentence, and is marked as
its own in a header and in the record.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from mitmproxy import http

from analyzers.budget import Budget, Excess, Expected, Limits, excess
from analyzers.exchange import Exchange, Request
from analyzers.exchange_calls import calls_of
from analyzers.identity import header_session, metadata_session
from analyzers.readers.captures import read_response
from analyzers.wire.encodings import decode
from analyzers.wire.headers import GUARD
from analyzers.wire.jsontext import Json, NotJson, dump, parse
from analyzers.wire.note import Note
from analyzers.wire.record import BODY_LIMIT
from analyzers.wire.routes import Route, requested_model

BLOCKED: Final = "guard_blocked"
GUARDED: Final[frozenset[Route]] = frozenset(("messages", "bedrock", "vertex"))
"""Counting tokens is free, and what a batch will cost is not known when it is posted."""

MOST_WARNED: Final = 4096


class Guard:
    """Limits, and what was spent against them. ``warn`` takes one sentence for the log."""

    def __init__(self, limits: Limits, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._limits = Limits()
        self._budget: Budget | None = None
        self._warned: dict[tuple[str, str], None] = {}
        self._failures = 0
        self._broken = False
        """What judges could not be loaded."""
        self.use(limits)

    @property
    def is_on(self) -> bool:
        """Whether a limit is set."""
        return self._limits.are_set

    def use(self, limits: Limits) -> None:
        """Judge by these limits from the next request on. What was spent so far counts."""
        self._limits = limits
        if not limits.are_set:
            return
        try:
            self._budget = self._budget or Budget(_counting())
            if limits.usd is not None and self._budget.book is None:
                self._budget.book = _price_book()
            self._broken = False
        except Exception as error:  # what counts tokens or prices cannot be loaded
            self._broken = True
            self._fails(error)

    def ask(self, flow: http.HTTPFlow, id: str, route: Route, *, streamed: bytes | None = None) -> list[Note]:
        """Judges a request, and answers it where that is to be blocked. What to record about it. ``streamed``: its
        body, which has gone upstream already. Raises nothing."""
        if route not in GUARDED:
            return []
        if self._broken or self._budget is None:
            return [Note("guard_failed", "the guard could not judge this request: see the log")]
        try:
            raw = streamed if streamed is not None else flow.request.raw_content
            expected = self._expected(flow, id, raw)
            if expected is None:
                return [Note("guard_failed", "the guard could not read this request, so it was not judged")]
            found = excess(expected, self._limits)
            if found is not None:
                return self._act(flow, expected.session, found, streamed is not None)
            return self._unpriced(expected)
        except Exception as error:  # traffic goes on
            self._fails(error)
            return [Note("guard_failed", f"the guard could not judge this request: {type(error).__name__}")]

    def ended(self, id: str, request: Mapping[str, Any], record: dict[str, Any]) -> None:
        """An exchange is over. ``request``: host, path and model of it; ``record``: its ``response`` line. Raises
        nothing."""
        if self._budget is None:
            return
        try:
            calls = _calls(request, record) if record.get("usage") is not None else ()
            unknown = not calls and record.get("ended") in ("client_gone", "upstream_cut", "proxy_stopped")
            self._budget.ended(id, calls, perhaps_spent=unknown)
        except Exception as error:  # its share is gone from what is under way; its cost is not known
            self._budget.ended(id)
            self._fails(error)

    def _expected(self, flow: http.HTTPFlow, id: str, raw: bytes | None) -> Expected | None:
        """What is expected of a request; None when it is none that can be read."""
        body = _body(flow, raw)
        if self._budget is None or type(body) is not dict:
            return None
        fields: tuple[tuple[bytes, bytes], ...] = flow.request.headers.fields
        headers = {name.decode("latin-1").lower(): value.decode("utf-8", "replace") for name, value in fields}
        named = body.get("model")
        model = named if type(named) is str else requested_model(flow.request.path)
        session = header_session(headers) or metadata_session(Request(body))
        return self._budget.expect(id, body, model, session)

    def _unpriced(self, expected: Expected) -> list[Note]:
        """That a limit of money cannot be held where there is no price."""
        if self._limits.usd is None or expected.usd is not None:
            return []
        text = "this model has no price, so its session's money is not judged (see cost --prices)"
        self._tell(expected.session, "no price", text)
        return [Note("guard_failed", text)]

    def _act(self, flow: http.HTTPFlow, session: str, broken: Excess, seen_before: bool) -> list[Note]:
        if self._limits.mode == "block" and not seen_before:
            flow.response = _refusal(broken.text)
            self._tell(session, broken.option, f"blocked: {broken.text}")
            return [Note(BLOCKED, broken.text)]
        self._tell(session, broken.option, broken.text)
        late = " It was being forwarded already (stream_large_bodies)." if self._limits.mode == "block" else ""
        return [Note("guard_warned", f"{broken.text}{late}")]

    def _tell(self, session: str, option: str, text: str) -> None:
        """Once for each session and limit."""
        if (session, option) not in self._warned:
            if len(self._warned) >= MOST_WARNED:
                self._warned.clear()
            self._warned[session, option] = None
            self._warn(f"weighbridge guard: {text}")

    def _fails(self, error: Exception) -> None:
        self._failures += 1
        if self._failures == 1:
            self._warn(
                f"weighbridge guard failed ({type(error).__name__}: {error}): requests go through unjudged. "
                "Please report it."
            )


def _counting() -> Callable[[Json, str | None], tuple[int, bool]]:
    """What estimates tokens, loaded now rather than while a client waits."""
    from analyzers.estimate import estimate

    def count(body: Json, model: str | None) -> tuple[int, bool]:
        found = estimate(body, model)
        return found.tokens, found.at_least

    count({"messages": [{"role": "user", "content": "weigh"}]}, None)
    return count


def _price_book() -> Any:
    import os
    from pathlib import Path

    from analyzers.price_book import PriceBook
    from analyzers.price_file import OwnPrices, own_prices
    from analyzers.price_list import PriceList

    path = os.environ.get("WEIGHBRIDGE_PRICES")
    own = own_prices(Path(path).read_text("utf-8"), path) if path else OwnPrices()
    return PriceBook(PriceList(), own)


def _body(flow: http.HTTPFlow, raw: bytes | None) -> Json:
    if raw is None:
        return None
    encoding = flow.request.headers.get("content-encoding")
    try:
        return parse(decode(raw, encoding, BODY_LIMIT).data if encoding or raw[:1] != b"{" else raw).value
    except NotJson:
        return None


def _calls(request: Mapping[str, Any], record: dict[str, Any]) -> tuple[Any, ...]:
    asked = Request(
        {"model": request.get("model")},
        host=request.get("host"),
        path=request.get("path") or "",
        route=request.get("route") or "messages",
    )
    return tuple(calls_of(Exchange(asked, read_response(record), record["ended"], "")))


def without_claim(headers: Iterable[tuple[str, str]], notes: Iterable[Note]) -> tuple[tuple[str, str], ...]:
    """The headers of an answer without a server's word that the guard gave it, which would keep it out of all sums.
    ``notes``: of the exchange; they say whether it is true."""
    is_guards = any(note.code == BLOCKED for note in notes)
    return tuple((name, value) for name, value in headers if is_guards or name.lower() != GUARD[0])


def _refusal(text: str) -> http.Response:
    """An error of the API's own shape (status 400, ``invalid_request_error``), which clients do not try again."""
    error = {"type": "invalid_request_error", "message": f"weighbridge guard: {text} Nothing was sent to the API."}
    headers = {"content-type": "application/json", GUARD[0]: GUARD[1], "x-should-retry": "false"}
    return http.Response.make(400, dump({"type": "error", "error": error}), headers)
