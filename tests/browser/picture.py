"""Draw the top of a report: `python -m tests.browser.picture TABLES PICTURE`, as `make picture` does."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import FLAGS, NAMES
from txnlog.cli import main

WIDTH, MARGIN = 1180, 16


def drawn(tables: str, picture: Path) -> int:
    """Save the summary and the list, in the light scheme; the exit code."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        print("there is no Chromium: install it (Debian, Ubuntu: apt-get install chromium)", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = Path(folder) / "report.html"
        if code := main(["report", "--tables", tables, "--html", str(report)]):
            return code
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        page = browser.new_page(viewport={"width": WIDTH, "height": 2 * WIDTH}, color_scheme="light")
        page.goto(report.as_uri())
        page.wait_for_selector("html[data-ready]")
        bottom = page.evaluate("document.querySelector('.list').getBoundingClientRect().bottom")
        page.screenshot(path=picture, clip={"x": 0, "y": 0, "width": WIDTH, "height": bottom + MARGIN})
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(drawn(sys.argv[1], Path(sys.argv[2])))
