"""Text that stands for bytes: every way back, and nothing else taken for one."""

import sys
from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from saved_http import SSE

from analyzers.readers.saved_text import as_stream, bytes_of, named_events
from analyzers.wire.sse import EventDecoder

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@given(st.binary(max_size=60))
def test_bytes_kept_as_surrogate_escapes_come_back(data: bytes) -> None:
    body = b'{"a":"' + data + b'"} \xe5'  # no UTF-8 as a whole, so mitmproxy escapes it
    assert bytes_of(body.decode("utf-8", "surrogateescape")).data == body


@pytest.mark.parametrize("text", ["威\udcc3\udca9", "\ud83d", "\udc80\ud83d"])
def test_surrogates_that_no_bytes_decode_to_are_what_was_sent(text: str) -> None:
    assert bytes_of(text).data == text.encode("utf-8", "surrogatepass")


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_text_with_characters_beyond_latin_1_is_utf_8(text: str) -> None:
    whole = '{"威":"' + text + '"}'
    held = bytes_of(whole)
    assert held.data.decode("utf-8", "surrogatepass" if "\ufffd" not in whole else "strict") == whole or any(
        "\udc80" <= char <= "\udcff" for char in text
    )
    assert (held.packed, held.notes) == (False, ())


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode, lambda data: b64encode(data).rstrip(b"=")])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 300])
def test_base64_is_read_in_either_alphabet_with_breaks_and_without_padding(encode: object, size: int) -> None:
    data = bytes(range(256))[-size:] * 2 if size else b""
    text = encode(data).decode()  # type: ignore[operator]
    broken = "\r\n".join(text[at : at + 20] for at in range(0, len(text), 20))
    assert bytes_of(text, base64=True).data == bytes_of(broken, base64=True).data == data


@pytest.mark.parametrize(
    "text", ["Internal server error", "ok", "not found " * 9, "aGVsbG8gd29ybGQgYWdhaW4=", "a" * 64]
)
def test_what_could_be_base64_but_holds_no_message_is_text(text: str) -> None:
    assert bytes_of(text).data == text.encode() and bytes_of(text).notes == ()


@pytest.mark.parametrize("text", ["Grüße", "café", "naïve é", "ÿ" * 70, "für alle: " + "ö" * 40, "Ã"])
def test_accented_text_is_utf_8(text: str) -> None:
    assert bytes_of(text).data == text.encode()
    assert bytes_of(text, coding="gzip").data == text.encode()
    assert not bytes_of(text, coding="gzip").packed


def test_a_stream_cut_within_a_character_is_still_told_from_text() -> None:
    raw = SSE.encode()
    cut = raw[: raw.index("威".encode()) + 2]
    assert bytes_of(cut.decode("latin-1")).data == cut


def test_compressed_bytes_are_told_by_magic_or_by_the_header() -> None:
    packed = zstd.compress(SSE.encode())
    assert bytes_of(b64encode(packed).decode(), base64=True).packed
    assert not bytes_of(SSE, coding="br").packed and not bytes_of("", coding="br").packed
    assert bytes_of(b64encode(b"\x0b\x02\x80\x01\x02\x03").decode(), base64=True, coding="br").packed


@given(
    st.lists(st.tuples(st.sampled_from(["ping", "message", None]), st.text(st.characters(exclude_categories=["Cs"]))))
)
def test_events_come_back_from_the_stream_made_of_them(events: list[tuple[str | None, str]]) -> None:
    listed = [{"event": name, "data": data} for name, data in events]
    decoder = EventDecoder()
    stream = as_stream(named_events(listed, "event"))
    found = [*decoder.feed(stream), *decoder.finish()]
    plain = [
        ("" if name in (None, "message") else name, data.replace("\r\n", "\n").replace("\r", "\n"))
        for name, data in events
    ]
    assert [(event.name, event.data.decode()) for event in found] == plain


def test_an_event_cannot_break_out_of_its_line() -> None:
    listed = [{"event": "a\ndata: x", "data": {"b": "\n"}}, {"event": 5, "data": None}, 7, {"data": 1}]
    assert as_stream(named_events(listed, "event")) == b'data: {"b":"\\n"}\n\ndata: 1\n\n'
