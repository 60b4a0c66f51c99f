"""What is said of options before mitmdump starts."""

import asyncio
from pathlib import Path

import pytest
from mitmproxy.options import Options
from mitmproxy.tools.dump import DumpMaster

from addon import launched
from addon.launched import given, mistake, unknown
from addon.settings import misspelt


def test_what_is_given_stands_behind_set() -> None:
    assert given(["mitmdump", "--set", "a=1", "-s", "x", "--set", "b"]) == ("a=1", "b")
    assert given([]) == ()


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("capture_fold_ovr=-1", "There is no option capture_fold_ovr: did you mean capture_fold_over?"),
        ("captures_dir=x", "There is no option captures_dir: did you mean capture_dir?"),
        ("capture_fold_over=many", "capture_fold_over=many: must be a whole number"),
        ("capture_rotate_mb", "capture_rotate_mb needs a value"),
        ("tcp_timeout=long", "Failed to parse option tcp_timeout"),
        ("ssl_insecure=perhaps", "Failed to parse option ssl_insecure"),
    ],
)
def test_a_mistake_is_one_sentence(spec: str, sentence: str) -> None:
    said = mistake(["keep_host_header=true", spec])
    assert said is not None and said.startswith(sentence) and "\n" not in said


def test_an_option_of_ours_is_given_once() -> None:
    assert mistake(["guard_mode=warn", "guard_mode=block"]) == "guard_mode is given 2 times: leave one."


def test_what_is_right_or_belongs_to_others_is_no_mistake() -> None:
    assert mistake(["capture_fold_over=0", "capture_notes=false", "stream_large_bodies=1m", "their_own=1"]) is None
    assert mistake(["capture_mine=1"]) is not None


def test_scripts_that_mitmproxy_would_pass_over_are_not_passed_over_in_silence() -> None:
    assert "-s for each script" in str(mistake(["scripts=mine.py"]))


def test_no_option_of_mitmproxys_is_taken_for_a_misspelt_one_of_ours() -> None:
    async def names() -> list[str]:
        return list(DumpMaster(Options(), with_termlog=False).options.keys())

    found = asyncio.run(names())
    assert "keep_host_header" in found
    assert [name for name in found if misspelt([name])] == []


@pytest.mark.parametrize(
    ("name", "hint"), [("ssl_insecur", "did you mean ssl_insecure?"), ("nope", "mitmdump --options")]
)
def test_a_name_that_nobody_knows(name: str, hint: str) -> None:
    said = unknown(["ssl_insecure", name], Options().keys())
    assert said is not None and said.startswith(f"There is no option {name}: ") and hint in said
    assert unknown(["ssl_insecure"], Options().keys()) is None


def test_a_refusal_is_there_whole_and_beside_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_READY", str(tmp_path / "ready"))
    launched.refuse("no \udcff")
    assert [file.name for file in tmp_path.iterdir()] == ["ready.refused"]
    assert (tmp_path / "ready.refused").read_text("utf-8") == "no \\udcff"
