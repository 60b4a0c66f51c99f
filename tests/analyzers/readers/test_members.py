"""The splitter: elements of one array, whatever stands around and inside them, however the bytes were cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import values

from analyzers.readers.members import ArraySplitter, top_keys


def split(data: bytes, *path: str, size: int = 1 << 20, limit: int = 1 << 30) -> tuple[list[Any], ArraySplitter]:
    splitter = ArraySplitter(*(path or ("log", "entries")), limit=limit)
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    return [element for chunk in chunks for element in splitter.feed(chunk)], splitter


def parsed(data: bytes, *path: str, size: int = 1 << 20) -> list[Any]:
    return [json.loads(element.data) for element in split(data, *path, size=size)[0]]


@given(st.lists(values, max_size=5), st.booleans(), st.integers(1, 40), st.sampled_from([None, 1]))
def test_elements_come_out_as_they_are_however_the_file_was_cut(
    elements: list[Any], ascii: bool, size: int, indent: int | None
) -> None:
    around = {"entries": [0], "log": {"x": {"entries": [1]}, "entries": elements, "y": elements}, "z": elements}
    data = json.dumps(around, ensure_ascii=ascii, indent=indent).encode("utf-8", "surrogatepass")
    whole, splitter = split(data)
    assert [json.loads(element.data) for element in whole] == elements
    assert [element.number for element in whole] == list(range(1, len(elements) + 1))
    assert (splitter.opened, splitter.whole, splitter.count) == (True, True, len(elements))
    pieces, other = split(data, size=size)
    assert pieces == whole and (other.opened, other.whole, other.begun) == (True, True, False)


@given(st.binary(max_size=80) | st.text('{}[]",:\\ aé', max_size=80).map(str.encode), st.integers(1, 7))
def test_any_bytes_give_the_same_however_they_were_cut(data: bytes, size: int) -> None:
    data = b'{"log":{"entries":[' + data
    whole, splitter = split(data)
    pieces, other = split(data, size=size)
    assert pieces == whole
    state = ("opened", "found", "count", "begun", "whole")
    assert [getattr(other, name) for name in state] == [getattr(splitter, name) for name in state]


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize(
    ("document", "elements"),
    [
        (b'\xef\xbb\xbf{"log":{"entries":[{"a":1}]}}', [{"a": 1}]),
        (
            rb'{"log":{"entries":[{"a":"}]\"\\"},{"b":"\\\\\""},{"c":"{[\\\"]"}]}}',
            [{"a": '}]"\\'}, {"b": '\\\\"'}, {"c": '{[\\"]'}],
        ),
        (b'{"entries":[1],"log":{"p":[{"entries":[2]}],"s":"\\"entries\\":[3]","entries":[4]}}', [4]),
        (b'{"x":"log","log":[{"entries":[1]}],"y":{"log":{"entries":[2]}}}', []),
        (rb'{"l\u006fg":{"entries":[5]}}', [5]),
        (b'{"log":{"entries":[ 1 , "a,]" ,null,[1,[2]],  {} , -2.5e3 ]}}', [1, "a,]", None, [1, [2]], {}, -2500.0]),
        (b'{"log":{"entries":[],"entries":[ ]}}', []),
        (b'{"entries":{"log":[1]},"log":{"log":[2]}}', []),
        (b'{"log":{"entries":{"0":1}}}', []),
        (b'{"log":{"entries":null},"entries":[1]}', []),
    ],
)
def test_only_the_array_at_the_path_counts(document: bytes, elements: list[Any], size: int) -> None:
    assert parsed(document, size=size) == elements


def test_the_root_itself_may_be_the_array() -> None:
    splitter = ArraySplitter()
    assert [element.data for element in splitter.feed(b' [{"a":[1]}, 2 ] ')] == [b'{"a":[1]}', b"2"]
    assert splitter.whole


def test_what_was_found_of_the_path_is_told() -> None:
    assert split(b'{"a":1}')[1].found == 0
    assert split(b'{"log":{"a":1}}')[1].found == 1
    assert split(b'{"log":{"entries":{}}}')[1].found == 2
    assert [split(text)[1].opened for text in (b'{"log":{"entries":{}}}', b'{"log":{"entries":[')] == [False, True]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_cut_file_gives_what_is_whole(size: int) -> None:
    elements, splitter = split(b'{"log":{"entries":[{"a":1},{"b":"x', size=size)
    assert [element.data for element in elements] == [b'{"a":1}']
    assert splitter.begun and not splitter.whole


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_element_over_the_limit_is_named_and_the_next_is_read(size: int) -> None:
    document = b'{"log":{"entries":[   {"a":"12"}   ,{"a":"123"},{"a":"12"}]}}'
    elements, _ = split(document, size=size, limit=len(b'{"a":"12"}'))
    assert [(element.number, element.data) for element in elements] == [
        (1, b'{"a":"12"}'),
        (2, None),
        (3, b'{"a":"12"}'),
    ]


@pytest.mark.parametrize(
    ("head", "keys"),
    [
        (b'{"log":{"version":"1.2","x":{', ["log"]),
        (b'\xef\xbb\xbf \n{"a":{"b":1},"c":["d",{"e":2}],"f', ["a", "c"]),
        (b'{"a":"}\\"{", "b" : 1}\n{"c":1}', ["a", "b"]),
        (rb'{"\u0061\"\\":1,"\ud800":2}', ['a"\\', "\ud800"]),
        (b'{"a":{"b"', ["a"]),
        (b'[{"a":1}]', []),
        (b'"a"', []),
        (b"text {", []),
        (b"", []),
    ],
)
def test_top_keys_are_those_of_the_first_object_as_far_as_it_goes(head: bytes, keys: list[str]) -> None:
    assert top_keys(head) == keys
