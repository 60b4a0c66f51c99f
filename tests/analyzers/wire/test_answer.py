"""Answers out of bytes: sorted by what they are, read the same however they were cut, packed or labelled."""

import gzip
import json
import sys
import zlib
from base64 import b64encode
from binascii import crc32
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.wire.answer import Answer, AnswerReader
from analyzers.wire.message import ApiError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SSE = "text/event-stream; charset=utf-8"
JSON = "application/json"
AWS = "application/vnd.amazon.eventstream"

OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"}
IS_OVERLOADED = ApiError("overloaded_error", "Overloaded", "req_1")
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m-1-20300101",
    "content": [{"type": "text", "text": "日本語の文字列だよね👪"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 10, "output_tokens": 12},
}
EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": MESSAGE | {"content": [], "stop_reason": None, "usage": {"input_tokens": 10, "output_tokens": 1}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "日本語の"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "文字列だよね👪"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 12}},
    {"type": "message_stop"},
]


def dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def sse(events: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(b"event: %s\ndata: %s\n\n" % (event["type"].encode(), dumps(event)) for event in events)


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    block = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + len(value).to_bytes(2) + value.encode()
        for name, value in headers.items()
    )
    prelude = (16 + len(block) + len(payload)).to_bytes(4) + len(block).to_bytes(4)
    message = prelude + crc32(prelude).to_bytes(4) + block + payload
    return message + crc32(message).to_bytes(4)


def frames(events: Iterable[dict[str, Any]]) -> bytes:
    headers = {":event-type": "chunk", ":content-type": JSON, ":message-type": "event"}
    return b"".join(frame(headers, dumps({"bytes": b64encode(dumps(e)).decode(), "p": "abcdef"})) for e in events)


STREAM = sse(EVENTS)


def read(
    body: bytes | Iterable[bytes],
    content_type: str | None = SSE,
    encoding: str | None = None,
    *,
    status: int = 200,
    route: str = "messages",
    limit: int = 1 << 20,
) -> Answer:
    reader = AnswerReader(status, content_type, encoding, route, limit=limit)
    for chunk in [body] if isinstance(body, bytes) else body:
        reader.feed(chunk)
    return reader.finish()


def bytewise(body: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in body]


def codes(answer: Answer) -> list[str]:
    return [note.code for note in answer.notes]


# A stream


def test_a_stream_of_events() -> None:
    answer = read(STREAM)
    assert answer == Answer(
        model="m-1-20300101",
        message_id="msg_1",
        stop_reason="end_turn",
        usage={"input_tokens": 10, "output_tokens": 12},
        usage_start={"input_tokens": 10, "output_tokens": 1},
        usage_delta={"output_tokens": 12},
        content=MESSAGE["content"],
        body=None,
        error=None,
        events={
            "message_start": 1,
            "content_block_start": 1,
            "ping": 1,
            "content_block_delta": 2,
            "content_block_stop": 1,
            "message_delta": 1,
            "message_stop": 1,
        },
        complete=True,
        wire_bytes=len(STREAM),
        decoded_bytes=len(STREAM),
        notes=(),
    )


@pytest.mark.parametrize("content_type", ["text/event-stream", "Text/Event-Stream; charset=UTF-8"])
def test_characters_are_utf8_with_or_without_a_charset(content_type: str) -> None:
    content = read(STREAM, content_type).content
    assert content is not None
    assert len(content[0]["text"]) == 11


def test_another_charset_is_ignored_and_told() -> None:
    answer = read(STREAM, "text/event-stream; charset=iso-8859-1")
    assert (answer.content, codes(answer)) == (MESSAGE["content"], ["charset_ignored"])


def test_a_stream_cut_at_every_byte_into_two_chunks_is_the_same_answer() -> None:
    whole = read(STREAM)
    for at in range(len(STREAM) + 1):
        assert read([STREAM[:at], STREAM[at:]]) == whole


