"""Words and texts that stand for others: as long in every unit, equal where they were, of no use to guess by."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from json_values import texts

from analyzers.pseudonyms import FINE, Pseudonyms
from analyzers.scrambled_text import KEPT_WORDS, Scrambler
from analyzers.sizes import UNITS, size
from analyzers.wire.jsontext import quoted

KEY = b"k" * 32
SCRAMBLER = Scrambler(KEY)

odd_texts = texts | st.text(st.sampled_from('abgzAF09 \\n\\u00e9%xX_-{}[]":,é威\ud83d'), max_size=30)


def _common(a: str, b: str) -> int:
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@given(odd_texts)
def test_a_text_is_as_long_in_every_unit(text: str) -> None:
    new = SCRAMBLER.text(text)
    for unit in UNITS.values():
        assert size(new, unit) == size(text, unit), unit.name
    assert len(quoted(new)) == len(quoted(text))


@given(odd_texts, odd_texts)
@example("ab", "aB")
@example("x" * 40 + "a", "x" * 40 + "b")
def test_equal_texts_stay_equal_and_distinct_ones_distinct(a: str, b: str) -> None:
    assert (SCRAMBLER.text(a) == SCRAMBLER.text(b)) == (a == b)


@given(st.text(st.characters(categories=("L", "N")), max_size=60), st.integers(0, 60), st.characters(categories=("L",)))
def test_words_part_at_the_same_character_as_before(word: str, at: int, char: str) -> None:
    other = word[:at] + char + word[at + 1 :]
    for words in (Pseudonyms(KEY), SCRAMBLER.words):
        assert _common(words.word(word), words.word(other)) == _common(word, other)


@given(st.sampled_from(sorted(KEPT_WORDS)), st.integers(0, 5), st.text("abefnrstuxz0", max_size=6))
def test_words_part_where_they_did_from_words_that_stay(word: str, at: int, rest: str) -> None:
    other = word[:at] + rest
    assert _common(SCRAMBLER.text(other), word) == _common(other, word)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("You are Claude Code, Anthropic's CLI.", "You are Roberta's clerk."),
        ("<command-name>/clear", "<command-line>"),
        ("# Environment", "# zebra"),
        ("<system-reminder>\n# userEmail\nx # claudeMd", "<system-reminder>\n# userEmail\nx # zebra"),
    ],
)
def test_texts_part_behind_the_words_that_a_known_beginning_shares(one: str, other: str) -> None:
    begun = _common(one, other)
    assert SCRAMBLER.text(one)[:begun] == SCRAMBLER.text(other)[:begun]


def test_a_word_that_also_begins_a_phrase_keeps_its_pseudonym() -> None:
    for word in ("You", "env", "<env", "data", "gitStat", "Conte"):
        assert SCRAMBLER.text(word) == SCRAMBLER.text(f"({word}")[1:] != word


@given(st.text("0123456789abcdef", min_size=1, max_size=80))
def test_hex_stays_hex_and_never_is_itself_for_long(digits: str) -> None:
    new = Pseudonyms(KEY).word(digits)
    assert re.fullmatch("[0-9a-f]+", new) and len(new) == len(digits)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("jane.doe@example.com", r"[a-z]{4}\.[a-z]{3}@[a-z]{7}\.[a-z]{3}"),
        ("3fe2c1aa-1111-4a4a-9b9b-aabbccddeeff", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        ("192.168.10.7", r"[1-9][0-9]{2}\.[1-9][0-9]{2}\.[1-9][0-9]\.[1-9]"),
        ("Ünïcode НИКОЛАЙ 威伈 ひらがな", r"[À-Þ][a-z][ß-ÿ][a-z]{4} [Ѐ-ӿ]{7} [一-鿿]{2} [ぁ-ゖ]{4}"),
        ("  \n\t{}[]()<>/\\-_=+.,;:!?'\"`~@#$%^&*|", r"  \n\t\{\}\[\]\(\)<>/\\-_=\+\.,;:!\?'\"`~@#\$%\^&\*\|"),
        ("A1-b2", r"[A-Z][0-9]-[a-z][0-9]"),
        ("0.5 007", r"0\.[1-9] 0[0-9]{2}"),
    ],
)
def test_each_character_stays_in_its_class(text: str, form: str) -> None:
    assert re.fullmatch(form, SCRAMBLER.text(text)), SCRAMBLER.text(text)


def test_another_run_gives_other_words() -> None:
    words = [f"word{letter}number" for letter in "abcdefgh"]
    one, other = Pseudonyms(KEY), Pseudonyms(b"other" * 8)
    assert all(one.word(word) != other.word(word) for word in words)
    assert one.hash("ab" * 32) != other.hash("ab" * 32)


def test_no_word_becomes_one_that_stays() -> None:
    words = Pseudonyms(KEY, frozenset(("a", "b", "c")))
    assert [words.word(word) for word in "abcA"] == ["a", "b", "c", "A"]
    assert len({words.word(letter) for letter in "abcdefghijklmnopqrstuvwxyz"}) == 26


def test_a_value_has_one_pseudonym_wherever_it_stands() -> None:
    """E10: every spelling of one home folder; E13: the same value twice."""
    name = SCRAMBLER.text("jane")
    for text, inside in (
        ("/home/jane/proj", f"/{name}/"),
        ("-home-jane-proj", f"-{name}-"),
        ("%2Fhome%2Fjane", f"%2F{name}"),
        ("file:///home/jane/", f"/{name}/"),
        ("\\\\wsl$\\Ubuntu\\home\\jane\\x", f"\\{name}\\"),
        ("~jane/x", f"~{name}/"),
        ("jane@example.com", f"{name}@"),
        ("%6A%61%6E%65", "".join(f"%{ord(char):02X}" for char in name)),
        ("\\u006aane", f"\\u{ord(name[0]):04x}{name[1:]}"),
        ('{"home": "C:\\\\Users\\\\jane"}', f'\\\\{name}"'),
        ("C:\\Users\\jane\\temp", f"\\{name}\\"),
        ("C:\\Users\\Jane\\new", f"\\{name.title()}\\"),
        ("C--Users-Jane-new", f"-{name.title()}-"),
        ("the janitor", ""),
    ):
        assert inside in SCRAMBLER.text(text), text
    assert SCRAMBLER.text("the janitor").split()[1] != name


@pytest.mark.parametrize(
    "value",
    [
        {"a": 'line\nand "quotes" \u2028 é 🙂', "b": [1e22, -0.5, 10, True, None]},
        {"a": json.dumps({"b": json.dumps({"c": "x\\y\nz", "d": [1.5e-7]})})},
        ["\\n", "\\\\n", "\ud83d", "a/b", ""],
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_json_inside_a_text_parses_at_every_level(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    new = SCRAMBLER.text(text)
    assert _form(json.loads(new)) == _form(json.loads(text))
    assert new.count("\\") == text.count("\\")


def _form(value: object) -> object:
    """A value without what it says: lengths of texts, and what is inside them."""
    if isinstance(value, dict):
        return [(len(key), _form(member)) for key, member in value.items()]
    if isinstance(value, list):
        return [_form(member) for member in value]
    if isinstance(value, str) and value[:1] in ("{", "["):
        return _form(json.loads(value))
    return len(value) if isinstance(value, str) else len(repr(value)) if type(value) is float else type(value)


def test_phrases_that_figures_are_told_from_stay() -> None:
    for text in (
        "x-anthropic-billing-header: ",
        "<system-reminder>",
        "prompt is too long: 200123 tokens > 200000 maximum",
        "This session is being continued",
        "[SUGGESTION MODE",
    ):
        assert SCRAMBLER.text(f"{text} and jane").startswith(text)
        assert "jane" not in SCRAMBLER.text(f"{text} and jane")


def test_words_of_the_literals_of_json_stay() -> None:
    assert all(SCRAMBLER.text(word) == word for word in KEPT_WORDS)


def test_long_words_change_behind_their_first_characters_too() -> None:
    word = "a" * (4 * FINE)
    new = Pseudonyms(KEY).word(word)
    assert len(set(new)) > 3


def test_a_key_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Pseudonyms(b"short")
