"""Which session and agent a call names."""

import json

import pytest
from conversations import call, user

from analyzers.exchange import Exchange, Logged
from analyzers.identity import agent_of, header_session, made_up, metadata_session, session_of

ID = "c7d9b796-ec7e-4260-815e-47be45ad6283"
JSON_FORM = json.dumps({"device_id": "d" * 64, "account_uuid": "", "session_id": ID})
OLD_FORM = f"user_{'0' * 64}_account__session_{ID}"


def of_metadata(user_id: object) -> str | None:
    exchange = call([user("hi")], metadata={"user_id": user_id})
    assert exchange.request is not None
    return metadata_session(exchange.request)


def test_claude_codes_header_names_the_session_and_the_agent() -> None:
    exchange = call([user("hi")], session="s1", agent="a1", user_id=JSON_FORM)
    assert (session_of(exchange), agent_of(exchange)) == ("s1", "a1")
    assert not made_up(exchange)


@pytest.mark.parametrize("user_id", [JSON_FORM, OLD_FORM, f"user_x_account_{ID}_session_{ID}"])
def test_metadata_names_it_in_both_forms_that_clients_write(user_id: str) -> None:
    exchange = call([user("hi")], user_id=user_id)
    assert session_of(exchange) == ID
    assert made_up(exchange)


@pytest.mark.parametrize(
    "user_id",
    ["", "u-17", "{", '{"session_id": 7}', '{"session_id": ""}', "{}", "[]", '{"a": "\ud83d"}', "_session_", 7, None,
     [], "{" + '"a":{' * 5000],
)  # fmt: skip
def test_metadata_in_no_known_form_names_none(user_id: object) -> None:
    assert of_metadata(user_id) is None


@pytest.mark.parametrize("body", [None, [], {"metadata": None}, {"metadata": "x"}, {"metadata": {}}])
def test_a_body_without_metadata_names_none(body: object) -> None:
    exchange = call([user("hi")])
    assert exchange.request is not None
    assert metadata_session(type(exchange.request)(body=body)) is None


@pytest.mark.parametrize("name", ["x-session-affinity", "session-id", "x-opencode-session", "x-session-id"])
def test_other_clients_headers(name: str) -> None:
    exchange = call([user("hi")], client="opencode/1.18.33", headers={name: "ses_1"}, user_id=JSON_FORM)
    assert session_of(exchange) == "ses_1"
    assert header_session({"x-claude-code-session-id": "s1", name: "ses_1"}) == "s1"


@pytest.mark.parametrize(("value", "session"), [(["a", "b"], "a"), ([], None), ("", None), ({"a": 1}, None), (7, None)])
def test_odd_values_of_headers(value: object, session: str | None) -> None:
    assert header_session({"x-claude-code-session-id": value}) == session


def test_the_clients_own_log_stands_before_all() -> None:
    told = call([user("hi")], session="s1")
    exchange = Exchange(told.request, told.response, "completed", "log", Logged(session="s2", agent="a2"))
    assert (session_of(exchange), agent_of(exchange), made_up(exchange)) == ("s2", "a2", False)
    unnamed = Exchange(told.request, told.response, "completed", "log", Logged())
    assert session_of(unnamed) == "s1"


def test_an_answer_alone_names_nothing() -> None:
    exchange = Exchange(None, None, "completed", "x")
    assert (session_of(exchange), agent_of(exchange), made_up(exchange)) == (None, None, False)
