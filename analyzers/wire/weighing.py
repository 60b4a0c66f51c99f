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

from analyzers.wire.fold import Folded, fold_fields, fold_member
from analyzers.wire.jsontext import Document, Json, parse
from analyzers.wire.note import Note
from analyzers.wire.weight import Figures, Weight, figures

CONVERSATIONS = 8
MEMORY = 32 * 1024 * 1024
"""Bytes of request text remembered in all."""

WORTH_A_CUT = 2048
"""Bytes from which a field is looked for before it is parsed."""

_OPENING = b'"messages":['


@dataclass(frozen=True, slots=True)
class Weighed:
    """What is recorded of a body. ``body``: folded, or its folded JSON as an ``orjson.Fragment``. ``digest``: of a body
    weighed by its parts, equal for equal bytes and different for others; else None. ``folded``: the strings that were
    folded in what is new."""

    body: Json
    figures: Figures
    model: str | None
    notes: tuple[Note, ...] = ()
    digest: bytes | None = None
    folded: tuple[Folded, ...] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    """One message, or one other field: its JSON text, the same folded (a field with its name), and its weight."""

    text: bytes
    folded: bytes
    weight: Weight
    digest: bytes


@dataclass(frozen=True, slots=True)
class _Known:
    """What of a text was seen before: the first messages (so many bytes from ``start``), and fields by place."""

    start: int
    messages: Sequence[_Part]
    messages_size: int
    fields: Sequence[tuple[int, str, _Part]]

    def cut_out(self, data: bytes) -> bytes:
        """The text without them, each with one comma."""
        cuts = [(self.start, self.start + self.messages_size)]
        for place, _, part in self.fields:
            end = place + len(part.text)
            cuts.append((place, end + 1) if data[end : end + 1] == b"," else (place - (data[place - 1] == 44), end))
        rest, at = [], 0
        for begin, end in sorted(cuts):
            rest.append(data[at:begin])
            at = end
        return b"".join([*rest, data[at:]])


@dataclass(frozen=True, slots=True)
class _Conversation:
    fields: Mapping[str, _Part]
    messages: Sequence[_Part]
    size: int


def weighed(
    data: bytes, wire_bytes: int, fold_over: int, folded: list[Folded] | None = None
) -> tuple[Document, Json, Figures]:
    """A body parsed, folded, and weighed before folding. ``wire_bytes``: its length as it arrived. Raises NotJson."""
    document = parse(data)
    body, weights = fold_fields(document.value, fold_over, folded)
    return document, body, figures(document, weights, len(data), wire_bytes)


@dataclass(frozen=True, slots=True)
class WholeWeigher:
    """Weighs each body by itself and gives it as plain values: for files, where nobody waits and nothing repeats."""

    fold_over: int

    def weigh(self, data: bytes, wire_bytes: int) -> Weighed:
        """The same as ``weighed`` gives. Raises NotJson."""
        folded: list[Folded] = []
        document, body, taken = weighed(data, wire_bytes, self.fold_over, folded)
        return Weighed(body, taken, _model(document.value), document.notes, folded=tuple(folded))


