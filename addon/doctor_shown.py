"""What `doctor` found, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from addon.finding import Finding
from analyzers.failure import safe

_WORDS = {"ok": "OK", "note": "NOTE", "wrong": "WRONG"}
_WIDTH = max(map(len, _WORDS.values()))


def doctor_json(found: Sequence[Finding]) -> dict[str, Any]:
    """What ``doctor --json`` prints. ``state``: ok, note or wrong; ``do``: null when there is nothing to do."""
    return {
        "ok": all(one.state != "wrong" for one in found),
        "findings": [{"topic": one.topic, "state": one.state, "text": one.text, "do": one.advice} for one in found],
    }


def doctor_lines(found: Iterable[Finding]) -> list[str]:
    """One line for each; what to do stands behind an arrow."""
    lines = []
    for one in found:
        advice = f" → {safe(one.advice)}" if one.advice else ""
        lines.append(f"{_WORDS[one.state]:{_WIDTH}}  {safe(one.text)}{advice}")
    return lines
