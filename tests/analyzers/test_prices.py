"""The price of one call: the list for every model, each rule, and what is no price at all."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal, localcontext
from typing import Any

import pytest
from genai_prices.data import providers
from genai_prices.types import ModelPrice
from hypothesis import given
from hypothesis import strategies as st
from session_logs import usage

from analyzers.calls import Call
from analyzers.models import model_of
from analyzers.price_book import PriceBook
from analyzers.price_file import own_prices
from analyzers.price_list import PriceList, Rates
from analyzers.price_parts import Parts, Priced, Unpriced
from analyzers.prices import price
from analyzers.spent import PARTS, Spent, billed_of, of_usage
from analyzers.terms import Conditions, Pass, Terms, passes_of, terms_of
from analyzers.wire.usage import Usage

LISTED = PriceList()
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
MILLION = 1_000_000
# USD per million tokens: input, 5-minute write, 1-hour write, read, output; fast input and output.
# The documentation's page on prices, 2026-10-08, and the migration guide of Fable and Mythos 5.2.
TABLE = """
fable-5-2   8    10    16   0.20  40   16 80
mythos-5-2  8    10    16   0.20  40   16 80
fable-5-1   10   12.5  20   0.25  50
mythos-5-1  10   12.5  20   0.25  50
fable-5     10   12.5  20   1.00  50
mythos-5    10   12.5  20   1.00  50
opus-5-5    4    5     8    0.20  20   8 40
opus-5      5    6.25  10   0.50  25   10 50
opus-4-8    5    6.25  10   0.50  25   10 50
opus-4-7    5    6.25  10   0.50  25
opus-4-6    5    6.25  10   0.50  25
opus-4-5    5    6.25  10   0.50  25
opus-4-1    15   18.75 30   1.50  75
opus-4      15   18.75 30   1.50  75
sonnet-5-5  2    2.5   4    0.10  10
sonnet-5    2    2.5   4    0.20  10
sonnet-4-6  3    3.75  6    0.30  15
sonnet-4-5  3    3.75  6    0.30  15
sonnet-4    3    3.75  6    0.30  15
haiku-5-5   0.10 0.125 0.20 0.01  0.50
haiku-4-5   1    1.25  2    0.10  5
3-5-haiku   0.80 1     1.6  0.08  4
"""
ROWS = [
    (f"claude-{name}", [Decimal(part) for part in parts]) for name, *parts in map(str.split, TABLE.split("\n")[1:-1])
]
MODELS = [name for name, _ in ROWS]
UPPER = {
    "claude-haiku-5-5": (100_000, "0.50 0.625 1.00 0.05 2.50"),
    "claude-sonnet-4-5": (200_000, "6 7.5 12 0.60 22.5"),
    "claude-sonnet-4": (200_000, "6 7.5 12 0.60 22.5"),
}


def book(own: str = "") -> PriceBook:
    return PriceBook(LISTED, own_prices(own, "prices.toml"))


def call(model: str | None, spent: Spent, **changes: Any) -> Call:
    told = Call(NOW, "s", None, model, None, "msg_1", None, "completed", spent, spent, "file:1")
    return told._replace(**changes)


def answered(told: dict[str, Any], model: str | None = "claude-opus-5-5", **changes: Any) -> Call:
    """A call as it is read from the usage of an answer."""
    read = Usage.from_json(told)[0]
    terms, passes = terms_of(read, host=changes.pop("host", None)), passes_of(read, changes.get("requested"))
    return call(model, of_usage(read), billed=billed_of(read), terms=terms, passes=passes, **changes)


def priced(found: Call, own: str = "") -> Priced:
    result = price(found, book(own))
    assert isinstance(result, Priced), result
    with localcontext(prec=200):
        assert result.total == sum(result.parts)
    return result


def unpriced(found: Call, own: str = "") -> Unpriced:
    result = price(found, book(own))
    assert isinstance(result, Unpriced), result
    return result


def usd(text: str) -> Decimal:
    return Decimal(text)


# The list


@pytest.mark.parametrize(("model", "rates"), ROWS, ids=MODELS)
def test_every_model_has_the_documented_prices(model: str, rates: list[Decimal]) -> None:
    tariff = LISTED.tariff(model_of(model), NOW)
    assert tariff is not None
    assert tariff.rates == Rates(*rates[:5])
    fast = None if tariff.fast is None else [tariff.fast.input, tariff.fast.output]
    assert (fast or []) == rates[5:]
    assert tariff.web_search == 10


@pytest.mark.parametrize("model", MODELS)
def test_only_these_models_have_a_long_context_price(model: str) -> None:
    tariff = LISTED.tariff(model_of(model), NOW)
    assert tariff is not None
    expected = [(over, Rates(*map(Decimal, rates.split()))) for over, rates in [UPPER[model]]] if model in UPPER else []
    assert list(tariff.tiers) == expected


@pytest.mark.parametrize(("model", "rates"), ROWS, ids=MODELS)
def test_a_million_of_each_kind_costs_its_rate(model: str, rates: list[Decimal]) -> None:
    for place, part in enumerate(Parts._fields[:5]):
        # tokens that keep below every threshold, and none of the others
        counters = dict.fromkeys(PARTS, 0) | {("fresh", "written_5m", "written_1h", "read", "output")[place]: 100_000}
        counters["written"] = counters["written_5m"] + counters["written_1h"]
        found = priced(call(model, Spent(**counters)))
        assert found.total == getattr(found.parts, part) == rates[place] / 10
        assert found.is_exact


@pytest.mark.parametrize("model", [name for name, rates in ROWS if len(rates) > 5])
def test_fast_cache_prices_are_the_multiples_of_the_fast_input(model: str) -> None:
    tariff = LISTED.tariff(model_of(model), NOW)
    assert tariff is not None and tariff.fast is not None and tariff.fast.input is not None
    assert tariff.rates.input is not None and tariff.rates.read is not None
    assert tariff.fast.write_5m == tariff.fast.input * Decimal("1.25")
    assert tariff.fast.write_1h == tariff.fast.input * 2
    assert tariff.fast.read == tariff.fast.input * tariff.rates.read / tariff.rates.input


def test_the_list_s_own_batch_prices_are_half_of_the_others() -> None:
    models = next(provider.models for provider in providers if provider.id == "anthropic")
    compared = 0
    for model in models:
        if model.price_variants is None or not isinstance(model.prices, ModelPrice) or "haiku-5-5" in model.id:
            continue
        for variant in model.price_variants:
            if variant.when == {"processing": "batch"} and "sonnet-4-5" not in model.id:
                for name, amount in vars(variant.prices).items():
                    assert amount * 2 == getattr(model.prices, name), (model.id, name)
                    compared += 1
    assert compared > 40


def test_prices_are_those_of_the_day() -> None:
    before, after = (datetime(2026, 3, day, tzinfo=UTC).timestamp() for day in (12, 13))
    large = Spent(250_000, 0, 0, 0, 0, 0)
    assert priced(call("claude-opus-4-6", large, time=before)).total == usd("2.5")
    assert priced(call("claude-opus-4-6", large, time=after)).total == usd("1.25")
    assert priced(call("claude-opus-4-6", large, time=None)).total == usd("1.25")


def test_the_list_says_which_it_is() -> None:
    assert LISTED.version[0].isdigit()
    assert LISTED.dated >= "2026-10-14"
    assert priced(call("claude-opus-5-5", Spent(1, 0, 0, 0, 0, 0))).source == f"genai-prices {LISTED.version}"
    assert "documentation of 2026-10-08" in priced(call("claude-mythos-5", Spent(1, 0, 0, 0, 0, 0))).source


# Cache writes by lifetime


def test_h01_a_one_hour_write_costs_twice_the_input() -> None:
    told = usage(0, 0, written=10_000, hour=10_000)
    found = priced(answered(told, "claude-sonnet-4-6"))
    assert found.total == found.parts.write_1h == usd("0.06")


def test_a_write_without_the_split_is_taken_for_five_minutes_and_the_range_is_told() -> None:
    found = priced(call("claude-sonnet-4-6", Spent(0, 10_000, None, None, 0, 0)))
    assert (found.total, found.most) == (usd("0.0375"), usd("0.06"))
    assert not found.is_exact
    assert any("lifetime" in rule for rule in found.rules)


def test_a_split_that_had_to_be_filled_up_is_a_range_too() -> None:
    told = usage(0, 0, written=10_000) | {
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 4_000}
    }
    found = priced(answered(told, "claude-sonnet-4-6"))
    assert found.total == usd("0.024") + usd("0.0225")
    assert found.most == usd("0.06")


def test_one_lifetime_told_tells_the_other() -> None:
    told = usage(0, 0, written=10_000) | {"cache_creation": {"ephemeral_1h_input_tokens": 10_000}}
    found = priced(answered(told, "claude-sonnet-4-6"))
    assert (found.total, found.most) == (usd("0.06"), usd("0.06"))


# The long-context tier


@pytest.mark.parametrize(
    ("spent", "expected"),
    [
        (Spent(1_000, 0, 0, 0, 199_000, 1_000), "0.003 + 0.0597 + 0.015"),
        (Spent(1_001, 0, 0, 0, 199_000, 1_000), "0.006006 + 0.1194 + 0.0225"),
        (Spent(150_000, 60_000, 0, 60_000, 0, 1_000), "0.9 + 0.72 + 0.0225"),
        (Spent(90_000, 0, 0, 0, 0, 1_000), "0.27 + 0.015"),
    ],
    ids=["exactly 200,000", "one more", "input and one-hour writes", "each request for itself"],
)
def test_h05_the_tier_is_that_of_the_whole_request_s_input(spent: Spent, expected: str) -> None:
    found = priced(call("claude-sonnet-4-5", spent))
    assert found.total == sum(map(Decimal, expected.split(" + ")))
    assert any("long context" in rule for rule in found.rules) == (spent.known_input > 200_000)
    assert priced(call("claude-sonnet-4-5", spent, passes=(Pass(None, spent),))) == found


def test_h05_haiku_s_tier_raises_every_part_with_the_output() -> None:
    at, over = Spent(100_000, 0, 0, 0, 0, MILLION), Spent(100_001, 0, 0, 0, 0, MILLION)
    assert priced(call("claude-haiku-5-5", at)).total == usd("0.51")
    assert priced(call("claude-haiku-5-5", over)).total == usd("0.0500005") + usd("2.5")


def test_h05_the_requests_of_a_retried_call_have_each_their_own_tier() -> None:
    half = Spent(60_000, 0, 0, 0, 0, 0)
    passes = (Pass(None, half, 0), Pass(None, half, 1))
    billed = Spent(120_000, 0, 0, 0, 0, 0)
    retried = call("claude-haiku-5-5", billed, passes=passes, partial=True)
    assert priced(retried).total == usd("0.012")
    assert not priced(retried).is_exact
    together = retried._replace(passes=(Pass(None, half), Pass(None, half)), partial=False)
    assert priced(together).total == usd("0.06")


# Terms


def test_a22_a_batch_costs_half_of_every_token() -> None:
    told = usage(9, 25, read=100, written=30, hour=10, service_tier="batch")
    full = priced(answered(told | {"service_tier": "standard"})).total
    found = priced(answered(told))
    assert found.total == full / 2
    assert "batch ×0.5" in found.rules


def test_h10_web_searches_are_a_fee_that_no_batch_changes() -> None:
    told = usage(0, 0, server_tool_use={"web_search_requests": 3, "web_fetch_requests": 9})
    found = priced(answered(told))
    assert found.total == found.parts.web_search == usd("0.03")
    assert priced(answered(told | {"service_tier": "batch"})).total == usd("0.03")


@pytest.mark.parametrize("tier", ["standard", None, ""])
@pytest.mark.parametrize("geo", ["global", "not_available", "", None])
def test_h10_the_standard_terms_change_nothing(tier: str | None, geo: str | None) -> None:
    found = answered(usage(MILLION, 0, service_tier=tier, inference_geo=geo))
    assert found.terms is None
    assert priced(found).total == 4


def test_h10_a_priority_tier_s_price_is_a_contract_s() -> None:
    found = answered(usage(1, 1, service_tier="priority"))
    assert "n/a at list price" in unpriced(found).reason
    assert priced(found, '[models."claude-opus-5-5"]\ninput = 1\noutput = 1').total == usd("0.000002")


def test_h10_an_unknown_tier_is_named_and_not_guessed() -> None:
    assert "'flex'" in unpriced(answered(usage(1, 1, service_tier="flex"))).reason


def test_h10_inference_in_the_us_costs_a_tenth_more_from_4_6_on() -> None:
    told = usage(1_000, 100, read=10_000, written=500, inference_geo="us")
    for model, factor in (("claude-opus-4-6", "1.1"), ("claude-opus-5-5", "1.1"), ("claude-opus-4-5", "1")):
        plain = priced(answered(told | {"inference_geo": "global"}, model)).total
        assert priced(answered(told, model)).total == plain * Decimal(factor)


def test_h10_the_surcharge_is_on_tokens_and_not_on_searches() -> None:
    told = usage(MILLION, 0, inference_geo="us", server_tool_use={"web_search_requests": 1})
    assert priced(answered(told)).total == usd("4.41")


def test_h10_an_unknown_place_is_a_lower_bound() -> None:
    found = priced(answered(usage(MILLION, 0, inference_geo="mars")))
    assert (found.total, found.most) == (4, None)


def test_fast_is_priced_as_served() -> None:
    found = priced(answered(usage(MILLION, MILLION, read=MILLION, speed="fast")))
    assert found.total == 8 + 40 + usd("0.4")
    assert priced(answered(usage(MILLION, MILLION, speed="standard"))).total == 24


def test_fast_at_a_model_without_a_fast_price_is_a_lower_bound() -> None:
    found = priced(answered(usage(MILLION, 0, speed="fast"), "claude-opus-4-6"))
    assert (found.total, found.most) == (5, None)


@pytest.mark.parametrize(
    ("requested", "factor"),
    [
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "1.1"),
        ("anthropic.claude-opus-4-5-20251101-v1:0", "1.1"),
        ("global.anthropic.claude-opus-4-5-20251101-v1:0", "1"),
        ("claude-opus-4-5@20251101", "1"),
    ],
)
def test_a_regional_endpoint_costs_a_tenth_more_and_is_told_by_the_name_asked_for(requested: str, factor: str) -> None:
    asked = call("claude-opus-4-5-20251101", Spent(MILLION, 0, 0, 0, 0, 0), requested=requested)
    assert priced(asked).total == 5 * Decimal(factor)
    assert priced(asked._replace(model=None)).total == 5 * Decimal(factor)


def test_a_regional_endpoint_of_vertex_is_told_by_the_path() -> None:
    terms = Terms(Conditions(region="europe-west1"))
    assert priced(call("claude-opus-5-5", Spent(MILLION, 0, 0, 0, 0, 0), terms=terms)).total == usd("4.4")


def test_models_before_4_5_cost_the_same_everywhere() -> None:
    asked = "us.anthropic.claude-opus-4-1-20250805-v1:0"
    assert priced(call(asked, Spent(MILLION, 0, 0, 0, 0, 0))).total == 15


def test_the_time_of_code_execution_is_in_no_usage() -> None:
    tools = {"code_execution_requests": 1}
    assert priced(answered(usage(1, 1, server_tool_use=tools))).most is None


# Passes


def test_a06_the_cache_write_of_a_hidden_pass_is_paid() -> None:
    compaction = {"type": "compaction"} | usage(100, 131, written=55_000)
    told = usage(229, 5, iterations=[compaction, {"type": "message"} | usage(229, 5)])
    found = priced(answered(told, "claude-sonnet-4-6"))
    assert found.parts.write_5m == 55_000 * usd("0.00000375")
    assert found.total == 329 * usd("0.000003") + found.parts.write_5m + 136 * usd("0.000015")


def test_the_only_iteration_is_billed_and_not_the_top_level() -> None:
    told = usage(1, 1, iterations=[{"type": "message"} | usage(1_000_000, 0)])
    assert priced(answered(told)).total == 4
    assert priced(answered(told | {"speed": "fast"})).total == 8


def test_a08_each_pass_costs_what_its_own_model_does() -> None:
    passes = [
        {"type": "message", "model": "claude-opus-5-5"} | usage(500, 40),
        {"type": "fallback_message", "model": "claude-sonnet-5-5"} | usage(520, 200),
    ]
    found = priced(answered(usage(520, 200, iterations=passes), "claude-sonnet-5-5", requested="claude-opus-5-5"))
    opus, sonnet = usd("0.0028"), usd("0.00304")
    assert found.total == opus + sonnet
    assert {name: parts.total for name, parts in found.by_model} == {
        "claude-opus-5-5": opus,
        "claude-sonnet-5-5": sonnet,
    }


def test_a08_an_attempt_that_names_no_model_was_at_the_one_asked_for() -> None:
    passes = [
        {"type": "message"} | usage(500, 40),
        {"type": "fallback_message", "model": "claude-sonnet-5-5"} | usage(520, 200),
    ]
    found = priced(answered(usage(520, 200, iterations=passes), "claude-sonnet-5-5", requested="claude-opus-5-5"))
    assert found.total == usd("0.0028") + usd("0.00304")


def test_a08_an_attempt_that_gave_nothing_is_not_paid() -> None:
    passes = [
        {"type": "message", "model": "claude-opus-5-5"} | usage(500, 0),
        {"type": "fallback_message", "model": "claude-sonnet-5-5"} | usage(520, 200),
    ]
    found = priced(answered(usage(520, 200, iterations=passes), "claude-sonnet-5-5", requested="claude-opus-5-5"))
    assert found.total == usd("0.00304")
    assert found.by_model == ()
    elsewhere = [{"type": "message", "model": "claude-opus-5-5"} | usage(500, 40)]
    assert [name for name, _ in priced(answered(usage(1, 1, iterations=elsewhere), "claude-sonnet-5-5")).by_model] == [
        "claude-opus-5-5"
    ]


def test_a_pass_at_an_unknown_model_makes_the_price_a_lower_bound() -> None:
    passes = [
        {"type": "message"} | usage(520, 200),
        {"type": "advisor_message", "model": "gpt-y"} | usage(9, 9),
    ]
    found = priced(answered(usage(520, 200, iterations=passes), "claude-sonnet-5-5"))
    assert (found.total, found.most) == (usd("0.00304"), None)
    assert any("gpt-y" in rule for rule in found.rules)


def test_fast_holds_for_the_model_that_served_and_not_for_the_advisor() -> None:
    passes = [
        {"type": "message"} | usage(MILLION, 0),
        {"type": "advisor_message", "model": "claude-fable-5-2"} | usage(MILLION, 0),
    ]
    assert priced(answered(usage(MILLION, 0, iterations=passes, speed="fast"))).total == 8 + 8


# Input with or without the cached tokens

RATES = '[models.other]\ninput = 1\nread = 0.1\nwrite_5m = 1.25\noutput = 1\n[hosts."api.example.com"]\n'


@pytest.mark.parametrize("host", [None, "api.anthropic.com", "bedrock-runtime.us-east-1.amazonaws.com"])
def test_h03_the_api_s_own_input_is_exclusive(host: str | None) -> None:
    found = priced(answered(usage(1_000, 0, read=900), host=host))
    assert (found.parts.input, found.parts.read) == (usd("0.004"), usd("0.00018"))
    assert found.is_exact


def test_h03_another_host_s_input_is_ambiguous_between_two_prices() -> None:
    found = priced(answered(usage(1_000, 0, read=900), host="api.example.com"))
    assert (found.total, found.most) == (usd("0.0004") + usd("0.00018"), usd("0.004") + usd("0.00018"))
    assert any("ambiguous" in rule and "api.example.com" in rule for rule in found.rules)


@pytest.mark.parametrize(("setting", "fresh"), [("true", 100), ("false", 1_000)])
def test_h03_a_host_s_own_setting_decides(setting: str, fresh: int) -> None:
    told = answered(usage(1_000, 0, read=900), "other", host="api.example.com")
    found = priced(told, f"{RATES}cached_in_input = {setting}")
    assert found.parts.input == fresh * usd("0.000001")
    assert found.parts.read == usd("0.00009")
    assert found.is_exact


@pytest.mark.parametrize("own", ["", f"{RATES}cached_in_input = true"])
def test_h03_a_small_input_cannot_hold_what_was_read(own: str) -> None:
    found = priced(answered(usage(100, 0, read=900), host="api.example.com"), own)
    assert found.parts.input == usd("0.0004")
    assert found.is_exact


def test_h03_writes_are_taken_out_too_as_far_as_they_fit() -> None:
    own = f"{RATES}cached_in_input = true"
    told = usage(1_000, 0, read=600, written=300)
    assert priced(answered(told, "other", host="api.example.com"), own).parts.input == usd("0.0001")
    told = usage(1_000, 0, read=900, written=300)
    assert priced(answered(told, "other", host="api.example.com"), own).parts.input == usd("0.0001")


# No price, and lower bounds


@pytest.mark.parametrize("model", ["glm-x", "gpt-y", "<synthetic>", "", None, "claude-opus-4-10", "claude-opus-4-5-x"])
def test_h08_no_price_is_no_zero_and_no_other_model_s_price(model: str | None) -> None:
    assert unpriced(call(model, Spent(10, 0, 0, 0, 0, 10))).reason


def test_h07_the_answer_s_model_is_preferred_and_without_one_the_model_asked_for_is_said() -> None:
    spent = Spent(MILLION, 0, 0, 0, 0, 0)
    both = call("claude-opus-5-5", spent, requested="claude-sonnet-5-5[1m]")
    assert priced(both).total == 4
    asked = priced(both._replace(model=None))
    assert asked.total == 2
    assert {"flag [1m]", "the model asked for: no answer named one"} <= set(asked.rules)
    assert isinstance(price(both._replace(model="gpt-y"), book()), Unpriced)


def test_no_usage_is_no_price() -> None:
    assert unpriced(call("claude-opus-5-5", Spent())).reason == "no usage was recorded"


@pytest.mark.parametrize("part", ["fresh", "written", "read", "output"])
def test_h04_an_unknown_counter_makes_a_lower_bound_and_a_zero_does_not(part: str) -> None:
    zero = Spent(10, 0, 0, 0, 0, 10)._replace(**{part: 0})
    assert priced(call("claude-opus-5-5", zero)).is_exact
    found = priced(call("claude-opus-5-5", zero._replace(**{part: None})))
    assert (found.total, found.most) == (priced(call("claude-opus-5-5", zero)).total, None)


def test_an_answer_that_stopped_early_is_a_lower_bound() -> None:
    spent = Spent(MILLION, 0, 0, 0, 0, 1)
    assert priced(call("claude-opus-5-5", spent, state="unfinished")).most is None


def test_a19_thinking_is_in_the_output_and_not_paid_again() -> None:
    told = usage(0, 92, output_tokens_details={"thinking_tokens": 53})
    assert priced(answered(told)).total == 92 * usd("0.00002")


def test_a_part_without_a_price_makes_a_lower_bound() -> None:
    found = priced(call("claude-2", Spent(MILLION, 0, 0, 0, 5, 0)), "[models.claude-2]\ninput = 8\noutput = 24")
    assert (found.total, found.most) == (8, None)
    assert "no price is listed for read" in found.rules


def test_numbers_of_any_length_are_priced_without_rounding() -> None:
    found = priced(call("claude-opus-5-5", Spent(10**90 + 1, 0, 0, 0, 0, 0)))
    assert format(found.total, "f") == f"4{'0' * 84}.000004"


# The user's own prices


def test_own_prices_go_before_the_list_by_base_name_and_by_written_name() -> None:
    own = '[models."claude-opus-5-5"]\ninput = 1.5\noutput = 2'
    dated = call("us.anthropic.claude-opus-5-5", Spent(MILLION, 0, 0, 0, 0, MILLION))
    assert priced(dated._replace(model="claude-opus-5-5-20300101"), own).total == usd("3.5")
    assert priced(dated, own).total == usd("3.85")
    assert priced(call("my/Deployment", Spent(1, 0, 0, 0, 0, 1)), '[models."my/Deployment"]\ninput = 1\noutput = 1')


def test_own_long_context_prices_raise_what_they_name() -> None:
    own = "[models.other]\ninput = 1\noutput = 2\nlong_context = { over = 10, input = 3 }"
    assert priced(call("other", Spent(10, 0, 0, 0, 0, 1)), own).total == usd("0.000012")
    assert priced(call("other", Spent(11, 0, 0, 0, 0, 1)), own).total == usd("0.000035")


# Laws

COUNTS = st.integers(0, 10**7)


@given(st.sampled_from(MODELS), COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_parts_sum_to_the_total(model: str, fresh: int, five: int, hour: int, read: int, output: int) -> None:
    found = priced(call(model, Spent(fresh, five + hour, five, hour, read, output)))
    assert found.total == found.most == sum(found.parts)


@given(
    st.sampled_from([*MODELS, "us.anthropic.claude-opus-5-5-20300101-v1:0", "claude-2", "gpt-y"]),
    st.lists(st.none() | st.integers(0, 60_000), min_size=6, max_size=6),
    st.sampled_from(["completed", "unfinished"]),
    st.booleans(),
)
def test_the_short_way_gives_what_the_long_way_does(
    model: str, counters: list[int | None], state: Any, is_sum: bool
) -> None:
    fresh, _, five, hour, read, output = counters
    written = (five or 0) + (hour or 0) if is_sum else counters[1]
    plain = call(model, Spent(fresh, written, five, hour, read, output), state=state)
    assert price(plain, book()) == price(plain._replace(passes=(Pass(None, plain.billed),)), book())


@given(st.sampled_from(MODELS), st.lists(st.none() | COUNTS, min_size=6, max_size=6), st.booleans())
def test_a_range_is_never_upside_down_and_nothing_is_negative(
    model: str, counters: list[int | None], estimated: bool
) -> None:
    terms = Terms(host="api.example.com", split_estimated=estimated)
    found = price(call(model, Spent(*counters), terms=terms), book())
    if isinstance(found, Priced):
        assert found.most is None or found.most >= found.total
        assert min(found.parts) >= 0
