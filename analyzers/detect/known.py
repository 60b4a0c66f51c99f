"""Values that were told in one place, to be recognised in others: a login in a listing, a session in a path.

A home folder names its owner, a git line an author, a header a session, an assignment a password. Where the same value
stands elsewhere with nothing around it that would tell, it is found because it is known. Only values are learnt that
are no word of their own: a login ``dev`` is in every text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from analyzers.detect.kinds import Span
from analyzers.detect.names import GENERIC_BRANCHES, GENERIC_HOSTS, GENERIC_USERS, is_random
from analyzers.detect.paths import owner
from analyzers.detect.text import Found

MOST = 1 << 15
"""Values that are kept; the first ones, since a request tells who it is at its beginning."""
MOST_WORDS = 1 << 18

_LEARNT = frozenset(
    ("account_id", "organization_id", "device_id", "session_id", "user_id", "user_name", "host_name", "git_identity",
     "git_branch", "path", "email", "phone")
)  # fmt: skip
_HIDDEN = frozenset(("secret_value", "authorization"))
_SHORTEST = {"user_name": 4, "host_name": 4, "git_branch": 6, "path": 8}
_LONGEST = 1024
_LONG_WORD = 8
_PLAIN_WORD = re.compile("[A-Za-z0-9]+")
_WORD = re.compile(r"[^\W_]+")
_OTHER = re.compile("[^\x00-\x7f]")
_TRIED, _PLACES = 8, 64
_EVERYWHERE = GENERIC_USERS | GENERIC_HOSTS | GENERIC_BRANCHES
_DASHED = re.compile("[^A-Za-z0-9]")


class Known:
    """What was learnt from some texts. ``words``: also the words with letters and digits in what was found, for who
    replaces it: where they stand elsewhere they tell of it."""

    def __init__(self, *, words: bool = False) -> None:
        self._kinds: dict[str, str] = {}
        self._places: dict[str, dict[tuple[int, int], None]] = {}  # by a word: where it stands in values, their lengths
        self._scripts: dict[str, dict[int, None]] = {}  # lengths of the values without such a word, by their first sign
        self._words: dict[str, str] | None = {} if words else None

    def learn(self, found: Iterable[Found]) -> None:
        """Takes up what can be recognised elsewhere."""
        for one in found:
            if one.kind == "home_path":
                name = owner(one.value)
                if name is not None:
                    self._add(name, "user_name")
            elif one.kind == "email":
                self._add(one.value, "email")
                local = one.value.partition("@")[0]
                if any(map(str.isdigit, local)) or "." in local or "_" in local:
                    self._add(local, "user_name")
            elif one.kind in _LEARNT:
                self._add(one.value, one.kind)
                if one.kind == "path":
                    self._add(_DASHED.sub("-", one.value), "path")
            elif one.kind in _HIDDEN and is_random(one.value):
                self._add(one.value, one.kind)
            elif one.kind == "url_credentials" and is_random(password := one.value.partition(":")[2]):
                self._add(password, "secret_value")
            if self._words is not None:
                self._learn_words(one)

    def _learn_words(self, one: Found) -> None:
        assert self._words is not None
        for word in _WORD.findall(one.value):
            if len(word) >= _LONG_WORD and not word.isalpha() and not word.isdigit() and len(self._words) < MOST_WORDS:
                self._words.setdefault(word, one.kind)

    def spans(self, text: str) -> Iterator[Span]:
        """Where known values stand in a text as words of their own. A value is only looked for where a certain word
        of it stands, so the cost does not grow with what is known."""
        if self._places and not self._places.keys().isdisjoint(_PLAIN_WORD.findall(text)):
            for match in _PLAIN_WORD.finditer(text):
                for before, size in self._places.get(match[0], ()):
                    yield from self._at(text, match.start() - before, size)
        if self._scripts and not text.isascii():
            for match in _OTHER.finditer(text):
                for size in self._scripts.get(match[0], ()):
                    yield from self._at(text, match.start(), size)
        if self._words and not self._words.keys().isdisjoint(_WORD.findall(text)):
            for match in _WORD.finditer(text):
                kind = self._words.get(match[0])
                if kind is not None:
                    yield Span(*match.span(), kind)

    def _at(self, text: str, at: int, size: int) -> Iterator[Span]:
        kind = self._kinds.get(text[at : at + size]) if at >= 0 else None
        if kind is not None and not _is_inside(text, at) and not _is_inside(text, at + size):
            yield Span(at, at + size, kind)

    def _add(self, value: str, kind: str) -> None:
        if len(self._kinds) >= MOST or not _SHORTEST.get(kind, 8) <= len(value) <= _LONGEST or value in self._kinds:
            return
        if value.lower() in _EVERYWHERE:
            return
        words = sorted(_PLAIN_WORD.finditer(value), key=lambda match: match.start() - match.end())
        if not words:
            self._scripts.setdefault(value[0], {})[len(value)] = None
            self._kinds[value] = kind
        for word in words[:_TRIED]:
            places = self._places.setdefault(word[0], {})
            place = (word.start(), len(value))
            if place in places or len(places) < _PLACES:
                places[place] = None
                self._kinds[value] = kind
                return


def _is_inside(text: str, at: int) -> bool:
    """Whether a position is in the middle of a word."""
    return 0 < at < len(text) and _PLAIN_WORD.fullmatch(text[at - 1 : at + 1]) is not None
