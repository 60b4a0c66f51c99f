"""What may be removed: whole, closed capture files, by age and by size."""

import os
from pathlib import Path

import pytest
from capture_files import body, request, start, written

from analyzers.prune import File, chosen, run, seconds, size

FILES = [File("c", 300.0, 30), File("a", 100.0, 10), File("b", 200.0, 20)]


@pytest.mark.parametrize(("text", "amount"), [("30d", 2_592_000), ("12h", 43_200), ("90 m", 5_400), ("1.5w", 907_200)])
def test_ages(text: str, amount: float) -> None:
    assert seconds(text) == amount


@pytest.mark.parametrize(("text", "amount"), [("500MB", 5e8), ("2 gb", 2e9), ("10", 10), ("1.5k", 1500), ("7B", 7)])
def test_sizes(text: str, amount: float) -> None:
    assert size(text) == amount


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "30x"])
def test_what_is_no_age_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="like 30d"):
        seconds(text)


@pytest.mark.parametrize("text", ["", "MB", "-5MB", "5 pounds"])
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="like 500MB"):
        size(text)


@pytest.mark.parametrize(
    ("age", "limit", "gone"),
    [
        (None, None, []),
        (250.0, None, ["a"]),
        (200.0, None, ["a"]),
        (199.0, None, ["a", "b"]),
        (None, 60, []),
        (None, 59, ["a"]),
        (None, 30, ["a", "b"]),
        (None, 0, ["a", "b", "c"]),
        (250.0, 30, ["a", "b"]),
    ],
)
def test_the_oldest_go_first(age: float | None, limit: float | None, gone: list[str]) -> None:
    assert [file.path for file in chosen(FILES, 400.0, age, limit)] == gone


def test_only_closed_captures_are_removed(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    old = written(tmp_path, "old.jsonl", start(), request("a", body()))
    held = written(tmp_path, "held.jsonl.zst", start(), request("b", body()))
    foreign = tmp_path / "notes.jsonl"
    foreign.write_text('{"mine": true}\n')
    for place in (old, held, foreign):
        os.utime(place, (0, 0))
    paths = [str(place) for place in (old, held, foreign, tmp_path / "gone.jsonl")]
    with open(held, "ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert [file.path for file in run(paths, 1e9, 1.0, None, dry_run=True)[0]] == [str(old)]
        assert old.exists()
        removed, failed = run(paths, 1e9, 1.0, None, dry_run=False)
    assert [file.path for file in removed] == [str(old)]
    assert not old.exists() and held.exists() and foreign.exists()
    assert [problem.place for problem in failed] == [str(tmp_path / "gone.jsonl")]
