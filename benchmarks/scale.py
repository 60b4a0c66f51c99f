"""How much is measured: enough for medians to settle within a few minutes, or a quick look."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers of rounds and of requests."""

    rounds: int
    """Of each kind of load, every variant once per round."""
    requests: dict[tuple[str, int], int]
    """In one round, by body and number of connections."""
    streams: int
    """Through each of the two variants that are compared."""
    cpu_rounds: int
    session_rounds: int
    disk_turns: tuple[int, ...]
    memory: tuple[int, ...]
    """Requests after which memory is looked at; the first and the last are compared."""


FULL = Scale(
    rounds=15,
    requests={("golden", 1): 60, ("1 MB", 1): 24, ("golden", 8): 160, ("1 MB", 8): 48},
    streams=25,
    cpu_rounds=11,
    session_rounds=3,
    disk_turns=(50, 100, 200, 400),
    memory=(200, 600, 1_200, 2_000),
)
QUICK = Scale(
    rounds=3,
    requests={("golden", 1): 40, ("1 MB", 1): 12, ("golden", 8): 80, ("1 MB", 8): 24},
    streams=4,
    cpu_rounds=3,
    session_rounds=1,
    disk_turns=(100, 200, 400),
    memory=(100, 300),
)
