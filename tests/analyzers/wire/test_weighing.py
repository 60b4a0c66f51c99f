"""Weighing by what is new gives what weighing the whole gives, in any order of requests; only sooner."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import SHAPES, shape_requests, values

from analyzers.wire import weighing
from analyzers.wire.jsontext import NotJson, dump
from analyzers.wire.weighing import Weighed, Weigher, weighed

messages = st.lists(
    st.sampled_from(
        [
            {"role": "user", "content": "hello"},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "x" * 30, "cache_control": {"type": "ephemeral"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "content": "é\n" * 40}]},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "input": {"_elided": True, "messages": [{"a": 1}]}}],
            },
            {"a": 1},
            1,
            12,
            "m",
            [],
            {},
        ]
    )
    | values,
    max_size=6,
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["m", "n"]),
        "tools": st.sampled_from(
            [[], [{"name": "t", "input_schema": {"messages": [{"a": 1}]}, "description": "d" * 50}]]
        ),
        "fallback_credit_token": st.just("secret"),
        "é": st.just({"messages": [1]}),
    },
)
bodies = st.tuples(fields, messages, fields).map(lambda parts: {**parts[0], "messages": parts[1], **parts[2]})


def same(found: Weighed, data: bytes, over: int) -> None:
    document, body, figures = weighed(data, len(data), over)
    assert found.figures == figures
    assert list(found.figures.fields) == list(figures.fields)
    assert dump(found.body) == dump(body)
    assert found.notes == document.notes


@given(st.lists(bodies, min_size=1, max_size=6), st.sampled_from([-1, 0, 10, 400]))
def test_what_came_before_never_shows(requests: list[dict[str, Any]], over: int) -> None:
    weigher = Weigher(over, conversations=3)
    for body in requests:
        data = dump(body)
        same(weigher.weigh(data, len(data)), data, over)


@given(messages, st.lists(st.integers(0, 6), max_size=5))
def test_a_conversation_that_grows_shrinks_and_forks(history: list[Any], turns: list[int]) -> None:
    weigher = Weigher(10)
    for turn in turns:
        data = dump({"model": "m", "messages": history[:turn], "system": "s" * 20})
        same(weigher.weigh(data, len(data)), data, 10)


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.name)
def test_sessions_of_real_clients(path) -> None:  # type: ignore[no-untyped-def]
    weigher = Weigher(400)
    for request in shape_requests(path):
        found = weigher.weigh(request["raw"], len(request["raw"]))
        same(found, request["raw"], 400)
        assert dict(found.figures.fields) == request["expected"]["fields"]


def test_known_messages_and_long_fields_are_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    loads = orjson.loads

    def counted(text: bytes) -> Any:
        parsed.append(len(text))
        return loads(text)

    monkeypatch.setattr(weighing.orjson, "loads", counted)
    weigher = Weigher(400)
    sizes = []
    history = [{"role": "user", "content": f"{number} " + "x" * 1000} for number in range(100)]
    for turn in (98, 99, 100):
        tools = [{"name": "t", "description": "d" * 50_000, "input_schema": {"messages": [1]}}]
        data = dump({"system": "s" * 9_000, "messages": history[:turn], "model": "m", "tools": tools})
        parsed.clear()
        found = weigher.weigh(data, len(data))
        sizes.append(sum(parsed))
        same(found, data, 400)
    assert sizes[0] > 150_000
    assert sizes[1] < 3_000
    assert sizes[2] < 3_000


@pytest.mark.parametrize(
    "text",
    [
        b'{"tools":[{"messages":[{"a":1},{"b":2}]}],"messages":[{"a":1},{"b":2}]}',
        b'{"x":{"messages":[{"a":1},{"b":2}]}}',
        b'{"x":"\\"messages\\":[{","messages":[{"a":1},{"b":2}]}',
        b'{"messages":[{"a":1},{"b":2}],"messages":[{"a":1}]}',
        b'{"messages":[{"a":1},{"b":2}] }',
        b'{"messages":[{"a":1},{"b":1E2}]}',
        b'{"messages":[{"a":1},{"b":2}]}{"messages":[]}',
    ],
)
def test_text_that_only_looks_like_known_messages_is_weighed_as_it_is(text: bytes) -> None:
    weigher = Weigher(400)
    known = b'{"messages":[{"a":1},{"b":2},{"c":3}]}'
    weigher.weigh(known, len(known))
    same(weigher.weigh(text, len(text)), text, 400)


@pytest.mark.parametrize("torn", [b'{"messages":[{"a":1},{"b":2}', b'{"messages":[{"a":1},', b'{"messages":['])
def test_a_torn_text_is_no_json_whatever_is_known(torn: bytes) -> None:
    weigher = Weigher(400)
    known = b'{"messages":[{"a":1},{"b":2},{"c":3}]}'
    weigher.weigh(known, len(known))
    with pytest.raises(NotJson):
        weigher.weigh(torn, len(torn))


def test_digests_are_equal_for_equal_bytes_only() -> None:
    weigher = Weigher(400)
    texts = [dump({"model": "m", "messages": [{"n": number} for number in range(count)]}) for count in (1, 2, 3, 2, 1)]
    digests = [weigher.weigh(text, len(text)).digest for text in texts]
    assert digests[0] == digests[4] != digests[1] == digests[3] != digests[2]
    assert Weigher(400).weigh(texts[2], len(texts[2])).digest == digests[2]


def test_memory_is_bounded_by_conversations_and_by_bytes() -> None:
    weigher = Weigher(400, conversations=3, memory=10_000)
    for number in range(50):
        data = dump({"messages": [{"n": number}, {"text": "x" * 3_000}]})
        weigher.weigh(data, len(data))
    assert len(weigher._conversations) == 3
    data = dump({"messages": [{"text": "y" * 20_000}]})
    weigher.weigh(data, len(data))
    assert weigher._conversations == []


def test_a_conversation_takes_the_place_of_what_it_continues() -> None:
    weigher = Weigher(400)
    history = [{"n": number} for number in range(30)]
    for turn in range(1, 30):
        data = dump({"messages": history[:turn]})
        weigher.weigh(data, len(data))
    assert len(weigher._conversations) <= 3
