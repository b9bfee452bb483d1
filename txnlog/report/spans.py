"""Bars of a timeline over offsets or time: spans, the labels above them, lines across all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from txnlog.report.figure_style import QUIET, Style, axis, bar, figure, named_lines

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LINE_HEIGHT = 44


class Span(NamedTuple):
    """A span of a bar: start, length and style."""

    line: int
    start: Any
    length: Any
    style: Style
    text: str = ""
    hover: str = ""
    opacity: float = 1.0


def bars(spans: list[Span], left: Any, right: Any) -> list[dict[str, Any]]:
    """The traces of the spans, on an axis from left to right."""
    return [
        {
            "type": "bar",
            "orientation": "h",
            "y": [span.line],
            "x": [span.length],
            "base": [span.start],
            "text": [span.text],
            "textposition": "none",
            "hovertext": [span.hover or span.text],
            "hoverinfo": "text",
            "width": 0.34,
            "opacity": span.opacity,
            "marker": bar(span.style),
            "showlegend": False,
        }
        for span in spans
    ] + [_texts([span for span in spans if span.text], left, right)]


def _texts(spans: list[Span], left: Any, right: Any) -> dict[str, Any]:
    """The labels above the bars: a short bar has no room inside. Labels far right end at the edge."""
    are_late = [2 * (span.start - left) > right - left for span in spans]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [right if is_late else span.start for span, is_late in zip(spans, are_late, strict=True)],
        "y": [span.line - 0.34 for span in spans],
        "text": [span.text for span in spans],
        "textposition": [f"middle {'left' if is_late else 'right'}" for is_late in are_late],
        "textfont": {"size": 12},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def line(x: Any, dash: str) -> dict[str, Any]:
    """A line across all bars."""
    line = {"color": QUIET, "width": 2, "dash": dash}
    return {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": line}


def note(x: Any, text: str, anchor: str) -> dict[str, Any]:
    """The label above a line."""
    return {"x": x, "xref": "x", "y": 1, "yref": "paper", "yanchor": "bottom", "xanchor": anchor, "text": text,
            "showarrow": False, "font": {"size": 12}}  # fmt: skip


def apart(notes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each note on its own line, because two may have the same position."""
    return [note | {"yshift": 16 * (len(notes) - 1 - place)} for place, note in enumerate(notes)]


def stacked(
    traces: list[dict[str, Any]],
    names: list[str],
    lines: list[dict[str, Any]],
    notes: list[dict[str, Any]],
    **x: Any,
) -> Figure:
    """The figure: one row per name, the first on top; `x` are settings of the x axis."""
    return figure(
        traces,
        100 + LINE_HEIGHT * len(names),
        barmode="overlay",
        shapes=lines,
        annotations=notes,
        margin={"l": 8, "r": 16, "t": 44, "b": 36},
        xaxis=axis(nticks=6, **x),
        yaxis=named_lines(names) | {"range": [len(names) - 0.5, -0.65]},
    )
