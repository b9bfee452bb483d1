"""Rows as JSON, CSV or a table for people. Names come from producers: none may reach a terminal as it is."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

# As long as the longest name of a topic.
WIDEST_CELL = 249

Rows = Sequence[dict[str, Any]]


def plain(value: Any) -> Any:
    """A value as JSON can hold it; instants as ISO 8601 in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value


def printable(value: Any) -> str:
    """A value as one line of text that changes nothing on a terminal: control and direction characters escaped."""
    if value is None:
        return ""
    return "".join(
        character if unicodedata.category(character)[0] not in "CZ" or character == " " else _escaped(character)
        for character in str(plain(value))
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def as_json(rows: Rows) -> str:
    """An array of objects with snake_case keys."""
    return json.dumps([{key: plain(value) for key, value in row.items()} for row in rows], indent=2) + "\n"


def as_csv(rows: Rows, columns: Sequence[str]) -> str:
    """RFC 4180 with a header line; arrays as JSON."""
    text = io.StringIO()
    # All texts are quoted: Python 3.11 would leave one with a carriage return as it is.
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in columns])
    return text.getvalue()


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list) else plain(value)


def _short(text: str) -> str:
    """The text, cut where it would push all other columns off the screen: JSON and CSV have all of it."""
    return text if len(text) <= WIDEST_CELL else f"{text[: WIDEST_CELL - 1]}…"


def as_table(rows: Rows, columns: dict[str, str | Callable[[dict[str, Any]], Any]]) -> str:
    """Columns padded to their widest cell, as Kafka's own tools print: heading to key or function of the row."""
    cells = [
        list(columns),
        *([_short(printable(row[of] if isinstance(of, str) else of(row))) for of in columns.values()] for row in rows),
    ]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells)
    return "".join(f"{line.rstrip()}\n" for line in lines)
