"""The tokens of a request's prompt before it is sent, row by row of the ledger, and what of them is not known.

The rows are the ledger's (``blocks``), so an estimate can stand beside sizes. Texts are weighed (``tokens``); images
and documents count by their size (``media_tokens``); what stands in no field, such as frames and the system prompt for
tools, is named apart (``prompt_frames``). A row that cannot be told is unknown, with the reason, and the total says "at
least": base64, signatures and encrypted data are never estimated from their characters. Tools with ``defer_loading``
are on the wire and not in the prompt, so they are listed apart.

Pure. Cost: O(characters) for what is new; the weights of texts met lately are remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from analyzers.blocks import Part, Row, parts
from analyzers.media_tokens import HIGH, STANDARD, image_tokens, pdf_tokens
from analyzers.models import model_of
from analyzers.prompt_frames import DEFERRED, EXAMPLES, FRAMES, Frames, own_tool, tool_prompt
from analyzers.sizes import field_name
from analyzers.spaced_json import spaced
from analyzers.tokens import NEWEST, NOTHING, Family, TextWeight, Weights, family_of, sum_of, tokens_of
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json
from analyzers.wire.media import inspect

NOT_SENT: Final = "not part of the prompt"
FOLDED: Final = "folded, and no note tells its weight"
SIGNED: Final = "thinking counts as its signature holds it, not as its text here"
_OPAQUE: Final = {
    "signature": SIGNED,
    "encrypted": "encrypted: its characters tell nothing of its tokens",
    "url": "behind a URL: not in the request",
    "file": "behind a file id: not in the request",
}
_SHOWN: Final = ("name", "description", "input_schema")
_SENT: Final = frozenset(("system", "messages", "tools"))
_ADDING: Final = {
    "mcp_servers": "the tools of these servers are not in the request",
    "container": "its skills are not in the request",
    "thread": "the beginning of the thread is not in the request",
    "requests": "a batch: estimate each of its requests",
}
"""Fields that add to the prompt what the request does not hold."""


@dataclass(frozen=True, slots=True)
class RowTokens:
    """One row. ``tokens`` None: unknown, or a range; ``reason`` says why, and why a 0 is one. ``low``: of them, what is
    known; ``high`` None: nobody can tell. ``weight``: of its texts."""

    row: Row
    tokens: int | None
    reason: str | None = None
    low: int = 0
    high: int | None = None
    weight: TextWeight = NOTHING


@dataclass(frozen=True, slots=True)
class FieldTokens:
    """One top-level field. ``tokens``: of its rows as far as they are known; ``at_least``: some are not."""

    name: str
    rows: tuple[RowTokens, ...]
    tokens: int
    at_least: bool

    @property
    def known(self) -> int | None:
        """What is known of the tokens; None where nothing is."""
        return None if self.at_least and not self.tokens else self.tokens


@dataclass(frozen=True, slots=True)
class Addition:
    """Tokens that stand in no field. ``tokens`` None: some, nobody tells how many; ``source``: where the figure is
    from."""

    what: str
    tokens: int | None
    source: str


@dataclass(frozen=True, slots=True)
class PromptEstimate:
    """A prompt in tokens. ``family`` None: no Claude model. ``assumed``: what was taken for granted of the model, in
    words. ``method``: what counted the texts. ``tokens``: as far as known; ``most`` None: some of it is unknown.
    ``deferred``: on the wire, not in the prompt."""

    model: str | None
    family: Family | None
    assumed: str | None
    method: str
    fields: tuple[FieldTokens, ...]
    additions: tuple[Addition, ...]
    deferred: tuple[RowTokens, ...]
    tokens: int
    most: int | None

    @property
    def at_least(self) -> bool:
        """Whether the prompt may have more tokens than were estimated."""
        return self.most != self.tokens

    @property
    def unknown(self) -> tuple[RowTokens, ...]:
        """The rows that are not wholly known."""
        return tuple(row for one in self.fields for row in one.rows if row.tokens is None)


_LATELY: Final = Weights()


def estimate(body: Json, model: str | None = None, weights: Weights | None = None) -> PromptEstimate:
    """The prompt of a request body (unfolded). ``model``: instead of the body's own. ``weights``: what weighs its
    texts, and knows those that were folded. Raises DamagedRanks."""
    named = model if model is not None else body.get("model") if type(body) is dict else None
    named = named if type(named) is str else None
    return _Prompt(body if type(body) is dict else {"": body}, named, weights or _LATELY).estimated()


@dataclass(slots=True)
class _Tally:
    """What was found of a row so far."""

    row: Row
    weights: list[TextWeight] = field(default_factory=list)
    extra: int = 0
    low: int = 0
    high: int | None = 0
    reason: str | None = None

    def unknown(self, reason: str) -> None:
        self.high, self.reason = None, reason


class _Prompt:
    """One estimate being made."""

    def __init__(self, body: Mapping[str | Elided, Json], model: str | None, weights: Weights) -> None:
        self.body = body
        self.model = model
        self.weights = weights
        self.family = family_of(model)
        self.assumed: str | None = None
        if self.family is None and (model is None or "claude" in model.lower()):
            self.family = NEWEST
            self.assumed = "no model is named" if model is None else f"the tokenizer of {model} is not known"
            self.assumed += ": taken for one of the newest family (4.8 and 5.x)"
        elif self.family is None:
            self.assumed = f"{model} is no Claude model: its texts are counted as by o200k, without frames"
        self.frames: Frames | None = FRAMES[self.family] if self.family is not None else None
        self.tier = STANDARD if self.family == "v3" else HIGH
        tools = body.get("tools")
        self.tools: list[Json] = tools if type(tools) is list else []
        self.methods: set[str] = set()

    def estimated(self) -> PromptEstimate:
        fields, deferred = [], []
        for name, value in self.body.items():
            rows = list(self._rows(name, value))
            if name == "tools":
                deferred = [row for row in rows if self._is_deferred(row.row.path)]
                rows = [row for row in rows if not self._is_deferred(row.row.path)]
            known = sum(row.low for row in rows)
            fields.append(FieldTokens(field_name(name), tuple(rows), known, any(row.tokens is None for row in rows)))
        additions = tuple(self._additions())
        tokens = sum(one.tokens for one in fields) + sum(one.tokens or 0 for one in additions)
        highs = [row.high for one in fields for row in one.rows] + [one.tokens for one in additions]
        return PromptEstimate(
            self.model,
            self.family,
            self.assumed,
            " and ".join(sorted(self.methods)) or "o200k",
            tuple(fields),
            additions,
            tuple(deferred),
            tokens,
            None if None in highs else sum(high for high in highs if high is not None),
        )

    def _rows(self, name: str | Elided, value: Json) -> Iterator[RowTokens]:
        if name not in _SENT:
            adds = _ADDING.get(name) if isinstance(name, str) else None
            if name == "output_config" and type(value) is dict and value.get("format"):
                adds = "what the API says to the model about the format is not published"
            if adds is not None and value and not (name == "container" and type(value) is str):
                yield RowTokens(Row(field_name(name), "field"), None, adds)
            else:
                yield RowTokens(Row(field_name(name), "field"), 0, NOT_SENT, high=0)
            return
        tallies: dict[Row, _Tally] = {}
        for part in parts(str(name), value):
            if part.row is None:
                continue
            tally = tallies.get(part.row)
            if tally is None:
                tally = tallies[part.row] = _Tally(part.row)
                if part.row.type == "tool":
                    self._tool(tally, self.tools[_index(part.row.path)])
            if part.row.type != "tool" and part.kind in ("value", "key"):
                self._add(tally, part)
        yield from map(self._done, tallies.values())

    def _done(self, tally: _Tally) -> RowTokens:
        weight = sum_of(tally.weights)
        if weight.classes:
            self.methods.add(weight.method(self.family))
        known = sum(tokens_of(one, self.family) for one in tally.weights) + tally.extra
        low, high = known + tally.low, None if tally.high is None else known + tally.high
        reason = tally.reason if high != low else None
        return RowTokens(tally.row, low if low == high else None, reason, low, high, weight)

    def _add(self, tally: _Tally, part: Part) -> None:
        value = part.value
        if part.cls in _OPAQUE:
            if value:
                tally.unknown(_OPAQUE[part.cls])
        elif part.cls == "base64":
            self._media(tally, value)
        elif part.row is not None and part.row.type in ("tool_reference", "tool_addition"):
            self._reference(tally, value)
        elif part.row is not None and part.row.type == "tool_removal":
            tally.unknown("what the API says to the model about it is not published")
        elif part.cls == "unknown" and part.row is not None and part.row.type not in ("text", "unknown"):
            tally.unknown(f"how a block of type {part.row.type} is shown to the model is not known")
        elif part.cls == "json" and type(value) is dict:
            self._arguments(tally, value)
        else:
            self._text(tally, value)

    def _text(self, tally: _Tally, value: Json) -> None:
        """A string, or anything else as JSON."""
        if type(value) is str:
            tally.weights.append(self.weights.of(value))
        elif isinstance(value, Elided):
            self._folded(tally, (value,))
        else:
            text, holes = spaced(value)
            tally.weights.append(self.weights.of(text))
            self._folded(tally, holes)

    def _folded(self, tally: _Tally, holes: Iterable[Elided]) -> None:
        for hole in holes:
            weight = self.weights.of_folded(hole.sha256) if hole.chars else NOTHING
            if weight is None:
                tally.unknown(FOLDED)
            else:
                tally.weights.append(weight)

    def _arguments(self, tally: _Tally, arguments: Mapping[str | Elided, Json]) -> None:
        for key, value in arguments.items():
            tally.extra += self.frames.argument if self.frames is not None else 0
            self._text(tally, key)
            self._text(tally, value)

    def _media(self, tally: _Tally, value: Json) -> None:
        """The payload of an image or a document, or what a fold marker kept of it."""
        is_image = tally.row.type == "image"
        if type(value) is str:
            found = inspect(value, "image/" if is_image else "application/pdf")
            width, height, pages = found.width, found.height, found.pages
        elif isinstance(value, Elided):
            width, height, pages = value.width, value.height, value.pages
        else:
            width = height = pages = None
        if is_image and width and height:
            tally.extra += image_tokens(width, height, self.tier)
        elif pages:
            tally.low, tally.high = pdf_tokens(pages, self.tier)
            tally.reason = f"{pages} pages: their text and pictures, as a range"
        else:
            tally.unknown("an image whose size its data does not tell" if is_image else "a document of unknown pages")

    def _tool(self, tally: _Tally, tool: Json) -> None:
        """A tool's definition, as it is shown to the model."""
        if type(tool) is not dict:
            tally.unknown("no tool")
            return
        kind = tool.get("type")
        if type(kind) is str and kind != "custom":
            adds = own_tool(kind, self.family) if self.family is not None else None
            if adds is None:
                tally.unknown(f"what a tool of type {kind} adds is not published")
            tally.extra += adds or 0
            return
        shown = {name: tool[name] for name in _SHOWN if tool.get(name) not in (None, "")}
        self._text(tally, shown)
        tally.extra += self.frames.tool if self.frames is not None else 0
        if examples := tool.get("input_examples"):
            self._text(tally, examples)
            tally.extra += EXAMPLES

    def _reference(self, tally: _Tally, value: Json) -> None:
        """A tool that is brought in later counts like one that was there from the beginning."""
        name = (value.get("name") or value.get("tool_name")) if type(value) is dict else value
        found = [tool for tool in self.tools if type(tool) is dict and tool.get("name") == name]
        if found and type(name) is str:
            self._tool(tally, found[0])
            tally.extra += self.frames.reference if self.frames is not None else 0
        else:
            tally.unknown("the tool it names is not in the request")

    def _is_deferred(self, path: str) -> bool:
        at = _index(path)
        tool = self.tools[at] if 0 <= at < len(self.tools) else None
        return type(tool) is dict and tool.get("defer_loading") is True

    def _additions(self) -> Iterator[Addition]:
        if self.family is None or self.frames is None:
            yield Addition("frames of messages and tools", None, "not known for this model")
            return
        frames = self.frames
        roles, begun, calls, results = _turns(self.body.get("messages"))
        read_off = "read off recorded counts"
        yield Addition(f"frames of messages ({roles})", frames.start + (roles - begun) * frames.message, read_off)
        if self.body.get("system") and frames.system:
            yield Addition("frame of the system prompt", frames.system, read_off)
        if calls or results:
            yield Addition(
                f"frames of tool calls ({calls}) and results ({results})",
                calls * frames.call + results * frames.result,
                read_off,
            )
        yield from self._tool_prompt()

    def _tool_prompt(self) -> Iterator[Addition]:
        assert self.family is not None
        if not self.tools:
            return
        choice = self.body.get("tool_choice")
        kind = choice.get("type") if type(choice) is dict else None
        found = tool_prompt(model_of(self.model) if self.model else None, self.family, kind in ("any", "tool"))
        told = "the API's system prompt for tools" + (f" (tool_choice {kind})" if type(kind) is str else "")
        yield Addition(told, found.tokens, "documentation" if found.listed else "documentation, of a like model")
        names = [
            tool["name"]
            for tool in self.tools
            if type(tool) is dict and tool.get("defer_loading") is True and type(tool.get("name")) is str
        ]
        if names and self.family == "v4.8":
            tokens = DEFERRED + sum(tokens_of(self.weights.of(name), self.family) for name in names)
            yield Addition(f"note on deferred tools ({len(names)})", tokens, "read off one recorded count")


def _turns(messages: Json) -> tuple[int, bool, int, int]:
    """Messages, neighbours of one role being one; whether the last is the beginning of an answer; tool calls;
    results."""
    roles = calls = results = 0
    before: Json = None
    for message in messages if type(messages) is list else ():
        if type(message) is not dict:
            continue
        if message.get("role") != before or not roles:
            roles += 1
        before = message.get("role")
        content = message.get("content")
        for block in content if type(content) is list else ():
            kind = block.get("type") if type(block) is dict else None
            if type(kind) is str:
                calls += kind in ("tool_use", "server_tool_use", "mcp_tool_use")
                results += kind.endswith("tool_result")
    return roles, before == "assistant" and roles > 1, calls, results


def _index(path: str) -> int:
    """The number in ``tools[3]``; -1 where there is none."""
    inside = path[path.find("[") + 1 : path.find("]")]
    return int(inside) if path.endswith("]") and inside.isdigit() else -1
