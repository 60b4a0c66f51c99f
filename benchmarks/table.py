"""What the benchmarks found, as Markdown that also reads well in a terminal.

Figures arrive here as text, since only the benchmark knows how many digits of them mean something. The one comparison
made here is that of a measured value with its target.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BEGIN = "<!-- measured -->"
END = "<!-- /measured -->"


@dataclass(frozen=True, slots=True)
class Target:
    """A promise of the project: `measured` must not exceed `limit`. None: it could not be measured here."""

    what: str
    measured: float | None
    limit: float
    unit: str
    digits: int = 2

    @property
    def met(self) -> bool | None:
        """None when it is unknown."""
        return None if self.measured is None else self.measured <= self.limit

    @property
    def verdict(self) -> str:
        """In words."""
        return {True: "met", False: "not met", None: "unknown"}[self.met]


@dataclass(frozen=True, slots=True)
class Result:
    """What one benchmark found. The first column holds names, the others figures."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    targets: tuple[Target, ...] = ()
    remark: str = ""


def report(machine: str, results: Sequence[Result]) -> str:
    """Targets first, then every result."""
    targets = [target for result in results for target in result.targets]
    parts = [machine, f"### Targets\n\n{verdicts(targets)}", *map(render, results)]
    return "\n\n".join(parts) + "\n"


def render(result: Result) -> str:
    """One result with its title."""
    parts = [f"### {result.title}", markdown(result.head, result.rows)]
    return "\n\n".join([*parts, result.remark] if result.remark else parts)


def verdicts(targets: Iterable[Target]) -> str:
    """Each target with what was measured."""
    rows = [
        (
            target.what,
            figure(target.measured, target.digits, target.unit),
            f"≤ {target.limit:g}{target.unit}",
            target.verdict,
        )
        for target in targets
    ]
    return markdown(("", "measured", "target", ""), rows)


def figure(value: float | None, digits: int = 2, unit: str = "") -> str:
    """A number to so many digits behind the point; `?` when it is unknown."""
    return "?" if value is None else f"{value:,.{digits}f}{unit}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, its columns padded to one width; the first to the left, the others to the right."""
    cells = [tuple(head), *map(tuple, rows)]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        first, *others = zip(row, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]
        return f"| {' | '.join(padded)} |"

    rule = "|".join(["", "-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:]), ""])
    return "\n".join([line(cells[0]), rule, *map(line, cells[1:])])


def replaced(page: str, text: str) -> str:
    """A page with the text between its two marks replaced. Raises ValueError when it has not both, in this order."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n{text.strip()}\n\n{END}{after}"
