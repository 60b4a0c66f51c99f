"""Exchange: one recorded request with its answer. What every reader yields and every analyzer takes.

A figure that was not seen is None, never 0. Bodies are unfolded: what a capture folded is an ``Elided`` leaf with its
true lengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from analyzers.wire.routes import Route, requested_model

if TYPE_CHECKING:  # only named here: the logs of a whole machine are read without any of them
    from analyzers.wire.jsontext import Json
    from analyzers.wire.message import ApiError
    from analyzers.wire.note import Note
    from analyzers.wire.record import Ended
    from analyzers.wire.usage import Usage
    from analyzers.wire.weight import WireSteps


@dataclass(frozen=True, slots=True)
class Request:
    """What the client sent. ``time``: seconds since the epoch; ``body`` None: not there, ``reason`` says why.

    ``recorded``: characters by top-level field as they were taken before folding, in the body's order.
    """

    body: Json
    time: float | None = None
    method: str = "POST"
    host: str | None = None
    path: str = ""
    query: str = ""
    route: Route = "messages"
    headers: Mapping[str, Any] = field(default_factory=dict)
    other_headers: tuple[str, ...] = ()
    wire_bytes: int | None = None
    decoded_bytes: int | None = None
    content_encoding: str | None = None
    fingerprint: str | None = None
    reason: str | None = None
    recorded: Mapping[str, int] | None = None
    recorded_total: int | None = None
    steps: WireSteps | None = None
    notes: tuple[Note, ...] = ()

    @property
    def model(self) -> str | None:
        """The model asked for: the body's, else the one that the path names."""
        named = self.body.get("model") if type(self.body) is dict else None
        return named if type(named) is str else requested_model(self.path)


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. ``status`` None: nothing did. Durations in seconds since the request was accepted.

    ``content``: the blocks of a message; ``body``: what was no message; ``rest``: other members of the message.
    """

    status: int | None = None
    time: float | None = None
    headers: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    message_id: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    usage_raw: Mapping[str, Any] | None = None
    content: Json = None
    body: Json = None
    rest: Mapping[str, Any] = field(default_factory=dict)
    error: ApiError | None = None
    failure: str | None = None
    events: Mapping[str, int] = field(default_factory=dict)
    first_byte: float | None = None
    first_content: float | None = None
    last: float | None = None
    wire_bytes: int | None = None
    decoded_bytes: int | None = None
    content_encoding: str | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Logged:
    """What a client's own log says of a call beside the call itself. None: it does not say.

    ``agent``: the sub-agent that made the call, None for the main thread. ``rows``: records of the log that were this
    one call. ``final`` False: what the log holds of the answer is a placeholder that was never replaced.
    ``messages``: how many messages the request had; counted in the log's tree of records where it keeps no requests.
    ``continues``: the message id of the call that this one continues in that tree. ``compacted``: the conversation was
    summarised just before it. ``failed_attempts``: requests for the same that failed before.
    ``copied``: its record is older than the file it stands in, so it was made in another.
    """

    session: str | None = None
    agent: str | None = None
    request_id: str | None = None
    rows: int = 1
    final: bool = True
    messages: int | None = None
    requested: str | None = None
    continues: str | None = None
    compacted: bool = False
    failed_attempts: int = 0
    copied: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer. ``request`` None: only the answer was found. ``place``: file and line, for
    messages. ``logged``: where it comes from a client's log instead of the wire. ``taken``: how the client was led to
    the recorder, where the capture says: ``run forward``, ``run reverse``."""

    request: Request | None
    response: Response | None
    ended: Ended
    place: str
    logged: Logged | None = None
    taken: str | None = None

    @property
    def time(self) -> float | None:
        """When the request was accepted, else when the answer ended: what exchanges are ordered and numbered by."""
        if self.request is not None and self.request.time is not None:
            return self.request.time
        return self.response.time if self.response is not None else None

    @property
    def model(self) -> str | None:
        """The model that served it; None when no answer named one."""
        return self.response.model if self.response is not None else None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something a reader could not use, in one sentence, with its place. ``cut``: the file ends before it should, as
    one does that is still being written."""

    place: str
    text: str
    cut: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"
