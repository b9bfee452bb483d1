"""A timeline over offsets or time: spans, marks and lines, as a figure of Plotly or as data of the page."""

from __future__ import annotations

import html
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from txnlog.report.figure_style import QUIET, Style, axis, bar, figure, label, named_lines, whole

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LINE_HEIGHT = 44
SYMBOLS = {"COMMIT": "triangle-up", "ABORT": "x", "high watermark": "diamond"}


class Span(NamedTuple):
    """A span of a bar: start, length and style; `action` names the style in the page."""

    line: int
    start: Any
    length: Any
    style: Style
    action: str
    text: str = ""
    hover: str = ""
    opacity: float = 1.0


class Mark(NamedTuple):
    """A sign on a line."""

    line: int
    at: int
    sign: str

    @property
    def hover(self) -> str:
        """What it is, and where."""
        return f"{self.sign} at {self.at:,}".replace(",", "\u202f")


class Across(NamedTuple):
    """A line across all bars, with its name."""

    at: Any
    dash: str
    text: str


class Timeline(NamedTuple):
    """Bars from the top down, each with its name, on an axis from `left` to `right`. Times are instants."""

    names: list[str]
    spans: list[Span]
    marks: list[Mark]
    across: list[Across]
    left: Any
    right: Any

    def as_data(self) -> dict[str, Any]:
        """For the script of the page: whole numbers, instants as milliseconds."""
        return {
            "names": self.names,
            "spans": [
                [each.line, _plain(each.start), each.length, each.action, each.opacity, each.text]
                for each in self.spans
            ],
            "marks": [[*each, each.hover] for each in self.marks],
            "across": [[_plain(each.at), each.dash, each.text] for each in self.across],
            "range": [_plain(self.left), _plain(self.right)],
            "time": isinstance(self.left, datetime),
        }

    def figure(self) -> Figure:
        """The figure, for a notebook."""
        of_x = (
            {"title": "time (UTC)", "type": "date"}
            if isinstance(self.left, datetime)
            else {"title": "offset"} | whole(self.right - self.left)
        )
        late = [2 * (each.at - self.left) > self.right - self.left for each in self.across]
        return figure(
            [*map(_bar, self.spans), self._texts(), *map(_mark, self.marks)],
            100 + LINE_HEIGHT * len(self.names),
            barmode="overlay",
            shapes=[_line(each) for each in self.across],
            annotations=[
                _note(each, is_late, len(late) - 1 - place)
                for place, (each, is_late) in enumerate(zip(self.across, late, strict=True))
            ],
            margin={"l": 8, "r": 16, "t": 44, "b": 36},
            xaxis=axis(range=[self.left, self.right], **{"nticks": 6} | of_x),
            yaxis=named_lines([label(name, 24) for name in self.names]) | {"range": [len(self.names) - 0.5, -0.65]},
        )

    def _texts(self) -> dict[str, Any]:
        """The labels above the bars: a short bar has no room inside. Labels far right end at the edge."""
        spans = [span for span in self.spans if span.text]
        are_late = [2 * (span.start - self.left) > self.right - self.left for span in spans]
        return {
            "type": "scatter",
            "mode": "text",
            "x": [self.right if is_late else span.start for span, is_late in zip(spans, are_late, strict=True)],
            "y": [span.line - 0.34 for span in spans],
            "text": [html.escape(span.text, quote=False) for span in spans],
            "textposition": [f"middle {'left' if is_late else 'right'}" for is_late in are_late],
            "textfont": {"size": 12},
            "cliponaxis": False,
            "hoverinfo": "skip",
            "showlegend": False,
        }


def _plain(value: Any) -> int | float:
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else round(value, 2)


def _bar(span: Span) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "y": [span.line],
        "x": [span.length],
        "base": [span.start],
        "text": [html.escape(span.text, quote=False)],
        "textposition": "none",
        "hovertext": [html.escape(span.hover or span.text, quote=False).replace("\n", "<br>")],
        "hoverinfo": "text",
        "width": 0.34,
        "opacity": span.opacity,
        "marker": bar(span.style),
        "showlegend": False,
    }


def _mark(mark: Mark) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": mark.sign,
        "x": [mark.at],
        "y": [mark.line],
        "hovertext": [label(mark.hover, 60)],
        "hoverinfo": "text",
        "marker": {
            "size": 13,
            "color": QUIET,
            "line": {"width": 1.5, "color": "#5b6672"},
            "symbol": [SYMBOLS.get(mark.sign, "circle-open")],
        },
        "showlegend": False,
    }


def _line(across: Across) -> dict[str, Any]:
    drawn = {"color": QUIET, "width": 2, "dash": across.dash}
    return {"type": "line", "xref": "x", "yref": "paper", "x0": across.at, "x1": across.at, "y0": 0, "y1": 1,
            "line": drawn}  # fmt: skip


def _note(across: Across, is_late: bool, above: int) -> dict[str, Any]:
    """The name above a line; each at its own height, because two may have the same position."""
    return {"x": across.at, "xref": "x", "y": 1, "yref": "paper", "yanchor": "bottom",
            "xanchor": "right" if is_late else "left", "text": across.text, "showarrow": False, "font": {"size": 12},
            "yshift": 16 * above}  # fmt: skip
