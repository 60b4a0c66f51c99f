"""Members of saved exchanges, typed as programs please."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.readers.left_out import LeftOut
from analyzers.readers.saved_fields import Address, address, count, headers_of, seconds_of
from analyzers.wire.jsontext import Number


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://api.anthropic.com/v1/messages", Address("https", "api.anthropic.com", 443, "/v1/messages")),
        ("HTTP://u:p@w@Host:8080/a?b=1#c", Address("http", "host", 8080, "/a?b=1")),
        ("http://[::1]:9/", Address("http", "[::1]", 9, "/")),
        ("http://h?x", Address("http", "h", 80, "/?x")),
        ("ws://h", Address("ws", "h", 80, "/")),
        ("https://h:x/", Address("https", "h", 443, "/")),
        ("https://[bad/", Address("https", "[bad", 443, "/")),
        ("/v1/messages", None),
        ("", None),
        (None, None),
        (5, None),
    ],
)
def test_an_address_is_its_parts_without_user_info_and_fragment(url: object, parts: Address | None) -> None:
    assert address(url) == parts


@given(st.text())
def test_no_address_raises(text: str) -> None:
    address(text)
    address("https://" + text)


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        *[(0, 0), (7, 7), (7.0, 7), (Number("7"), 7), (Number("-0"), 0)],
        *[(value, None) for value in (-1, 1.5, True, "7", None, Number("1e400"), float("inf"), [])],
    ],
)
def test_a_count_is_a_whole_number_from_0(value: object, whole: int | None) -> None:
    assert count(value) == whole


@pytest.mark.parametrize("value", [0, -1, True, "", "2026-13-01T00:00:00Z", "10:00:00Z", Number("1e300"), {}, 1e18])
def test_no_time_is_no_time(value: object) -> None:
    assert seconds_of(value) is None


@pytest.mark.parametrize(
    "value", [None, 5, "a: b", [], {}, [["a"]], [{"value": "x"}], [["", "x"]], {"": "x"}, {"a": {}}]
)
def test_no_headers_are_no_headers(value: object) -> None:
    assert headers_of(value) == ()


def test_kinds_that_were_left_out_take_bounded_memory_and_show_no_identifiers() -> None:
    left_out = LeftOut()
    for number in range(5000):
        left_out.add("GET", f"/a/{chr(97 + number % 26)}{chr(97 + number // 26 % 26)}{chr(97 + number // 676)}")
    left_out.add("P\u00d6ST 1", "/v1/Files/sk-ant-1/x?key=1")
    assert len(left_out._kinds) == 1000
    assert next(left_out.sentences()).startswith("5,001 other HTTP requests were left out (most: GET /a/aaa (1), ")
    alone = LeftOut()
    alone.add("p\u00d6ST 1", "/v1/files/sk-ant-1/x?key=1")
    assert list(alone.sentences()) == ["1 other HTTP request was left out (most: ? /v1/files/*/x (1))"]
