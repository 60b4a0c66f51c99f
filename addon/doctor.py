"""`weighbridge doctor`: whether recording works here, and whether what it records is what is usually sent.

Every check looks at one thing and says what to do. Nothing is changed, nothing but `--version` of programs that are
there is run, and no request leaves the machine.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from addon import client_settings, doctor_variables, launch
from addon.finding import Finding
from addon.run_environment import Environment, is_claude_code
from addon.writable import why_not_writable

OLDEST_MITMPROXY: Final = (12, 3)
OLDEST_PYTHON: Final = (3, 12)
ROOM: Final = 200_000_000
"""Bytes of free disk below which it is said."""

_SOON: Final = timedelta(days=30)
_PATIENCE: Final = 5.0
"""Seconds that a program has to tell its version."""

_HEAD: Final = 1 << 16
_CLAUDE_CODE: Final = re.compile(rb'"user-agent":"claude-cli/|"x-claude-code-session-id"')
_STARTED: Final = re.compile(rb'"modes":\[(.*?)\]')
_REVERSE: Final = re.compile(rb'"reverse:https://api\.anthropic\.com[:/@"]')
_NOWHERE: Final = "http://127.0.0.1:9"


def doctor(environment: Environment, captures: Path, home: Path, folder: Path, confdir: Path) -> list[Finding]:
    """All checks. ``captures``: where recordings are to go, and may be already; ``folder``: where the client is
    started; ``confdir``: of mitmproxy."""
    read = client_settings.files(environment, home, folder)
    return [
        *_versions(),
        _recorder(),
        _port(),
        *_captures(captures),
        *_authority(confdir),
        *_clients(environment),
        *doctor_variables.variables(environment),
        *doctor_variables.settings(client_settings.variables(read), client_settings.unread(read)),
        *_taken(captures),
    ]


def _versions() -> Iterator[Finding]:
    yield Finding("version", "ok", f"weighbridge {_installed('weighbridge') or 'from a checkout'}")
    python = f"Python {platform.python_version()} ({sys.executable})"
    if sys.version_info < OLDEST_PYTHON:
        yield Finding("version", "wrong", python, "use Python 3.12 or newer")
    else:
        yield Finding("version", "ok", python)
    found = _installed("mitmproxy")
    if found is None:
        yield Finding("version", "wrong", "mitmproxy is not here", f"{sys.executable} -m pip install 'mitmproxy>=12.3'")
    elif _numbers(found) < OLDEST_MITMPROXY:
        yield Finding("version", "wrong", f"mitmproxy {found}", "use mitmproxy 12.3 or newer")
    else:
        yield Finding("version", "ok", f"mitmproxy {found}")


def _recorder() -> Finding:
    """Whether mitmproxy could load the recorder: it is imported here as mitmproxy does."""
    try:
        from addon.recorder import Recorder

        Recorder()
    except Exception as error:  # whatever it is, it is what mitmproxy would say
        return Finding("recorder", "wrong", f"the recorder cannot be loaded ({error})", "install weighbridge anew")
    return Finding("recorder", "ok", "the recorder can be loaded")


def _port() -> Finding:
    port = launch.free_port(None)
    if port == launch.FIRST_PORT:
        return Finding("port", "ok", f"port {port} of {launch.HOST} is free")
    if port:
        text = f"port {launch.FIRST_PORT} of {launch.HOST} is in use, so `weighbridge capture` takes {port}"
        return Finding("port", "note", text, "paste the line that it prints, or choose another port with --port")
    first, last = launch.FIRST_PORT, launch.FIRST_PORT + launch.PORTS_TRIED - 1
    text = f"ports {first} to {last} of {launch.HOST} are in use: `weighbridge capture` takes another one"
    return Finding("port", "note", text, "paste the line that it prints, or choose a port with --port")


def _captures(captures: Path) -> Iterator[Finding]:
    """Whether recordings can be written there."""
    if captures.exists() and not captures.is_dir():
        if captures.suffix in (".jsonl", ".zst"):
            yield Finding("captures", "ok", f"{captures} is a file of recordings, and is only read")
        else:
            yield Finding("captures", "wrong", f"{captures} is a file", "give a folder with --captures")
        return
    if reason := why_not_writable(captures):
        text = f"{captures} cannot be written ({reason})"
        yield Finding("captures", "wrong", text, "give another folder with --captures")
        return
    there = next(place for place in (captures, *captures.absolute().parents) if place.exists())
    yield Finding("captures", "ok", f"{captures} {'can be written' if captures.exists() else 'can be made'}")
    if captures.is_dir() and os.name == "posix" and captures.stat().st_mode & 0o077:
        yield Finding("captures", "note", f"others on this machine may look into {captures}", f"chmod 700 {captures}")
    if (free := shutil.disk_usage(there).free) < ROOM:
        yield Finding("captures", "note", f"{free:,} bytes are free there", "make room, or give another folder")


def _authority(confdir: Path) -> Iterator[Finding]:
    """mitmproxy's own authority, which `run` does without, and every other forward proxy uses."""
    key, certificate = confdir / "mitmproxy-ca.pem", confdir / "mitmproxy-ca-cert.pem"
    if not key.exists():
        yield Finding("authority", "ok", f"mitmproxy has no authority in {confdir} yet: run needs none, others make it")
        return
    again = f"remove {confdir}/mitmproxy-ca*: mitmproxy makes new ones"
    if os.name == "posix" and key.stat().st_mode & 0o077:
        text = f"others on this machine can read {key}, and could pose as any server to whoever trusts it"
        yield Finding("authority", "wrong", text, f"chmod 600 {key}")
    try:
        from cryptography import x509

        own = x509.load_pem_x509_certificate(key.read_bytes())
        same = certificate.exists() and x509.load_pem_x509_certificate(certificate.read_bytes()) == own
    except (OSError, ValueError) as error:
        yield Finding("authority", "wrong", f"{key} cannot be read ({error})", again)
        return
    now = datetime.now(UTC)
    until = own.not_valid_after_utc
    if not same:
        yield Finding("authority", "wrong", f"{certificate} is not the certificate of {key.name}", again)
    elif not own.not_valid_before_utc <= now < until:
        yield Finding("authority", "wrong", f"mitmproxy's authority was valid until {until:%Y-%m-%d} only", again)
    elif until - now < _SOON:
        yield Finding("authority", "note", f"mitmproxy's authority is valid until {until:%Y-%m-%d}", again)
    else:
        yield Finding("authority", "ok", f"mitmproxy's authority in {confdir} is valid until {until:%Y-%m-%d}")


