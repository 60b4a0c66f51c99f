"""The environment of a command whose requests are to pass the proxy: pure, environment in, environment out.

Two ways in. *Forward*: the command is told of a proxy (`HTTPS_PROXY`) and of an authority to trust, and believes that
it talks to the API itself; only the hosts of APIs are decrypted, all others are tunnelled. *Reverse*: it is told
another address of the API (`ANTHROPIC_BASE_URL`), which needs no certificates, and which some clients notice.

What the user's own environment says goes on to hold: a proxy in it becomes the next one after ours, roots in it stay
trusted (`trust`), an address of the API in it stays where requests go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from addon.proxy_variables import PORTS, NextProxy, Unusable, asked_for, is_excepted, is_named, no_proxy

type Environment = Mapping[str, str]
type Way = Literal["forward", "reverse"]

API: Final = "https://api.anthropic.com"
BASE_URL: Final = "ANTHROPIC_BASE_URL"
BASE_URLS: Final = (
    BASE_URL,
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_FOUNDRY_BASE_URL",
    "ANTHROPIC_AWS_BASE_URL",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
)
"""Variables of clients of the API that say where it is."""

API_HOSTS: Final = (
    r"api\.anthropic\.com",
    r"([a-z0-9-]+\.)?bedrock-runtime(-fips)?\.[a-z0-9-]+(\.vpce)?\.amazonaws\.com(\.cn)?",
    r"bedrock-(runtime|mantle)\.[a-z0-9-]+\.api\.aws",
    r"([a-z0-9-]+-)?aiplatform\.googleapis\.com",
    r"aiplatform\.[a-z0-9-]+\.rep\.googleapis\.com",
    r"[a-z0-9-]+\.services\.ai\.azure\.com",
)
"""Where the Messages API is: of Anthropic, in Amazon Bedrock, Google Vertex AI and Microsoft Foundry."""

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_HOST: Final = re.compile(r"[\w.-]+|[0-9a-fA-F:.]+(%[\w.-]+)?")


def is_claude_code(executable: Path) -> bool:
    """Whether an executable, its links followed, is Claude Code: by the name of the file or of its npm package."""
    names = (executable, executable.resolve())
    return any(name.stem.lower() == "claude" or "claude-code" in name.parts for name in names)


def way_of(executable: Path, environment: Environment) -> Way:
    """The way that shows what the client normally sends: forward for Claude Code, which notices another base URL,
    unless it is told one on this machine already, where proxies are not asked; reverse for all others, which need no
    authority to trust then."""
    return "forward" if is_claude_code(executable) and not is_loopback(host_of(base_url(environment))) else "reverse"


def base_url(environment: Environment) -> str:
    """Where the API is: as the environment says, else Anthropic's own."""
    return environment.get(BASE_URL) or API


def without_user(url: str) -> tuple[str, str]:
    """An address without the user and password in it, and these as they stand there. Clients make a header of them
    (RFC 7617), so they belong into the address that the client is told."""
    scheme, slashes, rest = url.partition("://")
    place = re.match(r"[^/?#]*", rest)
    user, at, _ = (place[0] if place else "").rpartition("@")
    return f"{scheme}{slashes}{rest[len(user) + len(at) :]}", user


def shown(url: str) -> str:
    """Of what may be an address: where it leads, without what may be secret in it, be it well-formed or not."""
    head = re.split(r"[?#]", url, maxsplit=1)[0]
    scheme, slashes, rest = head.rpartition("://")
    return f"{scheme.rpartition('@')[2]}{slashes}{rest.rpartition('@')[2].partition('/')[0]}"


