"""Requests as prompts, and message threads made whole."""

from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from conversations import SYSTEM, TOOLS, Message, answer, call, talk, user
from hypothesis import given
from hypothesis import strategies as st
from json_values import SHAPES, shape_requests, values

from analyzers.digests import Digester
from analyzers.exchange import Exchange, Request
from analyzers.prompts import Trace, Tracer, rebuilt
from analyzers.sizes import UNITS, size
from analyzers.wire.fold import fold, unfold
from analyzers.wire.jsontext import parse

LONG = [shape for shape in SHAPES if "36-turns" in shape.name]


def traces(*exchanges: Exchange, tracer: Tracer | None = None) -> list[Trace]:
    tracer = tracer or Tracer()
    return tracer.settled([tracer.trace(exchange) for exchange in exchanges])


def opened(messages: list[Message], said: str, name: str, **fields: Any) -> Exchange:
    """The first request of a message thread."""
    return call(messages, said, message_id=name, thread={"type": "create"}, **fields)


def going_on(after: str, messages: list[Message], said: str | None, name: str | None, **fields: Any) -> Exchange:
    """A request that carries what is new since an answer."""
    thread = {"type": "continue", "previous_message_id": after}
    return call(messages, said, message_id=name, thread=thread, system=None, tools=None, **fields)


def resent(exchange: Exchange, messages: list[Message], unit: str = "chars") -> dict[str, int]:
    """What a request that carries everything would have measured, by field."""
    assert exchange.request is not None
    whole = {"system": SYSTEM, "tools": TOOLS} | exchange.request.body | {"messages": messages}
    return {name: size(value, UNITS[unit]) for name, value in whole.items() if name != "thread"}


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([user("a"), user("b"), answer("c"), user([{"type": "text"}])]), max_size=5),
            st.sampled_from([None, "create", "continue"]),
            st.sampled_from([SYSTEM, [{"type": "text", "text": "r"}], None]),
            st.sampled_from([TOOLS, [*TOOLS, *TOOLS], []]),
            st.booleans(),
        ),
        max_size=6,
    )
)
def test_a_request_is_traced_as_if_it_were_the_only_one(sent: list[tuple[Any, ...]]) -> None:
    """Whether its parts are the very objects of the request before, or copies of them."""
    tracer = Tracer()
    for n, (messages, thread, system, tools, copied) in enumerate(sent):
        kind = {"thread": {"type": thread, "previous_message_id": f"msg_{n - 1}"}} if thread is not None else {}
        exchange = call(messages, "c", message_id=f"msg_{n}", system=system, tools=tools, **kind)
        trace, digester = tracer.trace(deepcopy(exchange) if copied else exchange), Digester()
        if thread is None:
            assert trace.node is not None
            path = [tracer.tree.message[node] for node in reversed(list(tracer.tree.path(trace.node)))]
            assert path == [digester.message(message) for message in messages]
            assert trace.system == (digester.system(system) if system else None)
            assert trace.tools == (digester.tools(tools) if tools else None)


def test_a_conversation_costs_a_node_for_each_message_not_for_each_request() -> None:
    texts = [f"m{n}" for n in range(401)]
    tracer = Tracer()
    for turn in range(1, 402, 2):
        tracer.trace(call(talk(*texts[:turn])))
    assert len(tracer.tree.parent) == 1 + 401


@pytest.mark.parametrize("shape", LONG, ids=lambda path: path.name)
def test_a_recorded_session_costs_a_node_for_each_message(shape: Any) -> None:
    tracer = Tracer()
    sent = 0
    longest: dict[str | None, int] = {}
    for request in shape_requests(shape):
        body = parse(request["raw"]).value
        sent += len(body["messages"])
        tracer.trace(Exchange(Request(body=body), None, "not_recorded", str(request["n"])))
        agent = request["headers"].get("x-claude-code-agent-id")
        longest[agent] = max(longest.get(agent, 0), len(body["messages"]))
    assert sent > 1000
    assert len(tracer.tree.parent) <= 1 + sum(longest.values())


@pytest.mark.parametrize("shape", LONG, ids=lambda path: path.name)
@pytest.mark.parametrize("over", [0, 400, -1])
def test_raw_prefixes_never_meet_and_prompts_always_do(shape: Any, over: int) -> None:
    """0 of 36 pairs share their messages as they are sent; all do as prompts, whatever the capture folded."""
    tracer = Tracer()
    main = [
        parse(request["raw"]).value
        for request in shape_requests(shape)
        if "x-claude-code-agent-id" not in request["headers"]
    ]
    assert len(main) == 37
    raw = sum(later["messages"][: len(earlier["messages"])] == earlier["messages"] for earlier, later in pairwise(main))
    nodes = [
        tracer.trace(Exchange(Request(unfold(fold(body, over))[0]), None, "not_recorded", "x")).node for body in main
    ]
    continued = sum(earlier in tracer.tree.path(later or 0) for earlier, later in pairwise(nodes))
    assert (raw, continued) == (0, 36)


