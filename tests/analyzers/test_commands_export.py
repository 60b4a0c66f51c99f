"""``export``, run as a user runs it: what is printed, which files appear, who may read them, and what is refused."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from capture_files import body, end, request, response, start, written
from every_kind import KINDS, file_of
from saved_http import SSE
from typer.testing import CliRunner, Result

from analyzers.cli import app
from analyzers.wire.jsontext import parse

EXAMPLE = Path(__file__).parents[2] / "captures.example"


def run(*arguments: Any, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["export", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def capture(folder: Path, *texts: str, name: str = "capture.jsonl", fold_over: int = -1) -> Path:
    """A capture of some requests, each answered before the next."""
    lines = [start(fold_over)]
    for number, text in enumerate(texts, 1):
        lines.append(request(str(number), body(text), at=float(number), fold_over=fold_over))
        lines.append(response(str(number), headers={"request-id": f"req_{text}"}, message_id=f"msg_{text}"))
    return written(folder, name, *lines, end())


def asked(har: str | Path) -> list[str]:
    """The texts of the requests of a HAR."""
    text = har.read_text() if isinstance(har, Path) else har
    bodies = [json.loads(made["request"]["postData"]["text"]) for made in json.loads(text)["log"]["entries"]]
    return [sent["messages"][0]["content"] for sent in bodies]


def mode(place: Path) -> int:
    return stat.S_IMODE(place.stat().st_mode)


# curl


def test_without_a_file_the_whole_script_is_printed_and_nothing_written(tmp_path: Path) -> None:
    place = capture(tmp_path, "one", "two")
    shown = run("-c", place, "--to", "curl", 2).stdout
    assert shown.startswith("# Request 2")
    assert '"content":"two"' in shown
    assert "--data-binary @-" in shown
    assert list(tmp_path.iterdir()) == [place]
    assert run("-c", place, "--to", "curl", 2, "-o", "-").stdout == shown


def test_a_file_gets_the_script_and_one_beside_it_the_body(tmp_path: Path) -> None:
    place = capture(tmp_path, "one")
    told = run("-c", place, "--to", "curl", 1, "-o", tmp_path / "request-1.sh").stdout
    script, beside = tmp_path / "request-1.sh", tmp_path / "request-1.json"
    assert beside.read_bytes() == body("one")
    assert (mode(script), mode(beside)) == (0o700, 0o600)
    assert f"wrote {script} and {beside}" in told
    assert sorted(one.name for one in tmp_path.iterdir()) == ["capture.jsonl", "request-1.json", "request-1.sh"]


def test_json_tells_what_was_written(tmp_path: Path) -> None:
    place = capture(tmp_path, "one")
    told = json.loads(run("-c", place, "--to", "curl", 1, "-o", tmp_path / "r.sh", "--json").stdout)
    files = [str(tmp_path / "r.sh"), str(tmp_path / "r.json")]
    assert told == {"to": "curl", "requests": 1, "written": files, "body_as_sent": True}
    told = json.loads(run("-c", place, "--to", "har", "-o", tmp_path / "r.har", "--json").stdout)
    assert told == {"to": "har", "requests": 1, "written": [str(tmp_path / "r.har")], "folded_texts": 0}
    assert "give one with -o" in run("-c", place, "--to", "har", "--json", code=2).stderr


@pytest.mark.parametrize("to", [("har",), ("curl", 1)], ids=["har", "curl"])
def test_nothing_takes_the_place_of_what_it_was_made_of_even_when_forced(tmp_path: Path, to: tuple[Any, ...]) -> None:
    place = capture(tmp_path, "one")
    before = place.read_bytes()
    told = run("-c", place, "--to", *to, "-o", place, "--force", code=2)
    assert "is one of the files that are read: give another name" in told.stderr
    assert place.read_bytes() == before


def test_files_that_are_there_are_kept_unless_it_is_forced(tmp_path: Path) -> None:
    place = capture(tmp_path, "one")
    for name in ("request.sh", "request.json"):
        (tmp_path / name).write_text("mine")
        told = run("-c", place, "--to", "curl", 1, "-o", tmp_path / "request.sh", code=2)
        assert "is there already" in told.stderr
        assert (tmp_path / name).read_text() == "mine"
        (tmp_path / name).unlink()
    (tmp_path / "request.sh").write_text("mine")
    run("-c", place, "--to", "curl", 1, "-o", tmp_path / "request.sh", "--force")
    assert (tmp_path / "request.sh").read_text().startswith("#!/bin/sh")
    assert mode(tmp_path / "request.sh") == 0o700
    (tmp_path / "a.har").symlink_to(tmp_path / "nowhere")
    assert "is there already" in run("-c", place, "--to", "har", "-o", tmp_path / "a.har", code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "why", "code"),
    [
        (("--to", "curl"), "say which request", 2),
        (("--to", "curl", 1, 2), "say which request", 2),
        (("--to", "curl", 7), "there is no request 7", 2),
        (("--to", "har", 1, 7), "there is no request 7", 2),
        (("--to", "wget", 1), "'wget' is not known: it is one of curl, har", 2),
        ((1,), "is not known", 2),
        (("--to", "curl", 1, "-o", "no-such-folder/a.sh"), "there is no folder", 2),
        (("--to", "curl", 1, "-o", "."), "is a folder", 2),
        (("--to", "curl", 1, "-o", "request.json"), "give the script another name, such as request.sh", 2),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[Any, ...], why: str, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    place = capture(tmp_path / "captures", "one")
    told = run("-c", place, *arguments, code=code).stderr
    assert why in told
    assert told.count("\n") == 1
    assert [one.name for one in tmp_path.iterdir()] == ["captures"]


def test_a_folded_request_is_no_script(tmp_path: Path) -> None:
    told = run("-c", EXAMPLE, "--to", "curl", 3, "-o", tmp_path / "a.sh", code=1).stderr
    assert "texts of it were folded" in told
    assert "capture_fold_over=-1" in told
    assert not list(tmp_path.iterdir())


def test_a_file_with_a_hostile_name_is_only_a_name(tmp_path: Path) -> None:
    place = capture(tmp_path, "one")
    name = "-o $(touch owned)\n`x` 'y'.sh"
    told = run("-c", place, "--to", "curl", 1, "-o", tmp_path / name).stdout
    assert (tmp_path / name).exists()
    assert told.count("\n") == 1


# HAR


def test_all_requests_become_a_har(tmp_path: Path) -> None:
    place = capture(tmp_path, "one", "two")
    assert asked(run("-c", place, "--to", "har").stdout) == ["one", "two"]
    told = run("-c", place, "--to", "har", "-o", tmp_path / "a.har").stdout
    assert told == f"wrote {tmp_path / 'a.har'}: 2 requests\n"
    assert asked(tmp_path / "a.har") == ["one", "two"]
    assert mode(tmp_path / "a.har") == 0o600
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_numbers_choose_requests_as_list_numbers_them(tmp_path: Path) -> None:
    later = capture(tmp_path, "one", "two", "three")
    assert asked(run("-c", later, "--to", "har", 3, 1).stdout) == ["one", "three"]


def test_what_several_files_tell_is_written_once(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        capture(tmp_path, "one", "two", name=name)
    told = run("-c", tmp_path, "--to", "har", "-o", tmp_path / "all.har")
    assert asked(tmp_path / "all.har") == ["one", "two"]
    assert "2 exchanges are told again by other files" in told.stderr
    assert len(asked(run("-c", tmp_path / "a.jsonl", "-c", tmp_path / "b.jsonl", "--to", "har", 1, 2, 3).stdout)) == 3


def test_an_answer_without_its_request_is_counted_and_left_out(tmp_path: Path) -> None:
    place = written(tmp_path, "c.jsonl", start(), response("0"), request("1", body("one")), response("1"), end())
    told = run("-c", place, "--to", "har")
    assert asked(told.stdout) == ["one"]
    assert "an answer without a request: left out" in told.stderr


def test_folded_texts_are_said_in_the_file() -> None:
    comment = json.loads(run("-c", EXAMPLE, "--to", "har").stdout)["log"]["comment"]
    assert "texts are folded: an object with _elided, chars and sha256 stands for each" in comment


def test_where_nothing_was_recorded_nothing_is_written(tmp_path: Path) -> None:
    place = written(tmp_path, "c.jsonl", start(), end())
    assert "no request was recorded" in run("-c", place, "--to", "har").stdout
    told = run("-c", place, "--to", "har", "-o", tmp_path / "a.har", code=3)
    assert "a.har was not written: there is nothing to put into it" in told.stderr
    assert not (tmp_path / "a.har").exists()
    run("-c", tmp_path / "c.jsonl", "--to", "curl", 1, code=3)
    (tmp_path / "other").write_text("nothing of the kind")
    run("-c", tmp_path / "other", "--to", "har", code=3)


def test_a_file_that_cannot_be_written_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = capture(tmp_path, "one")
    (tmp_path / "a.har").write_text("mine")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    told = run("-c", place, "--to", "har", "-o", tmp_path / "a.har", "--force", code=3)
    assert "cannot be written (No space left on device)" in told.stderr
    assert (tmp_path / "a.har").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_can_be_exported(tmp_path: Path, kind: str) -> None:
    """What is no message of the wire too: a log, a chat."""
    place = file_of(kind, tmp_path)
    assert json.loads(run("-c", place, "--to", "har").stdout)["log"]["entries"]
    if kind not in ("claude_code", "chat"):
        assert "curl --fail-with-body" in run("-c", place, "--to", "curl", 1).stdout


def test_a_body_with_anything_in_it_stays_json(tmp_path: Path) -> None:
    odd = "\ud800\x9b\u202e\U0001f642\0\n" + SSE
    place = written(tmp_path, "c.jsonl", start(-1), request("1", parse_of(odd), fold_over=-1), response("1"), end())
    run("-c", place, "--to", "har", "-o", tmp_path / "a.har")
    [made] = parse((tmp_path / "a.har").read_bytes()).value["log"]["entries"]
    assert parse(made["request"]["postData"]["text"].encode()).value["messages"][0]["content"] == odd


def parse_of(text: str) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
