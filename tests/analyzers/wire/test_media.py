"""Sizes out of file headers, and nothing out of damaged ones."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.wire.media import Media, image_size, inspect

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x04\x00\x00\x00\x03\x00"
GIF = b"GIF89a\x0a\x00\x14\x00\x00\x00"
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
JPEG += b"\xff\xc2\x00\x11\x08\x00\x20\x00\x40\x03\x01\x22\x00"
VP8X = b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x63\x00\x00\xc7\x00\x00"
VP8L = b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f" + (99 | 199 << 14).to_bytes(4, "little") + b"\x00" * 8
VP8 = b"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x64\x00\xc8\x00"


@pytest.mark.parametrize(
    ("data", "size"),
    [(PNG, (1024, 768)), (GIF, (10, 20)), (JPEG, (64, 32)), (VP8X, (100, 200)), (VP8L, (100, 200)), (VP8, (100, 200))],
    ids=["png", "gif", "jpeg", "webp extended", "webp lossless", "webp lossy"],
)
def test_pixels_stand_in_the_header(data: bytes, size: tuple[int, int]) -> None:
    assert image_size(data) == size
    assert inspect(base64.b64encode(data + b"\x00" * 50).decode(), "image/x") == Media(*size)


@given(st.binary(max_size=60))
def test_other_bytes_never_raise(data: bytes) -> None:
    for head in (b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBP"):
        image_size(head + data)
        inspect(base64.b64encode(head + data).decode(), "image/png")


def test_what_is_no_base64_or_no_image_is_unknown() -> None:
    assert inspect("!!!", "image/png") == Media()
    assert inspect(base64.b64encode(PNG).decode(), "text/plain") == Media()


def test_pages_are_counted_where_they_can_be_seen() -> None:
    pdf = b"%PDF-1.4 /Type /Pages /Kids [] /Type /Page /x /Type/Page >>"
    assert inspect(base64.b64encode(pdf).decode(), "application/pdf") == Media(pages=2)
    assert inspect(base64.b64encode(b"%PDF-1.7 objstm").decode(), "application/pdf") == Media()
