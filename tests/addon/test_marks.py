"""Comments and markers: what the lists of mitmproxy and mitmweb show of an exchange, after the recorder saw it end."""

# mypy: disable-error-code="no-untyped-call"
# (mitmproxy's test tools have no types)

from __future__ import annotations

import asyncio
import gc
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from json_values import values
from mitmproxy import http
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.addons.view import View
from mitmproxy.test import taddons, tflow, tutils
from mitmproxy.utils.emoji import emoji

from addon import marks as subject
from addon import recorder as recording
from addon.marks import BROKEN, MARKED, PERSONAL, SECRET, SENT_ALWAYS, Marks, held_by, new_texts
from addon.recorder import Recorder
from analyzers.detect.kinds import KINDS, SECRETS

KEY = f"sk-ant-api03-{'Zx9' * 30}AA"
SESSION = "5d1c2b9e-0000-4000-8000-000000000001"


class Listening:
    """An addon that counts what is told of flows."""

    def __init__(self) -> None:
        self.updates: list[list[http.HTTPFlow]] = []

    def update(self, flows: list[http.HTTPFlow]) -> None:
        self.updates.append(list(flows))


class Lists:
    """The recorder in a mitmproxy that has a list of flows."""

    def __init__(self, context: taddons.context, recorder: Recorder, listening: Listening) -> None:
        self.context, self.recorder, self.listening = context, recorder, listening

    @property
    def marks(self) -> Marks:
        return self.recorder.in_flight.marks

    def accept(self, messages: list[Any], **fields: Any) -> http.HTTPFlow:
        body = {"model": "claude-haiku-4-5", "max_tokens": 10, "messages": messages} | fields
        request = tutils.treq(method=b"POST", path=b"/v1/messages", content=json.dumps(body).encode(), host="api.x")
        request.headers["x-claude-code-session-id"] = SESSION
        flow = tflow.tflow(req=request)
        self.recorder.requestheaders(flow)
        self.recorder.request(flow)
        return flow

    def answer(self, flow: http.HTTPFlow, read: int = 0, written: int = 0, said: str = "hi") -> http.HTTPFlow:
        """A whole answer, streamed past."""
        counters = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        told = {
            "id": f"msg_{len(said)}",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5-20251001",
            "content": [{"type": "text", "text": said}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 3, "output_tokens": 5, **counters},
        }
        flow.response = tutils.tresp(content=None)
        flow.response.headers = http.Headers(content_type="application/json")
        self.recorder.responseheaders(flow)
        assert callable(flow.response.stream)
        for chunk in (json.dumps(told).encode(), b""):
            flow.response.stream(chunk)
        self.recorder.response(flow)
        return flow

    def exchange(self, messages: list[Any], **counters: Any) -> http.HTTPFlow:
        return self.answer(self.accept(messages), **counters)


@pytest.fixture
def lists(tmp_path: Path) -> Iterator[Lists]:
    recorder, listening = Recorder(), Listening()
    with taddons.context(Proxyserver(), View(), listening, recorder) as context:
        context.configure(recorder, capture_dir=str(tmp_path / "captures"))
        yield Lists(context, recorder, listening)
        recorder.done()
        assert recorder.stumbles == 0
        assert recorder.in_flight.marks._failures == 0
    recording._left_behind.clear()


def talk(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(texts)]


# --- the comment


def test_the_comment_is_the_line_of_the_log(lists: Lists) -> None:
    flow = lists.exchange(talk("weigh it"), read=40, written=2)
    assert flow.comment.startswith("#1 claude-haiku-4-5-20251001  messages")
    assert flow.comment.endswith("input 45 = 3 in + 2 write + 40 read  output 5  completed")
    assert flow.marked == ""


