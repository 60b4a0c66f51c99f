"""Secrets told by their own shape: keys and tokens with a known beginning, private keys, JSON web tokens, addresses
with credentials, credentials of headers.

A table of beginnings, each with the rest of its shape. A beginning is first looked for as plain text, which costs next
to nothing; the patterns begin with it, without a condition before, for which the engine has a fast search. None starts
with a repetition, and each repetition is possessive or bounded: O(characters) whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.detect.kinds import Span
from analyzers.detect.placeholders import is_placeholder

_FREE = r"(?<![A-Za-z0-9])"
_WIDE = r"[A-Za-z0-9_-]"
_PLAIN = r"[A-Za-z0-9]"

# The beginning, and what follows it. The makers of these tokens document the beginnings for this very use.
_SHAPES = (
    ("sk-ant-", rf"sk-ant-{_WIDE}{{12,}}+"),
    ("sk-", rf"sk-(?!ant-){_WIDE}{{18,}}+"),
    ("pk-lf-", r"pk-lf-[0-9a-f-]{30,}+"),
    ("gsk_", rf"gsk_{_PLAIN}{{20,}}+"),
    ("xai-", rf"xai-{_PLAIN}{{20,}}+"),
    ("pplx-", rf"pplx-{_PLAIN}{{20,}}+"),
    ("hf_", rf"hf_{_PLAIN}{{20,}}+"),
    ("r8_", rf"r8_{_PLAIN}{{20,}}+"),
    ("glpat-", rf"glpat-[A-Za-z0-9_.-]{{16,}}+"),
    ("gldt-", rf"gldt-{_WIDE}{{16,}}+"),
    ("glrt-", rf"glrt-[A-Za-z0-9_.-]{{16,}}+"),
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{20,}+"),
    ("gh", rf"gh[pousr]_{_PLAIN}{{20,}}+"),
    ("npm_", rf"npm_{_PLAIN}{{20,}}+"),
    ("pypi-", rf"pypi-{_WIDE}{{32,}}+"),
    ("AKIA", r"AKIA[A-Z0-9]{12,}+"),
    ("ASIA", r"ASIA[A-Z0-9]{12,}+"),
    ("ABSK", r"ABSK[A-Za-z0-9+/]{40,}+={0,2}"),
    ("bedrock-api-key-", r"bedrock-api-key-[A-Za-z0-9+/]{20,}+={0,2}"),
    ("xox", rf"xox[abeoprs](?:\.xox[a-z])?-{_WIDE}{{8,}}+"),
    ("xapp-", rf"xapp-{_WIDE}{{16,}}+"),
    ("AIza", rf"AIza{_WIDE}{{30,}}+"),
    ("ya29.", rf"ya29\.{_WIDE}{{20,}}+"),
    ("GOCSPX-", rf"GOCSPX-{_WIDE}{{20,}}+"),
    ("1//0", rf"1//0{_WIDE}{{30,}}+"),
    ("sk_live_", rf"sk_live_{_PLAIN}{{16,}}+"),
    ("rk_live_", rf"rk_live_{_PLAIN}{{16,}}+"),
    ("sk_test_", rf"sk_test_{_PLAIN}{{16,}}+"),
    ("rk_test_", rf"rk_test_{_PLAIN}{{16,}}+"),
    ("whsec_", r"whsec_[A-Za-z0-9+/]{20,}+={0,2}"),
    ("SG.", rf"SG\.{_WIDE}{{16,40}}+\.{_WIDE}{{16,}}+"),
    ("key-", r"key-[0-9a-f]{32}(?![0-9a-f])"),
    ("SK", r"SK[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("dp.", rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_PLAIN}{{30,}}+"),
    ("hvs.", rf"hvs\.{_WIDE}{{20,}}+"),
    ("hvb.", rf"hvb\.{_WIDE}{{20,}}+"),
    ("shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{24,}+"),
    ("lin_api_", rf"lin_api_{_PLAIN}{{20,}}+"),
    ("ntn_", rf"ntn_{_PLAIN}{{20,}}+"),
    ("figd_", rf"figd_{_WIDE}{{20,}}+"),
    ("dckr_pat_", rf"dckr_pat_{_WIDE}{{16,}}+"),
    ("dop_v1_", r"dop_v1_[0-9a-f]{32,}+"),
    ("doo_v1_", r"doo_v1_[0-9a-f]{32,}+"),
    ("sntrys_", r"sntrys_[A-Za-z0-9+/=_-]{20,}+"),
    ("sbp_", r"sbp_[0-9a-f]{32,}+"),
    ("sb_secret_", rf"sb_secret_{_WIDE}{{16,}}+"),
    ("PMAK-", r"PMAK-[0-9a-f]{16,}+-[0-9a-f]{16,}+"),
    ("nvapi-", rf"nvapi-{_WIDE}{{20,}}+"),
    ("tvly-", rf"tvly-{_WIDE}{{16,}}+"),
    ("lsv2_", r"lsv2_[a-z]{2}_[0-9a-f]{20,}+_[0-9a-f]{6,}+"),
    ("phc_", rf"ph[cx]_{_PLAIN}{{24,}}+"),
    ("phx_", rf"phx_{_PLAIN}{{24,}}+"),
    ("atlasv1.", rf"{_PLAIN}{{14}}\.atlasv1\.{_WIDE}{{40,}}+"),
    ("ATATT3", r"ATATT3[A-Za-z0-9_=-]{40,}+"),
    ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}+"),
    ("EAACEdEose0cBA", r"EAACEdEose0cBA[A-Za-z0-9]{10,}+"),
    ("sq0", rf"sq0[a-z]{{3}}-{_WIDE}{{20,}}+"),
    ("fc-", r"fc-[0-9a-f]{32}(?![0-9a-f])"),
    ("co_", rf"co_{_PLAIN}{{38,}}+"),
    ("hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}+"),
    ("/api/webhooks/", rf"discord(?:app)?\.com/api/webhooks/[0-9]{{10,25}}/{_WIDE}{{30,}}+"),
    (":AA", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,64}+"),
)
# ruff: noqa: F541 - all shapes are written alike
_KEYS = tuple((sign, re.compile(shape)) for sign, shape in _SHAPES)
_DIGIT = re.compile("[0-9]")
_DIFFERENT = 18
_OVERLAP = 12  # characters of a beginning
_ALNUM = re.compile("[A-Za-z0-9]")

_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(r"(?:[A-Za-z0-9+/=:,\s]|-(?!-)|\\{1,8}[nrt]){40,}+")
_PEM_LONGEST = 20_000
_JWT = re.compile(rf"eyJ(?<![A-Za-z0-9]eyJ){_WIDE}{{8,}}+\.(?:{_WIDE}{{8,}}+(?:(?:\.{_WIDE}++){{1,3}}|\.))")

_ADDRESS = re.compile(r"(?<![A-Za-z0-9])([A-Za-z][A-Za-z0-9+.-]{1,30})://([^\s\"'`<>\\|]{3,2000})")
_HOST = re.compile(r"\[?[A-Za-z0-9][A-Za-z0-9.:-]{0,253}\]?(?:,[A-Za-z0-9.:-]{1,253}){0,8}(?=[/?#]|$|[).,;\]}])")
_WEB = frozenset(
    ("http", "https", "ws", "wss", "ssh", "git", "ftp", "ftps", "sftp", "git+https", "git+ssh", "smtp", "smtps")
)

_SCHEME = re.compile(r"(?<![A-Za-z0-9])(?:Bearer|Basic|Negotiate|bearer|basic)[ \t]{1,4}([A-Za-z0-9._~+/=-]{12,}+)")
_HEADER = re.compile(
    r"(?<![A-Za-z0-9])(?:proxy-)?authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"'\[]{0,2}"
    r"(?:(?:digest|aws4-hmac-sha256)[ \t]{1,4}([^\r\n`]{8,4000})"
    r"|(?:(?:bearer|basic|token|apikey|negotiate)[ \t]{1,4})?([^\s\"'`\\,]{8,4000}))",
    re.IGNORECASE,
)
_COOKIE = re.compile(
    r"(?<![A-Za-z0-9])(?:set-)?cookie2?[\"']?[ \t]{0,4}:[ \t]{0,4}[\"'\[]{0,2}"
    r"([^\r\n\"'`\\=;\s]{1,100}=[^\r\n\"'`\\]{4,4000})",
    re.IGNORECASE,
)


def spans(text: str) -> Iterator[Span]:
    """The secrets in one text that have a shape of their own."""
    yield from _keys(text)
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)
    if "eyJ" in text:
        yield from (Span(*match.span(), "jwt") for match in _JWT.finditer(text))
    if "://" in text and "@" in text:
        yield from _addresses(text)
    yield from _headers(text)


def _keys(text: str) -> Iterator[Span]:
    for sign, shape in _KEYS:
        at = 0 if sign in text else -1
        while at >= 0 and (match := shape.search(text, at)) is not None:
            start = match.start()
            at = max(match.end() - _OVERLAP, start + 1)  # the beginning of the next key may look like the end of this
            if start > 0 and _ALNUM.match(text, start - 1):
                at = start + 1  # the middle of a word; a key may still begin behind it
                continue
            body = match[0].removeprefix(sign)
            if not _stands_for(body) and (len(sign) > 4 or sign.isupper() or not all(map(_is_word, body.split("-")))):
                yield Span(*match.span(), "api_key")


def _stands_for(body: str) -> bool:
    """Whether the rest of a key is a placeholder: ``your-key-here``. By chance such words are in random characters too,
    of which there are more different ones."""
    return is_placeholder(body) and len(set(body)) < _DIFFERENT


def _is_word(part: str) -> bool:
    """Whether it may be one of the words of ``sk-learn-compatible-estimators``, which begins like a key."""
    return part.isalpha() and (part.islower() or part.istitle() or part.isupper()) if part else True


def _private_keys(text: str) -> Iterator[Span]:
    at = 0
    while (match := _PEM.search(text, at)) is not None:
        body = _PEM_BODY.match(text, match.end(), match.end() + _PEM_LONGEST)
        at = match.end()
        if body is not None:
            at = body.end()
            end = text.find("-----", at, at + 100)
            yield Span(match.start(), at if end < 0 else end, "private_key")


def _addresses(text: str) -> Iterator[Span]:
    """Addresses with user info. A password may hold what should have been encoded (``@ : /``): in the address of a
    database the last ``@`` before something like a host ends it; on the web the first slash does."""
    for match in _ADDRESS.finditer(text):
        scheme, rest = match[1].lower(), match[2]
        web = scheme in _WEB
        until = len(rest)
        if web:
            until = min((at for sign in "/?#" if (at := rest.find(sign)) >= 0), default=until)
        at = rest.rfind("@", 0, until)
        while at > 0 and not web and _HOST.match(rest, at + 1) is None:
            at = rest.rfind("@", 0, at)
        if at <= 0:
            continue
        start = match.start(2)
        user, colon, password = rest[:at].partition(":")
        if web and not is_placeholder(password or user) and (colon or len(user) > 15):
            yield Span(start, start + at, "url_credentials")
        elif not web and colon and password and not is_placeholder(password):
            yield Span(match.start(), start + len(rest.rstrip(").,;]}")), "connection_string")


def _headers(text: str) -> Iterator[Span]:
    if "earer" in text or "asic" in text or "egotiate" in text:
        for match in _SCHEME.finditer(text):
            if not is_placeholder(match[1]) and not match[1].isalpha():
                yield Span(*match.span(1), "authorization")
    lower = text.lower() if "uthorization" in text or "ookie" in text or "AUTHORIZATION" in text else ""
    if "authorization" in lower:
        for match in _HEADER.finditer(text):
            group = 1 if match[1] else 2
            value = match[group].rstrip(" ,]})\"'\\")
            if not is_placeholder(value) and _DIGIT.search(value):
                yield Span(match.start(group), match.start(group) + len(value), "authorization")
    if "cookie" in lower:
        for match in _COOKIE.finditer(text):
            value = match[1].rstrip(" ,]})")
            if not is_placeholder(value):
                yield Span(match.start(1), match.start(1) + len(value), "authorization")
