"""A recorded thread as tokens in a row."""

from __future__ import annotations

from typing import Any

from conversations import call, user
from grown_threads import alone, counters, grown, messages, thread

from analyzers.exchange import Exchange
from analyzers.growth_model import Resent
from analyzers.replayed_talk import Talk, talk_of, talk_of_model


def told(*exchanges: Exchange, estimate: Any = None) -> Talk:
    found = talk_of(alone(grown(*exchanges, estimate=estimate)))
    assert found is not None
    return found


def prompts(talk: Talk) -> list[int]:
    return [asking.fixed + asking.end for asking in talk.askings]


def test_an_unbroken_thread_sends_what_the_server_counted() -> None:
    found = told(*thread([1000, 1500, 2100]))
    assert prompts(found) == [1000, 1500, 2100]
    assert (found.counted, found.estimated, found.earlier) == (3, 0, 0)


def test_without_tools_and_system_nothing_is_fixed() -> None:
    found = told(*thread([1000, 1500], tools=None, system=None))
    assert [(asking.fixed, asking.end) for asking in found.askings] == [(0, 1000), (0, 1500)]


def test_a_history_can_begin_with_the_words_of_the_user_behind_the_answer() -> None:
    # the answer and the words are of equal length, so each is half of the 500 tokens that the turn added
    first = call([user("abcdefgh")], "abcd", usage=counters(1000), tools=None, system=None)
    said = {"role": "assistant", "content": "abcd"}
    second = call(
        [user("abcdefgh"), said, {"role": "user", "content": "efgh12345"}],
        at=1,
        usage=counters(1500),
        tools=None,
        system=None,
    )
    assert [unit.begin for unit in told(first, second).units] == [0, 1250]


def test_a_result_stays_with_its_call() -> None:
    used = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]}
    result = user([{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}])
    first = call([user("go")], usage=counters(1000), tools=None, system=None, answered=used["content"])
    second = call([user("go"), used, result], at=1, usage=counters(1500), tools=None, system=None)
    found = told(first, second)
    assert [(unit.begin, unit.speaks) for unit in found.units] == [(0, True), (1000, False)]
    assert found.askings[1].before < 1500


def test_what_a_first_prompt_brings_from_before_is_cut_into_turns() -> None:
    found = told(*thread([None, None, 3000, 4000])[2:])
    assert (found.earlier, len(found.units)) == (2, 4)
    assert [unit.begin for unit in found.units] == sorted(unit.begin for unit in found.units)
    assert found.units[0].begin == 0


def test_a_history_goes_on_where_a_summary_took_its_place() -> None:
    before = thread([10_000, 11_000, 12_000], session="s")
    summary = "This session is being continued from a previous conversation. " + "It was about words. " * 30
    after = call([user(summary)], "fine", at=1000, session="s", usage=counters(2_000))
    found = told(*before, after)
    assert prompts(found)[:3] == [10_000, 11_000, 12_000]
    assert prompts(found)[3] > 12_000
    assert found.estimated == 1


def test_a_log_without_requests_is_replayed_by_its_counts() -> None:
    thread_ = alone(grown(*thread([1000, 1500])))
    bodiless = [call(None, "x", at=turn, usage=counters(total)) for turn, total in enumerate((1000, 1500))]
    assert len(thread_.turns) == 2
    for exchange in bodiless:
        found = told(exchange)
        assert (found.bodies, found.askings[0].end) == (False, 0)


def test_a_thread_that_nobody_counted_cannot_be_replayed() -> None:
    assert talk_of(alone(grown(*thread([None, None])))) is None


def test_answers_without_counts_are_told() -> None:
    found = told(*thread([None, None]), estimate=lambda body, model: 70)
    assert (found.answers, found.counted, [asking.output for asking in found.askings]) == (2, 0, [70, 70])


def test_the_bare_model_is_a_thread_too() -> None:
    found = talk_of_model(Resent(500, 3), "claude-opus-5-5", 100.0)
    assert prompts(found) == [500, 1000, 1500]
    assert [asking.start for asking in found.askings] == [100, 160, 220]


def test_a_repeated_prompt_adds_no_turn() -> None:
    one, two = thread([1000, 1500], session="s")
    again = call(messages(2), "again", at=40, session="s", usage=counters(1500))
    found = told(one, two, again)
    assert (len(found.units), prompts(found)) == (2, [1000, 1500, 1500])


def test_a_message_thread_sends_only_what_is_new_and_is_replayed_whole() -> None:
    create = call([user("go")], "fine", usage=counters(1000, 200), message_id="msg_1", thread={"type": "create"})
    goes_on = {"type": "continue", "previous_message_id": "msg_1"}
    later = call([user("on")], "done", at=1, usage=counters(1500), system=None, tools=None, thread=goes_on)
    found = told(create, later)
    assert prompts(found) == [1000, 1500]
    assert found.askings[0].fixed == found.askings[1].fixed
    assert found.askings[1].before - found.askings[0].end == 200  # the answer, which the API kept


def test_a_request_that_was_refused_is_not_replayed() -> None:
    found = told(*thread([1000, 1500]), call(messages(3), None, at=30))
    assert prompts(found) == [1000, 1500]
