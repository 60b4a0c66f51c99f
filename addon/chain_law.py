"""The chain law, judged as exchanges end: a request that continues an answer reads what that call had in the cache.

``cache_read(n) == cache_read(n-1) + cache_creation(n-1)`` (``analyzers.cache``). Who continues whom is not guessed: a
request continues an answer when it carries it back, at its place, by the ids of its tool calls or by its texts, in the
same session, by the same agent, from the same model. An answer that two calls gave alike is nobody's. What the law says
nothing about is not judged: several passes in one answer, context that the server edited, messages that came without
their conversation. So less is found here than ``weighbridge cache`` finds in the capture, and nothing that is not so.

Memory is bounded: so many answers, the oldest first. Cost: the answer's blocks and the request's last answer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from analyzers.digests import as_blocks
from analyzers.exchange import Response
from analyzers.identity import AGENT_HEADER, header_session
from analyzers.models import model_of
from analyzers.wire.fold import Elided
from analyzers.wire.jsontext import Json

MOST: Final = 4096
_CALLS: Final = ("tool_use", "mcp_tool_use")

type _Who = tuple[str | None, str | None, str]


@dataclass(frozen=True, slots=True)
class Lost:
    """A broken chain. ``read``: what the request read from the cache, ``expected``: what was there; in tokens."""

    read: int
    expected: int


class ChainLaw:
    """What the last calls left in the cache, by the answer they gave."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._left: OrderedDict[tuple[_Who, int, str], int | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def ended(self, body: Json, headers: Mapping[str, Any], response: Response, *, completed: bool) -> Lost | None:
        """What a request lost that the cache held; None when nothing, or when that cannot be told. ``headers``: names
        in lower case; ``response``: its content unfolded."""
        messages = body.get("messages") if type(body) is dict else None
        if type(messages) is not list or not response.model or not _is_plain(response):
            return None
        agent = headers.get(AGENT_HEADER)
        who = (header_session(headers), agent if type(agent) is str else None, model_of(response.model).base)
        lost = self._judged(messages, who, response)
        said = _said(response.content)
        if completed and said is not None:
            self._remember((who, len(messages), said), response)
        return lost

    def _judged(self, messages: list[Json], who: _Who, response: Response) -> Lost | None:
        at = _last_answer(messages)
        said = _said(messages[at].get("content")) if at is not None else None
        expected = self._left.get((who, at, said)) if at is not None and said is not None else None
        read = response.usage.cache_read_input_tokens if response.usage is not None else None
        if expected is None or read is None or read >= expected:
            return None
        return Lost(read, expected)

    def _remember(self, answer: tuple[_Who, int, str], response: Response) -> None:
        usage = response.usage
        read = usage.cache_read_input_tokens if usage is not None else None
        written = usage.cache_creation_input_tokens if usage is not None else None
        left = None if read is None or written is None else read + written
        if answer in self._left and self._left[answer] != left:
            left = None
        self._left[answer] = left
        self._left.move_to_end(answer)
        while len(self._left) > self._most:
            self._left.popitem(last=False)


def _is_plain(response: Response) -> bool:
    """Whether the counters are those of one pass over the prompt as it was sent."""
    usage = response.usage
    if usage is None or len(usage.iterations or ()) > 1 or any((usage.server_tool_use or {}).values()):
        return False
    management = response.rest.get("context_management")
    return not (type(management) is dict and management.get("applied_edits"))


def _last_answer(messages: list[Json]) -> int | None:
    """Where the last message of the assistant stands."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if type(message) is dict and message.get("role") == "assistant":
            return at
    return None


def _said(content: Json) -> str | None:
    """What tells an answer from others: the ids of its tool calls, else its texts. None: it has neither."""
    ids: list[str] = []
    texts: list[str] = []
    for block in as_blocks(content):
        if type(block) is not dict:
            continue
        kind, id, text = block.get("type"), block.get("id"), block.get("text")
        if kind in _CALLS and type(id) is str:
            ids.append(id)
        elif kind == "text" and type(text) is str and text:
            texts.append(sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
        elif kind == "text" and type(text) is Elided:
            texts.append(str(text.sha256))
    return "\n".join(ids or texts) or None
