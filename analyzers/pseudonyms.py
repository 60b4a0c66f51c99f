"""Words into other words of the same form, under a key: letters for letters, digits for digits, each script within
itself.

Every character is replaced by one of its own class (same case, same length in UTF-8, UTF-16 and JSON), so no exact
figure changes. How it is replaced depends on the key and on the characters *before it in its word*, and on nothing
else. From that follows what figures are made of: equal words stay equal, wherever they stand; distinct words stay
distinct (at the first character that differs, one permutation takes them apart); and two texts that begin alike
begin alike afterwards, to the very character, so that the place of a first difference is the same. The technique is
prefix-preserving encryption (Xu, Fan, Ammar, Moon, "Prefix-preserving IP address anonymization", ICNP 2002).

As long as a word has nothing but hexadecimal digits, a to f stay among themselves: hex stays hex. Upper and lower case
share a permutation, so ``Jane`` and ``jane`` stay one name. Words that must stay do so because every permutation on the
way to them leaves their next character where it is; another word that begins like one keeps that beginning.

The price: short words are permuted rather than hidden, and words that begin alike are seen to. What is rare stays
unknown; what is known of a recorded text (a client's public prompt) tells the words in it wherever they stand.

Cost: one keyed hash per new beginning of up to ``FINE`` characters, and one per character behind it; words seen are
remembered.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from math import gcd

FINE = 16
"""Characters of a word that are permuted; behind them a key stream shifts them."""

_REMEMBERED = 128  # characters of the longest word that is
_MOST_KNOWN = 400_000  # words and beginnings remembered, each some hundred bytes

_HEX = "abcdef"
_BEYOND_HEX = "ghijklmnopqrstuvwxyz"
_LETTERS = _HEX + _BEYOND_HEX
_LEADING = "123456789"
_DIGITS = "0123456789"

# Scripts that fill more, or less, than one page of 256 code points.
_RANGES = (
    (0x3041, 0x3096),  # Hiragana
    (0x30A1, 0x30FA),  # Katakana
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xAC00, 0xD7A3),  # Hangul
    (0xFF66, 0xFF9D),  # Katakana, half width
    (0x20000, 0x2A6DF),  # Han, extension B
)
_WORD_CATEGORIES = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No", "Mn", "Mc"))


class Pseudonyms:
    """The words of one run. ``key``: at least 16 random bytes, which nobody keeps. ``kept``: words in lower case of up
    to ``FINE`` characters that stay as they are, in upper case too; no other becomes one of them."""

    def __init__(self, key: bytes, kept: frozenset[str] = frozenset()) -> None:
        if len(key) < 16:
            raise ValueError("a key of at least 16 bytes is needed")
        self._key = blake2b(key, digest_size=64, person=b"words").digest()
        self._hash_key = blake2b(key, digest_size=64, person=b"hashes").digest()
        self._fixed: dict[str, str] = {}
        for word in kept:
            for at, char in enumerate(word):
                self._fixed[word[:at]] = self._fixed.get(word[:at], "") + char
        self._words: dict[str, str] = {}
        self._orders: dict[tuple[str, str], Sequence[int]] = {}

    def word(self, word: str) -> str:
        """What stands for a word: a run of characters without blanks or punctuation. A character that is none of a
        word's stays."""
        found = self._words.get(word)
        if found is None:
            if len(self._words) >= _MOST_KNOWN:
                self._words.clear()
            found = self._made(word)
            if len(word) <= _REMEMBERED:
                self._words[word] = found
        return found

    def hash(self, digest: str) -> str:
        """What stands for a hash in hexadecimal: as long, equal for equal hashes, and of no use to who would guess what
        was hashed."""
        size = len(digest) // 2
        if not 1 <= size <= 64 or len(digest) % 2:
            return self.word(digest)
        return blake2b(digest.lower().encode("utf-8", "replace"), key=self._hash_key, digest_size=size).hexdigest()

    def _made(self, word: str) -> str:
        out: list[str] = []
        begun = ""
        hexadecimal = True
        for char in word[:FINE]:
            new, hexadecimal = self._permuted(char, begun, hexadecimal)
            out.append(new)
            begun += char.lower() if char.isascii() else char
        if len(word) > FINE:
            self._shift(word, begun, hexadecimal, out)
        return "".join(out)

    def _permuted(self, char: str, begun: str, hexadecimal: bool) -> tuple[str, bool]:
        """One character in the permutation that the beginning of its word names."""
        alphabet, hexadecimal, place = _alphabet(char, hexadecimal, not begun)
        if place < 0:
            return char, hexadecimal
        size = len(alphabet)
        if size <= len(_LETTERS):
            to = self._order(begun, alphabet)[place]
        else:
            factor, offset = self._line(begun, alphabet)
            to = (factor * place + offset) % size
        new = alphabet[to]
        return (new.upper() if char.isascii() and char.isupper() else new), hexadecimal

    def _order(self, begun: str, alphabet: str) -> Sequence[int]:
        found = self._orders.get((begun, alphabet))
        if found is None:
            if len(self._orders) >= _MOST_KNOWN:
                self._orders.clear()
            rest = int.from_bytes(self._digest(begun, alphabet))
            places = list(range(len(alphabet)))
            fixed = self._fixed.get(begun, "")
            free = [place for place in places if alphabet[place] not in fixed]
            for at in range(len(free) - 1, 0, -1):  # Fisher and Yates
                rest, other = divmod(rest, at + 1)
                one, two = free[at], free[other]
                places[one], places[two] = places[two], places[one]
            found = self._orders[begun, alphabet] = places
        return found

    def _line(self, begun: str, alphabet: str) -> tuple[int, int]:
        """A permutation of a large alphabet: place → factor * place + offset."""
        digest = self._digest(begun, alphabet)
        size = len(alphabet)
        factor = int.from_bytes(digest[:16]) % size or 1
        while gcd(factor, size) != 1:
            factor = factor % size + 1
        return factor, int.from_bytes(digest[16:32]) % size

    def _digest(self, begun: str, alphabet: str) -> bytes:
        out = blake2b(key=self._key, digest_size=64, person=b"order")
        out.update(alphabet[0].encode() + alphabet[-1].encode() + b"\0")
        out.update(begun.encode("utf-8", "surrogatepass"))
        return out.digest()

    def _shift(self, word: str, begun: str, hexadecimal: bool, out: list[str]) -> None:
        """What lies behind the first characters: each is shifted by what all before it name, so that words share
        nothing behind the place where they part."""
        before = blake2b(begun.encode("utf-8", "surrogatepass"), key=self._key, digest_size=64, person=b"stream")
        for char in word[FINE:]:
            stream = before.digest()
            alphabet, hexadecimal, place = _alphabet(char, hexadecimal, False)
            if place < 0:
                out.append(char)
            else:
                new = alphabet[(place + (stream[0] << 8 | stream[1])) % len(alphabet)]
                out.append(new.upper() if char.isascii() and char.isupper() else new)
            before.update(char.lower().encode() if char.isascii() else char.encode("utf-8", "surrogatepass"))