def test_the_same_prompt_is_one_node_from_any_reader() -> None:
    messages = [*talk("x" * 500, "y" * 50), user([{"type": "text", "text": "z" * 401}])]
    tracer = Tracer()
    nodes = {
        tracer.trace(Exchange(Request(unfold(fold({"messages": messages}, over))[0]), None, "completed", "x")).node
        for over in (0, 10, 400, -1)
    }
    assert nodes == {3} and len(tracer.tree.parent) == 4


FIELDS = st.sampled_from(["messages", "thread", "system", "tools", "metadata", "diagnostics", "max_tokens"])


@given(st.dictionaries(FIELDS, values | st.lists(values, max_size=3)), values)
def test_no_body_breaks_it(body: dict[str, Any], content: Any) -> None:
    exchange = call([], "x", answered=content)
    told = Exchange(Request(unfold(fold(body, 0))[0]), exchange.response, "completed", "x")
    [trace] = traces(told)
    assert trace.messages == (len(body["messages"]) if type(body.get("messages")) is list else None)


@pytest.mark.parametrize("body", [None, [], "text", 7, {"messages": "hi"}, {"messages": None}, {}])
def test_without_messages_the_prompt_is_unknown(body: Any) -> None:
    [trace] = traces(Exchange(Request(body), None, "unanswered", "x"))
    assert (trace.node, trace.messages, trace.prompt_messages, trace.partial) == (None, None, None, False)


def test_an_answer_without_its_request() -> None:
    [trace] = traces(Exchange(None, call([]).response, "completed", "x"))
    assert (trace.node, trace.route, trace.message_id) == (None, None, "msg_0.0_yes_None")


def test_the_log_tells_what_the_request_does_not() -> None:
    from analyzers.exchange import Logged

    [trace] = traces(
        Exchange(None, None, "completed", "x", Logged(session="s", messages=5, continues="m", compacted=True))
    )
    assert (trace.session, trace.messages, trace.continues, trace.compacted, trace.logged) == ("s", 5, "m", True, True)


def test_diagnostics_name_the_answer_before() -> None:
    [trace] = traces(call([user("a")], diagnostics={"previous_message_id": "msg_0"}))
    assert trace.continues == "msg_0"


# Message threads

ONE, TWO, THREE = talk("first", "one", "second", "two", "third"), user("second"), user("third")


@pytest.fixture
def thread() -> list[Exchange]:
    return [
        opened([user("first")], "one", "m1", at=0.0),
        going_on("m1", [user("second")], "two", "m2", at=10.0, max_tokens=20_000),
        going_on("m2", [user("third")], "three", "m3", at=20.0),
    ]


def test_a_message_thread_is_told_as_the_prompts_it_makes(thread: list[Exchange]) -> None:
    told = traces(*thread)
    assert [trace.messages for trace in told] == [1, 1, 1]
    assert [trace.prompt_messages for trace in told] == [1, 3, 5]
    assert [trace.partial for trace in told] == [False, False, False]
    whole = talk("first", "one", "second", "two", "third")
    for trace, exchange, count in zip(told, thread, (1, 3, 5), strict=True):
        assert trace.prompt == resent(exchange, whole[:count])
    assert told[2].sent == sum(size(value) for value in thread[2].request.body.values())  # type: ignore[union-attr]


def test_a_thread_and_a_client_that_resends_everything_are_on_one_path(thread: list[Exchange]) -> None:
    tracer = Tracer()
    told = traces(*thread, tracer=tracer)
    again = tracer.trace(call(talk("first", "one", "second", "two", "third")))
    assert again.node == told[2].node
    assert (again.system, again.tools) == (told[2].system, told[2].tools)
    assert again.prompt is None and again.sent is None


@pytest.mark.parametrize("order", [[2, 1, 0], [1, 2, 0], [2, 0, 1], [0, 2, 1]])
def test_files_in_any_order(thread: list[Exchange], order: list[int]) -> None:
    inorder = traces(*thread)
    told = traces(*(thread[place] for place in order))
    assert [trace.prompt for trace in told] == [inorder[place].prompt for place in order]
    assert [trace.prompt_messages for trace in told] == [inorder[place].prompt_messages for place in order]


