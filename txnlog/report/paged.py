"""Tables of the report that a reader pages through: the first rows as HTML, all of them as data of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from txnlog.report.contents import Row
from txnlog.report.output import plain, printable
from txnlog.report.words import lasting, number


class Column(NamedTuple):
    """A column: its heading, where its values are from, and what they are: text, code, number, duration (ms), action.

    A hidden column appears in the row's details only.
    """

    title: str
    value: Callable[[Row], Any]
    kind: str = "text"
    shown: bool = True


def column(name: str, title: str = "", kind: str = "text", shown: bool = True) -> Column:
    """The column of a table of Delta by its name."""
    return Column(title or name, lambda row: row[name], kind, shown)


class Paged(NamedTuple):
    """A table of the page."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    page: int = 50

    @property
    def shown(self) -> list[Column]:
        """The columns that the table shows."""
        return [each for each in self.columns if each.shown]

    def first(self) -> list[list[str]]:
        """The first rows as text, for the HTML."""
        return [[text(each.kind, each.value(row)) for each in self.shown] for row in self.rows[: self.page]]

    def data(self) -> dict[str, Any]:
        """All rows, column by column, for the script of the page."""
        return {
            "columns": [_encoded(each, self.rows) for each in self.columns],
            "rows": len(self.rows),
            "page": self.page,
        }


def text(kind: str, value: Any) -> str:
    """A value as the table shows it; the script of the page does the same for the rows that follow."""
    if value is None:
        return "—"
    if kind == "number":
        return number(value)
    return lasting(value) if kind == "duration" else str(_cell(value))


def _encoded(each: Column, rows: Sequence[Row]) -> dict[str, Any]:
    """A column; each distinct value once if values repeat."""
    values = [_cell(each.value(row)) for row in rows]
    known: dict[Any, int] = {}
    index = [known.setdefault(value, len(known)) for value in values]
    head = {"title": each.title, "kind": each.kind, "shown": each.shown}
    return head | ({"values": list(known), "index": index} if 2 * len(known) < len(values) else {"values": values})


def _cell(value: Any) -> Any:
    """A number as it is; anything else as a printable string."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, list):
        return ", ".join(map(printable, value))
    return printable(plain(value)) if not isinstance(value, bool) else ("yes" if value else "no")
