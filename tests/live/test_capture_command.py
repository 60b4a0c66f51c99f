"""`weighbridge capture` with a real mitmdump: what it prints, what it records, how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import warm_commands
from proxied import patiently
from warm_mitmdump import Forked

from addon.stub_api import StubApi, running

pytestmark = pytest.mark.live

BODY = {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture(scope="module")
def stub() -> Iterator[StubApi]:
    with running(StubApi()) as stub:
        yield stub


class Output:
    """What a process prints, read on a thread so that it never blocks."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.text = ""
        self._grown = threading.Condition()
        self._thread = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._thread.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with self._grown:
                self.text += line
                self._grown.notify_all()

    def match(self, pattern: str) -> re.Match[str]:
        with self._grown:
            assert self._grown.wait_for(lambda: re.search(pattern, self.text), 60), self.text
        found = re.search(pattern, self.text)
        assert found
        return found

    def ended(self, seconds: float) -> bool:
        """Whether everyone who could print has ended within that time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def rest(self) -> str:
        self.ended(10)
        return self.text


def environment() -> dict[str, str]:
    own = {key: value for key, value in os.environ.items() if key != "WEIGHBRIDGE_CAPTURES"}
    return {**own, "PYTHONPATH": str(Path(__file__).parents[2])}


@contextmanager
def capture(*arguments: str, before: tuple[str, ...] = (), cwd: Path) -> Iterator[tuple[subprocess.Popen[str], Output]]:
    command = [sys.executable, "-P", "-m", "addon.cli"]
    process = subprocess.Popen(
        [*command, *before, "capture", "--set", f"confdir={cwd / 'conf'}", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=cwd,
        env=environment(),
    )
    output = Output(process)
    try:
        yield process, output
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(30)
        output.rest()


class Written:
    """What a process writes to a file."""

    def __init__(self, file: Path, process: Forked | subprocess.Popen[bytes]) -> None:
        self._file = file
        self._process = process

    def match(self, pattern: str) -> re.Match[str]:
        def found() -> re.Match[str] | None:
            ended = self._process.poll() is not None
            found = re.search(pattern, self._file.read_text("utf-8"))
            assert found or not ended, self._file.read_text("utf-8")
            return found

        return patiently(found, f"{pattern} in what is printed")  # type: ignore[no-any-return]


@contextmanager
def capture_warm(*arguments: str, before: tuple[str, ...] = (), cwd: Path) -> Iterator[Written]:
    """The same without the wait for imports: for what is not about processes."""
    out = cwd / "printed"
    command = [*before, "capture", "--set", f"confdir={cwd / 'conf'}", *arguments]
    process = warm_commands.start(*command, cwd=cwd, env=environment(), out=out, errors=out)
    try:
        yield Written(out, process)
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    finally:
        process.kill()


def refused(*arguments: str, cwd: Path) -> str:
    """What is said of arguments that are a mistake."""
    (cwd / "outputs").mkdir()
    command = ["capture", "--set", f"confdir={cwd / 'conf'}", *arguments]
    code, out, errors = warm_commands.run(*command, cwd=cwd, env=environment(), place=cwd / "outputs", timeout=30)
    assert (code, out) == (2, "")
    return errors


def post(url: str, opener: urllib.request.OpenerDirector | None = None) -> dict[str, Any]:
    opener = opener or urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(f"{url}/v1/messages", json.dumps(BODY).encode(), {"x-api-key": "k"})
    with opener.open(request, timeout=20) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def recorded(folder: Path) -> list[dict[str, Any]]:
    (file,) = folder.glob("*.jsonl")
    return [json.loads(line) for line in file.read_bytes().split(b"\n") if line]


def test_it_prints_the_line_to_export_and_records(stub: StubApi, tmp_path: Path) -> None:
    with capture("--port", "0", "--upstream", stub.url, "--set", "capture_compress=false", cwd=tmp_path) as (
        process,
        out,
    ):
        url = out.match(r"(?m)^ +export ANTHROPIC_BASE_URL=(http://127\.0\.0\.1:\d+)$")[1]
        assert post(url)["model"] == "claude-haiku-4-5-20251001"
        out.match(r"#1 claude-haiku-4-5-20251001 .* completed")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    kinds = [line["kind"] for line in recorded(tmp_path / "captures")]
    assert kinds == ["start", "request", "response", "end"]
    assert "Traceback" not in out.rest()


@pytest.mark.parametrize("before", [True, False])
def test_the_folder_can_be_given_before_and_after_the_command(stub: StubApi, tmp_path: Path, before: bool) -> None:
    folder, arguments = ("--captures", "elsewhere"), ("--port", "0", "--upstream", stub.url)
    first, last = (folder, ()) if before else ((), folder)
    with capture_warm(*arguments, *last, before=first, cwd=tmp_path) as out:
        post(out.match(r"Recording to elsewhere.*\s+export ANTHROPIC_BASE_URL=(\S+)")[1])
        out.match("completed")
    assert list((tmp_path / "elsewhere").glob("*.jsonl.zst"))


def test_a_forward_proxy_records_too(stub: StubApi, tmp_path: Path) -> None:
    arguments = ("--forward", "--port", "0", "--upstream", stub.url, "--set", "capture_compress=false")
    with capture_warm(*arguments, cwd=tmp_path) as out:
        proxy = out.match(r"export HTTPS_PROXY=(\S+) NODE_EXTRA_CA_CERTS=\S+/conf/mitmproxy-ca-cert.pem")[1]
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy}))
        assert post(stub.url, opener)["type"] == "message"
        out.match("#1 .* completed")
    (request,) = [line for line in recorded(tmp_path / "captures") if line["kind"] == "request"]
    assert (request["host"], request["port"]) == ("127.0.0.1", stub.port)


def test_a_dead_upstream_is_recorded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with capture_warm("--port", "0", "--upstream", f"http://127.0.0.1:{port}", cwd=tmp_path) as out:
        url = out.match(r"ANTHROPIC_BASE_URL=(\S+)")[1]
        with pytest.raises(urllib.error.HTTPError, match="502"):
            post(url)
        out.match("#1 .* unreachable")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_reach_mitmdump(stub: StubApi, tmp_path: Path, number: signal.Signals) -> None:
    with capture("--port", "0", "--upstream", stub.url, "--set", "capture_compress=false", cwd=tmp_path) as (
        process,
        out,
    ):
        post(out.match(r"ANTHROPIC_BASE_URL=(\S+)")[1])
        out.match("completed")
        process.send_signal(number)
        assert process.wait(30) == 0
    assert recorded(tmp_path / "captures")[-1]["kind"] == "end"


def test_mitmdump_does_not_outlive_a_command_that_was_killed(stub: StubApi, tmp_path: Path) -> None:
    with capture("--port", "0", "--upstream", stub.url, "--set", "capture_compress=false", cwd=tmp_path) as (
        process,
        out,
    ):
        post(out.match(r"ANTHROPIC_BASE_URL=(\S+)")[1])
        out.match("completed")
        process.kill()
    assert out.ended(20), "mitmdump still has its standard output open"
    assert recorded(tmp_path / "captures")[-1]["kind"] == "end"


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with capture("--port", str(port), cwd=tmp_path) as (process, out):
            assert process.wait(30) == 2
        text = out.rest()
    assert text == f"weighbridge: port {port} of 127.0.0.1 is in use: choose another one with --port, or none at all\n"


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("capture_fold_over=many", "capture_fold_over=many: must be"),
        ("capture_fold_ovr=0", "did you mean capture_fold_over?"),
    ],
)
def test_a_mistake_in_an_option_is_one_sentence(tmp_path: Path, option: str, reason: str) -> None:
    text = refused("--port", "0", "--set", option, cwd=tmp_path)
    assert reason in text
    assert text.count("\n") == 1


def test_an_option_that_nobody_knows_is_told_before_anything_is_to_be_exported(tmp_path: Path) -> None:
    with capture("--port", "0", "--set", "nope=1", cwd=tmp_path) as (process, out):
        assert process.wait(30) == 2
        text = out.rest()
    assert "weighbridge: There is no option nope" in text
    assert "export" not in text and "Traceback" not in text


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--captures", "a", "--captures", "b"), "one folder"),
        (("--captures", "file"), "file is a file"),
        (("--captures", "/proc/x"), "/proc/x cannot be written"),
        (("--upstream", "nowhere"), "not an address"),
        (("--upstream", "http://ann:s3cret@gw.corp"), "--upstream 'http://gw.corp' is not an address like"),
        (("--set", "capture_dir=x"), "--captures"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, arguments: tuple[str, ...], reason: str) -> None:
    (tmp_path / "file").touch()
    text = refused(*arguments, cwd=tmp_path)
    assert reason in text
    assert text.count("\n") == 1
