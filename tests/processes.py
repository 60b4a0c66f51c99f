"""What runs on this machine, read from /proc: what `ps` prints is cut to the width of somebody's terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Running(NamedTuple):
    number: int
    parent: int
    state: str
    arguments: list[str]


def running() -> Iterator[Running]:
    """Every process there is; those that end meanwhile are left out."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            told = (folder / "stat").read_text(errors="replace")
            arguments = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
        except (FileNotFoundError, ProcessLookupError):
            continue
        # The name of the program stands in brackets and may hold anything, brackets too.
        state, parent, *_ = told.rpartition(")")[2].split()
        yield Running(int(folder.name), int(parent), state, arguments)
