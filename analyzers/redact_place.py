"""Where a redacted copy grows before it was checked: a hidden folder beside its place, which nobody else may read."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from analyzers.held_folder import held_folder

_ENDED_BY = ("SIGTERM", "SIGHUP")


@contextmanager
def working_folder(place: Path) -> Iterator[Path]:
    """A new folder beside a place, removed at the end, also when the program is told to end. Raises OSError."""
    with _ending_in_order(), held_folder(place.parent, f".{place.name}.", ".part") as (folder, _):
        yield folder


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
