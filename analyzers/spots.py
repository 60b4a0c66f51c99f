"""The first place at which two JSON values differ, and how: which member, and how far into a text.

Two values are walked side by side with one stack, O(nodes + characters), without recursion. Members are compared in
their own order as long as both sides have the same; where the order differs, what remains goes by name, so that the
place is the same whichever side comes first. A folded text is compared by its hash: *that* it differs is known, *where*
is not. A masked credential has no hash: of two with one length nothing is known, which is no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal

from analyzers.digests import digest
from analyzers.sizes import CHARS, Unit, size
from analyzers.wire.fold import KEY_MIN, Elided
from analyzers.wire.jsontext import Json, Number, dump

type How = Literal["text", "value", "kind", "added", "removed", "key order"]
"""Another text; another number or truth value; another kind of JSON value; a member that only one side has; the same
members in another order."""

HASH = 12
"""Characters of a hash that are shown."""
_BEFORE, _AFTER = 20, 40  # characters of an excerpt around the first that differs
_DEEPEST = 40  # members that a path names
_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,63}")

type _Path = tuple[_Path, str | int | Elided] | None
"""The last step of a path and the steps before it: paths are written out only for the place that is told."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place where two values differ. ``a`` and ``b``: sizes of what stands there, None where nothing does;
    ``a_hash`` and ``b_hash``: the first characters of the SHA-256 of a text (as a fold marker has it), of another
    value's digest; None where nothing stands or the hash is not known.

    ``at``: characters (or members, for an order) that are equal before; None for what is no text, and for a text that
    was folded. ``a_text`` and ``b_text``: excerpts of texts, or numbers and truth values, only when asked for.
    """

    path: str
    how: How
    a: int | None
    b: int | None
    a_hash: str | None = None
    b_hash: str | None = None
    at: int | None = None
    a_text: str | None = None
    b_text: str | None = None

    @property
    def folded(self) -> bool:
        """Whether the texts differ at a place that cannot be known."""
        return self.how == "text" and self.at is None

    def mirrored(self) -> Spot:
        """The same place seen from the other side."""
        how: How = {"added": "removed", "removed": "added"}.get(self.how, self.how)  # type: ignore[assignment]
        return replace(
            self,
            how=how,
            a=self.b,
            b=self.a,
            a_hash=self.b_hash,
            b_hash=self.a_hash,
            a_text=self.b_text,
            b_text=self.a_text,
        )


def first_spot(
    a: Json,
    b: Json,
    path: str = "",
    unit: Unit = CHARS,
    *,
    excerpts: bool = False,
    scalars: bool = False,
    masked: list[str] | None = None,
) -> Spot | None:
    """The first place where two values differ as data, whatever the order of their members; None when nowhere.

    ``path``: of the values. ``excerpts``: with what stands around the first character that differs; ``scalars``: with
    numbers and truth values. ``masked`` grows by the paths of credentials that may differ or not.
    """
    stack: list[tuple[Json, Json, _Path]] = [(a, b, None)]
    while stack:
        one, other, place = stack.pop()
        if one is other and masked is None:
            continue
        if type(one) is dict and type(other) is dict:
            stack.extend(reversed([(x, y, (place, key)) for key, x, y in _members(one, other)]))
        elif type(one) is list and type(other) is list:
            longest = max(len(one), len(other))
            members = [(_at(one, index), _at(other, index), (place, index)) for index in range(longest)]
            stack.extend(reversed(members))
        elif (how := _differ(one, other)) is not None:
            return _spot(one, other, _written(place, path), how, unit, excerpts, scalars)
        elif masked is not None and _is_masked(one, other):
            masked.append(_written(place, path))
    return None


def first_order_spot(a: Json, b: Json, path: str = "") -> Spot | None:
    """The first object whose members stand in another order, in two values that are equal as data; None when none is.
    ``at``: members before it that stand alike; ``a`` and ``b``: how many members it has."""
    stack: list[tuple[Json, Json, _Path]] = [(a, b, None)]
    while stack:
        one, other, place = stack.pop()
        if one is other:
            continue
        if type(one) is dict and type(other) is dict:
            mine, theirs = [key_id(key) for key in one], [key_id(key) for key in other]
            if mine != theirs:
                alike = next((n for n, (x, y) in enumerate(zip(mine, theirs, strict=False)) if x != y), len(mine))
                return Spot(_written(place, path), "key order", len(mine), len(theirs), at=alike)
            pairs = zip(one.items(), other.values(), strict=True)
            stack.extend(reversed([(member, again, (place, key)) for (key, member), again in pairs]))
        elif type(one) is list and type(other) is list:
            members = zip(one, other, strict=False)
            stack.extend(reversed([(x, y, (place, index)) for index, (x, y) in enumerate(members)]))
    return None


class _Nothing:
    """Stands where one side has no member."""


_NOTHING = _Nothing()


def _at(members: list[Json], index: int) -> Json:
    return members[index] if index < len(members) else _NOTHING


def _members(a: dict[Json, Json], b: dict[Json, Json]) -> Iterator[tuple[str | Elided, Json, Json]]:
    """The members of two objects side by side: in their order while it is the same, then by name."""
    mine, theirs = {key_id(key): key for key in a}, {key_id(key): key for key in b}
    alike = 0
    for one, other in zip(mine, theirs, strict=False):
        if one != other:
            break
        alike += 1
        yield mine[one], a[mine[one]], b[theirs[one]]
    rest = [*list(mine)[alike:], *list(theirs)[alike:]]
    for name in sorted(set(rest)):
        key = mine[name] if name in mine else theirs[name]
        yield key, a[mine[name]] if name in mine else _NOTHING, b[theirs[name]] if name in theirs else _NOTHING


def key_id(key: Json) -> str:
    """What an object key is compared by: itself, or the hash where a capture would have folded it."""
    if type(key) is Elided:
        return f"sha256:{key.sha256}:{key.chars}"
    if len(key) > KEY_MIN:
        return f"sha256:{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}:{len(key)}"
    return str(key)


def _is_text(value: Json) -> bool:
    return type(value) is str or type(value) is Elided


def _is_masked(*values: Json) -> bool:
    return any(type(value) is Elided and value.sha256 is None for value in values)


def _differ(a: Json, b: Json) -> How | None:
    """How two values differ of which not both are objects or lists; None when they do not, or nobody knows."""
    if a is _NOTHING or b is _NOTHING:
        return "added" if a is _NOTHING else "removed"
    if _is_text(a) and _is_text(b):
        if type(a) is str and type(b) is str:
            return "text" if a != b else None
        if size(a) != size(b):
            return "text"
        return None if _is_masked(a, b) or text_hash(a) == text_hash(b) else "text"
    if type(a) in (dict, list) or type(b) in (dict, list) or _is_text(a) or _is_text(b):
        return "kind"
    if a is b or digest(a, "data") == digest(b, "data"):
        return None
    return "value" if type(a) is type(b) else "kind"


def text_hash(text: str | Elided) -> str | None:
    """The SHA-256 of a text as UTF-8, in hexadecimal; None for a masked credential."""
    if type(text) is Elided:
        return text.sha256
    return sha256(str(text).encode("utf-8", "surrogatepass")).hexdigest()


def hash_of(value: Json) -> str | None:
    """The first characters of the hash of a value, those of a text's SHA-256; None when it is not known."""
    if _is_text(value):
        told = text_hash(value)
        return None if told is None else told[:HASH]
    return digest(value, "data").hex()[:HASH]


