"""A folder of Claude Code's session logs, made up by the gigabyte, with the true sums of what they tell.

Most files have 50 KB to 1 MB, and two fifths of the bytes stand in a few of 50 to 140 MB, as on a machine where the
client has been at work for months. Some sessions are forks, which tell the calls of another session again.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.session_file import Client, Session, Written
from benchmarks.session_texts import Texts

OLDER = Client("2.1.258", ("claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"), requests=False)
CLIENTS = {
    OLDER: 25,
    Client("2.1.332", ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-opus-5-5")): 60,
    Client("2.1.332", ("claude-haiku-4-5-20251001",), merged=True): 15,
}
"""How many of a hundred large sessions are of which client."""

LARGE, LARGE_SHARE = (50_000_000, 140_000_000), 0.42
MEDIUM, MEDIUM_SHARE = (1_500_000, 9_000_000), 0.13
SMALL = (50_000, 1_000_000)
ROOMY = 200_000
"""Bytes below which a session is of the older version: what the newer one writes at its start alone is most of that."""

FORKABLE = (100_000, 1_500_000)
FORK_EACH = 12
"""Of so many sessions that could be forked, one is."""

FORK = (30_000, 300_000)
PROJECTS = tuple(f"-home-ann-src-{name}" for name in ("quarry", "scales", "ledger", "gate", "web", "notes", "infra"))


def write(projects: Path, size: int, seed: int = 1) -> Written:
    """Writes so many bytes of session logs into a folder, or a little more. The same seed and size give the same bytes.
    Raises OSError, FileExistsError when they are there already."""
    texts = Texts(seed)
    random = texts.random
    planned = [*_sizes(texts, LARGE, round(LARGE_SHARE * size)), *_sizes(texts, MEDIUM, round(MEDIUM_SHARE * size))]
    random.shuffle(planned)
    written, forkable = Written(), 0
    while planned or written.size < size:
        wanted = planned.pop() if planned else min(texts.between(*SMALL), max(SMALL[0], size - written.size))
        client = random.choices([*CLIENTS], [*CLIENTS.values()])[0] if wanted > ROOMY else OLDER
        session = Session(texts, projects / random.choice(PROJECTS), client)
        if FORKABLE[0] < wanted < FORKABLE[1]:
            forkable += 1
            session.kept = [] if forkable % FORK_EACH == FORK_EACH // 4 else None
        session.run(wanted)
        written = written.plus(session.written())
        if session.kept:
            fork = session.fork()
            fork.run(texts.between(*FORK))
            written = written.plus(fork.written())
    return written


def _sizes(texts: Texts, limits: tuple[int, int], total: int) -> list[int]:
    """Sizes between the limits that add up to so many bytes; what is left over in the end may be half as large."""
    found = []
    while total > limits[0] // 2:
        found.append(min(total, texts.random.randint(*limits)))
        total -= found[-1]
    return found
