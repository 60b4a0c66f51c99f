"""Sessions with what they spent: turns, side calls, warm starts, message threads, batches."""

from typing import Any

import pytest
from conversations import BEGIN, answer, call, only, rows, talk, user

from analyzers.exchange import Exchange, Request, Response
from analyzers.sessions import SessionRow
from analyzers.sizes import size
from analyzers.usage import known, total_input


def counters(fresh: Any = 2, written: Any = 0, read: Any = 0, output: Any = 5) -> dict[str, Any]:
    return {
        "input_tokens": fresh, "cache_creation_input_tokens": written, "cache_read_input_tokens": read,
        "output_tokens": output,
    }  # fmt: skip


def test_a_turn_says_what_it_followed_and_what_it_spent() -> None:
    row = only(
        rows(
            call([user("a")], "b", session="s", usage=counters(written=70)),
            call(talk("a", "b", "c"), "d", at=10.0, took=2.0, session="s", usage=counters(written=7, read=70)),
        )
    )
    thread = only(row.threads)
    first, second = thread.turns
    assert (first.n, first.step, first.follows, first.common, first.messages) == (1, "start", None, None, 1)
    assert (second.n, second.step, second.follows, second.common, second.messages) == (2, "continues", 1, 1, 3)
    assert (second.model, second.ended, second.spent.total_input) == ("claude-opus-5-5-20260901", "completed", 79)
    assert thread.messages == (1, 3)
    assert (thread.sums["written"], thread.sums["read"], row.sums["fresh"], row.calls) == (77, 70, 4, 2)
    assert (row.first, row.last, row.runs, row.declared, row.name) == (BEGIN, BEGIN + 10.0, 1, True, "s")


@pytest.mark.parametrize(
    ("first", "warm"),
    [(counters(read=26_594), True), (counters(read=0), False), (counters(read=None), None), (None, None)],
)
def test_a_session_starts_warm_when_its_first_turn_reads(first: dict[str, Any] | None, warm: bool | None) -> None:
    later = call(talk("a", "b", "c"), at=10.0, session="s", usage=counters(read=None if first is None else 7))
    assert only(rows(call([user("a")], "b", session="s", usage=first), later)).warm is warm


def test_a_sub_agent_and_a_failed_attempt_are_not_the_start() -> None:
    agent = call([user("look")], "x", at=0.0, session="s", agent="a1", system="agent", usage=counters(read=500))
    failed = call([user("a")], None, at=1.0, session="s")
    assert only(rows(agent, failed, call([user("a")], "b", at=2.0, session="s", usage=counters()))).warm is False


def test_sums_over_unknown_counters_are_lower_bounds() -> None:
    row = only(rows(call([user("a")], "b", session="s", usage=None), call(talk("a", "b", "c"), at=9.0, session="s")))
    assert row.sums.at_least("fresh") and row.sums["fresh"] == 2
    refused = call(talk("a", "yes", "c"), None, at=9.0, session="s", status=400)
    row = only(rows(call([user("a")], session="s"), refused))
    assert not row.sums.at_least("fresh", "output")
    gone = call(talk("a", "yes", "c"), None, at=9.0, session="s", ended="client_gone")
    assert only(rows(call([user("a")], session="s"), gone)).sums.at_least("output")


# Message threads


def thread() -> list[Exchange]:
    def on(after: str) -> dict[str, Any]:
        return {"type": "continue", "previous_message_id": after}

    nothing: dict[str, Any] = {"system": None, "tools": None, "session": "s"}
    return [
        call([user("a" * 50)], "b" * 60, message_id="m1", session="s", thread={"type": "create"}),
        call([user("c")], "d", at=10.0, message_id="m2", thread=on("m1"), **nothing),
        call([user("e")], "f", at=20.0, message_id="m3", thread=on("m2"), **nothing),
    ]


def test_a_message_thread_shows_what_was_sent_and_what_the_prompt_was() -> None:
    made = thread()
    row = only(rows(*made))
    one, two, three = only(row.threads).turns
    assert [turn.step for turn in (one, two, three)] == ["start", "continues", "continues"]
    assert [turn.messages for turn in (one, two, three)] == [1, 1, 1]
    assert [turn.prompt_messages for turn in (one, two, three)] == [1, 3, 5]
    assert only(row.threads).messages == (1, 3, 5)
    assert (one.wire_chars, one.prompt_chars) == (None, None)  # it carries all of its prompt
    whole = call(talk("a" * 50, "b" * 60, "c", "d", "e"), session="s").request
    assert whole is not None
    assert three.prompt_chars == sum(size(value) for value in whole.body.values())
    assert made[2].request is not None
    assert three.wire_chars == sum(size(value) for value in made[2].request.body.values())
    assert not row.side and three.partial is False


def test_a_thread_whose_start_was_not_recorded_is_partial() -> None:
    row = only(rows(*thread()[1:]))
    turns = only(row.threads).turns
    assert [(turn.partial, turn.prompt_messages, turn.prompt_chars, turn.messages) for turn in turns] == [
        (True, None, None, 1), (True, None, None, 1),
    ]  # fmt: skip
    assert [turn.step for turn in turns] == ["start", "continues"]
    assert all(turn.wire_chars is not None for turn in turns)


# Batches


def polled(at: float, *results: dict[str, Any]) -> Exchange:
    request = Request(None, time=BEGIN + at, method="GET", path="/v1/messages/batches/b1/results", route="batches")
    return Exchange(request, Response(200, time=BEGIN + at, body=list(results)), "completed", f"poll {at}")


def result(name: str, usage: dict[str, Any]) -> dict[str, Any]:
    message = {"id": f"msg_{name}", "model": "claude-haiku-4-5", "usage": usage}
    return {"custom_id": name, "result": {"type": "succeeded", "message": message}}


def batch(*extra: Exchange) -> SessionRow:
    created = Exchange(
        Request({"requests": []}, time=BEGIN, path="/v1/messages/batches", route="batches"),
        None,
        "completed",
        "created",
    )
    return only(rows(created, *extra))


def test_the_results_of_a_batch_count_once_however_often_they_are_polled() -> None:
    results = [result(name, counters(fresh=9, output=25)) for name in "ab"]
    errored = {"custom_id": "c", "result": {"type": "errored", "error": {"type": "error"}}}
    row = batch(polled(10.0, *results, errored), polled(20.0, *results, errored))
    assert (row.sums["fresh"], row.sums["output"]) == (18, 50)
    assert [side.calls for side in row.side] == [0, 3, 0]
    assert not row.sums.at_least("fresh", "output")


def test_making_a_batch_asks_no_model() -> None:
    row = batch()
    assert (row.calls, only(row.side).kind) == (0, "batch")


def test_what_a_batch_without_results_spent_is_not_known() -> None:
    sums = batch().sums
    assert [known(sums, part) for part in ("fresh", "written", "read", "output")] == [None] * 4
    assert total_input(sums) is None


def test_a_forked_sessions_answers_are_its_own() -> None:
    stem = [user("a"), answer("b"), user("c")]
    first, second = rows(
        call([user("a")], "b", session="s"), call(stem, "d", at=9.0, session="t", usage=counters(read=1100))
    )
    assert (first.calls, second.calls, first.sums["read"], second.sums["read"]) == (1, 1, 1000, 1100)
    assert second.warm is True and only(second.threads).session_from == "s"
