"""Which proxy a client asks: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY as httpx, requests and curl read them. Pure.

The spelling in lower case goes first. A variable counts for addresses of its scheme, ALL_PROXY for those that have none
of their own; an exception keeps a host from being asked through any of them, this machine like all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Final
from urllib.parse import unquote, urlsplit

NAMES: Final = ("https_proxy", "http_proxy", "all_proxy")
PORTS: Final = {"http": 80, "https": 443}


class Unusable(Exception):
    """The environment asks for what cannot be done; the text is one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class NextProxy:
    """The proxy that was in the environment before ours. ``address`` is without ``credentials``
    (``user:password``)."""

    address: str
    credentials: str = ""


def is_named(environment: Mapping[str, str]) -> bool:
    """Whether any proxy is named at all."""
    return any(_value(environment, name) for name in NAMES)


def asked_for(environment: Mapping[str, str], scheme: str, host: str = "", port: int | None = None) -> NextProxy | None:
    """The proxy that is asked for an address (without ``host``: for any of this scheme), None when it is asked itself.
    Raises Unusable when that proxy speaks no HTTP."""
    name = f"{scheme}_proxy"
    found = _value(environment, name)
    if not found:
        name = "all_proxy"
        found = _value(environment, name)
    if not found or is_excepted(host, port or PORTS.get(scheme), no_proxy(environment), scheme):
        return None
    return _read(found, name.upper(), scheme)


def no_proxy(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The entries of NO_PROXY."""
    return tuple(filter(None, re.split(r"[,\s]+", _value(environment, "no_proxy"))))


def is_excepted(host: str, port: int | None, entries: Iterable[str], scheme: str = "") -> bool:
    """Whether NO_PROXY keeps a host from being asked through a proxy: by itself, as one of its domain (with a leading
    dot, ``*.``, or neither), by its address or a network that has it, or as all are. An entry may have a scheme and a
    port, and then holds for these alone. ``port`` None: for any port."""
    host = host.lower().rstrip(".")
    for entry in entries:
        if entry == "*":
            return True
        only, _, rest = entry.lower().rpartition("://")
        if only not in ("", "all", scheme):
            continue
        name, number = _parted(rest)
        if number is not None and port is not None and number != port:
            continue
        if _names(name, host):
            return True
    return False


def _parted(entry: str) -> tuple[str, int | None]:
    """Host and port of an entry; an IPv6 address has a port only behind brackets."""
    found = re.fullmatch(r"(\[[^\]]*\]|[^:]*):(\d{1,5})", entry)
    name, port = (found[1], int(found[2])) if found else (entry, None)
    return re.sub(r"[\[\]]", "", name), port


def _names(name: str, host: str) -> bool:
    if "/" in name or _is_address(name):
        try:
            return ip_address(host) in ip_network(name, strict=False)
        except ValueError:
            return False
    name = name.removeprefix("*.").strip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _value(environment: Mapping[str, str], name: str) -> str:
    return (environment.get(name) or environment.get(name.upper()) or "").strip()


def _read(text: str, name: str, scheme: str) -> NextProxy:
    """A proxy out of its address. Raises Unusable."""
    text = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in PORTS:
        kind = f"{parts.scheme} proxy" if host else "proxy that cannot be read"
        raise Unusable(
            f"{name} names a {kind}, and requests can go on through HTTP proxies only: "
            f"set {scheme.upper()}_PROXY to one, unset it, or name the API's host in NO_PROXY"
        )
    shown = f"[{host}]" if ":" in host else host
    user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if parts.username else ""
    return NextProxy(f"{parts.scheme}://{shown}:{port or PORTS[parts.scheme]}", user)
