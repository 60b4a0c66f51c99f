"""Folders that must not outlive whoever works in them, however that ends.

Whoever makes one removes it. When it is killed, the next one does: a folder is locked as long as a process lives that
holds the lock, which the kernel sees to, and one that nobody has locked was left. Where there are no locks (Windows,
some file systems) nothing is taken for left.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def held_folder(parent: Path, before: str, after: str = "") -> Iterator[tuple[Path, tuple[int, ...]]]:
    """A new folder that only its user may read, named ``before``, eight digits, ``after``; and the descriptors that
    keep it, to be inherited by who works in it too. Removed at the end of the block. Folders of such names that were
    left behind are removed before it begins. Raises OSError."""
    for left in parent.glob(f"{escape(before)}????????{escape(after)}"):
        if (lock := _locked(left)) is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)
    draft = parent / f".{secrets.token_hex(8)}.new"
    draft.mkdir(mode=0o700)
    lock = _locked(draft)
    # It has its name only once it is locked: till then nobody takes it for left.
    folder = draft.rename(parent / f"{before}{secrets.token_hex(4)}{after}")
    try:
        yield folder, () if lock is None else (lock,)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _locked(folder: Path) -> int | None:
    """The lock on a folder of this user's; None where another process has it, or there are none."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_uid == os.getuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None
