"""Lines of large files: ended by LF only, one at a time, and what is wrong with them told once."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.readers.lines import LIMIT, Lines
from analyzers.readers.source import Source


def read(data: bytes, limit: int = LIMIT) -> tuple[list[tuple[int, bytes]], list[str]]:
    source = Source(io.BytesIO(data), "f", "f")
    lines = Lines(source, limit)
    found = list(lines)
    lines.tell()
    return found, [problem.text for problem in source.problems]


def test_lines_are_numbered_and_blank_ones_left_out() -> None:
    assert read(b"a\n\n  \t\r\n b \nc") == ([(1, b"a"), (4, b"b"), (5, b"c")], [])


def test_only_a_line_feed_ends_a_line() -> None:
    text = "a\u2028b\u0085c\x0bd\x0ce\rf".encode()
    assert read(text + b"\r\nx")[0] == [(1, text), (2, b"x")]


def test_a_byte_order_mark_belongs_to_no_line() -> None:
    mark = b"\xef\xbb\xbf"
    assert read(mark + b"a\nb")[0] == [(1, b"a"), (2, b"b")]
    assert read(mark + b"\nb")[0] == [(2, b"b")]
    assert read(b"a\n" + mark + b"b")[0] == [(1, b"a"), (2, mark + b"b")]


@pytest.mark.parametrize("after", [b"", b"\n", b"\nnext", b"\nnext\n"])
def test_a_line_over_the_limit_is_passed_over_and_told_of(after: bytes) -> None:
    found, problems = read(b"first\n" + b"x" * 11 + after, limit=10)
    assert found == [(1, b"first"), *([(3, b"next")] if b"next" in after else [])]
    assert problems == ["line 2 is not readable (longer than 10 bytes) and was passed over"]


def test_a_line_as_long_as_the_limit_with_its_end_is_whole() -> None:
    assert read(b"123456789\n1234567890\n12", limit=10)[0] == [(1, b"123456789"), (3, b"12")]


def test_the_end_of_an_oversized_line_that_falls_on_the_limit_takes_no_line_with_it() -> None:
    found, problems = read(b"x" * 10 + b"\n" + b"b\n", limit=10)
    assert found == [(2, b"b")] and len(problems) == 1


def test_the_first_few_unreadable_lines_are_named_and_the_others_counted() -> None:
    source = Source(io.BytesIO(b""), "f", "f")
    lines = Lines(source)
    for number in range(1, 6):
        lines.unreadable(number, "torn")
    lines.tell()
    told = [problem.text for problem in source.problems]
    assert told[:3] == [f"line {number} is not readable (torn) and was passed over" for number in (1, 2, 3)]
    assert told[3:] == ["2 more lines are not readable and were passed over"]


def test_a_single_unreadable_line_more_is_said_in_the_singular() -> None:
    source = Source(io.BytesIO(b""), "f", "f")
    lines = Lines(source)
    for number in range(1, 5):
        lines.unreadable(number, "torn")
    lines.tell()
    assert source.problems[-1].text == "1 more line is not readable and was passed over"


@given(st.binary(), st.integers(1, 20))
def test_every_line_is_yielded_or_told_of(data: bytes, limit: int) -> None:
    found, _ = read(data, limit)
    expected = []
    for number, line in enumerate(data.split(b"\n"), 1):
        bare = line.strip(b" \t\r\n")
        whole = len(line) < limit
        if whole and bare and bare != b"\xef\xbb\xbf":
            expected.append((number, bare.removeprefix(b"\xef\xbb\xbf") if number == 1 else bare))
    assert found == expected
