"""The page in a real browser: what it shows, how it is walked, and that names do nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import capture_files
import pytest
from capture_files import written
from hostile_capture import LONG, NAMES, hostile
from typer.testing import CliRunner

from analyzers.cli import app
from analyzers.report.serve import Fresh, server
from analyzers.wire.jsontext import dump

if TYPE_CHECKING:
    from opened_page import Opened
    from playwright.sync_api import Browser

pytest_plugins = ["opened_page"]
pytestmark = pytest.mark.live
EXAMPLE = Path(__file__).parents[2] / "captures.example"


def told(*arguments: str) -> Any:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def figure(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def usd(value: float) -> str:
    """As the page writes it: four decimals of the number in the document."""
    return f"{Decimal(repr(value)).quantize(Decimal('0.0001'), ROUND_HALF_EVEN):,f}"


def test_it_opens_without_a_word_and_asks_for_nothing(opened: Callable[..., Opened]) -> None:
    page = opened(EXAMPLE)
    assert page.said == []
    assert [url.partition(":")[0] for url in page.asked] == ["file"]
    assert page.page.title() == "weighbridge report"


def test_the_figures_are_those_of_the_commands(opened: Callable[..., Opened]) -> None:
    page = opened(EXAMPLE)
    page.show_all()
    where = ("-c", str(EXAMPLE))
    show, cache, growth = told("show", "4", *where), told("cache", *where), told("growth", *where)
    cost, sessions, usage = told("cost", *where), told("sessions", *where), told("usage", *where)
    by_size = sorted(show["fields"], key=lambda field: -field["chars"])
    assert [row[:3] for row in page.rows("fields")] == [
        [field["name"], figure(field["chars"]), f"{field['share']:.1f} %"] for field in by_size
    ]
    steps = [[one["step"], figure(one["amount"])] for one in show["wire"]]
    ends = [["unexplained", figure(show["unexplained"])], ["bytes on the wire", figure(show["wire_bytes"])]]
    assert [row[:2] for row in page.rows("ledger")] == [*steps, *ends]
    assert [row[:3] for row in page.rows("blocks")] == [
        [one["path"], figure(one["chars"]), one["class"]] for one in show["blocks"]
    ]
    assert [[row[i] for i in (3, 5, 6)] for row in page.rows("turns")] == [
        [figure(one["total_input_tokens"]), figure(one["sent_tokens"]), figure(one["output_tokens"])]
        for one in growth["threads"][0]["turns"]
    ]
    assert [row[1:6] for row in page.rows("chain")] == [
        [
            figure(one[name])
            for name in (
                "input_tokens",
                "cache_creation_input_tokens",
                "ephemeral_1h_input_tokens",
                "cache_read_input_tokens",
                "output_tokens",
            )
        ]
        for one in cache["sessions"][0]["rows"]
    ]
    assert [[row[0], row[2], row[3], row[4], row[6]] for row in page.rows("breakpoints")] == [
        [one["place"], *(figure(one[f"cache_{name}_input_tokens"]) for name in ("creation", "read")),
         usd(one["saved_usd"]), usd(one["net_usd"])]
        for one in cache["breakpoints"]
    ]  # fmt: skip
    assert page.text("#spent").startswith(f"{usd(cost['totals']['usd'])} USD for 4 calls")
    assert [row[-1] for row in page.rows("models")] == [usd(one["usd"]) for one in cost["models"]]
    assert [row[8] for row in page.rows("costs")] == [usd(one["usd"]) for one in cost["rows"]]
    [session] = sessions["sessions"]
    assert page.rows("session-rows")[0][2] == figure(session["calls"])
    assert page.rows("usage")[-1][2:] == [
        figure(usage["totals"][name])
        for name in (
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "total_input_tokens",
            "output_tokens",
        )
    ]


def test_the_icicle_is_as_wide_as_its_figures(opened: Callable[..., Opened]) -> None:
    page = opened(EXAMPLE)
    show = told("show", "4", "-c", str(EXAMPLE))
    drawn: list[tuple[str, float]] = page.page.eval_on_selector_all(
        "#icicle rect.field", "all => all.map(one => [one.getAttribute('aria-label'), one.width.baseVal.value])"
    )
    sizes = {field["name"]: field["chars"] for field in show["fields"]}
    widths = {label.partition(":")[0]: width for label, width in drawn}
    [whole] = page.page.eval_on_selector_all("#icicle rect", "all => [all[0].width.baseVal.value]")
    assert {"system", "tools", "messages"} <= widths.keys()
    for name, width in widths.items():
        assert width == pytest.approx(whole * sizes[name] / show["total"]["chars"], abs=0.01)


@pytest.mark.parametrize("how", ["keys", "button", "bar"])
def test_the_slider_changes_the_request(opened: Callable[..., Opened], how: str) -> None:
    page = opened(EXAMPLE)
    assert page.text("#which") == "#4, 4 of 4"
    if how == "keys":
        page.page.focus("#slider")
        page.page.keyboard.press("ArrowLeft")
        page.page.keyboard.press("ArrowLeft")
    elif how == "button":
        page.page.click("#before")
        page.page.click("#before")
    else:
        chart = page.page.locator("#cache figure svg")
        box = chart.bounding_box()
        assert box is not None
        chart.click(position={"x": box["width"] * 0.38, "y": box["height"] / 2})
    show = told("show", "2", "-c", str(EXAMPLE))
    assert page.text("#which") == "#2, 2 of 4"
    assert page.text("#total") == f"{show['total']['chars']:,} characters in {len(show['fields'])} fields"
    assert dict(row[:2] for row in page.rows("ledger"))["bytes on the wire"] == figure(show["wire_bytes"])
    assert page.said == []


def test_the_icicle_is_walked_and_looked_into_by_keys(opened: Callable[..., Opened]) -> None:
    page = opened(EXAMPLE)
    focused = "document.activeElement.getAttribute('aria-label')"
    page.page.focus("#icicle rect")
    whole = page.page.eval_on_selector("#icicle rect", "one => one.width.baseVal.value")
    heard = []
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowDown"):
        page.page.keyboard.press(key)
        heard.append(page.page.evaluate(focused).partition(":")[0])
    assert heard == ["messages", "model", "metadata", "system", "system[0]", "system[1]", "system[1]"]
    show = told("show", "4", "-c", str(EXAMPLE))
    sizes = {one["path"]: one["chars"] for one in show["blocks"]} | {
        one["name"]: one["chars"] for one in show["fields"]
    }
    assert page.text("#request .detail") == f"system[1]: {sizes['system[1]']:,} characters, text"
    page.page.keyboard.press("ArrowUp")
    page.page.keyboard.press("ArrowUp")
    page.page.keyboard.press("Enter")
    assert page.page.evaluate(focused).startswith(f"system: {sizes['system']:,} characters")
    assert page.page.eval_on_selector("#icicle rect", "one => one.width.baseVal.value") == whole
    page.page.keyboard.press("Escape")
    assert page.page.evaluate(focused).startswith("request #4")


def test_everything_that_acts_is_reached_by_tab_with_a_focus_that_is_seen(opened: Callable[..., Opened]) -> None:
    page = opened(EXAMPLE)
    reached = []
    while True:
        page.page.keyboard.press("Tab")
        name = page.page.evaluate("document.activeElement.id || document.activeElement.localName")
        if name == "body":  # past the last
            break
        reached.append(name)
        style = page.page.evaluate(
            "(({outlineStyle, strokeWidth}) => [outlineStyle, strokeWidth])(getComputedStyle(document.activeElement))"
        )
        assert style[0] != "none" or style[1] == "2.5px"
    assert [name for name in reached if name not in ("summary", "a")][:6] == [
        "thread",
        "before",
        "slider",
        "after",
        "unit",
        "rect",
    ]
    assert reached.count("rect") == 1  # the icicle is one stop, walked by arrows
    assert reached.count("summary") >= 4


def test_charts_have_a_name_and_a_table_beside_them(opened: Callable[..., Opened]) -> None:
    page = opened(EXAMPLE)
    page.show_all()
    names = page.page.eval_on_selector_all("figure svg", "all => all.map(one => one.getAttribute('aria-label'))")
    assert len(names) == 4
    assert all(names)
    for table in ("blocks", "turns", "chain", "costs"):
        assert len(page.rows(table)) >= 4
    assert page.page.eval_on_selector_all("table", "all => all.every(one => one.caption.textContent)")


def test_tokens_are_estimates_and_what_is_unknown_has_no_width(opened: Callable[..., Opened], tmp_path: Path) -> None:
    body = {"model": "claude-opus-5-5", "system": "s" * 900, "messages": [{"role": "user", "content": "Weigh this."}]}
    lines = [capture_files.start(), capture_files.request("1", dump(body)), capture_files.response("1")]
    page = opened(written(tmp_path / "captures", "a.jsonl", *lines))  # folded, and no note tells the weight
    page.page.select_option("#unit", "tokens")
    labels: list[str] = page.page.eval_on_selector_all(
        "#icicle rect", "all => all.map(one => one.getAttribute('aria-label'))"
    )
    assert labels[0].startswith("request #1: at least ")
    assert all("tokens (estimated)" in label or "too narrow" in label for label in labels)
    assert any(label.startswith("messages") for label in labels)
    assert not any(label.startswith("system") for label in labels)
    assert page.rows("fields")[0][5] == "?"


def test_a_break_is_marked_with_its_cause(opened: Callable[..., Opened], tmp_path: Path) -> None:
    lines = [capture_files.start()]
    for n in (1, 2, 3):
        tool = {
            "name": "weigh" if n < 3 else "weigh_lorry",
            "description": "d" * 40,
            "input_schema": {"type": "object"},
        }
        messages = [
            {"role": "user" if at % 2 == 0 else "assistant", "content": f"words {at}"} for at in range(2 * n - 1)
        ]
        body = {
            "model": "claude-haiku-4-5",
            "tools": [tool],
            "messages": messages,
            "cache_control": {"type": "ephemeral"},
        }
        said = [{"type": "text", "text": f"words {2 * n - 1}"}]
        written_tokens = 5_000 if n != 2 else 500
        usage = {
            "input_tokens": 5,
            "cache_creation_input_tokens": written_tokens,
            "cache_read_input_tokens": 5_000 if n == 2 else 0,
            "output_tokens": 9,
        }
        lines += [
            capture_files.request(f"{n}", dump(body), at=float(n)),
            capture_files.response(f"{n}", message_id=f"msg_{n}", headers={}, usage=usage, content=said),
        ]
    captures = written(tmp_path / "captures", "a.jsonl", *lines, capture_files.end())
    page = opened(captures)
    rows = told("cache", "-c", str(captures))["sessions"][0]["rows"]
    [broken] = [row for row in rows if row["broken"]]
    assert len(page.page.query_selector_all("#cache path.mark title")) == 1
    [row] = page.rows("breaks")
    assert [row[0], row[1], row[4], row[5]] == [
        "#3", "#2", figure(broken["expected_read"]), figure(broken["written_again"])
    ]  # fmt: skip
    assert row[2] != ""
    assert "tools" in row[3]


def test_hostile_names_do_nothing_and_are_seen(opened: Callable[..., Opened], tmp_path: Path) -> None:
    page = opened(hostile(tmp_path / "captures"))
    sessions = page.page.query_selector_all("#thread option")
    for index in range(len(sessions)):
        page.page.select_option("#thread", str(index))
        page.show_all()
        page.page.select_option("#unit", "tokens" if index % 2 else "chars")
    assert page.said == []
    assert [url.partition(":")[0] for url in page.asked] == ["file"]
    assert page.page.evaluate("document.documentElement.dataset.owned") is None
    assert page.page.query_selector_all("main img, main script, main b, main [onerror], main [onload]") == []
    assert page.page.evaluate("({}).polluted === undefined && Object.keys(Object.prototype).length") == 0
    assert page.rows("models")[0][1:] == ["1", *["?"] * 7]  # no price is known, and that is not 0
    text = page.text("main")
    assert not set("\u202e\u2066\u2069\u2028\u2029\x1b\x00") & set(text)
    assert "\\u202e" in text
    assert f"({LONG:,} characters)" in page.page.content()
    assert NAMES[0][:40] in page.page.inner_text("#thread") + text
    for width in (1_200, 360):
        page.page.set_viewport_size({"width": width, "height": 800})
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


def test_a_script_that_got_in_would_not_run(opened: Callable[..., Opened]) -> None:
    """The browser's own part: whatever is put into the page, the policy names the only script there is."""
    page = opened(EXAMPLE)
    page.page.evaluate(
        """() => { const one = document.createElement("script"); one.textContent = "document.body.dataset.ran = 1";
        document.body.append(one); const img = document.createElement("img");
        img.setAttribute("onerror", "document.body.dataset.ran = 2"); img.src = "https://example.com/x.png";
        document.body.append(img); }"""
    )
    assert page.page.evaluate("document.body.dataset.ran") is None
    assert any("Content Security Policy" in text for text in page.said)


