"""The HTML report in a browser: silent, offline, by keyboard, in both colour schemes, at two widths."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page

from tests.report_tables import NIGHT, file, night, transaction, written
from txnlog.report import contents, page

if TYPE_CHECKING:
    from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>document.title='owned'</script>\"'><img src=x onerror=document.title='owned'>\u202etxt"
AS_TEXT = HOSTILE.replace("\u202e", "\\u202e")
WIDTHS = {"wide": 1280, "phone": 390}
MANY = 10_000
# Of each row a line in the tables; so many seconds are long on a busy machine.
PATIENCE = 8.0
ACTIONS = ("ABORT", "FENCE", "MOVE_COORDINATOR", "KEEP", "UNDETERMINED")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty hanging transactions of all actions and one with hostile names, over two nights."""
    folder = tmp_path_factory.mktemp("report")
    rows = [
        transaction(f"topic-{number}", number % 3, 100 + number, action=ACTIONS[number % 5], last_marker_offset=90,
                    last_marker_type="COMMIT", held_back_records=1_000 - number)
        for number in range(60)
    ]  # fmt: skip
    names = {"transactional_id": HOSTILE, "reason": HOSTILE, "opened_file": HOSTILE}
    # What is committed comes first.
    rows.append(transaction(HOSTILE, action="KEEP", held_back_records=9_999, **names))
    runs = [night(NIGHT - timedelta(days=1), late_transactions=3), night(coordinator_partitions=9)]
    return _report(folder, contents.of_tables(written(folder, rows, runs, [file(), file(HOSTILE, problem=HOSTILE)])))


def _report(folder: Path, tables: contents.Contents) -> Path:
    place = folder / "report.html"
    place.write_text(page.rendered(tables, "tables"), "utf-8")
    return place


def until(shown: Page, condition: str) -> None:
    """Wait until a condition in JavaScript holds. The page's own policy forbids Playwright to wait within it."""
    ends = time.monotonic() + PATIENCE
    while not shown.evaluate(condition):
        assert time.monotonic() < ends, condition
        shown.wait_for_timeout(50)


def settled(shown: Page) -> None:
    """Wait until the charts in sight are drawn."""
    until(
        shown,
        "[...document.querySelectorAll('.chart')].filter((place) => place.checkVisibility() &&"
        " place.getBoundingClientRect().top < innerHeight && place.getBoundingClientRect().bottom > 0)"
        ".every((place) => place.dataset.drawn)",
    )


def test_hostile_names_show_as_text(watched: Watched, report: Path) -> None:
    shown = watched.open(report)
    assert "owned" not in shown.title()
    assert shown.locator("#standing tbody tr").first.locator("td").nth(2).inner_text() == f"{AS_TEXT}-0"
    assert shown.locator("img").count() == 0
    shown.locator("#partition-1 .by-offsets").scroll_into_view_if_needed()
    settled(shown)
    assert shown.locator("#partition-1 .by-offsets svg text", has_text="</script>").count() > 0


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_follows_the_colours_of_the_system(
    watched: Watched, report: Path, width: int, scheme: str, tmp_path: Path
) -> None:
    watched.page.emulate_media(color_scheme=scheme)
    watched.page.set_viewport_size({"width": width, "height": 900})
    shown = watched.open(report)
    for section in ("#overview", "#partition-1 .timelines", "#nights", "#lacks"):
        shown.locator(section).scroll_into_view_if_needed()
        settled(shown)
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    paper = shown.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(23, 29, 36)"}[scheme]
    assert shown.screenshot(full_page=True, path=tmp_path / "shot.png")


def test_the_switch_overrules_the_system_and_repaints_the_charts(watched: Watched, report: Path) -> None:
    watched.page.emulate_media(color_scheme="light")
    shown = watched.open(report)
    shown.locator("#overview").scroll_into_view_if_needed()
    settled(shown)
    ink = "getComputedStyle(document.querySelector('#overview .chart text')).fill"
    before = shown.evaluate(ink)
    shown.get_by_label("Dark").check(force=True)
    until(shown, f"{ink} !== '{before}'")
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 18, 23)"


