"""Tells whoever started mitmdump where it listens: loaded beside `capture.py` by `launch`, and by nobody else.

The address goes into a file, whole or not at all. So the port can be left to the kernel, and nobody has to knock at the
proxy to learn whether it is up: every knock would be a connection in its log.
"""

import os
from pathlib import Path

from mitmproxy import ctx


def running() -> None:
    """Writes `host:port` of the first listener to the file named by WEIGHBRIDGE_READY."""
    host, port = ctx.master.addons.get("proxyserver").listen_addrs()[0][:2]  # type: ignore[no-untyped-call]
    ready = Path(os.environ["WEIGHBRIDGE_READY"])
    draft = ready.with_suffix(".draft")
    draft.write_text(f"{host}:{port}", encoding="utf-8")
    draft.replace(ready)