def test_a_live_page_follows_and_keeps_what_is_looked_at(browser: Browser) -> None:
    from opened_page import Opened
    from playwright.sync_api import expect

    from analyzers.price_book import PriceBook
    from analyzers.price_list import PriceList
    from analyzers.readers.kept import Kept
    from analyzers.report.document import document

    whole = document(Kept([str(EXAMPLE)]), [], PriceBook(PriceList()), 1_796_000_000.0)
    begun = json.loads(json.dumps(whole))
    begun["threads"][0]["requests"], begun["made"] = [1, 2, 3], "2026-11-30T00:00:00Z"
    state = [1]
    made = lambda: begun if state[0] == 1 else whole | {"made": f"2026-11-30T00:00:0{state[0]}Z"}  # noqa: E731
    running = server(Fresh(lambda: tuple(state), made), 0, lambda error: None)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        context = browser.new_context()
        page = Opened(context.new_page())
        page.page.goto(f"http://127.0.0.1:{running.server_port}/")
        assert page.text("#which") == "#3, 3 of 3"
        state[0] = 2
        expect(page.page.locator("#which")).to_have_text("#4, 4 of 4")
        page.page.click("#before")
        state[0] = 3
        expect(page.page.locator("#about")).to_contain_text("00:00:03 UTC")
        assert page.text("#which") == "#3, 3 of 4"
        assert page.said == []
        assert {url.partition("/report.json")[0].rstrip("/") for url in page.asked} == {
            f"http://127.0.0.1:{running.server_port}"
        }
        context.close()
    finally:
        running.shutdown()
        running.server_close()
        thread.join()


def test_a_live_page_says_when_its_server_is_gone_and_when_it_is_back(browser: Browser) -> None:
    from opened_page import Opened
    from playwright.sync_api import expect

    told_of = told("report", "-c", str(EXAMPLE)) | {"made": "2026-11-30T09:08:07Z"}
    running = server(Fresh(lambda: (1,), lambda: told_of), 0, lambda error: None)
    port = running.server_port
    context = browser.new_context()
    page = Opened(context.new_page())
    for again in (False, True):
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            if again:
                expect(page.page.locator("#gone")).to_be_hidden(timeout=30_000)
            else:
                page.page.goto(f"http://127.0.0.1:{port}/")
                assert not page.page.is_visible("#gone")
        finally:
            running.shutdown()
            running.server_close()
            thread.join()
        if not again:
            gone = page.page.locator("#gone")
            expect(gone).to_have_text("The server is gone; what is shown is from 09:08:07 UTC.", timeout=30_000)
            expect(gone).to_be_visible()
            running = server(Fresh(lambda: (1,), lambda: told_of), port, lambda error: None)
    context.close()
