"""The reading commands, run as a user runs them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from capture_files import body, end, packed, request, response, start, written
from json_values import DATA
from typer.testing import CliRunner

from analyzers.cli import app
from analyzers.wire.jsontext import Number

EXPECTED = json.loads((DATA / "published-request.expected.json").read_text())
PUBLISHED = str(DATA / "published-request.json")
LIST_MEMBERS = {
    "n", "time", "route", "model", "model_requested", "chars", "fields", "wire_bytes", "unexplained", "closes",
    "input_tokens",
    "cache_creation_input_tokens", "cache_read_input_tokens", "total_input_tokens", "output_tokens", "status", "error",
    "request_id", "ended", "reason", "taken", "failure",
}  # fmt: skip


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.stdout


def failing(*arguments: str, code: int) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.stderr


def as_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


@pytest.fixture
def session(tmp_path: Path) -> str:
    """Three requests out of order in two files: one answered, one refused, one cut."""
    error = {"type": "rate_limit_error", "message": "slow down", "request_id": "req_9"}
    written(
        tmp_path, "1.jsonl.zst", start(),
        request("b", body("second"), at=20.0), request("c", body("x" * 900), at=30.0),
        response("b", ended="error", status=429, usage=None, error=error, model=None, content=None), end(),
    )  # fmt: skip
    written(tmp_path, "2.jsonl", start(), request("a", body("first"), at=10.0), response("a"), end())
    return str(tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "1", "--captures", PUBLISHED),
        ("--captures", PUBLISHED, "show", "1"),
        ("--captures", PUBLISHED, "--show", "1"),
        ("--show", "1", "-c", PUBLISHED),
    ],
)
def test_show_of_the_published_request(arguments: tuple[str, ...]) -> None:
    shown = as_json(*arguments)
    assert {field["name"]: field["chars"] for field in shown["fields"]} == EXPECTED["fields"]
    assert {field["name"]: round(field["share"], 1) for field in shown["fields"]} == EXPECTED["shares_percent"]
    assert shown["total"] == {"chars": 82_922}
    blocks = {block["path"]: block for block in shown["blocks"]}
    assert [blocks[f"messages[0].content[{index}]"]["chars"] for index in range(5)] == EXPECTED["message_blocks"]
    assert blocks["messages[0].content[0]"]["class"] == "text"
    assert blocks["tools[0]"]["class"] == "description, schema"
    assert shown["structure"]["messages"] == EXPECTED["message_structure"]
    steps = {step["step"]: step["amount"] for step in shown["wire"]} | {"unexplained": shown["unexplained"]}
    assert steps == EXPECTED["wire_steps"]


def test_show_as_a_table_closes_in_sight() -> None:
    shown = run("show", "1", "--captures", PUBLISHED)
    for line in ("tools                72,272   87.2 %", "unexplained              0", "bytes on the wire   88,448"):
        assert line in shown


def test_show_hides_the_shorter_rows_with_their_sum_and_all_shows_them() -> None:
    assert "tools: 14 shorter rows" in run("show", "1", "--captures", PUBLISHED)
    assert "shorter rows" not in run("show", "1", "--all", "--captures", PUBLISHED)


def test_units() -> None:
    assert as_json("show", "1", "--unit", "bytes", "--captures", PUBLISHED)["total"] == {"chars": 82_956}
    assert "--unit 'stones' is not one of chars, utf16, bytes, json" in failing(
        "list", "--unit", "stones", "--captures", PUBLISHED, code=2
    )


def test_list_numbers_requests_by_time_over_all_files(session: str) -> None:
    rows = as_json("list", "--captures", session)
    assert [(row["n"], row["ended"]) for row in rows] == [(1, "completed"), (2, "error"), (3, "unanswered")]
    assert set(rows[0]) == LIST_MEMBERS
    first = rows[0]
    assert (first["model"], first["model_requested"]) == ("claude-haiku-4-5-20251001", "claude-haiku-4-5")
    assert (first["input_tokens"], first["cache_creation_input_tokens"], first["cache_read_input_tokens"]) == (
        10,
        24_613,
        0,
    )
    assert (first["total_input_tokens"], first["output_tokens"]) == (24_623, 45)
    assert first["fields"] == {"model": 16, "messages": 20}
    assert first["unexplained"] == 0
    assert rows[1]["total_input_tokens"] is None and rows[1]["request_id"] == "req_9"
    assert rows[2]["status"] is None


def test_how_a_request_was_taken_is_told_with_what_follows_for_claude_code(tmp_path: Path) -> None:
    agents = ("claude-cli/2.1.332 (external, cli)", "anthropic-python/0.97")
    pairs = [(way, agent) for way in ("run reverse", "run forward", None) for agent in agents]
    for number, (taken, agent) in enumerate(pairs):
        sent = request("1", body(), at=float(number), headers=[("user-agent", agent)])
        written(tmp_path, f"{number}.jsonl", start(taken=taken), sent, response("1"), end())
    run = CliRunner().invoke(app, ["--captures", str(tmp_path), "list", "--json"])
    ways = ["run reverse"] * 2 + ["run forward"] * 2 + [None] * 2
    assert [row["taken"] for row in json.loads(run.stdout)] == ways
    texts = [CliRunner().invoke(app, ["--captures", str(tmp_path), "show", str(n)]).stdout for n in range(1, 7)]
    assert ["taken by: weighbridge run reverse" in text for text in texts] == [True, True, False, False, False, False]
    assert ["another request then" in text for text in texts] == [True, False, False, False, False, False]


def test_list_without_a_command_and_from_the_environment(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_CAPTURES", session)
    table = run()
    assert table == run("list", "--captures", session)
    assert "24,623 = 10 + 24,613 + 0" in table
    assert "error 429 rate_limit_error req_9" in table


def test_show_of_an_error_gives_what_support_asks_for(session: str) -> None:
    shown = as_json("show", "2", "--captures", session)
    assert shown["error"] == {"type": "rate_limit_error", "message": "slow down", "request_id": "req_9"}
    assert "error: rate_limit_error: slow down (req_9)" in run("show", "2", "--captures", session)


def test_a_number_that_is_not_there(session: str) -> None:
    assert "there is no request 9: the captures hold 3" in failing("show", "9", "--captures", session, code=2)
    assert "no request 0" in failing("--show", "0", "--captures", session, code=2)


def test_nothing_to_read(tmp_path: Path) -> None:
    assert "does not exist; name a capture" in failing("list", "--captures", str(tmp_path / "none"), code=3)
    assert "no capture file in" in failing("list", "--captures", str(tmp_path), code=3)
    (tmp_path / "a.jsonl").write_bytes(b"")
    assert "a.jsonl: the file is empty" in failing("list", "--captures", str(tmp_path), code=3)
    assert "a.jsonl: the file is empty" in failing("show", "1", "--captures", str(tmp_path), code=3)


def test_a_torn_file_is_used_as_far_as_it_is_whole(tmp_path: Path) -> None:
    place = tmp_path / "a.jsonl"
    place.write_bytes(start() + request("a", body()) + response("a")[:40])
    result = CliRunner().invoke(app, ["list", "--captures", str(place)])
    assert result.exit_code == 0
    assert result.stderr.count("\n") == 1 and "line 3 is torn" in result.stderr
    assert "unanswered" in result.stdout


def test_check_fails_when_a_recorded_figure_does_not_meet_the_body(tmp_path: Path) -> None:
    line = request("a", body("x" * 900))
    written(tmp_path, "a.jsonl", start(), line, response("a"), end())
    run("list", "--check", "--captures", str(tmp_path))
    written(tmp_path, "a.jsonl", start(), line.replace(b'"chars":900', b'"chars":331'), response("a"), end())
    assert "DOES NOT CLOSE" in run("list", "--check", "--captures", str(tmp_path), code=1)
    assert "DOES NOT CLOSE: messages measured 346, must be 915" in run(
        "show", "1", "--check", "--captures", str(tmp_path), code=1
    )
    assert as_json("list", "--captures", str(tmp_path))[0]["unexplained"] == 569


def test_names_from_the_traffic_cannot_steer_the_terminal(tmp_path: Path) -> None:
    tools = b'{"model":"\\u001b]0;x\\u0007[red]","tools":[{"name":"\\u001b[31mevil[/red]"}],"messages":[]}'
    written(tmp_path, "a.jsonl", start(), request("a", tools), response("a", model="\x1b[2Jm"), end())
    for table in (run("list", "--captures", str(tmp_path)), run("show", "1", "--captures", str(tmp_path))):
        assert "\x1b" not in table and "\x07" not in table
    assert "\\u001b[31mevil[/red]" in run("show", "1", "--captures", str(tmp_path))


def test_a_batch_shows_each_request(tmp_path: Path) -> None:
    place = tmp_path / "batch.json"
    place.write_text(
        json.dumps(
            {
                "requests": [
                    {"custom_id": "a", "params": {"model": "m", "messages": [{"role": "user", "content": "hi"}]}}
                ]
            }
        )
    )
    shown = as_json("show", "1", "--captures", str(place))
    assert shown["route"] == "batches"
    assert [block["path"] for block in shown["blocks"]] == [
        "requests[0].params.model",
        "requests[0].params.messages[0].content",
    ]
    assert shown["unexplained"] == 0


def test_prune(session: str) -> None:
    assert "say what to remove" in failing("prune", "--captures", session, code=2)
    assert "would remove" in run("prune", "--larger", "0", "--dry-run", "--captures", session)
    assert len(as_json("prune", "--larger", "0", "--captures", session)) == 2
    assert list(Path(session).iterdir()) == []


def test_show_and_a_command_cannot_go_together(session: str) -> None:
    assert "cannot go together" in failing("--show", "1", "list", "--captures", session, code=2)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "analyzers", *arguments]


def test_standard_input(session: str) -> None:
    data = packed(start(), request("a", body()), response("a"), end())
    result = subprocess.run(
        command("--captures", "-", "--show", "1", "--json"), input=data, capture_output=True, check=True
    )
    assert json.loads(result.stdout)["ended"] == "completed"


@pytest.mark.parametrize("name", ["list", "usage", "sessions", "cache"])
def test_a_pipe_that_is_closed_before_anything_is_printed_is_no_error(session: str, name: str) -> None:
    with subprocess.Popen(
        command(name, "--captures", session), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_a_reader_of_the_pipe_that_goes_away_is_no_error(tmp_path: Path) -> None:
    lines = [part for n in range(3000) for part in (request(str(n), body(), at=float(n)), response(str(n)))]
    written(tmp_path, "a.jsonl.zst", start(), *lines, end())
    shell = f"{' '.join(command('list', '--captures', str(tmp_path)))} | head -1"
    result = subprocess.run(["sh", "-c", shell], capture_output=True, text=True)
    assert result.stderr == ""


def test_follow_prints_each_exchange_as_it_ends(tmp_path: Path) -> None:
    place = written(tmp_path, "a.jsonl", start(), request("a", body()), response("a"))
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command("list", "--follow", "--json", "--captures", str(tmp_path)), stdout=subprocess.PIPE, env=environment
    ) as followed:
        assert followed.stdout is not None
        try:
            assert json.loads(followed.stdout.readline())["n"] == 1
            with place.open("ab") as stream:
                half = request("b", body())
                stream.write(half[:50])
                stream.flush()
                time.sleep(0.7)
                stream.write(half[50:] + response("b"))
            second = json.loads(followed.stdout.readline())
            assert (second["n"], second["ended"]) == (2, "completed")
            written(tmp_path, "b.jsonl.zst", start(), request("c", body()), response("c", ended="client_gone"))
            assert json.loads(followed.stdout.readline())["ended"] == "client_gone"
        finally:
            followed.terminate()


def test_text_that_is_no_utf8_and_endless_numbers_are_printed_as_json_allows_them(tmp_path: Path) -> None:
    raw = b'{"model":"\\ud800","messages":[{"role":"user","content":"\\udfff"}],"\\udc00":1}'
    written(
        tmp_path,
        "a.jsonl",
        start(),
        request("a", raw),
        response("a", usage={"input_tokens": Number("1" + "0" * 30)}),
        end(),
    )
    written(tmp_path, "b.jsonl", start(), request("b", raw), response("b", model="\ud800"), end())
    rows = as_json("list", "--captures", str(tmp_path))
    assert [row["model_requested"] for row in rows] == ["\ud800", "\ud800"]
    assert as_json("show", "2", "--captures", str(tmp_path))["model"] == "\ud800"


def test_a_name_of_any_length_takes_one_line(tmp_path: Path) -> None:
    place = tmp_path / "a.json"
    place.write_text(json.dumps({"k" * 100_000: 1, "messages": []}))
    for arguments in (("list",), ("show", "1")):
        assert len(run(*arguments, "--captures", str(place))) < 4_000
    assert "(100,000 characters)" in run("show", "1", "--captures", str(place))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
def test_output_that_cannot_be_written_is_one_sentence(session: str) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(command("list", "--captures", session), stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert "the output cannot be written (No space left on device)" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_terminal_that_knows_little_gets_escapes(tmp_path: Path) -> None:
    raw = json.dumps({"tools": [{"name": "wägen 🙂"}], "messages": []}, ensure_ascii=False).encode()
    written(tmp_path, "a.jsonl", start(), request("a", raw), response("a", usage={"input_tokens": 1}), end())
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    arguments = command("show", "1", "--captures", str(tmp_path))
    result = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=True)
    assert "\\u" in result.stdout or "\\x" in result.stdout


def test_closed_streams_are_no_traceback(session: str) -> None:
    shell = (
        f"{' '.join(command('list', '--captures', session))} >&-; {' '.join(command('list', '--captures', '-'))} <&-"
    )
    result = subprocess.run(["sh", "-c", shell], capture_output=True, text=True)
    assert "Traceback" not in result.stderr


def test_follow_waits_for_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    arguments = command("list", "--follow", "--json", "--captures", str(tmp_path / "later"))
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as followed:
        assert followed.stdout is not None and followed.stderr is not None
        try:
            assert b"waiting for it" in followed.stderr.readline()
            written(tmp_path / "later", "a.jsonl", start(), request("a", body()), response("a"))
            assert json.loads(followed.stdout.readline())["n"] == 1
        finally:
            followed.terminate()
