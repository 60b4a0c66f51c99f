"""Which figures of the page are exact, lower bounds or unknown: as the commands mark them, and never 0 for unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import capture_files
import pytest
from capture_files import written
from recorded_session import NEWER, unpacked
from typer.testing import CliRunner

from analyzers.cli import app
from analyzers.wire.jsontext import dump

if TYPE_CHECKING:
    from opened_page import Opened

pytest_plugins = ["opened_page"]
pytestmark = pytest.mark.live
EXAMPLE = Path(__file__).parents[2] / "captures.example"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sessions of a real client: forks, agents, failed attempts, compactions."""
    return unpacked(NEWER, tmp_path_factory.mktemp("recorded")).captures


def without_answers(folder: Path, *kept: str) -> Path:
    """The example without the answers to its requests, but for those of ``kept``."""
    [place] = EXAMPLE.glob("*.jsonl")
    records = [json.loads(line) for line in place.read_bytes().split(b"\n") if line]
    lines = [dump(one) + b"\n" for one in records if one["kind"] != "response" or one["id"] in kept]
    return written(folder, place.name, *lines).parent


def said(*arguments: str) -> list[list[str]]:
    """What a command prints, as the cells of its lines."""
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return [re.split(r"\s{2,}", line.strip()) for line in result.stdout.split("\n")]


def told(*arguments: str) -> Any:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def after(lines: list[list[str]], heading: str) -> list[list[str]]:
    """The rows of the table whose first column has this heading, its total among them."""
    begin = next(n for n, cells in enumerate(lines) if cells[0] == heading) + 2
    end = next(n for n, cells in enumerate(lines[begin:], begin) if cells == [""])
    return lines[begin:end]


def test_tokens_are_marked_as_usage_and_sessions_mark_them(opened: Callable[..., Opened], recorded: Path) -> None:
    page = opened(recorded)
    usage = after(said("usage", "-c", str(recorded)), "model")
    #   model, calls, input, cache read, total input, output: the command has two columns for what was written
    assert [[row[n] for n in (0, 1, 2, 4, 5, 6)] for row in page.rows("usage")] == [
        [row[n] for n in (0, 1, 2, 5, 6, 7)] for row in usage
    ]
    sessions = after(said("sessions", "-c", str(recorded)), "session / thread")
    wholes = {cells[0]: cells for cells in sessions}
    marked = page.rows("session-rows")
    assert [cells[-1] for cells in marked if cells[-1].startswith("≥")] == [cells[-1] for cells in marked[:1]]
    for cells in marked:
        assert cells[2] == wholes[cells[0]][2]
        assert cells[-2:] == wholes[cells[0]][4:6]
        assert not any(cell.startswith("≥") for cell in cells[:-1])


def test_threads_have_what_sessions_has_and_are_chosen_by_their_name(
    opened: Callable[..., Opened], recorded: Path
) -> None:
    page = opened(recorded)
    sessions = told("sessions", "-c", str(recorded))["sessions"]
    threads = [thread for session in sessions for thread in session["threads"]]
    rows = page.rows("thread-rows")
    assert [row[4] for row in rows] == [str(len(thread["turns"])) for thread in threads]
    assert [row[6] for row in rows] == [
        str(sum(len(t["failed_attempts"]) for t in thread["turns"])) for thread in threads
    ]
    assert [row[7] for row in rows] == [
        " ".join(f"#{turn['n']}" for turn in thread["turns"] if turn["step"] == "compacted") for thread in threads
    ]
    [fork] = [row for row in rows if row[3].startswith("fork")]
    assert fork[3] == "fork at #18 of 63080983"
    assert sum(row[0].startswith("agent ") for row in rows) == sum(thread["agent"] is not None for thread in threads)
    printed = [cells for cells in said("sessions", "-c", str(recorded)) if cells[0].startswith(("main", "agent "))]
    totals = [[cell for cell in cells if re.fullmatch(r"≥?[\d,]{3,}", cell)][-2:] for cells in printed]
    assert [row[9:11] for row in rows] == totals
    assert totals[0][1].startswith("≥")
    page.page.click("#thread-rows tr:nth-child(3) button")
    last = threads[2]["turns"][-1]["n"]
    assert page.text("#which") == f"#{last}, {len(threads[2]['turns'])} of {len(threads[2]['turns'])}"
    assert page.page.evaluate("document.activeElement.id") == "thread"
    assert page.said == []


def test_usd_is_as_the_command_prints_it(opened: Callable[..., Opened], recorded: Path) -> None:
    page = opened(recorded)
    page.show_all()
    cost = said("cost", "-c", str(recorded))
    assert sorted(page.rows("models")) == sorted(after(cost, "model")[:-1])
    assert sorted(page.rows("cost-sessions")) == sorted(after(cost, "session")[:-1])
    amounts = [cell for row in page.rows("costs") for cell in row[2:9]]
    assert [cell for cell in amounts if not re.fullmatch(r"0|<0\.0001|\?|[≥~]?[\d,]+\.\d{4}", cell)] == []
    yields = [row for row in said("cache", "-c", str(recorded)) if row[0] in ("system[1]", "last in the messages")]
    assert [row[4:] for row in page.rows("breakpoints") if row[0] == "last in the messages"] == [
        next(row[4:] for row in yields if row[0] == "last in the messages")
    ]


def test_halves_are_rounded_as_the_commands_round_them(opened: Callable[..., Opened]) -> None:
    page = opened(EXAMPLE)
    amounts = [0.00005, 0.00015, 0.00025, 1234.5, 0.1 + 0.2, 0, None, -0.00123, 1e-10]
    assert page.page.evaluate("all => all.map(usd)", amounts) == [
        "0.0000", "0.0002", "0.0002", "1,234.5000", "0.3000", "0.0000", "?", "-0.0012", "0.0000"
    ]  # fmt: skip
    assert page.page.evaluate("all => all.map(part)", [0, None, 1e-10, "0.00009", 0.0001, "0.05"]) == [
        "0", "?", "<0.0001", "<0.0001", "0.0001", "0.0500"
    ]  # fmt: skip


