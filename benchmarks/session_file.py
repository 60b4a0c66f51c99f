"""One file of a made-up session, as Claude Code 2.1.258 and 2.1.332 write it.

Every text is invented, the shape is real: compact JSON with text unescaped; one row for each content block of an
answer, all with the same id and the same usage; tool results twice, for the model and for the screen; from 2.1.332 on
the requests themselves, by hashes of their messages; files of their own for sub-agents. What no reader of usage looks
at is short: hashes are random and prove nothing.

Rows are dicts, which orjson writes faster than a disk takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from benchmarks.session_texts import Texts

type Row = dict[str, Any]

COMPACT_OVER = 640_000
"""Characters of a conversation from which it begins anew with its summary."""

BEGIN = datetime(2026, 9, 1, tzinfo=UTC).timestamp()
DAYS = 89
BETAS = ("claude-code-20250219", "interleaved-thinking-2025-05-14", "context-management-2025-06-27")
TOOLS = {"Bash": 42, "Read": 24, "Edit": 20, "Grep": 9, "Write": 5}
"""How often which tool is used."""

ANNOUNCED = {
    "environment": 700,
    "deferred_tools_delta": 500,
    "agent_listing_delta": 1_900,
    "skill_listing": 6_200,
    "instructions": 3_000,
    "session_context": 500,
    "date": 40,
}
"""Attachments at the start of a session, and their characters."""


@dataclass(frozen=True, slots=True)
class Client:
    """A version, and how it writes. ``requests``: its requests too; ``merged``: what it has to say to the model goes
    into the user's messages, which then have to be logged a second time."""

    version: str
    models: tuple[str, ...]
    requests: bool = True
    merged: bool = False


class Tokens(NamedTuple):
    """What calls spent, each call counted once."""

    fresh: int = 0
    output: int = 0
    written: int = 0
    read: int = 0

    def plus(self, other: Tokens) -> Tokens:
        return Tokens(*(one + more for one, more in zip(self, other, strict=True)))


NOTHING = Tokens()


@dataclass(frozen=True, slots=True)
class Written:
    """Files of rows and their bytes, calls, the rows that first told of them, tokens."""

    files: int = 0
    size: int = 0
    calls: int = 0
    rows: int = 0
    tokens: Tokens = NOTHING

    def plus(self, other: Written) -> Written:
        return Written(
            self.files + other.files,
            self.size + other.size,
            self.calls + other.calls,
            self.rows + other.rows,
            self.tokens.plus(other.tokens),
        )