def _spot(a: Json, b: Json, path: str, how: How, unit: Unit, excerpts: bool, scalars: bool) -> Spot:
    at = _common(a, b) if how == "text" and type(a) is str and type(b) is str else None
    around = slice(max(at - _BEFORE, 0), at + _AFTER) if at is not None and excerpts else None
    return Spot(
        path=path,
        how=how,
        a=None if a is _NOTHING else size(a, unit),
        b=None if b is _NOTHING else size(b, unit),
        a_hash=None if a is _NOTHING else hash_of(a),
        b_hash=None if b is _NOTHING else hash_of(b),
        at=at,
        a_text=a[around] if around is not None else _scalar(a) if scalars or excerpts else None,
        b_text=b[around] if around is not None else _scalar(b) if scalars or excerpts else None,
    )


def _scalar(value: Json) -> str | None:
    """A number, a truth value or null as it is written; None for anything else."""
    return dump(value).decode() if value is None or type(value) in (bool, int, float, Number) else None


def _common(a: str, b: str) -> int:
    """How many characters two texts have in common at their beginning: halves are compared, O(characters)."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _written(place: _Path, begin: str) -> str:
    """A path as text, after the path it begins with. A key that is no plain name may tell something: not shown."""
    steps: list[str] = []
    while place is not None:
        place, step = place
        if type(step) is int:
            steps.append(f"[{step}]")
        else:
            steps.append(f".{step if type(step) is str and _PLAIN_KEY.fullmatch(step) else '?'}")
    steps.reverse()
    if len(steps) > _DEEPEST:
        steps[_DEEPEST:] = [f"… ({len(steps) - _DEEPEST} deeper)"]
    path = begin + "".join(steps)
    return path if begin else path.removeprefix(".")
