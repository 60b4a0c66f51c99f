"""Capture files, whole, growing, cut and damaged."""

import secrets
from itertools import pairwise

import pytest
from capture_files import body, end, packed, request, response, start
from hypothesis import given
from hypothesis import strategies as st

from analyzers.exchange import Exchange, Problem
from analyzers.readers import captures
from analyzers.readers.captures import CaptureStream
from analyzers.sizes import request_ledger
from analyzers.wire.jsontext import dump, parse

LINES = [start(), request("a", body()), request("b", body("x" * 900)), response("b"), response("a"), end()]


def read(data: bytes, *cuts: int, being_written: bool = False) -> tuple[list[Exchange], list[Problem]]:
    stream = CaptureStream("f")
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    found = []
    for begin, stop in pairwise(places):
        found += stream.feed(data[begin:stop])
    found += stream.finish(being_written=being_written)
    return found, stream.problems


@pytest.mark.parametrize("pack", [b"".join, lambda lines: packed(*lines)], ids=["plain", "zstd"])
def test_requests_are_joined_with_their_answers(pack) -> None:  # type: ignore[no-untyped-def]
    exchanges, problems = read(pack(LINES))
    assert problems == []
    assert [exchange.place for exchange in exchanges] == ["f:3", "f:2"]
    first = exchanges[0]
    assert first.request is not None and first.response is not None
    assert first.request.recorded == {"model": 16, "messages": 915}
    assert first.model == "claude-haiku-4-5-20251001"
    assert first.response.usage is not None and first.response.usage.total_input_tokens == 24_623
    ledger = request_ledger(first.request)
    assert ledger is not None and ledger.closes and ledger.unexplained == 0


@given(st.lists(st.integers(0, 10_000), max_size=6), st.booleans())
def test_the_pieces_a_file_arrives_in_do_not_matter(cuts: list[int], compressed: bool) -> None:
    data = packed(*LINES) if compressed else b"".join(LINES)
    assert read(data, *cuts) == read(data)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_cut_anywhere_gives_all_lines_before_the_cut(compressed: bool) -> None:
    pieces = [packed(*LINES[:count], last=False) for count in range(len(LINES) + 1)] if compressed else None
    data = packed(*LINES) if compressed else b"".join(LINES)
    ends = (
        [len(piece) for piece in pieces]
        if pieces
        else [len(b"".join(LINES[:count])) for count in range(len(LINES) + 1)]
    )
    for cut in range(len(data)):
        whole = sum(1 for stop in ends[1:] if stop <= cut)
        exchanges, _ = read(data[:cut])
        requests = {"a": whole >= 2, "b": whole >= 3}
        assert len(exchanges) == sum(requests.values())
        answered = [exchange for exchange in exchanges if exchange.response is not None]
        assert len(answered) == (whole >= 4) + (whole >= 5)
        assert all(exchange.ended == "unanswered" for exchange in exchanges if exchange.response is None)


def test_a_torn_line_is_reported_and_not_read() -> None:
    exchanges, problems = read(b"".join(LINES[:3]) + LINES[3][:50])
    assert len(exchanges) == 2
    assert [str(problem) for problem in problems] == [
        "f: line 4 is torn: the file was cut there, all before it was read"
    ]


def test_a_compressed_file_without_its_end_says_so_and_one_still_written_does_not() -> None:
    data = packed(*LINES[:4], last=False)
    assert "cut" in str(read(data)[1][0])
    exchanges, problems = read(data, being_written=True)
    assert problems == []
    assert [exchange.ended for exchange in exchanges] == ["completed", "in_flight"]


