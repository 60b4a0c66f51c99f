"""HAR files (HTTP Archive 1.2, and what browsers and proxies add to it) into exchanges.

Entries are cut out of the file as bytes and parsed one by one (``members``), so memory is bounded by the largest entry
and a file cut in the middle gives all that is whole. A HAR holds text where the wire had bytes: what a request weighs
is measured on that text, and the sizes that the file names are only compared with it, widely, since they mean
different things in each program. What is not in the file is unknown; an empty text of an answer that must have had a
body is what mitmproxy and browsers write for a stream that they did not keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import orjson

from analyzers.exchange import Exchange, Request, Response
from analyzers.readers.har_bodies import content, posted
from analyzers.readers.har_own import own_exchange
from analyzers.readers.left_out import LeftOut
from analyzers.readers.members import ArraySplitter, Element
from analyzers.readers.saved_fields import Address, address, count, headers_of, number, seconds_of, told
from analyzers.readers.source import Source
from analyzers.readers.unpacked import unpacked
from analyzers.readers.wired import SavedAnswer, exchange_of, header, request_of
from analyzers.wire.jsontext import Json, NotJson, parse
from analyzers.wire.note import Note
from analyzers.wire.record import Ended, SeenRequest
from analyzers.wire.routes import Route, classify

TIME_UNKNOWN = Note("time_unreadable", "the time of the request is missing or no time with an offset: it is unknown")
DECODED = Note("decoded_in_file", "the file holds the request's body decoded: its compressed length is unknown")
_MOST = 1e10  # milliseconds: months, so no duration
_BY_THE_CLIENT = ("client disconnected", "err_aborted", "ns_binding_aborted", "cancel")


def looks_like_har(keys: list[str]) -> bool:
    """Whether the first keys of a JSON object (``members.top_keys``) are those of a HAR."""
    return "log" in keys[:3]


def read_har(source: Source) -> Iterator[Exchange]:
    """The exchanges of a HAR, plain or compressed, each as soon as its entry is read. What is none of the Messages API
    is counted; what cannot be used is a problem of the source. Raises OSError only."""
    entries = ArraySplitter("log", "entries")
    left_out = LeftOut()
    for chunk in unpacked(source):
        for element in entries.feed(chunk):
            exchange = _exchange_of(source, element, left_out)
            if exchange is not None:
                yield exchange
    for sentence in (*_state_of(entries), *left_out.sentences()):
        source.problem(sentence)


def _state_of(entries: ArraySplitter) -> Iterator[str]:
    """What is wrong with the file as a whole, if anything."""
    if not entries.whole:
        last = f"entry {entries.count}" if entries.count else "the first entry begins"
        where = "after" if entries.count else "before"
        yield f"the file was cut {where} {last}: all that is whole was read"
    elif entries.found == 0:
        yield "no HAR: it has no log; export the traffic again, as HAR 1.2"
    elif entries.found == 1:
        yield "the HAR's log has no entries; export the traffic again, as HAR 1.2"
    elif not entries.opened:
        yield "the HAR's entries are no list; export the traffic again, as HAR 1.2"
    elif not entries.count:
        yield "the HAR has no entry: nothing was recorded in it"


def _exchange_of(source: Source, element: Element, left_out: LeftOut) -> Exchange | None:
    place = f"entry {element.number}"
    if element.data is None:
        source.problem(f"{place} is longer than any exchange and was left out")
        return None
    try:
        entry = _value(element.data)
    except NotJson as error:
        source.problem(f"{place} is not readable ({error.reason}) and was left out")
        return None
    if type(entry) is dict and (own := own_exchange(entry, f"{source.place}:{element.number}")) is not None:
        return own
    asked = entry.get("request") if type(entry) is dict else None
    if type(asked) is not dict or type(asked.get("method")) is not str:
        source.problem(f"{place} has no request with a method and was left out")
        return None
    where = address(asked.get("url"))
    if asked["method"].upper() == "CONNECT":
        left_out.tunnels += 1
        return None
    if where is None:
        source.problem(f"{place} has no request with an absolute URL and was left out")
        return None
    if _is_websocket(entry, where):
        left_out.websockets += 1
        return None
    route = classify(asked["method"], where.path)
    if route is None:
        left_out.add(asked["method"], where.path)
        return None
    request = _request(entry, asked, where, route, folded=source.folded)
    return _answered(entry, request, f"{source.place}:{element.number}")


def _value(data: bytes) -> Json:
    """The value of an entry. How a number around the bodies was written does not matter, so the fast parser will do
    where it takes the text; lone surrogates and the like it does not. Raises NotJson."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return parse(data).value


