"""Paths of every kind: what is read, what is left out, and what is said about it."""

import io
import os
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from capture_files import body, end, packed, request, response, start, written
from every_kind import KINDS, WIRE, file_of
from saved_http import ASKED
from session_logs import agent_log, assistant
from session_logs import log as session_log

from analyzers.exchange import Exchange, Problem
from analyzers.readers.sources import NoSuchSource, Sources
from analyzers.sizes import request_ledger


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


# ------------------------------------------------------------------------------------------ every kind


def told(exchange: Exchange) -> tuple[Any, ...]:
    """What must not depend on how a file was opened."""
    response = exchange.response
    return exchange.request, exchange.ended, response and response.message_id, response and response.usage


class Pipe:
    """A named pipe whose other end writes some bytes to whoever opens it."""

    def __init__(self, place: Path, data: bytes) -> None:
        os.mkfifo(place)
        self.place = place
        self._writer = threading.Thread(target=place.write_bytes, args=(data,), daemon=True)
        self._writer.start()

    def ended(self) -> bool:
        self._writer.join(10)
        return not self._writer.is_alive()


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_each_kind_is_told_and_read(tmp_path: Path, kind: str) -> None:
    place = file_of(kind, tmp_path)
    assert Sources([str(place)]).kind(str(place)) == kind
    exchanges, problems = read(place)
    assert len(exchanges) == 1 and problems == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_pipe_of_each_kind_gives_what_the_file_gives_and_can_be_read_twice(tmp_path: Path, kind: str) -> None:
    place = file_of(kind, tmp_path)
    pipe = Pipe(tmp_path / "pipe", place.read_bytes())
    sources = Sources([str(pipe.place)])
    rounds = [list(sources.exchanges([])) for _ in range(2)]
    assert pipe.ended()
    expected = [told(exchange) for exchange in read(place)[0]]
    assert [[told(exchange) for exchange in found] for found in rounds] == [expected, expected]
    assert all(str(pipe.place) in exchange.place for exchange in rounds[0])


@pytest.mark.parametrize("kind", KINDS)
def test_standard_input_of_each_kind(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = file_of(kind, tmp_path)

    class Input:
        buffer = io.BytesIO(place.read_bytes())

    monkeypatch.setattr(sys, "stdin", Input)
    sources = Sources(["-"])
    rounds = [list(sources.exchanges([])) for _ in range(2)]
    expected = [told(exchange) for exchange in read(place)[0]]
    assert [[told(exchange) for exchange in found] for found in rounds] == [expected, expected]
    assert rounds[0][0].place.startswith("standard input")


def test_several_kinds_in_one_list_are_read_in_their_order(tmp_path: Path) -> None:
    places = [file_of(kind, tmp_path / kind) for kind in KINDS]
    exchanges, problems = read(*places)
    assert problems == []
    assert [exchange.place.split("/a file of kind ")[1].split(":")[0].split(",")[0] for exchange in exchanges] == list(
        KINDS
    )
    assert len(read(*places, *places)[0]) == len(KINDS)  # a file that is named twice is read once


def test_a_folder_may_hold_every_kind(tmp_path: Path) -> None:
    for kind in KINDS:
        file_of(kind, tmp_path)
    assert len(read(tmp_path)[0]) == len(KINDS)
    assert len(read(tmp_path, file_of("body", tmp_path / "more"))[0]) == len(KINDS) + 1


MARKED = ASKED | {"system": {"_elided": True, "chars": 5000, "sha256": "0" * 64}}


@pytest.mark.parametrize("kind", WIRE)
def test_a_fold_marker_is_data_unless_the_user_says_that_another_tool_folded(tmp_path: Path, kind: str) -> None:
    place = file_of(kind, tmp_path, MARKED)
    sizes = {}
    for folded in (False, True):
        (exchange,) = Sources([str(place)], folded=folded).exchanges([])
        assert exchange.request is not None
        ledger = request_ledger(exchange.request)
        assert ledger is not None and ledger.closes
        sizes[folded] = next(field.size for field in ledger.fields if field.name == "system")
    assert sizes == {False: len("_elidedtruechars5000sha256") + 64, True: 5000}


# ------------------------------------------------------------------------------------------ folders


def test_what_a_client_keeps_beside_its_logs_is_passed_over_in_silence_only_in_folders(tmp_path: Path) -> None:
    session_log(tmp_path, assistant("m"))
    meta = agent_log(tmp_path, "a1", assistant("s")).with_suffix(".meta.json")
    exchanges, problems = read(tmp_path)
    assert len(exchanges) == 2 and problems == []
    _, problems = read(meta)
    assert len(problems) == 1 and "it was left out" in problems[0]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a.py"], "a file of no kind that can be read was left out: a.py"),
        (["a.py", "b.py"], "2 files of no kind that can be read were left out: a.py, b.py"),
        (["a", "b", "c", "d", "e"], "5 files of no kind that can be read were left out: a, b, c and 2 more"),
    ],
)
def test_files_of_no_kind_in_a_folder_are_one_sentence(tmp_path: Path, names: Sequence[str], said: str) -> None:
    written(tmp_path, "1.jsonl", *capture())
    for name in names:
        (tmp_path / name).write_bytes(b"import os\n")
    exchanges, problems = read(tmp_path)
    assert len(exchanges) == 1 and problems == [said]


def test_a_file_of_no_kind_that_was_named_has_a_sentence_of_its_own(tmp_path: Path) -> None:
    place = tmp_path / "a.py"
    place.write_bytes(b"import os\n")
    _, problems = read(tmp_path, place)
    assert len(problems) == 1 and problems[0].startswith("neither a capture")


def test_a_pipe_or_socket_in_a_folder_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "1.jsonl", *capture())
    os.mkfifo(tmp_path / "nobody-writes")
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("listening")
    exchanges, problems = read(tmp_path)
    assert len(exchanges) == 1
    assert problems == ["2 files of no kind that can be read were left out: listening, nobody-writes"]


@pytest.mark.parametrize("path", ["~nobody-of-this-name/x", "a" * 5000, "a\0b", "", "  "])
def test_a_path_that_cannot_be_looked_at_is_one_sentence(path: str) -> None:
    with pytest.raises(NoSuchSource, match="name a capture file"):
        Sources([path])


def test_a_log_is_told_by_the_lines_behind_a_very_long_first_one(tmp_path: Path) -> None:
    place = tmp_path / "log.jsonl"
    strange = b'{"type":"strange","data":"' + b"x" * 2_100_000 + b'","uuid":"1"}\n'
    place.write_bytes(
        strange + b'{"parentUuid":null,"type":"user","message":{"role":"user","content":"hi"},"uuid":"2"}\n'
    )
    assert Sources([str(place)]).kind(str(place)) == "claude_code"
    place.write_bytes(b'{"model":"m","messages":[{"role":"user","content":"' + b"x" * 2_100_000 + b'"}]}')
    assert Sources([str(place)]).kind(str(place)) == "body"
