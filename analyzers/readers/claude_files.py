"""Where Claude Code keeps its session files on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


class NoLogs(ValueError):
    """There is no folder of session files. The message is one sentence that says what to do."""


def log_folders(environment: Mapping[str, str], home: Path) -> list[str]:
    """The ``projects`` folders: of every folder in ``$CLAUDE_CONFIG_DIR`` (several are separated by commas), else of
    ``~/.claude`` and of ``~/.config/claude``. Raises NoLogs.

    The client itself takes the variable for one folder; other readers of its logs take the list (facts of ccusage).
    """
    told = environment.get("CLAUDE_CONFIG_DIR", "")
    named = [Path(part.strip()).expanduser() for part in told.split(",") if part.strip()]
    folders = named or [home / ".claude", home / ".config" / "claude"]
    found = [str(folder / "projects") for folder in folders if (folder / "projects").is_dir()]
    found += [str(folder) for folder in named if folder.name == "projects" and folder.is_dir()]
    if not found:
        looked = ", ".join(str(folder / "projects") for folder in folders)
        raise NoLogs(f"no session logs of Claude Code in {looked}; name their folder with --captures")
    return found
