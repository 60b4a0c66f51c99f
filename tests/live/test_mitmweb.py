"""A real mitmweb with the recorder, in front of the stub of the API: what its lists and its views show of exchanges."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from proxied import ADDON, PATIENCE, TELLING, patiently

from addon.stub_api import StubApi, running

pytestmark = pytest.mark.live

PASSWORD = "on-the-loopback-only"
TOKEN = "5e" * 16
KEY = f"sk-ant-api03-{'Zx9' * 30}AA"
SYSTEM = [{"type": "text", "text": "You weigh lorries. " * 2000, "cache_control": {"type": "ephemeral"}}]
SHIM = """
import importlib.util
found = importlib.util.spec_from_file_location("shim", {path!r})
shim = importlib.util.module_from_spec(found)
found.loader.exec_module(shim)
addons = shim.addons
"""
"""A script that can be touched, which the one in the project must not be while other tests run."""


class Mitmweb:
    """The process, what it shows over its HTTP interface, and a client of the proxy."""

    def __init__(self, folder: Path, upstream: str, confdir: Path) -> None:
        self.folder = folder
        self.script = folder / "capture_shim.py"
        self.script.write_text(SHIM.format(path=str(ADDON / "capture.py")))
        telling = folder / "telling.py"
        telling.write_text(TELLING)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.web = f"http://127.0.0.1:{free.getsockname()[1]}"
        options = [
            f"confdir={confdir}",
            f"web_password={PASSWORD}",
            f"capture_dir={folder / 'captures'}",
            "web_open_browser=false",
            f"web_port={self.web.rpartition(':')[2]}",
            "store_streamed_bodies=true",
        ]
        command = [
            str(Path(sys.executable).with_name("mitmweb")),
            *("--listen-host", "127.0.0.1", "--listen-port", "0", "--mode", f"reverse:{upstream}"),
            *("-s", str(self.script), "-s", str(telling)),
            *(part for option in options for part in ("--set", option)),
        ]
        ready = folder / "ready"
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, "PYTHONUNBUFFERED": "1", "READY": str(ready)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        patiently(lambda: ready.exists() or self.process.poll() is not None, "the start of mitmweb")
        assert ready.exists(), self.log()
        self.port = int(ready.read_text())

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def get(self, path: str, arguments: list[str] | None = None) -> Any:
        """What mitmweb says under a path; with ``arguments``, of the command there."""
        headers = {"Authorization": f"Bearer {PASSWORD}", "Content-Type": "application/json"}
        data = None
        if arguments is not None:
            headers |= {"Cookie": f"_mitmproxy_xsrf={TOKEN}", "X-XSRFToken": TOKEN}
            data = json.dumps({"arguments": arguments}).encode()
        with self._opener.open(urllib.request.Request(self.web + path, data, headers), timeout=PATIENCE) as answer:
            return json.load(answer)

    def flows(self) -> list[dict[str, Any]]:
        return self.get("/flows")  # type: ignore[no-any-return]

    def text(self, flow: dict[str, Any], side: str, view: str = "auto") -> tuple[str, str]:
        """The name of the view, and what it shows."""
        told = self.get(f"/flows/{flow['id']}/{side}/content/{view}.json")
        return told["view_name"], told["text"]

    def ask(self, messages: list[Any], system: Any = SYSTEM, *, stream: bool = True) -> Any:
        """The answer's blocks."""
        body = {"model": "claude-opus-5-5", "max_tokens": 50, "stream": stream, "system": system, "messages": messages}
        headers = {"Content-Type": "application/json", "X-Claude-Code-Session-Id": "s1", "X-Api-Key": "made-up"}
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/messages", json.dumps(body).encode(), headers)
        with self._opener.open(asked, timeout=PATIENCE) as answer:
            told = answer.read()  # to its end: a client that leaves before is another story
            return None if stream else json.loads(told).get("content")


@pytest.fixture(scope="module")
def mitmweb(tmp_path_factory: pytest.TempPathFactory, confdir: Path) -> Iterator[Mitmweb]:
    with running(StubApi()) as stub:
        started = Mitmweb(tmp_path_factory.mktemp("mitmweb"), stub.url, confdir)
        yield started
        started.process.send_signal(signal.SIGINT)
        assert started.process.wait(PATIENCE) == 0
        for bad in ("stumbled", "failed to mark", "Addon error", "Traceback", "Replacing existing"):
            assert bad not in started.log(), started.log()


@pytest.fixture(scope="module")
def flows(mitmweb: Mitmweb) -> list[dict[str, Any]]:
    """A conversation of three requests, of which the last has another system prompt; one with a key, one with an
    address."""
    messages: list[Any] = [{"role": "user", "content": "weigh it"}]
    for n, text in enumerate(("and this", "and that")):
        said = mitmweb.ask(messages, stream=False)
        messages = [*messages, {"role": "assistant", "content": said}, {"role": "user", "content": text}]
        if n == 1:
            mitmweb.ask(messages, [SYSTEM[0] | {"text": "You weigh ships. " * 2000}])
    mitmweb.ask([{"role": "user", "content": f"my key is {KEY}"}])
    mitmweb.ask([{"role": "user", "content": "write to ann@weighing.example"}])

    def all_told() -> list[dict[str, Any]] | None:
        found = mitmweb.flows()
        told = len(found) == 5 and all(flow["comment"] for flow in found)
        return found if told and found[3]["marked"] and found[4]["marked"] else None

    return patiently(all_told, "comments and markers")  # type: ignore[no-any-return]


