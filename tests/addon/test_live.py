"""The line per exchange."""

import asyncio
from typing import Any

import pytest

from addon import live
from addon.live import Lines, describe

REQUEST = {
    "route": "messages",
    "model": "claude-haiku-4-5",
    "figures": {
        "fields": {"model": 16, "messages": 10_173, "tools": 72_272, "stream": 4, "system": 457},
        "total": 82_922,
    },
}
RESPONSE: dict[str, Any] = {
    "ended": "completed",
    "status": 200,
    "model": "claude-haiku-4-5-20251001",
    "usage": {
        "input_tokens": 10,
        "cache_creation_input_tokens": 24_613,
        "cache_read_input_tokens": 0,
        "output_tokens": 45,
    },
}


def test_a_completed_exchange() -> None:
    assert describe(12, REQUEST, RESPONSE) == (
        "#12 claude-haiku-4-5-20251001  tools 87% messages 12% system 1%  82,922 chars  "
        "input 24,623 = 10 in + 24,613 write + 0 read  output 45  completed"
    )


def test_unknown_counters_are_not_zero() -> None:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": None}
    line = describe(1, REQUEST, {**RESPONSE, "usage": usage})
    assert "input ≥10 = 10 in + ? write + ? read  output ?" in line


def test_no_counter_at_all() -> None:
    assert "input ? = ? in + ? write + ? read  output ?" in describe(1, REQUEST, {**RESPONSE, "usage": {}})
    assert "input ?  output ?  upstream_cut" in describe(1, REQUEST, {"ended": "upstream_cut", "status": 200})


def test_an_error_says_what_and_where() -> None:
    error = {"type": "rate_limit_error", "message": "Slow down", "request_id": "req_011"}
    line = describe(2, REQUEST, {"ended": "error", "status": 429, "error": error})
    assert line == (
        "#2 claude-haiku-4-5 (requested)  tools 87% messages 12% system 1%  82,922 chars  "
        "error 429 rate_limit_error req_011"
    )


def test_the_request_id_may_be_in_the_headers_only() -> None:
    error = {"type": "overloaded_error", "message": None, "request_id": None}
    line = describe(2, REQUEST, {**RESPONSE, "ended": "error", "error": error, "headers": {"request-id": "req_9"}})
    assert line.endswith("error overloaded_error req_9")


def test_a_count_is_shown_as_one() -> None:
    line = describe(3, {**REQUEST, "route": "count_tokens"}, {"ended": "completed", "body": {"input_tokens": 4_100}})
    assert line.endswith("count_tokens  tools 87% messages 12% system 1%  82,922 chars  counted 4,100  completed")


def test_a_body_that_has_no_fields_is_called_so() -> None:
    line = describe(28, {"figures": {"fields": {"": 4}, "total": 4}}, RESPONSE)
    assert "  body 100%  4 chars  " in line


def test_nothing_known() -> None:
    line = describe(None, {}, {"ended": "unreachable", "status": None})
    assert line == "#? ?  ? chars  input ?  output ?  unreachable"


@pytest.mark.parametrize("name", ["claude\nfake line", "claude\x1b[2J", "x" * 10_000])
def test_nobody_writes_to_the_terminal_through_a_name(name: str) -> None:
    line = describe(1, {**REQUEST, "figures": {"fields": {name: 5}, "total": 5}}, {**RESPONSE, "model": name})
    assert line.isprintable()
    assert len(line) < 500


@pytest.mark.parametrize("odd", [{"input_tokens": "12"}, {"input_tokens": True}, {"input_tokens": 1.5}])
def test_a_counter_that_is_no_number_is_unknown(odd: dict[str, Any]) -> None:
    assert "input ? = ? in" in describe(1, REQUEST, {**RESPONSE, "usage": odd})


def test_lines_of_a_short_while_are_told_together_and_none_is_lost() -> None:
    told: list[tuple[str, object]] = []
    lines = Lines(lambda text, extra: told.append((text, extra["client"])))

    async def three_at_once_and_one_later() -> None:
        for number in (1, 2, 3):
            lines.add(number, REQUEST, RESPONSE, "client")
        assert told == []
        await asyncio.sleep(2 * live.PAUSE)
        lines.add(4, REQUEST, RESPONSE, "other")
        lines.flush()
        await asyncio.sleep(2 * live.PAUSE)

    asyncio.run(three_at_once_and_one_later())
    one, two, three, four = (describe(number, REQUEST, RESPONSE) for number in (1, 2, 3, 4))
    assert told == [(one, "client"), (two, "client"), (three, "client"), (four, "other")]


def test_without_a_loop_a_line_is_told_at_once() -> None:
    told: list[str] = []
    Lines(lambda text, extra: told.append(text)).add(1, REQUEST, RESPONSE, None)
    assert told == [describe(1, REQUEST, RESPONSE)]
