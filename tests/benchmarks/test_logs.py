"""Two programs are compared only when both count what there is."""

import json
import subprocess
from pathlib import Path

import orjson
import pytest

from benchmarks import ccusage
from benchmarks.logs import PART, SMALL, agree, enough, found, in_turn, memory, spaced, take, told
from benchmarks.programs import Run
from benchmarks.proxies import NotMeasured
from benchmarks.session_file import Tokens
from benchmarks.session_logs import write

TRUTH = Tokens(fresh=1, output=2, written=3, read=4)


def test_the_sums_are_read_from_what_either_program_prints() -> None:
    ours = {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4}
    its = {"inputTokens": 1, "outputTokens": 2, "cacheCreationTokens": 3, "cacheReadTokens": 4, "totalCost": 0.5}
    assert told(json.dumps({"totals": ours, "rows": []}).encode()) == TRUTH
    assert ccusage.tokens(json.dumps({"daily": [], "totals": its}).encode()) == TRUTH


@pytest.mark.parametrize("output", [b"", b"[]", b'{"totals":{}}', b'{"totals":{"inputTokens":null}}', b"Error: no"])
def test_what_has_no_sums_was_not_measured(output: bytes) -> None:
    with pytest.raises(NotMeasured, match="weighbridge printed no totals"):
        told(output)
    with pytest.raises(NotMeasured, match=r"ccusage .* printed no totals"):
        ccusage.tokens(output)


def test_programs_that_count_alike_may_be_compared() -> None:
    agree({"one": TRUTH, "other": TRUTH}, TRUTH)


@pytest.mark.parametrize("place", range(4))
def test_a_program_that_counts_otherwise_is_refused_by_name(place: int) -> None:
    wrong = Tokens(*(count + (index == place) for index, count in enumerate(TRUTH)))
    with pytest.raises(NotMeasured, match=r"^other counts .* not compared"):
        agree({"one": TRUTH, "other": wrong}, TRUTH)


def test_too_full_a_disk_is_said_with_what_to_do() -> None:
    enough(1_500_000_000, 1_000_000_000, Path("/tmp"))
    with pytest.raises(NotMeasured, match=r"/tmp has 1\.4 GB free, and 1\.5 GB are needed: set TMPDIR"):
        enough(1_400_000_000, 1_000_000_000, Path("/tmp"))


def test_the_first_round_is_not_counted_and_all_take_turns() -> None:
    started: list[str] = []

    def start(name: str) -> Run:
        started.append(name)
        return Run(float(len(started)), 0.0, None, b"", b"")

    runs = in_turn({"one": lambda: start("one"), "other": lambda: start("other")}, 2)
    assert started == ["one", "other"] * 3
    assert [run.wall for run in runs["one"]] == [3.0, 5.0]
    assert [run.wall for run in runs["other"]] == [4.0, 6.0]


def test_memory_that_one_round_does_not_know_is_unknown() -> None:
    known, unknown = Run(1.0, 1.0, 50.0, b"", b""), Run(1.0, 1.0, None, b"", b"")
    assert memory([known, known]) == 50.0
    assert memory([known, unknown]) is None
    assert memory([]) is None


def test_blanks_change_the_spelling_and_no_value() -> None:
    line = '{"a":[1,2.5,null],"type":"größe, \\"x\\":1"}\n'.encode()
    assert spaced(line) == b'{"a": [1, 2.5, null], "type": "gr\\u00f6\\u00dfe, \\"x\\":1"}\n'
    assert orjson.loads(spaced(line)) == orjson.loads(line)
    assert spaced(line + line).count(b"\n") == 2


def test_a_part_is_of_whole_small_files_in_their_places(tmp_path: Path) -> None:
    projects, part = tmp_path / "projects", tmp_path / "part"
    for name, size in (("a/1", 600), ("a/large", SMALL + 1), ("b/subagents/agent-2", 600), ("b/3", 600)):
        path = projects / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    take(projects, part, 1_000)
    taken = sorted(path.relative_to(part) for path in part.rglob("*.jsonl"))
    assert taken == [Path("a/1.jsonl"), Path("b/3.jsonl")]
    assert all((part / path).read_bytes() == (projects / path).read_bytes() for path in taken)


def test_of_made_up_logs_there_is_a_part_of_about_the_size(tmp_path: Path) -> None:
    written = write(tmp_path / "projects", 1_000_000)
    take(tmp_path / "projects", tmp_path / "part", PART * written.size)
    assert len([*(tmp_path / "part").rglob("*.jsonl")]) == 1


def test_what_was_found_is_told_in_millions() -> None:
    assert found(Tokens(0, 0, 0, 0), Tokens(1_000_000, 0, 240_000, 0)) == "0.0 of 1.2"


def test_without_npm_the_reason_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotMeasured, match="npm is not installed"):
        ccusage.install(tmp_path)


def test_an_npm_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho 'npm error code ENOTFOUND' >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotMeasured, match=r"could not install ccusage 20\.0\.24\.\nnpm error code ENOTFOUND"):
        ccusage.install(tmp_path)


def test_the_native_program_is_found_and_may_be_executed_then(tmp_path: Path) -> None:
    program = tmp_path / "node_modules" / "@ccusage" / "ccusage-linux-x64" / "bin" / "ccusage"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho done\n")
    program.chmod(0o644)
    assert ccusage.native(tmp_path) == program
    assert subprocess.run([program], capture_output=True, check=True).stdout == b"done\n"


def test_a_platform_without_a_native_program_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="no native program for this platform"):
        ccusage.native(tmp_path)
