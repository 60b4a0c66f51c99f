"""Nothing that was planted is seen in what was redacted: a plain search of bytes, which knows nothing of how it was
done."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

from capture_files import start, written
from planted import Planted, corpus, plants

from analyzers.capture_lines import lines_of
from analyzers.commands_redact import detector
from analyzers.detect.kinds import KINDS
from analyzers.readers.source import Source
from analyzers.readers.unpacked import unpacked_lines
from analyzers.redact_files import Wish, redact_files
from analyzers.wire.jsontext import dump, parse

SHORTEST = 8


def _captured(folder: Path, made: list[Planted]) -> Path:
    lines = [start(-1)]
    for number, one in enumerate(made):
        lines += [dump(record) + b"\n" for record in lines_of(one.exchange(number), str(number))]
    return written(folder, "planted.jsonl.zst", *lines)


def _content(place: Path) -> bytes:
    with open(place, "rb") as stream:
        return b"".join(line or b"" for line in unpacked_lines(Source(stream, str(place), str(place)), 1 << 30))


def _spellings(value: str) -> Iterator[str]:
    """How a value may stand in a file."""
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(json.dumps(value)[1:-1])[1:-1]
    yield quote(value, safe="")
    yield quote_plus(value)
    for offset in range(3):  # base64 of a text that holds it depends on where it begins
        encoded = base64.b64encode(b"x" * offset + value.encode()).decode().rstrip("=")
        yield encoded[4 if offset else 0 : len(encoded) - 2]


def _left(content: bytes, value: str) -> bool:
    spellings = {spelling.encode() for spelling in _spellings(value) if len(spelling) >= SHORTEST}
    return any(spelling in content for spelling in spellings)


def test_after_redaction_no_planted_value_is_in_the_file(tmp_path: Path) -> None:
    made = corpus()
    place = _captured(tmp_path, made)
    found = [plant for _, plant in plants(made) if len(plant.value) >= SHORTEST]
    original = _content(place)
    assert len(found) >= 2000
    assert sum(_left(original, plant.value) for plant in found[::40]) > 0.9 * len(found[::40])  # the search does find

    redact_files(str(place), str(tmp_path / "out.jsonl.zst"), Wish())

    content = _content(tmp_path / "out.jsonl.zst")
    assert [(plant.kind, plant.path) for plant in found if _left(content, plant.value)] == []


def test_after_keep_text_no_value_of_a_structured_kind_is_in_the_file(tmp_path: Path) -> None:
    made = corpus(6)
    place = _captured(tmp_path, made)

    redact_files(str(place), str(tmp_path / "out.jsonl"), Wish(found=detector(str(place))))

    content = _content(tmp_path / "out.jsonl")
    found = [plant for _, plant in plants(made) if KINDS[plant.kind].structured and len(plant.value) >= SHORTEST]
    assert [(plant.kind, plant.path, plant.layers) for plant in found if _left(content, plant.value)] == []


def test_every_line_parses_and_so_does_json_inside_strings_at_every_level(tmp_path: Path) -> None:
    place = _captured(tmp_path, corpus(6))
    redact_files(str(place), str(tmp_path / "out.jsonl"), Wish())

    before, after = _content(place).split(b"\n")[:-1], _content(tmp_path / "out.jsonl").split(b"\n")[:-1]

    assert len(before) == len(after)
    for line, new in zip(before, after, strict=True):
        assert _levels(parse(line).value) == _levels(parse(new).value)


def _levels(value: object) -> list[int]:
    """How deep each string of a value holds JSON in JSON, in order."""
    if isinstance(value, dict):
        return [level for member in value.values() for level in _levels(member)]
    if isinstance(value, list):
        return [level for member in value for level in _levels(member)]
    if not isinstance(value, str):
        return []
    try:
        inner = json.loads(value)
    except ValueError:
        return [0]
    return [1 + level for level in _levels(inner)] or [1]
