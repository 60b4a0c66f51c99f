"""``usage``, run as a user runs it: every published way of counting tokens wrong, with the right counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from capture_files import SEEN, body, request, response, start, written
from saved_http import ASKED, MESSAGE, entry, fields, har
from session_logs import (
    ABSENT,
    MODEL,
    Row,
    agent_log,
    api_error,
    assistant,
    bookkeeping,
    compacted,
    lines,
    log,
    progress,
    snapshot,
    stamp,
    synthetic,
    text,
    tool_result,
    tool_use,
    usage,
    user,
)
from typer.testing import CliRunner

from analyzers.cli import app
from analyzers.readers import claude_scan, claude_usage
from analyzers.wire.jsontext import dump
from analyzers.wire.moment import timestamp

TOTALS = {
    "input_tokens", "cache_creation_input_tokens", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens",
    "cache_read_input_tokens", "total_input_tokens", "output_tokens", "requests", "failed", "unfinished", "complete",
}  # fmt: skip
OTHER = "00000000-0000-4000-8000-000000000002"
THIRD = "00000000-0000-4000-8000-000000000003"
M1, M2 = "claude-sonnet-9-9", "claude-haiku-9-9"


def run(*arguments: Any, code: int = 0) -> tuple[str, str]:
    """What ``usage`` prints, and what it says on standard error."""
    result = CliRunner().invoke(app, ["usage", *map(str, arguments)], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def used(*places: Any, by: tuple[str, ...] = ()) -> Any:
    return json.loads(run(*[part for place in places for part in ("-c", place)], *by, "--json")[0])


def said(*places: Any) -> str:
    """The warnings about the files."""
    return run(*[part for place in places for part in ("-c", place)], "--json")[1]


def counters(told: Any) -> tuple[Any, ...]:
    """Uncached input, cache writes, cache reads, output."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return tuple(told[name] for name in names)


def streamed(
    begun: Row | None, ended: Any, *, content: tuple[Row, ...] = (), model: str = M1, at: str = "2026-11-30T10:00:00Z",
    cut: bool = False, name: str = "msg_1", asked: str = M1,
) -> Row:  # fmt: skip
    """A HAR entry with an answer as the API streams it. ``begun``, ``ended``: the usage of message_start and of
    message_delta; ABSENT: there is none; ``cut``: nothing came after the blocks."""
    message = MESSAGE | {"id": name, "model": model, "usage": begun}
    if begun is ABSENT:
        del message["usage"]
    events: list[Row] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(content or ({"type": "text", "text": "yes"},)):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_stop", "index": index})
    if not cut:
        told = {} if ended is ABSENT else {"usage": ended}
        events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}} | told, {"type": "message_stop"}]
    sse = "".join(f"event: {event['type']}\ndata: {dump(event).decode()}\n\n" for event in events)
    asked_for = {"model": asked, "messages": [{"role": "user", "content": name}]}
    made = entry(content={"text": sse, "size": len(sse.encode())}, postData={"text": dump(asked_for).decode()})
    made["startedDateTime"] = at
    made["response"]["headers"] = fields(content_type="text/event-stream", request_id=f"req_{name}")
    return made


def saved(folder: Path, *entries: Row) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "saved.har"
    place.write_bytes(har(*entries))
    return place


def of_stream(tmp_path: Path, begun: Any, ended: Any, **more: Any) -> Any:
    return used(saved(tmp_path, streamed(begun, ended, **more)))


# The form of the result


def test_the_sums_have_the_api_s_names(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1", usage(3, 10, read=5, written=7, hour=2)))
    found = used(tmp_path)
    assert found["totals"].keys() >= TOTALS and found["billed"].keys() >= TOTALS
    expected = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 7,
        "ephemeral_5m_input_tokens": 5,
        "ephemeral_1h_input_tokens": 2,
        "cache_read_input_tokens": 5,
        "total_input_tokens": 15,
        "output_tokens": 10,
        "requests": 1,
        "failed": 0,
        "unfinished": 0,
        "complete": True,
    }
    assert {name: found["totals"][name] for name in TOTALS} == expected
    assert {name: found["billed"][name] for name in TOTALS} == expected
    (row,) = found["rows"]
    assert (row["time"], row["session"], row["model"]) == ("2026-11-30T12:00:00.000000Z", found_session(found), MODEL)
    assert (row["message_id"], row["request_id"], row["state"]) == ("m1", "req_m1", "completed")


def found_session(found: Any) -> str:
    (group,) = found["sessions"]
    name: str = group["session"]
    return name


def test_no_calls_at_all_is_said(tmp_path: Path) -> None:
    log(tmp_path, user("hi"), bookkeeping("mode", mode="normal"))
    assert run("-c", tmp_path)[0] == "no request was recorded\n"
    assert used(tmp_path)["totals"]["requests"] == 0


# A01 to A04: several records of one call


def test_a01_one_record_per_block_is_one_call(tmp_path: Path) -> None:
    same = usage(2, 90, read=15_000, written=800)
    blocks: tuple[list[Row], ...] = ([{"type": "thinking", "thinking": "hm", "signature": "s"}], text(), tool_use())
    log(tmp_path, user(), *(assistant("m1", same, content=block) for block in blocks))
    found = used(tmp_path)
    assert counters(found["totals"]) == (2, 800, 15_000, 90)
    assert (found["totals"]["requests"], found["records"], found["totals"]["complete"]) == (1, 3, True)


def test_a02_repeated_records_whose_output_grows_are_one_call_of_the_first_day(tmp_path: Path) -> None:
    late = 12 * 3600 - 2
    grown = [(1, None), (1, None), (1, None), (412, "tool_use")]
    log(
        tmp_path,
        *(
            assistant("m1", usage(5, output), at=late + 2 * n, stop=stop, content=tool_use() if stop else text())
            for n, (output, stop) in enumerate(grown)
        ),
    )
    found = used(tmp_path)
    assert (found["totals"]["requests"], found["totals"]["output_tokens"]) == (1, 412)
    assert [(day["day"], day["output_tokens"]) for day in found["days"]] == [("2026-11-30", 412)]
    assert found["totals"]["complete"]


