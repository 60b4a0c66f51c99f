"""Every structured kind is found between whatever stands beside it, in every encoding, in all its spellings: nothing of
the value is left in a text without what was found."""

import base64
from urllib.parse import quote

import pytest
from planted_people import LETTERS, Person
from spelled import ENCODINGS, NAMED, SHAPED, Spelled, spelled, spellings

from analyzers.detect.text import look

EVERY = 37
"""Of the matrix of tens of thousands, so many are stepped over: all boundaries and all encodings come in turn."""


def without(text: str) -> str:
    """A text in which what was found is blacked out."""
    out, at = [], 0
    for start, end in sorted({(one.start, one.end) for one in look(text).found}):
        out.append(text[at:start])
        at = max(at, end)
    return "\0".join([*out, text[at:]])


def is_left(one: Spelled) -> bool:
    rest = without(one.text)
    return any(spelling in rest for spelling in spellings(one.value))


def test_nothing_of_a_value_is_left_beside_anything_and_in_any_encoding() -> None:
    made = list(spelled(EVERY))
    assert len(made) > 1000
    assert {one.encoding for one in made} == set(ENCODINGS)
    assert [one[:1] + one[2:] for one in made if is_left(one)] == []


P = Person(77)
KEY = f"ghp_{P.draw(LETTERS, 36)}"


@pytest.mark.parametrize("value", [P.email, KEY, P.work, P.ipv4()])
@pytest.mark.parametrize("between", [" ", "\n", ", then ", '","'])
def test_all_spellings_of_a_value_in_one_text_are_found(value: str, between: str) -> None:
    spelt = [encode(value) for encode in ENCODINGS.values()]
    for text in (between.join(spelt), between.join(reversed(spelt)), between.join([*spelt, *spelt])):
        rest = without(text)
        assert [spelling for spelling in spellings(value) if spelling in rest] == []


def test_a_value_in_the_bytes_of_a_picture_is_found_and_the_picture_stays() -> None:
    pixels = bytes(P.random.randrange(256) for _ in range(3000))
    picture = b"\x89PNG\r\n\x1a\n" + pixels[:1500] + f"tEXtAuthor\0{P.email}\0".encode() + pixels[1500:]
    text = base64.b64encode(picture).decode()
    [one] = [one for one in look(text).found if one.kind == "email"]
    assert P.email.endswith(one.value[-12:]) and one.end - one.start < 2 * len(P.email)


def test_a_value_inside_base64_is_placed_by_its_own_characters() -> None:
    text = base64.b64encode(f"write to {P.email} at once, and then go on with the report".encode()).decode()
    [one] = look(text).found
    assert P.email in base64.b64decode(text[one.start // 4 * 4 : -(-one.end // 4) * 4]).decode()
    assert one.end - one.start < 1.5 * len(P.email) + 2


def test_what_cannot_be_looked_into_is_told_by_its_place() -> None:
    coded = P.email
    for _ in range(12):
        coded = quote(coded, safe="")
    text = f"see {coded} there"
    looked = look(text)
    assert looked.too_deep == 1
    [(start, end)] = looked.left
    assert coded in text[start:end]


def test_the_matrix_has_every_kind_that_has_a_shape_or_a_name() -> None:
    assert len({kind for kind, _ in SHAPED} | {kind for kind, _, _ in NAMED}) >= 17
