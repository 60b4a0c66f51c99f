"""`weighbridge run` that does not end in peace: killed, interrupted while it adds up, or with no place to write to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import running
from proxied import patiently
from run_place import BODY, CURL, PATIENCE, Place

from addon import launch
from addon.launch import NotStarted, Setup
from addon.run import FOLDER
from addon.stub_api import StubApi

pytestmark = pytest.mark.live

SLOW = """
import sys, time
import addon.closing
def forever(*_):
    print("adding up", file=sys.stderr, flush=True)
    time.sleep(60)
addon.closing.closing = forever
from addon.cli import main
sys.argv[0] = "weighbridge"
main()
"""
ASK = ("--", "sh", "-c", f"{CURL} >&2 && echo ready && exec sleep 60", BODY)


def until_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def mitmdump_of(process: subprocess.Popen[str]) -> int:
    """The process of the proxy that a run has started."""
    children = [one for one in running() if one.parent == process.pid]
    (found,) = [one.number for one in children if any("launched.py" in argument for argument in one.arguments)]
    return found


def end_command(place: Place) -> None:
    """Ends the command that a killed run has left, which nobody else would."""
    for one in running():
        if one.arguments == ["sleep", "60"] and os.readlink(f"/proc/{one.number}/cwd") == str(place.folder):
            os.kill(one.number, signal.SIGKILL)


def started(place: Place, stub: StubApi) -> subprocess.Popen[str]:
    process = place.started(*ASK, ANTHROPIC_BASE_URL=stub.url)
    until_ready(process)
    return process


@pytest.mark.skipif(sys.platform != "linux", reason="processes are told by /proc")
def test_a_run_that_was_killed_leaves_no_key(place: Place, stub: StubApi) -> None:
    process = started(place, stub)
    try:
        assert list(place.temporary.glob(f"{FOLDER}*/mitmproxy/mitmproxy-ca.pem"))
        process.kill()
        process.wait()
        patiently(lambda: not list(place.temporary.iterdir()), "the folder is gone")
    finally:
        end_command(place)
    patiently(lambda: len(place.lines("end")) == 1, "the capture is whole")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are told by /proc")
def test_when_the_proxy_is_killed_too_the_next_run_takes_the_key_away(place: Place, stub: StubApi) -> None:
    process = started(place, stub)
    try:
        os.kill(mitmdump_of(process), signal.SIGKILL)
        process.kill()
        process.wait()
    finally:
        end_command(place)
    assert list(place.temporary.glob(f"{FOLDER}*/mitmproxy/mitmproxy-ca.pem"))
    code, _, error = place.run("-q", "--", "true", ANTHROPIC_BASE_URL=stub.url)
    assert code == 0, error
    assert list(place.temporary.iterdir()) == []


def test_two_runs_at_once_leave_each_other_their_folders(place: Place, stub: StubApi) -> None:
    process = started(place, stub)
    try:
        assert place.run("-q", "--", "true", ANTHROPIC_BASE_URL=stub.url)[0] == 0
        assert list(place.temporary.glob(f"{FOLDER}*/mitmproxy/mitmproxy-ca.pem"))
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert list(place.temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_adding_up_can_be_stopped_and_the_capture_is_named_before(
    place: Place, stub: StubApi, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", SLOW, "run", "--", "sh", "-c", f"{CURL}; exit 7", BODY],
        cwd=place.folder,
        env=place.environment(ANTHROPIC_BASE_URL=stub.url),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    told = ""
    while "adding up" not in told:
        line = process.stderr.readline()
        assert line, told
        told += line
    (file,) = (place.folder / "captures").glob("*.jsonl.zst")
    assert f"\ncapture: captures/{file.name}\n" in told
    began = time.monotonic()
    process.send_signal(number)
    _, rest = process.communicate(timeout=PATIENCE)
    assert (process.returncode, rest) == (7, "")
    assert time.monotonic() - began < 10


def test_a_proxy_that_ends_itself_for_an_error_of_its_start_is_never_ready(tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text("import logging\ndef running(): logging.error('not like this')\n")
    setup = Setup(tmp_path / "captures", scripts=(script,), log=tmp_path / "log")
    with pytest.raises(NotStarted, match="what it printed above") as caught:
        launch.start(setup)
    assert caught.value.code == 1
    assert "not like this" in (tmp_path / "log").read_text()


def test_a_folder_that_cannot_be_written_is_refused_before_the_command_starts(place: Place) -> None:
    code, out, error = place.run("--captures", "/proc/x", "--", "echo", "ran")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert error.startswith("weighbridge: /proc/x cannot be written (")
    assert place.is_clean()


def test_what_was_lost_is_not_blamed_on_the_command(place: Place, stub: StubApi) -> None:
    script = f"touch captures; {CURL} >&2"
    code, _, error = place.run_warm("--", "sh", "-c", script, BODY, ANTHROPIC_BASE_URL=stub.url)
    assert code == 0, error
    assert "cannot record to" in error and "for the reason above" in error
    assert "ANTHROPIC_BASE_URL? " not in error
