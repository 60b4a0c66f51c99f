"""What a text is, told from how it begins: short labels for rows and fold markers.

The beginnings are those that Claude Code, its SDK and the API's own guides use (measured on recorded requests). A
label never quotes the text. Only the head of the text is looked at, so the cost does not depend on its length.
"""

from __future__ import annotations

import re

_HEAD = 2000
_REMINDER_HEAD = 400
_REMINDER = "<system-reminder>"

# The one that stands first in the head of a system-reminder tells what it is: behind it come the user's own words and
# names of files, which may look like any other.
_REMINDERS = (
    ("agent types", "agents"),
    ("skills are available", "skills"),
    ("Token usage:", "token budget"),
    ("token budget", "token budget"),
    ("total_tokens left", "token budget"),
    ("USD budget", "budget"),
    ("# claudeMd", "CLAUDE.md and context"),
    (r"Contents of [^\n]*CLAUDE\.md", "CLAUDE.md"),
    (r"Contents of [^\n]*MEMORY\.md", "memory index"),
    ("# userEmail", "context with e-mail"),
    ("hook success", "hook output"),
    ("hook additional context", "hook output"),
    ("hook blocking error", "hook output"),
    ("gitStatus", "git status"),
    ("Attribution for git commits", "attribution"),
    ("deferred tools", "deferred tools"),
    ("MCP Server Instructions", "MCP instructions"),
    ("# currentDate", "date"),
    ("todo list", "todo list"),
    ("plan mode", "plan mode"),
    (r"Note: [^\n]* was modified", "changed file"),
    ("was modified", "changed file"),
)
_SIGNS = re.compile("|".join(f"({sign})" for sign, _ in _REMINDERS))
# Beginnings of texts that stand alone.
_BEGINNINGS = (
    ("x-anthropic-billing-header", "billing header"),
    ("You are Claude Code", "Claude Code identity"),
    ("You are a Claude agent", "Agent SDK identity"),
    ("You are an interactive", "main instructions"),
    ("# Environment", "environment"),
    ("<env>", "environment"),
    ("gitStatus:", "git status"),
    ("<local-command-caveat>", "local command"),
    ("<local-command-stdout>", "local command output"),
    ("<bash-stdout>", "shell output"),
    ("<bash-input>", "shell input"),
    ("<command-name>", "slash command"),
    ("<command-message>", "slash command"),
    ("This session is being continued", "compaction summary"),
    ("CRITICAL: Respond with TEXT ONLY", "compaction request"),
    ("[SUGGESTION MODE", "prompt suggestion"),
    ("<user-prompt-submit-hook>", "hook output"),
    ("<session-start-hook>", "hook output"),
    ("SessionStart hook", "hook output"),
    ("UserPromptSubmit hook", "hook output"),
    ("data:image/", "data URI in text"),
    ("Contents of ", "file contents"),
)
_BY_FIRST: dict[str, list[tuple[str, str]]] = {}
for _sign, _label in _BEGINNINGS:
    _BY_FIRST.setdefault(_sign[0], []).append((_sign, _label))


def describe_text(text: str) -> str | None:
    """A label of a few words for a text that has a known beginning, else None."""
    first = text[:1]
    if first.isspace():
        text = text[:_HEAD].lstrip()
        first = text[:1]
    if text.startswith(_REMINDER):
        found = _SIGNS.search(text, 0, _REMINDER_HEAD)
        if found is None or found.lastindex is None:
            return "system-reminder"
        return f"system-reminder: {_REMINDERS[found.lastindex - 1][1]}"
    for sign, label in _BY_FIRST.get(first, ()):
        if text.startswith(sign):
            return label
    return None