@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_other_line_ends_are_the_same_answer(end: bytes) -> None:
    stream = STREAM.replace(b"\n", end)
    assert replace(read(bytewise(stream)), wire_bytes=0, decoded_bytes=0) == replace(
        read(STREAM), wire_bytes=0, decoded_bytes=0
    )


def test_filler_blanks_around_the_last_brace_change_nothing() -> None:
    padded = STREAM.replace(b"}\n\n", b"      }    \n\n")
    answer = read(padded)
    assert (answer.content, answer.usage, answer.notes) == (MESSAGE["content"], read(STREAM).usage, ())


def test_json_spread_over_several_data_lines() -> None:
    closing = b'event: message_delta\ndata: {"type":"message_delta",\ndata: "delta":{"stop_reason":"end_turn"},\ndata: '
    stream = sse(EVENTS[:6]) + closing + b'"usage":{"output_tokens":12}}\n\n' + sse(EVENTS[7:])
    answer = read(stream)
    assert (answer.usage, answer.complete, answer.notes) == ({"input_tokens": 10, "output_tokens": 12}, True, ())


def test_a_stream_without_event_names() -> None:
    stream = b"".join(b"data: %s\n\n" % dumps(event) for event in EVENTS)
    assert read(stream).content == MESSAGE["content"]
    assert read(stream).events == read(STREAM).events
    assert read(stream).notes == ()


def test_a_name_that_disagrees_with_the_json_loses_and_is_told() -> None:
    answer = read(STREAM.replace(b"event: message_stop", b"event: ping"))
    assert (answer.complete, answer.events["ping"], codes(answer)) == (True, 1, ["event_name_mismatch"])


def test_a_last_event_without_its_blank_line_counts_when_its_json_is_whole() -> None:
    answer = read(STREAM.rstrip(b"\n"))
    assert (answer.complete, codes(answer)) == (True, ["unterminated_event"])
    assert replace(answer, notes=(), wire_bytes=0, decoded_bytes=0) == replace(
        read(STREAM), notes=(), wire_bytes=0, decoded_bytes=0
    )


def test_a_last_event_that_was_cut_does_not_count() -> None:
    answer = read(STREAM[:-6])
    assert (answer.complete, codes(answer)) == (False, ["unterminated_event"])
    assert "message_stop" not in answer.events


def test_pings_comments_and_other_vendors_endings_are_no_errors() -> None:
    keep_alive = b": keep-alive\n\n" * 60
    odd = b'event: vote\ndata: {"type":"vote"}\n\ndata:\n\nevent: nothing\n\ndata: [DONE]\n\n'
    answer = read(sse(EVENTS[:4]) + keep_alive + odd + sse(EVENTS[4:]))
    assert (answer.error, answer.complete, answer.content) == (None, True, MESSAGE["content"])
    assert codes(answer) == ["unknown_event"]
    counts = {"ping": 1, "(comment)": 60, "vote": 1, "(empty)": 1, "nothing": 1, "[DONE]": 1}
    assert {name: answer.events[name] for name in counts} == counts


def test_invalid_bytes_are_replaced_once_each_and_told() -> None:
    stream = STREAM.replace("本".encode(), b"\xe6\x9c")
    answer = read(stream)
    assert answer.content == [{"type": "text", "text": "日\ufffd語の文字列だよね👪"}]
    assert codes(answer) == ["invalid_utf8"]
    assert read(bytewise(stream)) == answer


def test_a_stream_that_ends_after_message_stop_and_before_its_own_end_is_complete() -> None:
    reader = AnswerReader(200, SSE, None)
    reader.feed(STREAM[:-1])
    assert not reader.complete
    reader.feed(STREAM[-1:])
    assert reader.complete
    assert reader.finish().complete


def test_a_stream_cut_in_a_delta_keeps_what_came() -> None:
    answer = read(sse(EVENTS[:4]))
    assert answer.content == [{"type": "text", "text": "日本語の"}]
    assert (answer.usage, answer.complete, answer.error) == ({"input_tokens": 10}, False, None)
    assert codes(answer) == ["output_unknown", "block_unfinished"]


