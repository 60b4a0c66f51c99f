"""`weighbridge run -- COMMAND…`: a command whose requests are recorded, and what they weighed when it is done.

Everything that is made for it lies in one temporary folder: mitmproxy's configuration with an authority that exists as
long as the command, files of certificates, mitmdump's output. So nobody's settings and no store of certificates is
touched, and nothing is left but the capture. The folder holds the key of that authority and must not outlive the run:
when this process is killed, mitmdump removes it (`ready`), and when both are, the next run does (`held_folder`).
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from addon import child, client_settings, launch, proxy_variables, trust
from addon import run_environment as environments
from addon.proxy_variables import Unusable
from addon.run_environment import Environment, Way
from addon.writable import why_not_writable
from analyzers.failure import safe
from analyzers.held_folder import held_folder

FOLDER: Final = "weighbridge-run-"
"""How the name of a run's folder begins."""

NOT_STARTED: Final = 125
"""The exit code when the command was not run for our own reasons; that of `env` and `timeout`."""

_MOST_TOLD: Final = 10
"""Lines of mitmdump's that are shown."""

_UNSEEN: Final = "what came later is not recorded"
_UNWRITTEN: Final = "cannot record to "
"""How the journal's warning begins."""

ANOTHER_REQUEST: Final = (
    "in reverse Claude Code sends another request than it does by itself (fewer betas, no diagnostics, another cache "
    "scope, and in older versions all tools in full); --forward records what it sends by itself"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for. ``way`` None: the one that suits the command. ``quiet``: say nothing but what went wrong."""

    command: tuple[str, ...]
    captures: Path
    way: Way | None = None
    hosts: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What follows from it. ``client``: the environment, with what Claude Code's settings put over it. ``user``: the
    user and password in the API's address, for the client. ``notes``: what the user should know."""

    way: Way
    executable: Path
    client: Environment
    user: str
    setup: launch.Setup
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of it. ``code``: the command's own; ``lost``: requests may have come that are not in the files."""

    code: int
    warnings: tuple[str, ...]
    files: tuple[Path, ...]
    lost: bool


def run(wanted: Wanted, environment: Environment) -> int:
    """Runs the command. Its exit code, 128 + n after signal n; 125 when the proxy did not start, 126 and 127 as in a
    shell. Raises Unusable, CannotRun, launch.NotStarted."""
    began = time.monotonic()
    if reason := why_not_writable(wanted.captures):
        raise Unusable(f"{wanted.captures} cannot be written ({reason}): give another folder to --captures")
    recorded: Recorded | None = None
    try:
        with child.signals_end():
            with held_folder(Path(tempfile.gettempdir()), FOLDER) as (folder, held):
                plan = planned(wanted, environment, folder)
                plan = replace(plan, setup=replace(plan.setup, keep=held))
                recorded = _recorded(wanted, plan, environment, folder)
            _close(wanted, plan, recorded, environment, time.monotonic() - began)
    except child.Signalled as signalled:
        return signalled.code if recorded is None else recorded.code
    return recorded.code


def planned(wanted: Wanted, environment: Environment, folder: Path) -> Plan:
    """How a command is to be run. Writes the proxy's roots to ``folder``. Raises Unusable, CannotRun."""
    executable = _executable(wanted.command[0], environment)
    claude = environments.is_claude_code(executable)
    read = client_settings.files(environment, Path.home(), Path.cwd()) if claude else ()
    settings = client_settings.variables(read)
    client = {**environment, **{name: setting.value for name, setting in settings.items()}}
    way = wanted.way or environments.way_of(executable, client)
    upstream, user = environments.without_user(environments.base_url(client)) if way == "reverse" else (launch.API, "")
    setup = launch.Setup(wanted.captures, upstream, environments.BASE_URL, forward=way == "forward")
    setup.server()
    notes: list[str] = []
    roots = trust.write_roots(folder, environment, notes)
    notes += [f"{file} {reason}, so what it sets is not known" for file, reason in client_settings.unread(read).items()]
    notes += _notes(wanted, way, claude, client, environment, settings)
    ours = {"confdir": folder / "mitmproxy", "ssl_verify_upstream_trusted_ca": roots, "termlog_verbosity": "warn"}
    given = {option.partition("=")[0] for option in wanted.options}
    following = environments.next_proxies(environment, way, upstream)
    setup = replace(
        setup,
        options=(*(f"{name}={value}" for name, value in ours.items() if name not in given), *wanted.options),
        hosts=environments.opened(client, wanted.hosts),
        via=following["https"].address if "https" in following else "",
        scripts=(Path(__file__).with_name("next_proxy.py"),) if following else (),
        environment={"WEIGHBRIDGE_FOLDER": str(folder), **_told_next(following, environment)},
        by="run",
        log=folder / "mitmdump.log",
    )
    return Plan(way, executable, client, user, setup, tuple(notes))


def _told_next(following: Mapping[str, proxy_variables.NextProxy], environment: Environment) -> dict[str, str]:
    """What ``next_proxy`` is told."""
    if not following:
        return {}
    named = {scheme: (proxy.address, proxy.credentials) for scheme, proxy in following.items()}
    excepted = ",".join(proxy_variables.no_proxy(environment))
    return {"WEIGHBRIDGE_NEXT": json.dumps(named), "WEIGHBRIDGE_NEXT_EXCEPT": excepted}


def _notes(
    wanted: Wanted,
    way: Way,
    claude: bool,
    client: Environment,
    environment: Environment,
    settings: Mapping[str, client_settings.Setting],
) -> list[str]:
    """What makes a recording differ from what is usually sent, or keeps requests from being seen."""
    notes = []
    if way == "reverse" and environments.host_of(environments.base_url(client)) == "api.anthropic.com":
        notes.append(ANOTHER_REQUEST)
    if way == "reverse" and wanted.hosts:
        notes.append("--allow-host means nothing in reverse: only requests to the API come here")
    if way == "forward" and (covering := environments.covering(environment)):
        notes.append(f"NO_PROXY has {', '.join(covering)}, which is left out of it for this command")
    if claude:
        notes += _overruled(way, client, settings)
    return notes


def _overruled(way: Way, client: Environment, settings: Mapping[str, client_settings.Setting]) -> list[str]:
    """What Claude Code's settings put in the place of ours. Raises Unusable when nothing could be recorded then."""
    led = ("HTTPS_PROXY", "https_proxy") if way == "forward" else (environments.BASE_URL,)
    for name in led:
        if name in settings:
            here = environments.is_loopback(environments.host_of(environments.base_url(client)))
            other = ", or record with --forward" if way == "reverse" and not here else ""
            raise Unusable(
                f"{settings[name].file} sets {name}, which Claude Code takes instead of ours: "
                f"take it out while you record{other}"
            )
    also = ("NO_PROXY", "no_proxy", trust.EXTRA, *trust.INSTEAD) if way == "forward" else ()
    return [
        f"{settings[name].file} sets {name}, which Claude Code takes instead of ours; if nothing is recorded, remove it"
        for name in also
        if name in settings
    ]


def _recorded(wanted: Wanted, plan: Plan, environment: Environment, folder: Path) -> Recorded:
    """Runs the command behind a proxy of its own."""
    log = folder / "mitmdump.log"
    try:
        proxy = launch.start(plan.setup)
    except launch.NotStarted as error:
        if error.code == 2:
            raise
        sys.stderr.write(log.read_text("utf-8", "replace") if log.exists() else "")
        raise launch.NotStarted(str(error), NOT_STARTED) from None
    warnings: list[str] = []
    code: int | None = None
    try:
        try:
            made = _environment(plan, environment, proxy, folder)
            if not wanted.quiet:
                _say(f"weighbridge: {safe(line)}" for line in _opening(wanted, plan))
            code = child.run(wanted.command, made)
            if (ended := proxy.process.poll()) is not None:
                warnings.append(f"mitmdump ended with code {ended} before the command did: {_UNSEEN}")
        finally:
            _stop(proxy)
    except child.Signalled:
        if code is None:
            raise
        warnings.append("mitmdump was stopped at once: answers that were under way may be missing")
    warnings += _said(log)
    files = sorted(wanted.captures.glob(f"*-{proxy.process.pid}-*.jsonl*"))
    lost = any(_UNSEEN in warning or _UNWRITTEN in warning for warning in warnings)
    return Recorded(code, tuple(warnings), tuple(files), lost)


def _stop(proxy: launch.Proxy) -> None:
    try:
        proxy.stop()
    except child.Signalled:
        proxy.process.kill()
        proxy.process.wait()
        raise


def _environment(plan: Plan, environment: Environment, proxy: launch.Proxy, folder: Path) -> dict[str, str]:
    if plan.way == "reverse":
        return environments.reverse(environment, proxy.url + plan.setup.server()[1], plan.user)
    authority = next(text.partition("=")[2] for text in reversed(plan.setup.options) if text.startswith("confdir="))
    certificate = (Path(authority).expanduser() / trust.AUTHORITY).read_bytes()
    bundles = trust.write_bundles(folder, environment, certificate)
    node = not environments.is_claude_code(plan.executable)
    return environments.forward(plan.client, proxy.url, bundles, node=node)


def _opening(wanted: Wanted, plan: Plan) -> list[str]:
    if plan.way == "forward":
        how = "forward: requests to the API are read on their way, all others pass unread"
    else:
        how = f"reverse: {environments.BASE_URL} leads here, and from here to {plan.setup.upstream}"
    return [f"recording to {wanted.captures}, {how}", *plan.notes]


def _close(wanted: Wanted, plan: Plan, recorded: Recorded, environment: Environment, seconds: float) -> None:
    """What there is to say when the command has ended: first where the capture is, since adding up may take a while,
    and may be stopped by a signal. Nothing of it may change how the command ended."""
    _say(f"weighbridge: {safe(warning)}" for warning in recorded.warnings)
    if wanted.quiet:
        return
    from addon.closing_shown import capture_lines, closing_lines

    _say(["", *capture_lines(recorded.files)])
    from addon.closing import closing

    try:
        found = closing(recorded.files, seconds)
        lines = closing_lines(found, plan.way, lost=recorded.lost, again=_again(wanted.captures, environment))
    except Exception as error:  # told; the exit code is the command's
        lines = [f"what was recorded could not be summed up ({type(error).__name__}: {safe(str(error))})"]
    _say(lines)


def _again(captures: Path, environment: Environment) -> str:
    """What other commands need to find the captures."""
    usual = Path(environment.get("WEIGHBRIDGE_CAPTURES") or "captures")
    return "" if captures.absolute() == usual.absolute() else f" --captures {shlex.quote(str(captures))}"


def _say(lines: Iterable[str]) -> None:
    """On standard error, which may be gone: a terminal that was closed is no reason to end otherwise."""
    with contextlib.suppress(OSError, ValueError):
        for line in lines:
            print(line, file=sys.stderr, flush=True)


def _said(log: Path) -> list[str]:
    """The lines of mitmdump, each once and without its time."""
    lines = log.read_text("utf-8", "replace").split("\n") if log.exists() else []
    told = list(dict.fromkeys(line.partition("] ")[2] or line for line in lines if line.strip()))
    more = [f"and {len(told) - _MOST_TOLD} more lines of mitmdump"] if len(told) > _MOST_TOLD else []
    return told[:_MOST_TOLD] + more


def _executable(name: str, environment: Environment) -> Path:
    """The file that a command's name means. Raises CannotRun."""
    found = shutil.which(name, path=environment.get("PATH", os.defpath))
    if found is not None:
        return Path(found)
    if os.sep in name and Path(name).exists():
        raise child.CannotRun(f"{name!r} is no program that you may run", child.NOT_EXECUTABLE)
    raise child.CannotRun(f"there is no command {name!r}: write what you would type, behind --", child.NOT_FOUND)
