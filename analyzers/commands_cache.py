"""The command that follows the prompt cache: ``cache``."""

from __future__ import annotations

import typer

from analyzers import tables
from analyzers.cache_advice import Advice, advise
from analyzers.cache_advice_shown import advice_json, advice_lines
from analyzers.cache_report import cache_report, recorded
from analyzers.cache_shown import cache_json, print_cache
from analyzers.commands_cost import own_prices_of
from analyzers.exchange import Problem
from analyzers.failure import Failure
from analyzers.price_book import PriceBook
from analyzers.price_list import PriceList
from analyzers.reading import Given, nothing, opened, print_json, report


def cache(
    given: Given, newest: int | None, prices: str | None, as_json: bool, check: bool, with_advice: bool = False
) -> None:
    """The chains of the newest sessions. ``check``: exit with 1 when one is broken. ``with_advice``: and
    where breakpoints would have cost least."""
    if newest is not None and newest < 1:
        raise Failure(f"{newest} sessions cannot be shown: give a number from 1", 2)
    own = own_prices_of(prices)
    problems: list[Problem] = []
    sources = opened(given)
    found = cache_report(sources, problems, newest)
    report(problems)
    book = PriceBook(PriceList(), own)
    advice: list[tuple[str, Advice]] = []
    if with_advice and found.sessions:
        advice = [(name, advise(asked, book)) for name, asked in recorded(sources, [], newest) if asked]
    if as_json:
        print_json(cache_json(found, book) | ({"advice": advice_json(advice)} if with_advice else {}))
    elif found.sessions:
        print_cache(found, book)
        tables.draw(*(["", *advice_lines(advice)] if advice else []))
    if not found.sessions:
        nothing(sources, given, problems, as_json)
    if check and found.sums.broken:
        raise typer.Exit(1)
