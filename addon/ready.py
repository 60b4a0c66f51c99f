"""Tells whoever started mitmdump where it listens, and ends with it: loaded beside `capture.py` by `launch` alone.

The address goes into a file, whole or not at all. So the port can be left to the kernel, and nobody has to knock at the
proxy to learn whether it is up: every knock would be a connection in its log.
"""

import asyncio
import os
from pathlib import Path

from mitmproxy import ctx
from mitmproxy.utils import asyncio_utils

_GLANCE_SECONDS = 1.0


def running() -> None:
    """Writes `host:port` of the first listener to the file named by WEIGHBRIDGE_READY."""
    host, port = ctx.master.addons.get("proxyserver").listen_addrs()[0][:2]  # type: ignore[no-untyped-call]
    ready = Path(os.environ["WEIGHBRIDGE_READY"])
    draft = ready.with_suffix(".draft")
    draft.write_text(f"{host}:{port}", encoding="utf-8")
    draft.replace(ready)
    if os.name == "posix":
        parent = int(os.environ["WEIGHBRIDGE_PARENT"])
        asyncio_utils.create_task(_end_with(parent), name="end with the launcher", keep_ref=True)


async def _end_with(parent: int) -> None:
    """Shuts mitmdump down once `parent` is gone, however it went: nobody could end it from its terminal then."""
    while os.getppid() == parent:
        await asyncio.sleep(_GLANCE_SECONDS)
    ctx.master.shutdown()  # type: ignore[no-untyped-call]
