"""Where a text is: in which requests and answers, in which block, and where it cannot be known.

A string that was kept is searched. Of a folded one only its length and hash are left: it *is* the text when the hash
is the text's, or that of one of its forms (a file's last line end is often dropped on the way, its CRLF turned to LF);
whether a longer one *contains* it cannot be known, and is counted. One walk over each body without recursion; a path
is put together only where something was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from analyzers.blocks import Row, parts
from analyzers.exchange import Exchange
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json

type Side = Literal["request", "response"]
type How = Literal["content", "hash"]
type Form = Literal["as given", "with LF for CRLF", "without final newline", "with final newline"]
"""As what a text was found. ``as given`` is tried first, and found nowhere else by another name."""

type _Step = tuple[_Step, str | int | Elided] | None
"""The way to a value: the way to its container, and its name or number in it."""

_LONGEST_KEY = 40  # characters of an object key that a path shows
_KEY_HERE = "(key)"


@dataclass(frozen=True, slots=True)
class Needle:
    """What is looked for. ``forms``: the texts that count as it, the given one first; ``hashes``: by sha256 in UTF-8.
    ``shortest``: length in characters of the shortest form."""

    text: str
    sha256: str
    forms: tuple[tuple[Form, str], ...]
    hashes: dict[str, Form]
    shortest: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One string that holds the text. ``chars``: its whole length; ``at``: position of the first occurrence in it, in
    characters (None where only the hash is known); ``count``: occurrences that do not overlap. ``what``, ``type``: of
    the block it is in. A path that ends in ``(key)`` is that of an object key."""

    side: Side
    path: str
    how: How
    form: Form
    chars: int
    at: int | None
    count: int
    type: str | None = None
    what: str | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """One exchange, looked through. ``unknown``, ``unknown_chars``: folded strings that may hold the text. ``reason``:
    why there was no request to look in; ``answered``: there was an answer to look in."""

    n: int
    hits: tuple[Hit, ...]
    unknown: int
    unknown_chars: int
    reason: str | None
    answered: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """All exchanges, in time order."""

    text_chars: int
    sha256: str
    looked: tuple[Looked, ...]

    @property
    def found(self) -> bool:
        return any(one.hits for one in self.looked)


@dataclass(frozen=True, slots=True)
class Stretch:
    """The same place in consecutive requests: first seen in request ``first``, and in so many."""

    hit: Hit
    first: int
    requests: int


def needle(text: str) -> Needle:
    """A text to look for. Raises ValueError for an empty one, which is everywhere."""
    if not text:
        raise ValueError("an empty text is everywhere: give some text to look for")
    plain = text.replace("\r\n", "\n")
    forms: dict[str, Form] = {text: "as given"}
    forms.setdefault(plain, "with LF for CRLF")
    for form in (text, plain):
        forms.setdefault(form.rstrip("\n"), "without final newline")
    for form in (text, plain):
        forms.setdefault(form + "\n", "with final newline")
    forms.pop("", None)
    hashes = {sha256(form.encode("utf-8", "surrogatepass")).hexdigest(): name for form, name in forms.items()}
    given = next(iter(hashes))
    return Needle(text, given, tuple((name, form) for form, name in forms.items()), hashes, min(map(len, forms)))


def find(text: str, exchanges: Iterable[Exchange]) -> Findings:
    """Where the text is, exchange by exchange in time order (those without a time first), which is how they are
    numbered. Raises ValueError for an empty text."""
    wanted = needle(text)
    looked = [(exchange.time or 0.0, look(wanted, exchange)) for exchange in exchanges]
    order = sorted(range(len(looked)), key=lambda position: (looked[position][0], position))
    numbered = tuple(_numbered(looked[position][1], n) for n, position in enumerate(order, 1))
    return Findings(len(text), wanted.sha256, numbered)


def look(wanted: Needle, exchange: Exchange, n: int = 0) -> Looked:
    """One exchange looked through: the whole body of the request; content, body and other members of the answer."""
    hits: list[Hit] = []
    unknown: list[int] = []
    request, response = exchange.request, exchange.response
    reason = "the answer's request was not found" if request is None else request.reason
    if request is not None and reason is None:
        hits += _looked(wanted, "request", request.body, unknown)
    answer: dict[str, Json] = {}
    if response is not None:
        answer = {"content": response.content, "body": response.body, **response.rest}
        hits += _looked(wanted, "response", answer, unknown)
    answered = any(value is not None for value in answer.values())
    return Looked(n, tuple(hits), len(unknown), sum(unknown), reason, answered)


