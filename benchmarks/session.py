"""One long session of a coding agent: every request repeats the one before it and adds a turn.

Strategy: messages are made once and kept as JSON text, so that a turn costs what it adds plus one copy of the body. As
with real clients, the cache breakpoint moves on with each turn, so the bytes of the message that held it change; tool
uses have identifiers in which nothing repeats; and what a turn adds is partly short (kept as it is in a capture) and
partly long (folded there). Sizes: 70 KB before the first turn, 4.7 KB more per turn, 1.0 MB after 200, 108 MB in all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from benchmarks.words import Writer

type Block = dict[str, Any]

MODEL = "claude-opus-5-5"
SYSTEM = (60, 14_000)
"""Characters of the two blocks of the system prompt."""

TOOLS = 24
RESULTS = (120, 320, 700, 1_400, 3_000, 6_300)
"""Characters of tool results, each as likely as the others: a short answer, a listing, a file."""

_BREAKPOINT = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


@dataclass(frozen=True, slots=True)
class Turn:
    """One request, and the blocks that the model answers."""

    body: bytes
    answer: tuple[Block, ...]


def session(turns: int, seed: int = 2) -> Iterator[Turn]:
    """So many turns. The same seed gives the same bytes."""
    writer = Writer(seed)
    before, after = _frame(writer)
    past: list[bytes] = []
    said: list[Block] = [_reminder(writer), {"type": "text", "text": writer.prose(220)}]
    for number in range(turns):
        newest = {"role": "user", "content": [*said[:-1], {**said[-1], **_BREAKPOINT}]}
        answer = _answer(writer, number)
        yield Turn(before + b",".join((*past, orjson.dumps(newest))) + after, tuple(answer))
        past.append(orjson.dumps({"role": "user", "content": said}))
        past.append(orjson.dumps({"role": "assistant", "content": answer}))
        said = _reaction(writer, answer, number)


def _frame(writer: Writer) -> tuple[bytes, bytes]:
    """The request around its messages."""
    user = {"device_id": "ab" * 32, "account_uuid": "", "session_id": "5f0c1d7e-2b1a-4f4e-9c55-0d6a7b8c9d10"}
    first, second = (writer.prose(chars) for chars in SYSTEM)
    head = {"model": MODEL, "messages": []}
    tail = {
        "system": [{"type": "text", "text": first}, {"type": "text", "text": second, **_BREAKPOINT}],
        "tools": [_tool(writer, number) for number in range(TOOLS)],
        "metadata": {"user_id": json.dumps(user)},
        "max_tokens": 32_000,
        "stream": True,
    }
    return orjson.dumps(head)[:-2], b"]," + orjson.dumps(tail)[1:]


def _tool(writer: Writer, number: int) -> Block:
    properties = {
        f"{name}_{index}": {"type": "string", "description": writer.prose(90)}
        for index, name in enumerate(writer.words(6))
    }
    return {
        "name": f"Tool{number:02}",
        "description": writer.prose(1_300),
        "input_schema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": properties,
            "required": list(properties)[:2],
            "additionalProperties": False,
        },
    }


def _answer(writer: Writer, number: int) -> list[Block]:
    """What the model says: a word on what it does next, and a tool use; sometimes two, sometimes a longer text."""
    text = writer.prose(1_100 if number % 6 == 5 else 160)
    uses = [_use(writer, number + more) for more in range(2 if number % 3 == 1 else 1)]
    return [{"type": "text", "text": text}, *uses]


def _use(writer: Writer, number: int) -> Block:
    match number % 3:
        case 0:
            arguments = {"file_path": writer.path(), "offset": number * 10, "limit": 200}
        case 1:
            arguments = {"command": " ".join(writer.words(9)), "description": writer.prose(50)}
        case _:
            old, new = writer.listing(350), writer.listing(620)
            arguments = {"file_path": writer.path(), "old_string": old, "new_string": new, "replace_all": False}
    return {"type": "tool_use", "id": writer.token("toolu"), "name": f"Tool{number % TOOLS:02}", "input": arguments}


def _reaction(writer: Writer, answer: list[Block], number: int) -> list[Block]:
    """What comes back: a result for each tool use, and now and then a reminder by the client or a word of the user."""
    results = [_result(writer, block["id"]) for block in answer if block["type"] == "tool_use"]
    more: list[Block] = [_reminder(writer)] if number % 10 == 9 else []
    if number % 8 == 7:
        more.append({"type": "text", "text": writer.prose(180)})
    return [*results, *more]


def _result(writer: Writer, use: str) -> Block:
    text = writer.listing(writer.random.choice(RESULTS))
    content: str | list[Block] = text if writer.random.random() < 0.7 else [{"type": "text", "text": text}]
    return {"tool_use_id": use, "type": "tool_result", "content": content, "is_error": False}


def _reminder(writer: Writer) -> Block:
    return {"type": "text", "text": f"<system-reminder>\n{writer.prose(640)}\n</system-reminder>"}
