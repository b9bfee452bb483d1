"""How all figures look: colours with a pattern and a word each, for light and for dark paper."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, NamedTuple

from txnlog.errors import SetupError
from txnlog.report.words import short

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


class Style(NamedTuple):
    """A colour that stands out from white and from black by at least 3 to 1, and a pattern of Plotly's bars."""

    colour: str
    pattern: str


ACTIONS = {
    "ABORT": Style("#d1402f", "x"),
    "FENCE": Style("#b86e00", "/"),
    "MOVE_COORDINATOR": Style("#0b7fab", "\\"),
    "KEEP": Style("#8e5bd0", "+"),
    "UNDETERMINED": Style("#76808b", "."),
    "WAIT": Style("#4f8a4c", ""),
}
OTHER = Style("#76808b", "-")
QUIET = "#8b96a3"
INK = "#1f2933"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"


def style_of(action: str) -> Style:
    """The style of an action; a plain one for an action of a newer txnlog."""
    return ACTIONS.get(action, OTHER)


def label(value: Any, length: int = 28) -> str:
    """A name as a text of Plotly, which reads a few tags of HTML in all of its texts."""
    return html.escape(short(value, length), quote=False)


def bar(style: Style) -> dict[str, Any]:
    """The marker of bars in a style."""
    pattern = {
        "shape": style.pattern,
        "fillmode": "overlay",
        "fgcolor": "rgba(255,255,255,0.75)",
        "size": 6,
        "solidity": 0.25,
    }
    return {"color": style.colour, "pattern": pattern, "line": {"color": style.colour, "width": 1}}


def figure(traces: list[dict[str, Any]], height: int, **layout: Any) -> Figure:
    """A figure of Plotly. `SetupError` where Plotly is missing."""
    try:
        from plotly.graph_objects import Figure as PlotlyFigure
    except ImportError as error:
        raise SetupError("figures need Plotly: pip install 'txnlog[report]'") from error
    base: dict[str, Any] = {
        "template": "none",
        "height": height,
        "font": {"family": FONT, "size": 13, "color": INK},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 16, "t": 30, "b": 36},
        "dragmode": False,
        "hoverlabel": {"align": "left", "font": {"family": FONT, "size": 13}},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        "separators": ".\u202f",
    }
    return PlotlyFigure({"data": traces, "layout": base | layout})


def named_lines(names: list[str], **more: Any) -> dict[str, Any]:
    """A y axis of lines from the top down, each with its name: names may be equal, lines are not."""
    return axis(
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
        **more,
    )


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """An axis with a quiet grid, whose labels always fit."""
    return {
        "automargin": True,
        "gridcolor": "rgba(139,150,163,0.25)",
        "zeroline": False,
        "fixedrange": True,
        "tickangle": 0,
        "title": {"text": title, "font": {"size": 12}, "standoff": 8},
    } | more


def whole(span: float) -> dict[str, Any]:
    """Settings of an axis of whole numbers: no tick lies between two of them."""
    return {"tickformat": ",d", "nticks": 6} | ({"dtick": 1} if span < 6 else {})
