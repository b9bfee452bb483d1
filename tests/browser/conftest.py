"""Chromium, started once, with a page for each test that notes what must not happen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass
class Watched:
    """A page of the browser, what it said on its console, and what it asked for beyond itself."""

    page: Page
    said: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, place: Path) -> Page:
        """Open a report, and wait until its script has run."""
        self.page.goto(place.as_uri())
        self.page.wait_for_selector("html[data-ready]")
        return self.page


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.fail("there is no Chromium: install it (Debian, Ubuntu: apt-get install chromium)")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"), executable_path=program, args=list(FLAGS)
        )
        yield context
        context.close()


@pytest.fixture
def watched(browser: BrowserContext) -> Iterator[Watched]:
    """A new page; in the end it must have been silent, and must have asked for nothing but itself."""
    found = Watched(browser.new_page())
    found.page.on("console", lambda message: found.said.append(message.text))
    found.page.on("pageerror", lambda error: found.said.append(str(error)))
    found.page.on("request", lambda request: found.requests.append(request.url))
    yield found
    places = set(found.requests)
    found.page.close()
    assert found.said == []
    assert len(places) == 1, places
