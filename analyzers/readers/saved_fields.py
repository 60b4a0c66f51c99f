"""The loosely typed members of a saved exchange: addresses, headers, times, numbers.

Programs that save HTTP as JSON agree on names more than on types. What cannot be understood is None here, never a
guess. Nothing raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from analyzers.readers.wired import Headers, header
from analyzers.wire.headers import keep_path, keep_query
from analyzers.wire.jsontext import Json, Number

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/?#]*)([^#]*)", re.DOTALL)
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?")
_ANY_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^\s\"'<>]+")
_PORTS = {"http": 80, "ws": 80}
_FAR = 1e11  # a number above is no time in seconds but one in milliseconds
_KEPT = 300


@dataclass(frozen=True, slots=True)
class Address:
    """Where a request went. ``path`` with its query, without what follows a ``#``; user info is dropped."""

    scheme: str
    host: str
    port: int
    path: str


def address(url: Json) -> Address | None:
    """The parts of an absolute URL; None where it is none."""
    found = _URL.match(url) if type(url) is str else None
    if found is None:
        return None
    scheme = found[1].lower()
    host = _HOST.match(found[2].rpartition("@")[2])
    assert host is not None
    path = found[3] if found[3].startswith("/") else "/" + found[3]
    return Address(scheme, host[1].lower(), int(host[2] or _PORTS.get(scheme, 443)), path)


def headers_of(value: Json) -> Headers:
    """Header fields in order, repeated ones kept: from a list of ``{name, value}`` or ``[name, value]``, or from an
    object. Pseudo-header fields (``:path``; RFC 9113 §8.3) are none."""
    pairs: list[tuple[Json, Json]] = []
    if type(value) is dict:
        for name, held in value.items():
            pairs += [(name, each) for each in (held if type(held) is list else [held])]
    elif type(value) is list:
        for field in value:
            if type(field) is dict:
                pairs.append((field.get("name"), field.get("value")))
            elif type(field) is list and len(field) == 2:
                pairs.append((field[0], field[1]))
    return tuple(
        (name, value if type(value) is str else "" if value is None else str(value))
        for name, value in pairs
        if type(name) is str and name and not name.startswith(":") and type(value) not in (dict, list)
    )


def length_told(headers: Headers) -> int | None:
    """Bytes of the body by its ``content-length``."""
    told = header(headers, "content-length")
    return int(told) if told is not None and re.fullmatch(r"[0-9]{1,15}", told) else None


def seconds_of(value: Json) -> float | None:
    """Seconds since the epoch of an RFC 3339 time with its offset, or of a number of seconds or milliseconds. None: it
    is neither, or the time has no offset and so could be any of a day."""
    try:
        if type(value) is str:
            moment = datetime.fromisoformat(value.strip())
            if moment.tzinfo is None:
                return None
            seconds = moment.timestamp()
        else:
            told = number(value)
            if told is None or told <= 0:
                return None
            seconds = told / 1000 if told > _FAR else told
        datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return seconds


def number(value: Json) -> float | None:
    """A finite number; None for anything else."""
    if type(value) not in (int, float, Number):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if found - found == 0 else None


def count(value: Json) -> int | None:
    """A whole number from 0; None for anything else: -1 stands for unknown in a HAR."""
    found = number(value)
    return int(found) if found is not None and found >= 0 and found == int(found) else None


def told(text: Json) -> str | None:
    """A program's own sentence about a failure, shortened, with user info and parameters of URLs in it left out. None:
    there is none."""
    if type(text) is not str or not text.strip():
        return None
    return _ANY_URL.sub(_bare, text.strip()[:_KEPT])


def _bare(found: re.Match[str]) -> str:
    path, question, query = keep_path(found[0]).partition("?")
    return path + question + keep_query(query)
