"""Starts mitmdump with the recorder in front of an API, on the loopback.

Strategy: mitmdump runs as a child of this process in the same terminal, under this very interpreter, so that neither
PATH nor the folder one happens to be in decides what is loaded. It is up when `ready.py` has written its address; a
mistake in its options comes back as one sentence (`launched`), before anything was sent to it.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from addon import run_environment
from addon.run_environment import host_of, shown

API = run_environment.API
HOST = "127.0.0.1"
FIRST_PORT = 8080
PORTS_TRIED = 20
_START_SECONDS = 60.0
_STOP_SECONDS = 20.0


class NotStarted(Exception):
    """mitmdump did not come up; the text is one sentence. `code`: 1, or 2 for a mistake in what was asked for, of which
    nothing else was printed."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, slots=True)
class Setup:
    """How mitmdump is to be started."""

    captures: Path
    upstream: str = API
    named: str = "--upstream"
    """Where the user said so."""
    forward: bool = False
    """As a forward proxy, decrypting traffic with the host of `upstream` only; otherwise in reverse, for `upstream`."""
    port: int = 0
    options: tuple[str, ...] = ()
    """`name=value`, handed on to mitmdump's `--set`, each instead of ours of the same name."""
    hosts: tuple[str, ...] = ()
    """Patterns of the hosts that a forward proxy decrypts, instead of the upstream's."""
    via: str = ""
    """Another proxy, without user and password, that leads on: `http://proxy:3128`."""
    scripts: tuple[Path, ...] = ()
    """Loaded behind the recorder."""
    keep: tuple[int, ...] = ()
    """Descriptors that mitmdump holds open as well."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What mitmdump's own environment has beside ours."""
    by: str = ""
    """The command that starts it, for the first line of a capture; empty: nothing is said there."""
    log: Path | None = None
    """Where the output goes, instead of where ours goes. The process is then one of a session of its own, out of reach
    of what is typed at our terminal."""

    def server(self) -> tuple[str, str]:
        """Scheme, host and port of the upstream, and the path that belongs into the client's base URL, since mitmproxy
        takes none. Raises NotStarted when `upstream` is no address of a server."""
        parts = urlsplit(self.upstream if host_of(self.upstream) else "")
        more = parts.query or parts.fragment or parts.username or parts.password
        if parts.scheme not in ("http", "https") or more:
            without = ", without a user and without a query" if more else ""
            raise NotStarted(f"{self.named} {shown(self.upstream)!r} is not an address like {API}{without}", 2)
        return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")

    def arguments(self) -> list[str]:
        """The command line. Raises NotStarted when `upstream` is no address of a server."""
        server, _ = self.server()
        host = urlsplit(server).hostname or ""
        here = Path(__file__).resolve().parent
        # A shorter idle time-out than the client's own would end long answers that a direct connection lets finish.
        ours = ["connection_strategy=lazy", "flow_detail=0", "tcp_timeout=3600", f"capture_dir={self.captures}"]
        if self.by:
            ours.append(f"capture_taken={self.by} {'forward' if self.forward else 'reverse'}")
        if self.forward:
            patterns = "|".join(self.hosts or (re.escape(host),))
            ours.append(rf"allow_hosts=^({patterns})(:\d+)?$")
        files = (here / "capture.py", here / "ready.py", *self.scripts)
        scripts = [part for file in files for part in ("-s", str(file))]
        mode = (f"upstream:{self.via}" if self.via else "regular") if self.forward else f"reverse:{server}"
        given = {option.partition("=")[0] for option in self.options}
        # mitmproxy takes a text option only once.
        options = [option for option in ours if option.partition("=")[0] not in given] + list(self.options)
        sets = [part for option in options for part in ("--set", option)]
        python = [sys.executable, "-P", str(here / "launched.py")]
        return [*python, "--listen-host", HOST, "--listen-port", str(self.port), "--mode", mode, *scripts, *sets]


