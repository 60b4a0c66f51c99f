"""Folding: long strings become ``{_elided, chars, sha256}`` markers that keep every length, and come back as
``Elided``.

A capture must stay small and private, and every figure must still come out of it. So a marker carries the length of
what it replaced in each unit, and reading turns it into a leaf of its own type, never into an object that could be
measured by its shell. What looks like a marker in the user's own data is escaped on the way in. One iterative pass
each way, O(nodes + characters folded).

Which strings are never folded is decided by place, not by name alone: ``name`` in a tool is an identifier, ``name``
inside ``input`` is the user's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from typing import Any, NamedTuple

from analyzers.wire.jsontext import Json, dump, quoted, scalar_chars
from analyzers.wire.labels import describe_text
from analyzers.wire.media import inspect
from analyzers.wire.note import Note
from analyzers.wire.weight import Weight

MARK = "_elided"
KEY_MIN = 64
"""Object keys up to this length stay readable at any threshold."""

# fmt: off
IDENTIFYING = frozenset((
    "type", "role", "id", "name", "model", "media_type", "tool_use_id", "tool_name", "toolset_name", "custom_id",
    "user_id", "file_id", "previous_message_id", "message_id", "container", "stop_reason", "stop_sequence", "ttl",
    "scope", "effort", "request_id", "service_tier", "inference_geo", "speed", "mcp_server_name", "server_name",
))
# fmt: on
CREDENTIALS = frozenset({"authorization_token", "fallback_credit_token"})
SERVERS = "mcp_servers"
_SENSITIVE = CREDENTIALS | {SERVERS}
_TELLING = frozenset({"data", "signature", "encrypted_content", "encrypted_stdout", "encrypted_index"})
USER_DATA = frozenset({"input", "input_schema", "input_examples", "schema"})

_NO_TEXT = ("signature", "encrypted")

_LOOKS_MARKED = re.compile(r"_+elided(:.*)?", re.DOTALL)
_SHORT = b'"\\\b\f\n\r\t'  # escaped as two characters; other control characters as six
_ORDINARY = bytes(sorted(set(range(32, 256)) - set(_SHORT)))
_FOLDED_KEY = re.compile(r"_elided:(\d+):([0-9a-f]{64}):(\d+):(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class Elided:
    """A folded string, or a folded object key: its lengths in every unit, its hash (None for a credential), and what
    it was."""

    chars: int
    utf16: int
    bytes: int
    json_chars: int
    sha256: str | None = None
    label: str | None = None
    width: int | None = None
    height: int | None = None
    pages: int | None = None


class Folded(NamedTuple):
    """A text that was folded: the hash and the label of its marker, and what it was."""

    sha256: str
    label: str | bool
    text: str

    @property
    def is_text(self) -> bool:
        """Whether somebody wrote it: not base64, a signature, or what is encrypted."""
        return type(self.label) is bool or not (self.label.startswith("base64 ") or self.label in _NO_TEXT)


def lengths(text: str) -> Elided:
    """The lengths and hash of one string, as a marker would keep them."""
    raw, utf16, json_chars = _measured(text)
    return Elided(len(text), utf16, len(raw), json_chars, sha256(raw).hexdigest())


def _measured(text: str) -> tuple[bytes, int, int]:
    """UTF-8 bytes, UTF-16 units, and characters inside the quotes of the shortest JSON form."""
    chars = len(text)
    if text.isascii():
        raw = text.encode()
        utf16 = chars
    else:
        raw = text.encode("utf-8", "surrogatepass")
        utf16 = len(text.encode("utf-16-le", "surrogatepass")) // 2
        if b"\xed" in raw:  # perhaps lone surrogates, which the shortest JSON form writes as six characters
            return raw, utf16, len(quoted(text)) - 2
    if special := raw.translate(None, _ORDINARY):
        return raw, utf16, chars + len(special) + 4 * len(special.translate(None, _SHORT))
    return raw, utf16, chars


def fold(value: Json, over: int, folded: list[Folded] | None = None) -> Json:
    """A copy of a raw value with strings of more than ``over`` characters folded (0: every string; -1: none) and
    credentials masked. ``folded`` collects what was folded."""
    return _walk([value], over, folded)[0][0]


def fold_fields(body: Json, over: int, folded: list[Folded] | None = None) -> tuple[Json, dict[str, Weight]]:
    """A request body folded, and the weight of each of its fields before folding, by name (one without a name where
    the body is no object). One walk for both, since the client waits for it."""
    if type(body) is not dict:
        whole, weight = _walk([body], over, folded)
        return whole[0], {"": weight}
    out: dict[Any, Json] = {}
    weights: dict[str, Weight] = {}
    for key, value in body.items():
        part, weights[key] = _walk({key: value}, over, folded)
        out |= part
    return out, weights


def fold_member(value: Json, name: str | None, over: int, folded: list[Folded] | None = None) -> tuple[bytes, Weight]:
    """One field of a body (with its name), or one member of its list of messages: folded JSON text, and weight."""
    out, weight = _walk([value] if name is None else {name: value}, over, folded)
    return dump(out)[1:-1], weight


def _walk(root: Json, over: int, folded: list[Folded] | None, *, careful: bool = False) -> tuple[Json, Weight]:
    """A container folded, and the weight of its one member, whose key counts only with its escapes and bytes.

    Copies each container as a whole and then replaces what changes, which is far less than what stays. Strings that
    stay are measured together at the end, which costs less than one by one. So are keys looked at: only when one of
    them must be escaped, folded or hides a credential, all is done again ``careful``ly.
    """
    limit = _limit(over)
    punctuation = folded_chars = others = escapes = utf8 = 0
    holder: Json = root.copy()
    keys: list[str] = []
    plain: list[str] = []
    marked: list[tuple[Json, Any, str]] = []
    spread, keep = keys.extend, plain.append
    stack: list[tuple[Json, Json, _Place]] = [(root, holder, _API)]
    while stack:
        source, target, place = stack.pop()
        names: dict[str, str] | None = None
        if type(source) is dict:
            spread(source)
            punctuation += 4 * len(source) + 1 if source else 2
            if careful:
                names = _renamed(source, target, max(limit, KEY_MIN))
            members: Iterable[tuple[Any, Json]] = source.items()
        else:
            punctuation += len(source) + 1 if source else 2
            members = enumerate(source)
        for key, member in members:
            kind = type(member)
            if kind is str:
                if len(member) <= limit or (place is not _USER and key in IDENTIFYING):
                    keep(member)
                    continue
                marker = _told(key, member, source) if key in _TELLING else _marker(member, describe_text(member))
                chars = marker["chars"]
                folded_chars += chars
                escapes += marker.get("json_chars", chars) - chars
                utf8 += marker.get("bytes", chars) - chars
                name = key if names is None else names[key]
                target[name] = marker
                marked.append((target, name, member))
            elif kind is dict or kind is list:
                target[key if names is None else names[key]] = child = member.copy()
                stack.append((member, child, _BELOW.get(key, place) if place is _API or place is _SERVERS else place))
            else:
                others += scalar_chars(member)
        if careful and place is not _USER:
            _mask(source, target, names, place)
    if not careful and _needs_care(keys):
        return _walk(root, over, folded, careful=True)
    if folded is not None:
        folded += _texts(marked)
    own_key, own_frame = (len(keys[0]), 5) if type(root) is dict else (0, 2)
    strings = len(plain) + len(marked)
    plain += keys
    text = "".join(plain)
    raw, _, json_chars = _measured(text)
    chars = len(text)
    return holder, Weight(
        characters=folded_chars + others + chars - own_key,
        punctuation=punctuation + 2 * strings - own_frame,
        escapes=escapes + json_chars - chars,
        utf8=utf8 + len(raw) - chars,
    )


def _texts(marked: list[tuple[Json, Any, str]]) -> Iterator[Folded]:
    """What was folded. A credential, which was masked after it was folded, has no hash and is not told."""
    for target, name, text in marked:
        marker = target[name]
        if "sha256" in marker:
            yield Folded(marker["sha256"], marker[MARK], text)


def _needs_care(keys: list[str]) -> bool:
    """Whether any of these keys is long, may look like a marker, or is a credential's."""
    return bool(keys) and (max(map(len, keys)) > KEY_MIN or MARK in "".join(keys) or not _SENSITIVE.isdisjoint(keys))


