"""What stands where a secret would stand and is none: ``${VAR}``, ``<token>``, ``xxxx``, ``your-key-here``."""

from __future__ import annotations

import re

_SIGNS = re.compile(r"[$<{%\[]")
_STANDS_FOR = re.compile(r"\$\{?[A-Za-z_(]|<[^>]{0,80}>|\{\{|%\(|%[A-Za-z_]{2,40}%|\[[A-Za-z_ -]{0,40}\]")
_SAYS_SO = re.compile(
    r"xxxx|\*\*\*|\A.{0,7}(?:\.\.\.|…)|your[-_. ]?|[-_]here\b|placeholder|change[-_]?me|replace[-_]?(?:me|with)"
    r"|redacted"
)
_FILLED = re.compile(r"[*.•…_x-]+|dummy\b.*|insert[-_].*", re.DOTALL)
_WORDS = frozenset(
    ("null", "none", "nil", "true", "false", "undefined", "string", "str", "number", "integer", "boolean", "object",
     "array", "bytes", "optional", "required", "any", "text", "password", "passwd", "secret", "token", "apikey",
     "api_key", "key", "value", "example", "default", "unknown", "empty", "hidden", "masked", "n/a", "yes", "no")
)  # fmt: skip
_FEWEST = 4


def is_placeholder(value: str) -> bool:
    """Whether a value only stands for another, or is a word that says nothing. Looks at its first 200 characters."""
    head = value[:200]
    lower = head.lower()
    return (
        len(set(head)) < _FEWEST
        or lower in _WORDS
        or (_SIGNS.search(head) is not None and _STANDS_FOR.search(head) is not None)
        or _SAYS_SO.search(lower) is not None
        or _FILLED.fullmatch(lower) is not None
    )
