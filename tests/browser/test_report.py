"""The HTML report in a browser: silent, offline, by keyboard, in both colour schemes, at two widths and on paper."""

from __future__ import annotations

import re
import time
import zlib
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import Locator, Page

from tests.report_tables import NIGHT, Row, file, night, transaction, written
from txnlog.detection.causes import Cause
from txnlog.report import contents, page
from txnlog.report.remedy import remedy

if TYPE_CHECKING:
    from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>document.title='owned'</script>\"'><img src=x onerror=document.title='owned'>\u202etxt"
AS_TEXT = HOSTILE.replace("\u202e", "\\u202e")
WIDTHS = {"wide": 1280, "phone": 390}
MANY = 2_000
# Of each row a line in the tables; so many seconds are long on a busy machine.
PATIENCE = 8.0
ACTIONS = ("ABORT", "FENCE", "MOVE_COORDINATOR", "KEEP", "UNDETERMINED", "WAIT")
CAUSES: dict[str, str] = {cause.action: cause.value for cause in Cause}
COUNT = 60
# Where something is wider than its place, and what it shows is cut.
CUT = """[...document.querySelectorAll("article:not([hidden]) *")].filter((each) => each.checkVisibility() &&
  each.clientWidth > 0 && getComputedStyle(each).overflowX !== "visible" &&
  (each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 1))
  .map((each) => each.outerHTML.slice(0, 90))"""
# Labels of a timeline that stand over each other, or beyond the screen.
UNREADABLE = """[...document.querySelectorAll(".axis, .note")].flatMap((each) => {
  const places = [...each.children].map((label) => label.getBoundingClientRect()).sort((a, b) => a.left - b.left);
  return places.filter((place, at) => place.left < 0 || place.right > innerWidth || places[at + 1]?.left < place.right);
}).length"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Open transactions of all actions and one with hostile names over two runs, and another cluster."""
    folder = tmp_path_factory.mktemp("report")
    rows = [
        transaction(f"topic-{number}", number % 3, 100 + number, action=action, cause=CAUSES[action],
                    late=action != "WAIT", coordinator_partition=3, last_marker_offset=90, last_marker_type="COMMIT",
                    held_back_records=1_000 - number)
        for number in range(COUNT)
        for action in [ACTIONS[number % len(ACTIONS)]]
    ]  # fmt: skip
    names: Row = {"transactional_id": HOSTILE, "reason": HOSTILE, "opened_file": HOSTILE}
    # What is committed comes first.
    rows.append(transaction(HOSTILE, action="KEEP", cause=CAUSES["KEEP"], held_back_records=9_999, **names))
    rows.append(transaction("elsewhere", cluster="stock", start=5_000_000_000, log_end_offset=5_000_000_050))
    rows.append(transaction("tight", cluster="stock", start=7, log_end_offset=8, high_watermark=8, held_back_records=1))
    runs = [night(NIGHT - timedelta(days=1), late_transactions=3), night(coordinator_partitions=9)]
    files = [file(), file(HOSTILE, problem=HOSTILE)]
    return _report(folder, contents.of_tables(written(folder, rows, [*runs, night(cluster="stock")], files)))


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


def lead(shown: Page, place: str) -> None:
    """Follow a link of the page."""
    shown.evaluate(f"location.hash = '{place}'")
    until(shown, f"location.hash === '#{place}'")


def rows_of(shown: Page) -> Locator:
    """The rows of the list that are on the screen."""
    return shown.locator("[data-table=transactions] tr[data-row]:visible")


def status_of(shown: Page) -> str:
    """What the list says of its rows."""
    return shown.locator("[data-table=transactions] [role=status]:visible").inner_text()


def test_a_report_as_long_as_that_of_the_samples_is_small(report: Path) -> None:
    assert report.stat().st_size < 1 << 20


