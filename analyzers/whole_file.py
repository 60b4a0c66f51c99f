"""Files that a command writes where its user says: whole or not at all, and readable by their owner only."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(place: Path, mode: int = 0o600) -> Iterator[BinaryIO]:
    """A file to be written: put in its place when the block ends well, else the place is as it was. Links are followed;
    what is no file (a device, a pipe) is written through. Raises OSError."""
    place = Path(os.path.realpath(place))
    if place.exists() and not stat.S_ISREG(place.stat().st_mode):
        with open(place, "wb") as through:
            yield through
        return
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(13, os.strerror(13), str(place))
    part = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            yield file
        os.replace(part, place)
    finally:
        part.unlink(missing_ok=True)
