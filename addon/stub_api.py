"""A stub of the Messages API on the loopback, for the demo, the tests and the benchmarks.

    python -m addon.stub_api --port 0        prints its address
    with running(StubApi()) as stub: …       on a thread of its own; `stub.url`

Strategy: one task per connection, one request after the other. What is said is made by `stub_answers`, what it costs by
`stub_cache`, what goes wrong is asked for by `stub_wish`; here is only who answers what, and when. It answers
`POST /v1/messages` (streamed or not), `/v1/messages/count_tokens` and `/v1/messages/batches`, under any prefix, and
`GET /v1/models`; all else is 404. It does not ask for a key. Fixed answers are made once and written in one piece, so
that a benchmark measures the proxy and not the stub.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import math
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

from addon import stub_answers as answers
from addon.stub_cache import Plan, PromptCache, Refused, Usage, count
from addon.stub_edits import edited
from addon.stub_http import BUFFER, Answer, Exchange, Malformed, Request, head, read_request
from addon.stub_wish import BadWish, Wish, wish

Reply = Callable[[dict[str, Any]], list[answers.Block]]
Clock = Callable[[], float]

MAX_BODY = 32 * 1024 * 1024
_KEPT_BATCHES = 100
_JSON = {"content-type": "application/json"}
_STREAM = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


class _Failure(Exception):
    """The answer is an error of the API."""

    def __init__(self, status: int, message: str | None = None) -> None:
        self.status = status
        self.message = message


class StubApi:
    """The server. `reply` makes the blocks of an answer from a request; `exchanges` has the last `keep` of them."""

    def __init__(self, *, reply: Reply | None = None, keep: int = 0, clock: Clock = time.monotonic) -> None:
        self.exchanges: deque[Exchange] = deque(maxlen=keep)
        self.url = ""
        self.port = 0
        self._reply = reply
        self._clock = clock
        self._cache = PromptCache()
        self._ordinal = 0
        self._refused: Counter[bytes] = Counter()
        self._batches: dict[str, list[dict[str, Any]]] = {}
        self._fixed = {"sse": _fixed(stream=True), "json": _fixed(stream=False)}
        self._released = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connections: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------------------------------------ life

    async def start(self, port: int = 0) -> None:
        """Listens on 127.0.0.1; 0 leaves the port to the kernel. Raises OSError when the port is taken."""
        self._loop = asyncio.get_running_loop()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port, limit=BUFFER)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    async def stop(self) -> None:
        """Stops listening and drops every connection."""
        if self._server:
            self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def __aenter__(self) -> "StubApi":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def release(self) -> None:
        """Lets every answer that is held go on. From any thread."""
        if self._loop:
            self._loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        self._released.set()
        self._released = asyncio.Event()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            writer.transport.abort()  # the client is gone, or the stub is being stopped
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                request = await read_request(reader, writer)
            except ValueError as error:
                writer.write(head(400, {"connection": "close", "content-length": "0", "x-reason": str(error)}))
                return
            if request is None:
                return
            exchange = Exchange(request)
            self.exchanges.append(exchange)
            if not await self._answer(request, exchange, writer) or not request.stays:
                return

    # ------------------------------------------------------------------------------------------ routes

    async def _answer(self, request: Request, exchange: Exchange, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection is good for another request."""
        asked = request.header("x-stub")
        if asked in ("fixed", "fixed=sse", "fixed=json"):
            wire, body = self._fixed["json" if asked == "fixed=json" else "sse"]
            exchange.status = 200
            exchange.sent += body
            writer.write(wire)
            await writer.drain()
            return True
        self._ordinal += 1
        request_id = answers.token("req", request.body, self._ordinal)
        headers = {"request-id": request_id, **_limits()}
        try:
            wanted = wish(asked)
            answer = Answer(writer, exchange, wanted.encoding)
        except (BadWish, Malformed) as error:
            await self._fail(_Failure(400, str(error)), Wish(), headers, Answer(writer, exchange))
            return True
        try:
            self._refuse(request, wanted)
            return await self._route(request, wanted, headers, answer)
        except _Failure as failure:
            await self._fail(failure, wanted, headers, answer)
        return wanted.cut is None

    async def _route(self, request: Request, wanted: Wish, headers: dict[str, str], answer: Answer) -> bool:
        _, found, path = request.path.rpartition("/v1/")
        match request.method, path.split("/") if found else []:
            case "POST", ["messages"]:
                return await self._messages(request, wanted, headers, answer)
            case "POST", ["messages", "count_tokens"]:
                await _json(answer, headers, {"input_tokens": _read(count, _parsed(request))})
            case "POST", ["messages", "batches"]:
                await _json(answer, headers, _read(self._batch, _parsed(request), request.body))
            case "GET", ["messages", "batches", name] if name in self._batches:
                await _json(answer, headers, _batch_status(name, len(self._batches[name]), ended=True))
            case "GET", ["messages", "batches", name, "results"] if name in self._batches:
                lines = b"".join(json.dumps(line).encode() + b"\n" for line in self._batches[name])
                await answer.whole(200, {**headers, "content-type": "application/x-jsonl"}, lines)
            case "GET", ["models"]:
                await _json(answer, headers, _models())
            case _ if request.method == "POST" and request.path == "/stub/release":
                self._release()
                await _json(answer, headers, {"type": "released"})
            case _:
                raise _Failure(404)
        return True

    def _refuse(self, request: Request, wanted: Wish) -> None:
        """Raises _Failure for the error that the client wished for, as often as it wished."""
        if wanted.error is None:
            return
        if wanted.times is not None:
            body = hashlib.sha256(request.body).digest()
            self._refused[body] += 1
            if self._refused[body] > wanted.times:
                del self._refused[body]
                return
        raise _Failure(wanted.error)

    async def _fail(self, failure: _Failure, wanted: Wish, headers: dict[str, str], answer: Answer) -> None:
        if failure.status == 429 or wanted.retry_after:
            headers = {**headers, "retry-after": wanted.retry_after or "1"}
        if wanted.page:
            page = b"<html><body><h1>%d</h1></body></html>\n" % failure.status
            await answer.whole(failure.status, {**headers, "content-type": "text/html"}, page, wanted.cut)
            return
        body = answers.error_body(failure.status, headers["request-id"], failure.message)
        await _json(answer, headers, body, failure.status, wanted.cut)

    # ------------------------------------------------------------------------------------------ messages

    async def _messages(self, request: Request, wanted: Wish, headers: dict[str, str], answer: Answer) -> bool:
        body = _parsed(request)
        whole, plan = _read(self._message, body, request.body, wanted)
        if not body.get("stream"):
            await self._wait(wanted.hold)
            self._cache.commit(plan)
            await _json(answer, headers, whole, 200, wanted.cut)
            return wanted.cut is None
        await answer.begin(200, {**headers, **_STREAM})
        self._cache.commit(plan)
        async for ordinal, event in self._paced(answers.events(whole, wanted.delta_usage), wanted):
            if ordinal == wanted.cut:
                return False
            await answer.chunk(answers.frame(event, ordinal))
            if ordinal + 1 == wanted.fail:
                error = answers.error_body(529, headers["request-id"])
                await answer.chunk(answers.frame(error, ordinal + 1))
                break
        await answer.finish()
        return True

    async def _paced(self, events: Iterator[dict[str, Any]], wanted: Wish) -> AsyncIterator[tuple[int, dict[str, Any]]]:
        for ordinal, event in enumerate(events):
            if ordinal == 1:
                await self._wait(wanted.hold)
            if ordinal and wanted.pace:
                await asyncio.sleep(wanted.pace)
            yield ordinal, event

    async def _wait(self, seconds: float | None) -> None:
        if seconds is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._released.wait(), None if math.isinf(seconds) else seconds)

    def _message(self, body: dict[str, Any], raw: bytes, wanted: Wish) -> tuple[dict[str, Any], Plan]:
        """The whole answer and what it does to the cache. Raises _Failure."""
        for name in ("model", "max_tokens", "messages"):
            if name not in body:
                raise _Failure(400, f"{name}: Field required")
        if not body["messages"]:
            raise _Failure(400, "messages: at least one message is required")
        model = answers.served(str(body["model"]))
        if status := answers.error_of_model(model):
            raise _Failure(status)
        seen, edits = edited(body)
        plan = self._cache.plan(seen, model, self._clock())
        limit = wanted.limit or answers.context_tokens(model)
        if plan.usage.total > limit:
            raise _Failure(400, f"prompt is too long: {plan.usage.total} tokens > {limit} maximum")
        blocks = self._reply(body) if self._reply else answers.reply(body, wanted.words or 40)
        counters = {**plan.usage.counters(), **(wanted.usage or {})}
        whole = answers.message(
            blocks, model=model, body=raw, ordinal=self._ordinal, max_tokens=int(body["max_tokens"]), counters=counters
        )
        whole["usage"].update(wanted.usage or {})
        if edits:
            whole["context_management"] = {"applied_edits": edits}
        return whole, plan

    # ------------------------------------------------------------------------------------------ batches

    def _batch(self, body: dict[str, Any], raw: bytes) -> dict[str, Any]:
        name = answers.token("msgbatch", raw, self._ordinal)
        lines = [self._batch_line(entry, raw) for entry in body.get("requests") or ()]
        self._batches[name] = lines[::-1]  # the API promises no order
        while len(self._batches) > _KEPT_BATCHES:
            del self._batches[next(iter(self._batches))]
        return _batch_status(name, len(lines), ended=False)

    def _batch_line(self, entry: dict[str, Any], raw: bytes) -> dict[str, Any]:
        self._ordinal += 1
        try:
            whole, plan = _read(self._message, entry["params"], raw, Wish())
        except _Failure as failure:
            error = answers.error_body(failure.status, answers.token("req", raw, self._ordinal), failure.message)
            return {"custom_id": entry["custom_id"], "result": {"type": "errored", "error": error}}
        self._cache.commit(plan)
        whole["usage"]["service_tier"] = "batch"
        return {"custom_id": entry["custom_id"], "result": {"type": "succeeded", "message": whole}}


