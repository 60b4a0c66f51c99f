"""Where a text was found, as JSON and on the terminal. The text itself, and what stands around it, is never shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analyzers.find import Findings, Looked, Stretch, stretches
from analyzers.tables import Grid, count, draw, grid, name_of

_NAMED = 6
"""Requests that one sentence names."""


def findings_json(found: Findings) -> dict[str, Any]:
    """What ``find --json`` prints: every place in every request; ``unknown``: folded strings that may hold the text."""
    return {
        "text_chars": found.text_chars,
        "sha256": found.sha256,
        "found": [
            {
                "request": one.n,
                "side": hit.side,
                "path": hit.path,
                "how": hit.how,
                "form": hit.form,
                "chars": hit.chars,
                "at": hit.at,
                "count": hit.count,
                "type": hit.type,
                "what": hit.what,
            }
            for one in found.looked
            for hit in one.hits
        ],
        "unknown": [
            {"request": one.n, "strings": one.unknown, "chars": one.unknown_chars}
            for one in found.looked
            if one.unknown
        ],
        "without_body": [{"request": one.n, "reason": one.reason} for one in found.looked if one.reason is not None],
        "without_answer": [one.n for one in found.looked if not one.answered],
    }


def print_findings(found: Findings) -> None:
    """Prints the places, the same place in consecutive requests in one line, and what could not be looked through."""
    lines: list[Grid | str] = [f"a text of {count(found.text_chars)} characters, sha256 {found.sha256}", ""]
    if found.found:
        lines.append(_places(stretches(found)))
    else:
        lines.append(f"not found in what was kept of {_requests(len(found.looked))}")
    notes = [_unknown(found.looked), *_not_looked_in(found.looked)]
    draw(*lines, *(part for note in notes if note for part in ("", note)))


def _places(places: Sequence[Stretch]) -> Grid:
    drawn = grid("first in", "requests", "place", "what", "string", "at", "times", "how", left=(2, 3, 7))
    for place in places:
        hit = place.hit
        path = hit.path if hit.side == "request" else f"answer: {hit.path}"
        how = "the whole string, by its hash" if hit.how == "hash" else "in the string"
        drawn.add(
            f"#{place.first}",
            count(place.requests),
            name_of(path),
            name_of(hit.what or hit.type or ""),
            count(hit.chars),
            "" if hit.at is None else count(hit.at),
            count(hit.count),
            how if hit.form == "as given" else f"{how}, {hit.form}",
        )
    return drawn


def _unknown(looked: Sequence[Looked]) -> str | None:
    """The sentence about folded strings that may hold the text."""
    those = [one for one in looked if one.unknown]
    if not those:
        return None
    named = ", ".join(f"in {_strings(one.unknown)} of request {one.n}" for one in those[:_NAMED])
    more = f", and of {_requests(len(those) - _NAMED)} more (--json names each)" if len(those) > _NAMED else ""
    return (
        f"{named}{more} it could not be looked for: folding keeps only lengths and a hash; "
        "record with --set capture_fold_over=-1 to be able to"
    )


def _not_looked_in(looked: Sequence[Looked]) -> list[str]:
    bodiless = [one for one in looked if one.reason is not None]
    said = [f"request {one.n} has no body to look in: {name_of(one.reason or '')}" for one in bodiless[:_NAMED]]
    if len(bodiless) > _NAMED:
        said.append(f"{_requests(len(bodiless) - _NAMED)} more have no body to look in: --json names each")
    if unanswered := sum(not one.answered for one in looked):
        said.append(f"of {_requests(unanswered)} there is no answer to look in")
    return said


def _strings(number: int) -> str:
    return f"{count(number)} folded string{'' if number == 1 else 's'}"


def _requests(number: int) -> str:
    return f"{count(number)} request{'' if number == 1 else 's'}"
