"""A calibration as a file of the user's: JSON, versioned, checked when it is read. Pure: bytes in, values out.

    {"format": "weighbridge-calibration", "version": 1, "made": "2026-11-30T12:00:00Z",
     "families": {"v4.8": {"multipliers": {"latin": 1.043, ...}, "used": true, ...}}, ...}

Multipliers are good for the table of factors that they were fitted on, so the file names it by hash (``factors``); with
another table it is refused. All members beside the multipliers tell where they come from, and are not read again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from typing import Any, Final

from analyzers.calibrated import KINDS, Multipliers
from analyzers.calibration import FEW, HIGHEST, LOWEST, PRIOR, Calibration, Errors, FamilyCalibration
from analyzers.token_factors import FACTORS, UNSEEN
from analyzers.tokens import Family

FORMAT: Final = "weighbridge-calibration"
VERSION: Final = 1
LARGEST: Final = 1 << 20
"""Bytes of a file."""

_FAMILIES: Final[tuple[Family, ...]] = ("v3", "v4.7", "v4.8")
_AGAIN: Final = "make it again with `weighbridge calibrate -o FILE`"


class BadCalibration(ValueError):
    """The file is no calibration that can be used; the text is one sentence that says why and what to do."""


def calibration_json(found: Calibration) -> dict[str, Any]:
    """The document: what the file holds, and what ``calibrate --json`` prints. Errors in percent."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "made": found.made,
        "method": "o200k",
        "factors": _factors(),
        "prior": {"multiplier": 1.0, "samples": PRIOR, "lowest": LOWEST, "highest": HIGHEST, "one_below": FEW},
        "families": {name: _family_json(one) for name, one in found.families.items()},
        "excluded": dict(found.excluded),
    }


def calibration_bytes(found: Calibration) -> bytes:
    """The content of the file."""
    return json.dumps(calibration_json(found), indent=2).encode() + b"\n"


def multipliers_of(data: bytes, name: str) -> Multipliers:
    """The multipliers of a file. ``name``: of the file, for messages and for what is calibrated by it. Raises
    BadCalibration."""
    try:
        told = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise BadCalibration(f"{name} is no calibration (it is no JSON): {_AGAIN}") from None
    if type(told) is not dict or told.get("format") != FORMAT:
        raise BadCalibration(f"{name} is no calibration of weighbridge: {_AGAIN}")
    if told.get("version") != VERSION:
        raise BadCalibration(f"{name} is a calibration of another version of weighbridge: {_AGAIN}")
    if told.get("factors") != _factors():
        raise BadCalibration(f"{name} was fitted to other token factors than this weighbridge has: {_AGAIN}")
    made, families = told.get("made"), told.get("families")
    if type(made) is not str or not _is_day(made[:10]) or type(families) is not dict:
        raise BadCalibration(f"{name} is damaged (made or families): {_AGAIN}")
    return Multipliers(
        f"{name} of {made[:10]}",
        {family: _multipliers(families[family], family, name) for family in _FAMILIES if family in families},
    )


def _multipliers(one: Any, family: str, name: str) -> Mapping[str, float]:
    told = one.get("multipliers") if type(one) is dict else None
    if type(told) is not dict or told.keys() - set(KINDS):
        raise BadCalibration(f"{name} is damaged (the multipliers of {family}): {_AGAIN}")
    for kind, value in told.items():
        if type(value) not in (int, float) or not LOWEST <= value <= HIGHEST:
            raise BadCalibration(
                f"{name} is damaged ({family}: {kind} is no number from {LOWEST} to {HIGHEST}): {_AGAIN}"
            )
    return {kind: float(value) for kind, value in told.items() if value != 1}


def _is_day(text: str) -> bool:
    return len(text) == 10 and text.isascii() and text.replace("-", "").isdigit()


def _factors() -> str:
    """The table of factors by hash."""
    return sha256(json.dumps([FACTORS, UNSEEN], sort_keys=True).encode()).hexdigest()[:16]


def _family_json(one: FamilyCalibration) -> dict[str, Any]:
    return {
        "multipliers": dict(one.multipliers),
        "used": one.used,
        "forced": one.forced,
        "by_kind": one.by_kind,
        "samples": {"differences": one.differences, "whole_requests": one.whole, "left_out_as_older": one.older},
        "conversations": one.threads,
        "estimated_tokens": {kind: round(one.seen.get(kind, 0.0)) for kind in KINDS},
        "held_out": {
            "by": one.held_out,
            "improved": one.improved,
            "before": _errors_json(one.before),
            "after": _errors_json(one.after),
        },
    }


def _errors_json(errors: Errors | None) -> dict[str, float] | None:
    return None if errors is None else asdict(errors)
