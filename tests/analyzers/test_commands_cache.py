"""``cache``, run as a user runs it: the published chains, what breaks them, and cases from public reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
import session_logs as logs
from capture_files import end, request, response, start, written
from json_values import DATA
from typer.testing import CliRunner

from analyzers.cli import app
from analyzers.wire.jsontext import dump

CHAINS = json.loads((DATA / "published-cache-chains.json").read_text())
SESSIONS: dict[str, list[list[int]]] = CHAINS["sessions"]


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["cache", *arguments])
    assert result.exit_code == code, result.output
    return result.stdout


def told(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [row for chain in told("-c", str(folder))["sessions"] for row in chain["rows"]]


def chains_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {chain["session"]: chain["rows"] for chain in told("-c", str(folder))["sessions"]}


def log_chain(
    folder: Path, session: str, chain: Sequence[Sequence[int]], *, begin: float = 0.0, **odd: Callable[[int], Any]
) -> None:
    """A session's log. ``odd``: what is otherwise in each turn: ``model``, ``gap`` before it, ``before``: a row."""
    rows: list[logs.Row | bytes] = []
    at = begin
    for turn, (fresh, created, read, output) in enumerate(chain):
        at += odd["gap"](turn) if "gap" in odd else 10.0
        if "before" in odd and (row := odd["before"](turn)) is not None:
            rows.append(row)
        counted = logs.usage(fresh, output, read=read, written=created, hour=created)
        name = odd["model"](turn) if "model" in odd else logs.MODEL
        rows.append(logs.user(f"question {turn}", at=at))
        rows += [logs.assistant(f"msg_{session}_{turn}", counted, at=at + 1, model=name)]
    logs.log(folder, *rows, session=session)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    for number, (name, chain) in enumerate(SESSIONS.items()):
        log_chain(tmp_path, name, chain, begin=1000.0 * number)
    return tmp_path


COUNTERS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def test_the_published_chains_hold_in_every_row(published: Path) -> None:
    found = told("-c", str(published))
    assert {
        chain["session"]: [[row[name] for name in COUNTERS] for row in chain["rows"]] for chain in found["sessions"]
    } == SESSIONS
    for chain in found["sessions"]:
        assert [row["holds"] for row in chain["rows"]] == [None, True, True, True, True]
        assert {row["cause"] for row in chain["rows"]} == {None}
    assert found["summary"]["warm_starts"] == CHAINS["warm_start"]
    assert (found["summary"]["broken"], found["summary"]["written_again"]) == (0, 0)
    cells = [row for chain in SESSIONS.values() for row in chain]
    assert found["summary"]["cache_read_input_tokens"] == sum(row[2] for row in cells)
    assert found["summary"]["total_input_tokens"] == sum(sum(row[:3]) for row in cells)


def test_the_published_chains_as_a_table(published: Path) -> None:
    shown = run("-c", str(published))
    for chain in SESSIONS.values():
        for turn, (fresh, created, read, output) in enumerate(chain):
            cells = [f"{fresh:,}", f"{created:,}", f"{created:,}", f"{read:,}", f"{output:,}"] + ["yes"] * (turn > 0)
            assert any(line.split()[1 : len(cells) + 1] == cells for line in shown.splitlines()), cells
    assert shown.count("yes") == 16
    assert "read(n)==read(n-1)+create(n-1)?" in shown
    assert "start with a warm cache: 8d1e4b07, 5c02f9a3" in shown
    assert "breaks: 0;" in shown


def test_the_newest_sessions_only(published: Path) -> None:
    names = [chain["session"] for chain in told("3", "-c", str(published))["sessions"]]
    assert names == list(SESSIONS)[1:]
    assert told("3", "-c", str(published))["summary"]["warm_starts"] == ["5c02f9a3"]
    assert len(told("99", "-c", str(published))["sessions"]) == 4
    assert "0 sessions cannot be shown" in CliRunner().invoke(app, ["cache", "0", "-c", str(published)]).stderr


def test_a_break_can_end_the_command_with_a_failure(published: Path, tmp_path: Path) -> None:
    run("--check", "-c", str(published))
    log_chain(tmp_path / "broken", "s", [[2, 100, 0, 5], [2, 50, 10, 5]])
    run("--check", "-c", str(tmp_path / "broken"), code=1)


