"""Chat stores in SQLite: ``messages(id, session_id, role, content, timestamp)``, named by ``sessions(id, channel,
user_id, created_at)``.

Such a store never saw a request. What resending everything would send is put together from it: for each turn of the
user the conversation up to there, as a request that says in a note that it was assembled. One pass in the order of
the sessions (sorted by SQLite, which goes to disk where memory does not do), the rows of one session in memory at a
time; its requests share the same message objects. The file is only ever read.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from analyzers.digests import as_blocks
from analyzers.exchange import Exchange, Logged, Request, Response
from analyzers.readers.chat_values import blocks_in, seconds, text_or_bytes, written
from analyzers.readers.source import Source
from analyzers.wire.jsontext import Json
from analyzers.wire.note import Note

MAGIC = b"SQLite format 3\0"
PATIENCE = 1.0
"""Seconds to wait for another program's lock."""

COLUMNS = ("id", "session_id", "role", "content", "timestamp")
ROLES = frozenset(("user", "assistant", "system"))
ASSEMBLED = Note("assembled", "put together from a chat store: what was sent, if anything, was never seen on the wire")
_WAL = b"\x02\x02"  # bytes 18 and 19 of the file's head: its changes go through a write-ahead log
_SHOWN = 40  # characters of a role in a problem
_ROLES_NAMED = 5
_ADVICE = {
    sqlite3.SQLITE_BUSY: "locked by another program; close that, or read a copy",
    sqlite3.SQLITE_LOCKED: "locked by another program; close that, or read a copy",
    sqlite3.SQLITE_CORRUPT: "damaged; what was read before the damage is used",
    sqlite3.SQLITE_NOTADB: "damaged, or encrypted",
    sqlite3.SQLITE_READONLY: "left in the middle of a change; open it once with the program it belongs to",
    sqlite3.SQLITE_CANTOPEN: "not open to this program: it, or the log beside it, cannot be read",
}


@dataclass(slots=True)
class _Row:
    """One usable message. ``time`` None: its timestamp could not be read."""

    id: Any
    role: str
    content: Json
    time: float | None
    order: float = 0.0


@dataclass(slots=True)
class _LeftOut:
    """What could not be used, counted over the whole file."""

    roles: Counter[str] = field(default_factory=Counter)
    without_text: int = 0
    without_time: int = 0
    without_session: int = 0
    without_user: int = 0

    def role(self, name: str) -> None:
        self.roles[name if name in self.roles or len(self.roles) < _ROLES_NAMED else "others"] += 1

    def tell(self, source: Source) -> None:
        if self.roles:
            names = ", ".join(f"{count} {name!r}" for name, count in self.roles.items())
            source.problem(f"messages of other roles than user, assistant and system were left out: {names}")
        for count, what in (
            (self.without_text, "messages without text (NULL, or bytes that are not UTF-8) were left out"),
            (self.without_time, "timestamps could not be read; those messages stay where their id puts them"),
            (self.without_session, "messages name no session and were read as one conversation"),
            (self.without_user, "sessions without a message of a user make no request"),
        ):
            if count:
                source.problem(f"{count} {what}")


def looks_like_sqlite(first: bytes) -> bool:
    """Whether the beginning of a file is that of a SQLite database."""
    return first.startswith(MAGIC)


def read_chat(source: Source) -> Iterator[Exchange]:
    """One exchange for each turn of the user, session by session: the request that resends the conversation up to
    there, without an answer. A database that cannot be read is one problem."""
    left_out = _LeftOut()
    try:
        with closing(_opened(source.path)) as store:
            yield from _sessions(store, source, left_out)
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # extended codes hold the plain one in their low byte
        source.problem(f"the database is {_ADVICE.get(code, f'not readable ({error})')}")
    left_out.tell(source)


def _opened(path: str) -> sqlite3.Connection:
    """The database, read-only. One whose write-ahead log is gone would be given a new one for reading: it is opened as
    a file that nobody changes, which needs none."""
    file = Path(path).absolute()
    with file.open("rb") as stream:
        changed_by_log = stream.read(20)[18:] == _WAL
    fixed = "&immutable=1" if changed_by_log and not Path(f"{file}-wal").exists() else ""
    store = sqlite3.connect(f"{file.as_uri()}?mode=ro{fixed}", uri=True, timeout=PATIENCE)
    store.text_factory = text_or_bytes
    store.execute("PRAGMA trusted_schema=OFF")
    store.execute("PRAGMA temp_store=FILE")
    return store


