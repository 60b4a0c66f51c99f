"""Texts by class of writing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers import text_classes
from analyzers.text_classes import SCRIPTS, classes_of, script_of

ANY = st.characters(exclude_categories=())  # surrogates too


@given(st.text(ANY, max_size=300))
def test_every_character_is_in_one_class(text: str) -> None:
    found = classes_of(text)
    assert sum(chars for chars, _ in found.values()) == len(text)
    assert all(chars > 0 and tokens > 0 for chars, tokens in found.values())


@given(st.text(ANY, max_size=80), st.text(ANY, max_size=80))
def test_texts_apart_have_the_classes_of_the_lines_together(one: str, other: str) -> None:
    """A line break is never inside a word, so lines can be weighed by themselves: but for the blank before a first
    word, which is the word's own only where no other blank stands before it."""
    other = other.lstrip(" ")
    whole, parts = classes_of(f"{one}\nx\n{other}"), [classes_of(part) for part in (one, "\nx\n", other)]
    chars = {name: sum(part.get(name, (0, 0))[0] for part in parts) for name in {n for p in parts for n in p}}
    blanks = ("newline", "blanks", "blank", "punctuation")
    assert {name: pair[0] for name, pair in whole.items() if name not in blanks} == {
        name: number for name, number in chars.items() if name not in blanks
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" the", "lower"),
        ("the", "inner lower"),
        (" serendipity", "lower split"),
        (" overwhelmedly", "lower long split"),
        (" The", "capital"),
        (" HTTP", "capitals"),
        (" été", "accented"),
        (" không", "accented"),
        (" tiếng", "vietnamese"),
        ("12345", "digits"),
        ("){", "punctuation"),
        ("\n", "newline"),
        ("    ", "blanks"),
        ("\x00", "control"),
        ("привет", "cyrillic"),
        ("ғ", "cyrillic extended"),
        ("中文", "han"),
        ("ひらがな", "kana"),
        ("한국어", "hangul"),
        ("，", "cjk punctuation"),
        ("→", "symbols"),
        ("😀", "emoji"),
        ("ꀀ", "other"),
        ("\ud800", "other"),
    ],
)
def test_the_class_of_a_piece(text: str, name: str) -> None:
    assert list(classes_of(text)) == [name]


def test_a_name_in_camel_case_is_several_words() -> None:
    assert set(classes_of("getHTTPServerById")) == {"inner lower", "capitals", "inner capital"}


def test_a_word_with_an_accent_is_one_word_wherever_the_accent_stands() -> None:
    assert list(classes_of(" café")) == list(classes_of(" école")) == ["accented"]


@pytest.mark.parametrize("unit", ["a", "A", "aB", " ", "\n", "中", "é", "-", "0", "😀", "\ud800", "\x00", "и"])
def test_the_tokenizer_never_gets_a_long_run(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    longest: list[int] = []
    monkeypatch.setattr(text_classes, "token_ids", lambda piece: longest.append(len(piece)) or [0])
    text_classes._weighed.cache_clear()
    classes_of(f" {unit * 5_000}")
    text_classes._weighed.cache_clear()
    assert max(longest) <= 65


def test_scripts_are_told_for_people() -> None:
    assert {script_of(name) for name in classes_of("Grüße, world 12 日本語\n")} == {
        "latin",
        "punctuation",
        "blank",
        "digits",
        "han",
        "newline",
    }
    assert all(script_of(name) == name for name in SCRIPTS)


@pytest.mark.parametrize("unit", ["a", "A", " ", "\n", "中", "é", "e\u0301", "-", "0", "😀", "\ud800", "\x00", "и"])
def test_a_megabyte_of_one_character_takes_linear_time(unit: str) -> None:
    def seconds(length: int) -> float:
        begin = time.process_time()
        classes_of(unit * (length // len(unit)))
        return time.process_time() - begin

    seconds(1_000)
    assert seconds(1_000_000) < max(12 * seconds(100_000), 1.0)
