"""History over runs: what each run found, and what came and went since the previous one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from txnlog.report.contents import Contents, Row, hangs
from txnlog.report.figure_style import axis, figure, label, whole

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# More could not be distinguished in the figure; the table `runs` has them all.
MOST_RUNS = 90
LINES = (
    ("late_transactions", "late", "#d1402f", "solid", "circle"),
    ("abort_candidates", "to abort", "#b86e00", "dash", "x"),
    ("undetermined", "undetermined", "#76808b", "dot", "square-open"),
)


class Changes(NamedTuple):
    """Hanging transactions that the latest run over a cluster shows and the previous one does not, and the reverse."""

    appeared: list[Row]
    gone: list[Row]
    stayed: int


def compared(tables: Contents, cluster: str) -> Figure:
    """Late transactions, aborts and undetermined ones of a cluster, run by run."""
    runs = [run for run in tables.runs if run["cluster"] == cluster][-MOST_RUNS:]
    times = [run["as_of_to"].strftime("%Y-%m-%d %H:%M:%S") for run in runs]
    return figure(
        [_line([run[column] for run in runs], times, *style) for column, *style in LINES],
        260,
        xaxis=axis("as of (UTC)", type="date", nticks=6),
        yaxis=axis("transactions", rangemode="tozero", **whole(max(run["late_transactions"] for run in runs))),
        hovermode="x unified",
    )


def _line(values: list[int], times: list[str], name: str, colour: str, dash: str, symbol: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": label(name),
        "x": times,
        "y": values,
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"symbol": symbol, "size": 9, "color": colour},
    }


def lines(runs: list[Row]) -> dict[str, Any] | None:
    """The same for the page, in a square of 100 by 100; None where a single run makes no line."""
    if len(runs) < 2:
        return None
    shown = runs[-MOST_RUNS:]
    most = max(1, *(run[column] for run in shown for column, *_ in LINES))
    return {
        "most": most,
        "first": shown[0]["as_of_to"],
        "last": shown[-1]["as_of_to"],
        "lines": [
            {"name": name, "dash": dash, "points": _points([run[column] for run in shown], most)}
            for column, name, _, dash, _ in LINES
        ],
    }


def _points(values: list[int], most: int) -> str:
    step = 100 / (len(values) - 1)
    return " ".join(f"{place * step:.1f},{100 - 100 * value / most:.1f}" for place, value in enumerate(values))


def changes(tables: Contents, cluster: str) -> Changes:
    """What came and what went between the last two runs over a cluster."""
    now = {_key(row): row for row in tables.transactions if row["cluster"] == cluster and hangs(row)}
    before = {_key(row): row for row in tables.previous if row["cluster"] == cluster and hangs(row)}
    return Changes(
        [row for key, row in now.items() if key not in before],
        [row for key, row in before.items() if key not in now],
        len(now.keys() & before.keys()),
    )


def _key(row: Row) -> tuple[Any, ...]:
    return (row["topic"], row["partition"], row["producer_id"], row["start_offset"])
