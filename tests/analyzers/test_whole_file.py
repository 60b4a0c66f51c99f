"""Files that commands write: whole, or not at all, and never in the place of what is no file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analyzers.cli import app
from analyzers.whole_file import whole_file

EXAMPLE = str(Path(__file__).parents[2] / "captures.example")


def test_a_place_stays_as_it_was_when_the_writing_fails(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("before")
    with pytest.raises(RuntimeError), whole_file(tmp_path / "x") as file:
        file.write(b"half")
        raise RuntimeError
    assert (tmp_path / "x").read_text() == "before" and os.listdir(tmp_path) == ["x"]


def test_a_link_is_followed_and_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    for text in (b"new", b"newer"):
        with whole_file(tmp_path / "link") as file:
            file.write(text)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_bytes() == b"newer"
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("command", [["report", "-o"], ["export", "--to", "har", "--force", "-o"]])
def test_a_pipe_is_written_through(tmp_path: Path, command: list[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    run = CliRunner().invoke(app, ["--captures", EXAMPLE, *command, str(tmp_path / "pipe")])
    reader.join(20)
    assert run.exit_code == 0 and len(got[0]) > 1000 and (tmp_path / "pipe").is_fifo()


def test_a_device_is_no_place_for_a_redacted_copy() -> None:
    run = CliRunner().invoke(app, ["redact", "--force", f"{EXAMPLE}/four-turns.jsonl", os.devnull])
    assert run.exit_code == 2 and "is there already" in run.stderr and not Path(os.devnull).is_file()
