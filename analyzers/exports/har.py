"""Exchanges as entries of a HAR (HTTP Archive 1.2, http://www.softwareishard.com/blog/har-12-spec/).

A record holds values where the wire had bytes, so a body here is the shortest JSON of its value, and a streamed answer
is the message that its events made; comments say so. What a record does not have is not made up: times that are
unknown are -1, a header whose value was not kept has none, a folded text is its marker. ``_weighbridge`` (members that
begin with an underscore are private, by the standard) holds the rest of the record, so that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from analyzers.capture_lines import lines_of
from analyzers.exchange import Exchange, Request, Response
from analyzers.exports.printable import in_ascii, printable
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json, NotJson, dump, parse
from analyzers.wire.moment import timestamp

FORMAT = 1
NO_HOST = "host.invalid"
"""Stands for a host that the record does not name (RFC 2606 §2: nothing is there)."""

_URL_SAFE = "%/:@!$&'()*+,;=~"
_HOST_SAFE = ":[]"
_NO_ANSWER = {
    "client_gone": "client disconnected",
    "unreachable": "no answer came",
    "upstream_cut": "the answer stopped before it was whole",
    "proxy_stopped": "the proxy was stopped",
}
_FROM_EVENTS = "It came as a stream of events: this is the message that they made."


def head(version: str) -> str:
    """The beginning of the file, up to its first entry. ``version``: of this program."""
    creator = dump({"name": "weighbridge", "version": version}).decode()
    return f'{{"log":{{"version":"1.2","creator":{creator},"entries":[\n'


def tail(comment: str) -> str:
    """The end of the file, behind its last entry."""
    return f'\n],"comment":{dump(comment).decode()}}}}}\n'


def entry_text(exchange: Exchange) -> str:
    """One entry as JSON on one line. Between two of them belongs a comma."""
    return printable(dump(entry(exchange)).decode())


def entry(exchange: Exchange) -> dict[str, Any]:
    """The entry of an exchange. Raises ValueError when its request was not recorded: a HAR has no place for it."""
    request, response = exchange.request, exchange.response
    if request is None:
        raise ValueError("no request")
    records = {record["kind"]: record for record in lines_of(exchange, "")}
    asked, answered = _Text(request.body), _Text(response and [response.content, response.rest, response.body])
    posted = _posted(request, asked, records["request"])
    content, kind = _content(response, answered, records.get("response", {}))
    if request.time is None:
        records["request"]["time"] = None
    own: dict[str, Any] = {
        "format": FORMAT,
        "ended": exchange.ended,
        "answer": kind,
        "folded": {"request": asked.folded, "response": answered.folded},
        **records,
    }
    if exchange.logged is not None:
        own["logged"] = asdict(exchange.logged)
    timings = _timings(response)
    made: dict[str, Any] = {
        "startedDateTime": timestamp(request.time or 0.0),
        "time": _whole(response, timings),
        "request": _request(request, posted),
        "response": _response(exchange, content, kind),
        "cache": {},
        "timings": timings,
        "_weighbridge": own,
    }
    if request.time is None:
        made["comment"] = "When it was sent is not known."
    return made


def folded_texts(*values: Json) -> int:
    """How many strings of some values, and names in them, were folded."""
    found = 0
    stack: list[Json] = list(values)
    while stack:
        node = stack.pop()
        if type(node) is Elided:
            found += 1
        elif isinstance(node, Mapping):
            stack += node
            stack += node.values()
        elif type(node) is list:
            stack += node
    return found


# The request


def _request(request: Request, posted: dict[str, Any] | None) -> dict[str, Any]:
    query = quote(request.query, safe=_URL_SAFE)
    host = quote(request.host, safe=_HOST_SAFE) if request.host else NO_HOST
    made: dict[str, Any] = {
        "method": request.method,
        "url": f"https://{host}{quote(request.path, safe=_URL_SAFE)}{'?' if query else ''}{query}",
        "httpVersion": "unknown",
        "cookies": [],
        "headers": [*_headers(request.headers), *_unkept(request)],
        "queryString": [_pair(pair) for pair in request.query.split("&")] if request.query else [],
        "headersSize": -1,
        "bodySize": _or_unknown(request.wire_bytes),
    }
    if posted is not None:
        made["postData"] = posted
    elif request.reason is not None:
        made["comment"] = request.reason
    return made


class _Text:
    """What stands in a text of the entry: the value itself, or with markers for the ``folded`` texts of it."""

    def __init__(self, whole: Json) -> None:
        self.folded = folded_texts(whole)

    def of(self, value: Json, record: Json) -> Json:
        """A part of it. ``record``: the same as a capture holds it, with what looks like a marker made out."""
        return record if self.folded else value

    def said(self) -> str | None:
        if not self.folded:
            return None
        texts = "1 text of it was" if self.folded == 1 else f"{self.folded} texts of it were"
        return f"{texts} folded when it was recorded: an object with _elided, chars and sha256 stands for each."


def _posted(request: Request, text: _Text, record: dict[str, Any]) -> dict[str, Any] | None:
    """The body as text, taken out of the record; None when it is not known, or there is none."""
    body = record.pop("body", None)
    if request.reason is not None:
        return None
    data = dump(text.of(request.body, body))
    shown = data.decode()
    if len(data) != request.wire_bytes and _ambiguous(shown):
        shown = in_ascii(shown)
    made = {"mimeType": _first(request.headers, "content-type") or "application/json", "text": shown}
    if (said := text.said()) is not None:
        made["comment"] = said
    return made


def _ambiguous(text: str) -> bool:
    """Whether a text could be bytes that were written as characters, which some programs do: only its length tells,
    and that is another."""
    if text.isascii():
        return False
    try:
        text.encode("latin-1").decode()
    except (UnicodeEncodeError, UnicodeDecodeError):
        return False
    return True


def _pair(pair: str) -> dict[str, str]:
    name, _, value = pair.partition("=")
    return {"name": name, "value": value}


def _headers(headers: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for name, value in headers.items():
        for one in value if isinstance(value, list) else [value]:
            yield {"name": str(name), "value": str(one)}


def _unkept(request: Request) -> Iterator[dict[str, str]]:
    for name in request.other_headers:
        yield {"name": name, "value": "", "comment": "its value is never recorded"}


# The answer


def _response(exchange: Exchange, content: dict[str, Any], kind: str | None) -> dict[str, Any]:
    response = exchange.response or Response()
    status = response.status or 0
    made: dict[str, Any] = {
        "status": status,
        "statusText": _phrase(status),
        "httpVersion": "unknown",
        "cookies": [],
        "headers": list(_headers(response.headers)),
        "content": content,
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": _or_unknown(response.wire_bytes),
    }
    failure = response.failure or _NO_ANSWER.get(exchange.ended)
    if kind == "message" and response.error is not None:  # the text does not tell of it
        failure = failure or ": ".join(filter(None, (response.error.type, response.error.message))) or "error"
    if failure is not None:
        made["_error"] = failure
    return made


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


_MIME = {"message": "application/json", "json": "application/json", "lines": "application/x-jsonl"}


def _content(response: Response | None, held: _Text, record: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The answer's body as text, and what it is: ``message``, ``json``, ``lines``, ``text``; None when it is not
    known. What stands in it is taken out of the record."""
    if response is None:
        return {"size": 0, "mimeType": ""}, None
    kind, text = _answer(response, held, record)
    declared = _first(response.headers, "content-type") or ""
    if kind is None or text is None:
        return {"size": _or_unknown(response.decoded_bytes), "mimeType": declared}, None
    made: dict[str, Any] = {
        "size": len(text.encode("utf-8", "surrogatepass")),
        "mimeType": _MIME.get(kind) or declared,
        "text": text,
    }
    streamed = _FROM_EVENTS if kind == "message" and response.events else None
    if said := " ".join(filter(None, (streamed, held.said()))):
        made["comment"] = said
    return made, kind


