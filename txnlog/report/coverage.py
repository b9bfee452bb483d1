"""What is missing from the dumps: partitions of `__transaction_state`, and bytes that are not what Kafka writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from txnlog.report.contents import Contents, Row
from txnlog.report.figure_style import axis, figure, label, named_lines

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LINE_HEIGHT = 34


class Coordinators(NamedTuple):
    """The partitions of `__transaction_state` of a cluster: present, damaged, missing."""

    cluster: str
    whole: list[int]
    damaged: list[int]
    missing: list[int]


def coordinators_of(tables: Contents) -> list[Coordinators]:
    """Partitions of `__transaction_state` in the latest dump of each cluster."""
    return [_of_cluster(run, tables.coordinators) for run in tables.latest.values()]


def _of_cluster(run: Row, files: list[Row]) -> Coordinators:
    mine = [file for file in files if file["cluster"] == run["cluster"]]
    present = {file["partition"] for file in mine}
    # Only the copy that was used counts; if none was, any.
    damaged = {file["partition"] for file in mine if file["bytes_damaged"] and file["copy_chosen"]}
    expected = range(run["coordinator_partitions"])
    return Coordinators(
        run["cluster"],
        [number for number in expected if number in present - damaged],
        [number for number in expected if number in damaged],
        [number for number in expected if number not in present],
    )


def coordinators(tables: Contents) -> Figure:
    """Partitions of `__transaction_state` in each dump: a square for each, a cross for a missing one."""
    found = coordinators_of(tables)
    return figure(
        [
            _cells(found, "whole", "whole", "square", "#4f8a4c"),
            _cells(found, "damaged", "damaged", "triangle-down", "#b86e00"),
            _cells(found, "missing", "missing", "x", "#d1402f"),
        ],
        110 + LINE_HEIGHT * len(found),
        xaxis=axis("partition of __transaction_state", showgrid=False, tickformat="d", nticks=12),
        yaxis=named_lines([label(each.cluster) for each in found]),
    )


def _cells(found: list[Coordinators], state: str, name: str, symbol: str, colour: str) -> dict[str, Any]:
    cells = [(place, number) for place, each in enumerate(found) for number in getattr(each, state)]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [number for _, number in cells],
        "y": [place for place, _ in cells],
        "hovertext": [f"{number}: {name}" for _, number in cells],
        "hoverinfo": "text",
        "marker": {"symbol": symbol, "size": 11, "color": colour},
    }
