"""Who it is: e-mail addresses, and the ids by which the API, its clients and a request know somebody.

An address is found from its ``@`` outwards, so a text without one costs nothing. Ids are told by the API's own form or,
in ``names``, by the name before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.detect.kinds import Span

_AT = re.compile(
    r"(?<=[A-Za-z0-9._%+\-])@((?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}(?:xn--[a-z0-9-]{2,50}|[^\W\d_]{2,24}))(?![\w@-]|\.[A-Za-z]{2,24}/)"
)
_LOCAL = re.compile(r"[A-Za-z0-9._%+'-]")
_LONGEST_LOCAL = 64
_FILES = frozenset(("png", "jpg", "jpeg", "gif", "svg", "webp", "js", "mjs", "css", "ts", "tsx", "json", "html", "txt"))
_OF_THE_VENDOR = frozenset(
    ("noreply@anthropic.com", "no-reply@anthropic.com", "support@anthropic.com", "git@github.com")
)

_USER_ID = re.compile(r"user_([0-9a-f]{16,128})_account_([0-9a-f-]{0,64})_session_([0-9a-zA-Z-]{8,64})")
_REQUEST_ID = re.compile(r"req_(?<![A-Za-z0-9_]req_)[A-Za-z0-9]{12,64}+")
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9_])(org|user|wrkspc|proj|acct)[-_]((?=[A-Za-z]*[0-9])[A-Za-z0-9]{16,64}+)(?![\w])"
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
        at = start = match.start()
        while start > 0 and at - start < _LONGEST_LOCAL and _LOCAL.match(text, start - 1):
            start -= 1
        if start > 0 and text[start - 1] == "\\" and text[start] in "nrtbf":
            start += 1  # the letter belongs to an escape
        elif start > 0 and text[start - 1] == "\\" and text[start] in "ux":
            continue  # its first characters are escaped: it is found as a whole where they are not
        while start < at and text[start] in "'.-%":
            start += 1
        if start == at or (start > 0 and text[start - 1] in ":/" and text[max(start - 3, 0) : start] == "://"):
            continue
        value = text[start : match.end()]
        if value.lower() in _OF_THE_VENDOR or value.rpartition(".")[2].lower() in _FILES or value.startswith("git@"):
            continue
        yield Span(start, match.end(), "email")
