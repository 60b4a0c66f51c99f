"""Content codings: what comes out is what went in, however it was cut, labelled or damaged."""

import gzip
import random
import sys
import zlib
from collections.abc import Callable, Iterator

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.wire import encodings
from analyzers.wire.encodings import Decoder, decode
from analyzers.wire.note import Note

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BODY = 'event: ping\ndata: {"type":"ping","text":"日本語 é 👪"}\n\n'.encode() * 40


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


NOISE = random.Random(1).randbytes(400_000)

CODINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
}
each_coding = pytest.mark.parametrize(("label", "pack"), CODINGS.values(), ids=CODINGS)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def decode_in(chunks: Iterator[bytes], label: str | None, limit: int = encodings.DEFAULT_LIMIT) -> encodings.Decoded:
    out: list[bytes] = []
    decoder = Decoder(label, out.append, limit=limit)
    for chunk in chunks:
        decoder.feed(chunk)
    decoder.finish()
    return encodings.Decoded(b"".join(out), decoder.notes)


def codes(notes: tuple[Note, ...]) -> list[str]:
    return [note.code for note in notes]


@each_coding
def test_every_coding_in_chunks_of_seven_bytes(label: str, pack: Callable[[bytes], bytes]) -> None:
    assert decode_in(cut(pack(BODY), 7), label) == encodings.Decoded(BODY)


@pytest.mark.parametrize("label", ["GZIP", "x-gzip", " gzip ", "identity, gzip", "gzip,"])
def test_labels_are_read_as_http_writes_them(label: str) -> None:
    assert decode(gzip.compress(BODY), label) == encodings.Decoded(BODY)


@pytest.mark.parametrize("label", [None, "", "identity", "Identity"])
def test_identity_and_no_label_leave_the_body_alone(label: str | None) -> None:
    assert decode_in(cut(BODY, 7), label) == encodings.Decoded(BODY)


def test_stacked_codings_are_undone_from_the_last_to_the_first() -> None:
    assert decode_in(cut(brotli.compress(gzip.compress(BODY)), 7), "gzip, br") == encodings.Decoded(BODY)


def test_an_unknown_coding_is_kept_as_it_is_and_named() -> None:
    packed = gzip.compress(BODY)
    data, notes = decode(packed, "foo").data, decode(packed, "foo").notes
    assert data == packed
    assert codes(notes) == ["unknown_encoding"]
    assert "'foo'" in notes[0].detail


def test_known_codings_outside_an_unknown_one_are_undone() -> None:
    found = decode(gzip.compress(b"\x00opaque"), "foo, gzip")
    assert found.data == b"\x00opaque"
    assert codes(found.notes) == ["unknown_encoding"]


def flushing(label: str) -> Callable[[bytes], bytes]:
    """A compressor that puts out all it was given, as a server does after each event."""
    if label == "br":
        stream = brotli.Compressor()
        return lambda data: stream.process(data) + stream.flush()
    if label == "zstd":
        frame = zstd.ZstdCompressor()
        return lambda data: frame.compress(data, frame.FLUSH_BLOCK)
    deflate = zlib.compressobj(wbits=31 if label == "gzip" else 15)
    return lambda data: deflate.compress(data) + deflate.flush(zlib.Z_SYNC_FLUSH)


@pytest.mark.parametrize("label", ["gzip", "deflate", "br", "zstd"])
def test_what_a_server_flushed_is_decoded_at_once(label: str) -> None:
    pack, out = flushing(label), list[bytes]()
    decoder = Decoder(label, out.append)
    for number in range(5):
        event = b"data: event number %d\n\n" % number
        decoder.feed(pack(event))
        assert b"".join(out).endswith(event)


