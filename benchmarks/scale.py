"""How much is measured: enough for medians to settle within a few minutes, or a quick look."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers of rounds, of requests, of bodies."""

    rounds: int
    """Of each kind of load; in each round every way is measured once."""
    requests: dict[tuple[str, int], int]
    """In one round, by body and number of connections."""
    streams: int
    """Through each of the two variants that are compared."""
    cpu_rounds: int
    bodies: int
    """Of each client, at most."""
    session_rounds: int
    disk_turns: tuple[int, ...]
    """Turns after which the bytes are looked at. The last is compared with its half."""
    page_turns: tuple[int, ...]
    """Turns of the sessions whose page is made; targets are of the last."""
    page_rounds: int
    memory: tuple[int, ...]
    """Requests after which memory is looked at, in hundreds. The last is compared with the first."""
    log_bytes: int
    """Of session logs, about."""
    log_rounds: int
    """In each, either program reads them all."""


FULL = Scale(
    rounds=13,
    requests={("golden", 1): 60, ("1 MB", 1): 24, ("golden", 8): 160, ("1 MB", 8): 48},
    streams=24,
    cpu_rounds=11,
    bodies=12,
    session_rounds=3,
    disk_turns=(50, 100, 200, 400),
    page_turns=(200, 400),
    page_rounds=3,
    memory=(200, 600, 1_200, 2_000),
    log_bytes=1_000_000_000,
    log_rounds=7,
)
QUICK = Scale(
    rounds=3,
    requests={("golden", 1): 30, ("1 MB", 1): 8, ("golden", 8): 40, ("1 MB", 8): 16},
    streams=4,
    cpu_rounds=3,
    bodies=4,
    session_rounds=1,
    disk_turns=(50, 100, 200),
    page_turns=(400,),
    page_rounds=1,
    memory=(100, 200),
    log_bytes=100_000_000,
    log_rounds=3,
)
