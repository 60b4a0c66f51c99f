"""What becomes of the values of requests and answers: what stays, and what no coat keeps from going."""

from __future__ import annotations

import base64
import json
import os
from typing import Any
from urllib.parse import quote

import pytest

from analyzers.path_patterns import patterns
from analyzers.redact import Redactor
from analyzers.redact_body import redacted_body
from analyzers.redact_check import Canaries
from analyzers.redact_records import RecordRedactor
from analyzers.wire.fold import Elided, fold, unfold
from analyzers.wire.jsontext import dump, parse

KEY = b"k" * 32
SECRET = "Wq7hT2mZp9LkVx4RbN8d"
RECORDS = RecordRedactor(Redactor(KEY))


def _redacted(value: Any, **wish: Any) -> Any:
    return Redactor(KEY, **wish).value(value)


def _record(line: bytes) -> dict[str, Any]:
    return RECORDS.record(parse(line).value)  # type: ignore[no-any-return]


def _body(text: Any) -> dict[str, Any]:
    return {"model": "claude-opus-5", "messages": [{"role": "user", "content": text}]}


def _written(value: Any) -> str:
    return dump(value).decode()


# What stays


def test_the_apis_own_vocabulary_stays() -> None:
    request_body = {
        "model": "claude-haiku-4-5", "max_tokens": 64000, "stream": True,
        "thinking": {"type": "adaptive", "display": "omitted"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}],
        "tool_choice": {"type": "auto"}, "output_config": {"effort": "high"}, "service_tier": "auto",
        "messages": [{"role": "assistant", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}]}],
        "system": [{"type": "text", "text": "",
                    "cache_control": {"type": "ephemeral", "ttl": "1h", "scope": "global"}}],
    }  # fmt: skip
    assert _redacted(request_body) == request_body


def test_names_and_numbers_of_a_tools_input_are_the_users() -> None:
    new = _redacted(
        {"type": "tool_use", "name": "Bash", "input": {"type": "Bash", "pin": 4711, "name": "text", "on": True}}
    )
    assert list(new) == ["type", "name", "input"] and new["type"] == "tool_use"
    assert not {"type", "pin", "name"} & set(new["input"]) and True in new["input"].values()
    assert "4711" not in _written(new) and "Bash" not in _written(new)


def test_a_schema_keeps_its_keywords_and_its_names_are_those_of_the_inputs() -> None:
    schema = {"type": "object", "required": ["city"], "$schema": "https://json-schema.org/draft/2020-12/schema",
              "properties": {"city": {"type": "string", "description": "Oslo"},
                             "type": {"type": "integer"}}}  # fmt: skip
    new = _redacted({"tools": [{"name": "weather", "input_schema": schema}], "input": {"city": "Oslo"}})
    told, [given] = new["tools"][0]["input_schema"], new["input"]
    assert told["type"] == "object" and told["$schema"] == schema["$schema"]
    assert next(iter(told["properties"])) == told["required"][0] == given != "city"
    assert "type" not in told["properties"] and told["properties"][given]["type"] == "string"
    assert told["properties"][given]["description"] == new["input"][given] != "Oslo"


def test_small_limits_of_a_schema_stay_and_large_numbers_do_not() -> None:
    new = _redacted({"input_schema": {"type": "string", "maxLength": 80, "const": 471199, "minimum": 471199}})
    assert new["input_schema"]["maxLength"] == 80 and "471199" not in _written(new)


def test_a_member_nobody_knows_is_scrambled_with_its_name_and_its_numbers() -> None:
    new = _redacted({"safeguards": [{"classifier_context": {"user_identity": "jane.doe", "pin": 471199}}]})
    assert not any(told in _written(new) for told in ("classifier", "identity", "jane", "pin", "471199"))


