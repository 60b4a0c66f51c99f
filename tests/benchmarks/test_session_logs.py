"""The made-up logs tell what they are said to tell, and look like what the client writes."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from analyzers.exchange import Problem
from analyzers.gather import usage_report
from analyzers.readers.sources import Sources
from benchmarks.session_file import Client, Session, Tokens, Written
from benchmarks.session_logs import OLDER, PROJECTS, write
from benchmarks.session_texts import Texts

SIZE = 8_000_000


@dataclass(frozen=True)
class Tree:
    projects: Path
    written: Written

    def files(self) -> list[Path]:
        return sorted(self.projects.rglob("*.jsonl"))

    def rows(self) -> Iterator[tuple[Path, dict[str, Any], bytes]]:
        for path in self.files():
            for line in path.read_bytes().split(b"\n")[:-1]:
                yield path, orjson.loads(line), line


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    projects = tmp_path_factory.mktemp("logs") / "projects"
    return Tree(projects, write(projects, SIZE))


def digest(folder: Path) -> str:
    whole = sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        whole.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def test_every_run_measures_the_same_bytes(tmp_path: Path) -> None:
    first, again, other = (write(tmp_path / name, 300_000, seed=seed) for name, seed in (("a", 3), ("b", 3), ("c", 4)))
    assert first == again != other
    assert digest(tmp_path / "a") == digest(tmp_path / "b") != digest(tmp_path / "c")


def test_what_is_said_to_be_written_is_what_usage_counts(tree: Tree) -> None:
    problems: list[Problem] = []
    found = usage_report(Sources([str(tree.projects)]), problems)
    spent = found.totals.spent
    assert Tokens(*(spent[part] for part in ("fresh", "output", "written", "read"))) == tree.written.tokens
    assert found.totals.requests == tree.written.calls
    assert found.totals.is_complete(spent)
    assert not problems
    assert not found.set_aside


def test_all_files_are_said(tree: Tree) -> None:
    assert tree.written.files == len(tree.files())
    assert tree.written.size == sum(path.stat().st_size for path in tree.files())
    assert SIZE <= tree.written.size < 1.2 * SIZE


def test_files_of_sessions_are_small_and_many(tree: Tree) -> None:
    sizes = [path.stat().st_size for path in tree.files()]
    assert sum(50_000 <= size <= 1_500_000 for size in sizes) > 0.9 * len(sizes) > 10


def test_a_call_is_told_once_for_each_block_with_the_same_usage(tree: Tree) -> None:
    told: dict[str, list[dict[str, Any]]] = {}
    for path, row, _ in tree.rows():
        if row["type"] == "assistant":
            assert len(row["message"]["content"]) == 1
            told.setdefault(f"{path.stem} {row['message']['id']}", []).append(row)
    for rows in told.values():
        assert [row["apiBlockIndex"] for row in rows] == [*range(len(rows))]
        assert all(row["message"]["usage"] == rows[0]["message"]["usage"] for row in rows)
        assert len({row["requestId"] for row in rows}) == 1
    assert 2.0 < tree.written.rows / tree.written.calls < 2.5


def test_a_fork_tells_the_calls_of_another_session_again(tree: Tree) -> None:
    files: dict[str, set[Path]] = {}
    for path, row, _ in tree.rows():
        if row["type"] == "assistant":
            files.setdefault(row["message"]["id"], set()).add(path)
    copied = [places for places in files.values() if len(places) > 1]
    assert copied
    assert len(files) == tree.written.calls


def test_sub_agents_have_files_of_their_own_and_their_parents_tell_a_usage_that_is_no_call(tree: Tree) -> None:
    agents = [path for path in tree.files() if path.parent.name == "subagents"]
    assert agents
    sessions = {path.stem for path in tree.files()}
    assert all(path.parents[1].name in sessions and path.with_suffix(".meta.json").exists() for path in agents)
    assert all(row["isSidechain"] for path, row, _ in tree.rows() if path in agents and "isSidechain" in row)
    nested = [row["toolUseResult"] for _, row, _ in tree.rows() if "usage" in row.get("toolUseResult", ())]
    assert {result["agentId"] for result in nested} == {path.stem.removeprefix("agent-") for path in agents}


def test_lines_are_compact_json_with_text_unescaped(tree: Tree) -> None:
    foreign = 0
    for _, row, line in tree.rows():
        assert orjson.dumps(row) == line
        foreign += "größe".encode() in line
    assert foreign > 100


def test_results_of_tools_are_up_to_200_kilobytes_and_stand_there_twice(tree: Tree) -> None:
    results = [row for _, row, _ in tree.rows() if "stdout" in row.get("toolUseResult", ())]
    assert all(row["message"]["content"][0]["content"] == row["toolUseResult"]["stdout"] for row in results)
    assert 50_000 < max(len(row["toolUseResult"]["stdout"]) for row in results) <= 200_000


def test_most_bytes_are_of_users_and_answers_and_all_kinds_of_rows_are_there(tree: Tree) -> None:
    sizes: Counter[str] = Counter()
    for _, row, line in tree.rows():
        sizes[row["type"]] += len(line)
    share = {kind: size / tree.written.size for kind, size in sizes.items()}
    assert share["user"] == pytest.approx(0.43, abs=0.08)
    assert share["assistant"] == pytest.approx(0.32, abs=0.08)
    assert share["attachment"] == pytest.approx(0.14, abs=0.06)
    assert sizes.keys() >= {"api-request", "api-request-shape", "api-request-blob", "queue-operation", "last-prompt"}
    assert sizes.keys() >= {"atis-latch", "cost-state"}


def test_each_row_of_a_conversation_is_the_child_of_the_one_before(tree: Tree) -> None:
    last: dict[Path, str] = {}
    for path, row, _ in tree.rows():
        if "parentUuid" in row:
            assert row["parentUuid"] == (None if row["type"] == "system" else last.get(path))
            last[path] = row["uuid"]


def test_a_long_session_is_compacted_and_begins_anew(tmp_path: Path) -> None:
    client = Client("2.1.332", ("claude-opus-5-5",))
    session = Session(Texts(1), tmp_path / PROJECTS[0], client)
    session.run(3_500_000)
    rows = [orjson.loads(line) for path in tmp_path.glob("*/*.jsonl") for line in path.open("rb")]
    summaries = sum(row.get("subtype") == "compact_boundary" for row in rows)
    usages = {row["message"]["id"]: row["message"]["usage"] for row in rows if row["type"] == "assistant"}
    cold = sum(usage["cache_read_input_tokens"] == 0 for usage in usages.values())
    assert cold == 1 + summaries
    assert summaries > 0


def test_the_older_version_logs_no_requests(tmp_path: Path) -> None:
    session = Session(Texts(1), tmp_path / PROJECTS[0], OLDER)
    session.run(100_000)
    kinds = {orjson.loads(line)["type"] for path in tmp_path.rglob("*.jsonl") for line in path.open("rb")}
    assert {"user", "assistant", "attachment"} <= kinds
    assert not any(kind.startswith("api-request") for kind in kinds)
