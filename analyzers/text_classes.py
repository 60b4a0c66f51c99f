"""A text's characters and o200k tokens by class of writing: what tokens of other vocabularies can be estimated from.

Texts are cut into pieces where Claude's vocabularies do not join either (a word with the blank before it, a run of
punctuation, of digits, of blanks, of one script), and each piece is tokenized by itself. How a piece is spelled tells
most of what it costs elsewhere: a word that is one frequent token of o200k is one token nearly everywhere; a rare one,
one in capitals, one with accents, one without a blank before it costs more, each by a factor of its own
(``token_factors``).

No piece is longer than 64 characters and its blank, so that the time is linear whatever a tokenizer does with a long
run of one kind (older ones of tiktoken took quadratic time), and what is remembered stays small. About two million
characters a second, several times less where no word repeats.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from analyzers.tokenizer import token_ids

# Code points by script, as written inside a regular expression's brackets (Unicode blocks).
SCRIPTS: Final = {
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "cyrillic": "\u0400-\u045f",
    "cyrillic extended": "\u0460-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f",
    "armenian": "\u0530-\u058f",
    "hebrew": "\u0590-\u05ff\ufb1d-\ufb4f",
    "arabic": "\u0600-\u06ff\u0750-\u077f\u0870-\u08ff\ufb50-\ufdff\ufe70-\ufefe",
    "thaana": "\u0780-\u07bf",
    "devanagari": "\u0900-\u097f\ua8e0-\ua8ff",
    "bengali": "\u0980-\u09ff",
    "gurmukhi": "\u0a00-\u0a7f",
    "gujarati": "\u0a80-\u0aff",
    "tamil": "\u0b80-\u0bff",
    "telugu": "\u0c00-\u0c7f",
    "kannada": "\u0c80-\u0cff",
    "malayalam": "\u0d00-\u0d7f",
    "sinhala": "\u0d80-\u0dff",
    "thai": "\u0e00-\u0e7f",
    "lao": "\u0e80-\u0eff",
    "tibetan": "\u0f00-\u0fff",
    "myanmar": "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f",
    "georgian": "\u10a0-\u10ff\u1c90-\u1cbf\u2d00-\u2d2f",
    "ethiopic": "\u1200-\u139f\u2d80-\u2ddf",
    "khmer": "\u1780-\u17ff",
    "han": "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af",
    "kana": "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "hangul": "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff",
    "cjk punctuation": "\u3000-\u3004\u3008-\u3020\u302a-\u303f\uff00-\uff20\uff3b-\uff40\uff5b-\uff65\ufe30-\ufe4f",
    "symbols": "\u0080-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7\u2000-\u2bff\ufe00-\ufe0f",
}
_ACCENTED: Final = (
    "\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0300-\u036f\u1d00-\u1eff"
    "\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a"
)
_LONGEST: Final = 64
_SLICE: Final = 1 << 16
"""Characters taken apart at once: bounds memory, and lets other threads in between."""

_FREQUENT: Final = 8_000
"""Ranks of o200k below this are its most frequent pieces, nearly all English or code."""

_KNOWN: Final = 40_000
"""Ranks below this are English and the largest other languages."""

_LONG: Final = 4
"""Characters per token of a word whose parts o200k knows: its language is a large one."""

_EMOJI: Final = "\U0001f000"

_PIECES: Final = re.compile(
    "|".join(
        (
            rf" ?(?:[A-Z]?[a-z]{{1,{_LONGEST}}}+(?![{_ACCENTED}])|[A-Z]{{1,{_LONGEST}}}(?![a-z{_ACCENTED}]))",
            rf" ?[A-Za-z{_ACCENTED}]{{1,{_LONGEST}}}",
            r"[0-9]{1,32}",
            rf" ?[!-/:-@\[-`{{-~]{{1,{_LONGEST}}}",
            rf"[ \t\r\n\f\v]{{1,{_LONGEST}}}",
            *(rf" ?[{ranges}]{{1,{_LONGEST}}}" for ranges in SCRIPTS.values()),
            rf"[^\x00-\x7f{_ACCENTED}{''.join(SCRIPTS.values())}]{{1,32}}",
            rf"[\x00-\x08\x0e-\x1f\x7f]{{1,{_LONGEST}}}",
            r"[\s\S]",
        )
    )
)
_IS_ACCENTED: Final = re.compile(f"[{_ACCENTED}]")
_IS_VIETNAMESE: Final = re.compile(
    "[\u01a0\u01a1\u01af\u01b0\u1ea0-\u1eb7\u1eba\u1ebb\u1ebe-\u1ec9\u1ece-\u1ee3\u1ee6-\u1ef9]"
)
_IS_ADDITIONAL: Final = re.compile("[\u0180-\u02ff\u0300-\u036f\u1e00-\u1eff]")  # Yoruba, Igbo, Ewe, …
_IS_SCRIPT: Final = tuple((name, re.compile(f"[{ranges}]")) for name, ranges in SCRIPTS.items())
_BLANKS: Final = " \t\r\n\f\v"


def classes_of(text: str) -> dict[str, tuple[int, int]]:
    """Characters and o200k tokens by class. The characters add up to the text's."""
    found: dict[str, tuple[int, int]] = {}
    for part in _slices(text):
        for piece, times in Counter(_PIECES.findall(part)).items():
            name, tokens = _weighed(piece)
            chars, before = found.get(name, (0, 0))
            found[name] = (chars + len(piece) * times, before + tokens * times)
    return found