def test_a03_a_call_is_told_by_its_message_id_else_its_request_id_else_its_place(tmp_path: Path) -> None:
    log(
        tmp_path,
        *(assistant("m1", usage(1, 20), request=ABSENT) for _ in range(2)),
        *(assistant("m2", usage(2, 30), request=ABSENT) for _ in range(2)),
        *(assistant(None, usage(3, 40), request="req_3") for _ in range(2)),
        assistant(None, usage(4, 50), request=ABSENT),
    )
    found = used(tmp_path)
    assert found["totals"]["requests"] == 2 + 1 + 1
    assert counters(found["totals"]) == (10, 0, 0, 140)
    assert found["unidentified"] == 1
    assert "of which copies could not be told: 1" in run("-c", tmp_path)[0]


def test_a04_a_placeholder_is_reported_as_it_is_and_in_no_exact_sum(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1", usage(5, 1), stop=None, content=text("x" * 6000)))
    found = used(tmp_path)
    assert (found["totals"]["output_tokens"], found["totals"]["unfinished"]) == (1, 1)
    assert not found["totals"]["complete"] and found["rows"][0]["state"] == "unfinished"
    assert "≥1 " in run("-c", tmp_path)[0]


def test_a04_the_ratio_of_text_to_tokens_gives_a_placeholder_away(tmp_path: Path) -> None:
    rows = [assistant("m1", usage(5, 30), stop=None, content=text("x" * 3000)) for _ in range(2)]
    assert used(log(tmp_path, *rows))["totals"]["unfinished"] == 1


def test_a04_blocks_of_one_answer_are_judged_together(tmp_path: Path) -> None:
    rows = [assistant("m1", usage(5, 1000), stop=None, content=text("x" * size)) for size in (7000, 2000)]
    assert used(log(tmp_path, *rows))["totals"]["unfinished"] == 1


def test_a04_a_record_without_a_reason_to_stop_can_be_final(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1", usage(5, 300), stop=None, content=text("x" * 900)))
    found = used(tmp_path)
    assert found["totals"]["complete"] and found["totals"]["unfinished"] == 0


# A06, A08: passes


def a06(**message: Any) -> Row:
    passes = [
        {"type": "compaction", "input_tokens": 100, "output_tokens": 131, "cache_creation_input_tokens": 55_000,
         "cache_read_input_tokens": 0, "cache_creation": {"ephemeral_5m_input_tokens": 55_000,
                                                          "ephemeral_1h_input_tokens": 0}},
        {"type": "message", "input_tokens": 229, "output_tokens": 5} | message,
    ]  # fmt: skip
    return usage(229, 5, iterations=passes)


ZEROS = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


@pytest.mark.parametrize("message", [ZEROS, {}], ids=["told", "left to the top level"])
@pytest.mark.parametrize("where", ["log", "wire"])
def test_a06_what_a_hidden_pass_wrote_is_billed_and_in_no_total(tmp_path: Path, where: str, message: Row) -> None:
    if where == "log":
        log(tmp_path, assistant("m1", a06(**message)))
    else:
        written(tmp_path, "1.jsonl", start(), request("a", body()), response("a", usage=a06(**message)))
    found = used(tmp_path)
    assert counters(found["totals"]) == (229, 0, 0, 5)
    assert counters(found["billed"]) == (329, 55_000, 0, 136)
    assert (found["billed"]["ephemeral_5m_input_tokens"], found["billed"]["ephemeral_1h_input_tokens"]) == (55_000, 0)
    assert counters(found["rows"][0]["billed"]) == (329, 55_000, 0, 136)
    assert found["billed"]["complete"]


def test_a06_a_pass_that_leaves_a_counter_open_leaves_the_billed_sum_open(tmp_path: Path) -> None:
    passes = [
        {"type": "compaction", "input_tokens": 100, "output_tokens": 131},
        {"type": "message", "input_tokens": 229, "output_tokens": 5},
    ]
    log(tmp_path, assistant("m1", usage(229, 5, iterations=passes)))
    found = used(tmp_path)
    assert counters(found["totals"]) == (229, 0, 0, 5) and found["totals"]["complete"]
    assert (found["billed"]["input_tokens"], found["billed"]["output_tokens"]) == (329, 136)
    assert found["billed"]["cache_creation_input_tokens"] is None and not found["billed"]["complete"]


FALLBACK = {"type": "fallback", "from": {"model": M1}, "to": {"model": M2}}


def a08(first: Row) -> Row:
    second = {"type": "fallback_message", "model": M2, "input_tokens": 520, "output_tokens": 200} | ZEROS
    return {"input_tokens": 520, "output_tokens": 200, "iterations": [first, second]} | ZEROS


@pytest.mark.parametrize("model", [M2, None])
def test_a08_every_pass_of_a_fallback_is_billed_and_the_model_is_the_one_that_served(
    tmp_path: Path, model: str | None
) -> None:
    first = {"type": "message", "model": M1, "input_tokens": 500, "output_tokens": 40} | ZEROS
    ended = a08(first)
    ended["iterations"][1]["model"] = model
    found = of_stream(tmp_path, usage(500, 1), ended, content=(FALLBACK, *text()))
    (row,) = found["rows"]
    assert (row["model"], row["model_requested"]) == (M2, M1)
    assert counters(found["totals"]) == (520, 0, 0, 200)
    assert counters(found["billed"]) == (1020, 0, 0, 240)
    assert [group["model"] for group in found["models"]] == [M2]


def test_a08_cut_before_the_last_event_the_block_tells_who_served_and_the_output_is_open(tmp_path: Path) -> None:
    found = of_stream(tmp_path, usage(500, 1), ABSENT, content=(FALLBACK, *text()), cut=True)
    (row,) = found["rows"]
    assert (row["model"], row["model_requested"], row["state"]) == (M2, M1, "unfinished")
    assert (row["input_tokens"], row["output_tokens"]) == (500, None)
    assert (found["totals"]["unfinished"], found["totals"]["complete"]) == (1, False)


def test_a08_a_first_attempt_that_gave_nothing_is_not_billed(tmp_path: Path) -> None:
    first = {"type": "message", "model": M1, "input_tokens": 500, "output_tokens": 0} | ZEROS
    found = of_stream(tmp_path, usage(500, 1), a08(first), content=(FALLBACK, *text()))
    assert counters(found["billed"]) == counters(found["totals"]) == (520, 0, 0, 200)


def test_a08_a_first_attempt_that_gave_nothing_but_wrote_the_cache_is_billed(tmp_path: Path) -> None:
    first = {"type": "message", "model": M1, "input_tokens": 500, "output_tokens": 0, "cache_read_input_tokens": 0}
    found = of_stream(tmp_path, usage(500, 1), a08(first | {"cache_creation_input_tokens": 70}), content=(FALLBACK,))
    assert counters(found["billed"]) == (1020, 70, 0, 200)


# A10 to A13, A19: the two halves of a stream's usage


def test_a10_input_that_grew_with_the_server_s_rounds_is_the_final_one(tmp_path: Path) -> None:
    ended = {"input_tokens": 12_000, "output_tokens": 250, "server_tool_use": {"web_search_requests": 2}}
    found = of_stream(tmp_path, {"input_tokens": 3000, "output_tokens": 1} | ZEROS, ended)
    assert counters(found["totals"]) == (12_000, 0, 0, 250)
    assert found["totals"]["web_search_requests"] == 2


def test_a11_the_final_counts_replace_the_first_and_are_never_added(tmp_path: Path) -> None:
    first = usage(15, 1, read=900, written=60)
    assert counters(of_stream(tmp_path, first, usage(15, 33, read=900, written=60))["totals"]) == (15, 60, 900, 33)


@pytest.mark.parametrize(
    ("ended", "output"),
    [
        ({"output_tokens": 9}, 9),
        ({"input_tokens": 0, "output_tokens": 9}, 9),
        ({"input_tokens": None, "output_tokens": 9}, 9),
        (ABSENT, None),
    ],
    ids=["absent", "zero", "null", "no usage"],
)
def test_a12_a_final_usage_that_knows_no_input_keeps_the_first_one(
    tmp_path: Path, ended: Any, output: int | None
) -> None:
    found = of_stream(tmp_path, {"input_tokens": 800, "cache_read_input_tokens": 0}, ended)
    assert (found["totals"]["input_tokens"], found["totals"]["output_tokens"]) == (800, output)
    assert not found["totals"]["complete"]  # nobody told of cache writes


@pytest.mark.parametrize("begun", [ABSENT, {"input_tokens": 0, "output_tokens": 0}])
def test_a13_usage_that_comes_only_at_the_end_counts(tmp_path: Path, begun: Any) -> None:
    ended = {"input_tokens": 14, "cache_read_input_tokens": 6000, "output_tokens": 7}
    totals = of_stream(tmp_path, begun, ended)["totals"]
    assert counters(totals) == (14, None, 6000, 7) and totals["total_input_tokens"] == 6014


def test_a19_thinking_is_a_part_of_the_output(tmp_path: Path) -> None:
    ended = {"output_tokens": 92, "output_tokens_details": {"thinking_tokens": 53}}
    totals = of_stream(tmp_path, usage(5, 1), ended)["totals"]
    assert (totals["output_tokens"], totals["thinking_tokens"]) == (92, 53)


def test_a19_in_a_log_too(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1", usage(5, 92, output_tokens_details={"thinking_tokens": 53})))
    totals = used(tmp_path)["totals"]
    assert (totals["output_tokens"], totals["thinking_tokens"]) == (92, 53)


# A15 to A17: the same conversation in several files


def test_a15_sub_agents_inline_and_in_their_own_files_are_counted_once(tmp_path: Path) -> None:
    side = {"isSidechain": True}
    log(
        tmp_path,
        assistant("m1", usage(1, 10)),
        assistant("a", usage(10, 100), **side),
        assistant("b", usage(20, 100), **side),
        assistant("m2", usage(2, 10)),
    )
    agent_log(tmp_path, "x", *(assistant(name, usage(n, 100)) for name, n in (("a", 10), ("b", 20), ("c", 30))))
    found = used(tmp_path)
    assert (found["main"]["requests"], found["main"]["input_tokens"]) == (2, 3)
    assert (found["sub_agents"]["requests"], found["sub_agents"]["input_tokens"]) == (3, 60)
    assert (found["totals"]["requests"], found["totals"]["input_tokens"]) == (5, 63)
    assert {row["agent"] for row in found["rows"]} == {None, "x"}
    assert len(found["sessions"]) == 1
    assert [line.split()[:2] for line in run("-c", tmp_path)[0].splitlines() if line.startswith(("main", "sub-"))] == [
        ["main", "2"],
        ["sub-agents", "3"],
    ]


def test_a15_sub_agents_without_files_of_their_own_are_not_lost(tmp_path: Path) -> None:
    side = {"isSidechain": True}
    log(
        tmp_path, assistant("m1"), assistant("a", usage(10, 100), **side), assistant("b", usage(20, 100), **side),
        assistant("m2"),
    )  # fmt: skip
    found = used(tmp_path)
    assert (found["main"]["requests"], found["sub_agents"]["requests"], found["totals"]["requests"]) == (2, 2, 4)
    assert found["sub_agents"]["input_tokens"] == 30


def test_a15_quoted_records_of_a_sub_agent_count_unless_its_file_is_there(tmp_path: Path) -> None:
    quoted = assistant("a", usage(10, 100))
    log(tmp_path / "without", assistant("m1"), progress(quoted, "x"))
    log(tmp_path / "with", assistant("m1"), progress(quoted, "x"))
    agent_log(tmp_path / "with", "x", quoted, assistant("b", usage(20, 100)))
    alone, both = used(tmp_path / "without"), used(tmp_path / "with")
    assert (alone["main"]["requests"], alone["sub_agents"]["requests"]) == (1, 1)
    assert (both["main"]["requests"], both["sub_agents"]["requests"]) == (1, 2)
    assert alone["sub_agents"]["input_tokens"] == 10 and both["sub_agents"]["input_tokens"] == 30


def conversation(count: int = 20, **changes: Any) -> list[Row]:
    return [assistant(f"m{n}", usage(3, 10 + n, read=1000 * n), at=10.0 * n, **changes) for n in range(count)]


def test_a16_a_side_question_that_copies_the_conversation_is_one_call(tmp_path: Path) -> None:
    log(tmp_path, *conversation())
    agent_log(tmp_path, "aside_question-1", *conversation(), assistant("new", usage(3, 7), at=500))
    found = used(tmp_path)
    assert (found["main"]["requests"], found["sub_agents"]["requests"]) == (20, 1)
    assert found["sub_agents"]["output_tokens"] == 7 and found["set_aside"] == []


def test_a16_copies_under_new_ids_at_the_same_moments_are_set_aside_and_named(tmp_path: Path) -> None:
    main = log(tmp_path, *conversation())
    copies = [row | {"message": row["message"] | {"id": f"copy{n}"}, "requestId": f"copy{n}"}
              for n, row in enumerate(conversation())]  # fmt: skip
    side = agent_log(tmp_path, "aside_question-1", *copies, assistant("new", usage(3, 7), at=500))
    found = used(tmp_path)
    assert (found["totals"]["requests"], found["sub_agents"]["output_tokens"]) == (21, 7)
    (aside,) = found["set_aside"]
    assert (aside["reason"], aside["calls"], aside["place"]) == ("probable_replay", 20, str(side))
    assert aside["like"].startswith(str(main)) and aside["output_tokens"] == sum(10 + n for n in range(20))
    assert f"set aside, in no sum: 20 of {side}" in run("-c", tmp_path)[0].replace("\n", " ")


def test_a17_a_transcript_without_ids_is_named_as_a_copy_and_not_counted(tmp_path: Path) -> None:
    calls = [
        assistant(f"m{n}", usage(3, 10 + n), at=n * 9.0, content=block)
        for n in range(3)
        for block in (text(), tool_use())
    ]
    bare = [{"type": "assistant", "message": {k: v for k, v in row["message"].items() if k != "id"}} for row in calls]
    log(tmp_path, *calls, session="s")
    copy = tmp_path / "s" / "run-0"
    copy.mkdir(parents=True)
    (copy / "session.jsonl").write_bytes(lines(*calls, session="s"))
    derived = tmp_path / "s" / "subagent-artifacts" / "r1_transcript.jsonl"
    derived.parent.mkdir()
    derived.write_bytes(b"".join(dump(row) + b"\n" for row in ({"type": "version", "version": 1}, *bare)))
    found = used(tmp_path)
    assert (found["totals"]["requests"], found["totals"]["output_tokens"]) == (3, 10 + 11 + 12)
    (aside,) = found["set_aside"]
    assert (aside["reason"], aside["place"]) == ("unidentified_copy", str(derived))
    assert "have no id and equal those of another file" in run("-c", tmp_path)[0].replace("\n", " ")


# A18: counters that are none


@pytest.mark.parametrize(
    ("name", "value", "taken", "warned"),
    [
        ("cache_creation_input_tokens", None, None, False),
        ("input_tokens", "12", None, True),
        ("output_tokens", -3, None, True),
        ("cache_read_input_tokens", True, None, True),
        ("cache_read_input_tokens", 7.5, None, True),
        ("cache_creation_input_tokens", 7.0, 7, False),
        ("input_tokens", b"1e3", 1000, False),
        ("input_tokens", b"1" + b"0" * 29, 10**29, True),
        ("input_tokens", [], None, True),
        ("input_tokens", 2**53 + 1, 2**53 + 1, True),
    ],
)
@pytest.mark.parametrize("where", ["log", "capture", "HAR"])
def test_a18_odd_counters(tmp_path: Path, where: str, name: str, value: Any, taken: int | None, warned: bool) -> None:
    told = usage(2, 3, read=4, written=0, cache_creation=ABSENT) | {name: "ODD" if type(value) is bytes else value}
    if where == "log":
        content, place = lines(assistant("m1", told), assistant("m2", usage(1, 1))), tmp_path / "s.jsonl"
    elif where == "capture":
        second = response("b", message_id="msg_2", usage=usage(1, 1), headers={"request-id": "req_2"})
        content = start() + request("a", body()) + response("a", usage=told) + request("b", body("more")) + second
        place = tmp_path / "c.jsonl"
    else:
        other = streamed(usage(1, 1), usage(1, 1), name="msg_2")
        content, place = har(streamed(told, told), other), tmp_path / "saved.har"
    if type(value) is bytes:
        content = content.replace(b'\\"ODD\\"', value).replace(b'"ODD"', value)
    place.write_bytes(content)
    found = used(tmp_path)
    rows = {row["message_id"]: row for row in found["rows"]}
    row = next(row for name_, row in rows.items() if name_ in ("m1", "msg_1"))
    assert row[name] == taken
    assert row["state"] == "completed"
    assert found["totals"][name] == (taken or 0) + usage(1, 1)[name]
    assert found["totals"]["complete"] == (taken is not None)
    assert ("count" in said(tmp_path)) == warned


# A20: counters that a fork repeats


def test_a20_a_fork_that_replays_its_parent_s_counters_spent_only_what_is_new(tmp_path: Path) -> None:
    log(tmp_path, assistant("p1", usage(60, 40), at=0), assistant("p2", usage(100, 50), at=60))
    fork = log(
        tmp_path,
        assistant("f1", usage(60, 40), at=100.0),
        assistant("f2", usage(100, 50), at=100.4),
        assistant("f3", usage(110, 40), at=130),
        session=OTHER,
    )
    found = used(tmp_path)
    spent = {group["session"][-1]: group["total_input_tokens"] + group["output_tokens"] for group in found["sessions"]}
    assert spent == {"1": 250, "2": 150}
    (aside,) = found["set_aside"]
    assert (aside["reason"], aside["calls"], aside["place"]) == ("probable_replay", 2, str(fork))
    assert (aside["input_tokens"], aside["output_tokens"]) == (160, 90)


def test_a20_a_second_may_begin_between_the_copies(tmp_path: Path) -> None:
    log(tmp_path, assistant("p1", usage(60, 40), at=0), assistant("p2", usage(100, 50), at=60))
    log(tmp_path, assistant("f1", usage(60, 40), at=100.9), assistant("f2", usage(100, 50), at=101.1), session=OTHER)
    assert used(tmp_path)["totals"]["requests"] == 2


def test_a20_another_session_that_begins_alike_does_not_hide_the_parent(tmp_path: Path) -> None:
    log(tmp_path, assistant("x1", usage(60, 40), at=-50), assistant("x2", usage(70, 70), at=-40), session=THIRD)
    log(tmp_path, assistant("p1", usage(60, 40), at=0), assistant("p2", usage(100, 50), at=60))
    log(tmp_path, assistant("f1", usage(60, 40), at=100), assistant("f2", usage(100, 50), at=100.4), session=OTHER)
    found = used(tmp_path)
    assert found["totals"]["requests"] == 4
    assert [(aside["calls"], aside["place"][-7:]) for aside in found["set_aside"]] == [(2, "2.jsonl")]


def test_a20_equal_calls_minutes_apart_are_no_replay(tmp_path: Path) -> None:
    log(tmp_path, assistant("p1", usage(60, 40), at=0), assistant("p2", usage(100, 50), at=60))
    log(tmp_path, assistant("f1", usage(60, 40), at=100), assistant("f2", usage(100, 50), at=160), session=OTHER)
    found = used(tmp_path)
    assert (found["totals"]["requests"], found["set_aside"]) == (4, [])


# A21, A22: what is no call of a model, and what is one but looks like none


def test_a21_a_count_of_tokens_is_a_free_probe(tmp_path: Path) -> None:
    written(
        tmp_path, "1.jsonl", start(),
        request("a", body(), at=1.0, path="/v1/messages/count_tokens?beta=true", route="count_tokens"),
        response("a", usage=None, content=None, model=None, message_id=None, stop_reason=None,
                 body={"input_tokens": 4100}),
        request("b", body(), at=3.0),
        response("b", usage={"input_tokens": 3, "cache_read_input_tokens": 1111, "output_tokens": 10}),
    )  # fmt: skip
    found = used(tmp_path)
    assert (found["totals"]["requests"], found["totals"]["failed"]) == (1, 0)
    assert counters(found["totals"]) == (3, None, 1111, 10)
    assert [probe["input_tokens"] for probe in found["probes"]] == [4100]
    assert "counts of tokens, free and in no sum: 1" in run("-c", tmp_path)[0]


def results() -> bytes:
    told = {"input_tokens": 9, "output_tokens": 25, "service_tier": "batch"} | ZEROS
    ok = [
        {"custom_id": f"c{n}", "result": {"type": "succeeded", "message": MESSAGE | {"id": f"b{n}", "usage": told}}}
        for n in range(3)
    ]
    bad = [
        {"custom_id": "c3", "result": {"type": "errored", "error": {"type": "invalid_request_error"}}},
        {"custom_id": "c4", "result": {"type": "expired"}},
    ]
    return b"".join(dump(line) + b"\n" for line in (*ok, *bad))


def poll(at: str) -> Row:
    made = entry(content={"text": results().decode(), "size": 1, "mimeType": "application/x-jsonl"})
    made["request"] |= {"method": "GET", "url": "https://api.anthropic.com/v1/messages/batches/msgbatch_1/results"}
    del made["request"]["postData"]
    made["startedDateTime"] = at
    made["response"]["headers"] = fields(content_type="application/x-jsonl", request_id=f"req_{at}")
    return made


@pytest.mark.parametrize("times", [("10:00:00",), ("10:00:00", "10:00:00"), ("10:00:00", "10:09:00", "11:00:00")])
def test_a22_results_of_a_batch_count_once_however_often_they_are_polled(
    tmp_path: Path, times: tuple[str, ...]
) -> None:
    found = used(saved(tmp_path, *(poll(f"2026-11-30T{time}Z") for time in times)))
    assert counters(found["totals"]) == (27, 0, 0, 75)
    assert (found["totals"]["requests"], found["totals"]["failed"], found["totals"]["complete"]) == (5, 2, True)
    assert {row["message_id"] for row in found["rows"]} == {"b0", "b1", "b2", None}
    assert all(counters(row) == (0, 0, 0, 0) for row in found["rows"] if row["state"] == "failed")


def submission(asked: int, answer: Row, at: str = "09:00:00") -> Row:
    requests = [{"custom_id": f"c{n}", "params": ASKED} for n in range(asked)]
    made = entry(
        postData={"text": json.dumps({"requests": requests}), "mimeType": "application/json"},
        content={"text": json.dumps(answer), "size": 1, "mimeType": "application/json"},
    )
    made["request"]["url"] = "https://api.anthropic.com/v1/messages/batches"
    made["startedDateTime"] = f"2026-11-30T{at}Z"
    made["response"]["headers"] = fields(content_type="application/json", request_id=f"req_{at}")
    return made


BATCH = {"id": "msgbatch_1", "type": "message_batch", "processing_status": "in_progress"}


@pytest.mark.parametrize(
    ("entries", "awaited"),
    [
        ([submission(7, BATCH)], 7),
        ([submission(7, BATCH), poll("2026-11-30T10:00:00Z"), poll("2026-11-30T11:00:00Z")], 2),
        ([submission(5, BATCH), poll("2026-11-30T10:00:00Z")], 0),
        ([submission(5, {**BATCH, "id": "msgbatch_2"}), poll("2026-11-30T10:00:00Z")], 5),
        ([submission(5, BATCH), submission(3, {**BATCH, "id": "msgbatch_2"}, "09:30:00")], 8),
    ],
)
def test_requests_of_batches_whose_results_were_not_seen_are_told_of(
    tmp_path: Path, entries: list[Row], awaited: int
) -> None:
    place = saved(tmp_path, *entries)
    assert used(place)["awaited"] == awaited
    for command in ("usage", "cost"):
        text = CliRunner().invoke(app, ["--captures", str(place), command]).output
        assert (f"not recorded, in no sum: {awaited}" in text) is bool(awaited), text
        assert ("sum is exact\n" not in text and "exact at these prices\n" not in text) or not awaited


# A23: records that nobody knows


def test_a23_unknown_records_and_odd_content_stop_nothing(tmp_path: Path) -> None:
    log(
        tmp_path,
        bookkeeping("queue-operation", operation="enqueue"),
        bookkeeping("mode", mode="normal"),
        snapshot(),
        bookkeeping("ai-title", aiTitle="t"),
        bookkeeping("never-heard-of", value=1),
        user(),
        assistant("m1", usage(1, 20)),
        *(assistant(f"m{n}", usage(n, 20), content=odd) for n, odd in enumerate((0, {}), 2)),
        assistant("m4", usage(4, 20), message={"content": None}),
        user(None),
    )
    found = used(tmp_path)
    assert (found["totals"]["requests"], found["totals"]["input_tokens"]) == (4, 10)
    assert found["totals"]["complete"]


# C18: retries


def attempts(*statuses: int, gap: float = 2.0) -> list[bytes]:
    """Equal requests, ``gap`` seconds apart, each answered within a second."""
    made = [start()]
    for n, status in enumerate(statuses):
        made += [request(f"r{n}", body("same"), at=gap * n), answer(f"r{n}", status, at=gap * n + 1)]
    return made


def answer(name: str, status: int, *, at: float, **changes: Any) -> bytes:
    told = {"headers": {"request-id": f"req_{name}"}, "time": timestamp(SEEN["time"] + at)}
    if status == 200:
        return response(name, **(told | {"message_id": f"msg_{name}", "usage": usage(7, 45)} | changes))
    error = {"type": "overloaded_error", "message": "busy", "request_id": f"req_{name}"}
    refused = {"ended": "error", "status": status, "error": error, "usage": None, "model": None, "content": None}
    return response(name, **(told | {"message_id": None, "stop_reason": None} | refused | changes))


def test_c18_failed_attempts_are_attempts_of_the_call_that_followed(tmp_path: Path) -> None:
    found = used(written(tmp_path, "1.jsonl", *attempts(529, 429, 200)))
    totals = found["totals"]
    assert (totals["requests"], totals["failed"], totals["failed_attempts"]) == (1, 0, 2)
    assert counters(totals) == (7, 0, 0, 45) and totals["complete"]
    (row,) = found["rows"]
    assert (row["attempts"], row["failed_attempts"], row["maybe_billed"]) == (3, 2, False)
    assert "completed, 3 attempts" in run("-c", tmp_path, "--by", "request")[0]


def test_c18_what_an_attempt_had_seen_before_it_died_may_be_billed(tmp_path: Path) -> None:
    begun = {"input_tokens": 7, "cache_creation_input_tokens": 500, "cache_read_input_tokens": 0}
    made = attempts(529, 429, 200)
    made[2] = answer("r0", 200, at=1, ended="error", usage=begun, error={"type": "overloaded_error", "message": "busy"})
    found = used(written(tmp_path, "1.jsonl", *made))
    assert (found["totals"]["requests"], found["totals"]["failed_attempts"]) == (1, 2)
    assert counters(found["totals"]) == (14, 500, 0, 45)
    assert not found["totals"]["complete"] and found["rows"][0]["maybe_billed"]
    assert "calls with failed attempts whose spending is in the sums, billed or not: 1" in run("-c", tmp_path)[0]


def test_c18_a_retry_that_asks_for_no_stream_is_an_attempt_too(tmp_path: Path) -> None:
    whole = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "same"}]}
    made = [start()]
    for n, (status, stream) in enumerate(((529, True), (200, False))):
        sent = dump(whole | {"stream": stream})
        made += [request(f"r{n}", sent, at=2.0 * n), answer(f"r{n}", status, at=2.0 * n + 1)]
    totals = used(written(tmp_path, "1.jsonl", *made))["totals"]
    assert (totals["requests"], totals["failed"], totals["failed_attempts"]) == (1, 0, 1)


