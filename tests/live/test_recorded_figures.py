"""The published request and those of real clients, through a real proxy, and read back with the command line."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from json_values import DATA, SHAPES, shape_requests
from proxied import BODY, Proxy, patiently, request_bytes
from typer.testing import CliRunner

from addon.stub_api import StubApi, running
from analyzers.cli import app

pytestmark = pytest.mark.live

EXPECTED = json.loads((DATA / "published-request.expected.json").read_text())
PUBLISHED = (DATA / "published-request.json").read_bytes()
USAGE = json.dumps(EXPECTED["response_usage"] | {"output_tokens": 45})


def read(proxy: Proxy, *arguments: str) -> Any:
    """What a command says, as JSON."""
    command = [sys.executable, "-m", "analyzers", "--captures", str(proxy.captures), *arguments, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def read_here(proxy: Proxy, *arguments: str) -> Any:
    """The same, without a process of its own."""
    result = CliRunner().invoke(app, ["--captures", str(proxy.captures), *arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def sent(proxy: Proxy, name: str, body: bytes, path: str = "/v1/messages", **headers: str) -> int:
    """Sends one request and takes its whole answer. Returns the status."""
    client = proxy.client()
    client.send(request_bytes(name, body, path, content_type="application/json", **headers))
    first, answer = client.head()
    client.body(answer)
    client.close()
    return int(first.split()[1])


@pytest.fixture(scope="module")
def stub() -> Iterator[StubApi]:
    with running(StubApi(keep=500)) as stub:
        yield stub


@pytest.mark.parametrize("over", [400, 0, -1])
def test_every_figure_of_the_published_request(start: Callable[..., Proxy], stub: StubApi, over: int) -> None:
    proxy = start(stub.url, (f"capture_fold_over={over}",)).up()
    sent(proxy, "published", PUBLISHED, x_stub=f"usage={USAGE}")
    proxy.finished("published")

    shown = read(proxy, "show", "1")
    assert {field["name"]: field["chars"] for field in shown["fields"]} == EXPECTED["fields"]
    assert {field["name"]: round(field["share"], 1) for field in shown["fields"]} == EXPECTED["shares_percent"]
    assert shown["total"]["chars"] == EXPECTED["total"]
    blocks = [block["chars"] for block in shown["blocks"] if block["path"].startswith("messages[0].content[")]
    assert blocks == EXPECTED["message_blocks"]
    assert shown["structure"]["messages"] == EXPECTED["message_structure"]
    steps = {step["step"]: step["amount"] for step in shown["wire"]} | {"unexplained": shown["unexplained"]}
    assert steps == EXPECTED["wire_steps"]
    assert shown["wire_bytes"] == EXPECTED["wire_bytes"]
    assert {name: shown[name] for name in EXPECTED["response_usage"]} == EXPECTED["response_usage"]
    assert shown["total_input_tokens"] == EXPECTED["total_input_tokens"]
    assert (shown["model_requested"], shown["model"]) == (EXPECTED["model_requested"], EXPECTED["model_served"])
    assert stub.exchanges[-1].request.body == PUBLISHED


def test_every_request_of_real_clients(start: Callable[..., Proxy], stub: StubApi) -> None:
    proxy = start(stub.url).up()
    requests = [request for path in SHAPES for request in shape_requests(path)]
    for number, request in enumerate(requests):
        sent(proxy, f"shape-{number}", request["raw"], request["target"], x_stub="fixed")
    patiently(lambda: sum(line["kind"] == "response" for line in proxy.lines()) == len(requests), "the last answer")

    rows = read_here(proxy, "list")
    assert len(rows) == len(requests) > 150
    for row, request in zip(rows, requests, strict=True):
        expected = request["expected"]
        assert (row["fields"], row["chars"], row["wire_bytes"]) == (
            expected["fields"],
            expected["total"],
            expected["wire_bytes"],
        )
        assert (row["unexplained"], row["closes"]) == (0, True)


def test_utf16_of_the_recorded_agent_sdk_request(start: Callable[..., Proxy], stub: StubApi) -> None:
    first = next(shape_requests(DATA / "shapes" / "agent-sdk-0.3.260.jsonl.zst"))
    proxy = start(stub.url).up()
    sent(proxy, "first", first["raw"], first["target"], x_stub="fixed")
    proxy.finished("first")
    assert read_here(proxy, "show", "1")["total"] == {"chars": 82_921}
    assert read_here(proxy, "show", "1", "--unit", "utf16")["total"] == {"chars": 82_922}


MALFORMED = {
    "empty": b"",
    "torn": PUBLISHED[:5000],
    "nan": b'{"model":"m","temperature":NaN}',
    "html": b"<html>",
    "binary": bytes(range(256)),
    "utf16": '{"model":"m"}'.encode("utf-16"),
    "two documents": b'{"model":"m"}{"model":"n"}',
    "mark": b'\xef\xbb\xbf{"model":"m"}',
    "duplicates": b'{"model":"cheap","model":"dear"}',
    "twice serialised": json.dumps('{"model":"m","messages":[]}').encode(),
    "deep": b"[" * 5000 + b"]" * 5000,
    "numbers": b'{"a":1E2,"b":-0,"c":1e400,"d":' + b"9" * 5000 + b"}",
    "surrogate": b'{"model":"m","messages":[{"role":"user","content":"\\ud83d"}]}',
    "marker": b'{"messages":[],"_elided":{"_elided":true,"chars":5,"sha256":"x"}}',
}


def test_a_malformed_body_is_recorded_with_its_reason_and_reaches_the_api_as_it_is(
    start: Callable[..., Proxy], stub: StubApi
) -> None:
    proxy = start(stub.url).up()
    for name, body in MALFORMED.items():
        sent(proxy, name.replace(" ", "-"), body, x_stub="fixed")
        assert stub.exchanges[-1].request.body == body, name
    assert proxy.stop() == 0
    told = {}
    rows = read_here(proxy, "list")
    assert [row["ended"] for row in rows] == ["completed"] * len(MALFORMED)
    for row in rows:
        shown = read_here(proxy, "show", str(row["n"]))
        told[row["n"]] = (row["reason"] is not None, sorted({note["code"] for note in shown["notes"]}), row["closes"])
        assert row["wire_bytes"] == len(list(MALFORMED.values())[row["n"] - 1])
    assert list(told.values()) == [
        (True, [], None),  # empty
        (True, [], None),  # torn
        (True, [], None),  # nan
        (True, [], None),  # html
        (True, told[5][1], None),  # binary
        (True, told[6][1], None),  # utf16
        (False, ["trailing_text"], True),
        (False, ["bom"], True),
        (False, ["duplicate_key"], True),
        (False, ["double_serialised"], True),
        (False, [], True),
        (False, [], True),
        (False, [], True),
        (False, [], True),
    ]
    assert "stumbled" not in proxy.log()


def test_the_list_of_a_running_proxy_tells_what_is_in_flight(start: Callable[..., Proxy], stub: StubApi) -> None:
    proxy = start(stub.url).up()
    client = proxy.client()
    client.send(request_bytes("held", BODY, x_stub="hold"))
    proxy.exchange("held")
    assert [row["ended"] for row in read_here(proxy, "list")] == ["in_flight"]
    proxy.process.kill()
    proxy.process.wait()
    assert [row["ended"] for row in read_here(proxy, "list")] == ["unanswered"]
    stub.release()
    client.close()
