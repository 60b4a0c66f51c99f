"""mitmdump without the wait for its imports: a process that has imported mitmproxy becomes one whenever it is asked.

Most of the two seconds that mitmdump takes to start are imports of mitmproxy, the same each time. Here one process
imports it, and nothing of this project, and forks for each start; the child then goes through the very function that
the program calls, with its own arguments, folder, environment and log, and is a process of its own to the end. Tests of
the start itself start the program instead.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any


class Forked:
    """As much of a Popen as is asked of a proxy. ``ended``: gives the exit code of a process, None while it runs."""

    def __init__(self, pid: int, ended: Callable[[int], int | None]) -> None:
        self.pid = pid
        self._ended = ended
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._ended(self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired("mitmdump", timeout or 0.0)
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)  # until it is polled its number stays its own

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Source:
    """The process that forks, as its owner sees it."""

    def __init__(self, program: str = __file__) -> None:
        mine, its = socket.socketpair()
        with its:
            command = [sys.executable, program, str(its.fileno())]
            env = {**os.environ, "PYTHONUNBUFFERED": "1"}
            self._process = subprocess.Popen(command, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, env=env)
        self._talk = mine.makefile("rw", encoding="utf-8", newline="\n")
        mine.close()
        self._lock = threading.Lock()
        atexit.register(self.close)

    def forked(self, asked: dict[str, Any]) -> Forked:
        return Forked(self.ask(asked), lambda pid: self.ask({"ended": pid}))

    def ask(self, question: dict[str, Any]) -> Any:
        with self._lock:
            self._talk.write(json.dumps(question) + "\n")
            self._talk.flush()
            return json.loads(self._talk.readline())

    def close(self) -> None:
        self._talk.close()
        self._process.wait()


@cache
def source() -> Source:
    """The one of this process, started when it is first needed."""
    return Source()


def start(
    command: Sequence[str], *, cwd: Path, env: dict[str, str], log: Path, file_limit: int | None = None
) -> Forked:
    """A mitmdump with these arguments. Its output is added to ``log``."""
    asked = {"command": [*command], "cwd": str(cwd), "env": env, "log": str(log), "file_limit": file_limit}
    return source().forked(asked)


def serve(talk: socket.socket) -> list[str] | None:
    """Forks as it is told until its owner is gone. In a child: the arguments to go on with."""
    ended: dict[int, int] = {}
    with talk, talk.makefile("rw", encoding="utf-8", newline="\n") as told:
        for line in told:
            asked = json.loads(line)
            if "command" in asked and not (pid := os.fork()):
                return become(asked)
            told.write(f"{json.dumps(pid if 'command' in asked else code(asked['ended'], ended))}\n")
            told.flush()
    return None


def code(pid: int, ended: dict[int, int]) -> int | None:
    """The exit code of a child; None while it runs."""
    if pid not in ended:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            ended[pid] = os.waitstatus_to_exitcode(status)
    return ended.get(pid)


def become(asked: dict[str, Any]) -> list[str]:
    """Takes on folder, environment, streams and limits."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    for stream, place in ((1, asked["log"]), (2, asked.get("errors") or asked["log"])):
        log = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.dup2(log, stream)
        os.close(log)
    if asked.get("file_limit"):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["file_limit"], asked["file_limit"]))
    command: list[str] = asked["command"]
    sys.path[0] = str(Path(command[0]).parent)
    return command


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with its owner
    from mitmproxy.tools import dump, main  # noqa: F401

    gc.collect()
    gc.freeze()
    with contextlib.suppress(ConnectionError):
        if (arguments := serve(socket.socket(fileno=int(sys.argv[1])))) is not None:
            sys.argv = arguments
            sys.exit(main.mitmdump())
