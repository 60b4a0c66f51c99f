"""What the stub says: the blocks of an answer, the same as a stream of events, and errors.

Strategy: everything here is a pure function of the request and of an ordinal, so that the same client gets the same
bytes in every run. An answer is built once as a whole message; the stream is cut out of that message, so the two forms
cannot disagree.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

Block = dict[str, Any]

SNAPSHOTS = {
    "claude-haiku-4-5": "claude-haiku-4-5-20251001",
    "claude-sonnet-4-5": "claude-sonnet-4-5-20250929",
    "claude-opus-4-5": "claude-opus-4-5-20251101",
}
MODELS = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-haiku-4-5-20251001")

_ERRORS = {
    400: ("invalid_request_error", "The request could not be understood."),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your credit balance is too low to access the API."),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "Not found"),
    409: ("conflict_error", "The resource was changed by another request."),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit."),
    500: ("api_error", "Internal server error"),
    504: ("timeout_error", "The request timed out."),
    529: ("overloaded_error", "Overloaded"),
}

_SENTENCES = (
    "The lorry stands on the bridge and the reading has settled. Gross weight less the tare on the permit gives the net"
    " load, and the ticket names the material, the axle count and the time. "
)


def error_of_model(model: str) -> int | None:
    """The status that a model called `error-429` stands for."""
    status = model.removeprefix("error-")
    return int(status) if status != model and status.isdecimal() else None


def served(model: str) -> str:
    """The model that answers: the snapshot behind an alias, without a suffix like `[1m]`."""
    name = model.partition("[")[0]
    return SNAPSHOTS.get(name, name)


def context_tokens(model: str) -> int:
    """The longest prompt that `model` takes, in tokens."""
    return 200_000 if model.startswith(("claude-haiku-4", "claude-sonnet-4-5", "claude-opus-4-5")) else 1_000_000


def error_body(status: int, request_id: str, message: str | None = None) -> dict[str, Any]:
    """The JSON of an error, as the API words it."""
    kind, text = _ERRORS.get(status, ("api_error", "Internal server error"))
    return {"type": "error", "error": {"type": kind, "message": message or text}, "request_id": request_id}


def token(prefix: str, body: bytes, ordinal: int) -> str:
    """An identifier like `msg_01…`: the same for the same body at the same place in a run, and no other."""
    digest = hashlib.blake2b(body, digest_size=10, key=f"{prefix}{ordinal}".encode()).hexdigest()
    return f"{prefix}_01{digest}"


# ---------------------------------------------------------------------------------------------- the answer as a whole


def reply(request: dict[str, Any], words: int = 40) -> list[Block]:
    """The blocks of an answer, tool ids still missing.

    A tool is used when the last message asks for one: its text has every word of the tool's name ("please weigh this
    lorry" for `weigh_lorry`), or `tool_choice` leaves no choice. After a tool result there is text.
    """
    last = _last_content(request)
    text = " ".join(str(block.get("text", "")) for block in last if block.get("type") == "text")
    blocks: list[Block] = []
    if (request.get("thinking") or {}).get("type", "disabled") != "disabled":
        blocks.append(_thinking(text))
    results = [block for block in last if block.get("type") == "tool_result"]
    tool = None if results else _tool(request, text)
    if tool is None:
        about = f"{len(results)} tool results" if results else f"{len(text)} characters"
        return [*blocks, {"type": "text", "text": f"On your {about}: {_sentences(words)}"}]
    return [
        *blocks,
        {"type": "text", "text": f"I will use {tool['name']}."},
        {"type": "tool_use", "name": tool["name"], "input": _input(tool.get("input_schema") or {}, text)},
    ]


def message(
    blocks: list[Block], *, model: str, body: bytes, ordinal: int, max_tokens: int, counters: dict[str, Any]
) -> dict[str, Any]:
    """A whole answer. Blocks are cut at `max_tokens` (four characters each) and get their tool ids."""
    content: list[Block] = []
    spent, cut = 0, False
    for at, block in enumerate(blocks):
        room = max_tokens * 4 - spent
        cut = room <= 0 or (block["type"] == "text" and len(block["text"]) > room)
        if room <= 0:
            break
        if block["type"] == "tool_use":
            block = {"type": "tool_use", "id": token("toolu", body, ordinal * 100 + at), **block}
        elif block["type"] == "text":
            block = {**block, "text": block["text"][:room]}
        content.append(block)
        spent += len(json.dumps(block))
    used = bool(content) and content[-1]["type"] == "tool_use"
    return {
        "model": model,
        "id": token("msg", body, ordinal),
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": "max_tokens" if cut else "tool_use" if used else "end_turn",
        "stop_sequence": None,
        "usage": {**counters, "output_tokens": min(max_tokens, -(-spent // 4)), "service_tier": "standard"},
    }


def _last_content(request: dict[str, Any]) -> list[Block]:
    messages = [m for m in request.get("messages") or () if isinstance(m, dict) and m.get("role") == "user"]
    content = messages[-1].get("content") if messages else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _tool(request: dict[str, Any], text: str) -> dict[str, Any] | None:
    tools = [tool for tool in request.get("tools") or () if isinstance(tool, dict) and "input_schema" in tool]
    choice = request.get("tool_choice") or {"type": "auto"}
    words = text.lower()
    asked = [tool for tool in tools if all(word in words for word in str(tool.get("name")).lower().split("_"))]
    if choice.get("type") == "tool":
        asked = [tool for tool in tools if tool.get("name") == choice.get("name")]
    elif choice.get("type") == "any":
        asked = asked or tools
    elif choice.get("type") == "none":
        asked = []
    return asked[0] if asked else None


def _input(schema: dict[str, Any], text: str) -> dict[str, Any]:
    """A value for each required property: one of its enum or examples, the one that the text names if there is one."""
    properties = schema.get("properties") or {}
    plain = {"string": "", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}, "null": None}
    values: dict[str, Any] = {}
    for name in schema.get("required") or ():
        spec = properties.get(name) or {}
        known = spec.get("enum") or spec.get("examples") or [plain.get(spec.get("type", "string"), "")]
        values[name] = next((value for value in known if str(value) and str(value) in text), known[0])
    return values


def _thinking(text: str) -> Block:
    signature = base64.b64encode(hashlib.sha512(text.encode("utf-8", "replace")).digest() * 3).decode()
    return {"type": "thinking", "thinking": "What is asked, and which tool would answer it?", "signature": signature}


def _sentences(words: int) -> str:
    text = _SENTENCES.split()
    return " ".join(text[at % len(text)] for at in range(words))


# ---------------------------------------------------------------------------------------------- the answer as a stream


def events(whole: dict[str, Any], delta_usage: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """The events of a streamed answer. Output tokens at the start are a stand-in, as on the real wire."""
    start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    edits = {name: start.pop(name) for name in ("context_management",) if name in start}  # told at the end
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(whole["content"]):
        first, deltas = _opening(block)
        yield {"type": "content_block_start", "index": index, "content_block": first}
        if index == 0:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    usage = {key: count for key, count in whole["usage"].items() if key.endswith("_tokens")}
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": whole["stop_sequence"]}
    yield {"type": "message_delta", "delta": stop, "usage": delta_usage or usage, **edits}
    yield {"type": "message_stop"}


def frame(event: dict[str, Any], ordinal: int) -> bytes:
    """One event on the wire. Blanks of changing number follow the JSON, as the API pads its events."""
    data = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    return b"event: %b\ndata: %b%b\n\n" % (event["type"].encode(), data, b" " * (ordinal * 5 % 8))


def _opening(block: Block) -> tuple[Block, Iterator[dict[str, Any]]]:
    """The block as its start event shows it, and the deltas that fill it."""
    kind = block["type"]
    if kind == "text":
        return {**block, "text": ""}, ({"type": "text_delta", "text": piece} for piece in _pieces(block["text"]))
    if kind == "tool_use":
        text = json.dumps(block["input"], ensure_ascii=False)
        pieces = ["", *_pieces(text)] if block["input"] else [""]
        return {**block, "input": {}}, ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    if kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"])]
        return {**block, "thinking": "", "signature": ""}, iter(
            [*deltas, {"type": "signature_delta", "signature": block["signature"]}]
        )
    return block, iter(())


def _pieces(text: str, length: int = 24) -> Iterator[str]:
    return (text[at : at + length] for at in range(0, len(text), length))