def _is_websocket(entry: dict[str, Json], where: Address) -> bool:
    answer = entry.get("response")
    switched = type(answer) is dict and count(answer.get("status")) == 101
    kind = entry.get("_resourceType")
    return where.scheme in ("ws", "wss") or bool(entry.get("_webSocketMessages")) or kind == "websocket" or switched


def _request(entry: dict[str, Json], asked: dict[str, Json], where: Address, route: Route, *, folded: bool) -> Request:
    headers = headers_of(asked.get("headers"))
    began = seconds_of(entry.get("startedDateTime"))
    found = posted(asked, headers)
    seen = SeenRequest(
        id="",
        time=began or 0.0,
        method=asked["method"],
        scheme=where.scheme,
        host=where.host,
        port=where.port,
        path=where.path,
        route=route,
        headers=tuple(headers),
        body=found.body,
    )
    notes = found.notes if began is not None else (*found.notes, TIME_UNKNOWN)
    request = request_of(seen, notes, folded=folded)
    if found.body and not found.packed and header(headers, "content-encoding"):
        kept = (note for note in request.notes if note.code != "encoding_mislabelled")
        request = replace(request, notes=(*kept, DECODED))
    return replace(request, time=began, reason=found.reason or request.reason)


def _answered(entry: dict[str, Json], request: Request, place: str) -> Exchange:
    answer = entry.get("response")
    answer = answer if type(answer) is dict else {}
    status = count(answer.get("status"))
    failure = told(answer.get("_error")) or told(entry.get("_error"))
    if not status:
        if failure is None:
            return Exchange(request, None, "unanswered", place)
        return Exchange(request, Response(failure=failure), _broken(failure, answered=False), place)
    headers = headers_of(answer.get("headers"))
    found = content(entry, answer, status, headers)
    first_byte, last, ended_at = _times(entry, request.time)
    ended: Ended | None = "completed" if found.shortened else None
    saved = SavedAnswer(
        status=status,
        headers=headers,
        body=found.body,
        decoded=not found.packed,
        time=ended_at,
        first_byte=first_byte,
        last=last,
        failure=failure,
        ended=_broken(failure, answered=True) if failure else ended,
        notes=found.notes,
    )
    exchange = exchange_of(request, saved, place)
    response = exchange.response
    if response is not None and found.body is not None and not found.exact:
        response = replace(response, wire_bytes=None, decoded_bytes=None if found.rebuilt else response.decoded_bytes)
    return replace(exchange, response=response)


def _broken(failure: str, *, answered: bool) -> Ended:
    """The word for a connection that failed, by what the program says of it."""
    if any(words in failure.lower() for words in _BY_THE_CLIENT):
        return "client_gone"
    return "upstream_cut" if answered else "unreachable"


def _times(entry: dict[str, Json], began: float | None) -> tuple[float | None, float | None, float | None]:
    """First byte and last, in seconds since the request was begun to be sent, and the end in seconds since the epoch.

    A HAR has milliseconds, -1 for what does not apply; ``time`` counts from when the request was queued.
    """
    timings = entry.get("timings")
    timings = timings if type(timings) is dict else {}
    send, wait, receive = (_milliseconds(timings.get(name)) for name in ("send", "wait", "receive"))
    whole = _milliseconds(entry.get("time"))
    first_byte = None if wait is None else (send or 0.0) + wait
    last = whole if first_byte is None or receive is None else first_byte + receive
    end = whole if whole is not None else last
    return _seconds(first_byte), _seconds(last), None if began is None or end is None else began + end / 1000


def _milliseconds(value: Json) -> float | None:
    found = number(value)
    return found if found is not None and 0 <= found < _MOST else None


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
