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
from analyzers.strings import Step, names_of
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json

type Side = Literal["request", "response"]
type How = Literal["content", "hash"]
type Form = Literal["as given", "with LF for CRLF", "without final newline", "with final newline"]
"""As what a text was found. ``as given`` is tried first, and found nowhere else by another name."""

type _Found = tuple[How, Form, int | None, int]

_LONGEST_KEY = 40  # characters of an object key that a path shows
_DEEPEST = 64  # steps of a path; what lies deeper is shown at the last
_AS_KEY = -1  # the last step of the way to an object key


@dataclass(frozen=True, slots=True)
class Needle:
    """What is looked for. ``forms``: the texts to search for, the given one first; ``hashes``: all texts that count as
    it, by sha256 in UTF-8. ``shortest``: length in characters of the shortest of them."""

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
    searched: list[tuple[Form, str]] = []
    for form, name in forms.items():  # where a form stands, each text that is a part of it was found already
        if not any(before in form for _, before in searched):
            searched.append((name, form))
    return Needle(next(iter(hashes)), tuple(searched), hashes, min(map(len, forms)))


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
        hits += _looked(wanted, "request", [(None, request.body)], request.body, unknown)
    answer: dict[str, Json] = {}
    if response is not None:
        answer = {**response.rest, "content": response.content, "body": response.body}
        members: list[tuple[Step, Json]] = [((None, name), value) for name, value in answer.items()]
        hits += _looked(wanted, "response", members, answer, unknown)
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


def _looked(
    wanted: Needle, side: Side, values: Iterable[tuple[Step, Json]], body: Json, unknown: list[int]
) -> Iterator[Hit]:
    """The hits in these values of one body. Lengths of the folded strings that may hold the text are added to
    ``unknown``."""
    rows: dict[str, dict[str, Row]] = {}
    for start, value in values:
        for step, text in _strings(start, value):
            if isinstance(text, Elided):
                hit, chars = _folded(wanted, text, unknown), text.chars
            else:
                hit, chars = _kept(wanted, text), len(text)
            if hit is None:
                continue
            how, form, at, count = hit
            names = names_of(step)
            row = _row(names, side, body, rows)
            told = (None, None) if row is None else (row.type, row.what)
            yield Hit(side, _path(names), how, form, chars, at, count, *told)


def _strings(start: Step, root: Json) -> Iterator[tuple[Step, str | Elided]]:
    """All strings and object keys, kept or folded, in the order of the text, each with the way to it."""
    stack: list[tuple[Step, Json, int]] = [(start, root, 0)]
    while stack:
        step, node, depth = stack.pop()
        kind = type(node)
        if kind is str or kind is Elided:
            yield step, node
        elif kind is dict:
            inner: list[tuple[Step, Json, int]] = []
            for key, member in node.items():
                here = (step, key) if depth < _DEEPEST else step
                inner += [((here, _AS_KEY), key, 0), (here, member, depth + 1)]
            stack += reversed(inner)
        elif kind is list:
            stack += [
                ((step, index) if depth < _DEEPEST else step, node[index], depth + 1)
                for index in range(len(node) - 1, -1, -1)
            ]


def _kept(wanted: Needle, text: str) -> _Found | None:
    for form, looked_for in wanted.forms:
        at = text.find(looked_for)
        if at >= 0:
            return "content", form, at, text.count(looked_for)
    return None


def _folded(wanted: Needle, told: Elided, unknown: list[int]) -> _Found | None:
    if told.sha256 in wanted.hashes:
        return "hash", wanted.hashes[told.sha256], None, 1
    if told.chars > wanted.shortest or (told.chars == wanted.shortest and told.sha256 is None):
        unknown.append(told.chars)
    return None


def _path(names: Sequence[str | int | Elided]) -> str:
    """The path of a value: ``messages[0].content[1].text``. A long key is told by its length; of a key that holds the
    text, the place only."""
    if names[-1:] == [_AS_KEY]:
        names = [*names[:-2], "(key)"]
    return "".join(map(_shown, names)).removeprefix(".")


def _shown(name: str | int | Elided) -> str:
    if isinstance(name, int):
        return f"[{name}]"
    if isinstance(name, Elided):
        return f".({name.chars} characters)"
    return f".{name}" if len(name) <= _LONGEST_KEY else f".({len(name)} characters)"


def _row(names: Sequence[str | int | Elided], side: Side, body: Json, known: dict[str, dict[str, Row]]) -> Row | None:
    """The ledger's row that a place lies in: that of the longest path it begins with. None: structure."""
    field = names[0] if names else None
    if type(field) is not str or type(body) is not dict or field not in body:
        return None
    if field not in known:
        known[field] = _rows(field, body[field], side)
    found, path = None, ""
    for name in names:
        path = (path + _shown(name)).removeprefix(".")
        found = known[field].get(path, found)
    return found


def _rows(field: str, value: Json, side: Side) -> dict[str, Row]:
    """The rows of a field by path. The content of an answer has those of a message."""
    if side == "response" and field == "content":
        inside = "messages[0]."
        message = parts("messages", [{"content": value}])
        return {part.row.path.removeprefix(inside): part.row for part in message if part.row is not None}
    return {part.row.path: part.row for part in parts(field, value) if part.row is not None}