@pytest.mark.parametrize("first", [200, 529])
def test_c18_an_equal_request_ten_minutes_later_is_a_call_of_its_own(tmp_path: Path, first: int) -> None:
    found = used(written(tmp_path, "1.jsonl", *attempts(first, 200, gap=600.0)))
    assert found["totals"]["requests"] == 2
    assert found["totals"]["failed"] == (first == 529)


def test_c18_equal_requests_that_both_succeed_at_once_are_two_calls(tmp_path: Path) -> None:
    found = used(written(tmp_path, "1.jsonl", *attempts(200, 200)))
    assert (found["totals"]["requests"], found["totals"]["output_tokens"]) == (2, 90)


def test_c18_failures_that_a_log_tells_of_are_attempts_of_the_next_call(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1"), user(), api_error(attempt=1), api_error(429, attempt=2), assistant("m2"))
    found = used(tmp_path)
    assert (found["totals"]["requests"], found["totals"]["failed_attempts"]) == (2, 2)
    assert [row["failed_attempts"] for row in found["rows"]] == [0, 2]


# D07: little usage in large files


def test_d07_records_that_tell_of_no_call_do_not_matter_however_large_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_usage, "LINE_LIMIT", 400_000)
    monkeypatch.setattr(claude_scan, "SEGMENT", 1_000_000)
    rows: list[Row] = []
    for n in range(20):
        large = bookkeeping("progress", data={"type": "bash_progress", "output": "x" * 200_000})
        rows += [snapshot(300_000), user(), assistant(f"m{n}", usage(3, 10, read=n), at=n), large]
    log(tmp_path, *rows, snapshot(900_000), assistant("m20", usage(3, 10), at=20))
    found = used(tmp_path)
    assert counters(found["totals"]) == (63, 0, sum(range(20)), 210)
    assert (found["totals"]["requests"], found["records"]) == (21, 21)
    assert "1 lines longer than" in said(tmp_path)


