"""Rows as JSON, CSV or a table for people. Names come from producers: none may reach a terminal as it is."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from txnlog.report.fitted import Column, Drawn, fitted

Rows = Sequence[dict[str, Any]]


def plain(value: Any) -> Any:
    """A value as JSON can hold it; instants as ISO 8601 in UTC, also within arrays and structs."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value


def printable(value: Any) -> str:
    """A value as one line of text that changes nothing on a terminal: control and direction characters escaped."""
    if value is None:
        return ""
    text = str(plain(value))
    # Nearly all are, and rows come by the ten thousand.
    if text.isprintable():
        return text
    return "".join(
        character if unicodedata.category(character)[0] not in "CZ" or character == " " else _escaped(character)
        for character in text
    )


def counted(number: int, one: str, shown: Callable[[int], str] = str) -> str:
    """A number of things: `1 batch`, `2 batches`; `shown` writes the number."""
    many = f"{one}es" if one.endswith("ch") else f"{one}s"
    return f"{shown(number)} {one if number == 1 else many}"


def first_of(names: Sequence[str], most: int = 5) -> str:
    """So many of the names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def as_json(rows: Rows) -> str:
    """An array of objects with snake_case keys."""
    return "".join(json_pieces(rows))


def json_pieces(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The text of `as_json`, row by row."""
    before, after = "[", "[]\n"
    for row in rows:
        # Without the brackets of an array of one.
        yield f"{before}\n{json.dumps([plain(row)], indent=2)[2:-2]}"
        before, after = ",", "\n]\n"
    yield after


def as_csv(rows: Rows, columns: Sequence[str]) -> str:
    """RFC 4180 with a header line; arrays as JSON."""
    return "".join(csv_pieces(rows, columns))


def csv_pieces(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """The text of `as_csv`, line by line."""
    yield _line(columns)
    for row in rows:
        yield _line([_cell(row[name]) for name in columns])


def _line(cells: Sequence[Any]) -> str:
    text = io.StringIO()
    # All strings are quoted: Python 3.11 would leave one with a carriage return as it is.
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).writerow(cells)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return json.dumps(plain(value)) if isinstance(value, list) else plain(value)


def with_cluster(rows: Rows, columns: Sequence[Column]) -> Sequence[Column]:
    """The columns, after the cluster's column if the rows are of several: names are unique only within a cluster."""
    several = len({row["cluster"] for row in rows}) > 1
    return (Column("Cluster", "cluster", is_name=True), *columns) if several else columns


def with_cells(rows: Rows, columns: Sequence[Column]) -> list[Drawn]:
    """The columns with their cells as texts of a line each."""
    return [
        Drawn(
            column,
            column.heading,
            [printable(row[column.of] if isinstance(column.of, str) else column.of(row)) for row in rows],
        )
        for column in columns
    ]


def as_table(rows: Rows, columns: Sequence[Column], width: int | None = None) -> str:
    """Columns padded to their widest cell, as Kafka's own tools print. With a `width`, it is for a terminal."""
    drawn = with_cells(rows, columns)
    if width is not None:
        return fitted(drawn, width)
    lines = zip(*([each.column.heading, *each.cells] for each in drawn), strict=True)
    padded = ("  ".join(cell.ljust(each.whole) for cell, each in zip(line, drawn, strict=True)) for line in lines)
    return "".join(f"{line.rstrip()}\n" for line in padded)
