"""A table that fits a terminal: names are cut, columns left out, or a single row stands line below line."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table

# What of a name is left at least.
SHORTEST_NAME = 12
GAP = 2
# Of the actions, by how much they ask for.
ACTION_STYLES = {
    "ABORT": "bold red",
    "KEEP": "bold yellow",
    "FENCE": "magenta",
    "MOVE_COORDINATOR": "magenta",
    "UNDETERMINED": "cyan",
}


class Column(NamedTuple):
    """A column of a table for people.

    `of` is a key of the row or a function of it. A name may be cut, a number or an instant never: cut, it would be
    another one. Where there is no room, the columns of the highest `rank` are left out first, those of rank 0 never.
    `styles` are rich's, by value; they repeat what the value says.
    """

    heading: str
    of: str | Callable[[dict[str, Any]], Any]
    is_name: bool = False
    rank: int = 0
    styles: Mapping[str, str] = {}


class Drawn(NamedTuple):
    """A column with its cells as text."""

    column: Column
    cells: Sequence[str]

    @property
    def whole(self) -> int:
        """The width that cuts nothing."""
        return max(map(len, (self.column.heading, *self.cells)))

    @property
    def least(self) -> int:
        """The width below which it cannot be read."""
        if not self.column.is_name:
            return self.whole
        return min(self.whole, max(len(self.column.heading), SHORTEST_NAME))


def fitted(columns: Sequence[Drawn], width: int) -> str:
    """The table in `width` columns of a terminal, with the terminal's codes for colours unless NO_COLOR is set."""
    fits = _needed(columns, whole=True) <= width
    if not fits and columns and len(columns[0].cells) == 1:
        return _printed(_record(columns), width)
    shown = _shown(columns, width)
    left_out = [drawn.column.heading for drawn in columns if drawn not in shown]
    note = f"left out for want of width: {', '.join(left_out)}\n" if left_out else ""
    return _printed(_table(shown), width) + note


def _needed(columns: Sequence[Drawn], whole: bool = False) -> int:
    return sum(drawn.whole if whole else drawn.least for drawn in columns) + GAP * (len(columns) - 1)


def _shown(columns: Sequence[Drawn], width: int) -> Sequence[Drawn]:
    shown = list(columns)
    for drawn in sorted(columns, key=lambda drawn: -drawn.column.rank):
        if drawn.column.rank == 0 or _needed(shown) <= width:
            break
        shown.remove(drawn)
    return shown


def _table(columns: Sequence[Drawn]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for drawn in columns:
        # A column that wraps is one that rich makes narrower; its cells are then cut and not wrapped.
        heading = Text(drawn.column.heading, no_wrap=True, overflow="ellipsis")
        table.add_column(heading, min_width=drawn.least, no_wrap=not drawn.column.is_name)
    for line in zip(*(drawn.cells for drawn in columns), strict=True):
        styled = zip(line, columns, strict=True)
        table.add_row(
            *(
                Text(cell, style=drawn.column.styles.get(cell, ""), no_wrap=True, overflow="ellipsis")
                for cell, drawn in styled
            )
        )
    return table


def _record(columns: Sequence[Drawn]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for drawn in columns:
        [cell] = drawn.cells
        table.add_row(Text(drawn.column.heading), Text(cell, style=drawn.column.styles.get(cell, "")))
    return table


def _printed(table: Table, width: int) -> str:
    from rich.console import Console

    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=True, highlight=False, markup=False, emoji=False)
    console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())
