"""Which tools a session carries, how large they are, and which of them the model ever called."""

from typing import Any

from conversations import answer, call, user

from analyzers.exchange import Exchange
from analyzers.report.tools import ToolUse

BASH = {"name": "Bash", "description": "run", "input_schema": {"type": "object"}}
READ = {"name": "Read", "description": "read a file", "input_schema": {"type": "object"}, "defer_loading": True}


def use(name: str, number: str | None) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": {}} | ({} if number is None else {"id": number})


def tools(*exchanges: Exchange) -> dict[str, dict[str, Any]]:
    found = ToolUse()
    for n, exchange in enumerate(exchanges, 1):
        found.add(exchange, n, 0)
    return {tool["name"]: tool for tool in found.as_json()[0]["tools"]}


def test_a_tool_that_was_never_called_is_told_with_its_size() -> None:
    found = tools(call([user("a")], tools=[BASH, READ], answered=[use("Bash", "t1")]))
    assert [found["Bash"][name] for name in ("chars", "description_chars", "calls", "used")] == [17, 7, 1, True]
    assert (found["Read"]["used"], found["Read"]["calls"], found["Read"]["deferred"]) == (False, 0, True)
    assert list(found) == ["Read", "Bash"]  # largest first


def test_a_call_that_is_sent_back_again_and_again_is_one_call() -> None:
    sent = {"role": "assistant", "content": [use("Bash", "t1")]}
    found = tools(
        call([user("a")], tools=[BASH], answered=[use("Bash", "t1")]),
        call([user("a"), sent, user("b")], tools=[BASH]),
        call([user("a"), sent, user("b"), answer("c"), user("d")], tools=[BASH]),
    )
    assert (found["Bash"]["calls"], found["Bash"]["requests"]) == (1, 3)


def test_a_call_is_seen_in_the_messages_where_its_answer_was_not_recorded() -> None:
    sent = {"role": "assistant", "content": [use("Bash", "t1"), use("Bash", "t2")]}
    assert tools(call([user("a"), sent, user("b")], tools=[BASH]))["Bash"]["calls"] == 2


def test_a_call_without_an_id_counts_where_it_was_answered() -> None:
    nameless = [use("Bash", None)]
    sent = {"role": "assistant", "content": nameless}
    one = call([user("a")], tools=[BASH], answered=nameless)
    assert tools(one, call([user("a"), sent, user("b")], tools=[BASH]))["Bash"]["calls"] == 1
    assert tools(call([user("a"), sent, user("b")], tools=[BASH]))["Bash"]["used"] is True


def test_what_is_called_and_not_defined_has_no_size() -> None:
    found = tools(call([user("a")], tools=[BASH], answered=[use("Gone", "t1")]))
    assert (found["Gone"]["chars"], found["Gone"]["requests"], found["Gone"]["used"]) == (None, 0, True)
    assert list(found) == ["Bash", "Gone"]


def test_odd_definitions_and_calls_are_no_tools() -> None:
    odd = [{"name": 7}, "Bash", None, {"type": "web_search_20250305", "name": "web_search"}]
    found = tools(
        call([user("a")], tools=odd, answered=[{"type": "tool_use", "name": None}, {"type": ["tool_use"]}, 7])
    )
    assert list(found) == ["web_search"]


def test_each_session_has_its_own() -> None:
    found = ToolUse()
    found.add(call([user("a")], tools=[BASH]), 1, 0)
    found.add(call([user("b")], tools=[READ]), 2, 1)
    told = found.as_json()
    assert [(one["session"], [tool["name"] for tool in one["tools"]]) for one in told] == [(0, ["Bash"]), (1, ["Read"])]


def test_answers_that_were_not_recorded_leave_open_what_was_called() -> None:
    found = ToolUse()
    found.add(call([user("a")], tools=[BASH], answered=[use("Bash", "t1")]), 1, 0)
    found.add(call([user("b")], None, tools=[BASH], ended="error"), 2, 0)  # said no: nothing was called
    found.add(call([user("c")], None, tools=[BASH], route="count_tokens", ended="completed"), 3, 0)
    assert found.as_json()[0]["answers_unknown"] == 0
    for n, ended in enumerate(("unanswered", "in_flight", "client_gone", "not_recorded"), 4):
        found.add(call([user("d")], None, tools=[BASH], ended=ended), n, 0)
    assert found.as_json()[0]["answers_unknown"] == 4
