"""Digests are equal when the API would be told the same, and at no other time."""

import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import SHAPES, shape_requests, values

from analyzers.digests import Digester, as_blocks, digest, gist, is_billing, without_billing
from analyzers.wire.fold import Elided, fold, lengths, unfold
from analyzers.wire.jsontext import Number, parse

BILLING = "x-anthropic-billing-header: cc_version=2.1.332.a; cc_entrypoint=cli; cch=1a2b3;"
MARK = {"type": "ephemeral", "ttl": "1h"}
THRESHOLDS = (0, 40, 400, -1)


def message(content: Any, role: str = "user", **more: Any) -> bytes:
    return Digester().message({"role": role, "content": content} | more)


def through_a_capture(value: Any, over: int) -> Any:
    return unfold(fold(value, over))[0]


def test_a_string_is_one_text_block() -> None:
    assert message("hello") == message([{"type": "text", "text": "hello"}])
    assert message("hello") != message([{"type": "text", "text": "hello"}, {"type": "text", "text": ""}])
    assert message("hello") != message("hello", role="assistant")
    assert message("") != message([])


def test_a_moving_breakpoint_says_nothing() -> None:
    plain = [{"type": "text", "text": "a"}, {"type": "tool_result", "tool_use_id": "t", "content": "b"}]
    marked = [plain[0] | {"cache_control": MARK}, plain[1] | {"cache_control": {"type": "ephemeral"}}]
    assert message(plain) == message(marked)
    nested = [
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "b", "cache_control": MARK}]}
    ]
    assert message([plain[1]]) == message(nested)
    digester = Digester()
    tool = {"name": "Bash", "input_schema": {}}
    assert digester.tool(tool) == digester.tool(tool | {"cache_control": MARK})
    assert digester.tools([tool]) == digester.tools([tool | {"cache_control": MARK}])
    assert digester.system("be brief") == digester.system([{"type": "text", "text": "be brief", "cache_control": MARK}])


def test_a_breakpoint_inside_a_document_of_blocks_says_nothing() -> None:
    def document(block: dict[str, Any]) -> bytes:
        return message([{"type": "document", "source": {"type": "content", "content": [block]}}])

    block = {"type": "text", "text": "a"}
    assert document(block) == document(block | {"cache_control": MARK})


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda data: {"type": "tool_use", "id": "t", "name": "n", "input": data},
        lambda data: {"type": "tool_use", "id": "t", "name": "n", "input": {"content": [{"type": "text"} | data]}},
        lambda data: {"type": "server_tool_use", "id": "t", "name": "n", "input": {"list": [data]}},
        lambda data: {"type": "text", "text": "a", "citations": [data]},
    ],
)
def test_cache_control_as_a_users_own_key_counts(wrapped: Any) -> None:
    assert message([wrapped({})]) != message([wrapped({"cache_control": MARK})])


def test_cache_control_as_a_property_of_a_tool_counts() -> None:
    def tool(properties: dict[str, Any]) -> bytes:
        return Digester().tools([{"name": "n", "input_schema": {"type": "object", "properties": properties}}])

    assert tool({}) != tool({"cache_control": {"type": "string"}})


def test_a_users_own_string_and_list_stay_apart() -> None:
    def call(data: Any) -> bytes:
        return message([{"type": "tool_use", "id": "t", "name": "n", "input": {"content": data}}])

    assert call("a") != call([{"type": "text", "text": "a"}])


def test_the_order_of_keys_says_nothing_and_that_of_members_does() -> None:
    assert message([{"type": "text", "text": "a"}]) == message([{"text": "a", "type": "text"}])
    a, b = {"name": "a"}, {"name": "b"}
    assert Digester().tools([a, b]) != Digester().tools([b, a])


def test_the_clients_billing_line_is_no_part_of_the_system() -> None:
    digester = Digester()
    rest = [{"type": "text", "text": "You are careful."}]
    other = BILLING.replace("1a2b3", "ffff0")
    assert digester.system([{"type": "text", "text": BILLING}, *rest]) == digester.system(rest)
    assert digester.system([{"type": "text", "text": other}, *rest]) == digester.system(rest)
    one_string = f"{BILLING}\nYou are careful."
    assert digester.system(one_string) == digester.system("You are careful.")
    assert digester.system(one_string) != digester.system(f"{BILLING}\nYou are careless.")
    assert without_billing(BILLING) == []
    assert is_billing({"type": "text", "text": BILLING}) and not is_billing({"text": "billing"}) and not is_billing(7)


@pytest.mark.parametrize("over", THRESHOLDS)
def test_the_billing_line_is_known_when_it_is_folded(over: int) -> None:
    system = [{"type": "text", "text": BILLING}, {"type": "text", "text": "You are careful. " * 40}]
    assert Digester().system(through_a_capture(system, over)) == Digester().system(system[1:])


def test_a_folded_text_that_begins_with_a_billing_line_keeps_the_rest() -> None:
    long = f"{BILLING}\n" + "You are careful. " * 40
    kept = without_billing(through_a_capture(long, 400))
    assert len(kept) == 1 and type(kept[0]["text"]) is Elided