def _answer(response: Response, held: _Text, record: dict[str, Any]) -> tuple[str | None, str | None]:
    content, body = response.content, response.body
    if content is not None or (body is None and (response.message_id or response.usage_raw is not None)):
        rest = held.of(response.rest, record.pop("rest", {}))
        return "message", dump(_message(response, rest, held.of(content, record.pop("content", None)))).decode()
    body = held.of(body, record.pop("body", None))
    if _are_lines(body):
        return "lines", "".join(f"{line if type(line) is str else dump(line).decode()}\n" for line in body)
    if type(body) is str:
        return "text", body
    return ("json", dump(body).decode()) if body is not None else (None, None)


def _are_lines(body: Json) -> bool:
    """Whether a body was lines of JSON: of one that is none, the text was kept."""
    return type(body) is list and bool(body) and not any(type(line) is str and _may_be_json(line) for line in body)


def _may_be_json(text: str) -> bool:
    try:
        parse(text.encode("utf-8", "surrogatepass"))
    except NotJson:
        return "\n" in text
    return True


def _message(response: Response, rest: Mapping[str, Any], content: Json) -> dict[str, Any]:
    """The message as the API would have sent it whole. What is unknown is not in it."""
    first = {"id": response.message_id, "type": "message", "role": "assistant", "model": response.model}
    made: dict[str, Any] = {name: value for name, value in first.items() if value is not None}
    if content is not None:
        made["content"] = content
    made |= {"stop_reason": response.stop_reason, **rest}
    if response.usage_raw is not None:
        made["usage"] = response.usage_raw
    return made


def _timings(response: Response | None) -> dict[str, float]:
    """Milliseconds, -1 where unknown. The record counts from when the whole request was there, so sending it took none
    of them."""
    first, last = (response.first_byte, response.last) if response is not None else (None, None)
    wait = -1.0 if first is None else _milliseconds(first)
    receive = -1.0 if first is None or last is None else _milliseconds(last - first)
    return {"send": 0.0, "wait": wait, "receive": receive}


def _whole(response: Response | None, timings: Mapping[str, float]) -> float:
    if response is not None and response.last is not None:
        return _milliseconds(response.last)
    return sum(part for part in timings.values() if part >= 0)


def _milliseconds(seconds: float) -> float:
    return max(round(1000 * seconds, 3), 0.0)


def _first(headers: Mapping[str, Any], name: str) -> str | None:
    value = headers.get(name)
    return str(value[0] if isinstance(value, list) and value else value) if value else None


def _or_unknown(size: int | None) -> int:
    return -1 if size is None else size
