"""Every string of an exchange with its place: body, headers, path and query of the request; content, body, headers and
error of the answer; what a client's log says beside them.

One walk without recursion. A path is put together only for a string that somebody asks about. Paths into the request's
body are those of the ledger; all others begin with ``request.``, ``response.`` or ``log.``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from analyzers.blocks import Row, parts
from analyzers.exchange import Exchange, Response
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json
from analyzers.words import label, word

type Step = tuple[Step, str | int | Elided] | None
"""The way to a value: the way to its container, and its name or number in it."""

_LONGEST_KEY = 40  # characters of an object key that a path shows
_DEEPEST = 64  # steps of a path; what lies deeper is told at the last
_AS_KEY = -1  # the last step of the way to an object key
_MEMBER = 2  # steps from the top to a member of a list
_DIGITS = 8  # of a number that is looked at as a text


@dataclass(frozen=True, slots=True)
class Text:
    """One string, or a long number as it was written. ``root``: ``""`` for the request's body, else ``request``,
    ``response`` or ``log``; ``key``: the nearest object key above it, None for a key itself and where there is none."""

    root: str
    step: Step
    key: str | None
    value: str | Elided


type Passes = Callable[[Json], bool]
"""Asked of each object two steps below the top (a message, a tool, a block of the system prompt) before its strings:
whether it is passed over."""


def strings(exchange: Exchange, passes: Passes | None = None) -> Iterator[Text]:
    """All strings of an exchange, in the order of the record, object keys among them."""
    request, response, logged = exchange.request, exchange.response, exchange.logged
    if request is not None:
        if request.reason is None:
            yield from _walked("", None, request.body, passes)
        about = {"host": request.host, "path": request.path, "query": request.query, "headers": dict(request.headers)}
        yield from _walked("request", None, about)
    if response is not None:
        yield from _walked("response", None, _answer(response))
    if logged is not None:
        told = {"session_id": logged.session, "request_id": logged.request_id, "agent": logged.agent}
        yield from _walked("log", None, told)


def _answer(response: Response) -> dict[str, Json]:
    error = response.error
    return {
        **response.rest,
        "content": response.content,
        "body": response.body,
        "headers": dict(response.headers),
        "failure": response.failure,
        "error": None if error is None else {"message": error.message, "request_id": error.request_id},
    }


def _walked(root: str, start: Step, value: Json, passes: Passes | None = None) -> Iterator[Text]:
    stack: list[tuple[Step, str | None, Json, int]] = [(start, None, value, 0)]
    while stack:
        step, key, node, depth = stack.pop()
        kind = type(node)
        if kind is str or kind is Elided:
            yield Text(root, step, key, node)
        elif kind is dict:
            if depth == _MEMBER and passes is not None and passes(node):
                continue
            inner: list[tuple[Step, str | None, Json, int]] = []
            for name, member in node.items():
                here = (step, name) if depth < _DEEPEST else step
                inner.append(((here, _AS_KEY), None, name, 0))
                inner.append((here, name if type(name) is str else None, member, depth + 1))
            stack += reversed(inner)
        elif kind is list:
            stack += [
                ((step, index) if depth < _DEEPEST else step, key, node[index], depth + 1)
                for index in range(len(node) - 1, -1, -1)
            ]
        elif node is not None and kind is not bool and len(written := str(node)) >= _DIGITS:
            yield Text(root, step, key, written)


class Places:
    """The places of one exchange's strings, in words and as paths. ``hides``: which object keys and names of tools must
    not be shown, since they hold what nobody is to see."""

    def __init__(self, exchange: Exchange, hides: Callable[[str], bool]) -> None:
        self._exchange = exchange
        self._hides = hides
        self._known: dict[tuple[str, str], Mapping[str, Row]] = {}

    def path(self, text: Text) -> str:
        """The path of a string. A long or hidden key is told by its length; of an object key, the place only."""
        names = names_of(text.step)
        if names[-1:] == [_AS_KEY]:
            names = [*names[:-2], "(key)"]
        inside = "".join(map(self._shown, names)).removeprefix(".")
        return inside if not text.root else f"{text.root}.{inside}" if inside else text.root

    def where(self, text: Text) -> str:
        """In which block a string is, and what that block is: ``system[2] environment``; its own path where it is in
        no block."""
        names = [name for name in names_of(text.step) if name != _AS_KEY]
        found: Row | None = None
        path = told = ""
        rows = self._rows(text.root, names[0] if names else None)
        for name in names:
            path = (path + self._shown(name)).removeprefix(".")
            if path in rows:
                found, told = rows[path], path if not text.root else f"{text.root}.{path}"
        if found is None or found.type == "field":
            return self.path(text)
        what = label(found.what, found.type) or word(found.type)
        return told if what is None or what == "unknown" or self._hides(what) else f"{told} {what}"

    def _rows(self, root: str, field: object) -> Mapping[str, Row]:
        """The rows of a field by path. The content of an answer has those of a message."""
        if type(field) is not str or root not in ("", "response"):
            return {}
        known = self._known.get((root, field))
        if known is None:
            known = self._known[root, field] = self._read(root, field)
        return known

    def _read(self, root: str, field: str) -> Mapping[str, Row]:
        request, response = self._exchange.request, self._exchange.response
        if root and response is not None and field == "content":
            message = parts("messages", [{"content": response.content}])
            return {part.row.path.removeprefix("messages[0]."): part.row for part in message if part.row is not None}
        if root or request is None or type(request.body) is not dict or field not in request.body:
            return {}
        return {part.row.path: part.row for part in parts(field, request.body[field]) if part.row is not None}

    def _shown(self, name: str | int | Elided) -> str:
        if isinstance(name, int):
            return f"[{name}]"
        if isinstance(name, Elided):
            return f".({name.chars} characters)"
        shown = len(name) <= _LONGEST_KEY and not self._hides(name)
        return f".{name}" if shown else f".({len(name)} characters)"


def names_of(step: Step) -> list[str | int | Elided]:
    """The names and numbers on the way to a string, from the outside in."""
    names = []
    while step is not None:
        step, name = step
        names.append(name)
    names.reverse()
    return names