def test_what_was_seen_is_known_while_the_bytes_come() -> None:
    reader = AnswerReader(200, SSE, None)
    seen = []
    for event in [*EVENTS[:4], OVERLOADED]:
        reader.feed(sse([event]))
        seen.append((reader.saw_content, reader.saw_error))
    assert seen == [(False, False)] * 3 + [(True, False), (True, True)]


def test_finish_may_be_called_again() -> None:
    reader = AnswerReader(200, SSE, None)
    reader.feed(STREAM)
    assert reader.finish() is reader.finish()


# Errors in a stream


def test_an_error_event_after_some_content() -> None:
    answer = read(sse([*EVENTS[:5], OVERLOADED]))
    assert (answer.error, answer.complete, answer.body) == (IS_OVERLOADED, False, OVERLOADED)
    assert answer.content == MESSAGE["content"]
    assert answer.usage == {"input_tokens": 10}
    assert "output_unknown" in codes(answer)


HALF = b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"te'


@pytest.mark.parametrize(
    "broken",
    [
        HALF + b"\n" + sse([OVERLOADED]),
        HALF + sse([OVERLOADED]),
        HALF + b"\n\n" + sse([OVERLOADED]),
        HALF + sse([OVERLOADED]).partition(b"\n")[2],
        HALF + b"\n" + dumps(OVERLOADED) + b"\n\n",
        sse([EVENTS[2]])[:-1] + sse([OVERLOADED]),
    ],
    ids=["next line", "same line", "next event", "same line without its name", "bare", "no blank line between"],
)
def test_an_error_right_after_half_an_event_is_recognised(broken: bytes) -> None:
    answer = read(sse(EVENTS[:2]) + broken)
    assert answer.error == IS_OVERLOADED
    assert (answer.events["error"], answer.events["(malformed)"]) == (1, 1)
    assert "malformed_event" in codes(answer)
    assert read(bytewise(sse(EVENTS[:2]) + broken)) == answer


def test_an_error_event_that_is_no_json() -> None:
    answer = read(sse(EVENTS[:1]) + b"event: error\ndata: upstream timed out\n\n")
    assert (answer.error, answer.body) == (ApiError(None, "upstream timed out", None), "upstream timed out")
    assert codes(answer) == ["malformed_event", "output_unknown"]


def test_a_malformed_event_is_counted_and_the_stream_goes_on() -> None:
    answer = read(sse(EVENTS[:4]) + b"data: {nonsense\n\n" + sse(EVENTS[4:]))
    assert (answer.content, answer.complete) == (MESSAGE["content"], True)
    assert (answer.events["(malformed)"], codes(answer)) == (1, ["malformed_event"])


def test_a_bare_error_served_as_an_event_stream() -> None:
    answer = read(dumps(OVERLOADED))
    assert (answer.error, answer.body, answer.events) == (IS_OVERLOADED, OVERLOADED, {})
    assert codes(answer) == ["content_type_mismatch"]


# What the headers say


@pytest.mark.parametrize("content_type", [JSON, "text/plain", "application/octet-stream"])
def test_a_stream_is_known_by_its_first_bytes(content_type: str) -> None:
    answer = read(bytewise(STREAM), content_type)
    assert codes(answer) == ["content_type_mismatch"]
    assert replace(answer, notes=()) == read(STREAM)


def test_no_content_type_is_told() -> None:
    assert replace(read(STREAM, None), notes=()) == read(STREAM)
    assert codes(read(STREAM, None)) == ["content_type_missing"]
    assert codes(read(dumps(MESSAGE), "")) == ["content_type_missing"]


def test_json_served_as_a_stream() -> None:
    answer = read(bytewise(dumps(MESSAGE)), SSE)
    assert (answer.content, answer.complete, answer.events) == (MESSAGE["content"], True, {})
    assert codes(answer) == ["content_type_mismatch"]


