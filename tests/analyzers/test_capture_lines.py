"""An exchange out of any file, written as lines of a capture, reads as that exchange."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from capture_files import end, request, response, start
from every_kind import file_of
from saved_http import entry, har

from analyzers.capture_lines import lines_of
from analyzers.exchange import Exchange
from analyzers.readers.captures import CaptureStream
from analyzers.readers.sources import Sources
from analyzers.wire.jsontext import dump


def _again(exchange: Exchange) -> Exchange:
    lines = b"".join(dump(record) + b"\n" for record in lines_of(exchange, "1"))
    [read] = CaptureStream("x").feed(start() + lines)
    return replace(read, place=exchange.place)


@pytest.mark.parametrize("kind", ["capture", "flows", "har", "pairs"])
def test_an_exchange_of_every_kind_reads_as_it_was(tmp_path: Path, kind: str) -> None:
    [exchange] = Sources([str(file_of(kind, tmp_path))]).exchanges([])
    again = _again(exchange)
    assert again.request == exchange.request and again.ended == exchange.ended
    assert again.response is not None and exchange.response is not None
    assert again.response == exchange.response


def test_what_readers_say_of_odd_counters_and_packed_bodies_is_said_once(tmp_path: Path) -> None:
    odd = response("1", usage={"input_tokens": "many", "output_tokens": 3}, content_encoding="br", wire_bytes=7)
    body = b'{"model":"m","messages":[{"role":"user","content":{"_elided":true}}],"_elided":"x"}'
    stream = CaptureStream("x")
    [exchange] = stream.feed(start() + request("1", body, headers=(("content-encoding", "identity"),)) + odd + end())
    again = _again(exchange)
    assert again.request == exchange.request and again.response == exchange.response
    assert again.request is not None and again.request.content_encoding == "identity"
    assert again.response is not None and len(again.response.notes) == 1


def test_a_body_that_was_not_kept_stays_unknown(tmp_path: Path) -> None:
    (tmp_path / "x.har").write_bytes(har(entry(postData={"text": ""}, bodySize=70)))
    [exchange] = Sources([str(tmp_path / "x.har")]).exchanges([])
    assert exchange.request is not None and exchange.request.reason is not None
    assert _again(exchange).request == exchange.request
