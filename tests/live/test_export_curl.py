"""An exported request sent again by the real curl: the API gets what the recorded client sent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from capture_files import request, response, start, written
from json_values import SHAPES, shape_requests
from typer.testing import CliRunner

from addon.stub_api import StubApi, running
from analyzers.cli import app
from analyzers.wire.jsontext import dump, parse

pytestmark = [pytest.mark.live, pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")]

ASKED: dict[str, Any] = {
    "model": "claude-haiku-4-5",
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "Was wiegt 'das'? $(touch owned) `touch owned` \"威🙂\" \\ \x01 \x9b !!"}],
}
HEADERS = (
    ("content-type", "application/json"),
    ("anthropic-version", "2026-10-21"),
    ("anthropic-beta", "one-2026-01-01,$(touch owned)"),
    ("x-api-key", "sk-ant-api03-SECRET"),
)


@pytest.fixture
def stub() -> Iterator[StubApi]:
    with running(StubApi(keep=10)) as stub:
        yield stub


def exported(folder: Path, sent: bytes, *options: str, **changes: Any) -> str:
    """What ``export --to curl 1`` prints about a capture of one request."""
    changes = {"headers": HEADERS, "path": "/v1/messages?beta=true"} | changes
    capture = written(folder, "capture.jsonl", start(-1), request("1", sent, fold_over=-1, **changes), response("1"))
    run = CliRunner().invoke(app, ["export", "-c", str(capture), "--to", "curl", "1", *options])
    assert run.exit_code == 0, run.output
    return run.stdout


def executed(stub: StubApi, *command: str, text: str = "", code: int = 0) -> str:
    """What a command prints, with the stub in place of the API. ``code``: 22 when the stub refuses the request."""
    known = {"PATH": os.environ["PATH"], "ANTHROPIC_BASE_URL": stub.url, "ANTHROPIC_API_KEY": "a 'key'"}
    run = subprocess.run(command, env=known, input=text.encode(), capture_output=True, timeout=30, check=False)
    assert run.returncode == code, run.stderr
    return run.stdout.decode()


def arrived(stub: StubApi) -> tuple[bytes, dict[str, str]]:
    """The body of the last request that the stub got, and those of its headers that curl does not make itself."""
    got = stub.exchanges[-1].request
    assert (got.method, got.target) == ("POST", "/v1/messages?beta=true")
    own = ("host", "user-agent", "accept", "content-length")
    return got.body, {name: value for name, value in got.headers if name not in own}


def sent_headers() -> dict[str, str]:
    return dict(HEADERS) | {"x-api-key": "a 'key'"}


def test_a_script_in_a_file_sends_the_very_bytes(tmp_path: Path, stub: StubApi) -> None:
    sent = dump(ASKED)
    place = tmp_path / "it's $(touch owned).sh"
    exported(tmp_path, sent, "-o", str(place))
    answer = json.loads(executed(stub, str(place)))
    assert answer["type"] == "message"
    assert arrived(stub) == (sent, sent_headers())
    assert not list(tmp_path.rglob("owned"))


def test_a_streamed_answer_is_a_stream(tmp_path: Path, stub: StubApi) -> None:
    sent = dump(ASKED | {"stream": True})
    place = tmp_path / "request.sh"
    exported(tmp_path, sent, "-o", str(place))
    answer = executed(stub, str(place))
    assert answer.startswith("event: message_start\n")
    assert "event: message_stop\n" in answer
    assert arrived(stub) == (sent, sent_headers())


@pytest.mark.parametrize("shell", [name for name in ("sh", "bash", "zsh", "dash") if shutil.which(name)])
def test_a_printed_script_sends_the_same_value(tmp_path: Path, stub: StubApi, shell: str) -> None:
    sent = dump(ASKED)
    executed(stub, shell, text=exported(tmp_path, sent))
    body, headers = arrived(stub)
    assert parse(body).value == parse(sent).value
    assert headers == sent_headers()
    assert not list(tmp_path.rglob("owned"))


def test_a_body_written_otherwise_arrives_as_the_same_value(tmp_path: Path, stub: StubApi) -> None:
    sent = json.dumps(ASKED | {"x": [1.5, 1e22]}, indent=2).encode()
    executed(stub, "sh", text=exported(tmp_path, sent))
    assert parse(arrived(stub)[0]).value == parse(sent).value


def test_a_large_request_of_a_real_client_arrives(tmp_path: Path, stub: StubApi) -> None:
    largest = max((one["raw"] for shape in SHAPES for one in shape_requests(shape)), key=len)
    executed(stub, "sh", text=exported(tmp_path, largest), code=22)  # too many tokens for the stub's model
    assert parse(arrived(stub)[0]).value == parse(largest).value


def test_an_error_of_the_api_is_shown_and_fails(tmp_path: Path, stub: StubApi) -> None:
    place = tmp_path / "request.sh"
    exported(tmp_path, b'{"model":"claude-haiku-4-5"}', "-o", str(place))
    assert "invalid_request_error" in executed(stub, str(place), code=22)
