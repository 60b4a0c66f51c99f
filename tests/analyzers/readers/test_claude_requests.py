"""Requests out of a session log: put together again as they went over the wire, and proved by the log's own digests."""

from __future__ import annotations

import json
import time
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import texts, values
from recorded_session import NEWER, captured, logs

from analyzers.digests import is_billing
from analyzers.readers.claude_requests import Rebuilt, RequestLog, hash_of, message_hash, request_digest, wire_form
from analyzers.wire.jsontext import Number

OUTSIDE_LOG = {"metadata", "stream", "diagnostics"}
PROVED = "put together from the log, and proved by the log's digest of the request"


# ------------------------------------------------------------------------------------------ a real session


def rebuilt_requests() -> list[tuple[dict[str, Any], Rebuilt]]:
    """Every api-request record of the recorded session, with what comes of it."""
    out = []
    for _, records in logs(NEWER):
        log = RequestLog()
        for record in records:
            if record["type"].startswith("api-request"):
                log.add(record["type"], record)
            elif record["type"] in ("user", "assistant"):
                log.told(record["type"], record["message"].get("id"), record["message"]["content"])
            elif record.get("subtype") == "compact_boundary":
                log.boundary()
        out += [(record, log.rebuild(name)) for name, record in log.requests.items()]
    return out


def as_logged(body: dict[str, Any]) -> dict[str, Any]:
    """A captured body without what no log holds."""
    kept = {name: value for name, value in body.items() if name not in OUTSIDE_LOG}
    return kept | {"system": [block for block in body["system"] if not is_billing(block)]}


def test_every_request_of_a_real_session_is_rebuilt_from_its_log_as_it_was_on_the_wire() -> None:
    wire = [request for request in captured(NEWER) if request["route"] == "messages"]
    requests = rebuilt_requests()
    assert len(requests) == 43
    for record, rebuilt in requests:
        assert rebuilt.body is not None, rebuilt.reason
        assert [note.detail for note in rebuilt.notes if note.code == "rebuilt_from_log"] == [PROVED]
        same = [request for request in wire if as_logged(request["body"]) == rebuilt.body]
        assert same, record["id"]
        assert ",".join(rebuilt.betas) == same[0]["headers"]["anthropic-beta"]
        for field in ("messages", "system", "tools"):  # the order of keys too
            assert json.dumps(as_logged(same[0]["body"])[field]) == json.dumps(rebuilt.body[field])


def test_the_requests_that_no_log_holds_are_probes_and_those_of_a_compaction() -> None:
    bodies = [rebuilt.body for _, rebuilt in rebuilt_requests()]
    missing = [request for request in captured(NEWER) if as_logged(request["body"] | {"system": []}) not in (
        [body | {"system": []} for body in bodies if body is not None])]  # fmt: skip
    probes = [request for request in missing if request["route"] == "count_tokens"]
    last = [json.dumps(request["body"]["messages"][-1]) for request in missing if request["route"] == "messages"]
    assert (len(probes), len(last)) == (2, 2)
    assert "CRITICAL: Respond with TEXT ONLY" in last[0]


def test_the_digest_of_a_captured_body_is_the_logs_own() -> None:
    wire = [request for request in captured(NEWER) if request["route"] == "messages"]
    digests = {request_digest(one["body"], one["headers"]["anthropic-beta"].split(",")) for one in wire}
    assert {record["requestDigest"] for record, _ in rebuilt_requests()} < digests


def test_what_no_log_holds_is_named_with_each_request() -> None:
    for _, rebuilt in rebuilt_requests():
        (told,) = (note.detail for note in rebuilt.notes if note.code == "not_in_log")
        assert all(name in told for name in (*OUTSIDE_LOG, "billing line in system"))


def test_the_recorded_bodies_differ_from_the_rebuilt_ones_in_exactly_what_is_named() -> None:
    names = {name for request in captured(NEWER) if request["route"] == "messages" for name in request["body"]}
    inside = {name for _, rebuilt in rebuilt_requests() for name in rebuilt.body or ()}
    assert names - inside == {"metadata", "stream"}
    assert inside - names == set()


# ------------------------------------------------------------------------------------------ made by hand


