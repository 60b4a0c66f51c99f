"""Tells whoever started mitmdump where it listens, and ends with it: loaded beside `capture.py` by `launch` alone.

The address goes into a file, whole or not at all. So the port can be left to the kernel, and nobody has to knock at the
proxy to learn whether it is up: every knock would be a connection in its log. It is told once mitmproxy has looked for
errors of its start for the last time, since it ends itself when there was one.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import sys
from pathlib import Path

from mitmproxy import ctx
from mitmproxy.utils import asyncio_utils

from addon.launched import given, refuse, unknown

_GLANCE_SECONDS = 1.0
_PAUSE = 0.005


def running() -> None:
    """Writes `host:port` of the first listener to the file named by WEIGHBRIDGE_READY, once everything is well."""
    names = dict.fromkeys(spec.partition("=")[0] for spec in given(sys.argv))
    if problem := unknown(names, ctx.options.keys()):  # type: ignore[no-untyped-call]
        refuse(problem)
        ctx.master.shutdown()  # type: ignore[no-untyped-call]
        return
    asyncio_utils.create_task(_tell(), name="tell the launcher", keep_ref=True)
    if os.name == "posix":
        asyncio_utils.create_task(_end_with_parent(), name="end with the launcher", keep_ref=True)


def done() -> None:
    """When nobody is left who would do it: what was made for this run goes."""
    if not _is_orphan():
        return
    made = Path(os.environ["WEIGHBRIDGE_READY"])
    with contextlib.suppress(OSError):
        for file in made.parent.glob(f"{made.name}*"):
            file.unlink()
        made.parent.rmdir()
    if folder := os.environ.get("WEIGHBRIDGE_FOLDER"):
        shutil.rmtree(folder, ignore_errors=True)


async def _tell() -> None:
    while _may_still_fail():
        await asyncio.sleep(_PAUSE)
    host, port = ctx.master.addons.get("proxyserver").listen_addrs()[0][:2]  # type: ignore[no-untyped-call]
    ready = Path(os.environ["WEIGHBRIDGE_READY"])
    draft = ready.with_suffix(".draft")
    draft.write_text(f"{host}:{port}", encoding="utf-8")
    draft.replace(ready)


def _may_still_fail() -> bool:
    """Whether mitmproxy still listens for errors of its start."""
    check = ctx.master.addons.get("errorcheck")  # type: ignore[no-untyped-call]
    return check is not None and check.logger in logging.getLogger().handlers


async def _end_with_parent() -> None:
    """Shuts mitmdump down once its parent is gone, however it went: nobody could end it from its terminal then."""
    while not _is_orphan():
        await asyncio.sleep(_GLANCE_SECONDS)
    ctx.master.shutdown()  # type: ignore[no-untyped-call]


def _is_orphan() -> bool:
    return os.name == "posix" and os.getppid() != int(os.environ["WEIGHBRIDGE_PARENT"])
