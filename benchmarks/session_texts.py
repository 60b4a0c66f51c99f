"""What made-up session logs consist of: texts, identifiers, a system prompt and its tools.

Texts are cut out of long ones that are made once, at any place: a gigabyte of them takes seconds. Everything is drawn
from one seeded generator.
"""

from __future__ import annotations

import math
from base64 import b64encode
from typing import Any
from uuid import UUID

from benchmarks.words import Writer

POOL = 1_000_000
"""Characters of each text that others are cut from."""

_FOREIGN = ("–", "“quoted”", "naïve", "größe", "→", "…", "日本語", "🚚", "é")


class Texts:
    """The same seed gives the same texts, as long as they are asked for in the same order."""

    def __init__(self, seed: int) -> None:
        self._writer = Writer(seed)
        self.random = self._writer.random
        self._prose = self._mixed(self._writer.prose(POOL))
        self._code = self._mixed(self._writer.listing(POOL))
        self._noise = b64encode(self.random.randbytes(POOL)).decode()
        self.system = [self.prose(60), self.prose(12_000)]
        self.tools = [self._tool(number) for number in range(22)]

    def _mixed(self, text: str) -> str:
        """A text in which some words are not ASCII."""
        random = self.random
        return " ".join(random.choice(_FOREIGN) if random.random() < 0.01 else word for word in text.split(" "))

    def _tool(self, number: int) -> dict[str, Any]:
        properties = {f"p{index}": {"type": "string", "description": self.prose(200)} for index in range(4)}
        schema = {"type": "object", "properties": properties, "required": ["p0"], "additionalProperties": False}
        return {"name": f"Tool{number:02}", "description": self.prose(1_300), "input_schema": schema}

    def between(self, low: int, high: int) -> int:
        """A number whose logarithm is evenly distributed: many are small, a few are large."""
        return round(math.exp(self.random.uniform(math.log(low), math.log(high))))

    def prose(self, low: int, high: int | None = None) -> str:
        """So many characters, or a number between two."""
        return self._cut(self._prose, low, high)

    def code(self, low: int, high: int) -> str:
        """What a tool prints."""
        return self._cut(self._code, low, high)

    def noise(self, low: int, high: int) -> str:
        """Base64 of nothing."""
        return self._cut(self._noise, low, high)

    def _cut(self, pool: str, low: int, high: int | None) -> str:
        chars = low if high is None else self.between(low, high)
        start = self.random.randrange(len(pool) - chars)
        return pool[start : start + chars]

    def uuid(self) -> str:
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def hash(self) -> str:
        """As long as a SHA-256, of nothing."""
        return self.random.randbytes(32).hex()

    def token(self, prefix: str) -> str:
        """An identifier like those the API gives out."""
        return self._writer.token(prefix)
