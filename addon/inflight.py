"""The exchanges between a request and its end, and the journal they go to.

Everything that must survive a reload of the script lives here: mitmproxy loads the script's file anew when it is
touched, and hands flows that began under the old instance to the new one. What is kept per exchange is small (never the
request's body) and goes with the exchange on every path: answered, failed, killed, client gone, proxy stopped.
"""

import importlib.metadata
import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from mitmproxy import connection, ctx, http, version
from mitmproxy.proxy.mode_specs import LocalMode, TransparentMode, TunMode, WireGuardMode

from addon.annotator import Annotator
from addon.ending import Cause, how_it_ended
from addon.guard import Guard, without_claim
from addon.journal import CaptureFile, Journal, Tally
from addon.live import Lines
from addon.marks import Marks
from addon.settings import BYTES_PER_MB, Settings
from addon.tap import RequestTap, ResponseTap
from analyzers.noted import describing
from analyzers.wire.answer import Answer, AnswerReader
from analyzers.wire.fold import Folded
from analyzers.wire.jsontext import dump
from analyzers.wire.note import Note
from analyzers.wire.record import (
    FileHead,
    Record,
    SeenAnswer,
    SeenRequest,
    end_record,
    request_record,
    response_record,
    start_record,
)
from analyzers.wire.routes import Route
from analyzers.wire.weighing import Weigher

if TYPE_CHECKING:
    from addon.redacting import LineRedactor

MOST_UNMATCHED: Final = 100
"""Different paths that are told apart in the ``end`` line."""

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Exchange:
    """A recorded request whose end is still to come. Times are monotonic, in seconds."""

    flow: http.HTTPFlow
    id: str
    number: int | None
    """None when its request was not seen."""
    route: Route
    accepted: float
    fold_over: int
    file: CaptureFile | None
    summary: Mapping[str, Any]
    """What the line in the log tells of the request."""
    first_byte: float | None = None
    reader: AnswerReader | None = None
    """None until the head of the answer came."""
    tap: ResponseTap | None = None
    notes: list[Note] = field(default_factory=list)
    """For the response line."""
    answered: bool = False
    """The answer is whole, and about to be written down."""


