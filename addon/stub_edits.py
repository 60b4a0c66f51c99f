"""Context editing as the stub does it: old results of tools are cleared before the model sees the request.

Strategy: the request that the client sent stays as it is; what is answered and counted is a copy in which the content
of all but the newest results is a short notice. Of the documented edits only `clear_tool_uses_20250919` is known, with
`trigger` in tool uses and `keep`.
"""

from typing import Any

CLEAR_TOOL_USES = "clear_tool_uses_20250919"
NOTICE = "[cleared to save context]"
_TRIGGER = 3
_KEEP = 1


def edited(request: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The request as the model sees it, and the edits that were applied, as the API tells of them."""
    asked = (request.get("context_management") or {}).get("edits") or []
    edit = next((edit for edit in asked if edit.get("type") == CLEAR_TOOL_USES), None)
    if edit is None:
        return request, []
    results = [block for message in request["messages"] for block in _blocks(message) if _is_result(block)]
    if len(results) <= _value(edit, "trigger", _TRIGGER):
        return request, []
    old = results[: max(0, len(results) - _value(edit, "keep", _KEEP))]
    cleared = {id(block) for block in old}
    messages = [
        {**message, "content": [_clear(block) if id(block) in cleared else block for block in _blocks(message)]}
        if isinstance(message.get("content"), list)
        else message
        for message in request["messages"]
    ]
    tokens = sum(len(str(block.get("content"))) for block in old) // 4
    applied = {"type": CLEAR_TOOL_USES, "cleared_tool_uses": len(old), "cleared_input_tokens": tokens}
    return {**request, "messages": messages}, [applied]


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _is_result(block: dict[str, Any]) -> bool:
    return block.get("type") == "tool_result"


def _clear(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "content": NOTICE}


def _value(edit: dict[str, Any], name: str, otherwise: int) -> int:
    return int((edit.get(name) or {}).get("value", otherwise))
