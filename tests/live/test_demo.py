"""`weighbridge demo`, the whole of it: and `captures.example`, which it made."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from addon import demo as addon_demo

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "captures.example"

MACHINE = re.compile(
    r"user-agent|date|x-stainless-(arch|os|runtime.*|lang|package-version)|anthropic-ratelimit-.*-reset"
)
"""Headers that differ from one machine or one minute to the next."""
TIMES = ("time", "first_byte", "first_content", "last")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, float]:
    """The folder, what was printed, and the seconds it took."""
    folder = tmp_path_factory.mktemp("demo") / "captures"
    secrets = {
        "ANTHROPIC_API_KEY": "sk-ant-secret",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
    }
    environment = {**os.environ, **secrets, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    began = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-P", "-m", "addon.cli", "demo", "--plain", "--out", str(folder)],
        capture_output=True,
        text=True,
        cwd=folder.parent,
        env=environment,
        timeout=120,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return folder, result.stdout, time.monotonic() - began


def lines(folder: Path) -> list[dict[str, Any]]:
    (file,) = folder.glob("*.jsonl")
    return [json.loads(line) for line in file.read_bytes().split(b"\n") if line]


def of_kind(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record for record in records if record["kind"] == kind]


def test_it_takes_less_than_half_a_minute(demo: tuple[Path, str, float]) -> None:
    assert demo[2] < 30


def test_four_turns_are_recorded_from_beginning_to_end(demo: tuple[Path, str, float]) -> None:
    records = lines(demo[0])
    kinds = [record["kind"] for record in records if record["kind"] != "note"]
    assert kinds == ["start", *["request", "response"] * 4, "end"]
    assert [len(request["body"]["messages"]) for request in of_kind(records, "request")] == [1, 3, 5, 7]
    assert [request["body"].get("stream", False) for request in of_kind(records, "request")] == [
        True,
        False,
        True,
        True,
    ]
    assert {(response["ended"], response["status"]) for response in of_kind(records, "response")} == {
        ("completed", 200)
    }


def test_tools_are_used(demo: tuple[Path, str, float]) -> None:
    used = [
        [block["name"] for block in response["content"] if block["type"] == "tool_use"]
        for response in of_kind(lines(demo[0]), "response")
    ]
    assert used == [["weigh_lorry", "check_permit"], [], ["book_ticket", "find_tickets"], []]


def test_an_alias_is_asked_for_and_its_snapshot_answers(demo: tuple[Path, str, float]) -> None:
    records = lines(demo[0])
    assert {request["body"]["model"] for request in of_kind(records, "request")} == {"claude-haiku-4-5"}
    assert {response["model"] for response in of_kind(records, "response")} == {"claude-haiku-4-5-20251001"}


def test_each_turn_reads_from_the_cache_what_the_turn_before_read_and_wrote(demo: tuple[Path, str, float]) -> None:
    usages = [response["usage"] for response in of_kind(lines(demo[0]), "response")]
    read = [usage["cache_read_input_tokens"] for usage in usages]
    written = [usage["cache_creation_input_tokens"] for usage in usages]
    assert (read[0], written[0] > 4096) == (0, True)
    assert read[1:] == [before + new for before, new in zip(read[:-1], written[:-1], strict=True)]


def test_long_strings_are_folded_in_requests_and_answers(demo: tuple[Path, str, float]) -> None:
    records = lines(demo[0])
    for record in (of_kind(records, "request")[3], of_kind(records, "response")[1]):
        assert '"_elided":' in json.dumps(record).replace(": ", ":")


def test_nothing_of_the_user_goes_in(demo: tuple[Path, str, float]) -> None:
    text = json.dumps(lines(demo[0]))
    for word in ("sk-ant", str(Path.home()), os.environ.get("USER") or "sk-ant"):
        assert word not in text


def test_list_and_show_are_printed(demo: tuple[Path, str, float]) -> None:
    _, printed, _ = demo
    listed, shown = re.split(r"\$ weighbridge --captures \S+ show 4\n", printed)
    assert len(re.findall(r"(?m)^ *[1-4] .*claude-haiku-4-5-20251001.*completed", listed)) == 4
    assert re.search(r"(?m)^unexplained +0\b", shown)
    assert "weigh_lorry" in shown


def normal(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records without what must differ between two runs: times, ids, ports, keys, the machine."""
    names: dict[str, str] = {}
    done = []
    for record in records:
        record = {key: "…" if key in TIMES and value is not None else value for key, value in record.items()}
        for key in ("port", "fingerprint", "mitmproxy", "weighbridge"):
            if key in record:
                record[key] = "…"
        if "id" in record:
            record["id"] = names.setdefault(record["id"], f"id {len(names)}")
        if "modes" in record:
            record["modes"] = [re.sub(r":\d+$", ":…", mode) for mode in record["modes"]]
        if "headers" in record:
            record["headers"] = {
                key: "…" if MACHINE.fullmatch(key) else value for key, value in record["headers"].items()
            }
        done.append(record)
    order = [record["kind"] for record in done]
    assert order[0] == "start" and order[-1] == "end"
    last = done.pop()
    return [*sorted(done, key=lambda record: record["sha256"] if record["kind"] == "note" else ""), last]


def test_the_example_is_what_the_demo_records(demo: tuple[Path, str, float]) -> None:
    assert normal(lines(EXAMPLE)) == normal(lines(demo[0]))


def test_the_example_can_be_shown() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "addon.cli", "--captures", "captures.example", "--show", "1"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert re.search(r"(?m)^unexplained +0\b", result.stdout)


def test_a_folder_that_is_in_use_is_added_to(demo: tuple[Path, str, float], capsys: pytest.CaptureFixture[str]) -> None:
    folder, _, _ = demo
    before = set(folder.glob("*.jsonl*"))
    addon_demo.show(addon_demo.record(folder, plain=False))  # what the command does
    (new,) = set(folder.glob("*.jsonl*")) - before
    assert f"$ weighbridge --captures {new} show 4\n" in capsys.readouterr().out
    new.unlink()
