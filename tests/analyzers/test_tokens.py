"""Weights of texts, and tokens of them."""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import DATA

from analyzers import tokens as module
from analyzers.tokens import (
    NOTHING,
    Family,
    TextWeight,
    Weights,
    family_of,
    has_ctok,
    sum_of,
    tokens_of,
    weigh,
    weigh_closely,
    weight_json,
    weight_of_json,
)

ANY = st.characters(exclude_categories=())
FAMILIES: dict[str, Family] = {"v3": "v3", "v4.7": "v4.7", "v5": "v4.8"}
WORDS = "Every turn resends the whole conversation, because the model keeps no state."


def counted() -> list[dict[str, Any]]:
    """Texts that were held out of the fit, with the counts the API gave (``tests/data/README.md``)."""
    lines = lzma.decompress((DATA / "counted-texts.jsonl.xz").read_bytes()).decode().split("\n")
    return [json.loads(line) for line in lines if line]


def errors(kind: str, name: str, count: Any) -> list[float]:
    found = [one for one in COUNTED if one["kind"] == kind]
    return [abs(count(one["text"], FAMILIES[name]) / one["tokens"][name] - 1) for one in found]


COUNTED = counted()


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("kind", "bar"), [("code", 0.07), ("prose, Latin", 0.07), ("prose, Chinese", 0.10)])
def test_the_default_is_near_what_the_api_counted(kind: str, bar: float, name: str) -> None:
    found = errors(kind, name, lambda text, family: tokens_of(weigh(text), family))
    assert len(found) >= 5
    assert median(found) <= bar


@pytest.mark.skipif(not has_ctok(), reason="the extra claude-tokens is not installed")
@pytest.mark.parametrize("name", FAMILIES)
def test_ctok_counts_what_the_api_counted(name: str) -> None:
    short = [one for one in COUNTED if len(one["text"]) < 11_000][:6]
    for one in short:
        weight = weigh_closely(one["text"])
        assert weight.method(FAMILIES[name]) == "ctok"
        assert tokens_of(weight, FAMILIES[name]) == pytest.approx(one["tokens"][name], rel=0.01)


@pytest.mark.parametrize("family", FAMILIES.values())
def test_a_script_that_was_never_fitted_is_not_wild(family: Family) -> None:
    """Cuneiform, hieroglyphs, Gothic: o200k has their bytes, and so has every vocabulary of Claude's."""
    for text in ("𒀀𒀁𒀂" * 30, "𓀀𓀁𓀂" * 30, "𐌰𐌱𐌲" * 30):
        bytes_ = len(text.encode())
        assert 0.5 * bytes_ < tokens_of(weigh(text), family) < 1.3 * bytes_


@given(st.text(ANY, max_size=200), st.sampled_from([*FAMILIES.values(), None]))
def test_tokens_are_never_negative_nor_far_more_than_the_bytes(text: str, family: Family | None) -> None:
    bytes_ = len(text.encode("utf-8", "surrogatepass"))
    assert 0 <= tokens_of(weigh(text), family) <= 3 * bytes_ + 1


@given(st.text(ANY, max_size=200))
def test_a_weight_survives_its_json(text: str) -> None:
    weight = weigh(text)
    assert weight_of_json(json.loads(json.dumps(weight_json(weight)))) == weight
    assert weight.chars == len(text)


def test_counts_of_ctok_survive_the_json() -> None:
    weight = TextWeight({"lower": (10, 2)}, {"v3": 3, "v4.7": 4})
    assert weight_of_json(json.loads(json.dumps(weight_json(weight)))) == weight
    assert (tokens_of(weight, "v3"), tokens_of(weight, "v4.7"), tokens_of(weight, "v4.8")) == (3, 4, 4)


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        7,
        [],
        {},
        {"classes": []},
        {"classes": {"lower": [1]}},
        {"classes": {"lower": [1, -2]}},
        {"classes": {"lower": [1, True]}},
        {"classes": {"lower": [1, 2.5]}},
        {"classes": {}, "ctok": {"v3": None}},
        {"classes": {}, "ctok": 3},
    ],
)
def test_what_is_no_weight_is_unknown(damaged: object) -> None:
    assert weight_of_json(damaged) is None


def test_a_class_that_this_version_does_not_know_counts_by_its_tokens() -> None:
    assert tokens_of(TextWeight({"a class of later": (100, 100)}), "v4.8") == 110


def test_the_families_differ_where_the_vocabularies_do() -> None:
    english, chinese = weigh(WORDS * 5), weigh("上下文越长，每一轮请求发送的内容就越多。" * 5)
    assert tokens_of(english, "v4.7") > 1.2 * tokens_of(english, "v3")
    assert tokens_of(chinese, "v4.7") == pytest.approx(tokens_of(chinese, "v3"), rel=0.03)
    assert tokens_of(english, "v4.8") == tokens_of(english, "v4.7")


def test_another_vendors_model_counts_as_o200k() -> None:
    from analyzers.tokenizer import token_ids

    assert tokens_of(weigh(WORDS), None) == pytest.approx(len(token_ids(WORDS)), abs=1)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-3-haiku-20240307", "v3"),
        ("claude-opus-4-5-20251101", "v3"),
        ("us.anthropic.claude-sonnet-4-6-v1:0", "v3"),
        ("claude-opus-4-6[1m]", "v3"),
        ("claude-opus-4-7", "v4.7"),
        ("claude-opus-4-8", "v4.8"),
        ("claude-fable-5-2", "v4.8"),
        ("claude-haiku-5-5@20260901", "v4.8"),
        ("claude-mythos-preview", None),
        ("glm-5.2", None),
        ("gpt-6", None),
        (None, None),
    ],
)
def test_the_family_of_a_model(model: str | None, family: Family | None) -> None:
    assert family_of(model) == family


def test_each_distinct_text_is_weighed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(module, "weigh", lambda text: seen.append(text) or NOTHING)
    weights = Weights()
    for text in (WORDS, WORDS + ".", WORDS, WORDS + ".", "a lone \ud800" * 20, "a lone \ud800" * 20):
        weights.of(text)
    assert seen == [WORDS, WORDS + ".", "a lone \ud800" * 20]


def test_only_so_many_weights_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(module, "weigh", lambda text: seen.append(text) or NOTHING)
    monkeypatch.setattr(module, "MOST_KEPT", 2)
    weights = Weights()
    texts = [f"{number} {WORDS}" for number in range(3)]
    for text in (texts[0], texts[1], texts[0], texts[2], texts[0], texts[1]):
        weights.of(text)
    assert seen == [texts[0], texts[1], texts[2], texts[1]]  # the one used longest ago goes first


def test_a_folded_text_has_the_weight_that_a_note_tells() -> None:
    weights = Weights(known={"f" * 64: weigh(WORDS)})
    assert weights.of_folded("f" * 64) == weigh(WORDS)
    assert weights.of_folded("0" * 64) is None
    assert weights.of_folded(None) is None


def summed(*weights: TextWeight) -> Sequence[object]:
    whole = sum_of(weights)
    return whole.chars, whole.counted


def test_weights_add_up_and_keep_ctoks_counts_only_where_all_have_them() -> None:
    one, other = TextWeight({"lower": (4, 1)}, {"v3": 1, "v4.7": 1}), TextWeight({"lower": (6, 2)}, {"v3": 5})
    assert summed(one, other) == (10, {"v3": 6})
    assert summed(one, NOTHING) == (4, {"v3": 1, "v4.7": 1})
    assert summed(one, TextWeight({"han": (2, 2)})) == (6, {})
    assert summed() == (0, {})