def host_of(url: str) -> str:
    """The host in an address, without a port; empty when there is none, or what stands there can be none."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        return host if _HOST.fullmatch(host) and parts.port != 0 else ""
    except ValueError:  # brackets without an end, a port beyond 65535
        return ""


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def opened(environment: Environment, more: Iterable[str] = ()) -> tuple[str, ...]:
    """Patterns of the hosts that are decrypted: of the APIs that are known, of every address of an API that the
    environment names, and ``more`` hosts, of which ``*`` stands for any characters but a dot."""
    named = [host for name in BASE_URLS if (host := host_of(environment.get(name, "")))]
    patterns = [re.escape(host) for host in named]
    patterns += [re.escape(host.strip().lower()).replace(r"\*", r"[^.]*") for host in more]
    return tuple(dict.fromkeys((*API_HOSTS, *patterns)))


def addresses(environment: Environment) -> tuple[str, ...]:
    """The addresses of APIs that a client with this environment may ask."""
    return tuple(dict.fromkeys((base_url(environment), *filter(None, map(environment.get, BASE_URLS)))))


def next_proxies(environment: Environment, way: Way, upstream: str) -> dict[str, NextProxy]:
    """The proxies that requests go on through, by scheme: those which would be asked without us. In reverse only for
    ``upstream``; in forward for all to https, which come here, and for those to http when an API is there. Raises
    Unusable when one speaks no HTTP."""
    if way == "reverse":
        parts = urlsplit(upstream)
        found = {parts.scheme: asked_for(environment, parts.scheme, parts.hostname or "", parts.port)}
    else:
        found = {"https": asked_for(environment, "https")}
        for parts in map(urlsplit, filter(_is_plain, addresses(environment))):
            if (proxy := asked_for(environment, "http", parts.hostname or "", parts.port)) is not None:
                found["http"] = proxy
    return {scheme: proxy for scheme, proxy in found.items() if proxy is not None}


def covering(environment: Environment) -> tuple[str, ...]:
    """The entries of NO_PROXY because of which an API would not be asked through a proxy."""
    apis = [urlsplit(url) for url in addresses(environment) if (host := host_of(url)) and not is_loopback(host)]
    return tuple(
        entry
        for entry in no_proxy(environment)
        if any(_excepts(entry, parts.hostname or "", parts.port, parts.scheme) for parts in apis)
    )


def _excepts(entry: str, host: str, port: int | None, scheme: str) -> bool:
    return is_excepted(host, port or PORTS.get(scheme), (entry,), scheme)


def forward(environment: Environment, proxy: str, bundles: Mapping[str, str], *, node: bool) -> dict[str, str]:
    """The environment of a command that is to ask through ``proxy`` and to trust ``bundles``, files by variable.
    ``node``: have Node.js (from 24) ask through a proxy at all, which it does not do by itself. Raises Unusable when an
    API is on this machine, where clients ask no proxy."""
    here = next((url for url in addresses(environment) if is_loopback(host_of(url))), None)
    if here is not None:
        raise Unusable(f"the API is at {shown(here)} on this machine, where no proxy is asked: use --reverse")
    made = _without(environment, ("https_proxy", "no_proxy"))
    made |= dict.fromkeys(("HTTPS_PROXY", "https_proxy"), proxy)
    if _plain_is_ours(environment):
        made = _without(made, ("http_proxy",)) | dict.fromkeys(("HTTP_PROXY", "http_proxy"), proxy)
    kept = [entry for entry in no_proxy(environment) if entry not in covering(environment)]
    made |= dict.fromkeys(("NO_PROXY", "no_proxy"), _with_loopback(kept))
    if node:
        made.setdefault("NODE_USE_ENV_PROXY", "1")
    return made | dict(bundles)


def reverse(environment: Environment, address: str, user: str = "") -> dict[str, str]:
    """The environment of a command that takes ``address`` for the API; ``user``: with the user and password that were
    in the API's own."""
    made = {**environment, BASE_URL: address.replace("://", f"://{user}@", 1) if user else address}
    if is_named(environment):
        made = _without(made, ("no_proxy",))
        made |= dict.fromkeys(("NO_PROXY", "no_proxy"), _with_loopback(no_proxy(environment)))
    return made


def _plain_is_ours(environment: Environment) -> bool:
    """Whether requests to http come to us as well: only when an API is there. They are in no tunnel, so all of them
    would be taken apart and put together again, downloads of packages among them."""
    return any(map(_is_plain, addresses(environment)))


def _is_plain(url: str) -> bool:
    return url.lower().startswith("http://") and bool(host_of(url))


def _with_loopback(entries: Iterable[str]) -> str:
    return ",".join(dict.fromkeys((*entries, *_LOOPBACK)))


def _without(environment: Environment, names: Iterable[str]) -> dict[str, str]:
    """Without these variables, however they are written."""
    lower = frozenset(names)
    return {name: value for name, value in environment.items() if name.lower() not in lower}
