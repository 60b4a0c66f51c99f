"""One text looked through: what it holds, down through every encoding, within bounds.

``look`` applies the detectors to a text and to the texts inside it. Depth and the sum of decoded characters are
bounded, so nothing that is sent costs more than a small multiple of its length; what the bounds left out is counted. A
value is there for who replaces it, and hidden from ``repr``.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from analyzers.detect import content, git, identity, named, network, numbers, paths, secrets
from analyzers.detect.kinds import CONTENT, KINDS, SECRETS, Span
from analyzers.detect.layer import Blobs, Layer
from analyzers.detect.nested import is_encoded, layers

if TYPE_CHECKING:
    from analyzers.detect.known import Known

DEEPEST = 8
"""Encodings inside one another that are undone."""
_DECODED = 6
_SPARE = 1 << 16
"""Decoded characters of one text in all: so many times its own, and some more for a short one."""
_LEAST = 4  # characters of a text inside a text that is looked at
_SHORT = 60  # and of one that is remembered when it holds nothing

_CONTAINERS = frozenset(
    ("connection_string", "url_credentials", "git_remote", "home_path", "path", "private_key", "jwt", "api_key")
)
_WEAK = frozenset(("ip_address", "host_name", "user_name", "phone", "credit_card", "iban", "mac_address", "email",
                   "path", "request_id", "session_id", "device_id", "git_branch", "git_identity", "os_version",
                   "user_id", "organization_id", "account_id"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A value in a text. ``start``, ``end``: the part of the text (as it was given) that holds it, encoded or not;
    ``chars``: its own length, decoded; ``layers``: the encodings around it, outermost first."""

    kind: str
    start: int
    end: int
    chars: int
    layers: tuple[str, ...]
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Looked:
    """What one text holds. ``blobs``, ``blob_chars``: encoded stretches that are no text; ``too_deep``: texts inside
    texts beyond ``DEEPEST``; ``over_limit``: texts inside it that were left because there was too much of them;
    ``left``: the parts of the text that hold what was left."""

    found: tuple[Found, ...] = ()
    blobs: int = 0
    blob_chars: int = 0
    too_deep: int = 0
    over_limit: int = 0
    left: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Inner:
    text: str
    key: str | None
    layers: tuple[str, ...]
    around: tuple[Layer, ...]


def spans(text: str, key: str | None = None, known: Known | None = None) -> list[Span]:
    """What stands in a text itself, decoding nothing, in order. ``key``: the JSON key or header it stands under;
    ``known``: values that are looked for as they are."""
    if not text:
        return []
    found: set[Span] = set()
    for detector in (secrets, named, identity, paths, git, network, numbers, content):
        found.update(detector.spans(text))
    if key is not None:
        found.update(named.by_key(text, key))
    if known is not None:
        found.update(known.spans(text))
    return _resolved(found)


def look(text: str, key: str | None = None, known: Known | None = None) -> Looked:
    """A text looked through, and the texts inside it. A value is told once for each place where it stands, in the
    outermost reading."""
    blobs = Blobs()
    found: list[Found] = []
    told: set[tuple[str, str, int, int]] = set()
    seen: set[tuple[int, str | None, int, int]] = set()
    short: dict[tuple[str, str | None], bool] = {}  # whether they hold anything: names of members come again and again
    left: list[tuple[int, int]] = []
    budget = _DECODED * len(text) + _SPARE
    too_deep = over = 0
    waiting = deque((_Inner(text, key, (), ()),))
    while waiting:
        inner = waiting.popleft()
        here = [] if is_encoded(inner.text) else spans(inner.text, inner.key, known)
        before = len(found)
        for span in here:
            if inner.layers and span.kind in CONTENT:
                continue
            one = _found(span, inner)
            if not inner.layers or (one.kind, one.value, one.start, one.end) not in told:
                found.append(one)
        told.update((one.kind, one.value, one.start, one.end) for one in found[before:])
        for layer in layers(inner.text, blobs):
            if len(layer.text) < _LEAST or layer.text == inner.text:
                continue
            key_here = layer.key or inner.key
            if len(layer.text) <= _SHORT:
                name = (layer.text, key_here)
                if name not in short:
                    short[name] = _holds(layer.text, key_here, known)
                if not short[name]:
                    continue
            start, end = _outer(layer.start, layer.end, inner.around)
            mark = (hash(layer.text), layer.key, start, end)
            if mark in seen:
                continue
            seen.add(mark)
            if len(inner.layers) >= DEEPEST or len(layer.text) > budget:
                too_deep += len(inner.layers) >= DEEPEST
                over += len(inner.layers) < DEEPEST
                left.append((start, end))
            else:
                budget -= len(layer.text)
                deeper = (*inner.layers, layer.encoding)
                waiting.append(_Inner(layer.text, key_here, deeper, (*inner.around, layer)))
    return Looked(tuple(found), blobs.count, blobs.chars, too_deep, over, tuple(left))


def _holds(text: str, key: str | None, known: Known | None) -> bool:
    """Whether a short text holds anything, or another text."""
    return bool(spans(text, key, known)) or any(True for _ in layers(text, Blobs()))


def kinds_of(text: str, key: str | None = None) -> dict[str, int]:
    """How many values of each kind a text holds, by the names of ``KINDS`` and in their order; empty: it was looked
    through, and none was found. What is told of a text that is about to be folded."""
    counted = Counter(one.kind for one in look(text, key).found)
    return {kind: counted[kind] for kind in KINDS if kind in counted}


def _found(span: Span, inner: _Inner) -> Found:
    value = inner.text[span.start : span.end]
    start, end = _outer(span.start, span.end, inner.around)
    encoded = inner.layers
    if span.kind == "home_path" and "/" not in value and "\\" not in value:
        encoded = (*encoded, "dashes")
    return Found(span.kind, start, end, len(value), encoded, value)


def _outer(start: int, end: int, around: tuple[Layer, ...]) -> tuple[int, int]:
    """A part of a text inside some layers, as a part of the outermost one."""
    for layer in reversed(around):
        start, end = layer.outer(start, end)
    return start, end


def _resolved(found: Iterable[Span]) -> list[Span]:
    """The spans in order, without those that say nothing beside a larger one: an address inside a connection string, a
    value in a dump that is known to be a key. Passages hold others, and stay."""
    ordered = sorted(found, key=_order)
    kept: list[Span] = []
    open_: list[Span] = []
    shapes = {(span.start, span.end) for span in ordered if span.kind in _CONTAINERS}
    for span in ordered:
        start, end, kind = span
        if kind in CONTENT:
            kept.append(span)
            continue
        if open_:
            if open_[-1].end <= start:
                open_ = [outer for outer in open_ if outer.end > start]
            if any(_covers(outer, span) for outer in open_):
                continue
        if kind in _UNSURE and (start, end) in shapes:
            continue
        kept.append(span)
        open_.append(span)
        if len(open_) > _OPEN:
            open_.pop(0)
    return kept


def _order(span: Span) -> tuple[int, int, str]:
    return span[0], -span[1], span[2]


_UNSURE = frozenset(("environment_value", "secret_value", "authorization"))
_OPEN = 16


def _covers(outer: Span, inner: Span) -> bool:
    """Whether a span is told by another that holds it."""
    if outer.end < inner.end:
        return False
    if inner.kind == outer.kind or inner.kind in _WEAK:
        return outer.kind != "environment_value" and outer.kind not in CONTENT
    if inner.kind in _UNSURE and inner.kind != "environment_value":
        return outer.kind in SECRETS and outer.kind != "environment_value"
    return False
