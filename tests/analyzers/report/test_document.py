"""The document of the page: the figures of the commands, names that are safe to show, and nothing of the texts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from capture_files import end, request, response, start, written
from hostile_capture import LONG, NAMES, hostile
from recorded_session import NEWER, unpacked
from typer.testing import CliRunner

from analyzers.cli import app
from analyzers.report.document import shown
from analyzers.wire.jsontext import dump

EXAMPLE = Path(__file__).parents[3] / "captures.example"


def told(*arguments: str) -> Any:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return told("report", "-c", str(EXAMPLE))  # type: ignore[no-any-return]


def without(value: Any, *names: str) -> Any:
    """The value without some members, however deep."""
    if isinstance(value, dict):
        return {name: without(member, *names) for name, member in value.items() if name not in names}
    return [without(member, *names) for member in value] if isinstance(value, list) else value


def blocks_of(report: dict[str, Any], n: int) -> list[dict[str, Any]]:
    fields = report["requests"][n - 1]["fields"]
    runs = [run for field in fields for run in field["blocks"]]
    return [row for first, many in runs for block in report["blocks"][first : first + many] for row in block["rows"]]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_request_has_the_figures_of_show(example: dict[str, Any], n: int) -> None:
    wanted, found = told("show", str(n), "-c", str(EXAMPLE)), example["requests"][n - 1]
    for name in set(wanted) & set(found) - {"fields"}:
        assert found[name] == wanted[name], name
    assert {"chars", "wire_bytes", "unexplained", "closes", "total_input_tokens", "wire"} <= found.keys()
    assert found["chars"] == wanted["total"]["chars"]
    assert [(f["name"], f["chars"], f["share"]) for f in found["fields"]] == [
        (f["name"], f["chars"], f["share"]) for f in wanted["fields"]
    ]
    assert {f["name"]: f["structure"] for f in found["fields"]} == wanted["structure"]
    assert [(b["path"], b["chars"], b["type"], b["what"]) for b in blocks_of(example, n)] == [
        (b["path"], b["chars"], b["type"], b["what"]) for b in wanted["blocks"]
    ]


def test_growth_sessions_and_chains_are_those_of_the_commands(example: dict[str, Any]) -> None:
    assert example["growth"] == told("growth", "-c", str(EXAMPLE))
    assert example["sessions"] == told("sessions", "-c", str(EXAMPLE))["sessions"]
    more = ("cause_words", "session_index", "counted", "counted_by_session")
    assert without(example["cache"], *more) == without(told("cache", "-c", str(EXAMPLE)), "sha256")


def test_usage_and_cost_are_those_of_the_commands(example: dict[str, Any]) -> None:
    usage, cost = told("usage", "-c", str(EXAMPLE)), told("cost", "-c", str(EXAMPLE))
    assert example["usage"] == {name: usage[name] for name in example["usage"]}
    for name in ("totals", "main", "sub_agents", "models", "sessions", "threads", "unpriced", "rules"):
        assert example["cost"][name] == cost[name], name
    assert without(example["cost"]["rows"], "n", "free") == without(cost["rows"], "place", "message_id", "request_id")
    assert [row["n"] for row in example["cost"]["rows"]] == [1, 2, 3, 4]


def test_what_can_be_chosen_has_every_request_once(example: dict[str, Any]) -> None:
    assert [(one["session"], one["label"], one["requests"]) for one in example["threads"]] == [
        (0, "main", [1, 2, 3, 4])
    ]


def test_tools_of_the_example_that_were_never_called(example: dict[str, Any]) -> None:
    [session] = example["tools"]
    assert [tool["name"] for tool in session["tools"] if not tool["used"]] == ["call_driver", "cancel_ticket"]


def test_a_page_grows_with_what_is_new(tmp_path: Path) -> None:
    """Each of 80 requests repeats all before it, so blocks written for each would be 6,480."""
    said = [{"role": ("user", "assistant")[at % 2], "content": f"words {at}"} for at in range(160)]
    lines = [start()]
    for n in range(80):
        body = dump({"model": "claude-haiku-4-5", "messages": said[: 2 * n + 1]})
        content = [{"type": "text", "text": f"words {2 * n + 1}"}]
        lines += [
            request(f"{n}", body, at=float(n)),
            response(f"{n}", message_id=f"msg_{n}", headers={}, content=content),
        ]
    out = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["report", "-c", str(written(tmp_path, "a.jsonl", *lines, end())), "-o", str(out)])
    assert result.exit_code == 0, result.output
    report = json.loads(re.search(rb'id="document">(.*?)</script>', out.read_bytes())[1])  # type: ignore[index]
    assert len(report["blocks"]) == 159 + 1
    assert report["requests"][-1]["chars"] == told("show", "80", "-c", str(tmp_path / "a.jsonl"))["total"]["chars"]


def test_side_calls_and_failed_attempts_can_be_chosen_too(tmp_path: Path) -> None:
    body = dump({"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]})
    lines = [
        start(),
        request("1", body, at=1.0),
        response(
            "1", ended="error", status=529, usage=None, message_id=None, content=None, error={"type": "overloaded"}
        ),
        request("2", body, at=2.0),
        response("2", message_id="msg_2"),
        request("3", body, at=3.0, path="/v1/messages/count_tokens", route="count_tokens"),
        end(),
    ]
    written(tmp_path, "a.jsonl", *lines)
    threads = told("report", "-c", str(tmp_path))["threads"]
    assert sorted(n for one in threads for n in one["requests"]) == [1, 2, 3]


def test_calls_that_several_logs_hold_have_the_number_of_their_request(tmp_path: Path) -> None:
    report = told("report", "-c", str(unpacked(NEWER, tmp_path).logs))
    turns = {n for one in report["threads"] if one["thread"] is not None for n in one["requests"]}
    assert turns <= {row["n"] for row in report["cost"]["rows"]}
    assert len(turns) > 30


def strings_of(value: Any) -> list[str]:
    out, stack = [], [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack += [*node.keys(), *node.values()]
        elif isinstance(node, list):
            stack += node
        elif isinstance(node, str):
            out.append(node)
    return out


def test_names_are_made_visible_and_cut_with_their_length(tmp_path: Path) -> None:
    report = told("report", "-c", str(hostile(tmp_path)))
    strings = strings_of(report)
    assert max(map(len, strings)) <= 300  # a line, with its escapes
    assert any(f"({LONG:,} characters)" in text for text in strings)
    unseen = set("\u202e\u2066\u2069\u2028\u2029\x1b\x00")
    assert [text for text in strings if unseen & set(text)] == []
    assert {tool["name"] for one in report["tools"] for tool in one["tools"]} >= {NAMES[0], NAMES[1]}


def test_texts_hashes_and_paths_of_this_machine_stay_out(tmp_path: Path) -> None:
    text, answer = "what the user wrote, " * 40, "what the model said"
    content = [{"type": "text", "text": answer}]
    for n, fold_over in enumerate((400, -1)):
        body = dump({"model": "claude-haiku-4-5", "messages": [{"role": "user", "content": text}]})
        lines = [start(), request("1", body, fold_over=fold_over), response("1", content=content), b"broken\n", end()]
        written(tmp_path / f"{n}", "a.jsonl", *lines)
        page = json.dumps(told("report", "-c", str(tmp_path / f"{n}")))
        assert "what the user" not in page
        assert answer not in page
        assert "sha256" not in page
        assert str(tmp_path) not in page
        assert "a.jsonl" in page  # the name of the file that holds a broken line


def test_what_is_left_out_is_left_out_at_any_depth() -> None:
    assert shown({"a": [{"sha256": ["x"], "b": (1, None, "c\n")}]}) == {"a": [{"b": [1, None, "c\\u000a"]}]}


def without_answers(folder: Path, *kept: str) -> Path:
    """The example as it is without the answers to its requests, but for those of ``kept``."""
    [place] = EXAMPLE.glob("*.jsonl")
    records = [json.loads(line) for line in place.read_bytes().split(b"\n") if line]
    lines = [dump(one) + b"\n" for one in records if one["kind"] != "response" or one["id"] in kept]
    return written(folder, place.name, *lines).parent


def test_of_how_many_requests_the_sums_of_the_chains_are(example: dict[str, Any], tmp_path: Path) -> None:
    whole = {"requests": 4, "known": 4, "following": 3, "judged": 3}
    assert example["cache"]["counted"] == whole
    assert example["cache"]["counted_by_session"] == [{"session_index": 0, **whole}]
    report = told("report", "-c", str(without_answers(tmp_path)))
    assert report["cache"]["counted"] == {"requests": 4, "known": 0, "following": 3, "judged": 0}


def test_a_call_that_failed_is_free_and_one_without_counters_is_not(tmp_path: Path) -> None:
    body = dump({"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]})
    error = {
        "ended": "error",
        "status": 400,
        "usage": None,
        "content": None,
        "error": {"type": "invalid_request_error"},
    }
    other = dump({"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "goodbye"}]})
    lines = [start(), request("1", body), response("1", **error), request("2", other, at=900.0), end()]
    rows = told("report", "-c", str(written(tmp_path, "a.jsonl", *lines).parent))["cost"]["rows"]
    assert [(row["n"], row["usd"], row["free"]) for row in rows] == [(1, None, True), (2, None, False)]
