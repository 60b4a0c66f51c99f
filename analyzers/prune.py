"""Which capture files may go: by age, and by what the rest may weigh together.

Whole files only, so that no figure changes in those that stay; never a file that is being written, and nothing that
is not a capture.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from analyzers.exchange import Problem
from analyzers.readers.kinds import is_capture
from analyzers.readers.sources import being_written

_AGES = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SIZES = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_HEAD = 1 << 20


@dataclass(frozen=True, slots=True)
class File:
    """A closed capture file: when it was last written (seconds since the epoch) and its size on disk."""

    path: str
    written: float
    bytes: int


def seconds(age: str) -> float:
    """``30d`` → seconds. Raises ValueError with a sentence."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([mhdw])", age.strip().lower())
    if not found:
        raise ValueError(f"--older {age!r} is no age; write a number and m, h, d or w, like 30d")
    return float(found[1]) * _AGES[found[2]]


def size(text: str) -> float:
    """``500MB`` → bytes (decimal units). Raises ValueError with a sentence."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", text.strip().lower())
    if not found:
        raise ValueError(f"--larger {text!r} is no size; write a number and KB, MB or GB, like 500MB")
    return float(found[1]) * _SIZES[found[2]]


def chosen(files: Iterable[File], now: float, age: float | None, limit: float | None) -> list[File]:
    """The files that go, oldest first: those older than ``age`` seconds, then the oldest until the rest is no larger
    than ``limit`` bytes."""
    ordered = sorted(files, key=lambda file: (file.written, file.path))
    gone = [file for file in ordered if age is not None and now - file.written > age]
    kept = [file for file in ordered if file not in set(gone)]
    total = sum(file.bytes for file in kept)
    for file in kept:
        if limit is None or total <= limit:
            break
        gone.append(file)
        total -= file.bytes
    return gone


def run(
    paths: Iterable[str], now: float, age: float | None, limit: float | None, *, dry_run: bool
) -> tuple[list[File], list[Problem]]:
    """Removes what ``chosen`` says of the capture files among ``paths``. Returns what went, and what could not."""
    failed: list[Problem] = []
    removed: list[File] = []
    for file in chosen(closed_captures(paths, failed), now, age, limit):
        try:
            if not dry_run:
                os.unlink(file.path)
            removed.append(file)
        except OSError as error:
            failed.append(Problem(file.path, f"cannot be removed ({error.strerror})"))
    return removed, failed


def closed_captures(paths: Iterable[str], failed: list[Problem]) -> list[File]:
    """The capture files among ``paths`` that nobody writes to."""
    found: list[File] = []
    for path in paths:
        try:
            with open(path, "rb") as stream:
                if is_capture(stream.read(_HEAD)) and not being_written(stream):
                    status = Path(path).stat()
                    found.append(File(path, status.st_mtime, status.st_size))
        except OSError as error:
            failed.append(Problem(path, f"cannot be read ({error.strerror})"))
    return found
