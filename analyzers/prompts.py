"""Requests as prompts: what each says, where its messages end in the tree of all prompts, what answer it goes on from.

Message threads of the API (a request that names the answer it continues and carries only what is new) become whole
prompts again where the beginning was recorded: at once when it was read before, else with ``settled``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from analyzers.digests import Digest, Digester, as_blocks, gist
from analyzers.exchange import Exchange
from analyzers.identity import agent_of, header_session, made_up, metadata_session, session_of
from analyzers.prompt_tree import ROOT, Tree
from analyzers.sizes import CHARS, Unit, field_name, size
from analyzers.summary import model_requested, request_id_of
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json
from analyzers.wire.labels import describe_text
from analyzers.wire.record import Ended
from analyzers.wire.routes import Route

SUMMARY = "compaction summary"
SUMMARY_ASKED = "compaction request"
SUGGESTION = "prompt suggestion"
_SUGGESTION_BEGINS = "[SUGGESTION MODE"
_LOOKED_AT = 3  # messages at the beginning of a prompt in which a summary can stand


@dataclass(frozen=True, slots=True)
class Trace:
    """What of one exchange its lineage is told from. ``node`` None: its prompt is not known, in whole or in part.

    ``messages``: on the wire; ``prompt_messages``: in the prompt. ``session`` as declared (``made_up``: by nothing but
    the metadata); ``conflict``: header and metadata declare different ones. ``thread``: ``create`` or ``continue`` of a
    message thread; for these ``sent`` is the size on the wire and ``prompt`` that of the whole prompt by field (None:
    not known). ``said``: gist of the answer. ``continues``: message id of the answer that it says it follows.
    ``summary``: of the summary that the prompt begins with; ``compacted``: the log says that one was just made.
    """

    time: float | None
    end: float | None
    place: str
    route: Route | None
    session: str | None
    made_up: bool
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
    sent: int | None
    prompt: Mapping[str, int] | None
    system: Digest | None
    tools: Digest | None
    max_tokens: int | None
    ended: Ended
    summary: Digest | None
    compacted: bool
    last_text: str | None
    logged: bool
    request_class: str | None

    @property
    def partial(self) -> bool:
        """Whether it continues a message thread whose beginning was not recorded: its prompt is not known."""
        return self.thread == "continue" and self.node is None


type _Step = tuple[Digest, Digest | None]


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A whole prompt: where it stands in the tree, its sizes by field, and what it says besides messages."""

    node: int
    sizes: Mapping[str, int]
    system: Digest | None
    tools: Digest | None


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request that continues an answer which was not read yet: what it brings, and what its own answer adds."""

    steps: Sequence[_Step]
    sizes: Mapping[str, int]
    answer: _Step | None
    answer_size: int


class _Last(NamedTuple):
    """The messages of the request that was read last, what each of them is, and the nodes on the way from the root down
    to the first so many."""

    messages: list[Json]
    steps: list[_Step]
    nodes: list[int]


class Tracer:
    """Exchanges into traces over one tree, in any order. ``unit``: of the sizes of message threads."""

    def __init__(self, unit: Unit = CHARS) -> None:
        self.tree = Tree()
        self._unit = unit
        self._digester = Digester()
        self._last = _Last([], [], [])
        self._digested: dict[str, tuple[Json, Digest]] = {}  # the last of a field, by its name
        self._answered: dict[str, _Prompt] = {}
        self._waiting: dict[str, _Waiting] = {}

    def trace(self, exchange: Exchange) -> Trace:
        """The trace of one exchange."""
        request, response, logged = exchange.request, exchange.response, exchange.logged
        body = request.body if request is not None and type(request.body) is dict else {}
        messages = body.get("messages")
        messages = messages if type(messages) is list else None
        content = response.content if response is not None else None
        headers = request.headers if request is not None else {}
        declared = session_of(exchange)
        thread, previous = _thread(body)
        trace = Trace(
            time=exchange.time,
            end=_end(exchange),
            place=exchange.place,
            route=request.route if request is not None else None,
            session=declared,
            made_up=made_up(exchange),
            conflict=_conflict(exchange, declared),
            agent=agent_of(exchange),
            client=_word(headers.get("user-agent")),
            model=exchange.model,
            requested=model_requested(exchange),
            message_id=response.message_id if response is not None else None,
            request_id=request_id_of(exchange),
            node=None,
            messages=len(messages) if messages is not None else logged.messages if logged is not None else None,
            prompt_messages=None,
            said=gist(content) if content else None,
            continues=previous or _diagnosed(body) or (logged.continues if logged is not None else None),
            thread=thread,
            sent=None,
            prompt=None,
            system=self._digest(body, "system", self._digester.system),
            tools=self._digest(body, "tools", self._digester.tools),
            max_tokens=_integer(body.get("max_tokens")),
            ended=exchange.ended,
            summary=_summary(messages),
            compacted=logged is not None and logged.compacted,
            last_text=_last_label(messages),
            logged=logged is not None,
            request_class=_word(headers.get("x-claude-code-request-class")),
        )
        if messages is None:
            return trace
        last = self._last = self._steps(messages)
        if thread is None:
            last.nodes.extend(self._walk(last.nodes[-1] if last.nodes else ROOT, last.steps[len(last.nodes) :]))
            node = last.nodes[-1] if last.nodes else ROOT
            return self._placed(trace, _Prompt(node, {}, trace.system, trace.tools))
        return self._threaded(trace, body, last.steps, content)

    def settled(self, traces: Iterable[Trace]) -> list[Trace]:
        """The same traces, with those whole whose message thread began in an exchange that was read after them."""
        out = list(traces)
        waiting = [place for place, trace in enumerate(out) if trace.partial and trace.place in self._waiting]
        while waiting:
            ready = [place for place in waiting if (out[place].continues or "") in self._answered]
            for place in ready:
                out[place] = self._continued(out[place], self._waiting.pop(out[place].place))
            waiting = [place for place in waiting if out[place].partial] if ready else []
        return out

    # Message threads

    def _threaded(self, trace: Trace, body: Mapping[Any, Json], steps: Sequence[_Step], content: Json) -> Trace:
        sizes = {field_name(name): size(value, self._unit) for name, value in body.items()}
        trace = replace(trace, sent=sum(sizes.values()))
        sizes.pop("thread", None)
        answer, answer_size = None, 0
        if trace.message_id is not None and type(content) is list and content:
            message = {"role": "assistant", "content": content}
            answer, answer_size = (self._digester.message(message), gist(content)), size(message, self._unit)
        waiting = _Waiting(steps, sizes, answer, answer_size)
        if trace.thread == "create" or (trace.continues or "") in self._answered:
            return self._continued(trace, waiting)
        self._waiting[trace.place] = waiting
        return trace

    def _continued(self, trace: Trace, brings: _Waiting) -> Trace:
        """A request of a message thread whose beginning is known (or is this request)."""
        nothing = _Prompt(ROOT, {}, None, None)
        before = self._answered[trace.continues or ""] if trace.thread == "continue" else nothing
        sizes = {**before.sizes, **brings.sizes}
        if "messages" in brings.sizes:
            sizes["messages"] = self._lists(before.sizes.get("messages"), brings.sizes["messages"])
        node = self._end(before.node, brings.steps)
        prompt = _Prompt(node, sizes, trace.system or before.system, trace.tools or before.tools)
        if trace.message_id is not None:
            after = prompt
            if brings.answer is not None:
                grown = self._lists(sizes.get("messages"), self._listed(brings.answer_size))
                node = self._end(node, [brings.answer])
                after = replace(prompt, node=node, sizes={**sizes, "messages": grown})
            self._answered[trace.message_id] = after
        return replace(self._placed(trace, prompt), prompt=sizes)

    def _placed(self, trace: Trace, prompt: _Prompt) -> Trace:
        depth = self.tree.depth[prompt.node]
        return replace(trace, node=prompt.node, prompt_messages=depth, system=prompt.system, tools=prompt.tools)

    def _listed(self, amount: int) -> int:
        """The size of a list of one value of this size."""
        return amount + 2 if self._unit.frames else amount

    def _lists(self, one: int | None, other: int) -> int:
        """The size of two lists as one: of the brackets and commas, one pair of brackets goes and a comma comes."""
        if one is None:
            return other
        return one + other - (1 if self._unit.frames and one > 2 and other > 2 else 2 if self._unit.frames else 0)

    # Prompts

    def _digest(self, body: Mapping[Any, Json], name: str, made: Callable[[Json], Digest]) -> Digest | None:
        """The digest of a field; None where there is none. The very object of the request before has the same."""
        value = body.get(name)
        if not value:
            return None
        if name not in self._digested or self._digested[name][0] is not value:
            self._digested[name] = value, made(value)
        return self._digested[name][1]

    def _steps(self, messages: list[Json]) -> _Last:
        """Digest of each message, and the gist of the assistant's. A reader that puts requests together shares the
        messages between them: those that are the very objects of the request before are not looked at again, nor is
        the way down to them."""
        before = self._last
        same = 0
        for one, other in zip(before.messages, messages, strict=False):
            if one is not other:
                break
            same += 1
        steps = before.steps[:same] + [self._step(message) for message in messages[same:]]
        return _Last(messages, steps, before.nodes[:same])

    def _step(self, message: Json) -> _Step:
        return self._digester.message(message), _said(message)

    def _walk(self, node: int, steps: Iterable[_Step]) -> Iterator[int]:
        """The nodes that some steps lead to, one after the other."""
        for message, said in steps:
            node = self.tree.step(node, message, said)
            yield node

    def _end(self, node: int, steps: Iterable[_Step]) -> int:
        """The node that some steps lead to."""
        for reached in self._walk(node, steps):
            node = reached
        return node


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The whole prompt of a request of a message thread, by field in the unit asked for, and its number of messages.
    ``partial``: the beginning of the thread was not recorded, so there are no figures."""

    fields: Mapping[str, int] | None
    messages: int | None
    partial: bool

    @property
    def total(self) -> int | None:
        return None if self.fields is None else sum(self.fields.values())