def test_hostile_names_show_as_text(watched: Watched, report: Path) -> None:
    shown = watched.open(report)
    lead(shown, "c1/row=0")
    until(shown, "document.querySelector('tr.more') !== null")
    assert "owned" not in shown.title()
    assert rows_of(shown).first.locator("td").nth(1).inner_text() == f"{AS_TEXT}-0"
    assert AS_TEXT in shown.locator("tr.more .evidence").inner_text()
    assert "</script>" in shown.locator("tr.more .timeline").first.inner_text()
    assert shown.locator("img").count() == 0


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_follows_the_colours_of_the_system(
    watched: Watched, report: Path, width: int, scheme: Literal["light", "dark"], tmp_path: Path
) -> None:
    watched.page.emulate_media(color_scheme=scheme)
    watched.page.set_viewport_size({"width": width, "height": 900})
    shown = watched.open(report)
    for row in (0, 1, 20):
        lead(shown, f"c1/row={row}")
    until(shown, "document.querySelectorAll('tr.more').length === 3")
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    paper = shown.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(23, 29, 36)"}[scheme]
    assert shown.screenshot(full_page=True, path=tmp_path / "shot.png")


@pytest.mark.parametrize("place", ["c1/row=1", "c2/row=0"])
def test_on_a_phone_each_value_has_its_title_and_labels_are_readable(
    watched: Watched, report: Path, place: str
) -> None:
    watched.page.set_viewport_size({"width": WIDTHS["phone"], "height": 844})
    shown = watched.open(report)
    lead(shown, place)
    until(shown, "document.querySelector('tr.more .timeline')?.checkVisibility()")
    value = rows_of(shown).first.locator("td").nth(1)
    assert value.evaluate("(each) => getComputedStyle(each, '::before').content") == '"topic-partition"'
    assert shown.evaluate(UNREADABLE) == 0
    sizes = "[...document.querySelectorAll('.timeline *')].map((each) => parseFloat(getComputedStyle(each).fontSize))"
    assert min(shown.evaluate(sizes)) >= 11


def test_ticks_of_offsets_are_whole_and_stand_where_their_offset_is(watched: Watched, report: Path) -> None:
    shown = watched.open(report)
    wanted = {"c1/row=1": (99, 153), "c2/row=0": (4_999_999_990, 5_000_000_060), "c2/row=1": (7, 8)}
    for place, (start, end) in wanted.items():
        lead(shown, place)
        cluster, _, row = place.partition("/row=")
        axis = f"#{cluster} [data-row='{row}'] + tr.more .timeline:first-child .axis"
        until(shown, f'document.querySelector("{axis}") !== null')
        offsets = [int(tick.replace("\u202f", "")) for tick in shown.locator(f"{axis} span").all_inner_texts()]
        assert len(offsets) >= 2
        assert start <= offsets[0] < offsets[-1] <= end
        assert len({after - before for before, after in pairwise(offsets)}) == 1


def test_the_switch_overrules_the_system(watched: Watched, report: Path) -> None:
    watched.page.emulate_media(color_scheme="light")
    shown = watched.open(report)
    shown.get_by_label("Dark").check(force=True)
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 18, 23)"


def test_the_keyboard_reaches_all_that_a_mouse_does(watched: Watched, report: Path) -> None:
    shown = watched.open(report)
    lead(shown, "c1/row=0")
    wanted = shown.evaluate(
        "[...document.querySelectorAll('a, button:not(:disabled), summary, input, select, [tabindex=\"0\"]')]"
        ".filter((each) => each.checkVisibility()).length"
    )
    shown.evaluate("document.activeElement.blur(); window.reached = new Set();"
                   "document.addEventListener('focusin', (event) => window.reached.add(event.target))")  # fmt: skip
    for _ in range(wanted + 5):
        shown.keyboard.press("Tab")
    radios = shown.locator("input[type=radio]").count()
    # Of a group of radio buttons Tab reaches the chosen one, arrow keys the others.
    assert shown.evaluate("window.reached.size") >= wanted - (radios - 1)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_card_filters_the_list_to_as_many_as_it_counts(watched: Watched, report: Path, action: str) -> None:
    shown = watched.open(report)
    card = shown.locator(f"#c1 .pick[data-action={action}]")
    card.press("Enter")
    until(shown, f"document.querySelector('#c1 .pick[data-action={action}]').ariaCurrent === 'true'")
    count = int(card.locator("b").inner_text())
    assert status_of(shown) == f"rows 1 to {count} of {count} of {COUNT + 1}"
    assert {each.strip() for each in rows_of(shown).locator(".badge").all_inner_texts()} == {action}


