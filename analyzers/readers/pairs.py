"""Logs of other recorders that hold a request and its answer per line of JSON, into exchanges.

Known by name: claude-trace 1.0 (npm ``@mariozechner/claude-trace``: url, seconds, a body that was parsed and written
again, or ``body_raw``) and claude-tap 0.1 (PyPI ``claude-tap``: path, a time at the end, ``sse_events`` when it was
told to keep them, else the message as it put it together; its bundles are in ``ctap``). Any other line with both a
``request`` and a ``response`` is read by the same names. What was parsed and written again has lost its bytes: they are
unknown, and so is their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from analyzers.exchange import Exchange, Request, Response
from analyzers.readers.captures import LINE_LIMIT
from analyzers.readers.ctap import bundled, looks_like_bundle
from analyzers.readers.left_out import LeftOut
from analyzers.readers.members import top_keys
from analyzers.readers.saved_fields import Address, address, count, headers_of, number, seconds_of, told
from analyzers.readers.saved_text import as_stream, named_events
from analyzers.readers.source import Source
from analyzers.readers.unpacked import unpacked_head, unpacked_lines
from analyzers.readers.wired import Headers, SavedAnswer, exchange_of, header, request_of, request_of_value
from analyzers.wire.jsontext import Json, NotJson, dump, parse
from analyzers.wire.note import Note
from analyzers.wire.record import SeenRequest
from analyzers.wire.routes import Route, classify

FROM_EVENTS = Note("events_in_file", "the answer was put together from a list of its events: its bytes are unknown")
REWRITTEN = Note("answer_rewritten", "the recorder parsed the answer and wrote it again: its bytes are unknown")
UNFINISHED = Note("answer_unfinished", "the stream had no end when the recorder put it together: the output is unknown")
TIME_UNKNOWN = Note("time_unreadable", "the time of the request is missing or no time with an offset: it is unknown")
_HEAD = 4096
_MADE_UP = "msg_claude_tap_capture"  # what claude-tap answers itself when it is told to send nothing upstream
_OWN_COUNTER = "cache_read_in_input"  # what claude-tap adds to a usage


def looks_like_pairs(keys: list[str]) -> bool:
    """Whether the first keys of a JSON object (``members.top_keys``) are those of a line with a request and its
    answer, or of a bundle of such. A request can be so long that its answer is not among what is seen."""
    if looks_like_bundle(keys):
        return True
    return "request" in keys and ("response" in keys or keys[-1] == "request")


def read_pairs(source: Source) -> Iterator[Exchange]:
    """The exchanges of a log, each as soon as its line is read. What is none of the Messages API is counted; what
    cannot be used is a problem of the source. Raises OSError only."""
    left_out = LeftOut()
    foreign = 0
    source.stream.seek(0)
    head = unpacked_head(source.stream.read(_HEAD))
    for number_, record in bundled(source) if looks_like_bundle(top_keys(head)) else _lines(source):
        asked = record.get("request") if type(record) is dict else None
        if type(asked) is not dict or "response" not in record:
            foreign += 1
            continue
        where, method = _address(record, asked), _method(asked)
        route = classify(method, where.path)
        if method == "WEBSOCKET":
            left_out.websockets += 1
        elif route is None:
            left_out.add(method, where.path)
        else:
            times = _times(record, asked)
            request = _request(asked, where, method, route, times, folded=source.folded)
            yield _answered(record, request, times, f"{source.place}:{number_}")
    if foreign:
        records = "1 record was" if foreign == 1 else f"{foreign:,} records were"
        source.problem(f"{records} left out, with no request and its answer in it")
    for sentence in left_out.sentences():
        source.problem(sentence)


def _lines(source: Source) -> Iterator[tuple[int, Json]]:
    """Number (from 1) and value of each line; what cannot be read is a problem."""
    for line_number, line in enumerate(unpacked_lines(source, LINE_LIMIT), 1):
        if line is None:
            source.problem("the line is longer than any exchange and was left out", line_number)
        elif line.strip():
            try:
                document = parse(line)
            except NotJson as error:
                torn = not line.endswith(b"\n")
                why = "the file was cut there, or is still being written" if torn else error.reason
                source.problem(f"the line is not readable ({why}) and was left out", line_number)
                continue
            if any(note.code == "trailing_text" for note in document.notes):
                source.problem("the line goes on after its record: what follows was left out", line_number)
            yield line_number, document.value


# The request


@dataclass(frozen=True, slots=True)
class _Times:
    """Seconds since the epoch; None where the line does not say."""

    began: float | None
    first_byte: float | None
    ended: float | None

    def since(self, moment: float | None) -> float | None:
        """Seconds from the beginning to a later moment."""
        if self.began is None or moment is None or moment < self.began:
            return None
        return moment - self.began


def _times(record: dict[str, Json], asked: dict[str, Json]) -> _Times:
    answer = record.get("response")
    began = seconds_of(asked.get("timestamp"))
    if began is not None:
        first_byte = seconds_of(answer.get("timestamp")) if type(answer) is dict else None
        return _Times(began, first_byte, seconds_of(record.get("logged_at")))
    moment, took = seconds_of(record.get("timestamp")), number(record.get("duration_ms"))
    if moment is not None and took is not None and took >= 0:  # written when the answer was there
        return _Times(moment - took / 1000, None, moment)
    return _Times(moment, None, None)


def _method(asked: dict[str, Json]) -> str:
    method = asked.get("method")
    return method if type(method) is str and method else "POST"


def _address(record: dict[str, Json], asked: dict[str, Json]) -> Address:
    """Where the request went: its URL, or its path at the base that the record names, or at the host of its headers."""
    found = address(asked.get("url"))
    if found is not None:
        return found
    url, path = asked.get("url"), asked.get("path")
    local = url if type(url) is str and url.startswith("/") else path if type(path) is str else ""
    base = address(record.get("upstream_base_url"))
    host = header(headers_of(asked.get("headers")), "host") or ""
    base = base or address(f"https://{host}/") or Address("https", "", 443, "/")
    return replace(base, path=local if local.startswith("/") else f"/{local}")


def _request(
    asked: dict[str, Json], where: Address, method: str, route: Route, times: _Times, *, folded: bool
) -> Request:
    body = asked.get("body")
    seen = SeenRequest(
        id="",
        time=times.began or 0.0,
        method=method,
        scheme=where.scheme,
        host=where.host,
        port=where.port,
        path=where.path,
        route=route,
        headers=tuple(headers_of(asked.get("headers"))),
        body=body.encode("utf-8", "surrogatepass") if type(body) is str else None,
    )
    notes = () if times.began is not None else (TIME_UNKNOWN,)
    if body is None and method != "POST":
        seen = replace(seen, body=b"")
    if body is None or type(body) is str:
        request = request_of(seen, notes, folded=folded)
    else:
        request = request_of_value(seen, body, notes, folded=folded)
    return replace(request, time=times.began, host=where.host or None)


# The answer


@dataclass(frozen=True, slots=True)
class _Body:
    """An answer's body. ``exact``: these are the bytes of the wire, its content coding undone."""

    data: bytes | None
    exact: bool = False
    notes: tuple[Note, ...] = ()


