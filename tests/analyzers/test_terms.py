"""What a call was served on: nothing for the standard, and the same from the wire and from logs, in any process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from session_logs import assistant, log, usage

from analyzers.calls import Call, merged
from analyzers.readers import claude_scan
from analyzers.readers.claude_scan import scan
from analyzers.spent import Spent
from analyzers.terms import Conditions, Pass, Recorded, Terms, counts_apart, passes_of, terms_of
from analyzers.wire.usage import Usage

PASSES = [
    {"type": "message", "model": "claude-opus-5-5"} | usage(5, 4),
    {"type": "fallback_message", "model": "claude-sonnet-5-5"} | usage(6, 7),
]


def read(told: Any) -> Usage:
    return Usage.from_json(told)[0]


def logged(folder: Path, *rows: Any, processes: int = 1) -> list[Call]:
    place = log(folder, *rows)
    return [call for found in scan([str(place)], place.stat().st_size, processes) for call in found.calls]


@pytest.mark.parametrize(
    ("told", "terms"),
    [
        (usage(), None),
        (usage(service_tier=None, speed=None, inference_geo="global", server_tool_use=None), None),
        (usage(inference_geo="not_available", server_tool_use={"web_fetch_requests": 3}), None),
        (usage(service_tier="batch"), Terms(Conditions("batch"))),
        (usage(speed="fast", inference_geo="us"), Terms(Conditions(None, "fast", "us"))),
        (usage(server_tool_use={"web_search_requests": 2}), Terms(web_searches=2)),
        (usage(server_tool_use={"code_execution_requests": 1}), Terms(code_executions=1)),
        (
            usage(written=9, cache_creation={"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 0}),
            Terms(split_estimated=True),
        ),
    ],
)
def test_terms_are_the_same_from_a_log_as_from_the_wire(tmp_path: Path, told: Any, terms: Terms | None) -> None:
    assert terms_of(read(told)) == terms
    (call,) = logged(tmp_path, assistant("m1", told))
    assert call.terms == terms


@pytest.mark.parametrize("processes", [1, 2])
def test_nothing_is_lost_between_processes(tmp_path: Path, processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_scan, "START", "spawn")  # the test runner has threads
    rows = (
        assistant("m1", usage(speed="fast", server_tool_use={"web_search_requests": 2})),
        assistant("m2", usage(6, 7, iterations=PASSES), requestedModel="claude-opus-5-5"),
        assistant("m3", costUSD=0.0135),
        assistant("m4"),
    )
    first, second, third, fourth = logged(tmp_path, *rows, processes=processes)
    assert first.terms == Terms(Conditions(speed="fast"), web_searches=2)
    assert isinstance(first.terms, Terms) and isinstance(first.terms.conditions, Conditions)
    assert second.passes == (
        Pass("claude-opus-5-5", Spent(5, 0, 0, 0, 0, 4)),
        Pass("claude-sonnet-5-5", Spent(6, 0, 0, 0, 0, 7)),
    )
    assert second.passes[0].spent.total_input == 5
    assert third.recorded == Recorded("client", "0.0135")
    assert (fourth.terms, fourth.passes, fourth.recorded) == (None, (), None)


def test_odd_terms_do_not_stop_the_reader(tmp_path: Path) -> None:
    odd = usage(5, 4, service_tier=3, speed=[], server_tool_use={"web_search_requests": "two"})
    (call,) = logged(tmp_path, assistant("m1", odd, costUSD="free"))
    assert (call.spent.fresh, call.terms, call.recorded) == (5, None, None)


def test_a_call_of_one_pass_at_its_own_model_has_none_to_tell() -> None:
    assert passes_of(None, None) == passes_of(read(usage()), None) == ()
    assert passes_of(read(usage(5, 4, iterations=[{"type": "message"} | usage(5, 4)])), None) == ()


def test_an_attempt_without_a_model_before_a_fallback_was_at_the_one_asked_for() -> None:
    first = {name: value for name, value in PASSES[0].items() if name != "model"}
    assert passes_of(read(usage(6, 7, iterations=[first, PASSES[1]])), "asked")[0].model == "asked"


def test_a_result_of_a_batch_is_one_whatever_its_usage_says() -> None:
    assert terms_of(read(usage()), batch=True) == Terms(Conditions("batch"))


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("api.anthropic.com", True), ("API.Anthropic.com:443", True), ("x.services.ai.azure.com", True),
        ("bedrock-runtime.eu-west-1.amazonaws.com", True), ("claude.googleapis.com", True),
        ("anthropic.com.example.net", False), ("notanthropic.com", False), ("localhost:4000", False),
    ],
)  # fmt: skip
def test_hosts_that_are_known_to_tell_cached_tokens_apart(host: str, known: bool) -> None:
    assert counts_apart(host) == known
    assert (terms_of(read(usage()), host=host) is None) == known


def test_a_recorded_cost_survives_the_better_record_of_the_same_call() -> None:
    plain = Call(1.0, "s", None, "m", None, "msg_1", "r", "completed", Spent(1), Spent(1), "a:1", logged=True)
    (call,) = merged([plain._replace(recorded=Recorded("client", "2")), plain._replace(logged=False, place="b:1")])
    assert (call.logged, call.recorded) == (False, Recorded("client", "2"))


def test_the_passes_of_a_failed_attempt_are_those_of_another_request() -> None:
    failed = Call(1.0, "s", None, "m", None, None, None, "unfinished", Spent(5), Spent(5), "a:1", fingerprint="f")
    again = failed._replace(time=2.0, state="completed", message_id="msg_2", spent=Spent(7), billed=Spent(7))
    (call,) = merged([failed, again])
    assert call.passes == (Pass("m", Spent(5), 0), Pass("m", Spent(7), 1))
