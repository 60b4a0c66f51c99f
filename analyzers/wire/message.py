"""A message put together from the events of its stream, and the same view of one that came whole.

Events are taken one at a time, each at constant cost: deltas are appended to lists, and joined once at the end. What
the API documents is followed; the rest is kept by its name with a note, because new events, deltas and blocks appear
without warning. Values are taken as JSON gives them and never walked: depth and size of a block do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from analyzers.wire.jsontext import Json, NotJson, parse
from analyzers.wire.note import Note, Notebook
from analyzers.wire.usage import merge

# fmt: off
KNOWN_BLOCKS = frozenset((
    "text", "thinking", "redacted_thinking", "connector_text", "compaction", "fallback", "container_upload", "tool_use",
    "server_tool_use", "mcp_tool_use", "mcp_tool_listing", "mcp_tool_result", "web_search_tool_result",
    "web_fetch_tool_result", "advisor_tool_result", "tool_search_tool_result", "code_execution_tool_result",
    "bash_code_execution_tool_result", "text_editor_code_execution_tool_result",
))
"""Types of content blocks that an answer can hold."""

# The member of a delta that holds text, and the type of a block whose start was missed.
_TEXT = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_IMPLIED = {
    "text_delta": "text", "citations_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking",
    "input_json_delta": "tool_use", "compaction_delta": "compaction",
}
# fmt: on
_MOST_NAMES = 64
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


@dataclass(frozen=True, slots=True)
class ApiError:
    """What the API says went wrong. None: not said. `type` is its word: `overloaded_error`, `throttlingException`, …"""

    type: str | None
    message: str | None
    request_id: str | None


@dataclass(frozen=True, slots=True)
class Message:
    """An answer of the model. None: unknown. `usage` has the API's names; a stream's is merged from the other two."""

    model: str | None = None
    id: str | None = None
    stop_reason: str | None = None
    content: list[Any] | None = None
    usage: dict[str, Any] | None = None
    usage_start: dict[str, Any] | None = None
    usage_delta: dict[str, Any] | None = None
    rest: dict[str, Any] = field(default_factory=dict)
    """The other members of the message and of its closing events: `diagnostics`, `stop_details`, `container`, …"""


_NAMED = ("type", "role", "id", "model", "content", "usage", "stop_reason")


def read_message(body: dict[str, Any], book: Notebook) -> Message:
    """The message that came as one JSON body. Notes: `content_malformed`, `usage_malformed`, `unknown_block`."""
    content = body.get("content")
    if not isinstance(content, list):
        book.add(Note("content_malformed", "the content is not a list", "content"))
        content = None
    for index, block in enumerate(content or ()):
        _name_unknown(block, index, book)
    usage = body.get("usage")
    if usage is not None and not isinstance(usage, dict):
        book.add(Note("usage_malformed", "not an object", "usage"))
    return Message(
        model=_text(body.get("model")),
        id=_text(body.get("id")),
        stop_reason=_text(body.get("stop_reason")),
        content=content,
        usage=usage if isinstance(usage, dict) else None,
        rest={name: value for name, value in body.items() if name not in _NAMED},
    )


def read_error(body: Json, *, failed: bool) -> ApiError | None:
    """The error that a JSON body or event tells of, or None.

    Known forms: the API's `{"type": "error", "error": {…}, "request_id"}`, other vendors' `{"error": …}` without the
    type, Google's list of one, and AWS's bare `{"message"}` where the exchange `failed` by its status or event name.
    """
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    if not isinstance(body, dict):
        return ApiError(None, body, None) if failed and type(body) is str else None
    request_id = _text(body.get("request_id"))
    kind = body.get("type")
    inner = body.get("error")
    if isinstance(inner, dict):
        kinds = (inner.get("type"), inner.get("status"), inner.get("code"))
        return ApiError(next(filter(None, map(_text, kinds)), None), _text(inner.get("message")), request_id)
    if not failed and inner is None and kind != "error":
        return None
    messages = (inner, body.get("message"), body.get("Message"), body.get("detail"))
    type_ = _text(body.get("__type")) or (_text(kind) if kind != "error" else None)
    message = next(filter(None, map(_text, messages)), None)
    return ApiError(type_.rpartition("#")[2] if type_ else None, message, request_id)


class Assembler:
    """Takes the events of one stream, gives the message. What does not fit is told to `book`; nothing is raised.

    Notes: `unknown_event`, `unknown_delta`, `unknown_block`, `malformed_event`, `event_name_mismatch`,
    `repeated_start`, `delta_without_start`, `block_unfinished`, `input_incomplete`, those of parsing a tool's input and
    those of `usage.merge`.
    """

    def __init__(self, book: Notebook) -> None:
        self.events: dict[str, int] = {}
        self.saw_content = False
        self.complete = False
        self.error: ApiError | None = None
        self.error_body: Json = None
        self._book = book
        self._start: dict[str, Any] | None = None
        self._usage_delta: dict[str, Any] | None = None
        self._stop_reason: str | None = None
        self._fallback: str | None = None
        self._blocks: list[_Block] = []
        self._by_index: dict[int, _Block] = {}
        self._rest: dict[str, Any] = {}

    def take(self, event: Json, name: str = "") -> None:
        """Takes one event: its JSON, and the name the framing gave it."""
        if not isinstance(event, dict):
            self.count(name or "(malformed)")
            self._note("malformed_event", "the data of an event is no JSON object")
            if name == "error":
                self.fail(ApiError(None, _text(event), None), event)
            return
        kind = self._kind(event, name)
        self.count(kind)
        if (handler := _HANDLERS.get(kind)) is not None:
            handler(self, event)
        else:
            self._note("unknown_event", f"an event of type {kind[:_MOST_NAMES]!r}")

    def count(self, kind: str) -> None:
        """Counts one event under its type; what has no type of its own is counted under a word in parentheses."""
        kind = kind[:_MOST_NAMES]
        if kind not in self.events and len(self.events) >= _MOST_NAMES:
            kind = "(other)"
        self.events[kind] = self.events.get(kind, 0) + 1

    def fail(self, error: ApiError, body: Json) -> None:
        """The stream says that it failed. The first error is the one that counts."""
        if self.error is None:
            self.error, self.error_body = error, body

    def finish(self) -> Message | None:
        """The message as far as it came, or None when none was begun."""
        if self._start is None and not self._blocks and self._usage_delta is None:
            return None
        start = self._start or {}
        usage_start = start.get("usage")
        usage, notes = merge(usage_start, self._usage_delta)
        self._book.extend(notes)
        return Message(
            model=_served(self._usage_delta) or self._fallback or _text(start.get("model")),
            id=_text(start.get("id")),
            stop_reason=self._stop_reason,
            content=self._content(start.get("content")),
            usage=usage,
            usage_start=usage_start if isinstance(usage_start, dict) else None,
            usage_delta=self._usage_delta,
            rest={name: value for name, value in start.items() if name not in _NAMED} | self._rest,
        )

    def _kind(self, event: dict[str, Any], name: str) -> str:
        """The type in the JSON wins over the name of the event."""
        written = event.get("type")
        if type(written) is not str:
            return "error" if event.get("error") else name or "(untyped)"
        if name and name != written:
            self._note("event_name_mismatch", f"an event named {name[:_MOST_NAMES]!r} is a {written[:_MOST_NAMES]!r}")
        if written not in _HANDLERS and (name == "error" or isinstance(event.get("error"), dict)):
            return "error"
        return written

    # One method for each type of event

    def _message_start(self, event: dict[str, Any]) -> None:
        message = _member(event, "message")
        if message is None:
            self._note("malformed_event", "a message_start without a message")
        elif self._start is not None:
            self._note("repeated_start", "the stream starts a message again: the first start was kept")
        else:
            self._start = message

    def _block_start(self, event: dict[str, Any]) -> None:
        start = _member(event, "content_block")
        if start is None:
            self._note("malformed_event", "a content_block_start without a block")
        block = self._open(event, start or {})
        _name_unknown(block.start, len(self._blocks) - 1, self._book)
        if block.start.get("type") == "fallback":
            self._fallback = _text((_member(block.start, "to") or {}).get("model")) or self._fallback

    def _block_delta(self, event: dict[str, Any]) -> None:
        self.saw_content = True
        delta = _member(event, "delta")
        kind = None if delta is None else delta.get("type")
        if delta is None or type(kind) is not str:
            self._note("malformed_event", "a content_block_delta without a delta of some type")
            return
        block = self._block(event)
        if block is None:
            self._note("delta_without_start", f"a {kind[:_MOST_NAMES]!r} for a block that was not started")
            block = self._open(event, {"type": _IMPLIED[kind]} if kind in _IMPLIED else {})
        if not block.take(kind, delta):
            self._note("unknown_delta", f"a delta of type {kind[:_MOST_NAMES]!r}, kept under that name")

    def _block_stop(self, event: dict[str, Any]) -> None:
        if (block := self._block(event)) is not None:
            block.open = False

    def _message_delta(self, event: dict[str, Any]) -> None:
        delta = _member(event, "delta") or {}
        self._stop_reason = _text(delta.get("stop_reason")) or self._stop_reason
        self._keep({name: value for name, value in delta.items() if name != "stop_reason"})
        self._keep({name: value for name, value in event.items() if name not in ("type", "delta", "usage")})
        usage = _member(event, "usage")
        if usage is not None:  # several are allowed, and each is cumulative
            earlier = self._usage_delta or {}
            self._usage_delta = earlier | {k: v for k, v in usage.items() if v is not None or k not in earlier}

    def _message_stop(self, event: dict[str, Any]) -> None:
        self.complete = True
        self._keep({name: value for name, value in event.items() if name != "type"})

    def _error(self, event: dict[str, Any]) -> None:
        self.fail(read_error(event, failed=True) or ApiError(None, None, None), event)

    def _ping(self, event: dict[str, Any]) -> None:
        """Counted, and nothing else."""

    # Blocks

    def _content(self, begun: Json) -> list[Any]:
        blocks = [block.finished(f"content[{i}]", self._book) for i, block in enumerate(self._blocks)]
        return begun if not blocks and isinstance(begun, list) else blocks

    def _open(self, event: dict[str, Any], start: dict[str, Any]) -> _Block:
        block = _Block(dict(start))
        self._blocks.append(block)
        if type(index := event.get("index")) is int:
            self._by_index[index] = block
        return block

    def _block(self, event: dict[str, Any]) -> _Block | None:
        """The block an event is for: the one of that index, or without an index the newest."""
        index = event.get("index")
        if type(index) is int:
            return self._by_index.get(index)
        return self._blocks[-1] if self._blocks else None

    def _keep(self, members: dict[str, Any]) -> None:
        self._rest |= {name: value for name, value in members.items() if value is not None or name not in self._rest}

    def _note(self, code: str, detail: str) -> None:
        self._book.add(Note(code, detail))


_HANDLERS: dict[str, Callable[[Assembler, dict[str, Any]], None]] = {
    "content_block_delta": Assembler._block_delta,
    "content_block_start": Assembler._block_start,
    "content_block_stop": Assembler._block_stop,
    "message_start": Assembler._message_start,
    "message_delta": Assembler._message_delta,
    "message_stop": Assembler._message_stop,
    "ping": Assembler._ping,
    "error": Assembler._error,
}


class _Block:
    """One content block: its start, and what its deltas bring until it is joined."""

    __slots__ = ("lists", "open", "pieces", "start")

    def __init__(self, start: dict[str, Any]) -> None:
        self.start = start
        self.open = True
        self.pieces: dict[str, list[str]] = {}
        self.lists: dict[str, list[Any]] = {}

    def take(self, kind: str, delta: dict[str, Any]) -> bool:
        """Takes one delta; False when its type is not known, or when it does not hold what its type says."""
        name = _TEXT.get(kind, "")
        if type(piece := delta.get(name)) is str:
            self.pieces.setdefault(name, []).append(piece)
        elif kind == "signature_delta":  # comes whole
            self.start["signature"] = delta.get("signature")
        elif kind == "citations_delta":
            self.lists.setdefault("citations", []).append(delta.get("citation"))
        elif kind == "compaction_delta":
            self.start |= {name: value for name, value in delta.items() if name != "type"}
        else:
            self.lists.setdefault(kind, []).append(delta)
            return False
        return True

    def finished(self, path: str, book: Notebook) -> dict[str, Any]:
        """The block as the API would have sent it whole."""
        block = self.start
        for name, pieces in self.pieces.items():
            if name != "partial_json":
                block[name] = _joined([base, *pieces] if type(base := block.get(name)) is str else pieces)
        for name, members in self.lists.items():
            block[name] = [*base, *members] if isinstance(base := block.get(name), list) else members
        if text := "".join(self.pieces.get("partial_json", ())):
            block["input"] = _input(text, f"{path}.input", book)
        if self.open:
            book.add(Note("block_unfinished", "no content_block_stop came for it", path))
        return block


def _input(text: str, path: str, book: Notebook) -> Json:
    """A tool's input out of its joined pieces; the text itself where it is no JSON, as after a cut."""
    try:
        document = parse(text.encode("utf-8", "surrogatepass"))
    except NotJson as error:
        book.add(Note("input_incomplete", f"kept as text: {error.reason}", path))
        return text
    book.extend(Note(note.code, note.detail, f"{path}.{note.path}" if note.path else path) for note in document.notes)
    return document.value


def _joined(pieces: list[str]) -> str:
    """The text of several deltas. Servers that count in UTF-16 may put the halves of one character into two of them."""
    text = "".join(pieces)
    if _SPLIT_PAIR.search(text):
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def _name_unknown(block: Json, index: int, book: Notebook) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if type(kind) is not str:
        book.add(Note("unknown_block", "a block without a type", f"content[{index}]"))
    elif kind not in KNOWN_BLOCKS:
        book.add(Note("unknown_block", f"a block of type {kind[:_MOST_NAMES]!r}", f"content[{index}]"))


def _served(usage: Json) -> str | None:
    """The model of the fallback that served the answer, where the iterations tell of one."""
    passes = usage.get("iterations") if isinstance(usage, dict) else None
    for one in reversed(passes) if isinstance(passes, list) else ():
        if isinstance(one, dict) and one.get("type") == "fallback_message":
            return _text(one.get("model"))
    return None


def _member(value: dict[str, Any], name: str) -> dict[str, Any] | None:
    member = value.get(name)
    return member if isinstance(member, dict) else None


def _text(value: Json) -> str | None:
    return value if type(value) is str else None
