"""What personal data and which secrets an exchange carries, and where.

Exchanges are read twice: once to learn who it is about (a home folder names its owner, a header a session), once to
find, also where the same value stands without anything around it that would tell. Since each request repeats the one
before, what a string holds is worked out once and remembered by a keyed hash, so the cost is that of what is new.

Values are never part of a result: a finding has a kind, a place and a length, and a number that equal values share,
which holds for this run only.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from analyzers.detect.content import of_label
from analyzers.detect.kinds import KINDS
from analyzers.detect.known import Known
from analyzers.detect.text import Found, kinds_of, look
from analyzers.exchange import Exchange
from analyzers.met import Met
from analyzers.strings import Places, Text, strings
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json
from analyzers.words import word

__all__ = ("Finding", "Notes", "Personal", "Search", "Unknown", "Value", "kinds_of", "privacy")

type Notes = Mapping[str, Mapping[str, int]]
"""How many values of each kind folded strings held, by their sha256: told when they were recorded."""

_SHORT_KEY = 8  # characters of an object key from which it is looked into
_REMEMBERED = 1 << 16  # strings
_MOST_HELD = 64 * 1024 * 1024  # characters of members that are told by being the very objects
_SMALL = 32  # characters of a string that is its own key


@dataclass(frozen=True, slots=True)
class Finding:
    """One value in one string. ``chars``: its own length, None where only a count is known of a folded string;
    ``value``: equal values have equal numbers; ``count``: how often it stands there; ``layers``: encodings around it,
    outermost first. ``where``: block and what it is."""

    request: int
    path: str
    kind: str
    chars: int | None
    where: str
    value: int | None
    count: int = 1
    layers: tuple[str, ...] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """One value over all requests: ``first``: the request that had it first; ``requests``: how many had it;
    ``paths``: where."""

    value: int
    kind: str
    chars: int
    first: int
    requests: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Folded strings of one request of which nothing is known, and their characters."""

    request: int
    strings: int
    chars: int


