"""A calibration as a file: what was written is read, and what is no calibration is one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers import calibration_file
from analyzers.calibrated import KINDS
from analyzers.calibration import HIGHEST, LOWEST, Calibration, FamilyCalibration
from analyzers.calibration_file import BadCalibration, calibration_bytes, calibration_json, multipliers_of

MADE = "2026-11-30T12:00:00Z"


def saved(**by: float) -> bytes:
    family = FamilyCalibration({kind: by.get(kind, 1.0) for kind in KINDS}, improved=True)
    return calibration_bytes(Calibration({"v4.8": family}, MADE, {"thinking": 3}))


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    told = json.loads(saved(latin=1.1))
    change(told)
    return json.dumps(told).encode()


@given(st.dictionaries(st.sampled_from(KINDS), st.floats(LOWEST, HIGHEST)))
def test_what_was_written_is_read(by: dict[str, float]) -> None:
    found = multipliers_of(saved(**by), "mine.json")
    assert found.source == "mine.json of 2026-11-30"
    assert found.families == {"v4.8": {kind: value for kind, value in by.items() if value != 1}}


def test_it_says_where_it_comes_from() -> None:
    told = calibration_json(Calibration({}, MADE, {"thinking": 3}))
    assert (told["format"], told["version"], told["made"]) == ("weighbridge-calibration", 1, MADE)
    assert told["excluded"] == {"thinking": 3}
    assert told["prior"] == {"multiplier": 1.0, "samples": 0.25, "lowest": 0.5, "highest": 2.0, "one_below": 10}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe\x00", "no JSON"),
        (saved()[:200], "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "no calibration of weighbridge"),
        (b'{"latin": 1.1}', "no calibration of weighbridge"),
        (changed(lambda told: told.update(version=2)), "another version"),
        (changed(lambda told: told.update(factors="0" * 16)), "other token factors"),
        (changed(lambda told: told.update(made=5)), "made or families"),
        (changed(lambda told: told.update(made="\x1b[31mtoday")), "made or families"),
        (changed(lambda told: told.update(families=[])), "made or families"),
        (changed(lambda told: told["families"].update({"v4.8": None})), "the multipliers of v4.8"),
        (
            changed(lambda told: told["families"]["v4.8"].update(multipliers={"klingon": 1.0})),
            "the multipliers of v4.8",
        ),
        *(
            (changed(lambda told, value=value: told["families"]["v4.8"]["multipliers"].update(han=value)), "han is no")  # type: ignore[misc]
            for value in (0, -1, 2.1, 1e400, float("nan"), "1", True, None)
        ),
    ],
)
def test_another_file_is_refused_in_one_sentence_that_says_what_to_do(data: bytes, sentence: str) -> None:
    with pytest.raises(BadCalibration) as raised:
        multipliers_of(data, "mine.json")
    told = str(raised.value)
    assert told.startswith("mine.json ") and sentence in told and "weighbridge calibrate -o FILE" in told
    assert "\n" not in told


def test_multipliers_are_good_for_the_factors_they_were_fitted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    data = saved(latin=1.1)
    monkeypatch.setitem(calibration_file.FACTORS["v3"], "lower", (0.5, 0.5))
    with pytest.raises(BadCalibration, match="other token factors"):
        multipliers_of(data, "mine.json")


@given(st.binary(max_size=300))
def test_bytes_of_any_kind_are_read_or_refused(data: bytes) -> None:
    with pytest.raises(BadCalibration):
        multipliers_of(data, "f")
