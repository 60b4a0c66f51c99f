"""Names of redacted copies: pseudonyms that sort as the originals did, where the order of files is that of requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

type Parts = tuple[str, ...]


def copied_names(
    files: Collection[Parts], ordered: Collection[Parts], new: Callable[[str], str]
) -> Mapping[Parts, Parts]:
    """The names of copies. ``files``: as steps from the folder that holds all; ``ordered``: those whose order among
    themselves counts: they and their folders get a number in front. ``new``: the pseudonym of a step."""
    ranks: dict[Parts, str] = {}
    for length in sorted({depth for parts in ordered for depth in range(1, len(parts) + 1)}):
        beside: dict[tuple[Parts, bool], set[Parts]] = {}
        for parts in ordered:
            if len(parts) >= length:
                beside.setdefault((parts[: length - 1], len(parts) == length), set()).add(parts[:length])
        for steps in beside.values():
            for at, step in enumerate(sorted(steps), 1):
                ranks[step] = f"{at:0{len(str(len(steps)))}}-"
    return {
        parts: tuple(ranks.get(parts[: at + 1], "") + new(step) for at, step in enumerate(parts)) for parts in files
    }
