"""The command that fits multipliers to a user's own captures, ``calibrate``, and the file that is made of them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from analyzers import tables
from analyzers.calibrated import Multipliers
from analyzers.calibration import Calibration
from analyzers.calibration import calibrate as calibration_of
from analyzers.calibration_file import LARGEST, BadCalibration, calibration_bytes, calibration_json, multipliers_of
from analyzers.calibration_samples import Reader, samples
from analyzers.calibration_shown import REASONS, calibration_lines, excluded_table
from analyzers.exchange import Problem
from analyzers.failure import Failure, safe
from analyzers.gather import traced
from analyzers.noted import Noted
from analyzers.progress import watched
from analyzers.reading import Given, nothing, opened, print_json, report
from analyzers.tokenizer import DamagedRanks
from analyzers.tokens import TextWeight, Weights
from analyzers.whole_file import whole_file

VARIABLE = "WEIGHBRIDGE_CALIBRATION"


def calibrate(given: Given, out: str | None, force: bool, as_json: bool) -> None:
    """Fits multipliers and writes them where the user says. ``force``: also those that make nothing better."""
    if out is None and not as_json:
        raise Failure("say where the calibration is to go: -o FILE, or --json to look at it", 2)
    problems: list[Problem] = []
    sources = opened(given)
    sources.notes = {}
    with watched(sources.read_so_far):  # notes stand behind the requests whose texts they are of
        requests = sum(exchange.request is not None for exchange in sources.exchanges([]))
    reader = Reader(Weights(known=_by_o200k(sources.notes)))
    try:
        read = traced(sources, problems, look=reader.look)
    except DamagedRanks as error:
        raise Failure(str(error), 3) from None
    report(problems)
    if not requests:
        nothing(sources, given, problems, as_json)
        return
    found = samples(read.lineage(), read.looked)
    made = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    families = {family: calibration_of(some, force=force) for family, some in sorted(found.families.items())}
    told = Calibration(families, made, found.excluded)
    if as_json:
        print_json(calibration_json(told))
    else:
        tables.draw(*(calibration_lines(told) if families else [excluded_table(found.excluded)]))
    if not families:
        most = max(found.excluded, key=lambda reason: found.excluded[reason], default="no_body")
        raise Failure(f"nothing to calibrate by, so nothing was written; most often: {REASONS[most]}", 3)
    if out is not None:
        _written(out, calibration_bytes(told))


def multipliers_given(path: str | None) -> Multipliers | None:
    """The user's calibration: of a file that was given, else of ``$WEIGHBRIDGE_CALIBRATION``. Raises Failure."""
    if path is not None and not path.strip():
        raise Failure("--calibration is empty: give a file that `weighbridge calibrate -o FILE` wrote", 2)
    path = path or os.environ.get(VARIABLE) or None
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise BadCalibration(f"{path} is larger than {LARGEST:,} bytes, which no calibration is")
        return multipliers_of(data, path)
    except OSError as error:
        reason = error.strerror or error
        raise Failure(
            f"the calibration in {path} cannot be read ({reason}): check --calibration or ${VARIABLE}", 2
        ) from None
    except BadCalibration as error:
        raise Failure(str(error), 2) from None


def _by_o200k(notes: Mapping[str, Noted]) -> dict[str, TextWeight]:
    """The noted weights, without counts by ctok: multipliers are for what o200k estimates."""
    return {sha256: TextWeight(note.weight.classes) for sha256, note in notes.items() if note.weight is not None}


def _written(out: str, data: bytes) -> None:
    """Writes the file whole or not at all."""
    place = Path(out).expanduser()
    try:
        with whole_file(place) as file:
            file.write(data)
    except OSError as error:
        raise Failure(f"{out} cannot be written ({error.strerror or error}): name a file with -o", 2) from None
    print(f"{safe(out)}: use it with --calibration, or as ${VARIABLE}", file=sys.stderr)
