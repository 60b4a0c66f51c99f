"""Paths of every kind: what is read, what is left out, and what is said about it."""

import io
import os
import sys
from pathlib import Path

import pytest
from capture_files import body, end, packed, request, response, start, written

from analyzers.exchange import Exchange, Problem
from analyzers.readers.sources import NoSuchSource, Sources


def read(*paths: Path | str) -> tuple[list[Exchange], list[str]]:
    problems: list[Problem] = []
    found = list(Sources([str(path) for path in paths]).exchanges(problems))
    return found, [problem.text for problem in problems]


def capture(name: str = "a") -> list[bytes]:
    return [start(), request(name, body()), response(name), end()]


def test_a_folder_is_read_with_its_subfolders_by_name(tmp_path: Path) -> None:
    written(tmp_path, "2.jsonl", *capture("b"))
    written(tmp_path, "1.jsonl.zst", *capture("a"))
    written(tmp_path / "more", "3.jsonl", *capture("c"))
    written(tmp_path / ".hidden", "4.jsonl", *capture("d"))
    (tmp_path / "README.md").write_text("what each file shows")
    (tmp_path / ".fingerprint-key").write_text("00")
    exchanges, problems = read(tmp_path)
    assert [Path(exchange.place).name for exchange in exchanges] == ["1.jsonl.zst:2", "2.jsonl:2", "3.jsonl:2"]
    assert problems == []


def test_a_request_body_is_told_by_its_content(tmp_path: Path) -> None:
    place = tmp_path / "anything.txt"
    place.write_bytes(b"  " + body())
    (exchange,), problems = read(place)
    assert problems == []
    assert exchange.ended == "not_recorded"
    assert exchange.request is not None and exchange.request.wire_bytes == len(body()) + 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"import os\nprint(1)\n", "neither a capture, nor"),
        (b'{"a": 1}', "no request of the Messages API"),
        (b'{"model": "x"', "not valid JSON"),
        (b'{"type":"user"}\n{"type":"assistant"}\n', "no request of the Messages API"),
        (b'{"model":"a"}\n{"model":"b"}\n', "more than one JSON document"),
        (b"\x28\xb5\x2f\xfd\x00\x00", "neither a capture, nor"),
        (bytes(range(256)), "neither a capture, nor"),
    ],
)
def test_a_foreign_file_is_left_out_with_one_sentence(tmp_path: Path, content: bytes, reason: str) -> None:
    place = tmp_path / "f"
    place.write_bytes(content)
    exchanges, problems = read(place)
    assert exchanges == []
    assert len(problems) == 1 and reason in problems[0]


def test_a_foreign_file_does_not_hide_the_captures_beside_it(tmp_path: Path) -> None:
    written(tmp_path, "1.jsonl", *capture())
    (tmp_path / "2.jsonl").write_bytes(b"")
    exchanges, problems = read(tmp_path)
    assert len(exchanges) == 1 and len(problems) == 1


def test_a_capture_whose_first_line_is_torn_is_still_a_capture(tmp_path: Path) -> None:
    place = tmp_path / "f"
    place.write_bytes(b'mat":1}\n' + b"".join(capture()[1:]))
    exchanges, problems = read(place)
    assert len(exchanges) == 1
    assert len(problems) == 1 and "line 1 is not readable" in problems[0]


def test_a_path_that_does_not_exist_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NoSuchSource, match="does not exist; name a capture file"):
        Sources([str(tmp_path / "none")])


def test_an_unreadable_file_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    written(tmp_path, "1.jsonl", *capture())
    os.symlink(tmp_path / "nowhere", tmp_path / "2.jsonl")
    exchanges, problems = read(tmp_path)
    assert len(exchanges) == 1
    assert "cannot be read (No such file or directory)" in problems[0]


def test_standard_input_can_be_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed(*capture())

    class Input:
        buffer = io.BytesIO(data)

    monkeypatch.setattr(sys, "stdin", Input)
    sources = Sources(["-"])
    problems: list[Problem] = []
    assert len(list(sources.exchanges(problems))) == len(list(sources.exchanges(problems))) == 1


def test_a_file_that_a_recorder_holds_has_requests_in_flight(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    place = written(tmp_path, "1.jsonl", start(), request("a", body()))
    assert read(place)[0][0].ended == "unanswered"
    with open(place, "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert read(place)[0][0].ended == "in_flight"
    assert read(place)[0][0].ended == "unanswered"
