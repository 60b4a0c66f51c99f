"""A real mitmdump with the addon, a server that does what a test tells it to, and a client that sees single bytes."""

import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import warm_mitmdump

import addon

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ADDON = Path(addon.__file__).resolve().parent
PATIENCE = 20.0
"""Seconds after which something that should happen is said not to happen."""

BODY = b'{"model":"claude-haiku-4-5","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hello"}]}'


def event(kind: str, **members: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 0, "output_tokens": 1}
MESSAGE = {"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-haiku-4-5-20251001", "usage": USAGE}
EVENTS = (
    event("message_start", message={**MESSAGE, "content": [], "stop_reason": None}),
    event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": "gr\u00fc\u00df"}),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": " dich \U0001f600"}),
    event("content_block_stop", index=0),
    event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 7}),
    event("message_stop"),
)


def patiently(found: Callable[[], Any], what: str) -> Any:
    """The first true value; fails when there is none for a long while."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if value := found():
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen")


TELLING = """
import os, pathlib
from mitmproxy import ctx
def running():
    ready = pathlib.Path(os.environ["READY"])
    port = ctx.master.addons.get("proxyserver").listen_addrs()[0][1]
    ready.with_suffix(".draft").write_text(str(port))
    ready.with_suffix(".draft").replace(ready)
