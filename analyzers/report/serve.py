"""The report as a page that follows a recording: a server on the loopback, for reading only.

Whoever asks must have been told this very address: a page elsewhere whose name was pointed at the loopback says its own
name as Host and is refused, and no other origin may read an answer. There is nothing to write to. Files are read again
only when one of them changed, by one asker at a time; the others go on with what is there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from analyzers.report.page import embedded, page, policy

LOOPBACK: Final = "127.0.0.1"
_NAMES: Final = ("127.0.0.1", "localhost")
_PATIENCE: Final = 30.0
"""Seconds that a connection may say nothing."""

type State = tuple[Any, ...]
"""What files are like from outside: as long as it is equal, so are they."""


class Fresh:
    """The newest document. ``state``: what the files are like; ``made``: reads them. What they raise, whoever
    asked is told; the newest document stays, and the next one who asks tries again."""

    def __init__(self, state: Callable[[], State], made: Callable[[], dict[str, Any]]) -> None:
        self._state, self._made = state, made
        self._lock = threading.Lock()
        self._seen = state()
        self._take(made())

    def _take(self, told: dict[str, Any]) -> None:
        data = embedded(told)
        self.newest = (told, data, f'"{sha256(data).hexdigest()[:32]}"')

    def looked(self) -> tuple[dict[str, Any], bytes, str]:
        """The document, its JSON and its tag, read again when files changed."""
        if self._lock.acquire(blocking=False):
            try:
                state = self._state()
                if state != self._seen:
                    self._take(self._made())
                    self._seen = state
            finally:
                self._lock.release()
        return self.newest


def server(fresh: Fresh, port: int, failed: Callable[[Exception], None]) -> ThreadingHTTPServer:
    """A server on the loopback, not yet serving. ``port`` 0: a free one. ``failed``: told what went wrong when files
    were read again. Raises OSError when the port is taken."""

    class Handler(_Handler):
        pass

    Handler.fresh, Handler.failed = fresh, staticmethod(failed)
    made = ThreadingHTTPServer((LOOPBACK, port), Handler)
    made.daemon_threads = True
    return made


class _Handler(BaseHTTPRequestHandler):
    fresh: Fresh
    failed: Callable[[Exception], None]
    timeout = _PATIENCE
    server_version = "weighbridge"
    sys_version = ""

    def do_GET(self) -> None:
        if not self._is_for_here():
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, b"this server answers to its own address only\n")
            return
        path = self.path.partition("?")[0]
        if path not in ("/", "/report.json"):
            self._answer(HTTPStatus.NOT_FOUND, b"there is only /\n")
            return
        try:
            told, data, tag = self.fresh.looked()
        except Exception as error:  # what is there goes on being shown
            self.failed(error)
            told, data, tag = self.fresh.newest
        if path == "/":
            self._answer(HTTPStatus.OK, page(told, live=True), "text/html; charset=utf-8")
        elif self.headers.get("If-None-Match") == tag:
            self._answer(HTTPStatus.NOT_MODIFIED, b"", tag=tag)
        else:
            self._answer(HTTPStatus.OK, data, "application/json", tag=tag)

    do_HEAD = do_GET

    def _is_for_here(self) -> bool:
        """Whether the asker was told this address, under one of the names of the loopback."""
        given = self.headers.get_all("Host") or []
        assert isinstance(self.server, ThreadingHTTPServer)
        port = self.server.server_port
        return len(given) == 1 and given[0].lower() in {f"{name}:{port}" for name in _NAMES}

    def _answer(self, status: HTTPStatus, data: bytes, kind: str = "text/plain; charset=utf-8", tag: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if status is not HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(data)))
        if tag:
            self.send_header("ETag", tag)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", policy(live=True) + "; frame-ancestors 'none'; form-action 'none'")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        if self.command != "HEAD" and data:
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is the user's."""
