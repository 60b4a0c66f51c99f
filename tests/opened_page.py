"""Report pages in a headless Chromium, driven through its DevTools protocol: fixtures, for the modules that name this
one as a plugin of theirs.

Skipped where there is none. ``make browser`` installs what these need: playwright from the registry (without a browser
of its own) and the system's package of Chromium; $WEIGHBRIDGE_CHROMIUM names another one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from analyzers.cli import app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FILLED = "() => [...document.querySelectorAll('details')].every(one => one.open && (!one.fill || one.children[1]))"
NAMED = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class Opened:
    """A page with what it said and asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: self.said.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self.asked.append(request.url))

    def rows(self, table: str) -> list[list[str]]:
        """The cells of a table, whether it is in an open part of the page or not."""
        return self.page.eval_on_selector_all(
            f"#{table} tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
        )  # type: ignore[no-any-return]

    def show_all(self) -> None:
        """Opens what is closed. The browser tells the page of it later, which then puts the figures in."""
        for node in self.page.query_selector_all("details:not([open]) > summary"):
            node.click()
        self.page.wait_for_function(FILLED)

    def text(self, selector: str) -> str:
        return self.page.text_content(selector) or ""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for longer than a module: as long as it is driven, a loop runs in this thread, and no test could run its
    own."""
    driven = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser")
    place = os.environ.get("WEIGHBRIDGE_CHROMIUM") or next(filter(None, map(shutil.which, NAMED)), None)
    if place is None:
        pytest.skip("no Chromium on this machine: make browser")
    with driven.sync_playwright() as playwright:
        # Its sandbox needs privileges that containers withhold; nothing but our own page is opened.
        launched = playwright.chromium.launch(executable_path=place, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Makes the page of some captures, once."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def making(captures: Path) -> Path:
        out = folder / f"{len(list(folder.iterdir()))}.html"
        result = CliRunner().invoke(app, ["report", "-c", str(captures), "-o", str(out)])
        assert result.exit_code == 0, result.output
        return out

    return making


@pytest.fixture
def opened(browser: Browser, made: Callable[[Path], Path]) -> Iterator[Callable[..., Opened]]:
    contexts = []

    def opening(captures: Path, **options: Any) -> Opened:
        out = made(captures)
        contexts.append(browser.new_context(**options))
        found = Opened(contexts[-1].new_page())
        found.page.goto(out.as_uri())
        return found

    yield opening
    for context in contexts:
        context.close()
