"""The closing summary of a run, out of its capture files."""

from pathlib import Path

from capture_files import SEEN, body, end, request, response, start, written

from addon.closing import closing
from addon.closing_shown import capture_lines, closing_lines
from analyzers.wire.jsontext import dump

MAIL = "please write to ann.lee@example.com and again to ann.lee@example.com"


def lines(tmp_path: Path, *more: bytes) -> list[str]:
    return closing_lines(closing([written(tmp_path, "a-1-b.jsonl.zst", start(), *more, end())], 62.4), "forward")


def test_requests_are_counted_by_their_end(tmp_path: Path) -> None:
    told = lines(
        tmp_path, request("1", body()), response("1"), request("2", body()), response("2", ended="error", status=529)
    )
    assert told[0] == "2 requests in 1 min 2 s: 1 completed, 1 error"


def test_other_routes_are_named(tmp_path: Path) -> None:
    counting = request("2", body(), path="/v1/messages/count_tokens", route="count_tokens")
    told = lines(tmp_path, request("1", body()), response("1"), counting, response("2", usage=None))
    assert told[0].endswith("2 completed (1 messages, 1 count_tokens)")


def test_fields_add_up_to_what_was_sent(tmp_path: Path) -> None:
    found = closing(
        [written(tmp_path, "a.jsonl", start(), request("1", body("x" * 500)), response("1"), request("2", body("y")))],
        1,
    )
    fields = {field.name: field.chars for field in found.fields}
    assert fields == {"messages": (11 + 4 + 500) + (11 + 4 + 1), "model": 32}
    assert found.chars == sum(fields.values())
    messages = next(field for field in found.fields if field.name == "messages")
    assert messages.at_least, "a folded text of which nothing is noted has unknown tokens"


def test_tokens_of_a_field_of_which_nothing_is_known_are_unknown_and_not_none(tmp_path: Path) -> None:
    told = lines(tmp_path, request("1", body("x" * 500)), response("1"))
    assert next(line.split() for line in told if line.startswith("messages")) == ["messages", "515", "97.0", "%", "?"]
    told = lines(tmp_path, request("1", body("x" * 500)), response("1"), request("2", body("y")), response("2"))
    assert next(line.split() for line in told if line.startswith("messages")) == ["messages", "531", "94.3", "%", "≥1"]


def test_tokens_cost_and_cache_are_those_of_the_other_commands(tmp_path: Path) -> None:
    told = "\n".join(lines(tmp_path, request("1", body()), response("1")))
    assert "input 24,623 tokens = 10 in + 24,613 cache write + 0 cache read   output 45" in told
    assert "cache: hit rate 0.0 %, 0 breaks" in told
    assert "cost: about 0.0310 USD" in told, "the lifetime of what was written is not told"


def test_what_is_unknown_is_said_to_be(tmp_path: Path) -> None:
    told = "\n".join(lines(tmp_path, request("1", body(model="gpt-x")), response("1", usage=None, model=None)))
    assert "input ? tokens = ? in + ? cache write + ? cache read   output ?" in told
    assert "cache: not known" in told
    assert "cost: not known, 1 call without a price" in told


def test_personal_data_is_counted_by_kind_in_requests_only(tmp_path: Path) -> None:
    answer = response("1", content=[{"type": "text", "text": "ask bob.ray@example.org"}])
    told = "\n".join(lines(tmp_path, request("1", body(MAIL)), answer))
    assert "personal data sent: 1 email (`weighbridge privacy` says where)" in told


def test_what_the_guard_blocked_was_not_sent(tmp_path: Path) -> None:
    blocked = response("1", ended="error", status=400, headers={"x-weighbridge": "guard"}, usage=None)
    told = "\n".join(lines(tmp_path, request("1", body(MAIL)), blocked, request("2", body()), response("2")))
    assert "personal data sent: none found" in told


def test_folded_texts_that_nobody_looked_into_are_counted(tmp_path: Path) -> None:
    told = "\n".join(lines(tmp_path, request("1", body("z" * 900)), response("1")))
    assert "personal data sent: none found; 1 folded text not looked into" in told