# H03, H04, H08


def test_h03_input_beside_cache_reads_is_never_taken_apart(tmp_path: Path) -> None:
    totals = used(log(tmp_path, assistant("m1", usage(100, 5, read=900))))["totals"]
    assert counters(totals) == (100, 0, 900, 5) and totals["total_input_tokens"] == 1000


@pytest.mark.parametrize(("told", "complete"), [(ABSENT, False), (None, False), (0, True)])
@pytest.mark.parametrize("where", ["log", "wire"])
def test_h04_absent_and_null_are_unknown_and_zero_is_zero(
    tmp_path: Path, where: str, told: int | None, complete: bool
) -> None:
    counted = usage(10, 5, cache_read_input_tokens=told)
    if where == "log":
        log(tmp_path, assistant("m1", counted))
    else:
        written(tmp_path, "1.jsonl", start(), request("a", body()), response("a", usage=counted))
    totals = used(tmp_path)["totals"]
    assert totals["cache_read_input_tokens"] == (0 if complete else None)
    assert totals["complete"] == complete
    assert ("≥10" in run("-c", tmp_path)[0]) != complete


def test_h08_models_are_named_as_they_are(tmp_path: Path) -> None:
    log(tmp_path, *(assistant(f"m{n}", model=model) for n, model in enumerate(("who-knows-7b", M1, "who-knows-7b"))))
    assert {group["model"]: group["requests"] for group in used(tmp_path)["models"]} == {"who-knows-7b": 2, M1: 1}


