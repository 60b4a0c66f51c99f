"""The chain law, and the causes of what breaks it, on conversations in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from analyzers.cache import CacheRow, Seen, cause_of, chain, law, to_compare
from analyzers.cache_causes import CAUSES, Cause
from analyzers.cache_model import Entry, Prediction
from analyzers.cache_positions import Positions, Spotted
from analyzers.cache_prompt import CachedPrompt, cached_prompt
from analyzers.first_difference import Place
from analyzers.lineage import Thread, Turn
from analyzers.spent import NOTHING, Spent

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
MODEL = "claude-opus-5-5"


def spent(read: int | None, written: int | None, fresh: int | None = 5) -> Spent:
    return Spent(fresh, written, written, 0, read, 10)


def prompt(blocks: int = 1, mark: dict[str, str] | None = MARK, at: int = -1, **fields: Any) -> CachedPrompt:
    """Of a message with so many blocks, one of them marked."""
    content: list[dict[str, Any]] = [{"type": "text", "text": f"block {n} {'x' * 4000}"} for n in range(blocks)]
    content[at] |= {"cache_control": mark}
    return cached_prompt({"messages": [{"role": "user", "content": content}]} | fields, MODEL, Positions())


def seen(n: int, counted: Spent, **changes: Any) -> Seen:
    at = 10.0 * n
    known = Seen(n, at, at + 1, MODEL, counted, prompt(n), lives=("5m",))
    return replace(known, **changes)


def thread(*steps: str) -> Thread:
    turns = [Turn(n, None, step) for n, step in enumerate(("start", *steps), 1)]  # type: ignore[arg-type]
    return Thread("s", None, turns)


def rows_of(*many: Seen, steps: tuple[str, ...] | None = None, places: Any = None, told: Any = None) -> list[CacheRow]:
    turns = thread(*(steps or ["continues"] * (len(many) - 1)))
    compared = {pair: None for pair in to_compare(turns, many)} | (places or {})
    return list(chain(turns, many, compared, told or {}).rows)


# The law


@pytest.mark.parametrize(
    ("before", "after", "holds", "expected"),
    [
        (spent(100, 20), spent(120, 5), True, 120),
        (spent(100, 20), spent(119, 5), False, 120),
        (spent(100, 20), spent(121, 5), False, 120),
        (spent(0, 0), spent(0, 0), True, 0),
        (spent(None, 20), spent(120, 5), None, None),
        (spent(100, None), spent(120, 5), None, None),
        (spent(100, 20), spent(None, None), None, 120),
        (NOTHING, NOTHING, None, None),
    ],
)
def test_a_request_reads_what_the_one_before_read_and_wrote(
    before: Spent, after: Spent, holds: bool | None, expected: int | None
) -> None:
    assert law(before, after) == (holds, expected)


def test_the_law_compares_neighbours_only() -> None:
    rows = rows_of(seen(1, spent(0, 1000)), seen(2, spent(0, 1100)), seen(3, spent(1100, 100)))
    assert [row.holds for row in rows] == [None, False, True]
    assert [row.expected for row in rows] == [None, 1000, 1100]
    assert [row.again for row in rows] == [0, 1000, 0]
    assert [row.follows for row in rows] == [None, 1, 2]


def test_tokens_written_again_are_no_more_than_were_written() -> None:
    rows = rows_of(seen(1, spent(0, 1000)), seen(2, spent(200, 300)))
    assert rows[1].again == 300


def test_what_was_written_again_is_not_known_without_the_counter() -> None:
    rows = rows_of(seen(1, spent(0, 1000)), seen(2, spent(200, None)))
    assert (rows[1].holds, rows[1].broken, rows[1].again, rows[1].resent) == (False, True, None, None)
    unknown = rows_of(seen(1, spent(0, 1000)), seen(2, spent(None, 300)))[1]
    assert (unknown.is_judged, unknown.broken, unknown.again, unknown.resent) == (False, False, None, None)


def test_what_was_sent_again_is_not_known_without_the_counter() -> None:
    fresh = spent(200, 300)._replace(fresh=None)
    assert rows_of(seen(1, spent(0, 1000)), seen(2, fresh))[1].resent is None
    all_written = spent(200, 800)._replace(fresh=None)
    assert rows_of(seen(1, spent(0, 1000)), seen(2, all_written))[1].resent == 0


def test_several_passes_are_no_state_that_the_next_could_read() -> None:
    rows = rows_of(seen(1, spent(0, 1000)), seen(2, spent(3000, 500), rounds=True), seen(3, spent(1200, 100)))
    assert [(row.holds, row.cause) for row in rows[1:]] == [(None, None), (None, None)]


def test_a_failed_attempt_that_was_counted_stands_for_the_turn_before() -> None:
    turns = thread("continues")
    turns.turns[1] = Turn(3, None, "continues", attempts=[2])  # type: ignore[arg-type]
    many = [seen(1, spent(0, 1000)), seen(2, spent(1000, 50)), seen(3, spent(1050, 0))]
    assert chain(turns, many, {}, {}).rows[1].holds is True
    failed = [many[0], seen(2, NOTHING), seen(3, spent(1000, 50))]
    assert chain(turns, failed, {}, {}).rows[1].holds is True


def test_only_the_prompts_around_a_loss_are_compared() -> None:
    many = [seen(1, spent(0, 1000)), seen(2, spent(1000, 9)), seen(3, spent(0, 1100)), seen(4, spent(5000, 0)),
            seen(5, spent(None, None)), seen(6, spent(0, 10))]  # fmt: skip
    assert to_compare(thread(*["continues"] * 5), many) == [(2, 3)]


def test_every_cause_has_words() -> None:
    assert set(CAUSES) == set(get_args(Cause.__value__))


# Causes, in the order in which they are looked for


def cause(
    before: Seen,
    after: Seen,
    *,
    step: str = "continues",
    place: Place | None = None,
    predicted: Prediction | None = None,
) -> Cause:
    turn = Turn(after.n, None, step)  # type: ignore[arg-type]
    gap = (after.start or 0) - (before.start or 0)
    return cause_of(turn, before, after, place, True, gap, before.lives[-1] if before.lives else None, predicted)[0]


ONE, TWO = seen(1, spent(0, 1000)), seen(2, spent(0, 1100))
SYSTEM = Place("system", "system[0]", "system changed", 1, 2)
MESSAGE = Place("messages", "messages[0]", "message changed", 1, 2)
LATE = replace(TWO, start=400.0)


@pytest.mark.parametrize(
    ("place", "cause_told"),
    [
        (Place("", "", "not known", None, None), "unknown"),
        (Place("model", "model", "model", 1, 2), "model"),
        (Place("tools", "tools[0]", "tool added", None, 2), "tools_added"),
        (Place("tools", "tools[0]", "tool removed", 1, None), "tools_removed"),
        (Place("tools", "tools[0]", "tool reordered", 1, 2), "tools_reordered"),
        (Place("tools", "tools[0]", "tool description changed", 1, 2), "tools_changed"),
        (Place("tools", "tools[0]", "tool schema key order", 1, 2), "tools_changed"),
        (SYSTEM, "system"),
        (Place("thinking", "thinking", "thinking", 1, 2), "thinking"),
        (Place("output_config", "output_config", "output_config", 1, 2), "effort"),
        (Place("tool_choice", "tool_choice", "tool_choice", 1, 2), "tool_choice"),
        (Place("speed", "speed", "speed", 1, 2), "speed"),
        (Place("mcp_servers", "mcp_servers", "mcp_servers", 1, 2), "settings"),
        (Place("context_management", "context_management", "context_management", 1, 2), "settings"),
        (MESSAGE, "message_rewritten"),
        (Place("messages", "messages[0].content[0].input", "message key order", 1, 2), "message_rewritten"),
    ],
)
def test_the_first_difference_is_the_cause(place: Place, cause_told: str) -> None:
    assert cause(ONE, TWO, place=place) == cause_told
    in_front = place.field in ("model", "tools", "system")
    assert cause(ONE, LATE, place=place) == (cause_told if in_front else "expired")  # that alone loses the beginning
    assert cause(ONE, replace(LATE, spent=spent(500, 600)), place=place) == cause_told  # which was read here


def test_what_the_conversation_became_comes_before_every_difference() -> None:
    assert cause(ONE, replace(LATE, model="claude-haiku-5-5"), step="compacted", place=SYSTEM) == "compaction"
    assert cause(ONE, replace(LATE, edited=True, model="claude-haiku-5-5"), place=SYSTEM) == "model"


def test_an_alias_and_its_snapshot_are_one_model() -> None:
    assert cause(ONE, replace(TWO, model="claude-opus-5-5-20260901")) == "unexplained"


def test_edits_of_the_server_explain_what_no_earlier_difference_does() -> None:
    edited = replace(TWO, edited=True, edits=b"cleared")
    assert cause(ONE, edited) == "context_editing"
    assert cause(ONE, edited, place=MESSAGE) == "context_editing"
    assert cause(ONE, edited, place=SYSTEM) == "system"
    assert cause(replace(ONE, edited=True, edits=b"cleared"), edited) == "unexplained"  # no new ones
    assert cause(replace(ONE, edited=True, edits=b"cleared"), replace(edited, start=400.0)) == "expired"


def test_another_host_has_another_cache() -> None:
    here = replace(ONE, host="api.anthropic.com")
    assert cause(here, replace(TWO, host="gateway.example.com")) == "host"
    assert cause(here, replace(TWO, host="gateway.example.com"), place=SYSTEM) == "host"
    assert cause(here, TWO) == "unexplained"  # a log does not say which


def test_the_break_of_a_failed_attempt_is_told() -> None:
    turns = thread("continues")
    turns.turns[1] = Turn(3, None, "continues", attempts=[2])  # type: ignore[arg-type]
    many = [seen(1, spent(0, 1000)), seen(2, spent(0, 1100), start=400.0), seen(3, spent(1100, 0), start=402.0)]
    rows = chain(turns, many, {}, {}).rows
    assert [(row.seen.n, row.holds, row.cause) for row in rows] == [
        (1, None, None), (2, False, "expired"), (3, True, None)
    ]  # fmt: skip
    assert [row.broken for row in rows] == [False, True, False]


def test_a_billing_line_that_another_host_reads_may_leave_the_tools() -> None:
    tools = [{"name": "a", "cache_control": MARK}]
    marked = cached_prompt({"tools": tools, "messages": [{"role": "user", "content": "hi"}]}, MODEL, Positions())
    one = replace(ONE, first_party=False, billing=b"1", prompt=marked)
    two = replace(TWO, first_party=False, billing=b"2", prompt=marked, spent=spent(400, 700))
    assert cause(one, two) == "billing_header"
    assert cause(one, replace(two, billing=b"1")) == "unexplained"


def test_without_the_prompts_only_the_clock_is_left() -> None:
    bare = replace(TWO, prompt=None)
    assert cause(ONE, bare) == "unknown"
    assert cause(ONE, replace(bare, start=311.0)) == "expired"
    assert cause(replace(ONE, lives=("1h",)), replace(bare, start=311.0)) == "unknown"
    assert cause(replace(ONE, lives=()), replace(bare, start=311.0)) == "unknown"
    assert cause(replace(ONE, lives=()), replace(bare, start=3700.0)) == "expired"


def test_nothing_changed_and_nothing_expired() -> None:
    assert cause(ONE, TWO) == "unexplained"


def test_no_breakpoint() -> None:
    assert cause(ONE, replace(LATE, prompt=prompt(2, None))) == "no_breakpoint"


def test_the_model_tells_what_expired_and_what_had_not_begun() -> None:
    entry = Entry(0.0, 300.0, 300.0, 0.0, 1000, 4000, 1)
    assert cause(ONE, TWO, predicted=Prediction(0, 1100, 1100, 0, missed=entry, why="expired")) == "expired"
    assert cause(ONE, TWO, predicted=Prediction(0, 1100, 1100, 0, missed=entry, why="concurrent")) == "concurrent"
    more = Prediction(500, 600, 600, 0, entry=entry, missed=entry, why="expired")
    assert cause(ONE, TWO, predicted=more) == "unexplained"  # there was more than what was read


def test_the_time_to_live_counts_from_the_start() -> None:
    assert cause(ONE, replace(TWO, start=309.0)) == "unexplained"
    assert cause(replace(ONE, begun=305.0), replace(TWO, start=311.0)) == "expired"


def test_sent_before_the_answer_began() -> None:
    assert cause(replace(ONE, begun=25.0), TWO) == "concurrent"


def test_breakpoints_that_are_too_far_apart_or_stand_too_early() -> None:
    assert cause(ONE, replace(TWO, prompt=prompt(20))) == "unexplained"
    assert cause(ONE, replace(TWO, prompt=prompt(21))) == "look_back"
    assert cause(replace(ONE, prompt=prompt(3)), replace(TWO, prompt=prompt(5, at=1))) == "breakpoint_moved"


def test_the_end_of_what_was_cached_counts_and_not_an_earlier_breakpoint_that_is_found() -> None:
    system = [{"type": "text", "text": "rules " * 500, "cache_control": MARK}]
    one, other = prompt(1, system=system), prompt(30, system=system)
    assert cause(replace(ONE, prompt=one), replace(TWO, prompt=other)) == "look_back"


def test_thinking_that_the_model_forgets_is_a_cause_and_a_place() -> None:
    thought = Spotted("messages[1].content[0]", 90)
    before = replace(ONE, prompt=replace(prompt(1), thought=thought))
    assert cause(before, TWO) == "thinking_stripped"
    assert cause(before, replace(TWO, prompt=replace(prompt(2), thought=thought))) == "unexplained"
    assert cause(before, TWO, place=SYSTEM) == "system"


def test_another_time_to_live_is_asked_for() -> None:
    assert cause(ONE, replace(TWO, prompt=prompt(2, HOUR))) == "ttl"


def test_a_billing_line_is_a_cause_only_at_other_hosts_that_read_nothing() -> None:
    one, two = replace(ONE, billing=b"1"), replace(TWO, billing=b"2")
    assert cause(one, two) == "unexplained"
    assert cause(one, replace(two, first_party=False)) == "billing_header"
    assert cause(one, replace(two, first_party=False, billing=b"1")) == "unexplained"
    assert cause(one, replace(two, first_party=False, spent=spent(5, 1100))) == "unexplained"


# What is no break


def test_more_than_the_thread_had_written_is_no_break() -> None:
    row = rows_of(ONE, seen(2, spent(2000, 5)))[1]
    assert (row.holds, row.cause, row.broken, row.again) == (False, "written_elsewhere", False, 0)


def test_a_request_that_was_sent_at_once_is_no_break() -> None:
    row = rows_of(replace(ONE, begun=25.0), TWO)[1]
    assert (row.holds, row.cause, row.broken, row.again) == (False, "concurrent", False, 0)


def test_what_is_new_after_a_compaction_is_not_written_again() -> None:
    row = rows_of(ONE, TWO, steps=("compacted",))[1]
    assert (row.cause, row.broken, row.again) == ("compaction", True, 0)


def test_a_thread_that_begins_after_a_clear_says_so() -> None:
    turns = Thread("s", None, [Turn(1, None, "cleared")])  # type: ignore[arg-type]
    [row] = chain(turns, [ONE], {}, {}).rows
    assert (row.cause, row.broken) == ("cleared", False)


# Time to live


def test_the_shorter_time_to_live_is_that_of_the_end_of_the_prefix() -> None:
    rows = rows_of(seen(1, spent(0, 1000), lives=("5m", "1h")), TWO)
    assert rows[1].ttl == "5m"


def test_a_time_to_live_is_known_from_the_last_request_that_wrote() -> None:
    many = [seen(1, spent(0, 1000), lives=("1h",)), *(seen(n, spent(1000, 0), lives=()) for n in (2, 3))]
    assert [row.ttl for row in rows_of(*many)] == [None, "1h", "1h"]
    bare = [replace(one, lives=(), prompt=None) for one in many]
    assert [row.ttl for row in rows_of(*bare)] == [None, None, None]


@pytest.mark.parametrize(
    ("asked", "lives", "rounds", "mismatch"),
    [
        (HOUR, ("5m",), False, ("1h", "5m")),
        (MARK, ("1h",), False, ("5m", "1h")),
        (HOUR, ("5m", "1h"), False, ("1h", "5m/1h")),
        (HOUR, ("1h",), False, None),
        (HOUR, (), False, None),
        (HOUR, ("5m",), True, None),
        (None, ("5m",), False, None),
    ],
)
def test_a_time_to_live_that_nobody_asked_for(
    asked: dict[str, str] | None, lives: tuple[str, ...], rounds: bool, mismatch: Any
) -> None:
    assert replace(ONE, prompt=prompt(1, asked), lives=lives, rounds=rounds).ttl_mismatch == mismatch
    assert replace(ONE, prompt=None, lives=lives).ttl_mismatch is None