def test_each_exchange_has_its_line_as_a_comment(flows: list[dict[str, Any]]) -> None:
    for number, flow in enumerate(flows, 1):
        assert re.match(
            rf"#{number} (.* \| )?claude-opus-5-5\S*  system \d+% .* chars  input [\d,]+ = ", flow["comment"]
        )
        assert "  completed" in flow["comment"]


def test_a_broken_chain_a_secret_and_personal_data_are_marked_and_nothing_else(flows: list[dict[str, Any]]) -> None:
    assert [flow["marked"] for flow in flows] == ["", "", "⚠", "🔑", "👤"]
    assert re.match(r"#3 cache chain broken: 0 read of \d,\d{3} \| claude-", flows[2]["comment"])
    assert flows[3]["comment"].startswith("#4 secrets: api_key | claude-")
    assert flows[4]["comment"].startswith("#5 personal: email 1 | claude-")
    assert KEY not in json.dumps(flows)


def test_the_request_is_shown_as_a_ledger_with_what_its_answer_cost(
    mitmweb: Mitmweb, flows: list[dict[str, Any]]
) -> None:
    name, text = mitmweb.text(flows[1], "request")
    assert name == "Weighbridge"
    lines = text.split("\n")
    assert lines[0].startswith("#2 ") and lines[0].endswith("completed")
    assert re.match(r"input [\d,]+ = \d+ in \+ \d+ cache write \+ [\d,]+ cache read   output \d+", lines[1])
    rows = [line.split() for line in lines]
    assert ["system[0]", "38,000", "text", "text"] in rows
    assert ["unexplained", "0"] in [row[:2] for row in rows]
    assert ["bytes", "on", "the", "wire", f"{flows[1]['request']['contentLength']:,}"] in rows


def test_the_answer_is_shown_by_its_counters_where_it_was_kept(mitmweb: Mitmweb, flows: list[dict[str, Any]]) -> None:
    for flow in flows:  # streamed, and in one piece
        name, text = mitmweb.text(flow, "response")
        assert name == "Weighbridge"
        assert re.search(r"^cache write, 5 minutes +[\d,]+$", text, re.MULTILINE)
        assert re.search(r"^stop reason +\w+$", text, re.MULTILINE)


def test_other_views_show_the_body(mitmweb: Mitmweb, flows: list[dict[str, Any]]) -> None:
    assert json.loads(mitmweb.text(flows[0], "request", "json")[1])["messages"]


def test_the_tables_come_from_the_command_bar_too(mitmweb: Mitmweb, flows: list[dict[str, Any]]) -> None:
    lines = mitmweb.get("/commands/weighbridge.show", ["~comment ^#2"])["value"]
    assert "\n".join(lines) == mitmweb.text(flows[1], "request")[1]


def test_a_redacted_capture_comes_from_the_command_bar(mitmweb: Mitmweb, flows: list[dict[str, Any]]) -> None:
    place = mitmweb.folder / "shared.jsonl"
    assert mitmweb.get("/commands/weighbridge.redact", ["@all", str(place)]) == {"value": None}
    text = patiently(lambda: place.exists() and place.read_text(), "a redacted capture")
    assert text.count('"kind":"response"') == 5
    assert KEY not in text and "lorries" not in text and "made-up" not in text
    patiently(lambda: "records redacted and checked" in mitmweb.log(), "a word about it")
    again = mitmweb.get("/commands/weighbridge.redact", ["@all", str(place)])
    assert again == {"error": f"{place} is there already: give another place."}


def test_a_browser_shows_list_and_ledger(mitmweb: Mitmweb, flows: list[dict[str, Any]], tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium here")
    page = f"{mitmweb.web}/?token={PASSWORD}#/flows/{flows[2]['id']}/request"
    shown = subprocess.run(
        [
            browser,
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
            *(f"--user-data-dir={tmp_path}", "--no-proxy-server", "--virtual-time-budget=10000", "--dump-dom", page),
        ],
        capture_output=True,
        text=True,
        timeout=6 * PATIENCE,
        check=True,
    ).stdout
    assert all(mark in shown for mark in "⚠🔑👤")
    assert "Weighbridge" in shown and "bytes on the wire" in shown


def test_touching_the_script_leaves_one_view_that_knows_what_was_before(
    mitmweb: Mitmweb, flows: list[dict[str, Any]]
) -> None:
    loaded = mitmweb.log().count("Loading script")
    os.utime(mitmweb.script, (2_000_000_000, 2_000_000_000))
    patiently(lambda: mitmweb.log().count("Loading script") > loaded, "a reload")
    patiently(lambda: "weighbridge" in mitmweb.get("/state")["contentViews"], "the view")
    assert mitmweb.get("/state")["contentViews"].count("weighbridge") == 1
    assert mitmweb.text(flows[0], "request")[1].startswith("#1 ")
    mitmweb.ask([{"role": "user", "content": "once more"}])
    last = patiently(lambda: len(found := mitmweb.flows()) == 6 and found[5]["comment"] and found[5], "a comment")
    assert last["comment"].startswith("#6 ")
