"""What a long session is told by is measured on the session that a recorder would have written."""

from pathlib import Path

from analyzers.readers.sources import Sources
from benchmarks.page import told, written
from benchmarks.scale import FULL, QUICK


def test_the_capture_holds_every_turn(tmp_path: Path) -> None:
    written(tmp_path, 3)
    exchanges = [*Sources([str(tmp_path)]).exchanges([])]
    assert [exchange.ended for exchange in exchanges] == ["completed"] * 3


def test_every_round_but_the_first_is_counted() -> None:
    found = told(2, rounds=2)
    assert len(found.reading) == len(found.cache) == len(found.page) == 2
    assert min(found.reading + found.cache + found.page) > 0
    assert 0 < found.size < 1


def test_targets_are_of_the_same_session_however_much_is_measured() -> None:
    assert QUICK.page_turns[-1] == FULL.page_turns[-1] == 400
