"""An estimate by kind of writing, and with multipliers laid over it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from counted_talks import CYRILLIC, HAN, PROSE
from hypothesis import given
from hypothesis import strategies as st

from analyzers.attribution import Attribution
from analyzers.calibrated import KINDS, Multipliers, calibrated, calibrated_attribution, kind_of, tokens_by_kind
from analyzers.estimate import PromptEstimate, estimate
from analyzers.text_classes import SCRIPTS
from analyzers.tokens import TextWeight, Weights, classes_of, has_ctok

TOOL = {"name": "weigh", "description": PROSE, "input_schema": {"type": "object", "properties": {}}}
PIXEL = "R0lGODlhAAQABAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="  # a GIF of 1024 by 1024
BODY: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "system": PROSE * 5,
    "tools": [TOOL, TOOL | {"name": "later", "defer_loading": True}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": HAN * 20},
                {"type": "text", "text": CYRILLIC * 20},
                {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PIXEL}},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "weigh", "input": {"lorry": "B 12"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "18,240 kg"}]},
    ],
}


def told(body: Mapping[str, Any] = BODY) -> PromptEstimate:
    return estimate(dict(body), weights=Weights())


def layered(by: Mapping[str, float], body: Mapping[str, Any] = BODY, family: Any = "v4.8") -> PromptEstimate:
    return calibrated(told(body), Multipliers("mine.json of 2026-11-30", {family: by}))


def rows(found: PromptEstimate) -> dict[str, int]:
    return {row.row.path: row.low for one in found.fields for row in one.rows}


def test_every_class_of_writing_has_a_kind() -> None:
    assert {kind_of(name) for name in SCRIPTS} <= set(KINDS)
    assert [
        kind_of(name) for name in ("lower", "vietnamese split", "cyrillic extended", "thai", "newline", "emoji")
    ] == [
        "latin",
        "latin",
        "cyrillic",
        "other scripts",
        "blanks",
        "symbols",
    ]


def test_the_kinds_and_the_rest_are_the_whole_estimate() -> None:
    found = told()
    kinds, rest = tokens_by_kind(found)
    assert sum(kinds.values()) + rest == pytest.approx(found.tokens, abs=3)
    assert rest == 286 + next(one.tokens or 0 for one in found.additions if "deferred" in one.what)
    assert kinds["images"] == 1369
    assert {"latin", "han", "cyrillic", "tools", "frames"} <= kinds.keys()


def test_a_multiplier_moves_the_rows_of_its_kind_and_no_others() -> None:
    before, after = rows(told()), rows(layered({"han": 1.5}))
    assert after["messages[0].content[0]"] == pytest.approx(1.5 * before["messages[0].content[0]"], rel=0.15)
    moved = {path for path in before if before[path] != after[path]}
    assert moved == {"messages[0].content[0]"}


@pytest.mark.parametrize(("kind", "path"), [("tools", "tools[0]"), ("images", "messages[0].content[2]")])
def test_tools_and_pictures_are_multiplied_as_a_whole(kind: str, path: str) -> None:
    assert rows(layered({kind: 2.0}))[path] == 2 * rows(told())[path]


def test_frames_are_multiplied_where_they_stand_and_the_documented_prompt_is_not() -> None:
    before, after = told(), layered({"frames": 2.0})
    assert rows(after)["messages[1].content[0]"] == rows(before)["messages[1].content[0]"] + 18
    for one, other in zip(before.additions, after.additions, strict=True):
        assert other.tokens == (2 * (one.tokens or 0) if one.what.startswith("frame") else one.tokens)


def test_totals_are_those_of_the_rows_and_additions() -> None:
    found = layered({"latin": 1.3, "han": 0.7, "frames": 1.5, "tools": 1.1})
    assert [one.tokens for one in found.fields] == [sum(row.low for row in one.rows) for one in found.fields]
    assert found.tokens == sum(one.tokens for one in found.fields) + sum(one.tokens or 0 for one in found.additions)
    assert found.most == found.tokens


def test_what_is_deferred_is_multiplied_too_and_stays_apart() -> None:
    assert layered({"tools": 2.0}).deferred[0].low == 2 * told().deferred[0].low


def test_unknown_stays_unknown_and_ranges_stay_ranges() -> None:
    pages = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQgL1R5cGUgL1BhZ2UgPj4="}
    url = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    content = [{"type": "document", "title": PROSE, "source": pages}, url]
    body = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": content}]}
    before, after = told(body), layered({"latin": 2.0, "images": 2.0}, body)
    (document, picture), (document_after, picture_after) = before.fields[1].rows, after.fields[1].rows
    assert (picture_after.tokens, picture_after.high, picture_after.reason) == (None, None, picture.reason)
    assert document.high is not None and document_after.high is not None
    assert document_after.high - document_after.low == document.high - document.low
    assert document_after.low > document.low
    assert after.most is None


def test_the_method_names_the_file() -> None:
    assert layered({"latin": 1.1}).method == "o200k, calibrated by mine.json of 2026-11-30"
    assert told().method == "o200k"


def test_a_family_without_multipliers_is_said_to_have_none() -> None:
    found = layered({"latin": 1.1}, family="v3")
    assert found.method == "o200k; mine.json of 2026-11-30 has no multipliers for tokenizer v4.8"
    assert found.tokens == told().tokens
    other = calibrated(told(BODY | {"model": "gpt-5"}), Multipliers("f", {"v4.8": {"latin": 2.0}}))
    assert other.method == "o200k; f has no multipliers for this model"


@pytest.mark.skipif(not has_ctok(), reason="the extra claude-tokens is not installed")
def test_counts_by_ctok_are_left_alone() -> None:
    closely = estimate(dict(BODY), weights=Weights(closely=("v4.7",)))
    by = Multipliers("f", {"v4.8": dict.fromkeys(KINDS, 2.0)})
    found = calibrated(closely, by)
    assert found.method == "ctok; f is of what o200k estimates, and was not applied"
    assert (found.tokens, rows(found)) == (closely.tokens, rows(closely))


def test_beside_counts_by_ctok_only_what_o200k_estimated_is_multiplied() -> None:
    counted = TextWeight(classes_of(PROSE * 5), {"v4.7": 100})
    mixed = estimate(dict(BODY), weights=_Known(PROSE * 5, counted))
    found = calibrated(mixed, Multipliers("f", {"v4.8": dict.fromkeys(KINDS, 2.0)}))
    before, after = rows(mixed), rows(found)
    assert found.method == "ctok and o200k, the latter calibrated by f"
    assert after["system"] == before["system"] == 100
    assert after["messages[0].content[2]"] == 1369
    assert after["messages[0].content[0]"] == pytest.approx(2 * before["messages[0].content[0]"], abs=1)
    assert found.additions == mixed.additions


class _Known(Weights):
    """Has counted one text."""

    def __init__(self, text: str, weight: TextWeight) -> None:
        super().__init__()
        self._text, self._weight = text, weight

    def of(self, text: str) -> TextWeight:
        return self._weight if text == self._text else super().of(text)


def test_the_residual_is_that_of_the_calibrated_estimate() -> None:
    before = told()
    found = calibrated_attribution(
        Attribution(before, 10_000, 10_000 - before.tokens, None, None), Multipliers("f", {"v4.8": {"han": 2.0}})
    )
    assert found.residual == 10_000 - found.estimate.tokens != 10_000 - before.tokens
    unknown = calibrated_attribution(Attribution(before, None, None, "why", None), Multipliers("f", {}))
    assert unknown.residual is None


@given(st.dictionaries(st.sampled_from(KINDS), st.floats(0.5, 2.0)))
def test_no_row_is_negative_or_beyond_the_bounds(by: dict[str, float]) -> None:
    before, after = rows(ESTIMATE), rows(calibrated(ESTIMATE, Multipliers("f", {"v4.8": by})))
    for path, tokens in before.items():
        assert 0.5 * tokens - 1 <= after[path] <= 2 * tokens + 1


ESTIMATE = told()
