"""What comes again is kept once, and only what is the same to the last digit counts as coming again."""

from copy import deepcopy
from pathlib import Path

import capture_files
import pytest
from capture_files import written
from conversations import call, talk
from hypothesis import given
from json_values import values

from analyzers.exchange import Exchange
from analyzers.readers.kept import Kept, Shared
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json, Number, dump


def body(exchange: Exchange) -> dict[str, Json]:
    assert exchange.request is not None
    return exchange.request.body  # type: ignore[no-any-return]


def test_what_two_requests_have_in_common_is_one_object() -> None:
    shared = Shared()
    first = shared.exchange(call(talk("one"), "two"))
    second = shared.exchange(call(talk("one", "two", "three"), "four", at=9.0))
    assert body(second)["messages"][0] is body(first)["messages"][0]
    assert body(second)["tools"][0] is body(first)["tools"][0]


def test_a_whole_list_of_tools_that_comes_again_is_one_object() -> None:
    shared = Shared()
    tools: list[Json] = [{"name": "a"}, {"name": "b"}]
    told = [tools, [{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}], [*tools, 5], [*tools, 5.0]]
    first, second, turned, odd, odder = (body(shared.exchange(call(talk("one"), tools=one)))["tools"] for one in told)
    assert second is first and turned is not first
    assert [repr(one) for one in (first, turned, odd, odder)] == [repr(told[n]) for n in (0, 2, 3, 4)]


def test_what_is_gone_is_not_taken_for_what_comes_to_be_at_its_place() -> None:
    """Tools that are made anew for each request, some of which have no text to be told by."""
    shared, first = Shared(), {}
    for n in range(300):
        tools: list[Json] = [{"name": f"{n % 7}"}, {"name": "\ud800", "n": n}][n % 2 :]
        again = body(shared.exchange(call(talk("one"), tools=deepcopy(tools))))["tools"]
        assert again == tools
        [alone] = body(shared.exchange(call(talk("one"), tools=[{"name": f"{n % 5}"}])))["tools"]
        assert alone is first.setdefault(n % 5, alone) and alone == {"name": f"{n % 5}"}


@given(values, values)
def test_a_request_is_what_it_was(one: Json, other: Json) -> None:
    shared = Shared()
    for value in (one, other, one):
        messages = [{"role": "user", "content": value}]
        assert dump(body(shared.exchange(call(messages)))["messages"]) == dump(messages)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        (1, Number("1")),
        ("1", Number("1")),
        ("a", Elided(1, 1, 1, 3)),
        (Elided(9, 9, 9, 11), Elided(9, 9, 9, 11, label="environment")),
    ],
)
def test_values_that_only_python_takes_for_the_same_are_kept_apart(one: Json, other: Json) -> None:
    shared = Shared()
    first, second = (
        body(shared.exchange(call([{"role": "user", "content": value}])))["messages"][0] for value in (one, other)
    )
    assert first is not second
    assert repr(second["content"]) == repr(other)


def test_the_order_of_keys_counts() -> None:
    shared = Shared()
    one = shared.exchange(call([{"role": "user", "content": "a"}]))
    other = shared.exchange(call([{"content": "a", "role": "user"}]))
    assert list(body(other)["messages"][0]) == ["content", "role"]
    assert body(one)["messages"][0] is not body(other)["messages"][0]


def test_files_are_read_once_and_their_problems_told_once(tmp_path: Path) -> None:
    lines = [capture_files.start(), capture_files.request("1", capture_files.body()), capture_files.response("1")]
    place = written(tmp_path, "a.jsonl", *lines, b"no line\n", capture_files.end())
    sources = Kept([str(tmp_path)])
    first: list[object] = []
    problems: list[object] = []
    exchanges = list(sources.exchanges(problems))  # type: ignore[arg-type]
    place.unlink()
    assert list(sources.exchanges(first)) == exchanges  # type: ignore[arg-type]
    assert (len(exchanges), len(problems), len(first)) == (1, 1, 0)
