"""Whether something of the original is still to be seen in what was redacted.

Every word of eight characters and more that was replaced is a canary: the result is read again, and none of them may
stand in it, as it is, percent-encoded, behind escapes, or inside base64. Words are kept as marks in Bloom filters (a
few megabytes, however long the input), together with all words that were put in their places and all that stay: a word
that is one of those is no leak, though it may by chance be a word of the original.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from urllib.parse import unquote

from analyzers.scrambled_text import Found
from analyzers.wire.jsontext import Json

SHORTEST = 8
_WORD = re.compile(r"[^\W_]{3,}")
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_ESCAPE = re.compile(r"\\+u([0-9A-Fa-f]{4})|\\+x([0-9A-Fa-f]{2})")
_ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060\ufeff\u00ad]")
_BITS = 1 << 27
_MARKS = 5
_WHOLE = " "  # no word begins with it: what follows is a whole value
_MOST_KNOWN = 200_000


class WordSet:
    """A set of words in bounded memory: what was added is always found; something else hardly ever."""

    def __init__(self, bits: int = _BITS) -> None:
        self._bits = bits
        self._array = bytearray(bits // 8)
        self._recent: set[str] = set()

    def add(self, words: Iterable[str]) -> None:
        for word in words:
            if word in self._recent:
                continue
            if len(self._recent) > _MOST_KNOWN:
                self._recent.clear()
            self._recent.add(word)
            for place in self._places(word):
                self._array[place >> 3] |= 1 << (place & 7)

    def __contains__(self, word: str) -> bool:
        return all(self._array[place >> 3] & 1 << (place & 7) for place in self._places(word))

    def _places(self, word: str) -> Iterator[int]:
        digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8 * _MARKS).digest()
        for at in range(0, len(digest), 8):
            yield int.from_bytes(digest[at : at + 8]) % self._bits


class ExactWords:
    """A set of words that grows with what is added, for little of it. ``base``: words that are in it besides."""

    def __init__(self, base: frozenset[str] = frozenset()) -> None:
        self._base = base
        self._words: set[str] = set()

    def add(self, words: Iterable[str]) -> None:
        self._words.update(words)

    def __contains__(self, word: str) -> bool:
        return word in self._words or word in self._base


class Canaries:
    """What was replaced by what, and whether it shows. ``found``: what finds personal data, where only that was
    replaced: then words of letters and digits together are canaries (the others may rightly stand elsewhere), and every
    value as a whole. ``shown``: for what is little: words that may be seen, everything being kept exactly."""

    def __init__(self, found: Found | None = None, *, shown: frozenset[str] | None = None) -> None:
        self._hidden = WordSet() if shown is None else ExactWords()
        self._shown = WordSet() if shown is None else ExactWords(shown)
        self._found = found
        self._clean: set[bytes] = set()

    def seen(self, text: str, new: str) -> None:
        """A text that was replaced, and what stands for it."""
        self._hidden.add(self._canaries(text))
        self._shown.add(words_of(new))
        if self._found is not None:
            self._hidden.add((_WHOLE + text,))
            self._shown.add((_WHOLE + new,))

    def kept(self, text: str) -> None:
        """A text that stays on purpose."""
        self._shown.add(words_of(text))

    def _canaries(self, text: str) -> Iterator[str]:
        for word in words_of(text):
            if self._found is None or (not word.isalpha() and not word.isdigit()):
                yield word

    def leaks(self, text: str) -> bool:
        """Whether a text of the result holds a word of the original in any spelling."""
        if len(text) < SHORTEST and self._found is None:
            return False
        mark = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
        if mark in self._clean:
            return False
        leaks = any(
            word in self._hidden and word not in self._shown for form in spellings(text) for word in words_of(form)
        )
        if self._found is not None and not leaks:
            values = (_WHOLE + text[begin:end] for begin, end in self._found(text, None))
            leaks = any(value in self._hidden and value not in self._shown for value in values)
        if not leaks:
            if len(self._clean) >= _MOST_KNOWN:
                self._clean.clear()
            self._clean.add(mark)
        return leaks

    def find(self, value: Json) -> str | None:
        """The place in a JSON value where something of the original shows; None where nothing does."""
        stack: list[tuple[Json, _Path]] = [(value, None)]
        while stack:
            node, path = stack.pop()
            if type(node) is dict:
                for key, member in node.items():
                    if self.leaks(key):
                        return _written((path, "(a name)"))
                    stack.append((member, (path, key)))
            elif type(node) is list:
                stack.extend((member, (path, index)) for index, member in enumerate(node))
            elif isinstance(node, str) and self.leaks(node):
                return _written(path)
        return None


type _Path = tuple[_Path, str | int] | None


def _written(path: _Path) -> str:
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{step}]" if type(step) is int else f".{step}")
    return "".join(reversed(steps)).removeprefix(".")[:200] or "the whole value"


def words_of(text: str) -> set[str]:
    """The words that are long enough to be told."""
    found = set(_WORD.findall(text))
    return {word for word in found if len(word) >= SHORTEST or len(word.encode("utf-8", "replace")) >= SHORTEST}


def spellings(text: str) -> Iterator[str]:
    """The text as it is, and what it holds in other spellings."""
    yield text
    if "%" in text:
        yield unquote(text, errors="replace")
    if "\\" in text:
        yield _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), text)
    if not text.isascii() and _ZERO_WIDTH.search(text):
        yield _ZERO_WIDTH.sub("", text)
    for match in _ENCODED.finditer(text):
        if (decoded := _decoded(match[0])) is not None:
            yield decoded


def _decoded(run: str) -> str | None:
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    bare = bare[: len(bare) - (len(bare) % 4 == 1)]
    try:
        data = base64.b64decode(bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return None
    return data.decode("latin-1")
