"""Secrets in texts: every shape and every place of the published reports, and what must be left alone."""

import base64
import json
import urllib.parse

import pytest
from planted_people import HEX, LETTERS, Person

from analyzers.detect.kinds import SECRETS
from analyzers.detect.known import Known
from analyzers.detect.text import look

P = Person(5)
KEY = f"sk-ant-api03-{P.draw(LETTERS + '-_', 93)}AA"
HIDDEN = P.draw(LETTERS, 31) + "7"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def secrets(text: str, key: str | None = None) -> list[tuple[str, str]]:
    return [(one.kind, one.value) for one in look(text, key).found if one.kind in SECRETS]


def covers(text: str, value: str, key: str | None = None) -> bool:
    return any(value in found for _, found in secrets(text, key))


@pytest.mark.parametrize(
    "line",
    [
        "Authorization: Bearer {}", "authorization: Basic {}", "AUTHORIZATION: Token {}", "Authorization: {}",
        'Authorization: Digest username="x", response="{}"', "Proxy-Authorization: Bearer {}", "x-api-key: {}",
        "X-API-KEY: {}", "api-key: {}", "x-goog-api-key: {}", "x-auth-token: {}", "Cookie: sid={}",
        "Set-Cookie: sid={}; HttpOnly", "x-amz-security-token: {}", '"authorization": ["Bearer {}"]',
        "curl -H 'Authorization: Bearer {}' http://x", '{{"headers": {{"x-api-key": "{}"}}}}',
    ],
)  # fmt: skip
def test_every_form_of_a_header_inside_a_text(line: str) -> None:
    assert covers(f"sent\n{line.format(HIDDEN)}\nthen", HIDDEN)


def test_repeated_headers_are_all_found() -> None:
    other = P.draw(LETTERS, 31) + "8"
    text = f"Authorization: Bearer {HIDDEN}\nAuthorization: Bearer {other}\n"
    assert secrets(text) == [("authorization", HIDDEN), ("authorization", other)]


@pytest.mark.parametrize(
    "text",
    [
        "https://h.example.org/x?key={}&a=1", "https://h.example.org/x?a=1&api_key={}", "GET /x?access_token={} failed",
        "https://user:{}@h.example.org/x", "https://{}@h.example.org/x", "Referer: https://h.example.org/?api_key={}",
    ],
)  # fmt: skip
def test_keys_in_addresses(text: str) -> None:
    assert covers(text.format(HIDDEN), HIDDEN)
    assert covers(urllib.parse.quote(text.format(HIDDEN), safe=""), HIDDEN)


UTF16 = base64.b64encode(f"API_KEY={KEY}".encode("utf-16-le")).decode()


@pytest.mark.parametrize(
    "text",
    [
        urllib.parse.quote(KEY, safe=""),
        "".join(f"%{ord(char):02X}" for char in KEY),
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode().rstrip("="),
        KEY.encode().hex(),
        "".join(f"\\u{ord(char):04x}" for char in KEY),
        KEY[:20] + "\u200b" + KEY[20:],
        UTF16,
        base64.b64encode(f"ada:{KEY}".encode()).decode(),
        base64.b64encode(b"\xc3\xbf\xc3\xbe>?~ " + KEY.encode()).decode(),
        "data:text/plain;base64," + base64.b64encode(f"A=1\nKEY={KEY}\n".encode()).decode(),
        json.dumps(json.dumps({"a": [json.dumps({"b": KEY})]})),
    ],
    ids=["percent", "all percent", "base64", "base64url", "hex", "escapes", "zero width", "utf-16", "basic", "signs",
         "data URI", "json in json in json"],
)  # fmt: skip
def test_encoded_secrets(text: str) -> None:
    assert covers(f"see {text} there", KEY) or covers(text, KEY)


def test_wrapped_base64_of_a_file_is_one_text() -> None:
    wrapped = base64.encodebytes((f"# settings\nAPI_KEY={KEY}\n" + "x y z\n" * 20).encode()).decode()
    assert covers(wrapped, KEY)


def test_an_image_is_counted_and_not_taken_for_text() -> None:
    pixels = bytes(P.random.randrange(256) for _ in range(3000))
    looked = look("data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + pixels).decode())
    assert looked.found == ()
    assert looked.blobs == 1 and looked.blob_chars > 3000


DUMP = (
    'HOME=/home/{p.login}\r\nexport TOKENLESS={a}\r\n# a comment\r\n\r\nQUOTED="{b}"  \r\n'
    "DATABASE_URL=postgres://{p.login}:a@b:/c%40{c}@db.example.org:5432/x\r\nSINGLE='{d}' # why\r\n"
)


@pytest.mark.parametrize("prefix", ["", "\ufeff", "   12\t", "+", "-", "12→"])
def test_a_dump_of_the_environment_whatever_its_names_are(prefix: str) -> None:
    a, b, c, d = (P.draw(LETTERS, 10) + "7" for _ in range(4))
    lines = DUMP.format(p=P, a=a, b=b, c=c, d=d).split("\r\n")
    text = "\r\n".join(prefix + line if line else line for line in lines)
    found = [value for _, value in secrets(text)]
    assert a in found and b in found and d in found
    assert any(c in value and "a@b:/c" in value for value in found), "the tail of a password with an @ in it"


@pytest.mark.parametrize(
    "key",
    [
        KEY, f"sk-ant-oat01-{P.draw(LETTERS + '-_', 93)}AA", f"sk-proj-{P.draw(LETTERS + '-_', 120)}",
        f"sk-or-v1-{P.draw(HEX, 64)}", f"gsk_{P.draw(LETTERS, 52)}", f"xai-{P.draw(LETTERS, 80)}",
        f"hf_{P.draw(LETTERS, 34)}", f"glpat-{P.draw(LETTERS + '-', 20)}", f"ghp_{P.draw(LETTERS, 36)}",
        f"gho_{P.draw(LETTERS, 36)}", f"ghs_{P.draw(LETTERS, 36)}", f"github_pat_{P.draw(LETTERS,
        22)}_{P.draw(LETTERS, 59)}",
        f"npm_{P.draw(LETTERS, 36)}", f"AKIA{P.draw(UPPER, 16)}", f"ASIA{P.draw(UPPER, 16)}",
        f"xoxb-123456789012-123456789012-{P.draw(LETTERS, 24)}", f"AIza{P.draw(LETTERS + '-_', 35)}",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "around", ["{}", "use {} now", "ANTHROPIC_API_KEY={}", "xANTHROPIC_API_KEY={}", "k:{},", "\\n{}\\n"]
)
def test_modern_keys_are_found_to_their_end(key: str, around: str) -> None:
    assert covers(around.format(key), key)