def test_bodies_that_could_not_be_looked_into_are_not_known(tmp_path: Path) -> None:
    broken = request("1", b'{"messages":[{"role":"user","content":"ann.lee@example.com"')
    told = "\n".join(lines(tmp_path, broken, response("1")))
    assert "personal data sent: not known: no body of 1 request could be looked into" in told
    told = "\n".join(lines(tmp_path, broken, response("1"), request("2", body()), response("2")))
    assert "personal data sent: none found; not known for 1 request without a body to look into" in told


def test_where_the_captures_are_stands_in_the_hint(tmp_path: Path) -> None:
    file = written(tmp_path, "a.jsonl", start(), request("1", body(MAIL)), response("1"))
    told = "\n".join(closing_lines(closing([file], 1.0), "reverse", again=" --captures there"))
    assert "(`weighbridge privacy --captures there` says where)" in told


def test_why_requests_failed_is_told_the_most_frequent_first(tmp_path: Path) -> None:
    refused = {"ended": "unreachable", "status": None, "failure": "connection refused\x1b[2J", "usage": None}
    limited = {"ended": "error", "status": 429, "error": {"type": "rate_limit_error", "message": "slow"}, "usage": None}
    asked = [request(name, body(name)) for name in "12345"]
    ends = [response("1", **limited), *(response(name, **refused) for name in "234"), response("5")]
    told = lines(tmp_path, *(line for pair in zip(asked, ends, strict=True) for line in pair))
    assert told[1:4] == ["unreachable: connection refused\\u001b[2J (3 times)", "error: 429 rate_limit_error", ""]


def test_so_many_reasons_are_told(tmp_path: Path) -> None:
    pairs = []
    for n in range(7):
        failed = response(str(n), ended="unreachable", status=None, failure=f"reason {n}", usage=None)
        pairs += [request(str(n), body(str(n))), failed]
    assert lines(tmp_path, *pairs)[6] == "and 2 other reasons"


def test_requests_of_batches_are_said_to_be_in_no_sum(tmp_path: Path) -> None:
    params = {"model": "claude-haiku-4-5", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    asked = dump({"requests": [{"custom_id": str(n), "params": params} for n in range(3)]})
    made = {"id": "msgbatch_1", "type": "message_batch", "processing_status": "in_progress"}
    batch = (
        request("2", asked, path="/v1/messages/batches", route="batches"),
        response("2", usage=None, content=None, model=None, message_id=None, body=made),
    )
    told = "\n".join(lines(tmp_path, request("1", body()), response("1"), *batch))
    assert "cost: about 0.0310 USD, without 3 requests of batches" in told
    assert "cost: not known, without 3 requests of batches" in "\n".join(lines(tmp_path, *batch))


def test_what_was_lost_is_no_fault_of_the_commands() -> None:
    (told,) = closing_lines(closing([], 1.0), "reverse", lost=True)
    assert told.endswith("what came could not be written, for the reason above")


def test_nothing_recorded_says_what_to_try(tmp_path: Path) -> None:
    assert closing_lines(closing([], 1.0), "forward") == [
        "no request to the Messages API was recorded in 1.0 s: does the command ask a proxy, and trust SSL_CERT_FILE "
        "or NODE_EXTRA_CA_CERTS? --reverse needs neither"
    ]
    assert "--forward does without" in closing_lines(closing([], 1.0), "reverse")[0]


def test_a_body_that_could_not_be_measured_is_in_no_sum_and_is_said(tmp_path: Path) -> None:
    told = "\n".join(lines(tmp_path, request("1", b"no json"), response("1")))
    assert "without the 1 request whose body could not be measured" in told


def test_a_body_that_has_no_fields_is_called_so(tmp_path: Path) -> None:
    assert "(body)       4   100.0 %" in "\n".join(lines(tmp_path, request("1", b"null"), response("1")))


def test_names_from_the_wire_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    odd = request("1", b'{"model":"m","messages":[],"\\u001b[31m":1}')
    assert "\x1b" not in "\n".join(lines(tmp_path, odd, response("1")))


def test_every_file_of_the_run_is_named(tmp_path: Path) -> None:
    files = [
        written(tmp_path, f"a-{n}.jsonl", start(), request("1", body(), at=n), response("1"), end()) for n in (1, 2)
    ]
    told = closing_lines(closing(files, 1.0), "reverse")
    assert capture_lines(files) == [f"capture: {file}" for file in files]
    assert told[-1] == f"2 capture files, {sum(file.stat().st_size for file in files):,} bytes"
    assert SEEN["host"] not in "\n".join(told)
