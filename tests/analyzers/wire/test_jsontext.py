"""JSON text in, values that keep the text's figures out."""

import json

import orjson
import pytest
from hypothesis import given
from json_values import definition, values

from analyzers.wire.jsontext import Document, NotJson, Number, dump, parse, quoted, weigh


def text_sum(document: Document) -> int:
    """All that a scanned text is made of, in characters."""
    steps = document.steps
    assert steps is not None
    return (
        weigh(document.value)[0]
        + steps.punctuation
        + steps.escapes
        + steps.whitespace
        + steps.shadowed
        + steps.bom_or_trailing
    )


def codes(document: Document) -> list[str]:
    return [note.code for note in document.notes]


def test_the_shortest_text_is_proved_and_needs_no_scan() -> None:
    assert parse(b'{"a":[1,1.5,"x"]}') == Document({"a": [1, 1.5, "x"]}, None)


@pytest.mark.parametrize(
    "written", ["1E2", "-0", "-0.0", "1.00", "1e400", "-1e400", "0.1000000000000000055", "9" * 5000]
)
def test_a_number_stays_as_it_was_written(written: str) -> None:
    document = parse(f'{{"n": {written}}}'.encode())
    assert weigh(document.value)[0] == 1 + len(written)
    assert dump(document.value) == f'{{"n":{written}}}'.encode()


@pytest.mark.parametrize("written", ["1.0", "12345678901234567890", "-9223372036854775808", "0.25", "true"])
def test_a_number_that_the_fast_parser_keeps_is_an_ordinary_value(written: str) -> None:
    value = parse(f"[{written}]".encode()).value[0]
    assert not isinstance(value, Number)
    assert dump([value]) == f"[{written}]".encode()


def test_the_same_number_has_the_same_size_in_a_compact_and_a_spaced_text() -> None:
    assert weigh(parse(b'{"a":1.0,"b":2}').value) == weigh(parse(b'{ "a": 1.0, "b": 2 }').value)


def test_escapes_count_as_what_they_decode_to() -> None:
    plain = "<a/>&" * 20
    raw = json.dumps(plain)
    every = '"' + "".join(f"\\u{ord(character):04x}" for character in plain) + '"'
    slashed = raw.replace("/", "\\/")
    for text in (raw, every, slashed):
        document = parse(f"[{text}]".encode())
        assert document.value == [plain]
        if document.steps is not None:
            assert document.steps.escapes == len(text) - 2 - len(plain)


def test_a_pair_of_escapes_is_one_character_and_a_lone_one_stays() -> None:
    document = parse(b'["\\ud83d\\ude42 \\ud83d"]')
    assert document.value == ["🙂 \ud83d"]
    assert document.steps is not None
    assert document.steps.escapes == 11 + 5
    assert dump(document.value) == '["🙂 \\ud83d"]'.encode()


def test_a_duplicate_key_keeps_the_last_value_names_the_place_and_counts_the_shadowed() -> None:
    document = parse(b'{"model":"cheap","messages":[{"role":"a","role":"bb"}],"model":"dear"}')
    assert document.value == {"model": "dear", "messages": [{"role": "bb"}]}
    assert [(note.code, note.path) for note in document.notes] == [
        ("duplicate_key", "messages[0].role"),
        ("duplicate_key", "model"),
    ]
    assert document.steps is not None
    assert document.steps.shadowed == len("role" + "a") + len("model" + "cheap")
    assert text_sum(document) == 70


def test_a_shadowed_container_counts_with_all_that_is_in_it_once() -> None:
    text = b'{"a":{"b":1,"b":22,"c":[true]},"a":0}'
    document = parse(text)
    assert document.value == {"a": 0}
    assert text_sum(document) == len(text)


def test_blanks_byte_order_mark_and_trailing_text_are_counted_apart() -> None:
    document = parse(b'\xef\xbb\xbf {"a" :\t1 }\r\n{"b":2}')
    assert document.value == {"a": 1}
    assert document.steps is not None
    assert (document.steps.whitespace, document.steps.bom_or_trailing) == (6, 1 + 7)
    assert codes(document) == ["bom", "trailing_text"]


def test_a_request_that_was_serialised_twice_is_unwrapped_once_and_still_adds_up() -> None:
    inner = json.dumps({"model": "m", "messages": [{"role": "user", "content": 'say "hi"\n'}]})
    text = json.dumps(inner).encode()
    document = parse(text)
    assert document.value["messages"][0]["content"] == 'say "hi"\n'
    assert codes(document) == ["double_serialised"]
    assert text_sum(document) == len(text)


def test_a_string_that_only_begins_like_an_object_stays_a_string() -> None:
    assert parse(b'"{not json"').value == "{not json"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "empty"),
        (b"[1,]", "character 3: expected a value"),
        (b'{"a" 1}', "character 5: expected ':'"),
        (b'{"a":1', "character 6: expected ','"),
        (b'["\x01"]', "control character"),
        (b'["\\x"]', "bad escape"),
        (b"NaN", "expected a value"),
        (b'{"a":Infinity}', "expected a value"),
        (b"\xff\xfe{\x00", "not valid UTF-8 at byte 0"),
        (b"{1:2}", "expected an object key"),
        (b"<html>", "expected a value"),
        (b'{"a":', "ends too early"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place_and_none_of_its_content(text: bytes, reason: str) -> None:
    with pytest.raises(NotJson, match=reason.replace("(", r"\(")):
        parse(text)


def test_surrogates_as_raw_bytes_are_read_with_a_note() -> None:
    document = parse(b'["\xed\xa0\xbd"]')
    assert document.value == ["\ud83d"]
    assert codes(document) == ["raw_surrogates"]


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_nesting_has_no_limit_and_no_recursion(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    text = opening * 50_000 + b"1" + closing * 50_000
    document = parse(text)
    assert dump(document.value) == text
    assert text_sum(document) == len(text)


@given(values)
def test_dump_then_parse_gives_the_value_back(value: object) -> None:
    again = parse(dump([value])).value
    assert dump(again) == dump([value])
    assert definition(again) == definition([value])


@given(values)
def test_any_spelling_of_a_value_adds_up_and_weighs_the_same(value: object) -> None:
    wanted = definition(value, json.dumps)
    for spelling in (json.dumps(value), json.dumps(value, indent=1), json.dumps(value, separators=(" , ", "\t:"))):
        document = parse(spelling.encode())
        if document.steps is not None and "double_serialised" not in codes(document):
            assert text_sum(document) == len(spelling)
        if "double_serialised" not in codes(document):
            assert weigh(document.value)[0] == wanted


@given(values)
def test_punctuation_of_the_shortest_text_follows_from_the_value(value: object) -> None:
    text = dump(value).decode()
    scanned = parse(b" " + text.encode())
    if scanned.steps is not None and "double_serialised" not in codes(scanned):
        assert weigh(scanned.value)[1] == scanned.steps.punctuation


def test_quoting_is_what_json_stringify_writes() -> None:
    assert quoted('a"\\\n\x01é🙂\u2028') == '"a\\"\\\\\\n\\u0001é🙂\u2028"'
    assert quoted("\ud800x\udfff") == '"\\ud800x\\udfff"'


def test_dumping_what_is_no_json_is_a_programming_error() -> None:
    with pytest.raises(TypeError):
        dump({"a": {1, 2}})


@given(values)
def test_dump_writes_strict_json(value: object) -> None:
    text = dump(value)
    orjson.loads(text) if b"\\ud" not in text else json.loads(text)
