"""What was found of personal data, as JSON and on the terminal: kinds, places, lengths; never a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from analyzers.detect.kinds import KINDS
from analyzers.privacy import Finding, Personal
from analyzers.tables import Grid, count, draw, grid, name_of

_NAMED = 6
"""Requests that one sentence names; values that one cell names."""


def privacy_json(found: Personal) -> dict[str, Any]:
    """What ``privacy --json`` prints. ``chars`` is null where a folded string is only known to hold a kind."""
    return {
        "findings": [
            {
                "request": finding.request,
                "path": finding.path,
                "kind": finding.kind,
                "chars": finding.chars,
                "where": finding.where,
            }
            for finding in found.findings
        ],
        "values": [
            {
                "value": value.value,
                "kind": value.kind,
                "chars": value.chars,
                "first_request": value.first,
                "requests": value.requests,
                "paths": list(value.paths),
            }
            for value in found.values
        ],
        "not_known": [{"request": one.request, "strings": one.strings, "chars": one.chars} for one in found.unknown],
        "not_looked_into": not_looked_into_json(found),
        "masked_credentials": found.masked,
        "requests": found.looked,
        "without_body": [{"request": n, "reason": reason} for n, reason in found.without_body],
        "without_answer": list(found.without_answer),
    }


@dataclass(slots=True)
class _Row:
    """One kind in one place."""

    kind: str
    where: str
    first: int
    requests: set[int] = field(default_factory=set)
    values: dict[int, int] = field(default_factory=dict)
    chars: int = 0
    folded: int = 0
    at_least: bool = False

    def add(self, finding: Finding) -> None:
        self.first = min(self.first, finding.request)
        self.requests.add(finding.request)
        if finding.value is None:
            self.folded = max(self.folded, finding.count)
            self.at_least = self.at_least or finding.chars is None
            self.chars = max(self.chars, finding.chars or 0)
        elif finding.value not in self.values:
            self.values[finding.value] = finding.chars or 0
            self.chars += finding.chars or 0


def not_looked_into_json(found: Personal) -> dict[str, int]:
    """What was there and could not be looked through."""
    return {
        "undecoded": found.blobs,
        "undecoded_chars": found.blob_chars,
        "too_deep": found.too_deep,
        "over_limit": found.over_limit,
    }


def print_privacy(found: Personal, most: int | None = None) -> None:
    """Prints what was found by kind and place, and what is not known. ``most``: places before the others are only
    counted."""
    rows = _rows(found)
    lines: list[Grid | str] = []
    if rows:
        lines.append(_table(rows, {value.value: value.first for value in found.values}, most))
        lines += ["", "values are numbered: the same number is the same value; numbers hold for this run only"]
    else:
        lines.append(f"nothing of what is looked for was found in what was kept of {_requests(found.looked)}")
    for note in (*_unknown(found), *_left(found)):
        lines += ["", note]
    draw(*lines)


def _rows(found: Personal) -> list[_Row]:
    rows: dict[tuple[str, str], _Row] = {}
    for finding in found.findings:
        row = rows.setdefault((finding.kind, finding.where), _Row(finding.kind, finding.where, finding.request))
        row.add(finding)
    order = {kind: place for place, kind in enumerate(KINDS)}
    return sorted(rows.values(), key=lambda row: (order.get(row.kind, len(order)), row.first))


def _table(rows: Sequence[_Row], first: dict[int, int], most: int | None) -> Grid:
    drawn = grid("kind", "place", "values", "chars", "requests", "first in", left=(0, 1, 2))
    shown = rows if most is None else rows[:most]
    for row in shown:
        earliest = min([first.get(value, row.first) for value in row.values], default=row.first)
        chars = "?" if row.at_least and not row.chars else count(row.chars)
        drawn.add(
            row.kind, name_of(row.where), _values(row), chars, count(len(row.requests)), f"#{min(earliest, row.first)}"
        )
    if len(shown) < len(rows):
        drawn.add(f"{len(rows) - len(shown)} more places", "--all shows each", "", "", "", "")
    return drawn


def _values(row: _Row) -> str:
    """The numbers of the values of a row: equal ones have equal numbers, here and in other rows."""
    if not row.values:
        return f"{count(row.folded)}, folded"
    named = ", ".join(f"{value}" for value in list(row.values)[:_NAMED])
    more = len(row.values) - _NAMED
    return f"{named} and {more} more" if more > 0 else named


def _unknown(found: Personal) -> list[str]:
    """The sentence about folded strings of which nothing is known."""
    if not found.unknown:
        return []
    strings, chars = sum(one.strings for one in found.unknown), sum(one.chars for one in found.unknown)
    named = ", ".join(str(one.request) for one in found.unknown[:_NAMED])
    more = f" and {len(found.unknown) - _NAMED} more" if len(found.unknown) > _NAMED else ""
    return [
        f"not known: {count(strings)} folded strings ({count(chars)} characters) in requests {named}{more} were not "
        "looked through when they were recorded; what they held is not in the file, and that is no sign that they were "
        "clean"
    ]


def _left(found: Personal) -> list[str]:
    said = []
    if found.blobs:
        said.append(
            f"not looked into: {count(found.blobs)} encoded stretches that are no text "
            f"({count(found.blob_chars)} characters: images, signatures, ciphertext, compressed data)"
        )
    if found.too_deep or found.over_limit:
        said.append(
            f"not looked into: {count(found.too_deep + found.over_limit)} texts inside texts, too many encodings deep "
            "or too much of them"
        )
    if found.masked:
        said.append(f"{count(found.masked)} credentials were masked when they were recorded")
    if found.without_body:
        named = ", ".join(f"{n} ({name_of(reason)})" for n, reason in found.without_body[:_NAMED])
        more = f" and {len(found.without_body) - _NAMED} more" if len(found.without_body) > _NAMED else ""
        said.append(f"no body to look into in requests {named}{more}")
    return said


def _requests(number: int) -> str:
    return f"{count(number)} request{'' if number == 1 else 's'}"
