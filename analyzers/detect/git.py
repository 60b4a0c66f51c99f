"""What git tells of people and places: authors, remotes, branches, subjects of commits.

Told by the lines that git itself prints and clients copy into prompts; no link on the web is a remote by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.detect.kinds import Span
from analyzers.detect.names import GENERIC_BRANCHES

_AUTHOR = re.compile(
    r"^[ \t>]{0,8}(?:Author|Commit|Committer|Tagger|Co-authored-by|Signed-off-by|Reviewed-by|Acked-by|Tested-by"
    r"|Reported-by|author|committer|tagger)(?::[ \t]{1,12}| )([^<>\r\n]{1,100}?)[ \t]{1,4}<",
    re.MULTILINE | re.IGNORECASE,
)
_SCP = re.compile(r"@(?<=[\w.-]@)[A-Za-z0-9][A-Za-z0-9.-]{1,100}+:(?![/\d~])[\w.~-]{1,100}+/[\w./~+-]{1,300}+")
_LOGIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_LONGEST_LOGIN = 32
_SCP_BARE = re.compile(r"^(?:To|From) ([\w.-]{1,100}+:[\w.~-]{1,100}+/[\w./~+-]{1,300}+)", re.MULTILINE)
_URL = re.compile(
    r"(?<![A-Za-z0-9])(?:git\+)?(?:https?|ssh|git)://(?:[^\s\"'`<>@/\\]{1,300}@)?[\w.-]{1,253}(?::[0-9]{1,5})?/"
    r"[\w.~+/-]{1,300}?\.git(?![A-Za-z0-9])"
)
_SSH_URL = re.compile(r"(?<![A-Za-z0-9])ssh://[^\s\"'`<>\\]{6,400}")
_LISTED = re.compile(r"^[ \t]{0,8}[\w./-]{1,60}[ \t]{1,8}([^\s]{6,400}) \((?:fetch|push)\)", re.MULTILINE)
_TOLD = re.compile(
    r"(?:^(?:From|To|Pull URL:|Fetch URL:|Push[ ]{1,3}URL:|Cloning from)[ \t]{1,4}|git clone (?:--?[\w=-]{1,40} ){0,4}"
    r"|remote add [\w-]{1,40} |remote set-url [\w-]{1,40} )((?:https?|ssh|git)://[^\s\"'`<>]{6,400})",
    re.MULTILINE,
)
_BRANCH = re.compile(
    r"(?:^On branch |Switched to (?:a new )?branch '|Your branch is [a-z ]{1,40}with 'origin/|HEAD -> |refs/heads/"
    r"|branch '|^\* (?=[\w./-]{3,200}\s*$)|git (?:checkout|switch) (?:-[bc] )?(?=[\w.]{1,40}/))([\w][\w./#+-]{1,200})",
    re.MULTILINE,
)
_COMMIT = re.compile(
    r"^[ \t*|/\\]{0,12}(?:commit )?([0-9a-f]{7,40}) (?:\([^)\n]{1,200}\) )?([^\r\n]{3,300})", re.MULTILINE
)
_DIGIT = re.compile("[0-9]")
_HEX = re.compile("[a-f]")
_LETTERS = re.compile(r"[^\W\d_]{3}")
_NOBODY = frozenset(("claude", "claude code", "github", "github actions", "dependabot[bot]"))


def spans(text: str) -> Iterator[Span]:
    """What one text tells as git would."""
    if ("<" in text and ":" in text) or "author" in text:
        for match in _AUTHOR.finditer(text):
            name = match[1].strip()
            if name and not name.lower().startswith("claude") and name.lower() not in _NOBODY:
                yield Span(match.start(1), match.start(1) + len(match[1].rstrip()), "git_identity")
    if "@" in text and ":" in text:
        for match in _SCP.finditer(text):
            login = text[max(match.start() - _LONGEST_LOGIN, 0) : match.start()]
            yield Span(match.start() - len(login) + len(login.rstrip(_LOGIN)), match.end(), "git_remote")
    if "://" in text and "git" in text:
        for sign, shape in ((".git", _URL), ("ssh://", _SSH_URL)):
            if sign in text:
                yield from (Span(*match.span(), "git_remote") for match in shape.finditer(text))
        yield from (Span(*match.span(1), "git_remote") for match in _TOLD.finditer(text))
    if "(fetch)" in text or "(push)" in text:
        yield from (Span(*match.span(1), "git_remote") for match in _LISTED.finditer(text))
    if "From " in text or "To " in text:
        yield from (Span(*match.span(1), "git_remote") for match in _SCP_BARE.finditer(text))
    for match in _BRANCH.finditer(text) if _tells_branches(text) else ():
        name = match[1].rstrip(".").removesuffix(".git")
        if name.lower() not in GENERIC_BRANCHES and len(name) > 2:
            yield Span(match.start(1), match.start(1) + len(name), "git_branch")
    yield from _commits(text)


def _commits(text: str) -> Iterator[Span]:
    """Subjects of commits: two lines or more of abbreviated hashes, or one below a heading that says so."""
    if "ommit" not in text and "git log" not in text and text.count("\n") < 1:
        return
    told = "ecent commits" in text or "git log" in text
    run: list[Span] = []
    before = -2
    for match in _COMMIT.finditer(text):
        if _DIGIT.search(match[1]) is None or _LETTERS.search(match[2]) is None or not (told or _HEX.search(match[1])):
            continue
        if match.start() != before + 1:
            if told or len(run) > 1:
                yield from run
            run = []
        run.append(Span(*match.span(2), "git_commit"))
        before = match.end() + (text[match.end() : match.end() + 1] == "\r")
    if told or len(run) > 1:
        yield from run


def _tells_branches(text: str) -> bool:
    return "branch" in text or "HEAD" in text or "refs/" in text or "git " in text
