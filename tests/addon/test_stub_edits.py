"""The stub clears old results of tools as a request asks it to."""

from copy import deepcopy
from typing import Any

import pytest

from addon.stub_edits import NOTICE, edited

EDIT = {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 2}, "keep": {"value": 1}}


def request(results: int, *edits: dict[str, Any]) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "x" * 400} for n in range(results)]
    messages = [{"role": "user", "content": "begin"}, *({"role": "user", "content": [block]} for block in blocks)]
    return {"messages": messages} | ({"context_management": {"edits": list(edits)}} if edits else {})


def test_all_but_the_newest_results_are_cleared() -> None:
    sent = request(3, EDIT)
    before = deepcopy(sent)
    seen, applied = edited(sent)
    assert [message["content"][0]["content"] for message in seen["messages"][1:]] == [NOTICE, NOTICE, "x" * 400]
    assert applied == [{"type": EDIT["type"], "cleared_tool_uses": 2, "cleared_input_tokens": 200}]
    assert sent == before


@pytest.mark.parametrize("sent", [request(3), request(2, EDIT), request(3, {"type": "clear_thinking_20251015"})])
def test_nothing_is_cleared_that_nobody_asked_for(sent: dict[str, Any]) -> None:
    assert edited(sent) == (sent, [])
