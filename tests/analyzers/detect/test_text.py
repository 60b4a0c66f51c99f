"""A text looked through: places are exact, bounds hold and are told, hostile texts cost no more than others."""

import base64
import json
import time
import urllib.parse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_values import texts

from analyzers.detect.kinds import KINDS
from analyzers.detect.layer import Blobs
from analyzers.detect.nested import layers
from analyzers.detect.text import DEEPEST, kinds_of, look

MAIL = "ada.byron@weigh.example"
PIECES = st.sampled_from(
    [
        MAIL, "/home/zokuga/work", "10.20.30.40", "password=hunter2!", "\\n", "\\u0041", "%41", "%C3%A9", "\u200b", '"',
        "{", "é", "\n", " ", "威", "🙂", "\ud83d", "-home-zokuga-x", "A_B=cdefg7\n", "# Memory\n",
        "sk-ant-api03-AbCdEfGh12345678IjKl",
    ]
)  # fmt: skip
MIXED = st.lists(PIECES | texts, max_size=12).map("".join)


@settings(max_examples=100, deadline=None)
@given(MIXED)
def test_what_stands_in_the_text_itself_stands_where_it_is_said_to(text: str) -> None:
    for one in look(text).found:
        assert one.kind in KINDS and 0 <= one.start < one.end <= len(text) and one.chars == len(one.value)
        if set(one.layers) <= {"dashes"}:
            assert text[one.start : one.end] == one.value


@settings(max_examples=100, deadline=None)
@given(MIXED)
def test_a_layer_knows_the_place_of_each_character_that_was_not_encoded(text: str) -> None:
    for layer in layers(text, Blobs()):
        assert 0 <= layer.start < layer.end <= len(text)
        if layer.steps and layer.text:
            start, end = layer.outer(0, len(layer.text))
            assert end == layer.end and (start == layer.start or layer.encoding == "invisible")
            for at, char in enumerate(layer.text):
                start, end = layer.outer(at, at + 1)
                assert layer.start <= start <= end <= layer.end
                assert text[start:end] in (char, "+" if char == " " else char) or end - start != 1


@pytest.mark.parametrize(
    "encode", [lambda text: urllib.parse.quote(text, safe=""), lambda text: text.replace("@", "\\u0040")]
)
def test_an_encoded_value_is_placed_by_its_encoded_form(encode: object) -> None:
    coded = encode(MAIL)  # type: ignore[operator]
    text = f"see {coded} there"
    [one] = [one for one in look(text).found if one.kind == "email"]
    assert (one.value, text[one.start : one.end]) == (MAIL, coded)


def test_a_value_is_not_in_a_representation() -> None:
    looked = look(f"mail {MAIL}")
    assert MAIL not in repr(looked) and looked.found[0].value == MAIL


def test_kinds_of_a_text_are_counts_that_can_be_written_down() -> None:
    assert kinds_of(f"{MAIL}, {MAIL} and 10.20.30.40") == {"email": 2, "ip_address": 1}
    assert kinds_of("nothing of that kind") == {}
    assert json.loads(json.dumps(kinds_of("hunter2-and-more", "password"))) == {"secret_value": 1}


def test_texts_inside_texts_are_followed_to_a_depth_and_then_counted() -> None:
    text = f"mail {MAIL}"
    for depth in range(1, DEEPEST + 3):
        text = base64.b64encode(text.encode()).decode()
        looked = look(text)
        if depth <= DEEPEST:
            assert looked.found[0].layers == ("base64",) * depth
            assert looked.too_deep == 0
        else:
            assert looked.found == () and looked.too_deep == 1


def test_fifty_levels_of_json_and_percent() -> None:
    nested = MAIL
    for _ in range(50):
        nested = f'["{nested}"]' if '"' not in nested else f"[{nested}]"
    assert [one.kind for one in look(nested).found] == ["email"]
    coded = MAIL
    for _ in range(50):
        coded = urllib.parse.quote(coded, safe="")
    assert look(coded).too_deep == 1


def test_what_is_encoded_and_no_text_is_counted() -> None:
    looked = look("sig " + base64.b64encode(bytes(range(256))).decode())
    assert (looked.found, looked.blobs, looked.blob_chars) == ((), 1, 344)


N = 40_000
HOSTILE = [
    "@", "/", "a@", "a@b.co ", "a", "A1", "\\", '\\"', "%41", "%", ":", "1:", "1.", "=", "a=", "key=", "--a",
    "eyJaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "http://", "x://a:b@", '\n', 'A=b1\n', '# Memory\n',
    'gitStatus: \n', "Contents of ", "Stop hook success: ", "<env>", "sk-", "4", "4 ", "+1", "/home/", "-home-",
    "C:\\Users\\a", "{", '{"a":', '"', "a.a.local", '\u200b', "authorization: ", "cookie: a=", '-rwxrwxrwx 1 a b 1\n',
    'abcdef1 \n', "git checkout -b a/", "a-", "a@b:~", "\\u0041", "password='", "x:\\\\", "Author: a ", "Author: ",
    "A=", "a,", "Bearer ", "cookie: ", ":AA", "SG.aaaaaaaaaaaaaaaaaaaa.", "--key ", "<password>", "</", '\x1b[1m',
    "QUJD", "QUJD-", "/QUJD", "1.2.3.4 ", "10.1.2.3/", "ab:", "::", "%4", "+1+1", "[[", "[1,", '["a",', "4111-",
    "AKIA", "git@h.io:a/b ", "0x", "6164", "DE12 ", "fe80:", "~a", "-", "_", "req_", "user_a_account_",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE, ids=repr)
def test_hostile_texts_take_linear_time(piece: str) -> None:
    text = piece * (N // len(piece))
    began = time.process_time()
    look(text)
    look(text + MAIL)
    assert time.process_time() - began < 5.0, "a pass over each pair of characters would take minutes"