def rebuilt(wanted: Exchange, exchanges: Callable[[], Iterable[Exchange]], unit: Unit = CHARS) -> Rebuilt | None:
    """The prompt of a request that carries only what is new of it; None for one that carries all. ``exchanges``: all
    that were recorded; they are read only when they are needed, and at best up to this one."""
    if _thread_of(wanted) != "continue":
        return None
    tracer = Tracer(unit)
    traces: list[Trace] = []
    for exchange in exchanges():
        if _thread_of(exchange) is None:
            continue
        traces.append(tracer.trace(exchange))
        if exchange.place == wanted.place and not traces[-1].partial:
            break
    trace = next((trace for trace in tracer.settled(traces) if trace.place == wanted.place), None)
    if trace is None or trace.node is None:
        return Rebuilt(None, None, True)
    return Rebuilt(trace.prompt, trace.prompt_messages, False)


def _thread_of(exchange: Exchange) -> str | None:
    body = exchange.request.body if exchange.request is not None else None
    return _thread(body)[0] if type(body) is dict else None


def _said(message: Json) -> Digest | None:
    """The gist of an assistant's message; None for others."""
    if type(message) is not dict or message.get("role") != "assistant":
        return None
    return gist(message.get("content"))


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


def _texts(message: Json) -> Iterable[Json]:
    """The texts of a message's blocks, folded or not."""
    for block in as_blocks(message.get("content") if type(message) is dict else None):
        text = block.get("text") if type(block) is dict else None
        if type(text) is str or type(text) is Elided:
            yield text


def _label(text: Json) -> str | None:
    if type(text) is Elided:
        return text.label
    return SUGGESTION if text.startswith(_SUGGESTION_BEGINS) else describe_text(text)


def _summary(messages: list[Json] | None) -> Digest | None:
    """The gist of the summary that a prompt begins with; None when it begins with none."""
    for message in (messages or ())[:_LOOKED_AT]:
        for text in _texts(message):
            if _label(text) == SUMMARY:
                return gist(text)
    return None


def _last_label(messages: list[Json] | None) -> str | None:
    """What the last message asks for, where that is one of the client's own wishes."""
    labels = {_label(text) for text in _texts(messages[-1])} if messages else set()
    return SUMMARY_ASKED if SUMMARY_ASKED in labels else SUGGESTION if SUGGESTION in labels else None


def _integer(value: Json) -> int | None:
    return value if type(value) is int else None


def _word(value: Any) -> str | None:
    return value if type(value) is str and value else None
