"""What a model's name says, in every form that was seen of one."""

from __future__ import annotations

import pytest

from analyzers.models import cache_minimum, model_of, strips_thinking

ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-9-9-20300101-v1:0"


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("claude-sonnet-9-9", ()),
        ("claude-sonnet-9-9-20300101", ("date 20300101",)),
        ("claude-sonnet-9-9@20300101", ("date 20300101",)),
        ("anthropic/claude-sonnet-9-9", ("prefix anthropic/",)),
        ("openrouter/anthropic/claude-sonnet-9.9", ("prefix openrouter/anthropic/", "dot in the number")),
        ("anthropic/claude-9-9-sonnet", ("prefix anthropic/", "number before name")),
        ("claude-sonnet-9-9[1m]", ("flag [1m]",)),
        ("claude-sonnet-9-9-20300101[1m]", ("flag [1m]", "date 20300101")),
        ("claude-sonnet-9-9-latest", ("alias latest",)),
        ("claude-sonnet-9-9@default", ("alias default",)),
        ("Claude-Sonnet-9-9", ()),
        (
            "us.anthropic.claude-sonnet-9-9-20300101-v1:0",
            ("region us", "prefix anthropic.", "version v1:0", "date 20300101"),
        ),
        (
            "global.anthropic.claude-sonnet-9-9-20300101-v1:0",
            ("region global", "prefix anthropic.", "version v1:0", "date 20300101"),
        ),
        ("anthropic.claude-sonnet-9-9-v1", ("prefix anthropic.", "version v1")),
        ("bedrock/us.anthropic.claude-sonnet-9-9", ("prefix bedrock/", "region us", "prefix anthropic.")),
        (ARN, ("ARN", "region us", "prefix anthropic.", "version v1:0", "date 20300101")),
        ("claude-sonnet-9-9-48k-20300101", ("date 20300101", "context variant 48k")),
    ],
)
def test_h07_every_form_of_a_name_is_one_model_and_the_rule_is_named(name: str, rules: tuple[str, ...]) -> None:
    model = model_of(name)
    assert (model.base, model.rules, model.written) == ("claude-sonnet-9-9", rules, name)
    assert model.listed == ("sonnet", 9, 9)
    assert (model.tier, model.version) == ("sonnet", (9, 9))


def test_h07_what_stands_in_brackets_is_a_flag_and_no_model() -> None:
    assert model_of("claude-opus-5-5[1m]").flag == "1m"
    assert model_of("claude-opus-5-5").flag is None
    assert model_of("claude-3-haiku-48k-20240307").flag == "48k"


@pytest.mark.parametrize("name", ["glm-x", "gpt-y", "<synthetic>", "", "my.deployment/one", "claude"])
def test_h08_a_foreign_name_stays_as_it_is(name: str) -> None:
    model = model_of(name)
    assert (model.base, model.rules, model.listed) == (name, (), None)


@pytest.mark.parametrize("name", ["claude-opus-4-5-turbo", "claude-opus", "claude-opus-4-5-1", "claude-mythos-preview"])
def test_h08_a_name_with_something_nobody_knows_is_no_listed_model(name: str) -> None:
    assert model_of(name).listed is None


def test_names_with_the_number_first_are_the_vendor_s_own_up_to_3_7() -> None:
    assert model_of("claude-3-5-haiku-20241022").base == "claude-3-5-haiku"
    assert model_of("claude-3-5-haiku-latest").listed == ("haiku", 3, 5)
    assert model_of("claude-opus-4-0").listed == model_of("claude-opus-4-20250514").listed == ("opus", 4, 0)


@pytest.mark.parametrize(
    ("name", "regional", "is_regional"),
    [
        ("eu.anthropic.claude-opus-5-5", "eu", True),
        ("us-gov.anthropic.claude-opus-5-5", "us-gov", True),
        ("anthropic.claude-opus-5-5", None, True),
        ("global.anthropic.claude-opus-5-5", None, False),
        ("claude-opus-5-5@20300101", None, False),
        ("anthropic/claude-opus-5-5", None, False),
    ],
)
def test_a_region_is_told_by_the_name(name: str, regional: str | None, is_regional: bool) -> None:
    model = model_of(name)
    assert (model.regional, model.is_regional) == (regional, is_regional)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("claude-opus-5-5", 512), ("claude-fable-5-2", 512), ("claude-haiku-5-5", 512), ("claude-opus-4-8", 1024),
        ("claude-sonnet-4-6", 1024), ("claude-opus-4-7", 2048), ("claude-3-5-haiku-20241022", 2048),
        ("claude-mythos-preview", 2048), ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 4096),
        ("claude-opus-9-9", None), ("gpt-y", None), (None, None),
    ],
)  # fmt: skip
def test_the_smallest_prefix_that_is_cached(name: str | None, least: int | None) -> None:
    assert cache_minimum(name) == least


@pytest.mark.parametrize(
    ("name", "strips"),
    [
        ("claude-opus-4-1", True), ("claude-sonnet-4-5-20250929", True), ("claude-haiku-4-5", True),
        ("claude-3-7-sonnet-20250219", True), ("claude-opus-4-5", False), ("claude-sonnet-4-6", False),
        ("claude-haiku-5-5", False), ("claude-fable-5", False), ("gpt-y", False), (None, False),
    ],
)  # fmt: skip
def test_the_models_that_forget_earlier_thinking(name: str | None, strips: bool) -> None:
    assert strips_thinking(name) is strips
