"""The two ways to start the reading commands print the same."""

import subprocess
import sys
from pathlib import Path

import pytest
from every_kind import KINDS, file_of

WEIGHBRIDGE = str(Path(sys.executable).with_name("weighbridge"))


def printed(*commands: list[str]) -> list[tuple[int, str, str]]:
    """Exit code and both outputs of each, all started at once."""
    started = [subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for one in commands]
    told = [process.communicate(timeout=60) for process in started]
    return [(process.returncode, *texts) for process, texts in zip(started, told, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_show_is_the_same_with_and_without_the_recorder(tmp_path: Path, kind: str) -> None:
    given = ["--captures", str(file_of(kind, tmp_path)), "--show", "1"]
    alone, together = printed([sys.executable, "-m", "analyzers", *given], [WEIGHBRIDGE, *given])
    assert alone == together
    code, out, error = alone
    assert (code, error) == (0, "")
    assert out.startswith("#1  ")
