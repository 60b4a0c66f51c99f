"""A proxy that answers for every host itself, over TLS, with certificates of an authority of its own."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from mitmproxy.certs import CertStore
from proxied import Wire

ANSWER = b'{"answered":"by the site itself"}'


class TlsSite:
    """``asked``: host, port and Proxy-Authorization of each tunnel; ``requests``: first line, headers and body of each
    request in one."""

    def __init__(self, folder: Path, *hosts: str, answer: bytes = ANSWER) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.requests: list[tuple[bytes, list[tuple[bytes, bytes]], bytes]] = []
        self.answer = answer
        folder.mkdir(parents=True, exist_ok=True)
        store = CertStore.from_store(folder, "site", 2048)
        entry = store.get_cert(hosts[0], [_name(host) for host in hosts])
        key = entry.privatekey.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        chain = folder / "chain.pem"
        chain.write_bytes(key + entry.cert.to_pem())
        self.root = folder / "site-ca-cert.pem"
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(chain)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError, ssl.SSLError):
            wire = Wire(sock)
            first, headers = wire.head()
            told = {name.lower(): value.decode() for name, value in headers}
            self.asked.append((first.split()[1].decode(), told.get(b"proxy-authorization")))
            wire.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            inner = Wire(self._context.wrap_socket(sock, server_side=True))
            while True:
                line, fields = inner.head()
                self.requests.append((line, fields, inner.body(fields)))
                length = str(len(self.answer)).encode()
                inner.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: " + length)
                inner.send(b"\r\n\r\n" + self.answer)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def _name(host: str) -> object:
    from cryptography import x509

    return x509.DNSName(host)
