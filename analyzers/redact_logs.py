"""Records of Claude Code's session files, redacted so that what is verified by hash still verifies.

A file keeps requests as hashes of messages (``readers.claude_requests``). So it is read once before: every message
whose hash was right gets the hash of its redacted form, every digest of a whole request that was right is made anew of
the redacted request, and a hash of something that is not in the file becomes a keyed one. Memory: the file's messages,
as for reading it.
"""

from __future__ import annotations

from typing import Any

from analyzers.path_patterns import NOWHERE, Place
from analyzers.readers.claude_records import SessionRecords
from analyzers.readers.claude_requests import hash_of, message_hash, request_digest
from analyzers.redact import Redactor
from analyzers.wire.jsontext import Json, NotJson, dump, parse


class LogRedactor:
    """The records of one file: first ``learn`` each, then ``settle``, then ``record`` each."""

    def __init__(self, redactor: Redactor, root: Place = NOWHERE) -> None:
        self._redactor = redactor.unmarked()
        self._root = root
        self._records: SessionRecords | None = SessionRecords()
        self._hashes: dict[str, str] = {}
        self._digests: dict[str, str] = {}
        self._line = 0

    def learn(self, record: Json) -> None:
        """Takes a record as it was."""
        assert self._records is not None
        self._line += 1
        self._records.take(record, self._line)
        if type(record) is not dict:
            return
        kind = record.get("type")
        if kind == "api-request-shape" and type(record.get("shape")) is dict:
            self._pair(record.get("shapeHash"), hash_of(record["shape"]), hash_of(self._value(record["shape"])))
        elif kind == "api-request-blob" and type(record.get("message")) is dict:
            message = record["message"]
            self._pair(record.get("hash"), message_hash(message), message_hash(self._value(message)))

    def settle(self) -> None:
        """All records were learnt: finds what the hashes of requests mean."""
        assert self._records is not None
        log = self._records.requests
        for name, record in log.requests.items():
            body = log.rebuild(name).body
            if body is None:
                continue
            tail = record["tail"]
            own = body["messages"][len(body["messages"]) - len(tail) :] if tail else []
            for told, message in zip(tail, own, strict=True):
                if told not in self._hashes:
                    self._pair(told, message_hash(message), message_hash(self._value(message)))
            params = record.get("params")
            betas = params.get("betas") if type(params) is dict else None
            told = record.get("requestDigest")
            if type(told) is str and request_digest(body, betas) == told:
                self._digests[name] = request_digest(self._value(body), self._value({"betas": betas})["betas"])
        self._records = None

    def record(self, record: Json) -> Json:
        """The record, redacted."""
        new = self._redactor.value(record, self._root)
        if type(record) is not dict or type(new) is not dict:
            return new
        for name in ("hash", "shapeHash"):
            if type(record.get(name)) is str:
                new[name] = self._hash(record[name])
        if record.get("type") == "api-request":
            if type(record.get("tail")) is list:
                new["tail"] = [self._hash(told) if type(told) is str else self._value(told) for told in record["tail"]]
            if type(record.get("requestDigest")) is str:
                digest = self._digests.get(str(record.get("id")))
                new["requestDigest"] = digest or self._redactor.hash(record["requestDigest"])
            if type(record.get("cacheControl")) is list and type(new.get("cacheControl")) is list:
                for told, made in zip(record["cacheControl"], new["cacheControl"], strict=True):
                    if type(told) is dict and type(made) is dict and type(told.get("path")) is list:
                        made["path"] = told["path"]
        elif type(record.get("error")) is dict and type(new.get("error")) is dict:
            self._error(record["error"], new["error"])
        return new

    def _value(self, value: Json) -> Json:
        return self._redactor.value(value)

    def _pair(self, told: Json, found: str, new: str) -> None:
        if type(told) is str and told == found:
            self._hashes[told] = new

    def _hash(self, told: str) -> str:
        return self._hashes.get(told) or self._redactor.hash(told)

    def _error(self, told: dict[str, Any], new: dict[str, Any]) -> None:
        """What the client quotes of the API's error: its JSON behind the status."""
        message = told.get("message")
        if type(message) is not str or type(new.get("message")) is not str:
            return
        status, brace, rest = message.partition("{")
        try:
            value = parse((brace + rest).encode("utf-8", "surrogatepass")).value if brace else None
        except NotJson:
            return
        if type(value) is dict and dump(value).decode() == brace + rest:
            kept = status if status.strip().isdigit() else self._redactor.text(status)
            new["message"] = kept + dump(self._value(value)).decode()
