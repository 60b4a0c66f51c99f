"""``list --follow``: exchanges as they end, out of files that grow and folders that get new ones.

Looks again twice a second; each file keeps its own stream, so that nothing is read twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analyzers.exchange import Exchange, Problem
from analyzers.readers.captures import CaptureStream
from analyzers.readers.kinds import is_capture
from analyzers.readers.sources import CHUNK, Sources
from analyzers.sizes import Unit
from analyzers.summary import Summary, summarise

PAUSE = 0.5


@dataclass(slots=True)
class _Followed:
    """One file, and how far it was read. ``stream`` None: not a capture, left alone."""

    stream: CaptureStream | None
    offset: int = 0
    reported: int = 0


@dataclass(slots=True)
class Follower:
    """All files behind the paths a user gave. ``look`` yields what ended since it was last called."""

    paths: Sequence[str]
    report: Callable[[Problem], None]
    files: dict[str, _Followed] = field(default_factory=dict)

    def look(self) -> list[Exchange]:
        """The exchanges that ended since the last look, in time order."""
        ended: list[Exchange] = []
        there = [path for path in self.paths if Path(path).expanduser().exists()]
        for path in Sources(there).files:
            try:
                ended += self._more(path)
            except OSError as error:
                self.report(Problem(path, f"cannot be read ({error.strerror})"))
        return sorted(ended, key=lambda exchange: exchange.time or 0.0)

    def _more(self, path: str) -> list[Exchange]:
        ended: list[Exchange] = []
        with open(path, "rb") as file:
            followed = self.files.get(path)
            if followed is None:
                head = file.read(CHUNK)
                if not head:
                    return []
                followed = self.files[path] = _Followed(CaptureStream(path) if is_capture(head) else None)
                if followed.stream is None:
                    self.report(Problem(path, "not a capture; it is not followed"))
            if followed.stream is None:
                return []
            file.seek(followed.offset)
            while chunk := file.read(CHUNK):
                followed.offset += len(chunk)
                ended += followed.stream.feed(chunk)
            for problem in followed.stream.problems[followed.reported :]:
                self.report(problem)
            followed.reported = len(followed.stream.problems)
        return ended


def follow_folders(paths: Sequence[str], unit: Unit, report: Callable[[Problem], None]) -> Iterator[Summary]:
    """Summaries of exchanges, for ever: first those that are there, then each as it ends. What does not exist yet is
    waited for: a recorder makes its folder with the first record."""
    for path in paths:
        if path == "-":
            report(Problem("standard input", "cannot be followed; name a folder"))
        elif not Path(path).expanduser().exists():
            report(Problem(path, "does not exist yet; waiting for it"))
    follower = Follower([path for path in paths if path != "-"], report)
    n = 0
    while follower.paths:
        for exchange in follower.look():
            n += 1
            yield summarise(exchange, n, unit)
        time.sleep(PAUSE)
