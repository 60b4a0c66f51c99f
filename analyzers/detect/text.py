"""One text looked through: what it holds, down through every encoding, within bounds.

``look`` applies the detectors to a text and to the texts inside it. Depth and the sum of decoded characters are
bounded, so nothing that is sent costs more than a small multiple of its length; what the bounds left out is counted. A
value is there for who replaces it, and hidden from ``repr``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from analyzers.detect import content, git, identity, named, network, numbers, paths, secrets
from analyzers.detect.kinds import CONTENT, KINDS, SECRETS, Span
from analyzers.detect.nested import Blobs, Layer, is_encoded, layers

if TYPE_CHECKING:
    from analyzers.detect.known import Known

DEEPEST = 8
"""Encodings inside one another that are undone."""
_DECODED = 6
_SPARE = 1 << 16
"""Decoded characters of one text in all: so many times its own, and some more for a short one."""

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
    texts beyond ``DEEPEST``; ``over_limit``: texts inside it that were left because there was too much of them."""

    found: tuple[Found, ...] = ()
    blobs: int = 0
    blob_chars: int = 0
    too_deep: int = 0
    over_limit: int = 0


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
    """A text looked through, and the texts inside it."""
    blobs = Blobs()
    found: list[Found] = []
    told: set[tuple[str, str]] = set()
    seen: set[int] = set()
    budget = _DECODED * len(text) + _SPARE
    too_deep = over = 0
    waiting = [_Inner(text, key, (), ())]
    for inner in waiting:
        here = [] if is_encoded(inner.text) else spans(inner.text, inner.key, known)
        before = frozenset(told)
        for span in here:
            value = inner.text[span.start : span.end]
            told.add((span.kind, value))
            if not inner.layers or ((span.kind, value) not in before and span.kind not in CONTENT):
                found.append(_found(span, value, inner))
        for layer in layers(inner.text, blobs):
            mark = hash((layer.text, layer.key))
            if mark in seen or layer.text == inner.text:
                continue
            seen.add(mark)
            if len(inner.layers) >= DEEPEST:
                too_deep += 1
            elif len(layer.text) > budget:
                over += 1
            else:
                budget -= len(layer.text)
                deeper = (*inner.layers, layer.encoding)
                waiting.append(_Inner(layer.text, layer.key or inner.key, deeper, (*inner.around, layer)))
    return Looked(tuple(found), blobs.count, blobs.chars, too_deep, over)


def kinds_of(text: str, key: str | None = None) -> dict[str, int]:
    """How many values of each kind a text holds, by the names of ``KINDS`` and in their order; empty: it was looked
    through, and none was found. What is told of a text that is about to be folded."""
    counted = Counter(one.kind for one in look(text, key).found)
    return {kind: counted[kind] for kind in KINDS if kind in counted}


def _found(span: Span, value: str, inner: _Inner) -> Found:
    start, end = span.start, span.end
    for layer in reversed(inner.around):
        start, end = layer.outer(start, end)
    encoded = inner.layers
    if span.kind == "home_path" and "/" not in value and "\\" not in value:
        encoded = (*encoded, "dashes")
    return Found(span.kind, start, end, len(value), encoded, value)


def _resolved(found: Iterable[Span]) -> list[Span]:
    """The spans in order, without those that say nothing beside a larger one: an address inside a connection string, a
    value in a dump that is known to be a key. Passages hold others, and stay."""
    ordered = sorted(found, key=lambda span: (span.start, -span.end, span.kind))
    kept: list[Span] = []
    open_: list[Span] = []
    shapes = {(span.start, span.end) for span in ordered if span.kind in _CONTAINERS}
    for span in ordered:
        while open_ and open_[-1].end <= span.start:
            open_.pop()
        if span.kind in CONTENT:
            kept.append(span)
            continue
        if any(_covers(outer, span) for outer in open_):
            continue
        if span.kind in ("environment_value", "secret_value", "authorization") and (span.start, span.end) in shapes:
            continue
        kept.append(span)
        open_.append(span)
        if len(open_) > _OPEN:
            open_.pop(0)
    return kept


_OPEN = 16


def _covers(outer: Span, inner: Span) -> bool:
    """Whether a span is told by another that holds it."""
    if outer.end < inner.end:
        return False
    if inner.kind == outer.kind or inner.kind in _WEAK:
        return outer.kind != "environment_value" and outer.kind not in CONTENT
    if inner.kind == "secret_value" or inner.kind == "authorization":
        return outer.kind in SECRETS and outer.kind != "environment_value"
    return False