# What is no call


def test_usage_that_a_tool_s_result_quotes_is_not_counted(tmp_path: Path) -> None:
    nested = {"toolUseResult": {"usage": usage(900, 900), "totalTokens": 1800}}
    log(
        tmp_path,
        assistant("m1", usage(1, 10)),
        tool_result(json.dumps({"type": "assistant", "message": {"id": "m7", "usage": usage(700, 700)}})),
        tool_result("done", **nested),
        user([{"type": "tool_result", "content": [{"type": "text", "text": '"usage":{"input_tokens":5}'}]}]),
    )
    assert counters(used(tmp_path)["totals"]) == (1, 0, 0, 10)


def test_records_that_the_client_wrote_itself_are_counted_apart(tmp_path: Path) -> None:
    refused = assistant("e1", usage(0, 0), isApiErrorMessage=True)
    log(tmp_path, assistant("m1"), synthetic(), refused)
    found = used(tmp_path)
    assert (found["totals"]["requests"], found["synthetic"]) == (1, 2)
    assert "records that the client wrote itself, which are no calls: 2" in run("-c", tmp_path)[0]


def test_a_fork_that_keeps_the_ids_is_counted_once(tmp_path: Path) -> None:
    rows = conversation(5)
    log(tmp_path, *rows)
    copied = [row | {"requestSessionId": "00000000-0000-4000-8000-000000000001"} for row in rows]
    log(tmp_path, *copied, compacted(at=90), assistant("new", usage(3, 99), at=100), session=OTHER)
    found = used(tmp_path)
    assert found["totals"]["requests"] == 6
    assert {group["session"][-1]: group["requests"] for group in found["sessions"]} == {"1": 5, "2": 1}


