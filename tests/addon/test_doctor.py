"""What the doctor says of a machine that is well, and of one that is not."""

import json
import os
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from capture_files import body, request, written
from mitmproxy.certs import CertStore

from addon import doctor, doctor_variables, launch
from addon.client_settings import Setting
from addon.doctor_shown import doctor_json, doctor_lines
from addon.finding import Finding
from analyzers.wire.jsontext import dump
from analyzers.wire.record import FileHead, start_record

SECRET = "s3cr3t-value"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conf")
    CertStore.create_store(folder, "mitmproxy", 2048)
    return folder


def states(found: list[Finding]) -> list[str]:
    return [one.state for one in found]


def only(found: list[Finding], part: str) -> Finding:
    (one,) = [one for one in found if part in one.text]
    return one


def test_an_environment_that_changes_nothing_is_one_line() -> None:
    assert [one.text for one in doctor_variables.variables({"PATH": "/bin", "DISABLE_TELEMETRY": "1"})] == [
        "no variable changes what is sent or recorded"
    ]


@pytest.mark.parametrize(
    ("name", "value", "state", "said"),
    [
        ("ANTHROPIC_BASE_URL", f"https://u:{SECRET}@gw.corp/x?k={SECRET}", "note", "leads to gw.corp"),
        ("ANTHROPIC_BASE_URL", "https://api.anthropic.com", "ok", "the API's own"),
        ("ANTHROPIC_BASE_URL", "gw.corp", "wrong", "no address"),
        ("ANTHROPIC_BASE_URL", "http://</script>", "wrong", "no address"),
        ("ANTHROPIC_VERTEX_BASE_URL", "http://</script>", "note", "leads to what is no address"),
        ("HTTPS_PROXY", f"http://u:{SECRET}@proxy:3128", "note", "http://proxy:3128"),
        ("HTTPS_PROXY", f"socks5://u:{SECRET}@proxy:1", "wrong", "socks5"),
        ("NO_PROXY", "x,.anthropic.com", "note", "NO_PROXY has .anthropic.com"),
        ("CLAUDE_CODE_USE_BEDROCK", "1", "note", "Amazon Bedrock"),
        ("CLAUDE_CODE_USE_VERTEX", "true", "note", "Google Vertex AI"),
        ("ANTHROPIC_BEDROCK_BASE_URL", f"https://b.corp/{SECRET}", "note", "leads to b.corp"),
        ("NODE_EXTRA_CA_CERTS", "/nowhere.pem", "wrong", "cannot be read"),
        ("NODE_TLS_REJECT_UNAUTHORIZED", "0", "note", "checks no certificate"),
        ("DISABLE_PROMPT_CACHING", "1", "note", "no cache breakpoints"),
        ("DISABLE_SOMETHING_NEW", "1", "note", "may change"),
        ("ANTHROPIC_CUSTOM_HEADERS", f"x: {SECRET}", "note", "headers of your own"),
    ],
)
def test_variables_that_matter(name: str, value: str, state: str, said: str) -> None:
    (one,) = doctor_variables.variables({name: value, "ANTHROPIC_API_KEY": SECRET})
    assert (one.state, one.topic) == (state, "variable")
    assert said in one.text
    assert SECRET not in f"{one.text} {one.advice}"


@pytest.mark.parametrize(("name", "value"), [("CLAUDE_CODE_USE_BEDROCK", "0"), ("DISABLE_OTHER", "false")])
def test_switches_that_are_off_change_nothing(name: str, value: str) -> None:
    assert states(doctor_variables.variables({name: value})) == ["ok"]


def test_settings_of_the_client_win_over_what_it_is_told() -> None:
    found = doctor_variables.settings(
        {name: Setting(name, value, Path("/h/settings.json")) for name, value in (("HTTPS_PROXY", "http://p:1"),)}, {}
    )
    assert only(found, "wins over").state == "wrong"
    assert all(one.text.startswith("/h/settings.json: ") for one in found)
    assert states(doctor_variables.settings({}, {})) == ["ok"]


def test_settings_that_cannot_be_read_are_not_said_to_change_nothing() -> None:
    (one,) = doctor_variables.settings({}, {Path("/h/settings.json"): "is no JSON"})
    assert (one.state, one.text) == ("note", "/h/settings.json is no JSON: what it sets is not known")


