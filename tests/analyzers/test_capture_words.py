"""Closed lists of a capture's own words: all that this program writes is in them, and nobody's name is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from addon.settings import PREFIXES
from analyzers import capture_words
from analyzers.text_classes import SCRIPTS
from analyzers.wire.headers import KEPT

SOURCES = [
    path.read_text() for part in ("analyzers", "addon") for path in (Path(__file__).parents[2] / part).rglob("*.py")
]


def _all(pattern: str) -> set[str]:
    return {match for text in SOURCES for match in re.findall(pattern, text)}


def test_every_code_of_a_note_is_known() -> None:
    codes = _all(r'Note\(\s*"([a-z_0-9]+)"') | _all(r'(?m)^            \("([a-z0-9]+(?:_[a-z0-9]+)+)", self\._')
    assert len(codes) > 60
    assert [code for code in codes if not capture_words.is_code(code)] == []


@pytest.mark.parametrize(
    "reason",
    [
        "the body is empty",
        "not valid UTF-8 at byte 17",
        "not valid JSON at character 5: expected ',' or the end of the object or list",
        "not valid JSON at character 12: a string that does not end, or holds a bad escape or a control character",
        "it decodes to more than 268,435,456 bytes",
        "the body was streamed past and not seen",
        "the file holds the request's body only as form parameters, which are not what was sent",
    ],
)
def test_reasons_that_are_given_are_known(reason: str) -> None:
    assert capture_words.is_reason(reason)


def test_every_sentence_that_json_is_refused_with_is_known() -> None:
    sentences = _all(r'NotJson\("([^"]+)"\)') | _all(r'self\._wrong\("([^"]+)"')
    assert len(sentences) >= 6
    assert [sentence for sentence in sentences if not capture_words.is_reason(sentence)] == []


def test_every_option_is_known() -> None:
    names = {name for name in _all(r'(?m)^        "([a-z]+_[a-z_]+)",$') if name.startswith(PREFIXES)}
    assert names == capture_words.OPTIONS


def test_every_header_whose_value_is_kept_is_known() -> None:
    assert [name for name in KEPT if not capture_words.is_header(name)] == []
    for name in ("anthropic-ratelimit-input-tokens-remaining", "anthropic-fast-output-tokens-limit",
                 "anthropic-ratelimit-unified-5h-utilization"):  # fmt: skip
        assert capture_words.is_header(name), name


@pytest.mark.parametrize("name", [*SCRIPTS, "inner capital rarest", "lower long split", "punctuation", "field_names"])
def test_the_names_of_measures_are_known(name: str) -> None:
    assert capture_words.is_counter(name)


@pytest.mark.parametrize("word", ["jane", "jane_doe", "quarry-corp", "4b1c9f77aa", "api_jane", "tok-éa"])
def test_what_somebody_named_is_not(word: str) -> None:
    assert not capture_words.is_code(word)
    assert not capture_words.is_reason(f"the body of {word}")
    assert not capture_words.is_header(f"anthropic-{word}")
    assert not capture_words.is_header(f"x-stainless-{word}")
    assert not capture_words.is_header(f"anthropic-ratelimit-{word}-limit")
    assert not capture_words.is_counter(f"input_{word}")
