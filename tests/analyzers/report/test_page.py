"""The page holds the document as data that cannot become anything else, and may load nothing."""

from __future__ import annotations

import base64
import json
import re
from hashlib import sha256
from html.parser import HTMLParser

from hostile_capture import NAMES
from hypothesis import given
from json_values import values

from analyzers.report.page import embedded, page, policy
from analyzers.wire.jsontext import Json

EMPTY: dict[str, Json] = {"requests": [], "names": list(NAMES)}


class Parts(HTMLParser):
    """The elements of a page with their texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open = tag
        self.texts.setdefault(tag, []).append("")

    def handle_data(self, data: str) -> None:
        if self.open is not None:
            self.texts[self.open][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.open = None


def parts(*, live: bool = False) -> Parts:
    return Parts(page(EMPTY, live=live).decode())


def test_no_name_ends_the_element_that_holds_the_document() -> None:
    scripts = parts().texts["script"]
    assert len(scripts) == 2
    assert json.loads(scripts[0]) == EMPTY
    assert not set("<>&\u2028\u2029") & set(embedded(EMPTY).decode())


@given(values)
def test_the_document_comes_back_and_holds_nothing_that_html_or_a_script_reads(value: Json) -> None:
    try:
        text = embedded({"value": value}).decode()
    except (UnicodeEncodeError, TypeError):  # a lone surrogate: names are made safe before
        return
    assert json.loads(text) == {"value": value}
    assert not set("<>&\u2028\u2029") & set(text)


def test_the_policy_names_the_very_script_and_style_of_the_page() -> None:
    found = parts()
    told = next(
        attrs["content"] for tag, attrs in found.elements if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert told == policy(live=False)
    assert told is not None
    assert told.startswith("default-src 'none'; ")
    assert "unsafe" not in told
    assert "connect-src" not in told
    for name, text in (("script-src", found.texts["script"][1]), ("style-src", found.texts["style"][0])):
        digest = base64.b64encode(sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in told


def test_a_live_page_may_ask_its_own_server_and_nobody_else() -> None:
    assert "connect-src 'self'" in policy(live=True)
    assert ("html", {"lang": "en", "data-live": "true"}) in parts(live=True).elements


def test_nothing_in_the_page_points_elsewhere() -> None:
    found = parts()
    pointing = [
        value
        for _, attributes in found.elements
        for name, value in attributes.items()
        if name in ("src", "href", "action", "data") and value is not None
    ]
    assert pointing == ["data:,", "#request"]
    style, script = found.texts["style"][0], found.texts["script"][1]
    assert re.search(r"url\(|@import|@font-face", style) is None
    assert re.findall(r"https?://[^\"]*", script) == ["http://www.w3.org/2000/svg"]


def test_the_script_puts_text_into_the_page_as_text_only() -> None:
    script = parts().texts["script"][1]
    banned = r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(|setTimeout\(\s*[\"'`]"
    assert re.search(banned, script) is None


def test_what_moves_and_what_is_drawn_has_a_name() -> None:
    labels = [attrs for tag, attrs in parts().elements if tag in ("button", "nav", "section")]
    assert all("aria-label" in attrs or "aria-labelledby" in attrs for attrs in labels)