def test_unknown_types_are_scrambled_but_for_what_readers_go_by() -> None:
    new = _redacted({"content": [{"type": "acme_vault_tool_result", "content": []}]})
    assert new["content"][0]["type"].endswith("_tool_result") and "acme" not in _written(new)


def test_counters_stay_whatever_their_names() -> None:
    usage = {"input_tokens": 7, "cache_creation": {"ephemeral_1h_input_tokens": 8}, "new_counter_tokens": 99,
             "iterations": [{"type": "message", "model": "claude-opus-5", "output_tokens": 5}]}  # fmt: skip
    assert _redacted({"usage": usage})["usage"] == usage


def test_a_day_alone_is_no_time() -> None:
    born = "1975-03-14"
    body = {"created_at": born, "timestamp": born, "anthropic_beta": [born], "anthropic_version": born}
    assert born not in json.dumps(_redacted(body))
    told = {"created_at": "2026-03-14T09:00:00Z", "anthropic_version": "bedrock-2023-05-31"}
    assert _redacted(told) == told


def test_a_name_beside_counters_that_no_counter_has_does_not_stay() -> None:
    for name in ("jane_doe_tokens", "acme-corp", "input_tokens_4b1c9f", "jane"):
        assert name not in _redacted({"usage": {"input_tokens": 7, name: 5}})["usage"]


@pytest.mark.parametrize(
    ("model", "kept"),
    [("claude-opus-4-5-20251101", True), ("us.anthropic.claude-opus-4-5-20251101-v1:0", True), ("gpt-4o", True),
     ("claude-opus-4-5[1m]", True), ("jane-finetune-7", False), ("claude-for-acme", False)],
)  # fmt: skip
def test_public_names_of_models_stay(model: str, kept: bool) -> None:
    assert (_redacted({"model": model})["model"] == model) is kept


def test_a_gateways_own_part_of_a_models_name_does_not_stay() -> None:
    assert _redacted({"model": "acme-corp/claude-opus-4-5"})["model"].endswith("/claude-opus-4-5")
    arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-5-v1:0"
    new = _redacted({"model": arn})["model"]
    assert "123456789012" not in new and new.endswith("claude-opus-4-5-v1:0")
    assert "acme" not in _redacted({"model": "acme-corp/claude-opus-4-5"})["model"]


def test_the_session_can_still_be_read_out_of_the_user_id() -> None:
    told = {"device_id": "ab" * 32, "account_uuid": "", "session_id": "3fe2c1aa-1111-4a4a-9b9b-aabbccddeeff"}
    new = _redacted({"metadata": {"user_id": json.dumps(told)}})["metadata"]["user_id"]
    parsed = json.loads(new)
    assert list(parsed) == list(told) and parsed["session_id"] == Redactor(KEY).text(told["session_id"])
    old = _redacted({"metadata": {"user_id": f"user_{'ab' * 32}_account_x_session_{told['session_id']}"}})
    assert old["metadata"]["user_id"].endswith(f"_session_{parsed['session_id']}")


# secrets in every coat


