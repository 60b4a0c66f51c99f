"""Leads requests on through the proxy that the user has anyway: loaded behind `capture.py` by `run` alone.

mitmproxy's own mode for it takes one proxy for all hosts, and none in front of a single server. Here each request that
was decrypted goes through it, except to the hosts for which NO_PROXY says otherwise. Its password comes by the
environment, which other users cannot read, and not by the command line, which they can.
"""

import base64
import os

from mitmproxy import http
from mitmproxy.net import server_spec

from addon.run_environment import is_excepted

_PROXY = os.environ["WEIGHBRIDGE_NEXT_PROXY"]
_CREDENTIALS = os.environ.get("WEIGHBRIDGE_NEXT_CREDENTIALS", "")
_EXCEPT = tuple(filter(None, os.environ.get("WEIGHBRIDGE_NEXT_EXCEPT", "").split(",")))

_AUTHORIZATION = f"Basic {base64.b64encode(_CREDENTIALS.encode()).decode()}" if _CREDENTIALS else ""


def requestheaders(flow: http.HTTPFlow) -> None:
    """The way to this host, before there is a connection to it."""
    direct = is_excepted(flow.request.host, _EXCEPT)
    flow.server_conn.via = None if direct else server_spec.parse(_PROXY, "http")
    if _AUTHORIZATION and flow.request.scheme == "http" and not direct:
        flow.request.headers["Proxy-Authorization"] = _AUTHORIZATION


def http_connect_upstream(flow: http.HTTPFlow) -> None:
    """Our own request to the proxy, for a tunnel."""
    if _AUTHORIZATION:
        flow.request.headers["Proxy-Authorization"] = _AUTHORIZATION
