"""A request body parsed, folded and weighed, before it is forwarded: as a whole, or by what is new in it.

A conversation resends everything: the tools, the system prompt, and all messages but the last few are, byte for byte,
those of the request before. ``Weigher`` remembers the parts of the last few conversations, and compares bytes, which
costs a hundredth of parsing and folding them: messages that it knows are cut out of the text, the rest is parsed and
proved to be the shortest JSON of its value, and the known parts' folded text and weight are put back in their places.
The bytes themselves are compared, so nothing can go wrong by a hash. A body of any other spelling is weighed as a
whole.

Memory is bounded: a few conversations, and a number of bytes together; the longest unused goes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import orjson

from analyzers.wire.fold import fold_fields, fold_member
from analyzers.wire.jsontext import Document, Json, parse
from analyzers.wire.note import Note
from analyzers.wire.weight import Figures, Weight, figures

CONVERSATIONS = 8
MEMORY = 32 * 1024 * 1024
"""Bytes of request text remembered in all."""

_OPENING = b'"messages":['


@dataclass(frozen=True, slots=True)
class Weighed:
    """What is recorded of a body. ``body``: folded, or its folded JSON as an ``orjson.Fragment``. ``digest``: of a body
    weighed by its parts, equal for equal bytes and different for others; else None."""

    body: Json
    figures: Figures
    model: str | None
    notes: tuple[Note, ...] = ()
    digest: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """One message, or one other field: its JSON text, the same folded (a field with its name), and its weight."""

    text: bytes
    folded: bytes
    weight: Weight
    digest: bytes


@dataclass(frozen=True, slots=True)
class _Conversation:
    fields: Mapping[str, _Part]
    messages: Sequence[_Part]
    size: int


def weighed(data: bytes, wire_bytes: int, fold_over: int) -> tuple[Document, Json, Figures]:
    """A body parsed, folded, and weighed before folding. ``wire_bytes``: its length as it arrived. Raises NotJson."""
    document = parse(data)
    body, weights = fold_fields(document.value, fold_over)
    return document, body, figures(document, weights, len(data), wire_bytes)


class Weigher:
    """Weighs bodies one after the other. The result never depends on what came before, only the time it takes."""

    def __init__(self, fold_over: int, *, conversations: int = CONVERSATIONS, memory: int = MEMORY) -> None:
        self.fold_over = fold_over
        self._most = conversations
        self._memory = memory
        self._conversations: list[_Conversation] = []  # the last used first

    def weigh(self, data: bytes, wire_bytes: int) -> Weighed:
        """The same as ``weighed`` gives. Raises NotJson."""
        start = data.find(_OPENING) + len(_OPENING)
        if start >= len(_OPENING):
            known, count, at = self._longest(data, start)
            found = None
            if known is not None:
                found = self._by_parts(data[:start] + data[at:], start, known.messages[:count], len(data), wire_bytes)
            found = found or self._by_parts(data, start, (), len(data), wire_bytes)
            if found is not None:
                return found
        document, body, taken = weighed(data, wire_bytes, self.fold_over)
        return Weighed(body, taken, _model(document.value), document.notes)

    def _longest(self, data: bytes, start: int) -> tuple[_Conversation | None, int, int]:
        """The conversation that this text continues furthest, how many of its messages it has, and where they end."""
        best: tuple[_Conversation | None, int, int] = (None, 0, start)
        for conversation in self._conversations:
            at = start
            count = 0
            for part in conversation.messages:
                end = at + len(part.text)
                if not data.startswith(part.text, at) or data[end : end + 1] != b",":
                    break
                at = end + 1
                count += 1
            if at > best[2]:
                best = (conversation, count, at)
        return best

    def _by_parts(
        self, text: bytes, start: int, known: Sequence[_Part], size: int, wire_bytes: int
    ) -> Weighed | None:
        """Weighs a text from which the ``known`` first messages were cut out at ``start``; None when it cannot be."""
        try:
            value = orjson.loads(text)
            if type(value) is not dict or type(value.get("messages")) is not list or orjson.dumps(value) != text:
                return None
        except (orjson.JSONDecodeError, TypeError):  # TypeError: too deep to be written
            return None
        parts: dict[str, _Part] = {}
        weights: dict[str, Weight] = {}
        messages: list[_Part] = []
        folded: list[bytes] = []
        digest = sha256()
        at = 1
        for name, member in value.items():
            if name == "messages":
                if known and at + len(_OPENING) != start:
                    return None  # the text looked like the messages, and is another place
                messages = [*known, *(self._message(message) for message in member)]
                weights[name] = _together(messages)
                folded.append(_OPENING + b",".join([part.folded for part in messages]) + b"]")
                digest.update(_OPENING + b"".join([part.digest for part in messages]) + b"]")
                continue
            part = parts[name] = self._field(name, member)
            weights[name] = part.weight
            folded.append(part.folded)
            digest.update(part.digest)
            at += len(part.text) + 1
        body = orjson.Fragment(b"{" + b",".join(folded) + b"}")
        taken = figures(Document(value, None), weights, size, wire_bytes)
        self._remember(parts, messages, size, known)
        return Weighed(body, taken, _model(value), digest=digest.digest())

    def _message(self, message: Json) -> _Part:
        text = orjson.dumps(message)
        folded, weight = fold_member(message, None, self.fold_over)
        return _Part(text, folded, weight, sha256(text).digest())

    def _field(self, name: str, value: Json) -> _Part:
        text = orjson.dumps(name) + b":" + orjson.dumps(value)
        for conversation in self._conversations:
            known = conversation.fields.get(name)
            if known is not None and known.text == text:
                return known
        folded, weight = fold_member(value, name, self.fold_over)
        return _Part(text, folded, weight, sha256(text).digest())

    def _remember(
        self, fields: Mapping[str, _Part], messages: Sequence[_Part], size: int, known: Sequence[_Part]
    ) -> None:
        """Puts this request first. It takes the place of the one it continues, unless it left that early."""
        kept = [
            other
            for other in self._conversations
            if not (known and other.messages[: len(known)] == known and len(other.messages) <= 2 * len(known))
        ]
        self._conversations = []
        total = 0
        for conversation in (_Conversation(fields, messages, size), *kept):
            total += conversation.size
            if total > self._memory or len(self._conversations) == self._most:
                break
            self._conversations.append(conversation)


def _together(messages: Sequence[_Part]) -> Weight:
    """The weight of the field ``messages``: its members and the frame around them."""
    weights = [part.weight for part in messages]
    return Weight(
        characters=sum([weight.characters for weight in weights]),
        punctuation=sum([weight.punctuation for weight in weights]) + (len(weights) + 1 if weights else 2),
        escapes=sum([weight.escapes for weight in weights]),
        utf8=sum([weight.utf8 for weight in weights]),
    )


def _model(body: Json) -> str | None:
    named = body.get("model") if type(body) is dict else None
    return named if type(named) is str else None
