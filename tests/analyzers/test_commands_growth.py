"""``growth``, run as a user runs it: the published figures, recordings, chat stores, and mistakes."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from capture_files import SEEN, end, request, response, start, written
from json_values import DATA
from typer.testing import CliRunner

from analyzers.cli import app
from analyzers.wire.jsontext import dump
from analyzers.wire.moment import timestamp

PUBLISHED = json.loads((DATA / "published-growth.json").read_text())
FULL = ("--model", "--tokens-per-turn", "500", "--turns", "400")
CARRIED = ("--model", "--history", "200000", "--message", "10", "--answer", "50", "--growth", "100", "--turns", "30")
MODEL = "claude-opus-5-5"
SIZE = 1000


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["growth", *arguments])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.output


def told(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


def recorded(folder: Path, turns: int, *, gap: float = 60.0, warm: bool = True) -> Path:
    """A conversation of equal turns, counted as a server with a five-minute cache at the last block would. ``warm``:
    each request reads what the one before left. Words and answers weigh the same, their roles among it."""
    lines = [start()]
    messages: list[Any] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": [{"type": "text", "text": f"words {turn:012d}"}]})
        body = {"model": MODEL, "max_tokens": 100, "messages": messages}
        lines.append(request(str(turn), dump(body), at=gap * turn))
        read = SIZE * turn if warm else 0
        usage = {
            "input_tokens": 0,
            "cache_creation_input_tokens": SIZE * (turn + 1) - read,
            "cache_read_input_tokens": read,
            "output_tokens": 10,
            "cache_creation": {
                "ephemeral_5m_input_tokens": SIZE * (turn + 1) - read,
                "ephemeral_1h_input_tokens": 0,
            },
        }
        said = [{"type": "text", "text": f"said {turn:08d}"}]
        lines.append(
            response(
                str(turn),
                model=MODEL,
                message_id=f"msg_{turn}",
                headers={"request-id": f"req_{turn}"},
                content=said,
                usage=usage,
                time=timestamp(SEEN["time"] + gap * turn + 2),
                first_byte=1.0,
                last=2.0,
            )
        )
        messages.append({"role": "assistant", "content": said})
    return written(folder, "talk.jsonl", *lines, end())


def chat_store(folder: Path, turns: int) -> Path:
    path = folder / "chat.db"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id, role, content, timestamp)")
        made.execute("CREATE TABLE sessions(id, channel, user_id, created_at)")
        made.execute("INSERT INTO sessions VALUES ('1', 'slack', 'U7', '2026-11-01')")
        for turn in range(turns):
            day = f"2026-11-{1 + turn // 10:02d}T09:{turn % 10:02d}"
            rows = [("user", f"what about number {turn}? " * 4, f"{day}:00"), ("assistant", "Well. " * 60, f"{day}:20")]
            made.executemany("INSERT INTO messages VALUES (NULL, '1', ?, ?, ?)", rows)
    return path


def contains(whole: Any, part: Any) -> bool:
    """Whether every member of the one is in the other, at any depth of objects."""
    if not isinstance(part, dict):
        return bool(whole == part)
    return isinstance(whole, dict) and all(name in whole and contains(whole[name], part[name]) for name in part)


# The published figures


def test_every_published_figure_comes_out() -> None:
    found = told(*FULL, "--limit", "100000") | told(*CARRIED, "--limit", "100000")
    assert contains(found, PUBLISHED)
    assert set(PUBLISHED) - {"full_history", "carried_history"} <= set(found)


def test_the_table_of_the_bare_model_has_the_same_figures() -> None:
    printed = run(*FULL, "--limit", "100000")
    for figure in ("500", "1,500", "3,000", "40,100,000", "250*N^2 + 250*N", "reached at turn 200"):
        assert figure in printed
    printed = run(*CARRIED)
    for figure in ("200,010", "200,060", "202,960", "6,045,300"):
        assert figure in printed


def test_the_remedies_can_be_replayed_on_the_bare_model() -> None:
    found = told(*FULL, "--what-if", "--as", MODEL)["what_if"]
    assert found["settings"]["window"] == PUBLISHED["sliding_window_tokens"]
    full = next(one for one in found["strategies"] if (one["strategy"], one["cache"]) == ("full", "none"))
    assert (full["total_input_tokens"], full["usd"]) == (40_100_000, 160.4)


# Recordings


def test_a_recording_is_told_turn_by_turn(tmp_path: Path) -> None:
    thread = told("-c", str(recorded(tmp_path, 4)))["threads"][0]
    assert [turn["total_input_tokens"] for turn in thread["turns"]] == [1000, 2000, 3000, 4000]
    assert [turn["sent_tokens"] for turn in thread["turns"]] == [1000, 3000, 6000, 10_000]
    assert {turn["counted_by"] for turn in thread["turns"]} == {"server"}
    assert [turn["typed_chars"] for turn in thread["turns"]] == [18] * 4
    assert (thread["fit"]["plain"]["tokens_per_turn"], thread["fit"]["plain"]["residual_tokens"]) == (1000, 0)
    assert thread["context_limit"] == {
        "tokens": 1_000_000, "source": "list", "turn": 1000, "passed": False, "per_turn": 1000, "certainty": "estimated"
    }  # fmt: skip


def test_what_you_type_stands_beside_what_is_sent() -> None:
    printed = run("-c", str(DATA / "published-request.json"))
    assert "you type 17 characters, 82,922 are sent" in printed


def strategies(path: Path, *arguments: str) -> dict[tuple[str, str], Any]:
    found = told("-c", str(path), "--what-if", *arguments)["threads"][0]["what_if"]
    return {(one["strategy"], one["cache"]): one for one in found["strategies"]} | {("recorded", ""): found["recorded"]}


def test_the_replay_of_what_was_done_costs_what_it_cost(tmp_path: Path) -> None:
    found = strategies(recorded(tmp_path, 6))
    full, really = found["full", "5m"], found["recorded", ""]
    for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens", "usd"):
        assert full[name] == really[name]


WINDOW = ("--window", "2000")


def test_with_a_warm_cache_the_window_costs_more_than_the_full_history(tmp_path: Path) -> None:
    found = strategies(recorded(tmp_path, 6), *WINDOW)
    # a turn adds its answer and its words, 500 tokens each, so a window holds a turn and a half
    # full: 6,000 written, 1,000 + … + 5,000 = 15,000 read, 60 said
    assert found["full", "5m"]["usd"] == pytest.approx((6000 * 5 + 15_000 * 0.2 + 60 * 20) / 1e6)
    # window: 1,000 and 1,000 more; then four times 1,500 of which nothing can be read
    assert found["window", "5m"]["cache_creation_input_tokens"] == 2000 + 4 * 1500
    assert found["window", "5m"]["usd"] == pytest.approx((8000 * 5 + 1000 * 0.2 + 60 * 20) / 1e6)
    assert found["window", "5m"]["usd"] > found["full", "5m"]["usd"]
    assert found["window", "none"]["usd"] < found["full", "none"]["usd"]
    assert found["window", "5m"]["total_input_tokens"] < found["full", "5m"]["total_input_tokens"]


def test_with_pauses_that_outlive_the_cache_it_costs_less(tmp_path: Path) -> None:
    found = strategies(recorded(tmp_path, 6, gap=600, warm=False), *WINDOW)
    assert found["full", "5m"]["usd"] == pytest.approx((21_000 * 5 + 60 * 20) / 1e6)
    assert found["window", "5m"]["usd"] == pytest.approx((9_000 * 5 + 60 * 20) / 1e6)
    assert found["window", "1h"]["usd"] > found["full", "1h"]["usd"]


def test_the_table_says_which_is_dearer(tmp_path: Path) -> None:
    printed = run("-c", str(recorded(tmp_path, 6)), "--what-if", *WINDOW, "--every", "2", "--summary", "100")
    assert "window of 2,000 tokens" in printed
    warm = next(line for line in printed.split("\n") if line.startswith("with 5m cache"))
    assert "window +" in warm.partition("dearer:")[2]
    assert "in it, summarise: 2 summarising calls" in printed


# Chat stores


def test_a_chat_store_is_told_in_estimates(tmp_path: Path) -> None:
    found = told("-c", str(chat_store(tmp_path, 20)), "--as", MODEL, "--what-if", "--every", "5")["threads"][0]
    assert found["session"] == "slack:U7"
    assert {turn["counted_by"] for turn in found["turns"]} == {"estimator"}
    assert not any(turn["exact"] for turn in found["turns"])
    by_way = {(one["strategy"], one["cache"]): one for one in found["what_if"]["strategies"]}
    assert 0 < by_way["clear", "none"]["usd"] < by_way["full", "none"]["usd"]
    assert [one["turn"] for one in found["carried"] if one["kind"] == "after_pause"] == [11]
    assert (found["context_limit"]["tokens"], found["context_limit"]["certainty"]) == (1_000_000, "estimated")


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("0",), "give a number from 1"),
        (("--limit", "0"), "--limit 0 is too small"),
        (("--budget", "much"), "no amount of USD"),
        (("--budget", "nan"), "no amount of USD"),
        (("--what-if", "--every", "0"), "--every 0 is too small"),
        (("--what-if", "--window", "10", "--keep", "11"), "--keep 11 is more than --window 10"),
        (("--model",), "--model takes --turns"),
        (("--model", "--turns", "3"), "either --tokens-per-turn"),
        (("--model", "--turns", "3", "--tokens-per-turn", "5", "--history", "5"), "either --tokens-per-turn"),
        (("--model", "--turns", "0", "--tokens-per-turn", "5"), "--turns 0 is too small"),
        (("--model", "--turns", "3", "--history", "-5"), "--history -5 is no number"),
        (("--model", "--turns", "3", "--history", "5", "--what-if"), "--what-if replays turns"),
    ],
)
def test_a_mistake_is_one_sentence_that_says_what_to_do(arguments: Sequence[str], sentence: str) -> None:
    printed = run("-c", str(DATA / "published-request.json"), *arguments, code=2)
    assert sentence in printed
    assert printed.count("\n") == 1


def test_numbers_of_the_model_without_the_model_are_a_mistake() -> None:
    printed = run("-c", str(DATA / "published-request.json"), "--turns", "3", code=2)
    assert "--model" in printed


def test_nothing_recorded_is_said(tmp_path: Path) -> None:
    run("-c", str(tmp_path), code=3)


def test_counters_of_any_size_stop_nothing(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "captures.example" / "four-turns.jsonl").read_text()
    huge = re.sub(r'("[a-z_]*input_tokens"|"output_tokens"):\d+', rf"\1:{10**30}", text)
    (tmp_path / "huge.jsonl").write_text(huge)
    for command in (["growth", "--json"], ["report", "--json"], ["growth"]):
        run = CliRunner().invoke(app, ["--captures", str(tmp_path), *command])
        assert run.exit_code == 0, run.exception