def test_tokens_and_private_keys() -> None:
    token, key = P.jwt(), P.private_key()
    assert ("jwt", token) in secrets(f"got {token}.")
    assert secrets(f"{key}-----END RSA PRIVATE KEY-----\nand words")[0][0] == "private_key"
    escaped = json.dumps({"private_key": f"{key}-----END RSA PRIVATE KEY-----\n"})
    assert any(kind == "private_key" for kind, _ in secrets(escaped))
    assert covers(f"the file has {escaped[1:-1]} in it", key.split("\n")[3])


@pytest.mark.parametrize(
    "text",
    [
        "ANTHROPIC_API_KEY=${ANTHROPIC_API_KEY}", "export KEY=$KEY", "api_key: <your-api-key>",
        "token = xxxxxxxxxxxxxxxx",
        "x-api-key: your-key-here", "password: ********", "sk-ant-api03-your-key-here", "sk-ant-...",
        "secret = {{ secret }}",
        "max_tokens: 32000, input_tokens=24613", "password = getpass.getpass()", "token = response.headers['x-token']",
        '"password": {"type": "string", "description": "The password to use"}', "https://user:${PASS}@host/x",
        "primary_key=True, foreign_key=orders.customer_id", "-----BEGIN PRIVATE KEY-----",
        "sk-learn-compatible-estimators",
        "def authenticate(token: str, api_key: str | None = None)", "cache_control: ephemeral",
    ],
)  # fmt: skip
def test_placeholders_and_programs_are_left_alone(text: str) -> None:
    assert secrets(text) == []


def test_a_value_under_a_secret_looking_key_is_judged_by_itself() -> None:
    assert secrets("hunter2-and-more", "password") == [("secret_value", "hunter2-and-more")]
    assert secrets(HIDDEN, "client_secret") == [("secret_value", HIDDEN)]
    assert secrets("The token that the server gave", "token") == []
    assert secrets("messages", "key") == []


@pytest.mark.parametrize(
    "key",
    [
        f"SG.{P.draw(LETTERS, 22)}.{P.draw(LETTERS, 43)}",
        f"1234567890:AA{P.draw(LETTERS, 33)}",
        f"hvs.{P.draw(LETTERS, 60)}",
    ],
)
def test_keys_between_the_words_of_an_id(key: str) -> None:
    text = f"user_{key}_account_{key}_session_{key}"
    covered = {at for one in look(text).found for at in range(one.start, one.end)}
    rest = "".join("\0" if at in covered else char for at, char in enumerate(text))
    assert key[-12:] not in rest and key[:12] not in rest


def test_a_key_of_letters_only_is_a_key_where_its_beginning_is_no_word() -> None:
    assert covers("id AKIANCUKKEUWXHTKYRRY", "AKIANCUKKEUWXHTKYRRY")
    assert secrets("sk-learn-compatible-estimators-everywhere") == []


@pytest.mark.parametrize(
    "text",
    ["--api-key {}", "$password = '{}'", "**Password:** {}", "`password`: `{}`", "<password>{}</password>",
     "-Dspring.password={}", "mysql --password {} -u root", "a=1;password={}"],
)  # fmt: skip
def test_names_in_the_forms_of_other_languages(text: str) -> None:
    value = "hunter2!x7Qpw" if "key" not in text else HIDDEN
    assert covers(text.format(value), value)


def test_a_shortened_secret_is_one_where_enough_of_it_is_left() -> None:
    assert covers("password=hunter2!x7Qpw…", "hunter2!x7Qpw")
    assert secrets("x-api-key: sk-...") == []


@pytest.mark.parametrize(
    "text",
    [
        "token=" + base64.b64encode(f"A {KEY}".encode()).decode() + " and SomeOtherLongWord1234567",
        "p" * 5000 + "?q=%20" + urllib.parse.quote(f"a {KEY}"),
        "5%-off&q=%20" + KEY.replace("-", "%2D"),
        '{"a":1} {"k":"' + KEY.replace("-", "\\u002d") + '"}',
        "x/data_" + base64.urlsafe_b64encode(KEY.encode()).decode() + "_end",
        "\x1b[31msk\x1b[0m-ant" + KEY[6:],
    ],
    ids=[
        "base64 before other words",
        "a long address",
        "a percent sign",
        "two JSON texts",
        "a name before base64",
        "colour",
    ],
)
def test_encoded_secrets_beside_other_text(text: str) -> None:
    assert covers(text, KEY)


def test_a_secret_that_was_named_once_is_recognised() -> None:
    known = Known()
    known.learn(look("password=hunter2!x7Qpw").found)
    looked = look("then " + base64.b64encode(b"it was hunter2!x7Qpw").decode(), None, known)
    assert [one.value for one in looked.found] == ["hunter2!x7Qpw"]
