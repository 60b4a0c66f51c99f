"""The folder of one run, which holds the key of an authority, and must not outlive it however it ends.

Whoever makes it removes it. When it is killed, mitmdump does (`ready`), and when both are, the next run: a folder is
locked as long as one of its two processes lives, which the kernel sees to, and what is locked by nobody is removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

try:
    import fcntl
except ImportError:  # Windows, where nobody else removes a folder
    fcntl = None  # type: ignore[assignment]

PREFIX: Final = "weighbridge-run-"
LOCK: Final = "lock"


@contextmanager
def run_folder() -> Iterator[tuple[Path, tuple[int, ...]]]:
    """A new folder, readable by its user only, and the descriptors that keep it, to be inherited by who uses it.
    Removed at the end of the block; those that were left behind, before it begins."""
    remove_stale()
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        held = _held(Path(name))
        try:
            yield Path(name), held
        finally:
            for descriptor in held:
                os.close(descriptor)


def remove_stale() -> None:
    """Removes the folders of runs of this user of which no process is left."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            told = folder.lstat()
            if stat.S_ISDIR(told.st_mode) and told.st_uid == os.getuid() and _is_left(folder / LOCK):
                shutil.rmtree(folder, ignore_errors=True)


def _held(folder: Path) -> tuple[int, ...]:
    """The lock on a new folder. It has its name only once it is held: till then nobody takes the folder for left."""
    if fcntl is None:
        return ()
    draft = folder / f"{LOCK}.draft"
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with contextlib.suppress(OSError):  # a file system without locks: then nobody else removes it
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.rename(folder / LOCK)
    return (descriptor,)


def _is_left(lock: Path) -> bool:
    """Whether nobody holds a lock. Raises OSError when there is none."""
    descriptor = os.open(lock, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
