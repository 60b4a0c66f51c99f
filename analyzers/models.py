"""What a model's name says, in whatever form a client, a cloud or a gateway writes it.

``claude-opus-4-5``, ``claude-opus-4-5-20251101``, ``anthropic/claude-opus-4-5``, ``claude-opus-4-5@20251101``,
``us.anthropic.claude-opus-4-5-20251101-v1:0``, an ARN of it, ``claude-opus-4-5[1m]`` and ``claude-opus-4-5-latest`` are
one model. The rule that was applied is kept, so that a table can name it. A name that is no Claude model stays as it
is: nothing is guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_ARN: Final = re.compile(r"^arn:[^:]*:bedrock:[^:]*:[^:]*:(?:[a-z-]+/)+(.+)$")
_BRACKETS: Final = re.compile(r"\[([^\[\]]*)\]$")
_VERSION: Final = re.compile(r"-v\d+(:\d+)?(:\d+k)?$")
_DATE: Final = re.compile(r"[-@](20\d{6})$")
_CONTEXT: Final = re.compile(r"-(\d+k)$")  # claude-3-haiku-48k-20240307, as one cloud's answers name it
_ALIAS: Final = re.compile(r"(?:-|@)(latest|default)$")
_DOT: Final = re.compile(r"(?<=\d)\.(?=\d)")
_REGION: Final = re.compile(r"^(us-gov|us|eu|apac|ap|jp|au|in|ca|sa|me|af|global)\.(?=anthropic\.)")
_NUMBER_FIRST: Final = re.compile(r"^claude-([4-9](?:-\d+)?)-([a-z]+)$")  # up to 3.7 that is the vendor's own order
_LISTED: Final = re.compile(r"^claude-(?:(\d{1,2})(?:-(\d{1,2}))?-([a-z]+)|([a-z]+)-(\d{1,2})(?:-(\d{1,2}))?)$")
_FAMILY: Final = re.compile(r"^claude-(?:(\d{1,4}(?:-\d{1,4})?)-)?([a-z]+)(?:-(\d{1,4})(?:-(\d{1,4}))?)?(?:-[a-z]+)?$")


@dataclass(frozen=True, slots=True)
class Model:
    """A model's name taken apart. ``base``: without date, prefix and flags; ``rules``: what was cut off, in words;
    ``flag``: what stood in brackets, such as ``1m``; ``regional``: a cloud's region other than ``global``."""

    written: str
    base: str
    rules: tuple[str, ...] = ()
    flag: str | None = None
    regional: str | None = None

    @property
    def tier(self) -> str | None:
        """``opus``, ``sonnet``, ``haiku``, …; None for what is no Claude model."""
        found = _FAMILY.match(self.base)
        return found[2] if found else None

    @property
    def listed(self) -> tuple[str, int, int] | None:
        """(``opus``, 4, 5): what price lists are looked up by. None unless the name says nothing but that, so that a
        name nobody knows is never taken for its neighbour."""
        found = _LISTED.match(self.base)
        if not found:
            return None
        return found[3] or found[4], int(found[1] or found[5]), int(found[2] or found[6] or 0)

    @property
    def is_regional(self) -> bool:
        """Whether it names a regional endpoint of Bedrock: a region's profile, or the bare id, which runs in one
        region."""
        bare = "prefix anthropic." in self.rules and "region global" not in self.rules
        return self.regional is not None or bare

    @property
    def version(self) -> tuple[int, int] | None:
        """(4, 5) of ``claude-opus-4-5`` and of ``claude-4-5-opus``; None where none is told."""
        found = _FAMILY.match(self.base)
        if not found:
            return None
        major, minor = found[3], found[4]
        if major is None and found[1]:
            major, _, minor = found[1].partition("-")
        return (int(major), int(minor or 0)) if major else None


@lru_cache(maxsize=4096)
def model_of(name: str) -> Model:
    """The model that a name means. Raises nothing: an unknown name is its own base."""
    base, rules = name.strip(), list[str]()
    flag = regional = None
    if "claude" in (lower := base.lower()):
        base = lower
    if found := _ARN.match(base):
        base = found[1]
        rules.append("ARN")
    if found := _BRACKETS.search(base):
        flag, base = found[1], base[: found.start()]
        rules.append(f"flag [{flag}]")
    head, slash, rest = base.rpartition("/")
    if slash and (rest.startswith("claude") or "anthropic.claude" in rest):
        base = rest
        rules.append(f"prefix {head}/")
    if found := _REGION.match(base):
        regional = found[1] if found[1] != "global" else None
        base = base[found.end() :]
        rules.append(f"region {found[1]}")
    if base.startswith("anthropic."):
        base = base.removeprefix("anthropic.")
        rules.append("prefix anthropic.")
    if not base.startswith("claude"):
        return Model(name, base, tuple(rules), flag, regional)
    for pattern, rule in ((_VERSION, "version"), (_ALIAS, "alias"), (_DATE, "date")):
        if found := pattern.search(base):
            rules.append(f"{rule} {found[0].lstrip('-@')}")
            base = base[: found.start()]
    if found := _CONTEXT.search(base):
        flag, base = found[1], base[: found.start()]
        rules.append(f"context variant {flag}")
    if _DOT.search(base):
        base = _DOT.sub("-", base)
        rules.append("dot in the number")
    if found := _NUMBER_FIRST.match(base):
        base = f"claude-{found[2]}-{found[1]}"
        rules.append("number before name")
    return Model(name, base, tuple(rules), flag, regional)


# Prompt caching: fewest tokens of a prefix that is cached (documentation of 2026-10-08), by tier and version.
_MINIMUM: Final[dict[tuple[str, tuple[int, int]], int]] = {
    ("fable", (5, 0)): 512, ("fable", (5, 1)): 512, ("fable", (5, 2)): 512,
    ("mythos", (5, 0)): 512, ("mythos", (5, 1)): 512, ("mythos", (5, 2)): 512,
    ("opus", (5, 0)): 512, ("opus", (5, 5)): 512, ("sonnet", (5, 5)): 512, ("haiku", (5, 5)): 512,
    ("opus", (4, 8)): 1024, ("opus", (4, 0)): 1024, ("opus", (4, 1)): 1024,
    ("sonnet", (5, 0)): 1024, ("sonnet", (4, 6)): 1024, ("sonnet", (4, 5)): 1024, ("sonnet", (4, 0)): 1024,
    ("opus", (4, 7)): 2048, ("haiku", (3, 5)): 2048,
    ("opus", (4, 6)): 4096, ("opus", (4, 5)): 4096, ("haiku", (4, 5)): 4096,
}  # fmt: skip


def cache_minimum(model: str | None) -> int | None:
    """Tokens below which a prefix is silently not cached; None for a model of which it is not known."""
    if model is None:
        return None
    found = model_of(model)
    tier, version = found.tier, found.version
    if tier == "mythos" and found.base.endswith("-preview"):
        return 2048
    return _MINIMUM.get((tier, version)) if tier is not None and version is not None else None


_STRIPS: Final = {"opus": (4, 1), "sonnet": (4, 5), "haiku": (4, 5)}


def strips_thinking(model: str | None) -> bool:
    """Whether a model forgets the thinking of earlier turns when the user says something new: those up to Opus 4.1,
    Sonnet 4.5 and Haiku 4.5 (documentation of 2026-10-08). False where it is not known."""
    found = model_of(model) if model is not None else None
    if found is None or found.tier not in _STRIPS or found.version is None:
        return False
    return found.version <= _STRIPS[found.tier]
