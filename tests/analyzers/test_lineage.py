"""Who continues whom: sessions, threads, turns and side calls.

Each test builds the calls of one situation that clients were seen in, and says what must be made of it.
"""

import json
from typing import Any

import pytest
from conversations import (
    BEGIN,
    PREAMBLE,
    SYSTEM,
    TOOLS,
    Message,
    answer,
    call,
    numbers,
    only,
    rows,
    sessions,
    steps,
    talk,
    traced,
    user,
)
from json_values import SHAPES, shape_requests

from analyzers.exchange import Exchange, Logged, Request, Response
from analyzers.lineage import BREAK, Session
from analyzers.wire.jsontext import parse

OWN = "Say in five words what this is about."
SUMMARY = "This session is being continued from a previous conversation that ran out of context: we weighed lorries."


def growing(texts: list[str], *, begin: float = 0.0, every: float = 10.0, **given: Any) -> list[Exchange]:
    """The calls of one conversation that resends everything: its user's and assistant's texts in turn."""
    return [
        call(talk(*texts[: 2 * turn + 1]), texts[2 * turn + 1], at=begin + every * turn, **given)
        for turn in range(len(texts) // 2)
    ]


def conversation(name: str, turns: int) -> list[str]:
    return [f"{name}{n}" for n in range(2 * turns)]


def interleaved(*many: list[Exchange]) -> list[Exchange]:
    return [exchange for some in zip(*many, strict=True) for exchange in some]


def shape(session: Session) -> list[tuple[list[int], list[str]]]:
    return [(numbers(thread), steps(thread)) for thread in session.threads]


def ids(session: str, form: str = "json") -> str:
    return (
        json.dumps({"device_id": "d", "account_uuid": "", "session_id": session})
        if form == "json"
        else (f"user_0_account__session_{session}")
    )


# Recorded clients


def recorded(name: str, **without: bool) -> list[Exchange]:
    path = only([path for path in SHAPES if path.name.startswith(name)])
    out = []
    for request in shape_requests(path):
        headers = {key.lower(): value for key, value in request["headers"].items()}
        if without.get("agents"):
            headers.pop("x-claude-code-agent-id", None)
        told = request["response"] or {}
        response = Response(200, message_id=told.get("message_id"), model=told.get("model"))
        sent = Request(parse(request["raw"]).value, time=request["time"], headers=headers)
        out.append(Exchange(sent, response, "completed", f"{name}:{request['n']}"))
    return out


def test_the_four_turns_of_the_agent_sdk() -> None:
    thread = only(only(sessions(*recorded("agent-sdk"))).threads)
    assert [turn.trace.messages for turn in thread.turns] == [1, 3, 5, 7]
    assert steps(thread) == ["start", "continues", "continues", "continues"]
    assert [turn.follows for turn in thread.turns] == [None, 1, 2, 3]
    assert [turn.common for turn in thread.turns] == [None, 1, 3, 5]


@pytest.mark.parametrize("version", ["claude-code-2.1.258", "claude-code-2.1.332"])
def test_sub_agents_interleave_under_one_session_id(version: str) -> None:
    """37 calls of the main thread, all continuing, and 6 of two sub-agents."""
    session = only(sessions(*recorded(version)))
    main = only([thread for thread in session.threads if thread.agent is None])
    agents = [thread for thread in session.threads if thread.agent is not None]
    assert (len(main.turns), set(steps(main)[1:]), main.current) == (37, {"continues"}, True)
    assert len(agents) == 2 and sum(len(thread.turns) for thread in agents) == 6
    assert all(set(steps(thread)) == {"start", "continues"} for thread in agents)
    assert (session.declared, session.side, session.runs, session.notes) == (True, [], 1, [])
    assert numbers(main) != list(range(1, 38))


@pytest.mark.parametrize("version", ["claude-code-2.1.258", "claude-code-2.1.332"])
def test_sub_agents_that_no_header_names_are_threads_of_their_own(version: str) -> None:
    session = only(sessions(*recorded(version, agents=True)))
    assert sorted(len(thread.turns) for thread in session.threads) == [3, 3, 37]
    assert {step for thread in session.threads for step in steps(thread)} == {"start", "continues"}


def test_sub_agents_of_one_kind_at_once_without_a_header() -> None:
    """An agent that begins beside another with the same system and tools clears nothing: the main thread goes on."""
    main = growing(conversation("m", 4), session="s", every=100.0)
    agents = [
        growing(conversation(name, 3), session="s", system="agent", begin=5.0 + n) for n, name in enumerate("abc")
    ]
    session = only(sessions(*main, *interleaved(*agents)))
    assert sorted(len(thread.turns) for thread in session.threads) == [3, 3, 3, 4]
    assert {step for thread in session.threads for step in steps(thread)} == {"start", "continues"}


# Which id: the header, the metadata, the content


@pytest.mark.parametrize("named", ["header", "json", "old", "affinity"])
def test_two_sessions_that_begin_alike_are_told_by_their_ids(named: str) -> None:
    def told(session: str) -> dict[str, Any]:
        if named == "header":
            return {"session": session}
        if named == "affinity":
            return {"headers": {"x-session-affinity": session}}
        return {"user_id": ids(session, named)}

    one = growing([PREAMBLE, "a1", "a2", "a3", "a4", "a5"], **told("one"))
    two = growing([PREAMBLE, "b1", "b2", "b3", "b4", "b5"], begin=3.0, **told("two"))
    first, second = sessions(*one, *two)
    assert (first.name, shape(first)) == ("one", [([1, 3, 5], ["start", "continues", "continues"])])
    assert (second.name, shape(second)) == ("two", [([2, 4, 6], ["start", "continues", "continues"])])
    assert all(thread.session_from is None for thread in (*first.threads, *second.threads))


def test_two_sessions_that_nobody_names_are_told_by_how_they_grow() -> None:
    """Not by a hash of the first message: it is the same preamble in every session of a project."""
    one = growing([PREAMBLE, "a1", "a2", "a3", "a4", "a5"])
    two = growing([PREAMBLE, "b1", "b2", "b3", "b4", "b5"], begin=3.0)
    first, second = sessions(*one, *two)
    assert shape(first) == [([1, 3, 5], ["start", "continues", "continues"])]
    assert shape(second) == [([2, 4, 6], ["start", "continues", "continues"])]
    assert (first.name, first.declared, second.name) == ("chain 1", False, "chain 2")


def test_two_unnamed_sessions_with_equal_answers_part_where_they_part() -> None:
    first, second = sessions(*growing([PREAMBLE, "ok", "a2", "a3"]), *growing([PREAMBLE, "ok", "b2", "b3"], begin=3.0))
    assert [len(thread.turns) for thread in (*first.threads, *second.threads)] == [2, 2]


def test_a_conversation_whose_first_call_was_not_recorded_joins_no_other_that_begins_alike() -> None:
    one = growing([PREAMBLE, "a1", "a2", "a3"])
    late = call(talk(PREAMBLE, "b1", "b2"), "b3", at=30.0)
    assert [shape(session) for session in sessions(*one, late)] == [
        [([1, 2], ["start", "continues"])], [([3], ["start"])],
    ]  # fmt: skip


def test_sub_agents_with_one_task_are_told_by_the_header() -> None:
    made = [
        exchange
        for agent in (None, "a1", "a2")
        for exchange in growing(["look", "same", "more", "again"], session="s", agent=agent)
    ]
    session = only(sessions(*made))
    assert sorted((thread.agent or "", len(thread.turns)) for thread in session.threads) == [
        ("", 2),
        ("a1", 2),
        ("a2", 2),
    ]
    assert {step for thread in session.threads for step in steps(thread)} == {"start", "continues"}


def test_records_of_a_sub_agent_that_hang_on_those_of_the_main_thread() -> None:
    session = only(
        sessions(
            logged("m1", None, 1, 1.0), logged("a", "m1", 2, 2.0, agent="x"), logged("b", "a", 4, 3.0, agent="x"),
            logged("m2", "b", 3, 4.0),
        )
    )  # fmt: skip
    assert [(thread.agent, numbers(thread)) for thread in session.threads] == [(None, [1, 4]), ("x", [2, 3])]


def test_a_system_prompt_that_changes_parts_no_conversation() -> None:
    texts = conversation("m", 3)
    made = [
        call(talk(*texts[: 2 * n + 1]), texts[2 * n + 1], at=float(n), system=f"It is {n} o'clock") for n in range(3)
    ]
    assert shape(only(sessions(*made))) == [([1, 2, 3], ["start", "continues", "continues"])]


def test_header_and_metadata_that_disagree_are_told() -> None:
    agreed = call([user("a")], "b", session="s", user_id=ids("s"))
    other = call(talk("a", "b", "c"), at=10.0, session="s", user_id=ids("t"))
    session = only(sessions(agreed, other))
    assert session.name == "s"
    assert session.notes == ["the header and metadata.user_id name different sessions in 1 of 2 calls"]
    assert only(sessions(agreed)).notes == []


def test_a_call_that_names_no_session_goes_on_with_the_one_whose_answer_it_resends() -> None:
    session = only(sessions(call([user("a")], "b", session="s"), call(talk("a", "b", "c"), at=10.0)))
    assert shape(session) == [([1, 2], ["start", "continues"])]
    assert session.notes == []


@pytest.mark.parametrize("form", ["json", "old"])
def test_an_id_that_changes_on_every_call_is_not_believed(form: str) -> None:
    texts = conversation("m", 10)
    made = [
        call(talk(*texts[: 2 * n + 1]), texts[2 * n + 1], at=10.0 * n, user_id=ids(f"s{n}", form)) for n in range(10)
    ]
    session = only(sessions(*made))
    assert shape(session) == [(list(range(1, 11)), ["start", *["continues"] * 9])]
    assert (session.name, session.notes) == ("s0", ["the session id changes on every call (10 ids): joined by content"])


def test_side_calls_of_a_client_that_makes_up_ids_stay_with_its_conversation() -> None:
    texts = conversation("m", 5)
    made = [call(talk(*texts[: 2 * n + 1]), texts[2 * n + 1], at=10.0 * n, user_id=ids(f"s{n}")) for n in range(5)]
    counts = [
        call(
            talk(*texts[: 2 * n + 1]),
            None,
            at=10.0 * n - 1,
            user_id=ids(f"c{n}"),
            route="count_tokens",
            ended="completed",
        )
        for n in range(5)
    ]
    session = only(sessions(*made, *counts))
    assert (len(only(session.threads).turns), len(session.side)) == (5, 5)


def test_two_ids_are_too_few_to_disbelieve() -> None:
    texts = conversation("m", 2)
    made = [call(talk(*texts[: 2 * n + 1]), texts[2 * n + 1], at=10.0 * n, user_id=ids(f"s{n}")) for n in range(2)]
    assert [session.name for session in sessions(*made)] == ["s0", "s1"]


def test_a_fork_with_a_new_id_is_a_session_of_its_own() -> None:
    texts = conversation("m", 3)
    parent = growing(texts, session="parent")
    child = [
        call([*talk(*texts[:5]), answer(texts[5]), *talk("x")], "y", at=100.0, session="child"),
        call([*talk(*texts[:5]), answer(texts[5]), *talk("x", "y", "z")], at=110.0, session="child"),
    ]
    first, second = sessions(*parent, *child)
    thread = only(second.threads)
    assert (second.name, steps(thread)) == ("child", ["fork", "continues"])
    assert (thread.forked_from, thread.session_from) == (3, "parent")
    assert len(only(first.threads).turns) == 3


def test_forks_of_forks_named_by_the_client_are_believed_however_short() -> None:
    texts = conversation("m", 5)
    made = [call(talk(*texts[: 2 * n + 1]), texts[2 * n + 1], at=10.0 * n, session=f"s{n}") for n in range(5)]
    assert [session.name for session in sessions(*made)] == ["s0", "s1", "s2", "s3", "s4"]


# Calls that are no turns


def side_calls() -> list[Exchange]:
    here: dict[str, Any] = {"session": "s", "tools": None}
    return [
        call([user("quota")], "#", at=0.0, max_tokens=1, system=None, **here),
        call([user("m0")], "Weighing", at=1.0, system=OWN, temperature=0, **here),
        call([user("m0")], '{"isNewTopic": true}', at=2.0, system="topic", **here),
        call([user("m2")], '{"isNewTopic": false}', at=22.0, system="topic", **here),
        call([user("Web page content: " + "x" * 500)], "a page", at=23.0, system=[], **here),
        call([user("m0")], None, at=24.0, session="s", route="count_tokens", ended="completed"),
        call(talk("m0", "m1", "[SUGGESTION MODE: Suggest what the user might type]"), "go on", at=15.0, session="s"),
        call(None, None, at=25.0, session="s", route="other", ended="completed", model=None),
    ]


def test_helper_calls_are_kept_in_the_session_and_out_of_the_chain() -> None:
    session = only(sessions(*side_calls(), *growing(conversation("m", 4), begin=10.0, session="s")))
    main = only(session.threads)
    assert steps(main) == ["start", "continues", "continues", "continues"]
    assert [turn.trace.messages for turn in main.turns] == [1, 3, 5, 7]
    assert sorted(call.kind for call in session.side) == ["count_tokens", *["helper"] * 6, "probe"]


def test_helper_calls_count_in_the_usage_and_are_not_the_first_turn() -> None:
    cold = {"input_tokens": 5, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 0, "output_tokens": 1}
    warm = cold | {"cache_read_input_tokens": 40}
    title = call([user("m0")], "Title", at=1.0, session="s", system=OWN, tools=None, usage=warm)
    main = growing(conversation("m", 2), begin=10.0, session="s", usage=cold)
    row = only(rows(title, *main))
    assert row.warm is False
    assert (row.calls, row.sums["fresh"], row.sums["read"], row.sums["output"]) == (3, 15, 40, 3)
    assert only(row.threads).sums["fresh"] == 10


def test_counts_of_tokens_are_in_no_sum() -> None:
    count = call([user("m0")], None, at=0.0, session="s", route="count_tokens", ended="completed")
    row = only(rows(count, *growing(conversation("m", 1), begin=1.0, session="s")))
    assert (row.calls, only(row.side).calls, row.sums["fresh"]) == (1, 0, 2)
    assert not row.sums.at_least("fresh", "read", "output")


def test_a_plain_chat_without_tools_is_a_conversation() -> None:
    for named in ({"session": "s"}, {}):
        session = only(sessions(*growing(conversation("m", 3), tools=None, **named)))
        assert (shape(session), session.side) == ([([1, 2, 3], ["start", "continues", "continues"])], [])
    assert only(sessions(call([user("one question")], tools=None, session="s"))).side == []


def test_a_conversation_that_gets_tools_later_goes_on() -> None:
    session = only(
        sessions(call([user("a")], "b", tools=None, session="s"), call(talk("a", "b", "c"), at=9.0, session="s"))
    )
    assert shape(session) == [([1, 2], ["start", "continues"])]


def test_a_title_that_is_asked_of_the_very_first_message_is_no_first_turn() -> None:
    title = call([user("m0")], "Title", at=0.0, session="s", system=OWN, tools=None)
    session = only(sessions(title, *growing(conversation("m", 2), begin=1.0, session="s")))
    assert shape(session) == [([2, 3], ["start", "continues"])]
    assert [(call.n, call.kind) for call in session.side] == [(1, "helper")]


def test_side_calls_without_an_id_go_to_the_conversation_they_are_of() -> None:
    one, two = growing(conversation("m", 2)), growing(conversation("n", 2), begin=1.0)
    count = call(talk("n0", "n1", "n2"), None, at=10.5, route="count_tokens", ended="completed")
    lost = call([user("zzz")], None, at=30.0, route="count_tokens", ended="completed")
    found = {session.name: len(session.side) for session in sessions(*one, *two, count, lost)}
    assert found == {"chain 1": 0, "chain 2": 1, "no session": 1}
    alone = only(sessions(*one, call([user("zzz")], None, at=30.0, route="count_tokens", ended="completed")))
    assert len(alone.side) == 1


def test_sessions_stand_in_the_order_of_their_first_call_be_it_a_side_call() -> None:
    count = call([user("n0")], None, at=0.0, session="t", route="count_tokens", ended="completed")
    made = [
        *growing(conversation("m", 1), begin=1.0, session="s"),
        *growing(conversation("n", 1), begin=2.0, session="t"),
    ]
    assert [session.name for session in sessions(count, *made)] == ["t", "s"]


def test_a_call_that_only_warms_the_cache_is_no_turn() -> None:
    warm = call([user("warmup")], None, at=0.0, session="s", max_tokens=0, ended="completed")
    session = only(sessions(warm, *growing(conversation("m", 2), begin=1.0, session="s")))
    assert (shape(session), only(session.side).kind) == ([([2, 3], ["start", "continues"])], "probe")


# Resumed, forked, rewound


def test_a_session_resumed_the_next_day_is_one_session_in_two_runs() -> None:
    texts = conversation("m", 4)
    made = growing(texts, every=86_400.0 / 2, session="s")
    assert only(sessions(*growing(texts, session="s"))).runs == 1
    assert only(sessions(*made[:1], *made[2:3])).runs == 2


def test_another_client_takes_it_up() -> None:
    texts = conversation("m", 4)
    made = growing(texts, session="s")
    elsewhere = growing(texts, session="s", client="claude-cli/2.1.400")
    session = only(sessions(*made[:2], *elsewhere[2:]))
    assert (session.runs, len(only(session.threads).turns)) == (2, 4)


def test_two_that_continue_at_once_are_two_branches_in_two_runs() -> None:
    texts = conversation("m", 2)
    begun = growing(texts, session="s")
    stem = [*talk(*texts[:3]), answer(texts[3])]
    one = [
        call([*stem, *talk("a0", "a1", "a2")[: 2 * n + 1]], f"a{2 * n + 1}", at=100.0 + n * 10, session="s")
        for n in (0, 1)
    ]
    two = [
        call(
            [*stem, *talk("b0", "b1", "b2")[: 2 * n + 1]],
            f"b{2 * n + 1}",
            at=105.0 + n * 10,
            session="s",
            client="other/1",
        )
        for n in (0, 1)
    ]
    session = only(sessions(*begun, *one, *two))
    assert shape(session) == [([1, 2, 3, 5], ["start", *["continues"] * 3]), ([4, 6], ["fork", "continues"])]
    assert (session.threads[1].forked_from, session.runs) == (2, 2)


def test_waiting_for_a_sub_agent_is_no_pause() -> None:
    main = growing(conversation("m", 2), session="s", every=2 * BREAK)
    agent = growing(conversation("a", 9), session="s", agent="a1", begin=5.0, every=BREAK / 4)
    assert only(sessions(*main, *agent)).runs == 1


def test_what_goes_on_beside_a_long_answer_makes_no_pause_of_it() -> None:
    long = call([user("a")], "b", at=0.0, took=2 * BREAK, session="s")
    agent = call([user("x")], "y", at=5.0, session="s", agent="a1")
    assert only(sessions(long, agent, call(talk("a", "b", "c"), at=2 * BREAK + 5, session="s"))).runs == 1


def rewound(**named: Any) -> list[Exchange]:
    """Five turns, and then another message in the place of the fourth."""
    texts = conversation("m", 5)
    stem = [*talk(*texts[:5]), answer(texts[5])]
    return [
        *growing(texts, **named),
        call([*stem, *talk("x")], "y", at=100.0, **named),
        call([*stem, *talk("x", "y", "z")], at=110.0, **named),
    ]


@pytest.mark.parametrize("named", [{"session": "s"}, {}])
def test_a_rewind_leaves_a_branch_behind(named: dict[str, Any]) -> None:
    session = only(sessions(*rewound(**named)))
    assert shape(session) == [([1, 2, 3, 4, 5], ["start", *["continues"] * 4]), ([6, 7], ["rewind", "continues"])]
    left, current = session.threads
    assert (left.current, current.current, current.forked_from, current.turns[0].common) == (False, True, 3, 5)
    assert [turn.n for turn in session.path] == [1, 2, 3, 6, 7]


def test_totals_count_the_branch_that_was_left_and_the_current_path_does_not() -> None:
    row = only(rows(*rewound(session="s")))
    assert (row.calls, row.sums["fresh"]) == (7, 14)
    assert (row.path, row.path_sums["fresh"]) == ((1, 2, 3, 6, 7), 10)


def test_a_rewind_to_the_first_message() -> None:
    texts = conversation("m", 3)
    session = only(sessions(*growing(texts, session="s"), call(talk(*texts[:2], "other"), at=90.0, session="s")))
    assert shape(session)[1] == ([4], ["rewind"])


def logged(
    name: str, after: str | None, messages: int, at: float, *, session: str = "s", compacted: bool = False, **more: Any
) -> Exchange:
    """A call that only the client's log tells of, which keeps no requests."""
    told = Logged(session=session, messages=messages, continues=after, compacted=compacted, **more)
    return Exchange(None, Response(200, time=BEGIN + at, message_id=name, model="m"), "completed", f"log:{name}", told)


def test_a_tree_of_records_with_two_children_is_two_branches() -> None:
    session = only(
        sessions(
            logged("m1", None, 1, 1.0), logged("m2", "m1", 3, 2.0), logged("m3", "m2", 5, 3.0),
            logged("m4", "m1", 3, 4.0), logged("m5", "m4", 5, 5.0),
        )
    )  # fmt: skip
    assert shape(session) == [([1, 2, 3], ["start", "continues", "continues"]), ([4, 5], ["rewind", "continues"])]
    assert [turn.n for turn in session.path] == [1, 4, 5]


def test_a_summary_after_a_rewind_stands_on_the_branch_it_was_made_of() -> None:
    session = only(
        sessions(
            logged("m1", None, 1, 1.0), logged("m2", "m1", 3, 2.0), logged("m3", "m1", 3, 3.0),
            logged("m4", "m3", 1, 4.0, compacted=True), logged("m5", "m4", 3, 5.0),
        )
    )  # fmt: skip
    assert shape(session) == [([1, 2], ["start", "continues"]), ([3, 4, 5], ["rewind", "compacted", "continues"])]


def test_a_fork_in_the_log_has_an_id_of_its_own() -> None:
    first, second = sessions(
        logged("m1", None, 1, 1.0), logged("m2", "m1", 3, 2.0), logged("m3", "m2", 5, 3.0, session="t")
    )
    assert (only(second.threads).session_from, only(second.threads).forked_from, steps(only(second.threads))) == (
        "s", 2, ["fork"],
    )  # fmt: skip
    assert shape(first) == [([1, 2], ["start", "continues"])]


def test_a_log_that_keeps_some_requests_is_one_thread() -> None:
    texts = conversation("m", 2)
    kept = call(talk(*texts[:3]), texts[3], at=2.0, message_id="m2")
    told = Exchange(kept.request, kept.response, "completed", "log:m2", Logged(session="s", messages=3, continues="m1"))
    session = only(sessions(logged("m1", None, 1, 1.0), told, logged("m3", "m2", 5, 3.0)))
    assert [len(thread.turns) for thread in session.threads] == [3]


# Cleared, compacted, rewritten


def test_a_clear_under_one_id_is_a_new_segment() -> None:
    texts = conversation("m", 200)
    grown = [call(talk(*texts[:count]), texts[count], at=count, session="s") for count in (397, 399)]
    session = only(sessions(*grown, *growing(conversation("n", 3), begin=9000.0, session="s")))
    before, after = session.threads
    assert ([turn.trace.messages for turn in before.turns], numbers(after)) == ([397, 399], [3, 4, 5])
    assert steps(after) == ["cleared", "continues", "continues"]
    assert (after.turns[0].follows, after.turns[0].common, after.forked_from, after.current) == (2, 0, None, True)
    assert [turn.n for turn in session.path] == [3, 4, 5]


def test_a_clear_that_begins_with_the_same_words() -> None:
    again = growing(["m0", "other", "x", "y"], begin=100.0, session="s")
    session = only(sessions(*growing(conversation("m", 3), session="s"), *again))
    assert shape(session)[1] == ([4, 5], ["cleared", "continues"])


def test_a_shrunken_prompt_that_begins_with_a_summary_was_compacted() -> None:
    kept = [user(SUMMARY), *talk("", "n1", "n2")[1:]]
    session = only(
        sessions(
            *growing(conversation("m", 30), session="s"),
            call([user(SUMMARY)], "n1", at=900.0, session="s"),
            call(kept, "n3", at=910.0, session="s"),
        )
    )
    assert steps(only(session.threads))[-2:] == ["compacted", "continues"]


def test_every_further_summary_is_a_compaction_too() -> None:
    def after(at: float, summary: str, name: str) -> list[Exchange]:
        return growing([summary, *conversation(name, 3)[1:]], begin=at, session="s")

    session = only(
        sessions(
            *growing(conversation("m", 3), session="s"),
            *after(100.0, SUMMARY, "n"),
            *after(200.0, SUMMARY + " Twice.", "o"),
        )
    )
    expected = ["start", "continues", "continues", *["compacted", "continues", "continues"] * 2]
    assert steps(only(session.threads)) == expected


def test_compaction_may_change_the_tools() -> None:
    fewer = call([user(SUMMARY)], at=900.0, session="s", tools=[*TOOLS, TOOLS[0] | {"name": "Read"}])
    title = call([user("m0")], "T", at=800.0, session="s", tools=None, system=OWN)
    session = only(sessions(*growing(conversation("m", 3), session="s"), title, fewer))
    assert (steps(only(session.threads))[-1], only(session.side).kind) == ("compacted", "helper")


def test_a_summary_in_words_of_its_own_is_known_by_the_answers_that_survive() -> None:
    texts = conversation("m", 150)
    kept = [user("In short: lorries."), answer("I see."), *talk(*texts)[-10:], user("go on")]
    grown = [call(talk(*texts[:count]), texts[count], at=count, session="s") for count in (297, 299)]
    session = only(sessions(*grown, call(kept, at=9000.0, session="s")))
    assert steps(only(session.threads))[-1] == "compacted"


def test_a_result_that_ages_in_place_is_a_rewritten_prompt() -> None:
    texts = conversation("m", 5)
    aged = talk(*texts[:9])
    aged[2] = user("[old result]")
    session = only(sessions(*growing(texts[:8], session="s"), call(aged, at=90.0, session="s")))
    thread = only(session.threads)
    assert (steps(thread)[-1], thread.last.common, thread.last.follows) == ("rewritten", 2, 4)


@pytest.mark.parametrize("named", [{"session": "s"}, {}])
def test_a_sliding_window_is_one_thread(named: dict[str, Any]) -> None:
    texts = conversation("m", 12)
    made = [call(talk(*texts[: 2 * n + 1])[-5:], texts[2 * n + 1], at=10.0 * n, **named) for n in range(12)]
    thread = only(only(sessions(*made)).threads)
    assert steps(thread) == ["start", "continues", "continues", *["rewritten"] * 9]


def test_the_summarys_own_call_is_a_side_call() -> None:
    texts = conversation("m", 3)
    asked = [*talk(*texts[:5]), answer(texts[5]), user([{"type": "text", "text": "CRITICAL: Respond with TEXT ONLY."}])]
    by_words = call(asked, "<summary>", at=90.0, session="s")
    by_header = call(
        [*asked[:-1], user("sum it up")], "<summary>", at=91.0, session="s",
        headers={"x-claude-code-request-class": "compaction"},
    )  # fmt: skip
    session = only(
        sessions(*growing(texts, session="s"), by_words, by_header, call([user(SUMMARY)], at=95.0, session="s"))
    )
    assert [call.kind for call in session.side] == ["compaction", "compaction"]
    assert steps(only(session.threads)) == ["start", "continues", "continues", "compacted"]


# Attempts and repeats


def test_equal_bodies_after_failures_are_attempts_of_one_turn() -> None:
    made = [
        call([user("a")], None, at=0.0, session="s", status=529, fingerprint="f"),
        call([user("a")], None, at=5.0, session="s", status=429, fingerprint="f"),
        call([user("a")], "b", at=40.0, session="s", fingerprint="f"),
        call(talk("a", "b", "c"), at=60.0, session="s"),
    ]
    for named in (made, [call([user("a")], None), call([user("a")], None, at=5.0), call([user("a")], "b", at=40.0),
                         call(talk("a", "b", "c"), at=60.0)]):  # fmt: skip
        thread = only(only(sessions(*named)).threads)
        assert (numbers(thread), steps(thread)) == ([3, 4], ["start", "continues"])
        assert thread.turns[0].attempts == [1, 2]
    row = only(rows(*made))
    assert (row.calls, row.failed_attempts, row.sums["fresh"]) == (2, 2, 4)
    assert not row.sums.at_least("fresh", "written", "read", "output")


def test_an_attempt_that_died_in_mid_stream_may_have_been_billed() -> None:
    begun = {"input_tokens": 9, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    died = call([user("a")], "ye", at=0.0, session="s", ended="upstream_cut", usage=begun)
    row = only(rows(died, call([user("a")], "yes", at=5.0, session="s")))
    turn = only(only(row.threads).turns)
    assert (turn.attempts, turn.attempted[0].fresh, row.sums["fresh"]) == ((1,), 9, 11)
    assert row.sums.at_least("output")


@pytest.mark.parametrize("named", [{"session": "s"}, {}])
def test_a_retry_comes_soon(named: dict[str, Any]) -> None:
    session = only(sessions(call([user("a")], None, at=0.0, **named), call([user("a")], at=600.0, **named)))
    assert shape(session) == [([1, 2], ["start", "repeated"])]


def test_a_retry_that_says_the_same_in_another_way() -> None:
    """Without streaming, and in full after a message thread was gone."""
    begun = call([user("a")], "b", at=0.0, session="s", message_id="m1", thread={"type": "create"})
    gone = call(
        [user("c")], None, at=10.0, session="s", status=404, system=None, tools=None,
        thread={"type": "continue", "previous_message_id": "m1"},
    )  # fmt: skip
    full = call(talk("a", "b", "c"), "d", at=11.5, session="s", thread={"type": "create"})
    unstreamed = [
        call(talk("a", "b", "c", "d", "e"), None, at=20.0, session="s", stream=True),
        call(talk("a", "b", "c", "d", "e"), "f", at=22.0, session="s", stream=False),
    ]
    thread = only(only(sessions(begun, gone, full, *unstreamed)).threads)
    assert [(turn.n, turn.attempts, turn.step) for turn in thread.turns] == [
        (1, [], "start"), (3, [2], "continues"), (5, [4], "continues"),
    ]  # fmt: skip


def test_a_message_that_was_amended_after_a_failure_is_rewritten() -> None:
    texts = conversation("m", 2)
    cut = call([*talk(*texts[:3]), answer(texts[3]), user("hi")], None, at=50.0, session="s")
    amended = [user("hi\n"), user("Your answer was cut off.")]
    again = call([*talk(*texts[:3]), answer(texts[3]), {"role": "user", "content": [
        {"type": "text", "text": message["content"]} for message in amended]}], at=51.5, session="s")  # fmt: skip
    thread = only(only(sessions(*growing(texts, session="s"), cut, again)).threads)
    assert steps(thread) == ["start", "continues", "continues", "rewritten"]


def test_what_failed_and_was_replaced_is_not_tried_again() -> None:
    texts = conversation("m", 2)
    stem = [*talk(*texts[:3]), answer(texts[3])]
    made = [
        call([*stem, user("hi")], None, at=50.0, session="s"),
        call([*stem, user("hi, all")], "x", at=51.5, session="s"),
        call([*stem, user("hi")], "y", at=60.0, session="s"),
    ]
    session = only(sessions(*growing(texts, session="s"), *made))
    assert shape(session) == [([1, 2, 3, 4], ["start", "continues", "continues", "rewritten"]), ([5], ["rewind"])]


def test_the_same_again_after_an_answer_is_a_turn_of_its_own() -> None:
    repeated = [call([user("a")], "b", at=float(n), session="s", fingerprint="f") for n in (0, 9)]
    session = only(sessions(*repeated))
    assert (shape(session), session.threads[0].turns[1].attempts) == ([([1, 2], ["start", "repeated"])], [])


@pytest.mark.parametrize("resent", ["b", "c"])
def test_after_a_repeat_either_answer_can_be_gone_on_from(resent: str) -> None:
    made = [call([user("a")], "b", session="s"), call([user("a")], "c", at=9.0, session="s")]
    session = only(sessions(*made, call(talk("a", resent, "d"), at=20.0, session="s")))
    thread = only(session.threads)
    assert (steps(thread), thread.last.follows) == (["start", "repeated", "continues"], 1 if resent == "b" else 2)


def test_equal_questions_that_nobody_names_are_conversations_of_their_own() -> None:
    assert len(sessions(*(call([user("a")], "b", at=float(n)) for n in range(5)))) == 5


def test_without_answers_nothing_is_taken_for_a_retry() -> None:
    made = [call([user("a")], None, at=float(n), session="s", ended="not_recorded") for n in (0, 1)]
    assert shape(only(sessions(*made))) == [([1, 2], ["start", "repeated"])]


def test_two_at_once_are_no_attempts_of_one_another() -> None:
    made = [call([user("a")], None, at=0.0, took=60.0, session="s"), call([user("a")], at=1.0, session="s")]
    assert only(only(sessions(*made)).threads).turns[-1].attempts == []


# Breakpoints, billing lines


def test_what_says_nothing_breaks_no_chain() -> None:
    """A breakpoint that moves, and a billing line that changes with every call."""

    def sent(n: int) -> list[Message]:
        messages = talk(*conversation("m", 3)[: 2 * n + 1])
        last = {"type": "text", "text": messages[-1]["content"], "cache_control": {"type": "ephemeral"}}
        return [*messages[:-1], user([last])]

    made = [
        call(sent(n), f"m{2 * n + 1}", at=float(n), session="s", system=[
            {"type": "text", "text": f"x-anthropic-billing-header: cc_version=2.1.332; cch={n:05x};"},
            {"type": "text", "text": SYSTEM}])
        for n in range(3)
    ]  # fmt: skip
    thread = only(only(sessions(*made)).threads)
    assert steps(thread) == ["start", "continues", "continues"]
    assert len({turn.trace.system for turn in thread.turns}) == 1


# Cost


def test_many_equal_calls_cost_no_more_than_many_others() -> None:
    lineage, _ = traced([call([user("ping")], "pong", at=float(n), session="s") for n in range(1000)])
    assert len(only(only(lineage.sessions).threads).turns) == 1000


def test_every_call_is_in_one_session() -> None:
    made = [
        *side_calls(),
        *growing(conversation("m", 4), begin=10.0, session="s"),
        *rewound(),
        *growing(["q", "r"], begin=5.0),
    ]
    made += [call([user("z")], None, at=500.0), call([user("z")], at=502.0)]
    lineage, _ = traced(made)
    held = [
        n
        for session in lineage.sessions
        for n in (
            *(n for thread in session.threads for turn in thread.turns for n in (turn.n, *turn.attempts)),
            *(n for call in session.side for n in (call.n, *call.attempts)),
        )
    ]
    assert sorted(held) == list(range(1, len(made) + 1))
    assert None not in lineage.session_of
