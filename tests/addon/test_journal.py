"""The journal: whole lines that survive anything, and trouble that stays its own."""

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon import journal as subject
from addon.journal import CaptureFile, Journal, Tally, shared_key
from analyzers.wire.record import KEY_FILE

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Desk:
    """A journal with what it said and a clock."""

    def __init__(self, folder: Path, *, compress: bool = True, rotate_bytes: int = 0) -> None:
        self.folder = folder
        self.warnings: list[str] = []
        self.clock = Clock()
        self.journal = Journal(
            folder,
            compress=compress,
            rotate_bytes=rotate_bytes,
            first_line=lambda continues: line(kind="start", continues=continues),
            last_line=last_line,
            warn=self.warnings.append,
            clock=self.clock,
        )

    def files(self) -> list[Path]:
        """The capture files, oldest first."""
        return sorted(self.folder.glob("*.jsonl*"), key=lambda path: path.stat().st_mtime_ns)


def line(**members: Any) -> bytes:
    return json.dumps(members).encode()


def last_line(file: CaptureFile, tally: Tally) -> bytes:
    return line(
        kind="end",
        requests=file.requests,
        responses=file.responses,
        lost=tally.lost,
        unmatched=sum(tally.unmatched.values()),
    )


def text(path: Path, raw: bytes | None = None) -> bytes:
    """What can be read of a file, or of bytes that it began with."""
    raw = path.read_bytes() if raw is None else raw
    return zstd.ZstdDecompressor().decompress(raw) if path.suffix == ".zst" else raw


def whole_lines(data: bytes) -> list[dict[str, Any]]:
    """Every line that has its end; raises where one is no JSON."""
    return [json.loads(part) for part in data.split(b"\n")[:-1]]


def read(path: Path) -> list[dict[str, Any]]:
    return whole_lines(text(path))


@pytest.fixture(params=[True, False], ids=["zst", "plain"])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Desk:
    return Desk(tmp_path / "captures", compress=request.param)