@pytest.mark.parametrize(
    "coat",
    [
        lambda secret: quote(secret, safe=""),
        lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
        lambda secret: base64.b64encode(secret.encode()).decode(),
        lambda secret: base64.urlsafe_b64encode(b"??" + secret.encode()).decode().rstrip("="),
        lambda secret: secret.encode().hex(),
        lambda secret: "".join(f"\\u{ord(char):04x}" for char in secret),
        lambda secret: "".join(f"\\x{ord(char):02x}" for char in secret),
        lambda secret: secret[:7] + "\u200b" + secret[7:],
        lambda secret: base64.b64encode(secret.encode("utf-16-le")).decode(),
        lambda secret: f"data:text/plain;base64,{base64.b64encode(f'TOKEN={secret}'.encode()).decode()}",
        lambda secret: json.dumps({"a": json.dumps({"key": secret})}),
        lambda secret: f"-----BEGIN PRIVATE KEY-----\\n{secret}\\n-----END PRIVATE KEY-----",
        lambda secret: f"   12\tAPI_KEY={secret}\r\n+export DATABASE_URL='postgres://u:p@{secret}/:%@h/db' # x",
        lambda secret: f"sk-ant-api03-{secret}-{secret}AA",
        lambda secret: f"eyJhbGciOiJIUzI1NiJ9.{base64.urlsafe_b64encode(secret.encode()).decode()}.{secret}",
    ],
)  # fmt: skip
def test_a_secret_in_any_coat_is_gone_and_the_coat_is_as_long(coat: Any) -> None:
    text = f"\ufeffsee {coat(SECRET)} there"
    canaries = Canaries(shown=frozenset())
    redactor = Redactor(KEY, seen=canaries.seen)
    new = redactor.value(_body(text))["messages"][0]["content"]
    redactor.text(SECRET)
    assert len(new) == len(text) and coat(SECRET) not in new and SECRET not in new
    assert not canaries.leaks(new)
    assert (
        [char for char in new if not char.isalnum()] == [char for char in text if not char.isalnum()]
        or "%" in text
        or "\\" in text
    )


def test_lines_tabs_and_punctuation_of_a_listing_stay() -> None:
    text = "A=1\r\nexport B='x y'\n   12\tC=\"z\"\n+D=${E}\n"
    new = _redacted(_body(text))["messages"][0]["content"]
    assert [char for char in new if not char.isalnum()] == [char for char in text if not char.isalnum()]


# pseudonyms and hashes


def test_the_same_value_gets_one_pseudonym_and_another_another() -> None:
    new = _redacted({"messages": [{"role": "user", "content": f"{SECRET} {SECRET[::-1]} {SECRET}"}], "system": SECRET})
    one, other, again = new["messages"][0]["content"].split()
    assert one == again == new["system"] != other


def test_no_hash_of_a_short_text_can_be_tested_against_guesses() -> None:
    folded = fold({"messages": [{"role": "user", "content": "PIN=4711"}]}, 0)
    new = _redacted(folded)
    hashes = {marker["sha256"] for value in (folded, new) for marker in [value["messages"][0]["content"]]}
    assert len(hashes) == 2 and new["messages"][0]["content"]["chars"] == 8
    other = Redactor(os.urandom(32)).value(folded)
    assert other["messages"][0]["content"]["sha256"] not in hashes


def test_a_text_folded_on_the_way_agrees_with_its_marker_of_before() -> None:
    text = "a long text " * 10
    [folded] = [_redacted(fold(_body(text), 50), fold_over=50)["messages"][0]["content"]]
    on_the_way = _redacted(_body(text), fold_over=50)["messages"][0]["content"]
    assert folded == on_the_way and type(unfold(folded)[0]) is Elided


def test_long_names_are_folded_with_keyed_hashes_and_escaped_ones_come_back() -> None:
    value = {"k" * 90: 1, "_elided": 2, "__elided:3": 3}
    folded = fold({"x": value}, 10)
    names = [key for key in _redacted(folded, fold_over=10).popitem()[1]]
    assert names[0].startswith("_elided:90:") and names[0] not in folded["x"]
    read = unfold(_redacted(folded))[0].popitem()[1]
    assert [key.chars if type(key) is Elided else len(key) for key in read] == [90, 7, 10]


# copies in places nobody looks at


def test_secrets_in_names_descriptions_and_blocks_of_any_type_are_gone() -> None:
    value = {
        "tools": [{"name": f"mcp__{SECRET}__read", "description": SECRET,
                   "input_schema": {"properties": {SECRET: {"const": SECRET}}}}],
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": SECRET, "cache_control": {"type": "ephemeral"}},
            {"type": "redacted_thinking", "data": SECRET}, {"type": SECRET, SECRET: {"x": [SECRET]}}, SECRET]}],
        "mcp_servers": [{"type": "url", "url": f"https://h/{SECRET}", "name": SECRET}],
        "stop_sequences": [SECRET], SECRET: SECRET,
    }  # fmt: skip
    assert SECRET not in _written(_redacted(value))


