"""What becomes of files, case by case as leaks were reported of other tools, and how the command fails."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from capture_files import body, end, packed, request, response, start, written
from same_figures import differences
from same_figures import result as shown
from saved_http import ASKED, SSE, entry, har
from session_logs import assistant, lines, user
from typer.testing import CliRunner

from analyzers import redact_files as files
from analyzers.cli import app
from analyzers.path_patterns import patterns
from analyzers.readers.captures import CaptureStream
from analyzers.readers.sources import Sources
from analyzers.redact import Redactor
from analyzers.redact_check import Canaries
from analyzers.redact_files import NotRedacted, Wish, redact_files
from analyzers.redact_place import working_folder
from analyzers.redact_records import RecordRedactor
from analyzers.wire.jsontext import parse

KEY = b"k" * 32
SECRET = "Wq7hT2mZp9LkVx4RbN8d"
RECORDS = RecordRedactor(Redactor(KEY))


def _redacted(value: Any, **wish: Any) -> Any:
    return Redactor(KEY, **wish).value(value)


def _record(line: bytes) -> dict[str, Any]:
    return RECORDS.record(parse(line).value)  # type: ignore[no-any-return]


# what cannot be read is withheld


def test_a_line_that_does_not_parse_is_withheld_and_told(tmp_path: Path) -> None:
    place = written(
        tmp_path,
        "in.jsonl",
        start(),
        request("1", body()),
        b'{"kind":"x","t":"' + SECRET.encode() + b"\n",
        response("1"),
        b'{"torn',
    )
    outcome = redact_files(str(place), str(tmp_path / "out.jsonl"), Wish())
    assert SECRET.encode() not in (tmp_path / "out.jsonl").read_bytes()
    assert outcome.written[0].withheld == 2 and "2 lines no parser takes" in outcome.problems[0].text


# copies in places nobody looks at


def test_every_container_of_a_har_is_covered(tmp_path: Path) -> None:
    one = entry(postData={"text": json.dumps(ASKED | {"system": SECRET})})
    one |= {"comment": SECRET, "_initiator": {"url": SECRET}, "serverIPAddress": SECRET, "cookies": [{"value": SECRET}]}
    one["request"] |= {"queryString": [{"name": "key", "value": SECRET}], "cookies": [{"name": "a", "value": SECRET}]}
    one["response"] |= {"redirectURL": SECRET, "comment": SECRET}
    (tmp_path / "in.har").write_bytes(har(one))
    redact_files(str(tmp_path / "in.har"), str(tmp_path / "out.jsonl"), Wish())
    assert SECRET.encode() not in (tmp_path / "out.jsonl").read_bytes()


def test_every_part_of_a_flow_is_covered(tmp_path: Path) -> None:
    from mitmproxy.io import FlowWriter
    from mitmproxy.test import tflow, tutils

    sent = json.dumps(ASKED | {"system": SECRET}).encode()
    req = tutils.treq(method=b"POST", path=b"/v1/messages?key=" + SECRET.encode(), content=sent)  # type: ignore[no-untyped-call]
    req.headers["x-api-key"] = SECRET
    resp = tutils.tresp(
        content=SSE.encode(), headers=((b"content-type", b"text/event-stream"), (b"set-cookie", SECRET.encode()))
    )  # type: ignore[no-untyped-call]
    flow = tflow.tflow(req=req, resp=resp)  # type: ignore[no-untyped-call]
    flow.comment, flow.marked, flow.metadata = SECRET, SECRET, {"note": SECRET}
    flow.client_conn.sni = SECRET
    out = io.BytesIO()
    FlowWriter(out).add(flow)  # type: ignore[no-untyped-call]
    (tmp_path / "in.flow").write_bytes(out.getvalue())
    redact_files(str(tmp_path / "in.flow"), str(tmp_path / "out.jsonl"), Wish())
    assert SECRET.encode() not in (tmp_path / "out.jsonl").read_bytes()
    assert [one.model for one in Sources([str(tmp_path / "out.jsonl")]).exchanges([])]


def test_names_of_files_and_folders_are_redacted_alike(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "-home-janedoe-proj"
    folder.mkdir(parents=True)
    (folder / "3fe2c1aa-1111-4a4a-9b9b-aabbccddeeff.jsonl").write_bytes(
        lines(user(), assistant("msg_log"), assistant("msg_2", cwd="/home/janedoe/proj"))
    )
    outcome = redact_files(str(tmp_path / "in"), str(tmp_path / "out"), Wish())
    [file] = outcome.written
    name = Path(file.file).parent.name
    assert "janedoe" not in file.file.removeprefix(str(tmp_path)) and name.count("-") == 3
    assert name.replace("-", "/").encode() in Path(file.file).read_bytes()


# The command


def _capture(folder: Path) -> Path:
    return written(folder, "in.jsonl.zst", start(), request("1", body(f"my key is {SECRET}")), response("1"), end())


def test_the_original_is_never_touched_and_the_copy_is_the_owners(tmp_path: Path) -> None:
    place = _capture(tmp_path)
    before = place.read_bytes()
    run = CliRunner().invoke(app, ["redact", str(place), str(tmp_path / "out.jsonl.zst")])
    assert run.exit_code == 0 and "4 records redacted and checked" in run.output
    assert place.read_bytes() == before
    assert (tmp_path / "out.jsonl.zst").stat().st_mode & 0o777 == 0o600
    stream = CaptureStream("out")
    assert len(stream.feed((tmp_path / "out.jsonl.zst").read_bytes())) == 1 and stream.ended_in_order


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["in.jsonl.zst", "in.jsonl.zst"], 2, "would replace the original"),
        (["in.jsonl.zst", "there.jsonl"], 2, "is there already"),
        (["in.jsonl.zst", "no/folder/out.jsonl"], 2, "there is no folder"),
        (["missing.jsonl", "out.jsonl"], 3, "does not exist"),
        (["notes.txt", "out.jsonl"], 3, "no kind that can be redacted"),
        (["in.jsonl.zst", "-"], 2, "name a file"),
        (["in.jsonl.zst", "out.jsonl", "--keep", "messages[x"], 2, "is no place"),
        (["in.jsonl.zst", "out.jsonl", "--fold-over", "-1"], 2, "folds nothing"),
        (["in.jsonl.zst", "out.jsonl", "--as", "har"], 2, "not known"),
        ([".", "out"], 2, "would lie in the folder"),
    ],
)  # fmt: skip
def test_mistakes_end_with_one_sentence_and_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, says: str
) -> None:
    _capture(tmp_path)
    (tmp_path / "there.jsonl").write_text("mine")
    (tmp_path / "notes.txt").write_bytes(b"\x00\x01 nothing")
    monkeypatch.chdir(tmp_path)
    before = sorted(os.listdir())
    run = CliRunner().invoke(app, ["redact", *arguments])
    assert run.exit_code == code and says in run.stderr and run.stderr.count("\n") == 1
    assert sorted(os.listdir()) == before and (tmp_path / "there.jsonl").read_text() == "mine"


def test_force_replaces_what_is_there(tmp_path: Path) -> None:
    place = _capture(tmp_path)
    (tmp_path / "out.jsonl").write_text("old")
    assert CliRunner().invoke(app, ["redact", str(place), str(tmp_path / "out.jsonl"), "--force"]).exit_code == 0
    assert b"request" in (tmp_path / "out.jsonl").read_bytes()


def test_it_fails_closed_when_something_still_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A redactor that forgets one place: the canary that was replaced elsewhere is seen there."""
    place = written(
        tmp_path, "in.jsonl", start(), request("1", body(f"my key is {SECRET}")), response("1", failure=SECRET)
    )
    honest = RecordRedactor.record

    def forgets(self: RecordRedactor, record: Any) -> Any:
        new = honest(self, record)
        return new | {"failure": record["failure"]} if "failure" in record else new

    monkeypatch.setattr(files.RecordRedactor, "record", forgets)
    with pytest.raises(NotRedacted, match=r"line 3 at failure") as failed:
        redact_files(str(place), str(tmp_path / "out.jsonl"), Wish())
    assert failed.value.code == 1 and SECRET not in str(failed.value)
    assert sorted(os.listdir(tmp_path)) == ["in.jsonl"]