class Weigher:
    """Weighs bodies one after the other. The result never depends on what came before, only the time it takes."""

    def __init__(self, fold_over: int, *, conversations: int = CONVERSATIONS, memory: int = MEMORY) -> None:
        self.fold_over = fold_over
        self._most = conversations
        self._memory = memory
        self._conversations: list[_Conversation] = []  # the last used first
        self._folded: list[Folded] = []  # in the body that is being weighed

    def weigh(self, data: bytes, wire_bytes: int) -> Weighed:
        """The same as ``weighed`` gives. Raises NotJson."""
        self._folded = []
        start = data.find(_OPENING) + len(_OPENING)
        if start >= len(_OPENING):
            known = self._known(data, start)
            found = self._by_parts(data, known, wire_bytes) if known is not None else None
            found = found or self._by_parts(data, _Known(start, (), 0, ()), wire_bytes)
            if found is not None:
                return found
        return WholeWeigher(self.fold_over).weigh(data, wire_bytes)

    def _known(self, data: bytes, start: int) -> _Known | None:
        """What of this text was seen before; None when nothing was."""
        conversation, count, at = self._longest(data, start)
        fields = []
        for name, part in conversation.fields.items() if conversation else ():
            if len(part.text) >= WORTH_A_CUT and (place := _place(data, name, part.text)) is not None:
                fields.append((place, name, part))
        fields.sort(key=lambda field: field[0])
        if conversation is None or not (count or fields):
            return None
        return _Known(start, conversation.messages[:count], at - start, fields)

    def _longest(self, data: bytes, start: int) -> tuple[_Conversation | None, int, int]:
        """The conversation that this text continues furthest (the last one when none), how many of its messages it has,
        and where they end."""
        best = (self._conversations[0] if self._conversations else None, 0, start)
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

    def _by_parts(self, data: bytes, known: _Known, wire_bytes: int) -> Weighed | None:
        """Weighs a text by its parts, of which some are known; None when it cannot be done, or what looked like a known
        part is another place."""
        text = known.cut_out(data)
        try:
            value = orjson.loads(text)
            if type(value) is not dict or type(value.get("messages")) is not list or orjson.dumps(value) != text:
                return None
        except (orjson.JSONDecodeError, TypeError):  # TypeError: too deep to be written
            return None
        cuts = iter(known.fields)
        cut = next(cuts, None)
        rest = iter(value.items())
        fields: dict[str, _Part] = {}
        messages: list[_Part] = []
        at = 1  # where the next field begins, if all is where it should be
        for _ in range(len(value) + len(known.fields)):
            if cut is not None and cut[0] == at:
                name, part = cut[1], cut[2]
                cut = next(cuts, None)
            elif (member := next(rest, None)) is None:
                return None
            elif member[0] == "messages":
                if known.messages and at + len(_OPENING) != known.start:
                    return None
                messages = [*known.messages, *map(self._message, member[1])]
                name, part = "messages", _together(messages)
                at += len(_OPENING) + sum([len(message.text) for message in messages]) + max(len(messages) - 1, 0) + 1
            else:
                name, part = member[0], self._field(*member)
            if name in fields:
                return None
            fields[name] = part
            at += len(part.text) + 1
        if cut is not None or at != len(data):
            return None
        return self._put_together(fields, messages, known.messages, len(data), wire_bytes)

    def _put_together(
        self,
        fields: dict[str, _Part],
        messages: Sequence[_Part],
        known: Sequence[_Part],
        size: int,
        wire_bytes: int,
    ) -> Weighed:
        model = orjson.loads(fields["model"].text.partition(b":")[2]) if "model" in fields else None
        weights = {name: part.weight for name, part in fields.items()}
        taken = figures(Document(fields, None), weights, size, wire_bytes)
        body = orjson.Fragment(b"{" + b",".join([part.folded for part in fields.values()]) + b"}")
        digest = sha256(b"".join([part.digest for part in fields.values()])).digest()
        del fields["messages"]
        self._remember(fields, messages, size, known)
        named = model if type(model) is str else None
        return Weighed(body, taken, named, digest=digest, folded=tuple(self._folded))

    def _message(self, message: Json) -> _Part:
        text = orjson.dumps(message)
        folded, weight = fold_member(message, None, self.fold_over, self._folded)
        return _Part(text, folded, weight, sha256(text).digest())

    def _field(self, name: str, value: Json) -> _Part:
        text = orjson.dumps(name) + b":" + orjson.dumps(value)
        for conversation in self._conversations:
            known = conversation.fields.get(name)
            if known is not None and known.text == text:
                return known
        folded, weight = fold_member(value, name, self.fold_over, self._folded)
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


def _together(messages: Sequence[_Part]) -> _Part:
    """The field ``messages``: its members and the frame around them. Its text is not put together."""
    weights = [part.weight for part in messages]
    weight = Weight(
        characters=sum([weight.characters for weight in weights]),
        punctuation=sum([weight.punctuation for weight in weights]) + (len(weights) + 1 if weights else 2),
        escapes=sum([weight.escapes for weight in weights]),
        utf8=sum([weight.utf8 for weight in weights]),
    )
    folded = _OPENING + b",".join([part.folded for part in messages]) + b"]"
    digest = sha256(_OPENING + b"".join([part.digest for part in messages]) + b"]").digest()
    return _Part(b"", folded, weight, digest)


def _place(data: bytes, name: str, text: bytes) -> int | None:
    """Where a field stands in a text, byte for byte and whole; None when it does not."""
    opening = text[: len(name) + 3]
    place = data.find(opening)
    while place > 0:
        if data.startswith(text, place) and data[place + len(text) : place + len(text) + 1] in (b",", b"}"):
            return place
        place = data.find(opening, place + 1)
    return None


def _model(body: Json) -> str | None:
    named = body.get("model") if type(body) is dict else None
    return named if type(named) is str else None
