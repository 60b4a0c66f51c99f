"""The requests that newer Claude Code session files keep: put together again, and proved.

Three kinds of records: ``api-request-shape`` (system and tools), ``api-request-blob`` (a message), ``api-request``
(parameters, and the messages as hashes: the first ``keep`` of its ``base``, then its ``tail``). A message without a
blob is a run of user or assistant records of the same file. Hashes are SHA-256 of compact JSON with sorted keys,
without ``cache_control``, a string content taken as one text block; ``requestDigest`` is one over the whole (measured
on 74 of 74 requests of 2.1.332 against the wire: equal in every field, and every digest agrees). The format is the
client's own and may change: whatever does not fit leaves the request without a body, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import orjson

from analyzers.digests import as_blocks, is_billing
from analyzers.wire.jsontext import Json
from analyzers.wire.note import Note

NOT_KEPT = "the log keeps no metadata, stream, diagnostics, nor the client's billing line in system: sizes are without"
_OUTSIDE_DIGEST = frozenset(("metadata", "stream", "thread", "diagnostics", "safeguards", "data_flow"))
_LONGEST_RUN = 200


@dataclass(slots=True)
class _Run:
    """Consecutive records of one side: a message is one of them, or all up to one of them."""

    role: str
    message_id: str | None
    contents: list[Json] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A request put together again. ``body`` None: it could not be, ``reason`` says why."""

    body: dict[str, Any] | None
    betas: tuple[str, ...] = ()
    reason: str | None = None
    notes: tuple[Note, ...] = ()


class RequestLog:
    """What one session file keeps of requests. Fed record by record; asked when the file is through."""

    def __init__(self) -> None:
        self.requests: dict[str, dict[str, Any]] = {}
        self._shapes: dict[str, dict[str, Any]] = {}
        self._messages: dict[str, Json] = {}
        self._runs: list[_Run] = []
        self._chains: dict[str, list[str] | None] = {}
        self._settled = False
        self._unverified: set[str] = set()

    def add(self, kind: str, record: dict[str, Any]) -> None:
        """Takes one record of the three kinds. Raises KeyError or TypeError on one that is made otherwise."""
        if kind == "api-request-shape":
            name, shape = str(record["shapeHash"]), dict(record["shape"])
            self._shapes[name] = shape
            if hash_of(shape) != name:
                self._unverified.add(name)
        elif kind == "api-request-blob":
            name, message = str(record["hash"]), dict(record["message"])
            self._messages[name] = message
            if message_hash(message) != name:
                self._unverified.add(name)
        else:
            self.requests[str(record["id"])] = record

    def told(self, role: str, message_id: str | None, content: Json) -> None:
        """Takes a user or assistant record: what messages without a blob are made of."""
        run = self._runs[-1] if self._runs else None
        same = (
            run is not None and run.role == role and (role == "user" or (message_id and run.message_id == message_id))
        )
        if run is None or not same or len(run.contents) >= _LONGEST_RUN:
            run = _Run(role, message_id)
            self._runs.append(run)
        run.contents.append(content)

    def boundary(self) -> None:
        """The conversation was compacted: no message goes over it."""
        self._runs.append(_Run("", None))

    def rebuild(self, name: str) -> Rebuilt:
        """The request with this id, with its ``cache_control`` marks."""
        self._settle()
        record = self.requests[name]
        hashes = self._chain(name)
        shape = self._shapes.get(str(record.get("shapeHash")))
        if hashes is None or shape is None:
            return Rebuilt(None, reason="the log does not hold what this request builds upon")
        missing = sum(item not in self._messages for item in hashes)
        if missing:
            return Rebuilt(None, reason=f"{missing} of the {len(hashes)} messages of this request are not in the log")
        params = record.get("params")
        params = dict(params) if type(params) is dict else {}
        betas = params.pop("betas", None)
        body = params | shape | {"messages": [wire_form(self._messages[item]) for item in hashes]}
        if not all(_marked(body, mark) for mark in _list(record.get("cacheControl"))):
            return Rebuilt(None, reason="the log marks a cache_control where this request has nothing")
        names = tuple(beta for beta in _list(betas) if type(beta) is str)
        return Rebuilt(body, names, notes=(self._proof(record, hashes, body, betas), Note("not_in_log", NOT_KEPT)))

    def _proof(self, record: dict[str, Any], hashes: list[str], body: dict[str, Any], betas: Json) -> Note:
        told = record.get("requestDigest")
        if told is not None and told == request_digest(body, betas):
            return Note("rebuilt_from_log", "put together from the log, and proved by the log's digest of the request")
        doubtful = len(self._unverified.intersection((*hashes, str(record.get("shapeHash")))))
        if doubtful:
            return Note("rebuilt_from_log", f"put together from the log; {doubtful} parts differ from their hashes")
        if told is None:
            return Note("rebuilt_from_log", "put together from the log; each part has its hash, the whole has none")
        return Note("rebuilt_from_log", "put together from the log; each part has its hash, but the whole has another")

    def _chain(self, name: str) -> list[str] | None:
        """The hashes of all messages of a request: what it keeps of its base, and its own."""
        below: list[str] = []
        at: str | None = name
        while at is not None and at not in self._chains:
            if at in below or at not in self.requests:  # a circle, or a base that is not there
                self._chains[at] = None
                break
            below.append(at)
            base = self.requests[at].get("base")
            at = base if type(base) is str else None
        for item in reversed(below):
            self._chains[item] = self._extended(self.requests[item])
        return self._chains[name]

    def _extended(self, record: dict[str, Any]) -> list[str] | None:
        base, keep, tail = record.get("base"), record.get("keep", 0), record.get("tail")
        before = self._chains.get(base) if type(base) is str else []
        if before is None or type(keep) is not int or not 0 <= keep <= len(before) or type(tail) is not list:
            return None
        return before[:keep] + [str(item) for item in tail]

    def _settle(self) -> None:
        """Finds the messages that no blob holds among the runs: single records, whole runs, then all beginnings."""
        if self._settled:
            return
        self._settled = True
        wanted = {item for record in self.requests.values() for item in map(str, _list(record.get("tail")))}
        wanted -= self._messages.keys()
        for beginnings in (False, True):
            if not wanted:
                break
            for run in self._runs:
                for message in _candidates(run, beginnings):
                    name = message_hash(message)
                    if name in wanted:
                        self._messages[name] = message
                        wanted.discard(name)
        self._runs.clear()


