"""Values that were told in one place, to be recognised in others: a login in a listing, a session in a path.

A home folder names its owner, a git line an author, a header a session. Where the same value stands elsewhere with
nothing around it that would tell, it is found because it is known. Only values are learnt that are no word of their
own: a login ``dev`` is in every text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from analyzers.detect.kinds import Span
from analyzers.detect.names import GENERIC_BRANCHES, GENERIC_HOSTS, GENERIC_USERS
from analyzers.detect.paths import owner
from analyzers.detect.text import Found

MOST = 1 << 15
"""Values that are kept; the first ones, since a request tells who it is at its beginning."""

_LEARNT = frozenset(
    ("account_id", "organization_id", "device_id", "session_id", "user_id", "user_name", "host_name", "git_identity",
     "git_branch", "path", "email", "phone")
)  # fmt: skip
_SHORTEST = {"user_name": 4, "host_name": 4, "git_branch": 6, "path": 8}
_LONGEST = 1024
_WORD = re.compile("[A-Za-z0-9]+")
_EVERYWHERE = GENERIC_USERS | GENERIC_HOSTS | GENERIC_BRANCHES
_DASHED = re.compile("[^A-Za-z0-9]")


class Known:
    """What was learnt from some texts."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._by_word: defaultdict[str, list[str]] = defaultdict(list)

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

    def spans(self, text: str) -> Iterator[Span]:
        """Where known values stand in a text as words of their own. The words of the text are told first, so the cost
        does not grow with what is known."""
        if not self._kinds:
            return
        words = set(_WORD.findall(text))
        words.add("")
        for word in self._by_word.keys() & words:
            for value in self._by_word[word]:
                yield from self._places(text, value)

    def _places(self, text: str, value: str) -> Iterator[Span]:
        at = text.find(value)
        while at >= 0:
            end = at + len(value)
            if not _is_inside(text, at) and not _is_inside(text, end):
                yield Span(at, end, self._kinds[value])
            at = text.find(value, end)

    def _add(self, value: str, kind: str) -> None:
        if len(self._kinds) >= MOST or not _SHORTEST.get(kind, 8) <= len(value) <= _LONGEST or value in self._kinds:
            return
        if value.lower() in _EVERYWHERE:
            return
        self._kinds[value] = kind
        first = _WORD.search(value)
        self._by_word[first[0] if first else ""].append(value)


def _is_inside(text: str, at: int) -> bool:
    """Whether a position is in the middle of a word."""
    return 0 < at < len(text) and _WORD.fullmatch(text[at - 1 : at + 1]) is not None