def _clients(environment: Environment) -> Iterator[Finding]:
    """Whether clients in PATH ask a proxy; told by their version."""
    yield _claude(environment)
    if node := _which("node", environment):
        found = _said([node, "--version"], environment)
        if isinstance(found, _Silent):
            yield Finding("client", "note", f"{node} --version {found}", "the TypeScript SDK needs it")
        elif _numbers(found) >= (24,):
            text = f"Node.js {found}: asks a proxy when NODE_USE_ENV_PROXY is 1, which `run --forward` sets"
            yield Finding("client", "ok", text)
        else:
            text = f"Node.js {found}: asks no proxy (from 24 on it can), so the TypeScript SDK is recorded in reverse"
            yield Finding("client", "ok", text)
    if python := _which("python3", environment) or _which("python", environment):
        asked = "import importlib.metadata as m; print(m.version('anthropic'))"
        found = _said([python, "-c", asked], environment)
        told = "asks a proxy and trusts SSL_CERT_FILE, so both ways record it"
        if found is _NO_ANSWER:
            yield Finding("client", "note", f"{python} {found}", "see what it does when it starts")
        elif isinstance(found, _Silent):
            yield Finding("client", "ok", f"{python} has no anthropic package")
        else:
            yield Finding("client", "ok", f"anthropic {found} of {python}: {told}")


