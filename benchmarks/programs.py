"""A program run from its start to its end: wall time, CPU, and memory of all its processes.

CPU is what the kernel adds up when a process is waited for: of the program and of every process that it has waited for
itself. Memory is the peak of the resident set of each process, read from /proc every few milliseconds while it runs,
added up over the processes. That is no less than they held together at any time: peaks need not meet, and pages that
processes share count in each. The peak that ``wait4`` tells is of no use here, since it is that of the one largest
process, and of a new process it counts what its parent held when it was started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.proxies import NotMeasured

EVERY = 0.01
"""Seconds between two looks at the memory."""

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds, MB (None: unknown here), and what was printed."""

    wall: float
    cpu: float
    memory: float | None
    output: bytes
    errors: bytes


def run(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Run:
    """Runs a program to its end. ``environment``: what it finds beside this process's own. Raises NotMeasured when it
    cannot be started, or fails."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        try:
            process = subprocess.Popen(
                command,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
            )
        except OSError as error:
            raise NotMeasured(f"{command[0]} cannot be started ({error.strerror or error}).") from None
        with Watch(process.pid) as watch:
            try:
                _, status, usage = os.wait4(process.pid, 0)
                wall = time.perf_counter() - began
            except BaseException:
                process.kill()
                process.wait()
                raise
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        found = Run(wall, usage.ru_utime + usage.ru_stime, watch.total(), output.read(), errors.read())
    if process.returncode:
        told = (found.errors or found.output).decode(errors="replace")[-2_000:]
        raise NotMeasured(f"{Path(command[0]).name} ended with exit code {process.returncode}.\n{told}")
    return found


class Watch:
    """Looks at the memory of a process and its descendants, in a thread, for as long as the block lasts."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peaks: dict[int, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self) -> Watch:
        if sys.platform.startswith("linux"):
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def total(self) -> float | None:
        """MB: the peaks of all processes that were seen, added up; None when none was."""
        return sum(self._peaks.values()) / 1e6 if self._peaks else None

    def _look_on(self) -> None:
        while True:
            waiting = [self._pid]
            while waiting:
                pid = waiting.pop()
                try:
                    peak = peak_of((_PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace"))
                    waiting += _children(pid)
                except OSError:
                    continue  # it has ended
                if peak is not None:
                    self._peaks[pid] = max(peak, self._peaks.get(pid, 0))
            if self._over.wait(EVERY):
                return


def peak_of(status: str) -> int | None:
    """Bytes that ``/proc/<pid>/status`` gives as the peak of the resident set (``VmHWM``, proc_pid_status(5)); None
    when it gives none, as of a process that has ended and was not waited for."""
    for line in status.split("\n"):
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * 1024
    return None


def _children(pid: int) -> list[int]:
    """What the threads of a process have started and not waited for yet. Raises OSError."""
    tasks = (_PROC / str(pid) / "task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text(encoding="ascii").split()]
