"""`weighbridge run` with real commands: curl, the vendor's SDK, and Claude Code where it is installed."""

import base64
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from proxied import capture_lines
from run_place import BODY, CURL, KEY, PATIENCE, Place
from tls_site import TlsSite

from addon.stub_api import StubApi

pytestmark = pytest.mark.live

SDK = """
import sys
import anthropic
client = anthropic.Anthropic(max_retries=0)
message = client.messages.create(model="claude-haiku-4-5", max_tokens=20, messages=[{"role": "user", "content": "hi"}])
print(message.model)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[TlsSite]:
    site = TlsSite(tmp_path / "site", "api.anthropic.com", "other.example")
    yield site
    site.close()


def to(stub: StubApi) -> tuple[str, str]:
    """Has the proxy take the stub for the API."""
    return "--set", f"map_remote=|https://api.anthropic.com/|{stub.url}/"


def test_a_client_of_the_sdk_is_recorded_in_reverse(place: Place, stub: StubApi) -> None:
    command = ("--", sys.executable, "-c", SDK, "7")
    code, out, error = place.run(*command, ANTHROPIC_BASE_URL=f"{stub.url}/some/prefix")
    assert (code, out) == (7, "claude-haiku-4-5-20251001\n"), error
    (request,) = place.lines("request")
    assert (request["port"], request["path"]) == (stub.port, "/some/prefix/v1/messages")
    (start,) = place.lines("start")
    assert start["taken"] == "run reverse"
    assert [line["kind"] for line in capture_lines(place.folder / "captures")][-1] == "end"
    assert re.search(r"(?m)^1 request in .*: 1 completed$", error)
    assert re.search(r"(?m)^capture: captures/.*\.jsonl\.zst$", error)
    assert KEY not in error and place.is_clean()


def test_a_client_of_the_sdk_is_recorded_forward(place: Place, stub: StubApi) -> None:
    code, out, error = place.run("--forward", *to(stub), "--", sys.executable, "-c", SDK, "0")
    assert (code, out) == (0, "claude-haiku-4-5-20251001\n"), error
    (request,) = place.lines("request")
    assert (request["scheme"], request["host"], request["port"]) == ("https", "api.anthropic.com", 443)
    (start,) = place.lines("start")
    assert (start["taken"], start["modes"]) == ("run forward", ["regular"])
    assert place.is_clean()


def test_forward_goes_on_through_the_proxy_that_was_there_with_its_password(place: Place, site: TlsSite) -> None:
    curl = ("curl", "-sS", "--fail", "-d", BODY, "https://api.anthropic.com/v1/messages")
    code, out, error = place.run_warm(
        "--forward",
        "--",
        *curl,
        HTTPS_PROXY=f"http://ann:p%40ss@127.0.0.1:{site.port}",
        SSL_CERT_FILE=str(site.root),
    )
    assert (code, out) == (0, site.answer.decode()), error
    credentials = base64.b64encode(b"ann:p@ss").decode()
    assert site.asked == [("api.anthropic.com:443", f"Basic {credentials}")]
    ((line, headers, body),) = site.requests
    assert (line, body) == (b"POST /v1/messages HTTP/1.1", BODY.encode())
    assert not [name for name, _ in headers if b"proxy" in name.lower()]
    assert place.lines("start")[0]["modes"] == [f"upstream:http://127.0.0.1:{site.port}"]
    assert "p@ss" not in json.dumps(capture_lines(place.folder / "captures")) and "p%40ss" not in error


def test_reverse_goes_on_through_it_too(place: Place, site: TlsSite) -> None:
    proxy = f"http://ann:pass@127.0.0.1:{site.port}"
    code, out, error = place.run_warm("--", "sh", "-c", CURL, BODY, HTTPS_PROXY=proxy, SSL_CERT_FILE=str(site.root))
    assert (code, out) == (0, site.answer.decode()), error
    assert [host for host, _ in site.asked] == ["api.anthropic.com:443"]
    assert not [name for name, _ in site.requests[0][1] if b"authorization" in name.lower()]
    assert "in reverse Claude Code sends another request" in error


def test_other_hosts_are_tunnelled_untouched(place: Place, site: TlsSite) -> None:
    curl = ("curl", "-sSv", "--fail", "https://other.example/v1/messages", "-d", BODY)
    proxy = f"http://127.0.0.1:{site.port}"
    code, out, error = place.run_warm("--forward", "--", *curl, HTTPS_PROXY=proxy, SSL_CERT_FILE=str(site.root))
    assert (code, out) == (0, site.answer.decode()), error
    assert re.search(r"issuer: .*site", error), "the certificate is the site's own"
    assert not (place.folder / "captures").exists() or not place.lines("request")
    assert "no request to the Messages API was recorded" in error


def test_a_host_that_is_allowed_is_opened(place: Place, site: TlsSite) -> None:
    curl = ("curl", "-sS", "--fail", "https://other.example/v1/messages", "-d", BODY)
    proxy = f"http://127.0.0.1:{site.port}"
    allowed = ("--forward", "--allow-host", "other.example")
    code, _, error = place.run_warm(*allowed, "--", *curl, HTTPS_PROXY=proxy, SSL_CERT_FILE=str(site.root))
    assert code == 0, error
    assert [request["host"] for request in place.lines("request")] == ["other.example"]


def test_an_exception_for_the_api_is_taken_back_and_it_is_asked_directly(place: Place, stub: StubApi) -> None:
    curl = ("curl", "-sS", "--fail", "-d", BODY, "https://api.anthropic.com/v1/messages")
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": ".anthropic.com"}
    code, _, error = place.run_warm("--forward", *to(stub), "--", *curl, **nowhere)
    assert code == 0, error
    assert len(place.lines("request")) == 1
    assert "NO_PROXY has .anthropic.com, which is left out" in error


def test_a_client_that_does_not_trust_the_authority_is_told_of(place: Place, site: TlsSite) -> None:
    curl = ("curl", "-sS", "--cacert", str(site.root), "https://api.anthropic.com/v1/messages")
    code, _, error = place.run_warm("--forward", "--", *curl)
    assert code != 0
    assert "does not trust the proxy's certificate" in error
    assert "no request to the Messages API was recorded" in error


def test_two_at_once_do_not_meet(place: Place, stub: StubApi) -> None:
    command = ("--", "sh", "-c", CURL, BODY)
    both = [place.started(*command, ANTHROPIC_BASE_URL=stub.url) for _ in range(2)]
    for process in both:
        _, error = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 and "1 request in" in error, error
    assert len(list((place.folder / "captures").glob("*.jsonl.zst"))) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_command_and_the_capture_in_good_order(
    place: Place, stub: StubApi, number: signal.Signals
) -> None:
    script = 'curl -s -d "$0" "$ANTHROPIC_BASE_URL/v1/messages" && echo && exec sleep 60'
    process = place.started("--", "sh", "-c", script, BODY, ANTHROPIC_BASE_URL=stub.url)
    assert process.stdout is not None
    assert "usage" in process.stdout.readline()
    process.send_signal(number)
    _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number, error
    assert len(place.lines("end")) == 1
    assert "1 request in" in error and place.is_clean()


ASKS_ON_INTERRUPT = """
import json, os, signal, sys, urllib.request
def ask(number, frame):
    urllib.request.urlopen(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", sys.argv[1].encode(), 20).read()
    sys.exit(3)
signal.signal(signal.SIGINT, ask)
print("ready", flush=True)
signal.pause()
"""


def test_what_is_typed_is_for_the_command_alone(place: Place, stub: StubApi) -> None:
    """A command that has a last word to say after Ctrl-C says it through a proxy that is still there."""
    master, slave = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "addon.cli", "run", "--", sys.executable, "-c", ASKS_ON_INTERRUPT, BODY],
        cwd=place.folder,
        env=place.environment(ANTHROPIC_BASE_URL=stub.url),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(slave)
    try:
        text = b""
        while b"ready" not in text:
            text += os.read(master, 4096)
        os.write(master, b"\x03")
        with contextlib.suppress(OSError):  # the terminal has nobody at its other end
            while data := os.read(master, 4096):
                text += data
        assert process.wait(PATIENCE) == 3, text
    finally:
        process.kill()
        process.wait()
        os.close(master)
    assert len(place.lines("response")) == 1, text
    assert b"1 request in" in text


def test_a_command_that_is_not_there_is_said_before_anything_is_started(place: Place) -> None:
    code, _, error = place.run_warm("--", "no-such-command-at-all")
    assert (code, error.count("\n")) == (127, 1)
    assert place.is_clean()


def test_a_proxy_that_does_not_start_is_125_with_the_reason(place: Place) -> None:
    code, _, error = place.run("--set", "flow_detail=many", "--", "true")
    assert code == 125
    assert "not an integer: many" in error and error.endswith("what it printed above says why\n")
    assert place.is_clean()


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("capture_fold_ovr=-1", "did you mean capture_fold_over?"),
        ("keep_hst_header=1", "did you mean keep_host_header?"),
        ("nope", "There is no option nope"),
        ("capture_fold_over=many", "capture_fold_over=many: must be"),
        ("tcp_timeout=long", "tcp_timeout"),
    ],
)
def test_a_mistake_in_an_option_is_one_sentence_and_the_command_is_not_run(
    place: Place, option: str, reason: str
) -> None:
    code, out, error = place.run_warm("--set", option, "--", "echo", "ran")
    assert (code, out, error.count("\n")) == (2, "", 1), error
    assert reason in error
    assert place.is_clean()


@pytest.mark.parametrize(
    ("arguments", "more", "reason"),
    [
        (("--forward", "--reverse", "--", "true"), {}, "cannot go together"),
        (("--set", "capture_dir=x", "--", "true"), {}, "--captures"),
        (("--", "true"), {"HTTPS_PROXY": "socks5://p:1"}, "socks5"),
        (("--forward", "--", "true"), {"ANTHROPIC_BASE_URL": "http://localhost:1"}, "use --reverse"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    place: Place, arguments: tuple[str, ...], more: dict[str, str], reason: str
) -> None:
    code, _, error = place.run_warm(*arguments, **more)
    assert (code, error.count("\n"), reason in error) == (2, 1, True), error
    assert place.is_clean()


def test_quiet_says_nothing(place: Place, stub: StubApi) -> None:
    code, _, error = place.run_warm("-q", "--", "sh", "-c", f"{CURL} >/dev/null", BODY, ANTHROPIC_BASE_URL=stub.url)
    assert (code, error) == (0, "")
    assert len(place.lines("request")) == 1


def claude_code() -> str | None:
    return os.environ.get("WEIGHBRIDGE_TEST_CLAUDE") or shutil.which("claude")


def has_namespaces() -> bool:
    if not shutil.which("unshare") or not shutil.which("ip"):
        return False
    tried = subprocess.run(["unshare", "-rn", "ip", "link", "set", "lo", "up"], capture_output=True, check=False)
    return tried.returncode == 0


STUBBED = """
import subprocess, sys
from addon.stub_api import StubApi, running
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
with running(StubApi()) as stub:
    sys.exit(subprocess.call([part.replace("STUB", stub.url) for part in sys.argv[1:]]))
"""


@pytest.mark.skipif(claude_code() is None, reason="no claude in PATH nor in $WEIGHBRIDGE_TEST_CLAUDE")
@pytest.mark.skipif(not has_namespaces(), reason="no network namespace can be made, and Claude Code is to reach nobody")
def test_claude_code_sends_in_reverse_another_request_than_by_itself(place: Place) -> None:
    """The published difference: with its own base URL a cache scope `global` and `diagnostics`, else neither."""
    claude = claude_code()
    assert claude is not None
    bodies = {}
    for way in ("forward", "reverse"):
        captures = place.folder / way
        stubbed = ("unshare", "-rn", sys.executable, "-P", "-c", STUBBED)
        arguments = (f"--{way}", "--captures", str(captures), "--set", "map_remote=|https://api.anthropic.com/|STUB/")
        process = place.started(
            *arguments,
            "--",
            claude,
            "-p",
            "hi",
            before=stubbed,
            DISABLE_AUTOUPDATER="1",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        )
        _, error = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, error
        found = [line for line in capture_lines(captures) if line["kind"] == "request" and line["route"] == "messages"]
        bodies[way] = found[0]["body"]
    scopes = {
        way: [block["cache_control"].get("scope") for block in body["system"] if "cache_control" in block]
        for way, body in bodies.items()
    }
    assert "global" in scopes["forward"] and "global" not in scopes["reverse"]
    assert "diagnostics" in bodies["forward"] and "diagnostics" not in bodies["reverse"]
    assert len(bodies["forward"]["system"]) == len(bodies["reverse"]["system"]) + 1
