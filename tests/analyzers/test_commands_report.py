"""``report``, run as a user runs it."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from capture_files import end, start, written
from typer.testing import CliRunner, Result

from analyzers.cli import app

EXAMPLE = str(Path(__file__).parents[2] / "captures.example")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["report", *arguments])


def test_the_page_is_one_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    result = run("-c", EXAMPLE, "-o", str(out))
    assert (result.exit_code, result.stdout) == (0, "")
    assert out.read_bytes().startswith(b"<!doctype html>")
    assert result.stderr == f"{out}: {out.stat().st_size:,} bytes\n"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [out]


def test_the_page_goes_to_standard_output(tmp_path: Path) -> None:
    assert run("-c", EXAMPLE, "-o", "-").stdout.startswith("<!doctype html>")


def test_a_place_where_nothing_can_be_written_is_told(tmp_path: Path) -> None:
    out = tmp_path / "none" / "page.html"
    result = run("-c", EXAMPLE, "-o", str(out))
    told = f"weighbridge: {out} cannot be written (No such file or directory): name a file with -o\n"
    assert (result.exit_code, result.stderr) == (2, told)


def test_no_page_takes_the_place_of_what_it_was_made_of(tmp_path: Path) -> None:
    capture = tmp_path / "a.jsonl"
    capture.write_bytes((Path(EXAMPLE) / "four-turns.jsonl").read_bytes())
    (tmp_path / "link").symlink_to(capture)
    before = capture.read_bytes()
    for out in (capture, tmp_path / "link"):
        result = run("-c", str(tmp_path), "-o", str(out))
        told = f"weighbridge: {out} is one of the files that are read: name another file with -o\n"
        assert (result.exit_code, result.stderr) == (2, told)
    assert capture.read_bytes() == before


def test_a_page_of_nothing_is_told_by_the_exit_code_too(tmp_path: Path) -> None:
    written(tmp_path, "a.jsonl", start(), end())
    out = tmp_path / "page.html"
    result = run("-c", str(tmp_path / "a.jsonl"), "-o", str(out))
    assert (result.exit_code, result.stdout) == (3, "no request was recorded\n")
    assert result.stderr == f"weighbridge: {out} was not written: there is nothing to show on a page\n"
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "say where the page is to go: -o FILE.html, or --serve to look at it as it grows"),
        (("--serve", "-o", "a.html"), "--serve shows the page itself: leave out -o and --json"),
        (("--port", "80"), "--port is for --serve: add it, or leave the port out"),
        (("--serve", "--port", "70000"), "--port 70000 is no port: give a number from 1 to 65535"),
        (("--serve", "-c", "-"), "standard input cannot be followed: name a file or a folder with --captures"),
    ],
)
def test_mistakes_are_told_in_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"weighbridge: {sentence}\n")


def test_a_path_that_is_not_there_fails(tmp_path: Path) -> None:
    result = run("-c", str(tmp_path / "none"), "-o", str(tmp_path / "a.html"))
    assert result.exit_code == 3
    assert not (tmp_path / "a.html").exists()


def test_an_empty_folder_makes_no_page(tmp_path: Path) -> None:
    (tmp_path / "captures").mkdir()
    result = run("-c", str(tmp_path / "captures"), "-o", str(tmp_path / "a.html"))
    assert (result.exit_code, (tmp_path / "a.html").exists()) == (3, False)


def test_tokens_are_those_of_show_for_every_field_of_every_request() -> None:
    def told(*command: str) -> Any:
        return json.loads(CliRunner().invoke(app, ["--captures", EXAMPLE, *command, "--json"]).stdout)

    def by_name(request: Any) -> dict[str, int | None]:
        return {one["name"]: one["tokens"] for one in request["fields"]}

    for request in told("report")["requests"]:
        assert by_name(request) == by_name(told("show", str(request["n"]), "--unit", "tokens"))
