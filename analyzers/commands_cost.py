"""The command that tells what calls cost: ``cost``."""

from __future__ import annotations

import os
from typing import Any

from analyzers.commands_usage import MOST_ROWS, zone_of
from analyzers.cost import cost_report
from analyzers.cost_shown import print_report, report_json
from analyzers.exchange import Problem
from analyzers.failure import Failure
from analyzers.gather import uncollected, usage_report
from analyzers.price_book import PriceBook
from analyzers.price_file import BadPrices, OwnPrices, own_prices
from analyzers.price_list import DOCUMENTED, PriceList
from analyzers.reading import Given, nothing, opened, print_json, report
from analyzers.usage_shown import VIEWS

LARGEST = 4 * 1024 * 1024
"""Bytes of a file of prices."""


def cost(given: Given, by: str | None, tz: str, prices: str | None, as_json: bool, every: bool) -> None:
    """What all calls cost. ``by``: one view only; ``tz``: whose days; ``prices``: a file of the user's own."""
    if by is not None and by not in VIEWS:
        raise Failure(f"--by {by!r} is not one of {', '.join(VIEWS)}", 2)
    zone = zone_of(tz)
    own = own_prices_of(prices)
    problems: list[Problem] = []
    sources = opened(given)
    used = usage_report(sources, problems, zone)
    report(problems)
    if not used.calls and not used.awaited and not as_json:
        nothing(sources, given, problems, as_json)
        return
    book = PriceBook(PriceList(), own)
    with uncollected():
        found = cost_report(used, book, zone)
    if as_json:
        print_json(report_json(found, _lists_json(book)))
    else:
        print_report(found, by, None if every else MOST_ROWS, "UTC" if tz == "UTC" else tz, _lists(book))
    if not used.calls and not used.awaited:
        nothing(sources, given, problems, as_json)


def own_prices_of(given: str | None) -> OwnPrices:
    """The user's own prices: of a file that was given, else of ``$WEIGHBRIDGE_PRICES``. Raises Failure."""
    if given is not None and not given.strip():
        raise Failure("--prices is empty: give a TOML file of prices", 2)
    return _own(given or os.environ.get("WEIGHBRIDGE_PRICES") or None)


def _own(path: str | None) -> OwnPrices:
    if path is None:
        return OwnPrices()
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise BadPrices(f"{path} is larger than {LARGEST:,} bytes: give a TOML file of prices")
        return own_prices(data.decode("utf-8-sig"), path)
    except OSError as error:
        reason = error.strerror or error
        raise Failure(
            f"the prices in {path} cannot be read ({reason}): check --prices or $WEIGHBRIDGE_PRICES", 2
        ) from None
    except UnicodeDecodeError:
        raise Failure(f"the prices in {path} are no UTF-8 text: give a TOML file", 2) from None
    except BadPrices as error:
        raise Failure(str(error), 2) from None


def _lists_json(book: PriceBook) -> dict[str, Any]:
    listed = book.listed
    return {
        "list": "genai-prices",
        "version": listed.version,
        "latest_change": listed.dated or None,
        "documentation": DOCUMENTED,
        "own": book.own.source or None,
        "currency": "USD",
    }


def _lists(book: PriceBook) -> str:
    own = f"{book.own.source}, then " if book.own.source else ""
    listed = book.listed
    return (
        f"{own}list prices of genai-prices {listed.version} (its latest dated change: {listed.dated or 'none'}), "
        f"completed from the documentation of {DOCUMENTED}"
    )
