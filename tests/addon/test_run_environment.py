"""The environment of a recorded command: what is set, what is kept, what is refused."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon import run_environment as environments
from addon.proxy_variables import Unusable
from addon.run_environment import forward, reverse

PROXY = "http://127.0.0.1:4711"
BUNDLES = {"SSL_CERT_FILE": "/t/all.pem", "NODE_EXTRA_CA_CERTS": "/t/extra.pem"}


def test_forward_names_the_proxy_in_both_spellings_and_the_authorities() -> None:
    made = forward({"PATH": "/bin"}, PROXY, BUNDLES, node=False)
    assert made["HTTPS_PROXY"] == made["https_proxy"] == PROXY
    assert made["NO_PROXY"] == made["no_proxy"] == "localhost,127.0.0.1,::1"
    assert made.items() >= BUNDLES.items()
    assert made["PATH"] == "/bin"
    assert "ANTHROPIC_BASE_URL" not in made


def test_reverse_names_the_address_and_nothing_else() -> None:
    assert reverse({"PATH": "/bin"}, PROXY) == {"PATH": "/bin", "ANTHROPIC_BASE_URL": PROXY}


def test_reverse_keeps_the_users_proxy_from_being_asked_for_this_machine() -> None:
    made = reverse({"https_proxy": "http://p:1", "NO_PROXY": ".corp"}, PROXY)
    assert made["NO_PROXY"] == made["no_proxy"] == ".corp,localhost,127.0.0.1,::1"
    assert made["https_proxy"] == "http://p:1"


def test_forward_keeps_the_exceptions_that_cover_no_api() -> None:
    made = forward({"NO_PROXY": "git.corp, *.internal .anthropic.com"}, PROXY, {}, node=False)
    assert made["NO_PROXY"] == "git.corp,*.internal,localhost,127.0.0.1,::1"


def test_plain_http_passes_us_by_unless_an_api_is_there() -> None:
    own = {"http_proxy": "http://p:1"}
    assert "HTTP_PROXY" not in forward({}, PROXY, {}, node=False)
    assert forward(own, PROXY, {}, node=False)["http_proxy"] == "http://p:1"
    made = forward(own | {"ANTHROPIC_BASE_URL": "http://gw.corp"}, PROXY, {}, node=False)
    assert made["HTTP_PROXY"] == made["http_proxy"] == PROXY


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "llm.localhost"])
def test_forward_is_refused_where_no_proxy_is_asked(host: str) -> None:
    with pytest.raises(Unusable, match="use --reverse"):
        forward({"ANTHROPIC_BASE_URL": f"http://user:secret@{host}:4000/x"}, PROXY, {}, node=False)


def test_a_refusal_shows_no_secret() -> None:
    with pytest.raises(Unusable) as caught:
        forward({"ANTHROPIC_BASE_URL": "http://user:secret@localhost/?key=secret"}, PROXY, {}, node=False)
    assert "secret" not in str(caught.value)


def test_node_is_told_to_ask_a_proxy_unless_the_user_said_otherwise() -> None:
    assert forward({}, PROXY, {}, node=True)["NODE_USE_ENV_PROXY"] == "1"
    assert forward({"NODE_USE_ENV_PROXY": "0"}, PROXY, {}, node=True)["NODE_USE_ENV_PROXY"] == "0"
    assert "NODE_USE_ENV_PROXY" not in forward({}, PROXY, {}, node=False)


names = st.sampled_from(["PATH", "HOME", "LANG", "HTTPS_PROXY", "no_proxy", "ANTHROPIC_MODEL", "SSL_CERT_FILE", "X"])


@given(st.dictionaries(names, st.text("abc/.:", max_size=6)))
def test_what_is_not_ours_is_handed_on_as_it_is(own: dict[str, str]) -> None:
    ours = {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", *BUNDLES}
    before = dict(own)
    made = forward(own, PROXY, BUNDLES, node=False)
    assert {name: value for name, value in made.items() if name not in ours} == {
        name: value for name, value in own.items() if name not in ours
    }
    assert reverse(own, PROXY).items() >= {name: own[name] for name in own if name != "no_proxy"}.items()
    assert own == before


def matches(environment: dict[str, str], *more: str) -> re.Pattern[str]:
    return re.compile("|".join(environments.opened(environment, more)))


@pytest.mark.parametrize(
    "host",
    [
        "api.anthropic.com",
        "bedrock-runtime.eu-central-1.amazonaws.com",
        "bedrock-runtime-fips.us-gov-west-1.amazonaws.com",
        "vpce-0a1b.bedrock-runtime.us-east-1.vpce.amazonaws.com",
        "europe-west1-aiplatform.googleapis.com",
        "aiplatform.googleapis.com",
        "aiplatform.us.rep.googleapis.com",
        "my-resource.services.ai.azure.com",
    ],
)
def test_hosts_of_the_api_are_opened(host: str) -> None:
    assert matches({}).fullmatch(host)


@pytest.mark.parametrize(
    "host",
    [
        "console.anthropic.com",
        "claude.ai",
        "api.anthropic.com.evil.example",
        "apiXanthropic.com",
        "s3.amazonaws.com",
        "storage.googleapis.com",
        "gw.corp",
        "statsig.anthropic.com",
    ],
)
def test_other_hosts_are_not(host: str) -> None:
    assert not matches({}).fullmatch(host)


def test_hosts_that_are_named_are_opened_too() -> None:
    found = matches({"ANTHROPIC_BASE_URL": "https://gw.corp:8443/x", "ANTHROPIC_VERTEX_BASE_URL": "bad"}, "*.llm.corp")
    assert found.fullmatch("gw.corp")
    assert found.fullmatch("a.llm.corp")
    assert not found.fullmatch("a.b.llm.corp")
    assert not found.fullmatch("gwXcorp")


ALL = {"HTTP_PROXY": "http://h:1", "HTTPS_PROXY": "http://s:2"}


@pytest.mark.parametrize(
    ("environment", "way", "upstream", "schemes"),
    [
        (ALL, "reverse", "https://api.anthropic.com", {"https"}),
        (ALL, "reverse", "http://127.0.0.1:18931", {"http"}),
        ({"HTTPS_PROXY": "http://s:2"}, "reverse", "http://127.0.0.1:18931", set()),
        (ALL | {"NO_PROXY": "127.0.0.1"}, "reverse", "http://127.0.0.1:18931", set()),
        ({"ALL_PROXY": "http://a:3"}, "reverse", "http://gw.corp", {"http"}),
        (ALL, "forward", "", {"https"}),
        (ALL | {"ANTHROPIC_BASE_URL": "http://gw.corp"}, "forward", "", {"http", "https"}),
        (ALL | {"NO_PROXY": "*"}, "forward", "", set()),
        (ALL | {"NO_PROXY": "api.anthropic.com"}, "forward", "", {"https"}),
    ],
)
def test_requests_go_on_through_the_proxies_that_would_be_asked_without_us(
    environment: dict[str, str], way: environments.Way, upstream: str, schemes: set[str]
) -> None:
    assert environments.next_proxies(environment, way, upstream).keys() == schemes


def test_a_proxy_that_cannot_be_gone_through_is_refused_only_where_it_would_be_asked() -> None:
    socks = {"ALL_PROXY": "socks5://u:secret@p:1080"}
    with pytest.raises(Unusable, match="ALL_PROXY names a socks5 proxy") as caught:
        environments.next_proxies(socks, "reverse", "http://127.0.0.1:4000")
    assert "secret" not in str(caught.value) and "NO_PROXY" in str(caught.value)
    assert environments.next_proxies(socks | {"NO_PROXY": "127.0.0.0/8"}, "reverse", "http://127.0.0.1:4000") == {}
    assert environments.next_proxies({"HTTPS_PROXY": "socks5://p:1"}, "reverse", "http://127.0.0.1:4000") == {}


def test_user_and_password_of_an_address_go_to_the_client_and_nowhere_else() -> None:
    assert environments.without_user("http://ann:p%40s@gw.corp:1/x") == ("http://gw.corp:1/x", "ann:p%40s")
    assert environments.without_user("https://gw.corp/a@b") == ("https://gw.corp/a@b", "")
    made = reverse({}, "http://127.0.0.1:1/x", "ann:p%40s")
    assert made["ANTHROPIC_BASE_URL"] == "http://ann:p%40s@127.0.0.1:1/x"


@pytest.mark.parametrize(
    "url", ["http://u:secret@h/secret?secret#secret", "http//u:secret@h/secret", "u:secret@h", "x://secret@h?a@b"]
)
def test_of_what_is_no_address_no_secret_is_shown(url: str) -> None:
    assert "secret" not in environments.shown(url) and "h" in environments.shown(url)


@pytest.mark.parametrize("url", ["http://</script>", "http://a b", "http://", "http://[::1", "http://h:99999", "x"])
def test_what_is_no_host_is_none(url: str) -> None:
    assert environments.host_of(url) == ""


@pytest.mark.parametrize(
    ("file", "way"),
    [("claude", "forward"), ("claude.exe", "forward"), ("python3", "reverse"), ("my-claude", "reverse")],
)
def test_claude_code_is_recorded_forward_and_others_in_reverse(tmp_path: Path, file: str, way: str) -> None:
    assert environments.way_of(tmp_path / file, {}) == way


def test_claude_code_is_known_behind_another_name(tmp_path: Path) -> None:
    real = tmp_path / "claude-code" / "cli.js"
    real.parent.mkdir()
    real.touch()
    (tmp_path / "cc").symlink_to(real)
    assert environments.way_of(tmp_path / "cc", {}) == "forward"


def test_claude_code_in_front_of_a_gateway_on_this_machine_is_recorded_in_reverse(tmp_path: Path) -> None:
    assert environments.way_of(tmp_path / "claude", {"ANTHROPIC_BASE_URL": "http://localhost:4000"}) == "reverse"
    assert environments.way_of(tmp_path / "claude", {"ANTHROPIC_BASE_URL": "https://gw.corp"}) == "forward"