@pytest.mark.parametrize(
    "begin", [b"", b"\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", b"\n" * 100, b": hi\n\n", b"id: 1\n", b"retry: 1\n"]
)
def test_all_that_may_stand_before_the_first_event(begin: bytes) -> None:
    answer = read(bytewise(begin + STREAM))
    assert (answer.content, answer.complete, answer.notes) == (MESSAGE["content"], True, ())
    answer = read(bytewise(begin + STREAM), None)
    assert (answer.content, answer.complete, codes(answer)) == (MESSAGE["content"], True, ["content_type_missing"])


def test_a_stream_that_begins_with_a_field_nobody_knows() -> None:
    answer = read(b"x-extra: 1\n" + STREAM)
    assert (answer.content, answer.complete, codes(answer)) == (MESSAGE["content"], True, ["unknown_sse_field"])


def test_blanks_sent_to_keep_the_connection_alive_come_before_json() -> None:
    answer = read([b"\n", b" " * 100, b"\n", dumps(MESSAGE)], JSON)
    assert (answer.content, answer.complete) == (MESSAGE["content"], True)


# Whole bodies


def test_a_message_in_one_body() -> None:
    body = dumps(MESSAGE | {"diagnostics": None})
    answer = read(body, JSON)
    assert answer == Answer(
        model="m-1-20300101",
        message_id="msg_1",
        stop_reason="end_turn",
        usage=MESSAGE["usage"],
        usage_start=None,
        usage_delta=None,
        content=MESSAGE["content"],
        body=None,
        error=None,
        events={},
        complete=True,
        wire_bytes=len(body),
        decoded_bytes=len(body),
        notes=(),
        rest={"diagnostics": None},
    )


def test_a_message_that_was_cut_is_text_and_not_complete() -> None:
    body = dumps(MESSAGE)[:-20]
    answer = read(body, JSON)
    assert (answer.content, answer.body, answer.complete, codes(answer)) == (None, body.decode(), False, ["not_json"])


def test_content_is_seen_at_the_first_byte_of_a_body() -> None:
    reader = AnswerReader(200, JSON, None)
    reader.feed(b"\n")
    assert not reader.saw_content
    reader.feed(b"{")
    assert reader.saw_content


@pytest.mark.parametrize("status", [400, 529])
@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate"])
def test_an_error_is_readable_in_all_encodings(status: int, encoding: str) -> None:
    reader = AnswerReader(status, JSON, encoding)
    assert reader.saw_error
    reader.feed(PACK[encoding](dumps(OVERLOADED)))
    assert (reader.finish().error, reader.finish().body) == (IS_OVERLOADED, OVERLOADED)


def test_an_error_with_status_200() -> None:
    reader = AnswerReader(200, JSON, None)
    reader.feed(dumps(OVERLOADED))
    assert reader.finish().error == IS_OVERLOADED
    assert reader.saw_error


def test_the_bare_message_of_bedrock() -> None:
    answer = read(b'{"message":"Too many requests"}', JSON, status=429, route="bedrock")
    assert answer.error == ApiError(None, "Too many requests", None)


def test_an_error_page_is_kept_as_text() -> None:
    page = "<html><body>Bad gateway ↯</body></html>"
    answer = read(page.encode(), "text/html", status=404)
    assert (answer.body, answer.error, answer.complete) == (page, ApiError(None, None, None), False)
    assert codes(answer) == ["not_json"]


def test_text_in_another_charset_is_replaced_and_told() -> None:
    answer = read(b"caf\xe9", "text/plain", status=502)
    assert (answer.body, codes(answer)) == ("caf\ufffd", ["not_json", "invalid_utf8"])


@pytest.mark.parametrize("text", ["database error", "data", "event horizon", "d", "\ufeff", "r\x85\u2028"])
def test_text_that_begins_like_an_event_stream(text: str) -> None:
    for content_type in (SSE, JSON, None):
        assert read(bytewise(text.encode()), content_type, status=500).body == text


