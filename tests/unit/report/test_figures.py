"""The figures hold what the tables hold, sum up what does not fit, and take no name for markup."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.report_tables import HOUR, NIGHT, night, transaction, written
from txnlog.errors import OptionError
from txnlog.report import charts, contents, coverage, overview, run_history, templates, timeline
from txnlog.report.contents import Contents, Partition
from txnlog.report.figure_style import ACTIONS

ORDERS = Partition("payments", "orders", 0)
HOSTILE = "<a href='javascript:alert(1)'>\u202ex</a></script>"


def tables(folder: Path, *rows: dict[str, Any]) -> Contents:
    return contents.of_tables(written(folder, rows, [night(), night(NIGHT - timedelta(days=1))]))


def bars(figure: Any) -> list[Any]:
    return [trace for trace in figure.data if trace.type == "bar"]


def texts(figure: Any) -> str:
    return json.dumps(figure.to_plotly_json(), default=str)


def test_a_bar_reaches_from_the_start_of_its_transaction_to_the_log_end(tmp_path: Path) -> None:
    found = timeline.by_offset(tables(tmp_path, transaction(start=42, log_end_offset=92)), ORDERS)
    bar = bars(found)[-1]
    assert (bar.base[0], bar.x[0]) == (42, 50)
    assert [line.x0 for line in found.layout.shapes] == [42, 92]


def test_the_marker_before_stands_on_the_line_of_its_transaction(tmp_path: Path) -> None:
    row = transaction(last_marker_offset=30, last_marker_type="ABORT")
    found = timeline.by_offset(tables(tmp_path, row), ORDERS)
    (marker,) = [trace for trace in found.data if trace.name == "ABORT"]
    assert (marker.x[0], marker.y[0], marker.marker.symbol[0]) == (30, 1, "x")


def test_a_log_of_millions_of_offsets_shows_what_is_near_the_transaction(tmp_path: Path) -> None:
    row = transaction(start=5_000_000_000, log_end_offset=5_000_000_050)
    left, right = timeline.by_offset(tables(tmp_path, row), ORDERS).layout.xaxis.range
    assert right - left < 100


def test_no_tick_is_between_two_offsets_or_two_transactions(tmp_path: Path) -> None:
    found = tables(tmp_path, transaction(start=42, log_end_offset=43, held_back_records=2))
    axes = [
        timeline.by_offset(found, ORDERS).layout.xaxis,
        overview.held_back(found).layout.xaxis,
        overview.causes(found).layout.xaxis,
        run_history.compared(found, "payments").layout.yaxis,
        charts.bars(["a"], [1], "things").layout.xaxis,
    ]
    assert [(axis.tickformat, axis.dtick) for axis in axes] == [(",d", 1)] * len(axes)


def test_over_time_a_bar_is_late_from_the_end_of_what_it_was_allowed(tmp_path: Path) -> None:
    found = timeline.by_time(tables(tmp_path, transaction()), ORDERS)
    late = bars(found)[-1]
    assert late.base[0] == NIGHT - 2 * HOUR + timedelta(minutes=20)
    assert late.x[0] == 100 * 60_000
    assert late.marker.pattern.shape == ACTIONS["ABORT"].pattern


def test_times_that_are_not_trusted_are_not_drawn(tmp_path: Path) -> None:
    row = transaction(start_timestamp=NIGHT - 9_000 * HOUR, timestamps_trusted=False)
    found = timeline.by_time(tables(tmp_path, row), ORDERS)
    assert min(bar.base[0] for bar in bars(found)) == NIGHT - 2 * HOUR


def test_an_age_that_is_not_known_is_said(tmp_path: Path) -> None:
    row = transaction(last_activity=None, open_for_ms=None, start_timestamp=None, held_back_since=None, late=None)
    assert "its age is unknown" in texts(timeline.by_time(tables(tmp_path, row), ORDERS))


def test_a_transaction_that_is_not_late_has_no_pattern(tmp_path: Path) -> None:
    young = transaction(late=False, action="WAIT", cause="ONGOING")
    assert bars(timeline.by_offset(tables(tmp_path, young), ORDERS))[-1].marker.pattern.shape == ""


def test_what_does_not_fit_a_timeline_is_summed_up(tmp_path: Path) -> None:
    rows = [transaction(start=number, producer_id=number) for number in range(timeline.MOST_BARS + 7)]
    found = tables(tmp_path, *rows)
    assert "7 more, 7 late" in texts(timeline.by_offset(found, ORDERS))
    assert "7 more, 7 late" in texts(timeline.by_time(found, ORDERS))


def test_the_overview_has_the_partitions_that_hold_back_most_and_the_sum_of_the_rest(tmp_path: Path) -> None:
    rows = [transaction(f"t{number}", held_back_records=number) for number in range(1, overview.MOST_BARS + 3)]
    found = overview.held_back(tables(tmp_path, *rows))
    assert [bar.x[0] for bar in bars(found)][:2] == [17, 16]
    assert "2 more partitions, 3 records" in texts(found)


def test_a_partition_in_which_nothing_is_open_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="nothing is open in stock-3 of payments"):
        timeline.by_offset(tables(tmp_path, transaction()), Partition("payments", "stock", 3))


def test_causes_are_counted_without_the_young_ones(tmp_path: Path) -> None:
    rows = [transaction(start=1), transaction(start=2), transaction(start=3, late=False, cause="TOO_YOUNG")]
    assert overview.by_cause(tables(tmp_path, *rows)) == [(("ABORT", "NEVER_ADDED"), 2)]


def test_an_action_has_the_same_colour_in_figures_and_on_the_page() -> None:
    css = templates.file("style.css")
    for action, style in ACTIONS.items():
        (tone,) = re.findall(rf"(?m)^\.{action.lower()} {{ --tone: var\((--\w+)\);", css)
        assert f" {tone}: {style.colour};" in css


def test_the_runs_stand_in_their_order(tmp_path: Path) -> None:
    found = run_history.compared(tables(tmp_path, transaction()), "payments")
    assert list(found.data[0].x) == ["2026-11-20 02:00:00", "2026-11-21 02:00:00"]


def test_the_lines_of_the_page_have_their_points_in_the_order_of_the_runs(tmp_path: Path) -> None:
    runs = [night(NIGHT - timedelta(days=day), late_transactions=day) for day in (2, 1, 0)]
    found = run_history.lines(contents.of_tables(written(tmp_path, [], runs)).runs)
    assert found is not None
    assert (found["most"], found["first"], found["last"]) == (2, NIGHT - timedelta(days=2), NIGHT)
    assert found["lines"][0]["points"] == "0.0,0.0 50.0,50.0 100.0,100.0"
    assert run_history.lines(contents.of_tables(written(tmp_path / "one", [], [night()])).runs) is None


@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_has_a_pattern_of_its_own(action: str) -> None:
    assert [style.pattern for style in ACTIONS.values()].count(ACTIONS[action].pattern) == 1


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("paper", ["#ffffff", "#171d24"])
def test_each_colour_stands_out_from_light_and_dark_paper(action: str, paper: str) -> None:
    lighter, darker = sorted((luminance(ACTIONS[action].colour), luminance(paper)), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 3


def luminance(colour: str) -> float:
    """Relative luminance, https://www.w3.org/TR/WCAG21/#dfn-relative-luminance."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_no_name_is_markup_in_any_figure(tmp_path: Path) -> None:
    values: dict[str, Any] = {"transactional_id": HOSTILE, "reason": HOSTILE, "cluster": HOSTILE}
    found = contents.of_tables(written(tmp_path, [transaction(HOSTILE, **values)], [night(cluster=HOSTILE)]))
    partition = Partition(HOSTILE, HOSTILE, 0)
    figures = (
        overview.held_back(found),
        overview.causes(found),
        timeline.by_offset(found, partition),
        timeline.by_time(found, partition),
        run_history.compared(found, HOSTILE),
        coverage.coordinators(found),
    )
    for figure in figures:
        assert "<a" not in texts(figure)
        assert "</script" not in texts(figure)
        assert "\\u202e" not in texts(figure).replace("\\\\u202e", "")