@each_coding
def test_a_cut_body_gives_what_came_and_says_incomplete(label: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(NOISE)
    found = decode(packed[: len(packed) * 6 // 10], label)
    assert codes(found.notes) == ["encoding_incomplete"]
    assert NOISE.startswith(found.data)
    assert len(found.data) > len(NOISE) // 4


@each_coding
def test_a_body_cut_just_before_its_end_is_incomplete_too(label: str, pack: Callable[[bytes], bytes]) -> None:
    assert codes(decode(pack(BODY)[:-1], label).notes) == ["encoding_incomplete"]


@each_coding
def test_bytes_after_the_end_are_counted_not_decoded(label: str, pack: Callable[[bytes], bytes]) -> None:
    found = decode_in(cut(pack(BODY) + b"junk!", 3), label)
    assert found.data == BODY
    assert codes(found.notes) == ["encoding_trailing"]
    assert found.notes[0].detail.startswith("5 bytes")


def test_zeros_after_gzip_are_padding() -> None:
    assert decode(gzip.compress(BODY) + bytes(512), "gzip") == encodings.Decoded(BODY)


@pytest.mark.parametrize("label", ["gzip", "zstd"])
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_all_members_are_decoded(label: str, size: int) -> None:
    pack = CODINGS[label][1]
    packed = pack(BODY) + pack(b"") + pack(BODY[:50])
    assert decode_in(cut(packed, size), label) == encodings.Decoded(BODY + BODY[:50])


def test_a_skippable_frame_before_the_zstd_data_is_skipped() -> None:
    skippable = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd"
    assert decode(skippable + zstd.compress(BODY), "zstd") == encodings.Decoded(BODY)


def test_thousands_of_members_in_one_chunk() -> None:
    assert decode(gzip.compress(b"ab") * 5000, "gzip") == encodings.Decoded(b"ab" * 5000)


@pytest.mark.parametrize("label", ["gzip", "zstd", "br", "deflate"])
def test_a_plain_body_under_a_label_is_kept_and_said_so(label: str) -> None:
    found = decode_in(cut(BODY, 5), label)
    assert found.data == BODY
    assert codes(found.notes) == ["encoding_mislabelled"]
    assert found.notes[0].detail == f"labelled {label}, but it is not: kept as it is"


@pytest.mark.parametrize("label", [None, "identity", "br", "deflate"])
@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_compressed_body_without_its_label_is_decoded_and_said_so(label: str | None, kind: str) -> None:
    found = decode_in(cut(CODINGS[kind][1](BODY), 5), label)
    assert found.data == BODY
    assert codes(found.notes) == ["encoding_mislabelled"]
    assert f"it is {kind}: decoded" in found.notes[0].detail


def test_a_body_compressed_twice_under_one_label() -> None:
    found = decode(gzip.compress(gzip.compress(BODY)), "gzip")
    assert (found.data, codes(found.notes)) == (BODY, ["encoding_mislabelled"])


def test_bytes_that_no_decoder_takes_are_kept() -> None:
    junk = b"\x1f\x8b\x08\xff" + bytes(range(256))
    found = decode(junk, "gzip")
    assert (found.data, codes(found.notes)) == (junk, ["encoding_undecodable"])


def test_damage_keeps_all_that_comes_before_it() -> None:
    body = bytes(random.Random(1).choices(b"abcdefgh \n", k=100_000))
    packed = bytearray(gzip.compress(body))
    packed[len(packed) // 2] ^= 0xFF
    found = decode(bytes(packed), "gzip")
    assert codes(found.notes) == ["encoding_damaged"]
    assert found.data[:45_000] == body[:45_000]


@each_coding
def test_a_bomb_is_cut_at_the_limit(label: str, pack: Callable[[bytes], bytes]) -> None:
    found = decode(pack(bytes(3_000_000)), label, limit=1_000_000)
    assert (len(found.data), codes(found.notes)) == (1_000_000, ["encoding_capped"])
    assert decode(pack(bytes(1_000_000)), label, limit=1_000_000).notes == ()


def test_a_bomb_comes_out_in_small_pieces() -> None:
    sizes: list[int] = []
    decoder = Decoder("br", lambda piece: sizes.append(len(piece)))
    decoder.feed(brotli.compress(bytes(20_000_000), quality=1))
    decoder.finish()
    assert sum(sizes) == 20_000_000
    assert max(sizes) <= 256 * 1024


def test_output_that_ends_around_the_size_of_a_piece() -> None:
    for size in range(65_536 - 4, 65_536 + 300):
        assert decode(raw_deflate(bytes(size)), "deflate") == encodings.Decoded(bytes(size))


@pytest.mark.parametrize("label", [None, "gzip", "br", "zstd", "deflate", "gzip, br", "foo"])
def test_an_empty_body_is_no_finding(label: str | None) -> None:
    found = decode(b"", label)
    assert found.data == b""
    assert "encoding_incomplete" not in codes(found.notes)


damaged = st.builds(
    lambda coding, body, at, flip, keep, tail: (
        CODINGS[coding][0],
        _spoiled(CODINGS[coding][1](body), at, flip)[: keep or None] + tail,
    ),
    st.sampled_from(list(CODINGS)),
    st.binary(max_size=3000),
    st.integers(0, 10_000),
    st.sampled_from([0, 0, 1, 0x40, 0xFF]),
    st.integers(0, 3000),
    st.sampled_from([b"", b"", b"junk", b"\x1f", b"\x00\x00"]),
)


def _spoiled(packed: bytes, at: int, flip: int) -> bytes:
    out = bytearray(packed)
    out[at % len(out)] ^= flip
    return bytes(out)


@settings(max_examples=100)
@given(damaged, st.lists(st.integers(1, 700), min_size=1, max_size=8), st.sampled_from([500, 10_000_000]))
def test_how_the_bytes_were_cut_never_shows(case: tuple[str, bytes], sizes: list[int], limit: int) -> None:
    label, data = case

    def chunks() -> Iterator[bytes]:
        at, turn = 0, 0
        while at < len(data):
            yield data[at : at + sizes[turn % len(sizes)]]
            at += sizes[turn % len(sizes)]
            turn += 1

    assert decode_in(chunks(), label, limit) == decode(data, label, limit)


@given(st.binary(), st.sampled_from([None, "gzip", "br", "zstd", "deflate", "gzip, br", "zstd, gzip", "\x00", ",;="]))
def test_no_bytes_raise(data: bytes, label: str | None) -> None:
    whole = decode(data, label)
    assert decode_in(cut(data, 1), label) == whole
