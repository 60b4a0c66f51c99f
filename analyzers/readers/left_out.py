"""What a file of saved HTTP holds beside the Messages API: counted, and told in a sentence at its end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

_WORD = re.compile(r"v\d[a-z0-9]{0,8}|[a-z][a-z_-]{0,19}")  # whatever looks like an identifier or a secret does not
_KINDS = 1000  # most kinds that are counted one by one
_NAMED = 3


class LeftOut:
    """Counts, by method and path, what is none of this API; in bounded memory."""

    def __init__(self) -> None:
        self.websockets = 0
        self.tunnels = 0
        self._others = 0
        self._kinds: Counter[str] = Counter()

    def add(self, method: str, path: str) -> None:
        """Counts one request. ``path`` may carry a query."""
        self._others += 1
        kind = f"{method.upper() if method.isalpha() and len(method) <= 16 else '?'} {_plain(path)}"
        if kind in self._kinds or len(self._kinds) < _KINDS:
            self._kinds[kind] += 1

    def sentences(self) -> Iterator[str]:
        """What there was, if anything."""
        if self._others:
            most = ", ".join(f"{kind} ({times:,})" for kind, times in self._kinds.most_common(_NAMED))
            what = "1 other HTTP request was" if self._others == 1 else f"{self._others:,} other HTTP requests were"
            yield f"{what} left out (most: {most})"
        if self.websockets:
            yield f"{_counted(self.websockets, 'websocket connection')} left out: their messages are not read"
        if self.tunnels:
            yield f"{_counted(self.tunnels, 'CONNECT request')} left out: what went through a tunnel stands for itself"


def _plain(path: str) -> str:
    """The beginning of a path, with ``*`` for what may be an identifier or a secret."""
    segments = re.split(r"[?#]", path, maxsplit=1)[0].split("/")[1:6]
    return "/" + "/".join(part if not part or _WORD.fullmatch(part) else "*" for part in segments)


def _counted(number: int, what: str) -> str:
    return f"1 {what} was" if number == 1 else f"{number:,} {what}s were"
