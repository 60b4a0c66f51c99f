"""``show`` in tokens: one request beside the server's own total, and characters per token of all of them."""

from __future__ import annotations

from rich.text import Text

from analyzers import tables
from analyzers.attribution import Attribution, attribution, known_weights
from analyzers.attribution import ratios as ratios_of
from analyzers.attribution_shown import attribution_json, attribution_lines, ratio_lines, ratios_json
from analyzers.calibrated import calibrated_attribution
from analyzers.commands_calibrate import multipliers_given
from analyzers.exchange import Problem
from analyzers.failure import Failure, safe
from analyzers.progress import watched
from analyzers.reading import Given, nothing, nth, opened, print_json, report
from analyzers.show import shown_json
from analyzers.sizes import CHARS
from analyzers.summary import summarise
from analyzers.tokenizer import DamagedRanks


def show(given: Given, n: int, as_json: bool, most: int | None, calibration: str | None = None) -> None:
    """One request in tokens. ``most``: blocks that are shown; None: all. ``calibration``: a file of the user's own."""
    multipliers = multipliers_given(calibration)
    problems: list[Problem] = []
    sources = opened(given)
    sources.notes = {}
    exchange = nth(sources, n, problems)
    report(problems)
    row = summarise(exchange, n, CHARS)
    try:
        found = attribution(exchange, known_weights(sources.notes))
    except DamagedRanks as error:
        raise Failure(str(error), 3) from None
    if found is not None and multipliers is not None:
        found = calibrated_attribution(found, multipliers)
    if as_json:
        shown = shown_json(exchange, row, None, None)
        for name in ("structure", "wire", "unexplained", "differences", "prompt"):
            del shown[name]
        print_json(shown | attribution_json(found))
        return
    heading = Text(tables.heading(row, exchange), "bold")
    if found is None:
        tables.draw(heading, f"no tokens: {safe(row.reason or 'no body')}")
    else:
        tables.draw(heading, *attribution_lines(found, most), "", tables.usage_line(row))


def ratios(given: Given, as_json: bool) -> None:
    """Characters per token of all requests, by the family of their models."""
    problems: list[Problem] = []
    sources = opened(given)
    sources.notes = {}
    with watched(sources.read_so_far):
        requests = sum(exchange.request is not None for exchange in sources.exchanges(problems))
    report(problems)
    weights = known_weights(sources.notes)
    found: list[Attribution] = []
    try:
        with watched(sources.read_so_far):
            for exchange in sources.exchanges([]):
                one = attribution(exchange, weights)
                if one is not None:
                    found.append(one)
        told = ratios_of(found)
    except DamagedRanks as error:
        raise Failure(str(error), 3) from None
    if as_json:
        print_json(ratios_json(told))
    elif told:
        tables.draw(*ratio_lines(told))
    if not requests:
        nothing(sources, given, problems, as_json)
