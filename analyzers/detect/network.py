"""Addresses of machines: IPv4 and IPv6, hardware addresses, names that only an inner network knows.

Numbers with dots are versions as often as addresses: not taken behind a word for a version, behind ``Name/`` as in a
user agent, or where more dots follow; where a sign of versions stands beside them, only those of an inner network, and
large ones, are taken. Loopback and unspecified addresses say nothing of anybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv6Address

from analyzers.detect.kinds import Span

_V4 = re.compile(r"[0-9](?<![A-Za-z0-9].)(?<![0-9]\..)[0-9]{0,2}(?:\.[0-9]{1,3}){3}(?![A-Za-z0-9]|\.[0-9])")
_COLONS = re.compile(r"[0-9A-Fa-f:]{2,}+")
_LONGEST_V6 = 45
_MAC = re.compile(
    r"[0-9A-Fa-f](?<![A-Za-z0-9].)(?<!(?<![A-Za-z0-9])[0-9A-Fa-f]{2}[:-].)[0-9A-Fa-f]([:-])"
    r"(?:[0-9A-Fa-f]{2}\1){4}(?:[0-9A-Fa-f]{2}\1[0-9A-Fa-f]{2}\1)?[0-9A-Fa-f]{2}"
    r"(?![A-Za-z0-9]|[:-][0-9A-Fa-f]{2}(?![A-Za-z0-9]))"
)
_VERSION = re.compile(r"(?:version|release|build|(?<![A-Za-z])(?:ver|v))[\s\"':=]{0,4}$", re.IGNORECASE)
_PINNED = re.compile(r"(?:[=><~]=|\^)[\s\"':=]{0,4}$")
_BEHIND = frozenset("=^ \t\r\n\"':")  # what stands between a word for a version and its number
_NOBODYS = frozenset((0, 127, 255))
_AGENT = re.compile(r"(?:^|[\s\"'`(;,])[A-Z][\w+-]{1,40}/$")
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
        value = match[0]
        parts = [int(part) for part in value.split(".")]
        if max(parts) > 255 or parts[0] in _NOBODYS or value.endswith(".0.0.0") or any(map(_padded, value.split("."))):
            continue  # Chrome/120.0.0.0 and the like; a net is no machine
        before = text[max(match.start() - 48, 0) : match.start()]
        sign = before[-1:]
        beside = sign == "-" or text[match.end() : match.end() + 1] == "-"
        if sign in _BEHIND and _VERSION.search(before, max(len(before) - 16, 0)):
            continue
        if sign == "/" and _AGENT.search(before):
            continue
        if (beside or (sign in _BEHIND and _PINNED.search(before))) and not _is_plain(parts):
            continue  # name-1.2.3.4.tar.gz, 1.2.3.4-beta, ==1.2.3.4
        yield Span(*match.span(), "ip_address")


def _padded(part: str) -> bool:
    return part[0] == "0" and len(part) > 1


def _is_plain(parts: list[int]) -> bool:
    """Whether four numbers can hardly be a version: those of an inner network, and large ones."""
    first, second = parts[:2]
    inner = first == 10 or (first == 172 and 16 <= second < 32) or (first == 192 and second == 168)
    return inner or sum(part > 99 for part in parts) > 1


def _v6(text: str) -> Iterator[Span]:
    """From a stretch of hexadecimal digits and colons: the address in it may have a name and a colon before it."""
    for match in _COLONS.finditer(text):
        value = match[0]
        if value.count(":") < 2 or match.end() - match.start() > _LONGEST_V6:
            continue
        before = text[match.start() - 1 : match.start()]
        after = text[match.end() : match.end() + 1]
        if (after.isascii() and after.isalnum()) or (before == "." and value[0] != ":"):
            continue
        start, end = match.span()
        if value[-1] == ":" and value[-2] != ":":
            value, end = value[:-1], end - 1
        if value[0] == ":" and value[1] != ":":
            value, start = value[1:], start + 1
        elif before.isascii() and before.isalnum():
            name = value.index(":") + 1  # the end of a word, which is no part of the address
            value, start = value[name:], start + name
        address = _address(value)
        if address is None and (name := value.find(":") + 1) > 0 and (address := _address(value[name:])) is not None:
            start += name
        if address is not None and not address.is_loopback:
            yield Span(start, end, "ip_address")


def _address(value: str) -> IPv6Address | None:
    groups = [group for group in value.split(":") if group]
    if len(groups) < 3 or not any(map(str.isdigit, value)) or ("::" not in value and len(groups) != 8):
        return None
    try:
        return IPv6Address(value)
    except AddressValueError:
        return None


def _inner(text: str) -> Iterator[Span]:
    for match in _INNER.finditer(text):
        value = match[0]
        labels = value.split(".")
        before = text[max(match.start() - 6, 0) : match.start()]
        after = text[match.end() : match.end() + 2]
        port = after[:1] == ":" and after[1:].isdigit()
        if len(labels) > 2 or port or any(c.isdigit() or c == "-" for c in value) or _ADDRESSED.search(before):
            yield Span(*match.span(), "host_name")