def test_the_two_sums_of_what_was_read_say_what_they_count(opened: Callable[..., Opened], recorded: Path) -> None:
    page = opened(recorded)
    cache, usage = told("cache", "-c", str(recorded))["summary"], told("usage", "-c", str(recorded))["totals"]
    assert cache["total_input_tokens"] < usage["total_input_tokens"]  # side calls are in the second only
    text = page.text("#cache")
    chains = f"{cache['cache_read_input_tokens']:,} of {cache['total_input_tokens']:,} input tokens"
    assert f"Turns of the threads of all sessions: {chains} were read" in text
    assert "Side calls" in text
    assert "not counted here" in text
    assert "turns of threads and side calls" in page.text("#usage caption")
    assert page.rows("usage")[-1][5] == f"{usage['total_input_tokens']:,}"


def test_without_answers_nothing_that_they_would_tell_is_0(opened: Callable[..., Opened], tmp_path: Path) -> None:
    page = opened(without_answers(tmp_path / "c"))
    page.show_all()
    assert page.text("#cache-sum") == (
        "Turns of the threads of all sessions: what was read from the cache is not known: "
        "none of the 4 requests has counters; breaks: not known."
    )
    assert page.text("#spent").startswith("USD not known: no call has a price that can be told; list prices")
    assert "tokens not known" in page.text("#request")
    assert "No break that is known: 3 of 4 requests cannot be judged." in page.text("#cache")
    for table, first in (("usage", 2), ("session-rows", 7), ("thread-rows", 9), ("models", 2), ("breakpoints", 2)):
        cells = [cell for row in page.rows(table) for cell in row[first:]]
        assert set(cells) == {"?"}, table
    for row in page.rows("chain"):
        assert row[1:6] == ["?"] * 5
    for row in page.rows("costs"):
        assert row[2:9] == ["?"] * 7
    assert {row[6] for row in page.rows("tool-rows")} == {"yes", "?"}
    assert {row[5] for row in page.rows("tool-rows")} == {"≥1", "?"}
    assert "4 answers of this session were not recorded" in page.text("#tools")
    assert "4 answers not recorded" in page.text("#personal")
    assert page.page.eval_on_selector_all("#cache svg .unknown", "all => all.length") == 4
    assert page.page.eval_on_selector_all("#cache svg path[class^=c-]", "all => all.length") == 0
    assert page.said == []


def test_with_some_answers_sums_are_lower_bounds(opened: Callable[..., Opened], tmp_path: Path) -> None:
    [place] = EXAMPLE.glob("*.jsonl")
    ids = [json.loads(line)["id"] for line in place.read_bytes().split(b"\n") if b'"kind":"response"' in line]
    captures = without_answers(tmp_path / "c", *ids[:2])
    page = opened(captures)
    assert "as far as is known: 2 of 4 requests have no counters" in page.text("#cache-sum")
    assert "breaks: ≥0" in page.text("#cache-sum")
    assert page.text("#spent").startswith("at least 0.")
    assert page.rows("usage")[-1][2:] == [
        cell for n, cell in enumerate(after(said("usage", "-c", str(captures)), "model")[-1]) if n in (2, 3, 5, 6, 7)
    ]
    assert all(cell.startswith("≥") for cell in page.rows("session-rows")[0][7:])
    assert "2 of 4 requests of this session have no counters" in page.text("#cache")
    assert page.page.eval_on_selector_all("#cache svg .unknown", "all => all.length") == 2


def test_without_a_price_no_amount_is_0(opened: Callable[..., Opened], tmp_path: Path) -> None:
    body = capture_files.body(model="model-of-nobody")
    lines = [
        capture_files.start(),
        capture_files.request("1", body),
        capture_files.response("1", model="model-of-nobody"),
    ]
    page = opened(written(tmp_path / "c", "a.jsonl", *lines, capture_files.end()).parent)
    page.show_all()
    assert page.text("#spent").startswith("USD not known")
    assert page.rows("models")[0][1:] == ["1", *["?"] * 7]
    assert page.rows("costs")[0][2:9] == ["?"] * 7


def test_a_call_that_failed_cost_nothing(opened: Callable[..., Opened], tmp_path: Path) -> None:
    error: dict[str, Any] = {"ended": "error", "status": 400, "usage": None, "message_id": None, "content": None}
    error["error"] = {"type": "invalid_request_error"}
    lines = [
        capture_files.start(),
        capture_files.request("1", capture_files.body()),
        capture_files.response("1", **error),
    ]
    captures = written(tmp_path / "c", "a.jsonl", *lines, capture_files.end()).parent
    page = opened(captures)
    page.show_all()
    assert page.rows("costs")[0][2:] == ["0"] * 7 + ["failed, and not billed"]
    assert page.rows("models")[0][1:] == after(said("cost", "-c", str(captures)), "model")[0][1:]
    assert page.text("#spent").startswith("0 USD for 1 call;")


def test_a_body_that_could_not_be_sized_is_said_to_be(opened: Callable[..., Opened], tmp_path: Path) -> None:
    lines = [capture_files.start(), capture_files.request("1", b"no json"), capture_files.response("1")]
    page = opened(written(tmp_path / "c", "a.jsonl", *lines, capture_files.end()).parent)
    assert "no sizes: " in page.text("#request")
    assert "1 request without a body" in page.text("#personal")
    assert page.said == []
