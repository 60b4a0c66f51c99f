"""What other programs saved of the wire, as exchanges: bodies and headers in, an Exchange out.

A flow file, a HAR and a debugger's dump hold what the recorder saw, so each becomes the very record that the recorder
would have written, unfolded, and is read as a capture is. That way the same traffic gives the same figures from each.
Credentials are masked here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from analyzers.exchange import Exchange, Request
from analyzers.readers.captures import read_request, read_response
from analyzers.wire.answer import Answer, AnswerReader
from analyzers.wire.fold import fold, unfold
from analyzers.wire.jsontext import Json
from analyzers.wire.note import Note
from analyzers.wire.record import Ended, SeenAnswer, SeenRequest, request_record, response_record
from analyzers.wire.weighing import WholeWeigher

type Headers = Sequence[tuple[str, str]]

NOT_IN_FILE = "body_not_in_file"
REQUEST_MISSING = "the request's body is not in the file"
ANSWER_MISSING = "the answer's body is not in the file: its usage is unknown"
_AS_IT_IS = WholeWeigher(-1)
_KEY = b"weighbridge"  # fingerprints live as long as the process: nothing is written that could be tested against it


@dataclass(frozen=True, slots=True)
class SavedAnswer:
    """An answer as a file holds it. ``body`` None: it is not in the file. ``decoded``: the content coding that the
    headers name was already undone. ``time``: seconds since the epoch; durations in seconds since the request.
    ``failure`` and ``ended``: what the file says of the end when the connection failed.
    """

    status: int
    headers: Headers
    body: bytes | None
    decoded: bool = False
    time: float | None = None
    first_byte: float | None = None
    last: float | None = None
    failure: str | None = None
    ended: Ended | None = None
    notes: tuple[Note, ...] = ()


def request_of(seen: SeenRequest, notes: Iterable[Note] = (), *, folded: bool = False) -> Request:
    """The request, weighed. ``seen.body`` None: it is not in the file. ``folded``: what looks like a fold marker is
    one, written by another tool."""
    read = read_request(request_record(seen, _AS_IT_IS, key=_KEY, notes=notes))
    if seen.body is None:
        read = replace(read, reason=REQUEST_MISSING)
    return unfolded(read) if folded else read


def request_of_value(seen: SeenRequest, body: Json, notes: Iterable[Note] = (), *, folded: bool = False) -> Request:
    """The request whose body a file holds as a JSON value inside another: its bytes on the wire are unknown."""
    read = read_request(request_record(replace(seen, body=None), _AS_IT_IS, key=_KEY, notes=notes))
    value, more = unfold(fold(body, -1))
    read = replace(read, body=value, reason=None, notes=(*read.notes, *more))
    return unfolded(read) if folded else read


def unfolded(request: Request) -> Request:
    """The request with the fold markers in it taken as such. What was measured on its text no longer holds."""
    body, notes = unfold(request.body)
    return replace(request, body=body, recorded=None, recorded_total=None, steps=None, notes=(*request.notes, *notes))


def exchange_of(request: Request, saved: SavedAnswer | None, place: str) -> Exchange:
    """One exchange out of both sides. ``saved`` None: the file has no answer to it. An answer that was whole is
    completed however its connection ended."""
    if saved is None:
        return Exchange(request, None, "unanswered", place)
    answer = None
    notes = list(saved.notes)
    if saved.body is None:
        notes.append(Note(NOT_IN_FILE, ANSWER_MISSING))
    else:
        answer = _read(saved, saved.body, request.route)
    ended = ending(saved.status, answer)
    if saved.ended is not None and ended != "error" and not (answer is not None and answer.complete):
        ended = saved.ended
    seen = SeenAnswer(
        id="",
        time=saved.time or 0.0,
        ended=ended,
        status=saved.status,
        headers=tuple(saved.headers),
        answer=answer,
        first_byte=saved.first_byte,
        last=saved.last,
        failure=saved.failure,
    )
    response = read_response(response_record(seen, fold_over=-1, notes=notes))
    return Exchange(request, response if saved.time is not None else replace(response, time=None), ended, place)


def _read(saved: SavedAnswer, body: bytes, route: str) -> Answer:
    encoding = None if saved.decoded else header(saved.headers, "content-encoding")
    reader = AnswerReader(saved.status, header(saved.headers, "content-type"), encoding, route)
    reader.feed(body)
    return reader.finish()


def ending(status: int, answer: Answer | None) -> Ended:
    """How an exchange ended whose file tells of no failure of the connection. ``answer`` None: not in the file."""
    if status >= 400 or (answer is not None and answer.error is not None):
        return "error"
    if answer is None or answer.complete or not answer.events:
        return "completed"
    return "upstream_cut"


def header(headers: Headers, wanted: str) -> str | None:
    """The value of a header whatever its case; several are joined by commas; None when it is not there."""
    values = [value for name, value in headers if name.lower() == wanted]
    return ", ".join(values) if values else None
