"""Prompts as paths in one tree: which request begins like which other, in memory that grows with what is new.

A conversation resends everything, so a list of digests for each request would grow with the square of it. Here each
message is one step down from the messages before it, and a request is the node where its messages end: two requests
that begin alike share that part of the path, and the deepest node they share is where they part. One dictionary entry
for each message that was new. Message threads of the API (a request that names the answer it continues and carries only
what is new) become whole prompts again where the beginning was recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analyzers.digests import Digest, Digester, as_blocks, gist
from analyzers.exchange import Exchange
from analyzers.identity import agent_of, header_session, metadata_session, session_of
from analyzers.sizes import CHARS, size
from analyzers.summary import model_requested, request_id_of
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json
from analyzers.wire.labels import describe_text
from analyzers.wire.record import Ended
from analyzers.wire.routes import Route

ROOT = 0
SUMMARY = "compaction summary"
SUMMARY_ASKED = "compaction request"
_LOOKED_AT = 3  # messages at either end of a prompt in which a summary, or the wish for one, can stand


class Tree:
    """Nodes are numbers; 0 is the empty prompt."""

    def __init__(self) -> None:
        self.parent: list[int] = [ROOT]
        self.depth: list[int] = [0]
        self.said: list[Digest | None] = [None]  # the gist of the assistant message that leads here
        self._below: dict[tuple[int, Digest], int] = {}

    def step(self, node: int, message: Digest, said: Digest | None) -> int:
        """The node one message below."""
        found = self._below.get((node, message))
        if found is None:
            found = self._below[node, message] = len(self.parent)
            self.parent.append(node)
            self.depth.append(self.depth[node] + 1)
            self.said.append(said)
        return found

    def path(self, node: int) -> list[int]:
        """The nodes from this one up to the empty prompt, which is left out."""
        up: list[int] = []
        while node != ROOT:
            up.append(node)
            node = self.parent[node]
        return up


@dataclass(frozen=True, slots=True)
class Trace:
    """What of one exchange its lineage is told from. ``node`` None: its prompt is not known, in whole or in part.

    ``messages``: on the wire; ``prompt_messages``: in the prompt. ``session`` as declared; ``conflict``: header and
    metadata declare different ones. ``prompt``: characters of the prompt by field, for message threads only.
    ``said``: gist of the answer. ``continues``: message id of the answer that it says it follows.
    """

    time: float | None
    end: float | None
    place: str
    route: Route | None
    session: str | None
    conflict: str | None
    agent: str | None
    client: str | None
    model: str | None
    requested: str | None
    message_id: str | None
    request_id: str | None
    node: int | None
    messages: int | None
    prompt_messages: int | None
    said: Digest | None
    continues: str | None
    thread: str | None
    prompt: Mapping[str, int] | None
    system: Digest | None
    tools: Digest | None
    has_tools: bool
    max_tokens: int | None
    fingerprint: str | None
    ended: Ended
    summarised: bool
    summary_asked: bool
    logged: bool
    request_class: str | None


@dataclass(frozen=True, slots=True)
class _Answered:
    """Where a conversation stands after an answer: what a message thread goes on from."""

    node: int
    prompt: Mapping[str, int]


class Tracer:
    """Exchanges into traces over one tree. In any order; a message thread finds its beginning when that came before."""

    def __init__(self) -> None:
        self.tree = Tree()
        self._digester = Digester()
        self._answered: dict[str, _Answered] = {}

    def trace(self, exchange: Exchange) -> Trace:
        """The trace of one exchange."""
        request, response, logged = exchange.request, exchange.response, exchange.logged
        body = request.body if request is not None and type(request.body) is dict else {}
        messages = body.get("messages")
        messages = messages if type(messages) is list else None
        thread, previous = _thread(body)
        start: int | None = ROOT
        prompt: dict[str, int] | None = None
        if thread is not None:
            before = self._answered.get(previous or "") if thread == "continue" else None
            start = before.node if before is not None else None if thread == "continue" else ROOT
            prompt = _prompt(body, before) if start is not None else None
        node = self._walk(start, messages) if start is not None and messages is not None else None
        content = response.content if response is not None else None
        said = gist(content) if content else None
        message_id = response.message_id if response is not None else None
        if node is not None and message_id is not None and thread is not None and prompt is not None and content:
            self._remember(message_id, node, prompt, content)
        headers = request.headers if request is not None else {}
        declared = session_of(exchange)
        return Trace(
            time=exchange.time,
            end=_end(exchange),
            place=exchange.place,
            route=request.route if request is not None else None,
            session=declared,
            conflict=_conflict(exchange, declared),
            agent=agent_of(exchange),
            client=_word(headers.get("user-agent")),
            model=exchange.model,
            requested=model_requested(exchange),
            message_id=message_id,
            request_id=request_id_of(exchange),
            node=node,
            messages=len(messages) if messages is not None else logged.messages if logged is not None else None,
            prompt_messages=self.tree.depth[node] if node is not None else None,
            said=said,
            continues=previous or _diagnosed(body) or (logged.continues if logged is not None else None),
            thread=thread,
            prompt=prompt,
            system=self._digester.system(body["system"]) if "system" in body else None,
            tools=self._digester.value(body["tools"]) if body.get("tools") else None,
            has_tools=bool(body.get("tools")),
            max_tokens=limit if type(limit := body.get("max_tokens")) is int else None,
            fingerprint=request.fingerprint if request is not None else None,
            ended=exchange.ended,
            summarised=(logged is not None and logged.compacted) or _holds(messages, SUMMARY, first=True),
            summary_asked=_holds(messages, SUMMARY_ASKED, first=False),
            logged=logged is not None,
            request_class=_word(headers.get("x-claude-code-request-class")),
        )

    def _walk(self, node: int, messages: list[Json]) -> int:
        for message in messages:
            digest = self._digester.message(message)
            said = None
            if type(message) is dict and message.get("role") == "assistant":
                said = gist(message.get("content"))
            node = self.tree.step(node, digest, said)
        return node

    def _remember(self, message_id: str, node: int, prompt: Mapping[str, int], content: Json) -> None:
        message = {"role": "assistant", "content": content}
        after = self.tree.step(node, self._digester.message(message), gist(content))
        grown = dict(prompt)
        grown["messages"] = grown.get("messages", 0) + size(message, CHARS)
        self._answered[message_id] = _Answered(after, grown)


def _prompt(body: Mapping[Any, Json], before: _Answered | None) -> dict[str, int]:
    """Characters of a whole prompt by field: what the thread had, and what this request brings."""
    prompt = dict(before.prompt) if before is not None else {}
    for name, value in body.items():
        if type(name) is not str or name == "thread":
            continue
        amount = size(value, CHARS)
        prompt[name] = prompt.get(name, 0) + amount if name == "messages" else amount
    return prompt


def _thread(body: Mapping[Any, Json]) -> tuple[str | None, str | None]:
    """The kind of a message thread's request (``create``, ``continue``), and the answer it goes on from."""
    thread = body.get("thread")
    if type(thread) is not dict or (kind := thread.get("type")) not in ("create", "continue"):
        return None, None
    return kind, _word(thread.get("previous_message_id"))


def _diagnosed(body: Mapping[Any, Json]) -> str | None:
    diagnostics = body.get("diagnostics")
    return _word(diagnostics.get("previous_message_id")) if type(diagnostics) is dict else None


def _conflict(exchange: Exchange, declared: str | None) -> str | None:
    """The session that the metadata declares where a header declares another."""
    request = exchange.request
    if request is None or header_session(request.headers) is None:
        return None
    other = metadata_session(request)
    return other if other is not None and other != declared else None


def _end(exchange: Exchange) -> float | None:
    response = exchange.response
    if response is None:
        return None
    return exchange.time + response.last if exchange.time is not None and response.last is not None else response.time


def _holds(messages: list[Json] | None, label: str, *, first: bool) -> bool:
    """Whether one of the first (or last) messages has a text with this label, folded or not."""
    if not messages:
        return False
    for message in messages[:_LOOKED_AT] if first else messages[-1:]:
        for block in as_blocks(message.get("content") if type(message) is dict else None):
            text = block.get("text") if type(block) is dict else None
            told = text.label if type(text) is Elided else describe_text(text) if type(text) is str else None
            if told == label:
                return True
    return False


def _word(value: Any) -> str | None:
    return value if type(value) is str and value else None
