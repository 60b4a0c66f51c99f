"""Values are written by allow-list only; names always."""

import pytest

from analyzers.wire.headers import keep, keep_path, keep_query


@pytest.mark.parametrize(
    "name",
    ["Authorization", "x-api-key", "X-API-Key", "Proxy-Authorization", "Cookie", "Set-Cookie", "api-key",
     "x-goog-api-key",
     "x-amz-security-token", "anthropic-organization-id", "x-auth-token", "x-made-up-tomorrow", "referer"],
)  # fmt: skip
def test_the_value_of_a_header_not_on_the_list_is_never_kept(name: str) -> None:
    kept, others = keep([(name, "sk-ant-secret"), ("content-type", "application/json")])
    assert "sk-ant-secret" not in str(kept)
    assert others == [name.lower()]


def test_repeated_headers_are_a_list_in_their_order() -> None:
    kept, others = keep(
        [
            ("Anthropic-Beta", "a"),
            ("anthropic-beta", "b"),
            ("ANTHROPIC-BETA", "c"),
            ("authorization", "x"),
            ("Authorization", "y"),
        ]
    )
    assert kept == {"anthropic-beta": ["a", "b", "c"]}
    assert others == ["authorization"]


@pytest.mark.parametrize(
    "name",
    ["x-stainless-retry-count", "anthropic-ratelimit-tokens-remaining", "request-id", "retry-after", "User-Agent"],
)
def test_what_support_and_session_grouping_need_is_kept(name: str) -> None:
    assert keep([(name, "7")]) == ({name.lower(): "7"}, [])


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("beta=true", "beta=true"),
        ("beta=true&key=AIzaSecret", "beta=true&key=…"),
        ("api_key=s&api-version=2024", "api_key=…&api-version=2024"),
        ("%6Bey=s", "…"),
        ("secret-without-a-name", "…"),
        ("", ""),
        ("key=a=b&&x=", "key=…&&x=…"),
        ("beta=true;key=s", "beta=true&key=…"),
        ("beta=true%26key=s", "beta=…"),
        ("https://x:s@h/", "…"),
        ("beta=" + "s" * 65, "beta=…"),
    ],
)
def test_a_query_keeps_its_names_and_only_harmless_values(query: str, kept: str) -> None:
    assert keep_query(query) == kept


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/v1/messages", "/v1/messages"),
        ("/v1/messages#secret", "/v1/messages"),
        ("//user:secret@host/v1/messages", "//…@host/v1/messages"),
        ("/v1/projects/p/models/claude-x@20251101:rawPredict", "/v1/projects/p/models/claude-x@20251101:rawPredict"),
    ],
)
def test_a_path_is_kept_without_user_info_and_fragment(path: str, kept: str) -> None:
    assert keep_path(path) == kept
