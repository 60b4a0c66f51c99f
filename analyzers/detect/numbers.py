"""Numbers of people: telephone, payment cards, bank accounts. Cards and accounts carry a check digit, which is used."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.detect.kinds import Span

_PHONE = re.compile(
    r"[+(2-9](?<![\w+./-].)(?:(?<=\+)[1-9][0-9]{0,2}[ .-]?(?:\([0-9]{1,5}\)[ .-]?)?[0-9](?:[ .-]?[0-9]){5,13}"
    r"|(?<=\()[0-9]{3}\) ?[0-9]{3}[-.][0-9]{4}|(?<=[2-9])[0-9]{2}-[2-9][0-9]{2}-[0-9]{4})(?![\w-]|\.[0-9])"
)
_CARD = re.compile(
    r"[3-6](?<![A-Za-z0-9].)(?<![0-9][.-].)[0-9]{3}(?:([ +-]?)[0-9]{4}\1[0-9]{4}\1[0-9]{1,7}"
    r"|[ +-]?[0-9]{6}[ +-]?[0-9]{4,5})(?![A-Za-z0-9]|\.[0-9])"
)
_GOES_ON = re.compile("-[0-9]")
_SIGNS = re.compile("[ +-]")
_IBAN = re.compile(
    r"[A-Z](?<![A-Za-z0-9].)[A-Z][0-9]{2}[ +]?[A-Z0-9]{4}(?:[ +]?[A-Z0-9]{4}){1,6}(?:[ +]?[A-Z0-9]{1,4})?"
    r"(?![A-Za-z0-9])"
)

# fmt: off
_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28,
    "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18,
    "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22,
    "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MT": 31, "MU": 30, "NL": 18, "NO": 15, "PK": 24, "PL": 28,
    "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "TN": 24,
    "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}
# fmt: on
_MAKERS = re.compile(
    r"4[0-9]{12}(?:[0-9]{3}){0,2}|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"
    r"|3[47][0-9]{13}|6(?:011|4[4-9][0-9]|5[0-9]{2})[0-9]{12}|35[0-9]{14}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
)


def spans(text: str) -> Iterator[Span]:
    """The numbers of people in one text."""
    for match in _PHONE.finditer(text):
        digits = sum(map(str.isdigit, match[0]))
        at_line = match.start() == 0 or text[match.start() - 1] == "\n"
        joined = match[0][1:].isdigit()  # behind a line's first plus, as a diff has it, a plain number is no telephone
        if 8 <= digits <= 15 and not (at_line and joined and match.start() > 0):
            yield Span(*match.span(), "phone")
    for match in _CARD.finditer(text):
        if match[1] != " " and _GOES_ON.match(text, match.end()):
            continue  # groups of digits that go on
        digits_only = _SIGNS.sub("", match[0])
        if _MAKERS.fullmatch(digits_only) and _luhn(digits_only) and len(set(digits_only)) > 1:
            yield Span(*match.span(), "credit_card")
    for match in _IBAN.finditer(text):
        end = _iban_end(match[0], match[0][:2])
        if end:
            yield Span(match.start(), match.start() + end, "iban")


def _luhn(digits: str) -> bool:
    """The check digit of ISO/IEC 7812-1."""
    doubled = str.maketrans("0123456789", "0246813579")
    return sum(map(int, digits[-1::-2])) % 10 == (-sum(map(int, digits[-2::-2].translate(doubled)))) % 10


def _iban_end(text: str, country: str) -> int:
    """Where the account number ends in a text that begins with one; 0 when its check digits are wrong (ISO 13616)."""
    wanted = _IBAN_LENGTHS.get(country)
    if wanted is None:
        return 0
    seen = 0
    for at, char in enumerate(text, 1):
        seen += char not in " +"
        if seen == wanted:
            plain = _SIGNS.sub("", text[:at])
            number = "".join(str(int(char, 36)) for char in plain[4:] + plain[:4])
            return at if int(number) % 97 == 1 else 0
    return 0
