"""The one line per exchange in mitmdump's output: what went over the bridge and what it weighed.

A pure function of the two records. Names that came from the client or the server are shown without control characters,
so that nobody can write to the terminal through them. A figure that is not known is shown as ``?``, never as 0.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

SHOWN_FIELDS = 3
_NAME_LENGTH = 80
PAUSE = 0.1
"""Seconds that a line may wait for others."""


def describe(number: int | None, request: Mapping[str, Any], response: Mapping[str, Any]) -> str:
    """One line about an exchange. ``number``: its place in the order of acceptance, None when its request was not seen.

    ``request`` needs ``route``, ``figures`` and the requested ``model`` (any may be missing); ``response`` is a record.
    """
    size = _sizes(request.get("figures"))
    parts = [_model(request, response), _route(request), *size, *_tokens(response), _end(response)]
    return f"#{'?' if number is None else number} " + "  ".join(part for part in parts if part)


def _model(request: Mapping[str, Any], response: Mapping[str, Any]) -> str:
    if served := response.get("model"):
        return _plain(served)
    requested = request.get("model")
    return f"{_plain(requested)} (requested)" if requested else "?"


def _route(request: Mapping[str, Any]) -> str:
    route = request.get("route", "messages")
    return "" if route == "messages" else _plain(route)


def _sizes(figures: Mapping[str, Any] | None) -> list[str]:
    if not figures:
        return ["? chars"]
    total: int = figures["total"]
    percents = [(round(100 * chars / total) if total else 0, name) for name, chars in figures["fields"].items()]
    largest = sorted(percents, key=lambda pair: -pair[0])[:SHOWN_FIELDS]
    shares = " ".join(f"{_plain(name) or 'body'} {percent}%" for percent, name in largest if percent)
    return [shares, f"{total:,} chars"]


def _tokens(response: Mapping[str, Any]) -> list[str]:
    usage = response.get("usage")
    body = response.get("body")
    if usage is None and isinstance(body, Mapping) and _count(body, "input_tokens") is not None:
        return [f"counted {_shown(_count(body, 'input_tokens'))}"]
    if usage is None:
        return [] if response.get("ended") == "error" else ["input ?", "output ?"]
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [_count(usage, name) for name in names]
    known = [count for count in counts if count is not None]
    total = f"{'' if len(known) == len(counts) else '≥'}{sum(known):,}" if known else "?"
    plain, write, read = map(_shown, counts)
    output = _shown(_count(usage, "output_tokens"))
    return [f"input {total} = {plain} in + {write} write + {read} read", f"output {output}"]


def _end(response: Mapping[str, Any]) -> str:
    parts = [str(response.get("ended"))]
    status = response.get("status")
    error = response.get("error")
    if status is not None and status >= 400:
        parts.append(str(status))
    if isinstance(error, Mapping):
        headers = response.get("headers") or {}
        request_id = error.get("request_id") or headers.get("request-id")
        parts += [_plain(text) for text in (error.get("type"), request_id) if text]
    return " ".join(parts)


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if type(value) is int else None


def _shown(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def _plain(text: object) -> str:
    """Printable characters only, and not too many."""
    return "".join(char if char.isprintable() else "?" for char in str(text)[:_NAME_LENGTH])


class Lines:
    """Puts exchanges into words and into the log, those of a short while together and out of the traffic's way: a call
    costs mitmproxy more than most of our work, and nobody reads faster."""

    def __init__(self, tell: Callable[..., None]) -> None:
        self._tell = tell
        self._waiting: list[tuple[int | None, Mapping[str, Any], Mapping[str, Any], object]] = []

    def add(self, number: int | None, request: Mapping[str, Any], response: Mapping[str, Any], client: object) -> None:
        """One exchange, as ``describe`` takes it. ``client``: whose it was, for the log's own prefix."""
        self._waiting.append((number, request, response, client))
        if len(self._waiting) > 1:
            return
        try:
            asyncio.get_running_loop().call_later(PAUSE, self.flush)
        except RuntimeError:  # no loop, nothing to wait for
            self.flush()

    def flush(self) -> None:
        """Tell what waits."""
        waiting, self._waiting = self._waiting, []
        for number, request, response, client in waiting:
            self._tell(describe(number, request, response), extra={"client": client})
