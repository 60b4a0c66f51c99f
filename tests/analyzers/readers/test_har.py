"""HAR files: which exchanges come out of them, what is said about the rest, and what is never guessed."""

import gzip
import io
import json
import sys
import zlib
from base64 import b64encode
from typing import Any

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_values import values
from saved_http import ASKED, BODY, EVENTS, SECRET, SSE, TEXT, URL, USAGE, codes, counters, entry, fields, har, read

from analyzers.exchange import Exchange
from analyzers.readers.har import looks_like_har, read_har
from analyzers.readers.har_bodies import FORM_ONLY
from analyzers.readers.members import top_keys
from analyzers.readers.source import Source
from analyzers.readers.unpacked import unpacked_head
from analyzers.readers.wired import REQUEST_MISSING
from analyzers.sizes import request_ledger
from analyzers.wire.jsontext import dump

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def one(given: dict[str, Any]) -> Exchange:
    """The exchange of a HAR with one entry, all of which can be used."""
    exchanges, problems = read(read_har, har(given))
    assert problems == [] and len(exchanges) == 1
    return exchanges[0]


def mojibake(text: str) -> str:
    """Bytes as code points: what stands in a file whose writer took UTF-8 for Latin-1."""
    return text.encode().decode("latin-1")


def test_an_entry_is_read_as_the_recorder_would_have_recorded_it() -> None:
    exchange = one(entry())
    request, response = exchange.request, exchange.response
    assert request is not None and response is not None
    assert (exchange.ended, exchange.place) == ("completed", "file:1")
    assert (request.route, request.method, request.host) == ("messages", "POST", "api.anthropic.com")
    assert (request.path, request.query, request.body) == ("/v1/messages", "beta=true", ASKED)
    assert request.wire_bytes == request.decoded_bytes == len(BODY)
    ledger = request_ledger(request)
    assert ledger is not None and ledger.closes and ledger.unexplained == 0
    assert request.time == 1796032800.25
    assert (response.first_byte, response.last, response.time) == (0.2345, 1.2345, 1796032801.4845)
    assert (response.status, response.stop_reason, response.message_id) == (200, "end_turn", "msg_1")
    assert response.content == [{"type": "text", "text": TEXT}]
    assert response.wire_bytes == len(SSE.encode())
    assert counters(exchange) == USAGE
    assert codes(exchange) == set()


# Cases I01, I02, I03, C14, B15: what the text of a body can be


@pytest.mark.parametrize(
    ("content", "headers", "noted"),
    [
        ({"text": b64encode(SSE.encode()).decode(), "encoding": "base64"}, {}, set()),
        (
            {"text": b64encode(brotli.compress(SSE.encode())).decode(), "encoding": "base64"},
            {"content_encoding": "br"},
            set(),
        ),
        (
            {"text": b64encode(gzip.compress(SSE.encode())).decode(), "encoding": "base64"},
            {"content_encoding": "gzip"},
            set(),
        ),
        (
            {"text": b64encode(zstd.compress(SSE.encode())).decode(), "encoding": "base64"},
            {"content_encoding": "zstd"},
            set(),
        ),
        ({"text": mojibake(SSE)}, {}, {"bytes_as_characters"}),
        ({"text": mojibake(SSE), "size": -1}, {}, {"bytes_as_characters"}),
        (
            {"text": gzip.compress(SSE.encode()).decode("latin-1")},
            {"content_encoding": "gzip"},
            {"bytes_as_characters"},
        ),
        (
            {"text": brotli.compress(SSE.encode()).decode("latin-1")},
            {"content_encoding": "br"},
            {"bytes_as_characters"},
        ),
        ({"text": SSE, "encoding": "base64"}, {}, {"base64_invalid"}),
        ({"text": b64encode(SSE.encode()).decode()}, {}, {"double_encoded"}),
        ({"text": b64encode(b64encode(SSE.encode())).decode(), "encoding": "base64"}, {}, {"double_encoded"}),
        ({"text": json.dumps(SSE)}, {}, {"double_encoded"}),
        ({"text": SSE}, {"content_encoding": "gzip"}, set()),
        ({"text": SSE}, {"content_encoding": "br"}, set()),
        ({"text": SSE.replace("\n", "\r\n")}, {"content_encoding": "gzip, br"}, set()),
    ],
)
def test_every_way_to_save_an_answer_gives_the_same_figures(
    content: dict[str, str], headers: dict[str, str], noted: set[str]
) -> None:
    exchange = one(entry(content={"size": -1} | content, response={"headers": fields(**headers)}))
    assert counters(exchange) == USAGE
    assert exchange.ended == "completed" and exchange.response is not None
    assert exchange.response.content == [{"type": "text", "text": TEXT}]
    assert codes(exchange) - {"content_type_missing"} == noted