def _mask(source: Json, target: Json, names: dict[str, str] | None, place: _Place) -> None:
    """Replaces the credentials among the strings of one container."""
    members: Iterable[tuple[Any, Json]] = source.items() if type(source) is dict else enumerate(source)
    for key, member in members:
        if type(member) is str and _is_secret(key, member, place):
            target[key if names is None else names[key]] = _credential(member)


def _is_secret(key: str | int, text: str, place: _Place) -> bool:
    """Whether a string is a credential by its place, or an address of a server that may hold one."""
    if place is _SECRET:
        return key != "mode"
    if place is _SERVERS:
        return str(key).lower() in CREDENTIALS or (key not in ("type", "name") and ("@" in text or "?" in text))
    return key in _SENSITIVE


def _renamed(source: dict[str, Json], target: dict[str, Json], limit: int) -> dict[str, str] | None:
    """The names under which the members of an object are kept, when any differs; the target then has them."""
    names = {key: _folded_key(key, limit) for key in source}
    if all(key is name for key, name in names.items()):
        return None
    target.clear()
    target.update((names[key], member) for key, member in source.items())
    return names


class _Place(Enum):
    """Whose names the keys here are: the API's, the user's, or the API's inside a credential or a list of servers."""

    API = 1
    USER = 2
    SECRET = 3
    SERVERS = 4