# Wire and log together


def test_a_call_on_the_wire_and_in_a_log_counts_once_and_the_wire_wins(tmp_path: Path) -> None:
    written(
        tmp_path, "1.jsonl", start(), request("a", body()),
        response("a", message_id="m1", usage=usage(7, 45), headers={"request-id": "req_m1"}),
    )  # fmt: skip
    log(tmp_path, assistant("m1", usage(7, 9999)), assistant("m1", usage(7, 9999)))
    (row,) = used(tmp_path)["rows"]
    assert (row["output_tokens"], row["records"]) == (45, 2)
    assert row["place"].startswith(str(tmp_path / "1.jsonl"))


def test_an_answer_that_is_not_in_a_har_is_taken_from_the_log_by_its_request_id(tmp_path: Path) -> None:
    bodiless = streamed(usage(7, 1), usage(7, 45))
    del bodiless["response"]["content"]["text"]
    bodiless["response"]["headers"] = fields(content_type="text/event-stream", request_id="req_m1")
    saved(tmp_path, bodiless)
    log(tmp_path, assistant("m1", usage(7, 45), at=-7199))
    found = used(tmp_path)
    assert (found["totals"]["requests"], found["totals"]["output_tokens"]) == (1, 45)


@pytest.mark.parametrize("gap", [10.0, 0.1])
def test_a_mock_that_gives_every_answer_one_id_has_its_calls_counted(tmp_path: Path, gap: float) -> None:
    made = [start()]
    for n in range(4):
        made += [
            request(f"r{n}", body(f"question {n}"), at=gap * n),
            response(f"r{n}", message_id="msg_mock", usage=usage(1, 10), headers={}),
        ]
    assert used(written(tmp_path, "1.jsonl", *made))["totals"]["requests"] == 4


