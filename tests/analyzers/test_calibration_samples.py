"""Which requests a calibration learns from, what each tells, and why others take no part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from conversations import answer, call, user
from counted_talks import HAN, PROSE, counted, prompts_of, talk, usage

from analyzers.calibration import Sample, calibrate
from analyzers.exchange import Exchange, Logged
from analyzers.tokens import Weights, weigh
from analyzers.wire.fold import fold, unfold
from analyzers.wire.usage import Usage

TRUE = {"latin": 1.25, "han": 0.8}
TOOL = {"name": "weigh", "description": PROSE, "input_schema": {"type": "object"}}


def found(*exchanges: Exchange) -> list[Sample]:
    read = prompts_of(exchanges)
    assert read.excluded == {}
    return list(read.families["v4.8"])


def excluded(*exchanges: Exchange) -> dict[str, int]:
    return dict(prompts_of(exchanges).excluded)


def changed(exchange: Exchange, **body: Any) -> Exchange:
    assert exchange.request is not None
    return replace(exchange, request=replace(exchange.request, body=exchange.request.body | body))


def said(exchange: Exchange, **response: Any) -> Exchange:
    assert exchange.response is not None
    return replace(exchange, response=replace(exchange.response, **response))


def test_a_conversation_tells_of_its_first_request_and_of_what_each_other_adds() -> None:
    some = found(*talk(12, TRUE, PROSE, HAN))
    assert [one.whole for one in some] == [True, *[False] * 11]
    assert len({one.thread for one in some}) == 1
    second = some[1]
    assert set(second.kinds) >= {"latin", "han", "digits", "frames"}
    assert abs(second.error(TRUE)) < 1.5
    assert "tools" not in second.kinds


def test_multipliers_of_recorded_conversations_are_found() -> None:
    exchanges = [
        one for at in range(6) for one in talk(12, TRUE, f"{at} {PROSE}", HAN, PROSE, at=1000.0 * at, session=f"s{at}")
    ]
    result = calibrate(found(*exchanges))
    assert result.held_out == "threads" and result.threads == 6
    assert result.multipliers["latin"] == pytest.approx(1.25, abs=0.05)
    assert result.multipliers["han"] == pytest.approx(0.8, abs=0.06)
    assert result.after is not None and result.after.median < 1.0
    assert {result.multipliers[kind] for kind in ("kana", "cyrillic", "images", "tools")} == {1.0}


def test_tools_cancel_while_they_stay_the_same_and_count_when_they_change() -> None:
    first, second, third = talk(3, {}, PROSE, tools=[TOOL])
    assert [one.whole for one in found(first, second, third)] == [True, False, False]
    more = changed(third, tools=[TOOL, TOOL | {"name": "other"}])
    assert [one.whole for one in found(first, second, more)] == [True, False, True]


def test_what_is_not_known_cancels_where_it_stands_in_both() -> None:
    url = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    exchanges = talk(3, {}, PROSE)
    bodies = [one.request.body for one in exchanges if one.request is not None]
    shown = [[user([url]), answer(PROSE), *body["messages"]] for body in bodies]
    with_picture = [changed(one, messages=some) for one, some in zip(exchanges, shown, strict=True)]
    read = prompts_of(with_picture)
    assert read.excluded == {"unknown_rows": 1}
    assert [one.whole for one in read.families["v4.8"]] == [False, False]


def test_a_picture_nobody_knows_in_what_is_new_excludes() -> None:
    url = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    first, second = talk(2, {}, PROSE)
    assert second.request is not None
    messages = second.request.body["messages"]
    assert excluded(first, changed(second, messages=[*messages[:2], user([url])])) == {"unknown_rows": 1}


def test_folded_texts_are_known_by_their_notes() -> None:
    exchanges = talk(3, TRUE, PROSE, HAN)
    folded = []
    texts: dict[str, str] = {}
    for one in exchanges:
        assert one.request is not None
        body, _ = unfold(fold(one.request.body, 100))
        folded.append(replace(one, request=replace(one.request, body=body)))
        for message in one.request.body["messages"]:
            content = message["content"]
            text = content if type(content) is str else content[0]["text"]
            texts[sha256(text.encode()).hexdigest()] = text
    known = Weights(known={key: weigh(text) for key, text in texts.items()})
    assert prompts_of(folded, known).families == prompts_of(exchanges).families
    assert prompts_of(folded, Weights()).excluded["unknown_rows"] == 3


THOUGHT = {"type": "thinking", "thinking": "", "signature": "sig"}


def test_replayed_thoughts_exclude() -> None:
    first, second = talk(2, {}, PROSE)
    assert second.request is not None
    messages = second.request.body["messages"]
    thought = {"role": "assistant", "content": [THOUGHT, *messages[1]["content"]]}
    assert excluded(first, changed(second, messages=[messages[0], thought, messages[2]])) == {"thinking": 1}


def _loop(results: int, last: Any) -> list[Exchange]:
    """A tool loop that begins with a thought, and what is sent last."""
    messages: list[Any] = [user(PROSE * 5)]
    found = [call(messages, at=0.0, session="s", usage=usage(1000))]
    for place in range(results):
        use = {"type": "tool_use", "id": f"t{place}", "name": "Bash", "input": {"command": f"{place} {PROSE * 3}"}}
        messages = [*messages, {"role": "assistant", "content": [*([THOUGHT] if not place else []), use]}]
        result = {"type": "tool_result", "tool_use_id": f"t{place}", "content": PROSE * 3}
        messages = [*messages, user([result] if place < results - 1 or last is None else [result, last])]
        found.append(call(messages, at=10.0 * (place + 1), session="s", usage=usage(2000 + 500 * place)))
    return found


def test_thoughts_in_both_prompts_cancel_until_the_user_speaks_again() -> None:
    assert excluded(*_loop(3, None)) == {"thinking": 1}
    assert excluded(*_loop(3, {"type": "text", "text": "stop"})) == {"thinking": 2}


def test_little_that_was_added_tells_more_of_frames_than_of_texts() -> None:
    first = call([user(PROSE * 10)], at=0.0, usage=usage(500))
    second = call([user(PROSE * 10), answer("yes"), user("go on")], at=10.0, usage=usage(520))
    assert excluded(first, second) == {"small": 1}


def _server_tools(one: Exchange) -> Exchange:
    told, _ = Usage.from_json(usage(900) | {"server_tool_use": {"web_search_requests": 1}})
    return said(one, usage=told)


def _several(one: Exchange) -> Exchange:
    told, _ = Usage.from_json(usage(900) | {"iterations": [{"type": "compaction"}, {"type": "message"}]})
    return said(one, usage=told)


def _edited(one: Exchange) -> Exchange:
    edits = [{"type": "clear_tool_uses_20250919", "cleared_input_tokens": 400}]
    return said(one, rest={"context_management": {"applied_edits": edits}})


def _inclusive(one: Exchange) -> Exchange:
    told, _ = Usage.from_json({"input_tokens": 900, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 800})
    assert one.request is not None
    return said(replace(one, request=replace(one.request, host="gateway.example")), usage=told)


EDITS = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda one: replace(one, request=replace(one.request, body=None, reason="no JSON")), "no_body"),
        (lambda one: said(one, usage=None), "not_counted"),
        (lambda one: said(one, model="gpt-5"), "unknown_model"),
        (lambda one: said(one, model="claude-next"), "unknown_model"),
        (lambda one: changed(one, thread={"type": "create"}), "message_thread"),
        (_server_tools, "server_tools"),
        (_several, "several_passes"),
        (_edited, "context_editing"),
        (lambda one: changed(one, **EDITS), "context_editing"),
        (lambda one: changed(one, messages=[user(PROSE) | {"clear_at": "next_user_message"}]), "context_editing"),
        (_inclusive, "inclusive_input"),
    ],
)
def test_what_was_counted_of_another_prompt_takes_no_part(change: Callable[[Exchange], Exchange], reason: str) -> None:
    (one,) = talk(1, {}, PROSE)
    assert excluded(change(one)) == {reason: 1}


def test_edits_that_were_asked_for_and_not_made_change_nothing() -> None:
    (one,) = talk(1, {}, PROSE)
    quiet = said(changed(one, **EDITS), rest={"context_management": {"applied_edits": []}})
    assert len(found(quiet)) == 1


def test_a_gateway_whose_cached_tokens_cannot_be_inside_takes_part() -> None:
    (one,) = talk(1, {}, PROSE)
    assert one.request is not None
    assert len(found(replace(one, request=replace(one.request, host="gateway.example")))) == 1


def test_a_log_leaves_out_part_of_the_system_prompt_so_only_what_is_added_counts() -> None:
    logged = [replace(one, logged=Logged(session="s")) for one in talk(3, {}, PROSE, session="s")]
    read = prompts_of(logged)
    assert read.excluded == {"client_log": 1}
    assert [one.whole for one in read.families["v4.8"]] == [False, False]


def test_families_are_apart_and_a_count_of_tokens_is_a_whole_request() -> None:
    new = talk(2, {}, PROSE)
    old = [said(one, model="claude-opus-4-5-20251101") for one in talk(2, {}, HAN, at=500.0)]
    read = prompts_of([*new, *old])
    assert {family: len(some) for family, some in read.families.items()} == {"v4.8": 2, "v3": 2}
    body = {"model": "claude-opus-5-5", "messages": [user(PROSE * 5)]}
    probe = call([user(PROSE * 5)], system=None, tools=None, route="count_tokens", usage=None)
    (sample,) = found(said(probe, body={"input_tokens": counted(body, {})}))
    assert sample.whole and abs(sample.error({})) < 2


def test_every_request_is_a_sample_or_has_a_reason() -> None:
    exchanges = [*talk(5, {}, PROSE), *_loop(3, None), said(talk(1, {}, HAN, at=900.0)[0], usage=None)]
    read = prompts_of(exchanges)
    assert sum(map(len, read.families.values())) + sum(read.excluded.values()) == len(exchanges)