@pytest.mark.parametrize(
    "coat",
    [str, lambda text: quote(text[:3]) + text[3:], lambda text: base64.b64encode(f"x {text}".encode()).decode(),
     lambda text: f"\\u{ord(text[0]):04x}{text[1:]}", lambda text: text[:9] + "\u200b" + text[9:]],
)  # fmt: skip
def test_a_canary_is_seen_in_every_spelling(coat: Any) -> None:
    canaries = Canaries(shown=frozenset())
    canaries.seen(f"a {SECRET}", "b Xx0xX0xXx0XxXx0XxX0x")
    assert canaries.find({"x": ["fine", {"y": f"see {coat(SECRET)}"}]}) == "x[1].y"
    assert canaries.find({SECRET: 1}) == "(a name)" and canaries.find({"x": "Xx0xX0xXx0XxXx0XxX0x"}) is None


def test_packed_captures_stay_packed_and_bodies_stay_bodies(tmp_path: Path) -> None:
    (tmp_path / "in.zst").write_bytes(packed(start(), request("1", body()), response("1")))
    (tmp_path / "body.json").write_bytes(body("hello there"))
    redact_files(str(tmp_path / "in.zst"), str(tmp_path / "out"), Wish())
    redact_files(str(tmp_path / "body.json"), str(tmp_path / "out.json"), Wish())
    assert (tmp_path / "out").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert json.loads((tmp_path / "out.json").read_bytes())["messages"][0]["role"] == "user"
    redact_files(str(tmp_path / "body.json"), str(tmp_path / "out.jsonl"), Wish(as_capture=True))
    assert (tmp_path / "out.jsonl").read_bytes().startswith(b'{"kind":"request"')


