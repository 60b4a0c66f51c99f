"""The content view of mitmproxy and mitmweb for the Messages API: the ledger of a request with what its answer cost,
and the figures of an answer.

mitmproxy asks every view for its priority with each message that it shows, and calls the view that wins, on the event
loop. So the priority is told from the path alone, and a view never raises: it shows a sentence instead. What mitmproxy
streamed without keeping it ("content missing") reaches no view at all: that is why the request's view tells of the
answer too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mitmproxy import contentviews, http

from addon.flow_exchange import NOT_OURS, Told, route_of

PRIORITY: Final = 2.0
"""mitmproxy's own views give 1 for what they know by its type."""

type Telling = Callable[[http.HTTPFlow], Told | None]
"""What the recorder knows of a flow."""


class MessagesContentview(contentviews.Contentview):
    """Shows requests to the Messages API, and answers of it, as tables."""

    name = "Weighbridge"
    syntax_highlight = "none"

    def __init__(self, told: Telling) -> None:
        self._told = told

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        """Above all others for the API's routes, below all others for the rest."""
        flow, message = metadata.flow, metadata.http_message
        if not data or message is None or not isinstance(flow, http.HTTPFlow) or route_of(flow) is None:
            return -1
        if message is flow.request:
            return PRIORITY
        kind = metadata.content_type or ""
        return PRIORITY if not kind or "json" in kind or "event" in kind else -1

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        """The tables of the message. Raises nothing."""
        flow, message = metadata.flow, metadata.http_message
        if message is None or not isinstance(flow, http.HTTPFlow):
            return NOT_OURS
        try:
            from addon.flow_tables import flow_lines

            return "\n".join(flow_lines(flow, self._told(flow), answer=message is flow.response))
        except Exception as error:  # a view that fails must not hide the flow
            return (
                f"weighbridge could not take this apart ({type(error).__name__}: {error}): "
                "choose another view, and please report it."
            )


def register(view: contentviews.Contentview) -> None:
    """Adds the view to those of mitmproxy."""
    contentviews.add(view)


def unregister(view: contentviews.Contentview) -> None:
    """Takes the view away again, unless another of its name has come in its place."""
    registry = contentviews.registry
    views = registry._by_name  # mitmproxy has no other way to take one away
    if views.get(view.name.lower()) is view:
        del views[view.name.lower()]
        registry.on_change.send(view)