@dataclass(frozen=True, slots=True)
class Personal:
    """All that was found. ``blobs``, ``blob_chars``: encoded stretches that are no text (images, signatures);
    ``too_deep``, ``over_limit``: texts inside texts that were left; ``masked``: credentials that the recorder had
    masked. Counted over distinct strings. ``without_body``: request and reason."""

    findings: tuple[Finding, ...]
    values: tuple[Value, ...]
    unknown: tuple[Unknown, ...]
    blobs: int
    blob_chars: int
    too_deep: int
    over_limit: int
    masked: int
    looked: int
    without_body: tuple[tuple[int, str], ...]
    without_answer: tuple[int, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing was found, and all could be looked into."""
        return not (self.findings or self.unknown or self.too_deep or self.over_limit)


@dataclass(slots=True)
class _Seen:
    """What is gathered of one value."""

    kind: str
    chars: int
    first: int
    last: int
    requests: int = 1
    paths: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Held:
    """What a string holds, without the values."""

    kind: str
    chars: int
    layers: tuple[str, ...]
    value: int
    count: int


class _Members:
    """Members of requests that were gone through before (``met``), up to so many characters of their strings."""

    def __init__(self) -> None:
        self._through = Met[bool](_MOST_HELD)
        self._now: Json = None
        self._chars = 0

    def passes(self, member: Json) -> bool:
        """Whether a member was kept; the one that is gone through from here on, when it was not."""
        if self._through.of(member):
            self._now = None
            return True
        self._now, self._chars = member, 0
        return False

    def met(self, chars: int) -> None:
        """A string of the member that is gone through now."""
        self._chars += chars

    def forget(self) -> None:
        """The member that is gone through is to be gone through again."""
        self._now = None

    def settle(self) -> None:
        """The member is through."""
        if self._now is not None:
            self._through.keep(self._now, True, self._chars)
        self._now = None


class Search:
    """Looks through exchanges. First ``learn`` each, then ``look`` at each with its number, then ``result``.
    ``notes``: what was told of folded strings; complete before the first is looked at."""

    def __init__(self, notes: Notes | None = None, only: int | None = None) -> None:
        self._notes = notes if notes is not None else {}
        self._only = only
        self._key = secrets.token_bytes(32)
        self._known = Known()
        self._learnt: set[object] = set()
        self._taught, self._clean = _Members(), _Members()
        self._held: OrderedDict[object, tuple[_Held, ...]] = OrderedDict()
        self._numbers: dict[bytes, int] = {}
        self._seen: dict[int, _Seen] = {}
        self._findings: list[Finding] = []
        self._unknown: list[Unknown] = []
        self._without_body: list[tuple[int, str]] = []
        self._without_answer: list[int] = []
        self._left = [0, 0, 0, 0]
        self._masked = self._looked = 0

    def learn(self, exchange: Exchange) -> None:
        """Takes up from an exchange what can be recognised in others."""
        members = self._taught

        def passes(member: Json) -> bool:
            members.settle()
            return members.passes(member)

        for text in strings(exchange, passes):
            if type(text.value) is not str or not _worth(text):
                continue
            members.met(len(text.value))
            name = self._name(text.value, text.key)
            if name in self._learnt:
                continue
            if len(self._learnt) >= _REMEMBERED:
                self._learnt.clear()
            self._learnt.add(name)
            self._known.learn(look(text.value, text.key).found)
        members.settle()

    def look(self, exchange: Exchange, n: int) -> None:
        """Finds what an exchange carries. ``n``: its number."""
        self._learnt.clear()
        self._taught = _Members()
        told = self._only is None or n == self._only
        places = Places(exchange, self._hides)
        unknown: list[int] = []
        findings: list[Finding] = []
        members = self._clean
        before = 0

        def found() -> int:
            return len(findings) + len(unknown) + self._masked

        def passes(member: Json) -> bool:
            nonlocal before
            if found() != before:
                members.forget()
            members.settle()
            before = found()
            return members.passes(member)

        for text in strings(exchange, passes):
            if isinstance(text.value, Elided):
                findings += self._folded(text, text.value, n, places, unknown)
            elif _worth(text):
                members.met(len(text.value))
                findings += self._kept(text, text.value, n, places)
        passes(None)
        if not told:
            return
        self._looked += 1
        self._findings += findings
        if unknown:
            self._unknown.append(Unknown(n, len(unknown), sum(unknown)))
        reason = "the answer's request was not found" if exchange.request is None else exchange.request.reason
        if reason is not None:
            self._without_body.append((n, reason))
        if exchange.response is None:
            self._without_answer.append(n)

    def result(self) -> Personal:
        """What was found in all that was looked at, in order of the requests."""
        findings = sorted(self._findings, key=lambda finding: finding.request)
        told = {finding.value for finding in findings}
        values = [
            Value(number, seen.kind, seen.chars, seen.first, seen.requests, tuple(seen.paths))
            for number, seen in self._seen.items()
            if number in told
        ]
        blobs, blob_chars, too_deep, over = self._left
        return Personal(
            tuple(findings),
            tuple(values),
            tuple(sorted(self._unknown, key=lambda one: one.request)),
            blobs,
            blob_chars,
            too_deep,
            over,
            self._masked,
            self._looked,
            tuple(sorted(self._without_body)),
            tuple(sorted(self._without_answer)),
        )

    def _kept(self, text: Text, value: str, n: int, places: Places) -> Iterable[Finding]:
        held = self._holds(value, text.key)
        if not held:
            return ()
        path, where = places.path(text), places.where(text)
        for one in held:
            self._count(one, n, path)
        return [
            Finding(n, path, one.kind, one.chars, _within(where, one.layers), one.value, one.count, one.layers)
            for one in held
        ]

    def _folded(self, text: Text, told: Elided, n: int, places: Places, unknown: list[int]) -> Iterable[Finding]:
        """What is known of a string that was folded: what was told of it when it was recorded, and what its label
        says."""
        if told.sha256 is None and told.label == "credential":
            self._masked += 1
            return ()
        noted = self._notes.get(told.sha256) if told.sha256 is not None else None
        kinds = {kind: count for kind, count in (noted or {}).items() if count > 0 and (kind in KINDS or word(kind))}
        label = of_label(told.label)
        if noted is None:
            unknown.append(told.chars)
            kinds = {label: 1} if label is not None else {}
        if not kinds:
            return ()
        path, where = places.path(text), places.where(text)
        return [
            Finding(
                n,
                path,
                kind,
                told.chars if kind == label else None,
                f"{where}, folded",
                None,
                count,
                (),
                True,
            )
            for kind, count in kinds.items()
        ]

    def _holds(self, value: str, key: str | None) -> tuple[_Held, ...]:
        name = self._name(value, key)
        held = self._held.get(name)
        if held is not None:
            self._held.move_to_end(name)
            return held
        looked = look(value, key, self._known)
        counted: dict[tuple[str, int, tuple[str, ...], int], int] = {}
        for one in looked.found:
            told = (one.kind, one.chars, one.layers, self._number(one))
            counted[told] = counted.get(told, 0) + 1
        held = tuple(_Held(*told, count) for told, count in counted.items())
        for place, amount in enumerate((looked.blobs, looked.blob_chars, looked.too_deep, looked.over_limit)):
            self._left[place] += amount
        self._held[name] = held
        if len(self._held) > _REMEMBERED:
            self._held.popitem(last=False)
        return held

    def _hides(self, name: str) -> bool:
        """Whether an object key or a name holds anything itself."""
        return len(name) >= _SHORT_KEY and bool(self._holds(name, None))

    def _number(self, one: Found) -> int:
        """The number that equal values of a kind share."""
        return self._numbers.setdefault(self._digest(f"{one.kind}\0{one.value}"), len(self._numbers) + 1)

    def _name(self, value: str, key: str | None) -> object:
        return (value, key) if len(value) <= _SMALL else (self._digest(value), key)

    def _digest(self, value: str) -> bytes:
        return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16, key=self._key).digest()

    def _count(self, one: _Held, n: int, path: str) -> None:
        seen = self._seen.get(one.value)
        if seen is None:
            seen = self._seen[one.value] = _Seen(one.kind, one.chars, n, n)
        elif seen.last != n:
            seen.first, seen.last, seen.requests = min(seen.first, n), n, seen.requests + 1
        if len(seen.paths) < _PATHS:
            seen.paths.setdefault(path)


_PATHS = 200
"""Places of one value that are named."""


def privacy(exchanges: Iterable[Exchange], notes: Notes | None = None, only: int | None = None) -> Personal:
    """What some exchanges carry, numbered in time order (those without a time first). ``only``: the findings of this
    request, with the first request of all that had each value."""
    every = sorted(exchanges, key=lambda exchange: exchange.time or 0.0)
    search = Search(notes, only)
    for exchange in every:
        search.learn(exchange)
    for n, exchange in enumerate(every, 1):
        search.look(exchange, n)
    return search.result()


def _worth(text: Text) -> bool:
    """Whether a string can hold anything: object keys are the API's words for the most part."""
    value = text.value
    assert type(value) is str
    return len(value) >= (4 if text.key is not None else _SHORT_KEY)


def _within(where: str, layers: tuple[str, ...]) -> str:
    return f"{where}, {' > '.join(layers)}" if layers else where
