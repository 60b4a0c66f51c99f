"""A session for each cause of a broken cache chain: through a real proxy, against a stub that keeps the cache's rules.

The clocks of the proxy and of the stub are set forward together, so that an hour takes no time. All sessions go
through one proxy, and are read back at once.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from proxied import Proxy, patiently, request_bytes
from typer.testing import CliRunner

from addon.stub_api import StubApi, running
from analyzers.cli import app

pytestmark = pytest.mark.live

CLOCK = """
import time
real, forward = time.time, [0.0]
time.time = lambda: real() + forward[0]
class Clock:
    def requestheaders(self, flow):
        forward[0] = float(flow.request.headers.pop("x-clock", forward[0]))
addons = [Clock()]
"""
"""Sets the proxy's clock forward by as many seconds as a request says, before anything is recorded."""

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
SUMMARY = "This session is being continued from a previous conversation that ran out of context. Summary: all is well."
LONG = "Weigh it twice. " * 200


class World:
    """The proxy, the stub, and the clock of both."""

    def __init__(self, proxy: Proxy, forward: list[float], stub: StubApi) -> None:
        self.proxy = proxy
        self.stub = stub
        self._forward = forward

    def later(self, seconds: float) -> None:
        self._forward[0] += seconds

    def ask(self, session: str, body: dict[str, Any], stub: str = "") -> dict[str, Any]:
        """The whole answer to a request."""
        client = self.proxy.client()
        headers = {"x_claude_code_session_id": session, "x_clock": str(self._forward[0]), "x_stub": stub}
        raw = json.dumps(body).encode()
        client.send(request_bytes(session, raw, content_type="application/json", **headers))
        first, answered = client.head()
        told = client.body(answered)
        client.close()
        assert b" 200 " in first, told
        return json.loads(told)  # type: ignore[no-any-return]


@dataclass
class Talk:
    """A conversation that grows: tools, a system prompt, and a breakpoint at the end of each prompt."""

    world: World
    name: str
    body: dict[str, Any] = field(default_factory=dict)
    mark: dict[str, str] = field(default_factory=lambda: MARK)

    def __post_init__(self) -> None:
        tools = [{"name": tool, "description": tool * 100, "input_schema": {"type": "object"}} for tool in "abc"]
        system = [{"type": "text", "text": f"{self.name} {LONG}", "cache_control": self.mark}]
        self.body = {"model": "claude-opus-5-5", "max_tokens": 50, "tools": tools, "system": system, "messages": []}

    def add(self, role: str, *blocks: dict[str, Any]) -> None:
        self.body["messages"].append({"role": role, "content": list(blocks)})

    def ask(self, text: str | None = None, **changes: Any) -> dict[str, Any]:
        """Sends what was said so far and ``text``; the answer becomes a part of the conversation."""
        self.body |= changes
        if text is not None:
            self.add("user", {"type": "text", "text": text})
        answer = self.world.ask(self.name, self.marked())
        self.add("assistant", *answer["content"])
        return answer

    def marked(self) -> dict[str, Any]:
        body = deepcopy(self.body)
        body["messages"][-1]["content"][-1]["cache_control"] = self.mark
        return {name: value for name, value in body.items() if value is not None}


type Script = Callable[[Talk], None]
BREAKS: dict[str, tuple[Script, str, str | None, str | None]] = {}
"""Session → what happens in it, the cause of the only break, and where the prompts part."""


def breaks(cause: str, path: str | None = None, change: str | None = None) -> Callable[[Script], Script]:
    def kept(script: Script) -> Script:
        BREAKS[script.__name__] = script, cause, path, change
        return script

    return kept


@breaks("model", "model", "model")
def model(talk: Talk) -> None:
    talk.ask("again", model="claude-sonnet-5-5")


@breaks("tools_added", "tools[3]", "tool added")
def tool_added(talk: Talk) -> None:
    talk.body["tools"].append({"name": "d", "description": "d", "input_schema": {"type": "object"}})
    talk.ask("again")


@breaks("tools_removed", "tools[1]", "tool removed")
def tool_removed(talk: Talk) -> None:
    del talk.body["tools"][1]
    talk.ask("again")


@breaks("tools_reordered", "tools[0]", "tool reordered")
def tools_reordered(talk: Talk) -> None:
    talk.body["tools"][:2] = reversed(talk.body["tools"][:2])
    talk.ask("again")


@breaks("tools_changed", "tools[2]", "tool description changed")
def tool_changed(talk: Talk) -> None:
    talk.body["tools"][2]["description"] += "!"
    talk.ask("again")


@breaks("system", "system[0]", "system changed")
def system_changed(talk: Talk) -> None:
    talk.body["system"][0]["text"] += "Today is Tuesday."
    talk.ask("again")


