"""The leaf blocks of two requests, matched: which stayed, moved, changed, went and appeared.

Blocks are the ledger's rows, so what is told of them adds up to the change of the fields. They are matched by the
digest of their content first, wherever they stand; of what is left, texts that are the same thing (the list of skills,
say) where each side has one; then by path and type. What kept its order is *shifted* where something before it came or
went; *moved* are as few and as short blocks as possible. Everything is symmetric: seen from the other side, the same
blocks are told of. O(nodes + n log n).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Literal

from analyzers.blocks import Row, parts
from analyzers.digests import Digest, Digester, joined
from analyzers.sizes import Unit, part_size
from analyzers.skeleton import SETTINGS
from analyzers.spots import Spot, first_spot, hash_of, key_id
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json

type Change = Literal["changed", "moved", "shifted", "went", "appeared"]

_TEXT_KEYS = frozenset(("text", "content"))


@dataclass(frozen=True, slots=True)
class Leaf:
    """A row of one side. ``field``: its top-level field; ``same_path``: the path by which it is known however the
    block is written (a string is a list of one block); ``digest``: of its content; ``values``: the content, by key."""

    field: str
    row: Row
    size: int
    digest: Digest
    values: Mapping[str, Json]
    hash: str | None

    @property
    def kind(self) -> str:
        return _kind(self.row, self.values)

    @property
    def same_path(self) -> str:
        path = self.row.path
        return f"{path}[0]" if path == "system" or path.endswith(".content") else path

    @property
    def label(self) -> str | None:
        """What a text is, when that can be told."""
        return self.row.what if self.kind == "text" else None

    def content(self) -> Json:
        """The content as one value: a text itself, else its members by key."""
        return self.values[""] if list(self.values) == [""] else self.values


@dataclass(frozen=True, slots=True)
class RowChange:
    """A block that is not the same on both sides; ``a`` or ``b`` is None where it is not there. ``billing``: only the
    client's billing line differs, which changes with every call. ``spot``: the first difference of a changed one."""

    change: Change
    a: Leaf | None
    b: Leaf | None
    billing: bool = False
    spot: Spot | None = None

    @property
    def size_change(self) -> int:
        return (0 if self.b is None else self.b.size) - (0 if self.a is None else self.a.size)


def leaves(field: str, value: Json, unit: Unit, digester: Digester, name: str | None = None) -> list[Leaf]:
    """The rows of one field in their order. ``name``: what the field is told as, where that is another."""
    found: dict[Row, dict[str, Json]] = {}
    sizes: dict[Row, int] = {}
    key: Json = None
    for part in parts(field, value):
        if part.row is not None:
            values = found.setdefault(part.row, {})
            sizes[part.row] = sizes.get(part.row, 0) + part_size(part, unit)
            if part.kind == "value":
                values[_own_key(key, values)] = part.value
        key = part.value if part.kind == "key" else None
    return [_leaf(name or field, row, sizes[row], values, digester) for row, values in found.items()]


def _own_key(key: Json, values: Mapping[str, Json]) -> str:
    """The key under which a value of a row is kept; of a text it says nothing."""
    own = "" if key is None else key_id(key)
    own = "" if own in _TEXT_KEYS else own
    while own in values:  # a source has members of the same name as its block
        own += "'"
    return own


def _kind(row: Row, values: Mapping[str, Json]) -> str:
    if row.type == "field":
        return row.path  # is nowhere else
    text = list(values) == [""] and type(values[""]) in (str, Elided)
    return "text" if text or not values else row.type


def _leaf(field: str, row: Row, size: int, values: dict[str, Json], digester: Digester) -> Leaf:
    told = [_kind(row, values).encode("utf-8", "surrogatepass")]
    for key in sorted(values):
        told += [key.encode("utf-8", "surrogatepass"), digester.value(values[key])]
    only = values.get("") if list(values) == [""] else values
    return Leaf(field, row, size, joined(told), values, hash_of(only))


def row_changes(
    a: Sequence[Leaf], b: Sequence[Leaf], unit: Unit, digester: Digester, *, excerpts: bool = False
) -> list[RowChange]:
    """All rows of two sides that are not the same at the same place, in the order of the first, then of the second."""
    same = _same(a, b)
    changes: list[tuple[int, int, RowChange]] = [
        (i, j, RowChange(change, a[i], b[j])) for i, j, change in _placed(a, b, same)
    ]
    left_a = dict.fromkeys(range(len(a)))
    left_b = dict.fromkeys(range(len(b)))
    for i, j in same:
        del left_a[i], left_b[j]
    for i, j in _alike(a, b, left_a, left_b):
        del left_a[i], left_b[j]
        spot = first_spot(
            a[i].content(),
            b[j].content(),
            a[i].row.path,
            unit,
            excerpts=excerpts,
            scalars=_is_setting(a[i]) or _is_setting(b[j]),
        )
        if spot is not None or a[i].size != b[j].size:
            changes.append((i, j, RowChange("changed", a[i], b[j], _only_billing(a[i], b[j], digester), spot)))
    changes += [(i, len(b), RowChange("went", a[i], None, _only_billing(a[i], None, digester))) for i in left_a]
    changes += [(len(a), j, RowChange("appeared", None, b[j], _only_billing(None, b[j], digester))) for j in left_b]
    return [change for _, _, change in sorted(changes, key=lambda item: item[:2])]


def _same(a: Sequence[Leaf], b: Sequence[Leaf]) -> list[tuple[int, int]]:
    """Pairs of rows with the same content. Where one side has more of the same, those at the same path stay; pairs of
    one content never cross."""
    mine, theirs = _grouped(a), _grouped(b)
    pairs: list[tuple[int, int]] = []
    for digest, ones in mine.items():
        others = theirs.get(digest, [])
        if len(ones) > len(others):
            ones = _chosen(a, ones, {b[j].same_path for j in others}, len(others))
        elif len(others) > len(ones):
            others = _chosen(b, others, {a[i].same_path for i in ones}, len(ones))
        pairs += zip(ones, others, strict=True)
    return pairs


