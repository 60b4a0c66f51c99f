"""Lines of a capture file: what is kept of a request, and what never is."""

import gzip
import json
from dataclasses import replace
from typing import Any

import brotli
import pytest
from capture_files import KEY, SEEN

from analyzers.wire.answer import AnswerReader
from analyzers.wire.jsontext import dump
from analyzers.wire.record import (
    FileHead,
    SeenAnswer,
    SeenRequest,
    end_record,
    request_record,
    response_record,
    start_record,
    timestamp,
)
from analyzers.wire.weighing import Weigher

SECRET = "sk-ant-api03-never-written"


def record(body: bytes | None, fold_over: int = 400, **changes: Any) -> dict[str, Any]:
    seen = SeenRequest(**SEEN | {"body": body} | changes)
    made = request_record(seen, Weigher(fold_over), key=KEY)
    written = json.loads(dump(made))
    assert list(written) == list(made)
    return made | ({"body": written["body"]} if "body" in made else {})


def codes(made: dict[str, Any]) -> list[str]:
    return [note["code"] for note in made["notes"]]


def test_a_request_has_its_figures_from_before_folding() -> None:
    body = dump({"model": "m", "messages": [{"role": "user", "content": "x" * 1000}]})
    made = record(body)
    assert made["figures"] == {"fields": {"model": 1, "messages": 1015}, "total": 1016}
    assert sum(made["steps"].values()) == made["wire_bytes"] == made["decoded_bytes"] == len(body)
    assert made["body"]["messages"][0]["content"]["chars"] == 1000
    assert next(iter(made)) == "kind" and next(reversed(made)) == "body"


@pytest.mark.parametrize("coding", ["gzip", "br", "GZIP", "x-gzip"])
def test_a_compressed_body_is_weighed_decoded_and_its_compression_is_a_step(coding: str) -> None:
    body = dump({"messages": [{"role": "user", "content": "x" * 1000}]})
    packed = brotli.compress(body) if coding == "br" else gzip.compress(body)
    made = record(packed, headers=(("Content-Encoding", coding),))
    assert made["figures"]["total"] == 1015
    assert (made["wire_bytes"], made["decoded_bytes"]) == (len(packed), len(body))
    assert sum(made["steps"].values()) == len(packed)


def test_a_body_compressed_without_saying_so_is_found_out() -> None:
    body = dump({"messages": []})
    made = record(gzip.compress(body))
    assert made["figures"]["total"] == 0
    assert any("encoding" in code for code in codes(made))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b'{"messages": [', "too early"),
        (b"{'a': 1}", "object key"),
        (b'{"a": NaN}', "expected a value"),
        (b"\xff\xfe{\x00}\x00", "UTF-8"),
        (b"--boundary\r\nContent-Disposition: form-data", "expected a value"),
    ],
)
def test_a_body_that_is_no_json_is_kept_as_length_hash_and_reason(body: bytes, reason: str) -> None:
    made = record(body)
    assert "body" not in made and "figures" not in made
    assert made["unparsed"]["bytes"] == len(body)
    assert len(made["unparsed"]["sha256"]) == 64
    assert reason in made["unparsed"]["reason"]


def test_a_body_that_says_gzip_and_is_neither_gzip_nor_json_is_kept_with_its_reason() -> None:
    made = record(b"\x00\x01\x02 not gzip", headers=(("content-encoding", "gzip"),))
    assert made["unparsed"]["bytes"] == 12
    assert codes(made)


@pytest.mark.parametrize(
    ("body", "note", "total"),
    [
        (b'\xef\xbb\xbf{"model":"m"}', "bom", 1),
        (b'{"model":"m"}\n{"model":"n"}', "trailing_text", 1),
        (b'{"model":"cheap","model":"dear"}', "duplicate_key", 4),
        (json.dumps('{"model":"m"}').encode(), "double_serialised", 1),
        (b'{"a":"\xed\xa0\xbd"}', "raw_surrogates", 1),
    ],
)
def test_odd_json_is_weighed_and_noted(body: bytes, note: str, total: int) -> None:
    made = record(body)
    assert codes(made) == [note]
    assert made["figures"]["total"] == total
    assert sum(made["steps"].values()) == len(body)


def test_numbers_stand_as_the_client_wrote_them() -> None:
    body = b'{"a":1.0,"b":1E2,"c":-0,"d":-0.0,"e":1e400,"f":-1e400,"g":0.1000000000000000055,"h":12345678901234567890}'
    made = record(body)
    written = dump(request_record(SeenRequest(**SEEN | {"body": body}), Weigher(400), key=KEY))
    assert body[1:-1] in written
    assert made["figures"]["fields"] == {"a": 3, "b": 3, "c": 2, "d": 4, "e": 5, "f": 6, "g": 21, "h": 20}


