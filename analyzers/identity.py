"""Whose call it was: the session and the agent that a request declares.

Clients say it in different places. In order: the header of Claude Code, then other clients' headers, then
``metadata.user_id`` (a JSON string in newer clients, ``user_…_session_…`` in older ones). What a client's own log says
stands before all of them. Nothing is guessed from content here; ``lineage`` does that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from analyzers.exchange import Exchange, Request

SESSION_HEADERS = (
    "x-claude-code-session-id",
    "x-session-id",
    "session-id",
    "x-session-affinity",
    "x-opencode-session",
)
AGENT_HEADER = "x-claude-code-agent-id"
_OLD_FORM = re.compile(r"_session_([0-9A-Za-z-]+)$")


def session_of(exchange: Exchange) -> str | None:
    """The session that the log, a header or the metadata names, in this order; None when none does."""
    if exchange.logged is not None and exchange.logged.session is not None:
        return exchange.logged.session
    request = exchange.request
    if request is None:
        return None
    return header_session(request.headers) or metadata_session(request)


def agent_of(exchange: Exchange) -> str | None:
    """The sub-agent that made the call; None for a main thread, and where nothing says so."""
    if exchange.logged is not None:
        return exchange.logged.agent
    return _first(exchange.request.headers, (AGENT_HEADER,)) if exchange.request is not None else None


def header_session(headers: Mapping[str, Any]) -> str | None:
    """The session that a header names, Claude Code's before those of other clients."""
    return _first(headers, SESSION_HEADERS)


def metadata_session(request: Request) -> str | None:
    """The session inside ``metadata.user_id``; None when it is not there, or in no form that is known."""
    metadata = request.body.get("metadata") if type(request.body) is dict else None
    user = metadata.get("user_id") if type(metadata) is dict else None
    if type(user) is not str:
        return None
    if user.startswith("{"):
        try:
            told = orjson.loads(user)
        except (orjson.JSONDecodeError, ValueError):
            return None
        session = told.get("session_id") if type(told) is dict else None
        return session if type(session) is str and session else None
    found = _OLD_FORM.search(user)
    return found[1] if found else None


def made_up(exchange: Exchange) -> bool:
    """Whether nothing but the metadata, which some clients fill anew with each call, names the session."""
    if exchange.logged is not None or exchange.request is None:
        return False
    return header_session(exchange.request.headers) is None


def _first(headers: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first value of the first of these headers that has one."""
    for name in names:
        value = headers.get(name)
        if type(value) is list and value:
            value = value[0]
        if type(value) is str and value:
            return value
    return None
