"""The options: what each text means, and what is said about one that means nothing."""

import os
from pathlib import Path

import pytest
from mitmproxy.test import tflow

from addon.settings import OPTIONS, misspelt, parse


def test_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = parse({})
    assert settings.folder == tmp_path / "captures"
    assert settings.fold_over == 400
    assert settings.compress is True
    assert settings.rotate_bytes == 256_000_000
    assert settings.match is None and settings.match_text == ""


def test_every_default_can_be_written_down() -> None:
    assert parse({option.name: option.default for option in OPTIONS}) == parse({})


@pytest.mark.parametrize(
    ("text", "folder"),
    [("~/weigh", "{home}/weigh"), ("sub/dir", "{cwd}/sub/dir"), ("../x", "{up}/x"), ("/abs//y/", "/abs/y")],
)
def test_folder(text: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    expected = folder.format(home="/home/me", cwd=tmp_path, up=tmp_path.parent)
    assert parse({"capture_dir": text}).folder == Path(expected)


@pytest.mark.parametrize("text", ["0", "-1", "400", " 12 ", "999999999999"])
def test_fold_over(text: str) -> None:
    assert parse({"capture_fold_over": text}).fold_over == int(text)


@pytest.mark.parametrize(("text", "bytes_"), [("0", 0), ("256", 256_000_000), ("0.5", 500_000), ("0.000001", 1)])
def test_rotation(text: str, bytes_: int) -> None:
    assert parse({"capture_rotate_mb": text}).rotate_bytes == bytes_


@pytest.mark.parametrize(("text", "on"), [("true", True), ("False", False)])
def test_compression(text: str, on: bool) -> None:
    assert parse({"capture_compress": text}).compress is on


def test_match_is_a_filter_expression() -> None:
    settings = parse({"capture_match": "~u /v1/ & ~m GET"})
    assert settings.match_text == "~u /v1/ & ~m GET"
    assert settings.match is not None
    assert not settings.match(tflow.tflow())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("capture_dir", ""),
        ("capture_dir", "  "),
        ("capture_dir", "~nobody-of-that-name/x"),
        ("capture_dir", "a\0b"),
        ("capture_fold_over", "many"),
        ("capture_fold_over", "-2"),
        ("capture_fold_over", "1e3"),
        ("capture_fold_over", "1_000"),
        ("capture_fold_over", "4.5"),
        ("capture_fold_over", "٤"),
        ("capture_fold_over", "9" * 5_000),
        ("capture_fold_over", ""),
        ("capture_compress", "yes"),
        ("capture_compress", ""),
        ("capture_rotate_mb", "-1"),
        ("capture_rotate_mb", "nan"),
        ("capture_rotate_mb", "inf"),
        ("capture_rotate_mb", "256MB"),
        ("capture_match", "~~~"),
        ("capture_match", "~u ("),
    ],
)
def test_a_wrong_value_is_quoted_in_one_sentence(name: str, text: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse({name: text})
    sentence = str(raised.value)
    assert sentence.startswith(name)
    assert sentence.endswith(".") or sentence.endswith(").")
    assert os.linesep not in sentence
    if text.strip():
        assert text.strip() in sentence


def test_a_missing_value_is_said_to_be_missing() -> None:
    with pytest.raises(ValueError, match="capture_dir needs a value"):
        parse({"capture_dir": None})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("capture_fold", "capture_fold_over"),
        ("capture_foldover", "capture_fold_over"),
        ("capture_directory", "capture_dir"),
        ("captures_dir", "capture_dir"),
        ("Capture_Dir", "capture_dir"),
        ("capture-dir", "capture_dir"),
        ("capture_rotate", "capture_rotate_mb"),
        ("captur_match", "capture_match"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(name: str, meant: str) -> None:
    assert misspelt([name]) == f"There is no option {name}: did you mean {meant}?"


def test_a_name_like_none_of_ours_but_with_our_prefix_gets_the_list() -> None:
    sentence = misspelt(["capture_xyzzy"])
    assert sentence is not None
    assert all(option.name in sentence for option in OPTIONS)


@pytest.mark.parametrize("name", ["guardrail", "pcap_dir", "screenshot_dir", "compress"])
def test_the_options_of_others_are_theirs(name: str) -> None:
    assert misspelt([name]) is None