def test_no_credential_of_any_place_is_in_the_line() -> None:
    body = dump(
        {
            "mcp_servers": [{"name": "n", "authorization_token": SECRET}],
            "fallback_credit_token": SECRET,
            "requests": [
                {
                    "params": {
                        "mcp_servers": [{"authorization_token": SECRET}],
                        "fallback_credit_token": {"token": SECRET},
                    }
                }
            ],
        }
    )
    made = record(
        body,
        fold_over=-1,
        path=f"/v1/messages?beta=true&key={SECRET}",
        headers=(("x-api-key", SECRET), ("Authorization", f"Bearer {SECRET}"), ("cookie", SECRET)),
    )
    assert SECRET not in dump(made).decode()
    assert made["query"] == "beta=true&key=…"
    assert made["other_headers"] == ["authorization", "cookie", "x-api-key"]


def test_equal_bodies_have_equal_fingerprints_under_one_key_only() -> None:
    assert record(b"{}")["fingerprint"] == record(b"{}")["fingerprint"] != record(b"{ }")["fingerprint"]
    seen = SeenRequest("1", 0.0, "POST", "https", "h", 443, "/v1/messages", "messages", (), b"{}")
    assert request_record(seen, Weigher(400), key=b"other")["fingerprint"] != record(b"{}")["fingerprint"]


def test_a_body_that_was_streamed_past_is_marked() -> None:
    made = record(None, streamed=True)
    assert made["streamed"] is True
    assert made["wire_bytes"] is None
    assert "not seen" in made["unparsed"]["reason"]


def test_a_get_has_no_body_and_no_reason() -> None:
    made = request_record(
        SeenRequest("1", 0.0, "GET", "https", "h", 443, "/v1/messages/batches/b1", "batches", (), b""),
        Weigher(400),
        key=KEY,
    )
    assert "unparsed" not in made and "body" not in made
    assert made["wire_bytes"] == 0


def test_user_data_that_looks_like_a_marker_is_escaped_in_the_line() -> None:
    made = record(b'{"messages":[],"_elided":{"_elided":true,"chars":5}}')
    assert made["body"]["__elided"] == {"__elided": True, "chars": 5}
    assert made["figures"]["fields"] == {"messages": 0, "__elided": 17}


def test_times_are_utc_with_microseconds() -> None:
    assert timestamp(1_796_033_779.383941) == "2026-11-30T10:16:19.383941Z"


def test_first_and_last_line() -> None:
    head = FileHead(0.0, "0.1.0", "12.3.1", 400, ("regular",), {"capture_compress": True}, continues="a.jsonl")
    assert start_record(head)["format"] == 1
    assert start_record(head)["continues"] == "a.jsonl"
    assert "taken" not in start_record(head), "nobody said how"
    assert start_record(replace(head, taken="run forward"))["taken"] == "run forward"
    end = end_record(0.0, requests=2, responses=1, lost=0, unmatched={"GET /v1/models": 3, "HEAD /": 1})
    assert (end["unmatched"], end["unmatched_paths"]) == (4, {"GET /v1/models": 3, "HEAD /": 1})


def answered(body: bytes, status: int = 200, *headers: tuple[str, str], over: int = 400) -> dict[str, Any]:
    """The response line of a body that came whole."""
    reader = AnswerReader(status, "application/json", None)
    reader.feed(body)
    seen = SeenAnswer("1", 0.0, "completed", status, headers, reader.finish(), first_byte=0.1, last=0.2)
    return response_record(seen, fold_over=over)


def test_an_answer_is_recorded_with_its_usage_and_folded_content() -> None:
    message = {"type": "message", "role": "assistant", "id": "msg_1", "model": "m", "stop_reason": "end_turn"}
    message |= {"content": [{"type": "text", "text": "x" * 900}], "usage": {"input_tokens": 3, "note": "y" * 900}}
    made = answered(dump(message | {"container": {"id": "c"}, "stop_details": {"fallback_credit_token": SECRET}}))
    assert (made["model"], made["message_id"], made["stop_reason"]) == ("m", "msg_1", "end_turn")
    assert made["content"][0]["text"]["chars"] == 900
    assert made["usage"]["input_tokens"] == 3
    assert made["usage"]["note"]["chars"] == 900
    assert made["rest"]["container"] == {"id": "c"}
    assert SECRET not in dump(made).decode()


def test_an_error_keeps_its_sentence_readable_at_any_threshold() -> None:
    body = b'{"type":"error","error":{"type":"rate_limit_error","message":"slow down"},"request_id":"req_1"}'
    assert answered(body, 429, over=0)["error"] == {
        "type": "rate_limit_error",
        "message": "slow down",
        "request_id": "req_1",
    }


def test_a_vendor_that_names_the_error_in_a_header() -> None:
    made = answered(b'{"message":"no"}', 400, ("x-amzn-errortype", "ValidationException:http://internal"))
    assert made["error"]["type"] == "ValidationException"


def test_a_body_that_swells_beyond_the_limit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzers.wire.record.BODY_LIMIT", 10_000)
    made = record(gzip.compress(b'["' + b"0" * 50_000 + b'"]'), headers=(("content-encoding", "gzip"),))
    assert made["unparsed"]["reason"] == "it decodes to more than 10,000 bytes"
    assert codes(made) == ["encoding_capped"]
