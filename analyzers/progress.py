"""A bar on standard error for reading that takes longer than a second; nothing at all where that is no terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

AFTER = 1.0
_EVERY = 0.2


@contextmanager
def watched(share: Callable[[], float], what: str = "reading") -> Iterator[None]:
    """Shows how far something is while the block runs. ``share``: from 0 to 1, asked from another thread."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    bar = threading.Thread(target=_show, args=(share, what, done), daemon=True)
    bar.start()
    try:
        yield
    finally:
        done.set()
        bar.join()


def _show(share: Callable[[], float], what: str, done: threading.Event) -> None:
    if done.wait(AFTER):
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        while not done.wait(_EVERY):
            read = share()
            progress.update(task, completed=read, total=1.0 if read < 1.0 else None)  # None: on the move, end unknown
