"""Whether a folder can be written: tried, and nothing is left of the attempt, since rights alone do not tell (a file
system without room for folders, one that is read-only, a user who may do everything)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def why_not_writable(folder: Path) -> str | None:
    """One reason why no files can be made in a folder, that may be still to be made; None when they can."""
    folder = folder.absolute()
    try:
        there = next(place for place in (folder, *folder.parents) if place.exists())
        if not there.is_dir():
            return f"{there} is not a folder"
        made = tempfile.mkdtemp(prefix=".weighbridge-", dir=there)
    except (OSError, ValueError) as error:
        return (error.strerror if isinstance(error, OSError) else None) or str(error)
    os.rmdir(made)
    return None
