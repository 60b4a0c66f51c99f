"""The mitmproxy addon: its options, its hooks, and what it tells the user.

One addon object and few hooks, because every hook of every addon costs each flow. A hook decides and hands over; no
exception leaves one, since in some hooks (``OptionsError`` in any) it would hang the client. Requests are written down
before they are forwarded. Answers are always streamed, so that a client gets every byte when it would without a proxy;
only where the user has mitmproxy rewrite bodies are those that are no event stream left to be buffered.
"""

import asyncio
import functools
import logging
import re
import signal
import traceback
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Concatenate, Final, Optional

from mitmproxy import addonmanager, connection, ctx, exceptions, http, optmanager

from addon.inflight import InFlight
from addon.screens import Screens
from addon.settings import OPTIONS, PREFIXES, Settings, misspelt, parse
from addon.tap import RequestTap
from analyzers.wire.note import Note
from analyzers.wire.routes import Route, classify

CHANGING: Final = ("modify_body", "modify_headers", "map_local", "map_remote", "body_size_limit")
"""Options of mitmproxy after which the two sides do not see the same."""

_TEXT: Final[Any] = Optional[str]  # noqa: UP045 - what mitmproxy compares an option's type with

logger = logging.getLogger(__name__)

_left_behind: list[InFlight] = []
"""What an instance was doing when the script was reloaded, until the next one goes on with it."""


