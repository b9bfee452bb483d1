"""Which open transactions a command shows: those of a cluster, a topic, an action."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

Row = dict[str, Any]


class Selection(NamedTuple):
    """What must be so of a row; None is anything."""

    cluster: str | None = None
    topic: str | None = None
    action: str | None = None

    def of(self, rows: Iterable[Row]) -> list[Row]:
        """The rows for which it holds."""
        wanted = {name: value for name, value in self._asdict().items() if value is not None}
        return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


ALL = Selection()
