"""Which header values and URL parameters may be written down.

By allow-list: a value is kept because it is known to be harmless, never because it is not known to be a secret. The
names of all others are kept, so that a reader sees that an ``x-api-key`` was sent and not which. The same list serves
requests and answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

GUARD: Final = ("x-weighbridge", "guard")
"""The header of an answer that the budget guard gave in the API's stead."""

# fmt: off
KEPT = frozenset((
    # about the body
    "accept", "accept-encoding", "content-encoding", "content-length", "content-type", "transfer-encoding", "expect",
    # about the API
    "anthropic-version", "anthropic-beta", "anthropic-dangerous-direct-browser-access",
    # about the client and its conversation
    "user-agent", "x-app", "x-claude-code-session-id", "x-claude-code-agent-id", "x-claude-code-request-class",
    "x-claude-code-prompt-id", "x-session-id", "session-id", "x-session-affinity", "x-opencode-session",
    "x-client-request-id",
    # about the answer
    "request-id", "x-request-id", "x-amzn-requestid", "x-amzn-errortype", "retry-after", "x-should-retry", "date",
    GUARD[0],
))
# fmt: on
KEPT_PREFIXES = ("x-stainless-", "anthropic-ratelimit-", "anthropic-priority-", "anthropic-fast-")
_PAIRS = re.compile("[&;]")
_NAME = re.compile(r"[A-Za-z0-9_.\-]{1,40}")
_VALUE = re.compile(r"[A-Za-z0-9_.\-]{0,64}")
_USER_INFO = re.compile(r"//[^/]*@")
KEPT_PARAMETERS = frozenset(("beta", "api-version", "alt", "limit", "after_id", "before_id"))


def keep(headers: Iterable[tuple[str, str]]) -> tuple[dict[str, str | list[str]], list[str]]:
    """The headers whose values may be kept (names in lower case, repeated ones as a list), and the sorted names of
    the others."""
    kept: dict[str, str | list[str]] = {}
    others: set[str] = set()
    for name, value in headers:
        name = name.lower()
        if name not in KEPT and not name.startswith(KEPT_PREFIXES):
            others.add(name)
            continue
        before = kept.get(name)
        if before is None:
            kept[name] = value
        else:
            kept[name] = [*(before if isinstance(before, list) else [before]), value]
    return kept, sorted(others)


def keep_query(query: str) -> str:
    """A query with only the harmless values left: ``beta=true&key=…``. What has no name, or an odd one, is left out."""
    out = []
    for pair in _PAIRS.split(query) if query else ():
        name, equals, value = pair.partition("=")
        if not _NAME.fullmatch(name):
            out.append("…" if pair else "")
        elif name in KEPT_PARAMETERS and _VALUE.fullmatch(value):
            out.append(pair)
        else:
            out.append(f"{name}=…" if equals else "…")
    return "&".join(out)


def keep_path(path: str) -> str:
    """A path without user info before a host in it, and without what follows a ``#``."""
    return _USER_INFO.sub("//…@", path.partition("#")[0])
