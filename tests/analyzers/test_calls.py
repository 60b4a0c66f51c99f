"""Records of calls into calls: each once, retries joined to the call they are attempts of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.calls import RETRY_WITHIN, Call, file_of, merged
from analyzers.spent import NOTHING, Spent

T = 1_796_000_000.0


def call(name: str | None = "m1", *, at: float | None = 0.0, output: int | None = 10, **changes: Any) -> Call:
    """A call of the wire, unless ``logged``. ``at``: seconds after a moment."""
    spent = changes.pop("spent", Spent(1, 0, 0, 0, 0, output))
    request = changes.pop("request_id", f"req_{name}" if name else None)
    time = None if at is None else T + at
    made = Call(time, "s", None, "model", None, name, request, "completed", spent, spent, "file:1")
    return made._replace(**changes)


def logged(name: str | None = "m1", **changes: Any) -> Call:
    return call(name, **({"logged": True, "place": "log.jsonl:1"} | changes))


def failed(**changes: Any) -> Call:
    return call(None, **({"state": "failed", "spent": NOTHING, "fingerprint": "same"} | changes))


# Which records are one call


@pytest.mark.parametrize("ids", [{"request_id": None}, {}])
def test_records_of_a_log_with_one_message_id_are_one_call(ids: dict[str, Any]) -> None:
    (one,) = merged([logged(at=5, rows=2, **ids), logged(at=3, rows=3, place="fork.jsonl:9", **ids)])
    assert (one.rows, one.time) == (5, T + 3)


def test_without_a_message_id_the_request_id_tells_and_without_both_nothing_does() -> None:
    assert len(merged([logged(None, request_id="r"), logged(None, request_id="r", place="x.jsonl:1")])) == 1
    assert len(merged([logged(None), logged(None)])) == 2


def test_final_counts_win_over_placeholders_and_the_greater_output_over_the_smaller() -> None:
    placeholder = logged(output=900, state="unfinished")
    (one,) = merged([placeholder, logged(output=12)])
    assert (one.spent.output, one.state) == (12, "completed")
    for order in ((1, 412), (412, 1)):
        (one,) = merged([logged(output=output) for output in order])
        assert one.spent.output == 412
    (one,) = merged([logged(output=None), logged(output=0)])
    assert one.spent.output == 0


def test_the_wire_s_counters_win_over_a_log_s_and_what_only_the_log_knows_is_kept() -> None:
    wire = call(output=45, at=1, session=None)
    (one,) = merged([wire, logged(output=999, at=4, rows=3, requested="alias")])
    assert (one.spent.output, one.logged, one.rows) == (45, False, 3)
    assert (one.session, one.requested, one.time) == ("s", "alias", T + 1)


def test_a_recording_without_counters_does_not_win_over_a_log() -> None:
    bare = call(None, request_id="req_m1", spent=NOTHING, place="saved.har:1")
    for found in ([bare, logged()], [logged(), bare]):
        (one,) = merged(found)
        assert (one.message_id, one.spent.output) == ("m1", 10)


def test_an_answer_in_the_main_file_is_the_main_thread_s_wherever_it_is_copied() -> None:
    side = {"sidechain": True, "agent": "x"}
    (one,) = merged([logged(**side), logged()])
    assert (one.agent, one.sidechain) == (None, False)
    (one,) = merged([logged(sidechain=True), logged(**side, place="agent-x.jsonl:1")])
    assert (one.agent, one.sidechain) == ("x", True)


# A mock of the API gives every answer one id


@pytest.mark.parametrize("gap", [10.0, 0.01])
@pytest.mark.parametrize("request_id", [None, "req_mock"])
def test_answers_in_one_file_with_one_id_are_different_calls(request_id: str | None, gap: float) -> None:
    many = [call("mock", at=gap * n, request_id=request_id, place=f"c.jsonl:{n}") for n in range(4)]
    assert len(merged(many)) == 4


def test_answers_in_two_files_with_one_message_id_at_different_moments_are_different_calls() -> None:
    assert len(merged([call("mock", at=10.0 * n, request_id=None, place=f"{n}.jsonl:1") for n in range(2)])) == 2


def test_answers_with_one_message_id_and_different_request_ids_are_different_calls() -> None:
    assert len(merged([call("mock", request_id=f"r{n}", place=f"{n}.jsonl:1") for n in range(4)])) == 4


@pytest.mark.parametrize("request_id", [None, "r"])
def test_one_exchange_recorded_twice_is_one_call(request_id: str | None) -> None:
    assert len(merged([call(request_id=request_id, at=n * 0.3, place=f"{n}.jsonl:1") for n in range(3)])) == 1


def test_failures_with_one_request_id_are_one_in_two_files_and_two_in_one() -> None:
    twice = [failed(request_id="r", place="a.jsonl:1"), failed(request_id="r", place="b.har:1", fingerprint="other")]
    assert len(merged(twice)) == 1
    mocked = [failed(request_id="r", place="a.jsonl:1"), failed(request_id="r", place="a.jsonl:3", fingerprint="x")]
    assert len(merged(mocked)) == 2


# A22: results of a batch


def test_a22_a_result_is_one_call_however_often_and_whenever_it_is_polled() -> None:
    ok = [call("m1", at=600.0 * n, result="/b#c1", request_id=None, place=f"f:{n}, result 1") for n in range(3)]
    bad = [failed(at=600.0 * n, result="/b#c2", fingerprint=None, place=f"f:{n}, result 2") for n in range(3)]
    assert sorted(one.result or "" for one in merged([*ok, *bad])) == ["/b#c1", "/b#c2"]


def test_a22_results_of_a_mock_with_one_message_id_are_different_calls() -> None:
    assert len(merged([call("mock", result=f"/b#c{n}", request_id=None) for n in range(3)])) == 3


# C18: attempts


def test_c18_equal_requests_after_failures_are_one_call_with_its_attempts() -> None:
    found = [failed(at=0, end=T + 1), failed(at=3, end=T + 4), call(at=6, fingerprint="same", end=T + 9)]
    (one,) = merged(reversed(found))
    assert (one.attempts, one.failed_attempts, one.time, one.end) == (3, 2, T, T + 9)
    assert (one.message_id, one.state, one.spent.output, one.partial) == ("m1", "completed", 10, False)


def test_c18_counters_of_an_attempt_that_died_are_added_and_said_to_be_doubtful() -> None:
    dead = failed(at=0, spent=Spent(7, 500, 500, 0, 0, None))
    (one,) = merged([dead, call(at=6, fingerprint="same")])
    assert (one.spent, one.billed, one.partial) == (Spent(8, 500, 500, 0, 0, 10),) * 2 + (True,)


@pytest.mark.parametrize(("seconds", "calls"), [(RETRY_WITHIN, 1), (RETRY_WITHIN + 1, 2), (600.0, 2)])
def test_c18_a_retry_comes_within_minutes_of_the_end_of_the_failure(seconds: float, calls: int) -> None:
    found = [failed(at=0, end=T + 50), call(at=50 + seconds, fingerprint="same")]
    assert len(merged(found)) == calls


def test_c18_equal_requests_that_succeed_or_differ_are_calls_of_their_own() -> None:
    assert len(merged([call(f"m{n}", at=n, fingerprint="same") for n in range(2)])) == 2
    assert len(merged([failed(at=0), call(at=1, fingerprint="other")])) == 2
    assert len(merged([failed(at=0, fingerprint=None), call(at=1)])) == 2


def test_c18_all_attempts_may_fail() -> None:
    (one,) = merged([failed(at=n) for n in range(3)])
    assert (one.state, one.attempts, one.failed_attempts) == ("failed", 3, 2)


def test_a_probe_is_never_an_attempt() -> None:
    probe = call(None, at=1, state="probe", fingerprint="same", counted=5)
    assert [one.state for one in merged([failed(at=0), probe, call(at=2, fingerprint="same")])] == [
        "completed",
        "probe",
    ]


def test_a_log_s_failures_and_the_wire_s_are_the_same_failures() -> None:
    found = [failed(at=0), call(at=2, fingerprint="same"), logged(at=3, attempts=2, failed_attempts=1)]
    (one,) = merged(found)
    assert (one.attempts, one.failed_attempts) == (2, 1)


# Laws


def told(records: list[Call]) -> list[Any]:
    return sorted(
        (one.message_id or "", one.time or 0.0, one.state, repr(one.spent.output), one.rows) for one in merged(records)
    )


RECORDS = st.lists(
    st.builds(
        logged,
        st.sampled_from(["a", "b", "c"]),
        at=st.sampled_from([0.0, 5.0, 90.0]),
        output=st.sampled_from([None, 0, 1, 412]),
        state=st.sampled_from(["completed", "unfinished"]),
        place=st.sampled_from(["x.jsonl:1", "y.jsonl:7"]),
        rows=st.integers(1, 3),
    )
)


@given(RECORDS, st.randoms())
def test_the_order_of_records_does_not_matter(records: list[Call], random: Any) -> None:
    shuffled = list(records)
    random.shuffle(shuffled)
    assert told(records) == told(shuffled)


@given(RECORDS)
def test_merging_again_changes_nothing(records: list[Call]) -> None:
    once = merged(records)
    assert merged(once) == once
    assert len(once) == len({record.message_id for record in records})


@pytest.mark.parametrize(
    ("place", "file"),
    [
        ("/a/b.jsonl:12", "/a/b.jsonl"),
        ("/a:b/c.jsonl:12", "/a:b/c.jsonl"),
        ("/a:b/c.jsonl, line 3 after byte 16777216", "/a:b/c.jsonl"),
        ("/a/c.har:3, result 2", "/a/c.har"),
        ("standard input:1", "standard input"),
        ("/a/b", "/a/b"),
    ],
)
def test_the_file_of_a_place(place: str, file: str) -> None:
    assert file_of(place) == file
