"""``privacy`` run as a user runs it: what it prints, what it never prints, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
from capture_files import body, end, packed, request, response, start, written
from typer.testing import CliRunner

from analyzers.cli import app
from analyzers.detect.text import kinds_of
from analyzers.wire.fold import lengths
from analyzers.wire.jsontext import dump

MAIL, KEY = "ada.byron@weigh.example", "sk-ant-api03-AbCdEfGh12345678IjKlMnOpQrStUvWx"
LONG = f"<system-reminder>\n# claudeMd\nThe e-mail is {MAIL}.\n" + "word " * 100


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    assert MAIL not in result.output and KEY not in result.output
    return result.output


def as_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


@pytest.fixture
def capture(tmp_path: Path) -> str:
    lines = [
        request("a", body("nothing here"), at=1.0), response("a", headers={}),
        request("b", body(f"write to {MAIL}"), at=2.0), response("b", headers={}),
        request("c", body(f"write to {MAIL} with {KEY}"), at=3.0), response("c", headers={}),
        request("d", body(LONG), at=4.0), response("d", headers={}),
    ]  # fmt: skip
    return str(written(tmp_path, "1.jsonl", start(), *lines, end()))


def test_findings_have_exactly_these_members(capture: str) -> None:
    found = as_json("privacy", "-c", capture)
    where = "messages[0].content text"
    assert found["findings"][:3] == [
        {"request": 2, "path": "messages[0].content", "kind": "email", "chars": len(MAIL), "where": where},
        {"request": 3, "path": "messages[0].content", "kind": "email", "chars": len(MAIL), "where": where},
        {"request": 3, "path": "messages[0].content", "kind": "api_key", "chars": len(KEY), "where": where},
    ] or found["findings"][:3] == [
        {"request": 2, "path": "messages[0].content", "kind": "email", "chars": len(MAIL), "where": where},
        {"request": 3, "path": "messages[0].content", "kind": "api_key", "chars": len(KEY), "where": where},
        {"request": 3, "path": "messages[0].content", "kind": "email", "chars": len(MAIL), "where": where},
    ]
    assert {value["kind"]: (value["first_request"], value["requests"]) for value in found["values"]} == {
        "email": (2, 2), "api_key": (3, 1),
    }  # fmt: skip
    assert found["not_known"] == [{"request": 4, "strings": 1, "chars": len(LONG)}]
    assert found["requests"] == 4


def test_one_request_still_says_where_a_value_came_first(capture: str) -> None:
    found = as_json("privacy", "3", "-c", capture)
    assert {one["request"] for one in found["findings"]} == {3}
    assert {value["kind"]: value["first_request"] for value in found["values"]} == {"email": 2, "api_key": 3}
    assert as_json("privacy", "1", "-c", capture)["findings"] == []


def test_the_table_tells_kind_place_and_first_request(capture: str) -> None:
    lines = run("privacy", "-c", capture).split("\n")
    assert lines[0].split() == ["kind", "place", "values", "chars", "requests", "first", "in"]
    [mail] = [line for line in lines if line.startswith("email")]
    assert mail.split()[-4:] == ["1", str(len(MAIL)), "2", "#2"]
    assert any(line.startswith("not known: 1 folded strings") for line in lines)


def test_check_fails_when_something_is_found(capture: str) -> None:
    run("privacy", "-c", capture, "--check", code=1)
    run("privacy", "2", "-c", capture, "--check", "--json", code=1)
    assert "nothing of what is looked for" in run("privacy", "1", "-c", capture, "--check")


def test_a_number_that_is_not_there(capture: str) -> None:
    assert "there is no request 9: the captures hold 4" in run("privacy", "9", "-c", capture, code=2)


@pytest.mark.parametrize("name", ["1.jsonl", "1.jsonl.zst"])
def test_what_was_told_of_a_folded_string_is_read_back(tmp_path: Path, name: str) -> None:
    note = dump({"kind": "note", "sha256": lengths(LONG).sha256, "personal": kinds_of(LONG)}) + b"\n"
    place = written(tmp_path, name, start(), request("d", body(LONG)), response("d", headers={}), note, end())
    found = as_json("privacy", "-c", str(place))
    assert found["not_known"] == []
    assert {(one["kind"], one["chars"]) for one in found["findings"]} == {("email", None), ("claude_md", len(LONG))}
    assert all(one["where"].endswith(", folded") for one in found["findings"])


def test_notes_of_a_file_that_was_cut_are_read_up_to_the_cut(tmp_path: Path) -> None:
    note = dump({"kind": "note", "sha256": lengths(LONG).sha256, "personal": {}}) + b"\n"
    whole = packed(start(), request("d", body(LONG)), response("d", headers={}), note, end(), last=False)
    (tmp_path / "1.jsonl.zst").write_bytes(whole[:-3])
    result = CliRunner().invoke(app, ["privacy", "-c", str(tmp_path), "--json"])
    assert json.loads(result.stdout)["not_known"] == []


@pytest.mark.parametrize(
    "line",
    [b'{"kind":"note"}\n', b'{"kind":"note","sha256":1,"personal":[]}\n', b'{"kind":"note","sha', b'["note"]\n'],
)  # fmt: skip
def test_notes_that_are_none_are_passed_over(tmp_path: Path, line: bytes) -> None:
    place = tmp_path / "1.jsonl"
    place.write_bytes(start() + request("d", body(LONG)) + response("d", headers={}) + line)
    result = CliRunner().invoke(app, ["privacy", "-c", str(place), "--json"])
    assert json.loads(result.stdout)["not_known"] == [{"request": 1, "strings": 1, "chars": len(LONG)}]