@pytest.mark.parametrize("gap", [10.0, 0.1])
def test_a_mock_that_gives_every_answer_both_ids_has_its_calls_counted(tmp_path: Path, gap: float) -> None:
    made = [start()]
    for n in range(4):
        made += [request(f"r{n}", body(f"question {n}"), at=gap * n), response(f"r{n}", usage=usage(1, 10))]
    assert used(written(tmp_path, "1.jsonl", *made))["totals"]["requests"] == 4


def test_the_same_traffic_in_a_capture_and_in_a_har_counts_once(tmp_path: Path) -> None:
    streams = [streamed(usage(7, 1), usage(7, 45), name=f"msg_{n}", at=f"2026-11-30T10:00:0{n}.250Z") for n in range(2)]
    refused = streamed(usage(7, 1), usage(7, 45), name="msg_9", at="2026-11-30T10:01:00Z")
    refused["response"] |= {"status": 529}
    refused["response"]["content"] = {"text": '{"type":"error","error":{"type":"overloaded_error","message":"x"}}'}
    saved(tmp_path / "a", *streams, refused)
    saved(tmp_path / "b", *streams, refused)
    totals = used(tmp_path)["totals"]
    assert (totals["requests"], totals["failed"], totals["output_tokens"]) == (3, 1, 90)


