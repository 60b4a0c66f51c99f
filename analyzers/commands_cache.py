"""The command that follows the prompt cache: ``cache``."""

from __future__ import annotations

import typer

from analyzers.cache_report import cache_report
from analyzers.cache_shown import cache_json, print_cache
from analyzers.commands_cost import own_prices_of
from analyzers.exchange import Problem
from analyzers.failure import Failure
from analyzers.price_list import PriceList
from analyzers.prices import PriceBook
from analyzers.reading import Given, nothing, opened, print_json, report


def cache(given: Given, newest: int | None, prices: str | None, as_json: bool, check: bool) -> None:
    """The chains of the newest sessions. ``check``: exit with 1 when one is broken."""
    if newest is not None and newest < 1:
        raise Failure(f"{newest} sessions cannot be shown: give a number from 1", 2)
    own = own_prices_of(prices)
    problems: list[Problem] = []
    sources = opened(given)
    found = cache_report(sources, problems, newest)
    report(problems)
    book = PriceBook(PriceList(), own)
    if as_json:
        print_json(cache_json(found, book))
    elif found.sessions:
        print_cache(found, book)
    if not found.sessions:
        nothing(sources, given, problems, as_json)
    if check and found.broken:
        raise typer.Exit(1)
