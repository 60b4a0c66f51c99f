"""Starts what is measured: the stub of the API, in front of it mitmdump in its variants, and the load generator.

Each in a process of its own, all on the loopback, ports chosen by the kernel. The variants differ in the script that
mitmdump loads and in nothing else. How much a process computes is read from its CPU clock, whose unit is the
nanosecond; that and its memory are asked of Linux, elsewhere they are unknown.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROOT = Path(__file__).resolve().parents[1]
DIRECT, PLAIN, STREAM_ONLY, WEIGHBRIDGE = "no proxy", "plain mitmdump", "streaming only", "weighbridge"
SCRIPTS = {PLAIN: None, STREAM_ONLY: ROOT / "benchmarks" / "stream_only.py", WEIGHBRIDGE: ROOT / "addon" / "capture.py"}
_START_SECONDS = 60.0
_STOP_SECONDS = 20.0
_LISTENS = re.compile(r"listening at \S+:(\d+)\.")
_MITMDUMP = "from mitmproxy.tools.main import mitmdump; mitmdump()"


class NotMeasured(Exception):
    """A process did not do what it was started for; one sentence, and what the process printed."""


class Stub:
    """The stub of the Messages API, as a process."""

    def __init__(self) -> None:
        """Raises NotMeasured."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "addon.stub_api", "--port", "0"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise NotMeasured("The stub of the API did not start.")

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def stop(self) -> None:
        _stop(self._process)


class Proxy:
    """A mitmdump in front of the stub, with one of `SCRIPTS`."""

    def __init__(self, variant: str, upstream: str, folder: Path, confdir: Path) -> None:
        """Starts it in `folder`. Raises NotMeasured."""
        self.variant = variant
        self.captures = folder / "captures"
        self._log = folder / "log"
        folder.mkdir(parents=True)
        script = SCRIPTS[variant]
        command = [
            *(sys.executable, "-P", "-c", _MITMDUMP, "--listen-host", "127.0.0.1", "--listen-port", "0"),
            *("--mode", f"reverse:{upstream}", "--set", f"confdir={confdir}", "--set", "flow_detail=0"),
            *(("-s", str(script)) if script else ()),
        ]
        with self._log.open("wb") as log:
            environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
            self._process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.port = self._await()

    def _await(self) -> int:
        """The port it listens on, as it tells in its log."""
        deadline = time.monotonic() + _START_SECONDS
        while not (found := _LISTENS.search(self.log())):
            if self._process.poll() is not None or time.monotonic() > deadline:
                _stop(self._process)
                raise NotMeasured(f"mitmdump ({self.variant}) did not start.\n{self.log()}")
            time.sleep(0.02)
        return int(found[1])

    def cpu(self) -> float | None:
        """Seconds that all its threads have computed so far."""
        if not sys.platform.startswith("linux"):
            return None
        return time.clock_gettime((~self._process.pid << 3) | 2)  # what clock_getcpuclockid(3) returns

    def memory(self) -> float | None:
        """Resident memory in MB."""
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii", errors="replace")
        except OSError:
            return None
        kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(kilobytes) * 1024 / 1e6

    def disk(self) -> float:
        """MB of its capture files."""
        return sum(path.stat().st_size for path in self.captures.glob("*.jsonl*")) / 1e6

    def log(self) -> str:
        """What it printed."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """Ends it in good order. Raises NotMeasured when it did not come through the run unharmed."""
        if _stop(self._process) != 0 or any(word in self.log() for word in ("Traceback", "stumbled", "cannot record")):
            raise NotMeasured(f"mitmdump ({self.variant}) did not come through unharmed.\n{self.log()[-2_000:]}")
        for path in self.captures.glob("*.jsonl.zst"):
            end = _last_line(path)
            if end.get("kind") != "end" or end["lost"] or end["unmatched"] or end["requests"] != end["responses"]:
                raise NotMeasured(f"weighbridge did not record all that was sent: {end}")


class Site:
    """A stub and the proxies in front of it, with a load generator that can reach them all."""

    def __init__(self, folder: Path) -> None:
        """Raises NotMeasured."""
        self._folder = folder
        self._started = 0
        self.proxies: dict[str, Proxy] = {}
        self.stub = Stub()
        self._load = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))

    def start(self, variants: Sequence[str]) -> None:
        """Replaces the proxies by new ones. Raises NotMeasured."""
        self.stop_proxies()
        for variant in variants:
            self._started += 1
            folder = self._folder / f"{self._started}"
            self.proxies[variant] = Proxy(variant, self.stub.url, folder, self._folder / "conf")

    def load[**P, T](self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What a function of `load` returns or raises, run by the load generator."""
        return self._load.submit(work, *args, **kwargs).result()

    def stop_proxies(self) -> None:
        """Ends all proxies, then raises NotMeasured if one was harmed."""
        harmed = []
        for proxy in self.proxies.values():
            try:
                proxy.stop()
            except NotMeasured as problem:
                harmed.append(problem)
        self.proxies.clear()
        if harmed:
            raise harmed[0]

    def close(self) -> None:
        """Ends everything. Raises NotMeasured if a proxy was harmed."""
        self._load.shutdown()
        try:
            self.stop_proxies()
        finally:
            self.stub.stop()


@contextmanager
def site(variants: Sequence[str]) -> Iterator[Site]:
    """A site with these variants, in a temporary folder. Raises NotMeasured."""
    with tempfile.TemporaryDirectory(prefix="weighbridge-bench-") as folder:
        here = Site(Path(folder))
        try:
            here.start(variants)
            yield here
        finally:
            here.close()


def _last_line(path: Path) -> dict[str, Any]:
    with zstd.open(path, "rb") as lines:
        last = b"{}"
        for line in lines:
            last = line
    found: dict[str, Any] = orjson.loads(last)
    return found


def _stop(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> int:
    """Its exit code."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
