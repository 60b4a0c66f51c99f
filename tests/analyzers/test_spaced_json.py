"""JSON with blanks behind commas and colons."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from analyzers.spaced_json import spaced
from analyzers.wire.fold import Elided

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)
HOLE = Elided(9, 9, 9, 9, "a" * 64)


@given(VALUES)
def test_it_is_what_python_writes(value: object) -> None:
    text, holes = spaced(value)
    assert json.loads(text) == value
    assert text.replace("\x7f", "") == json.dumps(value, ensure_ascii=False).replace("\x7f", "")
    assert holes == []


def test_folded_strings_and_keys_are_holes() -> None:
    text, holes = spaced({"a": HOLE, HOLE: ["b", HOLE]})
    assert text == '{"a": "", "": ["b", ""]}'
    assert holes == [HOLE, HOLE, HOLE]


def test_depth_is_no_trouble() -> None:
    value: object = 1
    for _ in range(20_000):
        value = [value]
    assert len(spaced(value)[0]) == 40_001
