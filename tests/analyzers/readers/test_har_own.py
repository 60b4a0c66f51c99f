"""A HAR that was exported here gives every figure that the records gave, also what a HAR has no place for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from capture_files import body, end, request, response, start, written
from every_kind import KINDS, file_of
from recorded_session import NEWER, OLDER, unpacked
from same_figures import differences, result
from typer.testing import CliRunner

from analyzers.cli import app

EXAMPLE = Path(__file__).parents[3] / "captures.example" / "four-turns.jsonl"
REPORTS = (["list"], ["usage"], ["cost"], ["sessions"], ["cache"], ["growth"])


def exported(*places: Path, to: Path) -> Path:
    named = [part for place in places for part in ("-c", str(place))]
    run = CliRunner().invoke(app, ["export", *named, "--to", "har", "-o", str(to)])
    assert run.exit_code == 0, run.output
    return to


def placeless(told: Any) -> Any:
    """A result without the places of its exchanges."""
    if isinstance(told, dict):
        return {name: placeless(member) for name, member in told.items() if name != "place"}
    return [placeless(member) for member in told] if isinstance(told, list) else told


def compared(before: Path, after: Path) -> list[str]:
    found = []
    for report in REPORTS:
        one, other = (placeless(result([place], *report)) for place in (before, after))
        found += [f"{report[0]}: {difference}" for difference in differences(one, other)]
        assert one == other or found or not isinstance(one, (dict, list)), report
    return found


def test_the_example_gives_the_same_figures(tmp_path: Path) -> None:
    assert compared(EXAMPLE, exported(EXAMPLE, to=tmp_path / "a.har")) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_gives_the_same_figures(tmp_path: Path, kind: str) -> None:
    place = file_of(kind, tmp_path)
    assert compared(place, exported(place, to=tmp_path / "a.har")) == []


@pytest.mark.parametrize("version", [NEWER, OLDER])
def test_a_recorded_session_gives_the_same_figures(tmp_path: Path, version: str) -> None:
    captures = unpacked(version, tmp_path).captures
    assert compared(captures, exported(captures, to=tmp_path / "a.har")) == []


def test_how_calls_ended_stays_known(tmp_path: Path) -> None:
    lines = [start(40)]
    for number, ended in enumerate(("completed", "error", "unreachable", "client_gone", "upstream_cut"), 1):
        lines.append(request(str(number), body(f"{ended} " * 20), at=float(number), fold_over=40))
        gone = {"status": None, "usage": None, "content": None} if ended in ("unreachable", "client_gone") else {}
        lines.append(response(str(number), ended=ended, **gone))
    lines.append(request("6", json.dumps({"messages": []}, indent=3).encode(), at=6.0))
    place = written(tmp_path, "c.jsonl", *lines, end())
    after = exported(place, to=tmp_path / "a.har")
    assert compared(place, after) == []
    assert {one["ended"] for one in result([after], "list")} >= {"unreachable", "client_gone", "upstream_cut"}
    assert all(one["closes"] for one in result([after], "list"))


def test_its_har_again_as_a_har_is_the_same(tmp_path: Path) -> None:
    first = exported(EXAMPLE, to=tmp_path / "a.har")
    assert exported(first, to=tmp_path / "b.har").read_bytes() == first.read_bytes()
