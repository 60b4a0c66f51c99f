"""What Claude Code's settings put into its environment."""

import json
from pathlib import Path

import pytest

from addon.client_settings import files, variables


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
