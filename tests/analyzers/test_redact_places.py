"""A value of any kind in any place of a capture's lines: none stays, however much it looks like a word of the API's."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote

import line_places
import pytest
from planted_people import Person

from analyzers.redact import Redactor
from analyzers.redact_body import redacted_body
from analyzers.redact_records import RecordRedactor
from analyzers.wire.jsontext import dump, parse

REDACTOR = Redactor(b"k" * 32)
RECORDS = RecordRedactor(REDACTOR)


def _values() -> dict[str, str]:
    """One of each form that personal data and secrets have, those first that are made as words of the API's are."""
    person = Person(5)
    return {
        "day": "1975-03-14",
        "address": "10.217.192.252",
        "card": "4539 1488 0343 6467",
        "phone": "+49 30 1234567",
        "figures": "4915234567",
        "account number": "536-90-4399",
        "dated": "claude-for-jane-doe-20250101",
        "beta": "jane-doe-merger-2025-01-01",
        "version": "1.2.janedoe",
        "e-mail": person.email,
        "key": "sk-ant-api03-" + person.draw("abcdefXYZ0123456789", 40),
        "uuid": person.uuid(),
        "path": "/home/janedoe/quarry-project",
        "windows": "C:\\Users\\janedoe\\quarry.ini",
        "url": "https://janedoe:tr0ub4dor@git.quarry.example/x.git",
        "words": "Never tell the board about quarry",
        "chinese": "王小明住在北京市海淀区",
        "one word": "wilhelmina",
        "hex": person.draw("0123456789abcdef", 64),
    }


def _needles(value: str) -> Iterator[bytes]:
    raw = value.encode()
    yield from (raw, json.dumps(value)[1:-1].encode(), quote(value, safe="").encode(), raw.hex().encode())
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        yield encoded[4 if offset else 0 : len(encoded) - 2].encode()


def _left(out: bytes, value: str) -> bool:
    return any(needle in out for needle in _needles(value) if len(needle) >= 8)


VALUES = _values()


@pytest.mark.parametrize("kind", VALUES)
def test_no_line_of_a_capture_tells_it(kind: str) -> None:
    value = VALUES[kind]
    told = [(place, dump(line)) for place, line in line_places.lines(value)]
    assert len(told) > 140 and all(_left(line, value) for _, line in told)
    left = [place for place, line in told if _left(dump(RECORDS.record(parse(line).value)), value)]
    assert left == []


@pytest.mark.parametrize("kind", VALUES)
def test_no_body_tells_it_recorded_or_alone(kind: str) -> None:
    value = VALUES[kind]
    told = [(place, dump(body)) for place, body in line_places.bodies(value)]
    assert len(told) > 190 and all(_left(body, value) or place == "number" for place, body in told)
    for place, body in told:
        line = dump({"kind": "request", "id": "1", "body": parse(body).value})
        assert not _left(dump(RECORDS.record(parse(line).value)), value), place
        alone = redacted_body(body, REDACTOR)
        assert not _left(alone, value) and len(alone) == len(body), place
        figures = "".join(char for char in value if char.isdecimal())[:15].encode()
        assert place != "number" or figures not in alone, place