# The wishes of users


def test_only_what_is_found_is_replaced_when_texts_are_to_stay() -> None:
    def found(text: str, name: str | None) -> list[tuple[int, int]]:
        at = text.find(SECRET)
        return [(at, at + len(SECRET))] if at >= 0 else []

    new = _redacted({"messages": [{"role": "user", "content": f"the key {SECRET} is mine"}], "acme": 12}, found=found)
    assert new["messages"][0]["content"].startswith("the key ") and new["acme"] == 12 and SECRET not in _written(new)


def test_hashes_are_keyed_also_in_what_is_kept() -> None:
    folded = fold(_body("PIN=4711"), 0)
    new = Redactor(KEY).value(folded, patterns(["messages"], []))
    assert new["messages"][0]["content"]["sha256"] != folded["messages"][0]["content"]["sha256"]


# What looks like the API's own and is not


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ({"model": "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/jane-doe-claude"}, "jane"),
        ({"metadata": {"user_id": 14155552671}}, "14155552671"),
        ({"messages": [{"role": "user", "content": 4155552671}]}, "4155552671"),
        ({"source": "+1 415 555 2671"}, "555"),
        ({"kind": "10.2.3.4"}, "10.2.3.4"),
        ({"x_app": {"version": "10.2.3.4"}}, "10.2.3.4"),
        ({"betas": ["projectphoenix-janedoe-2026-01-01"]}, "janedoe"),
        (_body("prompt is too long: 4111111111111111 tokens > 14155552671 maximum"), "4111111111111111"),
        (_body('{"phone": 1e4155552671}'), "4155552671"),
        ({"input": {"phone": parse(b"1e4155552671").value}}, "4155552671"),
    ],
)
def test_figures_and_words_in_the_places_of_closed_lists_do_not_stay(value: Any, secret: str) -> None:
    new = _redacted(value)
    assert secret not in _written(new)
    assert len(_written(new)) == len(_written(value))


def test_betas_models_and_versions_that_everybody_knows_stay() -> None:
    kept = {
        "model": "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-opus-4-5-20251101-v1:0",
        "betas": ["interleaved-thinking-2025-05-14", "context-1m-2025-08-07", "claude-code-20250219"],
    }
    new = _redacted(kept)
    assert new["betas"] == kept["betas"]
    assert new["model"].endswith("anthropic.claude-opus-4-5-20251101-v1:0")


def test_long_words_that_begin_alike_share_no_key_behind_the_place_where_they_part() -> None:
    """Were one stream laid over both, the difference of two pseudonyms would be that of the words."""
    head = "eyJ1c2VyX2VtYWlsIjoi"
    known, secret = head + "Q" * 40, head + "R" + "Q" * 39
    one, other = _redacted(_body(known)), _redacted(_body(secret))
    tail_of = [made["messages"][0]["content"][len(head) + 1 :] for made in (one, other)]
    assert sum(a == b for a, b in zip(*tail_of, strict=True)) < 12


def test_numbers_in_the_text_of_a_body_go_where_they_go_in_its_value() -> None:
    data = b'{"metadata":{"user_id":12345678},"max_tokens":4096,"usage":{"input_tokens":7},"tools":[{"input_schema":' \
           b'{"maximum":60,"minLength":1234567}}],"x":5,"top_p":0.90,"id":1.50e3}'  # fmt: skip
    told = json.loads(redacted_body(data, Redactor(KEY)))
    value = json.loads(dump(Redactor(KEY).unmarked().value(parse(data).value)))
    assert told == value and told["metadata"]["user_id"] != 12345678 and told["max_tokens"] == 4096
    assert len(redacted_body(data, Redactor(KEY))) == len(data)
