"""``skeleton`` and ``find`` as commands: numbering, problems, JSON and exit codes."""

import json
from pathlib import Path

import pytest
import typer
from capture_files import body, end, packed, request, response, start, written

from analyzers.commands_look import find, skeleton
from analyzers.reading import Given


@pytest.fixture
def session(tmp_path: Path) -> list[str]:
    """Two requests, the later one in the earlier file; one folded text."""
    written(tmp_path, "1.jsonl", start(), request("b", body("second"), at=20.0), response("b"), end())
    written(tmp_path, "2.jsonl", start(), request("a", body("first " * 100), at=10.0), response("a"), end())
    return [str(tmp_path)]


def failing(code: int) -> "pytest.RaisesExc[typer.Exit]":
    return pytest.raises(typer.Exit, check=lambda error: error.exit_code == code)


def test_skeleton_numbers_by_time(session: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    skeleton(Given(tuple(session)), 1, True)
    first = json.loads(capsys.readouterr().out)
    assert (first["n"], first["reason"], first["total"]) == (1, None, {"chars": 16 + 15 + 600})
    assert first["messages"][0]["blocks"] == [
        {"path": "messages[0].content", "type": "text", "what": None, "chars": 600}
    ]
    assert set(first) == {
        "n", "reason", "total", "fields", "tools", "system", "cache_control", "roles", "messages", "labels", "settings",
        "betas", "batch",
    }  # fmt: skip
    assert first["tools"] == {"count": 0, "defer_loading": 0, "without_schema": 0, "longest_first": []}
    skeleton(Given(tuple(session)), 2, False)
    assert "messages[0].content   user       6   text" in capsys.readouterr().out


def test_skeleton_of_a_body_that_is_no_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(written(tmp_path, "1.jsonl", start(), request("a", b"{nonsense"), end()))
    skeleton(Given((place,)), 1, False)
    assert "no sizes: not valid JSON" in capsys.readouterr().out
    skeleton(Given((place,)), 1, True)
    assert json.loads(capsys.readouterr().out)["total"] is None


def test_skeleton_of_what_is_not_there(session: list[str], tmp_path: Path) -> None:
    with failing(2):
        skeleton(Given(tuple(session)), 3, False)
    with failing(3):
        skeleton(Given((str(tmp_path / "none"),)), 1, False)


def test_find_numbers_by_time(session: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    find(Given(tuple(session)), "second", None, True, True)
    found = json.loads(capsys.readouterr().out)
    assert [(entry["request"], entry["path"]) for entry in found["found"]] == [(2, "messages[0].content")]
    assert found["unknown"] == [{"request": 1, "strings": 1, "chars": 600}]
    find(Given(tuple(session)), "yes", None, False, False)
    assert "answer: content[0].text" in capsys.readouterr().out


def test_find_a_file(session: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path.parent / f"{tmp_path.name}.txt"
    file.write_bytes(b"first " * 100 + b"\n")
    find(Given(tuple(session)), None, str(file), False, True)
    assert "the whole string, by its hash, without final newline" in capsys.readouterr().out


def test_find_says_by_its_exit_code_only_when_asked(session: list[str]) -> None:
    find(Given(tuple(session)), "nowhere", None, False, False)
    with failing(1):
        find(Given(tuple(session)), "nowhere", None, False, True)


@pytest.mark.parametrize(
    ("text", "file", "data", "code", "sentence"),
    [
        (None, None, None, 2, "say what to look for"),
        ("a", "f", b"a", 2, "not both"),
        ("", None, None, 2, "an empty text is everywhere"),
        (None, "f", b"", 2, "an empty text is everywhere"),
        (None, "f", None, 3, "cannot be read (No such file or directory)"),
        (None, "f", b"a\xff", 3, "is not UTF-8 text (byte 1)"),
    ],
)
def test_what_find_cannot_look_for_is_one_sentence(
    text: str | None,
    file: str | None,
    data: bytes | None,
    code: int,
    sentence: str,
    session: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if data is not None:
        (tmp_path / "f").write_bytes(data)
    with failing(code):
        find(Given(tuple(session)), text, file and str(tmp_path / file), False, False)
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


def test_find_in_nothing_readable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_bytes(b"nonsense")
    with failing(3):
        find(Given((str(tmp_path),)), "a", None, False, False)
    assert "left out" in capsys.readouterr().err
    (tmp_path / "x").write_bytes(packed(start(), end()))
    find(Given((str(tmp_path),)), "a", None, False, False)
    assert "no request was recorded" in capsys.readouterr().out
