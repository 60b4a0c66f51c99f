"""The command that puts two recorded requests side by side: ``diff``."""

from __future__ import annotations

from collections.abc import Sequence

from analyzers.commands import MOST_ROWS
from analyzers.diff import Difference, difference
from analyzers.diff_tables import difference_json, print_difference
from analyzers.exchange import Exchange, Problem
from analyzers.failure import Failure
from analyzers.reading import Given, in_order, opened, print_json, report
from analyzers.sizes import UNITS
from analyzers.summary import summarise
from analyzers.tables import heading

NO_REQUEST = "only the answer was recorded"


def diff(
    given: Given, a: int, b: int | None, against: str | None, unit: str, text: bool, as_json: bool, every: bool
) -> None:
    """Requests ``a`` and ``b`` of what was given; with ``against``, request ``a`` beside request ``b`` (else ``a``) of
    that file. ``text``: with excerpts around the first difference of texts."""
    if unit not in UNITS:
        raise Failure(f"--unit {unit!r} is not one of {', '.join(UNITS)}", 2)
    if b is None and against is None:
        raise Failure(
            f"say what to compare request {a} with: `diff {a} M`, or `diff {a} --against FILE` for the same request "
            "of another capture",
            2,
        )
    second = a if b is None else b
    problems: list[Problem] = []
    if against is None:
        one, other = picked(given, (a, second), problems)
    else:
        [one] = picked(given, (a,), problems)
        [other] = picked(Given((against,), given.folded), (second,), problems)
    report(problems)
    found = compared(one, other, unit, text)
    if as_json:
        print_json(difference_json(a, second, against, found))
        return
    titles = (heading(summarise(one, a), one), heading(summarise(other, second), other))
    print_difference(titles, found, None if every else MOST_ROWS)


def compared(a: Exchange, b: Exchange, unit: str, text: bool) -> Difference:
    """The difference of two exchanges' requests; reasons only where a request is missing."""
    if a.request is None or b.request is None:
        reasons = [NO_REQUEST if side.request is None else side.request.reason for side in (a, b)]
        return Difference(UNITS[unit].name, reason_a=reasons[0], reason_b=reasons[1])
    return difference(a.request, b.request, UNITS[unit], excerpts=text)


def picked(given: Given, numbers: Sequence[int], problems: list[Problem]) -> list[Exchange]:
    """The exchanges with these numbers, in the order asked for. Reads the sources twice, so that no other body is in
    memory. Raises Failure for a number that is not there."""
    sources = opened(given)
    times = [exchange.time or 0.0 for exchange in sources.exchanges(problems)]
    where = ", ".join(given.paths)
    if not times:
        report(problems)
        raise Failure(f"no recorded request was found in {where}", 3)
    for n in numbers:
        if not 1 <= n <= len(times):
            raise Failure(f"there is no request {n} in {where}: it holds {len(times)}, numbered from 1", 2)
    order = in_order(times)
    wanted = {order[n - 1] for n in numbers}
    found = {position: exchange for position, exchange in enumerate(sources.exchanges([])) if position in wanted}
    return [found[order[n - 1]] for n in numbers]
