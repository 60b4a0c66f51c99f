"""Texts into texts that say nothing and measure the same: words become pseudonyms, everything between them stays.

What a text holds is judged decoded. ``\\u00e9``, ``\\x41`` and ``%41`` inside a text are the character that they stand
for, and the pseudonym's character is written in the same spelling; ``\\n`` stays an escape. A text that is itself JSON
is taken apart at its own strings, at every level, so that it parses again, with as many escapes as before. A few fixed
phrases stay, because figures and labels are told from them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from json import decoder

from analyzers.pseudonyms import Pseudonyms
from analyzers.wire import labels
from analyzers.wire.jsontext import NotJson, parse

type Span = tuple[int, int]
type Found = Callable[[str, str | None], Iterable[Span]]
"""Where a text holds what must not be shown: begin and end of each, in characters. Given the text and the name of the
member or header that it is."""

KEPT_WORDS = frozenset(("true", "false", "null"))
"""Literals of JSON, so that JSON in a text stays some."""

_MOST_KNOWN = 32 * 1024 * 1024  # characters of texts remembered: a conversation resends everything

_ASCII_WORD = re.compile("[A-Za-z0-9]+")
_ESCAPE = r"\\+(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[bfnrt])|%[0-9A-Fa-f]{2}"
_DRIVE = r"(?<![^\W_])[A-Za-z]:\\(?!\\)[^\s\"'<>|*?]*"
_JSON_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_JSON_PART = re.compile(rf"{_JSON_STRING}|-?[0-9][0-9.eE+-]*|[A-Za-z]+", re.DOTALL)
_IN_JSON_STRING = re.compile(
    r"\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\.", re.DOTALL
)
"""An escape in a JSON string; the two of one character together."""
_NUMBER = re.compile(r"([0-9]+)(\.[0-9]+)?")
_EXPONENT = re.compile(r"[0-9][eE][-+]?[0-9]|NaN|Infinity")
_LONGEST_POWER = 3
_TOO_LONG = re.compile(r"prompt is too long: [0-9]{1,8} tokens > [0-9]{1,8} maximum")
_LONG_NUMBER = 8
_MADE_UP = "msg_claude_tap_capture"
_REMINDER_HEAD = 400
_SIGNS = re.compile("|".join(re.escape(sign) for sign, _ in labels._REMINDERS))
_LONGEST_PHRASE = 60
_scanstring: Callable[[str, int, bool], tuple[str, int]] = decoder.scanstring  # type: ignore[attr-defined]


class Scrambler:
    """Texts under one key. ``found``: only what it finds is replaced; None: all that is no phrase. ``seen`` is told of
    every text that was scrambled, with the result, ``kept`` of phrases that stay."""

    def __init__(
        self,
        key: bytes,
        found: Found | None = None,
        seen: Callable[[str, str], None] | None = None,
        kept: Callable[[str], object] | None = None,
    ) -> None:
        self.words = Pseudonyms(key, KEPT_WORDS)
        self._found = found
        self._seen = seen
        self._kept = kept
        self._known: dict[tuple[str, str | None], str] = {}
        self._held = 0

    def text(self, text: str, name: str | None = None) -> str:
        """The text, as long in characters, UTF-16, UTF-8 and JSON. Equal texts give equal texts. ``name``: of the
        member or header that it is, for what only its name tells of."""
        if not text:
            return text
        if self._found is None:
            name = None
        known = self._known.get((text, name))
        if known is None:
            known = self._all(text) if self._found is None else self._only_found(text, name)
            self._remember((text, name), known)
        return known

    def whole(self, text: str) -> str:
        """The same, whatever ``found`` would leave of it."""
        return self.text(text) if self._found is None else self._all(text)

    def number(self, written: str) -> str:
        """A number as it is written, with other digits; a leading 0 stays, and so does an exponent."""
        found = self._found
        if found is not None and (len(written) < _LONG_NUMBER or not list(found(written, None))):
            return written
        head, exponent, power = written.partition("e") if "e" in written else written.partition("E")
        if len(power.lstrip("+-")) > _LONGEST_POWER:
            power = "".join(self.words.word(part) if part.isdigit() else part for part in re.split("([0-9]+)", power))
        new = _NUMBER.sub(self._digits, head, count=1) + exponent + power
        if self._seen is not None and len(written) >= _LONG_NUMBER:
            self._seen(written, new)
        return new

    def _digits(self, match: re.Match[str]) -> str:
        whole, fraction = match.groups()
        return self.words.word(whole) + ("." + self.words.word(fraction[1:]) if fraction else "")

    def _remember(self, key: tuple[str, str | None], new: str) -> None:
        if self._held > _MOST_KNOWN:
            self._known.clear()
            self._held = 0
        self._known[key] = new
        self._held += len(new)

    def _only_found(self, text: str, name: str | None) -> str:
        assert self._found is not None
        out, at = [], 0
        for begin, end in _joined(self._found(text, name)):
            out += [text[at:begin], self._plain(text[begin:end])]
            at = end
        return "".join([*out, text[at:]])

    def _all(self, text: str) -> str:
        if text[:1].isspace() or text[:1] in '{["':
            new = self._as_json(text)
            if new is not None:
                return new
        out, at = [], 0
        for begin, end in kept_spans(text):
            out += [self._plain(text[at:begin]), text[begin:end]]
            at = end
            if self._kept is not None:
                self._kept(text[begin:end])
        return self._plain(text) if not out else "".join([*out, self._plain(text[at:])])

    def _plain(self, text: str) -> str:
        if "\\" not in text and "%" not in text:
            return self._words_in(text)
        return _patterns()[1].sub(self._spelled, text)

    def _spelled(self, match: re.Match[str]) -> str:
        run = match[0]
        word = self.words.word
        if run[1:3] == ":\\" and "\\u" not in run:  # a path of Windows, whose separators are no escapes
            return self._words_in(run)
        if "\\" not in run and "%" not in run:
            if self._seen is not None:
                self._seen(run, word(run))
            return word(run)
        units = _units(run)
        new = self._words_in("".join(unit.char for unit in units))
        return "".join(unit.written(char) for unit, char in zip(units, new, strict=True))

    def _words_in(self, text: str) -> str:
        """Words replaced, with no regard to escapes."""
        word = self.words.word
        pattern = _ASCII_WORD if text.isascii() else _patterns()[0]
        new = pattern.sub(lambda match: word(match[0]), text)
        if self._seen is not None:
            self._seen(text, new)
        return new

    # JSON inside a text

    def _as_json(self, text: str) -> str | None:
        """A text that is JSON whose escapes or numbers need care, replaced at its own strings; None for any other. Each
        level of JSON inside JSON is at least twice as long as what it holds, so there are few of them."""
        bare = text.strip(" \t\r\n")
        if len(bare) < 2 or (bare[0] + bare[-1]) not in ("{}", "[]", '""'):
            return None
        if "\\" not in bare and not _EXPONENT.search(bare):
            return None
        try:
            document = parse(text.encode("utf-8", "surrogatepass"))
        except NotJson:
            return None
        if any(note.code == "trailing_text" for note in document.notes):
            return None
        return _JSON_PART.sub(self._json_part, text)

    def _json_part(self, match: re.Match[str]) -> str:
        part = match[0]
        if part[0] == '"':
            return f'"{self.json_string(part[1:-1])}"'
        return part if part[0].isalpha() else self.number(part)

    def json_string(self, written: str) -> str:
        """The inside of a JSON string as it is written, in the same spelling."""
        if "\\" not in written:
            return self.text(written)
        value, _ = _scanstring(written + '"', 0, False)
        return respelled(written, self.text(value))


def respelled(written: str, new: str) -> str:
    """The inside of a JSON string with each character replaced by the one of ``new``, escapes where there were
    escapes. Structure (control characters, quotes, backslashes) must be the same in ``new``."""
    if "\\" not in written:
        return new
    out: list[str] = []
    at = through = 0  # in ``new``, and in ``written``
    for match in _IN_JSON_STRING.finditer(written):
        plain = match.start() - through
        out.append(new[at : at + plain])
        at += plain
        through = match.end()
        escape = match[0]
        if len(escape) == 2:
            out.append(escape)
        else:
            units = new[at].encode("utf-16-be", "surrogatepass")
            codes = [units[first : first + 2].hex() for first in range(0, len(units), 2)]
            upper = _is_upper(escape.replace("u", ""))
            out += [f"\\u{code.upper() if upper else code}" for code in codes]
        at += 1
    out.append(new[at:])
    return "".join(out)


def _joined(spans: Iterable[Span]) -> list[Span]:
    """The stretches in order, those that overlap as one: what begins in the middle of a value is no word of its own."""
    joined: list[Span] = []
    for begin, end in sorted(spans):
        if joined and begin < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif begin < end:
            joined.append((begin, end))
    return joined


def kept_spans(text: str) -> list[Span]:
    """The phrases of a text that stay: what its label is told from, and the API's sentence on a prompt too long. Of a
    phrase that is only begun the whole words stay, so that two texts that part behind them part there as before."""
    head = text[: labels._HEAD]
    begin = len(head) - len(head.lstrip())
    end = begin + _phrase_length(text[begin : begin + _LONGEST_PHRASE])
    spans = [(begin, end)] if end > begin else []
    if text.startswith(labels._REMINDER, begin):
        head = text[begin : begin + _REMINDER_HEAD]
        spans += [(begin + match.start(), begin + match.end()) for match in _SIGNS.finditer(head)]
    elif "prompt is too long" in text:
        spans += [match.span() for match in _TOO_LONG.finditer(text, end)]
    return spans


def _phrase_length(text: str) -> int:
    """How many characters a text has of the phrase that it begins with: all, or whole words and what follows each."""
    following, whole = _phrases()
    at = 0
    while text[at : at + 1] and text[at] in following.get(text[:at], ""):
        at += 1
    if text[:at] in whole:
        return at
    while at and (text[at - 1].isalnum() or not any(map(str.isalnum, text[:at]))):
        at -= 1
    return at


def known_phrases() -> list[str]:
    """Beginnings and signs that stay in a text."""
    return [labels._REMINDER, _MADE_UP, *(sign for sign, _ in (*labels._BEGINNINGS, *labels._REMINDERS))]


@cache
def _phrases() -> tuple[dict[str, str], frozenset[str]]:
    """Beginnings of phrases, each with the characters that may follow it; and the phrases."""
    whole = frozenset((labels._REMINDER, _MADE_UP, *(sign for sign, _ in labels._BEGINNINGS)))
    following: dict[str, str] = {}
    for phrase in whole:
        for at, char in enumerate(phrase):
            following[phrase[:at]] = following.get(phrase[:at], "") + char
    return following, whole


@dataclass(frozen=True, slots=True)
class _Unit:
    """One character of a text and how it is spelled there: as itself, or behind a ``lead`` of backslashes or ``%``."""

    char: str
    kind: str = ""
    lead: str = ""
    upper: bool = False

    def written(self, char: str) -> str:
        """Another character in this spelling."""
        if char == self.char and self.kind == "kept":
            return self.lead
        if self.kind == "u":
            units = char.encode("utf-16-be", "surrogatepass")
            codes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
            return "".join(f"{self.lead}u{self._cased(code)}" for code in codes)
        if self.kind == "x":
            return f"{self.lead}x{self._cased(f'{ord(char):02x}')}"
        if self.kind == "%":
            return "".join(f"%{self._cased(f'{byte:02x}')}" for byte in char.encode("utf-8", "surrogatepass"))
        return char

    def _cased(self, hexadecimal: str) -> str:
        return hexadecimal.upper() if self.upper else hexadecimal


_UNIT = re.compile(rf"(?:%[0-9A-Fa-f]{{2}})+|{_ESCAPE}|.", re.DOTALL)


def _units(run: str) -> list[_Unit]:
    """A run of characters and escapes as characters, each with its spelling; what is no letter that way is one unit
    that stays."""
    units: list[_Unit] = []
    for part in _UNIT.findall(run):
        if part[0] == "%" and len(part) > 2:
            units += _percent_units(part)
        elif part[0] == "\\" and len(part) > 1:
            lead = part[: len(part) - len(part.lstrip("\\"))]
            units.append(_escaped_unit(part, lead, part[len(lead) :]))
        else:
            units.append(_Unit(part))
    return _paired(units)


def _escaped_unit(part: str, lead: str, rest: str) -> _Unit:
    if rest[0] not in "ux" or len(rest) == 1:
        return _Unit("\n", "kept", part)
    char = chr(int(rest[1:], 16))
    return _Unit(char, rest[0], lead, _is_upper(rest[1:]))


def _percent_units(part: str) -> list[_Unit]:
    raw = bytes.fromhex(part.replace("%", ""))
    upper = _is_upper(part)
    try:
        return [_Unit(char, "%", "", upper) for char in raw.decode()]
    except UnicodeDecodeError:
        return [
            _Unit(chr(byte), "%", "", upper) if byte < 128 else _Unit("\n", "kept", part[3 * at : 3 * at + 3])
            for at, byte in enumerate(raw)
        ]


def _paired(units: list[_Unit]) -> list[_Unit]:
    """The same with surrogates that make one character together as that."""
    out: list[_Unit] = []
    for unit in units:
        last = out[-1] if out else None
        if last is not None and _pairs(last, unit):
            char = (last.char + unit.char).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
            out[-1] = _Unit(char, "u", unit.lead, unit.upper)
        else:
            out.append(unit)
    return out


def _pairs(last: _Unit, unit: _Unit) -> bool:
    """Whether two escapes are the halves of one character, spelled alike."""
    halves = "\ud800" <= last.char <= "\udbff" and "\udc00" <= unit.char <= "\udfff"
    return halves and last.kind == unit.kind == "u" and (last.lead, last.upper) == (unit.lead, unit.upper)


def _is_upper(hexadecimal: str) -> bool:
    return any("A" <= char <= "F" for char in hexadecimal)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A word in any script, with the marks on its letters; and the same with escapes in it, or a path of Windows."""
    marks: list[str] = []
    code = 0x300
    while code < 0x1E000:
        if unicodedata.category(chr(code)) in ("Mn", "Mc"):
            first = code
            while unicodedata.category(chr(code + 1)) in ("Mn", "Mc"):
                code += 1
            marks.append(f"{chr(first)}-{chr(code)}")
        code += 1
    word = rf"(?:[^\W_]|[{''.join(marks)}])+"
    return re.compile(word), re.compile(rf"{_DRIVE}|(?:{word}|{_ESCAPE})+", re.DOTALL)
