"""Why a request read less than was there: the closed list of causes, in words, and what each change loses."""

from __future__ import annotations

from typing import Final, Literal

type Cause = Literal[
    "model", "tools_added", "tools_removed", "tools_reordered", "tools_changed", "system", "billing_header",
    "message_rewritten", "images", "citations", "tool_choice", "thinking", "thinking_stripped", "effort", "speed",
    "settings", "context_editing", "compaction", "cleared", "expired", "below_minimum", "look_back", "no_breakpoint",
    "breakpoint_moved", "ttl", "concurrent", "host", "written_elsewhere", "unexplained", "unknown",
]  # fmt: skip

CAUSES: Final[dict[str, str]] = {
    "model": "another model",
    "tools_added": "a tool was added",
    "tools_removed": "a tool was taken away",
    "tools_reordered": "the tools stand in another order",
    "tools_changed": "a tool's definition changed",
    "system": "the system prompt changed",
    "billing_header": "the client's billing line changes, and this host does not ignore it",
    "message_rewritten": "an earlier message was changed",
    "images": "images appeared or went",
    "citations": "citations were switched on or off",
    "tool_choice": "tool_choice changed",
    "thinking": "the thinking settings changed",
    "thinking_stripped": "this model forgets earlier thinking with the user's next words",
    "effort": "the effort, or the form asked for, changed",
    "speed": "the speed changed",
    "settings": "another setting changed",
    "context_editing": "the server cleared a part of the context",
    "compaction": "the conversation was summarised",
    "cleared": "the conversation was cleared",
    "expired": "the cache had expired",
    "below_minimum": "the prefix is below what this model caches",
    "look_back": "the last breakpoint was more than 20 positions back",
    "no_breakpoint": "the request has no breakpoint",
    "breakpoint_moved": "the last breakpoint stands before the end of what was cached",
    "ttl": "a breakpoint asks for another time to live",
    "concurrent": "sent before the first answer had begun",
    "host": "sent to another host, which has a cache of its own",
    "written_elsewhere": "more was there than the request before it had left",
    "unexplained": "nothing changed: evicted, or answered elsewhere",
    "unknown": "unknown: not enough of the prompts was recorded",
}


LOSES: Final[dict[str, str]] = {
    **dict.fromkeys(
        ("model", "host", "tools_added", "tools_removed", "tools_reordered", "tools_changed"), "everything"
    ),
    **dict.fromkeys(("system", "citations", "speed"), "the system prompt and the messages, not the tools"),
    **dict.fromkeys(("tool_choice", "images"), "the messages only"),
    **dict.fromkeys(("thinking", "effort"), "the messages; on some models the tools and the system prompt too"),
    "thinking_stripped": "the messages from there on",
    "context_editing": "the messages from there on",
}
"""What a change takes out of the cache, as the documentation of prompt caching has it (2026-10-08)."""
