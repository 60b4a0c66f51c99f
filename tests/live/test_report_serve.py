"""``report --serve`` over real sockets: who is answered, what is sent along, and that it follows what is recorded."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import capture_files
import pytest
from capture_files import written

from analyzers.report.serve import Fresh, server

pytestmark = pytest.mark.live
DOCUMENT: dict[str, Any] = {"requests": [], "made": "now"}


class Files:
    """What the server looks at: its state, and how often it was read."""

    def __init__(self) -> None:
        self.state = 1
        self.read = 0
        self.broken = False
        self.failures: list[str] = []

    def made(self) -> dict[str, Any]:
        self.read += 1
        if self.broken:
            raise ValueError("damaged")
        return DOCUMENT | {"read": self.read}


@pytest.fixture
def files() -> Files:
    return Files()


@pytest.fixture
def port(files: Files) -> Iterator[int]:
    fresh = Fresh(lambda: (files.state,), files.made)
    running = server(fresh, 0, lambda error: files.failures.append(str(error)))
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running.server_port
    running.shutdown()
    running.server_close()
    thread.join()


def ask(port: int, path: str = "/", method: str = "GET", **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer, data


def test_the_page_comes_with_its_policy_as_a_header_too(port: int) -> None:
    answer, data = ask(port)
    assert answer.status == 200
    assert data.startswith(b"<!doctype html>")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:{port}"]
)
def test_a_name_that_was_pointed_at_the_loopback_gets_nothing(port: int, host: str, files: Files) -> None:
    answer, data = ask(port, "/report.json", Host=host.format(port=port))
    assert answer.status == 421
    assert b"requests" not in data


def test_the_names_of_the_loopback_are_answered(port: int) -> None:
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}"):
        assert ask(port, Host=host)[0].status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_there_is_nothing_to_write_to(port: int, method: str) -> None:
    assert ask(port, method=method)[0].status == 501


@pytest.mark.parametrize("path", ["/favicon.ico", "/..%2f..%2fetc/passwd", "/report.json/", "/captures"])
def test_there_is_no_other_path(port: int, path: str) -> None:
    assert ask(port, path)[0].status == 404


def test_files_are_read_again_only_when_they_changed(port: int, files: Files) -> None:
    first, data = ask(port, "/report.json")
    assert json.loads(data)["read"] == 1
    again, nothing = ask(port, "/report.json", **{"If-None-Match": first.headers["ETag"]})
    assert (again.status, nothing, files.read) == (304, b"", 1)
    files.state = 2
    newer, data = ask(port, "/report.json", **{"If-None-Match": first.headers["ETag"]})
    assert (newer.status, json.loads(data)["read"], files.read) == (200, 2, 2)


def test_what_cannot_be_read_again_leaves_the_page_as_it_was(port: int, files: Files) -> None:
    files.state, files.broken = 2, True
    answer, data = ask(port, "/report.json")
    assert (answer.status, json.loads(data)["read"], files.failures) == (200, 1, ["damaged"])
    files.broken = False
    assert json.loads(ask(port, "/report.json")[1])["read"] == 3


def test_it_listens_on_the_loopback_only(port: int, files: Files) -> None:
    running = server(Fresh(lambda: (1,), files.made), 0, lambda error: None)
    assert running.server_address[0] == "127.0.0.1"
    running.server_close()


def test_the_command_waits_for_a_folder_and_ends_in_order(tmp_path: Path) -> None:
    captures = tmp_path / "captures"
    command = [sys.executable, "-m", "analyzers", "report", "--serve", "-c", str(captures)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.match(r"http://127\.0\.0\.1:(\d+)/", line)
            assert found is not None
            port = int(found[1])
            assert json.loads(ask(port, "/report.json")[1])["requests"] == []
            lines = [
                capture_files.start(),
                capture_files.request("1", capture_files.body()),
                capture_files.response("1"),
            ]
            written(captures, "a.jsonl", *lines)
            assert [one["n"] for one in json.loads(ask(port, "/report.json")[1])["requests"]] == [1]
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
    assert (process.returncode, "Traceback" in errors) == (0, False)
    assert "nothing is recorded yet; waiting for it" in errors
