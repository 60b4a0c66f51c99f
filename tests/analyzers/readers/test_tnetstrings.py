"""tnetstrings: values as mitmproxy's own parser has them, and what is no tnetstring refused."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.io import tnetstring

from analyzers.readers.tnetstrings import FIRST_BLOCK, Frame, Gap, Malformed, frames, parse

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.binary() | st.text("aé🙂"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab") | st.binary(), inner, max_size=3),
    max_leaves=20,
)


def payload(value: dict[Any, Any]) -> bytes:
    return tnetstring.dumps(value).partition(b":")[2][:-1]


def record(**members: Any) -> bytes:
    """What passes for a flow."""
    return tnetstring.dumps({"version": 21, "type": "http", "client_conn": {}} | members)


@given(st.dictionaries(st.text("ab") | st.binary(), values, max_size=4))
def test_values_are_what_mitmproxy_reads(value: dict[Any, Any]) -> None:
    assert parse(payload(value)) == value == tnetstring.loads(tnetstring.dumps(value))


@pytest.mark.parametrize(
    "data",
    [
        b"1:a;",  # a key without a value
        b"1:a;9:1:b,1:c,}",  # a dict longer than there is
        b"1:a;4:1:b,}",  # the same within
        b"1:a;-1:x,",
        b"1:a; 1:x,",
        b"1:a;01:x,",
        b"1:a;1:x?",
        b"1:a;1:x#",
        b"1:a;1:x^",
        b"1:a;1:x!",
        b"1:a;1:x~",
        b"1:a;1:\xff;",
        b"0:]1:x,",  # a list for a key
        b"1:a;999999999999:x,",
        b"1:a;1:x,\n",
        b"1:a;5000:" + b"9" * 5000 + b"#",  # no integer that Python takes
        b"a",
        b":",
    ],
)
def test_what_is_no_tnetstring(data: bytes) -> None:
    with pytest.raises(Malformed):
        parse(data)


def test_a_later_member_of_the_same_name_wins() -> None:
    assert parse(b"1:a;1:1#1:a;1:2#") == {"a": 2}


@given(st.binary(max_size=60))
def test_bytes_of_any_kind_are_a_value_or_refused(data: bytes) -> None:
    with suppress(Malformed):
        assert type(parse(data)) is dict


@pytest.mark.parametrize("around", [FIRST_BLOCK, 3 * FIRST_BLOCK, 7 * FIRST_BLOCK])
def test_a_head_on_the_edge_of_a_block_is_found(around: int) -> None:
    one = record(body="x" * 5000)
    for garbage in range(around - 250, around + 20):
        gap, frame = frames(io.BytesIO(b"\0" * garbage + one))
        assert gap == Gap(0, garbage, last=False)
        assert isinstance(frame, Frame) and (frame.at, frame.size) == (garbage, len(one))


@pytest.mark.parametrize(
    "other",
    [
        tnetstring.dumps({"version": 21, "type": "http"}),
        tnetstring.dumps([{"version": 21}]),
        tnetstring.dumps(
            {f"k{number}": number for number in range(100)} | {"version": 1, "type": "", "client_conn": {}}
        ),
        tnetstring.dumps("text"),
    ],
)
def test_another_tnetstring_is_no_flow(other: bytes) -> None:
    assert list(frames(io.BytesIO(other))) == [Gap(0, len(other), last=True)]


def test_what_an_edited_flow_was_before_is_part_of_it() -> None:
    before = tnetstring.loads(record())
    edited = record(backup=before)
    assert [type(piece) for piece in frames(io.BytesIO(b"x" + edited[1:] + record()))] == [Gap, Frame]


def test_nor_is_it_a_flow_on_the_edge_of_a_block() -> None:
    edited = record(backup=tnetstring.loads(record()))
    for garbage in range(FIRST_BLOCK - 250, FIRST_BLOCK + 20):
        data = b"\0" * garbage + b"x" + edited[1:] + record()
        assert [type(piece) for piece in frames(io.BytesIO(data))] == [Gap, Frame]
