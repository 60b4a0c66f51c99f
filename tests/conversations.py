"""Recorded calls of conversations, as exchanges in memory, for the tests of what tells who continues whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from analyzers.exchange import Exchange, Request, Response
from analyzers.exchange_calls import calls_of
from analyzers.lineage import Lineage, Session, lineage
from analyzers.prompts import Tracer
from analyzers.sessions import SessionRow, session_rows
from analyzers.threads import Thread
from analyzers.wire.usage import Usage

type Message = dict[str, Any]

BEGIN = 1_796_000_000.0
TOOLS = [{"name": "Bash", "description": "run", "input_schema": {"type": "object"}}]
SYSTEM = "You are careful."
PREAMBLE = "<system-reminder>\nContents of CLAUDE.md: be brief\n</system-reminder>\n" * 10
COUNTERS = {
    "input_tokens": 2,
    "cache_creation_input_tokens": 100,
    "cache_read_input_tokens": 1000,
    "output_tokens": 30,
    "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0},
}


def user(text: Any) -> Message:
    return {"role": "user", "content": text}


def answer(text: str) -> Message:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def talk(*texts: str) -> list[Message]:
    """Messages of a conversation, the user's and the assistant's in turn."""
    return [answer(text) if position % 2 else user(text) for position, text in enumerate(texts)]


def call(
    messages: Sequence[Message] | None,
    said: str | None = "yes",
    *,
    at: float = 0.0,
    took: float = 1.0,
    session: str | None = None,
    agent: str | None = None,
    user_id: str | None = None,
    system: Any = SYSTEM,
    tools: Any = TOOLS,
    usage: dict[str, Any] | None = COUNTERS,
    ended: Any = None,
    status: int = 200,
    message_id: str | None = None,
    request_id: str | None = None,
    client: str | None = "claude-cli/2.1.332",
    headers: dict[str, Any] | None = None,
    route: Any = "messages",
    fingerprint: str | None = None,
    answered: Any = None,
    **fields: Any,
) -> Exchange:
    """One call ``at`` seconds after the beginning. ``said`` None: it got no answer, so it failed unless ``ended`` says
    otherwise. ``fields``: more of the body; None takes one out."""
    body: dict[str, Any] = {"model": "claude-opus-5-5", "max_tokens": 1000, "system": system, "tools": tools}
    body["messages"] = None if messages is None else list(messages)
    body["metadata"] = None if user_id is None else {"user_id": user_id}
    body |= fields
    sent = {"x-claude-code-session-id": session, "x-claude-code-agent-id": agent, "user-agent": client} | (
        headers or {}
    )
    request = Request(
        body={name: value for name, value in body.items() if value is not None},
        time=BEGIN + at,
        path="/v1/messages",
        route=route,
        headers={name: value for name, value in sent.items() if value is not None},
        fingerprint=fingerprint,
    )
    content = [{"type": "text", "text": said}] if said is not None else None
    response = Response(
        status=status if said is not None or status != 200 else 529,
        time=BEGIN + at + took,
        last=took,
        model="claude-opus-5-5-20260901" if said is not None else None,
        message_id=message_id or (f"msg_{at}_{said}_{agent}" if said is not None else None),
        headers={} if request_id is None else {"request-id": request_id},
        usage=Usage.from_json(usage)[0] if usage is not None and said is not None else None,
        content=content if answered is None else answered,
    )
    ended = ended or ("completed" if said is not None else "error")
    return Exchange(request, response, ended, f"capture:{at}:{agent}:{said}")


def traced(exchanges: Iterable[Exchange]) -> tuple[Lineage, list[Any]]:
    """What becomes of some exchanges, in time order, with the calls they tell of."""
    ordered = sorted(exchanges, key=lambda exchange: exchange.time or 0.0)
    tracer = Tracer()
    traces = tracer.settled([tracer.trace(exchange) for exchange in ordered])
    return lineage(tracer.tree, traces), [calls_of(exchange) for exchange in ordered]


def sessions(*exchanges: Exchange) -> list[Session]:
    return list(traced(exchanges)[0].sessions)


def rows(*exchanges: Exchange) -> list[SessionRow]:
    return session_rows(*traced(exchanges))


def numbers(thread: Thread) -> list[int]:
    return [turn.n for turn in thread.turns]


def steps(thread: Thread) -> list[str]:
    return [turn.step for turn in thread.turns]


def only(many: Sequence[Any]) -> Any:
    """The only one there is."""
    [one] = many
    return one