def test_an_answer_that_was_decoded_in_the_file_has_no_known_length_on_the_wire() -> None:
    decoded = one(entry(response={"headers": fields(content_encoding="gzip")})).response
    packed = gzip.compress(SSE.encode())
    saved = {"text": b64encode(packed).decode(), "encoding": "base64"}
    still = one(entry(content=saved, response={"headers": fields(content_encoding="gzip")})).response
    assert decoded is not None and still is not None
    assert (decoded.wire_bytes, decoded.decoded_bytes) == (None, len(SSE.encode()))
    assert (still.wire_bytes, still.decoded_bytes) == (len(packed), len(SSE.encode()))


def test_text_that_only_looks_like_bytes_is_kept_where_the_size_proves_it() -> None:
    text = mojibake("é")  # a text about broken text
    body = dump({"model": "m", "messages": [{"role": "user", "content": text}]})
    proved = one(entry(postData={"text": body.decode()}, request={"bodySize": len(body)})).request
    guessed = one(entry(postData={"text": body.decode()}, request={"bodySize": -1})).request
    assert proved is not None and proved.body["messages"][0]["content"] == text and proved.notes == ()
    assert guessed is not None and guessed.body["messages"][0]["content"] == "é"
    assert [note.code for note in guessed.notes] == ["bytes_as_characters"]


def test_accented_text_is_no_bytes_even_at_the_end_of_what_was_saved() -> None:
    response = one(
        entry(response={"status": 500, "headers": []}, content={"text": "Überlastet, café", "size": -1})
    ).response
    assert response is not None and response.body == "Überlastet, café"


@pytest.mark.parametrize("text", ["", None])
@pytest.mark.parametrize("kind", ["text/event-stream; charset=utf-8", "application/json", "text/event-stream"])
def test_an_empty_stream_is_not_in_the_file_and_the_request_is_still_sized(kind: str, text: str | None) -> None:
    exchange = one(entry(content={"text": text, "size": 0}, response={"headers": fields(content_type=kind)}))
    assert exchange.response is not None and exchange.response.usage is None
    assert exchange.ended == "completed"
    assert exchange.request is not None and exchange.request.wire_bytes == len(BODY)
    assert codes(exchange) == {"body_not_in_file"} | ({"body_empty_in_file"} if text == "" else set())


@pytest.mark.parametrize("content", [None, {}, [], 5])
def test_an_answer_without_content_is_not_in_the_file(content: Any) -> None:
    exchange = one(entry(response={"content": content}))
    assert counters(exchange) == {} and codes(exchange) == {"body_not_in_file"}


def test_an_error_with_an_empty_body_is_an_error() -> None:
    exchange = one(entry(content={"text": "", "size": 0}, response={"status": 529}))
    assert exchange.ended == "error" and codes(exchange) == {"empty_body"}
    kept_out = one(entry(content={"text": "", "size": 90}, response={"status": 529}))
    assert kept_out.ended == "error" and "body_not_in_file" in codes(kept_out)


@pytest.mark.parametrize("named", [True, False])
def test_a_list_of_events_stands_for_the_body_that_is_not_there(named: bool) -> None:
    listed = [
        {"time": 1.5, "eventName": event["type"] if named else "message", "eventId": "", "data": dump(event).decode()}
        for event in EVENTS
    ]
    exchange = one(entry(content={"text": "", "size": 0}, _eventSourceMessages=listed))
    assert counters(exchange) == USAGE and exchange.ended == "completed"
    assert exchange.response is not None and exchange.response.wire_bytes is exchange.response.decoded_bytes is None
    assert codes(exchange) == {"events_in_file"}


def test_sizes_are_measured_on_the_text_and_others_are_only_compared() -> None:
    message = {"model": "m", "messages": [{"role": "user", "content": "ü" * 600 + "x" * 4700}]}
    body = dump(message)
    text = "event: ping\ndata: {}\n\n" + ": " + "é" * 600 + "x" * 4776 + "\n\n"
    assert (len(text), len(text.encode())) == (5402, 6002)
    exchange = one(
        entry(
            postData={"text": body.decode()},
            request={"bodySize": -1},
            content={"text": text, "size": 800, "compression": 5200},
        )
    )
    assert exchange.request is not None and exchange.request.wire_bytes == len(body)
    assert exchange.response is not None and exchange.response.decoded_bytes == 6002
    assert not codes(exchange) & {"body_size_differs", "content_size_differs"}
    for size, noted in ((len(BODY), False), (len(BODY) + 60, False), (len(BODY) + 200, True), (0, True)):
        assert ("body_size_differs" in codes(one(entry(request={"bodySize": size})))) == noted


