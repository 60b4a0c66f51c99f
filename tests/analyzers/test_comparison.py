"""A recorded session beside the client's own log of it."""

from typing import Any

from conversations import call, only, talk, traced, user

from analyzers.calls import Call
from analyzers.comparison import Compared, Comparison, compared, kinds_of
from analyzers.exchange import Exchange
from analyzers.spent import Spent


def logged(name: str | None, request: str | None = None, *, session: str = "s", rows: int = 2, **counters: Any) -> Call:
    told = Spent(*({"fresh": 2, "written": 100, "written_5m": 100, "written_1h": 0, "read": 1000, "output": 30}
                   | counters).values())  # fmt: skip
    return Call(
        time=None, session=session, agent=None, model="m", requested=None, message_id=name, request_id=request,
        state="completed", spent=told, billed=told, place=f"log:{session}:{name}:{request}", logged=True, rows=rows,
    )  # fmt: skip


def turn(n: int, **given: Any) -> Exchange:
    """The n-th turn of a conversation, with the message id ``m<n>`` and the request id ``r<n>``."""
    texts = [f"t{place}" for place in range(2 * n)]
    told = {"session": "s", "message_id": f"m{n}", "request_id": f"r{n}"} | given
    return call(talk(*texts[:-1]), texts[-1], at=10.0 * n, **told)


def comparison(exchanges: list[Exchange], log: list[Call], own: dict[str, Spent] | None = None) -> Comparison:
    lineage, calls = traced(exchanges)
    return compared(lineage, calls, log, own or {})


def one(exchanges: list[Exchange], log: list[Call], own: dict[str, Spent] | None = None) -> Compared:
    found = comparison(exchanges, log, own)
    row = only(found.sessions)
    assert isinstance(row, Compared)
    return row


def test_calls_are_joined_by_the_request_id() -> None:
    """Also where the message ids are all the same, as a mock of the API gives them."""
    row = one([turn(1, message_id="m"), turn(2, message_id="m")], [logged(None, "r1"), logged(None, "r2")])
    assert (row.joined, row.wire_only, row.log_only, row.differs) == (2, (), (), ())
    assert (row.wire_calls, row.log_calls, row.records) == (2, 2, 4)
    assert row.wire["read"] == row.log["read"] == 2000


def test_else_by_the_message_id() -> None:
    """A gateway that sends no request id."""
    row = one([turn(1, request_id=None), turn(2, request_id=None)], [logged("m1"), logged("m2")])
    assert (row.joined, row.differs) == (2, ())


def test_a_call_of_the_log_has_one_partner() -> None:
    row = one([turn(1, message_id="m", request_id=None), turn(2, message_id="m", request_id=None)], [logged("m")])
    assert (row.joined, [(found.n, found.kind) for found in row.wire_only]) == (1, [(2, "turn")])


def test_what_the_log_misses_is_named_by_what_it_was() -> None:
    asked = {"role": "user", "content": "CRITICAL: Respond with TEXT ONLY."}
    made = [
        turn(1),
        call([user("t0")], None, at=1.0, session="s", route="count_tokens", ended="completed"),
        call([user("t0")], "title", at=2.0, session="s", tools=None, system="title"),
        call(talk("t0", "t1", "t2"), None, at=19.0, session="s"),
        turn(2),
        call([*talk("t0", "t1", "t2", "t3"), asked], "<summary>", at=25.0, session="s"),
        turn(3),
    ]
    row = one(made, [logged("m1", "r1"), logged("m3", "r3")])
    assert dict(kinds_of(row)) == {"count_tokens": 1, "helper": 1, "failed": 1, "turn": 1, "compaction": 1}
    assert {found.kind: found.n for found in row.wire_only} == {
        "count_tokens": 1, "helper": 2, "turn": 5, "failed": 4, "compaction": 6,
    }  # fmt: skip
    assert (row.missed["fresh"], row.missed["read"]) == (6, 3000)
    assert not row.missed.at_least("fresh", "read", "output")
    assert not row.wire.at_least("fresh", "read", "output")
    assert (row.joined, row.wire_calls, row.wire["fresh"]) == (2, 7, 10)


def test_counters_that_differ_are_told_call_by_call() -> None:
    row = one([turn(1), turn(2)], [logged("m1", "r1", output=1), logged("m2", "r2", read=None, fresh=3)])
    told = [
        (found.n, found.message_id, found.request_id, found.counter, found.wire, found.log) for found in row.differs
    ]
    assert told == [
        (1, "m1", "r1", "output", 30, 1),
        (2, "m2", "r2", "fresh", 2, 3),
        (2, "m2", "r2", "read", 1000, None),
    ]
    assert row.log.at_least("read") and not row.wire.at_least("read")


def test_calls_that_only_the_log_has() -> None:
    row = one([turn(1)], [logged("m1", "r1"), logged("m2", "r2")])
    assert [call.message_id for call in row.log_only] == ["m2"]
    assert (row.log_calls, row.log["fresh"]) == (2, 4)


def test_the_clients_own_totals_stand_beside() -> None:
    own = Spent(7, 100, 100, 0, 900, 40)
    assert one([turn(1)], [logged("m1", "r1")], {"s": own}).own == own
    assert one([turn(1)], [logged("m1", "r1")], {"t": own}).own is None


def test_a_fork_says_what_it_was_forked_from() -> None:
    forked = call(talk("t0", "t1", "x"), "y", at=50.0, session="f", message_id="f1", request_id="q1")
    found = comparison([turn(1), forked], [logged("m1", "r1"), logged("f1", "q1", session="f")])
    assert [(row.session, row.origin, row.joined) for row in found.sessions] == [("s", None, 1), ("f", "s", 1)]


def test_a_call_that_the_log_has_under_another_session_is_joined_all_the_same() -> None:
    found = comparison([turn(1)], [logged("m1", "r1", session="other"), logged("m9", "r9", session="other")])
    row = only(found.sessions)
    assert (row.joined, row.log_only) == (1, ())
    assert (found.other_sessions, found.other_calls) == (1, 1)


def test_sessions_that_only_the_log_has_are_counted() -> None:
    log = [logged("m1", "r1"), *(logged(f"x{n}", f"y{n}", session=f"old{n % 2}") for n in range(5))]
    found = comparison([turn(1)], log)
    assert (len(found.sessions), found.other_sessions, found.other_calls) == (1, 2, 5)
    assert comparison([turn(1)], [logged("m1", "r1")]).other_sessions == 0
