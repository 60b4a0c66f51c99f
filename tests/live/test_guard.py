"""The guard between the real SDK and a server: below a limit nothing changes, above it warns once, or refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from anthropic import Anthropic, BadRequestError
from proxied import Proxy, patiently

from addon.stub_api import StubApi, running

pytestmark = pytest.mark.live

SHORT = [{"role": "user", "content": "weigh this"}]
LONG = [{"role": "user", "content": "weigh this and tell me what it is " * 400}]  # some 3,000 tokens
MODEL = "claude-opus-5-5"


def ask(client: Anthropic, messages: list[Any], *, stream: bool, session: str = "s1") -> Any:
    asked: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 50,
        "messages": messages,
        "extra_headers": {"x-claude-code-session-id": session},
    }
    if not stream:
        return client.messages.create(**asked)
    with client.messages.stream(**asked) as answer:
        return answer.get_final_message()


def responses(proxy: Proxy, count: int) -> list[dict[str, Any]]:
    def found() -> list[dict[str, Any]] | None:
        lines = [line for line in proxy.lines() if line["kind"] == "response"]
        return lines if len(lines) >= count else None

    return patiently(found, f"{count} responses")  # type: ignore[no-any-return]


def codes(line: dict[str, Any]) -> list[str]:
    return [note["code"] for note in line["notes"] if note["code"].startswith("guard")]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_below_the_limit_nothing_changes_and_above_it_the_sdk_gets_a_bad_request(
    start: Callable[..., Proxy], stream: bool
) -> None:
    with running(StubApi(keep=10)) as stub:
        proxy = start(stub.url, ["guard_max_input_tokens=1000", "guard_mode=block"]).up()
        client = Anthropic(base_url=proxy.url, api_key="made-up", max_retries=2)
        plain = Anthropic(base_url=stub.url, api_key="made-up")
        through, direct = ask(client, SHORT, stream=stream), ask(plain, SHORT, stream=stream)
        assert through.content == direct.content and through.usage == direct.usage
        with pytest.raises(BadRequestError) as refused:
            ask(client, LONG, stream=stream)
        assert len(stub.exchanges) == 2  # the long one never got there, nor was it tried again
        assert refused.value.status_code == 400
        assert refused.value.response.headers["x-weighbridge"] == "guard"
        error = refused.value.body["error"]  # type: ignore[index]
        assert error["type"] == "invalid_request_error"
        assert "weighbridge guard: this request has about" in error["message"]
        assert "more than the limit of 1,000 (guard_max_input_tokens)" in error["message"]
        assert error["message"].endswith("Nothing was sent to the API.")
        through, blocked = responses(proxy, 2)
    assert codes(through) == []
    assert codes(blocked) == ["guard_blocked"] and blocked["usage"] is None
    assert blocked["headers"]["x-weighbridge"] == "guard"
    assert (blocked["ended"], blocked["status"], blocked["error"]["type"]) == ("error", 400, "invalid_request_error")
    assert proxy.stop() == 0
    assert proxy.log().count("weighbridge guard: blocked") == 1


def test_a_warning_comes_once_a_session_and_everything_goes_through(start: Callable[..., Proxy]) -> None:
    with running(StubApi(keep=10)) as stub:
        proxy = start(stub.url, ["guard_max_input_tokens=1000"]).up()
        client = Anthropic(base_url=proxy.url, api_key="made-up")
        for session in ("s1", "s1", "s2"):
            assert ask(client, LONG, stream=True, session=session).content
        assert len(stub.exchanges) == 3
        lines = responses(proxy, 3)
    assert [codes(line) for line in lines] == [["guard_warned"]] * 3
    assert proxy.stop() == 0
    assert proxy.log().count("weighbridge guard: this request has") == 2


def test_a_session_that_has_spent_its_money_is_refused_and_another_is_not(start: Callable[..., Proxy]) -> None:
    with running(StubApi(keep=10)) as stub:
        proxy = start(stub.url, ["guard_max_usd_per_session=0.03", "guard_mode=block"]).up()
        client = Anthropic(base_url=proxy.url, api_key="made-up")
        ask(client, LONG, stream=False)  # about 0.014 USD each
        responses(proxy, 1)
        ask(client, LONG, stream=False)
        responses(proxy, 2)
        with pytest.raises(BadRequestError, match=r"this session has spent 0\.0\d+ USD"):
            ask(client, LONG, stream=False)
        assert ask(client, LONG, stream=False, session="s2").content
        assert len(stub.exchanges) == 3


def test_a_guard_that_fails_lets_the_request_through_and_says_so(start: Callable[..., Proxy], tmp_path: Any) -> None:
    breaking = tmp_path / "breaking.py"
    breaking.write_text(
        "import analyzers.budget\n"
        "def broken(self, *arguments): raise RuntimeError('out of order')\n"
        "analyzers.budget.Budget.expect = broken\n"
    )
    with running(StubApi(keep=10)) as stub:
        proxy = start(stub.url, ["guard_max_input_tokens=10", "guard_mode=block"], after=[breaking]).up()
        client = Anthropic(base_url=proxy.url, api_key="made-up")
        assert ask(client, LONG, stream=True).content and ask(client, LONG, stream=True).content
        lines = responses(proxy, 2)
    assert [codes(line) for line in lines] == [["guard_failed"]] * 2
    assert proxy.stop() == 0
    assert proxy.log().count("weighbridge guard failed (RuntimeError: out of order)") == 1


def test_counting_tokens_is_never_refused(start: Callable[..., Proxy]) -> None:
    with running(StubApi(keep=10)) as stub:
        proxy = start(stub.url, ["guard_max_input_tokens=10", "guard_mode=block"]).up()
        client = Anthropic(base_url=proxy.url, api_key="made-up")
        assert client.messages.count_tokens(model=MODEL, messages=LONG).input_tokens > 1000


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("guard_max_input_tokens=many", "must be a whole number of tokens"),
        ("guard_max_usd_per_session=-1", "must be an amount in US dollars"),
        ("guard_mode=stop", "must be warn or block"),
        ("guard_max_tokens=5", "did you mean guard_max_input_tokens?"),
        ("guard_limit=5", "There is no option guard_limit"),
    ],
)
def test_a_wrong_option_stops_the_start_with_one_sentence(start: Callable[..., Proxy], option: str, told: str) -> None:
    proxy = start("http://127.0.0.1:9", [option])
    assert proxy.process.wait(30) != 0
    assert told in proxy.log()


def test_a_request_that_is_streamed_upstream_is_judged_too_late_and_that_is_said(start: Callable[..., Proxy]) -> None:
    with running(StubApi(keep=10)) as stub:
        options = ["guard_max_input_tokens=1000", "guard_mode=block", "stream_large_bodies=1k"]
        proxy = start(stub.url, options).up()
        assert ask(Anthropic(base_url=proxy.url, api_key="made-up"), LONG, stream=False).content
        (line,) = responses(proxy, 1)
    (note,) = [note for note in line["notes"] if note["code"].startswith("guard")]
    assert note["code"] == "guard_warned" and note["detail"].endswith("(stream_large_bodies).")


def test_money_cannot_be_held_where_there_is_no_price_and_that_is_said(start: Callable[..., Proxy]) -> None:
    with running(StubApi(keep=10)) as stub:
        proxy = start(stub.url, ["guard_max_usd_per_session=0.01", "guard_mode=block"]).up()
        client = Anthropic(base_url=proxy.url, api_key="made-up")
        for _ in range(2):
            client.messages.create(model="claude-zeta-9", max_tokens=5, messages=SHORT)
        lines = responses(proxy, 2)
    assert [codes(line) for line in lines] == [["guard_failed"]] * 2
    assert proxy.stop() == 0
    assert proxy.log().count("this model has no price") == 1
