"""Folding keeps every length in every unit, and user data that looks like a marker comes back as it was."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import SHAPES, definition, shape_requests, values

from analyzers.sizes import UNITS, size
from analyzers.wire.fold import Elided, fold, folded_key, lengths, unfold
from analyzers.wire.jsontext import dump, parse

thresholds = st.sampled_from([-1, 0, 1, 5, 400])


def through(value: object, over: int) -> object:
    """Folded, written, read and unfolded."""
    return unfold(parse(dump(fold(value, over))).value)[0]


@given(values, thresholds)
def test_size_after_folding_equals_size_before_in_every_unit(value: object, over: int) -> None:
    again = through(value, over)
    for unit in UNITS.values():
        assert size(again, unit) == size(value, unit)
    assert size(again) == definition(value)


@given(values)
def test_what_was_not_folded_comes_back_identical(value: object) -> None:
    data = {"input": value}  # where nothing is a credential
    assert dump(through(data, -1)) == dump(data)


@given(values, thresholds)
def test_folding_leaves_the_original_alone(value: object, over: int) -> None:
    before = dump(value)
    fold(value, over)
    assert dump(value) == before


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.name)
def test_requests_of_real_clients_keep_their_sizes(path) -> None:  # type: ignore[no-untyped-def]
    for request in shape_requests(path):
        value = parse(request["raw"]).value
        for over in (0, 400):
            again = through(value, over)
            assert [size(again, unit) for unit in UNITS.values()] == [size(value, unit) for unit in UNITS.values()]


@pytest.mark.parametrize(
    ("text", "chars", "utf16", "utf8"),
    [
        ("👨\u200d👩\u200d👧", 5, 8, 18),
        ("🇩🇪", 2, 4, 8),
        ("👍🏽", 2, 4, 8),
        ("\U00020000", 1, 2, 4),
        ("é", 1, 1, 2),
        ("e\u0301", 2, 2, 3),
        ("한", 1, 1, 3),
        ("\u1112\u1161\u11ab", 3, 3, 9),
        ("\ud83d", 1, 1, 3),
    ],
)
def test_lengths_are_of_the_text_as_it_is_without_normalising(text: str, chars: int, utf16: int, utf8: int) -> None:
    told = lengths(text)
    assert (told.chars, told.utf16, told.bytes) == (chars, utf16, utf8)
    assert told.sha256 == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def test_equal_text_has_one_hash_and_look_alikes_have_two() -> None:
    assert lengths("Datei é").sha256 != lengths("Datei e\u0301").sha256
    assert lengths("a\u200b").sha256 != lengths("a").sha256


@pytest.mark.parametrize(
    ("text", "json_chars"),
    [
        ('"', 2),
        ("\\", 2),
        ("\n\t\r\b\f", 10),
        ("\x00", 6),
        ("\x1b[0m", 9),
        ("\x7f", 1),
        ("/", 1),
        ("\ud800", 6),
        ("é\n", 3),
    ],
)
def test_json_characters_are_those_of_the_shortest_form(text: str, json_chars: int) -> None:
    assert lengths(text).json_chars == json_chars


def test_a_marker_says_only_what_differs() -> None:
    assert fold(["a" * 401], 400) == [{"_elided": True, "chars": 401, "sha256": hashlib.sha256(b"a" * 401).hexdigest()}]
    marker = fold(["🙂\n" * 300], 400)[0]
    assert (marker["chars"], marker["utf16"], marker["bytes"], marker["json_chars"]) == (600, 900, 1500, 900)


def test_the_threshold_is_the_longest_string_that_is_kept() -> None:
    assert fold(["a" * 400, "a" * 401], 400)[0] == "a" * 400
    assert fold([""], 0) == [""]
    assert fold(["a"], 0)[0]["chars"] == 1
    assert fold(["a" * 10_000], -1) == ["a" * 10_000]


def test_identifiers_stay_where_the_api_puts_them_and_are_folded_where_the_user_does() -> None:
    body = {
        "model": "claude-haiku-4-5",
        "metadata": {"user_id": '{"session_id":"x"}'},
        "tools": [{"name": "Read", "input_schema": {"type": "object", "properties": {"name": {"type": "string"}}}}],
        "messages": [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"name": "secret"}}],
            }
        ],
    }
    folded = fold(body, 0)
    assert folded["model"] == "claude-haiku-4-5"
    assert folded["metadata"]["user_id"] == '{"session_id":"x"}'
    call = folded["messages"][0]["content"][0]
    assert (call["type"], call["id"], call["name"]) == ("tool_use", "toolu_1", "Read")
    assert call["input"]["name"]["chars"] == 6
    assert folded["tools"][0]["name"] == "Read"
    assert folded["tools"][0]["input_schema"]["type"]["chars"] == 6


@pytest.mark.parametrize(
    "data",
    [
        {"_elided": True, "chars": 5, "sha256": "ab"},
        {"_elided": "x"},
        {"__elided": {"_elided": 1}},
        {"_elided:9:" + "a" * 64 + ":9:9:9": 1},
        {"_elided:": 1, "_elided": 2, "__elided:x\ny": 3},
        {"_": 1, "_elide": 2, "elided": 3, "_elidedx": 4},
    ],
)
def test_user_data_that_looks_like_a_marker_is_data(data: dict[str, object]) -> None:
    assert through({"input": data}, 400) == {"input": data}
    assert size(through(data, 0)) == definition(data)


def test_a_long_key_is_folded_with_all_its_lengths() -> None:
    key = "ключ🙂\n" * 40_000
    again = through({"input": {key: 1}}, 400)
    (elided,) = again["input"]  # type: ignore[index]
    assert isinstance(elided, Elided)
    assert elided.chars == len(key) == 240_000
    assert size(again, UNITS["utf16"]) == size({"input": {key: 1}}, UNITS["utf16"])


def test_keys_up_to_64_characters_stay_readable_at_any_threshold() -> None:
    assert folded_key("k" * 64, 0) == "k" * 64
    assert folded_key("k" * 65, 0).startswith("_elided:65:")
    assert folded_key("k" * 401, -1) == "k" * 401


@pytest.mark.parametrize(
    "place",
    [
        lambda secret: {"mcp_servers": [{"name": "n", "authorization_token": secret}]},
        lambda secret: {"requests": [{"params": {"mcp_servers": [{"authorization_token": secret}]}}]},
        lambda secret: {"mcp_servers": [{"name": "n", "Authorization_Token": secret}]},
        lambda secret: {"mcp_servers": [{"name": "n", "url": f"https://u:{secret}@mcp.example/sse"}]},
        lambda secret: {"mcp_servers": [{"name": "n", "url": f"https://mcp.example/sse?api_key={secret}"}]},
        lambda secret: {"mcp_servers": secret},
        lambda secret: {"fallback_credit_token": secret},
        lambda secret: {"requests": [{"params": {"fallback_credit_token": {"token": secret, "mode": "strict"}}}]},
        lambda secret: {"fallback_credit_token": {"token": [secret, {"deep": secret}]}},
    ],
)
@pytest.mark.parametrize("over", [-1, 0, 400])
def test_a_credential_is_masked_with_its_length_and_without_its_hash(place, over: int) -> None:  # type: ignore[no-untyped-def]
    secret = "tok-éclair-5512"
    body = place(secret)
    written = dump(fold(body, over))
    assert secret.encode() not in written
    assert hashlib.sha256(secret.encode()).hexdigest().encode() not in written
    assert size(through(body, over)) == definition(body)


def test_a_member_called_like_a_credential_in_user_data_is_data() -> None:
    assert fold({"input": {"authorization_token": "x"}}, 400) == {"input": {"authorization_token": "x"}}


def test_labels_tell_what_was_folded() -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAABAAAAAMA" + "A" * 500
    body = {
        "messages": [
            {
                "content": [
                    {"type": "text", "text": "<system-reminder>\nThe following skills are available " + "x" * 400}
                ]
            },
            {"content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}]},
            {"content": [{"type": "thinking", "thinking": "", "signature": "s" * 401}]},
            {"content": [{"type": "redacted_thinking", "data": "d" * 401}]},
            {"content": [{"type": "text", "text": "x" * 401}]},
        ]
    }
    blocks = [message["content"][0] for message in fold(body, 400)["messages"]]
    assert blocks[0]["text"]["_elided"] == "system-reminder: skills"
    image = blocks[1]["source"]["data"]
    assert (image["_elided"], image["width"], image["height"]) == ("base64 image/png", 1024, 768)
    assert blocks[2]["thinking"] == ""
    assert blocks[2]["signature"]["_elided"] == "signature"
    assert blocks[3]["data"]["_elided"] == "encrypted"
    assert blocks[4]["text"]["_elided"] is True


@pytest.mark.parametrize(
    "marker",
    [
        {"_elided": True},
        {"_elided": True, "chars": -1},
        {"_elided": True, "chars": "9"},
        {"_elided": True, "chars": 9, "sha256": 7},
    ],
)
def test_a_damaged_marker_is_read_as_an_object_with_a_note(marker: dict[str, object]) -> None:
    value, notes = unfold({"a": marker})
    assert value == {"a": marker}
    assert [note.code for note in notes] == ["damaged_marker"]


def test_depth_is_no_problem_either_way() -> None:
    deep: object = "x" * 401
    for _ in range(30_000):
        deep = [deep]
    again, _ = unfold(fold(deep, 400))
    assert size(again) == 401
