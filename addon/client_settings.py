"""What Claude Code's own settings put into its environment: files that this program reads and never writes.

Claude Code sets the members of ``env`` in its settings over the environment it was started with, so a base URL or a
proxy there wins over what a shell, or this program, says.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LARGEST = 4 * 1024 * 1024
_MANAGED = {"darwin": "/Library/Application Support/ClaudeCode", "win32": "C:/Program Files/ClaudeCode"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable, its value, and the file that has the last word on it."""

    name: str
    value: str
    file: Path


def files(environment: Mapping[str, str], home: Path, folder: Path) -> tuple[Path, ...]:
    """The settings files that a client started in ``folder`` reads, the one with the last word last."""
    configured = environment.get("CLAUDE_CONFIG_DIR")
    own = Path(configured).expanduser() if configured else home / ".claude"
    managed = Path(_MANAGED.get(sys.platform, "/etc/claude-code"))
    project = folder / ".claude"
    return (
        own / "settings.json",
        project / "settings.json",
        project / "settings.local.json",
        managed / "managed-settings.json",
    )


def variables(paths: Iterable[Path]) -> dict[str, Setting]:
    """The variables that settings files set, by name. A file that is not there or cannot be read says nothing."""
    found: dict[str, Setting] = {}
    for path in dict.fromkeys(paths):
        for name, value in _env(path).items():
            if type(value) in (str, int, float, bool):
                found[name] = Setting(name, value if type(value) is str else json.dumps(value), path)
    return found


def _env(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > _LARGEST:
            return {}
        settings = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    env = settings.get("env") if type(settings) is dict else None
    return env if type(env) is dict else {}
