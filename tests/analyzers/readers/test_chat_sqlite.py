"""Chat stores: each turn of the user becomes the request that resends everything before it."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from analyzers.exchange import Exchange
from analyzers.readers import chat_sqlite
from analyzers.readers.chat_sqlite import looks_like_sqlite, read_chat
from analyzers.readers.source import Source
from analyzers.sizes import request_ledger

MESSAGES = "CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content, timestamp)"
SESSIONS = "CREATE TABLE sessions(id TEXT PRIMARY KEY, channel TEXT, user_id TEXT, created_at TEXT)"


def store(folder: Path, rows: Iterable[tuple[Any, ...]], *statements: str) -> Path:
    """A store with these (id, session, role, content, timestamp), made by these statements."""
    path = folder / "chat.db"
    with closing(sqlite3.connect(path)) as made, made:
        for statement in statements or (MESSAGES,):
            made.execute(statement)
        made.executemany(
            "INSERT INTO messages(id, session_id, role, content, timestamp) VALUES (?, ?, ?, ?, ?)", list(rows)
        )
    return path


def read(path: Path) -> tuple[list[Exchange], list[str]]:
    with path.open("rb") as stream:
        source = Source(stream, "chat.db", str(path))
        found = list(read_chat(source))
    return found, [str(problem) for problem in source.problems]


def conversations(path: Path) -> list[list[tuple[str, Any]]]:
    """Role and content of the messages of each request."""
    return [
        [(message["role"], message["content"]) for message in exchange.request.body["messages"]]
        for exchange in read(path)[0]
        if exchange.request is not None
    ]


def talk(*turns: tuple[str, Any], session: str | None = "s") -> list[tuple[Any, ...]]:
    """Messages of one session, a second apart."""
    return [(index, session, role, content, 1_796_000_000 + index) for index, (role, content) in enumerate(turns, 1)]


def test_each_turn_resends_the_whole_conversation(tmp_path: Path) -> None:
    path = store(tmp_path, talk(("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"), ("user", "e")))
    found, problems = read(path)
    assert problems == []
    assert conversations(path) == [
        [("user", "a")],
        [("user", "a"), ("assistant", "b"), ("user", "c")],
        [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"), ("user", "e")],
    ]
    assert [exchange.logged.messages for exchange in found if exchange.logged is not None] == [1, 3, 5]


def test_a_request_says_that_it_was_put_together_and_never_seen(tmp_path: Path) -> None:
    (exchange,), _ = read(store(tmp_path, talk(("user", "hello"))))
    request = exchange.request
    assert request is not None and exchange.logged is not None
    assert (exchange.ended, exchange.response, exchange.place) == ("not_recorded", None, "chat.db, message 1")
    assert (exchange.time, request.model, request.wire_bytes, request.route) == (1_796_000_001, None, None, "messages")
    assert [note.code for note in request.notes] == ["assembled"]
    assert exchange.logged.session == "s"
    ledger = request_ledger(request)
    assert ledger is not None
    assert (ledger.total, ledger.wire, ledger.closes) == (len("role" + "user" + "content" + "hello"), None, True)


def test_requests_share_their_messages(tmp_path: Path) -> None:
    first, second = read(store(tmp_path, talk(("user", "a"), ("assistant", "b"), ("user", "c"))))[0]
    assert first.request is not None and second.request is not None
    assert first.request.body["messages"][0] is second.request.body["messages"][0]


def test_a_session_is_named_by_channel_and_user_where_the_store_tells(tmp_path: Path) -> None:
    path = store(tmp_path, [(1, "1", "user", "a", 1), (2, "2", "user", "b", 2), (3, "3", "user", "c", 3)], MESSAGES)
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE sessions(user_id, extra, channel, id INTEGER, created_at)")
        made.execute("INSERT INTO sessions VALUES ('U7', 0, 'slack', 1, NULL), (NULL, 0, 'slack', 2, NULL)")
    assert [exchange.logged and exchange.logged.session for exchange in read(path)[0]] == ["slack:U7", "2", "3"]


def test_sessions_do_not_mix_and_extra_columns_in_any_order_are_fine(tmp_path: Path) -> None:
    table = "CREATE TABLE messages(timestamp, tokens INTEGER, Content TEXT, role TEXT, session_id TEXT, id INTEGER)"
    rows = [(1, "x", "user", "x1", 1), (2, "y", "user", "y1", 2), (3, "x", "assistant", "x2", 3),
            (4, "x", "user", "x3", 4)]  # fmt: skip
    assert conversations(store(tmp_path, rows, table, SESSIONS)) == [
        [("user", "x1")],
        [("user", "x1"), ("assistant", "x2"), ("user", "x3")],
        [("user", "y1")],
    ]


def test_several_messages_of_the_user_before_an_answer_are_one_turn(tmp_path: Path) -> None:
    path = store(tmp_path, talk(("user", "a"), ("user", "b"), ("assistant", "c"), ("user", "d"), ("user", "e")))
    assert [len(messages) for messages in conversations(path)] == [2, 5]
    assert [exchange.time for exchange in read(path)[0]] == [1_796_000_002, 1_796_000_005]


def test_an_answer_without_a_question_makes_no_request_of_its_own(tmp_path: Path) -> None:
    path = store(tmp_path, talk(("assistant", "welcome"), ("user", "a"), ("assistant", "b"), ("assistant", "c")))
    assert conversations(path) == [[("assistant", "welcome"), ("user", "a")]]


def test_instructions_before_the_conversation_are_the_system_field_and_later_ones_a_role(tmp_path: Path) -> None:
    path = store(tmp_path, talk(("system", "be brief"), ("user", "a"), ("system", "now long"), ("assistant", "b"),
                                ("user", "c")))  # fmt: skip
    first, second = (exchange.request for exchange in read(path)[0])
    assert first is not None and second is not None
    assert first.body == {"system": "be brief", "messages": [{"role": "user", "content": "a"}]}
    assert list(second.body) == ["system", "messages"]
    assert [message["role"] for message in second.body["messages"]] == ["user", "system", "assistant", "user"]


def test_several_leading_instructions_are_blocks(tmp_path: Path) -> None:
    blocks = '[{"type":"text","text":"two"}]'
    (exchange,), _ = read(store(tmp_path, talk(("system", "one"), ("system", blocks), ("user", "a"))))
    assert exchange.request is not None
    assert exchange.request.body["system"] == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('[{"type":"text","text":"x"}]', [{"type": "text", "text": "x"}]),
        (' [{"type":"text","text":"\\ud83d"}]\n', [{"type": "text", "text": "\ud83d"}]),
        ('[{"text":"no type"}]', '[{"text":"no type"}]'),
        ('[{"type":7}]', '[{"type":7}]'),
        ("[1, 2]", "[1, 2]"),
        ("[]", "[]"),
        ('[{"type":"text"}] [x]', '[{"type":"text"}] [x]'),
        ("[see above]", "[see above]"),
        ('{"type":"text"}', '{"type":"text"}'),
        ("", ""),
        ("l'été\0".encode(), "l'été\0"),
        (42, "42"),
    ],
)
def test_content_is_text_unless_it_is_a_list_of_blocks(tmp_path: Path, content: Any, expected: Any) -> None:
    path = store(tmp_path, talk(("user", content)))
    assert conversations(path) == [[("user", expected)]]
    assert read(path)[1] == []


def test_what_is_no_text_is_left_out_and_counted(tmp_path: Path) -> None:
    broken = "INSERT INTO messages VALUES (9, 's', 'user', CAST(x'ff41' AS TEXT), 1)"
    path = store(tmp_path, talk(("user", None), ("user", b"\xff\xfe"), ("user", "a")), MESSAGES, broken)
    assert conversations(path) == [[("user", "a")]]
    assert read(path)[1] == ["chat.db: 3 messages without text (NULL, or bytes that are not UTF-8) were left out"]


def test_other_roles_are_left_out_counted_and_named(tmp_path: Path) -> None:
    path = store(tmp_path, talk(("user", "a"), ("tool", "x"), ("tool", "y"), (None, "z"), ("user", "b")))
    assert conversations(path) == [[("user", "a"), ("user", "b")]]
    assert read(path)[1] == [
        "chat.db: messages of other roles than user, assistant and system were left out: 2 'tool', 1 'None'"
    ]


def test_a_hostile_number_of_roles_is_named_in_one_sentence(tmp_path: Path) -> None:
    path = store(tmp_path, talk(*((f"role{number}" * 50, "x") for number in range(100)), ("user", "a")))
    (problem,) = read(path)[1]
    assert "95 'others'" in problem and len(problem) < 400


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("2026-11-30 15:19:51", 1_796_051_991.0),
        ("2026-11-30T15:19:51Z", 1_796_051_991.0),
        ("2026-11-30T16:19:51.250+01:00", 1_796_051_991.25),
        (1_796_051_991, 1_796_051_991.0),
        (1_796_051_991.5, 1_796_051_991.5),
        (1_796_051_991_500, 1_796_051_991.5),
        ("1796051991500", 1_796_051_991.5),
        (1_796_051_991_500_000, 1_796_051_991.5),
        ("2026-11-30", 1_795_996_800.0),
    ],
)
def test_times_in_each_form(tmp_path: Path, timestamp: Any, expected: float) -> None:
    (exchange,), problems = read(store(tmp_path, [(1, "s", "user", "a", timestamp)]))
    assert (exchange.time, problems) == (expected, [])


@pytest.mark.parametrize(
    "timestamp", [None, "yesterday", "", -5, 1e300, float("inf"), b"2026", "0001-01-01T00:00+14:00"]
)
def test_an_unreadable_time_is_unknown_and_counted(tmp_path: Path, timestamp: Any) -> None:
    (exchange,), problems = read(store(tmp_path, [(1, "s", "user", "a", timestamp)]))
    assert exchange.time is None
    assert problems == ["chat.db: 1 timestamps could not be read; those messages stay where their id puts them"]


def test_order_is_by_time_whatever_its_form(tmp_path: Path) -> None:
    rows = [
        (1, "s", "user", "fourth", "2026-11-30T15:19:55Z"),
        (2, "s", "assistant", "fifth", "?"),  # right behind the one that was written before it
        (3, "s", "user", "third", "2026-11-30 15:19:52"),
        (4, "s", "assistant", "second", 1_796_051_991.5),
        (5, "s", "user", "first", 1_796_051_991_000),
        (6, "s", "user", "sixth", 1_796_052_000),
    ]
    assert [text for _, text in conversations(store(tmp_path, rows))[-1]] == [
        "first", "second", "third", "fourth", "fifth", "sixth",
    ]  # fmt: skip


def test_messages_of_one_moment_are_in_the_order_of_their_ids(tmp_path: Path) -> None:
    rows = [(3, "s", "user", "third", 1), (1, "s", "user", "first", 1), (2, "s", "assistant", "second", 1)]
    path = store(tmp_path, rows, MESSAGES.replace("INTEGER PRIMARY KEY", "INTEGER"))
    assert [text for _, text in conversations(path)[-1]] == ["first", "second", "third"]


@pytest.mark.parametrize("ending", ["", "WITHOUT ROWID"])
def test_ids_that_are_no_numbers_leave_the_order_of_insertion(tmp_path: Path, ending: str) -> None:
    """Except where the table itself is kept in the order of its ids."""
    rows = [("zz", "s", "user", "first", 1), ("mm", "s", "assistant", "second", 1), ("aa", "s", "user", "third", 1)]
    path = store(
        tmp_path, rows, f"CREATE TABLE messages(id TEXT PRIMARY KEY, session_id, role, content, timestamp) {ending}"
    )
    expected = ["third", "second", "first"] if ending else ["first", "second", "third"]
    assert [text for _, text in conversations(path)[-1]] == expected


def test_messages_without_a_session_are_one_conversation_and_told(tmp_path: Path) -> None:
    path = store(tmp_path, talk(("user", "a"), ("assistant", "b"), ("user", "c"), session=None))
    found, problems = read(path)
    assert [exchange.logged and exchange.logged.session for exchange in found] == [None, None]
    assert problems == ["chat.db: 3 messages name no session and were read as one conversation"]


def test_a_session_without_a_user_is_told(tmp_path: Path) -> None:
    found, problems = read(store(tmp_path, talk(("system", "x"), ("assistant", "b"))))
    assert (found, problems) == ([], ["chat.db: 1 sessions without a message of a user make no request"])


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (["CREATE TABLE notes(x)"], "no chat store that this program knows: the database has no table 'messages'"),
        (
            ["CREATE TABLE messages(id, role, content, time)"],
            "no chat store that this program knows: 'messages' has no column session_id, timestamp",
        ),
        ([MESSAGES], "the table 'messages' is empty"),
        (
            ["CREATE VIEW messages AS SELECT 1 id, 's' session_id, 'user' role, 'a' content, 1 timestamp"],
            "no chat store that this program knows: the database has no table 'messages'",
        ),
    ],
)
def test_a_database_that_is_no_chat_store_is_one_problem(tmp_path: Path, statements: list[str], expected: str) -> None:
    path = tmp_path / "chat.db"
    with closing(sqlite3.connect(path)) as made, made:
        for statement in statements:
            made.execute(statement)
    assert read(path) == ([], [f"chat.db: {expected}"])


def test_a_locked_database_is_one_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_sqlite, "PATIENCE", 0.0)
    path = store(tmp_path, talk(("user", "a")))
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        found, problems = read(path)
    assert found == []
    assert problems == ["chat.db: the database is locked by another program; close that, or read a copy"]


def test_a_damaged_database_is_one_problem(tmp_path: Path) -> None:
    path = store(tmp_path, talk(*(("user", "x" * 3_000) for _ in range(50))))
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    found, problems = read(path)
    assert found == []
    assert problems == ["chat.db: the database is damaged; what was read before the damage is used"]


@pytest.mark.parametrize("length", [16, 60, 1_000])
def test_a_database_cut_short_is_one_problem(tmp_path: Path, length: int) -> None:
    path = store(tmp_path, talk(("user", "a")))
    path.write_bytes(path.read_bytes()[:length])
    found, problems = read(path)
    assert (found, len(problems)) == ([], 1)


def test_reading_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    """A database with a write-ahead log would get a new log and its index for the reader."""
    path = store(tmp_path, talk(("user", "a")), "PRAGMA journal_mode=WAL", MESSAGES)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert len(read(path)[0]) == 1
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before == {"chat.db": path.read_bytes()}


def test_what_is_still_in_the_write_ahead_log_is_read(tmp_path: Path) -> None:
    path = store(tmp_path, talk(("user", "a")), "PRAGMA journal_mode=WAL", MESSAGES)
    with closing(sqlite3.connect(path)) as writer:
        with writer:
            writer.execute("INSERT INTO messages VALUES (2, 's', 'assistant', 'b', 2e9), (3, 's', 'user', 'c', 3e9)")
        assert [len(messages) for messages in conversations(path)] == [1, 3]


def test_a_name_with_signs_of_an_address_is_a_file_all_the_same(tmp_path: Path) -> None:
    path = store(tmp_path, talk(("user", "a")))
    odd = path.rename(tmp_path / "a?mode=rw#b%20é.db")
    assert len(read(odd)[0]) == 1


def test_databases_are_told_by_their_first_bytes(tmp_path: Path) -> None:
    assert looks_like_sqlite(store(tmp_path, []).read_bytes()[:100])
    assert not looks_like_sqlite(b'{"kind":"start"}')
    assert not looks_like_sqlite(b"SQLite format 3")