def stretches(findings: Findings) -> list[Stretch]:
    """The hits with equal ones of consecutive requests as one, by first request, then path in order of the body."""
    done: list[Stretch] = []
    going: dict[Hit, Stretch] = {}
    for one in findings.looked:
        now: dict[Hit, Stretch] = {}
        for hit in one.hits:
            before = going.pop(hit, None)
            now[hit] = Stretch(hit, one.n, 1) if before is None else Stretch(hit, before.first, before.requests + 1)
        done += going.values()
        going = now
    return sorted([*done, *going.values()], key=lambda stretch: stretch.first)


def _numbered(one: Looked, n: int) -> Looked:
    return Looked(n, one.hits, one.unknown, one.unknown_chars, one.reason, one.answered)


def _looked(wanted: Needle, side: Side, body: Json, unknown: list[int]) -> Iterator[Hit]:
    """The hits in one body. Lengths of the folded strings that may hold the text are added to ``unknown``."""
    rows: dict[str, dict[str, Row]] = {}
    for step, text in _strings(body):
        hit = _folded(wanted, text, unknown) if type(text) is Elided else _kept(wanted, text)
        if hit is None:
            continue
        how, form, at, count = hit
        names = _names(step)
        row = _row(names, body, rows)
        chars = text.chars if type(text) is Elided else len(text)
        told = (None, None) if row is None else (row.type, row.what)
        yield Hit(side, _path(names), how, form, chars, at, count, *told)


def _strings(root: Json) -> Iterator[tuple[_Step, str | Elided]]:
    """All strings and object keys, kept or folded, in the order of the text, each with the way to it."""
    stack: list[tuple[_Step, Json]] = [(None, root)]
    while stack:
        step, node = stack.pop()
        kind = type(node)
        if kind is str or kind is Elided:
            yield step, node
        elif kind is dict:
            inner: list[tuple[_Step, Json]] = []
            for key, member in node.items():
                here: _Step = (step, key)
                inner += [((here, _KEY_HERE), key), (here, member)]
            stack += reversed(inner)
        elif kind is list:
            stack += [((step, index), node[index]) for index in range(len(node) - 1, -1, -1)]


def _kept(wanted: Needle, text: str) -> tuple[How, Form, int, int] | None:
    for form, looked_for in wanted.forms:
        at = text.find(looked_for)
        if at >= 0:
            return "content", form, at, text.count(looked_for)
    return None


def _folded(wanted: Needle, told: Elided, unknown: list[int]) -> tuple[How, Form, None, int] | None:
    if told.sha256 in wanted.hashes:
        return "hash", wanted.hashes[told.sha256], None, 1
    if told.chars > wanted.shortest or (told.chars == wanted.shortest and told.sha256 is None):
        unknown.append(told.chars)
    return None


def _names(step: _Step) -> list[str | int | Elided]:
    names = []
    while step is not None:
        step, name = step
        names.append(name)
    names.reverse()
    return names


def _path(names: Sequence[str | int | Elided]) -> str:
    """The path of a value: ``messages[0].content[1].text``. A long key is told by its length."""
    if names[-1:] == [_KEY_HERE]:  # of a key only its place: it holds the text
        return _path([*names[:-2], ""]) + _KEY_HERE if len(names) > 2 else _KEY_HERE
    return "".join(f"[{name}]" if type(name) is int else f".{_shown(name)}" for name in names).removeprefix(".")


def _shown(key: str | int | Elided) -> str:
    if isinstance(key, str) and len(key) <= _LONGEST_KEY:
        return key
    return f"({key.chars if isinstance(key, Elided) else len(str(key))} characters)"


def _row(names: Sequence[str | int | Elided], body: Json, known: dict[str, dict[str, Row]]) -> Row | None:
    """The ledger's row that a place lies in: that of the longest path it begins with. None: structure."""
    field = names[0] if names else None
    if type(field) is not str or type(body) is not dict:
        return None
    if field not in known:
        known[field] = {part.row.path: part.row for part in parts(field, body[field]) if part.row is not None}
    return next((row for end in range(len(names), 0, -1) if (row := known[field].get(_path(names[:end])))), None)
