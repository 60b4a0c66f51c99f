"""False alarms: on text in which nobody is meant, next to nothing is found. The figures are told in docs/figures.md."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from analyzers.detect.kinds import KINDS, SECRETS
from analyzers.detect.text import look

ROOT = Path(__file__).parents[3]


def alarms(files: Iterable[Path]) -> tuple[int, Counter[str]]:
    """Characters looked at, and what was found."""
    chars, kinds = 0, Counter[str]()
    for file in files:
        text = file.read_text()
        chars += len(text)
        kinds.update(one.kind for one in look(text).found)
    return chars, kinds


def test_every_kind_is_documented_with_what_is_not_looked_for() -> None:
    section = (ROOT / "docs" / "figures.md").read_text().split("\n## Personal data\n")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in section.split("\n") if line.startswith("| `")]
    told = {kind.strip(" `|"): row[1] for row in rows for kind in row[0].split(",")}
    assert told == {kind: "structured" if one.structured else "free" for kind, one in KINDS.items()}


def test_documents_of_this_project() -> None:
    chars, kinds = alarms([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"])
    assert chars > 40_000
    assert kinds.total() <= 5 and not set(kinds) & SECRETS


def test_programs_of_this_project() -> None:
    chars, kinds = alarms(sorted((ROOT / "addon").rglob("*.py")) + sorted((ROOT / "analyzers" / "wire").glob("*.py")))
    assert chars > 200_000
    assert kinds.total() <= chars / 20_000
    assert sum(kinds[kind] for kind in SECRETS) <= 2