class InFlight:
    """All exchanges of this process that have no end yet."""

    def __init__(self, settings: Settings, warn: Callable[[str], None]) -> None:
        self.settings = settings
        self._warn = warn
        self._redactor: LineRedactor | None = None
        self.journal = Journal(
            settings.folder,
            compress=settings.compress,
            rotate_bytes=settings.rotate_bytes,
            first_line=self._first_line,
            last_line=lambda file, tally: self._line(_last_line(file, tally)),
            warn=warn,
        )
        self.accepted = 0
        """Requests recorded so far, which is the number of the last one."""
        self.since = time.time()
        self.stopped = False
        self.announced = False
        """For whoever tells the user about it, so as to do it once."""
        self.guard = Guard(settings.limits, warn)
        self.marks = Marks(warn, secrets=settings.notes)
        self.annotator = Annotator(self.journal, self.marks.listening(describing), warn, self._line)
        self._weigher = Weigher(settings.fold_over)
        self._lines = Lines(logger.info)
        self._exchanges: dict[str, Exchange] = {}

    @property
    def waiting(self) -> int:
        """Exchanges without an end."""
        return len(self._exchanges)

    def __contains__(self, flow: http.HTTPFlow) -> bool:
        return flow.id in self._exchanges

    def use(self, settings: Settings) -> None:
        """Take these settings from the next request on."""
        if settings != self.settings:
            self.settings = settings
            self.guard.use(settings.limits)
            self.marks.secrets = settings.notes
            self._weigher = Weigher(settings.fold_over)
            self.journal.configure(settings.folder, compress=settings.compress, rotate_bytes=settings.rotate_bytes)

    def unmatched(self, what: str) -> None:
        """Count a flow that is not recorded. When there are too many different ones, the rest is counted together."""
        counted = self.journal.tally.unmatched
        counted[what if what in counted or len(counted) < MOST_UNMATCHED else "…"] += 1

    def accept(self, flow: http.HTTPFlow, route: Route, notes: Sequence[Note] = ()) -> None:
        """Write the request down."""
        now = time.monotonic()
        tap = flow.request.stream if isinstance(flow.request.stream, RequestTap) else None
        body = flow.request.raw_content
        if body is None and tap:
            body = tap.body
        found = list(notes)
        replayed = flow.is_replay == "request"
        if replayed:
            found.append(Note("replayed", "sent again by the proxy"))
        seen = SeenRequest(
            # a replayed flow keeps its id, which may stand in this file already
            id=str(uuid.uuid4()) if replayed else flow.id,
            time=time.time(),
            method=flow.request.method,
            scheme=flow.request.scheme,
            host=_host(flow),
            port=flow.request.port,
            path=flow.request.path,
            route=route,
            headers=_headers(flow.request),
            body=body,
            streamed=tap is not None,
        )
        folded: list[Folded] = []
        record = self._recorded(seen, found, folded)
        exchange = Exchange(
            flow=flow,
            id=seen.id,
            number=self.accepted + 1,
            route=route,
            accepted=tap.began if tap else now,
            fold_over=self.settings.fold_over,
            file=self.journal.request(self._line(dump(record))),
            summary={name: record.get(name) for name in _SUMMARY},
        )
        if flow.response is not None:
            exchange.notes.append(_LOCAL)
        if tap:
            tap.recorded = True
        self.accepted += 1
        self.marks.brings(flow, folded)
        self._annotate(folded)
        self._exchanges[flow.id] = exchange

    def ask_guard(self, flow: http.HTTPFlow) -> None:
        """Let the guard judge a request that was accepted, before it is forwarded. It may answer it."""
        exchange = self._exchanges.get(flow.id)
        if exchange is not None and self.guard.is_on and flow.response is None:
            tap = flow.request.stream if isinstance(flow.request.stream, RequestTap) else None
            exchange.notes += self.guard.ask(flow, exchange.id, exchange.route, streamed=tap.body if tap else None)

    def answer_begins(self, flow: http.HTTPFlow, *, stream: bool) -> None:
        """The head of the answer is there. With ``stream``, its body goes on as it comes, looked at in passing."""
        exchange = self._exchanges.get(flow.id)
        response = flow.response
        if exchange is None or response is None or response.status_code < 200:
            return
        exchange.first_byte = time.monotonic()
        exchange.reader = _reader(response, exchange.route)
        if stream and response.raw_content is None:
            exchange.tap = ResponseTap(exchange.reader, response.stream)
            response.stream = exchange.tap

    def answered(self, flow: http.HTTPFlow) -> None:
        """The answer is whole: whatever ends the exchange from here on, that is how it ended."""
        if exchange := self._exchanges.get(flow.id):
            exchange.answered = True

    def end(self, flow: http.HTTPFlow, cause: Cause) -> None:
        """Write the response down. Once: what comes later about this flow is ignored."""
        exchange = self._exchanges.pop(flow.id, None)
        if exchange is not None:
            self._conclude(exchange, "response" if exchange.answered else cause)
            if self.stopped and not self._exchanges:
                self.annotator.close()
                self.journal.close()
                self._lines.flush()

    def end_unseen(self, flow: http.HTTPFlow, route: Route) -> None:
        """Write down a response whose request came before there was a recorder. It stands alone."""
        note = Note("request_not_seen", "recording began after the request had gone upstream")
        self._conclude(
            Exchange(flow, flow.id, None, route, time.monotonic(), self.settings.fold_over, None, {}, notes=[note]),
            "response",
        )

    def disconnected(self, client: connection.Client) -> None:
        """End whatever of this client has no end yet: for some failures mitmproxy calls no other hook."""
        for exchange in list(self._exchanges.values()):
            if exchange.flow.client_conn.id == client.id:
                self.end(exchange.flow, "disconnected")

    def stop(self) -> None:
        """End everything and close the files in good order. What comes after it goes to a new file, closed as well."""
        for exchange in list(self._exchanges.values()):
            self.end(exchange.flow, "stopped")
        self.annotator.close()
        self.journal.close()
        self._lines.flush()
        self.stopped = True

    def _annotate(self, folded: list[Folded]) -> None:
        if self.settings.notes and folded:
            self.annotator.add(folded)

    def _recorded(self, seen: SeenRequest, notes: list[Note], folded: list[Folded]) -> Record:
        """The request line. Were the measuring to fail, the line still says that there was a request."""
        key = self.journal.key
        try:
            return request_record(seen, self._weigher, key=key, notes=notes, folded=folded)
        except Exception as error:  # told in the record itself
            notes.append(Note("not_measured", f"this program failed on the body: {type(error).__name__}"))
            return request_record(replace(seen, body=None), self._weigher, key=key, notes=notes)

    def _conclude(self, exchange: Exchange, cause: Cause) -> None:
        flow, response = exchange.flow, exchange.flow.response
        now = time.monotonic()
        if response is not None and response.status_code < 200:
            exchange.notes.append(Note("informational", f"status {response.status_code} was taken for the answer"))
        elif response is not None and exchange.reader is None and cause == "response":
            exchange.reader = _reader(response, exchange.route)
        answer = _answer(exchange)
        if flow.is_replay == "response":
            exchange.notes.append(_LOCAL)
        if _was_idle(exchange, now):
            exchange.notes.append(Note("idle_timeout", "nothing came for as long as mitmproxy's tcp_timeout allows"))
        head = response if exchange.reader else None
        last = exchange.tap.last if exchange.tap else now if head and cause == "response" else None
        folded: list[Folded] = []
        record = response_record(
            SeenAnswer(
                id=exchange.id,
                time=time.time(),
                ended=how_it_ended(flow, head, answer, cause),
                status=head.status_code if head else None,
                headers=without_claim(_headers(head), exchange.notes) if head else (),
                answer=answer,
                first_byte=_since(exchange, exchange.first_byte),
                first_content=_since(exchange, exchange.tap.first_content if exchange.tap else None),
                last=_since(exchange, last),
                failure=flow.error.msg if flow.error else None,
            ),
            fold_over=exchange.fold_over,
            notes=exchange.notes,
            folded=folded,
        )
        self.journal.response(self._line(dump(record)), exchange.file)
        self.guard.ended(exchange.id, exchange.summary, record)
        self._annotate(folded)
        self._lines.add(exchange.number, exchange.summary, record, flow.client_conn.peername)
        self.marks.ended(flow, exchange.number, exchange.summary, record)

    def _first_line(self, continues: str | None) -> bytes:
        settings = self.settings
        megabytes = settings.rotate_bytes / BYTES_PER_MB
        head = FileHead(
            time=time.time(),
            version=_version(),
            mitmproxy=version.VERSION,
            fold_over=settings.fold_over,
            modes=tuple(ctx.options.mode),
            options={
                "capture_compress": settings.compress,
                "capture_rotate_mb": int(megabytes) if megabytes.is_integer() else megabytes,
                "capture_notes": settings.notes,
                **({"capture_redact": True} if settings.redact else {}),
                "capture_match": settings.match_text,
                **settings.limits_text,
            },
            continues=continues,
            taken=settings.taken or None,
        )
        return self._line(dump(start_record(head)))

    def _line(self, line: bytes) -> bytes:
        """A line as it is written: redacted, where that is asked for."""
        if not self.settings.redact:
            return line
        if self._redactor is None:
            from addon.redacting import LineRedactor

            self._redactor = LineRedactor(self._warn)
        return self._redactor.line(line)