def test_a_compressed_request_may_have_been_shorter_than_its_text() -> None:
    headers = fields(content_type="application/json", content_encoding="gzip")
    exchange = one(entry(request={"headers": headers, "bodySize": 20}))
    assert codes(exchange) == {"decoded_in_file"}
    assert exchange.request is not None and exchange.request.body == ASKED
    packed = gzip.compress(BODY)
    saved = {"text": b64encode(packed).decode(), "encoding": "base64"}
    exchange = one(entry(postData=saved, request={"headers": headers}))
    assert exchange.request is not None and exchange.request.body == ASKED and codes(exchange) == set()
    assert (exchange.request.wire_bytes, exchange.request.decoded_bytes) == (len(packed), len(BODY))


def test_an_answer_that_the_file_shortened_was_not_cut_on_the_wire() -> None:
    short = SSE[: SSE.index("event: message_delta")]
    exchange = one(entry(content={"text": short, "size": 1_000_000}))
    assert exchange.ended == "completed" and "content_size_differs" in codes(exchange)
    assert one(entry(content={"text": short, "size": len(short.encode())})).ended == "upstream_cut"


@pytest.mark.parametrize(
    ("request_part", "reason"),
    [
        ({"postData": None}, REQUEST_MISSING),
        ({"postData": {"mimeType": "application/json"}}, REQUEST_MISSING),
        ({"postData": {"mimeType": "application/json", "text": None}}, REQUEST_MISSING),
        ({"postData": {"mimeType": "application/json", "text": ""}}, REQUEST_MISSING),
        ({"postData": {"mimeType": "a", "params": [{"name": "key", "value": SECRET}]}}, FORM_ONLY),
    ],
)
def test_a_missing_request_body_is_said_to_be_missing(request_part: dict[str, Any], reason: str) -> None:
    exchange = one(entry(request=request_part))
    assert exchange.request is not None
    assert (exchange.request.reason, exchange.request.wire_bytes) == (reason, None)
    assert counters(exchange) == USAGE


def test_an_empty_request_body_is_empty_where_nothing_says_otherwise() -> None:
    exchange = one(entry(request={"bodySize": 0}, postData={"text": ""}))
    assert exchange.request is not None and exchange.request.reason == "the body is empty"
    assert exchange.request.wire_bytes == 0


@pytest.mark.parametrize(
    "data",
    [
        {"text": b64encode(BODY).decode(), "encoding": "base64"},
        {"text": b64encode(BODY).decode(), "_base64": True},
        {"text": None, "_base64": b64encode(BODY).decode()},
        {"text": b64encode(BODY).decode()},
        {"text": BODY.decode(), "encoding": "base64"},
        {"text": mojibake(BODY.decode())},
    ],
)
def test_every_way_to_save_a_request_gives_its_bytes(data: dict[str, Any]) -> None:
    request = one(entry(postData=data)).request
    assert request is not None and request.body == ASKED and request.wire_bytes == len(BODY)


def test_lone_surrogates_keep_their_lengths() -> None:
    body = rb'{"model":"m","messages":[{"role":"user","content":"\ud83d"}]}'
    request = one(entry(postData={"text": body.decode()}, request={"bodySize": len(body)})).request
    assert request is not None and request.body["messages"][0]["content"] == "\ud83d"
    assert request.wire_bytes == len(body) and request.notes == ()


# Cases I05, I06, B01, E02: the file around it


@pytest.mark.parametrize(
    "pack",
    [lambda data: b"\xef\xbb\xbf" + data, zlib.compress, gzip.compress, zstd.compress, lambda data: b"\n " + data],
)
def test_a_compressed_file_or_one_with_a_mark_is_read_alike(pack: Any) -> None:
    exchanges, problems = read(read_har, pack(har(entry())))
    assert problems == [] and [counters(exchange) for exchange in exchanges] == [USAGE]


@pytest.mark.parametrize("pack", [zlib.compress, gzip.compress, zstd.compress, bytes])
def test_the_head_of_a_compressed_file_shows_what_it_holds(pack: Any) -> None:
    data = har(*[entry()] * 300)
    head = unpacked_head(pack(data)[:5000])
    assert len(head) > 1000 and data.startswith(head) and looks_like_har(top_keys(head))


