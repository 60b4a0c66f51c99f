"""The recording commands without the wait for imports and vocabularies, which are most of what they take and the same
each time.

One process imports mitmproxy and what the commands need, and forks for each of them as `warm_mitmdump` does. A command
goes through the very function that the program calls; where it would start mitmdump it forks instead, and the child, a
process of the same parent, session, descriptors and environment as the one that would be started, forgets this project
and goes through `launched.py`. Tests of how processes begin and end start the programs themselves.
"""

from __future__ import annotations

import gc
import logging
import os
import runpy
import signal
import socket
import subprocess
import sys
import traceback
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

from warm_mitmdump import Forked, Source, serve
from warm_mitmdump import code as code_of

ROOT = str(Path(__file__).parents[1])
OURS = ("addon", "analyzers")


@cache
def source() -> Source:
    """The one of this process, started when it is first needed."""
    return Source(__file__)


def start(*arguments: str, cwd: Path, env: dict[str, str], out: Path, errors: Path) -> Forked | subprocess.Popen[bytes]:
    """`weighbridge` with these arguments. Its outputs are added to the two files, which may be one. Where processes
    cannot be forked like this, the program itself is started."""
    if sys.platform != "linux":
        with out.open("ab") as told, errors.open("ab") as said:
            command, nothing = [sys.executable, "-P", "-m", "addon.cli", *arguments], subprocess.DEVNULL
            return subprocess.Popen(command, cwd=cwd, env=env, stdin=nothing, stdout=told, stderr=said)
    for file in (out, errors):
        file.touch()
    asked = {
        "command": ["weighbridge", *arguments],
        "cwd": str(cwd),
        "env": env,
        "log": str(out),
        "errors": str(errors),
    }
    return source().forked(asked)


def run(*arguments: str, cwd: Path, env: dict[str, str], place: Path, timeout: float) -> tuple[int, str, str]:
    """Exit code and both outputs. ``place``: a folder for them."""
    out, errors = place / "out", place / "errors"
    for file in (out, errors):
        file.write_bytes(b"")
    process = start(*arguments, cwd=cwd, env=env, out=out, errors=errors)
    try:
        code = process.wait(timeout)
    finally:
        process.kill()
    return code, out.read_text("utf-8"), errors.read_text("utf-8")


def mitmdump(arguments: list[str], environment: dict[str, str], setup: Any) -> Forked:
    """In place of `launch._process`."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if pid := os.fork():
        return Forked(pid, partial(code_of, ended={}))
    code = 1
    try:
        _take_on(arguments, environment, setup)
        runpy.run_path(arguments[2], run_name="__main__")
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    _end(code)


def _take_on(arguments: list[str], environment: dict[str, str], setup: Any) -> None:
    """What a new process of `launch._process` would have, and no more."""
    assert arguments[1] == "-P"
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if setup.log is not None:
        os.setsid()
        log = os.open(setup.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        for stream in (1, 2):
            os.dup2(log, stream)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2 and descriptor not in setup.keep:
            try:
                os.close(descriptor)
            except OSError:
                continue  # that of the listing
    os.environ.clear()
    os.environ.update(environment)
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        del sys.modules[name]
    sys.argv = arguments[2:]


def _end(code: int) -> NoReturn:
    """Without what the run, of which this is a copy, would do at its own end."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with its owner
    sys.path[0] = ROOT
    # What mitmdump loads; and what a first text is weighed with.
    from mitmproxy.tools import dump  # noqa: F401
    from mitmproxy.tools import main as mitmproxy_main  # noqa: F401

    import addon.closing_shown
    import addon.run  # noqa: F401
    from addon import launch
    from addon.cli import main
    from analyzers.tokens import weigh_closely

    weigh_closely("a")
    launch._process = mitmdump  # type: ignore[assignment]
    gc.collect()
    gc.freeze()
    try:
        arguments = serve(socket.socket(fileno=int(sys.argv[1])))
    except ConnectionError:
        arguments = None
    if arguments is not None:
        sys.argv = arguments
        sys.path[0] = ROOT
        main()
