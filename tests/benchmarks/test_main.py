"""What cannot be measured is left out with its reason, and the rest is measured all the same."""

from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks.proxies import NotMeasured
from benchmarks.scale import FULL, QUICK, Scale
from benchmarks.table import BEGIN, END, Result, Target

PAGE = f"# Title\n\n{BEGIN}\n\nold\n\n{END}\n"


def works(scale: Scale) -> Result:
    """Takes more than it may, in a whole run."""
    taken = 2.0 if scale is FULL else 0.5
    return Result("Works", ("", "n"), (("a", "1"),), (Target("time", taken, 1.0, " s"),))


def fails(scale: Scale) -> Result:
    raise NotMeasured("npm is not installed")


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "README.md"
    path.write_text(PAGE)
    monkeypatch.setattr(program, "PAGE", path)
    return path


def only(monkeypatch: pytest.MonkeyPatch, **benchmarks: object) -> None:
    monkeypatch.setattr(program, "BENCHMARKS", benchmarks)


def test_one_that_cannot_be_measured_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    only(monkeypatch, fails=fails, works=works)
    assert program.main(["--quick"]) == 2
    printed = capsys.readouterr()
    assert "fails: npm is not installed" in printed.err
    assert "### Works" in printed.out
    assert "| time |   0.50 s |  ≤ 1 s | met |" in printed.out


def test_nothing_is_written_of_a_run_with_a_gap(monkeypatch: pytest.MonkeyPatch, page: Path) -> None:
    only(monkeypatch, works=works, fails=fails)
    assert program.main(["--write"]) == 2
    assert page.read_text() == PAGE


def test_a_whole_run_is_written(monkeypatch: pytest.MonkeyPatch, page: Path) -> None:
    only(monkeypatch, works=works)
    assert program.main(["--write"]) == 0
    assert "old" not in page.read_text()
    assert "### Works" in page.read_text()


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["--check"], 1), (["--check", "--quick"], 0)])
def test_a_target_that_is_not_met_is_a_failure_when_asked(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int
) -> None:
    only(monkeypatch, works=works)
    assert program.main(arguments) == code


def test_session_logs_are_among_the_benchmarks() -> None:
    assert [*program.BENCHMARKS][-1] == "logs"
    assert FULL.log_bytes == 10 * QUICK.log_bytes == 1_000_000_000
