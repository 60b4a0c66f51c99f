"""The stub's prompt cache keeps the rules of the vendor's documentation."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.stub_cache import FIVE_MINUTES, FRAME_TOKENS, PromptCache, Refused, Usage, count

MODEL = "claude-opus-5"  # caches from 512 tokens on
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def text(words: str, tokens: int = 600, mark: dict[str, str] | None = None) -> dict[str, Any]:
    """A text block of about that many tokens."""
    block: dict[str, Any] = {"type": "text", "text": f"{words} {'x' * (tokens * 4)}"}
    return {**block, "cache_control": mark} if mark else block


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def tokens(**parts: Any) -> int:
    """Of some parts of a request, as a prefix."""
    return count(parts) - FRAME_TOKENS


def ask(cache: PromptCache, request: dict[str, Any], now: float = 0.0, model: str = MODEL) -> Usage:
    plan = cache.plan(request, model, now)
    cache.commit(plan)
    return plan.usage


def test_what_is_marked_is_written_first_and_read_then() -> None:
    cache = PromptCache()
    request = {"system": [text("rules", mark=MARK)], "messages": [user(text("question", 50))]}
    first, second = ask(cache, request), ask(cache, request)
    assert (first.read, second.read) == (0, first.write_5m)
    assert (first.write_5m > 600, second.write_5m) == (True, 0)
    assert first.fresh == second.fresh == count({"messages": request["messages"]})


def test_a_growing_conversation_reads_what_the_turn_before_read_and_wrote() -> None:
    cache = PromptCache()
    blocks = [text("rules", 2000)]
    before = ask(cache, {"messages": [user(*blocks[:-1], {**blocks[-1], "cache_control": MARK})]})
    for turn in range(5):
        blocks += [text(f"answer {turn}", 10), text(f"question {turn}", 10)]
        now = ask(cache, {"messages": [user(*blocks[:-1], {**blocks[-1], "cache_control": MARK})]})
        assert now.read == before.read + before.write_5m
        assert now.write_5m > 0
        before = now


def test_the_prefix_is_tools_then_system_then_messages() -> None:
    cache = PromptCache()
    tool = {"name": "weigh", "description": "y" * 4000, "input_schema": {}, "cache_control": MARK}
    request = {"messages": [user(text("question", 10))], "system": [text("rules", mark=MARK)], "tools": [tool]}
    first = ask(cache, request)
    other_system = ask(cache, {**request, "system": [text("other rules", mark=MARK)]})
    assert other_system.read == tokens(tools=[tool])
    assert other_system.read + other_system.write_5m < first.write_5m + 10
    other_tool = ask(cache, {**request, "tools": [{**tool, "name": "lift"}]})
    assert other_tool.read == 0


@pytest.mark.parametrize("change", [{"tool_choice": {"type": "any"}}, {"thinking": {"type": "adaptive"}}])
def test_settings_that_lose_the_messages_keep_the_system(change: dict[str, Any]) -> None:
    cache = PromptCache()
    request = {"system": [text("rules", mark=MARK)], "messages": [user(text("question", mark=MARK))]}
    ask(cache, request)
    assert ask(cache, {**request, **change}).read == tokens(system=request["system"])


def test_an_image_anywhere_loses_the_messages_and_citations_lose_the_system() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    cited = {"type": "document", "citations": {"enabled": True}}
    request = {"system": [text("rules", mark=MARK)], "messages": [user(text("question", mark=MARK))]}
    for block in (image, {"type": "tool_result", "content": [image]}):
        cache = PromptCache()
        ask(cache, request)
        shown = {**request, "messages": [*request["messages"], user(block)]}
        assert ask(cache, shown).read == tokens(system=request["system"])
    cache = PromptCache()
    ask(cache, request)
    assert ask(cache, {**request, "messages": [*request["messages"], user(cited)]}).read == 0


def test_another_model_has_another_cache() -> None:
    cache = PromptCache()
    request = {"messages": [user(text("question", mark=MARK))]}
    ask(cache, request)
    assert ask(cache, request, model="claude-opus-5-5").read == 0


@pytest.mark.parametrize(
    ("model", "least"), [("claude-opus-5", 512), ("claude-sonnet-5", 1024), ("claude-haiku-4-5-20251001", 4096)]
)
def test_a_prefix_below_the_minimum_is_passed_over_in_silence(model: str, least: int) -> None:
    below = PromptCache().plan({"messages": [user(text("q", least - 30, MARK))]}, model, 0).usage
    above = PromptCache().plan({"messages": [user(text("q", least + 30, MARK))]}, model, 0).usage
    assert (below.write_5m, below.fresh > 400) == (0, True)
    assert (above.write_5m > least, above.fresh) == (True, FRAME_TOKENS)


def test_a_read_renews_an_entry_from_the_start_of_the_request() -> None:
    cache = PromptCache()
    request = {"messages": [user(text("question", mark=MARK))]}
    ask(cache, request, 0)
    assert ask(cache, request, FIVE_MINUTES - 1).read > 0
    assert ask(cache, request, 2 * FIVE_MINUTES - 2).read > 0
    assert ask(cache, request, 3 * FIVE_MINUTES).read == 0


def test_an_hour_is_an_hour() -> None:
    cache = PromptCache()
    request = {"messages": [user(text("question", mark=HOUR))]}
    written = ask(cache, request, 0)
    assert (written.write_1h > 0, written.write_5m) == (True, 0)
    assert ask(cache, request, 3599).read == written.write_1h


def test_one_request_can_write_for_an_hour_and_for_five_minutes() -> None:
    cache = PromptCache()
    system = [text("rules", mark=HOUR)]
    usage = ask(cache, {"system": system, "messages": [user(text("question", mark=MARK))]})
    assert usage.write_1h == tokens(system=system)
    assert usage.write_5m == usage.total - usage.write_1h - FRAME_TOKENS
    after = ask(cache, {"system": system, "messages": [user(text("question", mark=MARK))]}, FIVE_MINUTES + 1)
    assert (after.read, after.write_5m) == (usage.write_1h, usage.write_5m)


def test_the_look_back_ends_after_twenty_positions() -> None:
    rules = text("rules", 1000, MARK)
    for blocks_between, found in ((18, True), (19, False)):
        cache = PromptCache()
        ask(cache, {"messages": [user(rules)]})
        more = [text(f"{n}", 1) for n in range(blocks_between)]
        usage = ask(cache, {"messages": [user({**rules, "cache_control": None}, *more, text("last", 1, MARK))]})
        assert (usage.read > 0) is found


def test_a_run_of_tool_results_is_one_position() -> None:
    cache = PromptCache()
    rules = text("rules", 1000, MARK)
    ask(cache, {"messages": [user(rules)]})
    results = [{"type": "tool_result", "tool_use_id": f"{n}", "content": "ok"} for n in range(40)]
    usage = ask(cache, {"messages": [user({**rules, "cache_control": None}, *results, text("last", 1, MARK))]})
    assert usage.read > 0


def test_an_entry_can_be_read_only_once_the_answer_has_begun() -> None:
    cache = PromptCache()
    request = {"messages": [user(text("question", mark=MARK))]}
    at_once = [cache.plan(request, MODEL, 0.0) for _ in range(3)]
    assert [plan.usage.read for plan in at_once] == [0, 0, 0]
    cache.commit(at_once[0])
    assert cache.plan(request, MODEL, 0.0).usage.read > 0


def test_how_a_prefix_is_written_down_does_not_matter() -> None:
    cache = PromptCache()
    string = {"role": "user", "content": text("question")["text"]}
    ask(cache, {"messages": [user(text("question", mark=MARK))]})
    assert ask(cache, {"messages": [string, user(text("more", 10, MARK))]}).read == tokens(messages=[string])


def test_automatic_caching_marks_the_last_block() -> None:
    plain = {"messages": [user(text("question"))], "cache_control": MARK}
    marked = {"messages": [user(text("question", mark=MARK))]}
    assert PromptCache().plan(plain, MODEL, 0).usage == PromptCache().plan(marked, MODEL, 0).usage
    with pytest.raises(Refused, match="another ttl"):
        PromptCache().plan({**marked, "cache_control": HOUR}, MODEL, 0)


@pytest.mark.parametrize(
    ("blocks", "reason"),
    [
        ([text(f"{n}", mark=MARK) for n in range(5)], "Found 5"),
        ([text("a", mark=MARK), text("b", mark=HOUR)], "must not come after"),
        ([{"type": "text", "text": "", "cache_control": MARK}], "empty text"),
        ([text("a", mark={"type": "ephemeral", "ttl": "2h"})], "'5m' or '1h'"),
    ],
)
def test_marks_that_the_api_refuses(blocks: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        PromptCache().plan({"messages": [user(*blocks)]}, MODEL, 0)


def test_a_line_of_the_client_for_its_own_bookkeeping_is_no_part_of_the_prefix() -> None:
    cache = PromptCache()

    def request(turn: int) -> dict[str, Any]:
        billing = {"type": "text", "text": f"x-anthropic-billing-header: turn={turn}"}
        return {"system": [billing, text("rules", mark=MARK)], "messages": [user(text("q", 10))]}

    ask(cache, request(1))
    assert ask(cache, request(2)).read > 0


_marks = st.sampled_from([None, MARK, HOUR])
_blocks = st.lists(st.builds(text, st.sampled_from("abc"), st.integers(1, 900), _marks), max_size=6)


@given(st.lists(st.tuples(_blocks, _blocks, st.integers(0, 400)), min_size=1, max_size=6))
def test_every_token_is_paid_once(turns: list[tuple[list[dict[str, Any]], list[dict[str, Any]], int]]) -> None:
    cache = PromptCache()
    now = 0.0
    for system, blocks, pause in turns:
        request = {"system": system, "messages": [user(*blocks)]}
        try:
            plan = cache.plan(request, MODEL, now)
        except Refused:
            continue
        assert plan.usage.total == count(request)
        assert min(plan.usage.fresh, plan.usage.read, plan.usage.write_5m, plan.usage.write_1h) >= 0
        cache.commit(plan)
        now += pause