def _parsed(request: Request) -> dict[str, Any]:
    """The body as a JSON object. Raises _Failure with the API's own words."""
    if len(request.body) > MAX_BODY:
        raise _Failure(413)
    try:
        body = json.loads(request.decoded())
    except (ValueError, RecursionError) as error:
        raise _Failure(400, f"The request body is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise _Failure(400, "The request body is not a JSON object")
    return body


def _read[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` makes of a request. Raises _Failure when the request has not the shape that the API asks for."""
    try:
        return work(*args, **kwargs)
    except Refused as refused:
        raise _Failure(400, str(refused)) from refused
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise _Failure(400, f"The request has not the expected shape: {error!r}") from error


async def _json(
    answer: Answer, headers: dict[str, str], value: dict[str, Any], status: int = 200, cut: int | None = None
) -> None:
    body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    await answer.whole(status, {**headers, **_JSON}, body, cut)


def _limits() -> dict[str, str]:
    reset = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))
    figures = {"requests": (4000, 3999), "input-tokens": (2_000_000, 1_990_000), "output-tokens": (400_000, 399_000)}
    headers = {"anthropic-organization-id": "00000000-0000-4000-8000-000000000000"}
    for name, (limit, remaining) in figures.items():
        headers[f"anthropic-ratelimit-{name}-limit"] = str(limit)
        headers[f"anthropic-ratelimit-{name}-remaining"] = str(remaining)
        headers[f"anthropic-ratelimit-{name}-reset"] = reset
    return headers


def _models() -> dict[str, Any]:
    created = "2026-01-01T00:00:00Z"
    data = [{"type": "model", "id": name, "display_name": name, "created_at": created} for name in answers.MODELS]
    return {"data": data, "has_more": False, "first_id": answers.MODELS[0], "last_id": answers.MODELS[-1]}


def _batch_status(name: str, count: int, *, ended: bool) -> dict[str, Any]:
    counts = {"processing": 0 if ended else count, "succeeded": count if ended else 0}
    return {
        "id": name,
        "type": "message_batch",
        "processing_status": "ended" if ended else "in_progress",
        "request_counts": {**counts, "errored": 0, "canceled": 0, "expired": 0},
        "results_url": f"/v1/messages/batches/{name}/results" if ended else None,
    }


def _fixed(*, stream: bool) -> tuple[bytes, bytes]:
    """The canned answer as it goes over the wire, and its body alone."""
    counters = Usage(fresh=10, read=0, write_5m=0, write_1h=0).counters()
    whole = answers.message(
        answers.reply({}), model="claude-opus-5-5", body=b"", ordinal=0, max_tokens=1000, counters=counters
    )
    headers = {"request-id": answers.token("req", b"", 0)}
    if not stream:
        body = json.dumps(whole, separators=(",", ":")).encode()
        return head(200, {**headers, **_JSON, "content-length": str(len(body))}) + body, body
    body = b"".join(answers.frame(event, ordinal) for ordinal, event in enumerate(answers.events(whole)))
    chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    return head(200, {**headers, **_STREAM, "transfer-encoding": "chunked"}) + chunk, body


@contextlib.contextmanager
def running(stub: StubApi, port: int = 0) -> Iterator[StubApi]:
    """`stub` on a thread of its own, until the block ends. Raises OSError when the port is taken."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="stub of the Messages API", daemon=True)
    thread.start()

    def wait(work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result(10)

    try:
        wait(stub.start(port))
        yield stub
    finally:
        wait(stub.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _main(port: int) -> None:
    stub = StubApi()
    await stub.start(port)
    print(stub.url, flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Runs the stub until it is interrupted."""
    parser = argparse.ArgumentParser(prog="python -m addon.stub_api", description="A stub of the Messages API.")
    parser.add_argument("--port", type=int, default=0, help="0 (the default) lets the kernel choose")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(parser.parse_args().port))


if __name__ == "__main__":
    main()