def full_disk(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


# --- what is written


def test_a_line_can_be_read_the_moment_it_is_written(desk: Desk) -> None:
    desk.journal.request(line(kind="request", id="1"))
    assert [member["kind"] for member in read(desk.files()[0])] == ["start", "request"]


def test_an_exchange_stands_between_a_first_and_a_last_line(desk: Desk) -> None:
    file = desk.journal.request(line(kind="request", id="1"))
    desk.journal.response(line(kind="response", id="1"), file)
    desk.journal.tally.unmatched["GET /v1/models"] += 2
    desk.journal.close()
    assert read(desk.files()[0]) == [
        {"kind": "start", "continues": None},
        {"kind": "request", "id": "1"},
        {"kind": "response", "id": "1"},
        {"kind": "end", "requests": 1, "responses": 1, "lost": 0, "unmatched": 2},
    ]
    assert desk.warnings == []


def test_an_idle_proxy_leaves_no_litter(desk: Desk) -> None:
    desk.journal.preflight()
    desk.journal.close()
    assert not desk.folder.exists()
    assert desk.warnings == []


def test_files_are_for_the_owner_only(desk: Desk) -> None:
    before = os.umask(0)
    try:
        desk.journal.request(line(kind="request"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(desk.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in desk.folder.iterdir()} == {0o600}


def test_the_name_says_when_and_who(desk: Desk) -> None:
    desk.journal.request(line(kind="request"))
    (path,) = desk.files()
    moment, pid, rest = path.name[:20], path.name[21:].split("-")[0], path.name.split(".", 1)[1]
    assert moment[10] == "T" and moment[19] == "Z"
    assert pid == str(os.getpid())
    assert rest == ("jsonl.zst" if path.suffix == ".zst" else "jsonl")


def test_repetition_costs_next_to_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    said = os.urandom(300_000).hex()
    sizes = []
    for number in range(5):
        file = desk.journal.request(line(kind="request", id=number, said=said))
        assert file
        sizes.append(file.size)
    assert sizes[0] > 250_000
    assert sizes[-1] - sizes[0] < 4 * 2_000


def test_a_write_may_come_back_short(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data[:3])))
    desk.journal.request(line(kind="request", id="1"))
    desk.journal.close()
    assert [member["kind"] for member in read(desk.files()[0])] == ["start", "request", "end"]


def test_a_line_is_one_write(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.journal.request(line(kind="request", id="1"))
    written: list[int] = []
    write = os.write

    def counted(fd: int, data: bytes) -> int:
        written.append(len(data))
        return write(fd, data)

    monkeypatch.setattr(os, "write", counted)
    desk.journal.request(line(kind="request", id="2", said="x" * 300_000))
    assert len(written) == 1


# --- cut anywhere


@given(lines=st.lists(st.text(max_size=60), min_size=1, max_size=6), data=st.data())
def test_cut_at_any_byte_what_was_whole_is_readable(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], data: st.DataObject
) -> None:
    desk = Desk(tmp_path_factory.mktemp("cut"), compress=data.draw(st.booleans()))
    ends = []
    for said in lines:
        file = desk.journal.request(line(kind="request", said=said))
        assert file
        ends.append(file.size)
    path = desk.files()[0]
    raw = path.read_bytes()
    cut = data.draw(st.integers(0, len(raw)))
    said_again = [member["said"] for member in whole_lines(text(path, raw[:cut])) if member["kind"] == "request"]
    assert said_again == lines[: len(said_again)]
    assert len(said_again) >= sum(end <= cut for end in ends)
    desk.journal.close()


# --- rotation


def test_a_full_file_is_continued_by_the_next(desk: Desk) -> None:
    desk.journal.configure(desk.folder, compress=False, rotate_bytes=2_000)
    for number in range(6):
        file = desk.journal.request(line(kind="request", id=number, said="x" * 900))
        desk.journal.response(line(kind="response", id=number), file)
    desk.journal.close()
    files = [read(path) for path in sorted(desk.files(), key=lambda path: read(path)[1]["id"])]
    assert len(files) == 3
    assert all(file[-1]["kind"] == "end" for file in files)
    names = {path.name for path in desk.files()}
    assert files[0][0]["continues"] is None
    assert {file[0]["continues"] for file in files[1:]} < names
    assert [member["id"] for file in files for member in file if member["kind"] == "request"] == list(range(6))


def test_a_response_joins_its_request_in_the_file_before(desk: Desk) -> None:
    desk.journal.configure(desk.folder, compress=False, rotate_bytes=1_000)
    slow = desk.journal.request(line(kind="request", id="slow", said="x" * 2_000))
    fast = desk.journal.request(line(kind="request", id="fast"))
    desk.journal.response(line(kind="response", id="fast"), fast)
    assert slow and read(slow.path)[-1]["kind"] == "request"
    desk.journal.response(line(kind="response", id="slow"), slow)
    assert read(slow.path)[-1]["kind"] == "end"
    desk.journal.close()
    found = [[member.get("id") for member in read(path)[1:-1]] for path in desk.files()]
    assert sorted(found) == [["fast", "fast"], ["slow", "slow"]]
    assert all(read(path)[-1]["kind"] == "end" for path in desk.files())


def test_other_settings_begin_another_file(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "one")
    waiting = desk.journal.request(line(kind="request", id="1"))
    desk.journal.configure(tmp_path / "two", compress=False, rotate_bytes=0)
    desk.journal.request(line(kind="request", id="2"))
    desk.journal.response(line(kind="response", id="1"), waiting)
    desk.journal.close()
    kinds = {path.name: [member["kind"] for member in read(next(path.glob("*.jsonl*")))] for path in tmp_path.iterdir()}
    assert kinds == {"one": ["start", "request", "response", "end"], "two": ["start", "request", "end"]}
    assert read(next((tmp_path / "two").glob("*.jsonl")))[0]["continues"] is None


def test_what_comes_after_closing_begins_a_new_file(desk: Desk) -> None:
    file = desk.journal.request(line(kind="request", id="1"))
    desk.journal.close()
    desk.journal.response(line(kind="response", id="1"), file)
    desk.journal.close()
    assert sorted([member["kind"] for member in read(path)] for path in desk.files()) == [
        ["start", "request", "end"],
        ["start", "response", "end"],
    ]


# --- trouble


def test_a_full_disk_costs_records_and_one_warning_not_traffic(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.journal.request(line(kind="request", id="1"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full_disk)
        for number in range(2, 12):
            assert desk.journal.request(line(kind="request", id=number)) is None
            desk.clock.now += 0.4
    assert desk.journal.lost == 10
    assert len(desk.warnings) == 1
    assert "No space left on device" in desk.warnings[0]

    desk.clock.now += 10
    assert desk.journal.request(line(kind="request", id="12"))
    desk.journal.close()
    first, second = sorted(desk.files(), key=lambda path: read(path)[1]["id"])
    assert [member["kind"] for member in read(first)] == ["start", "request"]
    assert read(second)[-1]["lost"] == 10
    assert desk.warnings[1:] == [f"recording to {desk.folder} again; 10 records were lost so far"]


def test_a_torn_line_is_cut_off_and_never_continued(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = desk.journal.request(line(kind="request", id="1"))
    assert file
    size = file.size
    write = os.write
    filled: list[int] = []

    def fills_up(fd: int, data: memoryview) -> int:
        if filled:
            raise OSError(errno.ENOSPC, "No space left on device")
        filled.append(write(fd, bytes(data[: len(data) // 2])))
        return filled[0]

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fills_up)
        desk.journal.request(line(kind="request", id="2"))
    assert filled[0] > 0
    assert file.path.stat().st_size == size
    desk.clock.now += 10
    again = desk.journal.request(line(kind="request", id="3"))
    assert again and again.path != file.path
    assert [member.get("id") for member in read(file.path)] == [None, "1"]


def test_a_disk_that_stays_full_is_not_filled_with_empty_files(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.folder.mkdir()
    shared_key(desk.folder, b"k" * 32)
    monkeypatch.setattr(os, "write", full_disk)
    for _ in range(5):
        desk.journal.request(line(kind="request"))
        desk.clock.now += 10
    assert desk.files() == []
    assert desk.journal.lost == 5


def test_the_number_of_lost_records_is_told_at_the_end(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full_disk)
        for _ in range(3):
            desk.journal.request(line(kind="request"))
    desk.journal.close()
    assert len(desk.warnings) == 2
    assert desk.warnings[-1] == f"3 records could not be written to {desk.folder}"


def test_a_sick_disk_is_left_alone_for_a_while(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[object] = []

    def refused(*args: object) -> int:
        attempts.append(args)
        return full_disk()

    monkeypatch.setattr(os, "write", refused)
    for _ in range(50):
        desk.journal.request(line(kind="request"))
    assert len(attempts) == 1
    assert desk.journal.lost == 50


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    desk = Desk(tmp_path / "file" / "captures")
    desk.journal.preflight()
    desk.journal.request(line(kind="request"))
    desk.journal.close()
    assert len(desk.warnings) == 2
    assert "not a folder" in desk.warnings[0]
    assert len(desk.journal.key) == 32


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    desk = Desk(tmp_path / "captures")
    desk.journal.preflight()
    tmp_path.chmod(0o700)
    assert "no right" in desk.warnings[0]


def delete_file(folder: Path) -> None:
    for path in folder.glob("*.jsonl*"):
        path.unlink()


def delete_folder(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def empty_file(folder: Path) -> None:
    for path in folder.glob("*.jsonl*"):
        os.truncate(path, 0)


@pytest.mark.parametrize("harm", [delete_file, delete_folder, empty_file])
def test_a_file_taken_away_is_replaced_without_loss(desk: Desk, harm: Callable[[Path], None]) -> None:
    waiting = desk.journal.request(line(kind="request", id="1"))
    harm(desk.folder)
    desk.journal.response(line(kind="response", id="1"), waiting)
    file = desk.journal.request(line(kind="request", id="2"))
    assert file and [member.get("id") for member in read(file.path)] == [None, "1", "2"]
    assert desk.journal.lost == 0
    assert desk.warnings == []
    desk.journal.close()


def test_a_failing_line_of_our_own_is_a_lost_record(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.journal._first_line = lambda continues: bytes(1 // 0)
    assert desk.journal.request(line(kind="request")) is None
    assert desk.journal.lost == 1
    assert "ZeroDivisionError" in desk.warnings[0]


# --- the key of the fingerprints


def test_the_key_is_made_once_per_folder(tmp_path: Path) -> None:
    key = Desk(tmp_path).journal.key
    assert Desk(tmp_path).journal.key == key
    assert Desk(tmp_path / "other").journal.key != key
    assert (tmp_path / KEY_FILE).read_text() == key.hex() + "\n"
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600


def test_many_at_once_agree_on_one_key(tmp_path: Path) -> None:
    start = threading.Barrier(16)
    keys: list[bytes] = []

    def settle(number: int) -> None:
        start.wait()
        keys.append(shared_key(tmp_path, bytes([number]) * 32))

    threads = [threading.Thread(target=settle, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(keys)) == 1
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


def test_without_hard_links_there_is_a_key_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    key = shared_key(tmp_path, b"k" * 32)
    assert shared_key(tmp_path, b"x" * 32) == key == b"k" * 32


@pytest.mark.parametrize("damaged", [b"", b"zz", b"00" * 31, b"\xff\xfe"])
def test_a_damaged_key_is_left_alone(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / KEY_FILE).write_bytes(damaged)
    assert shared_key(tmp_path, b"k" * 32) == b"k" * 32
    assert (tmp_path / KEY_FILE).read_bytes() == damaged


# --- two at once

WRITER = """
import sys
from pathlib import Path
from addon.journal import Journal
journal = Journal(Path(sys.argv[1]), compress=False, rotate_bytes=0, first_line=lambda _: b'{"kind":"start"}',
                  last_line=lambda *_: b'{"kind":"end"}', warn=print)
for number in range(200):
    journal.request(b'{"kind":"request","id":"%s-%d","said":"%s"}' % (sys.argv[2].encode(), number, b"x" * 300_000))
journal.close()
"""


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    root = str(Path(subject.__file__).resolve().parent.parent)
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name], env={**os.environ, "PYTHONPATH": root})
        for name in ("a", "b")
    ]
    yield started
    for process in started:
        process.kill()
        process.wait()


def test_two_processes_on_one_folder_do_not_meet(tmp_path: Path, writers: list[subprocess.Popen[bytes]]) -> None:
    assert [process.wait(timeout=60) for process in writers] == [0, 0]
    for path in tmp_path.glob("*.jsonl"):
        members = read(path)
        assert len({member["id"].split("-")[0] for member in members[1:-1]}) == 1
        assert [int(member["id"].split("-")[1]) for member in members[1:-1]] == list(range(200))
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
