"""Personal data by place, of all requests, without looking at what was sent again.

What a message holds is found where it first stood; the requests that carried it after that are counted by the object
itself (``kept``), not by looking again. Figures are those of ``privacy``: kinds, places, numbers and lengths of values.
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
from analyzers.report.kept import SHARED
from analyzers.wire.jsontext import Json

MOST_PLACES = 2_000
"""Places that a page lists; the others are counted."""

_MEMBER = re.compile(r"(messages|system|tools)\[(\d+)\]")

type _At = tuple[str, int, int]
"""A field, a place in it, and what stands there."""


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
    for exchange in reduced:
        search.learn(exchange)
    for n, exchange in enumerate(reduced, 1):
        search.look(exchange, n)
    found = search.result()
    return _json(found, _places(found.findings, every, carried))


def _new(exchange: Exchange, n: int, carried: defaultdict[_At, set[int]]) -> Exchange:
    """The exchange with what stood at the same place before left out, which is counted as carried."""
    request = exchange.request
    if request is None or request.reason is not None or type(request.body) is not dict:
        return exchange
    body: dict[Any, Json] = {}
    for name, value in request.body.items():
        if name not in SHARED or type(value) is not list:
            body[name] = value
            continue
        body[name] = members = list(value)
        for index, member in enumerate(value):
            at = carried[name, index, id(member)]
            if at and type(member) is dict:
                members[index] = None
            at.add(n)
    return replace(exchange, request=replace(request, body=body))


def _places(
    findings: Iterable[Finding], every: list[Exchange], carried: Mapping[_At, set[int]]
) -> dict[tuple[str, str], _Place]:
    places: dict[tuple[str, str], _Place] = {}
    for finding in findings:
        place = places.setdefault((finding.kind, finding.where), _Place())
        place.requests |= _requests(finding, every[finding.request - 1], carried)
        if finding.value is not None:
            place.values.setdefault(finding.value, finding.chars or 0)
        else:
            place.folded = max(place.folded, finding.count)
            if finding.chars is not None:
                place.folded_chars = max(place.folded_chars or 0, finding.chars)
    return places


def _requests(finding: Finding, exchange: Exchange, carried: Mapping[_At, set[int]]) -> set[int]:
    """The requests that carry what was found, where it was found."""
    member = _MEMBER.match(finding.path)
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