def _claude(environment: Environment) -> Finding:
    claude = _which("claude", environment)
    if claude is None:
        return Finding("client", "ok", "there is no claude in PATH")
    found = _said([claude, "--version"], environment)
    if isinstance(found, _Silent):
        return Finding("client", "wrong", f"{claude} --version {found}", "install Claude Code anew")
    if "Claude Code" not in found:
        return Finding("client", "note", f"{claude} does not say that it is Claude Code", "give --forward or --reverse")
    told = "asks HTTPS_PROXY and trusts NODE_EXTRA_CA_CERTS"
    version = found.partition(" ")[0]
    if _numbers(version) < (2, 1):
        return Finding("client", "note", f"Claude Code {version} ({claude}): older than what was tried", "update it")
    by_name = "" if is_claude_code(Path(claude)) else "; run takes it for another program, so give --forward"
    return Finding(
        "client", "ok", f"Claude Code {version} ({claude}): {told}, as 2.1.258 to 2.1.332 were seen to{by_name}"
    )


def _taken(captures: Path) -> Iterator[Finding]:
    """In which way recordings that are there were taken."""
    if captures.is_dir():
        files: Sequence[Path] = sorted(captures.glob("*.jsonl*"))
    else:
        files = [captures] if captures.is_file() else []
    found: Counter[str] = Counter(way for file in files if (way := _way(file)) is not None)
    if found["reverse claude"]:
        text = (
            f"{found['reverse claude']} of {sum(found.values())} captures in {captures} are of Claude Code in reverse: "
            "not what it sends by itself"
        )
        yield Finding("capture", "note", text, "record again with `weighbridge run -- claude`")
    elif found:
        yield Finding("capture", "ok", f"{_counted(found)} in {captures} show what the client sends by itself")
    else:
        yield Finding("capture", "ok", f"no capture in {captures} yet")


def _counted(found: Mapping[str, int]) -> str:
    number = sum(found.values())
    return "the one capture" if number == 1 else f"all {number} captures"


def _way(file: Path) -> str | None:
    """How a capture was taken, and whether of Claude Code, by its head; None for what is no capture."""
    from analyzers.readers.captures import head_of
    from analyzers.readers.kinds import ZSTD_MAGIC

    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD)
    except OSError:
        return None
    head = head_of(head) if head.startswith(ZSTD_MAGIC) else head
    modes = _STARTED.search(head.partition(b"\n")[0])
    if modes is None:
        return None
    led = _REVERSE.search(modes[1]) is not None  # to another address than its own it sends the same in either way
    way = "reverse" if led else "forward"
    return f"{way} claude" if _CLAUDE_CODE.search(head) else way


def _which(name: str, environment: Environment) -> str | None:
    return shutil.which(name, path=environment.get("PATH", os.defpath))


class _Silent(str):
    """Why a program told nothing."""


_FAILS: Final = _Silent("fails")
_NO_ANSWER: Final = _Silent(f"gives no answer within {_PATIENCE:.0f} seconds")


def _said(command: list[str], environment: Environment) -> str:
    """The first line that a program prints; a _Silent when it fails, or takes too long and is ended with all that it
    has started. It is told of a proxy where nobody is: then it can ask nobody."""
    shut = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"), _NOWHERE)
    quiet = {
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "NO_PROXY": "",
        "no_proxy": "",
    }
    try:
        process = subprocess.Popen(
            command,
            env={**environment, **shut, **quiet},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError:
        return _FAILS
    try:
        out, _ = process.communicate(timeout=_PATIENCE)
    except BaseException as error:
        _end(process)
        if isinstance(error, subprocess.TimeoutExpired):
            return _NO_ANSWER
        raise
    return out.strip().partition("\n")[0][:200] if process.returncode == 0 else _FAILS


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a program and all of its group, which it leads, be it still there itself or not."""
    with contextlib.suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