def test_binary_bodies_are_not_kept() -> None:
    answer = read(b"\x89PNG\r\n\x1a\n\x00\x00", "image/png")
    assert (answer.body, answer.complete) == (None, False)
    assert "binary_body" in codes(answer)


def test_an_empty_answer() -> None:
    for body in (b"", b"\n"):
        answer = read(body)
        assert (answer.content, answer.body, answer.error, answer.complete) == (None, None, None, False)
        assert codes(answer) == ["empty_body"]
    assert read(b"", JSON, status=500).error == ApiError(None, None, None)
    assert read(b"", None, status=204).notes == ()


def test_a_count_is_no_message() -> None:
    answer = read(b'{"input_tokens":4100}', JSON, route="count_tokens")
    assert (answer.body, answer.usage, answer.complete, answer.notes) == ({"input_tokens": 4100}, None, True, ())


@pytest.mark.parametrize("route", ["count_tokens", "batches"])
def test_only_routes_that_answer_with_messages_have_messages(route: str) -> None:
    answer = read(dumps(MESSAGE), JSON, route=route)
    assert (answer.content, answer.usage, answer.body) == (None, None, MESSAGE)


def test_a_failure_whose_body_says_nothing_is_an_error_still() -> None:
    assert read(b"5", JSON, status=500).error == ApiError(None, None, None)


def test_an_odd_number_of_a_body_stays_as_written() -> None:
    answer = read(b'{"type":"message","content":[],"usage":{"input_tokens":1e3,"input_tokens":2E0}}', JSON)
    assert answer.usage == {"input_tokens": "2E0"}
    assert [(note.code, note.path) for note in answer.notes] == [("duplicate_key", "usage.input_tokens")]


ROWS = [{"custom_id": f"c{n}", "result": {"type": "succeeded", "message": MESSAGE}} for n in range(3)]


@pytest.mark.parametrize("content_type", ["application/x-jsonl", "application/binary", JSON])
@pytest.mark.parametrize("count", [1, 3])
def test_the_results_of_a_batch_are_a_list(content_type: str, count: int) -> None:
    body = b"".join(dumps(row) + b"\n" for row in ROWS[:count])
    answer = read(bytewise(body), content_type, route="batches")
    assert (answer.body, answer.content, answer.complete, answer.notes) == (ROWS[:count], None, True, ())


def test_a_torn_last_line_of_results() -> None:
    body = b"".join(dumps(row) + b"\n" for row in ROWS)[:-30]
    answer = read(body, "application/x-jsonl", route="batches")
    assert answer.body is not None
    assert (answer.body[:2], type(answer.body[2]), answer.complete) == (ROWS[:2], str, False)
    assert [(note.code, note.path) for note in answer.notes] == [("malformed_line", "[2]")]


def test_text_after_a_message_does_not_hide_it() -> None:
    answer = read(dumps(MESSAGE) + b"\ntrailing", JSON)
    assert (answer.content, answer.complete, codes(answer)) == (MESSAGE["content"], True, ["trailing_text"])


def test_a_body_beyond_the_limit_is_only_counted() -> None:
    body = dumps(MESSAGE | {"pad": "x" * 1000})
    answer = read(bytewise(body), JSON, limit=500)
    assert (answer.content, answer.body, answer.complete) == (None, None, True)
    assert (answer.decoded_bytes, codes(answer)) == (len(body), ["body_over_limit"])
    assert not read(body[:-1], JSON, limit=500).complete
    assert read(body, JSON, limit=500, status=500).error == ApiError(None, None, None)