def test_a_file_compressed_in_parts_is_one_file() -> None:
    data = har(entry(), entry())
    exchanges, problems = read(read_har, gzip.compress(data[:1000]) + gzip.compress(data[1000:]))
    assert problems == [] and len(exchanges) == 2


@pytest.mark.parametrize("keep", [0.45, 0.7, 0.95])
def test_a_cut_file_gives_what_is_whole_and_says_where_it_ends(keep: float) -> None:
    data = har(entry(), entry(), entry())
    whole = int(keep * 3)
    exchanges, problems = read(read_har, data[: int(len(data) * keep)])
    assert len(exchanges) == whole
    assert problems == [f"the file was cut after entry {whole}: all that is whole was read"]


def test_a_cut_or_damaged_compressed_file_is_read_up_to_there() -> None:
    packed = zlib.compress(har(*(entry(n=number) for number in range(400))), 0)
    exchanges, problems = read(read_har, packed[: len(packed) // 2])
    assert 150 < len(exchanges) < 250
    assert "zlib data was cut" in problems[0] and f"after entry {len(exchanges)}" in problems[1]
    damaged = packed[: len(packed) // 2] + b"\xff" * 100_000
    exchanges, problems = read(read_har, damaged)
    assert 150 < len(exchanges) < 250 and "damaged" in problems[0] and len(problems) == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": 1}', "it has no log"),
        (b"{}", "it has no log"),
        (b"", "it has no log"),
        (b"[1, 2]", "it has no log"),
        (b'{"log": {"version": "1.2"}}', "log has no entries"),
        (b'{"log": []}', "log has no entries"),
        (b'{"log": {"entries": {"0": {}}}}', "entries are no list"),
        (b'{"log": {"entries": null}}', "entries are no list"),
        (b'{"log": {"entries": []}}', "has no entry"),
        (b'{"log": {"entries": [', "cut before the first entry"),
    ],
)
def test_a_file_that_is_no_har_gets_one_sentence(data: bytes, said: str) -> None:
    exchanges, problems = read(read_har, data)
    assert exchanges == [] and len(problems) == 1
    assert said in problems[0]


def test_a_broken_entry_is_named_and_the_others_are_read() -> None:
    broken = b'{"a": nonsense}'
    odd: list[Any] = [
        5,
        None,
        [],
        {},
        {"request": None},
        {"request": {"method": 1}},
        {"request": {"method": "POST", "url": "x"}},
    ]
    data = har(entry(), "BROKEN", *odd, entry()).replace(b'"BROKEN"', broken)
    exchanges, problems = read(read_har, data)
    assert [exchange.place for exchange in exchanges] == ["file:1", "file:10"]
    assert problems[0] == "entry 2 is not readable (not valid JSON at character 6: expected a value) and was left out"
    assert problems[1:-1] == [f"entry {number} has no request with a method and was left out" for number in range(3, 9)]
    assert problems[-1] == "entry 9 has no request with an absolute URL and was left out"


@pytest.mark.parametrize(
    ("answer", "ended", "failure"),
    [
        (None, "unanswered", None),
        ({"status": 0, "headers": [], "content": {}}, "unanswered", None),
        ({"status": 0, "_error": "net::ERR_CONNECTION_REFUSED"}, "unreachable", "net::ERR_CONNECTION_REFUSED"),
        ({"status": 0, "_error": "Client disconnected."}, "client_gone", "Client disconnected."),
        ({"status": 0, "_error": "net::ERR_ABORTED"}, "client_gone", "net::ERR_ABORTED"),
        (
            {"status": 0, "_error": f"GET https://u:{SECRET}@h/p?key={SECRET}&beta=true refused"},
            "unreachable",
            "GET https://…@h/p?key=…&beta=true refused",
        ),
    ],
)
def test_no_answer_is_told_with_its_failure(answer: Any, ended: str, failure: str | None) -> None:
    exchange = one(entry() | {"response": answer})
    assert exchange.ended == ended and exchange.request is not None and exchange.request.body == ASKED
    if failure is None:
        assert exchange.response is None
    else:
        assert exchange.response is not None
        assert (exchange.response.status, exchange.response.failure) == (None, failure)


def test_a_stream_that_broke_is_cut_and_a_whole_one_is_not() -> None:
    failed = {"_error": "net::ERR_INCOMPLETE_CHUNKED_ENCODING"}
    short = SSE[: SSE.index("event: message_delta")]
    exchange = one(entry(response=failed, content={"text": short, "size": -1}))
    assert exchange.ended == "upstream_cut" and counters(exchange)["output_tokens"] is None
    assert exchange.response is not None and exchange.response.failure == failed["_error"]
    assert one(entry(response=failed)).ended == "completed"
    assert one(entry(response={"_error": "net::ERR_ABORTED"}, content={"text": short})).ended == "client_gone"


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "application/json", "anthropic-beta": ["a", "b"], "X-Api-Key": SECRET},
        [["Content-Type", "application/json"], ["anthropic-beta", "a"], ["anthropic-beta", "b"], ["x-api-key", SECRET]],
        [
            {"name": ":authority", "value": "api.anthropic.com"},
            {"name": "Content-Type", "value": "application/json"},
            {"name": "anthropic-beta", "value": "a"},
            {"name": "anthropic-beta", "value": "b"},
            {"name": "x-api-key", "value": SECRET},
            {"name": None},
            7,
        ],
    ],
)
def test_headers_are_read_from_lists_and_objects_with_repeated_ones_kept(headers: Any) -> None:
    request = one(entry(request={"headers": headers})).request
    assert request is not None
    assert request.headers == {"content-type": "application/json", "anthropic-beta": ["a", "b"]}
    assert request.other_headers == ("x-api-key",)


