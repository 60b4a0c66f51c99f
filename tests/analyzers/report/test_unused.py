"""What could not be used: the end of a file that grows is no cut."""

from __future__ import annotations

import os
from pathlib import Path

import capture_files
import pytest
from capture_files import written

from analyzers.exchange import Problem
from analyzers.readers.kept import Kept
from analyzers.report.unused import problems_told

NOW = 1_796_000_000.0


def cut(folder: Path, name: str) -> Path:
    """A capture without the end of its last line."""
    lines = [capture_files.start(), capture_files.request("1", capture_files.body())]
    place = written(folder, name, *lines)
    place.write_bytes(capture_files.packed(*lines, last=False) if name.endswith(".zst") else b"".join(lines)[:-40])
    return place


def told(place: Path, changed: float) -> list[str]:
    os.utime(place, (changed, changed))
    problems: list[Problem] = []
    list(Kept([str(place)]).exchanges(problems))
    return problems_told(problems, NOW)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.zst"])
def test_a_file_that_was_written_to_just_now_is_not_told_as_cut(tmp_path: Path, name: str) -> None:
    [line] = told(cut(tmp_path, name), NOW - 2)
    assert line.startswith(f"{name}: its last line was not whole at ")
    assert "perhaps still being written" in line
    assert "torn" not in line
    assert "cut" not in line


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.zst"])
def test_a_file_that_nobody_writes_is(tmp_path: Path, name: str) -> None:
    [line] = told(cut(tmp_path, name), NOW - 3600)
    assert "cut" in line


def test_nothing_is_told_of_a_file_that_its_recorder_holds(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    place = cut(tmp_path, "a.jsonl")
    with open(place, "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert told(place, NOW - 3600) == []


def test_what_else_is_wrong_is_told_however_new_the_file(tmp_path: Path) -> None:
    place = written(tmp_path, "a.jsonl", capture_files.start(), b"broken\n", capture_files.end())
    [line] = told(place, NOW)
    assert line.startswith("a.jsonl: line 2 is not readable")


def test_a_problem_of_no_file_keeps_its_words() -> None:
    assert problems_told([Problem("logs", "1 call stands in more than one log")], NOW) == [
        "logs: 1 call stands in more than one log"
    ]
