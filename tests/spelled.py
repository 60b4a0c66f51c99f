"""One planted value between whatever may stand beside it, in an encoding; and a plain search for it in every spelling.

A matrix: values of every structured kind, boundaries in which they are met, encodings in which texts carry texts. What
is made says where the value is, so a test asks for each whether anything of it is left.
"""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from planted_people import HEX, LETTERS, Person

from analyzers.exchange import Exchange, Request, Response
from analyzers.wire.message import ApiError

SHORTEST = 8


class Spelled(NamedTuple):
    """A text with one value in it."""

    kind: str
    value: str
    boundary: str
    encoding: str
    text: str


SHAPED: Sequence[tuple[str, Callable[[Person], str]]] = (
    ("email", lambda p: p.email),
    ("user_id", lambda p: f"user_01{p.draw(LETTERS, 20)}7"),
    ("organization_id", lambda p: f"org-{p.draw(LETTERS, 20)}7x"),
    ("request_id", lambda p: f"req_011{p.draw(LETTERS, 21)}"),
    ("home_path", lambda p: p.work),
    ("home_path", lambda p: f"/Users/{p.login}/{p.word(6)}"),
    ("home_path", Person.windows_home),
    ("home_path", lambda p: f"\\\\wsl$\\Ubuntu\\home\\{p.login}\\{p.word(6)}"),
    ("ip_address", Person.ipv4),
    ("ip_address", Person.ipv6),
    ("mac_address", Person.mac),
    ("git_remote", Person.remote),
    ("credit_card", Person.card),
    ("credit_card", lambda p: "4111 1111 1111 1111"),
    ("iban", Person.iban),
    ("jwt", Person.jwt),
    ("connection_string", Person.dsn),
    ("private_key", lambda p: f"{p.private_key()}-----END PRIVATE KEY-----"),
    *[("api_key", Person.key)] * 6,
)
"""Kinds that have a shape of their own."""

NAMED: Sequence[tuple[str, str, Callable[[Person], str]]] = (
    ("url_credentials", "https://{}@host.example.org/x", lambda p: f"{p.login}:{p.draw(LETTERS, 12)}9"),
    ("secret_value", "password={}", Person.password),
    ("secret_value", '"client_secret": "{}"', lambda p: f"{p.draw(LETTERS, 31)}7"),
    ("secret_value", "x-api-key: {}", lambda p: f"{p.draw(LETTERS, 31)}7"),
    ("secret_value", "<password>{}</password>", Person.password),
    ("authorization", "Authorization: Bearer {}", lambda p: f"{p.draw(LETTERS, 31)}7"),
    ("session_id", "session_id={}", Person.uuid),
    ("session_id", "X-Claude-Code-Session-Id: {}", Person.uuid),
    ("account_id", '"account_uuid":"{}"', Person.uuid),
    ("device_id", "deviceId: {}", lambda p: p.draw(HEX, 64)),
)
"""Kinds that a name before the value tells."""

BOUNDARIES: Sequence[str] = (
    "{}", "look at {} now", "{}\nrest", "first\n{}", "\t{}\t", "{}\r\n", "({})", "[{}]", "{{}}", "<{}>", '"{}"',
    "'{}'", "`{}`", "**{}**", "_{}_", "x: {}", "x:{}", "x={}", "x={}&y=1", 'x="{}"', "x='{}'", "={}=", "x%3A{}",
    "%20{}%20", "user_{}_account", "/{}/y", "x/{}/y", "https://h.example/{}/z", "https://h.example/?q={}&a=b",
    "https://h.example/?a=1&q={}#f", "https://h.example/#{}", "https://u:{}@h.example/", "mailto:{}", "model@{}", "@{}",
    "[text]({})", "[{}](https://x.example/)", '<a href="{}">x</a>', "<a title='{}'>", "<p>{}</p>", "| {} |", "|{}|",
    "- {}", "* {}", "{},{}", "{};", "{}.", "{}!", "{}?", "{}/", "{}:", ">{}", "#{}", "+{}", "&{}&", "$({})", "^{}$",
    "\\n{}\\n", "\\t{}", '\\"{}\\"', "a\\n{}\\nb", "\\u0022{}\\u0022", '{"a":["{}"]}', '"{}":1', "看{}吧",
    "请写信给{}，谢谢", "（{}）", "“{}”", "{}…", "—{}—", "é{}é", "🙂{}🙂", "\u200b{}\u200b", "\x1b[1m{}\x1b[0m",
    "&quot;{}&quot;",
)  # fmt: skip
"""What stands around a value."""


def _noted(text: str) -> str:
    return json.dumps({"note": text, "ok": True})


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