def test_the_list_is_filtered_by_action_cause_topic_id_and_cluster(watched: Watched, report: Path) -> None:
    shown = watched.open(report)
    mine = shown.locator("#c1 [data-table=transactions]")
    mine.get_by_label("Filter by cause").select_option(CAUSES["KEEP"])
    assert status_of(shown).endswith(f"11 of {COUNT + 1}")
    mine.get_by_label("Filter by action").select_option("FENCE")
    assert status_of(shown) == "no rows"
    mine.get_by_label("Filter by cause").select_option("")
    mine.get_by_label("Filter by topic").select_option("topic-7")
    assert status_of(shown) == f"rows 1 to 1 of 1 of {COUNT + 1}"
    # What is chosen is in the address: it can be sent to another.
    assert shown.evaluate("location.hash") == "#c1/action=FENCE&topic=topic-7"
    for pick in ("action", "topic"):
        mine.get_by_label(f"Filter by {pick}").select_option("")
    mine.get_by_role("searchbox").fill("topic-8-writer")
    assert rows_of(shown).count() == 1
    shown.get_by_label("Cluster").select_option(label="stock: 2 ABORT")
    until(shown, "document.getElementById('c1').hidden")
    assert status_of(shown) == "rows 1 to 2 of 2"
    assert "elsewhere-0" in rows_of(shown).first.inner_text()


def test_a_link_leads_to_its_row_whatever_was_chosen(watched: Watched, report: Path) -> None:
    shown = watched.open(report)
    shown.locator("#c1 [data-table=transactions] input").fill("topic-8-writer")
    shown.locator("#c1 .card.undetermined a[href*=row]").press("Enter")
    until(shown, "document.querySelector('tr.more') !== null")
    row = shown.locator("tr[data-row]:has(+ tr.more)")
    assert row.locator(".badge").inner_text() == "UNDETERMINED"
    assert row.evaluate("(each) => each.getBoundingClientRect().top < innerHeight")
    # The last one is on another page of the list.
    lead(shown, f"c1/row={COUNT}")
    until(shown, f"document.querySelector('[data-row=\"{COUNT}\"]') !== null")
    assert status_of(shown) == f"rows 51 to {COUNT + 1} of {COUNT + 1}"


@pytest.mark.parametrize("action", ACTIONS)
def test_a_row_opens_with_evidence_timelines_and_commands_that_can_be_copied(
    watched: Watched, report: Path, action: str
) -> None:
    shown = watched.open(report)
    lead(shown, f"c1/action={action}")
    until(shown, f"document.querySelector('#c1 .pick[data-action={action}]').ariaCurrent === 'true'")
    row = rows_of(shown).nth(1)
    topic = row.locator("td").nth(1).inner_text().rpartition("-")[0]
    row.get_by_role("button").press("Enter")
    opened = shown.locator("tr.more")
    assert opened.locator(".evidence li").count() >= 2
    assert opened.locator(".timeline .bar").count() >= 3
    # The columns of the row itself are not there again.
    assert "topic-partition" not in opened.locator("dt").all_text_contents()
    tables = contents.of_tables(str(report.parent))
    mends = remedy(next(each for each in tables.transactions if each["topic"] == topic), tables.states, "tables")
    assert mends.says in opened.inner_text()
    commands = [command for step in mends.steps for command in step.commands]
    assert opened.locator("pre.command").all_inner_texts() == commands
    for place, command in enumerate(commands):
        opened.get_by_role("button", name="cop").nth(place).press("Enter")
        until(shown, f"document.querySelectorAll('tr.more .copyable button')[{place}].textContent === 'copied'")
        search = shown.locator("#c1 [data-table=files] input")
        search.fill("")
        search.press("Control+v")
        # A field of one line takes the lines of a command as one.
        assert search.input_value().split() == command.split()
    row.get_by_role("button").press("Enter")
    assert shown.locator("tr.more").count() == 0


