"""``sessions``, ``sessions --compare`` and ``show`` of message threads, run as a user runs them."""

import json
from pathlib import Path
from typing import Any

import pytest
import session_logs as logs
from capture_files import end, request, response, start, written
from json_values import DATA
from recorded_session import OLDER, unpacked
from typer.testing import CliRunner

from analyzers.cli import app
from analyzers.sizes import size
from analyzers.wire.jsontext import dump

CHAINS = json.loads((DATA / "published-cache-chains.json").read_text())
TOOLS = [{"name": "Bash", "description": "run " * 200, "input_schema": {"type": "object"}}]
SYSTEM = "You are careful. " * 50


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.stdout


def told(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


def failing(*arguments: str, code: int) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.stderr


def sent(*texts: str, **fields: Any) -> bytes:
    messages = [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(texts)]
    body = {"model": "claude-haiku-4-5", "max_tokens": 1000, "system": SYSTEM, "tools": TOOLS, "messages": messages}
    return dump({name: value for name, value in (body | fields).items() if value is not None})


def exchange(name: str, body: bytes, said: str, *, at: float, session: str | None = "s", **changes: Any) -> list[bytes]:
    headers = [("content-type", "application/json")]
    if session is not None:
        headers.append(("x-claude-code-session-id", session))
    content = [{"type": "text", "text": said}]
    answer = {"headers": {"request-id": f"req_{name}"}, "message_id": f"msg_{name}", "content": content} | changes
    return [request(name, body, at=at, headers=tuple(headers)), response(name, **answer)]


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    """Two turns, a count of tokens, a call that failed and its retry."""
    lines = [
        start(),
        *exchange("a", sent("hi"), "hello", at=1.0),
        *exchange("b", sent("hi", "hello", "more"), "well", at=2.0, ended="error", status=529, content=None, usage=None,
                  message_id=None, model=None, error={"type": "overloaded_error", "message": "no", "request_id": None}),
        *exchange("c", sent("hi", "hello", "more"), "well", at=3.0),
        end(),
    ]  # fmt: skip
    return written(tmp_path / "captures", "1.jsonl", *lines)


SESSION_MEMBERS = {
    "session", "declared", "first", "last", "runs", "warm_start", "calls", "failed_attempts", "usage", "current_path",
    "current_path_usage", "threads", "side_calls", "notes",
}  # fmt: skip


def test_sessions_as_json(conversation: Path) -> None:
    [session] = told("sessions", "-c", str(conversation))["sessions"]
    assert set(session) == SESSION_MEMBERS
    assert (session["session"], session["calls"], session["failed_attempts"], session["runs"]) == ("s", 2, 1, 1)
    assert (session["warm_start"], session["current_path"]) == (False, [1, 3])
    assert session["usage"]["cache_creation_input_tokens"] == 2 * 24_613 and session["usage"]["complete"] is True
    [thread] = session["threads"]
    assert (thread["agent"], thread["messages"], thread["current"]) == (None, [1, 3], True)
    first, second = thread["turns"]
    assert (second["n"], second["step"], second["follows"], second["failed_attempts"]) == (3, "continues", 1, [2])
    assert (first["input_tokens"], first["output_tokens"], first["partial"], first["prompt_chars"]) == (
        10,
        45,
        False,
        None,
    )


def test_sessions_as_a_table(conversation: Path) -> None:
    shown = run("sessions", "-c", str(conversation))
    assert "failed attempts: 1" in shown and "#3 was attempt 2" in shown
    assert "sessions: 1, starting with a warm cache: 0, cold: 1" in shown
    assert [line.split()[:1] for line in shown.splitlines()[2:4]] == [["s"], ["main"]]


# The published sessions


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """The published cache chains, as their session logs would have them."""
    for number, (name, chain) in enumerate(CHAINS["sessions"].items()):
        rows: list[logs.Row | bytes] = []
        for turn, counters in enumerate(chain):
            fresh, created, read, output = counters
            at = 1000.0 * number + 10 * turn
            counted = logs.usage(fresh, output, read=read, written=created, hour=created)
            rows.append(logs.user(f"question {turn}", at=at))
            rows += [logs.assistant(f"msg_{name}_{turn}", counted, at=at + 1, apiBlockIndex=block) for block in (0, 1)]
        logs.log(tmp_path, *rows, session=name)
    return tmp_path


def test_exactly_the_published_sessions_start_warm(published: Path) -> None:
    found = told("sessions", "-c", str(published))["sessions"]
    assert [session["session"] for session in found if session["warm_start"]] == CHAINS["warm_start"]
    assert {session["warm_start"] for session in found} == {True, False}
    assert len(found) == 4
    assert "sessions: 4, starting with a warm cache: 2, cold: 2" in run("sessions", "-c", str(published))


def test_the_published_rows_come_out(published: Path) -> None:
    for session in told("sessions", "-c", str(published))["sessions"]:
        [thread] = session["threads"]
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
        rows = [[turn[name] for name in names] for turn in thread["turns"]]
        assert rows == CHAINS["sessions"][session["session"]]
        assert [turn["step"] for turn in thread["turns"]] == ["start", *["continues"] * 4]
        columns = [sum(column) for column in zip(*rows, strict=True)]
        assert [session["usage"][name] for name in names] == columns


# Sub-agents of logs


def test_sub_agents_of_a_log_are_threads_and_count_once(tmp_path: Path) -> None:
    """Rows in the parent's file and in the agent's own are the same calls; a tree without files counts the rows."""

    def main(*inline: logs.Row) -> list[logs.Row | bytes]:
        return [logs.user(at=0), logs.assistant("m1", at=1), *inline, logs.user(at=5), logs.assistant("m2", at=6)]

    inline = [logs.assistant(name, at=at, isSidechain=True, agentId="x") for name, at in (("a", 2), ("b", 3))]
    logs.log(tmp_path / "one", *main(*inline))
    own = [logs.user(at=2), *(logs.assistant(name, at=at) for name, at in (("a", 2), ("b", 3), ("c", 4)))]
    logs.agent_log(tmp_path / "one", "x", *own)
    logs.log(tmp_path / "two", *main(*inline))
    for tree, agents in (("one", 3), ("two", 2)):
        [session] = told("sessions", "-c", str(tmp_path / tree))["sessions"]
        turns = {thread["agent"]: len(thread["turns"]) for thread in session["threads"]}
        assert turns == {None: 2, "x": agents}
        assert session["calls"] == 2 + agents


def test_a_side_question_that_replays_the_conversation_is_one_call(tmp_path: Path) -> None:
    said = [row for n in range(20) for row in (logs.user(f"q{n}", at=2 * n), logs.assistant(f"m{n}", at=2 * n + 1))]
    logs.log(tmp_path, *said)
    copies = [row | {"agentId": "aside_question-1"} for row in said]
    logs.agent_log(tmp_path, "aside_question-1", *copies, logs.user("why", at=50), logs.assistant("new", at=51))
    [session] = told("sessions", "-c", str(tmp_path))["sessions"]
    assert session["calls"] == 21
    assert sorted(len(thread["turns"]) for thread in session["threads"]) == [1, 20]


# One exchange in several files


def test_an_exchange_that_two_files_hold_counts_once_and_keeps_its_number(conversation: Path) -> None:
    again = conversation.with_name("2.jsonl")
    again.write_bytes(conversation.read_bytes())
    problem = CliRunner().invoke(app, ["sessions", "-c", str(conversation.parent)]).stderr
    assert "3 exchanges are told again by other files, and were counted once" in problem
    [session] = told("sessions", "-c", str(conversation.parent))["sessions"]
    assert (session["calls"], session["failed_attempts"]) == (2, 1)
    listed = {row["n"]: row["output_tokens"] for row in told("list", "-c", str(conversation.parent))}
    turns = session["threads"][0]["turns"]
    assert [(turn["n"], listed[turn["n"]]) for turn in turns] == [(1, 45), (5, 45)]


def test_a_call_that_wire_and_log_tell_of_is_the_wires(conversation: Path, tmp_path: Path) -> None:
    place = tmp_path / "logs"
    rows = [
        logs.user(at=0),
        logs.assistant("msg_a", logs.usage(1, 1), at=1),
        logs.user(at=2),
        logs.assistant("msg_new", at=3),
    ]
    logs.log(place, *rows, session="s")
    [session] = told("sessions", "-c", str(conversation), "-c", str(place))["sessions"]
    listed = told("list", "-c", str(conversation), "-c", str(place))
    turns = [turn for thread in session["threads"] for turn in thread["turns"]]
    assert sorted(turn["output_tokens"] for turn in turns) == [10, 45, 45]
    assert all(listed[turn["n"] - 1]["output_tokens"] == turn["output_tokens"] for turn in turns)


# Compare


@pytest.fixture
def compared(conversation: Path, tmp_path: Path) -> list[str]:
    rows = [
        logs.user(at=0),
        logs.assistant("msg_a", logs.usage(10, 1, written=24_613), at=1, request="req_a"),
        logs.assistant("msg_lost", logs.usage(3, 7), at=9),
        logs.cost_state(inputTokens=20, outputTokens=90, cacheReadInputTokens=0, cacheCreationInputTokens=49_226),
    ]
    logs.log(tmp_path / "logs", *rows, session="s")
    logs.log(tmp_path / "logs", logs.user(at=0), logs.assistant("msg_old", at=1), session="older")
    return ["sessions", "-c", str(conversation), "--compare", str(tmp_path / "logs")]


def test_compare_as_json(compared: list[str]) -> None:
    found = told(*compared)
    [session] = found["sessions"]
    assert (session["session"], session["joined"], session["wire"]["calls"], session["log"]["calls"]) == ("s", 1, 3, 2)
    assert session["missed_by_log"]["calls"] == {"failed": 1, "turn": 1}
    assert [(found["n"], found["kind"]) for found in session["wire_only"]] == [(2, "failed"), (3, "turn")]
    assert [call["message_id"] for call in session["log_only"]] == ["msg_lost"]
    differs = {(found["n"], found["counter"]): (found["wire"], found["log"]) for found in session["differences"]}
    assert differs[1, "output_tokens"] == (45, 1)
    assert session["client_totals"]["output_tokens"] == 90
    assert found["not_recorded"] == {"sessions": 1, "calls": 1}


def test_compare_as_a_table(compared: list[str]) -> None:
    shown = run(*compared)
    for line in (
        "not in the log: 2 (failed requests 1, turns 1; total input 24,623, output 45)",
        "in the log and not recorded on the wire: 1",
        "#1 req_a: output_tokens is 45 on the wire, 1 in the log",
        "the client's own counter",
        "the log has 1 more sessions with 1 calls; nothing was recorded of them",
    ):
        assert line in shown


def test_compare_with_nothing_to_compare(conversation: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "no call in" in failing("sessions", "-c", str(conversation), "--compare", str(tmp_path / "empty"), code=3)
    failing("sessions", "-c", str(conversation), "--compare", str(tmp_path / "none"), code=3)
    failing("sessions", "-c", str(tmp_path / "empty"), "--compare", str(tmp_path / "empty"), code=3)


# Message threads


@pytest.fixture
def threaded(tmp_path: Path) -> Path:
    """A message thread in two files, whose later half has the name that is read first."""
    on = {"system": None, "tools": None}
    written(
        tmp_path / "thread", "2.jsonl", start(),
        *exchange("a", sent("hi", thread={"type": "create"}), "hello " * 100, at=1.0), end(),
    )  # fmt: skip
    written(
        tmp_path / "thread", "1.jsonl", start(),
        *exchange("b", sent("more", thread={"type": "continue", "previous_message_id": "msg_a"}, **on), "well", at=2.0),
        *exchange("c", sent("most", thread={"type": "continue", "previous_message_id": "msg_b"}, **on), "oh", at=3.0),
        end(),
    )  # fmt: skip
    return tmp_path / "thread"


def whole(*texts: str) -> dict[str, int]:
    messages: list[Any] = [
        {"role": "assistant", "content": [{"type": "text", "text": text}]}
        if n % 2
        else {"role": "user", "content": text}
        for n, text in enumerate(texts)
    ]
    body = {"model": "claude-haiku-4-5", "max_tokens": 1000, "system": SYSTEM, "tools": TOOLS, "messages": messages}
    return {name: size(value) for name, value in body.items()}


def test_show_of_a_message_thread_tells_the_prompt_beside_the_wire(threaded: Path) -> None:
    for n, texts in ((2, ("hi", "hello " * 100, "more")), (3, ("hi", "hello " * 100, "more", "well", "most"))):
        shown = told("show", str(n), "-c", str(threaded))
        assert shown["prompt"] == {
            "chars": sum(whole(*texts).values()), "messages": len(texts), "fields": whole(*texts), "partial": False,
        }  # fmt: skip
        assert [field["name"] for field in shown["fields"]] == ["model", "max_tokens", "messages", "thread"]
        assert shown["total"]["chars"] < shown["prompt"]["chars"]
    line = "the sizes above are those on the wire, of what is new; the whole prompt: 5 messages"
    assert line in " ".join(run("show", "3", "-c", str(threaded)).split())


def test_show_in_another_unit_tells_the_prompt_in_it(threaded: Path) -> None:
    chars, bytes_ = (told("show", "3", "-c", str(threaded), "--unit", unit)["prompt"] for unit in ("chars", "json"))
    assert bytes_["fields"]["model"] == chars["fields"]["model"] + 2


def test_show_of_a_thread_whose_start_is_missing(threaded: Path) -> None:
    late = str(threaded / "1.jsonl")
    assert told("show", "2", "-c", late)["prompt"] == {"chars": None, "messages": None, "fields": None, "partial": True}
    shown = " ".join(run("show", "2", "-c", late).split())
    assert "the start of the thread was not recorded, so the size of the whole prompt is not known" in shown
    assert "#1 partial: the start of its message thread was not recorded (so are 1 more)" in run("sessions", "-c", late)


def test_show_of_an_ordinary_request_has_no_other_prompt(conversation: Path, threaded: Path) -> None:
    assert told("show", "1", "-c", str(conversation))["prompt"] is None
    assert told("show", "1", "-c", str(threaded))["prompt"] is None
    assert "message thread" not in run("show", "1", "-c", str(conversation))


def test_sessions_of_a_message_thread_show_both_sizes(threaded: Path) -> None:
    [session] = told("sessions", "-c", str(threaded))["sessions"]
    [thread] = session["threads"]
    assert thread["messages"] == [1, 3, 5]
    last = thread["turns"][-1]
    sizes = sum(whole("hi", "hello " * 100, "more", "well", "most").values())
    assert (last["messages"], last["prompt_messages"], last["prompt_chars"]) == (1, 5, sizes)
    assert last["wire_chars"] == told("show", "3", "-c", str(threaded))["total"]["chars"]
    assert f"message thread: #3 sent {last['wire_chars']} chars of a prompt of {sizes:,}" in run(
        "sessions", "-c", str(threaded)
    )


# Many


def many(folder: Path, number: int) -> str:
    lines = [
        line
        for n in range(number)
        for line in exchange(f"q{n}", sent(f"question {n}"), f"answer {n}", at=float(n), session=f"s{n}")
    ]
    return str(written(folder, "many.jsonl", start(), *lines, end()))


def test_older_sessions_are_counted_and_all_shows_them(tmp_path: Path) -> None:
    place = many(tmp_path, 23)
    assert "3 older sessions are not shown (--all)" in run("sessions", "-c", place)
    assert "not shown" not in run("sessions", "-c", place, "--all")
    assert len(told("sessions", "-c", place)["sessions"]) == 23


def test_older_threads_of_one_session_are_counted_and_all_shows_them(tmp_path: Path) -> None:
    lines = [line for n in range(23) for line in exchange(f"q{n}", sent(f"question {n}"), f"answer {n}", at=float(n))]
    place = str(written(tmp_path, "1.jsonl", start(), *lines, end()))
    shown = run("sessions", "-c", place)
    assert "3 older threads (--all)" in shown and "main, cleared after #22" in shown
    assert "older threads" not in run("sessions", "-c", place, "--all")


def test_nothing_recorded(tmp_path: Path) -> None:
    assert "no capture file in" in failing("sessions", "-c", str(tmp_path), code=3)
    empty = str(written(tmp_path, "1.jsonl", start(), end()))
    assert run("sessions", "-c", empty) == "no request was recorded\n"
    assert told("sessions", "-c", empty) == {"sessions": []}


def test_a_fork_in_older_logs_leaves_its_calls_to_the_session_they_were_made_in(tmp_path: Path) -> None:
    recorded = unpacked(OLDER, tmp_path)
    wire = {row["session"]: row for row in told("sessions", "-c", str(recorded.captures))["sessions"]}
    log = {row["session"]: row for row in told("sessions", "-c", str(recorded.logs))["sessions"]}
    assert list(log) == list(wire)
    for name, row in log.items():
        origins = [[thread["session_from"] for thread in side["threads"]] for side in (row, wire[name])]
        assert origins[0] == origins[1]
        assert row["warm_start"] == wire[name]["warm_start"]
    used = {row["session"]: row["requests"] for row in told("usage", "-c", str(recorded.logs))["sessions"]}
    assert used == {name: row["calls"] for name, row in log.items()}


def test_messages_counted_in_older_logs_are_lower_bounds(tmp_path: Path) -> None:
    shown = run("sessions", "-c", str(unpacked(OLDER, tmp_path).logs))
    assert "≥1 ≥3 ≥5" in shown