def test_results_beyond_the_limit_are_read_up_to_it() -> None:
    body = b"".join(dumps(row) + b"\n" for row in ROWS)
    two = len(body) * 2 // 3
    for limit in range(two, two + 60):
        answer = read(pieces(body, [50]), "application/x-jsonl", route="batches", limit=limit)
        assert (answer.body, answer.complete, codes(answer)) == (ROWS[:2], True, ["body_over_limit"])
    assert read(pieces(body, [50]), "application/x-jsonl", route="batches", limit=two - 1).body == ROWS[:1]
    assert read(pieces(b"{}\n" * 100, [7]), "application/x-jsonl", route="batches", limit=52).body == [{}] * 17


def test_a_compressed_stream_is_followed_up_to_the_limit_and_a_plain_one_to_its_end() -> None:
    stream = sse(EVENTS[:2]) + b": keep-alive\n\n" * 100 + sse(EVENTS[2:])
    assert read(stream, limit=400).complete
    answer = read(gzip.compress(stream), SSE, "gzip", limit=400)
    assert (answer.message_id, answer.complete) == ("msg_1", False)
    assert answer.decoded_bytes == 1600
    assert codes(answer).count("stream_over_limit") == 1
    for size in (1, 7, 300):
        assert read(pieces(gzip.compress(stream), [size]), SSE, "gzip", limit=400) == answer


# Amazon's frames


def test_a_stream_of_frames() -> None:
    answer = read(bytewise(frames(EVENTS)), AWS, route="bedrock")
    assert replace(answer, wire_bytes=0, decoded_bytes=0) == replace(read(STREAM), wire_bytes=0, decoded_bytes=0)


def test_frames_are_known_by_their_first_bytes() -> None:
    answer = read(bytewise(frames(EVENTS)), JSON)
    assert (answer.content, codes(answer)) == (MESSAGE["content"], ["content_type_mismatch"])


def test_an_exception_frame_is_an_error() -> None:
    headers = {":exception-type": "throttlingException", ":message-type": "exception"}
    answer = read(frames(EVENTS[:4]) + frame(headers, b'{"message":"slow down"}'), AWS)
    assert answer.error == ApiError("throttlingException", "slow down", None)
    assert (answer.events["error"], answer.complete, answer.usage) == (1, False, {"input_tokens": 10})


def test_an_error_frame_says_it_in_its_headers() -> None:
    headers = {":message-type": "error", ":error-code": "internal", ":error-message": "broken"}
    assert read(frame(headers, b""), AWS).error == ApiError("internal", "broken", None)


@pytest.mark.parametrize("payload", [b"", b"no", b"[]", b"{}", b'{"bytes":5}', b'{"bytes":"*"}', b'{"bytes":"e30"}'])
def test_frames_without_an_event_are_counted(payload: bytes) -> None:
    answer = read(frame({":event-type": "chunk"}, payload) + frames(EVENTS), AWS)
    assert (answer.content, answer.complete, answer.events["(malformed)"]) == (MESSAGE["content"], True, 1)
    assert codes(answer) == ["malformed_event"]


def test_frames_of_another_type_are_counted_by_name() -> None:
    answer = read(frame({":event-type": "initial-response"}, b"{}") + frames(EVENTS), AWS)
    assert (answer.complete, answer.events["initial-response"], codes(answer)) == (True, 1, ["unknown_event"])


def test_a_plain_error_served_as_frames() -> None:
    answer = read(b'{"message":"no such model"}', AWS, status=404)
    assert (answer.error, codes(answer)) == (ApiError(None, "no such model", None), ["content_type_mismatch"])
    assert read(b"upstream timed out", AWS, status=504).body == "upstream timed out"


# Laws


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    " Deflate": raw_deflate,
    "br": brotli.compress,
    "zstd": zstd.compress,
    "gzip, br": lambda data: brotli.compress(gzip.compress(data)),
}

