"""Plain charts in the style of the report, for a notebook's own results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from txnlog.report.figure_style import ACTIONS, OTHER, axis, bar, figure, label, named_lines, whole

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LINE_HEIGHT = 28
MOST_BARS = 30
SYMBOLS = ("circle", "x", "square", "diamond", "triangle-up", "cross")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def bars(names: Sequence[object], values: Sequence[int], title: str) -> Figure:
    """One bar per name, from the top down, as many as fit; `title` says what is counted."""
    shown = [label(name, 40) for name in names[:MOST_BARS]]
    trace: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "y": list(range(len(shown))),
        "x": list(values[:MOST_BARS]),
        "text": [str(value) for value in values[:MOST_BARS]],
        "textposition": "outside",
        "cliponaxis": False,
        "hoverinfo": "skip",
        "marker": bar(OTHER),
    }
    return figure(
        [trace],
        80 + LINE_HEIGHT * len(shown),
        xaxis=axis(title, **whole(max(values, default=0))),
        yaxis=named_lines(shown),
    )


def steps(series: Mapping[str, Sequence[tuple[Any, Any]]], title: str) -> Figure:
    """One line of steps per series; `title` names the y axis."""
    return figure(
        [_steps(place, name, points) for place, (name, points) in enumerate(series.items())],
        320,
        showlegend=True,
        xaxis=axis(),
        yaxis=axis(title),
    )


def _steps(place: int, name: str, points: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    colours = [style.colour for style in ACTIONS.values()]
    colour = colours[place % len(colours)]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": label(name),
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "line": {"shape": "hv", "color": colour, "dash": DASHES[place % len(DASHES)], "width": 2},
        "marker": {"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 7, "color": colour},
    }
