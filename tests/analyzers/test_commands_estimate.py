"""``estimate``, run as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from json_values import DATA
from typer.testing import CliRunner

from analyzers import commands_estimate
from analyzers.cli import app
from analyzers.estimate import estimate
from analyzers.estimate_price import input_price
from analyzers.price_book import PriceBook
from analyzers.price_file import own_prices
from analyzers.price_list import PriceList

SENT = {"model": "claude-opus-5", "max_tokens": 9, "messages": [{"role": "user", "content": "What is 2+2?"}]}
PUBLISHED = DATA / "published-request.json"


@pytest.fixture(autouse=True)
def by_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the optional ctok, whose vocabularies take seconds to load."""
    monkeypatch.setattr(commands_estimate, "has_ctok", lambda: False)
    monkeypatch.delenv("WEIGHBRIDGE_PRICES", raising=False)


def run(*arguments: str, code: int = 0, given: bytes | None = None) -> str:
    result = CliRunner().invoke(app, ["estimate", *arguments], input=given)
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.output


def told(body: Any, *options: str) -> Any:
    return json.loads(run("-", "--json", *options, given=json.dumps(body).encode()))


def test_the_total_by_field_with_its_method_and_price() -> None:
    shown = run(str(PUBLISHED))
    assert shown.startswith("claude-haiku-4-5: ")
    assert "estimated: o200k tokens, corrected by family and kind of writing" in shown
    for word in ("tools", "messages", "+ frames of messages (1)", "+ the API's system prompt for tools", "total"):
        assert word in shown
    for way in ("as fresh input", "as a cache write (5m)", "as a cache read"):
        assert way in shown
    assert "smaller blocks" in shown
    assert "smaller blocks" not in run(str(PUBLISHED), "--all")


def test_json_has_every_row_and_adds_up() -> None:
    found = json.loads(run(str(PUBLISHED), "--json"))
    rows = sum(row["known"] for row in found["rows"])
    assert found["tokens"] == rows + sum(one["tokens"] for one in found["additions"])
    assert (found["method"], found["tokenizer"], found["at_least"]) == ("o200k", "v3", False)
    assert found["most"] == found["tokens"]


def test_a_body_from_a_pipe_and_from_a_file_are_the_same() -> None:
    piped = json.loads(run("-", "--json", given=PUBLISHED.read_bytes()))
    assert piped == json.loads(run(str(PUBLISHED), "--json"))


def test_a_small_request_is_met() -> None:
    assert told(SENT)["tokens"] == pytest.approx(13, abs=1)  # recorded: 13


def test_the_price_is_that_of_the_list() -> None:
    found = told(SENT)
    tokens, price = found["tokens"], found["price"]
    assert price["input"]["usd"] == pytest.approx(tokens * 5e-6)
    assert price["write_5m"]["usd"] == pytest.approx(tokens * 6.25e-6)
    assert price["read"]["usd"] == pytest.approx(tokens * 0.5e-6)


def test_terms_that_the_request_asks_for_are_in_the_price() -> None:
    assert told(SENT | {"speed": "fast"})["price"]["input"]["usd"] == pytest.approx(told(SENT)["tokens"] * 10e-6)
    here = told(SENT | {"inference_geo": "us"})["price"]
    assert here["input"]["usd"] == pytest.approx(1.1 * told(SENT)["price"]["input"]["usd"])
    assert "inference_geo us ×1.1" in here["rules"]


