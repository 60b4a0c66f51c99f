"""Notes on folded texts: made beside the traffic, each once, and in every file that needs them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from addon import annotator as subject
from addon.annotator import Annotator
from addon.journal import Journal
from analyzers.wire.fold import Folded


def describe(sha256: str, text: str) -> bytes:
    if text == "bad":
        raise ValueError("no such text")
    return json.dumps({"kind": "note", "sha256": sha256, "chars": len(text)}).encode()


class Bench:
    """A journal and an annotator without a loop: lines come home with ``close``, or ``flush``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.warned: list[str] = []
        self.hold = threading.Event()
        self.hold.set()
        self.loaded = 0
        self.journal = Journal(
            folder,
            compress=False,
            rotate_bytes=0,
            first_line=lambda continues: b'{"kind":"start"}',
            last_line=lambda file, tally: b'{"kind":"end"}',
            warn=self.warned.append,
        )
        self.annotator = Annotator(self.journal, self.load, self.warned.append)

    def load(self) -> subject.Describe:
        self.loaded += 1

        def held(sha256: str, text: str) -> bytes:
            assert self.hold.wait(10)
            return describe(sha256, text)

        return held

    def add(self, *texts: str, label: str | bool = True) -> None:
        self.annotator.add([Folded(f"hash of {text}", label, text) for text in texts])

    def files(self) -> list[list[dict[str, Any]]]:
        paths = sorted(self.folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        return [[json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] for path in paths]

    def noted(self) -> list[list[str]]:
        return [[line["sha256"] for line in file if line["kind"] == "note"] for file in self.files()]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    made.journal.request(b'{"kind":"request"}')
    yield made
    made.hold.set()
    made.annotator.close()
    made.journal.close()
    assert made.annotator.waiting == 0


def test_each_text_is_described_once(bench: Bench) -> None:
    bench.add("one", "two", "one")
    bench.add("two")
    bench.annotator.close()
    bench.add("one")  # its line is known
    bench.annotator.close()
    assert bench.noted() == [["hash of one", "hash of two"]]


@pytest.mark.parametrize("label", ["base64 image/png", "signature", "encrypted"])
def test_what_nobody_wrote_is_not_described(bench: Bench, label: str) -> None:
    bench.add("one", label=label)
    assert bench.annotator.waiting == 0 and bench.loaded == 0
    bench.add("two", label="system-reminder: skills")
    bench.annotator.close()
    assert bench.noted() == [["hash of two"]]


def test_adding_waits_for_nothing(bench: Bench) -> None:
    bench.hold.clear()
    bench.add("one", "two")
    assert bench.annotator.waiting == 2
    assert bench.noted() == [[]]


def test_a_new_file_gets_the_known_lines_again(bench: Bench) -> None:
    bench.add("one")
    bench.annotator.close()
    bench.journal.close()
    bench.journal.request(b'{"kind":"request"}')
    bench.add("two")
    bench.annotator.close()
    assert bench.noted() == [["hash of one"], ["hash of one", "hash of two"]]


def test_without_a_file_the_lines_wait_for_one(bench: Bench) -> None:
    bench.journal.close()
    bench.add("one")
    bench.annotator.close()
    assert bench.noted() == [[]]
    bench.journal.request(b'{"kind":"request"}')
    bench.add("one")
    assert bench.noted() == [[], ["hash of one"]]


def test_too_much_text_is_left_out_and_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MOST_WAITING", 10)
    bench.hold.clear()
    bench.add("12345678", "1234", "12")
    assert bench.annotator.waiting == 2
    bench.hold.set()
    bench.annotator.close()
    assert bench.noted() == [["hash of 12345678", "hash of 12"]]
    assert bench.warned == ["1 folded texts were not described: their tokens and personal data are unknown."]
    bench.add("1234")
    bench.annotator.close()
    assert bench.noted()[0][-1] == "hash of 1234"


def test_lines_are_kept_up_to_a_number(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MOST_KEPT", 3)
    bench.add(*(f"text {n}" for n in range(10)))
    bench.annotator.close()
    assert len(bench.noted()[0]) == 10
    assert len(bench.annotator._lines) == 3


def test_the_end_of_the_proxy_does_not_wait_for_ever(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "PATIENCE", 0.05)
    bench.hold.clear()
    bench.add("one")
    bench.annotator.close()
    assert bench.warned == ["1 folded texts were not described: their tokens and personal data are unknown."]


def test_a_text_that_cannot_be_described_costs_the_others_nothing(bench: Bench) -> None:
    bench.add("bad", "one", "bad")
    bench.annotator.close()
    assert bench.noted() == [["hash of one"]]
    assert bench.warned == ["weighbridge failed to describe a text (ValueError: no such text)."]


def test_what_describes_may_be_missing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.journal.request(b'{"kind":"request"}')

    def load() -> subject.Describe:
        raise ImportError("nothing here counts tokens")

    bench.annotator = Annotator(bench.journal, load, bench.warned.append)
    bench.add("one")
    bench.annotator.close()
    bench.add("two")
    bench.annotator.close()
    assert bench.noted() == [[]]
    assert bench.warned[0] == "weighbridge cannot describe folded texts (ImportError: nothing here counts tokens)."
    assert bench.annotator.waiting == 0


def test_a_disk_that_fails_costs_the_notes_and_not_the_traffic(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    file = bench.journal.current
    assert file is not None

    def full(lines: bytes, *, last: bool = False) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(file), "append", lambda self, lines, last=False: full(lines))
    bench.add("one")
    bench.annotator.close()
    assert "cannot record" in bench.warned[0]


def test_what_is_in_an_older_file_is_not_told_as_missing(bench: Bench) -> None:
    bench.add("one")
    bench.annotator.close()
    bench.journal.close()  # and nothing is recorded any more
    bench.annotator.flush()
    bench.annotator.close()
    assert bench.noted() == [["hash of one"]] and bench.warned == []