def canonical(value: Any) -> str:
    """What JSON.stringify writes of a value with its keys in order (lone surrogates as escapes)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text)


def sha(value: Any) -> str:
    return sha256(canonical(value).encode()).hexdigest()


def message(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


SHAPE = {"system": [{"type": "text", "text": "be brief"}], "tools": [{"name": "Bash", "input_schema": {}}]}
PARAMS = {"model": "claude-opus-5-5", "max_tokens": 5, "betas": ["a", "b"]}


def shape(**changes: Any) -> tuple[str, dict[str, Any]]:
    return "api-request-shape", {"shapeHash": sha(SHAPE), "shape": SHAPE} | changes


def blob(told: dict[str, Any], **changes: Any) -> tuple[str, dict[str, Any]]:
    return "api-request-blob", {"hash": sha(told), "message": told} | changes


def request(name: str, *tail: Any, base: Any = None, keep: Any = 0, **changes: Any) -> tuple[str, dict[str, Any]]:
    hashes = [item if isinstance(item, str) else sha(item) for item in tail]
    record = {"id": name, "shapeHash": sha(SHAPE), "params": PARAMS, "keep": keep, "tail": hashes, "cacheControl": []}
    return "api-request", record | ({"base": base} if base is not None else {}) | changes


def log(*records: tuple[str, dict[str, Any]]) -> RequestLog:
    made = RequestLog()
    for kind, record in records:
        made.add(kind, record)
    return made


A, B, C = message("a"), message("b", "assistant"), message("c")
HELD = (shape(), blob(A), blob(B), blob(C))


def contents(rebuilt: Rebuilt) -> list[Any]:
    assert rebuilt.body is not None, rebuilt.reason
    return [one["content"] for one in rebuilt.body["messages"]]


def told(rebuilt: Rebuilt) -> str:
    return next(note.detail for note in rebuilt.notes if note.code == "rebuilt_from_log")


def test_a_request_is_what_it_keeps_of_its_base_and_its_own_tail() -> None:
    made = log(*HELD, request("1", A, B), request("2", C, base="1", keep=2), request("3", C, base="2", keep=1))
    assert contents(made.rebuild("3")) == ["a", "c"]
    assert contents(made.rebuild("2")) == ["a", "b", "c"]
    assert contents(made.rebuild("1")) == ["a", "b"]


def test_the_parameters_and_the_shape_are_fields_and_betas_are_none() -> None:
    rebuilt = log(*HELD, request("1", A)).rebuild("1")
    assert rebuilt.body == {
        "model": "claude-opus-5-5",
        "max_tokens": 5,
        **SHAPE,
        "messages": [{"role": "user", "content": "a"}],
    }
    assert rebuilt.betas == ("a", "b")


def test_a_mark_is_put_at_its_path_and_nowhere_else() -> None:
    mark = {"type": "ephemeral", "ttl": "1h"}
    paths = [["system", 0], ["tools", 0], ["messages", 1, "content", 0]]
    marks = [{"path": path, "value": mark} for path in paths]
    made = log(*HELD, request("1", A, B, cacheControl=marks), request("2", C, base="1", keep=2))
    body = made.rebuild("1").body
    assert body is not None
    assert body["system"][0]["cache_control"] == body["tools"][0]["cache_control"] == mark
    assert body["messages"][0]["content"] == "a"
    assert body["messages"][1]["content"] == [{"type": "text", "text": "b", "cache_control": mark}]
    assert "cache_control" not in json.dumps(made.rebuild("2").body)


@pytest.mark.parametrize(
    "path", [["messages", 7], ["messages", 0, "content", 3], ["nothing"], [], "system", ["system", [1]], [None], None]
)
def test_a_mark_where_there_is_nothing_leaves_the_request_without_a_body(path: Any) -> None:
    rebuilt = log(*HELD, request("1", A, cacheControl=[{"path": path, "value": 1}])).rebuild("1")
    assert rebuilt.body is None and rebuilt.reason == "the log marks a cache_control where this request has nothing"


def test_a_digest_proves_the_whole_and_another_is_told() -> None:
    body = PARAMS | SHAPE | {"messages": [A]}
    assert told(log(*HELD, request("1", A, requestDigest=sha(body))).rebuild("1")) == PROVED
    assert "the whole has another" in told(log(*HELD, request("1", A, requestDigest="0" * 64)).rebuild("1"))
    assert "the whole has none" in told(log(*HELD, request("1", A)).rebuild("1"))


def test_a_part_that_differs_from_its_hash_is_told() -> None:
    other = blob(message("another"), hash=sha(A))
    rebuilt = log(shape(), other, request("1", A, requestDigest="0" * 64)).rebuild("1")
    assert "1 parts differ from their hashes" in told(rebuilt)
    assert contents(rebuilt) == ["another"]


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([shape(), blob(A), request("1", A, B)], "1 of the 2 messages of this request are not in the log"),
        ([blob(A), request("1", A)], "the log does not hold the system prompt and tools of this request"),
        ([*HELD, request("1", A, base="0", keep=1)], "the log does not hold the request that this one builds upon"),
        ([*HELD, request("1", A, base="1", keep=1)], "the log does not hold the request that this one builds upon"),
        ([*HELD, request("1", A, base=["0"])], "the log does not hold the request that this one builds upon"),
        ([*HELD, request("1", A, keep=1)], "the log does not hold the request that this one builds upon"),
        ([*HELD, request("1", A, keep="1")], "the log does not hold the request that this one builds upon"),
        ([*HELD, request("1", tail=None)], "the log does not hold the request that this one builds upon"),
        ([*HELD, request("1", tail=[[]])], "the log does not hold the request that this one builds upon"),
        ([*HELD, request("1", A, shapeHash=None)], "the log does not hold the system prompt and tools of this request"),
        ([*HELD, request("1", A, cut=3)], "the log says that it keeps this request cut"),
    ],
)
def test_what_does_not_fit_leaves_the_request_without_a_body_and_says_why(records: list[Any], reason: str) -> None:
    rebuilt = log(*records).rebuild("1")
    assert (rebuilt.body, rebuilt.reason, rebuilt.notes) == (None, reason, ())


@pytest.mark.parametrize("keep", [3, -1, True, None, 1.0])
def test_more_than_the_base_has_cannot_be_kept(keep: Any) -> None:
    made = log(*HELD, request("1", A, B), request("2", C, base="1", keep=keep))
    assert made.rebuild("2").body is None
    assert made.rebuild("1").body is not None


def test_a_circle_of_bases_ends_and_what_builds_upon_it_is_not_there_either() -> None:
    circle = [request(str(n), A, base=str((n + 1) % 3), keep=0) for n in range(3)]
    made = log(*HELD, *circle, request("9", A, base="0"), request("8", A))
    assert [made.rebuild(name).body for name in "0129"] == [None] * 4
    assert made.rebuild("8").body is not None


def test_what_the_log_says_it_withheld_is_told() -> None:
    (_, gap) = log(*HELD, request("1", A, withheld=["temperature", 3])).rebuild("1").notes
    assert gap.detail.endswith("withheld here: temperature")


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        ("api-request", {}),
        ("api-request", {"id": 1}),
        ("api-request", {"id": [[]]}),
        ("api-request-blob", {"hash": "x"}),
        ("api-request-blob", {"hash": "x", "message": 3}),
        ("api-request-blob", {"hash": None, "message": {}}),
        ("api-request-shape", {"shapeHash": "x", "shape": "text"}),
        ("api-request-shape", {"shapeHash": {}, "shape": {}}),
        ("api-request-other", {"id": "1"}),
    ],
)
def test_a_record_of_another_form_is_refused(kind: str, record: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        log((kind, record))


# ------------------------------------------------------------------------------------------ messages without a blob


def test_a_message_without_a_blob_is_a_run_of_records() -> None:
    parts = [[{"type": "thinking", "thinking": "", "signature": "s"}], "said", [{"type": "tool_use", "id": "t"}]]
    blocks = [parts[0][0], {"type": "text", "text": "said"}, parts[2][0]]
    results = [[{"type": "tool_result", "tool_use_id": name}] for name in "12"]
    one = {"role": "assistant", "content": blocks}
    two = {"role": "user", "content": [*results[0], *results[1]]}
    made = log(shape(), request("1", A, one, two))
    made.told("user", None, "a")
    for part in parts:
        made.told("assistant", "msg_1", part)
    for part in results:
        made.told("user", None, part)
    assert contents(made.rebuild("1")) == ["a", blocks, two["content"]]


@pytest.mark.parametrize("many", [1, 2, 3])
def test_a_message_may_be_any_beginning_of_a_run(many: int) -> None:
    begun = {"role": "user", "content": [{"type": "text", "text": str(n)} for n in range(many)]}
    made = log(shape(), request("1", begun))
    for n in range(4):
        made.told("user", None, str(n))
    (found,) = contents(made.rebuild("1"))
    assert found == ("0" if many == 1 else begun["content"])


def test_a_user_message_may_stand_within_a_run_and_an_answer_of_another_id_may_not_join() -> None:
    joined = {"role": "assistant", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}
    made = log(shape(), request("1", C), request("2", joined))
    made.told("user", None, "a")
    made.told("user", None, "c")
    made.told("assistant", "msg_1", "x")
    made.told("assistant", "msg_2", "y")
    assert contents(made.rebuild("1")) == ["c"]
    assert made.rebuild("2").body is None


def test_no_message_goes_over_the_mark_of_a_compaction() -> None:
    both = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "c"}]}
    made = log(shape(), request("1", both))
    made.told("user", None, "a")
    made.boundary()
    made.told("user", None, "c")
    assert made.rebuild("1").body is None


def test_what_the_client_said_itself_may_be_a_message_and_interrupts_no_run() -> None:
    both = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "c"}]}
    alone = message("No response requested.", "assistant")
    made = log(shape(), request("1", both, alone))
    made.told("user", None, "a")
    made.aside("assistant", "No response requested.")
    made.told("user", None, "c")
    assert contents(made.rebuild("1")) == [both["content"], "No response requested."]


def test_a_run_of_thousands_of_records_costs_a_single_pass() -> None:
    whole = {"role": "user", "content": [{"type": "text", "text": f"{n}" * 500} for n in range(3000)]}
    made = log(shape(), request("1", whole), request("2", message("nowhere")))
    for block in whole["content"]:
        made.told("user", None, [block])
    begun = time.process_time()
    assert contents(made.rebuild("1")) == [whole["content"]]
    assert made.rebuild("2").reason == "1 of the 1 messages of this request are not in the log"
    assert time.process_time() - begun < 2


def test_a_chain_of_thousands_of_requests_is_not_kept_for_each_of_them() -> None:
    made = log(shape(), *(blob(message(str(n))) for n in range(3000)))
    for n in range(3000):
        base = {} if not n else {"base": str(n - 1), "keep": n}
        made.add(*request(str(n), message(str(n)), **base))
    assert contents(made.rebuild("2999")) == [str(n) for n in range(3000)]
    assert contents(made.rebuild("1")) == ["0", "1"]


# ------------------------------------------------------------------------------------------ hashes


def test_a_string_and_one_block_of_text_have_one_hash_and_go_as_a_string() -> None:
    assert message_hash({"role": "user", "content": "a"}) == message_hash(A) == sha(A)
    assert wire_form(A) == {"role": "user", "content": "a"}


@pytest.mark.parametrize(
    "content",
    [
        [],
        None,
        [{"type": "text", "text": "a", "citations": []}],
        [{"type": "text", "text": {}}],
        [{"type": "other", "text": "a"}],
        [{"type": "text", "text": "a"}] * 2,
    ],
)
def test_anything_else_stays_a_list(content: Any) -> None:
    assert wire_form({"role": "user", "content": content}) == {"role": "user", "content": content}


def test_marks_are_no_part_of_a_hash_at_any_depth() -> None:
    marked = {"a": [{"b": 1, "cache_control": {"type": "ephemeral"}}], "cache_control": None}
    assert hash_of(marked) == sha({"a": [{"b": 1}]})
    assert marked["a"][0]["cache_control"]  # and the value is left as it was


def test_numbers_count_as_they_were_written() -> None:
    text = '{"a":1e+21,"b":123456789012345678901234567890}'
    written = {"a": Number("1e+21"), "b": Number("123456789012345678901234567890")}
    assert hash_of(written) == sha256(text.encode()).hexdigest()


def test_json_of_any_depth_has_a_hash() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    text = "[" * 100_000 + '"x"' + "]" * 100_000
    assert hash_of({"b": 1, "a": deep}) == sha256(f'{{"a":{text},"b":1}}'.encode()).hexdigest()


@given(values)
def test_the_hash_is_that_of_the_sorted_compact_text(value: Any) -> None:
    def unmarked(node: Any) -> Any:
        if isinstance(node, dict):
            return {name: unmarked(item) for name, item in node.items() if name != "cache_control"}
        return [unmarked(item) for item in node] if isinstance(node, list) else node

    def floats(node: Any) -> bool:
        members = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return isinstance(node, float) or any(floats(item) for item in members)

    if not floats(value):  # their text is the fast writer's business
        assert hash_of(value) == sha(unmarked(value))


@given(st.lists(st.lists(texts, max_size=3), min_size=1, max_size=6), st.data())
def test_every_beginning_of_every_run_is_found(run: list[list[str]], data: st.DataObject) -> None:
    end = data.draw(st.integers(1, len(run)))
    blocks = [[{"type": "text", "text": text} for text in part] for part in run]
    wanted = {"role": "assistant", "content": [block for part in blocks[:end] for block in part]}
    made = log(shape(), request("1", wanted))
    for part in blocks:
        made.told("assistant", "msg_1", part)
    found = made.rebuild("1").body
    assert found is not None and found["messages"] == [wire_form(wanted)]
