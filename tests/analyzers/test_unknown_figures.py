"""A figure that is not known is never 0: what each command says of recordings that do not tell."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from capture_files import end, request, response, start, written
from saved_http import entry, har
from typer.testing import CliRunner

from analyzers.cli import app
from analyzers.wire.jsontext import dump

MODEL = "claude-haiku-4-5"
COMMANDS = ("cache", "cost", "growth", "sessions", "usage")
ZEROS = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
}
NO_ANSWER: dict[str, Any] = {
    "usage": None, "content": None, "model": None, "message_id": None, "stop_reason": None, "status": None,
    "headers": {},
}  # fmt: skip


def asked(*texts: str) -> bytes:
    roles = ("user", "assistant")
    return dump({"model": MODEL, "messages": [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]})


def two(folder: Path, **answer: Any) -> Path:
    """Two turns of a conversation, both answered like this."""
    lines = [start()]
    for n, body in enumerate((asked("a"), asked("a", "yes", "b")), 1):
        told = {"headers": {}, "message_id": f"msg_{n}"} | answer
        lines += [request(str(n), body, at=5.0 * n), response(str(n), **told)]
    return written(folder, "1.jsonl", *lines, end())


def not_recorded(folder: Path) -> Path:
    return written(folder, "1.jsonl", start(), request("1", asked("a")), request("2", asked("a", "yes", "b"), at=5.0))


def without_bodies(folder: Path) -> Path:
    made = entry()
    del made["request"]["postData"], made["response"]["content"]["text"]
    place = folder / "saved.har"
    place.write_bytes(har(made))
    return place


def plain_body(folder: Path) -> Path:
    place = folder / "body.json"
    place.write_bytes(asked("a", "yes", "b"))
    return place


def unread_batch(folder: Path) -> Path:
    body = dump({"requests": [{"custom_id": "a", "params": {"model": MODEL, "messages": []}}]})
    told = NO_ANSWER | {"status": 200, "body": {"id": "msgbatch_1", "type": "message_batch"}}
    path = "/v1/messages/batches"
    return written(
        folder, "1.jsonl", start(), request("1", body, route="batches", path=path), response("1", **told), end()
    )


UNKNOWN: dict[str, Callable[[Path], Path]] = {
    "not recorded": not_recorded,
    "cut": lambda folder: two(folder, **NO_ANSWER, ended="upstream_cut"),
    "client gone": lambda folder: two(folder, **NO_ANSWER, ended="client_gone"),
    "without usage": lambda folder: two(folder, usage=None),
    "no counts": lambda folder: two(folder, usage={"input_tokens": "many", "output_tokens": None}),
    "HAR without bodies": without_bodies,
    "batch without results": unread_batch,
}
FAILED: dict[str, Callable[[Path], Path]] = {
    "refused": lambda folder: two(folder, **NO_ANSWER | {"status": 529}, ended="error"),
    "unreachable": lambda folder: two(folder, **NO_ANSWER, ended="unreachable"),
    "plain body": plain_body,
}


def run(place: Path, *command: str) -> str:
    result = CliRunner().invoke(app, ["-c", str(place), *command], env={"COLUMNS": "240", "WEIGHBRIDGE_PRICES": ""})
    assert result.exit_code == 0, result.output
    return result.stdout


def told(place: Path, *command: str) -> Any:
    return json.loads(run(place, *command, "--json"))


@pytest.fixture(params=UNKNOWN)
def unknown(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return UNKNOWN[request.param](tmp_path)


@pytest.mark.parametrize("name", [*UNKNOWN, *FAILED])
def test_no_table_has_a_share_or_a_bound_of_nothing(tmp_path: Path, name: str) -> None:
    place = (UNKNOWN | FAILED)[name](tmp_path)
    for command in COMMANDS:
        text = run(place, command)
        assert not [words for words in ("0.0 %", "0 of 0", "at least 0", "≥0", "≥<") if words in text], (command, text)


@pytest.mark.parametrize("name", [*UNKNOWN, *FAILED])
def test_cache_knows_nothing(tmp_path: Path, name: str) -> None:
    place = (UNKNOWN | FAILED)[name](tmp_path)
    summary = told(place, "cache")["summary"]
    figures = ("cache_read_input_tokens", "total_input_tokens", "hit_rate", "written_again", "sent_again", "broken")
    assert {summary[figure] for figure in figures} == {None}
    assert (summary["counted_requests"], summary["at_least"]) == (0, [])
    text = run(place, "cache")
    if summary["requests"]:
        assert "hit rate: not known: no answer tells all of its input" in text
        assert "breaks: not known: no request could be judged" in text


def test_cost_knows_nothing(unknown: Path) -> None:
    found = told(unknown, "cost")
    for sums in (found["totals"], found["main"], *found["models"], *found["sessions"], *found["days"]):
        assert (sums["usd"], sums["usd_exact"], sums["usd_most"]) == (None, None, None)
        assert set(sums["parts"].values()) == {None}
        assert (sums["complete"], sums["at_least"], sums["parts_at_least"]) == (False, False, [])
    text = run(unknown, "cost")
    assert "the total is not known" in text
    (line,) = [line for line in run(unknown, "cost", "--by", "model").splitlines() if line.startswith("total")]
    assert line.split()[2:] == ["?"] * 7


def test_usage_and_sessions_know_nothing(unknown: Path) -> None:
    usage = told(unknown, "usage")["totals"]
    session = told(unknown, "sessions")["sessions"][0]["usage"]
    for sums in (usage, session):
        assert {value for name, value in sums.items() if name.endswith("_tokens")} == {None}
        assert (sums["complete"], sums["at_least"]) == (False, [])
    assert "what was spent is not known: no counter was recorded" in run(unknown, "usage")


@pytest.mark.parametrize("name", ["HAR without bodies", *list(FAILED)[:2]])
def test_growth_knows_nothing_where_no_turn_has_a_count(tmp_path: Path, name: str) -> None:
    place = (UNKNOWN | FAILED)[name](tmp_path)
    turns = told(place, "growth")["threads"][0]["turns"]
    assert {(turn["sent_tokens"], turn["at_least"], turn["exact"]) for turn in turns} == {(None, False, False)}


def test_what_was_really_spent_is_not_known_beside_other_ways_to_send_it(tmp_path: Path) -> None:
    place = two(tmp_path, usage={"input_tokens": 9})
    recorded = told(place, "growth", "--what-if")["threads"][0]["what_if"]["recorded"]
    assert recorded == {
        "input_tokens": 18, "cache_creation_input_tokens": None, "cache_read_input_tokens": None,
        "total_input_tokens": 18, "output_tokens": None, "at_least": True, "usd": recorded["usd"],
    }  # fmt: skip
    (line,) = [line for line in run(place, "growth", "--what-if").splitlines() if line.startswith("as recorded")]
    assert line.split()[2:6] == ["≥18", "18", "?", "?"]


def test_a_0_that_was_told_stays_0(tmp_path: Path) -> None:
    place = two(tmp_path, usage=ZEROS)
    summary = told(place, "cache")["summary"]
    assert (summary["cache_read_input_tokens"], summary["total_input_tokens"], summary["broken"]) == (0, 0, 0)
    assert (summary["hit_rate"], summary["at_least"]) == (None, [])  # no share of nothing
    cost = told(place, "cost")["totals"]
    assert (cost["usd"], cost["usd_exact"], cost["usd_most"], cost["complete"]) == (0, "0", 0, True)
    assert set(cost["parts"].values()) == {0}
    usage = told(place, "usage")["totals"]
    assert (usage["total_input_tokens"], usage["output_tokens"], usage["complete"]) == (0, 0, True)
    turns = told(place, "growth")["threads"][0]["turns"]
    assert [(turn["sent_tokens"], turn["at_least"]) for turn in turns] == [(0, False)] * 2


@pytest.mark.parametrize("name", ["refused", "unreachable"])
def test_what_failed_was_not_billed_and_cost_0(tmp_path: Path, name: str) -> None:
    place = FAILED[name](tmp_path)
    cost = told(place, "cost")["totals"]
    assert (cost["usd"], cost["complete"], cost["failed_calls"]) == (0, True, 2)
    assert told(place, "usage")["totals"]["total_input_tokens"] == 0


def test_parts_of_a_cost_that_no_counter_tells_are_not_0(tmp_path: Path) -> None:
    place = two(tmp_path, usage={"input_tokens": 1_000_000})
    cost = told(place, "cost")
    parts = {"input": 2.0, "write_5m": None, "write_1h": None, "read": None, "output": None, "web_search": 0.0}
    assert cost["totals"]["parts"] == parts
    assert (cost["totals"]["usd"], cost["totals"]["at_least"]) == (2, True)
    assert cost["rows"][0]["parts"] == parts | {"input": 1.0}
    (line,) = [line for line in run(place, "cost", "--by", "model").splitlines() if line.startswith("total")]
    assert line.split()[2:] == ["2.0000", "?", "?", "?", "?", "0", "≥2.0000"]
    row = run(place, "cost", "--by", "request").splitlines()[2]
    assert " 1.0000 ? ? ? ≥1.0000 " in " ".join(row.split())


def test_parts_of_a_cost_are_lower_bounds_where_a_call_does_not_tell(tmp_path: Path) -> None:
    place = written(
        tmp_path,
        "1.jsonl",
        start(),
        request("1", asked("a")),
        response("1", usage=ZEROS | {"input_tokens": 1_000_000}),
        request("2", asked("c"), at=5.0),
        response("2", usage={"output_tokens": 1_000_000}, message_id="msg_2", headers={}),
        end(),
    )
    totals = told(place, "cost")["totals"]
    assert totals["parts_at_least"] == ["input", "write_5m", "write_1h", "read"]
    assert (totals["parts"]["input"], totals["parts"]["output"]) == (1, 5)
    (line,) = [line for line in run(place, "cost", "--by", "model").splitlines() if line.startswith("total")]
    assert line.split()[2:] == ["1.0000", "0", "0", "0", "5.0000", "0", "≥6.0000"]


def test_sessions_says_the_same_as_table_and_as_json(tmp_path: Path) -> None:
    """A cut answer that had told its input, and an output that was only begun."""
    cut = {"ended": "upstream_cut", "stop_reason": None, "usage": ZEROS | {"input_tokens": 7, "output_tokens": 1}}
    place = two(tmp_path, **cut)
    (session,) = told(place, "sessions")["sessions"]
    for sums in (session["usage"], session["current_path_usage"], session["threads"][0]["usage"]):
        assert (sums["total_input_tokens"], sums["output_tokens"]) == (14, 2)
        assert (sums["complete"], sums["at_least"]) == (False, ["output_tokens"])
    lines = [line.split() for line in run(place, "sessions").splitlines()[2:4]]
    assert [line[-2:] for line in lines] == [["14", "≥2"]] * 2
    usage = told(place, "usage")["totals"]
    assert (usage["complete"], usage["at_least"]) == (False, ["output_tokens"])


def test_a_result_of_a_batch_without_its_message_is_not_known_to_be_free(tmp_path: Path) -> None:
    body = [{"custom_id": "a", "result": {"type": "succeeded"}}, {"custom_id": "b", "result": {"type": "expired"}}]
    path = "/v1/messages/batches/msgbatch_1/results"
    place = written(
        tmp_path,
        "1.jsonl",
        start(),
        request("1", b"", route="batches", path=path, method="GET"),
        response("1", **NO_ANSWER | {"status": 200, "body": body}),
        end(),
    )
    totals = told(place, "cost")["totals"]
    assert (totals["usd"], totals["unpriced_calls"], totals["failed_calls"]) == (None, 1, 1)
    assert told(place, "usage")["totals"]["output_tokens"] is None


# Why a request failed


def failing(folder: Path, **answer: Any) -> Path:
    return written(folder, "1.jsonl", start(), request("1", asked("a")), response("1", **NO_ANSWER | answer), end())


def test_list_and_show_tell_why_nothing_came_back(tmp_path: Path) -> None:
    place = failing(tmp_path, ended="unreachable", failure="connection\x1brefused")
    assert run(place, "list").splitlines()[2].endswith("unreachable: connection\\u001brefused")
    assert "failure: connection\\u001brefused (no request id)" in run(place, "show", "1")
    assert told(place, "list")[0]["failure"] == told(place, "show", "1")["failure"] == "connection\x1brefused"


def test_an_error_has_its_status_type_message_and_id(tmp_path: Path) -> None:
    error = {"type": "overloaded_error", "message": "Overloaded", "request_id": "req_9"}
    place = failing(tmp_path, ended="error", status=529, error=error)
    assert run(place, "list").splitlines()[2].endswith("error 529 overloaded_error req_9")
    assert "error: overloaded_error: Overloaded (req_9)" in run(place, "show", "1")
    shown = told(place, "show", "1")
    assert (shown["status"], shown["error"], shown["failure"]) == (529, error, None)


def test_an_answer_that_was_cut_has_its_status_id_and_reason(tmp_path: Path) -> None:
    place = failing(
        tmp_path, ended="upstream_cut", status=200, headers={"request-id": "req_7"}, failure="peer closed connection"
    )
    assert run(place, "list").splitlines()[2].endswith("upstream_cut 200 req_7: peer closed connection")
    assert "failure: peer closed connection (req_7)" in run(place, "show", "1")


def test_an_error_without_a_reason_says_that_none_was_recorded(tmp_path: Path) -> None:
    place = failing(tmp_path, ended="error", status=502)
    assert "error: status 502, and no reason was recorded (no request id)" in run(place, "show", "1")
    assert told(place, "show", "1")["failure"] is None


def test_what_ended_well_has_no_failure(tmp_path: Path) -> None:
    place = written(tmp_path, "1.jsonl", start(), request("1", asked("a")), response("1"), end())
    assert told(place, "list")[0]["failure"] is None
    assert run(place, "list").splitlines()[2].endswith("completed")
    assert not [line for line in run(place, "show", "1").splitlines() if line.startswith(("error", "failure"))]
