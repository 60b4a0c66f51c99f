"""``cost``, run as a user runs it."""

from __future__ import annotations

import json
import socket
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from capture_files import SEEN, body, request, response, start, written
from saved_http import MESSAGE, entry, fields, har
from session_logs import MODEL, agent_log, assistant, log, synthetic, usage
from typer.testing import CliRunner

from analyzers.cli import app
from analyzers.wire.jsontext import dump


def run(*arguments: Any, code: int = 0, env: dict[str, str] | None = None) -> str:
    told = {"COLUMNS": "240", "WEIGHBRIDGE_PRICES": ""} | (env or {})
    result = CliRunner().invoke(app, ["cost", *map(str, arguments)], env=told)
    assert result.exit_code == code, result.output
    return result.output if code else result.stdout


def costs(*places: Any, more: tuple[Any, ...] = ()) -> Any:
    return json.loads(run(*[part for place in places for part in ("-c", place)], "--json", *more))


def saved(folder: Path, told: Any, *, asked: str = "claude-opus-5-5", model: str | None = None, **changes: Any) -> Path:
    """A HAR with one answer that did not stream. ``changes``: members of the answer."""
    answer = MESSAGE | {"model": model or asked, "stop_reason": "end_turn", "usage": told} | changes
    text = dump(answer).decode()
    sent = {"model": asked, "messages": [{"role": "user", "content": "x"}]}
    made = entry(content={"text": text, "size": len(text)}, postData={"text": dump(sent).decode()})
    made["startedDateTime"] = "2026-11-30T10:00:00Z"
    made["response"]["headers"] = fields(content_type="application/json", request_id="req_1")
    place = folder / "saved.har"
    place.write_bytes(har(made))
    return place