def script_of(name: str) -> str:
    """The script of a class, for people: ``latin``, ``han``, ``digits``, …"""
    return name if name in SCRIPTS or name in _PLAIN else "latin"


_PLAIN: Final = frozenset(("digits", "punctuation", "blank", "newline", "blanks", "control", "emoji", "other"))


def _slices(text: str) -> Iterator[str]:
    """The text in parts, cut before a blank where there is one near."""
    start = 0
    while len(text) - start > _SLICE:
        end = start + _SLICE
        near = max(text.rfind(" ", end - 256, end), text.rfind("\n", end - 256, end))
        end = near if near > start else end
        yield text[start:end]
        start = end
    yield text[start:]


@lru_cache(1 << 17)
def _weighed(piece: str) -> tuple[str, int]:
    """The class of a piece and its o200k tokens."""
    ids = token_ids(piece)
    return _class(piece, ids), len(ids)


def _class(piece: str, ids: list[int]) -> str:
    last = piece[-1]
    if _IS_ACCENTED.match(last) or (last < "\x80" and last.isalpha()):
        return _latin(piece, ids)
    if last < "\x80":
        if last.isdigit():
            return "digits"
        if last in _BLANKS:
            return "blank" if piece == " " else "newline" if piece == "\n" else "blanks"
        return "punctuation" if last > " " and last != "\x7f" else "control"
    for name, ranges in _IS_SCRIPT:
        if ranges.match(last):
            return name
    return "emoji" if last >= _EMOJI else "other"


def _latin(piece: str, ids: list[int]) -> str:
    """The class of a word in Latin letters: by accents and case, by how frequent it is, by the blank before it."""
    split = " split" if len(ids) > 1 else ""
    if _IS_ACCENTED.search(piece):
        if _IS_VIETNAMESE.search(piece):
            return "vietnamese" + split
        return ("additional" if _IS_ADDITIONAL.search(piece) else "accented") + split
    word = piece.lstrip(" ")
    if len(word) > 1 and word.isupper():
        return "capitals"
    kind = "capital" if word[0].isupper() else "lower"
    if split:
        spelled = " long split" if len(word) >= _LONG * len(ids) else split
    else:
        spelled = "" if ids[0] < _FREQUENT else " rare" if ids[0] < _KNOWN else " rarest"
    return f"{kind}{spelled}" if piece[0] == " " else f"inner {kind}{spelled}"
