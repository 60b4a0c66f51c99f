"""The model of the prompt cache: what it marks exact is what a server counts that keeps the documented rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addon.stub_cache import Plan, PromptCache
from analyzers.cache_model import NOTHING_CACHED, Asked, CacheModel, Prediction
from analyzers.cache_positions import Positions
from analyzers.cache_prompt import cached_prompt
from analyzers.spent import NOTHING, Spent

MODEL = "claude-opus-5-5"  # caches from 512 tokens on
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def text(words: str, tokens: int = 600, mark: dict[str, str] | None = None) -> dict[str, Any]:
    block = {"type": "text", "text": f"{words} {'x' * (tokens * 4)}"}
    return block | ({"cache_control": mark} if mark else {})


def asking(*blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(blocks)}]} | fields


@dataclass(frozen=True)
class Sent:
    """A request ``at`` some second, whose answer begins ``wait`` seconds later."""

    body: dict[str, Any]
    at: float = 0.0
    wait: float = 0.1
    model: str = MODEL
    unknown_begin: bool = False


@dataclass(frozen=True)
class Outcome:
    predicted: Prediction
    counted: Spent


def counted_by(plan: Plan) -> Spent:
    usage = plan.usage
    return Spent(usage.fresh, usage.write_5m + usage.write_1h, usage.write_5m, usage.write_1h, usage.read, 10)


def served(requests: Sequence[Sent]) -> list[Plan]:
    """What the stub counts: an entry is there from the moment its answer begins."""
    cache = PromptCache()
    plans: list[Plan] = []
    waiting: list[tuple[float, Plan]] = []
    for one in requests:
        for begun, plan in sorted(waiting, key=lambda item: item[0]):
            if begun <= one.at:
                cache.commit(plan)
        waiting = [item for item in waiting if item[0] > one.at]
        plans.append(cache.plan(one.body, one.model, one.at))
        waiting.append((one.at + one.wait, plans[-1]))
    return plans


def modelled(*requests: Sent) -> list[Outcome]:
    """What the model says of requests in time order, and what the stub counted."""
    model, positions = CacheModel(), Positions()
    out: list[Outcome] = []
    for n, (one, plan) in enumerate(zip(requests, served(requests), strict=True), 1):
        prompt = cached_prompt(one.body, one.model, positions)
        asked = Asked(n, one.at, None if one.unknown_begin else one.at + one.wait, one.model, prompt)
        counted = counted_by(plan)
        out.append(Outcome(model.predict(asked, counted), counted))
        model.told(asked, counted)
    return out


def figures(predicted: Prediction) -> tuple[int | None, ...]:
    return predicted.read, predicted.written, predicted.written_5m, predicted.written_1h


def right(outcome: Outcome) -> bool:
    counted = outcome.counted
    return figures(outcome.predicted) == (counted.read, counted.written, counted.written_5m, counted.written_1h)


def test_what_was_written_at_the_last_breakpoint_is_read_exactly() -> None:
    first, second = modelled(Sent(asking(text("a", mark=MARK))), Sent(asking(text("a"), text("b", 50, MARK)), 10))
    assert (first.predicted.read, first.predicted.exact) == (0, True)
    assert second.predicted.exact and right(second)
    assert second.predicted.read == first.counted.written
    assert second.predicted.entry is not None and second.predicted.entry.writer == 1


def test_a_breakpoint_that_no_server_has_counted_yet_is_estimated_and_then_learnt() -> None:
    def body(question: str) -> dict[str, Any]:
        return asking(text(question, 100, MARK), system=[text("rules", mark=MARK)])

    outcomes = modelled(*(Sent(body(question), 10.0 * at) for at, question in enumerate("abc")))
    assert [one.predicted.exact for one in outcomes] == [True, False, True]
    assert outcomes[1].predicted.read == pytest.approx(outcomes[1].counted.read, rel=0.05)
    assert right(outcomes[2])


def test_the_end_of_what_lives_an_hour_is_told_by_the_usage() -> None:
    def body(question: str) -> dict[str, Any]:
        return asking(text(question, 100, MARK), system=[text("rules", mark=HOUR)])

    first, second = modelled(Sent(body("a")), Sent(body("b"), 10))
    assert first.predicted.exact is False  # how much of it lives an hour is estimated
    assert second.predicted.exact and right(second)
    assert second.predicted.read == first.counted.written_1h


@pytest.mark.parametrize(
    ("gap", "read", "exact"), [(298.0, True, True), (299.5, True, False), (300.5, False, False), (301.5, False, True)]
)
def test_an_entry_lives_from_the_start_of_its_request(gap: float, read: bool, exact: bool) -> None:
    _, second = modelled(Sent(asking(text("a", mark=MARK)), wait=200), Sent(asking(text("a", mark=MARK)), gap))
    assert ((second.predicted.read or 0) > 0, second.predicted.exact) == (read, exact)
    assert right(second)
    assert second.predicted.why == (None if read else "expired")


def test_a_read_renews_what_was_read() -> None:
    body = asking(text("a", mark=MARK))
    outcomes = modelled(*(Sent(body, at) for at in (0, 290, 580, 870, 1172)))
    assert [(one.predicted.read or 0) > 0 for one in outcomes] == [False, True, True, True, False]
    assert all(one.predicted.exact and right(one) for one in outcomes)


def test_an_entry_is_there_when_its_answer_has_begun() -> None:
    body = asking(text("a", mark=MARK))
    outcomes = modelled(Sent(body, 0, 5), Sent(body, 2, 60), Sent(body, 6))
    assert [one.predicted.why for one in outcomes] == [None, "concurrent", None]
    assert all(one.predicted.exact and right(one) for one in outcomes)
    assert (outcomes[2].predicted.read or 0) > 0  # the first answer wrote it, the second has not begun


def test_a_begin_that_is_not_known_leaves_a_doubt() -> None:
    body = asking(text("a", mark=MARK))
    _, second = modelled(Sent(body, unknown_begin=True), Sent(body, 10))
    assert right(second) and not second.predicted.exact


def test_the_look_back_is_twenty_positions() -> None:
    for more, found in ((18, True), (19, False)):
        blocks = [text(f"{n}", 1) for n in range(more)]
        _, second = modelled(
            Sent(asking(text("a", mark=MARK))), Sent(asking(text("a"), *blocks, text("z", 1, MARK)), 10)
        )
        assert ((second.predicted.read or 0) > 0, second.predicted.exact) == (found, True)
        assert right(second)


@pytest.mark.parametrize("kind", ["tool_use", "tool_result"])
def test_a_run_of_calls_or_of_results_is_one_position(kind: str) -> None:
    run = [{"type": kind, "id": f"{n}", "content": "ok"} for n in range(40)]
    _, second = modelled(Sent(asking(text("a", mark=MARK))), Sent(asking(text("a"), *run, text("z", 1, MARK)), 10))
    assert (second.predicted.read or 0) > 0
    assert second.predicted.exact and right(second)


def test_below_the_minimum_nothing_is_read_nor_written() -> None:
    body = asking(text("a", 300, MARK))
    for outcome in modelled(Sent(body), Sent(body, 10)):
        assert outcome.predicted == NOTHING_CACHED
        assert right(outcome)


def test_a_prefix_whose_size_is_close_to_the_minimum_is_not_called_exact() -> None:
    """By its characters the system prompt is too small; the server counted it otherwise."""
    model = CacheModel()
    positions = Positions()
    system = [text("rules", 505, MARK)]
    one, two = (
        cached_prompt(asking(text(words, 900, MARK), system=system), MODEL, positions) for words in ("one", "two")
    )
    model.told(Asked(1, 0.0, 0.1, MODEL, one), Spent(7, 1410, 1410, 0, 0, 1))
    predicted = model.predict(Asked(2, 10.0, 10.1, MODEL, two), Spent(7, 890, 890, 0, 520, 1))
    assert (predicted.read, predicted.exact) == (0, False)


def test_counters_of_several_passes_are_no_positions() -> None:
    model = CacheModel()
    prompt = cached_prompt(asking(text("a", mark=MARK)), MODEL, Positions())
    model.told(Asked(1, 0.0, 0.1, MODEL, prompt, odd=True), Spent(9_000, 50_000, 50_000, 0, 0, 1))
    predicted = model.predict(Asked(2, 10.0, 10.1, MODEL, prompt), Spent(7, 0, 0, 0, 610, 1))
    assert (predicted.read, predicted.exact) == (610, False)


def test_h04_unknown_counters_predict_no_figures() -> None:
    model = CacheModel()
    prompt = cached_prompt(asking(text("a", mark=MARK)), MODEL, Positions())
    model.told(Asked(1, 0.0, 0.1, MODEL, prompt), NOTHING._replace(fresh=600))
    predicted = model.predict(Asked(2, 10.0, 10.1, MODEL, prompt), NOTHING._replace(fresh=600))
    assert (predicted.read, predicted.written, predicted.exact) == (None, None, False)


def test_f05_what_was_written_for_five_minutes_lives_five_whatever_was_asked_for() -> None:
    model = CacheModel()
    prompt = cached_prompt(asking(text("a", mark=HOUR)), MODEL, Positions())
    model.told(Asked(1, 0.0, 0.1, MODEL, prompt), Spent(7, 610, 610, 0, 0, 1))
    predicted = model.predict(Asked(2, 600.0, 600.1, MODEL, prompt), Spent(7, 610, 610, 0, 0, 1))
    assert (predicted.read, predicted.why, predicted.exact) == (0, "expired", True)


def test_whether_a_longer_life_that_is_asked_for_later_is_given_is_not_known() -> None:
    body = asking(text("a", mark=HOUR))
    outcomes = modelled(Sent(asking(text("a", mark=MARK))), Sent(body, 10), Sent(body, 200), Sent(body, 800))
    assert [outcome.predicted.exact for outcome in outcomes] == [True, True, True, False]


def test_what_the_server_had_lost_is_written_anew() -> None:
    """An eviction is no rule: the model is told, and goes on from there."""
    model = CacheModel()
    prompt = cached_prompt(asking(text("a", mark=MARK)), MODEL, Positions())
    wrote = Spent(7, 610, 610, 0, 0, 1)
    model.told(Asked(1, 0.0, 0.1, MODEL, prompt), wrote)
    model.told(Asked(2, 200.0, 200.1, MODEL, prompt), wrote)
    predicted = model.predict(Asked(3, 450.0, 450.1, MODEL, prompt), Spent(7, 0, 0, 0, 610, 1))
    assert (predicted.read, predicted.exact) == (610, True)


def test_what_is_written_anew_can_be_read_when_its_own_answer_has_begun() -> None:
    model = CacheModel()
    prompt = cached_prompt(asking(text("a", mark=MARK)), MODEL, Positions())
    wrote = Spent(7, 610, 610, 0, 0, 1)
    model.told(Asked(1, 0.0, 0.1, MODEL, prompt), wrote)
    model.told(Asked(2, 200.0, 260.0, MODEL, prompt), wrote)
    assert model.predict(Asked(3, 230.0, 230.1, MODEL, prompt), wrote).why == "concurrent"


def test_a_read_renews_an_entry_that_the_request_itself_does_not_mark() -> None:
    a = text("a", mark=MARK)
    outcomes = modelled(
        Sent(asking(a)), Sent(asking(text("a"), text("z", 9, MARK)), 200), Sent(asking(a, text("y", 9, MARK)), 450)
    )
    assert [(one.predicted.read or 0) > 0 for one in outcomes] == [False, True, True]
    assert all(one.predicted.exact and right(one) for one in outcomes)


def test_a_breakpoint_inside_what_is_read_lives_as_long_as_it_asks_for() -> None:
    """That all that was written lives five minutes says nothing of it: nothing was written there."""
    outcomes = modelled(
        Sent(asking(text("a"), text("b", 9, MARK))),
        Sent(asking(text("a", mark=HOUR), text("b", 9), text("c", 9, MARK)), 10),
        Sent(asking(text("a", mark=HOUR), text("other", 9, MARK)), 700),
    )
    assert outcomes[2].counted.read and outcomes[2].predicted.read
    assert not outcomes[2].predicted.exact


def test_what_continues_behind_the_last_hour_writes_nothing_for_an_hour() -> None:
    model, positions = CacheModel(), Positions()
    system = [text("rules", mark=HOUR)]
    one = cached_prompt(asking(text("a", 90, MARK), system=system), MODEL, positions)
    two = cached_prompt(asking(text("a", 90), text("b", 90, MARK), system=system), MODEL, positions)
    model.told(Asked(1, 0.0, 0.1, MODEL, one), Spent(7, 710, None, None, 0, 1))
    predicted = model.predict(Asked(2, 10.0, 10.1, MODEL, two), Spent(7, 100, 100, 0, 710, 1))
    assert (*figures(predicted), predicted.exact) == (710, 100, 100, 0, True)


def test_a_read_that_ends_elsewhere_teaches_nothing() -> None:
    """Less was read than the shorter of two entries has: it cannot be the longer one."""
    model, positions = CacheModel(), Positions()
    system = [text("rules", mark=MARK)]
    short = cached_prompt({"system": system, "messages": []}, MODEL, positions)
    long = cached_prompt(asking(text("a", 90, MARK), text("b", 90, MARK), system=system), MODEL, positions)
    model.told(Asked(1, 0.0, 0.1, MODEL, short), Spent(7, 610, 610, 0, 0, 1))
    model.told(Asked(2, 5.0, 5.1, MODEL, long), Spent(7, 200, 200, 0, 610, 1))
    model.told(Asked(3, 10.0, 10.1, MODEL, long), Spent(7, 260, 260, 0, 550, 1))
    assert 550 not in {entry.tokens for entry in model.entries.values()}


def test_a_server_that_caches_nothing_leaves_no_entries() -> None:
    model = CacheModel()
    prompt = cached_prompt(asking(text("a", mark=MARK)), "other", Positions())
    model.told(Asked(1, 0.0, 0.1, "other", prompt), Spent(617, 0, 0, 0, 0, 1))
    assert not model.entries


# Any conversations


def _block(at: int, kind: str, tokens: int) -> dict[str, Any]:
    if kind == "text":
        return text(f"block {at}", tokens)
    return {"type": kind, "id": f"block {at}", "content": "x" * tokens * 4}


_KINDS = ("text", "text", "text", "tool_use", "tool_use", "tool_result", "tool_result")
_SIZES = (700, 1, 480, 40, 1, 1, 90, 2)
STORY = [_block(at, _KINDS[at % len(_KINDS)], _SIZES[at % len(_SIZES)]) for at in range(60)]
"""One conversation, of whose beginning every request sends some part: the first three blocks are the system prompt."""


@dataclass(frozen=True)
class Shape:
    """``length``: blocks that are sent; ``changed``: another one; ``places``: of breakpoints, of which the first
    ``hours`` live an hour."""

    length: int
    changed: int | None
    places: frozenset[int]
    hours: int
    fields: tuple[str, ...]

    def body(self) -> dict[str, Any]:
        blocks = list(STORY[: self.length])
        if self.changed is not None and self.changed < self.length:
            blocks[self.changed] = text("changed", 60)
        marked = sorted({min(place, self.length - 1) for place in self.places})[-4:]
        for order, at in enumerate(marked):
            blocks[at] = blocks[at] | {"cache_control": HOUR if order < self.hours else MARK}
        return asking(*blocks[3:], system=blocks[:3]) | {name: SETTINGS[name] for name in self.fields}


SETTINGS: dict[str, Any] = {"tool_choice": {"type": "none"}, "speed": "fast", "thinking": {"type": "adaptive"}}
_rarely = st.sampled_from([(), (), (), (), ("tool_choice",), ("speed",), ("thinking",)])
_lengths = st.sampled_from([4, 5, 6, 8, 12, 20, 26, 40, 60])
_places = st.frozensets(st.sampled_from([0, 2, 3, 5, 7, 11, 25, 59]), min_size=1, max_size=4)
_shapes = st.builds(Shape, _lengths, st.sampled_from([None, None, None, 0, 4, 10]), _places, st.integers(0, 3), _rarely)
_gaps = st.sampled_from([0.0, 0.5, 3.0, 100.0, 295.0, 305.0, 3590.0, 3610.0])
_waits = st.sampled_from([0.1, 2.0])


@given(st.lists(st.tuples(_shapes, _gaps, _waits), min_size=2, max_size=10))
@settings(max_examples=75, deadline=None)
def test_what_is_exact_is_what_the_stub_counts(steps: list[tuple[Shape, float, float]]) -> None:
    at, requests = 0.0, []
    for shape, gap, wait in steps:
        at += gap
        requests.append(Sent(shape.body(), at, wait))
    for outcome in modelled(*requests):
        if outcome.predicted.exact:
            assert right(outcome)


_more = st.lists(st.integers(0, len(STORY) - 1).map(STORY.__getitem__), max_size=4)


@given(st.lists(st.tuples(_more, _gaps), min_size=2, max_size=8), st.sampled_from([MARK, HOUR]))
@settings(max_examples=50, deadline=None)
def test_a_conversation_that_only_grows_is_always_exact(
    turns: list[tuple[list[dict[str, Any]], float]], mark: dict[str, str]
) -> None:
    at, requests, blocks = 0.0, [], [text("begin")]
    for more, gap in turns:
        at += gap + 3.0
        blocks += [*more, text("go on", 5)]
        requests.append(Sent(asking(*blocks[:-1], blocks[-1] | {"cache_control": mark}), at))
    for outcome in modelled(*requests):
        assert outcome.predicted.exact and right(outcome)


@pytest.mark.parametrize("setting", [{"thinking": {"type": "adaptive"}}, {"output_config": {"effort": "low"}}])
def test_after_a_change_of_thinking_or_effort_what_stands_before_the_messages_is_only_likely_to_be_read(
    setting: dict[str, Any],
) -> None:
    def body(**more: Any) -> dict[str, Any]:
        return asking(text("a", 100), system=[text("rules", mark=MARK)]) | more

    outcomes = modelled(*(Sent(body(**more), 10.0 * at) for at, more in enumerate(({}, {}, setting, setting))))
    assert [one.predicted.exact for one in outcomes] == [True, True, False, True]
    assert all((one.predicted.read or 0) > 0 for one in outcomes[1:])  # as the server that is asked here keeps it


def test_another_choice_of_tools_leaves_what_stands_before_the_messages() -> None:
    rules = [text("rules", mark=MARK)]
    _, second = modelled(
        Sent(asking(text("a", 100), system=rules)),
        Sent(asking(text("a", 100), system=rules, tool_choice={"type": "any"}), 10),
    )
    assert second.predicted.exact and right(second) and second.predicted.read