def test_an_authority_that_is_well(authority: Path) -> None:
    assert states(list(doctor._authority(authority))) == ["ok"]


def test_no_authority_is_well_too(tmp_path: Path) -> None:
    assert states(list(doctor._authority(tmp_path))) == ["ok"]


def test_a_key_that_others_can_read_is_wrong(authority: Path, tmp_path: Path) -> None:
    for file in authority.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "mitmproxy-ca.pem").chmod(0o640)
    found = list(doctor._authority(tmp_path))
    assert found[0].state == "wrong" and found[0].advice == f"chmod 600 {tmp_path / 'mitmproxy-ca.pem'}"


@pytest.mark.parametrize(("days", "state"), [(365 * 11, "wrong"), (365 * 10 - 10, "note"), (0, "ok"), (-400, "wrong")])
def test_an_authority_has_its_time(authority: Path, monkeypatch: pytest.MonkeyPatch, days: int, state: str) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) + timedelta(days=days)

    monkeypatch.setattr(doctor, "datetime", Clock)
    assert states(list(doctor._authority(authority))) == [state]


def test_a_certificate_of_another_key_is_wrong(authority: Path, tmp_path: Path) -> None:
    CertStore.create_store(tmp_path, "mitmproxy", 2048)
    (tmp_path / "mitmproxy-ca-cert.pem").write_bytes((authority / "mitmproxy-ca-cert.pem").read_bytes())
    assert "is not the certificate of" in only(list(doctor._authority(tmp_path)), "mitmproxy-ca-cert.pem").text


