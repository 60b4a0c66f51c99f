"""The chain law as exchanges end: what is called broken, and all that is not, though less was read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from conversations import answer, call, talk, user
from hypothesis import given
from hypothesis import strategies as st

from addon.chain_law import ChainLaw, Lost
from analyzers.exchange import Exchange
from analyzers.wire.fold import fold, unfold

CALL = {"type": "tool_use", "id": "toolu_1", "name": "weigh", "input": {}}


def counters(read: int | None, written: int | None, **more: Any) -> dict[str, Any]:
    cache = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    return {"input_tokens": 3, "output_tokens": 5, **cache, **more}


def ended(law: ChainLaw, exchange: Exchange) -> Lost | None:
    assert exchange.request is not None and exchange.response is not None
    headers = {name: value for name, value in exchange.request.headers.items() if value is not None}
    return law.ended(exchange.request.body, headers, exchange.response, completed=exchange.ended == "completed")


def first(law: ChainLaw, said: Any = "It is heavy.", **changes: Any) -> None:
    """A call that leaves 1,000 tokens in the cache."""
    assert ended(law, call(talk("weigh it"), said, **{"usage": counters(0, 1000), "session": "s1"} | changes)) is None


def second(
    law: ChainLaw, said: Any = "It is heavy.", read: int = 0, answered: dict[str, Any] | None = None, **changes: Any
) -> Lost | None:
    """The one that goes on from it. ``answered``: members of the response that are otherwise."""
    messages = [user("weigh it"), answer(said) if isinstance(said, str) else said, user("and this")]
    exchange = call(messages, "Light.", **{"usage": counters(read, 50), "session": "s1"} | changes)
    assert exchange.response is not None
    return ended(law, replace(exchange, response=replace(exchange.response, **answered or {})))


@pytest.mark.parametrize(("read", "lost"), [(0, Lost(0, 1000)), (999, Lost(999, 1000)), (1000, None), (1200, None)])
def test_a_chain_is_broken_where_less_is_read_than_was_there(read: int, lost: Lost | None) -> None:
    law = ChainLaw()
    first(law)
    assert second(law, read=read) == lost


def test_what_was_read_before_is_there_too() -> None:
    law = ChainLaw()
    first(law)
    assert second(law, read=1000) is None
    messages = [*talk("weigh it", "It is heavy.", "and this", "Light."), user("thanks")]
    assert ended(law, call(messages, "Yes.", usage=counters(1000, 9), session="s1")) == Lost(1000, 1050)


def test_an_answer_is_known_by_its_tool_calls_whatever_became_of_its_words() -> None:
    law = ChainLaw()
    first(law, "let me see ", answered=[{"type": "text", "text": "let me see "}, CALL])
    again = {"role": "assistant", "content": [{"type": "text", "text": "let me see"}, CALL]}
    assert second(law, again) == Lost(0, 1000)


def test_a_folded_answer_is_known_by_its_hash() -> None:
    law, text = ChainLaw(), "It is heavy. " * 100
    folded, _ = unfold(fold([{"type": "text", "text": text}], 400))
    first(law, text, answered=folded)
    assert second(law, text) == Lost(0, 1000)


@pytest.mark.parametrize(
    "changes",
    [
        {"session": "s2"},
        {"agent": "a1"},
        {"answered": {"model": "claude-haiku-4-5"}},
        {"said": "Another answer."},
        {"usage": counters(None, 50)},
        {"usage": counters(0, 50, server_tool_use={"web_search_requests": 1})},
        {"usage": counters(0, 50, iterations=[counters(0, 50, type="message")] * 2)},
        {"answered": {"rest": {"context_management": {"applied_edits": [{"type": "clear_tool_uses_20250919"}]}}}},
        {"usage": None},
    ],
    ids=["session", "agent", "model", "said", "unknown", "server tools", "passes", "edited", "no usage"],
)
def test_what_the_law_says_nothing_about_is_not_called_broken(changes: dict[str, Any]) -> None:
    law = ChainLaw()
    first(law)
    assert second(law, **changes) is None
    assert second(law) == Lost(0, 1000)  # while the same call without that change is


@pytest.mark.parametrize("ended_as", ["client_gone", "upstream_cut", "error"])
def test_what_a_broken_off_answer_left_is_not_known(ended_as: str) -> None:
    law = ChainLaw()
    first(law, ended=ended_as)
    assert second(law) is None


def test_an_answer_that_two_calls_gave_alike_is_nobodys() -> None:
    law = ChainLaw()
    first(law)
    first(law, usage=counters(0, 7000))
    assert second(law) is None


def test_a_first_request_and_one_that_begins_anew_have_nothing_to_lose() -> None:
    law = ChainLaw()
    first(law)
    assert ended(law, call(talk("something else"), usage=counters(0, 900), session="s1")) is None


def test_the_place_of_the_answer_counts() -> None:
    law = ChainLaw()
    first(law)
    messages = [user("summary of before"), answer("ok"), user("so"), answer("It is heavy."), user("and this")]
    assert ended(law, call(messages, usage=counters(0, 900), session="s1")) is None


def test_so_many_answers_are_kept() -> None:
    law = ChainLaw(most=3)
    for number in range(10):
        first(law, f"answer {number}")
    assert len(law) == 3
    assert second(law, "answer 6") is None
    assert second(law, "answer 9") == Lost(0, 1000)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["assistant", "text", "tool_use"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["messages", "role", "content", "type", "text", "id"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values)
def test_no_body_and_no_answer_makes_it_fail(value: Any) -> None:
    law = ChainLaw()
    for body in (value, {"messages": value}, {"messages": [{"role": "assistant", "content": value}]}):
        exchange = call(talk("weigh it"), answered=value if type(value) is list else None, usage=counters(0, 1))
        assert exchange.response is not None
        assert law.ended(body, {}, exchange.response, completed=True) is None
