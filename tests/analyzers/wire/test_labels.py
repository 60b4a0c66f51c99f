"""Labels by how a text begins; never its content."""

import pytest

from analyzers.wire.labels import describe_text


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (
            "<system-reminder>\nThe following skills are available for use with the Skill tool:",
            "system-reminder: skills",
        ),
        ("<system-reminder>\nAvailable agent types for the Agent tool:\n", "system-reminder: agents"),
        ("<system-reminder>\nToken usage: 5/200000; 1 remaining", "system-reminder: token budget"),
        (
            "<system-reminder>\nAs you answer, you can use the following context:\n# claudeMd\n",
            "system-reminder: CLAUDE.md and context",
        ),
        ("<system-reminder>\nSessionStart hook additional context: x", "system-reminder: hook output"),
        (
            "<system-reminder>\nContents of /w/CLAUDE.md (project instructions):\nkeep gitStatus",
            "system-reminder: CLAUDE.md",
        ),
        ("<system-reminder>\nContents of /w/MEMORY.md:\n- a todo list", "system-reminder: memory index"),
        ("<system-reminder>\n# gitStatus\nStatus:\n M CLAUDE.md\n?? MEMORY.md", "system-reminder: git status"),
        (
            "<system-reminder>\nAttribution for git commits and pull requests (a CLAUDE.md rule takes precedence)",
            "system-reminder: attribution",
        ),
        ("<system-reminder>\nNote: /w/CLAUDE.md was modified by the user", "system-reminder: changed file"),
        ("\n  <system-reminder>\nsomething new", "system-reminder"),
        ("x-anthropic-billing-header: cc_version=2; cch=1;", "billing header"),
        ("You are Claude Code, Anthropic's official CLI for Claude.", "Claude Code identity"),
        ("data:image/png;base64,AAAA", "data URI in text"),
        ("What does stateless mean?", None),
        ("", None),
    ],
)
def test_labels(text: str, label: str | None) -> None:
    assert describe_text(text) == label


def test_only_the_head_is_looked_at() -> None:
    assert describe_text("<system-reminder>" + " " * 3000 + "skills are available") == "system-reminder"
