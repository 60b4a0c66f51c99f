"""Prompts as paths in one tree: which request begins like which other, in memory that grows with what is new.

A conversation resends everything, so a list of digests for each request would grow with the square of it. Here each
message is one step down from the messages before it, and a request is the node where its messages end: two requests
that begin alike share that part of the path, and the deepest node they share is where they part. One dictionary entry
for each message that was new.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from analyzers.digests import Digest

ROOT: Final = 0


class Tree:
    """Nodes are numbers; 0 is the empty prompt. ``said``: gist of the assistant message that leads to a node;
    ``answered``: whether there is one on the way to it."""

    def __init__(self) -> None:
        self.parent: list[int] = [ROOT]
        self.depth: list[int] = [0]
        self.message: list[Digest] = [b""]
        self.said: list[Digest | None] = [None]
        self.answered: list[bool] = [False]
        self._below: dict[tuple[int, Digest], int] = {}

    def step(self, node: int, message: Digest, said: Digest | None) -> int:
        """The node one message below."""
        found = self._below.get((node, message))
        if found is None:
            found = self._below[node, message] = len(self.parent)
            self.parent.append(node)
            self.depth.append(self.depth[node] + 1)
            self.message.append(message)
            self.said.append(said)
            self.answered.append(said is not None or self.answered[node])
        return found

    def path(self, node: int) -> Iterator[int]:
        """The nodes from this one up to the empty prompt, which is left out. Most who look find what they look for a
        few steps up."""
        while node != ROOT:
            yield node
            node = self.parent[node]
