"""The lines of a large file, one at a time, with what was wrong with them told once at the end."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.readers.source import Source

LIMIT = 384 * 1024 * 1024
"""Bytes of one line: above that of the largest request, whatever a log puts around it."""

_MOST_TOLD = 3
_SKIP = 1 << 20


class Lines:
    """Iterates over (number from 1, line without its end). Blank lines are left out; a line over the limit is passed
    over and told of. Lines end in LF only: other separators are text."""

    def __init__(self, source: Source, limit: int = LIMIT) -> None:
        self._source = source
        self._limit = limit
        self._wrong: list[tuple[int, str]] = []
        self._more = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        stream = self._source.stream
        number = 0
        while line := stream.readline(self._limit):
            number += 1
            if line[-1:] != b"\n" and len(line) >= self._limit:
                self.unreadable(number, f"longer than {self._limit:,} bytes")
                while (rest := stream.readline(_SKIP)) and rest[-1:] != b"\n":
                    pass
            elif (bare := line.strip(b" \t\r\n")) and bare != b"\xef\xbb\xbf":
                yield number, bare.removeprefix(b"\xef\xbb\xbf") if number == 1 else bare

    def unreadable(self, number: int, reason: str) -> None:
        """Remembers a line that could not be used."""
        if len(self._wrong) < _MOST_TOLD:
            self._wrong.append((number, reason))
        else:
            self._more += 1

    def tell(self) -> None:
        """Makes problems of what was wrong: the first few lines one by one, the others as a number."""
        for number, reason in self._wrong:
            self._source.problem(f"line {number} is not readable ({reason}) and was passed over")
        if self._more:
            told = "1 more line is" if self._more == 1 else f"{self._more} more lines are"
            self._source.problem(f"{told} not readable and {'was' if self._more == 1 else 'were'} passed over")