@pytest.mark.parametrize("text", [b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_a_key_that_is_none_is_wrong(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "mitmproxy-ca.pem").write_bytes(text)
    (tmp_path / "mitmproxy-ca.pem").chmod(0o600)
    assert states(list(doctor._authority(tmp_path))) == ["wrong"]


def test_a_folder_that_can_be_made(tmp_path: Path) -> None:
    (one,) = doctor._captures(tmp_path / "a" / "b")
    assert (one.state, one.text) == ("ok", f"{tmp_path / 'a' / 'b'} can be made")


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    assert states(list(doctor._captures(tmp_path / "x"))) == ["wrong"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no file system here in which no folder can be made")
@pytest.mark.parametrize("folder", ["/proc/x", "/proc/x/y", "/proc"])
def test_a_folder_that_cannot_be_written(folder: str) -> None:
    (one,) = doctor._captures(Path(folder))
    assert one.state == "wrong" and one.text.startswith(f"{folder} cannot be written (")


def test_a_folder_that_others_can_look_into(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert only(list(doctor._captures(tmp_path)), "may look").advice == f"chmod 700 {tmp_path}"


def test_ports_in_use_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(launch, "FIRST_PORT", server.getsockname()[1])
        monkeypatch.setattr(launch, "PORTS_TRIED", 1)
        one = doctor._port()
        assert (one.state, "in use" in one.text) == ("note", True)


def test_the_usual_port_in_use_is_told_with_the_one_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_is_free", lambda port: port != launch.FIRST_PORT)
    one = doctor._port()
    assert (one.state, one.text) == (
        "note",
        "port 8080 of 127.0.0.1 is in use, so `weighbridge capture` takes 8081",
    )
    monkeypatch.setattr(launch, "_is_free", lambda port: True)
    assert (doctor._port().state, doctor._port().text) == ("ok", "port 8080 of 127.0.0.1 is free")


def capture(folder: Path, name: str, mode: str, agent: str) -> None:
    head = start_record(FileHead(1.0, "0.1.0", "12.3.1", 400, (mode,), {}))
    written(folder, name, dump(head) + b"\n", request("1", body(), headers=(("user-agent", agent),)))


CLAUDE, SDK, API = "claude-cli/2.1.332 (external, cli)", "Anthropic/Python 2.14", "reverse:https://api.anthropic.com"


@pytest.mark.parametrize(
    ("mode", "agent", "state"),
    [
        (API, CLAUDE, "note"),
        (API, SDK, "ok"),
        ("regular", CLAUDE, "ok"),
        ("upstream:http://p:1", CLAUDE, "ok"),
        ("reverse:https://gw.corp", CLAUDE, "ok"),
    ],
)
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.zst"])
def test_a_capture_of_claude_code_in_reverse_is_not_what_it_sends(
    tmp_path: Path, mode: str, agent: str, state: str, name: str
) -> None:
    capture(tmp_path, name, mode, agent)
    assert states(list(doctor._taken(tmp_path))) == [state]
    assert states(list(doctor._taken(tmp_path / name))) == [state]


def test_other_files_are_no_captures(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"kind":"other"}\n')
    assert [one.text for one in doctor._taken(tmp_path)] == [f"no capture in {tmp_path} yet"]


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "state", "said"),
    [
        ("echo '2.1.332 (Claude Code)'", "ok", "asks HTTPS_PROXY"),
        ("echo '1.0.3 (Claude Code)'", "note", "older"),
        ("echo hello", "note", "does not say"),
        ("exit 3", "wrong", "fails"),
    ],
)
def test_claude_is_told_by_its_version(tmp_path: Path, script: str, state: str, said: str) -> None:
    program(tmp_path, "claude", script)
    found = doctor._claude({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert (found.state, said in found.text) == (state, True)


@pytest.mark.parametrize("last", ["wait", "exit 0"])
def test_a_program_that_gives_no_answer_is_ended_with_all_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    monkeypatch.setattr(doctor, "_PATIENCE", 1.0)
    program(tmp_path, "claude", f"echo $$ > {tmp_path}/own\nsleep 60 &\necho $! > {tmp_path}/started\n{last}")
    found = doctor._claude({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert found.state == "wrong" and "gives no answer within" in found.text
    for name in ("own", "started"):
        with pytest.raises(ProcessLookupError):
            _alive(int((tmp_path / name).read_text()))


def _alive(number: int) -> None:
    """Raises ProcessLookupError for a process that is gone, or dead and only not waited for yet."""
    os.kill(number, 0)
    told = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True, check=False).stdout
    if not told.strip() or told.startswith("Z"):
        raise ProcessLookupError


def test_a_program_that_is_asked_for_its_version_can_reach_nobody(tmp_path: Path) -> None:
    program(tmp_path, "claude", 'echo "$HTTPS_PROXY $NO_PROXY|$ANTHROPIC_BASE_URL (Claude Code)"')
    said = doctor._said([str(tmp_path / "claude")], {"HTTPS_PROXY": "http://real:1", "NO_PROXY": "*"})
    assert said == "http://127.0.0.1:9 | (Claude Code)"


@pytest.mark.parametrize(("version", "said"), [("v20.1.0", "asks no proxy"), ("v24.0.0", "NODE_USE_ENV_PROXY")])
def test_node_is_told_by_its_version(tmp_path: Path, version: str, said: str) -> None:
    program(tmp_path, "node", f"echo {version}")
    assert said in only(list(doctor._clients({"PATH": str(tmp_path)})), "Node.js").text


def test_nothing_in_path_is_no_fault() -> None:
    assert states(list(doctor._clients({"PATH": "/nowhere"}))) == ["ok"]


def test_lines_and_json_say_the_same() -> None:
    found = [Finding("port", "ok", "a"), Finding("client", "wrong", "b\x1b", "do c")]
    assert doctor_lines(found) == ["OK     a", "WRONG  b\\u001b → do c"]
    assert doctor_json(found) == {
        "ok": False,
        "findings": [
            {"topic": "port", "state": "ok", "text": "a", "do": None},
            {"topic": "client", "state": "wrong", "text": "b\x1b", "do": "do c"},
        ],
    }


@pytest.mark.parametrize(("extra", "code"), [({}, 0), ({"HTTPS_PROXY": "socks5://p:1"}, 1)])
def test_the_command_exits_with_1_when_something_is_wrong(tmp_path: Path, extra: dict[str, str], code: int) -> None:
    environment = {"PATH": "/nowhere", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), **extra}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "addon.cli", "doctor", "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert json.loads(done.stdout)["ok"] is (code == 0)
    assert list(tmp_path.iterdir()) == [], "the doctor leaves nothing behind"