def test_the_keyboard_reaches_all_that_a_mouse_does(watched: Watched, report: Path) -> None:
    shown = watched.open(report)
    wanted = shown.evaluate(
        "[...document.querySelectorAll('a, button:not(:disabled), summary, input, [tabindex=\"0\"]')]"
        ".filter((each) => each.checkVisibility()).length"
    )
    shown.evaluate("window.reached = new Set();"
                   "document.addEventListener('focusin', (event) => window.reached.add(event.target))")  # fmt: skip
    for _ in range(wanted + 5):
        shown.keyboard.press("Tab")
    radios = shown.locator("input[type=radio]").count()
    # Of a group of radio buttons Tab reaches the chosen one, arrow keys the others.
    assert shown.evaluate("window.reached.size") >= wanted - (radios - 2)


def test_tables_are_paged_sorted_filtered_and_opened_by_keyboard(watched: Watched, report: Path) -> None:
    shown = watched.open(report)
    table = shown.locator("#transactions")
    assert "of 61" in table.locator("[role=status]").inner_text()
    table.get_by_role("button", name="next").press("Enter")
    assert table.locator("[role=status]").inner_text() == "rows 51 to 61 of 61"
    table.get_by_role("button", name="start offset").press("Enter")
    assert table.locator("tbody tr").first.locator("td").nth(3).inner_text() == "42"
    table.get_by_role("searchbox").fill("topic-7 FENCE")
    assert table.locator("[role=status]").inner_text() == "no rows"
    table.get_by_role("searchbox").fill("topic-6 fence")
    more = table.get_by_role("button", name="All columns").first
    more.press("Enter")
    assert "log_end_offset" in table.locator("tr.more").inner_text()
    more.press("Enter")
    assert table.locator("tr.more").count() == 0


def test_a_link_to_a_partition_opens_it_and_timelines_turn_to_time(watched: Watched, report: Path) -> None:
    shown = watched.open(report)
    assert not shown.locator("#partition-30").evaluate("(each) => each.open")
    shown.evaluate("location.hash = '#partition-30'")
    until(shown, "document.getElementById('partition-30').open")
    shown.get_by_label("time", exact=True).check(force=True)
    shown.locator("#partition-30 .by-times").scroll_into_view_if_needed()
    settled(shown)
    assert shown.locator("#partition-30 .by-times svg").count() > 0
    assert not shown.locator("#partition-30 .by-offsets").is_visible()


def test_bars_are_told_apart_without_colour(watched: Watched, report: Path) -> None:
    shown = watched.open(report)
    shown.locator("#overview").scroll_into_view_if_needed()
    settled(shown)
    causes = shown.locator("[data-figure=causes]")
    assert causes.locator("pattern").count() == len(ACTIONS)
    for action in ACTIONS:
        assert causes.locator("text", has_text=action).count() > 0


def test_ten_thousand_open_transactions_are_there_within_seconds(watched: Watched, tmp_path: Path) -> None:
    rows = [
        transaction(f"topic-{number % 900}", number % 7, number, producer_id=number,
                    transactional_id=f"writer-{number}", reason=f"no transaction of the id listed it: {number}")
        for number in range(MANY)
    ]  # fmt: skip
    place = _report(tmp_path, contents.of_tables(written(tmp_path, rows, [night()])))
    started = time.monotonic()
    shown = watched.open(place)
    assert time.monotonic() - started < PATIENCE
    assert place.stat().st_size < 16 << 20
    table = shown.locator("#transactions")
    assert "of 10\u202f000" in table.locator("[role=status]").inner_text()
    table.get_by_role("searchbox").fill("writer-9999")
    assert table.locator("tbody tr").count() == 1
