"""Nothing that was planted is seen in what was redacted: a plain search of bytes, which knows nothing of how it was
done."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from capture_files import start, written
from planted import Planted, corpus, plants
from planted_people import LETTERS, Person
from spelled import ENCODINGS, SHORTEST, left, placed, spelled

from analyzers.capture_lines import lines_of
from analyzers.commands_redact import detector
from analyzers.detect.kinds import KINDS
from analyzers.exchange import Exchange, Request
from analyzers.readers.source import Source
from analyzers.readers.unpacked import unpacked_lines
from analyzers.redact_files import Wish, redact_files
from analyzers.wire.jsontext import dump, parse


def _captured(folder: Path, made: Iterable[Planted | Exchange]) -> Path:
    lines = [start(-1)]
    for number, one in enumerate(made):
        exchange = one if isinstance(one, Exchange) else one.exchange(number)
        lines += [dump(record) + b"\n" for record in lines_of(exchange, str(number))]
    return written(folder, "planted.jsonl.zst", *lines)


def _content(place: Path) -> bytes:
    with open(place, "rb") as stream:
        return b"".join(line or b"" for line in unpacked_lines(Source(stream, str(place), str(place)), 1 << 30))


def test_after_redaction_no_planted_value_is_in_the_file(tmp_path: Path) -> None:
    made = corpus()
    place = _captured(tmp_path, made)
    found = [plant for _, plant in plants(made) if len(plant.value) >= SHORTEST]
    assert len(found) >= 2000
    values = {plant.value for plant in found}
    assert len(left(_content(place), values)) > 0.9 * len(values)  # the search does find

    redact_files(str(place), str(tmp_path / "out.jsonl.zst"), Wish())

    shown = left(_content(tmp_path / "out.jsonl.zst"), values)
    assert [(plant.kind, plant.path) for plant in found if plant.value in shown] == []


def test_after_keep_text_no_value_of_a_structured_kind_is_in_the_file(tmp_path: Path) -> None:
    made = corpus(6)
    place = _captured(tmp_path, made)

    redact_files(str(place), str(tmp_path / "out.jsonl"), Wish(found=detector(str(place))))

    found = [plant for _, plant in plants(made) if KINDS[plant.kind].structured and len(plant.value) >= SHORTEST]
    shown = left(_content(tmp_path / "out.jsonl"), {plant.value for plant in found})
    assert [(plant.kind, plant.path, plant.layers) for plant in found if plant.value in shown] == []


EVERY = 19
"""Of the matrix of kinds, boundaries and encodings, so many are stepped over."""


@pytest.mark.parametrize("keep_text", [False, True])
def test_no_value_is_left_beside_anything_and_in_any_encoding_and_place(tmp_path: Path, keep_text: bool) -> None:
    made = list(spelled(EVERY))
    values = {one.value for one in made}
    place = _captured(tmp_path, placed(made))
    assert len(values) >= 2000
    assert len(left(_content(place), values)) > 0.9 * len(values)

    found = detector(str(place)) if keep_text else None
    redact_files(str(place), str(tmp_path / "out.jsonl"), Wish(found=found))

    shown = left(_content(tmp_path / "out.jsonl"), values)
    assert [one for one in made if one.value in shown] == []


def test_a_value_is_gone_in_all_its_spellings_in_one_text_and_over_several(tmp_path: Path) -> None:
    person = Person(31)
    values = [person.email, person.work, person.ipv4(), f"ghp_{person.draw(LETTERS, 36)}", person.card()]
    texts = [encode(f"see {value} now") for value in values for encode in ENCODINGS.values()]
    hidden = person.password()
    texts += [f"password={hidden}", f"then {hidden} alone", json.dumps({"of": f"it is {hidden}"}), " and ".join(texts)]
    blocks = [{"type": "text", "text": text} for text in texts]
    request = Request({"model": "claude-opus-5-5", "messages": [{"role": "user", "content": blocks}]}, time=1.0)
    place = _captured(tmp_path, [Exchange(request, None, "unanswered", "x:1")])

    redact_files(str(place), str(tmp_path / "out.jsonl"), Wish(found=detector(str(place))))

    before, content = _content(place), _content(tmp_path / "out.jsonl")
    assert left(content, [*values, hidden]) == set()
    assert _lengths(before) == _lengths(content)


def test_words_of_a_passage_are_gone_wherever_else_they_stand(tmp_path: Path) -> None:
    reminder = (
        "<system-reminder>\nContents of /home/zokuga/CLAUDE.md (project instructions):\n\n"
        "Call it yard77lamps\n</system-reminder>"
    )
    messages = [{"role": "user", "content": text} for text in (reminder, "the yard77lamps, and nothing else")]
    place = _captured(tmp_path, [Exchange(Request({"messages": messages}, time=1.0), None, "unanswered", "x:1")])

    redact_files(str(place), str(tmp_path / "out.jsonl"), Wish(found=detector(str(place))))

    content = _content(tmp_path / "out.jsonl")
    assert b"yard77lamps" not in content and b"and nothing else" in content


def _lengths(content: bytes) -> list[int]:
    """Of each text of the request."""
    [body] = [record["body"] for record in map(json.loads, content.splitlines()) if "body" in record]
    return [len(block["text"]) for message in body["messages"] for block in message["content"]]


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
