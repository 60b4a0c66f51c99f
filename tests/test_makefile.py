"""`make` finds a Python by itself. The interpreters and tools here are stand-ins that only say what they are."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHELL_TOOLS = ("sh", "dirname", "rm", "cat", "env")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="make and sh")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A machine with a shell and no Python."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in SHELL_TOOLS:
        found = next(path for path in ("/bin", "/usr/bin") if Path(path, name).exists())
        (tools / name).symlink_to(Path(found, name))
    return tmp_path


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def python(path: Path, minor: int, *, complete: bool = True) -> Path:
    """An interpreter 3.`minor`. When it is not complete it has no venv."""
    recent, whole = int(minor < 12), int(not complete)
    answer = f"*sys.version_info*) exit {recent} ;;\n*ensurepip*) exit {whole} ;;"
    return script(
        path, f'case "$*" in\n{answer}\n--version) echo Python 3.{minor} ;;\n*) echo "ran: $*" >>"$LOG" ;;\nesac'
    )


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(home / "tools"), "HOME": str(home), "LOG": str(home / "log")}
    command = ["/bin/sh", str(ROOT / ".ci" / "venv"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=home)


def test_the_newest_interpreter_on_the_path_wins(home: Path) -> None:
    python(home / "tools" / "python3.12", 12)
    newest = python(home / "tools" / "python3.14", 14)
    python(home / "tools" / "python3", 12)
    assert run(home, "--which").stdout.strip() == str(newest)


def test_a_name_on_the_path_that_fails_is_passed_over(home: Path) -> None:
    """pyenv's shims do, for versions that are installed and not active."""
    script(home / "tools" / "python3.14", "echo 'command not found' >&2; exit 127")
    works = python(home / "tools" / "python3.12", 12)
    assert run(home, "--which").stdout.strip() == str(works)


def test_a_version_that_pyenv_has_installed_is_found_although_it_is_not_active(home: Path) -> None:
    python(home / "tools" / "python3", 11)
    installed = python(home / ".pyenv" / "versions" / "3.13.0" / "bin" / "python", 13)
    python(home / ".pyenv" / "versions" / "3.9.18" / "bin" / "python", 9)
    assert run(home, "--which").stdout.strip() == str(installed)


def test_plain_python3_will_do(home: Path) -> None:
    plain = python(home / "tools" / "python3", 15)
    assert run(home, "--which").stdout.strip() == str(plain)


def test_without_any_there_is_one_sentence_on_what_to_install(home: Path) -> None:
    python(home / "tools" / "python3", 11)
    result = run(home, "--which")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("weighbridge needs Python 3.12 or newer: install it")
    assert result.stderr.count("\n") == 1


def test_an_interpreter_without_venv_is_named(home: Path) -> None:
    python(home / "tools" / "python3.13", 13, complete=False)
    result = run(home, "--which")
    assert result.returncode == 1
    assert result.stderr.startswith("python3.13 has no venv module: install it")
    whole = python(home / "tools" / "python3.12", 12)
    assert run(home, "--which").stdout.strip() == str(whole)


def test_uv_is_used_where_there_is_one(home: Path) -> None:
    python(home / "template", 13)
    script(
        home / "tools" / "uv",
        'echo "uv $*" >>"$LOG"; [ "$1" = venv ] && { mkdir -p "$5/bin"; cp "$HOME/template" "$5/bin/python"; }; exit 0',
    )
    for name in ("mkdir", "cp"):
        (home / "tools" / name).symlink_to(Path("/bin", name))
    assert run(home, str(home / "env")).returncode == 0
    made, installed = (home / "log").read_text().split("\n")[:2]
    assert made == f"uv venv --quiet --python >=3.12,<3.15 {home / 'env'}"
    assert installed.startswith(
        f"uv pip install --quiet --python {home / 'env' / 'bin' / 'python'} --constraints constraints.txt"
    )


def test_an_environment_that_is_good_enough_is_kept(home: Path) -> None:
    python(home / "env" / "bin" / "python", 13)
    assert run(home, str(home / "env")).returncode == 0
    assert "-m pip install --quiet --editable .[dev]" in (home / "log").read_text()
    assert "-m venv" not in (home / "log").read_text()


def test_an_environment_that_is_too_old_is_made_anew(home: Path) -> None:
    old = python(home / "env" / "bin" / "python", 11)
    python(home / "tools" / "python3.13", 13)
    run(home, str(home / "env"))
    assert not old.exists()
    assert (home / "log").read_text() == f"ran: -m venv {home / 'env'}\n"


def test_everything_installed_is_pinned() -> None:
    from importlib.metadata import distributions

    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split("\n")
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    names = {_normal(name): version for name, version in pinned.items()}
    required = _required("weighbridge")
    assert {"mitmproxy", "pytest", "anthropic"} <= required
    here = {_normal(found.name): found.version for found in distributions()}
    assert {name: here[name] for name in required if name in here and names.get(name) != here[name]} == {}


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _required(name: str) -> set[str]:
    """All that a distribution needs here, itself left out."""
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    found: set[str] = set()
    open_ends = [(name, extra) for extra in ("", "dev", "demo", "claude-tokens")]
    while open_ends:
        name, extra = open_ends.pop()
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue
        for requirement in map(Requirement, lines):
            needed = _normal(requirement.name)
            if (not requirement.marker or requirement.marker.evaluate({"extra": extra})) and needed not in found | {
                "weighbridge"
            }:
                found.add(needed)
                open_ends.append((requirement.name, ""))
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="sh")
def test_ci_runs_lint_and_tests() -> None:
    assert "make lint test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
