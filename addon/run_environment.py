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
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

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
_PROXIES: Final = ("https_proxy", "http_proxy", "all_proxy")


class Unusable(Exception):
    """The environment asks for what cannot be done; the text is one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class NextProxy:
    """The proxy that was in the environment before ours. ``address`` is without ``credentials``
    (``user:password``)."""

    address: str
    credentials: str = ""


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


def host_of(url: str) -> str:
    """The host in an address, without a port; empty when there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
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


def next_proxy(environment: Environment) -> NextProxy | None:
    """The proxy that requests to https go through without us. Raises Unusable when it speaks no HTTP."""
    found = _proxy(environment, "https_proxy") or _proxy(environment, "all_proxy")
    if not found:
        return None
    text = found if "://" in found else f"http://{found}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in ("http", "https"):
        kind = f"{parts.scheme} proxy" if host else "proxy that cannot be read"
        raise Unusable(
            f"the environment names a {kind}, and requests can go on through HTTP proxies only: "
            "set HTTPS_PROXY to one, or unset it"
        )
    name = f"[{host}]" if ":" in host else host
    user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if parts.username else ""
    return NextProxy(f"{parts.scheme}://{name}:{port or (443 if parts.scheme == 'https' else 80)}", user)


def no_proxy(environment: Environment) -> tuple[str, ...]:
    """The entries of NO_PROXY."""
    text = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    return tuple(filter(None, re.split(r"[,\s]+", text)))


def is_excepted(host: str, entries: Iterable[str]) -> bool:
    """Whether NO_PROXY keeps a host from being asked through a proxy: by itself, as one of its domain, or as all are.
    Entries may have a leading dot or ``*.``, and a port, which is not looked at."""
    host = host.lower()
    for entry in entries:
        name = re.sub(r"(?<=[^:]):\d+$", "", entry.lower()).strip("[]").removeprefix("*.").lstrip(".")
        if entry == "*" or host == name or (name and host.endswith(f".{name}")):
            return True
    return False


def covering(environment: Environment) -> tuple[str, ...]:
    """The entries of NO_PROXY because of which an API would not be asked through a proxy."""
    hosts = [host for url in addresses(environment) if not is_loopback(host := host_of(url))]
    return tuple(entry for entry in no_proxy(environment) if any(is_excepted(host, (entry,)) for host in hosts))


def forward(environment: Environment, proxy: str, bundles: Mapping[str, str], *, node: bool) -> dict[str, str]:
    """The environment of a command that is to ask through ``proxy`` and to trust ``bundles``, files by variable.
    ``node``: have Node.js (from 24) ask through a proxy at all, which it does not do by itself. Raises Unusable when an
    API is on this machine, where clients ask no proxy."""
    here = next((url for url in addresses(environment) if is_loopback(host_of(url))), None)
    if here is not None:
        raise Unusable(f"the API is at {_shown(here)} on this machine, where no proxy is asked: use --reverse")
    made = _without(environment, ("https_proxy", "no_proxy"))
    made |= dict.fromkeys(("HTTPS_PROXY", "https_proxy"), proxy)
    if _plain_is_ours(environment):
        made = _without(made, ("http_proxy",)) | dict.fromkeys(("HTTP_PROXY", "http_proxy"), proxy)
    kept = [entry for entry in no_proxy(environment) if entry not in covering(environment)]
    made |= dict.fromkeys(("NO_PROXY", "no_proxy"), _with_loopback(kept))
    if node:
        made.setdefault("NODE_USE_ENV_PROXY", "1")
    return made | dict(bundles)


def reverse(environment: Environment, address: str) -> dict[str, str]:
    """The environment of a command that takes ``address`` for the API."""
    made = {**environment, BASE_URL: address}
    if any(_proxy(environment, name) for name in _PROXIES):
        made = _without(made, ("no_proxy",))
        made |= dict.fromkeys(("NO_PROXY", "no_proxy"), _with_loopback(no_proxy(environment)))
    return made


def _proxy(environment: Environment, name: str) -> str:
    return environment.get(name) or environment.get(name.upper()) or ""


def _plain_is_ours(environment: Environment) -> bool:
    """Whether requests to http come to us as well: only when an API is there. They are in no tunnel, so all of them
    would be taken apart and put together again, downloads of packages among them."""
    return any(url.startswith("http://") for url in addresses(environment))


def _with_loopback(entries: Iterable[str]) -> str:
    return ",".join(dict.fromkeys((*entries, *_LOOPBACK)))


def _without(environment: Environment, names: Iterable[str]) -> dict[str, str]:
    """Without these variables, however they are written."""
    lower = frozenset(names)
    return {name: value for name, value in environment.items() if name.lower() not in lower}


def _shown(url: str) -> str:
    """An address without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