# Every row of the published chains, altered

LESS = 7


@pytest.mark.parametrize("session", SESSIONS)
def test_one_counter_of_one_row_breaks_exactly_the_rows_that_it_must(tmp_path: Path, session: str) -> None:
    altered: dict[str, tuple[list[list[int]], int, int]] = {}
    for turn, column, by in product(range(5), (1, 2), (-LESS, LESS)):
        chain = [list(row) for row in SESSIONS[session]]
        chain[turn][column] += by if chain[turn][column] + by >= 0 else LESS
        name = f"{session}-{turn}-{column}-{by}"
        altered[name] = chain, turn, column
        log_chain(tmp_path, name, chain, begin=100.0 * len(altered))
    for name, rows in chains_of(tmp_path).items():
        chain, turn, column = altered[name]
        touched = {turn, turn + 1} if column == 2 else {turn + 1}
        assert [place for place, row in enumerate(rows) if row["holds"] is False] == sorted(touched & {1, 2, 3, 4})
        for before, row in pairwise(rows):
            assert row["expected_read"] == before["cache_creation_input_tokens"] + before["cache_read_input_tokens"]
            missing = row["expected_read"] - row["cache_read_input_tokens"]
            cause = {0: None, LESS: "unknown", -LESS: "written_elsewhere"}[missing]
            assert (row["holds"], row["cause"], row["broken"]) == (missing == 0, cause, missing == LESS), name
            assert row["written_again"] == (LESS if missing == LESS else 0)
    assert len(altered) == 20


@pytest.mark.parametrize("session", SESSIONS)
def test_the_cause_as_far_as_a_log_tells_it(tmp_path: Path, session: str) -> None:
    variants = [(turn, cause) for turn in range(1, 5) for cause in ("unknown", "model", "compaction", "expired")]
    for number, (turn, cause) in enumerate(variants):
        chain = [list(row) for row in SESSIONS[session]]
        chain[turn][1] += chain[turn][2]  # all that should have been read is written again
        chain[turn][2] = 0
        odd: dict[str, Callable[[int], Any]] = {}
        begin = 20_000.0 * number
        if cause == "model":
            odd["model"] = lambda n, turn=turn: "claude-haiku-5-5" if n >= turn else "claude-opus-5-5"
        elif cause == "compaction":
            odd["before"] = lambda n, turn=turn: logs.compacted() if n == turn else None
        elif cause == "expired":
            odd["gap"] = lambda n, turn=turn: 3601.0 if n == turn else 3590.0
        log_chain(tmp_path, f"{turn}-{cause}", chain, begin=begin, **odd)
    found = chains_of(tmp_path)
    assert len(found) == 16
    for turn, cause in variants:
        rows = found[f"{turn}-{cause}"]
        assert [row["holds"] for row in rows[1:]] == [place != turn for place in range(1, 5)]
        row = rows[turn]
        assert (row["cause"], row["broken"], row["ttl"]) == (cause, True, "1h")
        assert row["written_again"] == (0 if cause == "compaction" else row["expected_read"])


def test_in_a_log_without_lifetimes_five_minutes_are_not_assumed(tmp_path: Path) -> None:
    def session(name: str, gap: float) -> None:
        rows: list[logs.Row | bytes] = []
        for turn in range(2):
            counted = logs.usage(read=0, written=50_000, cache_creation=logs.ABSENT)
            at = turn * gap
            rows += [logs.user(f"{turn}", at=at), logs.assistant(f"msg_{name}{turn}", counted, at=at)]
        logs.log(tmp_path, *rows, session=name)

    session("a", 600)
    session("b", 4000)
    assert {chain["session"]: chain["rows"][1]["cause"] for chain in told("-c", str(tmp_path))["sessions"]} == {
        "a": "unknown",
        "b": "expired",
    }


# Cases from public reports

SYSTEM: list[dict[str, Any]] = [
    {"type": "text", "text": "You are careful. " * 200, "cache_control": {"type": "ephemeral"}}
]
TOOLS: list[dict[str, Any]] = [
    {
        "name": name,
        "description": f"tool {name} " * 20,
        "input_schema": {"type": "object", "properties": {"x": {}, "y": {}}},
    }
    for name in "abc"
]


