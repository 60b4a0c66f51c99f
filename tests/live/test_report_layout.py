"""How the page is laid out in a real browser: narrow windows, contrast, paper, focus, and very few requests."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import capture_files
import pytest
from capture_files import written
from hostile_capture import hostile

from analyzers.report.kinds import KIND_WORDS
from analyzers.wire.jsontext import dump

if TYPE_CHECKING:
    from opened_page import Opened

pytest_plugins = ["opened_page"]
pytestmark = pytest.mark.live
EXAMPLE = Path(__file__).parents[2] / "captures.example"
MANY = 60


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conversation of many requests, whose later ones have many blocks."""
    said = [{"role": ("user", "assistant")[at % 2], "content": f"words {at} " * (1 + at % 7)} for at in range(2 * MANY)]
    tools = [{"name": "weigh", "description": "weighs a lorry " * 20, "input_schema": {"type": "object"}}]
    lines = [capture_files.start()]
    for n in range(MANY):
        body = dump({"model": "claude-haiku-4-5", "tools": tools, "messages": said[: 2 * n + 1]})
        content = [{"type": "text", "text": said[2 * n + 1]["content"]}]
        usage = {
            "input_tokens": 5,
            "cache_creation_input_tokens": 9,
            "cache_read_input_tokens": 9 * n,
            "output_tokens": 3,
        }
        lines += [
            capture_files.request(f"{n}", body, at=float(n)),
            capture_files.response(f"{n}", message_id=f"msg_{n}", headers={}, content=content, usage=usage),
        ]
    return written(tmp_path_factory.mktemp("many"), "a.jsonl", *lines, capture_files.end()).parent


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(opened: Callable[..., Opened], scheme: str) -> None:
    page = opened(EXAMPLE, color_scheme=scheme)
    pairs = page.page.evaluate(
        """() => [["body", "color"], [".soft", "color"], ["summary", "color"]].map(([selector, name]) =>
        [getComputedStyle(document.querySelector(selector))[name], getComputedStyle(document.body).backgroundColor])"""
    )
    for ink, ground in pairs:
        assert contrast(ink, ground) >= 4.5
    assert (luminance(pairs[0][1]) > 0.5) == (scheme == "light")