@given(values)
def test_any_value_has_one_digest_for_any_threshold(value: Any) -> None:
    for shape in ("data", "message", "blocks"):
        told = {digest(through_a_capture(value, over), shape) for over in THRESHOLDS}
        assert told == {digest(value, shape)}


@given(values)
def test_what_was_seen_before_gives_the_same_digest(value: Any) -> None:
    digester = Digester()
    first = digester.message(value)
    assert digester.message(value) == first == digest(value, "message")
    assert digester.message(through_a_capture(value, 0)) == first


@given(values, st.permutations(["message", "system", "tool", "tools", "value", "ordered"]))
def test_one_object_may_be_digested_as_many_things(value: Any, ways: list[str]) -> None:
    digester = Digester()
    for way in (*ways, *ways):
        assert getattr(digester, way)(value) == getattr(Digester(held=0), way)(value)


@pytest.mark.parametrize("held", [0, 40, 1_000, 100_000])
def test_what_is_gone_is_not_taken_for_what_comes_to_be_at_its_place(held: int) -> None:
    digester = Digester(held=held)
    for number in range(500):
        assert digester.value([number]) == digest([number], "data")


@pytest.mark.parametrize(("held", "alive"), [(0, 0), (1_000, 20), (100_000, 400)])
def test_no_more_objects_are_kept_than_is_allowed(held: int, alive: int) -> None:
    """Each of them has some sixty bytes of text."""
    digester = Digester(held=held)
    for number in range(400):
        digester.value({"kept by the digester": [f"{'x' * 30} {number}"]})
    found = sum(type(one) is dict and "kept by the digester" in one for one in gc.get_objects())
    assert found <= alive and bool(found) is bool(held)


@given(st.lists(values, min_size=2, max_size=2, unique_by=repr))
def test_what_reads_otherwise_has_another_digest(two: list[Any]) -> None:
    a, b = two
    assert (digest(a, "data") == digest(b, "data")) == (repr(in_order(a)) == repr(in_order(b)))


def in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(member) for member in value] if isinstance(value, list) else value


@pytest.mark.parametrize("shape", SHAPES, ids=lambda path: path.name)
def test_recorded_requests_have_one_digest_for_any_threshold(shape: Any) -> None:
    for request in list(shape_requests(shape))[:6]:
        body = parse(request["raw"]).value
        for value in (body, *body.get("messages", ())):
            whole = Digester().message(value)
            for over in (0, 400):
                assert Digester().message(through_a_capture(value, over)) == whole


def test_a_number_is_no_string_and_a_folded_text_no_object() -> None:
    digester = Digester()
    text = "x" * 500
    told = lengths(text)
    like = {name: getattr(told, name) for name in Elided.__dataclass_fields__}
    assert digester.value(told) != digester.value(like)
    assert digester.value(told) == digester.value(text)
    assert digester.value(Number("1.50")) != digester.value("1.50")
    assert len({digester.value(value) for value in (None, True, False, 0, 1, "", "1", [], {}, "null", "true")}) == 11


def test_numbers_count_as_written() -> None:
    def of(text: bytes) -> bytes:
        return digest(parse(text).value, "data")

    assert of(b"[1e2, 1]") == of(b"[1e2,1]") != of(b"[100, 1]")
    assert of(b"[1.5, 1e400]") == of(b" [1.5, 1e400]") != of(b"[1.5, 1e401]")


@pytest.mark.parametrize("sha", [None, "", "zz", "ab", "\ud83d", "ab" * 33])
def test_a_marker_without_a_true_hash_counts_by_its_length(sha: str | None) -> None:
    damaged = Elided(5, 5, 5, 5, sha)
    digester = Digester()
    assert digester.value([damaged]) == digest([damaged], "data") == digest([Elided(5, 5, 5, 5)], "data")
    assert digester.value([damaged]) != digester.value([Elided(6, 6, 6, 6, sha)])


def test_any_depth() -> None:
    deep: Any = "x"
    for _ in range(50_000):
        deep = [deep]
    assert message(deep) != message([deep])
    assert len(Digester().value(deep)) == 16


def test_the_gist_of_an_answer_is_what_comes_again_however_it_is_sent() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s" * 500}
    told = [thinking, {"type": "text", "text": "yes"}, {"type": "tool_use", "id": "t1", "name": "n", "input": {"a": 1}}]
    again = [{"type": "text", "text": "yes", "cache_control": MARK}, told[2] | {"input": {"a": 1, "b": False}}]
    assert gist(told) == gist(again) != gist([told[2]])
    assert gist(told) == gist(through_a_capture(told, 0))
    assert gist("yes") == gist([{"type": "text", "text": "yes"}]) != gist("no")
    assert gist([thinking]) is gist([]) is gist(None) is gist("") is None


@given(values)
def test_no_content_breaks_the_gist(value: Any) -> None:
    folded = through_a_capture(value, 0)
    assert gist(folded) == gist(value) or not as_blocks(value)
    gist([{"type": "text", "text": folded}, {"id": folded}])
