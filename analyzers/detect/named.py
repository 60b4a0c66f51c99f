"""Values told by the name before them in a text: assignments, members of JSON in a text, headers, parameters of an
address, labelled lines, dumps of environment variables.

``NAME = value`` in all its forms is found by one pattern that is tried once at the beginning of each name; ``names``
says what the name means. Lines are walked once. O(characters).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.detect.kinds import Span
from analyzers.detect.names import ID, IDS, kind_of, said_by
from analyzers.detect.placeholders import is_placeholder

_ASSIGNED = re.compile(
    r"(?<![A-Za-z0-9_.])(?<![A-Za-z0-9_.]-)([A-Za-z_][A-Za-z0-9_.-]{1,80}+)(\\{0,8}[\"'`]|\*\*)?"
    r"[ \t]{0,8}(?::=|=>|[=:])(?:\*\*)?[ \t]{0,8}(?=[^\s=])"
)
_OPTION = re.compile(r"(?<![A-Za-z0-9-])--([a-z][a-z0-9-]{1,40}+)[ \t]{1,4}(?=[^\s=-])")
_ELEMENT = re.compile(r"<([A-Za-z_][A-Za-z0-9_.-]{1,80}+)>([^<>\s]{4,8192}+)</")
_QUOTED = re.compile(r"(\\{0,8})([\"'`])")
_BARE = re.compile(r"[^\s\"'`,;)}\]<>&|]{1,8192}")
_TO_END = re.compile(r"[^\r\n\"',;<>(]{1,120}")
_LONGEST_QUOTED = 8192
_LONG = 256
_PEOPLE = frozenset(("git_identity", "person"))

_LABEL = re.compile(
    r"^[ \t>*•·-]{0,8}(?:\*\*)?((?:current |main |git |os |user(?:'s)? |host |full |machine |computer )?"
    r"(?:branch|user|name|hostname|login|username|e-?mail user|author|committer|phone|account|remote|version|identity))"
    r"(?: \([^)\n]{0,80}\))?(?:\*\*)?:(?:\*\*)?[ \t]{1,8}([^\r\n]{2,160})",
    re.IGNORECASE | re.MULTILINE,
)
_LABELS = {
    "currentbranch": "git_branch", "mainbranch": "git_branch", "gitbranch": "git_branch", "branch": "git_branch",
    "gituser": "git_identity", "author": "git_identity", "committer": "git_identity", "gitauthor": "git_identity",
    "gitcommitter": "git_identity", "username": "user_name", "user": "user_name", "currentuser": "user_name",
    "login": "user_name", "usersname": "person", "fullname": "person", "hostname": "host_name",
    "machinename": "host_name", "computername": "host_name", "userphone": "phone", "phone": "phone",
    "gitremote": "git_remote", "remote": "git_remote", "gitidentity": "git_identity",
}  # fmt: skip
_OS = re.compile(r"^[ \t>*-]{0,8}OS Version:[ \t]*([^\r\n]{3,160})", re.MULTILINE)
_UNAME = re.compile(
    r"(?<![A-Za-z0-9_])(?:Linux|Darwin|FreeBSD|MINGW64_NT-[0-9.-]{1,20}) ([A-Za-z0-9][A-Za-z0-9._-]{1,252}) "
    r"([0-9]+\.[0-9][^\r\n]{0,200})"
)
_PROMPT = re.compile(
    r"(?<![A-Za-z0-9._@/-])([a-z_][a-z0-9_.-]{0,31})@([A-Za-z0-9][A-Za-z0-9.-]{1,62}):"
    r"[~/][^\r\n\s]{0,200}[ ]?[$#%](?=\s|$)"
)
_LISTED = re.compile(
    r"^[bcdlps-][rwxsStT-]{9}[.+@]?\s{1,4}[0-9]{1,6}\s{1,4}([A-Za-z0-9_][A-Za-z0-9_.-]{0,31})"
    r"\s{1,16}([A-Za-z0-9_][\w. -]{0,31}?)\s{1,16}[0-9]",
    re.MULTILINE,
)

_NUMBERED = r"(?:[0-9]{1,6}(?:\t|→|[|:] ?))?[+-]?[ \t]{0,8}"  # as files are shown with their line numbers, or a diff
_VARIABLE = re.compile(
    rf"^\ufeff?[ \t]{{0,8}}{_NUMBERED}(?:export |set |declare -x |ENV )?"
    rf"(?:(?=[A-Z])[A-Z0-9_]{{1,80}}+|_[A-Z0-9_]{{1,80}}+)=([^\n]*+)",
    re.MULTILINE,
)
_BETWEEN = re.compile(rf"[ \t]{{0,8}}{_NUMBERED}(?:#.*|[A-Za-z_][A-Za-z0-9_]{{0,80}}=.*)?\r?")
_FEWEST = 3
_GAP = 3
_GAP_CHARS = 2000
_SHORTEST = 4


def spans(text: str) -> Iterator[Span]:
    """The values in one text that a name before them tells."""
    if "=" in text or ":" in text or "--" in text:
        yield from _assigned(text)
    if "</" in text:
        yield from _elements(text)
    if ":" in text:
        yield from _labelled(text)
    if "=" in text and "\n" in text:
        yield from _dumped(text)
    if "rw" in text:
        for match in _LISTED.finditer(text):
            for group in (1, 2):
                if kind_of("user_name", match[group].strip(), literal=True):
                    yield Span(match.start(group), match.start(group) + len(match[group].strip()), "user_name")


def by_key(text: str, key: str) -> Iterator[Span]:
    """What a JSON key, or the name of a header, says of the whole string under it."""
    named = said_by(key)
    if named is not None and text:
        kind = kind_of(named, text, literal=True)
        if kind is not None:
            yield Span(0, len(text), kind)


def _assigned(text: str) -> Iterator[Span]:
    behind = 0
    for shape in (_ASSIGNED, _OPTION) if "--" in text else (_ASSIGNED,):
        for match in shape.finditer(text):
            named = said_by(match[1])
            if named is None or named == "path" or match.start() < behind:
                continue
            quoted = _QUOTED.match(text, match.end())
            if named in _GUESSED and quoted is None:
                continue
            begin, end, literal = _value(text, match.end(), quoted, named in _PEOPLE)
            if named in IDS and not literal:
                end = begin if (fits := ID.match(text, begin, end)) is None else fits.end()
            if end - begin > _LONG:
                behind = end  # what is that long is no list of assignments, and is not read again for each
            kind = kind_of(named, text[begin:end], literal=literal) if end > begin else None
            if kind is not None and (literal or named not in _GUESSED):
                yield Span(begin, end, kind)
        behind = 0


def _elements(text: str) -> Iterator[Span]:
    for match in _ELEMENT.finditer(text):
        named = said_by(match[1])
        kind = kind_of(named, match[2], literal=True) if named is not None else None
        if kind is not None:
            yield Span(*match.span(2), kind)


_GUESSED = frozenset(("user_name", "person", "git_branch", "git_identity", "git_remote", "phone"))
"""Names that are words of every program: there the value must be quoted; labelled lines and dumps are told apart from
programs by their form."""


def _value(text: str, at: int, quote: re.Match[str] | None, person: bool) -> tuple[int, int, bool]:
    """Begin and end of the value at a position, and whether it was in quotes."""
    if quote is not None:
        begin = quote.end()
        end = text.find(quote[0], begin, begin + _LONGEST_QUOTED)
        if end >= 0 and "\n" not in text[begin:end]:
            return begin, end, True
        at = begin
    bare = (_TO_END if person else _BARE).match(text, at)
    if bare is None:
        return at, at, False
    end = bare.end()
    while end > bare.start() and (text[end - 1] in ".:\\!?" or (text[end - 1] in " \t")):
        end -= 1
    return bare.start(), end, False


def _labelled(text: str) -> Iterator[Span]:
    for match in _LABEL.finditer(text):
        label = "".join(filter(str.isalpha, match[1].lower()))
        named = _LABELS.get(label)
        if named is None:
            continue
        value = match[2].split(" <")[0].split(" (")[0].strip().rstrip(".,;").strip("`*\"'")
        if " " in value and named not in ("git_identity", "person", "phone"):
            continue
        kind = kind_of(named, value, literal=True) if value else None  # type: ignore[arg-type]
        if kind is not None:
            begin = text.index(value, match.start(2))
            yield Span(begin, begin + len(value), kind)
    if "OS Version" in text:
        yield from (Span(*match.span(1), "os_version") for match in _OS.finditer(text))
    for match in _UNAME.finditer(text) if "Linux " in text or "Darwin " in text or "_NT-" in text else ():
        yield Span(*match.span(1), "host_name")
        yield Span(*match.span(2), "os_version")
    if "@" in text:
        for match in _PROMPT.finditer(text):
            yield Span(*match.span(1), "user_name")
            yield Span(*match.span(2), "host_name")


def _dumped(text: str) -> Iterator[Span]:
    """The values of a dump: at least three lines of assignments to capital names, with at most a few blank, comment or
    continued lines between them."""
    held: list[Span] = []
    lines = end = 0
    for match in _VARIABLE.finditer(text):
        if lines and not _goes_on(text, end, match.start()):
            if lines >= _FEWEST:
                yield from held
            held, lines = [], 0
        lines, end = lines + 1, match.end()
        span = _variable(match)
        if span is not None:
            held.append(span)
    if lines >= _FEWEST:
        yield from held


def _goes_on(text: str, end: int, start: int) -> bool:
    """Whether nothing but a few lines that can stand in a dump is between two of its lines."""
    if start - end > _GAP_CHARS:
        return False
    between = text[end:start].split("\n")[1:-1]
    return len(between) <= _GAP and all(map(_BETWEEN.fullmatch, between))


def _variable(found: re.Match[str]) -> Span | None:
    """The value of one line of a dump, without quotes and comment; None where it says nothing."""
    begin, value = found.start(1), found[1].rstrip("\r \t")
    if value[:1] in ('"', "'"):
        end = value.find(value[0], 1)
        value, begin = (value[1:end] if end > 0 else value[1:]), begin + 1
    elif " #" in value:
        value = value[: value.index(" #")].rstrip()
    if len(value) < _SHORTEST or is_placeholder(value):
        return None
    return Span(begin, begin + len(value), "environment_value")