def _sessions(store: sqlite3.Connection, source: Source, left_out: _LeftOut) -> Iterator[Exchange]:
    columns = _columns(store, "messages")
    if not columns:
        source.problem("no chat store that this program knows: the database has no table 'messages'")
        return
    if missing := [name for name in COLUMNS if name not in columns]:
        source.problem(f"no chat store that this program knows: 'messages' has no column {', '.join(missing)}")
        return
    names = _session_names(store)
    empty = True
    for session, rows in groupby(_messages(store), itemgetter(1)):
        empty = False
        conversation = _conversation(rows, left_out)
        if session is None:
            left_out.without_session += len(conversation)
        yield from _turns(conversation, names.get(str(session), _name(session)), source, left_out)
    if empty:
        source.problem("the table 'messages' is empty")


def _columns(store: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a table in lower case; empty when there is none of that name. A view is none: it may never end."""
    tables = store.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND lower(name) = ?", (table,))
    if tables.fetchone() is None:
        return set()
    return {str(row[1]).lower() for row in store.execute(f"PRAGMA table_info({table})")}


def _session_names(store: sqlite3.Connection) -> dict[str, str]:
    """``channel:user`` for each session that tells both."""
    if not _columns(store, "sessions") >= {"id", "channel", "user_id"}:
        return {}
    rows = store.execute("SELECT id, channel, user_id FROM sessions WHERE channel NOTNULL AND user_id NOTNULL")
    return {str(id_): f"{_name(channel)}:{_name(user)}" for id_, channel, user in rows}


def _messages(store: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """All messages, a session's together, in the order in which they were inserted."""
    try:
        store.execute("SELECT rowid FROM messages LIMIT 0")
        inserted = "rowid"
    except sqlite3.OperationalError:  # a table that is kept in the order of its own key
        inserted = "id"
    return store.execute(f"SELECT {', '.join(COLUMNS)} FROM messages ORDER BY session_id, {inserted}")


def _conversation(rows: Iterator[tuple[Any, ...]], left_out: _LeftOut) -> list[_Row]:
    """The usable messages of one session by time, then id. Ids that are no numbers are in no order: then messages of
    one moment are in the order of insertion. A message without a time comes right behind the one before it."""
    kept: list[_Row] = []
    for id_, _, role, content, timestamp in rows:
        text = written(content)
        if role not in ROLES:
            left_out.role(f"{role}"[:_SHOWN])
        elif text is None:
            left_out.without_text += 1
        else:
            kept.append(_Row(id_, role, text, seconds(timestamp)))
            left_out.without_time += kept[-1].time is None
    if all(type(row.id) is int for row in kept):
        kept.sort(key=attrgetter("id"))
    before = float("-inf")
    for row in kept:
        before = row.order = row.time if row.time is not None else before
    kept.sort(key=attrgetter("order"))
    return kept


def _turns(rows: list[_Row], session: str | None, source: Source, left_out: _LeftOut) -> Iterator[Exchange]:
    """A turn is what lies between two answers: one request, however many messages the user wrote in it."""
    first = next((index for index, row in enumerate(rows) if row.role != "system"), len(rows))
    system = _system([row.content for row in rows[:first]])
    rows = rows[first:]
    messages: list[Json] = [{"role": row.role, "content": blocks_in(row.content)} for row in rows]
    last: int | None = None
    asked = False
    for index, row in enumerate(rows):
        if row.role == "user":
            last = index
        elif row.role == "assistant" and last is not None:
            yield _exchange(rows[last], messages[: last + 1], system, session, source, (row, messages[index]))
            last, asked = None, True
    if last is not None:
        yield _exchange(rows[last], messages[: last + 1], system, session, source)
    elif not asked:
        left_out.without_user += 1


def _system(contents: list[str]) -> Json:
    """The instructions that stand before the conversation, as a client sends them at the top level; None without."""
    opened = [blocks_in(content) for content in contents]
    if len(opened) == 1:
        return opened[0]
    blocks: list[Json] = []
    for content in opened:
        blocks += content if type(content) is list else [{"type": "text", "text": content}]
    return blocks or None


def _exchange(
    row: _Row,
    messages: list[Json],
    system: Json,
    session: str | None,
    source: Source,
    answered: tuple[_Row, Json] | None = None,
) -> Exchange:
    """``answered``: the store's row of the answer, and that as a message; it tells its text and nothing else of it."""
    body = ({} if system is None else {"system": system}) | {"messages": messages}
    request = Request(body=body, time=row.time, path="/v1/messages", notes=(ASSEMBLED,))
    logged = Logged(session=session, messages=len(messages))
    response = None
    if answered is not None:
        response = Response(time=answered[0].time, content=as_blocks(answered[1]["content"]))
    return Exchange(request, response, "not_recorded", f"{source.place}, message {_name(row.id)}", logged)


def _name(value: Any) -> str | None:
    """An id as text; bytes by their length."""
    if value is None:
        return None
    return f"({len(value)} bytes)" if type(value) is bytes else str(value)[:200]