def harmless[**P](hook: "Callable[Concatenate[Recorder, P], None]") -> "Callable[Concatenate[Recorder, P], None]":
    """A hook out of which no exception comes. The first is told, the others are counted."""

    @functools.wraps(hook)
    def fenced(self: "Recorder", /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            hook(self, *args, **kwargs)
        except Exception as error:  # told and counted; traffic must go on
            self.stumbled(hook.__name__, error)

    return fenced


class Recorder:
    """Records the requests to the Messages API that pass through mitmproxy, and their answers."""

    name = "weighbridge"

    def __init__(self) -> None:
        self.stumbles = 0
        """Exceptions in our own code."""
        self.addons = [Screens(lambda flow: self.in_flight.marks.told(flow))]
        self._in_flight: InFlight | None = None
        self._runs = False

    # --- life cycle

    def load(self, loader: addonmanager.Loader) -> None:
        """Declare the options. Raises nothing: from here, an OptionsError would silently cost the user the addon."""
        if problem := claim(loader.master.options):
            logger.error(problem)
        for option in OPTIONS:
            loader.add_option(option.name, _TEXT, option.default, option.help)

    def configure(self, updated: set[str]) -> None:
        """Raises OptionsError: one sentence about the option that cannot be read."""
        if any(name.startswith(PREFIXES) for name in updated):
            try:
                self.in_flight.use(_settings())
            except ValueError as error:
                raise exceptions.OptionsError(str(error)) from None  # type: ignore[no-untyped-call]

    @property
    def in_flight(self) -> InFlight:
        """The exchanges being recorded; those of the instance before this one, after a reload."""
        if self._in_flight is None:
            self._in_flight = _left_behind.pop() if _left_behind else InFlight(_settings(), logger.warning)
        return self._in_flight

    def running(self) -> None:
        """Everything is loaded: say what is unknown, unsafe, or in the way."""
        self._runs = True
        if problem := misspelt(ctx.options.deferred):
            logger.error(problem)
        if not self.in_flight.announced:
            self.in_flight.announced = True
            self.in_flight.journal.preflight()
            for warning in (*_exposed(), *_in_the_way()):
                logger.warning(warning)
        _shut_down_on_hangup()

    def done(self) -> None:
        """The proxy stops, or the script is being reloaded: then the next instance goes on where this one is."""
        in_flight = self._in_flight
        if in_flight and self._runs and ctx.master.addons.lookup.get(self.name) is not self:
            self._in_flight = None
            _left_behind.append(in_flight)
            asyncio.get_running_loop().call_soon(_stop_left_behind)
        elif in_flight:
            in_flight.stop()
        if self.stumbles > 1:
            logger.warning(f"weighbridge stumbled {self.stumbles:,} times.")

    def stumbled(self, hook: str, error: Exception) -> None:
        """Count an exception of our own, and the record it may have cost; tell of the first."""
        self.stumbles += 1
        if self._in_flight and hook in ("request", "response", "answered", "error"):
            self._in_flight.journal.lose()
        if self.stumbles == 1:
            place = traceback.extract_tb(error.__traceback__)[-1]
            logger.warning(
                f"weighbridge stumbled in {hook} ({type(error).__name__}: {error}, {place.name}:{place.lineno}): "
                "traffic goes on, this record may be missing. Please report it."
            )

    # --- traffic

    @harmless
    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Where mitmproxy streams the request upstream, the body can only be seen in passing."""
        if flow.live and _is_streamed(flow.request) and self._route(flow):
            flow.request.stream = RequestTap(flow.request.stream)

    @harmless
    def request(self, flow: http.HTTPFlow) -> None:
        """The request is whole, and not forwarded yet unless it is streamed."""
        if not flow.live or _is_recorded(flow):
            return
        if route := self._route(flow):
            self.in_flight.accept(flow, route)
            self.in_flight.ask_guard(flow)
        else:
            self.in_flight.unmatched(_kind(flow.request))

    @harmless
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """From here on the answer is looked at as it passes."""
        if flow.live and flow.response:
            self._accept_late(flow, Note("answered_early", "the answer began before the request was whole"))
            stream = flow.response.stream or not _option("modify_body") or _may_be_events(flow.response)
            self.in_flight.answer_begins(flow, stream=bool(stream))

    @harmless
    def response(self, flow: http.HTTPFlow) -> None:
        """The answer is whole, as HTTP sees it. It is written down once the client has the last of it."""
        if flow in self.in_flight:
            self.in_flight.answered(flow)
            _soon(functools.partial(self.answered, self.in_flight), flow)
        elif flow.live and flow.request.timestamp_start < self.in_flight.since and (route := self._route(flow)):
            self.in_flight.end_unseen(flow, route)

    @harmless
    def answered(self, in_flight: InFlight, flow: http.HTTPFlow) -> None:
        """Not a hook of mitmproxy: runs after ``response``, out of the client's way, perhaps after a reload."""
        in_flight.end(flow, "response")

    @harmless
    def error(self, flow: http.HTTPFlow) -> None:
        """The exchange failed, at any point of it."""
        if flow.live and not self.in_flight.stopped:
            self._accept_late(flow, Note("request_cut", "the request did not come whole"))
        self.in_flight.end(flow, "error")

    @harmless
    def client_disconnected(self, client: connection.Client) -> None:
        """Not everything that fails is told by a hook of its own."""
        self.in_flight.disconnected(client)

    def _accept_late(self, flow: http.HTTPFlow, note: Note) -> None:
        """Write down a request for which the ``request`` hook did not run yet, or never will."""
        if flow in self.in_flight or flow.request.timestamp_end is not None or _is_recorded(flow):
            return
        if route := self._route(flow):
            self.in_flight.accept(flow, route, [note])

    def _route(self, flow: http.HTTPFlow) -> Route | None:
        """The route to record a flow under, or None. A websocket is not HTTP once it is open, and never recorded."""
        if _is_websocket(flow.request):
            return None
        route = classify(flow.request.method, flow.request.path)
        match = self.in_flight.settings.match
        if match is None:
            return route
        return (route or "other") if match(flow) else None


def _soon(work: Callable[[http.HTTPFlow], None], flow: http.HTTPFlow) -> None:
    """After what the event loop is at; at once where there is none."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        work(flow)
    else:
        loop.call_soon(work, flow)


def _option(name: str) -> Any:
    """An option that belongs to another addon, which need not be there."""
    return getattr(ctx.options, name, None)


def _settings() -> Settings:
    """Raises ValueError."""
    return parse({option.name: getattr(ctx.options, option.name) for option in OPTIONS})


def claim(options: optmanager.OptManager) -> str | None:
    """Read our options as given at the start, and leave them to mitmproxy as texts; one sentence when one is wrong.

    Those come from ``--set`` as lists of texts and from config.yaml as any value; none of them has been looked at yet.
    """
    given = {option.name: options.deferred[option.name] for option in OPTIONS if option.name in options.deferred}
    texts: dict[str, str | None] = {}
    for name, value in given.items():
        values = getattr(value, "val", [value])
        if len(values) > 1:
            problem = f"{name} is given {len(values)} times: leave one."
            break
        texts[name] = _text(values[0]) if values else None
    else:
        try:
            parse(texts)
        except ValueError as error:
            problem = str(error)
        else:
            options.deferred.update(texts)
            return None
    for name in given:
        del options.deferred[name]
    return problem


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_streamed(request: http.Request) -> bool:
    """Whether mitmproxy hands this body upstream before it is whole, or may turn to that once it has grown."""
    if request.method in ("GET", "HEAD") or isinstance(request.stream, RequestTap):
        return False
    return bool(request.stream or (_option("stream_large_bodies") and "content-length" not in request.headers))


def _is_recorded(flow: http.HTTPFlow) -> bool:
    return isinstance(flow.request.stream, RequestTap) and flow.request.stream.recorded


def _is_websocket(request: http.Request) -> bool:
    return bool(request.headers.get("upgrade", "").lower() == "websocket")


def _may_be_events(response: http.Response) -> bool:
    """Whether the answer may be a stream of events that the client waits for one by one."""
    kind = response.headers.get("content-type", "").lower()
    return not kind or "event" in kind or "content-length" not in response.headers


_WORD: Final = re.compile(r"v\d[a-z0-9]{0,8}|[a-z][a-z_-]{0,19}")


def _kind(request: http.Request) -> str:
    """Method and path of a request that is not recorded, without what may be an identifier or a secret."""
    method = request.method if request.method.isalpha() and len(request.method) <= 16 else "?"
    segments = request.path.partition("?")[0].split("/")[1:5]
    path = "/".join(part if not part or _WORD.fullmatch(part) else "*" for part in segments)
    return f"{method} /{path}" + (" (websocket)" if _is_websocket(request) else "")


def _exposed() -> list[str]:
    """One sentence when others than this machine can use the proxy."""
    server = ctx.master.addons.lookup.get("proxyserver")
    hosts = sorted({address[0] for address in server.listen_addrs()}) if server else []
    open_to_all = [host for host in hosts if not ip_address(host.partition("%")[0]).is_loopback]
    if not open_to_all:
        return []
    return [
        f"mitmproxy listens on {' and '.join(open_to_all)}: other machines can use it. "
        "Start it with --listen-host 127.0.0.1 to keep it to yourself."
    ]


def _in_the_way() -> list[str]:
    """A sentence for each option that changes what is recorded, or what the other side gets."""
    found = []
    if _option("stream_large_bodies"):
        found.append(
            "stream_large_bodies is on: a request it applies to is recorded after it was forwarded, not before."
        )
    if names := [name for name in CHANGING if _option(name)]:
        are = "is" if len(names) == 1 else "are"
        found.append(f"{' and '.join(names)} {are} on: what is recorded may differ from what the other side gets.")
    return found


def _shut_down_on_hangup() -> None:
    """Close the files in good order when the terminal goes away, unless the user had that ignored (nohup)."""
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is None or signal.getsignal(hangup) is not signal.SIG_DFL:
        return
    try:
        asyncio.get_running_loop().add_signal_handler(hangup, ctx.master.shutdown)
    except (NotImplementedError, RuntimeError, ValueError):
        return  # not the main thread, or no such loop: then a hangup ends the process as it always did


def _stop_left_behind() -> None:
    while _left_behind:
        _left_behind.pop().stop()
