"""ccusage (https://github.com/ryoppippi/ccusage), a counter of the usage in session logs, as npm has it.

Its package is a script that starts a native program out of a package for the platform. That program is run here, so
that the start of node counts for nobody, with an empty home folder and with the prices that it brings along.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import orjson

from benchmarks.programs import Run, run
from benchmarks.proxies import NotMeasured
from benchmarks.session_file import Tokens

VERSION = "20.0.24"
_PATIENCE = 300.0


class Ccusage:
    """The program, installed below a folder."""

    def __init__(self, folder: Path) -> None:
        """Fetches it from npm's registry. Raises NotMeasured."""
        self._home = folder / "home"
        self._home.mkdir(parents=True)
        self._program = native(install(folder))

    def daily(self, tree: Path) -> Run:
        """Its run over ``tree/projects``, by days, as JSON. Raises NotMeasured."""
        environment = {"CLAUDE_CONFIG_DIR": str(tree), "HOME": str(self._home), "XDG_CONFIG_HOME": str(self._home)}
        return run([self._program, "claude", "daily", "--json", "--offline"], environment)


def install(folder: Path) -> Path:
    """The folder, with the package in it. Raises NotMeasured when there is no npm, or it has no such package."""
    npm = shutil.which("npm")
    if npm is None:
        raise NotMeasured(f"npm is not installed, and ccusage {VERSION} comes from there.")
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", "--fetch-retries", "1")
    try:
        done = subprocess.run(
            [npm, "install", "--prefix", folder, *options, f"ccusage@{VERSION}"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotMeasured(f"npm could not install ccusage {VERSION} ({error}).") from None
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip()[-2_000:]
        raise NotMeasured(f"npm could not install ccusage {VERSION}.\n{told}")
    return folder


def native(folder: Path) -> Path:
    """The native program in an installed package, which comes without leave to be executed. Raises NotMeasured when
    there is none for this platform."""
    found = [*folder.glob("node_modules/@ccusage/ccusage-*/bin/ccusage")]
    if len(found) != 1:
        raise NotMeasured(f"ccusage {VERSION} has no native program for this platform.")
    found[0].chmod(0o755)
    return found[0]


def tokens(output: bytes) -> Tokens:
    """The sums that it printed. Raises NotMeasured when these are none."""
    try:
        totals = orjson.loads(output)["totals"]
        names = ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens")
        return Tokens(*(int(totals[name]) for name in names))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise NotMeasured(f"ccusage {VERSION} printed no totals:\n{output[:500].decode(errors='replace')}") from None