def _answered(record: dict[str, Json], request: Request, times: _Times, place: str) -> Exchange:
    answer = record["response"]
    answer = answer if type(answer) is dict else {}
    status = next((found for name in _STATUS if (found := count(answer.get(name)))), None)
    failure = told(answer.get("error")) or told(record.get("error"))
    if status is None:
        if failure is None:
            return Exchange(request, None, "unanswered", place)
        return Exchange(request, Response(failure=failure), "unreachable", place)
    value = answer.get("body")
    if type(value) is dict and value.get("id") == _MADE_UP:
        return Exchange(request, None, "not_recorded", place)
    headers = headers_of(answer.get("headers"))
    body = _body(answer, headers)
    saved = SavedAnswer(
        status=status,
        headers=headers,
        body=body.data,
        decoded=True,
        time=times.ended,
        first_byte=times.since(times.first_byte),
        last=times.since(times.ended),
        failure=failure,
        notes=body.notes,
    )
    exchange = exchange_of(request, saved, place)
    response = exchange.response
    if response is None or body.data is None:
        return exchange
    if not body.exact:
        notes = tuple(note for note in response.notes if not note.code.startswith("content_type_"))
        response = replace(response, decoded_bytes=None, notes=notes)
    if not body.exact or header(headers, "content-encoding"):
        response = replace(response, wire_bytes=None)
    if UNFINISHED in body.notes:
        exchange = replace(exchange, ended="upstream_cut")
    return replace(exchange, response=response)


_STATUS = ("status", "status_code", "statusCode")


def _body(answer: dict[str, Json], headers: Headers) -> _Body:
    """The body as it came where the line has it, else from its events, else as the recorder wrote it again."""
    raw, value = answer.get("body_raw"), answer.get("body")
    if type(raw) is str and raw:
        return _Body(raw.encode("utf-8", "surrogatepass"), "\ufffd" not in raw)
    for name in ("sse_events", "events"):
        events = answer.get(name)
        if type(events) is list and events:
            return _Body(as_stream(named_events(events, "event")), notes=(FROM_EVENTS,))
    if type(value) is str and value:
        return _Body(value.encode("utf-8", "surrogatepass"), "\ufffd" not in value)
    if value is None or value == "":
        return _Body(None)
    streamed = "event-stream" in (header(headers, "content-type") or "")
    if type(value) is not dict or not streamed:
        return _Body(dump(value), notes=(REWRITTEN,))
    return _assembled(value)


def _assembled(message: dict[str, Json]) -> _Body:
    """A message that the recorder put together from a stream. One without a stop reason lacks its last events, and
    what it says of the output is a placeholder."""
    usage = message.get("usage")
    notes: tuple[Note, ...] = (REWRITTEN,)
    if type(usage) is dict:
        usage = {name: amount for name, amount in usage.items() if name != _OWN_COUNTER}
        if message.get("type") == "message" and message.get("stop_reason") is None:
            usage.pop("output_tokens", None)
            notes = (REWRITTEN, UNFINISHED)
        message = message | {"usage": usage}
    return _Body(dump(message), notes=notes)