@breaks("message_rewritten", "messages[0].content[0]", "message changed")
def early_message_rewritten(talk: Talk) -> None:
    talk.body["messages"][0]["content"][0]["text"] += " please"
    talk.ask("again")


@breaks("images", "messages[4].content[0]", "image appeared")
def image_appeared(talk: Talk) -> None:
    talk.add("user", IMAGE)
    talk.ask()


@breaks("citations", "messages[4].content[0]", "citations appeared")
def citations_appeared(talk: Talk) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "ten tons"}
    talk.add("user", {"type": "document", "source": source, "citations": {"enabled": True}})
    talk.ask()


@breaks("tool_choice", "tool_choice", "tool_choice")
def tool_choice(talk: Talk) -> None:
    talk.ask("again", tool_choice={"type": "none"})


@breaks("thinking", "thinking", "thinking")
def thinking(talk: Talk) -> None:
    talk.ask("again", thinking={"type": "adaptive"})


@breaks("thinking_stripped", "messages[5].content[0]", "thinking removed")
def thinking_stripped(talk: Talk) -> None:
    """An older model sees its thinking while it uses tools, and no longer when the user goes on."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "a", "input": {}}
    talk.add("user", {"type": "text", "text": "weigh it"})
    talk.add("assistant", {"type": "thinking", "thinking": LONG, "signature": "c2ln"}, use)
    talk.add("user", {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ten tons"})
    talk.ask()
    talk.ask("and now?")


@breaks("effort", "output_config", "output_config")
def effort(talk: Talk) -> None:
    talk.ask("again", output_config={"effort": "high"})


@breaks("speed", "speed", "speed")
def speed(talk: Talk) -> None:
    talk.ask("again", speed="fast")


@breaks("context_editing")
def context_editing(talk: Talk) -> None:
    """The client sends all it has; with the fourth result the server clears those before."""
    edit = {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 3}, "keep": {"value": 1}}
    talk.body["context_management"] = {"edits": [edit]}
    for number in range(4):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "a", "input": {}}
        talk.add("assistant", use)
        talk.add("user", {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"{number} " * 100})
        talk.world.ask(talk.name, talk.marked())


@breaks("compaction", "messages[0].content[0]", "message changed")
def compaction(talk: Talk) -> None:
    talk.body["messages"] = []
    talk.add("user", {"type": "text", "text": SUMMARY})
    talk.ask()


@breaks("expired")
def expired_after_five_minutes(talk: Talk) -> None:
    talk.world.later(301)
    talk.ask("again")


@breaks("expired")
def expired_after_an_hour(talk: Talk) -> None:
    talk.world.later(3601)
    talk.ask("again")


@breaks("look_back")
def look_back(talk: Talk) -> None:
    """The breakpoint after the system prompt is found, that of the conversation is not."""
    talk.add("user", *({"type": "text", "text": f"line {n}"} for n in range(25)))
    talk.ask()


@breaks("no_breakpoint")
def no_breakpoint(talk: Talk) -> None:
    talk.add("user", {"type": "text", "text": "again"})
    body = deepcopy(talk.body)
    del body["system"][0]["cache_control"]
    talk.world.ask(talk.name, body)


@breaks("breakpoint_moved")
def breakpoint_moved(talk: Talk) -> None:
    """The conversation goes on, but only the system prompt is marked."""
    talk.add("user", {"type": "text", "text": "again"})
    talk.world.ask(talk.name, talk.body)


def _at_once(world: World) -> None:
    """A request that follows another before its answer begins, and one that follows both."""
    talk = Talk(world, "concurrent")
    talk.add("user", {"type": "text", "text": "first"})
    before = len(world.stub.exchanges)
    first = threading.Thread(target=world.ask, args=(talk.name, talk.marked(), "hold=1.3"))
    first.start()
    patiently(lambda: len(world.stub.exchanges) > before, "the first request")
    time.sleep(0.02)  # until its time is another one than the second's
    talk.add("user", {"type": "text", "text": "second"})
    world.ask(talk.name, talk.marked())
    first.join()
    talk.ask("third")


def _below_minimum(world: World) -> None:
    talk = Talk(world, "below_minimum")
    talk.body |= {"system": "short", "tools": None}
    for turn in range(3):
        talk.ask(f"turn {turn}")


def _healthy(world: World) -> None:
    """Six turns that break nothing: more time each, deferred tools, a moved breakpoint, billing lines."""
    talk = Talk(world, "healthy")
    talk.body["system"].insert(0, {"type": "text", "text": ""})
    for turn in range(6):
        line = f"x-anthropic-billing-header: cc_version=2.1.332; cch={turn};"
        talk.body["system"][0] = {"type": "text", "text": line}
        if turn == 3:
            talk.body["tools"].append({"name": "d", "input_schema": {"type": "object"}, "defer_loading": True})
        talk.ask(f"turn {turn}")
        world.later(200)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, confdir: Path) -> Iterator[dict[str, list[dict[str, Any]]]]:
    """The rows of each session, by its name."""
    folder = tmp_path_factory.mktemp("causes")
    clock = folder / "clock.py"
    clock.write_text(CLOCK)
    forward = [0.0]
    with running(StubApi(keep=500, clock=lambda: time.monotonic() + forward[0])) as stub:
        proxy = Proxy(folder, stub.url, before=(clock,), confdir=confdir, warm=True).up()
        world = World(proxy, forward, stub)
        for name, (script, *_) in BREAKS.items():
            talk = Talk(world, name, mark=HOUR if "hour" in name else MARK)
            if name == "thinking_stripped":
                talk.body["model"] = "claude-sonnet-4-5"
            talk.ask("first")
            talk.ask("second")
            script(talk)
        for play in (_at_once, _below_minimum, _healthy):
            play(world)
        assert proxy.stop() == 0
        assert "stumbled" not in proxy.log() and "Addon error" not in proxy.log()
        usages = [json.loads(bytes(exchange.sent))["usage"] for exchange in stub.exchanges]
    result = CliRunner().invoke(app, ["cache", "-c", str(proxy.captures), "--json"])
    assert result.exit_code == 0, result.output
    chains = json.loads(result.stdout)["sessions"]
    assert sum(len(chain["rows"]) for chain in chains) == len(usages)
    found: dict[str, list[dict[str, Any]]] = {}
    for chain in chains:
        found.setdefault(chain["session"], []).extend(chain["rows"])
    yield found


def broken(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["broken"]]


@pytest.mark.parametrize("name", BREAKS)
def test_each_break_is_told_with_its_cause_and_its_place(told: dict[str, list[dict[str, Any]]], name: str) -> None:
    _, cause, path, change = BREAKS[name]
    rows = told[name]
    [row] = broken(rows)
    assert (row["cause"], row["holds"]) == (cause, False)
    assert [other["holds"] for other in rows if other is not row][1:] == [True] * (len(rows) - 2)
    place = row["difference"]
    assert (place and place["path"], place and place["change"]) == (path, change)
    assert row["expected_read"] > row["cache_read_input_tokens"]
    assert row["follows"] == rows[rows.index(row) - 1]["n"]


@pytest.mark.parametrize(
    ("name", "ttl", "gap"), [("expired_after_five_minutes", "5m", 301), ("expired_after_an_hour", "1h", 3601)]
)
def test_what_expired_is_told_with_its_age(
    told: dict[str, list[dict[str, Any]]], name: str, ttl: str, gap: float
) -> None:
    [row] = broken(told[name])
    assert row["ttl"] == ttl
    assert gap <= row["gap_seconds"] < gap + 5
    assert row["written_again"] == row["expected_read"]  # nothing is left of it
    assert row["surcharge_usd"] > 0


def test_a_request_sent_before_the_first_answer_began_is_no_break(told: dict[str, list[dict[str, Any]]]) -> None:
    first, second, third = told["concurrent"]
    assert (second["cause"], second["holds"], second["broken"]) == ("concurrent", False, False)
    assert second["cache_read_input_tokens"] == 0 < second["cache_creation_input_tokens"]
    assert (third["holds"], third["cause"], first["cause"]) == (True, None, None)


def test_what_is_below_the_minimum_is_no_break(told: dict[str, list[dict[str, Any]]]) -> None:
    for row in told["below_minimum"]:
        assert (row["cause"], row["broken"]) == ("below_minimum", False)
        assert (row["cache_read_input_tokens"], row["cache_creation_input_tokens"]) == (0, 0)


def test_a_healthy_session_has_no_break(told: dict[str, list[dict[str, Any]]]) -> None:
    rows = told["healthy"]
    assert [row["holds"] for row in rows] == [None, True, True, True, True, True]
    assert {row["cause"] for row in rows} == {None}


COUNTERS = (
    "cache_read_input_tokens", "cache_creation_input_tokens", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens",
)  # fmt: skip


def test_what_the_model_marks_exact_is_what_the_server_counted(told: dict[str, list[dict[str, Any]]]) -> None:
    exact = 0
    for name, rows in told.items():
        for row in rows:
            predicted = row["predicted"]
            if predicted["exact"]:
                exact += 1
                assert {key: predicted[key] for key in COUNTERS} == {key: row[key] for key in COUNTERS}, (
                    name,
                    row["n"],
                )
    assert exact > 50
