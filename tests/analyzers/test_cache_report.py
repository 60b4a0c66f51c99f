"""What ``cache`` keeps of each exchange, and which chains it tells of."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from conversations import BEGIN, call, talk

from analyzers.cache_report import CacheReport, cache_report
from analyzers.exchange import Exchange, Problem, Request, Response

SYSTEM = [{"type": "text", "text": "You are careful. " * 200, "cache_control": {"type": "ephemeral"}}]


class Given:
    """Exchanges in the place of files."""

    def __init__(self, *exchanges: Exchange) -> None:
        self.found = exchanges

    def exchanges(self, problems: list[Problem], **_: Any) -> Iterator[Exchange]:
        return iter(self.found)

    def read_so_far(self) -> float:
        return 1.0


def report(*exchanges: Exchange, newest: int | None = None) -> CacheReport:
    return cache_report(Given(*exchanges), [], newest)  # type: ignore[arg-type]


def rows(found: CacheReport) -> list[Any]:
    return list(found.rows)


def counted(read: int | None, written: int, **more: Any) -> dict[str, Any]:
    split = {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}
    return {
        "input_tokens": 3, "output_tokens": 9, "cache_creation_input_tokens": written, "cache_read_input_tokens": read,
        "cache_creation": split,
    } | more  # fmt: skip


def said(turns: int, read: int | None, written: int, **more: Any) -> Exchange:
    """The turn so and so of a conversation."""
    texts = [part for turn in range(turns) for part in (f"question {turn}", f"answer {turn}")][:-1]
    fields = {"at": 20.0 * turns, "session": "s", "system": SYSTEM} | more
    return call(talk(*texts), f"answer {turns - 1}", usage=counted(read, written), **fields)


def at_host(exchange: Exchange, host: str | None) -> Exchange:
    assert exchange.request is not None
    return replace(exchange, request=replace(exchange.request, host=host))


def answered(exchange: Exchange, **changes: Any) -> Exchange:
    assert exchange.response is not None
    return replace(exchange, response=replace(exchange.response, **changes))


def test_sums_are_of_what_is_known() -> None:
    found = report(said(1, 0, 1000), said(2, 400, 700), said(3, None, 5))
    sums = found.sums
    assert (sums.read, sums.total, sums.again, sums.broken) == (400, 1003 + 1103, 600, 1)


def test_a_failed_call_has_no_row_and_breaks_nothing() -> None:
    failed = said(2, 0, 0)
    assert failed.response is not None
    failed = replace(failed, ended="error", response=Response(status=529, time=BEGIN + 41))
    again = said(2, 1000, 50, at=45.0)
    found = rows(report(said(1, 0, 1000), failed, again))
    assert [(row.seen.n, row.holds) for row in found] == [(1, None), (3, True)]


@pytest.mark.parametrize(
    ("host", "first"),
    [("api.anthropic.com", True), ("claude.com", True), (None, True), ("anthropic.com.example", False),
     ("notanthropic.com", False), ("gateway.example", False)],
)  # fmt: skip
def test_the_first_party_is_told_by_the_host(host: str | None, first: bool) -> None:
    [row] = rows(report(at_host(said(1, 0, 1000), host)))
    assert row.seen.first_party is first


def test_a_request_that_goes_on_in_a_message_thread_has_no_prompt_of_its_own() -> None:
    more = said(2, 1000, 50, thread={"type": "continue", "previous_message_id": "msg_20.0_answer 0_None"})
    found = rows(report(said(1, 0, 1000, thread={"type": "start"}), more))
    assert [row.seen.prompt is None for row in found] == [False, True]
    assert found[1].predicted is None


def test_the_begin_of_an_answer_counts_from_its_request() -> None:
    [row] = rows(report(answered(said(1, 0, 1000), first_byte=0.75)))
    assert row.seen.begun == BEGIN + 20.75
    [row] = rows(report(said(1, 0, 1000)))
    assert row.seen.begun is None


@pytest.mark.parametrize(
    ("rest", "verdict", "tokens"),
    [
        ({}, None, None),
        ({"diagnostics": None}, None, None),
        ({"diagnostics": {"cache_miss_reason": None}}, None, None),
        (
            {"diagnostics": {"cache_miss_reason": {"type": "model_changed", "cache_missed_input_tokens": 5}}},
            "model_changed",
            5,
        ),
        ({"diagnostics": {"cache_miss_reason": {"type": "unavailable"}}}, "unavailable", None),
        ({"diagnostics": {"cache_miss_reason": {"type": 5, "cache_missed_input_tokens": True}}}, None, None),
        ({"diagnostics": ["x"]}, None, None),
    ],
)
def test_the_server_s_verdict_in_each_of_its_states(rest: Any, verdict: str | None, tokens: int | None) -> None:
    [row] = rows(report(answered(said(1, 0, 1000), rest=rest)))
    assert (row.seen.verdict, row.seen.verdict_tokens) == (verdict, tokens)


def test_a_session_starts_warm_when_its_first_counted_answer_read_something() -> None:
    assert [one.warm for one in report(said(1, 500, 1000)).sessions] == [True]
    assert [one.warm for one in report(said(1, 0, 1000)).sessions] == [False]
    assert [one.warm for one in report(said(1, None, 1000)).sessions] == [None]


def test_sessions_share_one_cache() -> None:
    """What one session wrote, the model lets another read."""
    one = answered(said(1, 0, 1000, cache_control={"type": "ephemeral"}), first_byte=0.1)
    other = answered(said(1, 1000, 0, session="t", at=60.0, cache_control={"type": "ephemeral"}), first_byte=0.1)
    second = rows(report(one, other))[1]
    assert (second.predicted.read, second.predicted.exact, second.holds) == (1000, True, None)


def test_the_newest_sessions_are_those_that_began_last() -> None:
    many = [said(1, 0, 1000, session=name, at=at) for name, at in (("b", 5.0), ("c", 9.0), ("a", 1.0))]
    assert [one.session for one in report(*many).sessions] == ["a", "b", "c"]
    assert [one.session for one in report(*many, newest=2).sessions] == ["b", "c"]


def test_a_place_is_found_whatever_the_order_of_the_files() -> None:
    many = [said(1, 0, 1000), said(2, 0, 1000, system="other"), said(3, 0, 1000)]
    for order in (many, many[::-1]):
        assert [row.cause for row in rows(report(*order))] == [None, "system", "system"]


def test_bodies_are_not_kept_longer_than_they_are_compared() -> None:
    """A session that is broken at every request, read from somewhere that makes its bodies anew."""
    most = 0

    class Fresh(Given):
        def exchanges(self, problems: list[Problem], **_: Any) -> Iterator[Exchange]:
            nonlocal most
            for turn in range(1, 31):
                yield said(turn, 0, 1000, system=f"rules {turn} {'x' * 100_000}")
                if turn % 5 == 0:
                    gc.collect()
                    most = max(most, sum(_is_body(held) for held in gc.get_objects()))

    found = cache_report(Fresh(), [], None)  # type: ignore[arg-type]
    assert [row.cause for row in found.rows] == [None, *["system"] * 29]
    assert most <= 4


def _is_body(held: Any) -> bool:
    return type(held) is Request and type(held.body) is dict and str(held.body.get("system")).startswith("rules ")


def test_what_a_client_sent_never_raises() -> None:
    odd: Sequence[Any] = [None, [], "x", 5, {"messages": 5}, {"system": 7, "messages": [None]}, {"tools": {"a": 1}}]
    many = []
    for n, body in enumerate(odd):
        exchange = said(1, 0, 100, at=float(n), session=None)
        assert exchange.request is not None
        many.append(replace(exchange, request=replace(exchange.request, body=body)))
    assert not report(*many).sums.broken


def test_a_split_that_does_not_add_up_says_nothing_of_the_time_to_live() -> None:
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 400}
    part = call(talk("hi"), usage=counted(0, 1000, cache_creation=split))
    [row] = rows(report(part))
    assert row.seen.lives == ()
    [row] = rows(report(said(1, 0, 1000)))
    assert row.seen.lives == ("5m",)


def test_another_name_of_one_model_hides_no_other_cause() -> None:
    renamed = said(2, 0, 1000, system="other", model="claude-opus-5-5-20260901")
    row = rows(report(said(1, 0, 1000), renamed))[1]
    assert (row.cause, row.place.path) == ("system", "system")
