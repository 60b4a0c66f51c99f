"""A request as a curl script: what is sent, what is quoted, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from capture_files import body, request, response, start
from hypothesis import given
from hypothesis import strategies as st
from json_values import SHAPES, shape_requests, values
from saved_http import ASKED, BODY, entry, har, read

from analyzers.exchange import Exchange, Logged, Request
from analyzers.exports.curl import Again, NotRunnable, again, as_sent, script
from analyzers.readers.captures import CaptureStream
from analyzers.readers.har import read_har
from analyzers.readers.raw import read_body
from analyzers.wire.jsontext import dump, parse

KEYED = (
    ("content-type", "application/json"),
    ("x-api-key", "sk-ant-api03-SECRET"),
    ("anthropic-version", "2023-06-01"),
    ("anthropic-beta", "a-2026-01-01,b-2026-02-02"),
    ("user-agent", "client/1"),
)
HOSTILE = (
    "$(touch owned)", "`touch owned`", "'; touch owned; '", '"; touch owned; "', "a\\'b\\\"c", "${HOME}", "!!", "-H @x",
    "%s%n", "a  b", "*?[a-z]{b,c}", "\\", "é威🙂", "&& touch owned", "# no comment",
)  # fmt: skip


def recorded(sent: bytes = BODY, *, fold_over: int = -1, **changes: Any) -> Exchange:
    """An exchange out of a capture."""
    capture = CaptureStream("capture")
    changes = {"headers": KEYED} | changes
    lines = start(), request("1", sent, fold_over=fold_over, **changes), response("1")
    [exchange] = capture.feed(b"".join(lines))
    return exchange


def written(exchange: Exchange, body_file: str | None = None) -> str:
    return script(again(exchange, 3), body_file)


def refused(exchange: Exchange) -> str:
    with pytest.raises(NotRunnable) as told:
        again(exchange, 3)
    return str(told.value)


class Curl:
    """A program of that name that writes down what it is given, for a script to find first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        found = folder / "bin" / "curl"
        found.write_text(
            '#!/bin/sh\nprintf "%s\\0" "$@" > "$TOLD/arguments"\ncase " $* " in *" @- "*) cat > "$TOLD/input";; esac\n'
        )
        found.chmod(0o700)

    def run(self, text: str | Path, shell: str = "sh", **environment: str) -> list[str]:
        """The arguments that curl got from a script, piped to a shell or as a file; none when it was not called."""
        told = self.folder / "arguments"
        told.unlink(missing_ok=True)
        known = {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "TOLD": str(self.folder), "ANTHROPIC_API_KEY": "KEY"}
        command, piped = ([shell, str(text)], b"") if isinstance(text, Path) else ([shell], text.encode())
        subprocess.run(
            command, env=known | environment, cwd=self.folder, input=piped, capture_output=True, timeout=20, check=False
        )
        return told.read_bytes().decode().split("\0")[:-1] if told.exists() else []

    @property
    def got(self) -> bytes:
        """What came on standard input."""
        return (self.folder / "input").read_bytes()


@pytest.fixture
def curl(tmp_path: Path) -> Curl:
    return Curl(tmp_path)


def headers(arguments: list[str]) -> list[str]:
    return [value for name, value in pairwise(arguments) if name == "-H"]


def url(arguments: list[str]) -> str:
    return next(value for value in arguments if "://" in value)


# What is sent


def test_the_api_gets_the_body_and_the_headers_that_change_the_answer(curl: Curl) -> None:
    arguments = curl.run(written(recorded(path="/v1/messages?beta=true")))
    assert url(arguments) == "https://api.anthropic.com/v1/messages?beta=true"
    assert sorted(headers(arguments)) == [
        "anthropic-beta: a-2026-01-01,b-2026-02-02",
        "anthropic-version: 2023-06-01",
        "content-type: application/json",
        "x-api-key: KEY",
    ]
    assert curl.got == BODY
    assert {"--fail-with-body", "-sS", "-N"} <= set(arguments)


