"""Paths that tell whose machine it is: home folders in every spelling, and folders of work.

A home is told by its parent (``/home``, ``/Users``, ``C:\\Users``, a WSL share, ``~name``), also where a client turned
the path into one folder name by putting a dash for everything else (``-home-name-work``). Other absolute paths are told
by a first folder in which people keep their work, or by being the whole of a string. Folders of the system are not
looked for. Each pattern begins with a fixed sign, and every repetition is bounded or possessive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.detect.kinds import Span
from analyzers.detect.names import GENERIC_USERS

_NAME = r"[^\s\"'`<>|*?:;,()\[\]{}\\$/，。；：、（）「」《》！？]"
_REST = r"[^\s\"'`<>|*?:;,()\[\]{}\\$，。；：、（）「」《》！？]"
_NOT_BEFORE = r"(?:(?<![A-Za-z0-9.~]/)|(?<=[\s\"'=]-[A-Za-z]/))"  # a folder inside another; but ``-I/home/…``
_HOME = re.compile(
    rf"/{_NOT_BEFORE}((?:mnt/)?[a-zA-Z]/|export/|var/|usr/|data/)?(?:home|Users)/({_NAME}{{1,64}})"
    rf"(?:/{_REST}{{0,1024}}+)?"
)
_ROOT = re.compile(rf"/root/(?<![A-Za-z0-9_.~/-]/root/){_REST}{{2,1024}}+")
_DRIVE_BEGINS = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=\\u[0-9A-Fa-f]{4}))"
_WINDOWS_HOME = re.compile(
    rf"{_DRIVE_BEGINS}[A-Za-z]:(\\{{1,8}}|/)(?:Users|Documents and Settings)\1([^\\/\s\"'`<>|*?:;,]{{1,64}})"
    r"(?:(?:\\{1,8}|/)[^\\/\s\"'`<>|*?:;,)\]}]{1,255}){0,40}+"
)
_WSL = re.compile(
    r"\\{1,8}wsl(?:\$|\.localhost)\\{1,8}[^\\\s\"'`]{1,64}\\{1,8}home\\{1,8}([^\\\s\"'`<>|*?:;,]{1,64})"
    r"(?:\\{1,8}[^\\\s\"'`<>|*?:;,)\]}]{1,255}){0,40}+"
)
_TILDE = re.compile(rf"~(?<![\w~/.)\]-]~)([a-z_][a-z0-9_-]{{1,31}})/{_REST}{{0,1024}}+")
_DASHED = re.compile(r"-(?<![A-Za-z0-9-]-)(?:home|Users|root|mnt-[a-z]-Users)-([A-Za-z0-9][A-Za-z0-9-]{2,300}+)")
_DASHED_WINDOWS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]--Users-([A-Za-z0-9][A-Za-z0-9-]{1,300}+)")
_WORK = re.compile(
    r"/(?<![A-Za-z0-9_.~/-]/)(?:work|workspaces?|srv|mnt|media|Volumes|private|data|projects?|repos?|builds?|scratch|nfs|net"
    rf"|export|code|src)/[^\s\"'`<>|*?:;,()\[\]{{}}\\$/]{{1,255}}+/{_REST}{{1,1024}}+"
)
_DRIVE = re.compile(rf"{_DRIVE_BEGINS}[A-Za-z]:(?:\\{{1,8}}[^\\/\s\"'`<>|*?:;,)\]}}]{{2,255}}){{2,40}}+")
_WHOLE = re.compile(r"(?:/[^/\0\n\r\"'`<>|*?{}$]{1,255}+){2,64}+/?|[A-Za-z]:[\\/][^\0\n\r\"`<>|*?]{3,2000}")
_SYSTEM = (
    "/usr/", "/bin/", "/sbin/", "/etc/", "/lib/", "/lib64/", "/dev/", "/proc/", "/sys/", "/v1/", "/api/", "/System/",
    "/Library/", "/Applications/", "/nix/", "/snap/", "/boot/", "/run/",
)  # fmt: skip


def spans(text: str) -> Iterator[Span]:
    """The paths in one text."""
    if "/home/" in text or "/Users/" in text:
        yield from (Span(*match.span(), "home_path") for match in _HOME.finditer(text) if match[2] != "Shared")
    if "/root/" in text:
        yield from (Span(*match.span(), "home_path") for match in _ROOT.finditer(text))
    if "Users" in text or "Documents and" in text:
        for match in _WINDOWS_HOME.finditer(text):
            if match[2] not in ("Public", "Default"):
                yield Span(*match.span(), "home_path")
    if ":\\" in text:
        yield from (Span(*match.span(), "path") for match in _DRIVE.finditer(text) if "Users" not in match[0])
    if "\\wsl" in text:
        yield from (Span(*match.span(), "home_path") for match in _WSL.finditer(text))
    if "~" in text:
        yield from (Span(*match.span(), "home_path") for match in _TILDE.finditer(text))
    if "/" in text:
        yield from (Span(*match.span(), "path") for match in _WORK.finditer(text))
        if text[:1] == "/" or text[1:3] in (":\\", ":/"):
            yield from _whole(text)
    yield from dashed(text)


def dashed(text: str) -> Iterator[Span]:
    """Homes as one folder name, dashes for everything else."""
    if "-home-" in text or "-Users-" in text or "-root-" in text:
        yield from (Span(*match.span(), "home_path") for match in _DASHED.finditer(text))
    if "--Users-" in text:
        yield from (Span(*match.span(), "home_path") for match in _DASHED_WINDOWS.finditer(text))


def _whole(text: str) -> Iterator[Span]:
    if len(text) <= 4096 and _WHOLE.fullmatch(text) and not text.startswith(_SYSTEM):
        yield Span(0, len(text), "path")


def owner(path: str) -> str | None:
    """The login that a home path names; None for one that names nobody in particular."""
    for shape, group in ((_HOME, 2), (_WINDOWS_HOME, 2), (_WSL, 1), (_TILDE, 1)):
        match = shape.search(path)
        if match is not None:
            name = match[group]
            return name if len(name) > 1 and name.lower() not in GENERIC_USERS else None
    return None