def luminance(color: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """By WCAG 2."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("media", ["screen", "print"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_on_every_kind(opened: Callable[..., Opened], scheme: str, media: Any) -> None:
    page = opened(EXAMPLE, color_scheme=scheme)
    page.page.emulate_media(media=media, color_scheme=scheme)  # type: ignore[arg-type]
    found: dict[str, list[str]] = page.page.evaluate(
        """kinds => { const out = {}, holder = document.querySelector("#icicle svg");
        for (const kind of [...kinds.map(kind => `k-${kind}`), "box", "field"]) {
            const rect = svg("rect", { class: `leaf ${kind}` }), text = svg("text", { class: `inside on-${kind}` });
            holder.append(rect, text);
            out[kind] = [getComputedStyle(rect).fill, getComputedStyle(text).fill];
        } return out; }""",
        list(KIND_WORDS),
    )
    assert {kind: round(contrast(*pair), 2) for kind, pair in found.items() if contrast(*pair) < 4.5} == {}
    kinds = [ground for kind, (ground, _) in found.items() if kind.startswith("k-")]
    assert len(set(kinds)) == len(KIND_WORDS)


@pytest.mark.parametrize("width", [320, 360, 700, 1280])
def test_text_in_charts_keeps_its_size_however_narrow_the_window(
    opened: Callable[..., Opened], many: Path, width: int
) -> None:
    for captures in (EXAMPLE, many):
        page = opened(captures, viewport={"width": width, "height": 800})
        heights: list[float] = page.page.eval_on_selector_all(
            "figure svg text", "all => all.map(one => one.getBoundingClientRect().height)"
        )
        assert len(heights) > 10
        assert min(heights) >= 10
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_charts_are_drawn_anew_when_the_window_changes(opened: Callable[..., Opened]) -> None:
    from playwright.sync_api import expect

    page = opened(EXAMPLE, viewport={"width": 1200, "height": 800})
    page.page.focus("#icicle rect")
    page.page.keyboard.press("ArrowDown")
    page.page.set_viewport_size({"width": 400, "height": 800})
    expect(page.page.locator("#cost figure svg")).to_have_attribute("viewBox", re.compile(r"^0 0 3\d\d "))
    scales: list[float] = page.page.eval_on_selector_all(
        "figure svg", "all => all.map(one => one.getBoundingClientRect().width / one.viewBox.baseVal.width)"
    )
    assert all(scale == pytest.approx(1, abs=0.02) for scale in scales)
    assert page.page.evaluate("document.activeElement.localName") == "rect"
    assert page.page.get_attribute("#cache figure .now", "visibility") == "visible"
    assert page.said == []


@pytest.mark.parametrize("width", [1100, 1280])
def test_choices_stand_in_one_row_and_short_names_in_one_line(
    opened: Callable[..., Opened], tmp_path: Path, width: int
) -> None:
    session = "63080983-e730-4ebe-9794-0389f3e5cc10"
    headers = (("x-claude-code-session-id", session),)
    lines = [capture_files.start()]
    for n in (1, 2):
        body = capture_files.body(f"hello {n}")
        lines += [
            capture_files.request(f"{n}", body, headers=headers),
            capture_files.response(f"{n}", message_id=f"m{n}"),
        ]
    page = opened(written(tmp_path / "c", "a.jsonl", *lines).parent, viewport={"width": width, "height": 800})
    assert page.rows("session-rows")[0][0] == session
    tops = page.page.eval_on_selector_all(
        "nav select, nav button, nav output", "all => all.map(one => Math.round(one.getBoundingClientRect().top / 12))"
    )
    assert max(tops) - min(tops) <= 1
    for table in ("session-rows", "cost-sessions"):
        tops = page.page.eval_on_selector(
            f"#{table} tbody td",
            """cell => { const all = document.createRange(); all.selectNodeContents(cell);
            return [...all.getClientRects()].map(one => one.top); }""",
        )
        assert len(set(tops)) == 1


def test_choices_do_not_cover_one_another_in_any_window(opened: Callable[..., Opened], many: Path) -> None:
    page = opened(many)
    for width in (320, 480, 500, 680, 700, 900, 1000, 1100, 1280):
        page.page.set_viewport_size({"width": width, "height": 800})
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        covered = page.page.evaluate(
            """() => { const all = [...document.querySelectorAll("nav select, nav button, nav label, nav output")];
            const boxes = all.map(one => one.getBoundingClientRect()), apart = (a, b) => all[a].contains(all[b])
                || all[b].contains(all[a]) || boxes[a].right <= boxes[b].left + 1 || boxes[b].right <= boxes[a].left + 1
                || boxes[a].bottom <= boxes[b].top + 1 || boxes[b].bottom <= boxes[a].top + 1;
            return all.flatMap((one, a) => all.map((other, b) => a === b || apart(a, b)))
                .filter(one => !one).length; }"""
        )
        assert covered == 0, width


def printed(page: Opened) -> None:
    page.page.emulate_media(media="print", color_scheme="dark")
    page.page.evaluate("dispatchEvent(new Event('beforeprint'))")


def visible(page: Opened, table: str) -> int:
    """The rows of a table that are there to be seen."""
    return page.page.eval_on_selector_all(  # type: ignore[no-any-return]
        f"#{table} tbody tr", "all => all.filter(one => one.getClientRects().length).length"
    )


def test_on_paper_tables_are_open_and_nothing_that_acts_is_there(opened: Callable[..., Opened]) -> None:
    page = opened(EXAMPLE, color_scheme="dark")
    printed(page)
    assert not page.page.is_visible("nav")
    assert visible(page, "chain") == 4
    assert page.page.is_visible("#blocks")
    assert page.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.page.query_selector_all("details[open]") == []


def test_on_paper_long_tables_are_printed_in_part_and_say_so(opened: Callable[..., Opened], many: Path) -> None:
    page = opened(many)
    page.page.evaluate("goTo(29)")
    page.page.click("#cost summary")
    printed(page)
    assert {name: visible(page, name) for name in ("blocks", "turns", "chain", "costs")} == {
        "blocks": 30,
        "turns": 30,
        "chain": 30,
        "costs": MANY,  # opened by the reader
    }
    assert "30 of 60 rows" in page.text("#chain caption")
    assert page.page.is_visible("#chain tr.now")
    assert page.page.eval_on_selector("figure svg", "one => one.viewBox.baseVal.width") == 690
    page.page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.page.emulate_media(media="screen")
    assert page.page.query_selector_all(".unprinted, .extract") == []
    assert len(page.page.query_selector_all("details[open]")) == 1
    assert page.page.eval_on_selector("figure svg", "one => one.viewBox.baseVal.width") > 1000


def test_a_long_conversation_is_a_few_pages(opened: Callable[..., Opened], many: Path) -> None:
    page = opened(many)
    pdf = page.page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 9


def test_at_the_ends_of_the_thread_the_focus_stays(opened: Callable[..., Opened]) -> None:
    page = opened(EXAMPLE)
    page.page.click("#before")
    page.page.focus("#after")
    page.page.keyboard.press("Enter")
    assert page.text("#which") == "#4, 4 of 4"
    assert page.page.evaluate("document.activeElement.id") == "after"
    assert page.page.get_attribute("#after", "aria-disabled") == "true"
    page.page.keyboard.press("Enter")
    assert page.text("#which") == "#4, 4 of 4"
    page.page.click("#before")
    assert page.page.get_attribute("#after", "aria-disabled") == "false"


def two_requests(folder: Path, first: dict[str, Any], second: dict[str, Any]) -> Path:
    lines = [capture_files.start()]
    for n, body in ((1, first), (2, second)):
        lines += [
            capture_files.request(f"{n}", dump(body), at=float(n)),
            capture_files.response(f"{n}", message_id=f"m{n}", content=[{"type": "text", "text": "weighed"}]),
        ]
    return written(folder, "a.jsonl", *lines, capture_files.end()).parent


def test_what_is_looked_at_closely_is_found_again_by_its_path(opened: Callable[..., Opened], tmp_path: Path) -> None:
    question = [{"role": "user", "content": "how heavy is the lorry"}]
    more = [*question, {"role": "assistant", "content": "weighed"}, {"role": "user", "content": "and this one"}]
    system = [{"type": "text", "text": "be exact"}, {"type": "text", "text": "be brief"}]
    body = {"model": "claude-haiku-4-5", "messages": question}
    page = opened(two_requests(tmp_path / "c", body, {"system": system, "model": body["model"], "messages": more}))
    page.page.evaluate("goTo(0)")
    top = "document.querySelector('#icicle rect').getAttribute('aria-label').split(':')[0]"
    page.page.click("#icicle rect.field[aria-label^=messages]")
    assert page.page.evaluate(top) == "messages"
    page.page.click("#after")
    assert page.page.evaluate(top) == "messages"  # another field stands at that number now
    page.page.click("#icicle rect[aria-label^='messages[2] user']")
    assert page.page.evaluate(top) == "messages[2] user"
    page.page.click("#before")
    assert page.page.evaluate(top) == "request #1"  # it is not there


def test_one_request_is_a_bar_and_a_point(opened: Callable[..., Opened], tmp_path: Path) -> None:
    lines = [capture_files.start(), capture_files.request("1", capture_files.body()), capture_files.response("1")]
    page = opened(written(tmp_path / "c", "a.jsonl", *lines, capture_files.end()).parent)
    widths: list[float] = page.page.eval_on_selector_all(
        "#growth path.c-bar, #cache path.c-write", "all => all.map(one => one.getBBox().width)"
    )
    assert len(widths) == 2
    assert all(10 <= width <= 60 for width in widths)
    assert len(page.page.query_selector_all("#growth circle.c-key")) == 1


def test_hostile_names_fit_the_window(opened: Callable[..., Opened], tmp_path: Path) -> None:
    page = opened(hostile(tmp_path / "c"))
    for width in (1_280, 320):
        page.page.set_viewport_size({"width": width, "height": 800})
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
