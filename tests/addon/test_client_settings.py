"""What Claude Code's settings put into its environment."""

import json
from pathlib import Path

import pytest

from addon.client_settings import files, unread, variables


def write(path: Path, settings: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings))
    return path


def test_the_file_that_is_read_last_wins(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "work"
    places = files({}, home, folder)
    write(places[0], {"env": {"A": "user", "B": "user", "N": 3, "T": True}, "model": "x"})
    last = write(places[2], {"env": {"A": "local"}})
    found = variables(places)
    assert {name: setting.value for name, setting in found.items()} == {
        "A": "local",
        "B": "user",
        "N": "3",
        "T": "true",
    }
    assert found["A"].file == last


def test_the_users_folder_can_be_another_one(tmp_path: Path) -> None:
    assert files({"CLAUDE_CONFIG_DIR": str(tmp_path)}, Path("/home/me"), Path("/w"))[0] == tmp_path / "settings.json"
    assert files({}, Path("/home/me"), Path("/w"))[0] == Path("/home/me/.claude/settings.json")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"env":[]}', '{"env":{"A":{"b":1},"C":null}}', "[" * 200_000])
def test_what_is_no_settings_file_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.json").write_text(text)
    assert variables([tmp_path / "settings.json", tmp_path / "gone.json"]) == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is no JSON"),
        ("[" * 200_000, "is no JSON"),
        ("[]", "is no JSON object"),
        ('{"env":[]}', 'has no object as "env"'),
        ('{"a":"' + "x" * 4_200_000 + '"}', "is larger than 4,194,304 bytes"),
    ],
)
def test_what_cannot_be_read_is_told_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    place = tmp_path / "settings.json"
    place.write_text(text)
    assert unread([place, tmp_path / "gone.json"]) == {place: reason}


@pytest.mark.parametrize("text", ["", " \n", "{}", '{"model":"x"}', '{"env":{"A":{"b":1}}}'])
def test_what_sets_nothing_can_be_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.json").write_text(text)
    assert unread([tmp_path / "settings.json", tmp_path / "settings.json" / "below.json"]) == {}


def test_a_folder_in_the_place_of_the_file_cannot_be_read(tmp_path: Path) -> None:
    assert unread([tmp_path]) == {tmp_path: "cannot be read (Is a directory)"}
