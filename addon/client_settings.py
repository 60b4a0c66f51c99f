"""What Claude Code's own settings put into its environment: files that this program reads and never writes.

Claude Code sets the members of ``env`` in its settings over the environment it was started with, so a base URL or a
proxy there wins over what a shell, or this program, says.
"""

from __future__ import annotations

import contextlib
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
    """The variables that settings files set, by name. A file that is not there says nothing, nor does one that cannot
    be read: ``unread`` tells of those."""
    found: dict[str, Setting] = {}
    for path in dict.fromkeys(paths):
        with contextlib.suppress(_Unread):
            for name, value in _env(path).items():
                if type(value) in (str, int, float, bool):
                    found[name] = Setting(name, value if type(value) is str else json.dumps(value), path)
    return found


def unread(paths: Iterable[Path]) -> dict[Path, str]:
    """The settings files that are there and say nothing that could be read, each with the reason in a few words."""
    found: dict[Path, str] = {}
    for path in dict.fromkeys(paths):
        try:
            _env(path)
        except _Unread as error:
            found[path] = str(error)
    return found


class _Unread(Exception):
    pass


def _env(path: Path) -> Mapping[str, Any]:
    """Raises _Unread."""
    try:
        size = path.stat().st_size
        text = path.read_bytes() if size <= _LARGEST else b""
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise _Unread(f"cannot be read ({error.strerror})") from None
    if size > _LARGEST:
        raise _Unread(f"is larger than {_LARGEST:,} bytes")
    if not text.strip():
        return {}
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError):
        raise _Unread("is no JSON") from None
    if type(settings) is not dict:
        raise _Unread("is no JSON object")
    env = settings.get("env", {})
    if type(env) is not dict:
        raise _Unread('has no object as "env"')
    return env