def test_the_list_is_paged_and_sorted_by_keyboard(watched: Watched, report: Path) -> None:
    shown = watched.open(report)
    mine = shown.locator("#c1 [data-table=transactions]")
    mine.get_by_role("button", name="next").press("Enter")
    assert status_of(shown) == f"rows 51 to {COUNT + 1} of {COUNT + 1}"
    mine.get_by_role("button", name="start offset").press("Enter")
    assert rows_of(shown).first.locator("td").nth(2).inner_text() == "42"


def test_bars_are_told_apart_without_colour(watched: Watched, report: Path) -> None:
    shown = watched.open(report)
    looks = {
        action: shown.locator(f"#c1 .card.{action.lower()} .badge").evaluate(
            "(each) => getComputedStyle(each, '::before').backgroundImage"
        )
        for action in ACTIONS
    }
    assert len(set(looks.values())) == len(ACTIONS)


def test_on_paper_no_page_is_blank_and_nothing_is_cut(watched: Watched, report: Path, tmp_path: Path) -> None:
    shown = watched.open(report)
    lead(shown, "c1/row=0")
    until(shown, "document.querySelector('tr.more') !== null")
    shown.evaluate("addEventListener('beforeprint', () => {"
                   "window.onPaper = document.querySelectorAll('#c1 .list [data-row]').length })")  # fmt: skip
    pages = printed(shown.pdf(path=tmp_path / "report.pdf", format="A4"))
    assert len(pages) > 2
    assert [place for place, texts in enumerate(pages, 1) if texts < 5] == []
    assert shown.evaluate("onPaper") == COUNT + 1
    assert status_of(shown) == f"rows 1 to 50 of {COUNT + 1}"
    # The width of A4 with the margins of a browser.
    shown.set_viewport_size({"width": 718, "height": 1000})
    shown.emulate_media(media="print")
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert rows_of(shown).count() == COUNT + 1
    assert shown.evaluate("document.documentElement.scrollWidth") <= 718
    assert shown.evaluate(CUT) == []


def printed(pdf: bytes) -> list[int]:
    """How many texts each page of a PDF of Chromium has."""
    objects = {int(number): body for number, body in re.findall(rb"(?:^|\n)(\d+) 0 obj\s(.*?)endobj", pdf, re.DOTALL)}
    found = []
    for body in objects.values():
        if re.search(rb"/Type\s*/Page\b", body):
            (number,) = re.findall(rb"/Contents\s+(\d+)", body)
            stream = objects[int(number)].partition(b"stream")[2].strip(b"\r\n")
            found.append(len(re.findall(rb"\bT[jJ]\b", zlib.decompressobj().decompress(stream))))
    return found


def test_two_thousand_open_transactions_are_there_within_seconds(watched: Watched, tmp_path: Path) -> None:
    verdict = {"action": "FENCE", "cause": "STUCK_ONGOING"}
    rows = [
        transaction(f"topic-{number % 900}", number % 7, number, producer_id=number,
                    transactional_id=f"writer-{number}", reason=f"still Ongoing: {number}", **verdict)
        for number in range(MANY)
    ]  # fmt: skip
    place = _report(tmp_path, contents.of_tables(written(tmp_path, rows, [night()])))
    assert place.stat().st_size < 6 << 20
    started = time.monotonic()
    shown = watched.open(place)
    shown.locator("#c1 [data-table=transactions] input").fill("writer-1999")
    assert rows_of(shown).count() == 1
    rows_of(shown).get_by_role("button").press("Enter")
    assert "writer-1999" in shown.locator("tr.more .timeline").first.inner_text()
    assert time.monotonic() - started < PATIENCE