@dataclass(slots=True)
class Proxy:
    """A mitmdump that is up."""

    process: subprocess.Popen[bytes]
    url: str
    setup: Setup = field(repr=False)

    def wait(self) -> int:
        """Waits for the end, handing on the signals that this process gets. The exit code, 128 + n after signal n."""
        names = ("SIGINT", "SIGTERM", "SIGHUP")
        signals = [getattr(signal, name) for name in names if hasattr(signal, name)]
        before = {number: signal.signal(number, self._hand_on) for number in signals}
        try:
            code = self.process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return code if code >= 0 else 128 - code

    def stop(self) -> int:
        """Ends it in good order, by force when that takes too long. The exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def _hand_on(self, number: int, _: FrameType | None) -> None:
        # After Ctrl-C in a terminal mitmdump gets the signal twice, which it takes as once.
        if self.process.poll() is None:
            self.process.send_signal(number)


def start(setup: Setup) -> Proxy:
    """Starts mitmdump and returns when it listens. Its output goes where ours goes. Raises NotStarted."""
    arguments = setup.arguments()
    with tempfile.TemporaryDirectory(prefix="weighbridge-") as folder:
        ready = Path(folder, "ready")
        told = {"WEIGHBRIDGE_READY": str(ready), "WEIGHBRIDGE_PARENT": str(os.getpid())}
        environment = {**os.environ, **setup.environment, **told, "PYTHONUNBUFFERED": "1"}
        process = _process(arguments, environment, setup)
        try:
            address = _address(process, ready)
        except BaseException:
            process.kill()
            process.wait()
            raise
    return Proxy(process, f"http://{address}", setup)


@contextmanager
def started(setup: Setup) -> Iterator[Proxy]:
    """`start`, and `stop` at the end of the block."""
    proxy = start(setup)
    try:
        yield proxy
    finally:
        proxy.stop()


def _process(arguments: list[str], environment: dict[str, str], setup: Setup) -> subprocess.Popen[bytes]:
    if setup.log is None:
        return subprocess.Popen(arguments, env=environment, stdin=subprocess.DEVNULL, pass_fds=setup.keep)
    with setup.log.open("ab") as output:
        return subprocess.Popen(
            arguments,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=setup.keep,
        )


def _address(process: subprocess.Popen[bytes], ready: Path) -> str:
    deadline = time.monotonic() + _START_SECONDS
    refused = ready.with_suffix(".refused")
    while not ready.exists():
        ended = process.poll() is not None  # asked first: what it had to say is there then
        if refused.exists():
            raise NotStarted(refused.read_text(encoding="utf-8"), 2)
        if ended:
            raise NotStarted("mitmdump did not start: what it printed above says why", 1)
        if time.monotonic() > deadline:
            raise NotStarted(f"mitmdump was not up after {_START_SECONDS:.0f} seconds", 1)
        time.sleep(0.02)
    return ready.read_text(encoding="utf-8")


def free_port(wanted: int | None) -> int:
    """`wanted`, or the first free port from 8080 on when it is None. Raises NotStarted when it is in use."""
    if wanted is not None:
        if not 0 <= wanted <= 65535:
            raise NotStarted(f"--port {wanted} is no port: choose one from 1 to 65535, or none at all", 2)
        if wanted and not _is_free(wanted):
            raise NotStarted(f"port {wanted} of {HOST} is in use: choose another one with --port, or none at all", 2)
        return wanted
    candidates = range(FIRST_PORT, FIRST_PORT + PORTS_TRIED)
    return next((port for port in candidates if _is_free(port)), 0)


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError):
            return False
    return True


def exports(proxy: Proxy) -> list[str]:
    """What to run in the client's shell, first the line to run and then, as comments, what else there is to know."""
    if not proxy.setup.forward:
        return [f"export ANTHROPIC_BASE_URL={shlex.quote(proxy.url + proxy.setup.server()[1])}"]
    folder = next(
        (text.partition("=")[2] for text in proxy.setup.options[::-1] if text.startswith("confdir=")), "~/.mitmproxy"
    )
    authority = shlex.quote(str(Path(folder).expanduser() / "mitmproxy-ca-cert.pem"))
    return [
        f"export HTTPS_PROXY={proxy.url} NODE_EXTRA_CA_CERTS={authority}",
        f"# Python clients read SSL_CERT_FILE={authority} instead, and then trust no other authority.",
    ]
