"""``diff`` as a command: numbering, two captures, JSON, what is shown and what is not, and exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from capture_files import body, end, request, response, start, written
from json_values import DATA

from analyzers.commands_diff import diff
from analyzers.reading import Given
from analyzers.wire.jsontext import dump

PUBLISHED = DATA / "published-request.json"
SECRET = "my secret garden"


def failing(code: int) -> "pytest.RaisesExc[typer.Exit]":
    return pytest.raises(typer.Exit, check=lambda error: error.exit_code == code)


def given(*paths: Path | str) -> Given:
    return Given(tuple(map(str, paths)))


def tables(
    what: Given, a: int, b: int | None = None, against: Any = None, *, text: bool = False, every: bool = False
) -> None:
    diff(what, a, b, None if against is None else str(against), "chars", text, False, every)


def as_json(capsys: pytest.CaptureFixture[str], what: Given, a: int, b: int | None = None, **more: Any) -> Any:
    asked = {"against": None, "unit": "chars", "text": False, "every": False} | more
    diff(what, a, b, asked["against"], asked["unit"], asked["text"], True, asked["every"])
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """The published request in one capture; in another, with the fourth block of 593 characters."""
    other = json.loads(PUBLISHED.read_bytes())
    block = other["messages"][0]["content"][3]
    block["text"] = block["text"][:593]
    return [
        written(tmp_path / name, "1.jsonl.zst", start(), request("a", raw), response("a"), end())
        for name, raw in (("default", PUBLISHED.read_bytes()), ("isolated", dump(other)))
    ]


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Two requests, the later one in the earlier file."""
    written(tmp_path, "1.jsonl", start(), request("b", body(f"I like {SECRET} now"), at=20.0), response("b"), end())
    written(tmp_path, "2.jsonl", start(), request("a", body(f"I like {SECRET} then"), at=10.0), response("a"), end())
    return tmp_path


def test_what_one_setting_changed_in_two_captures(two: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, given(two[0]), 1, against=str(two[1]))
    assert (found["a"], found["b"], found["against"]) == (1, 1, str(two[1]))
    [block] = found["blocks"]
    assert (block["change"], block["a"]["path"], block["a"]["size"], block["b"]["size"]) == (
        "changed", "messages[0].content[3]", 2150, 593,
    )  # fmt: skip
    assert (block["place"]["at"], block["place"]["folded"]) == (None, True)
    assert {field["name"]: (field["a"], field["b"]) for field in found["fields"] if field["change"] != "equal"} == {
        "messages": (10_173, 8_616)
    }
    assert found["total"] == {"a": 82_922, "b": 81_365} and found["unexplained"] == 0
    assert found["tools"] == {"a": 26, "b": 26, "common": 26, "reordered": False, "changes": []}
    assert found["messages"] == {"common": 0, "a": 1, "b": 1}

    tables(given(two[0]), 1, against=two[1])
    shown = " ".join(capsys.readouterr().out.split())
    assert "messages 10,173 8,616 -1,557 changed" in shown and "total 82,922 81,365 -1,557" in shown
    assert "messages[0].content[3] 2,150 593 -1,557 changed" in shown
    assert "folded, so where it differs inside cannot be known" in shown


def test_a_capture_beside_a_saved_body(two: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, given(two[0]), 1, 1, against=str(PUBLISHED))
    assert found["wire"]["verdict"] == "equal" and found["wire"]["bytes"] == {"a": 88_448, "b": 88_448}
    assert not found["blocks"] and not found["tools"]["changes"] and found["wire"]["steps"] == []


def test_members(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, given(session), 1, 2)
    assert set(found) == {
        "a", "b", "against", "reason", "unit", "total", "fields", "tools", "blocks", "cache_control", "messages",
        "wire", "masked", "unexplained",
    }  # fmt: skip
    assert set(found["blocks"][0]) == {"change", "billing", "a", "b", "place"}
    assert set(found["blocks"][0]["a"]) == {"path", "type", "what", "size", "hash"}
    assert set(found["fields"][0]) == {
        "name", "change", "a", "b", "rows_change", "structure", "unexplained", "place",
    }  # fmt: skip