def test_what_is_not_of_this_api_is_counted_and_the_most_frequent_named() -> None:
    others = [
        *[entry(request={"method": "GET", "url": f"https://h/api/hello?token={SECRET}"})] * 4,
        *[entry(request={"url": "https://h/v1/chat/completions"})] * 2,
        entry(request={"method": "GET", "url": "https://h/files/3f2504e04f89"}),
        entry(request={"method": "GET", "url": "https://h/zzz"}),
    ]
    exchanges, problems = read(read_har, har(*others, entry()))
    assert len(exchanges) == 1
    most = "GET /api/hello (4), POST /v1/chat/completions (2), GET /files/* (1)"
    assert problems == [f"8 other HTTP requests were left out (most: {most})"]


def test_websockets_and_tunnels_are_counted() -> None:
    exchanges, problems = read(
        read_har,
        har(
            entry(_resourceType="websocket", _webSocketMessages=[{"type": "send", "data": "x"}]),
            entry(request={"url": "wss://h/v1/messages", "method": "GET"}),
            entry(response={"status": 101}),
            entry(request={"url": "https://api.anthropic.com:443/", "method": "CONNECT"}),
        ),
    )
    assert exchanges == []
    assert problems == [
        "3 websocket connections were left out: their messages are not read",
        "1 CONNECT request was left out: what went through a tunnel stands for itself",
    ]


@pytest.mark.parametrize(
    ("started", "seconds"),
    [
        ("2026-11-30T10:00:00.250Z", 1796032800.25),
        ("2026-11-30T12:30:00.25+02:30", 1796032800.25),
        ("2026-11-30T10:00:00.2500000+00:00", 1796032800.25),
        ("2026-11-30T02:00:00-08:00", 1796032800.0),
        ("2026-11-30T10:00:00", None),
        ("yesterday", None),
        ("0001-01-01T00:00:00+14:00", None),
        (None, None),
        (["x"], None),
    ],
)
def test_times_have_an_offset_or_are_unknown(started: Any, seconds: float | None) -> None:
    exchange = one(entry(startedDateTime=started))
    assert exchange.request is not None and exchange.response is not None
    assert exchange.request.time == seconds
    assert (exchange.response.time is None) == (seconds is None)
    assert ("time_unreadable" in codes(exchange)) == (seconds is None)
    assert exchange.response.last == 1.2345


@pytest.mark.parametrize("timings", [None, {}, {"send": -1, "wait": -1, "receive": -1}, {"wait": "1"}, []])
def test_durations_that_are_not_in_the_file_are_unknown(timings: Any) -> None:
    response = one(entry(timings=timings)).response
    assert response is not None and (response.first_byte, response.last) == (None, 1.2345)
    response = one(entry(timings=timings, time=-1)).response
    assert response is not None and response.last is None


