"""Folders that do not outlive who works in them."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from proxied import patiently

from analyzers import held_folder as module
from analyzers.held_folder import held_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks on folders")

HOLDS = """
import subprocess
import sys
from pathlib import Path
from analyzers.held_folder import held_folder
with held_folder(Path(sys.argv[1]), "work-") as (folder, held):
    print(folder, flush=True)
    if sys.argv[2:]:
        child = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=held)
        print(child.pid, flush=True)
    sys.stdin.read()
"""


def test_it_is_its_users_and_gone_at_the_end(tmp_path: Path) -> None:
    with held_folder(tmp_path, "work-", ".part") as (folder, _):
        assert folder.parent == tmp_path and folder.name.startswith("work-") and folder.name.endswith(".part")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "key").write_text("secret")
    assert os.listdir(tmp_path) == []


def test_it_is_gone_after_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), held_folder(tmp_path, "work-"):
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        with held_folder(tmp_path, "work-"):
            assert left.is_dir(), "its maker lives"
        process.kill()
    assert left.is_dir(), "its maker could not remove it"
    with held_folder(tmp_path, "work-") as (folder, _):
        assert os.listdir(tmp_path) == [folder.name]


def test_it_stays_as_long_as_a_process_lives_that_works_in_it_too(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, tmp_path, "with a child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        left, child = Path(process.stdout.readline().strip()), int(process.stdout.readline())
        process.kill()
    with held_folder(tmp_path, "work-"):
        assert left.is_dir()
    os.kill(child, signal.SIGKILL)
    patiently(lambda: not _is_there_beside_another(left), "the folder is gone")


def _is_there_beside_another(left: Path) -> bool:
    with held_folder(left.parent, "work-"):
        return left.is_dir()


def test_only_folders_of_such_a_name_are_taken_for_left(tmp_path: Path) -> None:
    names = ["work-", "work-1", "work-0123456789", "other-01234567", "work-01234567.part", "[work]-01234567"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / "work-76543210").write_text("a file")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "work-aaaaaaaa").symlink_to(tmp_path / "elsewhere")
    with held_folder(tmp_path, "work-"):
        pass
    assert sorted(os.listdir(tmp_path)) == sorted([*names, "work-76543210", "elsewhere", "work-aaaaaaaa"])


def test_without_locks_nothing_is_taken_for_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work-01234567").mkdir()
    monkeypatch.setattr(module, "fcntl", None)
    with held_folder(tmp_path, "work-") as (folder, held):
        assert held == () and folder.is_dir()
    assert os.listdir(tmp_path) == ["work-01234567"]
