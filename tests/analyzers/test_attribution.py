"""Estimated tokens beside the server's own total, and what stands between them."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from capture_files import end, request, response, start, written
from conversations import call, user
from typer.testing import CliRunner

from analyzers.attribution import attribution, known_weights, ratios
from analyzers.cli import app
from analyzers.exchange import Exchange
from analyzers.noted import Noted, describing
from analyzers.tokens import Weights, weigh
from analyzers.wire.fold import fold, unfold
from analyzers.wire.jsontext import dump
from analyzers.wire.usage import Usage

PROSE = "The weighbridge tells the load from the vehicle, and says how sure it is of it. " * 40
HAN = "这座地磅在卡车驶过时称重，不让它停下来。" * 40


def said(counted: int | None, *messages: Any, **more: Any) -> Exchange:
    usage = None
    if counted is not None:
        usage = {"input_tokens": counted - 30, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 20}
    return call(list(messages) or [user(PROSE)], usage=usage and usage | {"output_tokens": 5}, **more)


def test_what_the_estimate_misses_is_one_figure_and_in_no_row() -> None:
    found = attribution(said(1000))
    assert found is not None
    estimate = found.estimate
    assert found.counted == 1000
    assert found.residual == 1000 - estimate.tokens != 0
    assert estimate.tokens == sum(field.tokens for field in estimate.fields) + sum(
        addition.tokens or 0 for addition in estimate.additions
    )
    again = attribution(said(9999))
    assert again is not None and again.estimate == estimate  # the server's figure changes no row


def test_the_server_s_total_is_the_sum_of_three_counters() -> None:
    exchange = said(1000)
    assert exchange.response is not None and exchange.response.usage is not None
    usage, _ = Usage.from_json({"input_tokens": 970, "output_tokens": 5})
    found = attribution(replace(exchange, response=replace(exchange.response, usage=usage)))
    assert found is not None
    assert (found.counted, found.residual) == (None, None)
    assert found.reason == "the server did not tell the whole input"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"server_tool_use": {"web_search_requests": 2}}, "the server's own tools added to the prompt"),
        ({"iterations": [{"type": "compaction"}, {"type": "message"}]}, "the server made several passes"),
    ],
)
def test_what_is_not_of_one_prompt_is_not_compared(changes: dict[str, Any], reason: str) -> None:
    parts = {"input_tokens": 970, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 20}
    counted = parts | {"output_tokens": 5}
    found = attribution(call([user(PROSE)], usage=counted | changes))
    assert found is not None and found.residual is None
    assert found.reason is not None and found.reason.startswith(reason)


def test_a_message_thread_s_request_is_not_its_prompt() -> None:
    exchange = said(1000)
    assert exchange.request is not None
    body = exchange.request.body | {"thread": {"type": "continue", "previous_message_id": "msg_1"}}
    found = attribution(replace(exchange, request=replace(exchange.request, body=body)))
    assert found is not None and (found.counted, found.residual) == (1000, None)


def test_what_the_server_cleared_stands_apart() -> None:
    exchange = said(1000)
    assert exchange.response is not None
    edits = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_input_tokens": 400}]}
    rest = {"context_management": edits}
    found = attribution(replace(exchange, response=replace(exchange.response, rest=rest)))
    plain = attribution(exchange)
    assert found is not None and plain is not None and plain.residual is not None
    assert (found.cleared, found.residual) == (400, plain.residual + 400)


def test_a_tool_that_waits_to_be_loaded_is_on_the_wire_and_not_in_the_prompt() -> None:
    tool = {"name": "Later", "description": PROSE, "input_schema": {"type": "object"}}
    here = attribution(said(1000, tools=[tool]))
    later = attribution(said(1000, tools=[tool | {"defer_loading": True}]))
    assert here is not None and later is not None
    assert [row.row.path for row in later.estimate.deferred] == ["tools[0]"]
    assert here.estimate.tokens - later.estimate.tokens > 600


def test_a_folded_text_counts_by_its_note_and_is_unknown_without_one() -> None:
    exchange = said(1000)
    assert exchange.request is not None
    body, _ = unfold(fold(exchange.request.body, 400))
    folded = replace(exchange, request=replace(exchange.request, body=body))
    whole, without = attribution(exchange, Weights()), attribution(folded, Weights())
    assert whole is not None and without is not None
    assert without.estimate.at_least and not whole.estimate.at_least
    key = sha256(PROSE.encode()).hexdigest()
    noted = attribution(folded, Weights(known={key: weigh(PROSE)}))
    assert noted is not None
    assert known_weights({key: Noted(weigh(PROSE), {})}).of_folded(key) == weigh(PROSE)
    assert noted.estimate.tokens == whole.estimate.tokens


def test_characters_per_token_are_told_by_script_and_by_field() -> None:
    found = [attribution(one, Weights()) for one in (said(1000), said(900, user(HAN)))]
    (one,) = ratios([each for each in found if each is not None])
    by_script = {ratio.name: ratio for ratio in one.scripts}
    assert one.requests == 2
    assert by_script["han"].chars == 40 * 18
    assert 0.8 < (by_script["han"].chars_per_token or 0) < 1.4
    assert 2.5 < (by_script["latin"].chars_per_token or 0) < 6.5
    assert sum(ratio.chars for ratio in one.scripts) == sum(ratio.chars for ratio in one.fields)
    assert one.counted == 1900
    assert one.chars_per_token == one.chars / 1900


@pytest.fixture
def folded_capture(tmp_path: Path) -> Path:
    body = {"model": "claude-opus-5-5", "system": PROSE, "messages": [{"role": "user", "content": HAN}]}
    describe = describing()
    notes = [describe(sha256(text.encode()).hexdigest(), text) + b"\n" for text in (PROSE, HAN)]
    lines = [start(100), request("1", dump(body), fold_over=100), response("1"), *notes, end()]
    return written(tmp_path, "capture.jsonl", *lines)


def test_show_tells_tokens_of_a_folded_capture_by_its_notes(folded_capture: Path) -> None:
    result = CliRunner().invoke(app, ["show", "1", "--unit", "tokens", "--json", "-c", str(folded_capture)])
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert shown["unit"] == "tokens" and not shown["total"]["at_least"]
    fields = {field["name"]: field["tokens"] for field in shown["fields"]}
    assert 500 < fields["system"] < 1_400 and 500 < fields["messages"] < 1_000
    assert shown["counted"] is not None
    assert shown["residual"] == shown["counted"] - shown["total"]["tokens"]


def test_show_prints_the_residual_and_the_method(folded_capture: Path) -> None:
    result = CliRunner().invoke(app, ["show", "1", "--unit", "tokens", "-c", str(folded_capture)])
    assert result.exit_code == 0
    assert "counted by the server:" in result.stdout and "residual" in result.stdout
    assert "estimated:" in result.stdout


def test_show_ratios_needs_no_number_and_show_does(folded_capture: Path) -> None:
    result = CliRunner().invoke(app, ["show", "--ratios", "-c", str(folded_capture)])
    assert result.exit_code == 0 and "han" in result.stdout
    assert CliRunner().invoke(app, ["show", "-c", str(folded_capture)]).exit_code == 2
    assert CliRunner().invoke(app, ["list", "--unit", "tokens", "-c", str(folded_capture)]).exit_code == 2
