"""The page about one transactional id in a browser: silent, offline, and as wide as the screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.id_tables import ID, tables
from tests.report_tables import transaction
from txnlog.report import id_page
from txnlog.report.transaction_query import Wanted

if TYPE_CHECKING:
    from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_and_the_name_is_text(watched: Watched, tmp_path: Path, width: int) -> None:
    opened = [transaction("a-topic-with-a-long-name." * 4, transactional_id=ID, reason=ID * 3)]
    file = tmp_path / "id.html"
    file.write_text(id_page.rendered(tables(tmp_path / "tables", opened), Wanted(None, ID)), "utf-8")
    shown = watched.page
    shown.set_viewport_size({"width": width, "height": 900})
    # It has no script to wait for.
    shown.goto(file.as_uri())
    assert shown.locator("h1").inner_text() == ID.replace("\u202e", "\\u202e")
    assert shown.locator(".drawing svg rect").count() > 3
    assert shown.locator("script").count() == 0
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