def test_a_comment_and_a_mark_of_the_users_own_are_left_alone(lists: Lists) -> None:
    flow = lists.accept(talk(f"my key is {KEY}"))
    flow.comment, flow.marked = "mine", ":grapes:"
    lists.answer(flow)
    assert (flow.comment, flow.marked) == ("mine", ":grapes:")


def test_the_change_is_told_to_those_who_show_flows(lists: Lists) -> None:
    flow = lists.exchange(talk("weigh it"))
    assert [flow] in lists.listening.updates


def test_failed_and_unanswered_exchanges_have_a_comment_too(lists: Lists) -> None:
    flow = lists.accept(talk("weigh it"))
    flow.error = tflow.terr("connection refused")
    lists.recorder.error(flow)
    assert flow.comment.endswith("unreachable")


def test_the_marks_are_known_to_mitmproxy() -> None:
    assert {SECRET, BROKEN, PERSONAL} <= emoji.keys()


def test_the_kinds_are_those_that_are_looked_for() -> None:
    assert all(KINDS[kind].structured for kind in MARKED | SENT_ALWAYS)
    assert not MARKED & (SENT_ALWAYS | SECRETS)


def test_without_a_list_nothing_is_shown_but_the_answer_is_known(tmp_path: Path) -> None:
    recorder, listening = Recorder(), Listening()
    with taddons.context(Proxyserver(), listening, recorder) as context:
        context.configure(recorder, capture_dir=str(tmp_path / "captures"))
        lists = Lists(context, recorder, listening)
        flow = lists.exchange(talk(f"my key is {KEY}"), read=7)
        assert (flow.comment, flow.marked, listening.updates) == ("", "", [])
        told = lists.marks.told(flow)
        assert told is not None and told.number == 1 and told.record["usage"]["cache_read_input_tokens"] == 7
        recorder.done()
    recording._left_behind.clear()


def test_what_is_known_of_a_flow_goes_with_it_and_holds_no_text(lists: Lists) -> None:
    flow = lists.exchange(talk("weigh it"), said="a very special answer")
    assert "special" not in repr(lists.marks.told(flow))
    assert len(lists.marks._shown) == 1
    lists.listening.updates.clear()
    del flow
    gc.collect()
    assert len(lists.marks._shown) == 0


# --- the cache


def test_a_broken_chain_is_marked(lists: Lists) -> None:
    lists.exchange(talk("weigh it"), written=1000, said="heavy")
    whole = lists.exchange(talk("weigh it", "heavy", "and this"), read=1000, written=50, said="light")
    broken = lists.exchange(talk("weigh it", "heavy", "and this", "light", "so?"), read=0, written=1090)
    assert whole.marked == ""
    assert broken.marked == BROKEN
    assert broken.comment.startswith("#3 cache chain broken: 0 read of 1,050 | claude-haiku-4-5-20251001  messages")


def test_a_side_call_of_the_same_session_is_not_marked(lists: Lists) -> None:
    lists.exchange(talk("weigh it"), written=1000, said="heavy")
    assert lists.exchange(talk("a title for: weigh it"), read=0, said="Weighing").marked == ""
    assert lists.exchange(talk("weigh it", "heavy", "and this"), read=1000).marked == ""


# --- secrets


def test_a_secret_in_a_short_text_is_marked_where_it_came_first(lists: Lists) -> None:
    first = lists.exchange(talk(f"my key is {KEY}"), said="keep it")
    assert first.marked == SECRET and first.comment.startswith("#1 secrets: api_key | claude-")
    again = lists.exchange(talk(f"my key is {KEY}", "keep it", "yes"))
    assert again.marked == "" and "secrets" not in again.comment


