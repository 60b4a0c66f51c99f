"""What a check of `doctor` found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

type State = Literal["ok", "note", "wrong"]
"""``note``: works, and something to know about what is recorded. ``wrong``: has to be put right first."""

type Topic = Literal[
    "version", "recorder", "port", "captures", "authority", "client", "variable", "settings", "capture"
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line. ``text``: what is so; ``advice``: what to do about it, None when there is nothing."""

    topic: Topic
    state: State
    text: str
    advice: str | None = None