def usage(read: int | None, written: int | None, *, hour: int = 0, fresh: int = 5, **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"input_tokens": fresh, "output_tokens": 10}
    if read is not None:
        told["cache_read_input_tokens"] = read
    if written is not None:
        told["cache_creation_input_tokens"] = written
        told["cache_creation"] = {"ephemeral_5m_input_tokens": written - hour, "ephemeral_1h_input_tokens": hour}
    return told | more


def talk(turns: int, *, mark: int | None = -1, ttl: str = "5m") -> list[dict[str, Any]]:
    """Messages of a conversation, the user's last one at the end, with a breakpoint on one of them."""
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": [{"type": "text", "text": f"question {turn}"}]})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"answer {turn}"}]})
    messages.pop()
    if mark is not None:
        messages[mark]["content"][-1] |= {"cache_control": {"type": "ephemeral", "ttl": ttl}}
    return messages


class Capture:
    """A capture file that grows by calls."""

    def __init__(self, folder: Path, fold_over: int = 400) -> None:
        self.folder = folder
        self.fold_over = fold_over
        self.lines = [start(fold_over)]
        self.calls = 0

    def call(
        self,
        counted: dict[str, Any] | None,
        turns: int = 1,
        *,
        at: float | None = None,
        agent: str | None = None,
        session: str | None = "s",
        host: str = "api.anthropic.com",
        took: float = 1.0,
        answer: dict[str, Any] | None = None,
        raw: bytes | None = None,
        **fields: Any,
    ) -> None:
        self.calls += 1
        name = str(self.calls)
        body = {
            "model": "claude-opus-5-5",
            "max_tokens": 1000,
            "tools": TOOLS,
            "system": SYSTEM,
            "messages": talk(turns),
        }
        sent = {field: value for field, value in (body | fields).items() if value is not None}
        headers = [("content-type", "application/json")]
        headers += [("x-claude-code-session-id", session)] * (session is not None)
        headers += [("x-claude-code-agent-id", agent or "")] * (agent is not None)
        when = 20.0 * self.calls if at is None else at
        content = [{"type": "text", "text": f"answer {turns - 1}"}]
        told = {
            "message_id": f"msg_{name}",
            "headers": {"request-id": f"req_{name}"},
            "content": content,
            "usage": counted,
        }
        told |= {"first_byte": 0.5, "last": took, "model": sent["model"]} | (answer or {})
        line = request(name, raw or dump(sent), at=when, fold_over=self.fold_over, headers=tuple(headers), host=host)
        self.lines += [line, response(name, **told)]

    def rows(self) -> list[dict[str, Any]]:
        return rows_of(self.written())

    def written(self) -> Path:
        return written(self.folder, "1.jsonl", *self.lines, end())


@pytest.fixture
def capture(tmp_path: Path) -> Capture:
    return Capture(tmp_path / "captures")


def places(rows: Sequence[dict[str, Any]]) -> list[tuple[str | None, str | None, str | None]]:
    """The cause of each row, with the path of the first difference and what became of it."""
    return [(row["cause"], *((row["difference"] or {}).get(name) for name in ("path", "change"))) for row in rows]


def test_f01_each_change_of_the_tools_is_named(capture: Capture) -> None:
    a, b, c = TOOLS
    described = c | {"description": c["description"].replace("tool", "instrument", 1)}
    ordered = described | {"input_schema": {"type": "object", "properties": {"y": {}, "x": {}}}}
    for turn, tools in enumerate([[a, b, c], [a, c], [a, b, c], [b, a, c], [b, a, described], [b, a, ordered]], 1):
        capture.call(usage(0, 1500), turn, tools=tools)
    rows = capture.rows()
    assert places(rows[1:]) == [
        ("tools_removed", "tools[1]", "tool removed"),
        ("tools_added", "tools[1]", "tool added"),
        ("tools_reordered", "tools[0]", "tool reordered"),
        ("tools_changed", "tools[2]", "tool description changed"),
        ("tools_changed", "tools[2]", "tool schema key order"),
    ]
    assert [row["difference"]["name"] for row in rows[1:]] == ["b", "b", "b", "c", "c"]
    shown = run("-c", str(capture.folder))
    assert "first difference at tools[1] (b): tool removed" in shown
    assert "order of keys" in shown


