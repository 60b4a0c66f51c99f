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


IN_TURN = """
import importlib, sys
module, _, name = sys.argv[1].partition(":")
main = getattr(importlib.import_module(module), name)
for file in sys.argv[2:]:
    sys.argv = ["weighbridge", "--captures", file, "--show", "1"]
    try:
        main()
    except SystemExit as ended:
        print("code", ended.code)
    print("next", flush=True)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("kinds")
    return {kind: str(file_of(kind, folder)) for kind in KINDS}


@pytest.fixture(scope="module")
def each(files: dict[str, str]) -> dict[str, list[str]]:
    """What is printed of a file of each kind, without and with the recorder: one process each for all of them."""
    both = printed(
        *([sys.executable, "-c", IN_TURN, name, *files.values()] for name in ("analyzers.cli:run", "addon.cli:main"))
    )
    assert [(code, error) for code, _, error in both] == [(0, "")] * 2
    parts = [out.split("next\n") for _, out, _ in both]
    return dict(zip([*files, "rest"], map(list, zip(*parts, strict=True)), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_show_is_the_same_with_and_without_the_recorder(each: dict[str, list[str]], kind: str) -> None:
    alone, together = each[kind]
    assert alone == together
    assert alone.startswith("#1  ")
    assert alone.endswith("\ncode 0\n")


def test_both_programs_print_it(files: dict[str, str], each: dict[str, list[str]]) -> None:
    given = ["--captures", files["flows"], "--show", "1"]
    alone, together = printed([sys.executable, "-m", "analyzers", *given], [WEIGHBRIDGE, *given])
    assert alone == together
    code, out, error = alone
    assert (code, error) == (0, "")
    assert each["flows"][0].startswith(out)
