"""Personal data by place, of all requests, without looking at what was sent again.

What a message holds is found where it first stood; the requests that carried it after that are counted by the object
itself (``kept``), not by looking again. So each exchange is looked at with what is new in it alone, and what is found
there is told by the place it has in the whole. Figures are those of ``privacy``: kinds, places, numbers and lengths of
values.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from analyzers.detect.kinds import KINDS
from analyzers.exchange import Exchange
from analyzers.noted import Noted
from analyzers.privacy import Finding, Personal, Search
from analyzers.privacy_shown import not_looked_into_json
from analyzers.readers.kept import SHARED
from analyzers.wire.jsontext import Json

MOST_PLACES = 2_000
"""Places that a page lists; the others are counted."""

_MEMBER = re.compile(r"(messages|system|tools)\[(\d+)\]")
_HIDDEN = {f"({len(name)} characters)": name for name in SHARED}
_PLACED = re.compile(rf"({'|'.join(map(re.escape, (*sorted(SHARED), *_HIDDEN)))})\[(\d+)\]")

type _At = tuple[str, int, int]
"""A field, a place in it, and what stands there."""


@dataclass(frozen=True, slots=True)
class _New:
    """An exchange with what is new in it. ``places``: where in the whole each member of a list stands."""

    exchange: Exchange
    places: Mapping[str, list[int]]

    def in_whole(self, path: str) -> str:
        """A path as it is in the whole exchange. A field's own name may be hidden in it."""
        member = _PLACED.match(path)
        told = None if member is None else self.places.get(_HIDDEN.get(member[1], member[1]))
        return path if member is None or told is None else f"{member[1]}[{told[int(member[2])]}]{path[member.end() :]}"


@dataclass(slots=True)
class _Place:
    """One kind in one place. ``values``: their lengths by number; ``folded``: values that only a note tells of."""

    requests: set[int] = field(default_factory=set)
    values: dict[int, int] = field(default_factory=dict)
    folded: int = 0
    folded_chars: int | None = None


def personal_json(exchanges: Iterable[Exchange], notes: Mapping[str, Noted]) -> dict[str, Any]:
    """What all requests carry, by kind and place. ``exchanges``: in the order of their numbers, what is equal in them
    being one object. ``notes``: what captures say of the texts they folded."""
    every = list(exchanges)
    search = Search({sha: one.kinds for sha, one in notes.items() if one.kinds is not None})
    carried: defaultdict[_At, set[int]] = defaultdict(set)
    reduced = [_new(exchange, n, carried) for n, exchange in enumerate(every, 1)]
    for one in reduced:
        search.learn(one.exchange)
    for n, one in enumerate(reduced, 1):
        search.look(one.exchange, n)
    found = search.result()
    return _json(found, _places(found.findings, every, reduced, carried))


def _new(exchange: Exchange, n: int, carried: defaultdict[_At, set[int]]) -> _New:
    """The exchange without what stood at the same place before, which is counted as carried."""
    request = exchange.request
    if request is None or request.reason is not None or type(request.body) is not dict:
        return _New(exchange, {})
    body: dict[Any, Json] = {}
    places: dict[str, list[int]] = {}
    for name, value in request.body.items():
        if name not in SHARED or type(value) is not list:
            body[name] = value
            continue
        places[name] = new = []
        for index, member in enumerate(value):
            at = carried[name, index, id(member)]
            if not at or type(member) is not dict:
                new.append(index)
            at.add(n)
        body[name] = [value[index] for index in new]
    return _New(replace(exchange, request=replace(request, body=body)), places)


def _places(
    findings: Iterable[Finding], every: list[Exchange], reduced: list[_New], carried: Mapping[_At, set[int]]
) -> dict[tuple[str, str], _Place]:
    places: dict[tuple[str, str], _Place] = {}
    for finding in findings:
        new = reduced[finding.request - 1]
        place = places.setdefault((finding.kind, new.in_whole(finding.where)), _Place())
        place.requests |= _requests(finding, new.in_whole(finding.path), every[finding.request - 1], carried)
        if finding.value is not None:
            place.values.setdefault(finding.value, finding.chars or 0)
        else:
            place.folded = max(place.folded, finding.count)
            if finding.chars is not None:
                place.folded_chars = max(place.folded_chars or 0, finding.chars)
    return places


def _requests(finding: Finding, path: str, exchange: Exchange, carried: Mapping[_At, set[int]]) -> set[int]:
    """The requests that carry what was found, where it was found: at ``path``."""
    member = _MEMBER.match(path)
    if member is None or exchange.request is None:
        return {finding.request}
    name, index = member[1], int(member[2])
    return carried.get((name, index, id(exchange.request.body[name][index])), {finding.request})


def _json(found: Personal, places: Mapping[tuple[str, str], _Place]) -> dict[str, Any]:
    order = {kind: number for number, kind in enumerate(KINDS)}
    ranked = sorted(places.items(), key=lambda item: (order[item[0][0]], min(item[1].requests)))
    return {
        "places": [
            {
                "kind": kind,
                "where": where,
                "values": len(place.values),
                "folded_values": place.folded,
                "chars": sum(place.values.values()) if place.values else place.folded_chars,
                "requests": len(place.requests),
                "first_request": min(place.requests),
            }
            for (kind, where), place in ranked[:MOST_PLACES]
        ],
        "more_places": max(len(ranked) - MOST_PLACES, 0),
        "values": len(found.values),
        "not_known": {
            "strings": sum(one.strings for one in found.unknown),
            "chars": sum(one.chars for one in found.unknown),
        },
        "not_looked_into": not_looked_into_json(found),
        "masked_credentials": found.masked,
        "requests": found.looked,
        "without_body": len(found.without_body),
        "without_answer": len(found.without_answer),
    }
