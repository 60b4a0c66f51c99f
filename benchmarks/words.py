"""Text that compresses about as well as what people and tools write: words drawn by rank, as in any language.

Random letters would make every file look too large, and a few repeated sentences would make it look too small.
Everything is drawn from one seeded generator, so that each run measures the same bytes.
"""

from __future__ import annotations

import itertools
from random import Random

_ONSETS = ("b", "br", "c", "ch", "d", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "tr")
_VOWELS = ("a", "e", "i", "o", "u", "ea", "ou")
_CODAS = ("", "", "n", "r", "s", "t", "nd", "ck")
WORDS = 4_000
"""Different words; the n-th is drawn with a weight of 1/n (https://en.wikipedia.org/wiki/Zipf%27s_law)."""


class Writer:
    """Writes text, names and identifiers. The same seed gives the same text."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        syllables = ["".join(parts) for parts in itertools.product(_ONSETS, _VOWELS, _CODAS)]
        drawn = ("".join(self.random.choices(syllables, k=1 + rank % 3)) for rank in itertools.count())
        self._words = list(dict.fromkeys(itertools.islice(drawn, 2 * WORDS)))[:WORDS]
        self._weights = list(itertools.accumulate(1 / rank for rank in range(1, len(self._words) + 1)))

    def words(self, count: int) -> list[str]:
        """So many words."""
        return self.random.choices(self._words, cum_weights=self._weights, k=count)

    def prose(self, chars: int) -> str:
        """Exactly so many characters of sentences, with a line break now and then."""
        out: list[str] = []
        size = 0
        while size < chars:
            sentence = " ".join(self.words(self.random.randint(4, 16))).capitalize()
            out.append(sentence + self.random.choice((". ", ". ", ". ", ".\n", ":\n- ")))
            size += len(out[-1])
        return "".join(out)[:chars]

    def listing(self, chars: int) -> str:
        """Exactly so many characters of what a tool prints: numbered lines of code, indented, with quotes."""
        out: list[str] = []
        size = number = 0
        while size < chars:
            number += 1
            name, call, *rest = self.words(4)
            blanks = "    " * self.random.randint(0, 4)
            text = f'{number:>6}\t{blanks}{name}_{call} = {rest[0]}("{rest[1]}", {number * 7})\n'
            out.append(text)
            size += len(text)
        return "".join(out)[:chars]

    def path(self) -> str:
        """A file's path."""
        return f"/srv/{'/'.join(self.words(3))}.py"

    def token(self, prefix: str) -> str:
        """An identifier like those the API gives out; nothing in it repeats."""
        letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"
        return f"{prefix}_01{''.join(self.random.choices(letters, k=22))}"