# Days, views, mistakes


def test_tz_moves_a_call_over_midnight(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1", at=10.5 * 3600), assistant("m2", at=11.5 * 3600))
    assert {day["day"]: day["requests"] for day in used(tmp_path)["days"]} == {"2026-11-30": 2}
    moved = {day["day"]: day["requests"] for day in used(tmp_path, by=("--tz", "Europe/Berlin"))["days"]}
    assert moved == {"2026-11-30": 1, "2026-12-01": 1}
    half = {day["day"]: day["requests"] for day in used(tmp_path, by=("--tz", "Asia/Kathmandu"))["days"]}
    assert half == {"2026-12-01": 2}
    assert "day (Europe/Berlin)" in run("-c", tmp_path, "--tz", "Europe/Berlin")[0]


@pytest.mark.parametrize("by", ["request", "session", "model", "day"])
def test_one_view_only(tmp_path: Path, by: str) -> None:
    log(tmp_path, assistant("m1"))
    shown = run("-c", tmp_path, "--by", by)[0]
    heads = [line.split()[0] for line in shown.splitlines() if "requests" in line or "write 5m" in line]
    assert heads == ["time" if by == "request" else by]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--by", "week"), "--by 'week' is not one of request, session, model, day"),
        (("--tz", "Mars/Olympus"), "--tz 'Mars/Olympus' is no time zone of this machine"),
        (("--tz", "../etc/passwd"), "is no time zone of this machine"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    log(tmp_path, assistant("m1"))
    assert sentence in run("-c", tmp_path, *arguments, code=2)[1]


def test_long_tables_say_how_many_rows_they_leave_out(tmp_path: Path) -> None:
    for n in range(25):
        log(tmp_path, assistant(f"m{n}", at=n), session=f"s{n}")
    assert "5 more (--all)" in run("-c", tmp_path, "--by", "session")[0]
    assert "more (--all)" not in run("-c", tmp_path, "--by", "session", "--all")[0]


def test_a_log_on_standard_input(tmp_path: Path) -> None:
    content = lines(assistant("m1", usage(1, 10), timestamp=stamp(5)))
    result = CliRunner().invoke(app, ["usage", "-c", "-", "--json"], input=content)
    assert json.loads(result.stdout)["totals"]["output_tokens"] == 10


def test_a_lower_bound_is_told_for_each_counter(tmp_path: Path) -> None:
    totals = used(
        written(tmp_path, "1.jsonl", start(), request("a", body()), response("a", usage={"input_tokens": 3}))
    )["totals"]
    assert totals["input_tokens"] == 3 and totals["output_tokens"] is None
    assert totals["at_least"] == ["total_input_tokens"]  # of the others, all is known or nothing


def test_requests_of_files_without_answers_are_no_calls_and_are_named(tmp_path: Path) -> None:
    place = tmp_path / "body.json"
    place.write_bytes(body())
    capture = written(tmp_path, "1.jsonl", start(), request("a", body("other")), response("a"))
    found = used(capture, place)
    assert found["totals"]["requests"] == 1 and found["without_answer"] == 1
    assert "requests of files that hold no answers, in no sum: 1" in run("-c", capture, "-c", place)[0]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00Z"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_a_time_at_the_edge_of_the_calendar_is_unknown(tmp_path: Path, moment: str, zone: str) -> None:
    place = log(tmp_path, assistant("m1", timestamp=moment))
    assert used(place)["rows"][0]["time"] is None
    assert run("-c", place, "--tz", zone)[0]


def test_thousands_of_equal_counters_repeat_nothing(tmp_path: Path) -> None:
    made = [assistant(f"m{n}", usage(5, 7), timestamp=stamp(n / 4)) for n in range(3000)]
    found = used(log(tmp_path, *made))
    assert found["totals"]["requests"] == 3000 and not found["set_aside"]
