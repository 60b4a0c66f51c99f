"""Leads requests on through the proxies that the user has anyway: loaded behind `capture.py` by `run` alone.

mitmproxy's own mode for it takes one proxy for all hosts, and none in front of a single server. Here each request that
was decrypted goes through the one that the client would have asked for it, by its scheme, and directly where NO_PROXY
says so. Passwords come by the environment, which other users cannot read, and not by the command line, which they can.

What goes to http is asked of the proxy itself, with the whole address in the request line, as clients do (RFC 9112,
3.2.2): many proxies open no tunnel to such a server. It is turned around once it was recorded, and turned back after.
"""

import base64
import json
import os
from urllib.parse import urlsplit

from mitmproxy import http
from mitmproxy.net import server_spec

from addon.proxy_variables import is_excepted

_NEXT: dict[str, list[str]] = json.loads(os.environ["WEIGHBRIDGE_NEXT"])
"""Address and credentials, by scheme."""

_EXCEPT = tuple(filter(None, os.environ.get("WEIGHBRIDGE_NEXT_EXCEPT", "").split(",")))
_MEANT = "weighbridge_meant"


def requestheaders(flow: http.HTTPFlow) -> None:
    """The way to this host, before there is a connection to it."""
    request = flow.request
    proxy = _NEXT.get(request.scheme)
    direct = proxy is None or is_excepted(request.host, request.port, _EXCEPT, request.scheme)
    tunnelled = not direct and (request.scheme == "https" or bool(request.stream))
    flow.server_conn.via = server_spec.parse(proxy[0], "http") if proxy and tunnelled else None


def request(flow: http.HTTPFlow) -> None:
    """The request is recorded, and not on its way yet."""
    proxy = _NEXT.get(flow.request.scheme)
    host, port = flow.request.host, flow.request.port
    if flow.request.scheme != "http" or proxy is None or flow.request.stream or not flow.live:
        return
    if flow.response is not None or is_excepted(host, port, _EXCEPT, "http"):
        return
    to = urlsplit(proxy[0])
    if to.scheme == "https":  # asked over TLS, which only mitmproxy's own way can do
        flow.server_conn.via = server_spec.parse(proxy[0], "http")
        return
    data = flow.request.data
    flow.metadata[_MEANT] = (host, port, data.authority)
    data.authority = f"{f'[{host}]' if ':' in host else host}{'' if port == 80 else f':{port}'}".encode()
    data.host, data.port = to.hostname or "", to.port or 80
    if proxy[1]:
        flow.request.headers["Proxy-Authorization"] = _basic(proxy[1])


def response(flow: http.HTTPFlow) -> None:
    """The request is what it was meant to be again."""
    if (meant := flow.metadata.pop(_MEANT, None)) is not None:
        flow.request.data.host, flow.request.data.port, flow.request.data.authority = meant
        flow.request.headers.pop("Proxy-Authorization", None)


error = response


def http_connect_upstream(flow: http.HTTPFlow) -> None:
    """Our own request to a proxy, for a tunnel."""
    for address, credentials in _NEXT.values():
        to = urlsplit(address)
        if credentials and flow.server_conn.address == (to.hostname, to.port):
            flow.request.headers["Proxy-Authorization"] = _basic(credentials)
            return


def _basic(credentials: str) -> str:
    return f"Basic {base64.b64encode(credentials.encode()).decode()}"