def test_without_its_beginning_a_thread_is_partial_and_has_no_figures(thread: list[Exchange]) -> None:
    for trace in traces(*thread[1:]):
        assert trace.partial
        assert (trace.node, trace.prompt, trace.prompt_messages, trace.messages) == (None, None, None, 1)


def test_two_requests_can_continue_one_answer(thread: list[Exchange]) -> None:
    told = traces(*thread[:2], going_on("m1", [user("other")], "x", "m9", at=30.0))
    assert [trace.prompt_messages for trace in told] == [1, 3, 3]
    assert told[1].node != told[2].node


def test_an_answer_that_was_cut_is_continued_from_what_came(thread: list[Exchange]) -> None:
    empty = opened([user("first")], "", "m1", answered=[])
    told = traces(empty, going_on("m1", [user("second")], "two", "m2", at=10.0))
    assert [trace.prompt_messages for trace in told] == [1, 2]


@pytest.mark.parametrize("unit", UNITS)
def test_rebuilt_sizes_are_those_of_a_full_resend_in_every_unit(thread: list[Exchange], unit: str) -> None:
    odd = [opened([user("\u5a01🙂\n")], 'say "é"\n', "m1"), going_on("m1", [user("x"), user("y")], "", "m2", at=10.0)]
    whole = [user("\u5a01🙂\n"), answer('say "é"\n'), user("x"), user("y")]
    told = rebuilt(odd[1], lambda: odd, UNITS[unit])
    assert told is not None
    assert told.fields == resent(odd[1], whole, unit)
    assert (told.total, told.messages) == (sum(resent(odd[1], whole, unit).values()), 4)
    third = rebuilt(thread[2], lambda: thread, UNITS[unit])
    assert third is not None and third.fields == resent(thread[2], talk("first", "one", "second", "two", "third"), unit)


@given(
    st.lists(st.tuples(st.lists(values, min_size=1, max_size=3), values), min_size=2, max_size=4),
    st.sampled_from(list(UNITS)),
)
def test_any_thread_is_as_large_as_its_full_resend(turns: list[tuple[list[Any], Any]], unit: str) -> None:
    exchanges: list[Exchange] = []
    whole: list[Message] = []
    for n, (contents, said) in enumerate(turns):
        brought = [user(content) for content in contents]
        whole += brought
        blocks = [{"type": "text", "text": "t"}, {"type": "new", "value": said}]
        made = (
            opened(brought, "x", "m0", answered=blocks)
            if n == 0
            else going_on(f"m{n - 1}", brought, "x", f"m{n}", at=float(n), answered=blocks)
        )
        exchanges.append(made)
        told = rebuilt(made, lambda: exchanges, UNITS[unit])
        if n:
            assert told is not None and told.fields == resent(made, whole, unit)
        whole = [*whole, {"role": "assistant", "content": blocks}]


def test_a_request_that_carries_everything_needs_no_rebuilding(thread: list[Exchange]) -> None:
    def unread() -> list[Exchange]:
        raise AssertionError("nothing is to be read")

    assert rebuilt(call([user("a")]), unread) is None
    assert rebuilt(thread[0], unread) is None
    assert rebuilt(Exchange(None, None, "completed", "x"), unread) is None


def test_rebuilding_reads_no_further_than_it_must(thread: list[Exchange]) -> None:
    def reading() -> Any:
        yield from thread[:2]
        raise AssertionError("too far")

    told = rebuilt(thread[1], reading)
    assert told is not None and told.messages == 3


def test_a_partial_prompt_has_no_total(thread: list[Exchange]) -> None:
    told = rebuilt(thread[2], lambda: thread[1:])
    assert told is not None
    assert (told.fields, told.messages, told.total, told.partial) == (None, None, None, True)


# What prompts say of themselves


@pytest.mark.parametrize("over", [0, 400, -1])
def test_a_summary_and_the_wish_for_one_are_known_folded_or_not(over: int) -> None:
    summary = "This session is being continued from a previous conversation. " * 20
    asked = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools. " * 20

    def of(*messages: Message) -> Trace:
        return traces(Exchange(Request(unfold(fold({"messages": list(messages)}, over))[0]), None, "completed", "x"))[0]

    begins = of(user(summary), answer("a"), user("b"))
    assert begins.summary is not None and begins.last_text is None
    assert of(user(summary + "other")).summary != begins.summary
    assert of(*talk("a", "b", "c", "d", "e"), user(summary)).summary is None
    assert of(*talk("a", "b"), user([{"type": "text", "text": asked}])).last_text == "compaction request"
    assert of(user(asked), answer("b"), user("c")).last_text is None
