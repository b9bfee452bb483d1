"""A table that fits a terminal: names are cut, columns hidden, or each row takes several lines."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table

# The note on columns that are hidden.
HIDDEN = "hidden columns (terminal too narrow; use --format json)"
# A name is never cut shorter.
SHORTEST_NAME = 8
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
    another one. Where there is no room, the most `dispensable` columns are left out first, those with 0 never.
    `styles` are rich's, by value; they repeat what the value says.
    """

    heading: str
    of: str | Callable[[dict[str, Any]], Any]
    is_name: bool = False
    dispensable: int = 0
    styles: Mapping[str, str] = {}


class Drawn(NamedTuple):
    """A column with its heading, of one or two lines, and its cells as text."""

    column: Column
    heading: str
    cells: Sequence[str]

    @property
    def heading_width(self) -> int:
        """The width that cuts no line of the heading."""
        return max(map(len, self.heading.split("\n")))

    @property
    def whole(self) -> int:
        """The width that cuts nothing."""
        return max(self.heading_width, *map(len, self.cells), 0)

    @property
    def least(self) -> int:
        """The width below which it cannot be read."""
        return min(self.whole, max(self.heading_width, SHORTEST_NAME)) if self.column.is_name else self.whole

    def in_two_lines(self) -> Drawn:
        """The same with its heading broken before the capital that is nearest to its middle."""
        middle = len(self.heading) / 2
        capitals = [match.start() for match in re.finditer("(?<=[a-z])[A-Z(]", self.heading)]
        cut = min(capitals, key=lambda place: abs(place - middle), default=0)
        return self._replace(heading=f"{self.heading[:cut]}\n{self.heading[cut:]}") if cut else self


def fitted(columns: Sequence[Drawn], width: int) -> str:
    """The table in `width` columns of a terminal, with the terminal's codes for colours unless NO_COLOR is set."""
    if sum(drawn.whole for drawn in columns) + _gaps(columns) <= width:
        return _printed(_table(columns, width), width)
    shown = _shown([drawn.in_two_lines() for drawn in columns], width)
    if len(columns[0].cells) == 1 or not _fit(shown, width):
        return "\n".join(_printed(_record(columns, line), width) for line in range(len(columns[0].cells)))
    kept = [drawn.column for drawn in shown]
    left_out = ", ".join(drawn.column.heading for drawn in columns if drawn.column not in kept)
    note = textwrap.fill(f"{HIDDEN}: {left_out}", width) + "\n" if left_out else ""
    return _printed(_table(shown, width), width) + note


def _fit(columns: Sequence[Drawn], width: int) -> bool:
    """Whether they can be read in that width."""
    return sum(drawn.least for drawn in columns) + _gaps(columns) <= width


def _gaps(columns: Sequence[Drawn]) -> int:
    return GAP * (len(columns) - 1)


def _shown(columns: Sequence[Drawn], width: int) -> Sequence[Drawn]:
    shown = list(columns)
    for drawn in sorted(columns, key=lambda drawn: -drawn.column.dispensable):
        if drawn.column.dispensable == 0 or _fit(shown, width):
            break
        shown.remove(drawn)
    return shown


def _widths(columns: Sequence[Drawn], width: int) -> list[int]:
    """The width of each column: what is left over goes to the narrowest of those that are cut."""
    widths = [drawn.least for drawn in columns]
    for _ in range(width - sum(widths) - _gaps(columns)):
        cut = [place for place, drawn in enumerate(columns) if widths[place] < drawn.whole]
        if not cut:
            break
        widths[min(cut, key=widths.__getitem__)] += 1
    return widths


def _table(columns: Sequence[Drawn], width: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for drawn, own in zip(columns, _widths(columns, width), strict=True):
        # rich itself would cut the last column without a sign where it has made another one too narrow.
        table.add_column(Text(drawn.heading, no_wrap=True, overflow="ellipsis"), width=own)
    for line in zip(*(drawn.cells for drawn in columns), strict=True):
        styled = zip(line, columns, strict=True)
        table.add_row(
            *(
                Text(cell, style=drawn.column.styles.get(cell, ""), no_wrap=True, overflow="ellipsis")
                for cell, drawn in styled
            )
        )
    return table


def _record(columns: Sequence[Drawn], line: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for drawn in columns:
        cell = drawn.cells[line]
        table.add_row(Text(drawn.column.heading), Text(cell, style=drawn.column.styles.get(cell, "")))
    return table


def _printed(table: Table, width: int) -> str:
    from rich.console import Console

    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=True, highlight=False, markup=False, emoji=False)
    console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())