def test_f03_a_summary_in_place_of_the_conversation_is_a_compaction(capture: Capture) -> None:
    capture.call(usage(0, 90_000), 150)
    summary = "This session is being continued from a previous conversation that ran out of context. " * 3
    capture.call(
        usage(1200, 5000), messages=[{"role": "user", "content": [{"type": "text", "text": summary}]}], at=4000.0
    )
    row = capture.rows()[1]
    assert (row["cause"], row["written_again"]) == ("compaction", 0)


def test_f03_results_that_age_in_place_are_a_rewritten_history(capture: Capture) -> None:
    def messages(turns: int, gone: int) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = [{"role": "user", "content": "begin"}]
        for turn in range(turns):
            text = "old" if turn < gone else f"result {turn} " * 50
            out.append(
                {"role": "assistant", "content": [{"type": "tool_use", "id": f"t{turn}", "name": "a", "input": {}}]}
            )
            out.append(
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{turn}", "content": text}]}
            )
        out[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
        return out

    capture.call(usage(0, 20_000), messages=messages(5, 0))
    capture.call(usage(1200, 20_000), messages=messages(6, 1))
    capture.call(usage(1200, 20_000), messages=messages(7, 2))
    assert places(capture.rows()[1:]) == [
        ("message_rewritten", "messages[2].content[0].content", "message changed"),
        ("message_rewritten", "messages[4].content[0].content", "message changed"),
    ]


def test_f03_edits_of_the_server_are_told_from_its_answer(capture: Capture) -> None:
    edits = {
        "applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 5000}]
    }
    capture.call(usage(0, 440_000), 1)
    capture.call(usage(22_000, 4000), 2, answer={"rest": {"context_management": edits}}, at=2000.0)
    row = capture.rows()[1]
    assert (row["cause"], row["broken"], row["difference"]) == ("context_editing", True, None)


@pytest.mark.parametrize(
    ("gap", "hour", "cause"),
    [
        (299, False, "unexplained"), (301, False, "expired"), (3660, False, "expired"),
        (299, True, "unexplained"), (301, True, "unexplained"), (3660, True, "expired"),
    ],
)  # fmt: skip
def test_f04_the_gap_counts_from_the_start_of_the_call_before(
    capture: Capture, gap: int, hour: bool, cause: str
) -> None:
    wrote = 2000 if hour else 0
    ttl = "1h" if hour else "5m"
    system = [SYSTEM[0] | {"cache_control": {"type": "ephemeral", "ttl": ttl}}]
    capture.call(usage(0, 2000, hour=wrote), 1, at=10, system=system, messages=talk(1, ttl=ttl))
    capture.call(usage(0, 2100, hour=wrote), 2, at=10 + gap, system=system, messages=talk(2, ttl=ttl))
    row = capture.rows()[1]
    assert (row["cause"], row["ttl"], row["gap_seconds"]) == (cause, ttl, gap)


def test_f04_an_answer_that_streams_for_eight_minutes_outlives_its_own_cache(capture: Capture) -> None:
    capture.call(usage(0, 2000), 1, at=10, took=480)
    capture.call(usage(0, 2100), 2, at=500)
    row = capture.rows()[1]
    assert (row["cause"], row["gap_seconds"]) == ("expired", 490)
    assert "490 s after the start of #1, time to live 5m" in run("-c", str(capture.folder))


def test_f04_a_hit_renews_the_time_to_live(capture: Capture) -> None:
    for turn in range(4):
        capture.call(usage(2000 if turn else 0, 0 if turn else 2000), 1, at=10 + 290 * turn)
    rows = capture.rows()
    assert [row["holds"] for row in rows] == [None, True, True, True]
    assert [row["predicted"]["cache_read_input_tokens"] for row in rows] == [0, 2000, 2000, 2000]


def test_f05_sub_agents_have_a_chain_and_a_time_to_live_of_their_own(capture: Capture) -> None:
    system = [{"type": "text", "text": "You are a sub-agent. " * 150}]
    for turn in range(3):
        first = turn == 0
        capture.call(usage(0 if first else 4900 + 100 * turn, 5000 if first else 100, hour=5000 if first else 100),
                     turn + 1, at=1000 * turn, messages=talk(turn + 1, ttl="1h"))  # fmt: skip
        capture.call(usage(0, 3000 + turn), turn + 1, at=1000 * turn + 10, agent="a1", system=system)
    chains = {chain["thread"]: chain["rows"] for chain in told("-c", str(capture.written()))["sessions"]}
    assert [row["holds"] for row in chains["main"]] == [None, True, True]
    assert [(row["cause"], row["ttl"]) for row in chains["a1"]] == [(None, None), ("expired", "5m"), ("expired", "5m")]
    assert {row["ttl"] for row in chains["main"][1:]} == {"1h"}


def test_f05_a_time_to_live_that_was_not_asked_for_is_told(capture: Capture) -> None:
    system = [SYSTEM[0] | {"cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    capture.call(usage(0, 2000), 1, at=10, system=system, messages=talk(1, ttl="1h"))
    capture.call(usage(0, 2100), 2, at=610, system=system, messages=talk(2, ttl="1h"))
    first, second = capture.rows()
    assert first["ttl_mismatch"] == {"requested": "1h", "served": "5m"}
    assert (second["cause"], second["ttl"]) == ("expired", "5m")
    assert "#1 asked for 1h and was written for 5m" in run("-c", str(capture.folder))


def test_f05_what_was_given_as_asked_for_is_no_mismatch(capture: Capture) -> None:
    system = [SYSTEM[0] | {"cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    capture.call(usage(0, 2000, hour=1500), 1, system=system)
    capture.call(usage(None, None), 2, system=system)
    capture.call(usage(0, 2000, hour=1500, server_tool_use={"web_search_requests": 1}), 3)
    assert [row["ttl_mismatch"] for row in capture.rows()] == [None, None, None]


BILLING = "x-anthropic-billing-header: cc_version=1.2.3.abc; cc_entrypoint=cli; cch={n};"
LINES = {
    "block": [BILLING],
    "no cch": ["x-anthropic-billing-header: cc_version=1.2.3.{n}; cc_entrypoint=cli;"],
    "more": [BILLING + " cc_workload=cron; cc_is_subagent=true;"],
    "string": BILLING + "\nYou are careful. ",
}


def _system(form: str, n: int) -> Any:
    line = LINES[form]
    if isinstance(line, str):
        return line.format(n=n) + "You are careful. " * 200
    return [{"type": "text", "text": text.format(n=n)} for text in line] + SYSTEM


@pytest.mark.parametrize("form", LINES)
def test_f06_at_the_first_party_the_billing_line_is_no_cause(tmp_path: Path, form: str) -> None:
    capture = Capture(tmp_path, -1 if form == "string" else 400)
    capture.call(usage(0, 2000), 1, system=_system(form, 1))
    capture.call(usage(2000, 100), 2, system=_system(form, 2))
    capture.call(usage(0, 2200), 3, system=_system(form, 3))
    rows = capture.rows()
    assert [(row["holds"], row["cause"]) for row in rows] == [(None, None), (True, None), (False, "unexplained")]
    assert [row["predicted"]["cache_read_input_tokens"] for row in rows] == [0, 2000, 2100]
    assert all(row["predicted"]["exact"] for row in rows)


@pytest.mark.parametrize(("form", "over"), [*((form, 400) for form in LINES), ("string", -1)])
def test_f06_at_another_host_that_never_reads_the_billing_line_is_named(tmp_path: Path, form: str, over: int) -> None:
    capture = Capture(tmp_path, over)
    for turn in range(1, 4):
        capture.call(usage(0, 2000 + turn), turn, system=_system(form, turn), host="gateway.example")
    rows = capture.rows()
    assert [row["cause"] for row in rows] == [None, "billing_header", "billing_header"]
    assert not any(row["predicted"]["exact"] for row in rows)


def test_f06_a_billing_line_that_was_folded_with_the_text_after_it_leaves_the_cause_open(capture: Capture) -> None:
    capture.call(usage(0, 2000), 1, system=_system("string", 1))
    capture.call(usage(2000, 100), 2, system=_system("string", 2))
    capture.call(usage(0, 2200), 3, system=_system("string", 3))
    rows = capture.rows()
    assert [(row["holds"], row["cause"]) for row in rows] == [(None, None), (True, None), (False, "unknown")]
    assert not any(row["predicted"]["exact"] for row in rows)


def test_f06_at_another_host_a_line_that_stays_the_same_is_no_cause(capture: Capture) -> None:
    for turn in range(1, 3):
        capture.call(usage(0, 2000 + turn), turn, system=_system("block", 1), host="gateway.example")
    assert capture.rows()[1]["cause"] == "unexplained"


def test_f07_a_moved_breakpoint_is_no_difference_and_is_listed(capture: Capture) -> None:
    capture.call(usage(0, 3000), messages=talk(6, mark=8))
    capture.call(usage(3000, 100), messages=talk(6, mark=10))
    first, second = capture.rows()
    assert (second["holds"], second["difference"]) == (True, None)
    assert [mark["path"] for mark in first["breakpoints"]] == ["system[0]", "messages[8].content[0]"]
    assert [mark["path"] for mark in second["breakpoints"]] == ["system[0]", "messages[10].content[0]"]


def test_f07_another_time_to_live_is_named_as_the_cause_of_a_write(capture: Capture) -> None:
    capture.call(usage(0, 3000), 1)
    system = [SYSTEM[0] | {"cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    capture.call(usage(0, 3000, hour=2900), 2, system=system)
    row = capture.rows()[1]
    assert (row["cause"], row["difference"]) == ("ttl", None)
    assert row["breakpoints"][0] == {"path": "system[0]", "ttl": "1h"}


def test_f07_more_than_twenty_blocks_between_breakpoints(capture: Capture) -> None:
    capture.call(usage(0, 3000), 1)
    capture.call(usage(1200, 3000), 12)
    assert capture.rows()[1]["cause"] == "look_back"


def test_f08_another_order_of_keys_is_a_change_of_the_prompt_and_another_escape_is_none(capture: Capture) -> None:
    def body(turns: int, *keys: str, escaped: bool = False) -> bytes:
        tool = {"name": "a", "input_schema": {"type": "object", "properties": {key: {"const": "<"} for key in keys}}}
        sent = {
            "model": "claude-opus-5-5",
            "max_tokens": 10,
            "tools": [tool],
            "system": SYSTEM,
            "messages": talk(turns),
        }
        return dump(sent).replace(b'"<"', b'"\\u003c"') if escaped else dump(sent)

    capture.call(usage(0, 3000), raw=body(1, "x", "y"))
    capture.call(usage(0, 3000), 2, raw=body(2, "y", "x"))
    capture.call(usage(0, 3000), 3, raw=body(3, "y", "x", escaped=True))
    assert places(capture.rows()[1:]) == [
        ("tools_changed", "tools[0]", "tool schema key order"),
        ("unexplained", None, None),
    ]


def test_f09_a_date_in_the_system_prompt_is_found_with_its_place(capture: Capture) -> None:
    def system(day: int, clock: str, status: str) -> list[dict[str, Any]]:
        environment = f"<env>Today's date: 2026-11-{day} {clock}</env>"
        return [*SYSTEM, {"type": "text", "text": environment}, {"type": "text", "text": f"gitStatus: {status}"}]

    capture.call(usage(0, 3000), 1, system=system(29, "", "clean"))
    capture.call(usage(1200, 1800), 2, system=system(30, "", "clean"))
    capture.call(usage(1200, 1800), 3, system=system(30, "", "M a.py"))
    capture.call(usage(1200, 1800), 4, system=system(30, "12:00:01", "M a.py"))
    capture.call(usage(1200, 1800), 5, system=system(30, "12:00:02", "M a.py"))
    rows = capture.rows()[1:]
    assert places(rows) == [("system", f"system[{block}]", "system changed") for block in (1, 2, 1, 1)]
    spots = [row["difference"]["spot"] for row in rows]
    assert [(spot["path"], spot["at"]) for spot in spots] == [
        ("system[1]", len("<env>Today's date: 2026-11-")),
        ("system[2]", len("gitStatus: ")),
        ("system[1]", len("<env>Today's date: 2026-11-30 ")),
        ("system[1]", len("<env>Today's date: 2026-11-30 12:00:0")),
    ]


def test_f10_a_model_that_was_left_may_be_read_again(capture: Capture) -> None:
    for turn, (model, counted) in enumerate(
        [
            ("claude-opus-5-5", usage(0, 2000)),
            ("claude-haiku-5-5", usage(0, 2050)),
            ("claude-opus-5-5", usage(2000, 100)),
        ],
        1,
    ):
        capture.call(counted, turn, model=model)
    rows = capture.rows()
    assert [row["cause"] for row in rows] == [None, "model", "model"]
    assert rows[2]["predicted"]["cache_read_input_tokens"] == 2000
    assert rows[2]["predicted"]["exact"] is True


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"thinking": {"type": "adaptive"}}, "thinking"),
        ({"output_config": {"effort": "high"}}, "effort"),
        ({"tool_choice": {"type": "tool", "name": "a"}}, "tool_choice"),
        ({"speed": "fast"}, "speed"),
    ],
)
def test_f10_a_setting_that_changed_is_named(capture: Capture, fields: dict[str, Any], cause: str) -> None:
    capture.call(usage(0, 2000), 1)
    capture.call(usage(1200, 900), 2, **fields)
    row = capture.rows()[1]
    assert (row["cause"], row["difference"]["path"]) == (cause, next(iter(fields)))


def test_f10_images_that_come_and_go(capture: Capture) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    shown = [*talk(2), {"role": "assistant", "content": "answer 1"}, {"role": "user", "content": [image]}]
    capture.call(usage(0, 2000), 2)
    capture.call(usage(1200, 900), 3, messages=shown)
    gone = [*shown[:4], {"role": "user", "content": "an image was here"}]
    gone += [{"role": "assistant", "content": "answer 2"}, *talk(1)]
    capture.call(usage(1200, 900), 4, messages=gone)
    assert places(capture.rows()[1:]) == [
        ("images", "messages[4].content[0]", "image appeared"),
        ("images", "messages[4].content[0]", "image removed"),
    ]


def test_f10_citations_that_are_switched_on(capture: Capture) -> None:
    cited = {"type": "document", "source": {"type": "text", "data": "x"}, "citations": {"enabled": True}}
    capture.call(usage(0, 2000), 1)
    capture.call(usage(0, 2100), 2, messages=[*talk(2)[:2], {"role": "user", "content": [cited]}])
    assert places(capture.rows()[1:]) == [("citations", "messages[2].content[0]", "citations appeared")]


def test_f11_below_the_minimum_nothing_is_broken(capture: Capture) -> None:
    for turn in range(1, 4):
        capture.call(usage(0, 0, fresh=300), turn)
    rows = capture.rows()
    assert [(row["holds"], row["broken"], row["cause"]) for row in rows] == [
        (None, False, "below_minimum"),
        (True, False, "below_minimum"),
        (True, False, "below_minimum"),
    ]
    run("--check", "-c", str(capture.folder))


@pytest.mark.parametrize("session", ["s", None])
def test_f11_two_at_once_are_no_break(capture: Capture, session: str | None) -> None:
    capture.call(usage(0, 2000), 1, at=10, session=session)
    capture.call(usage(0, 2000), 1, at=10.1, session=session)
    rows = capture.rows()
    assert [(row["broken"], row["cause"], row["written_again"]) for row in rows] == [
        (False, None, 0),
        (False, "concurrent", 0),
    ]
    assert rows[1]["predicted"]["cache_read_input_tokens"] == 0
    run("--check", "-c", str(capture.folder))


def test_f11_a_first_write_and_a_read_of_what_others_wrote_are_no_breaks(capture: Capture) -> None:
    capture.call(usage(55_000, 100), 1)
    capture.call(usage(60_000, 100), 2)
    rows = capture.rows()
    assert [(row["holds"], row["broken"], row["cause"]) for row in rows] == [
        (None, False, None),
        (False, False, "written_elsewhere"),
    ]
    assert told("-c", str(capture.folder))["summary"]["warm_starts"] == ["s"]


def test_a06_what_a_hidden_pass_wrote_is_told_and_the_law_is_left_open(capture: Capture) -> None:
    compaction = {"type": "compaction"} | usage(0, 55_000, fresh=100)
    message = {"type": "message", "input_tokens": 229, "output_tokens": 5}
    counted = usage(0, 0, fresh=229, iterations=[compaction, message])
    capture.call(counted, 1)
    capture.call(usage(55_000, 100), 2)
    rows = capture.rows()
    assert rows[0]["billed"]["cache_creation_input_tokens"] == 55_000
    assert (rows[1]["holds"], rows[1]["cause"]) == (None, None)
    assert "#1 wrote 55,000 tokens in passes that its own counters do not tell" in run("-c", str(capture.folder))


@pytest.mark.parametrize("counted", [usage(None, None), usage(None, None, cache_read_input_tokens=None)])
def test_h04_a_counter_that_is_absent_or_null_is_no_miss(capture: Capture, counted: dict[str, Any]) -> None:
    capture.call(usage(0, 2000), 1)
    capture.call(counted, 2)
    capture.call(usage(0, 2200), 3)
    rows = capture.rows()
    assert [(row["holds"], row["broken"], row["cause"]) for row in rows[1:]] == [(None, None, None)] * 2
    assert {row[name] for row in rows[1:] for name in ("written_again", "sent_again", "surcharge_usd")} == {None}
    assert rows[1]["cache_read_input_tokens"] is None
    assert told("-c", str(capture.folder))["summary"]["broken"] is None


def test_h04_zero_is_a_known_miss(capture: Capture) -> None:
    capture.call(usage(0, 2000), 1)
    capture.call(usage(0, 2100), 2)
    row = capture.rows()[1]
    assert (row["holds"], row["broken"], row["cause"], row["written_again"]) == (False, True, "unexplained", 2000)


# What is shown


def test_the_server_s_own_verdict_stands_beside_ours(capture: Capture) -> None:
    verdict = {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 1900}}
    capture.call(usage(0, 2000), 1)
    capture.call(usage(0, 2100), 2, tools=TOOLS[:2], answer={"rest": {"diagnostics": verdict}})
    row = capture.rows()[1]
    assert row["cause"] == "tools_removed"
    assert row["server"] == {"cache_miss_reason": "tools_changed", "cache_missed_input_tokens": 1900}
    assert "the server says tools_changed" in run("-c", str(capture.folder))


@pytest.mark.parametrize(("hour", "usd"), [(0, 1.25), (1_000_100, 2.00)])
def test_a_break_is_priced_as_written_less_what_reading_costs(capture: Capture, hour: int, usd: float) -> None:
    capture.call(usage(0, 1_000_000), 1, model="claude-haiku-4-5")
    capture.call(usage(0, 1_000_100, hour=hour), 2, model="claude-haiku-4-5")
    row = capture.rows()[1]
    assert row["written_again"] == 1_000_000
    assert row["surcharge_usd"] == pytest.approx(usd - 0.10)


def test_side_calls_are_no_session_to_show(capture: Capture) -> None:
    capture.call(usage(0, 2000), 1)
    quota = [{"role": "user", "content": "quota"}]
    capture.call(usage(0, 0), session="t", max_tokens=1, tools=None, system=None, messages=quota)
    assert [chain["session"] for chain in told("1", "-c", str(capture.written()))["sessions"]] == ["s"]


@pytest.mark.parametrize("over", [0, 400, -1])
def test_folding_changes_nothing(tmp_path: Path, over: int) -> None:
    def shown(fold_over: int) -> Any:
        capture = Capture(tmp_path / str(fold_over), fold_over)
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
        capture.call(usage(0, 2000), 1, system=_system("block", 1))
        capture.call(usage(2000, 100), 2, system=_system("block", 2))
        capture.call(usage(0, 2200), 3, system=_system("block", 3), tools=TOOLS[::-1])
        capture.call(usage(1300, 1000), 14, system=_system("block", 4), tools=TOOLS[::-1])
        capture.call(usage(1300, 1000), 15, system=_system("block", 5), tools=TOOLS[::-1],
                     messages=[*talk(15), {"role": "user", "content": [image]}])  # fmt: skip
        capture.call(usage(1300, 1000), 16, system=[*SYSTEM, {"type": "text", "text": "The 30th"}])
        capture.call(usage(1300, 1000), 17, system=[*SYSTEM, {"type": "text", "text": "The 31st"}])
        return told("-c", str(capture.written()))

    def without_places_inside(found: Any) -> Any:
        """Inside a folded text a difference has no place."""
        for chain in found["sessions"]:
            for row in chain["rows"]:
                if row["difference"] is not None:
                    row["difference"].pop("spot")
        return found

    whole = without_places_inside(shown(-1))
    causes = [row["cause"] for chain in whole["sessions"] for row in chain["rows"]]
    assert causes == [None, None, "tools_reordered", "look_back", "images", "tools_reordered", "system"]
    assert without_places_inside(shown(over)) == whole