def test_a_script_with_its_body_in_a_file_finds_it_beside_itself(curl: Curl, tmp_path: Path) -> None:
    folder = tmp_path / "a $(touch owned) 'folder'"
    folder.mkdir()
    place = folder / "request 3.sh"
    place.write_text(written(recorded(), "request 3.json"))
    arguments = curl.run(place)
    assert arguments[-2:] == ["--data-binary", f"@{folder}/request 3.json"]
    assert not list(tmp_path.rglob("owned"))


def test_the_base_url_is_taken_from_the_environment(curl: Curl) -> None:
    arguments = curl.run(written(recorded()), ANTHROPIC_BASE_URL="http://127.0.0.1:8080")
    assert url(arguments) == "http://127.0.0.1:8080/v1/messages"


def test_a_key_never_goes_to_a_host_that_only_the_record_names(curl: Curl) -> None:
    text = written(recorded(host="gateway.example", path="/llm/v1/messages"))
    assert curl.run(text) == []
    assert "it was recorded on its way to gateway.example" in text
    arguments = curl.run(text, ANTHROPIC_BASE_URL="https://gateway.example/llm")
    assert url(arguments) == "https://gateway.example/llm/v1/messages"


@pytest.mark.parametrize("path", ["@evil.example/v1/messages", "https://evil.example/v1/messages", "", "v1/messages"])
def test_a_path_that_would_lead_elsewhere_is_refused(path: str) -> None:
    assert "path of request 3" in refused(Exchange(Request({}, path=path, host="api.anthropic.com"), None, "error", ""))


@pytest.mark.parametrize("host", ["evil.example/$(touch owned)", "user@evil.example", "`x`", "a'b", "a\nb", "x}"])
def test_a_host_that_is_none_is_not_even_named(curl: Curl, tmp_path: Path, host: str) -> None:
    text = written(recorded(host=host))
    assert host not in text
    assert curl.run(text) == []
    assert not (tmp_path / "owned").exists()


def test_a_body_or_a_log_without_a_host_goes_to_the_api(curl: Curl) -> None:
    arguments = curl.run(written(read_body(BODY, "request.json")))
    assert url(arguments) == "https://api.anthropic.com/v1/messages"
    assert "anthropic-version: 2023-06-01" in headers(arguments)
    assert "content-type: application/json" in headers(arguments)
    assert curl.got == BODY


def test_a_token_is_sent_where_a_token_was_sent(curl: Curl) -> None:
    text = written(recorded(headers=(*KEYED[2:], ("authorization", "Bearer SECRET"))))
    assert "Authorization: Bearer TOKEN" in headers(curl.run(text, ANTHROPIC_AUTH_TOKEN="TOKEN"))
    assert "Authorization: Bearer KEY" in headers(curl.run(text)), "newer SDKs send API keys like this"
    both = written(recorded(headers=(*KEYED, ("authorization", "Bearer SECRET"))))
    assert "x-api-key: KEY" in headers(curl.run(both, ANTHROPIC_AUTH_TOKEN="TOKEN"))
    assert "SECRET" not in text + both


def test_without_a_key_nothing_is_sent(curl: Curl) -> None:
    assert curl.run(written(recorded()), ANTHROPIC_API_KEY="") == []


def test_a_header_that_came_twice_is_sent_twice(curl: Curl) -> None:
    twice = (*KEYED, ("anthropic-beta", "c-2026-03-03"))
    sent = headers(curl.run(written(recorded(headers=twice))))
    assert [one for one in sent if one.startswith("anthropic-beta")] == [
        "anthropic-beta: a-2026-01-01,b-2026-02-02",
        "anthropic-beta: c-2026-03-03",
    ]


def test_an_empty_header_is_sent_empty(curl: Curl) -> None:
    """curl takes ``name:`` for the wish to leave a header out."""
    assert "anthropic-beta;" in headers(curl.run(written(recorded(headers=(("anthropic-beta", ""),)))))