_SUMMARY: Final = ("route", "model", "figures", "host", "path")

_LOCAL: Final = Note("answered_locally", "a script or a saved flow answered; the request did not go upstream")


def _reader(response: http.Response, route: Route) -> AnswerReader:
    headers = response.headers
    return AnswerReader(response.status_code, headers.get("content-type"), headers.get("content-encoding"), route)


def _answer(exchange: Exchange) -> Answer | None:
    """What was read of the answer. A failure of the reading is a note, and what was read before it is used."""
    reader, tap, response = exchange.reader, exchange.tap, exchange.flow.response
    if reader is None or response is None:
        return None
    if not _was_seen(response, tap):
        exchange.notes.append(Note("answer_not_seen", "another script took the answer's stream"))
        return None
    problem = tap.problem if tap else None
    try:
        if response.raw_content and not (tap and tap.fed):
            reader.feed(response.raw_content)
        return reader.finish()
    except Exception as error:  # told in the record
        problem = problem or error
        return None
    finally:
        if problem:
            exchange.notes.append(Note("not_read", f"this program failed on the answer: {type(problem).__name__}"))


def _was_seen(response: http.Response, tap: ResponseTap | None) -> bool:
    if response.raw_content is not None or not response.stream:
        return True
    return tap is not None and bool(tap.fed or tap.ended or response.stream is tap)


def _was_idle(exchange: Exchange, now: float) -> bool:
    """mitmproxy calls it a leaving client when it closes a connection on which nothing has come for too long."""
    if exchange.flow.error is None or exchange.flow.error.msg != "Client disconnected.":
        return False
    last = (exchange.tap and exchange.tap.last) or exchange.first_byte or exchange.accepted
    return now - last >= float(ctx.options.tcp_timeout)


def _since(exchange: Exchange, moment: float | None) -> float | None:
    if moment is None or exchange.number is None:
        return None
    return round(max(moment - exchange.accepted, 0.0), 6)


def _host(flow: http.HTTPFlow) -> str:
    """Where the request goes. Where mitmproxy sees addresses only, its name is in the Host header."""
    if isinstance(flow.client_conn.proxy_mode, _NAMELESS_MODES):
        return flow.request.pretty_host.rpartition("@")[2]
    return flow.request.host


_NAMELESS_MODES: Final = (TransparentMode, LocalMode, WireGuardMode, TunMode)


def _headers(message: http.Message) -> tuple[tuple[str, str], ...]:
    """Names and values in order, bytes that are no UTF-8 as lone surrogates."""
    return tuple((_text(name), _text(value)) for name, value in message.headers.fields)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _last_line(file: CaptureFile, tally: Tally) -> bytes:
    return dump(
        end_record(
            time.time(), requests=file.requests, responses=file.responses, lost=tally.lost, unmatched=tally.unmatched
        )
    )


def _version() -> str:
    try:
        return importlib.metadata.version("weighbridge")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"  # run from a checkout that is not installed
