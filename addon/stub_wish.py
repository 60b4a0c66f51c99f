"""The wishes a client may send along: errors by name, pauses, cuts, fixed figures.

Wishes come in the header `x-stub`, several separated by semicolons. Times are seconds, events are counted from one.

    error=429        answer with this status and the API's body for it (also: a model called `error-429`)
    page             … but with a page of HTML, as an edge server does
    retry-after=3    … and this header
    times=2          … for the first two requests with this body only
    fail=3           an `error` event after the third event of a stream that began with status 200
    cut=3            close the connection after the third event (not streamed: after three bytes)
    hold=0.5         wait between the first and the second event; `hold` alone waits until told to go on, by
                     `StubApi.release()` or POST /stub/release (not streamed: before the answer)
    pace=0.02        wait between all events
    words=400        a text of that many words
    usage={…}        these counters instead of counted ones; `delta-usage={…}`: all that `message_delta` says
    encoding=br      content coding of the answer: gzip, deflate, br or zstd
    limit=1000       the context of the model, in tokens
    fixed, fixed=json    the same canned stream (or message) for any body and any path, which is not even looked at
"""

import json
from dataclasses import dataclass
from typing import Any


class BadWish(ValueError):
    """The `x-stub` header asks for something that does not exist."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client asked of the stub, beyond what it asked of the API."""

    error: int | None = None
    page: bool = False
    retry_after: str | None = None
    times: int | None = None
    fail: int | None = None
    cut: int | None = None
    hold: float | None = None
    """Seconds; infinite: until released."""
    pace: float = 0.0
    words: int | None = None
    usage: dict[str, Any] | None = None
    delta_usage: dict[str, Any] | None = None
    encoding: str | None = None
    limit: int | None = None
    fixed: str | None = None


_READ: dict[str, Any] = {
    "error": int,
    "page": lambda text: True,
    "retry_after": str,
    "times": int,
    "fail": int,
    "cut": int,
    "hold": lambda text: float(text or "inf"),
    "pace": float,
    "words": int,
    "usage": json.loads,
    "delta_usage": json.loads,
    "encoding": str,
    "limit": int,
    "fixed": lambda text: text or "sse",
}


def wish(header: str) -> Wish:
    """The wishes in an `x-stub` header. Raises BadWish."""
    wanted: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in header.split(";"))):
        name, _, text = part.partition("=")
        key = name.replace("-", "_")
        if key not in _READ:
            raise BadWish(f"x-stub: {name!r} is not one of {', '.join(_READ)}")
        try:
            wanted[key] = _READ[key](text)
        except ValueError as error:
            raise BadWish(f"x-stub: {part!r} cannot be read: {error}") from error
    return Wish(**wanted)