ENCODINGS: Mapping[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "JSON": _noted,
    "JSON in JSON": lambda text: _noted(_noted(text)),
    "JSON in a text": lambda text: f"see {_noted(text)} there",
    "JSON in JSON in a text": lambda text: f"see {_noted(_noted(text))} there",
    "escapes": lambda text: "".join(f"\\u{ord(char):04x}" if ord(char) < 0x10000 else char for char in text),
    "percent": lambda text: f"https://host.example.org/?q={quote(text, safe='')}",
    "percent for all": lambda text: "q=" + "".join(f"%{byte:02X}" for byte in text.encode()),
    "plus for blanks": lambda text: f"q={quote_plus(text)}",
    "base64": _base64,
    "base64 one on": lambda text: "k=" + base64.urlsafe_b64encode(f" {text}".encode()).decode().rstrip("="),
    "base64 two on": lambda text: f"key_/{_base64(f'> {text}')} z",
    "base64 in JSON": lambda text: _noted(_base64(text)),
    "JSON in base64": lambda text: _base64(_noted(text)),
    "hex": lambda text: text.encode().hex(),
    "hex in capitals": lambda text: f"dump {text.encode().hex().upper()}",
}


def spelled(part: int = 1) -> Iterator[Spelled]:
    """The whole matrix, or every so many of it, each value made for its place alone."""
    shaped = ((kind, "{}", make) for kind, make in SHAPED)
    for number, ((kind, around, make), boundary, name) in enumerate(product((*shaped, *NAMED), BOUNDARIES, ENCODINGS)):
        if number % part:
            continue
        value = make(Person(number))
        written = around.replace("{}", value)
        if boundary.startswith('{"'):
            written = json.dumps(written)[1:-1]
        yield Spelled(kind, value, boundary, name, ENCODINGS[name](boundary.replace("{}", written)))


def spellings(value: str) -> set[str]:
    """How a value may stand in a file: as it is, escaped once and twice, percent-encoded, in hex, in base64 (which
    depends on where in a text it begins)."""
    data = value.encode()
    found = {value, json.dumps(value)[1:-1], json.dumps(json.dumps(value)[1:-1])[1:-1]}
    found |= {quote(value, safe=""), quote_plus(value), data.hex(), data.hex().upper()}
    found |= {"".join(f"%{byte:02X}" for byte in data), "".join(f"\\u{ord(char):04x}" for char in value)}
    for offset, first in enumerate((0, 2, 3)):
        core = base64.b64encode(bytes(offset) + data).decode().rstrip("=")[first:-1]
        found |= {core, core.replace("+", "-").replace("/", "_")}
    return {spelling for spelling in found if len(spelling) >= SHORTEST}


def left(content: bytes, values: Iterable[str]) -> set[str]:
    """The values that are in some bytes in any spelling. One walk over the bytes, however many values there are."""
    begins: defaultdict[bytes, list[tuple[bytes, str]]] = defaultdict(list)
    for value in values:
        for spelling in spellings(value):
            data = spelling.encode()
            begins[data[:SHORTEST]].append((data, value))
    found: set[str] = set()
    for at in range(len(content) - SHORTEST + 1):
        for data, value in begins.get(content[at : at + SHORTEST], ()):
            if content.startswith(data, at):
                found.add(value)
    return found


def placed(made: Iterable[Spelled]) -> Iterator[Exchange]:
    """Exchanges with these texts in every place where clients put what tells of somebody, in turn."""
    texts = [one.text for one in made]
    for first in range(0, len(texts), len(_PLACES)):
        given = dict(zip(_PLACES, texts[first : first + len(_PLACES)], strict=False))
        yield _exchange(first, lambda place, given=given: given.get(place, "nothing"))  # type: ignore[misc]


_PLACES = (
    "system", "reminder", "prompt", "tool_use", "file_path", "tool_result", "listing", "document", "description",
    "default", "member", "cwd", "remote", "user_id", "header", "answer", "call", "error",
)  # fmt: skip


def _exchange(number: int, at: Callable[[str], str]) -> Exchange:
    git = {"visibility": {"remotes": [{"remote": at("remote")}]}}
    schema = {"type": "object", "properties": {"to": {"type": "string", "default": at("default")}}}
    source = {"type": "text", "media_type": "text/plain", "data": at("document")}
    call = {"type": "tool_use", "id": "toolu_1", "name": "Write"}
    results = [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": at("tool_result")},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": at("listing")}]},
    ]
    body = {
        "model": "claude-opus-5-5",
        "max_tokens": 32000,
        "system": [{"type": "text", "text": at("system")}],
        "tools": [{"name": "ask", "description": at("description"), "input_schema": schema}],
        "metadata": {"user_id": json.dumps({"device_id": "", "note": at("user_id")})},
        "safeguards": [{"type": "auto_mode", "classifier_context": {"live_cwd": at("cwd"), "git_state": git}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": f"<system-reminder>\n{at('reminder')}"}]},
            {"role": "assistant", "content": [{**call, "input": {"content": at("tool_use"), at("member"): 1}}]},
            {"role": "assistant", "content": [{**call, "input": {"file_path": at("file_path")}}]},
            {"role": "user", "content": results},
            {"role": "user", "content": [{"type": "document", "source": source}]},
            {"role": "user", "content": at("prompt")},
        ],
    }
    answer = [{"type": "text", "text": at("answer")}, {**call, "input": {"content": at("call")}}]
    request = Request(body, time=1_796_000_000.0 + number, path="/v1/messages", headers={"x-note": at("header")})
    response = Response(status=500, content=answer, error=ApiError("api_error", at("error"), None))
    return Exchange(request, response, "error", "spelled:1")
