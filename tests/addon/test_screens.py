"""The commands, called as mitmproxy calls them, and the content view over the life of the script."""

# mypy: disable-error-code="no-untyped-call"
# (mitmproxy's test tools have no types)

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import contentviews, exceptions, http
from mitmproxy.addonmanager import Loader
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.addons.view import View
from mitmproxy.log import ALERT
from mitmproxy.test import taddons, tflow, tutils

from addon import flow_exchange, flow_tables, redacted_flows
from addon import recorder as recording
from addon.flow_exchange import told_of
from addon.recorder import Recorder
from analyzers.readers.sources import Sources
from analyzers.sizes import request_ledger

SECRET = "the lorry of Miss Marple weighs 7.5 tonnes"
USAGE = {"input_tokens": 7, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4000, "output_tokens": 93}
RECORD: dict[str, Any] = {
    "time": "2026-11-30T15:19:51Z",
    "ended": "completed",
    "status": 200,
    "model": "claude-haiku-4-5-20251001",
    "usage": USAGE,
    "notes": [],
}


def flow(path: str = "/v1/messages") -> http.HTTPFlow:
    """A flow whose answer was streamed past mitmproxy."""
    body = {"model": "claude-haiku-4-5", "max_tokens": 10, "messages": [{"role": "user", "content": SECRET}]}
    request = tutils.treq(method=b"POST", path=path.encode(), content=json.dumps(body).encode(), host="api.x")
    request.headers = http.Headers(content_type="application/json", x_api_key="sk-ant-of-mine")
    response = tutils.tresp(content=None)
    response.headers = http.Headers(content_type="text/event-stream")
    return tflow.tflow(req=request, resp=response)


@pytest.fixture(autouse=True)
def no_view() -> None:
    contentviews.registry._by_name.pop("weighbridge", None)  # of a recorder in another test


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    made = Recorder()
    with taddons.context(Proxyserver(), View(), made) as context:
        context.configure(made, capture_dir=str(tmp_path / "captures"))
        yield made
        made.done()
        made.addons[0].done()
    recording._left_behind.clear()


@pytest.fixture
def context(recorder: Recorder) -> Any:
    from mitmproxy import ctx

    return ctx.master


# --- the content view, with the script


def test_the_view_comes_and_goes_with_the_recorder(tmp_path: Path) -> None:
    before = contentviews.registry.available_views()
    recorder = Recorder()
    with taddons.context(Proxyserver(), recorder) as context:
        context.configure(recorder, capture_dir=str(tmp_path))
        assert set(contentviews.registry.available_views()) - set(before) == {"weighbridge"}
        context.master.addons.remove(recorder)
        assert contentviews.registry.available_views() == before
    recording._left_behind.clear()


def test_a_reload_leaves_one_view_which_knows_what_was_recorded_before_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> str:
        first, second = Recorder(), Recorder()
        with taddons.context(Proxyserver(), first) as context:
            context.configure(first, capture_dir=str(tmp_path))
            first.running()
            one = flow()
            first.in_flight.marks._of(one).told = told_of(8, {}, RECORD)
            views = contentviews.registry.available_views()
            for recorder in (second, Recorder(), Recorder()):  # as mitmproxy does it when the file was touched
                context.master.addons.remove(context.master.addons.get("weighbridge"))
                context.master.addons.register(recorder)
                recorder.running()
            assert contentviews.registry.available_views() == views
            text = contentviews.prettify_message(one.request, one).text
            context.master.addons.remove(recorder)
            return text

    assert asyncio.run(scene()).startswith("#8 ")
    assert "Replacing existing" not in caplog.text and "weighbridge" not in contentviews.registry.available_views()
    recording._left_behind.clear()


def test_what_shows_flows_is_loaded_at_the_start_where_there_is_a_list(recorder: Recorder) -> None:
    [screens] = recorder.addons
    screens.running()
    screens.load(Loader(None))  # and loading twice does no harm
    assert contentviews.registry.available_views().count("weighbridge") == 1


# --- weighbridge.show


