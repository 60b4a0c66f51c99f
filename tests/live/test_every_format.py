"""One session recorded four times at once: by the addon, as a flow file, as a HAR, and in the client's own log. Every
figure is the same from each, but for what a format cannot hold, which is listed here and named by the reader."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from claude_log_writer import ADDED, LogWriter
from json_values import SHAPES, shape_requests
from proxied import Call, Proxy, Upstream, event, patiently
from typer.testing import CliRunner

from analyzers.cli import app

pytestmark = pytest.mark.live

SESSION = next(path for path in SHAPES if path.name.startswith("claude-code-2.1.332"))
OF_MAIN, OF_EACH_AGENT = 8, 2
WORDS = [{"type": "text", "text": "Grüße, 威伈 🙂"}]


# ------------------------------------------------------------------------------------------ what is sent


def exchanges() -> list[dict[str, Any]]:
    """The first requests of the recorded session, of the main thread and of both sub-agents, in their order, each with
    the answer that the next one of its thread sends again."""
    counts: dict[str | None, int] = {}
    chosen = []
    for recorded in shape_requests(SESSION):
        agent = recorded["headers"].get("x-claude-code-agent-id")
        counts[agent] = counts.get(agent, 0) + 1
        if counts[agent] <= (OF_EACH_AGENT if agent else OF_MAIN):
            chosen.append(recorded | {"agent": agent, "value": json.loads(recorded["raw"])})
    for place, recorded in enumerate(chosen):
        later = (other["value"] for other in chosen[place + 1 :] if other["agent"] == recorded["agent"])
        recorded["answer"] = answer(recorded, next(later, None))
    return chosen


def answer(recorded: dict[str, Any], later: dict[str, Any] | None) -> dict[str, Any]:
    content: list[dict[str, Any]] = WORDS
    sent = len(recorded["value"]["messages"])
    if later is not None:
        said = later["messages"][sent]["content"]
        content = [{"type": "text", "text": said}] if isinstance(said, str) else said
        content = [{name: member for name, member in block.items() if name != "cache_control"} for block in content]
    told = recorded["response"]
    tools = any(block["type"] == "tool_use" for block in content)
    return {
        "id": told["message_id"],
        "type": "message",
        "role": "assistant",
        "model": told["model"],
        "content": content,
        "stop_reason": "tool_use" if tools else "end_turn",
        "stop_sequence": None,
        "usage": told["usage"],
    }


def events(message: dict[str, Any]) -> Iterator[bytes]:
    """An answer as a stream."""
    begun = {"content": [], "stop_reason": None, "usage": message["usage"] | {"output_tokens": 1}}
    yield event("message_start", message=message | begun)
    for index, block in enumerate(message["content"]):
        empty, deltas = _parts(block)
        yield event("content_block_start", index=index, content_block=empty)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    output = {"output_tokens": message["usage"]["output_tokens"]}
    yield event("message_delta", delta={"stop_reason": message["stop_reason"]}, usage=output)
    yield event("message_stop")


def _parts(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            return block | {"text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            deltas = [{"type": "signature_delta", "signature": block["signature"]}]
            return block | {"thinking": "", "signature": ""}, deltas
        case "tool_use":
            text = json.dumps(block["input"])
            halves = text[: len(text) // 2], text[len(text) // 2 :]
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": half} for half in halves]
    return block, []


def sent(proxy: Proxy, recorded: dict[str, Any]) -> None:
    client = proxy.client()
    raw = recorded["raw"]
    headers = recorded["headers"] | {"Host": "api.anthropic.com", "Content-Length": str(len(raw)), "x-api-key": "sk-a"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    client.send(f"POST {recorded['target']} HTTP/1.1\r\n{lines}\r\n".encode() + raw)
    first, answered = client.head()
    assert first.split()[1] == b"200"
    client.body(answered)
    client.close()


# ------------------------------------------------------------------------------------------ what is read


@pytest.fixture(scope="module")
def sources(
    tmp_path_factory: pytest.TempPathFactory, confdir: Path, shared_upstream: Upstream
) -> Iterator[dict[str, Path]]:
    """The four recordings of one session, by format."""
    folder = tmp_path_factory.mktemp("formats")
    made = exchanges()
    answers = {recorded["raw"]: recorded for recorded in made}

    def script(call: Call) -> None:
        recorded = answers[call.data]
        call.stream(*events(recorded["answer"]), request_id=request_id(recorded))

    told, shared_upstream.script = shared_upstream.script, script
    found = {"capture": folder / "captures", "flows": folder / "session.flows", "har": folder / "session.har"}
    options = ("store_streamed_bodies=true", f"hardump={found['har']}")
    proxy = Proxy(
        folder, shared_upstream.url, options, arguments=("-w", str(found["flows"])), confdir=confdir, warm=True
    ).up()
    try:
        log = LogWriter(folder / "projects")
        for recorded in made:
            headers = {name.lower(): value for name, value in recorded["headers"].items()}
            name = log.request(recorded["value"], headers, time.time())
            sent(proxy, recorded)
            log.answer(name, headers, recorded["answer"], request_id(recorded), time.time())
        patiently(lambda: sum(line["kind"] == "response" for line in proxy.lines()) == len(made), "the last answer")
        assert proxy.stop() == 0
        assert "stumbled" not in proxy.log()
    finally:
        proxy.process.kill()
        proxy.process.wait()
        shared_upstream.script = told
    yield found | {"log": log.folder}


def request_id(recorded: dict[str, Any]) -> str:
    return f"req_{recorded['n']:022}"


type Said = tuple[Any, str]


def printed(*command: str) -> Said:
    result = CliRunner().invoke(app, [*command, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), result.stderr


@pytest.fixture(scope="module")
def said(sources: dict[str, Path]) -> Callable[..., Said]:
    """What a command says of a format, as JSON, and its problems; each asked once."""
    known: dict[tuple[str, ...], Said] = {}

    def saying(kind: str, *command: str) -> Said:
        if (kind, *command) not in known:
            known[kind, *command] = printed(*command, "--captures", str(sources[kind]))
        return known[kind, *command]

    return saying


def members(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every member of a JSON value by its path; elements that have a name go by it, so that one that is missing does
    not move the others."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from members(member, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for place, member in enumerate(value):
            named = member.get("name") or member.get("path") or member.get("step") if isinstance(member, dict) else None
            yield from members(member, f"{path}[{named or place}]")
    else:
        yield path, value


def differences(a: Any, b: Any) -> dict[str, tuple[Any, Any]]:
    """The members in which two values differ, by path."""
    one, other = dict(members(a)), dict(members(b))
    nothing = object()
    return {
        path: (one.get(path), other.get(path))
        for path in {**one, **other}
        if one.get(path, nothing) != other.get(path, nothing)
    }


NUMBERS = range(1, OF_MAIN + 2 * OF_EACH_AGENT + 1)
FORMATS = ("capture", "flows", "har", "log")
THREE = ("metadata", "stream", "diagnostics")
"""Fields of a request that no log keeps."""


def generic(paths: Iterable[str]) -> set[str]:
    """Paths without the places in lists."""
    return {re.sub(r"\[[^]]*\]", "[]", path) for path in paths}


def near(one: Any, other: Any) -> bool:
    """Whether two times are of one moment, as far as different clocks of one machine can tell."""
    return abs((datetime.fromisoformat(one) - datetime.fromisoformat(other)).total_seconds()) < 5


def test_every_format_holds_every_request(said: Callable[..., Said]) -> None:
    for kind in FORMATS:
        rows, problems = said(kind, "list")
        assert (kind, len(rows), problems) == (kind, len(NUMBERS), "")
        assert [row["request_id"] for row in rows] == [row["request_id"] for row in said("capture", "list")[0]]


@pytest.mark.parametrize("kind", ["flows", "har"])
def test_a_flow_file_and_a_har_show_what_the_capture_shows(said: Callable[..., Said], kind: str) -> None:
    for number in NUMBERS:
        shown, recorded = (said(one, "show", str(number))[0] for one in (kind, "capture"))
        differ = differences(shown, recorded)
        assert set(differ) == {"time"}  # when the request began, not when it was whole
        assert near(*differ["time"])
        assert shown["unexplained"] == 0 and shown["notes"] == []


def test_the_log_shows_what_the_capture_shows_but_for_what_its_notes_name(said: Callable[..., Said]) -> None:
    for number in NUMBERS:
        shown, problems = said("log", "show", str(number))
        recorded, _ = said("capture", "show", str(number))
        assert near(shown["time"], recorded["time"]) and problems == ""
        told = {note["code"]: note["detail"] for note in shown["notes"]}
        assert set(told) == {"rebuilt_from_log", "not_in_log"}
        assert "proved by the log's digest" in told["rebuilt_from_log"]
        assert all(name in told["not_in_log"] for name in (*THREE, "billing line in system", "bytes", "order"))
        for name in ("wire", "wire_bytes", "unexplained"):
            assert shown[name] is None and recorded[name] is not None
        assert shown["usage"] == recorded["usage"] | {name: shown["usage"][name] for name in ADDED}
        assert sized(shown) == sized(without_unlogged(recorded))
        parts = (
            "time",
            "notes",
            "usage",
            "wire",
            "wire_bytes",
            "unexplained",
            "fields",
            "total",
            "blocks",
            "structure",
        )
        assert {path.partition("[")[0].partition(".")[0] for path in differences(shown, recorded)} == set(parts)


def sized(shown: dict[str, Any]) -> tuple[Any, ...]:
    """The sizes of a request: fields, total, rows, structure, in no order of the fields. Shares follow from them."""
    fields = {field["name"]: field["chars"] for field in shown["fields"]}
    return fields, shown["total"], {block["path"]: block for block in shown["blocks"]}, shown["structure"]


def without_unlogged(shown: dict[str, Any]) -> dict[str, Any]:
    """What is shown of a recorded request, with the sizes of what no log keeps taken out."""
    billing = next(block for block in shown["blocks"] if block["what"] == "billing header")
    shell = len("type") + len("text") + len("text")
    left = dict.fromkeys(THREE, None) | {"system": billing["chars"] + shell}
    fields = [field | {"chars": field["chars"] - (left.get(field["name"]) or 0)} for field in shown["fields"]]
    fields = [field for field in fields if field["name"] not in THREE]
    blocks = []
    for block in shown["blocks"]:
        place = re.fullmatch(r"system\[(\d+)\]", block["path"])
        if block is not billing and block["path"] not in THREE:
            blocks.append(block | ({"path": f"system[{int(place[1]) - 1}]"} if place else {}))
    structure = {name: amount for name, amount in shown["structure"].items() if name not in THREE}
    return shown | {
        "fields": fields,
        "total": {"chars": sum(field["chars"] for field in fields)},
        "blocks": blocks,
        "structure": structure | {"system": structure["system"] - shell},
    }


TIMES = {
    "usage": {"sessions[].first", "rows[].time"},
    "sessions": {"sessions[].first", "sessions[].last", "sessions[].threads[].turns[].time"},
}
"""A flow file and a HAR tell when a request began, the log when it was made (``usage``: when its answer came); the
capture when it was whole."""

OWN = {
    "flows": {"usage": {"rows[].place"}, "sessions": set()},
    "har": {"usage": {"rows[].place"}, "sessions": set()},
    "log": {"usage": {"rows[].place", "rows[].records", "records", "from_logs"}, "sessions": set()},
}
"""Where a call was read, and in how many records."""


@pytest.mark.parametrize("command", ["usage", "sessions"])
@pytest.mark.parametrize("kind", ["flows", "har", "log"])
def test_usage_and_sessions_are_the_same_from_every_format(said: Callable[..., Said], kind: str, command: str) -> None:
    (told, problems), (recorded, _) = said(kind, command), said("capture", command)
    assert problems == ""
    differ = differences(told, recorded)
    thinking = {path for path in differ if path.endswith(".thinking_tokens")}
    if kind == "log":  # the client writes 0 where the API said nothing
        assert {differ.pop(path) for path in thinking} == {(0, None)}
        for path in [path for path in differ if ".at_least" in path]:
            assert "thinking_tokens" in differ.pop(path)
    assert generic(differ) == TIMES[command] | OWN[kind][command]
    assert all(near(*pair) for path, pair in differ.items() if generic([path]) <= TIMES[command])


def test_the_log_has_a_record_for_each_block_of_an_answer(said: Callable[..., Said]) -> None:
    rows = said("log", "usage")[0]["rows"]
    blocks = {recorded["answer"]["id"]: len(recorded["answer"]["content"]) for recorded in exchanges()}
    assert {row["message_id"]: row["records"] for row in rows} == blocks
    assert sum(blocks.values()) > len(blocks)


def test_all_four_together_are_one_session_told_once(sources: dict[str, Path]) -> None:
    given = [part for place in sources.values() for part in ("--captures", str(place))]
    usage, _ = printed("usage", *given)
    assert usage["totals"]["requests"] == len(NUMBERS)
    expected = [recorded["answer"]["usage"]["output_tokens"] for recorded in exchanges()]
    assert usage["totals"]["output_tokens"] == sum(expected)
