"""Tees: what goes through comes out identical, whatever the looking does."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.tap import Chunks, RequestTap, ResponseTap


class Reader:
    """Takes what it is fed; raises at one chunk, sees content from another one on."""

    def __init__(self, *, raises_at: int = -1, content_at: int = 1) -> None:
        self.got: list[bytes] = []
        self.raises_at = raises_at
        self.content_at = content_at

    @property
    def saw_content(self) -> bool:
        return len(self.got) >= self.content_at

    def feed(self, chunk: bytes) -> None:
        if len(self.got) == self.raises_at:
            raise MemoryError("no room")
        self.got.append(chunk)


def ticks() -> Iterator[float]:
    yield from map(float, range(1_000))


chunks = st.lists(st.binary(max_size=20), max_size=20)


@given(chunks, st.integers(-1, 20))
def test_any_bytes_in_any_chunks_come_out_as_they_are(given_chunks: list[bytes], raises_at: int) -> None:
    tap = ResponseTap(Reader(raises_at=raises_at))
    for chunk in [*given_chunks, b""]:
        assert tap(chunk) is chunk


@given(chunks)
def test_the_reader_gets_every_byte_in_order(given_chunks: list[bytes]) -> None:
    reader = Reader()
    tap = ResponseTap(reader)
    for chunk in given_chunks:
        tap(chunk)
    assert b"".join(reader.got) == b"".join(given_chunks)
    assert tap.fed == sum(map(len, given_chunks))


def test_a_reader_that_failed_is_left_alone_and_the_failure_is_kept() -> None:
    reader = Reader(raises_at=1)
    tap = ResponseTap(reader)
    assert [tap(chunk) for chunk in (b"a", b"b", b"c", b"")] == [b"a", b"b", b"c", b""]
    assert reader.got == [b"a"]
    assert isinstance(tap.problem, MemoryError)


def test_a_failing_clock_harms_nobody() -> None:
    tap = ResponseTap(Reader(), clock=lambda: 1 / 0)
    assert tap(b"a") == b"a"
    assert isinstance(tap.problem, ZeroDivisionError)


def test_times_of_first_content_and_of_the_last_byte() -> None:
    tap = ResponseTap(Reader(content_at=2), clock=ticks().__next__)
    tap(b"event: ping")
    assert (tap.first_content, tap.last) == (None, 0.0)
    tap(b"event: content")
    tap(b"more")
    assert not tap.ended
    tap(b"")
    assert (tap.first_content, tap.last, tap.ended) == (1.0, 2.0, True)


@pytest.mark.parametrize("stream", [True, False])
def test_a_switch_is_no_callable(stream: bool) -> None:
    assert ResponseTap(Reader(), stream)(b"a") == b"a"
    assert RequestTap(stream)(b"a") == b"a"


def test_another_script_stays_in_charge_of_what_the_client_gets() -> None:
    def doubled(chunk: bytes) -> Chunks:
        return [chunk, chunk]

    reader = Reader()
    tap = ResponseTap(reader, doubled)
    assert tap(b"a") == [b"a", b"a"]
    assert tap(b"") == [b"", b""]
    assert reader.got == [b"a"]


def test_what_another_script_raises_is_still_its_own() -> None:
    def failing(chunk: bytes) -> Chunks:
        raise KeyError("theirs")

    tap = ResponseTap(Reader(), failing)
    with pytest.raises(KeyError, match="theirs"):
        tap(b"a")
    assert tap.problem is None


@given(chunks)
def test_a_streamed_request_is_kept_and_handed_on(given_chunks: list[bytes]) -> None:
    tap = RequestTap()
    for chunk in [*given_chunks, b""]:
        assert tap(chunk) is chunk
    assert tap.body == b"".join(given_chunks)
    assert tap.size == len(tap.body)
    assert tap.ended


def test_a_streamed_request_that_is_too_large_is_not_kept() -> None:
    tap = RequestTap(limit=10)
    assert [tap(b"12345") for _ in range(4)] == [b"12345"] * 4
    assert tap.body is None
    assert tap.size == 20


def test_a_streamed_request_that_could_not_be_kept_is_not_known() -> None:
    tap = RequestTap()
    tap._chunks = None  # type: ignore[assignment]
    assert tap(b"a") == b"a"
    assert tap.body is None
