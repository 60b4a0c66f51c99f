"""Made-up people, and made-up values of every kind that ``planted`` plants. Drawn from letters: nobody's."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Sequence

LETTERS = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase
HEX = "0123456789abcdef"
CONSONANTS, VOWELS = "bcdfgklmnprstvz", "aeiou"
COUNTRY = ("DE", "FR", "GB", "NL", "ES")
IBAN_REST = {"DE": 18, "FR": 23, "GB": 18, "NL": 14, "ES": 20}


class Person:
    """Who one exchange is about. ``of`` makes a value of a kind; some are always the same, as a person's are."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.login = self.word(9)
        self.host = f"{self.word(8)}-{self.random.randrange(10, 99)}"
        self.first, self.last = self.word(6).title(), self.word(8).title()
        self.home = f"/home/{self.login}"
        self.work = f"{self.home}/{self.word(6)}/{self.word(7)}"
        domain = f"{self.word(9)}.{self.random.choice(('com', 'org', 'de'))}"
        self.email = f"{self.first.lower()}.{self.last.lower()}@{domain}"
        self.branch = f"feature/{self.word(6)}-{self.word(7)}"
        self.device, self.session, self.account = self.draw(HEX, 64), self.uuid(), self.uuid()

    def draw(self, alphabet: str, size: int) -> str:
        return "".join(self.random.choices(alphabet, k=size))

    def word(self, size: int) -> str:
        """Something that can be said, and that no language has."""
        return "".join(self.random.choice(VOWELS if at % 2 else CONSONANTS) for at in range(size))

    def uuid(self) -> str:
        h = self.draw(HEX, 32)
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"

    def key(self) -> str:
        """A key in one of the shapes in use."""
        draw = self.draw
        upper = string.ascii_uppercase + "234567"
        shapes: Sequence[Callable[[], str]] = (
            lambda: f"sk-ant-api03-{draw(LETTERS + '-_', 93)}AA",
            lambda: f"sk-ant-oat01-{draw(LETTERS + '-_', 93)}AA",
            lambda: f"sk-ant-admin01-{draw(LETTERS, 90)}AA",
            lambda: f"sk-proj-{draw(LETTERS, 74)}T3BlbkFJ{draw(LETTERS, 40)}",
            lambda: f"sk-{draw(LETTERS, 48)}",
            lambda: f"sk-or-v1-{draw(HEX, 64)}",
            lambda: f"gsk_{draw(LETTERS, 52)}",
            lambda: f"xai-{draw(LETTERS, 80)}",
            lambda: f"hf_{draw(string.ascii_letters, 34)}",
            lambda: f"glpat-{draw(LETTERS, 20)}",
            lambda: f"{self.random.choice(('ghp', 'gho', 'ghs', 'ghu', 'ghr'))}_{draw(LETTERS, 36)}",
            lambda: f"github_pat_{draw(LETTERS, 22)}_{draw(LETTERS, 59)}",
            lambda: f"npm_{draw(LETTERS, 36)}",
            lambda: f"pypi-AgEIcHlwaS5vcmc{draw(LETTERS, 80)}",
            lambda: f"AKIA{draw(upper, 16)}",
            lambda: f"ASIA{draw(upper, 16)}",
            lambda: f"xoxb-{draw(string.digits, 12)}-{draw(string.digits, 12)}-{draw(LETTERS, 24)}",
            lambda: f"AIza{draw(LETTERS, 35)}",
            lambda: f"sk_live_{draw(LETTERS, 24)}",
            lambda: f"SG.{draw(LETTERS, 22)}.{draw(LETTERS, 43)}",
            lambda: f"dp.pt.{draw(LETTERS, 43)}",
            lambda: f"hvs.{draw(LETTERS, 60)}",
            lambda: f"shpat_{draw(HEX, 32)}",
            lambda: f"lin_api_{draw(LETTERS, 40)}",
            lambda: f"{draw('123456789', 10)}:AA{draw(LETTERS, 33)}",
        )
        return self.random.choice(shapes)()

    def password(self) -> str:
        return self.word(5) + self.draw("!#*=+", 1) + self.draw(LETTERS, 8) + self.draw(string.digits, 2)

    def card(self) -> str:
        digits = self.random.choice(("4", "52", "37")) + self.draw(string.digits, 20)
        digits = digits[: 14 if digits.startswith("37") else 15]
        total = sum(
            sum(divmod(int(digit) * 2, 10)) if at % 2 == 0 else int(digit) for at, digit in enumerate(reversed(digits))
        )
        return digits + str(-total % 10)

    def iban(self) -> str:
        country = self.random.choice(COUNTRY)
        rest = self.draw(string.digits, IBAN_REST[country])
        number = int(rest + "".join(str(int(letter, 36)) for letter in country) + "00")
        return f"{country}{98 - number % 97:02}{rest}"

    def jwt(self) -> str:
        parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": self.draw(string.digits, 10), "name": self.login})
        head = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
        return f"{head}.{self.draw(LETTERS + '-_', 43)}"

    def private_key(self, newline: str = "\n") -> str:
        kind = self.random.choice(("RSA ", "EC ", "OPENSSH ", ""))
        body = newline.join(self.draw(LETTERS + "+/", 64) for _ in range(6))
        return f"-----BEGIN {kind}PRIVATE KEY-----{newline}{body}{newline}"

    def dsn(self) -> str:
        servers = (("postgres", 5432), ("mysql", 3306), ("redis", 6379), ("mongodb+srv", 27017))
        scheme, port = self.random.choice(servers)
        password = self.draw(LETTERS, 6) + self.random.choice(("@", ":", "/", "%40", "")) + self.draw(LETTERS, 6)
        return f"{scheme}://{self.login}:{password}@db.{self.word(8)}.net:{port}/{self.word(6)}"

    def ipv4(self) -> str:
        return f"10.{self.random.randrange(10, 255)}.{self.random.randrange(10, 255)}.{self.random.randrange(1, 255)}"

    def ipv6(self) -> str:
        return "2001:db8:" + ":".join(self.draw("123456789abcdef", 4) for _ in range(6))

    def mac(self) -> str:
        return ":".join(self.draw(HEX, 2) for _ in range(5)) + ":7f"

    def phone(self) -> str:
        draw = self.draw
        return self.random.choice(
            (
                f"+49 {draw('123456789', 3)} {draw(string.digits, 7)}",
                f"+1-{draw('23456789', 3)}-{draw('23456789', 3)}-{draw(string.digits, 4)}",
                f"({draw('23456789', 3)}) {draw('23456789', 3)}-{draw(string.digits, 4)}",
                f"+86 {draw('123456789', 3)} {draw(string.digits, 4)} {draw(string.digits, 4)}",
            )
        )

    def remote(self) -> str:
        owner, repo, forge = self.word(7), self.word(8), f"git.{self.word(7)}.io"
        return self.random.choice(
            (
                f"git@{forge}:{owner}/{repo}.git",
                f"https://{forge}/{owner}/{repo}.git",
                f"ssh://git@{forge}/{owner}/{repo}",
            )
        )

    def windows_home(self) -> str:
        return f"C:\\Users\\{self.login}\\{self.word(7)}"

    def dashed(self) -> str:
        return self.work.replace("/", "-")
