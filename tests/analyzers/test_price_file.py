"""The user's file of prices: what it may say, and what it is told when it is wrong."""

from __future__ import annotations

from decimal import Decimal

import pytest

from analyzers.models import model_of
from analyzers.price_file import BadPrices, own_prices
from analyzers.price_list import Rates

WHOLE = """
date = 2026-11-01
[models."claude-opus-5-5"]
input = 3.2
write_5m = 4
write_1h = 6.4
read = 0.16
output = 16
web_search = 9.5
long_context = { over = 200_000, input = 6.4, output = 24 }
[hosts."api.example.com"]
cached_in_input = true
"""


def test_everything_that_can_be_said() -> None:
    own = own_prices(WHOLE, "my.toml")
    tariff = own.tariff(model_of("us.anthropic.claude-opus-5-5"))
    assert tariff is not None
    assert tariff.rates == Rates(*map(Decimal, ("3.2", "4", "6.4", "0.16", "16")))
    assert tariff.tiers == ((200_000, Rates(*map(Decimal, ("6.4", "4", "6.4", "0.16", "24")))),)
    assert tariff.web_search == Decimal("9.5")
    assert own.cached_in_input == {"api.example.com": True}
    assert own.source == tariff.source == "my.toml of 2026-11-01"


def test_an_empty_file_says_nothing() -> None:
    own = own_prices("", "my.toml")
    assert own.tariff(model_of("claude-opus-5-5")) is None
    assert own.source == "my.toml"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[models", "no TOML"),
        ("input = 1" + "9" * 5000, "no TOML"),
        ("model = 3", "'model' is not one of date, models, hosts"),
        ("models = 3", "models must be tables"),
        ("[models]\nx = 3", "models.x must be a table of prices"),
        ("[models.x]", "models.x has no price"),
        ("[models.x]\nInput = 3", "'Input' is not one of input, write_5m"),
        ("[models.x]\ninput = -1", "models.x.input must be USD"),
        ("[models.x]\ninput = nan", "models.x.input must be USD"),
        ("[models.x]\ninput = inf", "models.x.input must be USD"),
        ("[models.x]\ninput = 1e999999999999999999999", "models.x.input must be USD"),
        ("[models.x]\ninput = 1e-13", "at most 12 decimals"),
        ('[models.x]\ninput = "3"', "models.x.input must be USD"),
        ("[models.x]\ninput = true", "models.x.input must be USD"),
        ("[models.x]\ninput = 1\nlong_context = 2", "models.x.long_context must be a table"),
        ("[models.x]\ninput = 1\nlong_context = { input = 2 }", "long_context.over must be a number of tokens"),
        ("[models.x]\ninput = 1\nlong_context = { over = 1.5 }", "long_context.over must be a number of tokens"),
        ("[models.x]\ninput = 1\nlong_context = { over = 1, outptu = 2 }", "'outptu' is not one of over, input"),
        ('[hosts."h"]\ncached_in_input = 1', "hosts.h must say cached_in_input = true or false"),
        ("[hosts]\nh = true", "hosts.h must say cached_in_input = true or false"),
        ("date = 3", "date must be a day"),
    ],
)
def test_a_wrong_file_is_told_in_one_sentence_with_its_place(text: str, told: str) -> None:
    with pytest.raises(BadPrices) as error:
        own_prices(text, "my.toml")
    assert told in str(error.value)
    assert "my.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_zeros_behind_a_price_are_no_further_decimals() -> None:
    told = own_prices("[models.a]\ninput = 3.0000000000000000000\noutput = 1\n", "mine.toml")
    assert told.models["a"].rates.input == 3


def test_a_message_is_short_however_long_a_name_is() -> None:
    with pytest.raises(BadPrices) as caught:
        own_prices(f'[models."{"x" * 100_000}"]\ninput = -1\n', "mine.toml")
    assert len(str(caught.value)) < 700