# Names and places


def test_copies_of_bodies_are_numbered_as_the_originals(tmp_path: Path) -> None:
    people = ("noraquarry", "adamquarry", "zoequarry", "zedquarry", "abequarry", "yanquarry", "amyquarry")
    folders = ("b/", "b/", "a/x/", "", "", "a/", "a/x/")
    names = [f"{folder}{person}.json" for folder, person in zip(folders, people, strict=True)]
    for at, name in enumerate(sorted(names)):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(body("x" * (at + 1)))
    redact_files(str(tmp_path / "in"), str(tmp_path / "out"), Wish())

    def lengths(folder: str) -> list[int]:
        found = Sources([str(tmp_path / folder)]).exchanges([])
        return [len(one.request.body["messages"][0]["content"]) for one in found if one.request]  # type: ignore[index, call-overload]

    assert lengths("out") == lengths("in")
    told = [str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.json")]
    assert len(told) == len(names) and not any(person in text for text in told for person in people)


def test_what_a_folder_holds_besides_is_told(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    _capture(tmp_path / "in")
    (tmp_path / "in" / "README.md").write_text("about us")
    (tmp_path / "in" / ".env").write_text("KEY=1")
    outcome = redact_files(str(tmp_path / "in"), str(tmp_path / "out"), Wish())
    assert sorted(Path(problem.place).name for problem in outcome.problems) == [".env", "README.md"]


def test_a_pattern_that_meets_nothing_is_told(tmp_path: Path) -> None:
    root = patterns(["messages[*].content", "tools[7]"], ["headers.x-other", "body.metadata"])
    outcome = redact_files(str(_capture(tmp_path)), str(tmp_path / "out.jsonl"), Wish(root))
    assert [problem.place for problem in outcome.problems] == ["tools[7]", "headers.x-other", "body.metadata"]


def test_what_a_killed_run_left_is_removed_and_what_another_run_holds_is_not(tmp_path: Path) -> None:
    left = tmp_path / ".out.jsonl.0123abcd.part"
    left.mkdir()
    (left / "out.jsonl").write_text("half")
    with working_folder(tmp_path / "out.jsonl") as held:
        redact_files(str(_capture(tmp_path)), str(tmp_path / "out.jsonl"), Wish())
        assert held.is_dir() and not left.exists()
    assert sorted(os.listdir(tmp_path)) == ["in.jsonl.zst", "out.jsonl"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with pytest.raises(SystemExit) as ended, working_folder(tmp_path / "out.jsonl") as held:
        (held / "out.jsonl").write_text("half")
        os.kill(os.getpid(), number)
        time.sleep(1)
    assert ended.value.code == 128 + number and os.listdir(tmp_path) == []
    assert signal.getsignal(number) is signal.SIG_DFL


def test_what_is_dropped_keeps_words_of_the_api_and_pairs_of_ids(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "/home/ada"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "quarry"}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    asked = json.dumps(ASKED | {"messages": messages}).encode()
    place = written(tmp_path, "in.jsonl", start(), request("1", asked), response("1"))
    redact_files(str(place), str(tmp_path / "out.jsonl"), Wish(patterns([], ["body.messages"])))
    before, after = (shown([path], "show", "1") for path in (place, tmp_path / "out.jsonl"))
    told = [difference for difference in differences(before, after) if ".what: None / 'dropped'" not in difference]
    assert told == []
    assert b'"_elided":"dropped"' in (tmp_path / "out.jsonl").read_bytes()


@pytest.mark.parametrize("wish", [Wish(), Wish(fold_over=0)], ids=["scrambled", "folded"])
def test_a_body_of_several_lines_keeps_its_layout(tmp_path: Path, wish: Wish) -> None:
    (tmp_path / "body.json").write_text(json.dumps(ASKED | {"system": SECRET}, indent=2) + "\n")
    redact_files(str(tmp_path / "body.json"), str(tmp_path / "out.json"), wish)
    new = (tmp_path / "out.json").read_text()
    assert SECRET not in new and new.count("\n") == (tmp_path / "body.json").read_text().count("\n")
    assert json.loads(new)["messages"]


def test_what_the_recorder_says_of_an_exchange_is_never_folded(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "captures.example" / "four-turns.jsonl"
    redact_files(str(example), str(tmp_path / "out.jsonl"), Wish(fold_over=0))
    for command in (["list"], ["usage"], ["cost"], ["sessions"], ["cache"], ["show", "2"]):
        told = differences(shown([example], *command), shown([tmp_path / "out.jsonl"], *command))
        assert [one for one in told if ".what" not in one] == [], command


@pytest.mark.parametrize("taken", ["run forward", "run reverse", "capture forward", "capture reverse"])
def test_how_a_capture_was_taken_stays(taken: str) -> None:
    assert _record(start(taken=taken))["taken"] == taken
