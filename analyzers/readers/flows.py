"""mitmproxy flow files into exchanges: what ``mitmdump -w`` and mitmproxy's other programs save, in every format that
mitmproxy itself can migrate.

Frames are read one at a time and damage is passed over (``tnetstrings``), mitmproxy migrates each to its present
format, and what belongs to the Messages API becomes an exchange (``saved_flow``). mitmproxy is imported when the first
flow is read: that takes a while, and no other file needs it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from analyzers.exchange import Exchange
from analyzers.readers.left_out import LeftOut
from analyzers.readers.saved_flow import SavedFlow, State, exchange, saved_flow, text
from analyzers.readers.source import Source
from analyzers.readers.tnetstrings import Frame, Gap, frames
from analyzers.readers.wired import header
from analyzers.wire.routes import Route, classify

MOST_TOLD: Final = 20
"""Damaged places that are told one by one; of the others, how many they are."""

_HEAD = re.compile(rb"[0-9]{1,20}:[0-9]{1,12}:[A-Za-z_][A-Za-z0-9_]{0,63}[;,]")
_HEAD_WITHIN = re.compile(
    rb"[0-9]{2,12}:[0-9]{1,2}:(version|type|error|client_conn|server_conn|request|response|websocket|messages)[;,]"
)
_OTHER_KINDS = (b"{", b"[", b'"', b"\x28\xb5\x2f\xfd", b"\x1f\x8b")
_TWO_FLOWS_EACH = 11  # flow format up to which a websocket was saved as its handshake and its messages
_KINDS = {"websocket": "websocket", "tcp": "TCP", "udp": "UDP", "dns": "DNS", "other": "unknown"}


def looks_like_flows(first: bytes) -> bool:
    """Whether the beginning of a file is that of a flow file, damaged ones included: the head of a dict as tnetstring
    comes first, or somewhere in what is neither JSON nor compressed."""
    if _HEAD.match(first):
        return True
    return not first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(_OTHER_KINDS) and bool(_HEAD_WITHIN.search(first))


def read_flows(source: Source) -> Iterator[Exchange]:
    """The exchanges with the Messages API in a flow file, in its order. Their places are numbers of flows, from 1.

    Everything else in it, and every damaged place, is a problem of the source. Raises OSError only.
    """
    return _FlowFile(source).exchanges()


class _FlowFile:
    """One file while it is read, and the counts of what is not used of it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._number = 0
        self._damaged = 0
        self._others = LeftOut()
        self._kinds: Counter[str] = Counter()
        self._newer = 0
        self._newest = 0
        self._handshakes: set[str] = set()

    def exchanges(self) -> Iterator[Exchange]:
        size = 0
        for piece in frames(self._source.stream):
            size += piece.size
            found = self._taken(piece) if isinstance(piece, Frame) else None
            if isinstance(piece, Gap):
                self._gap(piece)
            del piece  # the next one shall not need room beside it
            if found is not None:
                yield found
            del found
        if not self._number:
            nothing = f"no whole flow of mitmproxy in its {size:,} bytes; it was left out"
            self._source.problem(nothing if size else "the file is empty")
        self._tell()

    def _taken(self, frame: Frame) -> Exchange | None:
        self._number += 1
        state = frame.value
        try:
            if state is None:
                raise ValueError
            flow = self._flow(state)
            if flow is None or (route := self._route(flow)) is None:
                return None
        except ImportError:
            raise
        except Exception as error:  # mitmproxy's own, on members of any kind
            what = "damaged inside" if state is None else f"not as mitmproxy writes it: {type(error).__name__}"
            self._damage(f"the flow at byte {frame.at} cannot be read ({what})", frame.size)
            return None
        return exchange(flow, route, f"{self._source.place}:{self._number}", folded=self._source.folded)

    def _flow(self, state: State) -> SavedFlow | None:
        """A state as a flow. None: it is no HTTP, or newer than mitmproxy, and counted. Raises anything."""
        from mitmproxy import version
        from mitmproxy.io import compat

        told = _member(state, "version")
        if type(told) is int and told > version.FLOW_FORMAT_VERSION:
            self._newer += 1
            self._newest = max(told, self._newest)
            return None
        kind = text(_member(state, "type"))
        metadata = (_member(state, "metadata") or {}) if type(told) is not int or told <= _TWO_FLOWS_EACH else {}
        if kind != "http" or state.get("websocket") or "websocket" in metadata:
            self._count(kind, state, metadata)
            return None
        present = compat.migrate_flow(state)
        compat.client_connections.clear()  # it remembers every connection of the oldest formats
        compat.server_connections.clear()
        return saved_flow(present)

    def _count(self, kind: str, state: State, metadata: Mapping[Any, Any]) -> None:
        """Counts what is no HTTP. ``metadata``: of the formats in which a websocket was two flows, its handshake and
        its messages: counted is whichever comes first."""
        if kind == "http":
            self._kinds["websocket"] += 1
            if metadata:
                self._handshakes.add(state["id"])
        elif (handshake := metadata.get("websocket_handshake")) in self._handshakes:
            self._handshakes.discard(handshake)
        else:
            self._kinds[kind if kind in _KINDS else "other"] += 1

    def _route(self, flow: SavedFlow) -> Route | None:
        """The route of a flow, or None: it is none of the Messages API, and counted."""
        if (header(flow.request.headers, "upgrade") or "").lower() == "websocket":
            self._kinds["websocket"] += 1
            return None
        route = classify(flow.method, flow.path)
        if route is None:
            self._others.add(flow.method, flow.path)
        return route

    def _gap(self, gap: Gap) -> None:
        if self._number or not gap.last:  # else there is no flow at all, which is told at the end
            behind = ", and cut or without a flow behind it" if gap.last else ""
            self._damage(f"damaged at byte {gap.at}{behind}", gap.size)

    def _damage(self, what: str, size: int) -> None:
        self._damaged += 1
        if self._damaged <= MOST_TOLD:
            passed = "1 byte was" if size == 1 else f"{size:,} bytes were"
            self._source.problem(f"{what}: {passed} passed over")

    def _tell(self) -> None:
        if (more := self._damaged - MOST_TOLD) > 0:
            self._source.problem(f"{more:,} more damaged {'place was' if more == 1 else 'places were'} passed over")
        if self._newer:
            newer = f"written by a newer mitmproxy (flow format {self._newest}): upgrade mitmproxy to read it"
            self._source.problem(f"{newer}; {self._newer:,} {_flows(self._newer)} left out")
        for sentence in self._others.sentences():
            self._source.problem(sentence)
        if self._kinds:
            counted = [f"{self._kinds[kind]:,} {name}" for kind, name in _KINDS.items() if self._kinds[kind]]
            names = " and ".join(filter(None, (", ".join(counted[:-1]), counted[-1])))
            self._source.problem(f"{names} {_flows(self._kinds.total())} left out")


def _flows(count: int) -> str:
    return "flow was" if count == 1 else "flows were"


def _member(state: State, name: str) -> Any:
    return state.get(name, state.get(name.encode()))
