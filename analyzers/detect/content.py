"""Whole passages that are personal whatever they say, told by the labels that clients put before them: CLAUDE.md,
memory, descriptions of the machine and of the repository, output of hooks and of the shell.

A passage goes from its label to the next one, to the end of its tag or of the text. One pass for the labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.detect.kinds import Span
from analyzers.wire.labels import describe_text

_FILE = re.compile(r"^Contents of ([^\n]{1,1400}+)\n", re.MULTILINE)
_SECTION = re.compile(
    r"^#{1,3} (Environment|gitStatus|Memory|userEmail|userContext)[ \t]*\r?\n|^(gitStatus):[ \t]*", re.MULTILINE
)
_TAGGED = re.compile(r"<(env|bash-stdout|bash-stderr|local-command-stdout|user-prompt-submit-hook|session-start-hook)>")
_HOOK = re.compile(
    r"^(?:<system-reminder>)?[A-Z][A-Za-z]{2,30}(?::[\w-]{1,40})? hook "
    r"(?:success|additional context|blocking error|output|stopped continuation)[^\n:]{0,80}:[ \t]*",
    re.MULTILINE,
)
_BOUNDARY = re.compile(
    r"\nContents of |\n#{1,3} [A-Za-z]|\ngitStatus:|</system-reminder>|\n[ \t]*IMPORTANT: this context"
)
_AFTER_FILE = re.compile(
    r"</system-reminder>|\n# (?:userEmail|currentDate|gitStatus|Environment)\b|\n[ \t]*IMPORTANT: this context"
)
_END = "</system-reminder>"

_SECTIONS = {
    "Environment": "environment", "gitStatus": "git_status", "Memory": "memory", "userEmail": "user_context",
    "userContext": "user_context",
}  # fmt: skip
_TAGS = {
    "env": "environment", "bash-stdout": "shell_output", "bash-stderr": "shell_output",
    "local-command-stdout": "shell_output", "user-prompt-submit-hook": "hook_output",
    "session-start-hook": "hook_output",
}  # fmt: skip
_LABELS = {
    "system-reminder: CLAUDE.md and context": "claude_md", "system-reminder: CLAUDE.md": "claude_md",
    "system-reminder: memory index": "memory", "system-reminder: context with e-mail": "user_context",
    "system-reminder: hook output": "hook_output", "system-reminder: git status": "git_status",
    "environment": "environment", "git status": "git_status", "hook output": "hook_output",
    "shell output": "shell_output", "local command output": "shell_output",
}  # fmt: skip


def of_label(label: str | None) -> str | None:
    """The kind of passage that a label of ``wire.labels`` says a text is; None where it is none of them."""
    return _LABELS.get(label) if label is not None else None


def spans(text: str) -> Iterator[Span]:
    """The passages in one text; the whole of it where only its beginning tells what it is."""
    found = list(_passages(text))
    yield from found
    kind = of_label(describe_text(text))
    if kind is not None and all(span.kind != kind for span in found):
        yield Span(0, len(text), kind)


def _passages(text: str) -> Iterator[Span]:
    if "Contents of " in text:
        yield from _files(text)
    if "# " in text or "gitStatus:" in text:
        yield from _sections(text)
    if "<" in text:
        for match in _apart(_TAGGED, text, ends := [0]):
            end = text.find(f"</{match[1]}>", match.end())
            ends[0] = len(text) if end < 0 else end
            yield from _passage(text, match.end(), ends[0], _TAGS[match[1]])
    if "hook" in text:
        for match in _apart(_HOOK, text, ends := [0]):
            end = text.find(_END, match.end())
            ends[0] = len(text) if end < 0 else end
            yield from _passage(text, match.end(), ends[0], "hook_output")


def _apart(shape: re.Pattern[str], text: str, ends: list[int]) -> Iterator[re.Match[str]]:
    """The matches that begin behind the passage before, whose end the caller sets: so no character is read twice."""
    while (match := shape.search(text, ends[0])) is not None:
        ends[0] = match.end()
        yield match


def _files(text: str) -> Iterator[Span]:
    files = [match for match in _FILE.finditer(text) if ".md" in match[1] and match[1].rstrip().endswith(":")]
    for file, after in zip(files, [*files[1:], None], strict=bool(files)):
        limit = after.start() if after is not None else len(text)
        after_it = _AFTER_FILE.search(text, file.end() - 1, limit)
        yield from _passage(text, file.end(), limit if after_it is None else after_it.start(), _of_file(file[1]))


def _of_file(told: str) -> str:
    name = told[: told.index(".md") + 3]
    return "memory" if name.endswith("MEMORY.md") or "/memory/" in name else "claude_md"


def _sections(text: str) -> Iterator[Span]:
    for match in _apart(_SECTION, text, ends := [0]):
        boundary = _BOUNDARY.search(text, match.end() - 1)
        ends[0] = len(text) if boundary is None else max(boundary.start(), match.end())
        yield from _passage(text, match.end(), ends[0], _SECTIONS[match[1] or match[2]])


def _passage(text: str, start: int, end: int, kind: str) -> Iterator[Span]:
    passage = text[start:end]
    stripped = passage.strip()
    if stripped:
        begin = start + passage.index(stripped)
        yield Span(begin, begin + len(stripped), kind)