def test_damaged_compressed_data_ends_the_file_with_its_place() -> None:
    lines = [start(), *(request(str(n), body(secrets.token_hex(150))) for n in range(200))]
    data = bytearray(packed(*lines))
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    exchanges, problems = read(bytes(data))
    assert 90 < len(exchanges) < 101
    assert len(problems) == 1 and "damaged at byte" in str(problems[0])
    assert abs(len(read(bytes(data), 100, 5000, 5001)[0]) - len(exchanges)) <= 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{broken\n", "not readable"),
        (b'{"kind":"request","id":"z"}\n', "a request line without 'route' was passed over"),
        (b'{"kind":"response","id":"zz","ended":"exploded"}\n', "a response line without"),
        (b'{"kind":"response","ended":"completed"}\n', "without 'id'"),
        (b'{"kind":"weather"}\n', "unknown kind 'weather'"),
        (b"[1]\n", "unknown kind 'None'"),
        (b'{"kind":"start","format":99}\n', "capture format 99"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_and_reading_goes_on(line: bytes, reason: str) -> None:
    exchanges, problems = read(b"".join([LINES[0], line, *LINES[1:]]))
    assert len(exchanges) == 2
    assert [reason in str(problem) for problem in problems] == [True]


def test_unknown_members_and_notes_are_no_problem() -> None:
    extra = LINES[1].replace(b'{"kind":"request"', b'{"kind":"request","new":{"a":1}')
    exchanges, problems = read(b"".join([LINES[0], extra, b'{"kind":"note","sha256":"ab","tokens":3}\n', *LINES[2:]]))
    assert (len(exchanges), problems) == (2, [])


def test_an_answer_without_its_request_stands_alone() -> None:
    (exchange,), problems = read(start() + response("late") + end())
    assert exchange.request is None and exchange.response is not None
    assert problems == []


def test_lost_records_are_told() -> None:
    _, problems = read(b"".join(LINES[:-1]) + end(lost=3))
    assert str(problems[0]) == "f: 3 records could not be written when it was recorded"


def test_unmatched_flows_are_counted_by_name() -> None:
    stream = CaptureStream("f")
    stream.feed(start() + end(**{"GET /v1/models": 2}))
    assert stream.unmatched == {"GET /v1/models": 2}


def test_one_very_long_line_is_read_in_linear_time() -> None:
    line = request("a", body("x" * 3_000_000), fold_over=-1)
    stream = CaptureStream("f")
    for place in range(0, len(line), 100):
        stream.feed(line[place : place + 100])
    (exchange,) = stream.finish()
    assert exchange.request is not None and exchange.request.wire_bytes is not None
    assert exchange.request.wire_bytes > 3_000_000


def test_a_file_of_no_bytes_is_no_exchange() -> None:
    assert read(b"") == ([], [])


def test_user_data_that_looks_like_a_marker_keeps_its_own_size() -> None:
    call = b'{"type":"tool_use","id":"t","name":"n","input":{"_elided":true,"chars":9}}'
    raw = b'{"messages":[{"role":"user","content":[' + call + b"]}]}"
    (exchange,), _ = read(start() + request("a", raw) + response("a"))
    assert exchange.request is not None
    ledger = request_ledger(exchange.request)
    assert ledger is not None and ledger.closes
    assert ledger.fields[0].rows[0].size == 1 + len("_elidedtruechars9")


def test_a_line_longer_than_any_record_is_left_out_without_being_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captures, "LINE_LIMIT", 5_000)
    stream = CaptureStream("f")
    found = stream.feed(start())
    for _ in range(50):
        found += stream.feed(b"x" * 1_000)
        assert len(stream._rest) <= 6_000
    found += stream.feed(b"\n" + request("a", body()) + response("a") + end())
    assert [exchange.ended for exchange in found] == ["completed"]
    assert [str(problem) for problem in stream.problems] == ["f: line 2 is longer than any record and was passed over"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("figures", {"fields": 5, "total": 1}),
        ("figures", {"fields": {"a": "b"}, "total": 1}),
        ("figures", {"fields": {"a": 1}, "total": "x"}),
        ("figures", [1]),
        ("time", "0001-01-01T00:00:00+14:00"),
        ("time", "9999-12-31T23:59:59.999999-14:00"),
        ("time", "1e9"),
        ("time", 5),
        ("notes", 7),
        ("notes", [7]),
        ("unparsed", "x"),
        ("headers", 3),
    ],
)
def test_a_request_line_with_a_member_of_the_wrong_kind_costs_that_line_only(name: str, value: object) -> None:
    line = parse(LINES[1]).value | {"id": "odd", name: value}
    exchanges, problems = read(b"".join([LINES[0], dump(line) + b"\n", *LINES[1:]]))
    assert len(exchanges) == 2
    assert [str(problem) for problem in problems] == [
        "f: line 2: a request line with a member of the wrong kind was passed over"
    ]


@pytest.mark.parametrize(("name", "value"), [("model", 5), ("model", ["x"]), ("error", 3), ("usage", 4), ("time", "x")])
def test_an_answer_with_a_member_of_the_wrong_kind_leaves_its_request_unanswered(name: str, value: object) -> None:
    line = parse(LINES[4]).value | {name: value}
    exchanges, _ = read(b"".join([*LINES[:4], dump(line) + b"\n", LINES[5]]))
    assert sorted(exchange.ended for exchange in exchanges) in (["completed", "unanswered"], ["completed", "completed"])