def _candidates(run: _Run, beginnings: bool) -> Iterable[dict[str, Json]]:
    """Messages that a run may be: each record, the whole; or, asked again, every beginning of it."""
    if not run.role:
        return
    if not beginnings:
        for content in run.contents if run.role == "user" else run.contents[:1]:
            yield {"role": run.role, "content": content}
    counts = range(2, len(run.contents)) if beginnings else (len(run.contents),)
    for count in counts:
        if count > 1:
            blocks = [block for content in run.contents[:count] for block in as_blocks(content)]
            yield {"role": run.role, "content": blocks}


def wire_form(message: Json) -> Json:
    """A message as this client sends it: a lone block of nothing but text goes as a string (measured)."""
    content = message.get("content") if type(message) is dict else None
    if type(content) is list and len(content) == 1 and type(content[0]) is dict and set(content[0]) == {"type", "text"}:
        return message | {"content": content[0]["text"]}
    return message


def _marked(body: dict[str, Any], mark: Json) -> bool:
    """Puts one ``cache_control`` at its path, copying what is on the way; whether there was such a place."""
    path = mark.get("path") if type(mark) is dict else None
    if type(path) is not list or not path:
        return False
    at: Any = body
    for key in path:
        if type(at) is dict and key == "content" and type(at.get("content")) is str:
            at["content"] = as_blocks(at["content"])
        try:
            inner = at[key]
        except (KeyError, IndexError, TypeError):
            return False
        if type(inner) is not dict and type(inner) is not list:
            return False
        at[key] = inner = inner.copy()
        at = inner
    if type(at) is not dict:
        return False
    at["cache_control"] = mark.get("value")
    return True


def request_digest(body: dict[str, Any], betas: Json) -> str | None:
    """What the log calls ``requestDigest``: the hash of a body without what it leaves out, the beta names added."""
    kept = {name: value for name, value in body.items() if name not in _OUTSIDE_DIGEST}
    if type(kept.get("system")) is list:
        kept["system"] = [block for block in kept["system"] if not is_billing(block)]
    kept["messages"] = [_in_blocks(message) for message in _list(kept.get("messages"))]
    if betas is not None:
        kept["betas"] = betas
    return _sha(kept)


def message_hash(message: Json) -> str | None:
    """The hash by which a log names a message; None for what cannot be hashed so."""
    return hash_of(_in_blocks(message))


def hash_of(value: Json) -> str | None:
    """SHA-256 of compact JSON with sorted keys and without ``cache_control`` at any depth; None for JSON too deep."""
    return _sha(value, without_marks=True)


def _sha(value: Json, *, without_marks: bool = False) -> str | None:
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        if without_marks and b'"cache_control"' in text:
            text = orjson.dumps(_unmarked(value), option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):  # lone surrogates, or too deep for the fast writer
        try:
            plain = _unmarked(value) if without_marks else value
            text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
                "utf-8", "surrogatepass"
            )
        except (RecursionError, TypeError, ValueError):
            return None
    return sha256(text).hexdigest()


def _unmarked(value: Json) -> Json:
    """A copy without any member named ``cache_control``."""
    holder: list[Json] = [value]
    stack: list[Any] = [holder]
    while stack:
        node = stack.pop()
        members = list(node.items()) if type(node) is dict else list(enumerate(node))
        for key, member in members:
            if type(member) is dict:
                node[key] = inner = {name: item for name, item in member.items() if name != "cache_control"}
                stack.append(inner)
            elif type(member) is list:
                node[key] = copied = member.copy()
                stack.append(copied)
    return holder[0]


def _in_blocks(message: Json) -> Json:
    if type(message) is dict and type(message.get("content")) is str:
        return message | {"content": as_blocks(message["content"])}
    return message


def _list(value: Json) -> list[Any]:
    return value if type(value) is list else []