def test_neither_the_comment_nor_a_log_line_says_the_secret(lists: Lists, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        flow = lists.exchange(talk(f"my key is {KEY}"))
    assert KEY not in flow.comment + flow.marked + caplog.text


@pytest.mark.parametrize("number", range(3))
def test_personal_data_has_a_marker_of_its_own_and_its_kinds_in_the_comment(lists: Lists, number: int) -> None:
    flow = lists.exchange(talk(f"{number}: write to joe.bloggs@weighing.example or ann@weighing.example, /home/joe/x"))
    assert flow.marked == PERSONAL
    assert flow.comment.startswith("#1 personal: email 2, home_path 1 | claude-")
    assert "joe" not in flow.comment


def test_paths_of_a_home_folder_are_told_of_and_not_marked(lists: Lists) -> None:
    flow = lists.exchange(talk("look into /home/joe/notes"))
    assert flow.marked == "" and flow.comment.startswith("#1 personal: home_path 1 | claude-")


def test_ids_that_a_client_sends_with_every_request_are_not_told_of(lists: Lists) -> None:
    user = json.dumps({"device_id": "ab" * 32, "account_uuid": SESSION, "session_id": SESSION})
    flow = lists.answer(
        lists.accept(talk(f"session_id: {SESSION}, request req_011CSHoEeqs5C35K2UUqR7Fy"), metadata={"user_id": user})
    )
    assert flow.marked == "" and "personal" not in flow.comment


def test_personal_data_is_marked_where_it_came_first(lists: Lists) -> None:
    lists.exchange(talk("I am ann@weighing.example"), said="welcome")
    again = lists.exchange(talk("I am ann@weighing.example", "welcome", "and now?"))
    assert again.marked == "" and "personal" not in again.comment


def test_a_broken_chain_goes_before_personal_data_and_a_secret_before_both(lists: Lists) -> None:
    lists.exchange(talk("weigh it"), written=1000, said="heavy")
    flow = lists.exchange(talk("weigh it", "heavy", "for ann@weighing.example"), read=0, said="light")
    assert flow.marked == BROKEN
    assert flow.comment.startswith("#2 cache chain broken: 0 read of 1,000 | personal: email 1 | claude-")
    assert lists.exchange(talk(f"ann@weighing.example has {KEY}")).marked == SECRET


def test_a_secret_goes_before_a_broken_chain_and_the_comment_tells_of_both(lists: Lists) -> None:
    lists.exchange(talk("weigh it"), written=1000, said="heavy")
    flow = lists.exchange(talk("weigh it", "heavy", f"with {KEY}"), read=0)
    assert flow.marked == SECRET
    assert flow.comment.startswith("#2 cache chain broken: 0 read of 1,000 | secrets: api_key | claude-")


def test_secrets_are_not_looked_for_where_notes_are_off(lists: Lists) -> None:
    lists.context.configure(lists.recorder, capture_notes="false")
    assert lists.exchange(talk(f"my key is {KEY}")).marked == ""


async def _until(true: Any) -> None:
    for _ in range(500):
        if true():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen")


def test_a_secret_in_a_folded_text_is_marked_once_it_was_described(tmp_path: Path) -> None:
    async def scene() -> tuple[http.HTTPFlow, http.HTTPFlow, list[int]]:
        recorder, listening = Recorder(), Listening()
        with taddons.context(Proxyserver(), View(), listening, recorder) as context:
            context.configure(recorder, capture_dir=str(tmp_path / "captures"))
            lists = Lists(context, recorder, listening)
            plain = lists.accept(talk("nothing to see " * 50))
            flow = lists.accept(talk(f"{'weigh it ' * 300} {KEY}"))
            await _until(lambda: flow.marked)
            early = flow.comment
            lists.answer(flow)
            await _until(lambda: flow.comment != early)
            counts = [len(lists.marks._brought), lists.marks._failures]
            lists.answer(plain)
            recorder.done()
            return flow, plain, counts

    flow, plain, counts = asyncio.run(scene())
    recording._left_behind.clear()
    assert flow.marked == SECRET and plain.marked == ""
    assert flow.comment.startswith("#2 secrets: api_key | claude-") and flow.comment.endswith("completed")
    assert counts == [0, 0]


def test_personal_data_in_a_folded_text_is_marked_once_it_was_described(tmp_path: Path) -> None:
    async def scene() -> http.HTTPFlow:
        recorder = Recorder()
        with taddons.context(Proxyserver(), View(), recorder) as context:
            context.configure(recorder, capture_dir=str(tmp_path / "captures"))
            lists = Lists(context, recorder, Listening())
            flow = lists.accept(talk(f"{'weigh it ' * 300} ann@weighing.example"))
            await _until(lambda: flow.marked)
            recorder.done()
            return flow

    flow = asyncio.run(scene())
    recording._left_behind.clear()
    assert flow.marked == PERSONAL and flow.comment == "personal: email 1"


def test_several_exchanges_are_told_together_and_secrets_are_found_on_another_thread(tmp_path: Path) -> None:
    async def scene() -> tuple[list[http.HTTPFlow], list[list[http.HTTPFlow]]]:
        recorder, listening = Recorder(), Listening()
        with taddons.context(Proxyserver(), View(), listening, recorder) as context:
            context.configure(recorder, capture_dir=str(tmp_path / "captures"))
            lists = Lists(context, recorder, listening)
            flows = [lists.exchange(talk(text)) for text in ("one", f"two {KEY}", "three")]
            assert [flow.comment for flow in flows] == [""] * 3  # nothing yet
            await _until(lambda: flows[1].marked)
            recorder.done()
            return flows, listening.updates

    flows, updates = asyncio.run(scene())
    recording._left_behind.clear()
    assert [flow.marked for flow in flows] == ["", SECRET, ""]
    assert all(flow.comment for flow in flows)
    assert updates == [flows, [flows[1]]]


# --- harmless


def test_whatever_fails_costs_no_record_and_is_told_once(
    lists: Lists, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> str:
        raise RuntimeError("out of order")

    with monkeypatch.context() as patch:
        patch.setattr(subject, "describe", broken)
        for _ in range(3):
            assert lists.exchange(talk("weigh it")).comment == ""
    with monkeypatch.context() as patch:
        patch.setattr(subject, "told_of", broken)
        lists.exchange(talk("weigh it"))
    assert caplog.text.count("weighbridge failed to mark a flow (RuntimeError: out of order)") == 1
    assert lists.recorder.in_flight.journal.tally.lost == 0
    assert lists.marks._failures == 4
    lists.marks._failures = 0


def test_what_waits_for_a_description_is_bounded(lists: Lists, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MOST_BROUGHT", 5)
    lists.marks.listening(lambda: lambda sha256, text: b"")
    for number in range(20):
        lists.accept(talk(f"{number} {'weigh it ' * 100}"))
        assert len(lists.marks._brought) <= 5


def test_the_texts_looked_at_are_those_that_are_new() -> None:
    messages = [*talk("the old", "an answer"), {"role": "user", "content": [{"type": "text", "text": "the new"}]}]
    assert list(new_texts({"system": "the prompt", "messages": messages})) == [("the new", "text")]
    assert {text for text, _ in new_texts({"system": "the prompt", "messages": talk("first")})} == {
        "the prompt",
        "first",
    }


def test_so_many_texts_are_looked_at() -> None:
    messages = talk(*["weigh it"])
    messages[0]["content"] = [{"type": "text", "text": f"text {number}"} for number in range(1000)]
    assert len(list(new_texts({"messages": messages}))) == subject.MOST_TEXTS


def test_a_secret_is_known_by_the_name_that_it_stands_under() -> None:
    assert held_by([("hunter2-hunter2", "password")]) == {"secret_value": 1}
    assert held_by([("hunter2-hunter2", "text")]) == {}


@given(values)
def test_no_body_makes_the_search_fail(body: Any) -> None:
    for one in (body, {"messages": body}, {"messages": [body], "system": body}):
        assert all(isinstance(text, str) for text, _ in new_texts(one))
