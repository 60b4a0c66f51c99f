"""AWS event-stream frames: read when sound, dropped when damaged, and found again behind damage."""

from binascii import crc32
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.wire.eventstream import MOST_BYTES, Frame, FrameDecoder


def frame(headers: dict[str, str], payload: bytes = b"", extra: bytes = b"") -> bytes:
    block = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + len(value).to_bytes(2) + value.encode()
        for name, value in headers.items()
    )
    block += extra
    prelude = (16 + len(block) + len(payload)).to_bytes(4) + len(block).to_bytes(4)
    message = prelude + crc32(prelude).to_bytes(4) + block + payload
    return message + crc32(message).to_bytes(4)


def read(*chunks: bytes) -> tuple[list[Frame], list[str]]:
    decoder = FrameDecoder()
    found = [one for chunk in chunks for one in decoder.feed(chunk)]
    decoder.finish()
    return found, [note.code for note in decoder.notes()]


ONE = frame({":event-type": "chunk", ":message-type": "event"}, b'{"bytes":"e30="}')
TWO = frame({":exception-type": "throttlingException", ":message-type": "exception"}, b'{"message":"slow down"}')
FRAMES = [
    Frame({":event-type": "chunk", ":message-type": "event"}, b'{"bytes":"e30="}'),
    Frame({":exception-type": "throttlingException", ":message-type": "exception"}, b'{"message":"slow down"}'),
]


def test_the_published_empty_message() -> None:
    """The vector `empty_message` of the AWS SDKs' test suite."""
    assert read(bytes.fromhex("000000100000000005c248eb7d98c8ff")) == ([Frame({}, b"")], [])


def test_frames_cut_at_every_place() -> None:
    stream = ONE + TWO
    for at in range(len(stream) + 1):
        assert read(stream[:at], stream[at:]) == (FRAMES, [])


def test_headers_of_all_types_are_passed_over() -> None:
    extra = b"".join(
        b"\x01" + bytes([97 + kind]) + bytes([kind]) + value
        for kind, value in [
            *((0, b""), (1, b""), (2, b"x"), (3, b"xx"), (4, b"xxxx"), (5, b"x" * 8)),
            *((6, b"\x00\x03xxx"), (8, b"x" * 8), (9, b"x" * 16)),
        ]
    )
    assert read(frame({"name": "v"}, b"p", extra)) == ([Frame({"name": "v"}, b"p")], [])


def test_a_frame_that_fails_its_checksum_is_dropped_and_the_next_is_read() -> None:
    spoiled = bytearray(ONE)
    spoiled[-8] ^= 1
    assert read(bytes(spoiled) + TWO) == (FRAMES[1:], ["frame_corrupt"])


def test_headers_that_do_not_add_up_are_damage() -> None:
    assert read(frame({}, b"", b"\x09name\x07\xff\xffx") + TWO) == (FRAMES[1:], ["frame_corrupt"])
    assert read(frame({}, b"", b"\x01a\x0a\x00\x00") + TWO) == (FRAMES[1:], ["frame_corrupt"])


def test_bytes_between_frames_are_skipped_and_counted() -> None:
    decoder = FrameDecoder()
    assert decoder.feed(ONE + b"noise" + TWO) == FRAMES
    assert decoder.notes()[0].detail.startswith("5 bytes")


def test_a_damaged_prelude_leads_to_the_next_frame() -> None:
    spoiled = bytearray(ONE)
    spoiled[2] ^= 1
    for at in range(0, len(spoiled) + len(TWO), 5):
        stream = bytes(spoiled) + TWO
        assert read(stream[:at], stream[at:]) == (FRAMES[1:], ["frame_bytes_skipped"])


def test_a_length_beyond_all_bounds_is_not_waited_for() -> None:
    prelude = (MOST_BYTES + 1).to_bytes(4) + bytes(4)
    assert read(prelude + crc32(prelude).to_bytes(4) + ONE) == (FRAMES[:1], ["frame_bytes_skipped"])


@pytest.mark.parametrize("keep", [1, 11, 12, len(TWO) - 1])
def test_a_cut_frame_is_told(keep: int) -> None:
    assert read(ONE + TWO[:keep]) == (FRAMES[:1], ["frame_incomplete"])


pieces = st.lists(st.sampled_from([ONE, TWO, b"noise", ONE[:20], b"\x00" * 13, b""]), max_size=6).map(b"".join)


@given(pieces | st.binary(), st.lists(st.integers(0, 400), max_size=5))
def test_how_the_stream_was_cut_never_shows(stream: bytes, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    assert read(*(stream[a:b] for a, b in pairwise(bounds))) == read(stream)