class Session:
    """A session, or a sub-agent of its ``parent``, whose file stands in a folder beside the parent's. ``kept``: the
    rows that a fork would copy."""

    def __init__(self, texts: Texts, folder: Path, client: Client, parent: Session | None = None) -> None:
        self.kept: list[Row] | None = None
        self._texts, self._folder, self._client = texts, folder, client
        self._id: str = parent._id if parent else texts.uuid()
        self._time: float = parent._time if parent else BEGIN + texts.random.uniform(0, DAYS * 86_400)
        self._model: str = parent._model if parent else texts.random.choice(client.models)
        self._agent: Row = {"agentId": f"a{texts.random.getrandbits(64):016x}"} if parent else {}
        self._agents = Written()
        self._size = self._calls = self._rows = self._prompts = 0
        self._spent = NOTHING
        self._cwd = folder.name.replace("-", "/")
        self._leaf: str | None = None
        self._anew()
        name = f"{self._id}/subagents/agent-{self._agent['agentId']}" if parent else self._id
        path = folder / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("xb")
        if parent:
            meta = {"agentType": "general-purpose", "description": "look", "toolUseId": texts.token("toolu")}
            path.with_suffix(".meta.json").write_bytes(orjson.dumps(meta))

    def _anew(self) -> None:
        """Nothing has been sent yet."""
        self._chars = self._cached = self._sent = 0
        self._hashes: list[str] = []
        self._base: str | None = None
        self._shape: str | None = None

    def written(self) -> Written:
        """What it told, and its sub-agents."""
        return self._agents.plus(Written(1, self._size, self._calls, self._rows, self._spent))

    def run(self, size: int) -> None:
        """Prompts and their answers until so many bytes more stand in the file, which is closed then."""
        random, end = self._texts.random, self._size + size
        agents = random.randint(1, 3) if not self._agent and not self._size and random.random() < 0.35 else 0
        with self._file:
            while self._size < end:
                if self._chars > COMPACT_OVER:
                    self._compact()
                first = not self._chars
                self._ask(first)
                if first or (not self._agent and random.random() < 0.06):
                    self._start(first)
                for _ in range(min(60, int(random.expovariate(1 / 7)))):
                    self._results(self._call())
                    if self._size > end:
                        break
                if agents and random.random() < 0.5:
                    agents -= 1
                    self._delegate()
                self._call(last=True)
                self._rest()

    def fork(self) -> Session:
        """A session that begins with a copy of this one's rows, and is still to be run."""
        other = Session(self._texts, self._folder, self._client)
        origin = {"requestSessionId": self._id} if self._client.requests else {}
        for row in self.kept or ():
            other._put(row | {"sessionId": other._id} | (origin if row["type"] == "assistant" else {}))
        other._model, other._time, other._leaf = self._model, self._time + 60, self._leaf
        other._chars, other._cached, other._hashes = self._chars, self._cached, list(self._hashes)
        return other

    def _put(self, row: Row) -> None:
        line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        self._file.write(line)
        self._size += len(line)

    def _note(self, kind: str, **members: Any) -> None:
        """A row beside the conversation."""
        self._put({"type": kind, "sessionId": self._id} | self._agent | members)

    def _say(self, row: Row, after: Row) -> str:
        """A row of the conversation, the child of the one before; its id."""
        row = {"parentUuid": self._leaf, "isSidechain": bool(self._agent), **self._agent, **row}
        self._leaf = name = self._texts.uuid()
        row |= {"uuid": name, "timestamp": self._stamp(), **after, "userType": "external", "entrypoint": "cli"}
        row |= {"cwd": self._cwd, "sessionId": self._id, "version": self._client.version, "gitBranch": "main"}
        self._put(row)
        if self.kept is not None:
            self.kept.append(row)
        return name

    def _stamp(self) -> str:
        self._time += self._texts.random.uniform(0.04, 4)
        return datetime.fromtimestamp(self._time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _user(self, content: str | Sequence[Row], after: Row) -> None:
        row = {"promptId": self._prompt, "type": "user", "message": {"role": "user", "content": content}}
        self._say(row, after)

    def _attach(self, kind: str, text: str | None = None, **members: Any) -> None:
        """What the client tells the model: ``text``, as it is and as the newer version shows it to the model."""
        if text is not None:
            members["text"] = text
        shown: Row = {}
        if text is not None and self._client.requests:
            reminder = f"<system-reminder>\n{text}\n</system-reminder>"
            shown = {"rendered": [{"content": reminder}], "renderedRole": "system"}
        self._say({"attachment": {"type": kind, **members}, "type": "attachment"}, shown)

    def _message(self, chars: int, logged: Sequence[Row] = ()) -> None:
        """One message more in the next request. ``logged``: its blocks, where no row of the conversation has them."""
        self._chars += chars
        if not self._client.requests:
            return
        self._hashes.append(self._texts.hash())
        if logged:
            self._note("api-request-blob", hash=self._hashes[-1], message={"role": "user", "content": logged})

    def _ask(self, first: bool) -> None:
        """The user's word."""
        texts = self._texts
        self._prompt, text = texts.uuid(), texts.prose(20, 1_500)
        turn = {"promptIndex": 0, "turnIndex": self._prompts}
        self._prompts += 1
        if not self._agent:
            self._time += texts.random.uniform(2, 600)
            self._note("queue-operation", operation="enqueue", timestamp=self._stamp(), content=text)
            self._note("queue-operation", operation="dequeue", timestamp=self._stamp())
        self._user(text, {"permissionMode": "default", "promptSource": "cli", "turnPosition": turn})
        before = texts.prose(11_000 if first else 90)
        merged = first or self._client.merged
        self._message(len(text) + len(before), [_text(before), _text(text)] if merged else ())

    def _start(self, first: bool) -> None:
        """What a start of the program leaves behind."""
        texts = self._texts
        if self._client.requests:
            for kind, chars in ANNOUNCED.items() if first else ():
                self._attach(kind, texts.prose(chars))
            self._attach("prompt_snapshot", systemPrompt=texts.system, reminderFold=False)
            self._attach("prompt_snapshot", systemPrompt=texts.system, tools=texts.tools, reminderFold=False)
            self._base, self._sent = None, 0
        elif first:
            self._attach("skill_listing", content=texts.prose(5_800), skillCount=13, isInitial=True)

    def _call(self, *, last: bool = False) -> dict[str, Row]:
        """One call of the API, with a row for each block of its answer. The tool uses among them, by their rows' ids;
        the ``last`` call of a turn has none."""
        texts, after = self._texts, dict[str, Any]()
        members = {"requestId": texts.token("req")}
        if self._client.requests:
            members |= {"requestRef": self._request(), "requestedModel": self._model}
            members |= {"promptCacheRequested": "5m" if self._agent else "1h"}
            after = {"effort": "medium", "perTurnEffort": "medium", "madeBy": "model"}
        blocks = self._answer(last)
        chars = sum(len(text) for block in blocks for text in _strings(block))
        message = {"model": self._model, "id": texts.token("msg"), "type": "message", "role": "assistant"}
        more = {"stop_reason": "end_turn" if last else "tool_use", "stop_sequence": None, "usage": self._spend(chars)}
        uses = {}
        for index, block in enumerate(blocks):
            told = {"message": {**message, "content": [block], **more}, "apiBlockIndex": index}
            name = self._say({**told, **members, "type": "assistant"}, after)
            if block["type"] == "tool_use":
                uses[name] = block
        self._message(chars)
        self._rows += len(blocks)
        return uses

    def _answer(self, last: bool) -> list[Row]:
        texts, random = self._texts, self._texts.random
        blocks: list[Row] = []
        if random.random() < 0.65:
            thinking = texts.prose(150, 2_500) if random.random() < 0.4 else ""
            blocks.append({"type": "thinking", "thinking": thinking, "signature": texts.noise(300, 3_200)})
        if last or random.random() < 0.5:
            blocks.append(_text(texts.prose(60, 3_000 if last else 500)))
        if not last:
            blocks += [self._use() for _ in range(1 if random.random() < 0.87 else random.randint(2, 3))]
        return blocks

    def _use(self) -> Row:
        texts = self._texts
        name = texts.random.choices([*TOOLS], [*TOOLS.values()])[0]
        path = f"{self._cwd}/src/m{texts.random.randrange(400)}.py"
        match name:
            case "Bash":
                given: Row = {"command": texts.prose(40, 500), "description": "Run it"}
            case "Edit":
                old, new = texts.code(100, 3_500), texts.code(100, 4_500)
                given = {"replace_all": False, "file_path": path, "old_string": old, "new_string": new}
            case "Write":
                given = {"file_path": path, "content": texts.code(800, 30_000)}
            case _:
                given = {"file_path": path}
        return {"type": "tool_use", "id": texts.token("toolu"), "name": name, "input": given}

    def _request(self) -> str:
        """What is logged of a request; its id."""
        texts, name = self._texts, self._texts.uuid()
        if self._shape is None:
            self._shape = texts.hash()
            shape = {"system": [_text(text) for text in texts.system], "tools": texts.tools[:12]}
            self._note("api-request-shape", shapeHash=self._shape, timestamp=self._stamp(), shape=shape)
        self._note(
            "api-request",
            id=name,
            timestamp=self._stamp(),
            version=self._client.version,
            querySource="agent:builtin:general-purpose" if self._agent else "repl_main_thread",
            shapeHash=self._shape,
            params={"model": self._model, "betas": BETAS, "max_tokens": 128_000, "thinking": {"type": "adaptive"}},
            thread={"type": "none"},
            **({"base": self._base} if self._base else {}),
            keep=self._sent,
            tail=self._hashes[self._sent :],
            cacheControl=[{"path": ["system", place], "value": {"type": "ephemeral"}} for place in (0, 1)],
            requestDigest=texts.hash(),
        )
        self._base, self._sent = name, len(self._hashes)
        return name

    def _spend(self, chars: int) -> Row:
        """The usage of a call whose answer has so many characters. Here it is counted, and nowhere else."""
        random, total = self._texts.random, 20_000 + self._chars // 4
        read = min(self._cached, total)
        spent = Tokens(random.randint(2, 12), chars // 4 + random.randint(1, 40), total - read, read)
        self._cached = total
        self._spent = self._spent.plus(spent)
        self._calls += 1
        return _usage(spent, hour=not self._agent, thinking=self._client.requests)

    def _results(self, uses: dict[str, Row]) -> None:
        """What the tools gave, and the client's reminder."""
        texts, blocks = self._texts, list[Row]()
        for row, use in uses.items():
            kind, path = texts.random.random(), use["input"].get("file_path")
            limits = (80, 3_500) if kind < 0.82 else (3_500, 12_000) if kind < 0.972 else (10_000, 200_000)
            text = texts.code(*((80, 400) if use["name"] in ("Edit", "Write") else limits))
            match use["name"]:
                case "Bash" | "Grep":
                    shown: Row = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
                case "Read":
                    shown = {"type": "text", "file": {"filePath": path, "content": text, "startLine": 1}}
                case _:
                    shown = {"filePath": path, "originalFile": texts.code(300, 5_000)}
            blocks.append({"tool_use_id": use["id"], "type": "tool_result", "content": text})
            seen = {} if self._agent else {"toolUseResult": shown}
            self._user(blocks[-1:], seen | {"sourceToolAssistantUUID": row})
        left = f"<total_tokens>{15_000_000 - self._cached} tokens left</total_tokens>"
        self._attach("total_tokens_reminder", left)
        merged = [*blocks, _text(left)] if self._client.merged else ()
        self._message(sum(len(block["content"]) for block in blocks), merged)

    def _delegate(self) -> None:
        """A sub-agent that is waited for: a file of its own, and here a result that tells one of its usages again."""
        texts = self._texts
        agent = Session(texts, self._folder, self._client, parent=self)
        agent.run(texts.between(120_000 if self._client.requests else 40_000, 500_000))
        self._time = agent._time
        self._agents = self._agents.plus(agent.written())
        usage = _usage(Tokens(7, 363, 7_447, 0), hour=False, thinking=True)
        for row, use in self._call().items():
            content = [_text(texts.prose(1_500))]
            result = {"status": "completed", **agent._agent, "content": content, "totalTokens": 7_817, "usage": usage}
            block = {"tool_use_id": use["id"], "type": "tool_result", "content": content}
            self._user([block], {"toolUseResult": result, "sourceToolAssistantUUID": row})
        self._message(1_500)

    def _compact(self) -> None:
        """The conversation begins anew, from its summary."""
        self._note("mode", mode="normal")
        about = {"trigger": "auto", "preTokens": self._cached, "postTokens": 3_026}
        boundary = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
        old, self._leaf = self._leaf, None
        self._say({"logicalParentUuid": old, **boundary}, {"level": "info", "compactMetadata": about})
        self._user(self._texts.prose(6_000), {"isVisibleInTranscriptOnly": True, "isCompactSummary": True})
        self._anew()

    def _rest(self) -> None:
        """What is written when the client waits for the user."""
        if self._agent:
            return
        self._note("last-prompt", lastPrompt=self._texts.prose(120), leafUuid=self._leaf)
        self._note("atis-latch", atis="")
        if self._client.requests and self._texts.random.random() < 0.25:
            spent = self.written().tokens
            told = {"inputTokens": spent.fresh, "outputTokens": spent.output, "thinkingTokens": 0}
            told |= {"cacheReadInputTokens": spent.read, "cacheCreationInputTokens": spent.written}
            self._note("cost-state", totalCostUSD=0.13, modelUsage={self._model: told})


def _text(text: str) -> Row:
    return {"type": "text", "text": text}


def _strings(block: Row) -> list[str]:
    """The strings that a block of an answer consists of."""
    return [value for value in block.get("input", block).values() if isinstance(value, str)]


def _usage(spent: Tokens, *, hour: bool, thinking: bool) -> Row:
    """Counters as a row tells them. ``hour``: cache writes live an hour; ``thinking``: what was thought is told."""
    split = {"ephemeral_1h_input_tokens": spent.written * hour}
    split |= {"ephemeral_5m_input_tokens": spent.written * (not hour)}
    return {
        "input_tokens": spent.fresh,
        "cache_creation_input_tokens": spent.written,
        "cache_read_input_tokens": spent.read,
        "output_tokens": spent.output,
        **({"output_tokens_details": {"thinking_tokens": spent.output // 3}} if thinking else {}),
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": split,
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
    }
