"""Who it is: e-mail addresses, and the ids by which the API, its clients and a request know somebody.

An address is found from its ``@`` outwards, so a text without one costs nothing. Ids are told by the API's own form or,
in ``names``, by the name before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.detect.kinds import Span

_AT = re.compile(
    r"@(?<=[A-Za-z0-9._%+\-]@)(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}"
    r"(?:xn--[a-z0-9-]{2,50}|[A-Za-z]{2,24}(?![A-Za-z0-9])|[^\W\d_A-Za-z]{2,24})"
)
_LOCAL = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+'-"
_CODED = re.compile(r"%(?!2[BbDdEe5]|5[Ff])[0-9A-Fa-f]{2}")
"""Encoded characters that are in no address."""
_LONGEST_LOCAL = 64
_FILES = frozenset(("png", "jpg", "jpeg", "gif", "svg", "webp", "js", "mjs", "css", "ts", "tsx", "json", "html", "txt"))
_NOBODY = frozenset(("git", "user", "username", "root", "admin", "postgres", "hg", "svn", "me", "you"))
_OF_THE_VENDOR = frozenset(
    ("noreply@anthropic.com", "no-reply@anthropic.com", "support@anthropic.com", "git@github.com")
)

_USER_ID = re.compile(r"user_([0-9a-f]{16,128})_account_([0-9a-f-]{0,64})_session_([0-9a-zA-Z-]{8,64})")
_REQUEST_ID = re.compile(r"req_(?<![A-Za-z0-9]req_)(?=[A-Za-z]*[0-9])[A-Za-z0-9]{12,64}+")
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9])(org|user|wrkspc|proj|acct)[-_]((?=[A-Za-z]*[0-9])[A-Za-z0-9]{16,64}+)(?![A-Za-z0-9]|_account_)"
)
_PREFIXES = {
    "org": "organization_id",
    "wrkspc": "organization_id",
    "proj": "organization_id",
    "user": "user_id",
    "acct": "account_id",
}


def spans(text: str) -> Iterator[Span]:
    """The addresses and ids in one text."""
    if "@" in text:
        yield from _addresses(text)
    if "_session_" in text:
        for match in _USER_ID.finditer(text):
            for group, kind in ((1, "device_id"), (2, "account_id"), (3, "session_id")):
                if match[group]:
                    yield Span(*match.span(group), kind)
    if "req_" in text:
        yield from (Span(*match.span(), "request_id") for match in _REQUEST_ID.finditer(text))
    if any(sign in text for sign in ("org-", "org_", "user-", "user_", "wrkspc_", "proj_", "acct_")):
        yield from (Span(*match.span(), _PREFIXES[match[1]]) for match in _PREFIXED.finditer(text))


def _addresses(text: str) -> Iterator[Span]:
    for match in _AT.finditer(text):
        at = match.start()
        before = text[max(at - _LONGEST_LOCAL, 0) : at]
        start = _begin(text, at - len(before) + len(before.rstrip(_LOCAL)), at)
        if start == at:
            continue
        name, end = text[start:at].lower(), match.end()
        domain = text[at + 1 : end].lower()
        if f"{name}@{domain}" in _OF_THE_VENDOR or domain.rpartition(".")[2] in _FILES or name == "git":
            continue
        if name in _NOBODY and text[max(start - 3, 0) : start] == "://":
            continue
        yield Span(start, end, "email")


def _begin(text: str, start: int, at: int) -> int:
    """Where an address begins that ends in a text at its ``@``; there, when it begins within an escape: it is found as
    a whole where that is undone."""
    for coded in _CODED.finditer(text, start, at):
        start = coded.end()
    if start > 0 and text[start - 1] == "\\":
        if text[start] in "nrtbf":
            start += 1  # the letter belongs to the escape
        elif text[start] in "ux":
            return at
    while start < at and text[start] in "'.-%":
        start += 1
    return start
