"""JSON values into values that tell nothing and measure the same.

Works on decoded values. By default every text is scrambled (``scrambled_text``) that is not the API's own vocabulary
(``api_words``), so nothing has to be found to be safe: names of members that the API does not know, values where the
API has no closed list, numbers inside a tool's input. What stays is what figures are made of: structure, lengths,
counters, times, models, roles, types. Hashes become keyed ones. In captures, fold markers keep their lengths.

Which names are the API's is decided by place: ``name`` in a tool is, ``name`` inside ``input`` is the user's. One
iterative pass, O(nodes + characters); every value is a pure function of itself and the key, so what was equal stays
equal wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import copy
from hashlib import sha256
from typing import Any

import orjson

from analyzers import api_words as own
from analyzers.capture_words import is_counter
from analyzers.member_names import Names, below, is_own_name
from analyzers.path_patterns import NOWHERE, Place
from analyzers.scrambled_media import scrambled_media
from analyzers.scrambled_text import Found, Scrambler
from analyzers.wire.fold import IDENTIFYING, KEY_MIN, MARK, fold, folded_key
from analyzers.wire.jsontext import Json, Number

_USER_ID_WORDS = ("device_id", "account_uuid", "session_id", "user_", "_account_", "_session_")
_RESULT = "_tool_result"
_DRAFT = re.compile(r"https?://json-schema\.org/(draft/[0-9-]{1,9}/)?schema#?")
_MOST_FORMS = 10_000  # kinds of objects remembered
_SAID = frozenset(("user_id", "id", "content", "text", "version", "title", "name"))
"""Names of the API whose values are texts: a number there was written by somebody."""

_LONGEST_COUNT = 9
"""Digits of a number that is taken for a count, a limit or a size."""

_FOLD_LABELS = ("credential", "encrypted", "signature", "dropped")


class Redactor:
    """Values under one key. ``found``: replace only what it finds in texts; ``fold_over``: fold longer strings on the
    way (None: none; only where markers are honoured); ``seen`` is told every text with what became of it, ``kept``
    every text that stays.

    ``markers``: the values are those of a capture, with fold markers in them.
    """

    def __init__(
        self,
        key: bytes,
        *,
        found: Found | None = None,
        fold_over: int | None = None,
        markers: bool = True,
        seen: Callable[[str, str], None] | None = None,
        kept: Callable[[str], None] | None = None,
    ) -> None:
        self._kept: set[str] = set()
        self._told_kept = kept
        self.scrambler = Scrambler(key, found, seen, self.keep)
        self.text = self.scrambler.text
        self._only_found = found is not None
        self._fold_over = fold_over
        self._markers = markers
        self._forms: dict[tuple[Names, tuple[str, ...]], dict[str, str]] = {}

    def unmarked(self) -> Redactor:
        """The same, for values in which no fold marker is one."""
        other = copy(self)
        other._markers = False
        other._forms = {}
        return other

    def unfolding(self) -> Redactor:
        """The same, folding nothing."""
        other = copy(self)
        other._fold_over = None
        return other

    def hash(self, digest: str) -> str:
        """A keyed hash in the place of a hash."""
        return self.scrambler.words.hash(digest)

    def tell_kept_again(self) -> None:
        """From here on ``kept`` is told every text that stays once more."""
        self._kept.clear()

    def keep(self, text: str) -> str:
        """A text that stays, as such."""
        if self._told_kept is not None and text not in self._kept:
            if len(self._kept) > 100_000:
                self._kept.clear()
            self._kept.add(text)
            self._told_kept(text)
        return text

    def value(self, value: Json, place: Place = NOWHERE, *, names: Names = Names.API) -> Json:
        """A copy of a value that tells nothing."""
        holder: list[Json] = [None]
        stack: list[tuple[Any, Json, Any, Any, Any, Names, Place]] = [("", value, None, holder, 0, names, place)]
        while stack:
            name, node, around, target, at, names, place = stack.pop()
            if place.kept:
                target[at] = self._left(node)
            elif type(node) is dict:
                if self._markers and MARK in node:
                    target[at] = self._marker(node)
                    continue
                made: dict[str, Json] = {}
                target[at] = made
                renamed = self.renamed(node, names)
                made.update(dict.fromkeys(renamed.values()))  # in the order of the original
                stack.extend(
                    (key, member, node, made, renamed[key], below(key, names), place.below(key))
                    for key, member in node.items()
                )
            elif type(node) is list:
                target[at] = made_list = [None] * len(node)
                stack.extend(
                    (name, member, node, made_list, index, names, place.below(index))
                    for index, member in enumerate(node)
                )
            else:
                target[at] = self.scalar(name, node, names, place, around)
        return holder[0]

    # Names of members

    def renamed(self, node: dict[str, Json], names: Names) -> dict[str, str]:
        """What the names of an object's members become, all of them distinct."""
        if names is Names.COUNTERS:  # which names are counters' is told by what they hold
            return self._new_names(node, names)
        form = (names, tuple(node))
        found = self._forms.get(form)
        if found is None:
            if len(self._forms) >= _MOST_FORMS:
                self._forms.clear()
            found = self._forms[form] = self._new_names(node, names)
        return found

    def _new_names(self, node: dict[str, Json], names: Names) -> dict[str, str]:
        renamed: dict[str, str] = {}
        taken: set[str] = set()
        for key, member in node.items():
            if names is Names.COUNTERS and type(member) is not str and is_counter(key):
                new = self.keep(key)
            else:
                new = self.model(key) if names is Names.MODELS else self.key(key, names)
            while new in taken or (new != key and new in node and self.key(new, names) == new):
                new = self.scrambler.whole(new)  # a pseudonym that happens to be a name that stays
            taken.add(new)
            renamed[key] = new
        return renamed

    def key(self, key: str, names: Names = Names.API) -> str:
        """The name of a member, as a capture has it where markers are honoured."""
        if is_own_name(key, names):
            return self.keep(key)
        if not self._markers or key[:1] != "_":
            return self._refolded(self.text(key))
        head, _, rest = key.partition(":")
        parts = rest.split(":")
        if head == MARK and len(parts) == 5:
            return ":".join([MARK, parts[0], self.hash(parts[1]), *parts[2:]])
        bare = key[1:] if head.strip("_") == "elided" and key[:2] == "__" else key
        return self._refolded(self.text(bare))

    def _refolded(self, key: str) -> str:
        """A name as a capture has it: escaped where it looks like a marker, folded where it is long."""
        if not self._markers:
            return key
        over = -1 if self._fold_over is None else self._fold_over
        new = folded_key(key, over)
        if over >= 0 and len(key) > max(over, KEY_MIN):
            parts = new.split(":")
            return ":".join([*parts[:2], self.hash(parts[2]), *parts[3:]])
        return new

    # Scalars

    def scalar(self, name: Any, node: Json, names: Names, place: Place, parent: Any) -> Json:
        """What becomes of a scalar. ``name``: of the member that it is, or is in a list of; ``parent``: what
        holds it."""
        if type(node) is str:
            return self._string(name, node, names, place, parent)
        if node is None or type(node) is bool:
            return node
        if names is Names.COUNTERS:
            return node
        if names is Names.API:
            told = name in _SAID or len(str(node).partition(".")[0]) > _LONGEST_COUNT
            return self._number(node) if told and not place.kept else node
        if names is Names.SCHEMA and not place.dropped:
            return node if type(node) is int and -1000 < node < 1000 else self._number(node)
        return self._number(node)

    def _number(self, node: Json) -> Json:
        written = str(node) if type(node) in (Number, int) else orjson.dumps(node).decode()
        new = self.scrambler.number(written)
        return node if new == written else Number(new)

    def _string(self, name: Any, text: str, names: Names, place: Place, parent: Any) -> Json:
        if self._only_found and not place.dropped:
            new = self.scrambler.text(text, name if type(name) is str else None)
            return self._folded(name, text, new, names, False, parent)
        if names not in (Names.USER, Names.PROPERTIES, Names.SCHEMA):
            if (told := self._own_value(name, text)) is not None:
                return told
        elif names is Names.SCHEMA and (
            (name == "type" and text in own.SCHEMA_TYPES) or (name == "$schema" and _DRAFT.fullmatch(text))
        ):
            return self.keep(text)
        media = self._media(text, parent, names) if name == "data" else None
        return self._folded(name, text, self.text(text) if media is None else media, names, place.dropped, parent)

    def _media(self, text: str, parent: Any, names: Names) -> str | None:
        """base64 of an image or a document, its measures kept."""
        media_type = parent.get("media_type") if type(parent) is dict and names is Names.API else None
        return scrambled_media(text, media_type, self.text) if type(media_type) is str else None

    def _own_value(self, name: Any, text: str) -> str | None:
        """A text where the API has a closed list, or an id of a known form; None for any other."""
        if name == "model" or name == "requestedModel" or name == "recommended_model":
            return self.model(text)
        if name == "type" and not own.is_own(text):
            stem = text.removesuffix(_RESULT)
            return None if stem == text else self.text(stem) + _RESULT
        if name in own.CLOSED and own.is_own(text):
            return self.keep(text)
        if name == "name" and text in own.SERVER_TOOLS:
            return self.keep(text)
        if name == "user_id":
            return self._user_id(text)
        if name in ("betas", "anthropic_beta") and own.is_beta(text):
            return self.keep(text)
        if name == "anthropic_version" and own.is_dated_version(text):
            return self.keep(text)
        if name == "version" and own.is_version(text):
            return self.keep(text)
        if name in ("timestamp", "created_at", "ended_at", "expires_at", "retrieved_at") and own.is_time(text):
            return self.keep(text)
        return None

    def model(self, text: str) -> str:
        """The name of a model: public ones stay, what a gateway or a company put into it does not."""
        if self._only_found:
            return self.text(text)
        spans = own.public_part(text)
        if spans is None:
            return self.text(text)
        begin, end = spans
        for first, last in own.account_numbers(text):
            text = text[:first] + self.scrambler.words.word(text[first:last]) + text[last:]
        self.keep(text[begin:end])
        return self.text(text[:begin]) + text[begin:end] + self.text(text[end:])

    def _user_id(self, text: str) -> str:
        """The user id of the metadata, in a form from which the session can still be read."""
        out = [text]
        for word in _USER_ID_WORDS:
            pieces: list[str] = []
            for piece in out:
                if piece in _USER_ID_WORDS:
                    pieces.append(piece)
                    continue
                for part in piece.split(word):
                    pieces += [part, word]
                pieces.pop()
            out = pieces
        return "".join(piece if piece in _USER_ID_WORDS else self.text(piece) for piece in out)

    def _left(self, node: Json) -> Json:
        """A value that a pattern keeps, but for its hashes."""
        stack = [node]
        while stack:
            at = stack.pop()
            if type(at) is dict:
                for key, member in at.items():
                    self.keep(key)
                    stack.append(member)
            elif type(at) is list:
                stack.extend(at)
            elif type(at) is str:
                self.keep(at)
        return self._with_keyed_hashes(node) if self._markers else node

    def _with_keyed_hashes(self, node: Json) -> Json:
        holder: list[Json] = [node]
        stack: list[Any] = [holder]
        while stack:
            at = stack.pop()
            for key, member in list(at.items()) if type(at) is dict else list(enumerate(at)):
                if type(member) is dict:
                    at[key] = child = self._marker(member) if MARK in member else member.copy()
                    if MARK not in member:
                        stack.append(child)
                elif type(member) is list:
                    at[key] = child_list = member.copy()
                    stack.append(child_list)
        return holder[0]

    # Folding

    def _folded(self, name: Any, original: str, new: str, names: Names, dropped: bool, parent: Any) -> Json:
        """The text, or its marker where it is to be folded. The hash is a keyed one of the original's, as in the
        marker of the same text that was folded before."""
        if names is not Names.USER and name in IDENTIFYING:
            return new
        if not self._markers:
            return _blanked(new) if dropped else new
        limit = self._fold_over
        if not dropped and (limit is None or len(original) <= limit):
            return new
        around = {key: parent.get(key) for key in ("type", "media_type")} if type(parent) is dict else {}
        marker = fold({**around, name if type(name) is str else "": original}, 0)[name if type(name) is str else ""]
        if type(marker) is not dict:  # a name that is never folded
            marker = fold({"": original}, 0)[""]
        digest = sha256(original.encode("utf-8", "surrogatepass")).hexdigest()
        marker[MARK] = "dropped" if dropped else self._label(marker[MARK])
        return marker | {"sha256": self.hash(digest)}

    def _marker(self, marker: dict[str, Any]) -> dict[str, Any]:
        """A fold marker with a keyed hash. One that is damaged is an ordinary object."""
        out: dict[str, Any] = {}
        for key, member in marker.items():
            if key == MARK:
                out[key] = self._label(member)
            elif key == "sha256" and type(member) is str:
                out[key] = self.hash(member)
            elif key in ("chars", "utf16", "bytes", "json_chars", "width", "height", "pages") and type(member) is int:
                out[key] = member
            else:
                out[self.key(key, Names.UNKNOWN)] = self.value(member, names=Names.UNKNOWN)
        return out

    def _label(self, label: Json) -> Json:
        if type(label) is not str:
            return True if label else label
        media_type = label.removeprefix("base64 ")
        if label in LABELS or label in _FOLD_LABELS or (media_type != label and own.is_own(media_type)):
            return label
        return self.text(label)


def _blanked(text: str) -> str:
    """A text of nothing but its form."""
    return "".join(
        "X" if "A" <= char <= "Z" else "x" if "a" <= char <= "z" else "0" if "0" <= char <= "9" else char
        for char in text
    )


def _labels() -> Iterable[str]:
    from analyzers.wire import labels

    yield "system-reminder"
    yield from (f"system-reminder: {label}" for _, label in labels._REMINDERS)
    yield from (label for _, label in labels._BEGINNINGS)


LABELS = frozenset(_labels())
