"""A place of its own to run `weighbridge run` in, with an environment that nothing of this machine gets into."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import warm_commands
from proxied import capture_lines

ROOT = Path(__file__).parents[1]
PATIENCE = 90
KEY = "sk-ant-api03-" + "made-up-" * 10
OTHERS = re.compile(r"(?i).*(proxy|ssl_cert|ca_bundle|ca_certs|anthropic|claude|weighbridge|node_).*")
BODY = '{"model":"claude-haiku-4-5","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}'
CURL = 'curl -sS --fail -d "$0" "$ANTHROPIC_BASE_URL/v1/messages"'
"""For ``sh -c``, with the body behind it."""


class Place:
    """Where it is run: a folder, with a place for temporary files that is to be empty afterwards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.temporary = folder / "tmp"
        self.home = folder / "home"
        self.outputs = folder / "outputs"
        for made in (self.folder, self.temporary, self.home, self.outputs):
            made.mkdir()

    def environment(self, **more: str) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not OTHERS.fullmatch(name)}
        folders = {"TMPDIR": str(self.temporary), "HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        return {**own, **folders, "ANTHROPIC_API_KEY": KEY, **more}

    def started(self, *arguments: str, before: tuple[str, ...] = (), **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*before, sys.executable, "-P", "-m", "addon.cli", "run", *arguments],
            cwd=self.folder,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **more: Any) -> tuple[int, str, str]:
        process = self.started(*arguments, **more)
        try:
            out, error = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        return process.returncode, out, error

    def run_warm(self, *arguments: str, **more: str) -> tuple[int, str, str]:
        """The same without the wait for imports: for what is not about processes."""
        env = self.environment(**more)
        return warm_commands.run("run", *arguments, cwd=self.folder, env=env, place=self.outputs, timeout=PATIENCE)

    def lines(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in capture_lines(self.folder / "captures") if line["kind"] == kind]

    def is_clean(self) -> bool:
        """Whether nothing was left but the captures."""
        left = [*self.temporary.iterdir(), *self.home.iterdir()]
        return not left and [path.name for path in self.folder.iterdir()] in ([], ["captures"])
