"""What mitmproxy's and mitmweb's lists show of an exchange: a comment with its one line, and a marker on what somebody
should look at: a secret that a request brought, a chain of the cache that broke, personal data that it brought.

A comment or marker of the user's own is left alone. Without such a list (mitmdump) nothing is done but to keep what
the answer told, for whoever asks about the flow as long as there is one. All of it happens some time after the
exchange, for several together, because each change that is told costs mitmproxy more than it costs here; short texts
are looked into on another thread, what folded texts hold is heard from whoever describes these.

What a text holds is told where it came first: each later request of the conversation carries it again. Ids that clients
send with every request are not told of, and paths of a home folder, which nearly all answers of tools carry, are in the
comment and are no reason for a marker. Nothing in here raises.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary, ref

import orjson
from mitmproxy import ctx, http
from mitmproxy.hooks import UpdateHook

from addon.annotator import Describe
from addon.flow_exchange import MOST_BYTES, Told, told_of
from addon.live import describe
from analyzers.detect.kinds import KINDS, SECRETS
from analyzers.wire.encodings import decode
from analyzers.wire.fold import Folded
from analyzers.wire.jsontext import Json

SECRET: Final = ":key:"
BROKEN: Final = ":warning:"
PERSONAL: Final = ":bust_in_silhouette:"
MARKED: Final = frozenset(("email", "ip_address", "mac_address", "credit_card", "iban"))
"""Kinds of personal data that are a reason for a marker."""

SENT_ALWAYS: Final = frozenset(("account_id", "organization_id", "device_id", "session_id", "user_id", "request_id"))
"""Kinds that are not told of: clients send them with every request."""

PAUSE: Final = 0.1
"""Seconds that an exchange may wait for others."""

MOST_BROUGHT: Final = 4096
MOST_TEXTS: Final = 100
LONGEST_TEXT: Final = 2_000
"""Characters of a text that is looked into here; longer ones are folded as a rule."""


@dataclass(slots=True)
class _Shown:
    """What is shown of a flow. ``comment`` and ``mark``: as they were set by us."""

    told: Told | None = None
    line: str = ""
    broken: str = ""
    kinds: Counter[str] = field(default_factory=Counter)
    comment: str = ""
    mark: str = ""


class Marks:
    """Comments and markers of flows. ``warn`` takes one sentence for the log. ``secrets``: whether to look into
    texts for them and for personal data."""

    def __init__(self, warn: Callable[[str], None], *, secrets: bool = True) -> None:
        self.secrets = secrets
        self._warn = warn
        self._shown: WeakKeyDictionary[http.HTTPFlow, _Shown] = WeakKeyDictionary()
        self._brought: OrderedDict[str, ref[http.HTTPFlow]] = OrderedDict()
        self._ended: list[tuple[http.HTTPFlow, Mapping[str, Any]]] = []
        self._law: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failures = 0

    def told(self, flow: http.HTTPFlow) -> Told | None:
        """What was recorded of a flow's answer; None when it has none, or was not recorded here."""
        shown = self._shown.get(flow)
        return None if shown is None else shown.told

    # --- what the recorder says

    def brings(self, flow: http.HTTPFlow, folded: Iterable[Folded]) -> None:
        """A request has these texts that are new and folded: they will be described."""
        try:
            if self.secrets and _listed():
                self._running()
                for one in folded:
                    if one.is_text:
                        self._brought.setdefault(one.sha256, ref(flow))
                while len(self._brought) > MOST_BROUGHT:
                    self._brought.popitem(last=False)
        except Exception as error:  # the request goes on
            self._fails(error)

    def listening(self, load: Callable[[], Describe]) -> Callable[[], Describe]:
        """The same as ``load``, with an ear on what is said about texts. What it gives runs on another thread."""

        def loading() -> Describe:
            describing = load()

            def described(sha256: str, text: str) -> bytes:
                line = describing(sha256, text)
                if sha256 in self._brought:
                    self._hear(sha256, line)
                return line

            return described

        return loading

    def ended(
        self, flow: http.HTTPFlow, number: int | None, request: Mapping[str, Any], record: Mapping[str, Any]
    ) -> None:
        """An exchange is over. Takes what ``live.describe`` takes."""
        try:
            self._of(flow).told = told_of(number, request, record)
            if _listed():
                self._ended.append((flow, record))
                if len(self._ended) == 1:
                    self._flush_soon()
        except Exception as error:  # it is written down already
            self._fails(error)

    # --- what comes of it

    def flush(self) -> None:
        """Show what waits."""
        ended, self._ended = self._ended, []
        changed = []
        for flow, record in ended:
            try:
                self._conclude(flow, record)
                changed.append(flow)
            except Exception as error:  # only this flow has no comment
                self._fails(error)
        self._update(changed)

    def _conclude(self, flow: http.HTTPFlow, record: Mapping[str, Any]) -> None:
        shown = self._of(flow)
        if shown.told is None:
            return
        shown.line = describe(shown.told.number, shown.told.request, record)
        body = _body(flow.request)
        lawful = shown.told.request.get("route") == "messages" and flow.is_replay is None
        shown.broken = self._broken(flow, body, record) if lawful else ""
        if self.secrets:
            self._look(flow, body)
        _show(flow, shown)

    def _broken(self, flow: http.HTTPFlow, body: Json, record: Mapping[str, Any]) -> str:
        from addon.chain_law import ChainLaw
        from analyzers.readers.captures import read_response

        self._law = self._law or ChainLaw()
        fields: tuple[tuple[bytes, bytes], ...] = flow.request.headers.fields
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in fields}
        lost = self._law.ended(body, headers, read_response(dict(record)), completed=record["ended"] == "completed")
        return "" if lost is None else f"cache chain broken: {lost.read:,} read of {lost.expected:,}"

    def _look(self, flow: http.HTTPFlow, body: Json) -> None:
        texts = list(new_texts(body))
        if not texts:
            return
        if self._loop is None:
            self._found(ref(flow), held_by(texts))
            return
        looking, of = self._loop.run_in_executor(None, held_by, texts), ref(flow)
        looking.add_done_callback(lambda done: self._looked(of, done))

    def _looked(self, flow: ref[http.HTTPFlow], done: asyncio.Future[Counter[str]]) -> None:
        if done.cancelled():
            return
        if (error := done.exception()) is not None:
            self._fails(error)
        else:
            self._found(flow, done.result())

    def _hear(self, sha256: str, line: bytes) -> None:
        """On the thread that describes texts."""
        try:
            kinds = told_kinds(orjson.loads(line)["personal"])
            flow = self._brought.pop(sha256, None)
            if kinds and flow is not None and self._loop is not None:
                self._loop.call_soon_threadsafe(self._found, flow, kinds)
        except Exception as error:  # the line is made, and goes its way; RuntimeError: the loop is closed
            self._fails(error)

    def _found(self, of: ref[http.HTTPFlow], kinds: Counter[str]) -> None:
        flow = of()
        if flow is None or not kinds:
            return
        shown = self._of(flow)
        shown.kinds += kinds
        _show(flow, shown)
        self._update([flow])

    def _flush_soon(self) -> None:
        if (loop := self._running()) is not None:
            loop.call_later(PAUSE, self.flush)
        else:
            self.flush()

    def _running(self) -> asyncio.AbstractEventLoop | None:
        """mitmproxy's loop; None where there is none to wait for."""
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None
        return self._loop

    def _of(self, flow: http.HTTPFlow) -> _Shown:
        return self._shown.setdefault(flow, _Shown())

    def _update(self, flows: list[http.HTTPFlow]) -> None:
        if flows and _listed():
            ctx.master.addons.trigger(UpdateHook(flows))

    def _fails(self, error: BaseException) -> None:
        self._failures += 1
        if self._failures == 1:
            self._warn(
                f"weighbridge failed to mark a flow ({type(error).__name__}: {error}): it is recorded all the same. "
                "Please report it."
            )


