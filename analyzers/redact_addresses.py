"""Hosts, paths, queries, headers and file names: what of them is the API's stays, the rest is scrambled.

By closed lists: a value stays because it is known to tell nothing, never because nothing is known of it.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from analyzers import api_words as own
from analyzers.api_words import word_set
from analyzers.capture_words import HEADERS, OPTIONS, is_header
from analyzers.member_names import Names
from analyzers.redact import Redactor
from analyzers.wire.headers import GUARD, KEPT_PARAMETERS
from analyzers.wire.jsontext import Json

_HOSTS = ("anthropic.com", "claude.com", "claude.ai", "amazonaws.com", "api.aws", "googleapis.com", "azure.com",
          "localhost", "openrouter.ai", "openai.com")  # fmt: skip
_HOST_WORDS = word_set("""
    api bedrock bedrock-runtime bedrock-mantle aws-external-anthropic aiplatform claude services ai console www
""")
_REGION = re.compile(
    r"(us|eu|europe|ap|asia|ca|me|af|sa|il|mx|australia|northamerica|southamerica|global)"
    r"(-(gov|iso|north|south|east|west|central|northeast|southeast|northwest|southwest)){0,2}-?[0-9]?"
)
_LOOPBACK = re.compile(r"127(\.[0-9]{1,3}){3}|\[?::1\]?")
_PATH_WORDS = word_set("""
    v1 v2 api messages count_tokens batches results cancel model models invoke invoke-with-response-stream projects
    locations publishers anthropic files skills complete chat completions responses subagents
""")
_ACTIONS = frozenset(("rawPredict", "streamRawPredict"))
_NUMBERED = ("anthropic-ratelimit-", "anthropic-priority-", "anthropic-fast-", "retry-after", "content-length", "date",
             "x-stainless-retry-count", "x-stainless-timeout", "x-stainless-read-timeout")  # fmt: skip
_CLOSED_HEADERS = ("accept", "content-encoding", "content-type", "transfer-encoding", "expect", "x-app", "x-stainless-",
                   "x-claude-code-request-class", "x-should-retry",
                   "anthropic-dangerous-direct-browser-access")  # fmt: skip
OWN_NAMES = (
    HEADERS
    | OPTIONS
    | frozenset(_HOSTS)
    | _ACTIONS
    | KEPT_PARAMETERS
    | _PATH_WORDS
    | _HOST_WORDS
    | word_set("""
    other_headers wire_bytes decoded_bytes content_encoding fingerprint characters field_names punctuation escapes
    whitespace shadowed bom_or_trailing unparsed first_content usage_start usage_delta continues unmatched_paths
    mitmproxy weighbridge responses unmatched personal projects subagents captures
""")
)
"""Names and words of captures, paths and headers, none of which tells anything."""

SCHEMES = word_set("http https get post put head delete options patch connect")
_FILE_KINDS = word_set("jsonl json zst har flow flows mitm gz log zlib")
_PAIRS = re.compile("([&;])")
_COUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")
_PORT = re.compile("[0-9]{0,5}")


class Addresses:
    """Addresses and headers under the key of a redactor."""

    def __init__(self, redactor: Redactor) -> None:
        self._values = redactor
        self._text = redactor.text

    def header(self, name: str, value: Json) -> Json:
        """The value of a header."""
        if type(value) is not str:
            return self._values.value(value, names=Names.UNKNOWN)
        name = name.lower()
        if (name, value) == GUARD:  # such an answer is no call of the API's
            return self._values.keep(value)
        if name.startswith(_NUMBERED) and (_COUNT.fullmatch(value) or own.is_time(value)):
            return self._values.keep(value)
        if name == "anthropic-version" and own.is_dated_version(value):
            return self._values.keep(value)
        if name == "anthropic-beta":
            return ",".join(
                self._values.keep(part) if own.is_beta(part.strip()) else self._text(part) for part in value.split(",")
            )
        if name.startswith(_CLOSED_HEADERS) and own.is_own(value.lower()):
            return self._values.keep(value)
        return self._values.scrambler.text(value, name)

    def header_name(self, name: str) -> str:
        """The name of a header."""
        return self._values.keep(name) if is_header(name.lower()) else self._text(name)

    def host(self, host: str) -> str:
        """A host: those of the API and the clouds that serve it stay, but for what is the user's in them."""
        name, colon, port = host.partition(":") if not host.startswith("[") else (host, "", "")
        if not _PORT.fullmatch(port):
            return self._text(host)
        low = name.lower().rstrip(".")
        if _LOOPBACK.fullmatch(low):
            return host
        known = next((known for known in _HOSTS if low == known or low.endswith(f".{known}")), None)
        if known is None:
            return self._text(host)
        labels = name[: len(low) - len(known)].split(".")
        kept = [
            self._values.keep(label) if label in _HOST_WORDS or _REGION.fullmatch(label) else self._text(label)
            for label in labels
        ]
        return ".".join(kept) + name[len(low) - len(known) :] + colon + port

    def path(self, path: str) -> str:
        """The path of a request: the API's own steps, models and regions stay."""
        out: list[str] = []
        before = ""
        for step in path.split("/"):
            name, colon, action = step.partition(":")
            if step in _PATH_WORDS or (before == "locations" and _REGION.fullmatch(step)):
                out.append(self._values.keep(step))
            elif before in ("model", "models"):
                colon = colon if action in _ACTIONS else ""
                whole = name if colon else step
                model = self._values.model(unquote(whole))
                out.append(
                    (whole if model == unquote(whole) else self._text(whole)) + (colon + action if colon else "")
                )
            else:
                out.append(self._text(step))
            before = step
        return "/".join(out)

    def query(self, query: str) -> str:
        """A query with its harmless values, the others scrambled."""
        out = []
        for pair in _PAIRS.split(query):
            name, equals, value = pair.partition("=")
            if name in KEPT_PARAMETERS and (own.is_own(value) or own.is_dated_version(value)):
                out.append(self._values.keep(pair))
            elif name in KEPT_PARAMETERS:
                out.append(name + equals + self._text(value))
            else:
                out.append(self._text(pair))
        return "".join(out)

    def file(self, name: str) -> str:
        """The name of a file: times and kinds stay."""
        stem, dot, ending = name.partition(".")
        begin = re.match(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}Z-|agent-", stem)
        kept = begin[0] if begin else ""
        parts = [part if part in _FILE_KINDS else self._text(part) for part in ending.split(".")] if dot else []
        own = stem in ("projects", "subagents", "captures")
        return ".".join([stem if own else kept + self._text(stem[len(kept) :]), *parts])