def test_no_secret_is_kept_whatever_part_of_an_entry_holds_it() -> None:
    exchange = one(
        entry(
            request={
                "url": f"https://user:{SECRET}@Gateway.example:8443/v1/messages?key={SECRET}&beta=true#{SECRET}",
                "headers": fields(x_api_key=SECRET, referer=f"https://h/?api_key={SECRET}", cookie=SECRET, host="h"),
                "queryString": [{"name": "key", "value": SECRET}],
                "cookies": [{"name": "s", "value": SECRET}],
            },
            response={"headers": fields(set_cookie=SECRET, location=f"https://h/?k={SECRET}")},
            comment=SECRET,
        )
    )
    assert SECRET not in repr(exchange)
    assert exchange.request is not None
    assert (exchange.request.host, exchange.request.query) == ("gateway.example", "key=…&beta=true")
    assert exchange.request.other_headers == ("cookie", "host", "referer", "x-api-key")


def test_lengths_are_code_points_and_no_one_normalises() -> None:
    texts = {
        "👨‍👩‍👧": (5, 18),
        "🇩🇪": (2, 8),
        "👍🏽": (2, 8),
        "𠀀": (1, 4),
        "\u00e9": (1, 2),
        "e\u0301": (2, 3),
        "한": (1, 3),
    }
    for text, (chars, size) in texts.items():
        body = dump({"messages": [{"role": "user", "content": text}]})
        request = one(entry(postData={"text": body.decode()}, request={"bodySize": -1})).request
        assert request is not None and request.recorded is not None and request.steps is not None
        assert request.recorded["messages"] == chars + len("roleusercontent")
        assert request.steps.utf8 == size - chars


def test_markers_of_another_tool_are_data_unless_the_user_says_so() -> None:
    marker = {"_elided": True, "chars": 1000, "sha256": "0" * 64}
    body = dump({"messages": [{"role": "user", "content": marker}]}).decode()
    data = har(entry(postData={"text": body}))
    (as_data,), _ = read(read_har, data)
    (as_marker,), _ = read(read_har, data, folded=True)
    assert as_data.request is not None and as_data.request.body["messages"][0]["content"] == marker
    assert as_marker.request is not None and as_marker.request.body["messages"][0]["content"].chars == 1000


def test_a_big_file_is_read_entry_by_entry() -> None:
    class Endless(io.RawIOBase):
        """A HAR of 50 MB that was never in memory as a whole; counts how much of it was asked for."""

        def __init__(self) -> None:
            self.at = 0
            self.given = 0

        def seek(self, *_: int) -> int:
            self.at = self.given = 0
            return 0

        def read(self, size: int = -1) -> bytes:
            assert 0 < size <= 1 << 20
            piece = part[self.at % len(part) :][:size] if self.given else b'{"log":{"entries":['
            self.at += len(piece) if self.given else 0
            self.given += len(piece)
            return piece if self.given < 50_000_000 else b""

    text = "x" * 2_000_000
    part = dump(entry(postData={"text": dump({"messages": text}).decode()}, request={"bodySize": -1})) + b","
    stream = Endless()
    source = Source(stream, "big", "big")  # type: ignore[arg-type]
    for number, exchange in enumerate(read_har(source), 1):
        assert exchange.request is not None and exchange.request.recorded_total == len(text)
        assert stream.given < number * len(part) + (1 << 20)
    assert number == 50_000_000 // len(part)


# fmt: off
known = st.sampled_from((
    "request", "response", "method", "url", "headers", "postData", "text", "params", "encoding", "status",
    "content", "size", "compression", "bodySize", "timings", "wait", "time", "startedDateTime", "_error",
    "_base64", "_eventSourceMessages", "data", "eventName", "name", "value",
))
# fmt: on
plausible = values | st.sampled_from(["POST", URL, "base64", "https://h/v1/messages/batches/b", 200, -1, 0, SSE])
nested = st.recursive(plausible, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(known, inner, max_size=6))


@settings(max_examples=40)
@given(st.lists(st.dictionaries(known, nested, max_size=6), max_size=3), st.integers(0, 2000))
def test_nothing_in_a_file_raises(parts: list[dict[str, Any]], cut: int) -> None:
    usual = entry()
    for part in parts:
        for name in ("request", "response"):
            usual[name] = usual[name] | {key: value for key, value in part.items() if key not in ("method", "url")}
    data = har(usual, *parts)
    exchanges, _ = read(read_har, data)
    assert len(exchanges) >= 1 and exchanges[0].request is not None
    read(read_har, data[:cut])


def test_a_har_is_told_by_its_keys() -> None:
    assert looks_like_har(["log"]) and looks_like_har(["comment", "log"])
    assert not looks_like_har(["messages", "model"]) and not looks_like_har([])
