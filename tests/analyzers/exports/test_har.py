"""Exchanges as a HAR: what other programs find in it, and that reading it again gives the same record."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from capture_files import USAGE, body, end, request, response, start
from every_kind import KINDS, file_of
from hypothesis import given, settings
from hypothesis import strategies as st
from json_values import keys, texts, values
from recorded_session import NEWER, unpacked
from saved_http import ASKED, BODY, SSE, TEXT, WHOLE, codes, counters, har, read
from saved_http import entry as chrome

from analyzers.exchange import Exchange, Request
from analyzers.exports.har import entry, entry_text, folded_texts, head, tail
from analyzers.exports.printable import in_ascii, printable
from analyzers.readers.captures import CaptureStream
from analyzers.readers.har import read_har
from analyzers.readers.har_own import own_exchange
from analyzers.readers.sources import Sources
from analyzers.sizes import totals
from analyzers.summary import summarise
from analyzers.wire.jsontext import dump, parse

EXAMPLE = Path(__file__).parents[3] / "captures.example"


def captured(*lines: bytes, fold_over: int = -1) -> list[Exchange]:
    capture = CaptureStream("capture")
    return [*capture.feed(b"".join((start(fold_over), *lines))), *capture.finish()]


def one(
    sent: bytes | None = BODY, *, fold_over: int = -1, asked: dict[str, Any] | None = None, **said: Any
) -> Exchange:
    """An exchange out of a capture. ``asked``: of its request; ``said``: of its answer."""
    line = request("1", sent, fold_over=fold_over, **(asked or {}))  # type: ignore[arg-type]
    [exchange] = captured(line, response("1", **said))
    return exchange


def streamed() -> Exchange:
    """An exchange whose answer came as events."""
    [exchange], _ = read(read_har, har(chrome()))
    return exchange


def document(exchanges: Sequence[Exchange]) -> bytes:
    return (head("0.1.0") + ",\n".join(map(entry_text, exchanges)) + tail("")).encode()


def by_others(*exchanges: Exchange) -> list[Exchange]:
    """The exchanges as a program reads them that knows nothing of what is private in them."""
    plain = json.loads(document(exchanges))
    for made in plain["log"]["entries"]:
        del made["_weighbridge"]
    found, problems = read(read_har, json.dumps(plain).encode())
    assert not problems
    return found


def again(exchange: Exchange) -> Exchange | None:
    return own_exchange(parse(entry_text(exchange).encode()).value, exchange.place)


# The standard

STRING, NUMBER, LIST, OBJECT = str, (int, float), list, dict
REQUIRED: dict[str, dict[str, Any]] = {
    "log": {"version": STRING, "creator": OBJECT, "entries": LIST},
    "creator": {"name": STRING, "version": STRING},
    "entry": {"startedDateTime": STRING, "time": NUMBER, "request": OBJECT, "response": OBJECT, "cache": OBJECT,
              "timings": OBJECT},
    "request": {"method": STRING, "url": STRING, "httpVersion": STRING, "cookies": LIST, "headers": LIST,
                "queryString": LIST, "headersSize": int, "bodySize": int},
    "response": {"status": int, "statusText": STRING, "httpVersion": STRING, "cookies": LIST, "headers": LIST,
                 "content": OBJECT, "redirectURL": STRING, "headersSize": int, "bodySize": int},
    "pair": {"name": STRING, "value": STRING},
    "postData": {"mimeType": STRING, "text": STRING},
    "content": {"size": int, "mimeType": STRING},
    "timings": {"send": NUMBER, "wait": NUMBER, "receive": NUMBER},
}  # fmt: skip
"""The members that HAR 1.2 asks for, of the objects that are written."""


def valid(kind: str, value: dict[str, Any]) -> None:
    for name, of in REQUIRED[kind].items():
        assert isinstance(value[name], of), f"{kind}.{name}"
    optional = {"comment", "postData", "text", "_error", "_weighbridge"}
    assert set(value) <= set(REQUIRED[kind]) | optional, kind
    assert isinstance(value.get("comment", ""), str)


def valid_entry(made: dict[str, Any]) -> None:
    valid("entry", made)
    assert datetime.fromisoformat(made["startedDateTime"]).tzinfo is not None
    assert made["time"] >= 0
    valid("request", made["request"])
    assert re.fullmatch(r"https://[A-Za-z0-9.\-:\[\]%]+/[!-~]*", made["request"]["url"]), "RFC 3986"
    for pair in (*made["request"]["headers"], *made["request"]["queryString"], *made["response"]["headers"]):
        valid("pair", pair)
    if "postData" in made["request"]:
        valid("postData", made["request"]["postData"])
    valid("response", made["response"])
    content = made["response"]["content"]
    valid("content", content)
    if "text" in content:
        assert content["size"] == len(content["text"].encode())
    valid("timings", made["timings"])


@pytest.fixture(scope="module")
def every_exchange(tmp_path_factory: pytest.TempPathFactory) -> list[Exchange]:
    """Of every kind of file, of the example, and of a recorded session of Claude Code."""
    folder = tmp_path_factory.mktemp("files")
    files = [str(file_of(kind, folder / kind)) for kind in KINDS]
    recorded = unpacked(NEWER, folder / "session")
    found = Sources([*files, str(EXAMPLE), str(recorded.captures), str(recorded.logs)]).exchanges([])
    return [exchange for exchange in found if exchange.request is not None]


def test_everything_that_can_be_read_becomes_a_valid_har(every_exchange: list[Exchange]) -> None:
    assert len(every_exchange) > 50
    written = json.loads(document(every_exchange))
    valid("log", written["log"])
    valid("creator", written["log"]["creator"])
    for made in written["log"]["entries"]:
        valid_entry(made)


def test_everything_that_can_be_read_comes_back_as_the_record_it_was(every_exchange: list[Exchange]) -> None:
    for exchange in every_exchange:
        assert again(exchange) == exchange


@pytest.mark.parametrize("fold_over", [-1, 40, 0])
@settings(max_examples=40)
@given(st.dictionaries(keys, values, max_size=4), st.lists(values, max_size=3), texts)
def test_any_exchange_comes_back(fold_over: int, sent: dict[str, Any], content: list[Any], text: str) -> None:
    said = {"usage": USAGE | {"odd": [text]}, "rest": {"stop_details": text}, "headers": {"request-id": text[:9]}}
    line = response("1", content=[{"type": "text", "text": text}], **said)
    found = captured(request("1", dump(ASKED | sent), fold_over=fold_over), line)
    odd = parse(dump({"kind": "response", "id": "1", "time": "2026-11-30T00:00:00Z", "ended": "error", "status": 500}))
    for exchange in (*found, *captured(request("1", dump(sent)), dump(odd.value | {"body": content or None}) + b"\n")):
        assert again(exchange) == exchange


@pytest.mark.parametrize(
    "said",
    [
        {"ended": "upstream_cut", "usage": {"input_tokens": 5}, "stop_reason": None, "last": 0.5},
        {"ended": "client_gone", "status": None, "model": None, "message_id": None, "usage": None, "content": None},
        {"ended": "error", "status": 200, "error": {"type": "overloaded_error", "message": "m", "request_id": "r"}},
        {"ended": "error", "status": 529, "usage": None, "content": None, "model": None, "message_id": None,
         "body": "<html>too\r\nmuch</html>", "error": {"type": None, "message": None, "request_id": None}},
        {"usage": None, "content": None, "model": None, "message_id": None, "body": {"input_tokens": 12}},
        {"usage": None, "content": None, "model": None, "message_id": None, "body": [{"custom_id": "a"}, "cut {"]},
        {"usage": None, "content": None, "model": None, "message_id": None},
        {"content": None},
        {"content": [], "usage": None, "model": None, "message_id": None, "stop_reason": None},
        {"first_byte": 0.25, "first_content": 0.5, "last": 2.125, "wire_bytes": 17, "decoded_bytes": 99},
    ],
    ids=lambda said: ", ".join(said)[:60],
)  # fmt: skip
def test_any_ending_comes_back(said: dict[str, Any]) -> None:
    exchange = one(**said)
    assert again(exchange) == exchange
    valid_entry(json.loads(entry_text(exchange)))


def test_a_request_without_a_body_or_with_an_odd_one_comes_back() -> None:
    asked = {"method": "GET", "path": "/v1/messages/batches/b_1", "route": "batches"}
    for exchange in (one(b"", asked=asked), one(b"{no json"), one(None), one(b'{"n":[1E2,-0,1.0,1e400]}')):
        assert again(exchange) == exchange
        valid_entry(json.loads(entry_text(exchange)))


def test_an_entry_that_was_changed_since_is_read_like_any_other() -> None:
    made = entry(one())
    for harm in (
        lambda e: e["request"].pop("postData"),
        lambda e: e["request"]["postData"].update(text="no json"),
        lambda e: e["response"]["content"].update(text="[]"),
        lambda e: e["_weighbridge"].update(format=2),
        lambda e: e["_weighbridge"].update(ended="well"),
        lambda e: e["_weighbridge"].update(answer="odd"),
        lambda e: e["_weighbridge"].pop("request"),
        lambda e: e.update(_weighbridge=7),
        lambda e: e.pop("_weighbridge"),
    ):
        changed = json.loads(dump(made))
        harm(changed)
        assert own_exchange(changed, "") is None


def test_a_text_that_was_changed_since_does_not_close() -> None:
    made = json.loads(entry_text(one(body("long" * 10))))
    made["request"]["postData"]["text"] = made["request"]["postData"]["text"].replace("longlong", "x")
    changed = own_exchange(made, "")
    assert changed is not None
    assert summarise(changed, 1).closes is False


# What other programs find in it


def test_other_readers_find_the_same_figures(tmp_path: Path) -> None:
    """But for what was folded, how bodies were written, and how an answer broke off."""
    names = [str(file_of(kind, tmp_path / kind)) for kind in ("capture", "flows", "har", "pairs")]
    bytes_on_the_wire = dict.fromkeys(("wire_bytes", "unexplained", "closes"))
    for exchange in Sources(names).exchanges([]):
        [found] = by_others(exchange)
        assert summarise(found, 1).as_json() | bytes_on_the_wire == summarise(exchange, 1).as_json() | bytes_on_the_wire
        assert counters(found) == counters(exchange)
    assert by_others(one())[0].request == replace(one().request, fingerprint=by_others(one())[0].request.fingerprint)


@settings(max_examples=40)
@given(st.dictionaries(texts, values, max_size=4), texts, st.booleans())
def test_other_readers_find_the_same_body(sent: dict[str, Any], text: str, spaced: bool) -> None:
    raw = json.dumps(sent | {"model": text}, indent=1 if spaced else None, ensure_ascii=spaced).encode(errors="replace")
    exchange = one(raw)
    [found] = by_others(exchange)
    assert exchange.request is not None
    assert found.request is not None
    assert found.request.body == exchange.request.body
    assert totals(found.request) == replace(totals(exchange.request), unexplained=totals(found.request).unexplained)


def test_text_that_could_be_bytes_is_not_taken_for_them() -> None:
    """``Ã¼`` is also what the bytes of ``ü`` look like one by one."""
    exchange = one(json.dumps(ASKED | {"messages": [{"role": "user", "content": "Ã¼"}]}, indent=1).encode())
    [found] = by_others(exchange)
    assert found.request is not None
    assert found.request.body["messages"][0]["content"] == "Ã¼"


def test_a_streamed_answer_is_the_message_that_its_events_made() -> None:
    made = entry(streamed())
    content = made["response"]["content"]
    assert json.loads(content["text"]) == WHOLE
    assert content["mimeType"] == "application/json"
    assert content["comment"] == "It came as a stream of events: this is the message that they made."
    assert "comment" not in entry(one())["response"]["content"]
    assert TEXT in SSE


def test_the_times_are_those_of_the_record() -> None:
    made = entry(one(first_byte=0.25, last=2.125))
    assert made["timings"] == {"send": 0.0, "wait": 250.0, "receive": 1875.0}
    assert made["time"] == 2125.0
    assert made["startedDateTime"] == "2026-11-30T00:53:21.000000Z"
    unknown = entry(one())
    assert unknown["timings"] == {"send": 0.0, "wait": -1.0, "receive": -1.0}
    assert unknown["time"] == 0


def test_a_time_that_is_not_known_is_said_to_be_unknown() -> None:
    untimed = Exchange(Request(ASKED, path="/v1/messages"), None, "not_recorded", "")
    made = entry(untimed)
    assert made["startedDateTime"] == "1970-01-01T00:00:00.000000Z"
    assert made["comment"] == "When it was sent is not known."
    assert made["request"]["url"] == "https://host.invalid/v1/messages"
    assert again(untimed) == untimed


def test_folded_texts_stand_as_markers_and_are_counted() -> None:
    exchange = one(body("x" * 500), fold_over=400)
    posted = entry(exchange)["request"]["postData"]
    marker = json.loads(posted["text"])["messages"][0]["content"]
    assert (marker["_elided"], marker["chars"]) == (True, 500)
    assert posted["comment"].startswith("1 text of it was folded when it was recorded")
    assert folded_texts(exchange.request and exchange.request.body) == 1


def test_what_looks_like_a_marker_is_still_data() -> None:
    data = {"_elided": True, "chars": 5, "sha256": "00"}
    exchange = one(dump(ASKED | {"x": data, "y": "z" * 500}), fold_over=400)
    found = again(exchange)
    assert found is not None
    assert found.request is not None
    assert found.request.body["x"] == data


def test_no_credential_is_in_it() -> None:
    sent = dump(ASKED | {"mcp_servers": [{"type": "url", "authorization_token": "SECRET"}]})
    asked = {"headers": (("x-api-key", "SECRET"),), "path": "/v1/messages?beta=true&key=SECRET"}
    text = entry_text(one(sent, asked=asked))
    assert "SECRET" not in text
    made = json.loads(text)["request"]
    assert made["headers"] == [{"name": "x-api-key", "value": "", "comment": "its value is never recorded"}]
    assert made["queryString"] == [{"name": "beta", "value": "true"}, {"name": "key", "value": "…"}]


def test_how_a_call_failed_is_told() -> None:
    gone = entry(one(ended="client_gone", status=None, content=None, usage=None, model=None, message_id=None))
    assert gone["response"]["_error"] == "client disconnected"
    assert gone["response"]["status"] == 0
    assert entry(one(ended="upstream_cut", failure="peer closed"))["response"]["_error"] == "peer closed"
    assert "_error" not in entry(one())["response"]


def test_an_answer_without_its_request_has_no_place() -> None:
    [alone] = captured(response("1"), end())
    with pytest.raises(ValueError, match="no request"):
        entry(alone)


@pytest.mark.parametrize("text", ["\x9b31m", "\u202e", "\x7f", "\U000e0041", "\u2028", "\ud800", "\x00\n\x1b"])
def test_nothing_in_it_steers_a_terminal(text: str) -> None:
    exchange = one(dump(ASKED | {"model": text}), model=text, asked={"headers": (("user-agent", text),)})
    shown = entry_text(exchange)
    assert text not in shown
    assert all(ord(character) >= 0x20 for character in shown)
    assert again(exchange) == exchange


@given(values)
def test_escapes_change_no_value(value: Any) -> None:
    text = dump(value).decode()
    assert json.loads(printable(text)) == json.loads(text)
    assert json.loads(in_ascii(text)) == json.loads(text)
    assert in_ascii(text).isascii()


def test_depth_is_no_matter() -> None:
    exchange = one(b'{"messages":' + b"[" * 5_000 + b"]" * 5_000 + b"}")
    found = again(exchange)
    assert found is not None
    assert found.request is not None
    assert dump(found.request.body) == dump(exchange.request and exchange.request.body)


def test_notes_of_the_record_are_kept() -> None:
    exchange = one(b'{"model":"a","model":"m","messages":[]}')
    found = again(exchange)
    assert found is not None
    assert codes(found) == codes(exchange) == {"duplicate_key"}