def test_own_prices_go_first(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text('[models."claude-opus-5"]\ninput = 1000\noutput = 1\n')
    found = told(SENT, "--prices", str(file))
    assert found["price"]["input"]["usd"] == pytest.approx(found["tokens"] / 1000)


def test_another_model_can_be_asked_about() -> None:
    old, new = told(SENT, "--model", "claude-opus-4-6"), told(SENT)
    assert (old["tokenizer"], new["tokenizer"]) == ("v3", "v4.8")
    assert old["model"] == "claude-opus-4-6"


def test_without_a_model_there_is_an_estimate_and_no_price() -> None:
    found = told({"messages": SENT["messages"]})
    assert found["tokens"] > 0 and "newest family" in found["assumed"]
    assert found["price"]["reason"] == "no model is named" and found["price"]["input"] is None


def test_what_is_unknown_is_named_and_the_total_says_at_least() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    sent = SENT | {"messages": [{"role": "user", "content": [image, {"type": "text", "text": "this?"}]}]}
    shown = run("-", given=json.dumps(sent).encode())
    assert "at least" in shown.split("\n")[0]
    assert "not wholly known: messages[0].content[0] (behind a URL: not in the request)" in shown
    assert told(sent)["most"] is None


def test_a_field_of_which_nothing_is_known_has_no_figure() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    sent = SENT | {"messages": [{"role": "user", "content": [image]}], "system": "Be brief."}
    lines = run("-", given=json.dumps(sent).encode()).split("\n")
    assert next(line.split() for line in lines if line.startswith("messages ")) == ["messages", "?"]
    fields = {one["name"]: (one["tokens"], one["at_least"]) for one in told(sent)["fields"]}
    assert fields["messages"] == (None, True)
    assert fields["system"][0] and not fields["system"][1]


def test_a_range_is_shown_as_one() -> None:
    pages = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQgL1R5cGUgL1BhZ2UgPj4="}
    sent = SENT | {"messages": [{"role": "user", "content": [{"type": "document", "source": pages}]}]}
    assert " to " in run("-", given=json.dumps(sent).encode()).split("\n")[0]
    assert told(sent)["price"]["input"]["usd_most"] > told(sent)["price"]["input"]["usd"]


def test_a_batch_is_estimated_request_by_request_at_half_the_price() -> None:
    batch = {"requests": [{"custom_id": "a", "params": SENT}, {"custom_id": "b", "params": SENT}, "none"]}
    found = told(batch)["requests"]
    alone = told(SENT)
    assert [one["path"] for one in found] == ["requests[0]", "requests[1]", "requests[2]"]
    assert found[0]["tokens"] == alone["tokens"]
    assert found[0]["price"]["input"]["usd"] == pytest.approx(alone["price"]["input"]["usd"] / 2)
    assert "requests[1]" in run("-", given=json.dumps(batch).encode())


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (b"", "no request body"),
        (b"no json", "no request body"),
        (b'{"contents": []}', "neither messages nor requests"),
        (b"[1, 2]", "no request body"),
    ],
)
def test_what_is_no_body_is_refused_with_what_to_do(given: bytes, sentence: str) -> None:
    shown = run("-", code=3, given=given)
    assert sentence in shown and "give the JSON that would be sent" in shown
    assert shown.count("\n") == 1


def test_a_file_that_is_not_there_is_told_in_one_sentence(tmp_path: Path) -> None:
    assert "cannot be read" in run(str(tmp_path / "nothing.json"), code=3)


def test_markers_of_other_tools_are_markers_when_that_is_said() -> None:
    marker = {"_elided": True, "chars": 90_000, "sha256": "0" * 64}
    sent = SENT | {"messages": [{"role": "user", "content": marker}]}
    assert told(sent, "--folded")["at_least"]
    assert "folded, and no note tells its weight" in run("-", "--folded", given=json.dumps(sent).encode())


def test_control_characters_in_names_are_not_sent_to_the_terminal() -> None:
    sent = SENT | {"model": "claude-\x1b[31m", "tools": [{"name": "\x1b]0;x\x07", "input_schema": {}}]}
    assert "\x1b" not in run("-", given=json.dumps(sent).encode())


def test_a_price_is_exact_in_decimals() -> None:
    book = PriceBook(PriceList(), own_prices('[models."m"]\ninput = 0.1\noutput = 1', "own"))
    found = estimate(SENT, "m")
    assert input_price(found, SENT, book).ways[0].usd == Decimal("0.0000001") * found.tokens


@pytest.mark.skipif(sys.platform != "linux", reason="unshare")
def test_it_works_without_a_network(tmp_path: Path) -> None:
    file = tmp_path / "body.json"
    file.write_text(json.dumps(SENT))
    command = ["unshare", "-rn", sys.executable, "-m", "analyzers", "estimate", str(file), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0 and "unshare" in result.stderr:
        pytest.skip("no user namespaces here")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["tokens"] == pytest.approx(13, abs=1)