"""


class Wire:
    """One side of a connection: reads heads and bodies, keeps nothing back."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(PATIENCE)
        self.sock = sock
        self.rest = b""

    def __del__(self) -> None:
        self.sock.close()  # a connection that a test drops ends with it

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def _more(self) -> bool:
        data = self.sock.recv(65_536)
        self.rest += data
        return bool(data)

    def until(self, mark: bytes) -> bytes:
        """Everything up to and with a mark. Raises EOFError."""
        while mark not in self.rest:
            if not self._more():
                raise EOFError(self.rest)
        found, _, self.rest = self.rest.partition(mark)
        return found + mark

    def exactly(self, count: int) -> bytes:
        """Raises EOFError."""
        while len(self.rest) < count:
            if not self._more():
                raise EOFError(self.rest)
        found, self.rest = self.rest[:count], self.rest[count:]
        return found

    def chunk(self) -> bytes:
        """The next chunk of a chunked body; empty at its end. Raises EOFError."""
        size = int(self.until(b"\r\n"), 16)
        data = self.exactly(size)
        assert self.exactly(2) == b"\r\n"
        return data

    def body(self, headers: Sequence[tuple[bytes, bytes]], *, to_end: bool = False) -> bytes:
        """A whole body, transfer coding removed. Raises EOFError."""
        fields = {name.lower(): value for name, value in headers}
        if b"chunked" in fields.get(b"transfer-encoding", b""):
            return b"".join(iter(self.chunk, b""))
        if length := fields.get(b"content-length"):
            return self.exactly(int(length))
        while to_end and self._more():
            pass
        found, self.rest = (self.rest, b"") if to_end else (b"", self.rest)
        return found

    def head(self) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        """First line and headers in order. Raises EOFError."""
        first, *lines = self.until(b"\r\n\r\n")[:-4].split(b"\r\n")
        return first, [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]

    def reset(self) -> None:
        """Close with a RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


@dataclass
class Call(Wire):
    """A request that reached the server, and the means to answer it."""

    sock: socket.socket
    first: bytes
    headers: list[tuple[bytes, bytes]]
    data: bytes
    rest: bytes = b""
    gone: bool = False

    def answer(self, status: int = 200, body: bytes = b"", kind: str = "application/json", **headers: str) -> None:
        """A whole answer with its length."""
        self.begin(status, kind, content_length=str(len(body)), **headers)
        self.send(body)

    def begin(self, status: int = 200, kind: str | None = "text/event-stream", /, **headers: str) -> None:
        fields = {"Content-Type": kind} if kind else {}
        fields |= {name.replace("_", "-").title(): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.send(f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode())

    def stream(self, *chunks: bytes, last: bool = True, kind: str | None = "text/event-stream", **headers: str) -> None:
        """A chunked answer."""
        self.begin(200, kind, transfer_encoding="chunked", **headers)
        for chunk in chunks:
            self.put(chunk)
        if last:
            self.put(b"")

    def put(self, chunk: bytes) -> None:
        self.send(b"%x\r\n%b\r\n" % (len(chunk), chunk))

    def close(self) -> None:
        self.gone = True
        super().close()


class Upstream:
    """A server of HTTP/1.1 that answers each request as ``script`` says."""

    def __init__(self) -> None:
        self.script: Callable[[Call], None] = lambda call: call.stream(*EVENTS)
        self.calls: list[Call] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except ConnectionError:
                continue  # gone before it was taken
            except OSError:
                return  # closed
            self._open.add(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        wire = Wire(sock)
        with contextlib.suppress(OSError, EOFError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                first, headers = wire.head()
                call = Call(sock, first, headers, wire.body(headers), wire.rest)
                self.calls.append(call)
                self.script(call)
                if call.gone:
                    break
        wire.close()
        self._open.discard(sock)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that serves, which closes it


@dataclass
class Proxy:
    """A mitmdump with the addon, started elsewhere than in the project."""

    folder: Path
    upstream: str | None
    options: Sequence[str] = ()
    before: Sequence[Path] = ()
    after: Sequence[Path] = ()
    arguments: Sequence[str] = ()
    script: str = str(ADDON / "capture.py")
    confdir: Path | None = None
    file_limit: int | None = None
    """Bytes that no file of the process may exceed."""
    warm: bool = False
    """Without the wait for the imports of mitmproxy, where processes can be forked."""
    captures: Path = field(init=False)
    port: int = 0

    def __post_init__(self) -> None:
        self.captures = self.folder / "captures"
        self.cwd = self.folder / "elsewhere"
        self.cwd.mkdir(parents=True, exist_ok=True)
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)
        self._ready = ready
        telling = self.folder / "telling.py"
        telling.write_text(TELLING)
        scripts = [*map(str, self.before), self.script, *map(str, self.after), str(telling)]
        options = [f"confdir={self.confdir or self.folder / 'conf'}", "flow_detail=0", "connection_strategy=lazy"]
        if not any(option.startswith("capture_dir") for option in self.options):
            options.append("capture_dir=../captures")
        mode = ["--mode", f"reverse:{self.upstream}"] if self.upstream else []
        command = [
            str(Path(sys.executable).with_name("mitmdump")),
            *("--listen-host", "127.0.0.1", "--listen-port", "0"),
            *mode,
            *(part for script in scripts for part in ("-s", script)),
            *(part for option in (*options, *self.options) for part in ("--set", option)),
            *self.arguments,
        ]
        env = {**os.environ, "PYTHONUNBUFFERED": "1", "READY": str(ready)}
        self.process = self._started(command, env)

    def _started(self, command: Sequence[str], env: dict[str, str]) -> "subprocess.Popen[bytes] | warm_mitmdump.Forked":
        log = self.folder / "log"
        if self.warm and sys.platform == "linux":
            return warm_mitmdump.start(command, cwd=self.cwd, env=env, log=log, file_limit=self.file_limit)
        with log.open("ab") as out:
            limit = self._limit if self.file_limit else None
            nothing = subprocess.DEVNULL
            return subprocess.Popen(
                command, cwd=self.cwd, env=env, stdin=nothing, stdout=out, stderr=out, preexec_fn=limit
            )

    def _limit(self) -> None:
        import resource

        assert self.file_limit
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.file_limit, self.file_limit))

    def up(self) -> "Proxy":
        """Wait until it listens."""
        patiently(lambda: self._ready.exists() or self.process.poll() is not None, "the start of mitmdump")
        assert self._ready.exists(), self.log()
        self.port = int(self._ready.read_text())
        return self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """The exit code. asyncio may lose a signal while its loop is woken very often: then it is sent again."""
        for _ in range(10):
            if self.process.poll() is None:
                self.process.send_signal(how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.process.wait(PATIENCE / 2)
        raise AssertionError(f"mitmdump did not stop: {self.log()}")

    def client(self) -> Wire:
        sock = socket.create_connection(("127.0.0.1", self.port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Wire(sock)

    def lines(self) -> list[dict[str, Any]]:
        return capture_lines(self.captures)

    def exchange(self, name: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Request and response of the exchange with this ``x-client-request-id``, waited for."""
        return patiently(lambda: self._exchange(name), f"a record of {name}")  # type: ignore[no-any-return]

    def finished(self, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The same, with its response waited for."""

        def both() -> tuple[dict[str, Any], dict[str, Any]] | None:
            found = self._exchange(name)
            return (found[0], found[1]) if found and found[1] else None

        return patiently(both, f"a response to {name}")  # type: ignore[no-any-return]

    def _exchange(self, name: str) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
        lines = self.lines()
        for line in lines:
            if line["kind"] == "request" and line["headers"].get("x-client-request-id") == name:
                answers = [other for other in lines if other["kind"] == "response" and other["id"] == line["id"]]
                assert len(answers) <= 1
                return line, answers[0] if answers else None
        return None


def capture_bytes(folder: Path) -> Iterator[bytes]:
    """The text of each capture file, oldest first, as far as it can be read."""
    for path in sorted(folder.glob("*.jsonl*"), key=lambda path: path.stat().st_mtime_ns):
        raw = path.read_bytes()
        yield zstd.ZstdDecompressor().decompress(raw) if path.suffix == ".zst" else raw


def capture_lines(folder: Path) -> list[dict[str, Any]]:
    """Every whole line of every capture file."""
    return [json.loads(line) for text in capture_bytes(folder) for line in text.split(b"\n")[:-1]]


def request_bytes(
    name: str, body: bytes = BODY, path: str = "/v1/messages", method: str = "POST", **extra: str
) -> bytes:
    """A request as a client writes it."""
    fields = {"Host": "bridge.example", "X-Client-Request-Id": name, "Content-Length": str(len(body))}
    fields |= {re.sub("_", "-", header).title(): value for header, value in extra.items()}
    lines = "".join(f"{header}: {value}\r\n" for header, value in fields.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body