def test_the_form_of_the_result(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1", usage(1_000, 100, read=2_000, written=300, hour=100)))
    found = costs(tmp_path)
    parts = {"input": 0.004, "write_5m": 0.001, "write_1h": 0.0008, "read": 0.0004, "output": 0.002, "web_search": 0.0}
    assert found["totals"] == {
        "usd": 0.0082, "usd_exact": "0.0082", "usd_most": 0.0082, "usd_most_exact": "0.0082", "parts": parts,
        "parts_at_least": [], "complete": True, "at_least": False, "calls": 1, "priced_calls": 1, "unpriced_calls": 0,
        "at_least_calls": 0, "estimated_calls": 0, "failed_calls": 0,
    }  # fmt: skip
    assert [found[kind][0]["usd_exact"] for kind in ("sessions", "threads", "models", "days", "rows")] == ["0.0082"] * 5
    assert found["models"][0]["model"] == MODEL
    assert found["rows"][0]["message_id"] == "m1" and found["rows"][0]["exact"]
    assert found["prices"]["list"] == "genai-prices"
    assert found["prices"]["latest_change"] >= "2026-10-14"
    assert found["prices"]["documentation"] == "2026-10-08"


def test_the_price_list_and_its_date_are_printed(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1"))
    told = run("-c", tmp_path)
    assert "every sum is exact at these prices" in told
    assert "prices: list prices of genai-prices" in told and "2026-10-08" in told


def test_no_connection_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    log(tmp_path, assistant("m1"))
    assert costs(tmp_path)["totals"]["complete"]


def test_amounts_in_json_are_numbers_of_ten_decimals_and_exact_text(tmp_path: Path) -> None:
    saved(tmp_path, usage(1, 0), asked="claude-haiku-5-5")
    totals = costs(tmp_path)["totals"]
    assert (totals["usd"], totals["usd_exact"]) == (1e-07, "0.0000001")
    saved(tmp_path, usage(0, 0, read=1, service_tier="batch", inference_geo="us"), asked="claude-haiku-5-5")
    totals = costs(tmp_path)["totals"]
    assert (totals["usd"], totals["usd_exact"]) == (5.5e-09, "0.0000000055")


@pytest.mark.parametrize("view", ["request", "session", "model", "day"])
def test_each_view_has_the_total(tmp_path: Path, view: str) -> None:
    log(tmp_path, assistant("m1", usage(1_000_000, 0)))
    assert "4.0000" in run("-c", tmp_path, "--by", view)


def test_threads_are_told_apart(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1", usage(1_000_000, 0)))
    agent_log(tmp_path, "a1", assistant("m2", usage(500_000, 0), isSidechain=True, agentId="a1"))
    found = costs(tmp_path)
    assert (found["main"]["usd"], found["sub_agents"]["usd"]) == (4, 2)
    assert {(thread["agent"], thread["usd"]) for thread in found["threads"]} == {(None, 4), ("a1", 2)}
    assert "/ a1" in run("-c", tmp_path, "--by", "session")


def test_h01_one_hour_writes_in_a_log(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1", usage(0, 0, written=10_000, hour=10_000), model="claude-sonnet-4-6"))
    assert costs(tmp_path)["totals"]["usd_exact"] == "0.06"


def test_h03_the_range_of_a_host_that_may_count_cached_tokens_in_the_input(tmp_path: Path) -> None:
    seen = SEEN | {"host": "gateway.example.com"}
    lines = request("1", body(), **{name: value for name, value in seen.items() if name == "host"})
    told = {"input_tokens": 1000, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 0, "output_tokens": 0}
    written(tmp_path, "a.jsonl", start(), lines, response("1", usage=told))
    totals = costs(tmp_path)["totals"]
    assert (totals["usd_exact"], totals["usd_most_exact"], totals["complete"]) == ("0.00019", "0.00109", False)
    assert "the total is between 0.0002 and 0.0011 USD" in run("-c", tmp_path)
    own = tmp_path / "own.toml"
    own.write_text('[hosts."gateway.example.com"]\ncached_in_input = true\n')
    captures = tmp_path / "a.jsonl"
    assert costs(captures, more=("--prices", own))["totals"]["usd_most_exact"] == "0.00019"


def test_h05_the_tier_is_each_request_s_own(tmp_path: Path) -> None:
    rows = [assistant(f"m{n}", usage(90_000, 0), at=60 * n, model="claude-haiku-5-5") for n in range(100)]
    log(tmp_path, *rows)
    assert costs(tmp_path)["totals"]["usd_exact"] == "0.9"


def test_h08_unpriced_calls_are_named_and_the_total_says_at_least(tmp_path: Path) -> None:
    log(
        tmp_path,
        assistant("m1", usage(1_000_000, 0)),
        assistant("m2", usage(20, 3), model="glm-x", at=5),
        synthetic(at=9),
    )
    found = costs(tmp_path)
    assert (found["totals"]["usd"], found["totals"]["usd_most"]) == (4, None)
    assert found["totals"]["unpriced_calls"] == 1 and found["totals"]["calls"] == 2
    (entry_,) = found["unpriced"]
    assert (entry_["model"], entry_["calls"], entry_["input_tokens"], entry_["output_tokens"]) == ("glm-x", 1, 20, 3)
    row = found["rows"][1]
    assert (row["usd"], row["unpriced"]) == (None, "no list has a price for it")
    told = run("-c", tmp_path)
    assert "the total is at least 4.0000 USD: 1 call has no price" in told
    assert "unpriced: 1 call of glm-x with 23 tokens" in told
    assert "≥4.0000" in told


def test_h08_what_has_no_price_is_never_shown_as_0(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1", usage(20, 3), model="glm-x"))
    (line,) = [line for line in run("-c", tmp_path, "--by", "model").splitlines() if line.startswith("glm-x")]
    assert line.split() == ["glm-x", "1", *["?"] * 7]


@pytest.mark.parametrize("model", ["", None, 3])
def test_h08_a_call_without_a_model_is_unpriced(tmp_path: Path, model: Any) -> None:
    log(tmp_path, assistant("m1", usage(20, 3), model=model))
    assert costs(tmp_path)["unpriced"][0]["reason"] == "no model is named"


def test_h09_a_provider_s_cost_and_another_form_of_usage(tmp_path: Path) -> None:
    told = {
        "prompt_tokens": 1000, "input_tokens": 0,
        "prompt_tokens_details": {"cached_tokens": 900, "cache_write_tokens": 0},
        "completion_tokens": 10, "cost": 0.0135,
    }  # fmt: skip
    found = costs(saved(tmp_path, told))
    assert found["totals"]["usd_exact"] == format(Decimal("0.0004") + Decimal("0.00018") + Decimal("0.0002"), "f")
    (given,) = found["recorded"]
    assert (given["by"], given["usd"], given["calls"]) == ("provider", 0.0135, 1)
    assert found["rows"][0]["recorded"]["by"] == "provider"
    assert "recorded in the provider's answers, in no sum here: 0.0135 USD" in run("-c", tmp_path)


def test_h10_fees_tier_and_place(tmp_path: Path) -> None:
    told = usage(1_000_000, 0, inference_geo="us", server_tool_use={"web_search_requests": 3})
    found = costs(saved(tmp_path, told))
    assert found["totals"]["usd_exact"] == "4.43"
    assert found["totals"]["parts"]["web_search"] == 0.03
    assert {"rule": "inference_geo us ×1.1", "calls": 1} in found["rules"]
    found = costs(saved(tmp_path, told | {"service_tier": "priority"}))
    assert found["totals"]["unpriced_calls"] == 1
    assert "n/a at list price" in found["unpriced"][0]["reason"]


@pytest.mark.parametrize(("place", "expected"), [("global", "4"), ("europe-west1", "4.4")])
def test_a_region_of_vertex_costs_a_tenth_more(tmp_path: Path, place: str, expected: str) -> None:
    name = saved(tmp_path, usage(1_000_000, 0))
    url = f"https://x.googleapis.com/v1/projects/p/locations/{place}/publishers/anthropic/models/claude-opus-5-5:rawPredict"
    name.write_bytes(name.read_bytes().replace(b"https://api.anthropic.com/v1/messages?beta=true", url.encode()))
    assert costs(name)["totals"]["usd_exact"] == expected


def test_h11_recorded_costs_of_a_log(tmp_path: Path) -> None:
    log(
        tmp_path,
        assistant("m1", usage(300_000, 0), costUSD=0),
        assistant("m2", usage(20, 3), costUSD=1.23, model="glm-x", at=5),
    )
    found = costs(tmp_path)
    (given,) = found["recorded"]
    assert (given["by"], given["usd"], given["not_trusted"], given["unpriced_calls"]) == ("client", 1.23, 1, 1)
    assert found["totals"]["usd"] == 1.2
    assert [row["recorded"]["trusted"] for row in found["rows"]] == [False, True]
    told = run("-c", tmp_path)
    assert (
        "recorded in the client's log, in no sum here: 1.2300 USD for 1 call, of which 1.2300 for 1 that is unpriced"
        in told
    )
    assert "as 0 beside tokens, which is not trusted: 1 call\n" in told


def test_a06_a08_passes_from_the_wire(tmp_path: Path) -> None:
    passes = [
        {"type": "compaction"} | usage(100, 131, written=55_000),
        {"type": "message", "model": "claude-opus-5-5"} | usage(500, 40),
        {"type": "fallback_message", "model": "claude-sonnet-5-5"} | usage(520, 200),
    ]
    found = costs(saved(tmp_path, usage(520, 200, iterations=passes), model="claude-sonnet-5-5"))
    compaction = Decimal("0.0002") + Decimal("0.00131") + Decimal("0.1375")
    assert Decimal(found["totals"]["usd_exact"]) == compaction + Decimal("0.0028") + Decimal("0.00304")
    assert {group["model"]: group["usd_exact"] for group in found["models"]}["claude-opus-5-5"] == "0.0028"


def test_a_model_that_served_a_pass_only_has_its_amount_in_the_table(tmp_path: Path) -> None:
    passes = [
        {"type": "message"} | usage(100, 50),
        {"type": "advisor_message", "model": "claude-opus-5"} | usage(2000, 300),
    ]
    place = saved(tmp_path, usage(100, 50, iterations=passes), model="claude-sonnet-5-5")
    row = next(line for line in run("-c", str(place)).splitlines() if line.startswith("claude-opus-5 "))
    assert row.split() == ["claude-opus-5", "0", "0.0100", "0", "0", "0", "0.0075", "0", "0.0175"]


def test_a22_results_of_a_batch_once_at_half_the_price(tmp_path: Path) -> None:
    message = MESSAGE | {"model": "claude-opus-5-5", "usage": usage(900, 250), "stop_reason": "end_turn"}
    results = [
        *(
            {"custom_id": f"c{n}", "result": {"type": "succeeded", "message": message | {"id": f"msg_{n}"}}}
            for n in range(3)
        ),
        {"custom_id": "c3", "result": {"type": "errored", "error": {"type": "error"}}},
        {"custom_id": "c4", "result": {"type": "expired"}},
    ]
    text = "\n".join(dump(line).decode() for line in results)
    polled = []
    for minute in (0, 1):
        made = entry(
            request={"method": "GET", "url": "https://api.anthropic.com/v1/messages/batches/msgbatch_1/results"},
            content={"text": text, "size": len(text)},
        )
        made["startedDateTime"] = f"2026-11-30T10:0{minute}:00Z"
        made["response"]["headers"] = fields(content_type="application/x-jsonl", request_id=f"req_{minute}")
        polled.append(made)
    place = tmp_path / "saved.har"
    place.write_bytes(har(*polled))
    found = costs(place)
    assert found["totals"]["usd_exact"] == "0.0129"
    assert (found["totals"]["priced_calls"], found["totals"]["failed_calls"]) == (3, 2)


def test_own_prices_by_option_and_by_environment(tmp_path: Path) -> None:
    place = log(tmp_path, assistant("m1", usage(1_000_000, 0), model="glm-x"))
    own = tmp_path / "own.toml"
    own.write_text("date = 2026-11-02\n[models.glm-x]\ninput = 0.6\noutput = 2.2\n")
    assert costs(place, more=("--prices", own))["totals"]["usd_exact"] == "0.6"
    told = run("-c", place, env={"WEIGHBRIDGE_PRICES": str(own)})
    assert "0.6000" in told and "of 2026-11-02, then list prices" in told


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read (No such file or directory)"),
        (b"\xff\xfe", "no UTF-8 text"),
        (b"[models", "no TOML"),
        (b"[models.x]\ninput = -1", "models.x.input must be USD"),
        (b"#" * (4 * 1024 * 1024 + 1), "is larger than"),
    ],
)
def test_a_wrong_file_of_prices_is_one_sentence(tmp_path: Path, content: bytes | None, told: str) -> None:
    own = tmp_path / "own.toml"
    if content is not None:
        own.write_bytes(content)
    log(tmp_path / "logs", assistant("m1"))
    said = run("-c", tmp_path / "logs", "--prices", own, code=2)
    assert told in said and said.count("\n") == 1


def test_wrong_options_are_one_sentence(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1"))
    assert "--by 'week' is not one of" in run("-c", tmp_path, "--by", "week", code=2)
    assert "is no time zone" in run("-c", tmp_path, "--tz", "Mars/One", code=2)


def test_what_cannot_be_read_ends_with_3(tmp_path: Path) -> None:
    run("-c", tmp_path, code=3)
    run("-c", tmp_path / "missing", code=3)


def test_names_from_the_traffic_do_no_harm_to_the_terminal(tmp_path: Path) -> None:
    log(tmp_path, assistant("m1", usage(1, 1), model="x\x1b[2J[bold]"))
    for view in ("model", "request"):
        assert "\x1b" not in run("-c", tmp_path, "--by", view)


def test_rows_beyond_the_first_twenty_are_counted(tmp_path: Path) -> None:
    log(tmp_path, *[assistant(f"m{n}", usage(1, n), at=60 * n, model=f"m-{n}") for n in range(25)])
    assert "5 more (--all)" in run("-c", tmp_path, "--by", "model")
    assert "more (--all)" not in run("-c", tmp_path, "--by", "model", "--all")
