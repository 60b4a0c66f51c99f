"""A capture whose names try to become markup, script or another direction of reading, for the tests of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import capture_files
from capture_files import written

from analyzers.wire.jsontext import dump

LONG = 100_000
"""Characters of the longest name: some hundred times what is shown of any, and several times what tokens are counted of
at once. Its tokens are counted for each place where it stands, at five seconds for a million characters."""

CALLS = "document.documentElement.setAttribute('data-owned', '1')"
"""What runs if any of it runs."""

NAMES = (
    f"</script><script>{CALLS}</script>",
    f"<img src=x onerror={CALLS!r}>",
    f'"><svg onload="{CALLS}">',
    f"javascript:{CALLS}",
    "<!--<script>",
    "]]>&lt;b&gt;&amp;",
    "\u202eright to left\u2066isolated\u2069",
    "line\u2028and\u2029paragraph\x1b[31m\x00",
    "@@DOCUMENT@@@@SCRIPT@@",
    "__proto__",
    "x" * LONG,
)


def hostile(folder: Path) -> Path:
    """Every name, wherever a name can stand: a tool, a call, a role, a type, a field, a model, a session, an error."""
    lines = [capture_files.start()]
    for number, name in enumerate(NAMES, 1):
        lines.append(capture_files.request(str(number), dump(_body(name)), at=float(number), fold_over=-1))
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {name: name}}
        answer: dict[str, Any] = {"message_id": f"msg_{name[:200]}", "model": name[:2_000], "content": [call]}
        if number % 3 == 0:
            answer = {"ended": "error", "status": 400, "error": {"type": name[:500], "message": name[:500]}}
        lines.append(capture_files.response(str(number), **answer))
    return written(folder, "hostile.jsonl", *lines, capture_files.end())


def _body(name: str) -> dict[str, Any]:
    return {
        "model": name,
        "metadata": {"user_id": name},
        name[:5_000]: {name: name},
        "system": [{"type": "text", "text": name, "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": name, "description": name, "input_schema": {"type": "object", "properties": {name: {}}}}],
        "messages": [
            {"role": name, "content": [{"type": name, "name": name}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": name, "input": {}}]},
            {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": name}}]},
        ],
    }