# Events, whole and torn, in an order no server would send.
parts = st.sampled_from(
    [
        *(sse([event]) for event in EVENTS),
        sse([OVERLOADED]),
        HALF,
        b"data: {}\r\n\r\n",
        b": c\r",
        b"\n\n",
        b"\xff",
        b"\xef\xbb\xbf",
        dumps(OVERLOADED),
        dumps(MESSAGE),
        frames(EVENTS[:2]),
        b"\x1f\x8b\x08",
        b"data",
        b"d",
        b" ",
        b"\x00",
    ]
)
bodies = st.just(STREAM) | st.lists(parts, max_size=8).map(b"".join)
content_types = st.sampled_from([SSE, JSON, AWS, None, "text/html", "application/x-jsonl"])


def pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    out: list[bytes] = []
    at = 0
    while at < len(data):
        size = sizes[len(out) % len(sizes)]
        out.append(data[at : at + size])
        at += size
    return out


@settings(max_examples=100)
@given(bodies, st.sampled_from(list(PACK)), st.lists(st.integers(1, 90), min_size=1, max_size=9), content_types)
def test_how_the_bytes_were_cut_never_shows(body: bytes, encoding: str, sizes: list[int], kind: str | None) -> None:
    packed = PACK[encoding](body)
    assert read(pieces(packed, sizes), kind, encoding) == read(packed, kind, encoding)


@given(bodies, st.sampled_from([name for name in PACK if name]), content_types)
def test_all_encodings_give_the_same_answer(body: bytes, encoding: str, kind: str | None) -> None:
    if body.startswith(b"\x1f\x8b\x08"):
        return  # plain, it is taken for unlabelled gzip
    assert replace(read(PACK[encoding](body), kind, encoding), wire_bytes=0) == replace(read(body, kind), wire_bytes=0)


@settings(max_examples=100)
@given(
    st.binary() | bodies,
    st.lists(st.integers(1, 90), min_size=1, max_size=9),
    st.sampled_from(["", "gzip", "br", "zstd", "deflate", "foo", "gzip, br", "\xff"]),
    content_types | st.text(max_size=20),
    st.sampled_from([200, 204, 400, 529]),
    st.sampled_from(["messages", "count_tokens", "batches", "bedrock", "vertex", "other"]),
    st.sampled_from([16, 1 << 20]),
)
def test_no_bytes_raise(
    body: bytes, sizes: list[int], encoding: str, kind: str | None, status: int, route: str, limit: int
) -> None:
    answer = read(pieces(body, sizes), kind, encoding, status=status, route=route, limit=limit)
    assert answer == read(body, kind, encoding, status=status, route=route, limit=limit)
    assert answer.wire_bytes == len(body)


DAMAGED_GZIP = bytes.fromhex(
    "1f8b080015e0488a863d044a770400ffe2fa4a0359fa97c34b0000a14b004aeb034be4004a004a004bfaa10403fa01fa"
    "724a044a044b00044a4b7d04fafafaff4afa04fafafa0003014b04010448fafafa4b4b4b00ff4b014b0004040370f000"
    "00fa014b4b004a00016a014aff004a00ffd501044003000000fa0100004a0303037afa03fa4b01014bff01ff01ff4aff"
    "000303fa00fa044b00fa01"
)
"""The head of a gzip member and blocks that break off: found by search, each chunking met the damage elsewhere."""


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_damage_behind_the_limit_is_found_at_the_same_place_in_any_chunks(size: int) -> None:
    assert read(pieces(DAMAGED_GZIP, [size]), None, "gzip", limit=16) == read(DAMAGED_GZIP, None, "gzip", limit=16)


def test_a_hundred_thousand_deltas_in_small_chunks() -> None:
    short = dumps({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "abcde"}})
    stream = sse(EVENTS[:2]) + (b"event: content_block_delta\ndata: " + short + b"\n\n") * 100_000
    answer = read(pieces(stream, [100, 300, 57]))
    assert answer.events["content_block_delta"] == 100_000
    assert answer.content == [{"type": "text", "text": "abcde" * 100_000}]


def test_twenty_thousand_broken_events_leave_a_short_record() -> None:
    answer = read(b"data: {broken\n\n" * 20_000)
    assert answer.events == {"(malformed)": 20_000}
    assert len(answer.notes) < 10