def test_requests_are_numbered_by_time_and_the_sides_are_as_asked(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there, back = as_json(capsys, given(session), 1, 2), as_json(capsys, given(session), 2, 1)
    assert (there["blocks"][0]["a"]["size"], there["blocks"][0]["b"]["size"]) == (28, 27)
    assert (back["blocks"][0]["a"]["size"], back["blocks"][0]["b"]["size"]) == (27, 28)


def test_nothing_of_the_content_is_shown_until_it_is_asked_for(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables(given(session), 1, 2)
    assert SECRET.split()[-1] not in (shown := capsys.readouterr().out)
    assert "messages[0].content from character 25 on (" in shown
    assert "garden" not in json.dumps(found := as_json(capsys, given(session), 1, 2))
    assert "a_text" not in found["blocks"][0]["place"]
    tables(given(session), 1, 2, text=True)
    assert "my secret garden then…” → “…" in capsys.readouterr().out
    assert as_json(capsys, given(session), 1, 2, text=True)["blocks"][0]["place"]["b_text"].endswith("garden now")


def test_a_request_beside_itself(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables(given(session), 2, 2)
    shown = capsys.readouterr().out
    assert "on the wire: the same bytes" in shown and "block" not in shown and "messages: all 1 are the same" in shown


def test_all_that_can_differ_has_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def tool(name: str, description: str, schema: Any) -> dict[str, Any]:
        return {"name": name, "description": description, "input_schema": schema}

    billing = "x-anthropic-billing-header: cc_version=2.1.332.a; cc_entrypoint=cli; cch=%s;"
    mark = {"cache_control": {"type": "ephemeral"}}
    one = {
        "tools": [tool("a", "x", {}), tool("b", "y", {"p": 1, "q": 2}), tool("c", "z", {}), tool("gone", "z", {})],
        "system": [{"type": "text", "text": billing % "1"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"} | mark]}],
    }
    other = {
        "tools": [tool("c", "z", {}), tool("a", "xx", {}), tool("b", "y", {"q": 2, "p": 1})],
        "system": [{"type": "text", "text": billing % "2"}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "new"}, {"type": "text", "text": "hi"} | mark]}
        ],
    }
    file = written(tmp_path, "1.jsonl", start(), request("a", dump(one)), request("b", dump(other), at=5.0), end())
    tables(given(file), 1, 2)
    shown = " ".join(capsys.readouterr().out.split())
    assert "tools: 4 in a, 3 in b, 3 in both, in another order" in shown
    assert "a 2 3 +1 description changed tools[0].description from character 2 on" in shown
    assert "b 6 6 0 schema: key order only tools[1].input_schema: order of keys, from key 1 on" in shown
    assert "c 2 2 0 reordered tools[2] → tools[0]" in shown
    assert "gone 5 - -5 removed tools[3]" in shown
    assert "messages[0].content[0] - 3 +3 appeared" in shown
    assert "1 blocks are the same and only shifted" in shown
    assert "the client's billing line differs (system[0], 0)" in shown
    assert "messages: the first 0 are the same; then a has 1 more, b 1" in shown
    assert "messages[0].content[0].cache_control → messages[0].content[1].cache_control moved" in shown
    assert "on the wire: different" in shown and "CLOSE" not in shown


def test_many_blocks_are_counted_until_all_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = {"messages": [{"role": "user", "content": "x" * (n + 1)} for n in range(40)]}
    file = written(
        tmp_path, "1.jsonl", start(), request("a", dump({"messages": []})), request("b", dump(many), at=5.0), end()
    )
    tables(given(file), 1, 2)
    shown = capsys.readouterr().out
    assert "28 shorter blocks" in shown and "+406" in shown and shown.count("appeared") == 12
    tables(given(file), 1, 2, every=True)
    shown = capsys.readouterr().out
    assert "shorter" not in shown and shown.count("appeared") == 40


def test_names_from_the_traffic_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = {"\x1b[31mfield": 1, "tools": [{"name": "\x1b[31mtool", "description": "x"}], "system": "a\x1b[31m"}
    file = written(
        tmp_path, "1.jsonl", start(), request("a", dump(bad)), request("b", dump({"system": "a"}), at=5.0), end()
    )
    tables(given(file), 1, 2, text=True)
    tables(given(file), 2, 1, text=True)
    assert "\x1b" not in capsys.readouterr().out


def test_a_body_that_is_no_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, "1.jsonl", start(), request("a", b"{nonsense"), request("b", body("hi"), at=5.0), end())
    tables(given(file), 1, 2)
    assert "a has no body to compare: not valid JSON" in capsys.readouterr().out
    found = as_json(capsys, given(file), 1, 2)
    assert found["reason"]["a"].startswith("not valid JSON") and found["reason"]["b"] is None
    assert (found["wire"], found["total"], found["unexplained"]) == (None, {"a": None, "b": None}, None)


def test_units(two: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, given(two[0]), 1, against=str(two[1]), unit="json")
    assert found["unit"] == "json" and found["unexplained"] == 0 and found["blocks"][0]["a"]["size"] > 2150


@pytest.mark.parametrize(
    ("a", "b", "against", "unit", "code", "sentence"),
    [
        (1, None, None, "chars", 2, "say what to compare request 1 with"),
        (1, 2, None, "pounds", 2, "--unit 'pounds' is not one of chars"),
        (1, 3, None, "chars", 2, "there is no request 3 in"),
        (0, 1, None, "chars", 2, "there is no request 0 in"),
        (2, None, PUBLISHED, "chars", 2, f"there is no request 2 in {PUBLISHED}"),
        (1, None, "/nowhere/at/all", "chars", 3, "/nowhere/at/all"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    a: int,
    b: int | None,
    against: Any,
    unit: str,
    code: int,
    sentence: str,
    session: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with failing(code):
        diff(given(session), a, b, None if against is None else str(against), unit, False, False, False)
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


def test_nothing_to_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_bytes(b"nonsense")
    with failing(3):
        tables(given(tmp_path), 1, 2)
    assert "no recorded request was found in" in capsys.readouterr().err
