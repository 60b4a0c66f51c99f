"""Which requests belong to the Messages API, told from method and path, whatever the host.

Gateways put prefixes before the path and vendors have their own, so the table looks at how a path ends.
``/v1/complete`` and other vendors' chat completions are not ours. A path that ends in ``/v1/messages`` and does not
exist upstream is still a request that a client sent: it is recorded with its 404.
"""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import unquote

type Route = Literal["messages", "count_tokens", "batches", "bedrock", "vertex", "other"]
"""``other``: recorded because the user's own filter matched, not by this table."""

# Each ending is matched on the decoded path, with doubled and trailing slashes taken out. The first that matches
# decides.
_TABLE: tuple[tuple[str, re.Pattern[str], Route], ...] = tuple(
    (methods, re.compile(pattern), route)  # type: ignore[misc]
    for methods, pattern, route in (
        ("POST", r"(/v\d+|/anthropic)/messages/count_tokens$", "count_tokens"),
        ("POST", r"(/v\d+|/anthropic)/messages/batches$", "batches"),
        ("GET POST", r"(/v\d+|/anthropic)/messages/batches/[^/]+(/results|/cancel)?$", "batches"),
        ("POST", r"(/v\d+|/anthropic)/messages$", "messages"),
        (
            "POST",
            r"/model/[^/]*(anthropic|claude|inference-profile)[^/]*(/[^/]+)?/invoke(-with-response-stream)?$",
            "bedrock",
        ),
        ("POST", r"/publishers/anthropic/models/count-tokens:rawPredict$", "count_tokens"),
        ("POST", r"/publishers/anthropic/models/[^/]+:(rawPredict|streamRawPredict)$", "vertex"),
    )
)
_SLASHES = re.compile(r"/{2,}")


def classify(method: str, path: str) -> Route | None:
    """The route of a request, or None when it is none of the Messages API. ``path`` may carry a query; the host does
    not matter."""
    clean = normalised(path)
    for methods, pattern, route in _TABLE:
        if method.upper() in methods.split() and pattern.search(clean):
            return route
    return None


def normalised(path: str) -> str:
    """The path without its query, percent-decoded, with single slashes and none at the end."""
    bare = re.split(r"[?#]", path, maxsplit=1)[0]
    return _SLASHES.sub("/", unquote(bare)).rstrip("/")


def vertex_region(path: str) -> str | None:
    """The region that a Vertex path names, unless it is the global endpoint; None for any other path."""
    found = re.search(r"/locations/([^/]+)/publishers/anthropic/", normalised(path))
    return found[1] if found and found[1] != "global" else None


def requested_model(path: str) -> str | None:
    """The model where a vendor names it in the path instead of the body, percent-decoded; else None."""
    if found := re.search(r"/model/(.+)/invoke(-with-response-stream)?$", normalised(path)):
        return found[1]
    found = re.search(r"/publishers/anthropic/models/([^/:]+):", normalised(path))
    return found[1] if found and found[1] != "count-tokens" else None
