"""Tokens of a prompt that stand in no field of the request: frames of messages and tool calls, the API's own texts.

The system prompt for tools and what its own tools add come from the documentation (tool use, 2026-10-08). The frames
are no published figures. They were read off counts of the API in the recordings of two public projects (ctok: one
message alone; pydantic-ai's tests: 20 requests with tools and several turns, Opus 4.5 to Fable 5), by subtracting what
ctok says of their texts; each agrees with those within a few tokens. Opus 4.7's, of which only a single message was
recorded, are assumed to be those of 4.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analyzers.models import Model
from analyzers.tokens import Family


@dataclass(frozen=True, slots=True)
class Frames:
    """Tokens around texts. ``start``: of the prompt; ``message``: of each message, neighbours of one role being one,
    but of an answer that is begun for the model; ``system``: of a system prompt; ``tool``: of each tool's definition
    beyond its JSON; ``call``, ``argument``, ``result``: of a tool call, each of its arguments, and its result;
    ``reference``: of a tool that is brought in later."""

    start: int
    message: int
    system: int
    tool: int
    call: int
    argument: int
    result: int
    reference: int


FRAMES: Final[dict[Family, Frames]] = {
    "v3": Frames(start=4, message=3, system=0, tool=4, call=27, argument=15, result=12, reference=9),
    "v4.7": Frames(start=9, message=2, system=3, tool=8, call=20, argument=18, result=5, reference=9),
    "v4.8": Frames(start=4, message=2, system=3, tool=8, call=20, argument=18, result=5, reference=9),
}

EXAMPLES: Final = 70
"""Of a tool with input_examples, beyond their JSON; one recording."""

DEFERRED: Final = 80
"""Of the note that tools with defer_loading exist, beyond their names, on 4.8 and later; one recording. Earlier models
showed none."""

type Choice = tuple[int, int | None]
"""With tool_choice auto or none; with any or tool (None: not given)."""

_TOOL_PROMPTS: Final[dict[tuple[str, tuple[int, int]], Choice]] = {
    ("opus", (5, 5)): (286, None), ("opus", (5, 0)): (286, 406), ("opus", (4, 8)): (290, 410),
    ("opus", (4, 7)): (675, 804), ("opus", (4, 6)): (497, 589), ("opus", (4, 5)): (496, 588),
    ("opus", (4, 1)): (313, 315), ("opus", (4, 0)): (313, 315),
    ("sonnet", (5, 5)): (286, None), ("sonnet", (5, 0)): (354, 474), ("sonnet", (4, 6)): (497, 589),
    ("sonnet", (4, 5)): (496, 588), ("sonnet", (4, 0)): (313, 315),
    ("haiku", (5, 5)): (286, 406), ("haiku", (4, 5)): (496, 588), ("haiku", (3, 5)): (264, 355),
}  # fmt: skip
_ASSUMED: Final[dict[Family, Choice]] = {"v3": (496, 588), "v4.7": (675, 804), "v4.8": (286, 406)}


@dataclass(frozen=True, slots=True)
class ToolPrompt:
    """Tokens of the system prompt that tools bring with them. ``listed``: the documentation has the model; else it is
    that of the nearest."""

    tokens: int | None
    listed: bool


def tool_prompt(model: Model | None, family: Family, forced: bool) -> ToolPrompt:
    """What the first tool adds. ``forced``: tool_choice is any or tool."""
    known = None
    if model is not None and model.tier is not None and model.version is not None:
        known = _TOOL_PROMPTS.get((model.tier, model.version))
    return ToolPrompt((known or _ASSUMED[family])[forced], known is not None)


_OWN_TOOLS: Final[tuple[tuple[str, int, int], ...]] = (  # type's beginning, tokens up to 4.6, tokens from 4.7 on
    ("bash_", 244, 325),
    ("text_editor_", 700, 700),
    ("computer_toolset_", 4_500, 4_500),
    ("browser_toolset_", 6_600, 6_600),
    ("computer_", 735 + 466, 735 + 499),
)


def own_tool(kind: str, family: Family) -> int | None:
    """What a tool of the API's own adds by its type; None where that is not published."""
    for beginning, earlier, later in _OWN_TOOLS:
        if kind.startswith(beginning):
            return earlier if family == "v3" else later
    return None