def test_show_gives_the_tables_as_lines(context: Any, recorder: Recorder) -> None:
    one = flow()
    recorder.in_flight.marks._of(one).told = told_of(3, {}, RECORD)
    lines = context.commands.call("weighbridge.show", one)
    assert type(lines) is list  # what the console shows in a viewer of its own
    assert lines[0].startswith("#3 ")
    assert lines[1] == "input 4,007 = 7 in + 0 cache write + 4,000 cache read   output 93"
    assert any(line.startswith("messages[0].content ") for line in lines)
    assert "\n".join(lines) == contentviews.prettify_message(one.request, one).text


def test_show_takes_the_flow_that_mitmproxy_calls_focused(context: Any) -> None:
    one = flow()
    context.addons.get("view").add([one])
    context.commands.add("view.flows.resolve", context.addons.get("view").resolve)
    assert context.commands.execute("weighbridge.show @all") == context.commands.call("weighbridge.show", one)


def test_show_of_another_flow_says_that_there_is_nothing_to_weigh(context: Any) -> None:
    assert context.commands.call("weighbridge.show", flow("/other")) == [
        "This is no request to the Messages API: there is nothing to weigh."
    ]
    with pytest.raises(exceptions.CommandError, match="not HTTP"):
        context.commands.call("weighbridge.show", tflow.ttcpflow())


def test_show_that_fails_is_a_sentence(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> list[str]:
        raise RuntimeError("out of order")

    monkeypatch.setattr(flow_tables, "flow_lines", broken)
    with pytest.raises(exceptions.CommandError, match=r"RuntimeError: out of order\)\. Please report it"):
        context.commands.call("weighbridge.show", flow())


# --- weighbridge.redact


def redacted(context: Any, flows: list[Any], place: Path) -> None:
    async def scene() -> None:
        before = asyncio.all_tasks()
        context.commands.call("weighbridge.redact", flows, str(place))
        await asyncio.gather(*asyncio.all_tasks() - before)

    asyncio.run(scene())


def test_redact_writes_a_capture_with_the_same_figures_and_without_the_texts(
    context: Any,
    recorder: Recorder,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flow_exchange, "MOST_BYTES", 10)  # which bounds what is shown, and nothing else
    flows = [flow(), flow()]
    for number, one in enumerate(flows, 1):
        recorder.in_flight.marks._of(one).told = told_of(number, {}, RECORD)
    place = tmp_path / "shared.jsonl"
    with caplog.at_level(logging.INFO):
        redacted(context, [*flows, flow("/other"), tflow.ttcpflow()], place)
    assert [record.levelno for record in caplog.records if "redacted and checked" in record.message] == [ALERT]
    text = place.read_text()
    assert "Marple" not in text and "tonnes" not in text and "sk-ant-of-mine" not in text
    assert place.stat().st_mode & 0o077 == 0
    found = list(Sources([str(place)]).exchanges([]))
    assert len(found) == 2
    for exchange in found:
        assert exchange.request is not None and exchange.response is not None and exchange.response.usage is not None
        ledger = request_ledger(exchange.request)
        assert ledger is not None and ledger.closes and ledger.total == 16 + 2 + len("userrolecontent") + len(SECRET)
        assert exchange.response.usage.total_input_tokens == 4007
        assert exchange.ended == "completed"


def test_redact_refuses_with_a_sentence(context: Any, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("mine")
    for flows, place, told in (
        ([flow("/other"), tflow.ttcpflow()], tmp_path / "new", "None of these flows is a request"),
        ([flow()], there, "is there already: give another place"),
        ([flow()], tmp_path / "no" / "such", "There is no folder"),
    ):
        with pytest.raises(exceptions.CommandError, match=told):
            context.commands.call("weighbridge.redact", flows, str(place))
    assert there.read_text() == "mine" and list(tmp_path.glob("*")) == [there]


@pytest.mark.parametrize("what", ["process", "lines"])
def test_redact_that_fails_writes_nothing_and_says_so(
    context: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    def broken(*_: Any) -> Iterator[bytes]:
        yield b'{"kind":"start"}'
        raise RuntimeError("out of order")

    if what == "lines":
        monkeypatch.setattr(redacted_flows, "capture_lines", broken)
    else:
        monkeypatch.setattr(redacted_flows, "capture_lines", lambda chosen: iter([b"nothing that is a capture"]))
    redacted(context, [flow()], tmp_path / "new")
    assert "weighbridge.redact" in caplog.text and "Traceback" not in caplog.text
    assert [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert list(tmp_path.glob("*new*")) == []
