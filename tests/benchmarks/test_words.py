"""Text of an exact length that compresses like text, not like noise and not like a repeated sentence."""

import zlib

import pytest

from benchmarks.words import Writer


@pytest.mark.parametrize("kind", ["prose", "listing"])
@pytest.mark.parametrize("chars", [0, 1, 399, 5_000])
def test_length_is_exact(kind: str, chars: int) -> None:
    assert len(getattr(Writer(1), kind)(chars)) == chars


@pytest.mark.parametrize("kind", ["prose", "listing"])
def test_it_compresses_like_text(kind: str) -> None:
    text = getattr(Writer(1), kind)(40_000).encode()
    assert 2 < len(text) / len(zlib.compress(text)) < 5


def test_identifiers_do_not_repeat_and_hardly_compress() -> None:
    writer = Writer(1)
    tokens = [writer.token("toolu") for _ in range(500)]
    assert len(set(tokens)) == 500
    text = "".join(token.removeprefix("toolu_01") for token in tokens).encode()
    assert len(zlib.compress(text)) > 0.7 * len(text)
