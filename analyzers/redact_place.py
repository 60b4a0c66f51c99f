"""Where a redacted copy grows before it was checked: a hidden folder beside its place, which nobody else may read.

It is gone when the run ends, however that is; what a killed run left there is removed by the next one. Names of copies
are pseudonyms that sort as the originals did, where the order of files is the order of requests.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from types import FrameType

type Parts = tuple[str, ...]

_ENDED_BY = ("SIGTERM", "SIGHUP")


@contextmanager
def working_folder(place: Path) -> Iterator[Path]:
    """A new folder beside a place, removed at the end, also when the program is told to end. Raises OSError."""
    for left in place.parent.glob(f".{escape(place.name)}.????????.part"):
        if (lock := _locked(left)) is not None:  # whoever made it lives no more
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)
    folder = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    with _ending_in_order():
        folder.mkdir(mode=0o700)
        lock = _locked(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def _locked(folder: Path) -> int | None:
    """A lock on a folder until it is closed; None where another has it, or there are none."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Signals that would end the program at once end it as any error does, with the code that shells give."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    known = [getattr(signal, name) for name in _ENDED_BY if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        known = []
    before = {number: signal.signal(number, end) for number in known if signal.getsignal(number) == signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            with suppress(ValueError):
                signal.signal(number, handler)


def copied_names(
    files: Collection[Parts], ordered: Collection[Parts], new: Callable[[str], str]
) -> Mapping[Parts, Parts]:
    """The names of copies. ``files``: as steps from the folder that holds all; ``ordered``: those whose order among
    themselves counts: they and their folders get a number in front. ``new``: the pseudonym of a step."""
    ranks: dict[Parts, str] = {}
    for length in sorted({depth for parts in ordered for depth in range(1, len(parts) + 1)}):
        beside: dict[tuple[Parts, bool], set[Parts]] = {}
        for parts in ordered:
            if len(parts) >= length:
                beside.setdefault((parts[: length - 1], len(parts) == length), set()).add(parts[:length])
        for steps in beside.values():
            for at, step in enumerate(sorted(steps), 1):
                ranks[step] = f"{at:0{len(str(len(steps)))}}-"
    return {
        parts: tuple(ranks.get(parts[: at + 1], "") + new(step) for at, step in enumerate(parts)) for parts in files
    }
