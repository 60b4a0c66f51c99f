"""Server-sent events: the examples and rules of the WHATWG standard, and what servers make of them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.wire.sse import Event, EventDecoder, Flaw


def events(*chunks: bytes, limit: int = 1 << 20) -> list[Event]:
    decoder = EventDecoder(limit)
    found = [event for chunk in chunks for event in decoder.feed(chunk)]
    return found + decoder.finish()


def data(stream: bytes) -> list[bytes]:
    return [event.data for event in events(stream)]


def codes(stream: bytes, limit: int = 1 << 20) -> list[str]:
    decoder = EventDecoder(limit)
    decoder.feed(stream)
    decoder.finish()
    return [note.code for note in decoder.notes()]


# The examples of §9.2.6


def test_the_data_lines_of_an_event_are_joined_by_line_feeds() -> None:
    assert events(b"data: YHOO\ndata: +2\ndata: 10\n\n") == [Event("", (b"YHOO", b"+2", b"10"))]
    assert data(b"data: YHOO\ndata: +2\ndata: 10\n\n") == [b"YHOO\n+2\n10"]


def test_comments_ids_and_one_leading_space() -> None:
    stream = b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"
    assert data(stream) == [b"first event", b"second event", b" third event"]


def test_a_data_field_without_value_counts_as_a_line() -> None:
    assert [event.lines for event in events(b"data\n\ndata\ndata\n\ndata:\n\n")] == [(b"",), (b"", b""), (b"",)]


def test_one_space_after_the_colon_or_none_is_the_same() -> None:
    assert data(b"data:test\n\ndata: test\n\n") == [b"test", b"test"]


# Lines


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_three_line_ends(end: bytes) -> None:
    stream = end.join([b"event: a", b"data: 1", b"data: 2", b"", b"data: 3", b"", b""])
    assert events(stream) == [Event("a", (b"1", b"2")), Event("", (b"3",))]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_three_line_ends_byte_by_byte(end: bytes) -> None:
    stream = end.join([b"event: a", b"data: 1", b"", b"data: 2", b"", b""])
    assert events(*(bytes([byte]) for byte in stream)) == events(stream)


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e"])
def test_other_separators_are_text(inside: str) -> None:
    assert data(f"data: a{inside}b\n\n".encode()) == [f"a{inside}b".encode()]


def test_a_byte_order_mark_is_ignored_once_at_the_start_only() -> None:
    bom = b"\xef\xbb\xbf"
    assert data(bom + b"data: 1\n\n") == [b"1"]
    assert events(bom[:1], bom[1:2], bom[2:] + b"data: 1\n\n") == events(b"data: 1\n\n")
    assert data(bom + bom + b"data: 1\n\ndata: 2\n\n") == [b"2"]


def test_the_event_name_belongs_to_its_event_only() -> None:
    assert [event.name for event in events(b"event: a\ndata: 1\n\ndata: 2\n\n")] == ["a", ""]


def test_names_that_are_no_fields_are_counted() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b"Data: 1\nfoo: 2\nretry: 3\nid: 4\n\n") == []
    assert [note.detail for note in decoder.notes()] == ["2 lines were no field of an event stream"]


def test_keep_alive_comments_are_counted_and_are_no_events() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b": keep-alive\n\n" * 60 + b":\n\n") == []
    assert (decoder.finish(), decoder.comments, decoder.notes()) == ([], 61, [])


# Where the standard drops something


def test_a_last_event_without_its_blank_line_is_flagged() -> None:
    whole = b"data: 1\n\ndata: 2"
    assert events(whole) == [Event("", (b"1",)), Event("", (b"2",), Flaw.UNTERMINATED)]
    assert events(whole + b"\n") == events(whole)
    assert events(whole + b"\n\n") == [Event("", (b"1",)), Event("", (b"2",))]


def test_a_stream_cut_inside_a_name_ends_in_an_event_without_data() -> None:
    assert events(b"data: 1\n\nevent: mess") == [Event("", (b"1",)), Event("", (), Flaw.UNTERMINATED)]
    assert events(b"event: ping\n") == [Event("ping", (), Flaw.UNTERMINATED)]
    assert events(b"data: 1\n\n: keep-al") == [Event("", (b"1",))]


def test_an_event_with_a_name_and_no_data_is_still_told() -> None:
    assert events(b"event: ping\n\n") == [Event("ping", ())]


def test_a_line_of_bare_json_is_an_event_of_its_own() -> None:
    stream = b'data: 1\n\n{"type":"error"}\n\n'
    assert events(stream) == [Event("", (b"1",)), Event("", (b'{"type":"error"}',), Flaw.BARE)]
    assert events(stream.rstrip(b"\n")) == events(stream)


def test_too_long_an_event_is_dropped_and_the_next_is_read() -> None:
    long = b"data: " + b"x" * 300 + b"\n\n"
    many = b"data: 12345678\n" * 40 + b"\n"
    for stream in (long + b"data: 1\n\n", many + b"data: 1\n\n"):
        assert events(stream, limit=200) == [Event("", (b"1",))]
        assert events(*(bytes([byte]) for byte in stream), limit=200) == [Event("", (b"1",))]
        assert codes(stream, limit=200) == ["event_too_long"]


# Characters


TEXT = "data: é ü 日本語 👨‍👩‍👦 \U00020000 end\n\nevent: x\r\ndata: ñ\r\n\r\n"


def test_characters_of_two_three_and_four_bytes_cut_at_every_place() -> None:
    stream = TEXT.encode()
    whole = events(stream)
    assert [event.data.decode() for event in whole] == ["é ü 日本語 👨‍👩‍👦 \U00020000 end", "ñ"]
    for at in range(len(stream) + 1):
        assert events(stream[:at], stream[at:]) == whole


def test_invalid_bytes_become_one_replacement_each_and_are_told() -> None:
    stream = b"data: a\xffb\xe6\x97c\n\n"
    assert data(stream) == ["a\ufffdb\ufffdc".encode()]
    assert codes(stream) == ["invalid_utf8"]
    for at in range(len(stream) + 1):
        assert events(stream[:at], stream[at:]) == events(stream)


def test_valid_text_is_never_flagged() -> None:
    assert codes(TEXT.encode()) == []


lines = st.sampled_from(
    [b"data: {}", b"data:\xe6\x97\xa5", b"event: a", b"", b"", b": c", b"{}", b"x", b"\xef\xbb\xbf", b"data", b"\xff"]
)


@given(st.lists(st.tuples(lines, st.sampled_from([b"\n", b"\r\n", b"\r", b""]))), st.lists(st.integers(0, 60)))
def test_how_the_stream_was_cut_never_shows(parts: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    stream = b"".join(line + end for line, end in parts)
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(bounds)]
    assert events(*chunks) == events(stream)