def _alphabet(char: str, hexadecimal: bool, first: bool) -> tuple[str, bool, int]:
    """The characters that may stand for this one, whether the word may still be hexadecimal, and the place of the
    character among them; -1: it stays."""
    if not char.isascii():
        alphabet = _others(char)
        return alphabet, False, alphabet.find(char) if len(alphabet) < 300 else ord(char) - ord(alphabet[0])
    if char.isdigit():
        if not first:
            return _DIGITS, hexadecimal, ord(char) - 48
        return _LEADING, hexadecimal, ord(char) - 49  # a 0 stays: a number may not begin with another one
    low = char.lower()
    if not "a" <= low <= "z":
        return "", hexadecimal, -1
    place = ord(low) - 97
    if not hexadecimal:
        return _LETTERS, False, place
    return (_HEX, True, place) if low in _HEX else (_BEYOND_HEX, False, place - len(_HEX))


@lru_cache(4096)
def _page(page: int, category: str) -> str:
    """The characters of one page of 256 code points and one category."""
    codes = range(max(page << 8, 0x80), (page + 1) << 8)
    return "".join(char for char in map(chr, codes) if unicodedata.category(char) == category)


@lru_cache(16)
def _range(first: int, last: int) -> str:
    return "".join(map(chr, range(first, last + 1)))


@lru_cache(1 << 16)
def _others(char: str) -> str:
    """The characters outside ASCII that may stand for this one: of its script, as long in every encoding."""
    code = ord(char)
    for first, last in _RANGES:
        if first <= code <= last:
            return _range(first, last)
    category = unicodedata.category(char)
    return _page(code >> 8, category) if category in _WORD_CATEGORIES else ""
