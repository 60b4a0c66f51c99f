"""Usage: what the two halves of a stream add up to, and which counters are known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.wire.jsontext import Json, Number, parse
from analyzers.wire.note import Note
from analyzers.wire.usage import Usage, count, merge


def codes(notes: tuple[Note, ...]) -> list[str]:
    return [note.code for note in notes]


def merged(start: Json, delta: Json) -> Usage:
    return Usage.from_json(merge(start, delta)[0])[0]


# Merging message_start and message_delta


def test_a_delta_overwrites_and_is_never_added() -> None:
    start = {"input_tokens": 15, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 60, "output_tokens": 1}
    usage, notes = merge(start, start | {"output_tokens": 33})
    assert usage == start | {"output_tokens": 33}
    assert notes == ()


def test_input_that_grows_in_the_delta_is_taken_and_says_that_it_is_no_single_prompt() -> None:
    delta = {"input_tokens": 12000, "output_tokens": 250, "server_tool_use": {"web_search_requests": 2}}
    usage, notes = merge({"input_tokens": 3000, "output_tokens": 1}, delta)
    assert usage == delta
    assert codes(notes) == ["server_rounds"]
    assert "includes server-side rounds" in notes[0].detail


def test_input_that_grows_without_server_tools_is_told_too() -> None:
    usage, notes = merge({"input_tokens": 3000}, {"input_tokens": 3001, "output_tokens": 2})
    assert (usage, codes(notes)) == ({"input_tokens": 3001, "output_tokens": 2}, ["input_grew"])


START = {"input_tokens": 800, "cache_read_input_tokens": 0, "output_tokens": 1}


@pytest.mark.parametrize("delta", [{"output_tokens": 9}, {"input_tokens": None, "output_tokens": 9}])
def test_what_the_delta_does_not_say_stays(delta: Json) -> None:
    usage = merged(START, delta)
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (800, 0, 9)
    assert merge(START, delta)[1] == ()


@pytest.mark.parametrize("delta", [None, {}, {"output_tokens": None}])
def test_without_a_final_count_the_output_is_unknown_and_the_placeholder_gone(delta: Json) -> None:
    start = START | {"output_tokens_details": {"thinking_tokens": 0}}
    usage, notes = merge(start, delta)
    assert usage == {"input_tokens": 800, "cache_read_input_tokens": 0}
    assert codes(notes) == ["output_unknown"]
    assert merged(start, delta).output_tokens is None
    assert merged(start, delta).thinking_tokens is None


@pytest.mark.parametrize("knows", [{}, {"cache_read_input_tokens": 0}, {"cache_creation_input_tokens": None}])
def test_zero_input_from_a_delta_that_knows_nothing_is_not_believed(knows: dict[str, Json]) -> None:
    usage, notes = merge(START, {"input_tokens": 0, "output_tokens": 9} | knows)
    assert usage is not None
    assert (usage["input_tokens"], usage["output_tokens"]) == (800, 9)
    assert codes(notes) == ["zero_input_ignored"]


@pytest.mark.parametrize(
    "knows",
    [
        {"iterations": []},
        {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0},
        {"cache_read_input_tokens": 900},
    ],
)
def test_a_true_zero_input_overwrites(knows: dict[str, Json]) -> None:
    usage, notes = merge(START, {"input_tokens": 0, "output_tokens": 9} | knows)
    assert usage is not None and usage["input_tokens"] == 0
    assert notes == ()


def test_zero_input_beside_zero_or_nothing_is_zero() -> None:
    assert merged({"input_tokens": 0}, {"input_tokens": 0, "output_tokens": 9}).input_tokens == 0
    assert merged({}, {"input_tokens": 0, "output_tokens": 9}).input_tokens == 0


def test_a_cache_read_that_falls_to_zero_is_true() -> None:
    """A compaction inside the request: the pass that answers reads nothing any more."""
    passes = [
        {"type": "compaction", "input_tokens": 100, "output_tokens": 131, "cache_read_input_tokens": 55096},
        {"type": "message", "input_tokens": 229, "output_tokens": 5, "cache_read_input_tokens": 0},
    ]
    delta = {"input_tokens": 229, "cache_read_input_tokens": 0, "output_tokens": 5, "iterations": passes}
    usage = merged({"input_tokens": 40, "cache_read_input_tokens": 55096, "output_tokens": 1}, delta)
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (229, 0, 5)
    assert usage.iterations is not None
    reads = [(one.type, one.cache_read_input_tokens) for one in usage.iterations]
    assert reads == [("compaction", 55096), ("message", 0)]


@pytest.mark.parametrize("start", [None, {}, {"input_tokens": 0, "output_tokens": 0}])
def test_usage_that_comes_only_at_the_end(start: Json) -> None:
    delta = {"input_tokens": 14, "cache_read_input_tokens": 6000, "output_tokens": 7}
    usage, notes = merge(start, delta)
    assert usage == delta
    assert notes == ()


def test_no_usage_at_all_is_none() -> None:
    assert merge(None, None) == (None, ())


def test_a_count_in_the_delta_that_is_none_does_not_hide_the_start() -> None:
    usage, notes = merge(START, {"input_tokens": "12", "output_tokens": 9})
    assert usage == START | {"output_tokens": 9}
    assert notes == (Note("counter_rejected", "a string is not a count", "usage.input_tokens"),)


def test_names_nobody_knows_are_merged_like_all_others() -> None:
    start = {"service_tier": "standard", "new_thing": {"a": 1}, "output_tokens": 1}
    assert merge(start, {"output_tokens": 2, "other": None, "new_thing": None})[0] == start | {"output_tokens": 2}
    assert merge(start, {"output_tokens": 2, "new_thing": 5})[0] == start | {"output_tokens": 2, "new_thing": 5}


def test_merging_changes_neither_half() -> None:
    start, delta = dict(START), {"input_tokens": 0, "output_tokens": 9}
    merge(start, delta)
    assert (start, delta) == (START, {"input_tokens": 0, "output_tokens": 9})


# Counters


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("7", 7), ("7.0", 7), ("1e3", 1000), ("1E2", 100), ("-0", 0), ("9" * 30, 10**30 - 1)],
)
def test_integers_however_written_are_counts(text: str, value: int) -> None:
    assert count(parse(text.encode()).value) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"12"', "a string"),
        ("true", "a boolean"),
        ("-3", "a negative number"),
        ("-1e999", "a number of more than 100 digits"),
        ("7.5", "a fraction"),
        ("1e-3", "a fraction"),
        ("[1]", "a list"),
        ("{}", "an object"),
        ("1e400", "a number of more than 100 digits"),
        ("9" * 5000, "a number of more than 100 digits"),
        ("1e99999999999999999999", "a number out of range"),
    ],
)
def test_what_is_no_count_is_rejected_with_its_reason(text: str, reason: str) -> None:
    usage, notes = Usage.from_json({"input_tokens": parse(text.encode()).value})
    assert usage == Usage()
    assert notes == (Note("counter_rejected", f"{reason} is not a count", "usage.input_tokens"),)


def test_null_and_absent_are_unknown_without_a_note() -> None:
    assert Usage.from_json({"cache_creation_input_tokens": None}) == (Usage(), ())
    assert Usage.from_json(None) == (Usage(), ())


def test_a_huge_count_is_kept_exact_and_flagged() -> None:
    usage, notes = Usage.from_json({"output_tokens": Number("123456789012345678901234567890")})
    assert usage.output_tokens == 123456789012345678901234567890
    assert notes == (Note("counter_huge", "a count of 30 digits", "usage.output_tokens"),)


written = st.from_regex(r"-?[0-9]{1,9}(\.[0-9]{1,9})?([eE]-?[0-9]{1,7})?", fullmatch=True).map(Number)


@given(st.integers() | st.floats() | st.text() | st.booleans() | written)
def test_no_value_raises_and_a_count_is_an_exact_integer(value: Json) -> None:
    number = count(value)
    assert number is None or (type(number) is int and 0 <= number < 10**100)


# The typed view


def test_the_input_is_the_sum_of_three_counters() -> None:
    usage, _ = Usage.from_json({"input_tokens": 10, "cache_creation_input_tokens": 24613, "cache_read_input_tokens": 0})
    assert (usage.total_input_tokens, usage.at_least_input) == (24623, 24623)


@pytest.mark.parametrize("missing", ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"])
def test_a_total_over_an_unknown_is_unknown_and_at_least_the_rest(missing: str) -> None:
    raw = {"input_tokens": 1, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300}
    usage, _ = Usage.from_json({name: value for name, value in raw.items() if name != missing})
    assert usage.total_input_tokens is None
    assert usage.at_least_input == 321 - raw[missing]


def test_thinking_is_a_part_of_the_output() -> None:
    usage = merged({"output_tokens": 1}, {"output_tokens": 92, "output_tokens_details": {"thinking_tokens": 53}})
    assert (usage.output_tokens, usage.thinking_tokens) == (92, 53)


def test_a_split_that_adds_up_is_exact() -> None:
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 10_000}
    usage, notes = Usage.from_json({"cache_creation_input_tokens": 10_000, "cache_creation": split})
    assert (usage.ephemeral_5m_input_tokens, usage.ephemeral_1h_input_tokens) == (0, 10_000)
    assert (usage.split_estimated, notes) == (False, ())


def test_what_the_split_of_the_start_leaves_over_is_five_minutes_estimated() -> None:
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 269}
    start = {"input_tokens": 5, "cache_creation_input_tokens": 269, "cache_creation": split, "output_tokens": 1}
    raw, _ = merge(start, {"cache_creation_input_tokens": 17_269, "output_tokens": 3})
    usage, notes = Usage.from_json(raw)
    assert (usage.ephemeral_5m_input_tokens, usage.ephemeral_1h_input_tokens) == (17_000, 269)
    assert usage.split_estimated
    assert codes(notes) == ["cache_split_incomplete"]


def test_a_split_of_more_than_was_written_is_left_as_it_is_and_marked() -> None:
    split = {"ephemeral_5m_input_tokens": 50, "ephemeral_1h_input_tokens": 60}
    usage, notes = Usage.from_json({"cache_creation_input_tokens": 100, "cache_creation": split})
    assert (usage.ephemeral_5m_input_tokens, usage.ephemeral_1h_input_tokens) == (50, 60)
    assert (usage.split_estimated, codes(notes)) == (True, ["cache_split_incomplete"])


@pytest.mark.parametrize("split", [None, {}, {"ephemeral_5m_input_tokens": None}])
def test_without_a_split_nothing_is_assigned(split: Json) -> None:
    usage, notes = Usage.from_json({"cache_creation_input_tokens": 100, "cache_creation": split})
    assert (usage.ephemeral_5m_input_tokens, usage.ephemeral_1h_input_tokens) == (None, None)
    assert (usage.split_estimated, notes) == (False, ())


def test_iterations_keep_their_type_and_model_and_the_top_level_as_it_was_given() -> None:
    raw = {
        "input_tokens": 520,
        "output_tokens": 200,
        "iterations": [
            {"type": "message", "model": "m-1", "input_tokens": 500, "output_tokens": 40},
            {"type": "fallback_message", "model": "m-2", "input_tokens": 520, "output_tokens": 200},
        ],
    }
    usage, notes = Usage.from_json(raw)
    assert (usage.input_tokens, usage.output_tokens, usage.type, usage.model) == (520, 200, None, None)
    assert usage.iterations == (
        Usage(type="message", model="m-1", input_tokens=500, output_tokens=40),
        Usage(type="fallback_message", model="m-2", input_tokens=520, output_tokens=200),
    )
    assert notes == ()


def test_a_write_that_only_an_iteration_tells_of() -> None:
    split = {"ephemeral_5m_input_tokens": 55_000, "ephemeral_1h_input_tokens": 0}
    hidden = {"type": "compaction", "input_tokens": 100, "output_tokens": 131, "cache_creation_input_tokens": 55_000}
    answer = {"type": "message", "input_tokens": 229, "output_tokens": 5, "cache_creation_input_tokens": 0}
    raw = {"input_tokens": 229, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 5}
    usage, _ = Usage.from_json(raw | {"iterations": [hidden | {"cache_creation": split}, answer]})
    assert usage.cache_creation_input_tokens == 0
    assert usage.iterations is not None
    assert sum(one.input_tokens or 0 for one in usage.iterations) == 329
    assert sum(one.output_tokens or 0 for one in usage.iterations) == 136
    assert [one.ephemeral_5m_input_tokens for one in usage.iterations] == [55_000, None]


def test_no_iterations_reported_is_not_the_same_as_none_run() -> None:
    assert Usage.from_json({"iterations": None})[0].iterations is None
    assert Usage.from_json({"iterations": []})[0].iterations == ()


def test_words_and_tools_are_read_by_their_names() -> None:
    raw = {
        "service_tier": "priority",
        "speed": "fast",
        "inference_geo": "us",
        "server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 0, "new_requests": 1, "other": None},
    }
    usage, notes = Usage.from_json(raw)
    assert (usage.service_tier, usage.speed, usage.inference_geo) == ("priority", "fast", "us")
    assert usage.server_tool_use == {"web_search_requests": 3, "web_fetch_requests": 0, "new_requests": 1}
    assert notes == ()


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ([], "usage"),
        ({"iterations": {}}, "usage.iterations"),
        ({"iterations": [5]}, "usage.iterations[0]"),
        ({"cache_creation": 5}, "usage.cache_creation"),
        ({"server_tool_use": "x"}, "usage.server_tool_use"),
        ({"service_tier": 5}, "usage.service_tier"),
    ],
)
def test_what_has_another_shape_is_told_with_its_place(raw: Json, path: str) -> None:
    _, notes = Usage.from_json(raw)
    assert [(note.code, note.path) for note in notes] == [("usage_malformed", path)]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(
    ["input_tokens", "cache_read_input_tokens", "output_tokens", "iterations", "cache_creation", "server_tool_use", "x"]
)
usages = st.none() | json_values | st.dictionaries(names, json_values)


@given(usages, usages)
def test_no_usage_raises(start: Json, delta: Json) -> None:
    raw, _ = merge(start, delta)
    Usage.from_json(raw)
    Usage.from_json(start)
