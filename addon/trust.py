"""Which authorities a command trusts while it runs: those it trusted before, and the proxy's own.

The trust is in files of a temporary folder that variables of the command name. Nothing is installed anywhere, and it
ends with the command. Each variable has a file of its own, because each replaces another set of roots: what the user's
environment named for it, or what its clients would use without it. `NODE_EXTRA_CA_CERTS` adds to the roots of a
client, all the others replace them.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import certifi

AUTHORITY: Final = "mitmproxy-ca-cert.pem"
"""The proxy's own authority, in the folder of mitmproxy's configuration."""

INSTEAD: Final[Mapping[str, Sequence[str]]] = {
    "SSL_CERT_FILE": ("SSL_CERT_FILE", "SSL_CERT_DIR"),
    "REQUESTS_CA_BUNDLE": ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    "CURL_CA_BUNDLE": ("CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    "AWS_CA_BUNDLE": ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"),
}
"""Variables that name all roots of a client, each with those that its clients read, the first that is set."""

EXTRA: Final = "NODE_EXTRA_CA_CERTS"
NAMES: Final = (EXTRA, *INSTEAD, "SSL_CERT_DIR")

_SYSTEM: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Arch, Gentoo
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # Alpine, macOS, BSD
)
_CERTIFICATE: Final = re.compile(rb"-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]+-----END \1-----")
_LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a file, or of the files of a folder, of certificates."""


class Unreadable(Exception):
    """What a variable names cannot be read, or holds no certificate; the text is one sentence."""


def named(environment: Mapping[str, str]) -> dict[str, str]:
    """The files and folders of certificates that an environment names, by variable."""
    return {name: environment[name] for name in NAMES if environment.get(name)}


def sources(environment: Mapping[str, str]) -> dict[str, tuple[str, str] | None]:
    """For each variable that is to be set, the variable whose certificates it goes on to trust, with what that names;
    None: the usual ones."""
    told = named(environment)
    made: dict[str, tuple[str, str] | None] = {EXTRA: (EXTRA, told[EXTRA]) if EXTRA in told else None}
    for variable, read in INSTEAD.items():
        made[variable] = next(((name, told[name]) for name in read if name in told), None)
    return made


def usual() -> bytes:
    """The roots of this system and those of Mozilla, which Python's clients bring along, as PEM."""
    found = next((place for place in (ssl.get_default_verify_paths().openssl_cafile, *_SYSTEM) if _is_file(place)), "")
    places = [certifi.where(), *([found] if found else [])]
    return b"\n".join(Path(place).read_bytes() for place in dict.fromkeys(places))


def certificates(name: str, place: str) -> bytes:
    """The certificates in a file or a folder that a variable names, as PEM. Raises Unreadable."""
    path = Path(place).expanduser()
    try:
        files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
        if sum(file.stat().st_size for file in files) > _LARGEST:
            raise Unreadable(f"{name} names more than {_LARGEST:,} bytes of certificates: {place}")
        text = b"\n".join(file.read_bytes() for file in dict.fromkeys(map(Path.resolve, files)))
    except OSError as error:
        raise Unreadable(f"{name} names {place}, which cannot be read ({error.strerror or error})") from None
    if not _CERTIFICATE.search(text):
        raise Unreadable(f"{name} names {place}, in which there is no certificate (PEM)")
    return text


def write_roots(folder: Path, environment: Mapping[str, str], problems: list[str]) -> Path:
    """A file of all roots that a client with this environment may trust, for the proxy's own connections. What cannot
    be read is told in ``problems``, one sentence each."""
    texts = [usual()]
    for name, place in named(environment).items():
        try:
            texts.append(certificates(name, place))
        except Unreadable as error:
            problems.append(f"{error}; it is left out")
    return _written(folder / "roots.pem", texts)


def write_bundles(folder: Path, environment: Mapping[str, str], authority: bytes) -> dict[str, str]:
    """Files of what each variable trusted before, and ``authority``; by variable. What cannot be read is left out, and
    the usual roots trusted instead."""
    made = {}
    for variable, source in sources(environment).items():
        texts = [authority]
        try:
            texts += [certificates(*source)] if source else []
        except Unreadable:
            source = None  # told when the roots were written
        if source is None and variable != EXTRA:
            texts.append(usual())
        made[variable] = str(_written(folder / f"{variable.lower()}.pem", texts))
    return made


def _is_file(place: str) -> bool:
    return os.path.isfile(place) and os.access(place, os.R_OK)


def _written(path: Path, texts: Iterable[bytes]) -> Path:
    """Each certificate once, and nothing but certificates: keys may lie beside them."""
    blocks = dict.fromkeys(block[0] for text in texts for block in _CERTIFICATE.finditer(text))
    path.write_bytes(b"\n".join(blocks) + b"\n")
    return path
