"""The figures taken as a request passes: they are the definition's, and every step to the wire is counted."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import definition, keys, values

from analyzers.wire.fold import fold_fields
from analyzers.wire.jsontext import dump, parse
from analyzers.wire.weight import Figures, WireSteps, figures


def taken(raw: bytes, wire_bytes: int | None = None, over: int = 20) -> Figures:
    """The figures of a body as the recorder takes them."""
    document = parse(raw)
    weights = fold_fields(document.value, over)[1]
    return figures(document, weights, len(raw), len(raw) if wire_bytes is None else wire_bytes)


bodies = st.dictionaries(keys, values, max_size=5)


@given(bodies)
def test_steps_of_the_shortest_text_are_those_that_the_scan_counts(body: dict[str, object]) -> None:
    text = dump(body)
    fast = taken(text)
    scanned = taken(b" " + text)
    assert fast.steps.sum() == len(text)
    assert scanned.steps.sum() == len(text) + 1
    assert fast.fields == scanned.fields
    assert (fast.steps.punctuation, fast.steps.escapes) == (scanned.steps.punctuation, scanned.steps.escapes)
    assert fast.total == sum(map(definition, body.values()))


@given(bodies)
def test_any_spelling_reaches_the_wire_to_the_byte(body: dict[str, object]) -> None:
    for spelling in (json.dumps(body), json.dumps(body, indent=2), json.dumps(body, ensure_ascii=False)):
        raw = spelling.encode("utf-8", "surrogatepass")
        assert taken(raw).steps.sum() == len(raw)


def test_escapes_are_told_from_backslashes_in_the_text() -> None:
    text = dump({"a": '\\u0041 \\\\n \n \x01 "'})
    assert taken(text).steps.escapes == 1 + 2 + 1 + 5 + 1


def test_compression_is_a_signed_step() -> None:
    text = dump({"a": "x" * 1000})
    packed = gzip.compress(text)
    steps = taken(text, len(packed)).steps
    assert steps.content_encoding == len(packed) - len(text) < 0
    assert steps.sum() == len(packed)


def test_bytes_beyond_one_per_character_are_the_utf8_step() -> None:
    text = dump({"a": "é威🙂"})
    assert taken(text).steps.utf8 == 1 + 2 + 3


@pytest.mark.parametrize("raw", [None, {}, [], {"characters": 1}, {name: "1" for name in WireSteps.__slots__}])
def test_steps_that_are_not_whole_are_unknown(raw: object) -> None:
    assert WireSteps.from_json(raw) is None


def test_steps_survive_being_written() -> None:
    steps = WireSteps(1, 2, 3, 4, 5, 6, 7, 8, -9)
    assert WireSteps.from_json(steps.as_dict()) == steps
    assert steps.sum() == 27


@given(bodies, st.sampled_from([-1, 0, 5, 400]))
def test_the_figures_do_not_depend_on_what_is_folded(body: dict[str, object], over: int) -> None:
    text = dump(body)
    assert taken(text, over=over) == taken(text, over=-1)


@given(values)
def test_a_body_that_is_no_object_reaches_the_wire_as_well(value: object) -> None:
    raw = dump([value])
    assert taken(raw).steps.sum() == len(raw)
