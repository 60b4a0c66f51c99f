"""What a break cost: figures worked out by hand from the documented prices."""

from __future__ import annotations

from decimal import Decimal

import pytest

from analyzers.cache import CacheRow, Seen
from analyzers.cache_price import surcharge, total_of
from analyzers.price_book import PriceBook
from analyzers.price_file import own_prices
from analyzers.price_list import PriceList
from analyzers.price_parts import as_number
from analyzers.spent import Spent
from analyzers.terms import Conditions, Terms

OPUS, HAIKU = "claude-opus-5-5", "claude-haiku-5-5"
BOOK = PriceBook(PriceList())


def row(spent: Spent, *, again: int = 0, resent: int = 0, model: str = OPUS, terms: Terms | None = None) -> CacheRow:
    seen = Seen(2, 0.0, 0.1, model, spent, None, terms=terms)
    return CacheRow(seen, 1, False, 0, "expired", again, None, None, None, None, resent)


def wrote(five: int, hour: int = 0, *, read: int = 0, fresh: int = 0) -> Spent:
    return Spent(fresh, five + hour, five, hour, read, 900)


@pytest.mark.parametrize(
    ("conditions", "usd"),
    [
        (Conditions(), "0.0384"),  # 8,000 x (5 - 0.20)
        (Conditions(speed="fast"), "0.0768"),
        (Conditions(inference_geo="us"), "0.04224"),
        (Conditions(service_tier="batch"), "0.0192"),
    ],
    ids=["standard", "fast", "us", "batch"],
)
def test_the_terms_a_call_was_served_on_count(conditions: Conditions, usd: str) -> None:
    assert surcharge(row(wrote(8_000), again=8_000, terms=Terms(conditions)), BOOK) == Decimal(usd)


def test_the_tier_is_that_of_the_whole_request() -> None:
    found = surcharge(row(wrote(80_000, read=70_000, fresh=1_000), again=80_000, model=HAIKU), BOOK)
    assert found == Decimal("0.0460")  # 80,000 x (0.625 - 0.05)


def test_what_is_written_for_an_hour_comes_first() -> None:
    mixed = wrote(1_000, 7_000)
    assert surcharge(row(mixed, again=8_000), BOOK) == Decimal("0.0594")  # 7,000 x 7.80 + 1,000 x 4.80
    assert surcharge(row(mixed, again=7_000), BOOK) == Decimal("0.0546")


def test_what_was_sent_as_plain_input_instead_of_being_read_was_paid_for_too() -> None:
    assert surcharge(row(wrote(0, fresh=100_000), resent=100_000), BOOK) == Decimal("0.38")  # 100,000 x (4 - 0.20)
    both = row(wrote(1_000, fresh=2_000), again=1_000, resent=2_000)
    assert surcharge(both, BOOK) == Decimal("0.0124")


def test_without_a_price_it_is_not_known_and_without_a_loss_it_is_nothing() -> None:
    assert surcharge(row(wrote(10), again=10, model="claude-nobody-9"), BOOK) is None
    assert surcharge(row(wrote(10), model="claude-nobody-9"), BOOK) == 0


def test_a_price_that_is_missing_is_not_nothing() -> None:
    own = own_prices('[models."claude-opus-5-5"]\ninput = 4\noutput = 20\nread = 0.2\n', "mine.toml")
    book = PriceBook(PriceList(), own)
    assert surcharge(row(wrote(8_000), again=8_000), book) is None
    assert surcharge(row(wrote(0, fresh=8_000), resent=8_000), book) == Decimal("0.0304")


def test_counters_of_any_size_have_a_price() -> None:
    huge = 10**99
    found = surcharge(row(wrote(huge), again=huge), BOOK)
    assert found == huge * Decimal("0.0000048")
    assert as_number(found) == pytest.approx(4.8e93)
    assert total_of([found, None, Decimal("0.0000000001")]) > found
