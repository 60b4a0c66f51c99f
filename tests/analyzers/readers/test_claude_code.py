"""Session files of Claude Code as exchanges: what was one call is one, and what a log cannot tell is said."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_values import keys, values
from recorded_session import NEWER, OLDER, captured, unpacked
from session_logs import (
    ABSENT,
    SESSION,
    agent_log,
    api_error,
    assistant,
    bookkeeping,
    compacted,
    line,
    lines,
    progress,
    stamp,
    synthetic,
    text,
    tool_use,
    usage,
    user,
)
from session_logs import log as written

from analyzers.exchange import Exchange, Problem
from analyzers.readers.claude_code import NO_RECORD, NO_REQUEST, read_session
from analyzers.readers.claude_records import KNOWN
from analyzers.readers.claude_requests import message_hash
from analyzers.readers.source import Source
from analyzers.readers.sources import Sources
from analyzers.wire.moment import timestamp

COUNTERS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
OTHER = "00000000-0000-4000-8000-000000000002"


def read(
    data: bytes, *, folded: bool = False, beside: frozenset[str] = frozenset()
) -> tuple[list[Exchange], list[str]]:
    source = Source(io.BytesIO(data), "log", f"/x/{SESSION}.jsonl", folded=folded, beside=beside)
    return list(read_session(source)), [problem.text for problem in source.problems]


def folder(*paths: Path) -> tuple[list[Exchange], list[str]]:
    problems: list[Problem] = []
    found = list(Sources([str(path) for path in paths]).exchanges(problems))
    return found, [problem.text for problem in problems]


def spent(exchange: Exchange) -> tuple[int | None, ...]:
    found = exchange.response.usage if exchange.response is not None else None
    return tuple(getattr(found, name) if found is not None else None for name in COUNTERS)


def ids(exchanges: list[Exchange]) -> list[str | None]:
    return [exchange.response.message_id if exchange.response else None for exchange in exchanges]


def agents(exchanges: list[Exchange]) -> list[str | None]:
    return [exchange.logged.agent if exchange.logged else "?" for exchange in exchanges]


def blocks(exchange: Exchange) -> list[str]:
    assert exchange.response is not None
    return [block["type"] for block in exchange.response.content]


# ------------------------------------------------------------------------------------------ one call, several records


def test_three_records_of_one_answer_are_one_call() -> None:  # A01
    told = usage(2, 90, read=15_000, written=800)
    thinking = [{"type": "thinking", "thinking": "", "signature": "s"}]
    rows = [assistant("m", told, content=content) for content in (thinking, text(), tool_use())]
    (exchange,), problems = read(lines(user(), *rows))
    assert spent(exchange) == (2, 800, 15_000, 90)
    assert blocks(exchange) == ["thinking", "text", "tool_use"]
    assert exchange.logged is not None and exchange.logged.rows == 3
    assert exchange.ended == "completed" and problems == []


def test_counters_that_grow_are_final_in_the_last_record_and_the_time_is_the_first() -> None:  # A02
    begun = 11 * 3600 + 59 * 60 + 58  # two seconds before midnight
    rows = [
        assistant("m", usage(3, output), at=begun + at, stop=stop, content=content)
        for output, at, stop, content in (
            (1, 0, None, text("a")),
            (1, 1, None, text("b")),
            (1, 2, None, text("c")),
            (412, 5, "tool_use", tool_use()),
        )
    ]
    (exchange,), _ = read(lines(user(), *rows))
    assert spent(exchange)[3] == 412
    assert blocks(exchange) == ["text", "text", "text", "tool_use"]
    assert exchange.time is not None and timestamp(exchange.time).startswith("2026-11-30T23:59:58")
    assert exchange.response is not None and exchange.response.time == exchange.time + 5


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(("final", "placeholder"), [(50, 2), (2, 8)])
def test_the_final_counters_win_wherever_they_stand(order: tuple[int, int], final: int, placeholder: int) -> None:
    rows = [assistant("m", usage(3, final), stop="end_turn"), assistant("m", usage(3, placeholder), stop=None)]
    (exchange,), _ = read(lines(*(rows[place] for place in order)))
    assert spent(exchange)[3] == final and exchange.ended == "completed"


def test_a_call_is_told_by_message_id_then_request_id_then_its_line() -> None:  # A03
    rows = [
        *(assistant("m1", request=ABSENT, content=text(part)) for part in "ab"),
        *(assistant("m2", request=ABSENT, content=text(part)) for part in "cd"),
        *(assistant(None, request="req_3", content=text(part)) for part in "ef"),
        assistant(None, request=ABSENT),
    ]
    exchanges, _ = read(lines(*rows))
    assert ids(exchanges) == ["m1", "m2", None, None]
    assert [len(blocks(exchange)) for exchange in exchanges] == [2, 2, 2, 1]


def test_a_placeholder_that_was_never_replaced_is_not_final_and_stays_as_it_is() -> None:  # A04
    (exchange,), _ = read(lines(assistant("m", usage(3, 1), stop=None, content=text("x" * 6000))))
    assert exchange.ended == "not_final"
    assert spent(exchange)[3] == 1
    assert exchange.logged is not None and not exchange.logged.final
    assert exchange.response is not None and [note.code for note in exchange.response.notes] == ["not_final"]


def test_an_answer_without_a_stop_reason_is_final_when_its_output_can_be_true() -> None:
    (exchange,), _ = read(lines(assistant("m", usage(3, 900), stop=None, content=text("x" * 3000))))
    assert exchange.ended == "completed"


def test_a_record_that_was_written_twice_counts_once() -> None:
    row = assistant("m", content=tool_use(), uuid="u", apiBlockIndex=0)
    again = assistant("m", content=tool_use(), uuid="another", apiBlockIndex=0)
    (exchange,), _ = read(lines(row, row, again))
    assert blocks(exchange) == ["tool_use"]
    assert exchange.logged is not None and exchange.logged.rows == 3


def test_a_record_with_an_id_that_was_there_adds_nothing_whatever_it_says() -> None:
    rows = [assistant("m", content=text(said), uuid="u", apiBlockIndex=place) for place, said in enumerate("ab")]
    (exchange,), _ = read(lines(*rows))
    assert blocks(exchange) == ["text"]


def test_equal_blocks_of_one_answer_are_two_when_the_log_numbers_them() -> None:
    rows = [assistant("m", content=text("same"), apiBlockIndex=place) for place in (0, 1)]
    assert [len(blocks(exchange)) for exchange in read(lines(*rows))[0]] == [2]
    assert [len(blocks(exchange)) for exchange in read(lines(assistant("m", content=text("a") * 2)))[0]] == [2]


# ------------------------------------------------------------------------------------------ copies, forks, sub-agents


def test_inline_sidechains_beside_a_sub_agents_file_are_taken_once(tmp_path: Path) -> None:  # A15
    inline = [assistant(name, isSidechain=True) for name in "ab"]
    written(tmp_path, assistant("m1"), assistant("m2"), *inline)
    exchanges, problems = folder(tmp_path)
    assert agents(exchanges) == [None, None, "sidechain", "sidechain"]
    agent_log(tmp_path, "x", *(assistant(name) for name in "abc"))
    exchanges, problems = folder(tmp_path)
    assert sorted(ids(exchanges)) == ["a", "b", "c", "m1", "m2"]
    assert agents(exchanges).count(None) == 2
    assert problems == ["2 calls stand in more than one log; each was taken once"]


def test_a_side_question_that_replays_the_conversation_is_one_new_call(tmp_path: Path) -> None:  # A16
    rows = [assistant(f"m{n}", at=n) for n in range(20)]
    written(tmp_path, *rows)
    agent_log(tmp_path, "aside_question-1", *rows, assistant("new", at=30))
    exchanges, problems = folder(tmp_path)
    assert len(exchanges) == 21
    assert [name for name, agent in zip(ids(exchanges), agents(exchanges), strict=True) if agent] == ["new"]
    assert problems == ["20 calls stand in more than one log; each was taken once"]


def test_debugging_transcripts_in_the_tree_are_read_and_their_named_copies_taken_once(tmp_path: Path) -> None:  # A17
    rows = [assistant(f"m{n}", usage(3, 100 + n), at=n) for n in range(3)]
    written(tmp_path, *rows)
    place = tmp_path / SESSION / "run-0"
    place.mkdir(parents=True)
    (place / "session.jsonl").write_bytes(lines(*rows))
    bare = [
        {"type": "assistant", "message": row["message"] | {"id": None}, "timestamp": row["timestamp"]} for row in rows
    ]
    (place / "r1_transcript.jsonl").write_bytes(b'{"version":2}\n' + b"".join(map(line, bare)))
    exchanges, problems = folder(tmp_path)
    assert ids(exchanges)[:3] == ["m0", "m1", "m2"]
    assert ids(exchanges)[3:] == [None] * 3  # nothing here says that they are copies: their counters do, in usage
    assert "3 calls stand in more than one log; each was taken once" in problems
    assert "1 record without a type" in problems


def test_calls_without_a_message_id_are_told_from_copies_by_their_request_id(tmp_path: Path) -> None:
    row = assistant(None, request="req_1")
    written(tmp_path, row)
    written(tmp_path, row, session=OTHER)
    exchanges, problems = folder(tmp_path)
    assert len(exchanges) == 1
    assert problems == ["1 call stands in more than one log; each was taken once"]


def test_the_copies_of_a_fork_are_left_to_the_original_only_when_it_is_read_too() -> None:
    copy = assistant("m1", requestSessionId=OTHER)
    data = lines(user(), copy, assistant("m2"))
    exchanges, problems = read(data, beside=frozenset((f"{OTHER}.jsonl",)))
    assert ids(exchanges) == ["m2"]
    assert problems == ["1 call is a copy of one in the file of the session that made them, and counted there"]
    exchanges, problems = read(data)
    assert ids(exchanges) == ["m1", "m2"]
    assert [exchange.logged and exchange.logged.session for exchange in exchanges] == [OTHER, SESSION]
    assert problems == []


def test_a_sub_agent_is_named_by_its_records_else_by_its_file(tmp_path: Path) -> None:
    place = agent_log(tmp_path, "a1", assistant("m"))
    assert agents(folder(place)[0]) == ["a1"]
    row = assistant("m", isSidechain=True)
    place.write_bytes(lines(row))
    assert agents(folder(place)[0]) == ["a1"]


def test_a_sub_agents_answer_quoted_in_the_main_file_is_a_call_of_its_own() -> None:
    inner = {"type": "assistant", "message": assistant("s")["message"], "timestamp": stamp(2)}
    after = assistant("m2", at=3, parentUuid=ABSENT)
    exchanges, problems = read(lines(user(), assistant("m1"), progress(inner), progress(inner), after))
    assert sorted(zip(ids(exchanges), agents(exchanges), strict=True), key=str) == [
        ("m1", None),
        ("m2", None),
        ("s", "a1"),
    ]
    main = {name: exchange.logged for name, exchange in zip(ids(exchanges), exchanges, strict=True)}
    assert main["m2"] is not None and main["m2"].continues == "m1"
    assert main["s"] is not None and main["s"].continues is None
    assert problems == []


# ------------------------------------------------------------------------------------------ the tree of records


def test_a_rewind_has_two_children_that_continue_the_same_call() -> None:  # G05
    rows = [
        user(uuid="u1", parentUuid=None),
        assistant("m1", uuid="a1", parentUuid="u1"),
        user(uuid="u2", parentUuid="a1"),
        assistant("m2", uuid="a2", parentUuid="u2", at=1),
        user(uuid="u3", parentUuid="a1"),
        assistant("m3", uuid="a3", parentUuid="u3", at=2),
    ]
    exchanges, _ = read(lines(*rows))
    told = [exchange.logged for exchange in exchanges]
    assert [(one.continues, one.messages) for one in told if one] == [(None, 1), ("m1", 3), ("m1", 3)]


def test_a_compaction_continues_what_it_summarised_with_few_messages() -> None:
    rows = [
        user(uuid="u1", parentUuid=None),
        assistant("m1", uuid="a1", parentUuid="u1"),
        compacted(uuid="c", logicalParentUuid="a1"),
        user("This session is being continued", uuid="u2", parentUuid="c", isCompactSummary=True),
        assistant("m2", uuid="a2", parentUuid="u2", at=1),
        user(uuid="u3", parentUuid="a2"),
        assistant("m3", uuid="a3", parentUuid="u3", at=2),
    ]
    exchanges, problems = read(lines(*rows))
    told = [exchange.logged for exchange in exchanges]
    assert [(one.continues, one.messages, one.compacted) for one in told if one] == [
        (None, 1, False),
        ("m1", 1, True),
        ("m2", 3, False),
    ]
    assert problems == []


def test_how_many_messages_a_compaction_kept_cannot_be_told_from_the_tree() -> None:
    kept = compacted(uuid="c", compactMetadata={"preservedMessages": {"uuids": ["u1"]}})
    rows = [user(uuid="u1"), assistant("m1"), kept, user(parentUuid="c"), assistant("m2", at=1)]
    exchanges, _ = read(lines(*rows))
    assert [exchange.logged.messages for exchange in exchanges if exchange.logged] == [1, None]


def test_records_between_two_messages_stand_for_what_is_above_them() -> None:
    between = bookkeeping("attachment", uuid="x", parentUuid="u1", attachment={})
    rows = [user(uuid="u1", parentUuid=None), between, assistant("m", uuid="a", parentUuid="x")]
    (exchange,), _ = read(lines(*rows))
    assert exchange.logged is not None and exchange.logged.messages == 1


# ------------------------------------------------------------------------------------------ requests and failures


def api_request(name: str, *, at: float = 0.0, **changes: Any) -> dict[str, Any]:
    row = {"id": name, "timestamp": stamp(at), "params": {"model": "claude-opus-5-5", "betas": []}}
    return bookkeeping("api-request", **row, keep=0, tail=[], shapeHash="x", cacheControl=[]) | changes


def test_an_older_log_keeps_no_requests_and_says_so() -> None:
    (exchange,), problems = read(lines(user(), assistant("m")))
    assert exchange.request is not None
    assert (exchange.request.body, exchange.request.reason) == (None, NO_REQUEST)
    assert exchange.time is not None and problems == []


def test_a_request_that_is_named_and_not_there_says_so() -> None:
    (exchange,), _ = read(lines(assistant("m", requestRef="gone", requestedModel="claude-opus-5-5")))
    assert exchange.request is not None and exchange.request.reason == NO_RECORD
    assert exchange.logged is not None and exchange.logged.requested == "claude-opus-5-5"


def test_a_call_has_the_time_of_its_request() -> None:
    (exchange,), _ = read(lines(api_request("r", at=1), assistant("m", at=4, requestRef="r")))
    assert exchange.time is not None and timestamp(exchange.time).startswith("2026-11-30T12:00:01")
    assert exchange.logged is not None and exchange.logged.requested == "claude-opus-5-5"


def test_a_failed_request_is_an_exchange_with_the_error_that_the_log_tells_of() -> None:
    body = '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    failure = api_error(at=2, error={"message": body, "status": 529, "requestId": "req_f", "formatted": "529 Over…"})
    rows = [user(), api_request("1", at=1), failure, api_request("2", at=3), assistant("m", at=4, requestRef="2")]
    (failed, answered), problems = read(lines(*rows))
    assert failed.ended == "error" and failed.response is not None and failed.response.error is not None
    error = failed.response.error
    assert (failed.response.status, error.type, error.message) == (529, "overloaded_error", "Overloaded")
    assert error.request_id == "req_f"
    assert answered.logged is not None and answered.logged.failed_attempts == 0
    assert problems == []


def test_a_request_without_an_answer_and_without_a_told_failure_is_unanswered() -> None:
    later = [user(), api_request("2", at=60), api_error(at=61), api_request("3", at=62), assistant("m", requestRef="3")]
    exchanges, _ = read(lines(user(), api_request("1", at=1), *later))
    assert [exchange.ended for exchange in exchanges] == ["unanswered", "error", "completed"]
    assert [exchange.place for exchange in exchanges] == ["log:2", "log:4", "log:7"]


def test_a_failure_whose_request_was_answered_in_the_end_is_an_attempt_of_it() -> None:
    rows = [api_request("1"), api_error(at=1), api_error(at=2), assistant("m", at=3, requestRef="1")]
    (exchange,), _ = read(lines(*rows))
    assert exchange.logged is not None and exchange.logged.failed_attempts == 2


def test_a_failure_after_an_answer_is_none_of_its_attempts() -> None:
    rows = [api_request("1"), assistant("m1", requestRef="1"), user(), api_error(at=2), assistant("m2", at=3)]
    exchanges, _ = read(lines(*rows))
    assert [exchange.logged and exchange.logged.failed_attempts for exchange in exchanges] == [0, 1]


def test_no_message_of_a_request_goes_over_a_compaction() -> None:
    both = message_hash({"role": "user", "content": text("a") + text("b")})
    for between, found in ([], True), ([compacted()], False):
        shape = bookkeeping("api-request-shape", shapeHash="x", shape={})
        rows = [shape, user("a"), *between, user("b"), api_request("1", tail=[both]), assistant("m", requestRef="1")]
        (exchange,), _ = read(lines(*rows))
        assert exchange.request is not None and (exchange.request.body is not None) == found


def test_failures_in_an_older_log_are_attempts_of_the_next_call() -> None:
    rows = [user(), api_error(at=1), api_error(at=2), assistant("m1", at=3), user(), assistant("m2", at=4)]
    exchanges, _ = read(lines(*rows))
    assert [exchange.logged and exchange.logged.failed_attempts for exchange in exchanges] == [2, 0]


def test_what_the_client_said_in_the_place_of_an_answer_is_no_call() -> None:
    rows = [user(), synthetic(), assistant("m0", isApiErrorMessage=True), assistant("m1")]
    assert ids(read(lines(*rows))[0]) == ["m1"]


def test_markers_of_other_tools_are_data_in_a_log_unless_told_otherwise() -> None:
    (place,) = [name for name in captured_logs() if "d9d0df5b" in name and "subagents" not in name]
    marker = {"_elided": True, "chars": 5000, "sha256": "0" * 64}
    data = captured_logs()[place].replace(b'"tools":[', b'"x":%s,"tools":[' % json.dumps(marker).encode(), 1)
    sizes = {}
    for folded in (False, True):
        exchange = next(one for one in read(data, folded=folded)[0] if one.request and one.request.body)
        assert exchange.request is not None
        sizes[folded] = type(exchange.request.body["x"]).__name__
    assert sizes == {False: "dict", True: "Elided"}


def captured_logs() -> dict[str, bytes]:
    from recorded_session import files

    return {name: data for name, data in files(NEWER).items() if name.endswith(".jsonl") and "projects" in name}


# ------------------------------------------------------------------------------------------ odd files


def test_unknown_records_are_passed_over_by_name_and_odd_content_is_empty() -> None:  # A23
    first = [
        bookkeeping("queue-operation", operation="enqueue"),
        bookkeeping("file-history-snapshot", snapshot={}),
        bookkeeping("mode", mode="normal"),
        bookkeeping("ai-title", aiTitle="t"),
        bookkeeping("moon-phase", phase=3),
    ]
    odd = [assistant(f"m{place}", message={"content": content}) for place, content in enumerate((None, 7, {}))]
    exchanges, problems = read(lines(*first, user(), assistant("m"), *odd, user(None)))
    assert ids(exchanges) == ["m", "m0", "m1", "m2"]
    assert [len(blocks(exchange)) for exchange in exchanges] == [1, 0, 0, 0]
    assert problems == [
        "4 records whose content is no text and no list: taken for empty",
        "1 record of the unknown type 'moon-phase' passed over",
    ]


def test_a_thousand_invented_types_are_three_sentences_and_a_number() -> None:
    rows = [bookkeeping(f"kind-{number}") for number in range(2000)]
    _, problems = read(lines(*rows))
    assert len(problems) == 4
    assert problems[-1] == "1997 records of more unknown types passed over"


def test_a_line_that_cannot_be_read_costs_itself_only() -> None:
    data = lines(assistant("m1")) + b'{"type":"assistant","mess\n' + b"\xff\xfe\n" + lines(assistant("m2"))
    exchanges, problems = read(data)
    assert ids(exchanges) == ["m1", "m2"]
    assert [problem.split(" (")[0] for problem in problems] == ["line 2 is not readable", "line 3 is not readable"]


def test_lone_surrogates_are_text_like_any_other() -> None:
    row = json.dumps(assistant("m\ud800", content=text("a\ud83d"), sessionId="s\udfff")).encode()
    (exchange,), problems = read(row + b"\n")
    assert exchange.response is not None and exchange.response.content[0]["text"] == "a\ud83d"
    assert ids([exchange]) == ["m\ud800"] and problems == []


DEEP = b"[" * 100_000 + b"]" * 100_000
HOSTILE = {
    "a record that is its own parent": line(assistant("m", uuid="u", parentUuid="u")),
    "parents in a circle": line(assistant("m", uuid="u", parentUuid="v")) + line(user(uuid="v", parentUuid="u")),
    "a parent that is a list": line(assistant("m", uuid="u", parentUuid=[[1]])),
    "a compaction below a list": line(compacted(logicalParentUuid=["u"], uuid={})) + line(assistant("m")),
    "ids of wrong types": line(assistant("m", uuid=[], requestId={}, sessionId=3, agentId=[], requestRef={}))
    + line(assistant("m", uuid={}, timestamp=5, isSidechain="yes", apiBlockIndex=[])),
    "an id that is an object": line(assistant("m", message={"id": {}, "model": [], "stop_reason": {}})),
    "a usage of wrong types": line(assistant("m", usage(3, "x", more=[])))
    + line(assistant("m", {"output_tokens": []})),
    "content as deep as can be": line(assistant("m", content="DEEP")).replace(b'"DEEP"', DEEP)
    + line(assistant("m", content=[{"type": "tool_use", "input": "DEEP"}], stop=None)).replace(b'"DEEP"', DEEP),
    "requests as deep as can be": line(
        api_request("r", tail=["DEEP"], base="DEEP", params="DEEP", shapeHash="DEEP")
    ).replace(b'"DEEP"', DEEP)
    + line(api_request("q", id="DEEP")).replace(b'"DEEP"', DEEP)
    + line(bookkeeping("api-request-blob", hash="h", message={"content": "DEEP"})).replace(b'"DEEP"', DEEP)
    + line(assistant("m", requestRef="r")),
    "errors of wrong types": line(api_request("r"))
    + line(api_error(error=[]))
    + line(api_request("q"))
    + line(api_error(error={"message": "529 {[", "status": "x", "requestId": []}, timestamp={})),
    "progress of wrong types": line(progress({}, data=3))
    + line(progress({"message": 1}))
    + line(progress({"type": "assistant", "message": {"usage": {}}, "parentUuid": {}})),
    "times that are none": line(assistant("m", timestamp="2026-99-99T00:00:00Z"))
    + line(api_request("r", timestamp=[])),
    "values instead of records": b'3\n[]\n"{}"\nnull\ntrue\n',
    "a type that is a list": line(bookkeeping("x") | {"type": ["assistant"], "message": {"usage": {}}}),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_nothing_that_a_line_holds_stops_the_reading(data: bytes) -> None:
    exchanges, _ = read(data + lines(assistant("whole", at=9)))
    assert "whole" in ids(exchanges)


MEMBERS = [
    "type",
    "subtype",
    "message",
    "id",
    "uuid",
    "parentUuid",
    "requestId",
    "requestRef",
    "usage",
    "content",
    "base",
]
MEMBERS += [
    "tail",
    "keep",
    "shapeHash",
    "hash",
    "shape",
    "params",
    "cacheControl",
    "timestamp",
    "error",
    "data",
    "agentId",
]
KINDS = ["assistant", "user", "system", "api_error", "compact_boundary", "x", *sorted(KNOWN)]
OBJECTS = st.recursive(
    values | st.sampled_from([*KINDS, "1", "2"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS) | keys, inner, max_size=6),
    max_leaves=20,
)
RECORDS = st.dictionaries(st.sampled_from(MEMBERS), OBJECTS).flatmap(
    lambda record: st.builds(lambda kind: record | {"type": kind}, st.sampled_from(KINDS))
)


@settings(max_examples=60)
@given(st.lists(RECORDS | OBJECTS | st.binary(max_size=30), max_size=8))
def test_no_line_of_json_stops_the_reading(rows: list[Any]) -> None:
    encoded = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    exchanges, _ = read(b"\n".join(encoded) + b"\n" + lines(assistant("whole")))
    assert "whole" in ids(exchanges)


# ------------------------------------------------------------------------------------------ real sessions


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Exchange], list[str]]:
    return folder(unpacked(NEWER, tmp_path_factory.mktemp("newer")).logs)


def test_a_real_session_is_read_without_anything_left_over(newer: tuple[list[Exchange], list[str]]) -> None:
    exchanges, problems = newer
    assert problems == ["14 calls are copies of calls in the file of the session that made them, and counted there"]
    assert [exchange.ended for exchange in exchanges].count("completed") == 39
    assert sorted(exchange.ended for exchange in exchanges if exchange.ended != "completed") == [
        "error",
        "unanswered",
        "unanswered",
        "unanswered",
    ]
    assert all(exchange.request is not None and exchange.request.body for exchange in exchanges)


def test_every_answer_of_a_real_session_has_the_counters_that_went_over_the_wire(
    newer: tuple[list[Exchange], list[str]],
) -> None:
    wire = {request["response"].get("message_id"): request for request in captured(NEWER)}
    answered = [exchange for exchange in newer[0] if exchange.ended == "completed"]
    assert len({name for name in ids(answered)}) == 39
    for exchange in answered:
        assert exchange.response is not None and exchange.request is not None
        request = wire[exchange.response.message_id]
        response = request["response"]
        assert spent(exchange) == tuple(response["usage"][name] for name in COUNTERS)
        assert exchange.response.model == response["model"]
        assert exchange.response.stop_reason == response["stop_reason"]
        assert exchange.response.headers["request-id"] == response["headers"]["request-id"]
        assert [block["type"] for block in exchange.response.content] == [one["type"] for one in response["content"]]
        for name, value in exchange.request.headers.items():
            assert request["headers"][name] == value


def test_the_failed_request_of_a_real_session_has_its_error(newer: tuple[list[Exchange], list[str]]) -> None:
    (failed,) = (exchange for exchange in newer[0] if exchange.ended == "error")
    assert failed.response is not None and failed.response.error is not None
    (wire,) = (one["response"] for one in captured(NEWER) if one["response"]["status"] == 529)
    error = failed.response.error
    assert (error.type, error.message, error.request_id) == (
        wire["error"]["type"],
        wire["error"]["message"],
        wire["headers"]["request-id"],
    )


def test_an_older_real_session_tells_the_usage_and_no_sizes(tmp_path: Path) -> None:
    exchanges, problems = folder(unpacked(OLDER, tmp_path).logs)
    assert problems == []
    wire = {request["response"].get("message_id"): request["response"] for request in captured(OLDER)}
    assert len(exchanges) == 19
    for exchange in exchanges:
        assert exchange.request is not None and exchange.response is not None
        assert (exchange.request.body, exchange.request.reason) == (None, NO_REQUEST)
        told = wire[exchange.response.message_id]["usage"]
        assert spent(exchange) == tuple(told[name] for name in COUNTERS)
    told = [exchange.logged for exchange in exchanges]
    assert sum(one.failed_attempts for one in told if one) == 0  # the wire had one: this version did not log it
    assert sum(one.compacted for one in told if one) == 1
    assert {one.agent for one in told if one} == {None, "a0893b5f16925c3bc"}
    sent = {one["response"].get("message_id"): len(one["body"]["messages"]) for one in captured(OLDER)}
    counted = [(exchange.logged.messages, sent[name]) for exchange, name in zip(exchanges, ids(exchanges), strict=True)]
    assert [pair for pair in counted if pair[0] != pair[1]] == [(None, 6)]  # after the compaction
