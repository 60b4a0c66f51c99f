"""What follows from a command and an environment, before anything is started."""

import json
from pathlib import Path

import pytest

from addon import run, trust
from addon.child import CannotRun
from addon.launch import NotStarted
from addon.proxy_variables import Unusable
from addon.run import ANOTHER_REQUEST, Plan, Wanted, planned


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, a working folder, and two programs in PATH: claude and agent."""
    monkeypatch.setattr(trust, "usual", lambda: b"")
    for name in ("home", "work", "bin", "made"):
        (tmp_path / name).mkdir()
    for name in ("claude", "agent"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def plan(machine: Path, *command: str, way: run.Way | None = None, **environment: str) -> Plan:
    wanted = Wanted(command or ("claude",), Path("captures"), way)
    return planned(wanted, {"PATH": str(machine / "bin"), **environment}, machine / "made")


def settings(machine: Path, **env: str) -> None:
    place = machine / "work" / ".claude" / "settings.json"
    place.parent.mkdir()
    place.write_text(json.dumps({"env": env}))


def test_claude_code_is_recorded_forward_without_a_word(machine: Path) -> None:
    found = plan(machine)
    assert (found.way, found.setup.forward, found.notes) == ("forward", True, ())
    assert any(r"api\.anthropic\.com" in host for host in found.setup.hosts)


def test_others_are_recorded_in_reverse_and_that_may_differ(machine: Path) -> None:
    found = plan(machine, "agent")
    assert (found.way, found.setup.upstream, found.notes) == (
        "reverse",
        "https://api.anthropic.com",
        (ANOTHER_REQUEST,),
    )


def test_a_gateway_stays_the_upstream_and_nothing_differs(machine: Path) -> None:
    found = plan(machine, "agent", ANTHROPIC_BASE_URL="https://gw.corp/anthropic")
    assert (found.setup.upstream, found.notes) == ("https://gw.corp/anthropic", ())


def test_everything_of_the_proxys_own_lies_in_one_folder(machine: Path) -> None:
    made = dict(option.split("=", 1) for option in plan(machine).setup.options)
    assert {Path(made[name]).parent for name in ("confdir", "ssl_verify_upstream_trusted_ca")} == {machine / "made"}


def test_options_of_the_user_go_before_ours(machine: Path) -> None:
    wanted = Wanted(("claude",), Path("c"), options=("termlog_verbosity=debug",))
    options = planned(wanted, {"PATH": str(machine / "bin")}, machine / "made").setup.options
    assert [option for option in options if option.startswith("termlog")] == ["termlog_verbosity=debug"]


def test_the_next_proxy_has_its_password_in_the_environment_and_not_in_the_command_line(machine: Path) -> None:
    setup = plan(machine, HTTPS_PROXY="http://ann:secret@proxy:3128", NO_PROXY="a.corp").setup
    assert setup.via == "http://proxy:3128"
    assert "secret" not in " ".join(setup.arguments())
    assert json.loads(setup.environment["WEIGHBRIDGE_NEXT"]) == {"https": ["http://proxy:3128", "ann:secret"]}
    assert setup.environment["WEIGHBRIDGE_NEXT_EXCEPT"] == "a.corp"
    assert plan(machine).setup.scripts == ()


@pytest.mark.parametrize("url", ["127.0.0.1:1", "nonsense://u:secret@x", "http://gw.corp/?y=secret", "http://[::1"])
def test_an_address_that_is_none_is_blamed_on_the_variable_and_shown_without_secrets(machine: Path, url: str) -> None:
    with pytest.raises(NotStarted, match=r"ANTHROPIC_BASE_URL .* is not an address like") as caught:
        plan(machine, "agent", ANTHROPIC_BASE_URL=url)
    assert caught.value.code == 2
    assert "secret" not in str(caught.value) and "--upstream" not in str(caught.value)


def test_user_and_password_in_the_address_are_the_clients_to_send(machine: Path) -> None:
    found = plan(machine, "agent", ANTHROPIC_BASE_URL="http://ann:s3cret@gw.corp:1/x")
    assert (found.setup.upstream, found.user) == ("http://gw.corp:1/x", "ann:s3cret")
    assert "s3cret" not in " ".join((*found.setup.arguments(), *run._opening(Wanted(("x",), Path("c")), found)))


def test_a_proxy_that_the_client_would_not_ask_is_not_gone_through(machine: Path) -> None:
    local = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:18931"}
    setup = plan(machine, "agent", HTTPS_PROXY="http://proxy:3128", **local).setup
    assert (setup.scripts, "WEIGHBRIDGE_NEXT" in setup.environment) == ((), False)
    setup = plan(machine, "agent", HTTP_PROXY="http://proxy:3128", **local).setup
    assert json.loads(setup.environment["WEIGHBRIDGE_NEXT"]) == {"http": ["http://proxy:3128", ""]}


def test_settings_that_cannot_be_read_are_told_of(machine: Path) -> None:
    settings(machine)
    place = machine / "work" / ".claude" / "settings.json"
    place.write_text("{")
    assert plan(machine).notes == (f"{place} is no JSON, so what it sets is not known",)


def test_what_other_commands_need_to_find_the_captures() -> None:
    assert run._again(Path("captures"), {}) == ""
    assert run._again(Path("a b"), {}) == " --captures 'a b'"
    assert run._again(Path("x"), {"WEIGHBRIDGE_CAPTURES": "x"}) == ""
    assert run._again(Path("captures"), {"WEIGHBRIDGE_CAPTURES": "x"}) == " --captures captures"


def test_settings_that_lead_the_client_elsewhere_are_refused(machine: Path) -> None:
    settings(machine, HTTPS_PROXY="http://p:1", ANTHROPIC_BASE_URL="https://gw.corp")
    with pytest.raises(Unusable, match="sets HTTPS_PROXY"):
        plan(machine)
    with pytest.raises(Unusable, match="or record with --forward"):
        plan(machine, way="reverse")
    assert plan(machine, "agent").way == "reverse", "they are Claude Code's alone"


def test_an_address_on_this_machine_in_settings_cannot_be_recorded_at_all(machine: Path) -> None:
    settings(machine, ANTHROPIC_BASE_URL="http://localhost:4000")
    with pytest.raises(Unusable) as caught:
        plan(machine)
    assert "--forward" not in str(caught.value)


def test_hosts_that_settings_name_are_opened(machine: Path) -> None:
    settings(machine, ANTHROPIC_BASE_URL="https://gw.corp")
    assert r"gw\.corp" in plan(machine).setup.hosts


def test_roots_in_settings_are_told_of(machine: Path) -> None:
    settings(machine, SSL_CERT_FILE="/corp.pem")
    (note,) = plan(machine).notes
    assert "sets SSL_CERT_FILE" in note


def test_roots_that_cannot_be_read_are_told_of(machine: Path) -> None:
    (note,) = plan(machine, SSL_CERT_FILE="/nowhere.pem").notes
    assert note.startswith("SSL_CERT_FILE names /nowhere.pem, which cannot be read")


@pytest.mark.parametrize(("command", "code"), [("nothing", 127), ("./file", 126), ("./gone", 127)])
def test_a_command_that_cannot_be_run(machine: Path, command: str, code: int) -> None:
    (machine / "work" / "file").touch()
    with pytest.raises(CannotRun) as caught:
        plan(machine, command)
    assert caught.value.code == code


def test_lines_of_mitmdump_are_shown_once_and_not_too_many(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"[12:00:0{n}.000] the same\n" for n in range(5)) + "no time\n")
    assert run._said(log) == ["the same", "no time"]
    log.write_text("".join(f"[12:00:00.000] line {n}\n" for n in range(30)))
    assert run._said(log)[-1] == "and 20 more lines of mitmdump"
    assert run._said(tmp_path / "gone") == []
