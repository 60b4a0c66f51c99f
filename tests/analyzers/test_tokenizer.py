"""The shipped o200k vocabulary: whole, checked, and used without tiktoken's download."""

from __future__ import annotations

import inspect
import lzma
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import tiktoken.load

from analyzers import tokenizer
from analyzers.tokenizer import PATTERN, RANKS_FILE, RANKS_SHA256, SPECIAL_TOKENS, DamagedRanks, ranks, token_ids

PACKED = files("analyzers").joinpath("data", RANKS_FILE).read_bytes()


def test_hash_pattern_and_special_tokens_are_those_that_tiktoken_pins(monkeypatch: pytest.MonkeyPatch) -> None:
    from tiktoken_ext import openai_public

    asked: dict[str, Any] = {}

    def instead(url: str, expected_hash: str) -> dict[bytes, int]:
        asked.update(url=url, sha256=expected_hash)
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", instead)
    pinned = openai_public.o200k_base()
    assert asked["sha256"] == RANKS_SHA256
    assert asked["url"].endswith("/o200k_base.tiktoken")
    assert (pinned["pat_str"], pinned["special_tokens"]) == (PATTERN, SPECIAL_TOKENS)


def test_tiktoken_is_never_asked_to_load_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> bytes:
        raise AssertionError("tiktoken would use the network")

    monkeypatch.setattr(tiktoken.load, "read_file", forbidden)
    monkeypatch.setattr(tiktoken.load, "read_file_cached", forbidden)
    tokenizer.encoding.cache_clear()
    assert token_ids("hello world") == [24912, 2375]
    assert "get_encoding" not in inspect.getsource(tokenizer).replace("``get_encoding``", "")


@pytest.mark.parametrize(
    "broken",
    [b"", b"no xz at all", PACKED[:-1], PACKED[: len(PACKED) // 2], lzma.compress(b"aGVsbG8= 0\n")],
    ids=["nothing", "other bytes", "a byte short", "half", "other ranks"],
)
def test_ranks_that_are_not_the_pinned_ones_are_refused(broken: bytes) -> None:
    with pytest.raises(DamagedRanks, match="install weighbridge again"):
        ranks(broken)


def test_what_looks_like_a_special_token_is_text() -> None:
    assert len(token_ids("<|endoftext|>")) > 1
    assert not {199999, 200018} & set(token_ids("a <|endofprompt|> b <|endoftext|>"))


def test_a_lone_surrogate_counts_as_the_replacement_character() -> None:
    assert token_ids("a\ud800b") == token_ids("a\ufffdb")
    assert token_ids("\udfff") == token_ids("\ufffd")


def test_the_ranks_are_in_the_wheel_and_in_the_source_distribution() -> None:
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    root = str(Path(__file__).parents[2])
    for builder in (WheelBuilder(root), SdistBuilder(root)):
        assert f"analyzers/data/{RANKS_FILE}" in {file.distribution_path for file in builder.recurse_included_files()}
