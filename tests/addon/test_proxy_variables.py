"""Which proxy is asked for an address, and which addresses are excepted."""

import pytest

from addon.proxy_variables import NextProxy, Unusable, asked_for, is_excepted


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"HTTPS_PROXY": ""}, None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, NextProxy("http://proxy:3128")),
        ({"https_proxy": "proxy:3128/"}, NextProxy("http://proxy:3128")),
        ({"all_proxy": "https://p"}, NextProxy("https://p:443")),
        ({"https_proxy": "http://a", "HTTPS_PROXY": "http://b"}, NextProxy("http://a:80")),
        ({"HTTPS_PROXY": "http://ann:p%40ss@[::1]:1"}, NextProxy("http://[::1]:1", "ann:p@ss")),
        ({"HTTP_PROXY": "http://h:1"}, None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x, *"}, None),
    ],
)
def test_the_proxy_that_is_asked_for_https(environment: dict[str, str], expected: NextProxy | None) -> None:
    assert asked_for(environment, "https") == expected


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HTTPS_PROXY": "http://s:2"}, None),
        ({"HTTP_PROXY": "http://h:1"}, NextProxy("http://h:1")),
        ({"http_proxy": "http://a:1", "HTTP_PROXY": "http://h:1"}, NextProxy("http://a:1")),
        ({"HTTP_PROXY": "http://h:1", "ALL_PROXY": "socks5://x"}, NextProxy("http://h:1")),
        ({"HTTP_PROXY": "http://h:1", "NO_PROXY": "127.0.0.1:8000"}, None),
        ({"HTTP_PROXY": "http://h:1", "NO_PROXY": "127.0.0.1:8001"}, NextProxy("http://h:1")),
    ],
)
def test_the_proxy_that_is_asked_for_http_on_this_machine(
    environment: dict[str, str], expected: NextProxy | None
) -> None:
    assert asked_for(environment, "http", "127.0.0.1", 8000) == expected


@pytest.mark.parametrize("url", ["socks5://u:secret@p:1080", "http://", "http://[::1", "http://u:secret@p:99999"])
def test_a_proxy_that_speaks_no_http_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(Unusable, match="HTTPS_PROXY") as caught:
        asked_for({"HTTPS_PROXY": url}, "https")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "host", "excepted"),
    [
        ("*", "api.anthropic.com", True),
        ("anthropic.com", "api.anthropic.com", True),
        (".anthropic.com", "api.anthropic.com", True),
        ("*.anthropic.com", "api.anthropic.com", True),
        ("API.anthropic.com:443", "api.anthropic.com", True),
        ("api.anthropic.com:8443", "api.anthropic.com", False),
        ("https://api.anthropic.com", "api.anthropic.com", True),
        ("http://api.anthropic.com", "api.anthropic.com", False),
        ("all://anthropic.com", "api.anthropic.com", True),
        ("thropic.com", "api.anthropic.com", False),
        ("api.anthropic.com.x", "api.anthropic.com", False),
        ("anthropic.com", "api.anthropic.com.", True),
        ("[::1]:443", "::1", True),
        ("[::1]:80", "::1", False),
        ("::1", "::1", True),
        ("0:0:0:0:0:0:0:1", "::1", True),
        ("::1/64", "::5", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("10.0.0.0/8", "10.9.8.7", True),
        ("10.0.0.0/8", "11.9.8.7", False),
        ("10.0.0.0/8", "gw.corp", False),
        ("10.0.0.0/99", "10.0.0.0", False),
        (".", "api.anthropic.com", False),
        ("localhost", "localhost", True),
    ],
)
def test_what_an_exception_covers(entry: str, host: str, excepted: bool) -> None:
    assert is_excepted(host, 443, (entry,), "https") is excepted