def _grouped(rows: Sequence[Leaf]) -> dict[Digest, list[int]]:
    found: dict[Digest, list[int]] = {}
    for position, leaf in enumerate(rows):
        found.setdefault(leaf.digest, []).append(position)
    return found


def _chosen(rows: Sequence[Leaf], positions: Sequence[int], paths: set[str], number: int) -> list[int]:
    """So many of the positions, those at one of the paths first, in their order."""
    first = sorted(positions, key=lambda position: (rows[position].same_path not in paths, position))
    return sorted(first[:number])


def _placed(
    a: Sequence[Leaf], b: Sequence[Leaf], same: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, Literal["moved", "shifted"]]]:
    """Those pairs that are not at the same path: moved, or only shifted."""
    fields: dict[str, list[tuple[int, int]]] = {}
    for i, j in same:
        if a[i].field == b[j].field:
            fields.setdefault(a[i].field, []).append((i, j))
        else:
            yield i, j, "moved"
    for pairs in fields.values():
        kept = kept_in_order(pairs, [(a[i].digest, a[i].size + b[j].size) for i, j in pairs])
        for index, (i, j) in enumerate(pairs):
            if index not in kept:
                yield i, j, "moved"
            elif a[i].same_path != b[j].same_path:
                yield i, j, "shifted"


def kept_in_order(pairs: Sequence[tuple[int, int]], told: Sequence[tuple[bytes, int]]) -> set[int]:
    """The indices of pairs of positions that can be said to have stayed while the others moved: the heaviest ascending
    chain. ``told``: what each pair is, and its weight. The same chain comes out from either side: a tie is settled by
    what the pairs are. O(n log n), by a tree of the best chain up to each position."""
    order = sorted(range(len(pairs)), key=lambda index: pairs[index])
    if all(pairs[one][1] < pairs[other][1] for one, other in pairwise(order)):
        return set(order)
    weights = _weights(order, told)
    rank = {j: place for place, j in enumerate(sorted(j for _, j in pairs), 1)}
    total = [0] * len(pairs)
    before = [-1] * len(pairs)
    best = [-1] * (len(pairs) + 1)
    for index in order:
        place, top = rank[pairs[index][1]] - 1, -1
        while place > 0:
            if best[place] >= 0 and (top < 0 or total[best[place]] > total[top]):
                top = best[place]
            place -= place & -place
        total[index] = weights[index] + (total[top] if top >= 0 else 0)
        before[index] = top
        place = rank[pairs[index][1]]
        while place <= len(pairs):
            if best[place] < 0 or total[index] > total[best[place]]:
                best[place] = index
            place += place & -place
    chain: set[int] = set()
    index = max(range(len(pairs)), key=total.__getitem__)
    while index >= 0:
        chain.add(index)
        index = before[index]
    return chain


def _weights(order: Sequence[int], told: Sequence[tuple[bytes, int]]) -> dict[int, int]:
    """A weight for each pair, and in the digits below it a number of its own, so that no two chains weigh the same."""
    seen: dict[bytes, int] = {}
    weights: dict[int, int] = {}
    for index in order:
        what, size = told[index]
        seen[what] = ordinal = seen.get(what, 0) + 1
        number = blake2b(what + b"%d" % ordinal, digest_size=16).digest()
        weights[index] = (size << 160) + int.from_bytes(number)
    return weights


def _alike(a: Sequence[Leaf], b: Sequence[Leaf], left_a: Iterable[int], left_b: Iterable[int]) -> list[tuple[int, int]]:
    """Pairs of rows of other content that are one row changed: the only text of its label in the field on both sides,
    else what has the same path and type and is not labelled as something else."""
    pairs: list[tuple[int, int]] = []
    mine, theirs = _only(a, left_a), _only(b, left_b)
    for label, i in mine.items():
        if i is not None and (j := theirs.get(label)) is not None:
            pairs.append((i, j))
    taken_a, taken_b = {i for i, _ in pairs}, {j for _, j in pairs}
    places = {(b[j].field, b[j].same_path, b[j].kind): j for j in left_b if j not in taken_b}
    for i in left_a:
        leaf = a[i]
        other = places.get((leaf.field, leaf.same_path, leaf.kind)) if i not in taken_a else None
        if other is not None and (leaf.label == b[other].label or None in (leaf.label, b[other].label)):
            pairs.append((i, other))
            del places[leaf.field, leaf.same_path, leaf.kind]
    return pairs


def _is_setting(leaf: Leaf) -> bool:
    """Whether numbers in a row are settings of the request, which a skeleton shows too."""
    return leaf.row.type == "field" and (leaf.field in SETTINGS or type(leaf.content()) not in (dict, list))


def _only(rows: Sequence[Leaf], left: Iterable[int]) -> dict[Hashable, int | None]:
    """The rows by field and label; None where several have it."""
    found: dict[Hashable, int | None] = {}
    for position in left:
        leaf = rows[position]
        if leaf.label is not None:
            told = leaf.field, leaf.label
            found[told] = None if told in found else position
    return found


def _only_billing(a: Leaf | None, b: Leaf | None, digester: Digester) -> bool:
    """Whether nothing but the client's billing line is another."""
    if any(leaf is not None and (leaf.field != "system" or leaf.kind != "text") for leaf in (a, b)):
        return False
    one, other = ([] if leaf is None else [{"type": "text", "text": leaf.content()}] for leaf in (a, b))
    return digester.system(one) == digester.system(other)