def test_a_state_of_a_batch_is_asked_for_without_a_body(curl: Curl) -> None:
    asked = recorded(b"", method="GET", path="/v1/messages/batches/b_1", route="batches")
    arguments = curl.run(written(asked))
    assert url(arguments).endswith("/v1/messages/batches/b_1")
    assert "--data-binary" not in arguments
    assert not any(one.startswith("content-type") for one in headers(arguments))


# What is quoted


@pytest.mark.parametrize("shell", [name for name in ("sh", "bash", "zsh", "dash") if shutil.which(name)])
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_traffic_is_run(curl: Curl, tmp_path: Path, shell: str, text: str) -> None:
    sent = dump(ASKED | {"model": text, text: [text]})
    asked = recorded(
        sent, path=f"/v1/{text}", headers=(("anthropic-beta", text), ("content-type", text), (text, text), KEYED[1])
    )
    arguments = curl.run(written(asked), shell)
    assert url(arguments) == f"https://api.anthropic.com/v1/{re.split('[?#]', text)[0]}"
    assert f"anthropic-beta: {text}" in headers(arguments)
    assert f"content-type: {text}" in headers(arguments)
    assert curl.got == sent
    assert not list(tmp_path.rglob("owned"))


@pytest.mark.parametrize("text", [*HOSTILE, "a\nb", "\x1b[31m", "\u202e", "\x9b", "\0"])
def test_comments_hold_only_plain_words(text: str) -> None:
    """Interactive shells run what stands in one, and terminals obey it."""
    odd = Request(ASKED | {"model": text}, path="/v1/messages", headers={text: text}, other_headers=(text,))
    comments = [line for line in written(Exchange(odd, None, "error", text)).split("\n") if line.startswith("#")]
    assert comments
    assert all(re.fullmatch(r"# [A-Za-z0-9 .,:/@_…-]*", line) for line in comments), comments


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\nb", "a\0b", "\x1b[31m", "a\u202eb", "\ud800"])
def test_a_header_that_no_request_can_have_is_refused(value: str) -> None:
    assert "holds what no header can" in refused(recorded(headers=(("anthropic-beta", value),)))


@pytest.mark.parametrize("text", ["\x9b31m", "\u202eabc", "\x7f", "\U000e0041"])
def test_what_is_printed_steers_no_terminal(curl: Curl, text: str) -> None:
    sent = dump(ASKED | {"model": text})
    shown = written(recorded(sent))
    assert text not in shown
    curl.run(shown)
    assert json.loads(curl.got) == json.loads(sent)
    assert "escapes or blanks differ" in shown
    assert "are those that were sent" in written(recorded(sent), "body.json"), "in a file it is as it was"


def test_a_large_body_is_no_argument_of_a_program(curl: Curl) -> None:
    sent = body("x" * 3_000_000)
    curl.run(written(recorded(sent)))
    assert curl.got == sent


# What is refused


def test_folded_texts_are_counted_and_refused() -> None:
    told = refused(recorded(dump(ASKED | {"system": "x" * 500, "k" * 500: 1}), fold_over=400))
    assert "2 texts of it were folded when it was recorded" in told
    assert "--set capture_fold_over=-1" in told


def test_a_masked_credential_is_named_by_its_place() -> None:
    servers = [{"type": "url", "name": "a", "url": "https://a.example", "authorization_token": "SECRET"}]
    told = refused(recorded(dump(ASKED | {"mcp_servers": servers})))
    assert "mcp_servers[0].authorization_token was masked" in told
    assert "fill that in" in told
    both = refused(recorded(dump(ASKED | {"mcp_servers": servers, "system": "x" * 500}), fold_over=400))
    assert "1 text of it was folded" in both
    assert "mcp_servers[0].authorization_token was masked" in both


def test_many_credentials_are_told_by_the_first_few() -> None:
    servers = [{"type": "url", "name": "a", "authorization_token": "SECRET"}] * 5
    told = refused(recorded(dump(ASKED | {"mcp_servers": servers})))
    assert "mcp_servers[2].authorization_token, 2 more were masked" in told


@pytest.mark.parametrize(
    ("exchange", "why"),
    [
        (recorded(b"{not json"), "body of request 3 is not known: not valid JSON"),
        (recorded(None), "body of request 3 is not known: the body was streamed past"),  # type: ignore[arg-type]
        (
            recorded(route="bedrock", path="/model/anthropic.claude/invoke"),
            "Amazon Bedrock, where each request is sign",
        ),
        (recorded(route="vertex"), "Google Vertex AI"),
        (recorded(method="DELETE"), "only GET and POST"),
        (Exchange(None, None, "completed", ""), "only the answer was recorded"),
    ],
)
def test_what_cannot_be_sent_again_says_why(exchange: Exchange, why: str) -> None:
    assert why in refused(exchange)


def test_depth_is_no_matter() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert again(Exchange(Request(deep, path="/v1/messages"), None, "error", ""), 1).body == dump(deep)


# What is said


def test_it_says_when_the_bytes_are_those_that_were_sent() -> None:
    assert f"The {len(BODY)} bytes of the body are those that were sent." in written(recorded())
    spaced = json.dumps(ASKED, indent=1).encode()
    assert f"in {len(BODY)} bytes for {len(spaced)}: escapes or blanks differ" in written(recorded(spaced))
    assert "but for the letters in its escapes" in written(recorded(dump(ASKED | {"model": "\x01"})), "b")
    unknown = Exchange(Request(ASKED, path="/v1/messages"), None, "error", "")
    assert "is not known" in written(unknown)


@given(values, st.sampled_from([None, 1]), st.booleans())
def test_bytes_that_are_said_to_be_those_that_were_sent_are(value: Any, indent: int | None, ascii_only: bool) -> None:
    sent = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    for text in (sent, dump(value)):
        if as_sent(made := dump(parse(text).value), len(text)):
            assert made == text
    if b"\\u" not in dump(value):
        assert as_sent(dump(parse(dump(value)).value), len(dump(value)))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda place: place.stem)
