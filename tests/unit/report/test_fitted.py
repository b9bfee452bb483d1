"""A table on a terminal fits it; what is left out is named, numbers are never cut, and colour carries nothing alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.terminal import seen
from txnlog.report.fitted import ACTION_STYLES, HIDDEN, Column
from txnlog.report.output import as_table

COLUMNS = (
    Column("Name", "name", is_name=True),
    Column("StartOffset", "offset"),
    Column("Action", "action", styles=ACTION_STYLES),
    Column("Reason", "reason", is_name=True, dispensable=1),
    Column("AsOf", "as_of", dispensable=2),
)
COLOURS = re.compile(r"\x1b\[[\d;]*3[1-7]m")
OFFSET = 9_223_372_036_854_775_807


def row(**values: Any) -> dict[str, Any]:
    return {"name": "n" * 60, "offset": OFFSET, "action": "ABORT", "reason": "r" * 60, "as_of": "a" * 24} | values


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("width", [50, 60, 80, 100, 120, 200])
def test_every_line_fits_and_no_column_that_stays_is_missing_or_has_a_number_cut(width: int) -> None:
    lines = seen(as_table([row(), row(name="short")], COLUMNS, width))
    assert max(map(len, lines)) <= width
    headings = " ".join(lines[:2])
    assert all(words in headings for words in ("Name", "Start", "Offset", "Action"))
    assert [str(OFFSET) in line for line in lines].count(True) == 2
    assert "…" in "".join(lines) or width == 200


@pytest.mark.parametrize("width", range(60, 120, 7))
def test_nothing_is_cut_without_an_ellipsis(width: int) -> None:
    columns = (
        Column("Cluster", "name", is_name=True),
        Column("Topic", "name", is_name=True),
        Column("TransactionalId", "name", is_name=True),
        Column("Action", "action", styles=ACTION_STYLES),
    )
    rows = [row(action="MOVE_COORDINATOR", name="n" * size) for size in (7, 12, 40)]
    lines = seen(as_table(rows, columns, width))
    assert [line.endswith("  MOVE_COORDINATOR") for line in lines].count(True) == 3
    assert all(set(word) != {"n"} or len(word) in (7, 12, 40) for line in lines for word in line.split())


def test_headings_stand_in_two_lines_before_a_column_is_left_out() -> None:
    columns = (Column("CurrentTransactionStartOffset", "offset"), Column("ProducerEpoch", "epoch", dispensable=1))
    rows = [{"offset": 1, "epoch": 2}, {"offset": 3, "epoch": 4}]
    assert seen(as_table(rows, columns, 30)) == [
        "CurrentTransaction  Producer", "StartOffset         Epoch", "1                   2", "3                   4",
    ]  # fmt: skip


def test_the_most_dispensable_columns_are_left_out_and_named() -> None:
    assert seen(as_table([row(), row()], COLUMNS, 70))[-1] == f"{HIDDEN}: AsOf"
    assert " ".join(seen(as_table([row(), row()], COLUMNS, 45))[-2:]) == f"{HIDDEN}: Reason, AsOf"
    assert "hidden" not in as_table([row(), row()], COLUMNS, 200)


def test_a_single_row_that_does_not_fit_stands_line_below_line_with_nothing_cut() -> None:
    lines = seen(as_table([row()], COLUMNS, 40))
    assert max(map(len, lines)) <= 40
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [each.heading for each in COLUMNS]
    assert "".join(line[13:] for line in lines[:3]).strip() == "n" * 60
    assert "…" not in "".join(lines)


def test_rows_of_which_no_table_fits_stand_one_below_the_other() -> None:
    lines = seen(as_table([row(), row(name="short")], COLUMNS, 30))
    assert max(map(len, lines)) <= 30
    assert "".join(line[13:] for line in lines).count(str(OFFSET)) == 2
    assert lines.count("") == 1
    assert "…" not in "".join(lines)


def test_without_a_terminal_nothing_is_cut_left_out_or_coloured() -> None:
    header, first, second = as_table([row(name="n" * 10_000), row()], COLUMNS).splitlines()
    assert first.startswith("n" * 10_000 + "  ")
    assert [each.heading for each in COLUMNS] == header.split()
    assert "\x1b" not in header + first + second


def test_colours_repeat_what_a_word_says_and_no_color_turns_them_off(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = as_table([row(), row(action="KEEP")], COLUMNS, 200)
    assert COLOURS.search(coloured)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = as_table([row(), row(action="KEEP")], COLUMNS, 200)
    assert not COLOURS.search(plain)
    assert seen(plain) == seen(coloured)


def test_markup_in_a_name_is_text() -> None:
    assert "[red]x[/red] :boom:" in seen(as_table([row(name="[red]x[/red] :boom:")], COLUMNS, 200))[1]