_API, _USER, _SECRET, _SERVERS = _Place


_BELOW: dict[Any, _Place] = dict.fromkeys(USER_DATA, _USER) | dict.fromkeys(CREDENTIALS, _SECRET)
_BELOW[SERVERS] = _SERVERS


def _told(key: str, text: str, parent: dict[str, Json]) -> dict[str, Any]:
    """The marker of a string whose name may say that it is no text."""
    media_type = parent.get("media_type")
    if key == "data" and type(media_type) is str and parent.get("type") == "base64":
        marker = _marker(text, f"base64 {media_type[:60]}")
        media = inspect(text, media_type)
        found = (("width", media.width), ("height", media.height), ("pages", media.pages))
        marker.update((name, size) for name, size in found if size is not None)
        return marker
    if key == "data":
        return _marker(text, "encrypted" if parent.get("type") == "redacted_thinking" else describe_text(text))
    return _marker(text, "signature" if key == "signature" else "encrypted")


def _marker(text: str, label: str | None) -> dict[str, Any]:
    chars = len(text)
    raw, utf16, json_chars = _measured(text)
    marker: dict[str, Any] = {MARK: label or True, "chars": chars, "sha256": sha256(raw).hexdigest()}
    if len(raw) != chars:
        if utf16 != chars:
            marker["utf16"] = utf16
        marker["bytes"] = len(raw)
    if json_chars != chars:
        marker["json_chars"] = json_chars
    return marker


def _credential(text: str) -> dict[str, Any]:
    marker = _marker(text, "credential")
    del marker["sha256"]
    return marker


def _limit(over: int) -> int:
    return over if over >= 0 else sys.maxsize


def folded_key(key: str, over: int) -> str:
    """An object key as a capture holds it: escaped when it looks like a marker, folded when it is long."""
    return _folded_key(key, max(_limit(over), KEY_MIN))


def _folded_key(key: str, limit: int) -> str:
    if len(key) > limit:
        told = lengths(key)
        return f"{MARK}:{told.chars}:{told.sha256}:{told.utf16}:{told.bytes}:{told.json_chars}"
    return f"_{key}" if key[:1] == "_" and _LOOKS_MARKED.fullmatch(key) else key


def unfold(value: Json) -> tuple[Json, list[Note]]:
    """The value a capture holds, with markers as ``Elided`` leaves and keys as they were. A marker that is damaged
    stays an object, with a note."""
    notes: list[Note] = []
    holder: list[Json] = []
    stack: list[tuple[Json, Json]] = [([value], holder)]
    while stack:
        source, target = stack.pop()
        if type(source) is list:
            for member in source:
                child = _opened(member, notes)
                target.append(child)
                if type(child) is dict or type(child) is list:
                    stack.append((member, child))
        else:
            for key, member in source.items():
                child = _opened(member, notes)
                target[_unfolded_key(key) if key[:1] == "_" else key] = child
                if type(child) is dict or type(child) is list:
                    stack.append((member, child))
    return holder[0], notes


def _opened(member: Json, notes: list[Note]) -> Json:
    """What stands for a member in the unfolded tree: an empty container to be filled, an ``Elided``, or the scalar
    itself."""
    kind = type(member)
    if kind is list:
        return []
    if kind is not dict:
        return member
    if MARK not in member:
        return {}
    elided = _elided(member)
    if elided is None:
        notes.append(Note("damaged_marker", "a fold marker without its lengths was read as an ordinary object"))
        return {}
    return elided


def _elided(marker: dict[str, Any]) -> Elided | None:
    chars, label, sha = marker.get("chars"), marker[MARK], marker.get("sha256")
    utf16, size, json_chars = (marker.get(name, chars) for name in ("utf16", "bytes", "json_chars"))
    if not all(type(n) is int and n >= 0 for n in (chars, utf16, size, json_chars)) or not (
        sha is None or type(sha) is str
    ):
        return None
    assert type(chars) is int and type(utf16) is int and type(size) is int and type(json_chars) is int
    width, height, pages = (n if type(n := marker.get(name)) is int else None for name in ("width", "height", "pages"))
    return Elided(chars, utf16, size, json_chars, sha, label if type(label) is str else None, width, height, pages)


def _unfolded_key(key: str) -> str | Elided:
    if match := _FOLDED_KEY.fullmatch(key):
        chars, sha, utf16, size, json_chars = match.groups()
        return Elided(int(chars), int(utf16), int(size), int(json_chars), sha)
    return key[1:] if _LOOKS_MARKED.fullmatch(key) and key[:2] == "__" else key
