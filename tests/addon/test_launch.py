"""How mitmdump is started, as far as that can be told without starting it."""

import socket
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from addon import launch
from addon.launch import NotStarted, Proxy, Setup


def options(setup: Setup) -> dict[str, str]:
    """What `--set` says."""
    arguments = setup.arguments()
    pairs = [arguments[at + 1].partition("=") for at, argument in enumerate(arguments) if argument == "--set"]
    assert len({name for name, _, _ in pairs}) == len(pairs), "mitmproxy takes a text option only once"
    return {name: value for name, _, value in pairs}


def proxy(setup: Setup) -> Proxy:
    return Proxy(Mock(), "http://127.0.0.1:8080", setup)


def test_it_listens_on_the_loopback_in_front_of_the_api() -> None:
    arguments = Setup(Path("captures"), port=8081).arguments()
    assert arguments[0] == sys.executable
    assert arguments[arguments.index("--listen-host") + 1] == "127.0.0.1"
    assert arguments[arguments.index("--listen-port") + 1] == "8081"
    assert arguments[arguments.index("--mode") + 1] == "reverse:https://api.anthropic.com"


def test_the_recorder_is_loaded_first() -> None:
    arguments = Setup(Path("captures")).arguments()
    scripts = [Path(arguments[at + 1]) for at, argument in enumerate(arguments) if argument == "-s"]
    assert [script.name for script in scripts] == ["capture.py", "ready.py"]
    assert all(script.is_absolute() and script.exists() for script in scripts)


def test_options_are_those_that_a_recorder_needs() -> None:
    found = options(Setup(Path("there")))
    assert found["connection_strategy"] == "lazy"
    assert found["flow_detail"] == "0"
    assert found["capture_dir"] == "there"
    assert "allow_hosts" not in found


def test_an_option_that_is_given_replaces_ours() -> None:
    found = options(Setup(Path("there"), options=("flow_detail=2", "capture_fold_over=0")))
    assert (found["flow_detail"], found["capture_fold_over"]) == ("2", "0")


def test_a_forward_proxy_decrypts_the_api_and_nothing_else() -> None:
    import re

    setup = Setup(Path("there"), forward=True)
    arguments = setup.arguments()
    assert arguments[arguments.index("--mode") + 1] == "regular"
    pattern = options(setup)["allow_hosts"]
    assert [bool(re.search(pattern, host)) for host in ("api.anthropic.com:443", "api.anthropic.com")] == [True, True]
    assert not any(
        re.search(pattern, host)
        for host in ("api.anthropic.com.example:443", "xapi.anthropic.com", "api-anthropic.com")
    )


def test_a_forward_proxy_decrypts_the_hosts_it_is_given() -> None:
    pattern = options(Setup(Path("there"), forward=True, hosts=(r"a\.example", r"b-[^.]*\.example")))["allow_hosts"]
    import re

    assert [bool(re.search(pattern, host)) for host in ("a.example:443", "b-1.example", "api.anthropic.com")] == [
        True,
        True,
        False,
    ]


def test_a_forward_proxy_can_go_on_through_another() -> None:
    arguments = Setup(Path("there"), forward=True, via="http://proxy:3128").arguments()
    assert arguments[arguments.index("--mode") + 1] == "upstream:http://proxy:3128"


@pytest.mark.parametrize(("forward", "way"), [(True, "run forward"), (False, "run reverse")])
def test_how_it_was_taken_is_written_down_where_somebody_says_so(forward: bool, way: str) -> None:
    assert options(Setup(Path("there"), forward=forward, by="run"))["capture_taken"] == way
    assert "capture_taken" not in options(Setup(Path("there"), forward=forward))


@pytest.mark.parametrize("upstream", ["api.anthropic.com", "ftp://host", "", "https://"])
def test_an_upstream_that_is_no_address_is_refused(upstream: str) -> None:
    with pytest.raises(NotStarted, match="not an address"):
        Setup(Path("there"), upstream).arguments()


def test_what_to_export() -> None:
    assert launch.exports(proxy(Setup(Path("there")))) == ["export ANTHROPIC_BASE_URL=http://127.0.0.1:8080"]


def test_what_to_export_for_a_forward_proxy() -> None:
    line, python = launch.exports(proxy(Setup(Path("there"), forward=True, options=("confdir=/a b",))))
    assert line == ("export HTTPS_PROXY=http://127.0.0.1:8080 NODE_EXTRA_CA_CERTS='/a b/mitmproxy-ca-cert.pem'")
    assert python.startswith("# ") and "SSL_CERT_FILE='/a b/mitmproxy-ca-cert.pem'" in python


def test_a_port_in_use_is_said_to_be() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(NotStarted, match=f"port {port} of 127.0.0.1 is in use"):
            launch.free_port(port)
    assert launch.free_port(port) == port


def test_the_first_free_port_is_taken_when_none_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_is_free", lambda port: port == launch.FIRST_PORT + 2)
    assert launch.free_port(None) == launch.FIRST_PORT + 2
    monkeypatch.setattr(launch, "_is_free", lambda port: False)
    assert launch.free_port(None) == 0


def test_a_port_that_does_not_exist_is_no_free_port() -> None:
    with pytest.raises(NotStarted):
        launch.free_port(70_000)


@pytest.mark.parametrize(
    ("upstream", "server", "path"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com", ""),
        ("https://gateway.example/anthropic", "https://gateway.example", "/anthropic"),
        ("http://127.0.0.1:8000/a/b/", "http://127.0.0.1:8000", "/a/b"),
    ],
)
def test_the_path_of_an_upstream_goes_to_the_client(upstream: str, server: str, path: str) -> None:
    setup = Setup(Path("captures"), upstream)
    assert setup.server() == (server, path)
    assert f"reverse:{server}" in setup.arguments()
    assert launch.exports(Proxy(Mock(), "http://127.0.0.1:1", setup)) == [
        f"export ANTHROPIC_BASE_URL=http://127.0.0.1:1{path}"
    ]


@pytest.mark.parametrize(
    "upstream", ["http://[::1", "http://h:99999", "ftp://h", "h", "", "http://u:p@h", "http://h/?x=1", "http://"]
)
def test_what_is_no_address_of_a_server_is_one_sentence(upstream: str) -> None:
    with pytest.raises(NotStarted, match="is not an address like") as caught:
        Setup(Path("captures"), upstream).arguments()
    assert caught.value.code == 2


@pytest.mark.parametrize("port", [-1, 65536, 99999])
def test_a_number_that_is_no_port(port: int) -> None:
    with pytest.raises(NotStarted, match="is no port"):
        launch.free_port(port)
