"""What can be chosen on the page: threads as ``sessions`` tells them, and whose sums are lower bounds."""

from __future__ import annotations

from typing import Any

from conversations import COUNTERS, call, only, talk, traced

from analyzers.exchange import Exchange
from analyzers.report.threads import threads_json
from analyzers.sessions import session_rows
from analyzers.sessions_shown import sessions_json

SUMMARY = "This session is being continued from a previous conversation that ran out of context. It is about lorries."


def chosen(*exchanges: Exchange) -> list[dict[str, Any]]:
    lineage, calls = traced(exchanges)
    return threads_json(lineage, session_rows(lineage, calls), len(exchanges))


def test_threads_have_what_sessions_tells_of_them() -> None:
    exchanges = [
        call(talk("a"), "b", at=1.0, session="s"),
        call(talk("a", "b", "c"), None, at=2.0, session="s"),
        call(talk("a", "b", "c"), "d", at=3.0, session="s"),
        call(talk("look"), "looked", at=4.0, session="s", agent="agent-1"),
        call(talk("a", "b", "c", "d", "e"), "f", at=5.0, session="s"),
        call(talk("a", "b", "other"), "g", at=6.0, session="fork"),
        call(talk(SUMMARY), "h", at=7.0, session="s"),
    ]
    lineage, calls = traced(exchanges)
    told = sessions_json(session_rows(lineage, calls))["sessions"]
    found = threads_json(lineage, session_rows(lineage, calls), len(exchanges))
    threads = [one for one in found if one["thread"] is not None]
    pairs = [(n, thread) for n, session in enumerate(told) for thread in session["threads"]]
    assert len(threads) == len(pairs) == 3
    for one, (session, thread) in zip(threads, pairs, strict=True):
        mine = one["thread"]
        assert one["session"] == session
        assert one["requests"] == [turn["n"] for turn in thread["turns"]]
        assert mine["turns"] == len(thread["turns"])
        assert mine["first"] == thread["turns"][0]["time"]
        assert {name: mine[name] for name in ("agent", "forked_from", "session_from", "current")} == {
            name: thread[name] for name in ("agent", "forked_from", "session_from", "current")
        }
        assert mine["failed_attempts"] == sum(len(turn["failed_attempts"]) for turn in thread["turns"])
        assert mine["compacted"] == [turn["n"] for turn in thread["turns"] if turn["step"] == "compacted"]
        assert mine["usage"]["total_input_tokens"] == sum(turn["total_input_tokens"] for turn in thread["turns"])
        assert mine["usage"]["at_least"] == []
    assert [(one["label"], one["thread"]["failed_attempts"], one["thread"]["compacted"]) for one in threads] == [
        ("main", 1, [7]),
        ("agent agent-1", 0, []),
        ("main, forked at #1", 0, []),
    ]
    assert [(one["label"], one["requests"]) for one in found if one["thread"] is None] == [
        ("failed attempts and other records", [2])
    ]


def test_only_the_counters_that_are_not_known_make_a_sum_a_lower_bound() -> None:
    half = {name: value for name, value in COUNTERS.items() if name != "output_tokens"}
    thread = only(
        chosen(
            call(talk("a"), "b", at=1.0, session="s"), call(talk("a", "b", "c"), "d", at=2.0, session="s", usage=half)
        )
    )["thread"]
    assert (thread["usage"]["output_tokens"], thread["usage"]["at_least"]) == (30, ["output_tokens"])
    assert thread["usage"]["total_input_tokens"] == 2 * 1102


def test_without_counters_no_sum_is_known() -> None:
    thread = only(chosen(call(talk("a"), "b", session="s", usage=None)))["thread"]
    assert thread["usage"]["total_input_tokens"] is None
    assert thread["usage"]["output_tokens"] is None