def test_requests_of_real_clients_come_out_as_the_value_they_were(shape: Path) -> None:
    for one in list(shape_requests(shape))[:3]:
        request_again: Again = again(read_body(one["raw"], "body"), 1)
        assert request_again.body is not None
        assert parse(request_again.body).value == parse(one["raw"]).value
        if as_sent(request_again.body, request_again.sent):
            assert request_again.body == one["raw"]


def test_numbers_stay_as_they_were_written(curl: Curl) -> None:
    sent = b'{"model":"m","messages":[1.0,1E2,-0,1e400,12345678901234567890123]}'
    curl.run(written(recorded(sent)))
    assert curl.got == sent


def test_it_says_what_is_not_in_the_body() -> None:
    assert "stood in an object twice" in written(recorded(b'{"model":"a","model":"m","messages":[]}'))
    log = Exchange(Request({"messages": []}, path="/v1/messages"), None, "completed", "", Logged())
    assert "from the log of the client" in written(log)
    assert "names no model" in written(log)
    packed = entry(request={"headers": [{"name": "content-encoding", "value": "gzip"}]})
    [exchange] = read(read_har, har(packed))[0]
    assert "sent compressed, and is sent plain" in written(exchange)


def test_it_names_what_was_recorded_and_is_left_out() -> None:
    text = written(recorded(headers=(*KEYED, ("cookie", "SECRET")), path="/v1/messages?beta=true&key=SECRET"))
    assert "Headers of the client that are left out: cookie user-agent" in text
    assert "Parameters whose values were not recorded are left out: key" in text
    assert "'/v1/messages?beta=true'" in text
    assert "SECRET" not in text


def test_a_script_says_what_it_is() -> None:
    first, *_ = written(recorded()).split("\n")
    assert first.startswith("# Request 3, recorded 2026-11-30T")
    assert first.endswith("POST /v1/messages, claude-haiku-4-5")
    assert written(recorded(), "b.json").startswith("#!/bin/sh\n# Request 3")