def _show(flow: http.HTTPFlow, shown: _Shown) -> None:
    found = {kind: shown.kinds[kind] for kind in KINDS if kind in shown.kinds}
    secret = [kind for kind in found if kind in SECRETS]
    personal = [f"{kind} {count:,}" for kind, count in found.items() if kind not in SECRETS]
    number, _, line = shown.line.partition(" ")
    parts = (
        shown.broken,
        f"secrets: {', '.join(secret)}" if secret else "",
        f"personal: {', '.join(personal)}" if personal else "",
        line,
    )
    # What was found goes first: lists show as much of a comment as they have room for.
    comment = f"{number} {' | '.join(part for part in parts if part)}".strip()
    mark = SECRET if secret else BROKEN if shown.broken else PERSONAL if MARKED & found.keys() else ""
    if flow.comment == shown.comment:
        flow.comment = shown.comment = comment
    if flow.marked == shown.mark:
        flow.marked = shown.mark = mark


def _listed() -> bool:
    """Whether there is a list of flows that somebody may look at."""
    master = getattr(ctx, "master", None)
    return master is not None and master.addons.get("view") is not None


def _body(request: http.Request) -> Json:
    """The body of a request, None when it is no plain JSON or is not there."""
    raw = request.raw_content
    encoding: str | None = request.headers.get("content-encoding")
    if not raw or len(raw) > MOST_BYTES:
        return None
    try:
        return orjson.loads(decode(raw, encoding, MOST_BYTES).data if encoding else raw)
    except orjson.JSONDecodeError:
        return None


def new_texts(body: Json) -> Iterator[tuple[str, str | None]]:
    """The short texts of what a request adds to its conversation (all messages after the last answer; in a first
    request the system prompt too), with the object key that each stands under. So many at the most."""
    messages = body.get("messages") if type(body) is dict else None
    if type(messages) is not list:
        return
    fresh: list[Json] = []
    for message in reversed(messages):
        if type(message) is dict and message.get("role") == "assistant":
            break
        fresh.append(message)
    else:
        fresh.append(body.get("system"))
    stack: list[tuple[Json, str | None]] = [(node, None) for node in reversed(fresh)]
    left = MOST_TEXTS
    while stack and left:
        node, key = stack.pop()
        if type(node) is str:
            if 4 <= len(node) <= LONGEST_TEXT and key not in ("type", "role"):
                left -= 1
                yield node, key
        elif type(node) is dict:
            stack.extend((value, name) for name, value in node.items())
        elif type(node) is list:
            stack.extend((value, key) for value in node)


def held_by(texts: Iterable[tuple[str, str | None]]) -> Counter[str]:
    """What some texts hold that is told of, by kind."""
    from analyzers.detect.text import kinds_of

    found: Counter[str] = Counter()
    for text, key in texts:
        found += told_kinds(kinds_of(text, key))
    return found


def told_kinds(kinds: Mapping[str, int]) -> Counter[str]:
    """Those kinds that are told of: secrets and personal data of a shape of their own, but for what is sent always."""
    return Counter({kind: count for kind, count in kinds.items() if KINDS[kind].structured and kind not in SENT_ALWAYS})
