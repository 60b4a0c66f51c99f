"""The fast way through session files: it gives the calls that reading every record gives, however a file is cut up."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_logs import (
    ABSENT,
    BEGIN,
    Row,
    agent_log,
    api_error,
    assistant,
    bookkeeping,
    cost_state,
    lines,
    linked,
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

from analyzers.calls import Call, merged
from analyzers.exchange_calls import calls_of
from analyzers.readers import claude_scan, claude_usage
from analyzers.readers.claude_code import read_session
from analyzers.readers.claude_scan import scan, segments
from analyzers.readers.claude_usage import read_segment
from analyzers.readers.claude_values import is_placeholder
from analyzers.readers.source import Source
from analyzers.spent import Spent

FILE = "s.jsonl"


def fast(place: Path, **how: Any) -> tuple[list[Call], list[str]]:
    found = list(scan([str(place)], place.stat().st_size, **how))
    return merged(call for part in found for call in part.calls), [
        problem.text for part in found for problem in part.problems
    ]


def slow(place: Path) -> tuple[list[Call], list[str]]:
    source = Source(io.BytesIO(place.read_bytes()), str(place), str(place))
    calls = merged(call for exchange in read_session(source) for call in calls_of(exchange))
    return calls, [problem.text for problem in source.problems]


def told(calls: Sequence[Call]) -> list[tuple[Any, ...]]:
    """What both ways tell of calls."""
    return sorted(
        (
            (
                call.message_id or "", call.request_id or "", call.time, call.session, call.model, call.requested,
                call.state, call.spent, call.billed, call.rows, call.attempts, call.failed_attempts,
                call.agent is not None or call.sidechain,
            )
            for call in calls
        ),
        key=repr,
    )  # fmt: skip


def written(folder: Path, content: bytes) -> Path:
    place = folder / FILE
    place.write_bytes(content)
    return place


def both(folder: Path, content: bytes) -> list[Call]:
    """The calls of a file, which both ways agree on."""
    place = written(folder, content)
    calls = fast(place)[0]
    assert told(calls) == told(slow(place)[0])
    return calls


def spent(calls: Sequence[Call]) -> list[tuple[int | None, ...]]:
    return [(one.spent.fresh, one.spent.written, one.spent.read, one.spent.output) for one in calls]


# The published cases, by both ways


def test_a01_one_call_for_its_records(tmp_path: Path) -> None:
    rows = [assistant("m1", usage(2, 90, read=15_000, written=800), content=block) for block in (text(), tool_use())]
    (call,) = both(tmp_path, lines(*rows, rows[0]))
    assert (spent([call]), call.rows) == ([(2, 800, 15_000, 90)], 3)


def test_a02_the_final_record_counts_at_the_time_of_the_first(tmp_path: Path) -> None:
    rows = [assistant("m1", usage(2, output), at=n, stop=stop) for n, (output, stop) in
            enumerate([(1, None), (1, None), (412, "tool_use"), (1, None)])]  # fmt: skip
    (call,) = both(tmp_path, lines(*rows))
    assert (call.spent.output, call.time, call.state) == (412, BEGIN.timestamp(), "completed")


@pytest.mark.parametrize("stop", ["end_turn", None, ABSENT])
def test_a02_the_greatest_output_is_the_final_one_whatever_the_order(tmp_path: Path, stop: Any) -> None:
    rows = [assistant("m1", usage(2, output), stop=stop) for output in (1, 300, 7)]
    (call,) = both(tmp_path, lines(*rows))
    assert (call.spent.output, call.state) == (300, "completed")


def test_a02_a_record_with_a_reason_to_stop_is_the_final_one_even_if_its_output_is_smaller(tmp_path: Path) -> None:
    rows = [
        assistant("m1", usage(2, output), stop=stop) for output, stop in ((300, None), (12, "end_turn"), (70, None))
    ]
    (call,) = both(tmp_path, lines(*rows))
    assert (call.spent.output, call.state) == (12, "completed")


def test_a02_a_reason_to_stop_in_a_record_without_usage_ends_the_answer_too(tmp_path: Path) -> None:
    rows = [assistant("m1", usage(2, 5), stop=None), assistant("m1", message={"usage": ABSENT})]
    (call,) = both(tmp_path, lines(*rows))
    assert (call.spent.output, call.state) == (5, "completed")


def test_a_split_that_does_not_add_up_is_completed_and_told_of(tmp_path: Path) -> None:
    split = {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 3}
    (call,) = both(tmp_path, lines(assistant("m1", usage(1, 9, written=10, cache_creation=split))))
    assert (call.spent.written, call.spent.written_5m, call.spent.written_1h) == (10, 7, 3)
    assert "adds up to 5 of 10 tokens" in fast(tmp_path / FILE)[1][0]


def test_a_copied_record_belongs_to_the_session_it_was_made_in(tmp_path: Path) -> None:
    (call,) = both(tmp_path, lines(assistant("m1", requestSessionId="original")))
    assert call.session == "original"


def test_a03_identity(tmp_path: Path) -> None:
    calls = both(
        tmp_path,
        lines(
            assistant("m1", request=ABSENT), assistant("m1", request=ABSENT), assistant("m2", request=ABSENT),
            assistant(None, request="r"), assistant(None, request="r"), assistant(None, request=ABSENT),
            assistant("", request=""), assistant(None, request=None),
        ),
    )  # fmt: skip
    assert sorted((call.message_id, call.request_id) for call in calls if call.message_id) == [
        ("m1", None),
        ("m2", None),
    ]
    assert sum(call.message_id is None and call.request_id is None for call in calls) == 2
    assert len(calls) == 6  # the record whose message id is empty has a request id


@pytest.mark.parametrize(
    ("output", "chars", "stop", "state"),
    [
        (1, 6000, None, "unfinished"),
        (8, 10, None, "unfinished"),
        (9, 10, None, "completed"),
        (8, 10, ABSENT, "completed"),
        (1, 6000, ABSENT, "unfinished"),
        (30, 3000, None, "unfinished"),
        (300, 900, None, "completed"),
        (1, 6000, "end_turn", "completed"),
    ],
)
def test_a04_what_is_a_placeholder(tmp_path: Path, output: int, chars: int, stop: Any, state: str) -> None:
    (call,) = both(tmp_path, lines(assistant("m1", usage(5, output), stop=stop, content=text("x" * chars))))
    assert (call.state, call.spent.output) == (state, output)


@pytest.mark.parametrize("sizes", [(7000, 2000), (2000, 7000), (3000, 3000, 3000), (8000, 10, 10)])
def test_a04_the_blocks_of_an_answer_are_judged_together(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    rows = [assistant("m1", usage(5, 1000), stop=None, content=text(f"{n}" * size)) for n, size in enumerate(sizes)]
    (call,) = both(tmp_path, lines(*rows))
    assert call.state == ("unfinished" if sum(sizes) > 8008 else "completed")


@pytest.mark.parametrize("escaped", [True, False])
def test_a04_text_with_lone_surrogates_is_text_too(tmp_path: Path, escaped: bool) -> None:
    row = assistant("m1", usage(5, 30), stop=None, content=text("\\ud83d" + "x" * 3000))
    content = lines(row).replace(b"\\\\ud83d", b"\\ud83d" if escaped else b"\xed\xa0\xbd")
    assert [call.state for call in both(tmp_path, content)] == ["unfinished"]


def test_a06_iterations_are_billed(tmp_path: Path) -> None:
    passes = [
        {"type": "compaction", "input_tokens": 100, "output_tokens": 131, "cache_creation_input_tokens": 55_000,
         "cache_read_input_tokens": 0, "cache_creation": {"ephemeral_5m_input_tokens": 55_000}},
        {"type": "message", "input_tokens": 229, "output_tokens": 5},
    ]  # fmt: skip
    (call,) = both(tmp_path, lines(assistant("m1", usage(229, 5, iterations=passes))))
    assert call.billed == Spent(329, 55_000, 55_000, 0, 0, 136) and spent([call]) == [(229, 0, 0, 5)]


def test_one_iteration_that_repeats_the_message_changes_nothing(tmp_path: Path) -> None:
    once = usage(3, 10, read=5, written=7, hour=2)
    (plain,) = both(tmp_path, lines(assistant("m1", once)))
    repeated = once | {"iterations": [once | {"type": "message"}]}
    (call,) = both(tmp_path, lines(assistant("m1", repeated)))
    assert call.spent == call.billed == plain.spent == Spent(3, 7, 5, 2, 5, 10)


@pytest.mark.parametrize(
    ("changes", "more", "billed"),
    [
        ({}, [usage(7, 8) | {"type": "compaction"}], Spent(10, 0, 0, 0, 0, 18)),
        ({"output_tokens": 25}, [], Spent(3, 0, 0, 0, 0, 25)),
        ({"input_tokens": 30}, [], Spent(30, 0, 0, 0, 0, 10)),
        ({"cache_read_input_tokens": 5}, [], Spent(3, 0, 0, 0, 5, 10)),
        ({"cache_creation_input_tokens": 5, "cache_creation": None}, [], Spent(3, 5, None, None, 0, 10)),
    ],
)
def test_iterations_that_tell_more_than_the_message_are_billed(
    tmp_path: Path, changes: Row, more: list[Row], billed: Spent
) -> None:
    passes = [usage(3, 10) | {"type": "message"} | changes, *more]
    (call,) = both(tmp_path, lines(assistant("m1", usage(3, 10, iterations=passes))))
    assert (call.billed, call.spent) == (billed, Spent(3, 0, 0, 0, 0, 10))


def test_a15_an_answer_is_a_sub_agent_s_only_if_all_its_records_are(tmp_path: Path) -> None:
    side = {"isSidechain": True, "agentId": "x"}
    rows = [assistant("a", **side), assistant("b", **side), assistant("b"), assistant("c"), assistant("c", **side)]
    calls = both(tmp_path, lines(*rows))
    assert [(call.message_id, call.agent) for call in calls] == [("a", "x"), ("b", None), ("c", None)]


def test_a15_the_file_of_a_sub_agent_names_it(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1"))
    rows = [assistant("m2", agentId=ABSENT)]
    place = agent_log(tmp_path, "x1", *rows)
    for way in (fast(place)[0], slow(place)[0]):
        assert [(call.agent, call.session) for call in way] == [("x1", "00000000-0000-4000-8000-000000000001")]


def test_a15_a_sub_agent_s_record_that_a_progress_record_quotes_is_its_call(tmp_path: Path) -> None:
    place = written(tmp_path, lines(assistant("m1"), progress(assistant("a", usage(10, 100)), "x"), progress(user())))
    calls = fast(place)[0]
    assert [(call.message_id, call.agent, call.spent.fresh) for call in calls] == [("m1", None, 3), ("a", "x", 10)]


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("null", None), ('"12"', None), ("-3", None), ("true", None), ("7.5", None), ("{}", None), ("[1]", None),
        ("7.0", 7), ("1e3", 1000), ("0", 0), ("-0", 0), ("1" + "0" * 29, 10**29), (str(2**53 + 1), 2**53 + 1),
        (str(2**63), 2**63), (str(2**64), 2**64), ("1e400", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", range(4))
def test_a18_odd_counters(tmp_path: Path, place: int, value: str, count: int | None) -> None:
    name = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")[place]
    content = lines(assistant("m1", usage(1, 2, read=3, written=0, cache_creation=ABSENT) | {name: "ODD"}))
    (call,) = both(tmp_path, content.replace(b'"ODD"', value.encode()))
    expected: list[int | None] = [1, 0, 3, 2]
    expected[place] = count
    assert spent([call]) == [tuple(expected)]


@pytest.mark.parametrize("usage_", [None, ABSENT, [], "x", 5])
def test_an_answer_without_usage_is_a_call_of_unknown_cost(tmp_path: Path, usage_: Any) -> None:
    (call,) = both(tmp_path, lines(assistant("m1", message={"usage": usage_})))
    assert (call.spent, call.state) == (Spent(), "completed")


def test_a23_odd_content(tmp_path: Path) -> None:
    rows = [assistant(f"m{n}", usage(n, 20), message={"content": odd}) for n, odd in enumerate((None, 0, {}, "x", []))]
    assert len(both(tmp_path, lines(bookkeeping("never-heard-of"), *rows, user(None), user(5)))) == 5


# What is no call


def test_usage_in_a_user_s_record_is_not_counted(tmp_path: Path) -> None:
    quoted = json.dumps(assistant("m9"), default=str)
    rows = [tool_result(quoted), tool_result("x", toolUseResult={"usage": usage(), "agentId": "a"}), user('"usage"')]
    assert both(tmp_path, lines(*rows)) == []


def test_records_of_the_client_itself(tmp_path: Path) -> None:
    place = written(tmp_path, lines(synthetic(), assistant("m1"), assistant("e", isApiErrorMessage=True)))
    (found,) = scan([str(place)], 0)
    assert ([call.message_id for call in found.calls], found.synthetic) == (["m1"], 2)
    assert told(found.calls) == told(slow(place)[0])


def test_failures_count_for_the_call_that_follows(tmp_path: Path) -> None:
    rows = [assistant("m1"), api_error(), api_error(attempt=2), assistant("m2"), assistant("m2"), assistant("m3")]
    calls = both(tmp_path, lines(*rows))
    assert [(call.message_id, call.attempts, call.failed_attempts) for call in calls] == [
        ("m1", 1, 0),
        ("m2", 3, 2),
        ("m3", 1, 0),
    ]


def test_failures_at_the_end_of_a_file_are_not_those_of_the_next_file(tmp_path: Path) -> None:
    first = log(tmp_path, assistant("m1"), api_error(), session="s1")
    second = log(tmp_path, assistant("m2"), session="s2")
    found = list(scan([str(first), str(second)], 0))
    assert [call.failed_attempts for part in found for call in part.calls] == [0, 0]


def test_a_text_about_failures_is_no_failure(tmp_path: Path) -> None:
    rows = [user('a "api_error"'), b'["api_error", "cost-state"]\n', b'"api_error"\n', b"{}\n"]
    (call,) = fast(written(tmp_path, lines(*rows, assistant("m1"))))[0]
    assert call.failed_attempts == 0


def test_the_client_s_own_totals_are_the_last_ones(tmp_path: Path) -> None:
    early = cost_state(inputTokens=1)
    late = cost_state(inputTokens=126, outputTokens=42, cacheReadInputTokens=7, cacheCreationInputTokens=5)
    (found,) = scan([str(written(tmp_path, lines(early, assistant("m1"), late)))], 0)
    ((session, totals),) = found.own_totals.items()
    assert session.endswith("1") and totals == Spent(126, 5, None, None, 7, 42, None)


# How lines are written


def respaced(rows: Sequence[Row | bytes], separators: tuple[str, str], ascii_only: bool, seed: int) -> bytes:
    """The rows with other blanks and other key orders."""
    order = random.Random(seed)

    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            items = [(key, shuffled(member)) for key, member in value.items()]
            order.shuffle(items)
            return dict(items)
        return [shuffled(member) for member in value] if isinstance(value, list) else value

    out = []
    for row in linked(rows):
        if isinstance(row, bytes):
            out.append(row)
        else:
            made = json.dumps(shuffled(row), separators=separators, ensure_ascii=ascii_only)
            out.append(made.encode("utf-8", "surrogatepass") + b"\n")
    return b"".join(out)


SPACES = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : "), (",\r", "\t:\t")])


def test_blanks_and_the_order_of_keys_do_not_matter(tmp_path: Path) -> None:
    rows = [user(), assistant("m1", usage(1, 20, read=3, written=9, hour=4)), api_error(), assistant("m2", at=3)]
    plain = told(both(tmp_path, lines(*rows)))
    for separators in ((", ", ": "), (" , ", " : "), (",\t", "\t:\r")):
        for seed in range(3):
            assert told(both(tmp_path, respaced(rows, separators, True, seed))) == plain


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \t\r\n", b"\n\n\r\n"])
@pytest.mark.parametrize("begin", [b"", b"\xef\xbb\xbf", b"\n", b"\xef\xbb\xbf\r\n"])
def test_ends_of_lines_and_a_byte_order_mark(tmp_path: Path, begin: bytes, end: bytes) -> None:
    content = lines(assistant("m1"), user(), assistant("m2"), tool_result("x"), assistant("m3"))
    place = written(tmp_path, begin + content.replace(b"\n", end).removesuffix(end))
    calls, problems = fast(place)
    assert (len(calls), problems) == (3, [])
    assert told(calls) == told(slow(place)[0])


@pytest.mark.parametrize("cut", [1, 40, 300])
def test_torn_lines_are_told_of_and_the_others_are_read(tmp_path: Path, cut: int) -> None:
    torn = lines(assistant("m2"))[:-cut]
    content = lines(assistant("m1")) + torn + b"\n" + lines(user())[: -cut % 90] + b"\n" + lines(assistant("m3"))
    place = written(tmp_path, content if cut > 1 else content + torn[:-7])
    calls, problems = fast(place)
    assert {call.message_id for call in calls} >= {"m1", "m3"}
    assert told(calls) == told(slow(place)[0])
    assert any("not readable" in problem and f"{place}:" in problem for problem in problems)


def test_lines_over_the_limit_are_passed_over_with_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_usage, "LINE_LIMIT", 2000)
    content = lines(assistant("m1"), snapshot(5000), assistant("m2", content=text("x" * 9000)), snapshot(1000),
                    assistant("m3"))  # fmt: skip
    place = written(tmp_path, content)
    calls, problems = fast(place)
    assert [call.message_id for call in calls] == ["m1", "m3"]
    assert len(problems) == 1 and problems[0].startswith("2 lines longer than") and f"{place}:2" in problems[0]


# Random files


COUNTERS = st.sampled_from([0, 1, 8, 9, 500, None, ABSENT, "12", -3, True, 7.0, 2**53 + 1, 10**29, 1e300, [], {}])
PLAIN = st.sampled_from([0, 1, 8, 9, 500])
PASSES = st.sampled_from(
    [
        [],
        None,
        ABSENT,
        [usage(1, 2) | {"type": "message"}],
        [usage(1, 2) | {"type": "compaction"}, {"type": "message", "input_tokens": 3, "output_tokens": 4}],
        [{"type": "message"}, usage() | {"type": "fallback_message", "model": "m"}],
        "odd",
        [1],
    ]
)
SPLITS = st.sampled_from(
    [
        ABSENT,
        None,
        {},
        {"ephemeral_5m_input_tokens": 9},
        {"ephemeral_1h_input_tokens": 3},
        7,
        {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 1},
    ]
)
THINKING = st.sampled_from([ABSENT, None, {}, {"thinking_tokens": 3}, {"thinking_tokens": "x"}, []])
TEXTS = st.sampled_from(["", "yes", "x" * 90, "x" * 5000, "\ud83d", "🙂é\u2028", '"usage":{"input_tokens":5}', "\x00"])


@st.composite
def usages(draw: st.DrawFn) -> Any:
    counters = PLAIN if draw(st.booleans()) else COUNTERS
    made = usage(0, 0) | {
        "input_tokens": draw(counters),
        "output_tokens": draw(counters),
        "cache_creation_input_tokens": draw(counters),
        "cache_read_input_tokens": draw(counters),
        "cache_creation": draw(SPLITS),
        "iterations": draw(PASSES),
        "output_tokens_details": draw(THINKING),
    }
    return {name: value for name, value in made.items() if value is not ABSENT}


@st.composite
def answers(draw: st.DrawFn) -> Row:
    name = draw(st.sampled_from(["m1", "m2", "m3", None]))
    return assistant(
        name,
        draw(usages()),
        at=draw(st.sampled_from([0.0, 0.4, 1.0, 90.0])),
        content=draw(st.sampled_from([[], None]) | TEXTS.map(text) | TEXTS.map(lambda of: tool_use(command=of))),
        stop=draw(st.sampled_from(["end_turn", None, ABSENT])),
        request=draw(st.sampled_from([f"req_{name or 'm1'}", "req_9" if name is None else ABSENT, ABSENT, None])),
        model=draw(st.sampled_from(["claude-a", "claude-b", "<synthetic>"])),
        isSidechain=draw(st.sampled_from([True, False, ABSENT])),
        requestedModel=draw(st.sampled_from(["claude-a", ABSENT])),
        message=draw(st.sampled_from([{}, {}, {}, {"usage": None}, {"usage": ABSENT}, {"usage": "odd"}])),
    )


OTHERS = st.sampled_from(
    [
        user(), tool_result("x", toolUseResult={"usage": usage()}), snapshot(), bookkeeping("mode", mode="normal"),
        synthetic(), api_error(), b"\n", b"torn\n", b'{"type":"assistant","message":{"usage":{"inpu\n', b"[]\n",
        bookkeeping("assistant-like", message={"usage": usage()}), assistant("e", isApiErrorMessage=True),
    ]
)  # fmt: skip


def without_doubt(rows: list[Row | bytes]) -> list[Row | bytes]:
    """Failures only where there is one thread: the fast way does not ask whose they were."""
    told_apart = any(isinstance(row, dict) and row.get("isSidechain") is True for row in rows)
    return [row for row in rows if not (told_apart and isinstance(row, dict) and row.get("subtype") == "api_error")]


FILES = st.lists(answers() | OTHERS, max_size=9).map(without_doubt)


@given(FILES, SPACES, st.booleans(), st.integers(0, 99), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_both_ways_give_the_same_calls(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row | bytes], separators: tuple[str, str], ascii_only: bool,
    seed: int, end: bytes, bom: bool,
) -> None:  # fmt: skip
    content = respaced(rows, separators, ascii_only, seed).replace(b"\n", end)
    both(tmp_path_factory.mktemp("files"), b"\xef\xbb\xbf" + content if bom else content)


# Cut into segments, and read by several processes


def small_rows() -> list[Row | bytes]:
    return [
        user("é" * 20),
        assistant("m1", usage(1, 1), stop=None, content=text("é")),
        assistant("m1", usage(1, 90), at=2),
        api_error(at=3),
        api_error(at=3, attempt=2),
        assistant("m2", usage(2, 20, read=4), at=4),
        assistant("m3", usage(3, 30), at=5, request=ABSENT),
        b"\n",
        assistant(None, usage(4, 40), at=6),
        user(),
        assistant("m2", usage(2, 20, read=4), at=7),
    ]


def test_a_file_cut_at_any_byte_gives_the_same_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = written(tmp_path, lines(*small_rows()))
    whole = told(fast(place)[0])
    size = place.stat().st_size
    assert len(whole) == 4
    for cut in range(1, size):
        parts = [claude_usage.Segment(str(place), 0, cut), claude_usage.Segment(str(place), cut, size)]
        monkeypatch.setattr(claude_scan, "segments", lambda files, parts=parts: parts)
        found = list(scan([], 0))
        calls = merged(call for part in found for call in part.calls)
        assert told(calls) == whole, cut
        assert sum(part.lines for part in found) == len(small_rows())
        assert not any(part.problems for part in found)


@pytest.mark.parametrize("size", [1, 2, 50, 333, 1000])
def test_segments_of_any_size_give_the_same_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    place = written(tmp_path, lines(*small_rows()))
    whole = told(fast(place)[0])
    monkeypatch.setattr(claude_scan, "SEGMENT", size)
    parts = list(segments([str(place)]))
    assert [parts[0].start, parts[-1].end] == [0, place.stat().st_size]
    assert all(a.end == b.start for a, b in pairwise(parts))
    assert told(fast(place)[0]) == whole


def test_a_run_of_copies_is_one_run(tmp_path: Path) -> None:
    rows = [assistant(f"m{n}", usage(n, 20), at=0.1 * n) for n in range(4)]
    place = written(tmp_path, lines(*rows))
    (found,) = scan([str(place)], 0)
    assert found.runs == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("times", "runs"),
    [
        ((0.0, 0.4, 0.9, 1.0, 1.1), [[0, 1, 2, 3]]),
        ((0.9, 1.1), [[0, 1]]),
        ((0.0, 1.1, 2.2), []),
        ((5.0, 0.0, 0.5), [[1, 2]]),
        ((0.0, 0.5, 60.0, 60.0), [[0, 1], [2, 3]]),
    ],
)
def test_runs_are_calls_within_a_second(tmp_path: Path, times: tuple[float, ...], runs: list[list[int]]) -> None:
    place = written(tmp_path, lines(*(assistant(f"m{n}", at=at) for n, at in enumerate(times))))
    (found,) = scan([str(place)], 0)
    assert found.runs == runs


def test_several_processes_give_what_one_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_scan, "SEGMENT", 700)
    monkeypatch.setattr(claude_scan, "START", "spawn")  # the test runner has threads
    passes = [usage() | {"type": "message"}]
    odd = [assistant("odd", usage(10**29, 3)), assistant("p", usage(1, 2, iterations=passes))]
    one = written(tmp_path, lines(*small_rows(), *odd, cost_state(inputTokens=3), b"torn\n", synthetic()))
    two = log(tmp_path, assistant("other"), assistant(None, request=ABSENT, timestamp="never"))
    together = list(scan([str(one), str(two)], 0, processes=2))
    assert together == list(scan([str(one), str(two)], 0, processes=1))
    assert sum(part.size for part in together) == one.stat().st_size + two.stat().st_size
    assert len(together) > 4 and sum(len(part.calls) for part in together) > 6


def test_places_name_the_file_and_the_line_or_the_part(tmp_path: Path) -> None:
    place = written(tmp_path, lines(user(), assistant("m1"), assistant("m2")))
    (found,) = scan([str(place)], 0)
    assert [call.place for call in found.calls] == [f"{place}:2", f"{place}:3"]
    middle = place.stat().st_size - 1000
    first, second = (read_segment(claude_usage.Segment(str(place), *part)) for part in ((0, middle), (middle, 10_000)))
    assert [call.place for call in first.calls] == [f"{place}:2"]
    assert [call.place for call in second.calls] == [f"{place}, line 1 after byte {middle}"]


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    found = read_segment(claude_usage.Segment(str(tmp_path / "gone.jsonl"), 0, 10))
    assert found.calls == [] and [problem.text for problem in found.problems] == [
        "cannot be read (No such file or directory)"
    ]


def test_an_empty_file_has_no_calls(tmp_path: Path) -> None:
    assert fast(written(tmp_path, b"")) == ([], [])


def test_times_without_a_zone_are_unknown(tmp_path: Path) -> None:
    stamps = ["2026-11-30T12:00:00", "never", 5, None, "2026-11-30T13:00:00+01:00", stamp(0)]
    rows = [assistant(f"m{n}", timestamp=value) for n, value in enumerate(stamps)]
    calls = {call.message_id: call.time for call in both(tmp_path, lines(*rows))}
    assert calls == dict.fromkeys([f"m{n}" for n in range(4)]) | {"m4": BEGIN.timestamp(), "m5": BEGIN.timestamp()}


@pytest.mark.parametrize(
    ("output", "chars", "asked", "placeholder"),
    [(None, 0, True, True), (8, 0, True, True), (9, 0, True, False), (8, 0, False, False), (100, 808, False, False),
     (100, 809, False, True)],
)  # fmt: skip
def test_what_a_placeholder_is(output: int | None, chars: int, asked: bool, placeholder: bool) -> None:
    assert is_placeholder(Spent(output=output), chars, asked) == placeholder


@pytest.mark.parametrize("depth", [300, 20_000])
def test_depth_costs_no_figure(tmp_path: Path, depth: int) -> None:
    deep = lines(assistant("m2")).replace(b'"content":[', b'"content":[' + b"[" * depth + b"]" * depth + b",", 1)
    (found,) = scan([str(written(tmp_path, lines(assistant("m1")) + deep))], 0)
    assert [call.message_id for call in found.calls] == ["m1", "m2"]
