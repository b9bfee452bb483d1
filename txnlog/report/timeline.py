"""The timeline of one partition: its open transactions as bars over offsets, or over time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from txnlog.report.contents import Contents, Partition, Row, hangs
from txnlog.report.look import QUIET, Style, axis, bar, figure, label, named_lines, style_of
from txnlog.report.words import counted, lasting, moment, number

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_BARS = 25
LINE_HEIGHT = 44
YOUNG = Style(QUIET, "")


class Span(NamedTuple):
    """A stretch of a bar: from, to, and how it looks."""

    line: int
    start: Any
    length: Any
    style: Style
    text: str = ""
    hover: str = ""
    opacity: float = 1.0


def open_in(tables: Contents, partition: Partition) -> list[Row]:
    """The open transactions of a partition, by start offset."""
    return [row for row in tables.transactions if Partition.of(row) == partition]


def by_offset(tables: Contents, partition: Partition) -> Figure:
    """The log of a partition over its offsets: what consumers can read, what is held back, and by which transactions.

    A bar reaches from a transaction's first offset to the log end, as it is open there; a triangle shows the producer
    id's marker before it. Lines stand at the last stable offset and at the log end.
    """
    found = open_in(tables, partition)
    shown, rest = found[:MOST_BARS], found[MOST_BARS:]
    log = found[0]
    left, right = _window(found)
    spans = [*_log_spans(log, left), *(_offset_span(place, row) for place, row in enumerate(shown, 1))]
    if rest:
        spans.append(_rest_span(len(shown) + 1, rest, log["log_end_offset"]))
    traces = [*_bars(spans, left, right), _markers(shown), _high_watermark(log)]
    lines = [_line(log["last_stable_offset"], "dash"), _line(log["log_end_offset"], "solid")]
    notes = [_note(log["last_stable_offset"], "last stable offset", "right" if _is_right(log, left, right) else "left")]
    notes.append(_note(log["log_end_offset"], "log end", "right"))
    return _stacked(
        traces, ["log", *_names(shown, rest)], lines, _apart(notes), title="offset", range=[left, right], tickformat=","
    )


def _window(found: list[Row]) -> tuple[float, float]:
    """The offsets to show: from the first thing of interest, as millions may lie before it, to behind the log end."""
    log = found[0]
    marks = [row["last_marker_offset"] for row in found[:MOST_BARS] if row["last_marker_offset"] is not None]
    first = min([row["start_offset"] for row in found] + marks + [log["last_stable_offset"]])
    end = log["log_end_offset"]
    pad = max(0.6, (end - first) * 0.08)
    return max(first - pad, min(first, log["log_start_offset"]) - pad / 3), end + pad


def _is_right(log: Row, left: float, right: float) -> bool:
    return bool(log["last_stable_offset"] > (left + right) / 2)


def _log_spans(log: Row, left: float) -> list[Span]:
    start, stable, end = max(left, log["log_start_offset"]), log["last_stable_offset"], log["log_end_offset"]
    held = f"{counted(log['held_back_records'], 'record')} held back"
    spans = [Span(0, stable, max(0, end - stable), Style(QUIET, "-"), held)]
    if stable > start:
        hover = f"offsets {number(log['log_start_offset'])} to {number(stable - 1)} can be read"
        spans.insert(0, Span(0, start, stable - start, Style("#4f8a4c", ""), "", hover))
    return spans


def _offset_span(place: int, row: Row) -> Span:
    length = max(1, row["log_end_offset"] - row["start_offset"])
    text = f"{label(row['action'])} · {label(row['cause'])}"
    hover = (
        f"{label(row['transactional_id'] or 'id not known', 60)}<br>from offset {number(row['start_offset'])},"
        f" {counted(row['records'], 'record')}<br>{label(row['reason'], 110)}"
    )
    return Span(place, row["start_offset"], length, _style(row), text, hover)


def _rest_span(place: int, rest: list[Row], end: int) -> Span:
    start = min(row["start_offset"] for row in rest)
    return Span(place, start, max(1, end - start), YOUNG, _others(rest))


def _others(rest: list[Row]) -> str:
    return f"{number(len(rest))} more, {number(sum(map(hangs, rest)))} late"


def _style(row: Row) -> Style:
    return style_of(row["action"]) if hangs(row) else YOUNG


def _names(shown: list[Row], rest: list[Row]) -> list[str]:
    names = [f"<b>{place}</b> {label(_owner(row), 20)}" for place, row in enumerate(shown, 1)]
    return [*names, "the rest"] if rest else names


def _owner(row: Row) -> str:
    return str(row["transactional_id"] or f"producer {row['producer_id']}")


def _bars(spans: list[Span], left: Any, right: Any) -> list[dict[str, Any]]:
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
    """What the bars are, above each: within a short bar no text could be read. Those far right end at the edge."""
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


def _markers(shown: list[Row]) -> dict[str, Any]:
    marked = [(place, row) for place, row in enumerate(shown, 1) if row["last_marker_offset"] is not None]
    symbols = {"COMMIT": "triangle-up", "ABORT": "x"}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "marker before",
        "x": [row["last_marker_offset"] for _, row in marked],
        "y": [place for place, _ in marked],
        "hovertext": [
            f"{label(row['last_marker_type'] or 'marker')} at {number(row['last_marker_offset'])}" for _, row in marked
        ],
        "hoverinfo": "text",
        "marker": {
            "size": 13,
            "color": QUIET,
            "line": {"width": 1.5, "color": "#5b6672"},
            "symbol": [symbols.get(row["last_marker_type"], "circle-open") for _, row in marked],
        },
        "showlegend": False,
    }


def _high_watermark(log: Row) -> dict[str, Any]:
    known = log["high_watermark"] is not None
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [log["high_watermark"]] if known else [],
        "y": [0] if known else [],
        "hovertext": [f"high watermark {number(log['high_watermark'])}"] if known else [],
        "hoverinfo": "text",
        "marker": {"size": 11, "symbol": "diamond", "color": "#0b7fab", "line": {"width": 1, "color": "#ffffff"}},
        "showlegend": False,
    }


def by_time(tables: Contents, partition: Partition) -> Figure:
    """The open transactions of a partition over time, up to the copy.

    Solid from the first batch to the last, pale while waiting within the allowed time, patterned from the moment on
    that it was late. Times that contradict the brokers' clocks are not shown: its last activity counts instead.
    """
    found = open_in(tables, partition)
    shown, rest = found[:MOST_BARS], found[MOST_BARS:]
    spans = [span for place, row in enumerate(shown) for span in _time_spans(place, row)]
    if rest:
        spans.append(_rest_in_time(len(shown), rest))
    copied, since = found[0]["as_of"], found[0]["held_back_since"]
    left, right = _times(spans, copied)
    lines, notes = [_line(copied, "solid")], [_note(copied, "copied", "right")]
    if since is not None and since < copied:
        lines.append(_line(since, "dash"))
        notes.insert(0, _note(since, "stands still since", "left"))
    return _stacked(
        _bars(spans, left, right),
        _names(shown, rest),
        lines,
        _apart(notes),
        title="time (UTC)",
        type="date",
        range=[left, right],
    )


def _times(spans: list[Span], copied: datetime) -> tuple[datetime, datetime]:
    """The times to show: from the first batch of any of them to the copy."""
    first = min([span.start for span in spans] + [copied - timedelta(minutes=1)])
    pad = (copied - first) / 20
    return first - pad, copied + pad


def _time_spans(place: int, row: Row) -> list[Span]:
    copied, active = row["as_of"], row["last_activity"]
    if active is None or active > copied:
        return [Span(place, copied, 0, _style(row), "its age is not known")]
    start = row["start_timestamp"] if row["timestamps_trusted"] and row["start_timestamp"] else active
    # A producer may stamp any time: what it wrote cannot be later than its last activity.
    start = min(start, active)
    allowed = _allowed(row)
    text = f"{label(row['action'])} · open for {lasting(row['open_for_ms'])}"
    hover = f"first batch {moment(start)}<br>last activity {moment(active)}<br>{label(row['reason'], 110)}"
    solid = Style(_style(row).colour, "")
    spans = [
        Span(place, start, _length(start, active), solid, text, hover),
        Span(place, active, _length(active, allowed), solid, "", hover, 0.45),
        Span(place, allowed, _length(allowed, copied), _style(row), "", hover),
    ]
    return [span for span in spans if span.length or span.text]


def _allowed(row: Row) -> datetime:
    """Until when it was not late, or the copy."""
    copied: datetime = row["as_of"]
    left = row["late_after_ms"] - _length(row["last_activity"], copied)
    return copied if left >= 0 else copied + timedelta(milliseconds=left)


def _rest_in_time(place: int, rest: list[Row]) -> Span:
    copied: datetime = rest[0]["as_of"]
    start = min([copied, *(row["last_activity"] for row in rest if row["last_activity"] is not None)])
    return Span(place, start, _length(start, copied), YOUNG, _others(rest))


def _length(start: datetime, end: datetime) -> int:
    """Plotly counts the length of a bar on a time axis in milliseconds."""
    return max(0, (end - start) // timedelta(milliseconds=1))


def _line(x: Any, dash: str) -> dict[str, Any]:
    line = {"color": QUIET, "width": 2, "dash": dash}
    return {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": line}


def _note(x: Any, text: str, anchor: str) -> dict[str, Any]:
    return {"x": x, "xref": "x", "y": 1, "yref": "paper", "yanchor": "bottom", "xanchor": anchor, "text": text,
            "showarrow": False, "font": {"size": 12}}  # fmt: skip


def _apart(notes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each note on a line of its own: they may stand at the same place."""
    return [note | {"yshift": 16 * (len(notes) - 1 - place)} for place, note in enumerate(notes)]


def _stacked(
    traces: list[dict[str, Any]],
    names: list[str],
    lines: list[dict[str, Any]],
    notes: list[dict[str, Any]],
    **x: Any,
) -> Figure:
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
