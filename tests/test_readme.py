"""What the README shows is what the commands print. `python tests/test_readme.py` writes it anew."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n\$ weighbridge ([^\n]+)\n(.*?)```", re.DOTALL)


def printed(arguments: str) -> str:
    """What a reading command prints when piped, in the project's root."""
    result = subprocess.run(
        [sys.executable, "-m", "analyzers", *shlex.split(arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert result.stderr == ""
    return result.stdout


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(README.read_text())


@pytest.mark.parametrize(("arguments", "shown"), blocks())
def test_the_readme_shows_what_is_printed(arguments: str, shown: str) -> None:
    assert printed(arguments) == shown


def test_the_readme_shows_something() -> None:
    assert len(blocks()) >= 2


def test_every_link_into_the_project_leads_somewhere() -> None:
    for page in (README, *sorted(ROOT.glob("docs/*.md")), ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md"):
        for target in re.findall(r"\]\(((?!https?:)[^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), (page, target)


if __name__ == "__main__":
    page = README.read_text()
    page = BLOCK.sub(lambda block: f"```console\n$ weighbridge {block[1]}\n{printed(block[1])}```", page)
    README.write_text(page)
