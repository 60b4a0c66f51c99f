"""Parts of a whole."""

from __future__ import annotations


def share_of(part: int, whole: int) -> float:
    """Percent, unrounded; 0 of nothing."""
    return 100 * part / whole if whole else 0.0
