"""Addresses of machines: IPv4 and IPv6, hardware addresses, names that only an inner network knows.

Numbers with dots are versions as often as addresses: not taken behind a word for a version, behind ``Name/`` as in a
user agent, or where more dots follow. Loopback and unspecified addresses say nothing of anybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from analyzers.detect.kinds import Span

_V4 = re.compile(r"[0-9](?<![\w.-].)[0-9]{0,2}(?:\.[0-9]{1,3}){3}(?![\w-]|\.[\w])")
_V6 = re.compile(r"[0-9A-Fa-f:](?<![\w:.].)(?:(?<!:)[0-9A-Fa-f]{0,3})(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])")
_MAC = re.compile(r"[0-9A-Fa-f](?<![\w:-].)[0-9A-Fa-f]([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![\w:-])")
_VERSION = re.compile(r"(?:version|release|build|ver|v|==|>=|<=|~=|\^)[\s\"':=]{0,4}$", re.IGNORECASE)
_AGENT = re.compile(r"[A-Za-z]/$")
_INNER = re.compile(
    r"(?<![\w.@%-])(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,6}"
    r"(?:internal|corp|lan|intranet|intra|localdomain|local|home\.arpa)(?![\w-]|\.[A-Za-z0-9]|\()"
)
_ADDRESSED = re.compile(r"(?://|@|ssh |ping |curl |host |Host: )$")


def spans(text: str) -> Iterator[Span]:
    """The addresses in one text."""
    if "." in text:
        yield from _v4(text)
        yield from _inner(text)
    if ":" in text:
        yield from _v6(text)
    if ":" in text or "-" in text:
        for match in _MAC.finditer(text):
            if len(set(match[0].lower().replace("-", ":").split(":"))) > 2:
                yield Span(*match.span(), "mac_address")


def _v4(text: str) -> Iterator[Span]:
    for match in _V4.finditer(text):
        try:
            address = IPv4Address(match[0])
        except AddressValueError:
            continue
        before = text[max(match.start() - 16, 0) : match.start()]
        if address.is_loopback or address.is_unspecified or int(address) == 0xFFFFFFFF:
            continue
        if _VERSION.search(before) or _AGENT.search(before):
            continue
        if match[0].endswith(".0.0.0") or match[0].startswith("0."):
            continue  # Chrome/120.0.0.0 and the like; a net is no machine
        yield Span(*match.span(), "ip_address")


def _v6(text: str) -> Iterator[Span]:
    for match in _V6.finditer(text):
        value = match[0]
        groups = [group for group in value.split(":") if group]
        if len(groups) < 3 or not any(map(str.isdigit, value)) or ("::" not in value and len(groups) != 8):
            continue
        try:
            address = IPv6Address(value)
        except AddressValueError:
            continue
        if not address.is_loopback:
            yield Span(*match.span(), "ip_address")


def _inner(text: str) -> Iterator[Span]:
    for match in _INNER.finditer(text):
        value = match[0]
        labels = value.split(".")
        before = text[max(match.start() - 6, 0) : match.start()]
        after = text[match.end() : match.end() + 2]
        port = after[:1] == ":" and after[1:].isdigit()
        if len(labels) > 2 or port or any(c.isdigit() or c == "-" for c in value) or _ADDRESSED.search(before):
            yield Span(*match.span(), "host_name")
